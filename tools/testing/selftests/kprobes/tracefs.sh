#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Probes made through tracefs: each call is seen, with its arguments and result.
# A past bug: in an event at a return, the stack pointer was not the function's.

. ./functions
need debugfs tracefs victim
keep $tracefs/tracing_on
at_end="echo >$tracefs/trace"
eval "$at_end"
echo 1 >$tracefs/tracing_on

plant p entry kprobes_victim
plant r back kprobes_victim result=\$retval:u32
plant p middle "$middle"
call_victim 5
for event in entry back middle; do
	check_is "the $event is hit by every call" "$(profile $event)" "5 0"
done
check_is "the trace has a line for each entry" "$(grep -c ' entry: ' $tracefs/trace)" 5
for result in 1 2 3 4 5; do
	check "result $result is in it" grep -q " back: .*result=$result\$" $tracefs/trace
done

# The stack at the entry and at the return of a call: above the return address, if that
# is on the stack, nothing may have changed.
case $machine in
x86_64)	pushed=8 ;;
i?86)	pushed=4 ;;
aarch64) pushed=0 ;;
*)	pushed='' ;;
esac

# value EVENT NAME: the value of an argument at each hit
value()
{
	sed -n "s/.* $1: .* $2=\(0x[0-9a-f]*\).*/\1/p" $tracefs/trace
}

# low ADDRESS: its last digits, because not all shells can compute with all of them
low()
{
	echo $((0x${1#"${1%????}"}))
}

# moved: how far the stack pointer at each return is from that at the entry
moved()
{
	# shellcheck disable=SC2046
	set -- $(value entry sp)
	for sp in $(value back sp); do
		echo $((($(low "$sp") - $(low "$1") + 65536) % 65536))
		shift
	done
}

if [ -n "$pushed" ]; then
	no_events
	echo >$tracefs/trace
	arguments="sp=%sp top=\$stack"
	for word in 0 1 2 3 4 5 6 7 8; do
		arguments="$arguments s$word=\$stack$word"
	done
	plant p entry kprobes_victim "$arguments"
	plant r back kprobes_victim "$arguments"
	call_victim 2
	check_is "a return has the stack pointer of its caller" \
		"$(moved | tr '\n' ' ')" "$pushed $pushed "
	for event in entry back; do
		check_is "\$stack is where that points to, event $event" \
			"$(value $event top)" "$(value $event sp)"
	done
	for word in 0 1 2 3 4 5 6 7; do
		above=$((word + (pushed > 0)))
		check "\$stack$word of a return has a value" [ "$(value back s$word | wc -l)" = 2 ]
		check_is "that of \$stack$above at the entry" \
			"$(value back s$word)" "$(value entry s$above)"
	done
	no_events
fi

# Inside an instruction or a patched call, past the function, nowhere, and off the entry
for place in p:kprobes_victim+1 p:kprobes_victim+1000000 p:no_such_function "r:$middle"; do
	check "$place is refused" fails add_event "${place%%:*}" no "${place#*:}" 2>/dev/null
done
# No call arrives there, but a jump, so that the stack may be anything. (Some are blacklisted.)
part=
for symbol in $(sed -n 's/^[0-9a-f]* [tT] \([A-Za-z_0-9]*\.cold\)$/\1/p' /proc/kallsyms |
		sort | uniq -u | head -n 20); do
	can_define "p:kp/part $symbol" && part=$symbol && break
done
no_events
if [ -n "$part" ]; then
	check "so is one on a part of a function" fails can_define "r:kp/part $part"
else
	skip_check "so is one on a part of a function" "the compiler has moved none"
fi
no_events
check "no probe of the victim is left" fails listed '  test_kprobes_victim '
finish
