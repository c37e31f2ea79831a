#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Probes on a function that livepatch replaces: both work, whichever comes first, and a
# task that sleeps in a function with a return probe does not hold up the patch.

. ./functions
need_debugfs
need_tracefs
patch=/sys/kernel/livepatch/livepatch_sample
[ -d /sys/kernel/livepatch ] || skip "no livepatch"
find "/lib/modules/$(uname -r)" -name "livepatch-sample.ko*" | grep -q . ||
	skip "no module livepatch_sample"
sleeper=

restore()
{
	[ -z "$sleeper" ] || kill "$sleeper"
	no_events
	[ ! -f $patch/enabled ] || unpatch
}
trap restore EXIT
no_events

# settles: wait until all tasks use the patch, or none; the kernel wakes the last ones after 15 s
settles()
{
	tries=0
	while [ -f $patch/transition ] && [ "$(cat $patch/transition)" = 1 ]; do
		[ $tries -lt 600 ] || return 1
		tries=$((tries + 1))
		sleep 0.2
	done
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
	tries=0
	until unload livepatch_sample; do
		[ $tries -lt 50 ] || return 1
		tries=$((tries + 1))
		sleep 0.2
	done
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
	add_event "p:kp/entry cmdline_proc_show"
	add_event "r:kp/back cmdline_proc_show"
	for event in entry back; do
		enable_event $event 1
	done
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
if grep -q ' kprobe_ftrace_handler$' /proc/kallsyms; then
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
add_event "r:kp/slept hrtimer_nanosleep"
enable_event slept 1
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
