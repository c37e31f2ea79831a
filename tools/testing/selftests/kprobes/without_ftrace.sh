#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# ftrace is switched off, and then shuts itself down, while it serves probes at function
# entries: where it hooks another one, it finds what it does not expect. It does not work
# afterwards, so this has to be the last test.
# Past bugs: disarming still called ftrace; the global switch did not stop handlers at entries;
# probes that ftrace had not hooked any more were taken for armed.

. ./functions
need debugfs tracefs victim
switch=/proc/sys/kernel/ftrace_enabled
break=/sys/module/test_kgdb/parameters/break_ftrace
[ -f $switch ] || skip "no $switch"
no_events

served()
{
	grep -q "kprobes_victim+0x[0-9a-f]* .* path=ftrace" $debugfs/sites
}

# why WORD: what "sites" says of the entry
why()
{
	grep -q "kprobes_victim+0x[0-9a-f]* .* path=ftrace .* why=$1\$" $debugfs/sites
}

# listed_without TAG PATTERN: matching probes without the tag
listed_without()
{
	listed "$2" | grep -v "$1"
}

add_victim_events entry middle
served || skip "ftrace does not serve the entry"
call_victim 1
check "ftrace can be switched off under a probe" can_write 0 $switch
call_victim 2
check_is "the probe is not hit" "$(profile entry)" "1 0"
check "sites says why" why ftrace-off
check_is "one in the middle is" "$(profile middle)" "3 0"
enable_event entry 0
enable_event back 1
call_victim 1
check_is "nor is one that comes" "$(profile back)" "0 0"
enable_event entry 1
check "ftrace can be switched on again" can_write 1 $switch
call_victim 3
check_is "the probe is hit then" "$(profile entry)" "4 0"
check "sites has no reason any more" why -
check_is "the one that has come too" "$(profile back)" "3 0"
check_is "and the one in the middle" "$(profile middle)" "7 0"
no_events

[ -f $break ] || skip "no $break"
add_victim_events entry middle
# At an entry that is hit until then, and stays enabled until the module goes
plant p stays test_kprobes_victim:call_victims
call_victim 1
check_is "a probe at an entry is hit" "$(profile stays)" "1 0"
echo "kprobes_test: expected report begins: WARNING: .* ftrace_" >/dev/kmsg
check "a probe for which ftrace has shut itself down is refused" can_write 1 $break
echo "kprobes_test: expected report ends" >/dev/kmsg
check "and is not in the list" fails listed meets_a_breakpoint
check "sites says that ftrace is dead" why ftrace-dead
mark_log
call_victim 2
check_is "a probe in the middle is hit without ftrace" "$(profile middle)" "3 0"
enable_event entry 0
seen=$(hits entry)
call_victim 1
check_is "one that has left an entry is not hit" "$(profile entry)" "$seen 0"
echo 0 >$debugfs/enabled
seen=$(hits stays)
call_victim 1
check_is "nor is one that stays there, while all are switched off" "$(profile stays)" "$seen 0"
# What is at an entry cannot be armed again.
echo 1 2>/dev/null >$debugfs/enabled
enable_event middle 0
enable_event middle 1
call_victim 1
check_is "in the middle they come and go" "$(profile middle)" "5 0"

# ftrace cannot be made to call for an entry any more, and to try that fails.
add_event p late kprobes_victim
check "no other can be enabled at an entry" fails can_write 1 $tracefs/events/kp/late/enable
check_is "the event is not then" "$(cat $tracefs/events/kp/late/enable)" 0
check "its probe is in the list" listed 'kprobes_victim+.*\[DISABLED\]\[FTRACE\]'
check "and none there is enabled" fails listed_without DISABLED 'kprobes_victim+.*\[FTRACE\]'
call_victim 1
check_is "it is not hit" "$(profile late)" "0 0"
check_is "but that in the middle is" "$(profile middle)" "6 0"
gone_before=$(gone)
check "the module can be unloaded under its probes" unload test_kprobes_victim
check_is "which are gone then" $(($(gone) - gone_before)) 5
no_events
check_is "and leave the list" "$(gone)" "$gone_before"
check "it can be loaded again" load test_kprobes_victim
check "and works" call_victim 1
plant p middle "$middle"
call_victim 1
check_is "so does a probe in the middle" "$(profile middle)" "1 0"
no_events
check "the module can be unloaded behind its probes" unload test_kprobes_victim
check "and loaded once more" load test_kprobes_victim
check "and works" call_victim 1
check "the kernel had nothing to say about all that" fails logged 'WARNING\|BUG:\|Oops'
finish
