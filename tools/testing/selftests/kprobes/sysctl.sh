#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The sysctl debug.kprobes-optimization: who can turn it, and to what. What comes of it is in
# kprobes_optimize_sites.

. ./functions
switch=/proc/sys/debug/kprobes-optimization
[ -f $switch ] || skip "no $switch"
keep $switch

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
finish
