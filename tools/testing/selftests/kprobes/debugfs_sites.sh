#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/sites and kprobes/stats_enabled: the way of each site's hits, their
# number if counting is switched on, and what was missed.
# Past bugs: functions in modules lost their jumps, or jumps covered what other functions jump to;
# with KASLR on arm64, probes in modules took two exceptions.

. ./functions
need debugfs tracefs victim
sites=$debugfs/sites
switch=$debugfs/stats_enabled
at_end="echo 0 >$switch; load test_kprobes_victim"

place='^[0-9a-f]{8,16} (-|[^ ]+\+0x[0-9a-f]+( \[[^] ]+\])?)'
counts='probes=[1-9][0-9]* hits=[0-9]+ missed=[0-9]+ \(recursion=[0-9]+ nested=[0-9]+ pool=[0-9]+\)'
form="$place path=(-|step|emulate|boost|jump|ftrace) $counts why=[a-z_-]+\$"

# hits_are WORDS PLACE HITS: so many are counted after three more calls
hits_are()
{
	call_victim 3
	check_is "$1" "$(site_value hits "$2")" "$3"
}

check_switch $switch counting
echo 0 >$switch

# sites_gone: how many have lost their text
sites_gone()
{
	grep -E -c '^[0-9a-f]{8,16} - path=- probes=1 .* why=gone$' $sites
}

gone_before=$(sites_gone)
before=$(wc -l <$sites)
add_victim_events entry back middle
entry=$(listed 'kprobes_victim+.*test_kprobes_victim' |
	sed 's/^[0-9a-f]*  [kr]  \([^ ]*\) .*/\1/' | grep -v -x -F "$middle" | head -n 1)
check_is "two places are two lines" "$(wc -l <$sites)" $((before + 2))
check_is "two probes on one function are one line" "$(site_value probes "$entry")" 2
check "the module is named" site "$entry [test_kprobes_victim]"
check "every line is in the expected form" fails grep -E -v -e "$form" $sites
check_is "there are lines to tell" "$(grep -E -c -e "$form" $sites)" $((before + 2))

if serves_ftrace; then
	check_is "a function's entry is hit through ftrace" "$(site_value path "$entry")" ftrace
	check_is "nothing keeps it from a faster way" "$(site_value why "$entry")" -
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
	case $(site_value path "$middle") in
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
	check_is "$at: nothing was missed" "$(site_value missed "$at")" 0
	echo 0 >$switch
	# The other place was counted meanwhile, so begin anew.
	no_events
	plant r back kprobes_victim
	plant p middle "$middle"
	check_is "$at: what comes back counts anew" "$(site_value hits "$at")" 0
done

# Who sleeps has the return probe's only instance, until others have slept without one.
misses_calls()
{
	[ "$(site_value pool "$1")" -ge 1 ]
}

sleeping=hrtimer_nanosleep
if plant r1 naps $sleeping 2>/dev/null || promised; then
	at=$(listed "  r  $sleeping+" | sed 's/^[0-9a-f]*  r  \([^ ]*\) .*/\1/')
	sleep 1000 &
	sleeper=$!
	within 50 misses_calls "$at"
	kill $sleeper
	sleeper=
	wait
	check "calls beyond a return probe's maxactive are misses" misses_calls "$at"
	check_is "and the only ones" "$(site_value missed "$at")" "$(site_value pool "$at")"
	check_is "not of recursion" "$(site_value recursion "$at")" 0
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
check_is "sites of text that went say so" "$(sites_gone)" $((gone_before + 2))
check "in the expected form" fails grep -E -v -e "$form" $sites
no_events
check_is "and go with their probes" "$(sites_gone)" "$gone_before"
check_is "without events there are as many lines as before" "$(wc -l <$sites)" "$before"

# at NAME COMMAND...: run it with a probe at that place in the victim, which is $at
at()
{
	at=$(cat "$victim/$1")
	load kprobe_offset symbol="${at%+*}" offset="${at#*+}"
	shift
	"$@"
	unload kprobe_offset
}

why_is()
{
	check_is "$2" "$(site_value why "$at")" "$1"
}

jump_comes()
{
	check "who leaves a module's function leads to none of its instructions" \
		within 300 by_jump "$at"
}

load test_kprobes_victim
what="each part of a function counts that leads back"
if [ ! -e /proc/sys/debug/kprobes-optimization ]; then
	skip_check "$what" "no jumps"
elif [ ! -f $victim/joint ]; then
	skip_check "$what" "a jump covers one instruction"
else
	at joint why_is target "$what"
	at leaves jump_comes
	at fixed why_is insn "what may fault in a module has to stay in its place"
fi
finish
