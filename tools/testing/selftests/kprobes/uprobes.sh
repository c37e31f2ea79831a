#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Uprobes, which share the decoder of some architectures: a program runs as
# before with probes on its first instructions.

. ./functions
need_tracefs
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

# Where the program's entry is in its file
entry()
{
	address=$(number 24 8)
	header=$(number 32 8)
	size=$(number 54 2)
	for i in $(seq "$(number 56 2)"); do
		type=$(number $((header)) 4)
		offset=$(number $((header + 8)) 8)
		start=$(number $((header + 16)) 8)
		length=$(number $((header + 32)) 8)
		if [ "$type" = 1 ] && [ "$address" -ge "$start" ] &&
		   [ "$address" -lt $((start + length)) ]; then
			echo $((address - start + offset))
			return
		fi
		header=$((header + size))
	done
}

restore()
{
	[ ! -d $tracefs/events/uprobes ] || echo 0 >$tracefs/events/uprobes/enable
	echo >$tracefs/uprobe_events
}
trap restore EXIT
restore

# Elsewhere instructions are of different lengths, and only the first is known.
case $(uname -m) in
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
check "most instructions are accepted" [ $((accepted * 4)) -ge $((places * 3)) ]
check_is "the program does what it does" "$("$program" echo some words)" "some words"
check_is "its exit status too" "$("$program" false; echo $?)" 1
seen=$(awk '$2 ~ /^at_/ && $3 >= 2 { n++ } END { print n + 0 }' $tracefs/uprobe_profile)
check "the probes were hit" [ "$seen" -gt 0 ]
echo "	$accepted of $places instructions probed, $seen of them hit"
finish
