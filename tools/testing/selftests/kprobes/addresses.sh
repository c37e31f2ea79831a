#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Who sees addresses in debugfs: whoever opened the file may see them, or nobody who reads it does.
# (debugfs_list.sh and others hide them from root as well.)

. ./functions
need_debugfs
need_tracefs
need_victim
can_be_nobody || skip "no su, or no user nobody"
[ -w $restrict ] || skip "no $restrict"
root=/sys/kernel/debug
was=$(cat $restrict)
mode=$(stat -c %a $root)
files="list sites blacklist"

restore()
{
	echo "$was" >$restrict
	for file in $files; do
		chmod 400 "$debugfs/$file"
	done
	chmod "$mode" $root
	no_events
}
trap restore EXIT
no_events

# The column of addresses of what is read
addresses()
{
	sed 's/[[:space:]].*//'
}

# Those that are not zeros
shown()
{
	addresses | grep -v '^\(0x\)\{0,1\}0*\(-0x0*\)\{0,1\}$'
}

add_event "p:kp/entry test_kprobes_victim:kprobes_victim"
add_event "p:kp/middle test_kprobes_victim:$middle"
# So that the modes of the files are what counts, not that of the way there
chmod 711 $root

for restricted in 0 1; do
	echo $restricted >$restrict
	for file in $files; do
		path=$debugfs/$file what="$file with kptr_restrict=$restricted"
		check "$what: root sees addresses" [ -n "$(shown <"$path")" ]
		check "$what: others cannot open it" fails as_nobody "cat $path" 2>/dev/null
		check_is "$what: what root opened shows others as much" \
			"$(as_nobody cat <"$path" | addresses)" "$(addresses <"$path")"
	done
done

# Where somebody has given others the right to open them
for file in $files; do
	path=$debugfs/$file
	chmod 444 "$path"
	check_is "$file: what others opened shows them zeros" \
		"$(as_nobody "cat $path" | shown)" ""
	check_is "$file: in all its lines" "$(as_nobody "cat $path" | wc -l)" "$(wc -l <"$path")"
done
finish
