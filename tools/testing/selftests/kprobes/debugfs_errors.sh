#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/errors: the last probes that were refused, and the reasons in words. KUnit's
# kprobes_why has the reasons, and which lines are kept.

. ./functions
need debugfs tracefs victim
errors=$debugfs/errors

form='^-(E[A-Z0-9]+|[0-9]+) (-|[^ ]+( \[[^] ]+\])?): [^ ].*$'

last_is()
{
	tail -n 1 $errors | grep -q -e "$1" && return
	echo "it is '$(tail -n 1 $errors)'"
	false
}

place=test_kprobes_victim:kprobes_victim_nokprobe
check "an event on the blacklist is refused" fails can_define "p:kp/no $place"
check "errors says why, with the place as the event names it" \
	last_is "^-\(22\|EINVAL\) $place+0x0: on the blacklist\$"

# The event stays, for a module that may come.
can_define "p:kp/nowhere 0x4711"
check "root sees an address that is nowhere" last_is '^-[^ ]* 0x0*4711: '
[ ! -w $restrict ] || check "who may see none sees zeros" hidden last_is '^-[^ ]* 0x0*: '
check "its event goes again" no_events
check "every line is in the expected form" fails grep -E -v -e "$form" $errors
finish
