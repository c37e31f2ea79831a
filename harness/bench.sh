#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/bench.sh: what a hit costs, ours and the pristine kernel's side by side.
#
# Both kernels have the same config (VARIANT=plain) and run the same module on one CPU whose counter
# counts guest instructions. Traps are counted in QEMU's log of exceptions. Jump optimization is off
# on both, but for the set "opt. pending" (see guest/bench.sh). The table comes from bench.py;
# figures in out/bench/$ARCH/bench.json. The pristine kernel's figures are kept until one of the
# bench's own files changes.

. "${0%/*}/lib.sh"

export VARIANT=plain
results=$out/bench/$ARCH

# The log of exceptions is long: what it says of a breakpoint, and of the fault that is the mark.
exceptions()
{
	if [ "$ARCH" = x86_64 ]; then
		grep --line-buffered -oE '\bv=(03|06)' | sed -u 's/v=03/trap/; s/v=06/mark/'
	else
		grep --line-buffered -oE 'ESR 0x3c/|FAR 0xfffffffffffff000' | sed -u 's/ESR.*/trap/; s/FAR.*/mark/'
	fi
}

bench()	# WHICH SOURCE OBJ
{
	which=$1 source=$2 objects=$3
	"$harness/build.sh" "$source" "$objects"
	rm -rf "$build/bench-$which"
	cp -r "$harness/bench" "$build/bench-$which"
	run_logged "bench-module-$which" "building the bench module" \
		kernel_make "$source" "$objects" "M=$build/bench-$which" modules
	EXTRA_MODULES=$build/bench-$which/kprobe_bench.ko "$harness/initramfs.sh" "$source" "$objects"
	fifo=$build/bench-$which/exceptions
	mkfifo "$fifo"
	exceptions <"$fifo" >"$results/$which.vectors" &
	OBJ=$objects SMP=1 QEMU_ACCEL="-accel tcg -icount shift=0,sleep=off" QEMU_EXTRA="-d int -D $fifo" \
		"$harness/boot.sh" "bench-$which" bench
	wait $!
	cp "$out/logs/bench-$which.log" "$results/$which.log"
}

mkdir -p "$results"
"$harness/tree.sh"
if [ ! -f "$results/pristine.log" ] || [ -n "$(find "$harness/bench" "$harness/guest/bench.sh" "$harness/configs" -type f \
	   -newer "$results/pristine.log" -print -quit)" ]; then
	bench pristine "$pristine" "$build/base-$ARCH"
fi
bench ours "$tree" "$build/$ARCH-plain"
python3 "$harness/bench.py" "$results"
