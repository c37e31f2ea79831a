# SPDX-License-Identifier: GPL-2.0
# The stress module: insmod runs it for kpseconds= and fails when it did. Meanwhile a module with
# handlers comes and goes, so does one that probes are put on, and jumps are switched off and on.
cpus=$(grep -c ^processor /proc/cpuinfo)
jumps=/proc/sys/debug/kprobes-optimization
calls=/sys/module/test_kprobes_victim/parameters/calls

# Each of these goes on until the stress module has come to its end, and says how often it did
# something in a file of its name.
goes_on()
{
	[ ! -e /tmp/stress-end ]
}

visits()	# FUNCTION...
{
	count=0
	while goes_on; do
		for function in "$@"; do
			insmod /modules/test_kprobes_visitor.ko "target=$function" 2>/dev/null || continue
			rmmod test_kprobes_visitor && count=$((count + 1))
		done
	done
	echo "$count" >/tmp/stress-visits
}

# Who registers a probe there holds it for a moment: then it stays, and goes in the next round.
victims()
{
	count=0
	while goes_on; do
		insmod /modules/test_kprobes_victim.ko 2>/dev/null
		[ ! -e $calls ] || echo 20 >$calls || touch /tmp/stress-wrong
		rmmod test_kprobes_victim 2>/dev/null && count=$((count + 1))
	done
	echo "$count" >/tmp/stress-victims
}

flips()
{
	count=0
	while goes_on; do
		# For too short a time to become jumps again, and for long enough
		for on in 0.1 1; do
			echo 0 >$jumps
			sleep 0.1
			echo 1 >$jumps
			sleep $on
			count=$((count + 1))
		done
	done
	echo "$count" >/tmp/stress-flips
}

# how_often NAME FILE: that it was at all
how_often()
{
	count=$(cat "$2")
	if [ "$count" -gt 0 ]; then
		kptest pass "$1" "$count times"
	else
		kptest fail "$1" "never"
	fi
}

visits kprobes_lonely_traced kprobes_lonely_untraced &
others=$!
victims &
others="$others $!"
if [ -f $jumps ]; then
	flips &
	others="$others $!"
fi
if insmod /modules/test_kprobes_stress.ko "seconds=${kpseconds:-20}" victim=1; then
	stress=pass
else
	stress=fail
fi
touch /tmp/stress-end
# shellcheck disable=SC2086
wait $others
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
how_often "stress: a module goes while its handlers run" /tmp/stress-visits
how_often "stress: a module goes while probes are put on it" /tmp/stress-victims
[ ! -e /tmp/stress-wrong ] || kptest fail "stress: the probed module works" "a wrong result"
if [ -f $jumps ]; then
	how_often "stress: jumps are switched off and on" /tmp/stress-flips
else
	kptest skip "stress: jumps are switched off and on" "no $jumps"
fi
# Before there was a process. Each of the two has to be hit.
if grep -q kprobe_event= /proc/cmdline; then
	awk '$1 ~ /^early/ && $2 { n++; hits += $2 } END { print n == 2 ? hits : 0 }' \
		/sys/kernel/tracing/kprobe_profile >/tmp/stress-early
	how_often "stress: events of the command line are hit" /tmp/stress-early
fi
