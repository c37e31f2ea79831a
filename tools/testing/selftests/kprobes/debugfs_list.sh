#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/list: one line per probe, in the form tools expect.
# Past bugs: addresses were shown to readers who may not see them; a read left out as many sites as
# had been freed since the one before.

. ./functions
need debugfs tracefs victim
at_end="load test_kprobes_victim"
shown=$work/shown

place='^[0-9a-f]{8,16}  [jkr]  [^ ]+\+0x[0-9a-f]+'
tags='(\[GONE\])?(\[DISABLED\])?(\[OPTIMIZED\])?(\[FTRACE\])?$'

check_is "list can be read by root only" "$(stat -c %a $debugfs/list)" 400
check_is "enabled can be written by root only" "$(stat -c %a $debugfs/enabled)" 600
check_is "blacklist can be read by root only" "$(stat -c %a $debugfs/blacklist)" 400

# Without the tags, because jumps may come meanwhile
names()
{
	sed 's/^[0-9a-f]*//; s/\[.*//' $debugfs/list
}

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
	check "root sees addresses" fails listed '^0* '
	check "who may see none sees zeros" fails hidden grep -v '^0\{8,16\}  ' $debugfs/list
	check_is "and all the names" "$(hidden names)" "$(names)"
	unload test_kprobes_victim
	check "freed text is shown by its address" listed '  k  0x[0-9a-f]\{8,16\} \[GONE\]'
	check "but not to all" fails hidden listed '0x[0-9a-f]*[1-9a-f][0-9a-f]* \[GONE\]'
	check "who see zeros" hidden listed '^0\{8,16\}  k  0x0 \[GONE\]'
	load test_kprobes_victim
fi

# Sites that have been shown are freed before the rest is read.
plant_events 16 1600
check "there are more probes than one read returns" [ "$(listed copy_process | wc -c)" -gt 8192 ]
exec 3<$debugfs/list
dd bs=1024 count=1 <&3 >"$shown" 2>/dev/null
going=$(sed -n 's,.*\(kp/at_[1-7][0-9]\{0\,2\}\) .*,\1,p' $tracefs/kprobe_events)
for event in $going; do
	echo "-:$event" >>$tracefs/kprobe_events
done
check "some went meanwhile" [ -n "$going" ]
sleep 2
cat <&3 >>"$shown"
exec 3<&-
sed -i 's/\[.*//' "$shown"
check_is "all that stayed are shown" \
	"$(listed copy_process | sed 's/\[.*//' | grep -vxF -f "$shown")" ""

no_events
check_is "without events the list is as it was" "$(wc -l <$debugfs/list)" "$before"
finish
