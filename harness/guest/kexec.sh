# SPDX-License-Identifier: GPL-2.0
# Another kernel, /kernel, takes this one's place, with probes of every kind armed, on the way there
# too. It runs KUnit at its boot, and has no userland.
tracing=/sys/kernel/tracing

insmod /modules/test_kprobes_victim.ko
victim=/sys/module/test_kprobes_victim/parameters
for event in "p:kp/entry test_kprobes_victim:kprobes_victim" "r:kp/back test_kprobes_victim:kprobes_victim" \
		"p:kp/middle test_kprobes_victim:$(cat $victim/middle)" "p:kp/leaves kernel_kexec" \
		"p:kp/devices device_shutdown" "r:kp/devices_off device_shutdown" \
		"p:kp/shutdown machine_shutdown" "r:kp/shut_down machine_shutdown" "p:kp/sys syscore_shutdown"; do
	echo "$event" >>$tracing/kprobe_events || kptest fail "kexec: $event"
done
echo 1 >$tracing/events/kp/enable
sleep 1
echo 10 >$victim/calls
hits=$(awk '{ n += $2 } END { print n }' $tracing/kprobe_profile)
if [ "$hits" = 30 ]; then
	kptest pass "kexec: probes are armed and hit"
else
	kptest fail "kexec: probes are armed and hit" "$hits hits of 30"
fi
cat /sys/kernel/debug/kprobes/sites
/harness/kexec_start /kernel "console=$(sed 's/.*console=\([^ ]*\).*/\1/' /proc/cmdline) panic=-1 \
oops=panic kunit.enable=1 kunit_shutdown=reboot kunit.filter_glob=kprobes_test"
kptest fail "kexec: another kernel is started"
