#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Probes made through tracefs: every call is seen, arguments and results too.

. ./functions
need_debugfs
need_tracefs
need_victim

restore()
{
	echo 0 >$tracefs/tracing_on
	no_events
	echo >$tracefs/trace
	echo 1 >$tracefs/tracing_on
}
trap restore EXIT
restore

add_event "p:kp/entry test_kprobes_victim:kprobes_victim"
add_event "r:kp/back test_kprobes_victim:kprobes_victim result=\$retval:u32"
add_event "p:kp/middle test_kprobes_victim:$middle"
for event in entry back middle; do
	enable_event $event 1
done
call_victim 5
check_is "the entry is hit by every call" "$(profile entry)" "5 0"
check_is "so is the return" "$(profile back)" "5 0"
check_is "so is the middle" "$(profile middle)" "5 0"
check_is "the trace has a line for each entry" "$(grep -c ' entry: ' $tracefs/trace)" 5
for result in 1 2 3 4 5; do
	check "result $result is in it" grep -q " back: .*result=$result\$" $tracefs/trace
done

check "inside an instruction or a patched call there is no probe" \
	fails can_define "p:kp/inside test_kprobes_victim:kprobes_victim+1"
check "past the function there is none" \
	fails can_define "p:kp/past test_kprobes_victim:kprobes_victim+1000000"
check "on a function that is not there is none" \
	fails can_define "p:kp/nowhere no_such_function_anywhere"
check "a return probe off the entry is refused" \
	fails can_define "r:kp/off test_kprobes_victim:$middle"
no_events
check "no probe of the victim is left" fails listed '  test_kprobes_victim '
finish
