#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# /proc/kallsyms names the pages that hold copies of probed instructions, and those of detours.

. ./functions
need debugfs tracefs victim
page='^[0-9a-f]* t kprobe_insn_page	\[__builtin__kprobes\]$'
detours='^[0-9a-f]* t kprobe_optinsn_page	\[__builtin__kprobes\]$'

plant p middle "$middle"
call_victim 1
check_is "the probe works" "$(hits middle)" 1
check "there is a page with a name" grep -q "$page" /proc/kallsyms
check "its address is shown to root" \
	[ "$(grep "$page" /proc/kallsyms | grep -v -c '^0* ')" -gt 0 ]
# On arm64 a detour is a part of the slot.
if [ "$machine" = x86_64 ] && jumps_are_on; then
	jumps_settle
	check "a jump comes" by_jump "$middle"
	check "so there is a page of detours, with a name" grep -q "$detours" /proc/kallsyms
fi
finish
