# SPDX-License-Identifier: GPL-2.0
# harness/bench: the module prints its figures to the kernel log. Sets of figures: "alone" and "crowd"
# (20,000 other probes), with jump optimization off, and where the kernel has that, "pending": it is
# on, but the probes are so young that they still are breakpoints.
optimization=/proc/sys/debug/kprobes-optimization

bench()	# SET OTHERS OPTIMIZATION
{
	[ ! -f $optimization ] || echo "$3" >$optimization
	if insmod /modules/kprobe_bench.ko "set=$1" "others=$2"; then
		kptest pass "bench $1"
		rmmod kprobe_bench
	else
		kptest fail "bench $1"
	fi
}

bench alone 0 0
[ ! -f $optimization ] || bench pending 0 1
bench crowd "${kpothers:-20000}" 0
