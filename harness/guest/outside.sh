# SPDX-License-Identifier: GPL-2.0
# The modules of harness/outside, which were built without the tree, see what they ought to.
# selftests.sh runs this as one of our selftests.
. ./functions

# is_loaded MODULE, is_unloaded MODULE: with no complaint
is_loaded()
{
	mark_log
	check "$1 can be loaded" insmod "/modules/$1.ko"
}

is_unloaded()
{
	check "$1 can be unloaded" unload "$1"
	check "nothing of it is left in the list" fails listed "$1"
}

so_often()
{
	log | grep -c -e "$1"
}

is_loaded outside_old
(exit 7)
check_is "a jprobe by address has all arguments, on the stack too" \
	"$(so_often 'outside_old: arguments 1 2 3 4 5 6 7 8 9 10$')" 3
check_is "a jprobe by name has its own" "$(so_often 'outside_old: .* exits, code 1792$')" 1
is_unloaded outside_old
check "handlers and fault handler of a kprobe and the return probe beside them ran each time" \
	logged 'before 3, behind 3, faults 3, unreadable 3, returned 3, missed 0, wrong 0$'
mark_log
(exit 7)
check "and all of them are silent then" fails logged 'outside_old: '

is_loaded outside_today
check "an array with a bad probe is refused" logged 'outside_today: an array with a bad probe: -2$'
check_is "a return probe has the data of its call, and the caller" \
	"$(so_often 'outside_today: half of 14 is 7, for sum_of_halves \[outside_today\]$')" 3
check "calls that it was not to follow are not" fails logged 'half of 15 is'
is_unloaded outside_today
check "probes are hit while they are enabled" \
	logged 'entered 4, switched 2, followed 3, missed 0, strange 0$'
finish
