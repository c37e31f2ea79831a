#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Nothing that kprobes allocated is lost, of all that happened since the machine
# came up and of what happens here, by the kernel's leak detector.

. ./functions
need_debugfs
need_tracefs
need_victim
kmemleak=/sys/kernel/debug/kmemleak
can_write scan $kmemleak || skip "no leak detector (CONFIG_DEBUG_KMEMLEAK)"

# leaks PATTERN: what is lost, and was allocated by way of such a function
leaks()
{
	awk -v pattern="$1" '
		function tell() { if (block ~ pattern) printf "%s", block; block = "" }
		/^unreferenced object/ { tell() }
		{ block = block $0 "\n" }
		END { tell() }' $kmemleak
}

# An object counts as lost when it is not new any more and was found so twice.
search()
{
	sleep 6
	echo scan >$kmemleak
	echo scan >$kmemleak
}

for nth in 1 2 3 4 5; do
	add_event "p:kp/entry kernel_clone"
	add_event "p:kp/middle test_kprobes_victim:$middle"
	add_event "r:kp/back kernel_clone"
	for event in entry middle back; do
		enable_event $event 1
	done
	(:)
	no_events
done
for sample in kprobe_example kprobe_offset kretprobe_example jprobe_example kprobe_replace; do
	load $sample && unload $sample
done
search
check_is "no memory of a probe's is lost" "$(leaks '[kj](ret)?probe')" ""

# Would it be seen?
if load kmemleak-test; then
	search
	check "what somebody loses is found" [ -n "$(leaks kmemleak_test)" ]
	unload kmemleak-test
fi
finish
