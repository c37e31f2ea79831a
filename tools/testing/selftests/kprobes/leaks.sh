#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The kernel's leak detector finds no memory that kprobes have lost, since the machine
# has booted or in what happens here.

. ./functions
need debugfs tracefs victim
kmemleak=/sys/kernel/debug/kmemleak
can_write scan $kmemleak || skip "no leak detector (CONFIG_DEBUG_KMEMLEAK)"

# leaks PATTERN: memory that is lost, and that a matching function has allocated
leaks()
{
	awk -v pattern="$1" '
		function tell() { if (block ~ pattern) printf "%s", block; block = "" }
		/^unreferenced object/ { tell() }
		{ block = block $0 "\n" }
		END { tell() }' $kmemleak
}

# An object counts as lost if it is not new, and two scans have found no reference.
search()
{
	sleep 6
	echo scan >$kmemleak
	echo scan >$kmemleak
}

for nth in 1 2 3 4 5; do
	plant p entry kernel_clone
	plant p middle "$middle"
	plant r back kernel_clone
	(:)
	no_events
done
for sample in kprobe_example kprobe_offset kretprobe_example jprobe_example kprobe_replace; do
	load $sample && unload $sample
done
search
check_is "no memory of a probe's is lost" "$(leaks '[kj](ret)?probe')" ""

# Would a leak be found?
if load kmemleak-test; then
	search
	check "what somebody loses is found" [ -n "$(leaks kmemleak_test)" ]
	unload kmemleak-test
else
	skip_check "what somebody loses is found" "no module kmemleak-test (CONFIG_SAMPLE_KMEMLEAK)"
fi
finish
