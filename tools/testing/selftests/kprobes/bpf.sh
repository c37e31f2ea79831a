#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# BPF programs on probes: they run at each hit, by any way to the handlers, know the
# function they are in, and can return in its place.
# Past bugs: programs did not run at breakpoints; those in an interrupt on top of another program
# were skipped, and not counted where users look.

. ./functions
need debugfs tracefs victim
[ -x ./bpf_probe ] || skip "no program bpf_probe, which make builds here"
jumps=/proc/sys/debug/kprobes-optimization

# with KIND PLACE VALUE COMMAND...: run bpf_probe, and set $hits, $missed, $function, $cookie,
# $runs, $kept and $status
with()
{
	./bpf_probe "$@" >"$work/told"
	code=$?
	[ $code != 4 ] || skip "no BPF programs on probes in this kernel"
	check "a program comes to $2" [ $code = 0 ]
	hits='' missed='' function='' cookie='' runs='' kept='' status=''
	eval "$(grep '^hits=' "$work/told")"
}

override_refused()
{
	./bpf_probe p "$1" -1 true 2>&1 | grep 'bpf_probe: program on probe: Invalid argument'
}

address()
{
	sed -n -e "s/^\([0-9a-f]*\) [tT] $1\$/\1/p" \
		-e "s/^\([0-9a-f]*\) [tT] $1	.*/\1/p" /proc/kallsyms
}

calls="echo 5 >$victim/calls"
given=c00c1e
statistics=/proc/sys/kernel/bpf_stats_enabled

# comes_to KIND WHERE: five calls there run the program, which knows where it is and its cookie, and
# says whether perf counts them
comes_to()
{
	with "$1" kprobes_victim - sh -c "$calls"
	check_is "it runs at $2" "$hits $missed $status" "5 0 0"
	check_is "and knows the function, and its cookie" "$function $cookie" \
		"$(address kprobes_victim) $given"
	check_is "perf does not count what it does not keep" "$kept" 0
	check_is "nor do statistics that are off" "$runs" 0
	echo 1 >$statistics
	with "$1" kprobes_victim - sh -c "$calls"
	echo 0 >$statistics
	check_is "those that are on do" "$hits $runs" "5 5"
	with "$1" kprobes_victim keep sh -c "$calls"
	check_is "and what it keeps at $2" "$hits $kept" "5 5"
}

comes_to p "the entry"
comes_to r "the return"
with p "$middle" - sh -c "$calls"
check_is "it runs in the middle" "$hits $status" "5 0"
check_is "which is no function's entry" "$function" 0
if jumps_are_on; then
	echo 0 >$jumps
	with p "$middle" - sh -c ". ./functions; ! by_jump $middle && $calls"
	check_is "by a breakpoint" "$hits $status" "5 0"
	echo 1 >$jumps
	with p "$middle" - sh -c ". ./functions; jumps_settle; by_jump $middle && $calls"
	check_is "by a jump too" "$hits $status" "5 0"
fi

# none_lost KIND PLACE HOW [COMMAND]: the program runs in interrupts on top of it, too
none_lost()
{
	with "$1" "$2" - sh -c "${4:+$4 && }echo 1000 >$victim/interrupted"
	read -r all by_interrupts <$victim/interrupted
	check_is "$3, no run is lost to another one" "$hits $missed $status" "$all 0 0"
	check "$3, there were interrupts" [ "$by_interrupts" -gt 0 ]
}

# skip_is_counted KIND FUNCTION WHERE: programs do not run while a map is updated from user space
skip_is_counted()
{
	with "$1" "$2" - ./bpf_probe update 7
	check_is "$3, what is skipped is counted" "$hits $missed $status" "0 7 0"
}

left_by_ftrace()
{
	! grep -q "^$1 " $tracefs/enabled_functions
}

needs=". ./functions"
none_lost p kprobes_victim "at the entry"
none_lost r kprobes_victim "at the return"
if jumps_are_on; then
	none_lost p "$middle" "by a jump" "$needs; jumps_settle; by_jump $middle"
	echo 0 >$jumps
fi
none_lost p "$middle" "by a breakpoint" "$needs; ! by_jump $middle"
[ ! -f "$jumps" ] || echo 1 >$jumps
skip_is_counted p htab_map_update_elem "at an entry"
skip_is_counted r htab_map_update_elem "at a return"

if can_define "p:kprobes_bpf/skips htab_map_update_elem"; then
	skip_is_counted e "$(cat $tracefs/events/kprobes_bpf/skips/id)" "by an event"
	check_is "and in the event's profile" "$(awk '$1 == "skips" { print $3 }' \
		$tracefs/kprobe_profile)" 7
	echo "-:kprobes_bpf/skips" >>$tracefs/kprobe_events
else
	check "a function has an event" false
fi

# Each of five runs of one program asks for the time 400 times, which is a hit in a handler.
with p bpf_ktime_get_ns - ./bpf_probe p kprobes_victim - sh -c "$calls"
check_is "a link tells what is missed in handlers" "$hits $missed" "0 2000"
add_event r1 capped hrtimer_nanosleep
with e "$(cat $tracefs/events/kp/capped/id)" - sh -c "sleep 1 & sleep 1 & sleep 1 & wait"
check_is "and that too many calls are to be followed" "$hits $missed" "1 2"

# Both places are called. What is missed at the second is that event's, too.
add_event p both kprobes_victim
add_event p both htab_map_update_elem
with e "$(cat $tracefs/events/kp/both/id)" - sh -c "$calls && ./bpf_probe update 7"
check_is "an event of two places tells what is missed at both" "$hits $missed $status" "5 7 0"

# shared KIND WHERE: an event with a program has other users, too, while hits come
shared()
{
	add_event "$1" shared kprobes_victim
	id=$(cat $tracefs/events/kp/shared/id)
	echo >$tracefs/trace
	with e "$id" - sh -c "enable() { echo \$1 >$tracefs/events/kp/shared/enable; }
		$calls; enable 1; $calls; enable 0; $calls"
	check_is "a program at $2 runs beside tracefs" "$hits $missed $status" "15 0 0"
	check_is "and tracefs gets what it asks for" "$(grep -c ' shared: ' $tracefs/trace)" 5
	check_is "all hits are in the profile" "$(profile shared)" "15 0"
	echo >$tracefs/trace
	with e "$id" keep sh -c "./bpf_probe e $id - sh -c '$calls' >$work/second; $calls"
	check_is "of two programs at $2 the one that stays runs for all" \
		"$hits $missed $status" "10 0 0"
	check "and the other one, too" grep -q '^hits=5 missed=0 ' "$work/second"
	check_is "what one does not keep is not counted" "$kept" 5
	with e "$id" - ./bpf_probe e "$id" - sh -c "echo 1000 >$victim/interrupted"
	read -r all by_interrupts <$victim/interrupted
	check_is "beside another program no run at $2 is lost" "$hits $missed" "$all 0"
	check "though there were interrupts" [ "$by_interrupts" -gt 0 ]
	with e "$id" - sh -c ". ./functions
		start_callers 2
		for round in \$(seq 4); do
			enable_event shared 1
			./bpf_probe e $id - true
			enable_event shared 0
			./bpf_probe e $id - true
		done >/dev/null
		stop_callers
		echo \$called >$work/called"
	check_is "others come to $2 and leave, and no run is lost" "$hits $missed $status" \
		"$(cat "$work/called") 0 0"
	rm "$work"/calls.*
	no_events
}

shared p "an entry"
shared r "a return"

./bpf_probe m kprobes_victim - true >/dev/null
if [ $? != 4 ]; then
	with m kprobes_victim - sh -c "$calls"
	check_is "a link for many has a cookie" "$hits $cookie" "5 $given"
	none_lost m kprobes_victim "by a link for many"
	none_lost s kprobes_victim "by a link for many returns"
	skip_is_counted m htab_map_update_elem "by a link for many"
	skip_is_counted s htab_map_update_elem "by a link for many returns"
	start_callers 2
	eval "$(./bpf_probe links do_sys_openat2 4)"
	stop_callers
	check "links for many run while they are open" [ "$hits" -gt 0 ]
	check_is "and not when they are closed" "$later" "$hits"
	eval "$(./bpf_probe links do_sys_openat2 30)"
	check "closing them does not wait for tasks" [ "$took" -lt 2000 ]
	check "some time later their function is left" within 100 left_by_ftrace do_sys_openat2
	./bpf_probe links kprobes_victim 2 >/dev/null
	check_is "closed links hold no module" \
		"$(awk '$1 == "test_kprobes_victim" { print $3 }' /proc/modules)" 0
else
	skip_check "a link for many functions loses no run" "no such links here"
fi

function=$(sed -n 's/^\(__[a-z0-9]*_sys_sethostname\)[[:space:]].*/\1/p' \
	/sys/kernel/debug/error_injection/list 2>/dev/null)
if [ -n "$function" ] && grep -q ' bpf_override_return$' /proc/kallsyms; then
	place=$function name=$(hostname)
	with p "$place" - hostname "$name"
	check_is "a system call does its work under one" "$hits $status" "1 0"
	with p "$place" -1 hostname "$name"
	check_is "and not if the program returns for it" "$hits $status" "1 1"
	with p "$place" - hostname "$name"
	check_is "nor is anything left of that" "$hits $status" "1 0"
	check "one that must not fail is refused" override_refused kernel_clone
	check "and in the middle of a function" override_refused "$middle"
else
	skip_check "a program can return for a function" \
		"no bpf_override_return, or no system call that may fail"
fi
check "no probe is left" fails listed kprobes_victim
finish
