#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# To be able to follow a processor through probed code, perf is told of pages with
# copies of instructions and, on x86, of each change of text.

. ./functions
need debugfs tracefs victim
[ -x ./perf_ksymbol ] || skip "no program perf_ksymbol, which make builds here"
page=kprobe_insn_page
at_end=": >$work/done; wait"

./perf_ksymbol $page 0 true >"$work/told"
code=$?
[ $code != 4 ] || skip "no records of symbols and text in this kernel"
check "perf can be asked" [ $code = 0 ]
[ $code = 0 ] || finish

# The pages of that name that exist
pages()
{
	sed -n "s/^\([0-9a-f]*\) t $page	.*/\1/p" /proc/kallsyms
}

# told WORD: what follows the word and its time, in the order of events
told()
{
	sort -n "$work/told" | sed -n "s/^[0-9]* $1 //p"
}

# without FILE: the lines of standard input that are not in the file
without()
{
	awk -v file="$1" 'BEGIN { while ((getline line <file) > 0) there[line] }
		!($0 in there)'
}

# Defines events on instructions to be copied, until there is another page. Where no instruction
# begins, the event is refused.
plant_pages()
{
	for offset in $(seq 16 256 4096); do
		no_more_pages || break
		for at in $(seq "$offset" $((offset + 255))); do
			echo "p:kp/at_$at copy_process+$at"
		done >>$tracefs/kprobe_events 2>/dev/null
	done
}

no_more_pages()
{
	[ "$(pages | wc -l)" -le "$had" ]
}

plant p middle "$middle"
enable_event middle 0
address=$(sed -n "s/^\([0-9a-f]*\)  k  $middle .*/\1/p" $debugfs/list)
pages >"$work/before"
had=$(wc -l <"$work/before")

./perf_ksymbol $page "$address" \
	sh -c ": >$work/begun; while [ ! -f $work/done ]; do sleep 0.1; done" >"$work/told" &
asked=$!
within 100 [ -f "$work/begun" ]
plant_pages
planted=$(grep -c 'kp/at_' $tracefs/kprobe_events)
pages >"$work/pages"
enable_event middle 1
call_victim 1
check "jumps settle" jumps_settle
site=$(site "$middle")
enable_event middle 0
no_events
# When no task can be in them any more
check "pages go when their probes have left" within 200 no_more_pages
: >"$work/done"
wait $asked
check_is "perf was asked all the time" $? 0
note "$planted places planted, $had pages before, $(wc -l <"$work/pages") with them"

told came | cut -d ' ' -f 1 >"$work/came"
told went | cut -d ' ' -f 1 >"$work/went"
check_is "each page that came was told" \
	"$(without "$work/before" <"$work/pages" | without "$work/came")" ""
check "there was one" [ -s "$work/came" ]
check_is "each of those is in the list of symbols" "$(without "$work/pages" <"$work/came")" ""
check "one that went was told" [ -s "$work/went" ]
check_is "each of those was in the list" \
	"$(without "$work/pages" <"$work/went" | without "$work/before")" ""
check_is "none is told without its size" \
	"$(awk '$2 ~ /came|went/ && ($4 < 4096 || $4 % 4096)' "$work/told")" ""
check_is "nothing was lost" "$(told lost)" 0

# The text changes from the instruction's first byte to a breakpoint, and back at the end.
case $machine in
x86_64|i?86)
	first=$(told text | head -n 1)
	check_is "the breakpoint is told" "${first#* }" cc
	check_is "so is that it went" "$(told text | tail -n 1)" "cc ${first% *}"
	if jumps_are_on; then
		check "it was hit by a jump" [ -n "$(echo "$site" | grep ' path=jump ')" ]
		check "which is told, in its place" grep -q ' text cc[0-9a-f]* e9' "$work/told"
		check "and that it went" grep -q ' text e9[0-9a-f]* cc' "$work/told"
	else
		skip_check "a jump is told, and that it went" "there are none"
	fi
	check "each copy was told when it was written" [ "$(told told)" -ge "$planted" ]
	;;
esac
finish
