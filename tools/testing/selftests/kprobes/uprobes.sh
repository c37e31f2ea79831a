#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Uprobes, which share the decoder on some architectures: with probes on its first
# instructions, and a kprobe on a function that uprobes call, a shell runs as before.

. ./functions
need tracefs
[ -f $tracefs/uprobe_events ] || skip "no $tracefs/uprobe_events"
program=$(readlink /proc/$$/exe)

# The address at which the shell is entered, among what the kernel has told it
entered_at()
{
	case $machine in
	x86_64|aarch64) size=8 ;;
	*)		size=4 ;;
	esac
	od -A n -v -t u$size /proc/$$/auxv |
		awk '{ for (i = 1; i < NF; i += 2) if ($i == 9) print $(i + 1) }'
}

# The offset of that in its file
entry()
{
	address=$(entered_at)
	while IFS=' -' read -r from to _ _ offset _; do
		if [ "$address" -ge $((0x$from)) ] && [ "$address" -lt $((0x$to)) ]; then
			echo $((address - 0x$from + 0x$offset))
		fi
	done </proc/$$/maps
}

no_uprobes()
{
	for at in "$tracefs"/events/uprobes/at_*; do
		[ -d "$at" ] || continue
		echo 0 >"$at/enable"
		echo "-:uprobes/${at##*/}" >>$tracefs/uprobe_events
	done
}
at_end=no_uprobes
no_uprobes

# On other architectures the length of instructions differs, and only the first is known.
case $machine in
aarch64)	places=16 ;;
*)		places=1 ;;
esac
start=$(entry)
accepted=0
for i in $(seq 0 $((places - 1))); do
	event="p:uprobes/at_$i $program:$((start + 4 * i))"
	(echo "$event" >>$tracefs/uprobe_events) 2>/dev/null || continue
	(echo 1 >$tracefs/events/uprobes/at_$i/enable) 2>/dev/null || continue
	accepted=$((accepted + 1))
done
plant p notified uprobe_notify_resume
check "most instructions are accepted" [ $((accepted * 4)) -ge $((places * 3)) ]
check_is "the shell does what it does" "$(sh -c 'echo some words')" "some words"
check_is "its exit status too" "$(sh -c 'exit 3'; echo $?)" 3
seen=$(awk '$2 ~ /^at_/ && $3 >= 2 { n++ } END { print n + 0 }' $tracefs/uprobe_profile)
check "the probes were hit" [ "$seen" -gt 0 ]
check "the kernel's probe is hit by each" [ "$(hits notified)" -ge \
	"$(awk '$2 ~ /^at_/ { n += $3 } END { print n }' $tracefs/uprobe_profile)" ]
check_is "none of its hits is missed" "$(profile notified | cut -d ' ' -f 2)" 0
note "$accepted of $places instructions probed, $seen of them hit"
finish
