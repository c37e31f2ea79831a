#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Registrations that run out of memory, at each of their allocations: a KUnit
# suite, with allocations that are made to fail when it says so.

. ./functions
need_debugfs
suite=/sys/kernel/debug/kunit/kprobes_memory/run
[ -f $suite ] || skip "no KUnit suite kprobes_memory"
[ -d /sys/kernel/debug/failslab ] || skip "no /sys/kernel/debug/failslab"

# Which of them may fail: Y leaves those out that may sleep.
may_fail()	# N|Y
{
	for what in failslab fail_page_alloc; do
		[ -d /sys/kernel/debug/$what ] || continue
		echo 0 >/sys/kernel/debug/$what/verbose
		echo "$1" >/sys/kernel/debug/$what/ignore-gfp-wait
	done
	[ ! -d /sys/kernel/debug/fail_page_alloc ] ||
		echo "$1" >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem
}

trap 'may_fail Y' EXIT
may_fail N
mark_log
echo 1 >$suite
! logged 'kunit: disabled' || skip "KUnit is off (kunit.enable)"
log | sed -n '/not ok/p; /FAILED/,+4p; s/.*\( allocations, .*\)/	\1/p'
check "nothing changes when an allocation fails" logged 'ok [0-9]* kprobes_memory$'
check "no case fails" fails logged 'not ok'
check "allocations were made to fail" fails logged 'SKIP'
finish
