#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A processor comes and goes while probes are hit, and probes come and go while it is
# away: no call is lost, by any way to the handlers.

. ./functions
need_debugfs
need_tracefs
need_victim
processor=/sys/devices/system/cpu/cpu1/online
[ -w $processor ] || skip "no second processor that can go"

work=$(mktemp -d)
rounds=4

restore()
{
	echo 1 >$processor
	no_events
	rm -rf "$work"
}
trap restore EXIT
no_events

# go_on CALLER: keep calling until told to stop, and note how many calls there were
go_on()
{
	calls=0
	while [ -f "$work/go" ]; do
		call_victim 10
		calls=$((calls + 10))
	done
	echo $calls >"$work/calls.$1"
}

add_event "p:kp/entry test_kprobes_victim:kprobes_victim"
add_event "r:kp/back test_kprobes_victim:kprobes_victim"
add_event "p:kp/middle test_kprobes_victim:$middle"
add_event "p:kp/starting notify_cpu_starting"
for event in entry back middle starting; do
	enable_event $event 1
done

# Through this function, a processor goes to its idle task for good. Compilers may add to
# its name. Somewhere behind the part that ftrace patches, an instruction begins.
switch=$(sed -n 's/^[0-9a-f]* [tT] \(finish_task_switch[^[:space:]]*\)$/\1/p' /proc/kallsyms |
	grep -v cold | head -n 1)
check "tasks are switched by a function with a name" [ -n "$switch" ]
add_event "p:kp/switch $switch"
enable_event switch 1
for offset in $(seq 12 40); do
	can_define "p:kp/switching $switch+$offset" && break
done
enable_event switching 1

: >"$work/go"
go_on one &
go_on two &
changed=0
for round in $(seq $rounds); do
	can_write 0 $processor || break
	add_event "p:kp/away$round kernel_clone"
	enable_event "away$round" 1
	can_write 1 $processor || break
	(:)
	enable_event "away$round" 0
	changed=$((changed + 1))
done
rm "$work/go"
wait
calls=$(($(cat "$work/calls.one") + $(cat "$work/calls.two")))
note "$calls calls"
check_is "the processor goes and comes back" $changed $rounds
check "there were calls meanwhile" [ $calls -gt 0 ]
check_is "each of them was seen at the entry" "$(profile entry)" "$calls 0"
check_is "at the return" "$(profile back)" "$calls 0"
check_is "and in the middle" "$(profile middle)" "$calls 0"
check_is "so was each processor that started" "$(profile starting)" "$rounds 0"
for round in $(seq $rounds); do
	check "a probe of when it was away is hit" [ "$(hits "away$round")" -ge 1 ]
done
check "a probe on what switches tasks is hit" [ "$(hits switch)" -ge $rounds ]
check "so is one inside of it" [ "$(hits switching)" -ge $rounds ]
finish
