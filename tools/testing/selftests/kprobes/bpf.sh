#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# BPF programs on probes: they run at each hit, by any way to the handlers, know the
# function they are in, and can return in its place.

. ./functions
need_debugfs
need_victim
[ -x ./bpf_probe ] || skip "no program bpf_probe, which make builds here"
jumps=/proc/sys/debug/kprobes-optimization
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# with KIND PLACE VALUE COMMAND...: run bpf_probe, and set $hits, $function and $status
with()
{
	./bpf_probe "$@" >"$work/told"
	code=$?
	[ $code != 4 ] || skip "no BPF programs on probes in this kernel"
	check "a program comes to $2" [ $code = 0 ]
	hits='' function='' status=''
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
with p kprobes_victim - sh -c "$calls"
check_is "it runs at the entry" "$hits $status" "5 0"
check_is "and knows the function" "$function" "$(address kprobes_victim)"
with r kprobes_victim - sh -c "$calls"
check_is "it runs at the return" "$hits $status" "5 0"
check_is "and knows the function" "$function" "$(address kprobes_victim)"
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
