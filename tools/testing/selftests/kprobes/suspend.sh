#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The system goes to sleep, as far as it comes back by itself, and for good if a clock can wake it:
# probes work before, on the way and after, and no call is lost.
# A past bug: probes did not survive sleep.

. ./functions
need tracefs victim
power=/sys/power
[ -f $power/pm_test ] || skip "no $power/pm_test"
delay=/sys/module/suspend/parameters/pm_test_delay
keep $delay
mode=$(sed -n 's/.*\[\(.*\)\].*/\1/p' $power/mem_sleep 2>/dev/null)
at_end="echo none >$power/pm_test${mode:+; echo $mode >$power/mem_sleep}"
echo 0 >$delay

add_victim_events entry back middle
plant p sleeps pm_suspend
plant r frozen freeze_processes result=\$retval:s32

# sleeps_in STATE WORDS: the system sleeps once, and there are calls when it is back
sleeps=0 calls=0
sleeps_in()
{
	check "$2" can_write "$1" $power/state
	sleeps=$((sleeps + 1))
	call_victim 3
	calls=$((calls + 3))
}

# tries STATE LEVEL...: once for each level, which is how far the system goes
tries()
{
	state=$1
	shift
	for level; do
		grep -q "$level" $power/pm_test || continue
		echo "$level" >$power/pm_test
		sleeps_in "$state" "it comes back from $state, $level"
	done
}

# This one calls whenever it is not frozen.
start_callers 1
# Not the levels of freeze behind these: something would have to wake idle processors.
tries freeze freezer devices platform
if grep -q deep $power/mem_sleep 2>/dev/null; then
	echo deep >$power/mem_sleep
	tries mem freezer devices platform processors core
fi

# It sleeps for good, but for the alarm of a clock. From freeze it would not wake everywhere: QEMU's
# clock does not interrupt idle processors then.
alarm=/sys/class/rtc/rtc0/wakealarm
if [ -w $alarm ] && grep -q deep $power/mem_sleep 2>/dev/null; then
	echo none >$power/pm_test
	echo 0 >$alarm
	check "an alarm can be set" can_write +5 $alarm
	sleeps_in mem "it wakes from mem"
else
	skip_check "it wakes from mem" "no clock to wake it"
fi
stop_callers
note "$calls calls afterwards, $called before and meanwhile"
calls=$((calls + called))
check "something was tried" [ $sleeps -gt 0 ]
check "there were calls meanwhile" [ "$called" -gt 0 ]
check_is "each time was seen" "$(profile sleeps)" "$sleeps 0"
check_is "and the tasks that froze" "$(profile frozen)" "$sleeps 0"
for event in entry back middle; do
	check_is "each call was seen at the $event" "$(profile $event)" "$calls 0"
done
finish
