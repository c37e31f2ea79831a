#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Functions that fail on demand, by a kprobe that returns in their place.

. ./functions
need debugfs tracefs
fail=/sys/kernel/debug/fail_function
[ -f $fail/inject ] || skip "no $fail/inject"
function=$(sed -n 's/^\(__[a-z0-9]*_sys_sethostname\)[[:space:]].*/\1/p' \
	/sys/kernel/debug/error_injection/list)
[ -n "$function" ] || skip "no system call among what may fail"
name=$(hostname)
keep $fail/probability $fail/times $fail/verbose
at_end="echo >$fail/inject"
eval "$at_end"

can_set_name()
{
	hostname "$name" 2>/dev/null
}

check "the function does its work" can_set_name
check "a function that must not fail is refused" fails can_write kernel_clone $fail/inject
check "this one is not" can_write "$function" $fail/inject
check "it has a probe" [ -n "$(listed "$function")" ]
echo 100 >$fail/probability
echo -1 >$fail/times
echo 0 >$fail/verbose
echo 0xfffffffffffffff4 >"$fail/$function/retval"
check "it fails" fails can_set_name
check "with what is asked for" [ -n "$(hostname "$name" 2>&1 | grep 'Out of memory\|allocate')" ]

# The newest probe is hit first, so the other one does not keep it from being hit.
plant p entry "$function"
check "it fails with another probe on it" fails can_set_name
check_is "which is hit" "$(profile entry)" "1 0"
can_write "!$function" $fail/inject
check "it does its work again" can_set_name
check_is "the other probe is hit again" "$(profile entry)" "2 0"
check "one probe is left" [ "$(listed "$function" | wc -l)" = 1 ]
finish
