# SPDX-License-Identifier: GPL-2.0
# The stress module: insmod runs it for kpseconds=, with random numbers from kpseed= on (0: from
# anywhere), and fails when it did. Meanwhile
#	- a module with handlers comes and goes, and so does one that probes are put on;
#	- jumps are switched off and on;
#	- events of tracefs and BPF programs come and go at a function that is called all the time;
#	- the third processor comes and goes.
# Then it runs once more for a while, in which ftrace shuts itself down: with modules, jumps and the
# processor, which do without it.
jumps=/proc/sys/debug/kprobes-optimization
calls=/sys/module/test_kprobes_victim/parameters/calls
tracing=/sys/kernel/tracing
bpf_probe=/selftests/kprobes/bpf_probe
kill=/sys/module/test_beside/parameters/kill_ftrace
processor=/sys/devices/system/cpu/cpu2/online
seconds=${kpseconds:-20}

# The module binds threads to each processor that it finds, so this one is away when it begins.
[ ! -w $processor ] || echo 0 >$processor
cpus=$(grep -c ^processor /proc/cpuinfo)

# Everything below has to happen once. A slow kernel is given the time for it.
read -r before _ </proc/uptime
$bpf_probe p kernel_clone - sleep 0.2 >/dev/null 2>&1
read -r after _ </proc/uptime
took=$((${after%.*} - ${before%.*}))
[ $((10 * took)) -le "$seconds" ] || seconds=$((10 * took))

# Each of these goes on until the stress module has come to its end, and says how often it did
# something in a file of its name.
goes_on()
{
	[ ! -e /tmp/stress-end ]
}

# goes_on_until UPTIME: and no longer
goes_on_until()
{
	read -r up _ </proc/uptime
	goes_on && [ "${up%.*}" -lt "$1" ]
}

# What others put on functions is to be gone when the module compares their text.
read -r up _ </proc/uptime
last=$((${up%.*} + seconds - 5))

visits()
{
	count=0
	while goes_on; do
		for function in kprobes_lonely_traced kprobes_lonely_untraced; do
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

# Each stays until it has been hit: a slow kernel needs many seconds to have a process look. As long
# as the module is not there an event waits for it.
events()
{
	count=0
	while goes_on_until $last; do
		for kind in p r; do
			echo "$kind:kp/stress test_kprobes_stress:kprobes_lonely_traced" \
				>>$tracing/kprobe_events
			echo 1 >$tracing/events/kp/stress/enable
			hits=0
			while [ "${hits:-0}" = 0 ] && goes_on_until $last; do
				sleep 0.2
				hits=$(awk '$1 == "stress" { print $2 }' $tracing/kprobe_profile)
			done
			echo 0 >$tracing/events/kp/stress/enable
			[ "${hits:-0}" = 0 ] || count=$((count + 1))
			echo "-:kp/stress" >>$tracing/kprobe_events
		done
	done
	echo "$count" >/tmp/stress-events
}

programs()
{
	count=0
	while goes_on_until $last; do
		for kind in p r; do
			hits=$($bpf_probe $kind kprobes_lonely_traced - sleep 0.2 2>/dev/null |
				sed -n 's/^hits=\([0-9]*\).*/\1/p')
			[ "${hits:-0}" = 0 ] || count=$((count + 1))
		done
	done
	echo "$count" >/tmp/stress-programs
}

# With pauses: who registers a probe has to wait for it.
processors()
{
	count=0
	while goes_on; do
		echo 1 >$processor && sleep 0.3 && echo 0 >$processor && count=$((count + 1))
		sleep 0.3
	done
	echo "$count" >/tmp/stress-processors
}

# The module says how long it is going to take when it has saved the text of its functions. Nobody
# else may have a probe there by then.
begun()
{
	while goes_on && ! dmesg | grep -q 'kprobes_stress: .* seconds'; do
		sleep 0.1
	done
}

# also COMMAND: do it beside the others
also()
{
	{ begun && "$1"; } &
	others="$others $!"
}

# What does without ftrace
also_the_rest()
{
	also victims
	[ ! -f $jumps ] || also flips
	[ ! -w $processor ] || also processors
}

# how_often NAME FILE: that it was at all, if that was tried
how_often()
{
	if [ ! -f "$2" ]; then
		kptest skip "$1" "cannot be done here"
	elif [ "$(cat "$2")" -gt 0 ]; then
		kptest pass "$1" "$(cat "$2") times"
	else
		kptest fail "$1" "never"
	fi
}

# module_did NAME WHAT: the same for what the module counts, if it can do that
module_did()
{
	rm -f /tmp/stress-did
	did=$(dmesg | sed -n "s/.*kprobes_stress: pass.*, \([0-9]*\) $2.*/\1/p" | tail -n 1)
	[ -z "$did" ] || echo "$did" >/tmp/stress-did
	how_often "$1" /tmp/stress-did
}

# Ends with 4 where the kernel has no such programs
$bpf_probe p kernel_clone - true >/dev/null 2>&1
has_programs=$?
others=''
also visits
also events
case $has_programs in
4 | 127)	;;
*)	also programs ;;
esac
also_the_rest
if insmod /modules/test_kprobes_stress.ko "seconds=$seconds" "seed=${kpseed:-0}" victim=1; then
	stress=pass
else
	stress=fail
fi
touch /tmp/stress-end
# shellcheck disable=SC2086
wait $others
# insmod tries again, in another way, when it has failed.
failure=$(dmesg | sed -n 's/.*kprobes_stress: fail//p' | head -n 1)
if [ $stress = pass ]; then
	if [ -n "$failure" ]; then
		kptest fail "stress on $cpus CPUs" "$failure"
	elif dmesg | grep -q 'kprobes_stress: pass'; then
		kptest pass "stress on $cpus CPUs" "$(dmesg | sed -n 's/.*kprobes_stress: pass//p' | tail -n 1)"
	else
		kptest fail "stress on $cpus CPUs" "no line 'kprobes_stress: pass' from the module"
	fi
	rmmod test_kprobes_stress || kptest fail "stress: rmmod"
else
	[ -n "$failure" ] || failure=$(dmesg | sed -n 's/.*kprobes_stress: *//p' | tail -n 1)
	kptest fail "stress on $cpus CPUs" "$failure"
fi
how_often "stress: a module goes while its handlers run" /tmp/stress-visits
how_often "stress: a module goes while probes are put on it" /tmp/stress-victims
[ ! -e /tmp/stress-wrong ] || kptest fail "stress: the probed module works" "a wrong result"
if [ -f $jumps ]; then
	how_often "stress: jumps are switched off and on" /tmp/stress-flips
else
	kptest skip "stress: jumps are switched off and on" "no $jumps"
fi
if [ $stress = pass ]; then
	module_did "stress: tasks end inside of a function" "tasks ended inside"
	module_did "stress: functions are called in NMIs" "calls in NMIs"
fi
how_often "stress: events come and go, and are hit" /tmp/stress-events
how_often "stress: BPF programs come and go, and are run" /tmp/stress-programs
how_often "stress: a processor goes and comes back" /tmp/stress-processors
# Before there was a process. Each of the two has to be hit.
if grep -q kprobe_event= /proc/cmdline; then
	awk '$1 ~ /^early/ && $2 { n++; hits += $2 } END { print n == 2 ? hits : 0 }' \
		/sys/kernel/tracing/kprobe_profile >/tmp/stress-early
	how_often "stress: events of the command line are hit" /tmp/stress-early
fi

# How often the module has passed
passes()
{
	dmesg | grep -c 'kprobes_stress: pass'
}

dies()
{
	sleep $((seconds / 2))
	echo 1 >$kill
}

name="stress: ftrace shuts itself down"
if [ -w $kill ]; then
	rm -f /tmp/stress-end
	others=''
	passed=$(passes)
	[ "$seconds" -le 120 ] || seconds=120
	seconds=$((seconds / 2 + 2))
	also dies
	also_the_rest
	insmod /modules/test_kprobes_stress.ko "seconds=$seconds" "seed=${kpseed:-0}" ftrace_dies=1 victim=1
	touch /tmp/stress-end
	# shellcheck disable=SC2086
	wait $others
	verdict=pass
	[ "$(passes)" -gt "$passed" ] || verdict=fail
	kptest $verdict "$name" "$(dmesg | sed -n 's/.*kprobes_stress: //p' | tail -n 1)"
else
	kptest skip "$name" "no $kill"
fi
