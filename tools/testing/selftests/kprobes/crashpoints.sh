#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Crash points of lkdtm, which are kprobes: here, a handler warns in an interrupt, which
# is survived. The interrupts are those of a disk if kpdisks= names one.

. ./functions
need_debugfs
disks=${kpdisks:-}
disk=${disks%%,*}
# On arm64, a serial port only interrupts when it gets more than fits into its queue.
[ "$(uname -m)" != aarch64 ] || [ -b "$disk" ] ||
	skip "no disk to have interrupts from, kpdisks=$disks"
load lkdtm || skip "no module lkdtm"
points=/sys/kernel/debug/provoke-crash
mark_log

stop()
{
	unload lkdtm
	echo "kprobes_test: expected report ends" >/dev/kmsg
}

echo 3 >/sys/module/lkdtm/parameters/cpoint_count
check "a point in a function that is not there is refused" \
	fails can_write WARNING $points/SCSI_QUEUE_RQ
echo "kprobes_test: expected report begins: at .*lkdtm_WARNING" >/dev/kmsg
trap stop EXIT
check "one in an interrupt is not" can_write WARNING $points/INT_HW_IRQ_EN
check "it is a probe" [ -n "$(listed handle_irq_event)" ]
if [ -b "$disk" ]; then
	check "a disk can be read from" \
		dd "if=$disk" of=/dev/null bs=4k count=10 iflag=direct 2>/dev/null
else
	for i in $(seq 20); do
		echo "interrupt $i" >/dev/console
		sleep 0.1
	done
fi
check "it is hit, round by round" \
	logged 'Crash point INT_HW_IRQ_EN of type WARNING hit, trigger in 1 rounds'
check "and at last warns" logged 'WARNING: .* at .*lkdtm'
check "lkdtm can be unloaded" unload lkdtm
check "its probe leaves with it" fails listed handle_irq_event
finish
