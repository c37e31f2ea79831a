#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Probes on a function that livepatch replaces: both work, whichever comes first, and a
# task that sleeps in a function with a return probe does not hold up the patch.

. ./functions
need debugfs tracefs
patch=/sys/kernel/livepatch/livepatch_sample
[ -d /sys/kernel/livepatch ] || skip "no livepatch"
find "/lib/modules/$(uname -r)" -name "livepatch-sample.ko*" | grep -q . ||
	skip "no module livepatch_sample"
at_end="no_events; [ ! -f $patch/enabled ] || unpatch"

# settles: wait until all tasks use the patch, or none; the kernel wakes the last ones after 15 s
settles()
{
	within 1200 fails grep -q 1 $patch/transition 2>/dev/null
}

is_patched()
{
	grep -q 'this has been live patched' /proc/cmdline
}

patch()
{
	check "the patch comes" load livepatch_sample
	check "to all tasks" settles
	check "it is what is called" is_patched
}

# The module is let go of only some time after the last task.
unpatch()
{
	echo 0 >$patch/enabled
	settles
	within 100 unload livepatch_sample
}

# An instruction of the patch's own function can be probed, wherever the first few begin.
defined_inside()
{
	for offset in 5 6 7 8 9 10 11 12; do
		! can_define "p:kp/inside livepatch_cmdline_proc_show+$offset" || return 0
	done
	return 1
}

probe()
{
	plant p entry cmdline_proc_show
	plant r back cmdline_proc_show
}

# Loading modules reads the file, too, so the hits of one more call are counted.
is_seen()
{
	entries=$(hits entry) returns=$(hits back)
	cat /proc/cmdline >/dev/null
	check_is "a call is seen at the entry" "$(profile entry)" "$((entries + 1)) 0"
	check_is "and at the return" "$(profile back)" "$((returns + 1)) 0"
}

probe
check "the function is the kernel's own" fails is_patched
is_seen
patch
is_seen
check "the patch goes" unpatch
check "the function is the kernel's own again" fails is_patched
is_seen
no_events

patch
check "the patch itself can be probed" can_define "p:kp/own livepatch_cmdline_proc_show"
check "inside of its function, too, as there are no relocations" defined_inside
probe
check "the patch is still called" is_patched
is_seen
check "it goes under the probes" unpatch
check "the function is the kernel's own again" fails is_patched
is_seen
no_events

# A post handler has the entry for itself.
if serves_ftrace; then
	check "it can be put there" load test_kprobes_visitor target=cmdline_proc_show
	check "a patch is refused beside a post handler" fails load livepatch_sample
	check "the function is the kernel's own" fails is_patched
	unload test_kprobes_visitor
	patch
	check "so is a post handler beside a patch" \
		fails load test_kprobes_visitor target=cmdline_proc_show
	check "which is still called" is_patched
	check "it goes" unpatch
fi

# Unwinding has to find the return address in place of which the trampoline is.
plant r slept hrtimer_nanosleep
sleep 1000 &
sleeper=$!
check "a task sleeps" within 100 is_asleep $sleeper
mark_log
patch
check "it slept all the time" kill -0 $sleeper
check "and nobody had to be woken for the patch" fails logged 'signaling remaining tasks'
check "the patch goes" unpatch
kill $sleeper
sleeper=
finish
