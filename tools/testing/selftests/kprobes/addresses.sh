#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Addresses in debugfs: whether a file shows them depends on who has opened it, not on
# who reads it. They can be hidden from root, too, but nothing else is.

. ./functions
need debugfs tracefs victim
can_be_nobody || skip "no su, or no user nobody"
[ -w $restrict ] || skip "no $restrict"
root=/sys/kernel/debug
keep $restrict
at_end="chmod 400 $debugfs/list $debugfs/sites $debugfs/blacklist; chmod $(stat -c %a $root) $root"

# The addresses, which are the first column
addresses()
{
	sed 's/[[:space:]].*//'
}

# The addresses that are not zeros
shown()
{
	addresses | grep -v '^\(0x\)\{0,1\}0*\(-0x0*\)\{0,1\}$'
}

# What is no address, nor an offset, and does not change meanwhile
names()
{
	sed 's/^[^[:space:]]*//; s/0x.*//; s/\[.*//; s/ path=.*//' | md5sum
}

add_event p entry kprobes_victim
add_event p middle "$middle"
# So that only the modes of the files count, and not that of the directory
chmod 711 $root
for file in list sites blacklist; do
	path=$debugfs/$file
	for restricted in 0 1; do
		echo $restricted >$restrict
		what="$file with kptr_restrict=$restricted"
		check "$what: root sees addresses" [ -n "$(shown <"$path")" ]
		check "$what: others cannot open it" fails as_nobody "cat $path" 2>/dev/null
		check_is "$what: what root opened shows others as much" \
			"$(as_nobody cat <"$path" | addresses)" "$(addresses <"$path")"
	done
	check_is "$file: who may see none sees zeros" "$(hidden shown <"$path")" ""
	check_is "$file: and all the names" "$(hidden names <"$path")" "$(names <"$path")"
	# As if root had let others open the files
	chmod 444 "$path"
	check_is "$file: what others opened shows them zeros" \
		"$(as_nobody "cat $path" | shown)" ""
	check_is "$file: in all its lines" "$(as_nobody "cat $path" | wc -l)" "$(wc -l <"$path")"
done
finish
