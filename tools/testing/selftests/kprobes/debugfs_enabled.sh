#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/enabled: the switch for all probes, and what a single probe
# may do while it is off.
# A past bug: the switch and that of each probe got out of step, and a probe was disarmed twice.

. ./functions
need debugfs tracefs victim
switch=$debugfs/enabled
keep $switch

# count_is WORDS EVENT HITS: three calls make so many hits
count_is()
{
	counted=$(hits "$2")
	call_victim 3
	check_is "$1" $(($(hits "$2") - counted)) "$3"
}

# expect_jump PLACE: where there can be a jump, it is hit by one
expect_jump()
{
	[ "$1" = "$middle" ] && jumps_are_on || return 0
	jumps_settle
	check "$1: it is hit by a jump" by_jump "$1"
}

check_is "probes are on at first" "$(cat $switch)" 1
check_switch $switch probes

# All of this, for a probe that ftrace serves and for a breakpoint
for place in kprobes_victim $middle; do
	add_event p one "$place"
	add_event p two "$place"

	enable_event one 1
	count_is "$place: an enabled event is hit" one 3
	count_is "$place: a disabled one is not" two 0
	expect_jump "$place"
	echo 0 >$switch
	count_is "$place: nothing is hit with the switch off" one 0
	check_is "$place: the probe itself is still enabled" \
		"$(listed "${place}[+ ].*DISABLED" | wc -l)" 1
	enable_event two 1
	count_is "$place: not even what is enabled now" two 0
	plant p three "$place"
	count_is "$place: or is new" three 0
	enable_event one 0
	echo 1 >$switch
	count_is "$place: what was enabled meanwhile is hit with the switch on" two 3
	count_is "$place: what was made meanwhile too" three 3
	count_is "$place: what was disabled meanwhile is not" one 0
	expect_jump "$place"
	enable_event one 1
	count_is "$place: until it is enabled" one 3

	echo 0 >$switch
	enable_event one 0
	enable_event two 0
	enable_event three 0
	no_events
	check "$place: all can leave with the switch off" fails listed "${place}[+ ]"
	echo 1 >$switch
	call_victim 3
	plant p one "$place"
	count_is "$place: and come back with it on" one 3
	no_events
done
finish
