#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The sysctl debug.kprobes-optimization: whether jumps take the place of breakpoints.

. ./functions
need debugfs tracefs victim
switch=/proc/sys/debug/kprobes-optimization
[ -f $switch ] || skip "no $switch"
keep $switch

# is_said WORD: does sites say it of the site in the middle of the victim?
is_said()
{
	site "$middle" | grep -q " $1\( \|\$\)"
}

jump_comes()
{
	jumps_settle && is_said path=jump
}

check_is "it can be read by all, and written to by root" "$(stat -c %a $switch)" 644
if can_be_nobody; then
	check "who is not root can read it" as_nobody "cat $switch"
	check "but not write to it" fails as_nobody "echo 1 >$switch" 2>/dev/null
else
	skip_check "who is not root can read it, but not write to it" "no su, or no user nobody"
fi
for value in 0 1; do
	check "'$value' is taken" can_write $value $switch
	for bad in 2 -1 x 1x on; do
		check "'$bad' is refused" fails can_write $bad $switch
		check_is "'$bad' changes nothing" "$(cat $switch)" $value
	done
done

plant p middle "$middle"
if jump_comes || promised; then
	check "a jump comes" jump_comes
	call_victim 2
	echo 0 >$switch
	check "switched off, there is no jump when the write returns" fails is_said path=jump
	check "and that is why" is_said why=off
	call_victim 3
	check_is "the probe is hit all the same" "$(profile middle)" "5 0"
	sleep 1
	check "no jump comes by itself" fails is_said path=jump
	echo 1 >$switch
	check "switched on, it comes" jump_comes
	call_victim 4
	check_is "each call was seen" "$(profile middle)" "9 0"
else
	note "no jump comes here: $(site "$middle")"
fi
finish
