#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/list: one line per probe, in the form tools expect.
# A past bug: addresses were shown to readers who may not see them.

. ./functions
need debugfs tracefs victim
at_end="load test_kprobes_victim"

place='^[0-9a-f]{8,16}  [jkr]  [^ ]+\+0x[0-9a-f]+'
tags='(\[GONE\])?(\[DISABLED\])?(\[OPTIMIZED\])?(\[FTRACE\])?$'

for file in list:400 sites:400 blacklist:400 errors:400 enabled:600 stats_enabled:600; do
	check_is "${file%:*} is for root only" "$(stat -c %a "$debugfs/${file%:*}")" "${file#*:}"
done

before=$(wc -l <$debugfs/list)
add_event p entry kprobes_victim
add_event r back kprobes_victim
check_is "two probes on one function are two lines" "$(wc -l <$debugfs/list)" $((before + 2))
check "one of them is a kprobe" [ "$(listed '  k  kprobes_victim+' | wc -l)" -ge 1 ]
check "its module is named" listed 'kprobes_victim+0x[0-9a-f]*  test_kprobes_victim '
check "it is disabled as long as the event is" listed 'kprobes_victim+.*\[DISABLED\]'

enable_event entry 1
enable_event back 1
check "it is not any more once the event is on" fails listed 'kprobes_victim+.*\[DISABLED\]'
enable_event entry 0
check_is "one of the two can be disabled" "$(listed 'kprobes_victim+.*\[DISABLED\]' | wc -l)" 1
enable_event entry 1

add_event p middle "$middle"
check "a probe in the middle of a function has its offset" listed "  k  $middle  "
check "it does not go through ftrace" fails listed "  k  $middle  .*FTRACE"
if serves_ftrace; then
	check "a probe on a function entry goes through ftrace" \
		listed 'kprobes_victim+.*\[FTRACE\]'
	check "and not by a jump" fails listed 'kprobes_victim+.*OPTIMIZED.*FTRACE'
else
	skip_check "a probe on a function entry goes through ftrace" "ftrace serves no probes"
fi
if jumps_are_on; then
	enable_event middle 1
	check "no site waits for its jump for ever" jumps_settle
	check "a probe that is hit by a jump says so" listed "  k  $middle  .*\[OPTIMIZED\]$"
	enable_event middle 0
	check "and not when it is disabled" fails listed "  k  $middle  .*OPTIMIZED"
else
	skip_check "a probe that is hit by a jump says so" "jumps are off"
fi

add_event p fork kernel_clone
check "in the kernel itself there is a blank for the module" \
	grep -E "$place    $tags" $debugfs/list
check "every line is in the expected form" fails \
	grep -E -v -e "$place  [^ ]* $tags" -e "$place    $tags" $debugfs/list
if [ -w $restrict ]; then
	unload test_kprobes_victim
	check "freed text is shown by its address" listed '  k  0x[0-9a-f]\{8,16\} \[GONE\]'
	check "but not to all" fails hidden listed '0x[0-9a-f]*[1-9a-f][0-9a-f]* \[GONE\]'
	check "who see zeros" hidden listed '^0\{8,16\}  k  0x0 \[GONE\]'
	load test_kprobes_victim
fi

no_events
check_is "without events the list is as it was" "$(wc -l <$debugfs/list)" "$before"
finish
