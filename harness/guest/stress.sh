# SPDX-License-Identifier: GPL-2.0
# The stress module: insmod runs it for kpseconds= and fails when it did.
cpus=$(grep -c ^processor /proc/cpuinfo)
if insmod /modules/test_kprobes_stress.ko "seconds=${kpseconds:-20}"; then
	if dmesg | grep -q 'kprobes_stress: pass'; then
		kptest pass "stress on $cpus CPUs" "$(dmesg | sed -n 's/.*kprobes_stress: pass//p' | tail -n 1)"
	else
		kptest fail "stress on $cpus CPUs" "no line 'kprobes_stress: pass' from the module"
	fi
	rmmod test_kprobes_stress || kptest fail "stress: rmmod"
else
	kptest fail "stress on $cpus CPUs" "$(dmesg | sed -n 's/.*kprobes_stress: *//p' | tail -n 1)"
fi
