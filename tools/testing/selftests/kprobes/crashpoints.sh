#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Crash points of lkdtm, which are kprobes. Each is set in turn, in the end one in an interrupt.
# That one and the one of tasklets are hit: their handlers warn, which is survived. The interrupts
# are those of a disk if kpdisks= names one.

. ./functions
need debugfs
disks=${kpdisks:-}
disk=${disks%%,*}
# On arm64, a serial port only interrupts when it gets more than fits into its queue.
[ "$machine" != aarch64 ] || [ -b "$disk" ] ||
	skip "no disk to have interrupts from, kpdisks=$disks"
[ "$(cat /proc/sys/kernel/panic_on_warn)" = 0 ] || skip "a warning is a panic here"

# Every third interrupt is going to be reported, with a trace. With many of them, a machine does
# nothing else any more.
need tracefs
plant p interrupts handle_irq_event
sleep 1
interrupts=$(hits interrupts)
no_events
[ "$interrupts" -lt 300 ] || skip "there are $interrupts interrupts a second"
load lkdtm || skip "no module lkdtm"
points=/sys/kernel/debug/provoke-crash
mark_log

# The points but the one in an interrupt, with their functions
others="INT_HARDWARE_ENTRY:do_IRQ INT_TASKLET_ENTRY:tasklet_action FS_SUBMIT_BH:submit_bh
	MEM_SWAPOUT:shrink_inactive_list TIMERADD:hrtimer_start SCSI_QUEUE_RQ:scsi_queue_rq"

# can_be_probed FUNCTION: is it there, as a function of its own?
can_be_probed()
{
	grep -q " [tT] $1\([[:space:]]\|\$\)" /proc/kallsyms &&
		! grep -q "	$1\( \|\$\)" $debugfs/blacklist
}

# hit_to_the_end POINT: the last of so many hits warns
hit_to_the_end()
{
	check "$1 is hit, round by round" \
		logged "Crash point $1 of type WARNING hit, trigger in 1 rounds"
	check "and at last warns" logged "Crash point $1 of type WARNING hit, trigger in 0 rounds"
}

# A point cannot be set twice: lkdtm keeps the address in its probe.
hit_tasklets()
{
	tasklets=/sys/module/test_kprobes_victim/parameters/tasklets
	load test_kprobes_victim
	[ -f $tasklets ] || return 0
	check "tasklets run" can_write 10 $tasklets
	hit_to_the_end INT_TASKLET_ENTRY
}

stop()
{
	unload lkdtm
	echo "kprobes_test: expected report ends" >/dev/kmsg
}

echo 3 >/sys/module/lkdtm/parameters/cpoint_count
echo "kprobes_test: expected report begins: at .*lkdtm_WARNING" >/dev/kmsg
at_end=stop
last=
for other in $others; do
	point=${other%:*} function=${other#*:}
	if can_be_probed "$function"; then
		check "$point can be set" can_write WARNING "$points/$point"
		check "it is a probe" [ -n "$(listed "  k  $function+")" ]
		last=$function
		[ "$point" != INT_TASKLET_ENTRY ] || hit_tasklets
	else
		check "$point, for whose function there can be no probe, is refused" \
			fails can_write WARNING "$points/$point"
	fi
done
check "INT_HW_IRQ_EN can be set" can_write WARNING $points/INT_HW_IRQ_EN
check "it is a probe" [ -n "$(listed '  k  handle_irq_event+')" ]
[ -z "$last" ] || check "and the only one" fails listed "  k  $last+"
if [ -b "$disk" ]; then
	check "a disk can be read from" \
		dd "if=$disk" of=/dev/null bs=4k count=10 iflag=direct 2>/dev/null
else
	for i in $(seq 20); do
		echo "interrupt $i" >/dev/console
		sleep 0.1
	done
fi
hit_to_the_end INT_HW_IRQ_EN
check "with a trace" logged 'WARNING: .* at .*lkdtm'
check "lkdtm can be unloaded" unload lkdtm
check "its probe leaves with it" fails listed handle_irq_event
finish
