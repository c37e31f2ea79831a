#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/errors: the last probes that were refused, and the reasons in words.

. ./functions
need debugfs tracefs
load kprobe_example || skip "no samples"
unload kprobe_example
errors=$debugfs/errors
kept=32

form='^-(E[A-Z0-9]+|[0-9]+) (-|[^ ]+( \[[^] ]+\])?): [^ ].*$'

# refused WORDS ERRNO PLACE REASON MODULE PARAMETER...
refused()
{
	what=$1
	line="^-\($2\) $3: $4"
	shift 4
	check "$what is refused" fails load "$@"
	check "errors says why: $what" last_is "$line"
}

last_is()
{
	tail -n 1 $errors | grep -q -e "$1" && return
	echo "it is '$(tail -n 1 $errors)'"
	false
}

check_is "errors can be read by root only" "$(stat -c %a $errors)" 400

refused "a symbol that is not there" '2\|ENOENT' no_such_function+0x0 'no such symbol$' \
	kprobe_example symbol=no_such_function
refused "its offset as well" '2\|ENOENT' no_such_function+0x10 'no such symbol$' \
	kprobe_offset symbol=no_such_function offset=16
refused "what is on the blacklist" '22\|EINVAL' notify_die+0x0 'on the blacklist$' \
	kprobe_example symbol=notify_die
if load kretprobe_example || promised; then
	check "a return probe was there" unload kretprobe_example
	refused "a return probe on nothing" '2\|ENOENT' no_such_function+0x0 'no such symbol$' \
		kretprobe_example func=no_such_function
	case $machine in
	x86_64|i?86)
		refused "one where stacks are switched" '22\|EINVAL' __switch_to+0x0 \
			'the function does not return as others do$' \
			kretprobe_example func=__switch_to
		;;
	esac
fi
if promised; then
	refused "an address inside an instruction" '84\|EILSEQ' kernel_clone+0x1 \
		'not the start of an instruction$' kprobe_offset offset=1
fi

need victim
check "an event inside an instruction is refused" \
	fails can_define "p:kp/inside test_kprobes_victim:kprobes_victim+1"
check "with the place as the event names it" \
	last_is "^-[^ ]* test_kprobes_victim:kprobes_victim+0x1: "

# The event stays, for a module that may come.
can_define "p:kp/nowhere 0x4711"
check "root sees an address that is nowhere" last_is '^-[^ ]* 0x0*4711: '
[ ! -w $restrict ] || check "who may see none sees zeros" hidden last_is '^-[^ ]* 0x0*: '
check "its event goes again" no_events

last=$(tail -n 1 $errors)
load kprobe_example
unload kprobe_example
check_is "what is not refused leaves no line" "$(tail -n 1 $errors)" "$last"
check "every line is in the expected form" fails grep -E -v -e "$form" $errors

all=$((kept + 5))
for number in $(seq $all); do
	load kprobe_example "symbol=no_such_${number}_function"
done
check_is "the last $kept are kept" "$(wc -l <$errors)" $kept
# Some versions of insmod try twice, so each name can be there once or twice.
found=$(sed 's/^[^ ]* \([^:]*\):.*/\1/' $errors | uniq)
wanted=
for number in $(seq $((all + 1 - $(echo "$found" | wc -l))) $all); do
	wanted="$wanted no_such_${number}_function+0x0"
done
check "there are many of them" [ "$(echo "$found" | wc -l)" -ge $((kept / 2)) ]
check_is "in their turn, the last one last" " $(echo "$found" | tr '\n' ' ')" "$wanted "
finish
