# SPDX-License-Identifier: GPL-2.0
# The stress module: insmod runs it for kpseconds= and fails when it did. Meanwhile a module with
# handlers comes and goes.
cpus=$(grep -c ^processor /proc/cpuinfo)

visits()	# FUNCTION...: until the stress module has come to its end
{
	count=0
	while [ ! -e /tmp/stress-end ]; do
		for function in "$@"; do
			insmod /modules/test_kprobes_visitor.ko "target=$function" 2>/dev/null || continue
			rmmod test_kprobes_visitor && count=$((count + 1))
		done
	done
	echo "$count" >/tmp/stress-visits
}

visits kprobes_lonely_traced kprobes_lonely_untraced &
visitor=$!
if insmod /modules/test_kprobes_stress.ko "seconds=${kpseconds:-20}"; then
	stress=pass
else
	stress=fail
fi
touch /tmp/stress-end
wait $visitor
if [ $stress = pass ]; then
	if dmesg | grep -q 'kprobes_stress: pass'; then
		kptest pass "stress on $cpus CPUs" "$(dmesg | sed -n 's/.*kprobes_stress: pass//p' | tail -n 1)"
	else
		kptest fail "stress on $cpus CPUs" "no line 'kprobes_stress: pass' from the module"
	fi
	rmmod test_kprobes_stress || kptest fail "stress: rmmod"
else
	kptest fail "stress on $cpus CPUs" "$(dmesg | sed -n 's/.*kprobes_stress: *//p' | tail -n 1)"
fi
visits=$(cat /tmp/stress-visits)
if [ "$visits" -gt 0 ]; then
	kptest pass "stress: a module goes while its handlers run" "$visits times"
else
	kptest fail "stress: a module goes while its handlers run" "it never came"
fi
