#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A processor comes and goes while probes are hit, and probes come and go while it is
# away: no call is lost, by any way to the handlers.
# A past bug: probes did not survive a CPU that went offline.

. ./functions
need debugfs tracefs victim
# One that is online now, not the first; not each that has such a file can go, or come back
for processor in /sys/devices/system/cpu/cpu[1-9]*/online none; do
	[ "$(cat "$processor" 2>/dev/null)" != 1 ] || break
done
[ "$processor" != none ] || skip "no second processor that can go"
can_write 0 "$processor" || skip "$processor: it cannot go"
can_write 1 "$processor" || skip "$processor: it cannot come back"

keep "$processor"
rounds=4

add_victim_events entry back middle
plant p starting notify_cpu_starting

# Through this function, a processor goes to its idle task for good. Compilers may add to
# its name. Somewhere behind the part that ftrace patches, an instruction begins.
switch=$(sed -n 's/^[0-9a-f]* [tT] \(finish_task_switch[^[:space:]]*\)$/\1/p' /proc/kallsyms |
	grep -v cold | head -n 1)
check "tasks are switched by a function with a name" [ -n "$switch" ]
plant p switch "$switch"
for offset in $(seq 12 40); do
	can_define "p:kp/switching $switch+$offset" && break
done
enable_event switching 1

start_callers 2
changed=0
for round in $(seq $rounds); do
	can_write 0 "$processor" || break
	plant p "away$round" kernel_clone
	can_write 1 "$processor" || break
	(:)
	enable_event "away$round" 0
	changed=$((changed + 1))
done
stop_callers
note "$called calls"
check_is "the processor goes and comes back" $changed $rounds
check "there were calls meanwhile" [ "$called" -gt 0 ]
check_is "each of them was seen at the entry" "$(profile entry)" "$called 0"
check_is "at the return" "$(profile back)" "$called 0"
check_is "and in the middle" "$(profile middle)" "$called 0"
check_is "so was each processor that started" "$(profile starting)" "$rounds 0"
for round in $(seq $rounds); do
	check "a probe of when it was away is hit" [ "$(hits "away$round")" -ge 1 ]
done
check "a probe on what switches tasks is hit" [ "$(hits switch)" -ge $rounds ]
check "so is one inside of it" [ "$(hits switching)" -ge $rounds ]
finish
