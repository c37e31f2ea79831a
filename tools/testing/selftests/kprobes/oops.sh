#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A probed instruction that faults without a fixup, in a thread of the victim: what the
# oops says first. And a handler that faults, or runs into a BUG(): unregistering does not wait for
# it.
# A past bug: on arm64, the oops of a BUG() in a handler did not name the probe.

. ./functions
need debugfs victim
[ -f "$victim/oops" ] || skip "no instruction that faults on this architecture"
panic=/proc/sys/kernel/panic_on_oops
keep $panic
can_write 0 $panic || skip "an oops may be a panic here"
report=$work/report

mark_log
# On arm64 a task that ends in a BUG() leaves a CPU that seems to be in an exception still.
expected="NULL pointer dereference|Oops|kernel BUG at|WARNING: .* ct_kernel_exit"
echo "kprobes_test: expected report begins: $expected" >/dev/kmsg
check "an instruction faults under a probe" can_write 1 "$victim/oops"
sleep 1
if [ -f "$victim/handler_oops" ]; then
	check "a handler faults, and its probe leaves" can_write 1 "$victim/handler_oops"
	sleep 1
	check "so does one that runs into a BUG()" can_write bug "$victim/handler_oops"
	sleep 1
fi
echo "kprobes_test: expected report ends" >/dev/kmsg
log | sed 's/^<[0-9]*>//; s/^\[[^]]*\] //' |
	sed -n '/expected report begins/,/expected report ends/p' | sed 1d >"$report"
check_is "the first line names the probe" "$(head -n 1 "$report" | sed 's/+0x.*//')" \
	"kprobes: the probed instruction at kprobes_victim_reads"
# What the handler's has is behind it.
oops()
{
	sed '1d; /a handler of the probe at/,$d' "$report"
}
check "the oops follows" [ -n "$(oops | grep 'BUG: \|Unable to handle')" ]
check "it is at the probed address" [ -n "$(oops | grep '\(IP: .*\|pc : \)kprobes_victim_reads+')" ]
if [ -f "$victim/handler_oops" ]; then
	check_is "those of handlers are told, too" \
		"$(grep -c 'a handler of the probe at kprobes_victim+' "$report")" 2
else
	skip_check "those of handlers are told, too" "ftrace serves no probes"
fi
check "the probe has left" fails listed kprobes_victim
check "and the module works" call_victim 1
finish
