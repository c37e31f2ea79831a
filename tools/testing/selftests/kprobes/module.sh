#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Probes in a module that goes and comes back.
# Past bugs: a breakpoint was written to freed text of a module; a probe stayed hooked in ftrace
# when its module had gone; a slot had a copy of a jump label from before it was patched; an event
# past the end of a module that is coming was kept; breakpoints stayed in text that runs until it
# is freed.

. ./functions
need debugfs tracefs victim

# This turns the key of the victim's jump label.
key=$tracefs/events/power/suspend_resume/enable

at_end='no_events; can_define "-:kprobes/kprobes_early"; load test_kprobes_victim'
[ ! -f $key ] || at_end="$at_end; echo 0 >$key"

# hooked FUNCTION: does ftrace call a user at its entry?
hooks=$tracefs/enabled_functions
hooked()
{
	grep -q "^$1 " $hooks
}

# KUnit may have left one.
gone_before=$(gone)
add_victim_events entry back middle
add_event p asleep kprobes_victim
call_victim 2
check_is "the function is hit" "$(hits entry)" 2
if [ -f $hooks ] && serves_ftrace; then
	check "ftrace calls at its entry" hooked kprobes_victim
else
	skip_check "ftrace calls at its entry" "ftrace serves no probes"
fi

# jump_is_there: where there can be a jump, the probe in the middle is hit by one
jump_is_there()
{
	! jumps_are_on || { jumps_settle && by_jump "$middle"; }
}

check "the one in the middle has its jump" jump_is_there
mark_log
check "probes do not hold the module" unload test_kprobes_victim
check_is "its probes are gone, and said to be" $(($(gone) - gone_before)) 4
check "all of them" [ -z "$(listed '  test_kprobes_victim ' | grep -v GONE)" ]
check "a gone probe can be disabled" can_write 0 $tracefs/events/kp/entry/enable
check "a gone probe can leave" can_define "-:kp/entry"

load test_kprobes_victim
call_victim 2
check_is "the return probe is back with the module" "$(hits back)" 4
check_is "so is the one in the middle" "$(hits middle)" 4
check_is "what was disabled still is" "$(hits asleep)" 0
check_is "nothing is said to be gone now" "$(gone)" "$gone_before"
check "the one in the middle has its jump again" jump_is_there

unload test_kprobes_victim
no_events
check_is "gone probes leave the list when they are removed" "$(gone)" "$gone_before"

# Whoever is told of the module before all others can probe it.
early=/sys/module/test_kprobes_visitor/parameters/answers
early_enable=$tracefs/events/kprobes/kprobes_early/enable
check "somebody asks when the module comes" load test_kprobes_visitor
load test_kprobes_victim
check_is "who can have a probe and an event then, but not past the end of the module" \
	"$(cat $early)" 0,0,-2
unload test_kprobes_visitor
echo 1 >$early_enable
call_victim 2
check_is "the event is hit" "$(profile kprobes_early)" "2 0"
echo 0 >$early_enable
check "and can leave" can_define "-:kprobes/kprobes_early"
no_events
[ ! -f $hooks ] || check "ftrace does not call for them when it is back" fails hooked kprobes_victim
check "and the module is there to be called" call_victim 3

# The function that runs once, when the module starts
unload test_kprobes_victim
plant p start kprobes_victim_starts
load test_kprobes_victim
check_is "init text of a module is probed while it runs" "$(hits start)" 1
check_is "its probe is gone when that text is" $(($(gone) - gone_before)) 1
check "it can leave then" no_events
check_is "and has left" "$(gone)" "$gone_before"

# Init text that runs on until it is freed
late_middle=$(cat $victim/late_middle)
unload test_kprobes_victim
plant p late "$late_middle"
load test_kprobes_victim
check_is "init text runs on when the module is live" "$(cat $victim/late)" 1
check_is "a probe on it has gone by then" $(($(gone) - gone_before)) 1
check_is "without a hit" "$(profile late)" "0 0"
check_is "and another one is refused" "$(cat $victim/late_probe)" -2
no_events

# Text of a module that is going while one of its parameters is read
plant p going "$middle"
is_hit()
{
	[ "$(hits going)" != 0 ]
}

cat $victim/leaving >"$work/leaving" &
within 600 is_hit
check "it goes under a reader" unload test_kprobes_victim
wait
check_is "who can read on, but not probe it" "$(cat "$work/leaving")" "going -2"
check_is "its text is not probed then" "$(profile going)" "1 0"
no_events
load test_kprobes_victim

# What the module's own tables tell of, and a probe must leave alone
last_reason_has()
{
	tail -n 1 $debugfs/errors | grep -q ": .*$1"
}

tables=
while read -r what place module; do
	case "$tables " in
	*" $what "*)	;;
	*)		tables="$tables $what" ;;
	esac
	check "a $what of the module is refused" \
		fails can_define "p:kp/no test_kprobes_victim:${place%/*}"
	check "and is said to be that" last_reason_has "$what"
done <$victim/patched
case $machine in
x86_64)	check "the module has both" [ "${tables# WARN() call}" != "$tables" ] ;;
*)	check_is "the module has one" "$tables" " WARN()" ;;
esac

# way_is WORDS on|off: the victim goes this way, and hits the probes on it
went_on=0 went_off=0
way_is()
{
	check_is "$1" "$(cat $victim/way)" "$2"
	eval "went_$2=\$((went_$2 + 1))"
}

# A jump label that is patched when the module comes, when there are probes around it already
if [ -f $victim/ways ] && [ -f $key ]; then
	way_is "the label says off at first" off
	went_off=0
	# shellcheck disable=SC2046
	set -- $(cat $victim/ways)
	unload test_kprobes_victim
	for event in "before $1" "label $2" "on $3" "off $4"; do
		plant p "${event% *}" "test_kprobes_victim:${event#* }"
	done
	echo 1 >$key
	load test_kprobes_victim
	check "a probe on the label is refused while the module comes" fails listed "  k  $2  "
	check "and when it is there" fails can_define "p:kp/later test_kprobes_victim:$2"
	check "one in front of it is not" listed "  k  $1  "
	way_is "the label says what its key is by then" on
	check "every probe that can have a jump has one" jumps_settle
	way_is "and goes on to" on
	echo 0 >$key
	way_is "it is turned under the probes" off
	check "and none waits for one when the label is turned" jumps_settle
	way_is "to stay so" off
	echo 1 >$key
	way_is "and turned back" on
	check_is "the probe in front of it was hit each time" \
		"$(profile before)" "$((went_on + went_off)) 0"
	check_is "that on the one way as often as it was gone" "$(profile on)" "$went_on 0"
	check_is "so was that on the other" "$(profile off)" "$went_off 0"
	no_events
	way_is "the label works when the probes have left" on
	echo 0 >$key
	way_is "either way" off
else
	skip_check "there are probes around a jump label" "no $victim/ways, or no $key"
fi

# An event and the module come and go at the same time, and the blacklist is read meanwhile.
grep -v kprobes_victim $debugfs/blacklist >"$work/own"
(
	while [ ! -f "$work/stop" ]; do
		can_define "p:kp/race test_kprobes_victim:kprobes_victim"
		can_write 1 $tracefs/events/kp/race/enable && : >"$work/raced"
		can_write 0 $tracefs/events/kp/race/enable
		can_define "-:kp/race"
	done
) &
(
	while [ ! -f "$work/stop" ]; do
		cat $debugfs/blacklist >"$work/now"
		grep -vxFf "$work/now" "$work/own" >>"$work/missing"
	done
) &
went=0
for round in $(seq 20); do
	unload test_kprobes_victim && went=$((went + 1))
	load test_kprobes_victim
	call_victim 2
done
: >"$work/stop"
wait
check "the module went and came, $went times of $round" [ $went -gt 0 ]
check "while an event on it did" [ -f "$work/raced" ]
check "and works" call_victim 2
check "the blacklist was read" [ -f "$work/missing" ]
check_is "and had all of the kernel's own each time" "$(sort -u "$work/missing")" ""
no_events
[ ! -f $hooks ] || check "nothing of that is left in ftrace" fails hooked kprobes_victim
check "the kernel had nothing to say about all that" fails logged 'WARNING\|BUG:\|Oops'
finish
