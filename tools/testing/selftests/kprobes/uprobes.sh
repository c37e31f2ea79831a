#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Uprobes, which share the decoder on some architectures: with probes on its first
# instructions, and a kprobe on a function that uprobes call, a program runs as before.

. ./functions
need tracefs
[ -f $tracefs/uprobe_events ] || skip "no $tracefs/uprobe_events"
for program in /bin/busybox /usr/bin/busybox none; do
	[ ! -x $program ] || break
done
[ $program != none ] || skip "no busybox"

# number OFFSET SIZE: an unsigned number in the program's file
number()
{
	od -A n -t "u$2" -j "$1" -N "$2" "$program" | tr -d ' '
}

# The offset of the program's entry in its file, which is of one of two ELF classes
entry()
{
	case $(number 4 1) in
	1)	word=4 sizes=42 offset_at=4 start_at=8 length_at=16 ;;
	*)	word=8 sizes=54 offset_at=8 start_at=16 length_at=32 ;;
	esac
	address=$(number 24 $word)
	header=$(number $((24 + word)) $word)
	size=$(number $sizes 2)
	for i in $(seq "$(number $((sizes + 2)) 2)"); do
		type=$(number $((header)) 4)
		offset=$(number $((header + offset_at)) $word)
		start=$(number $((header + start_at)) $word)
		length=$(number $((header + length_at)) $word)
		if [ "$type" = 1 ] && [ "$address" -ge "$start" ] &&
		   [ "$address" -lt $((start + length)) ]; then
			echo $((address - start + offset))
			return
		fi
		header=$((header + size))
	done
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
check_is "the program does what it does" "$("$program" echo some words)" "some words"
check_is "its exit status too" "$("$program" false; echo $?)" 1
seen=$(awk '$2 ~ /^at_/ && $3 >= 2 { n++ } END { print n + 0 }' $tracefs/uprobe_profile)
check "the probes were hit" [ "$seen" -gt 0 ]
check "the kernel's probe is hit by each" [ "$(hits notified)" -ge \
	"$(awk '$2 ~ /^at_/ { n += $3 } END { print n }' $tracefs/uprobe_profile)" ]
check_is "none of its hits is missed" "$(profile notified | cut -d ' ' -f 2)" 0
note "$accepted of $places instructions probed, $seen of them hit"
finish
