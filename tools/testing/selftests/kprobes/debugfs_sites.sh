#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/sites and kprobes/stats_enabled: the way of each site's hits, their
# number if counting is switched on, and what was missed.
# Past bugs: functions in modules lost their jumps, or jumps covered what other functions jump to;
# with KASLR on arm64, probes in modules took two exceptions.

. ./functions
need_debugfs
need_tracefs
need_victim
sites=$debugfs/sites
switch=$debugfs/stats_enabled

sleeper=
restore()
{
	[ -z "$sleeper" ] || kill "$sleeper"
	echo 0 >$switch
	no_events
	load test_kprobes_victim
}
trap restore EXIT

place='^[0-9a-f]{8,16} (-|[^ ]+\+0x[0-9a-f]+( \[[^] ]+\])?)'
counts='probes=[1-9][0-9]* hits=[0-9]+ missed=[0-9]+ \(recursion=[0-9]+ nested=[0-9]+ pool=[0-9]+\)'
form="$place path=(-|step|emulate|boost|jump|ftrace) $counts why=[a-z_-]+\$"

# site PLACE: the line of a symbol with its offset, or of a symbol
site()
{
	grep -F " $1 " $sites
}

# value FIELD PLACE
value()
{
	site "$2" | sed "s/.*[ (]$1=\([^ )]*\).*/\1/"
}

# hits_are WORDS PLACE HITS: so many are counted after three more calls
hits_are()
{
	call_victim 3
	check_is "$1" "$(value hits "$2")" "$3"
}

check_is "sites can be read by root only" "$(stat -c %a $sites)" 400
check_is "stats_enabled can be written by root only" "$(stat -c %a $switch)" 600

check_switch $switch counting
echo 0 >$switch

# has_jump PLACE
has_jump()
{
	[ "$(value path "$1")" = jump ]
}

gone='^[0-9a-f]{8,16} - path=- probes=1 .* why=gone$'
gone()
{
	grep -E -c -e "$gone" $sites
}

gone_before=$(gone)
before=$(wc -l <$sites)
add_victim_events entry back middle
entry=$(listed 'kprobes_victim+.*test_kprobes_victim' |
	sed 's/^[0-9a-f]*  [kr]  \([^ ]*\) .*/\1/' | grep -v -x -F "$middle" | head -n 1)
check_is "two places are two lines" "$(wc -l <$sites)" $((before + 2))
check_is "two probes on one function are one line" "$(value probes "$entry")" 2
check "the module is named" site "$entry [test_kprobes_victim]"
check "every line is in the expected form" fails grep -E -v -e "$form" $sites
check_is "there are lines to tell" "$(grep -E -c -e "$form" $sites)" $((before + 2))
names()
{
	cut -d ' ' -f 2,3 $sites | sed 's/path=.*//'
}

if [ -w $restrict ]; then
	check "root sees addresses" fails grep '^0* ' $sites
	check "who may see none sees zeros" fails hidden grep -v '^0\{8,16\} ' $sites
	check_is "and all the names" "$(hidden names)" "$(names)"
fi

if grep -q ' kprobe_ftrace_handler$' /proc/kallsyms; then
	check_is "a function's entry is hit through ftrace" "$(value path "$entry")" ftrace
	check_is "nothing keeps it from a faster way" "$(value why "$entry")" -
else
	skip_check "a function's entry is hit through ftrace" "ftrace serves no probes"
fi
# Read once, because a site that waits for its jump may have it the next time
line=$(site "$middle")
case $line in
*" path=jump "*)
	check_is "nothing keeps a jump from a faster way" "${line##* why=}" - ;;
*)	check "what is no jump says why" [ "${line##* why=}" != - ] ;;
esac
if promised; then
	case $(value path "$middle") in
	boost|jump)	path=fast ;;
	*)		path=slow ;;
	esac
	check_is "a nop is boosted at the least" $path fast
fi

for at in "$entry" "$middle"; do
	hits_are "$at: hits are not counted unasked" "$at" 0
	echo 1 >$switch
	hits_are "$at: they are when asked for" "$at" 3
	echo 1 >$switch
	hits_are "$at: asking twice is asking once" "$at" 6
	echo 0 >$switch
	hits_are "$at: and no more afterwards" "$at" 6
	check_is "$at: nothing was missed" "$(value missed "$at")" 0
	echo 0 >$switch
	# The other place was counted meanwhile, so begin anew.
	no_events
	add_event "r:kp/back test_kprobes_victim:kprobes_victim"
	add_event "p:kp/middle test_kprobes_victim:$middle"
	enable_event back 1
	enable_event middle 1
	check_is "$at: what comes back counts anew" "$(value hits "$at")" 0
done

# Who sleeps has the return probe's only instance, until others have slept without one.
sleeping=hrtimer_nanosleep
if can_define "r1:kp/naps $sleeping" && enable_event naps 1 || promised; then
	at=$(listed "  r  $sleeping+" | sed 's/^[0-9a-f]*  r  \([^ ]*\) .*/\1/')
	sleep 1000 &
	sleeper=$!
	tries=0
	while [ "$(value pool "$at")" = 0 ] && [ $tries -lt 50 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	kill $sleeper
	sleeper=
	wait
	check "calls beyond a return probe's maxactive are misses" \
		[ "$(value pool "$at")" -ge 1 ]
	check_is "and the only ones" "$(value missed "$at")" "$(value pool "$at")"
	check_is "not of recursion" "$(value recursion "$at")" 0
fi

# Its handler prints, too.
if load kprobe_example symbol=vprintk_emit || promised; then
	echo "a line" >/dev/kmsg
	at=$(listed '  k  vprintk_emit+' | sed 's/^[0-9a-f]*  k  \([^ ]*\) .*/\1/')
	line=$(site "$at")
	unload kprobe_example
	again=${line#*recursion=}
	again=${again%% *}
	check "hits by a handler are misses of recursion" [ "${again:-0}" -ge 1 ]
	check "and all that was missed" [ "${line#* missed="$again" (}" != "$line" ]
fi

unload test_kprobes_victim
check_is "sites of text that went say so" "$(gone)" $((gone_before + 2))
check "in the expected form" fails grep -E -v -e "$form" $sites
no_events
check_is "and go with their probes" "$(gone)" "$gone_before"
check_is "without events there are as many lines as before" "$(wc -l <$sites)" "$before"

# Where a jump covers more than one instruction
covers_more()
{
	case $(uname -m) in
	x86_64|i?86)	true ;;
	*)		false ;;
	esac
}

load test_kprobes_victim
what="each part of a function counts that leads back"
if [ ! -e /proc/sys/debug/kprobes-optimization ]; then
	skip_check "$what" "no jumps"
elif ! covers_more; then
	skip_check "$what" "a jump covers one instruction"
else
	joint=$(cat $victim/joint)
	load kprobe_offset symbol="${joint%+*}" offset="${joint#*+}"
	check_is "$what" "$(value why "$joint")" target
	unload kprobe_offset
	leaves=$(cat $victim/leaves)
	load kprobe_offset symbol="${leaves%+*}" offset="${leaves#*+}"
	check "who leaves a module's function leads to none of its instructions" \
		within 300 has_jump "$leaves"
	unload kprobe_offset
	fixed=$(cat $victim/fixed)
	load kprobe_offset symbol="${fixed%+*}" offset="${fixed#*+}"
	check_is "what may fault in a module has to stay in its place" "$(value why "$fixed")" insn
	unload kprobe_offset
fi
finish
