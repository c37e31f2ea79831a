#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Processes that sleep in a function with a return probe.
# A past bug: return probes lost the instances of tasks that were killed inside.

. ./functions
sleeping=hrtimer_nanosleep
load kretprobe_example func=$sleeping || skip "no sample, or no $sleeping"
at_end="unload kretprobe_example"

# stack_of PID: the functions that the process is in when it sleeps, innermost first
stack_of()
{
	within 50 grep -q "$sleeping" "/proc/$1/stack" 2>/dev/null
	sed 's/.*] //; s/+.*//' "/proc/$1/stack"
}

mark_log
began=$log_mark
sleep 1
check "a sleep is seen to return" logged "sleep .*: $sleeping returned 0 after [0-9]* ns"

sleep 1000 &
pid=$! sleeper=$!
if [ -f /proc/$pid/stack ]; then
	stack=$(stack_of $pid)
	check "another process sees the function in the stack" \
		[ -n "$(echo "$stack" | grep "^$sleeping\$")" ]
	check "and its caller" [ -n "$(echo "$stack" |
		awk -v probed="$sleeping" 'below; $0 == probed { below = 1 }' | grep nanosleep)" ]
	check "and no trampoline" [ -z "$(echo "$stack" | grep trampoline)" ]
else
	skip_check "another process sees the function in the stack" "no /proc/$pid/stack"
fi
mark_log
kill -9 $pid
sleeper=
wait $pid
check "one that is killed returns too" logged "sleep (pid $pid): $sleeping returned -"

# When it stops, it returns from the function, and then it sleeps on.
sleep 1000 &
pid=$! sleeper=$!
check "a process sleeps" within 100 is_asleep $pid
mark_log
check "the module can go while a process is inside" unload kretprobe_example
kill -STOP $pid
check "which returns then" within 50 has_state $pid stopped
kill -CONT $pid
sleep 0.5
kill -TERM $pid
sleeper=
wait $pid
check_is "and goes on as if there had been no probe" $? 143
check "with no handler run" fails logged "sleep (pid $pid)"
check "and nothing of it missed" logged 'removed, 0 calls missed'
load kretprobe_example func=$sleeping
mark_log
sleep 1
check "it can come back" logged "sleep .*: $sleeping returned 0"
unload kretprobe_example
log_mark=$began
check "the kernel had nothing to say about all that" fails logged 'WARNING\|BUG:\|Oops'
finish
