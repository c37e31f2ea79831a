#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Crash points of lkdtm, which are kprobes: of what it can bring about, a warning is
# survived, here from a handler in an interrupt.

. ./functions
need_debugfs
[ "$(uname -m)" != aarch64 ] || skip "nothing here has interrupts that come by that function"
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
echo "kprobes_test: expected report begins" >/dev/kmsg
trap stop EXIT
check "one in an interrupt is not" can_write WARNING $points/INT_HW_IRQ_EN
check "it is a probe" [ -n "$(listed handle_irq_event)" ]
for i in $(seq 20); do
	echo "interrupt $i" >/dev/console
	sleep 0.1
done
check "it is hit, round by round" logged 'Crash point INT_HW_IRQ_EN of type WARNING hit, trigger in 1 rounds'
check "and at last warns" logged 'WARNING: .* at .*lkdtm'
check "lkdtm can be unloaded" unload lkdtm
check "its probe leaves with it" fails listed handle_irq_event
finish
