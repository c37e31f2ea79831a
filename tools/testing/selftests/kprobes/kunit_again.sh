#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The KUnit suites, once more after boot: nothing of the first run may be in the way,
# and probes that it has left on init text must be gone by now. kpagain may have a pattern of those
# that are wanted. With kpslow=1 suites with slow cases are run, too.
# A past bug: a test left its structs so that it could not be run twice.

. ./functions
kunit=/sys/kernel/debug/kunit
need debugfs

# again SUITE
again()
{
	mark_log
	echo 1 >"$kunit/$1/run"
	! logged 'kunit: disabled' || skip "KUnit is off (kunit.enable)"
	check "$1 passes again" logged "^\(.*\] \)\{0,1\}ok [0-9]* $1\( # SKIP.*\)\{0,1\}\$"
	check "$1 has no case that fails" fails logged 'not ok'
	note "$(log | sed -n '/not ok/p; /FAILED/,+4p')"
}

suites= wanted=${kpagain:-k*probe*}
for run in "$kunit"/$wanted/run; do
	[ -f "$run" ] || continue
	suite=$(basename "${run%/run}")
	# Tests that are not done in seconds
	[ -n "${kpslow:-}" ] || ! grep -q '\.speed: .*slow' "${run%run}results" || continue
	suites="$suites $suite"
	again "$suite"
done
[ -n "$suites" ] || skip "no KUnit suites of kprobes"
# shellcheck disable=SC2194,SC2254
case kprobes_init_test in
$wanted)
	check_is "the suite that has left a probe on init text is among them" \
		"$(echo "$suites" | grep -o ' kprobes_init_test\b')" " kprobes_init_test"
	;;
esac
finish
