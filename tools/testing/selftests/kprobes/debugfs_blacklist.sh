#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# debugfs kprobes/blacklist: it shows what cannot be probed, and such probes are refused.
# A past bug: a reader found an entry that had been freed with its module.

. ./functions
need debugfs tracefs
blacklist=$debugfs/blacklist

line='^0x[0-9a-f]\{8,16\}-0x[0-9a-f]\{8,16\}	[^ 	]*\( \[[^ ]*\]\)\{0,1\}$'

on_blacklist()
{
	grep -q "	$1\( \|\$\)" $blacklist
}

# Ranges without a name outside of the kernel itself, as modules that have gone would leave
strays()
{
	awk -v first="$(sed -n 's/ . _stext$//p' /proc/kallsyms)" \
		-v last="$(sed -n 's/ . _einittext$//p' /proc/kallsyms)" '
		{ at = substr($1, 3, length(first)) }
		$2 ~ /^0x/ && (at < first "" || at > last "")' $blacklist
}

check "there is something on it" [ "$(wc -l <$blacklist)" -gt 10 ]
check "every line has a range and a symbol" fails grep -v "$line" $blacklist
[ ! -w $restrict ] || check "who may see no addresses sees none in place of names either" \
	fails hidden grep '	0x0*[1-9a-f]' $blacklist
check "NOKPROBE_SYMBOL() puts functions on it" on_blacklist notify_die
case $machine in
x86_64)	check "entry code is on it" on_blacklist entry_SYSCALL_64 ;;
i?86)	check "entry code is on it" on_blacklist entry_INT80_32 ;;
aarch64) check "entry code is on it" on_blacklist vectors ;;
esac
check "what is on it is refused" fails can_define "p:kp/no notify_die"
check "nothing was made of that" [ ! -d $tracefs/events/kp/no ]

need victim
check "functions of a module are on it" on_blacklist kprobes_victim_nokprobe
check "and refused" fails can_define "p:kp/no test_kprobes_victim:kprobes_victim_nokprobe"
check "what the idle loop calls is on it" on_blacklist kprobes_victim_idle
check "and refused" fails can_define "p:kp/no test_kprobes_victim:kprobes_victim_idle"
for name in section noinstr; do
	check "the module's $name text is on it" on_blacklist kprobes_victim_$name
	check "and refused" fails can_define "p:kp/no test_kprobes_victim:kprobes_victim_$name"
done
check "others of the module are not" fails on_blacklist kprobes_victim
check_is "those of its init text are not any more" "$(strays)" ""
unload test_kprobes_victim
check "they leave the list with the module" fails on_blacklist kprobes_victim_nokprobe
check_is "and leave nothing" "$(strays)" ""
load test_kprobes_victim
check "and are on it when it is back" on_blacklist kprobes_victim_nokprobe
finish
