#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Probes made through tracefs: each call is seen, with its result.

. ./functions
need debugfs tracefs victim
keep $tracefs/tracing_on
at_end="echo >$tracefs/trace"
eval "$at_end"
echo 1 >$tracefs/tracing_on

plant p entry kprobes_victim
plant r back kprobes_victim result=\$retval:u32
plant p middle "$middle"
call_victim 5
for event in entry back middle; do
	check_is "the $event is hit by every call" "$(profile $event)" "5 0"
done
check_is "the trace has a line for each entry" "$(grep -c ' entry: ' $tracefs/trace)" 5
for result in 1 2 3 4 5; do
	check "result $result is in it" grep -q " back: .*result=$result\$" $tracefs/trace
done

# Inside an instruction or a patched call, past the function, nowhere, and off the entry
for place in p:kprobes_victim+1 p:kprobes_victim+1000000 p:no_such_function "r:$middle"; do
	check "$place is refused" fails add_event "${place%%:*}" no "${place#*:}" 2>/dev/null
done
no_events
check "no probe of the victim is left" fails listed '  test_kprobes_victim '
finish
