#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The KUnit suites, once more than at boot: nothing of the first run may be in
# the way, and what was left on init text then must be gone by now.

. ./functions
kunit=/sys/kernel/debug/kunit
need_debugfs

found=0
for suite in kprobes_test kretprobes_test kprobes_core_test; do
	[ -f $kunit/$suite/run ] || continue
	found=1
	mark_log
	echo 1 >$kunit/$suite/run
	! logged 'kunit: disabled' || skip "KUnit is off (kunit.enable)"
	check "$suite passes again" logged "ok [0-9]* $suite\$"
	check "$suite has no case that fails" fails logged 'not ok'
	log | sed -n '/not ok/p; /FAILED/,+4p'
done
[ $found = 1 ] || skip "no KUnit suites of kprobes"
finish
