#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/bench.sh: what a hit costs, ours and the pristine kernel's side by side.
#
# Both kernels have the same config (VARIANT, plain by default) and run the same module: once on one
# CPU whose counter counts guest instructions, with traps counted in QEMU's log of exceptions, and
# once on two CPUs that are threads of their own, by the clock. See guest/bench.sh for the sets of
# figures. The table, out/bench/$ARCH/bench.json and bench.svg come from bench.py. The pristine
# kernel's instructions are kept until one of the bench's own files, or of harness/configs, changes;
# its wall time is measured anew, to stand beside ours under the same load.
#
# Attaching and detaching has a boot of its own on one CPU, and others on two, by the clock. Its
# table and out/bench/$ARCH/attach.json come from bench_attach.py.
#
# So have users, whose program is bench/users.c; bench_users.py makes the table, and users.json.
#
# From the environment: ROWS (hits attach users), which of these to measure; OTHERS (100000) and
# PRISTINE_OTHERS (6000), the other probes in a crowd. The pristine kernel's hash table does not
# grow, so that 100,000 would take it hours. ATTACH (1,100,1000,10000) and PRISTINE_ATTACH
# (1,100,1000), how many to attach at a time, of which no more than SINGLES (10000) and
# PRISTINE_SINGLES (100) one by one; BOOTS (5), of two CPUs.

. "${0%/*}/lib.sh"

case $ARCH in
x86_64 | arm64)	;;
*)	die "ARCH=$ARCH: there are figures of x86_64 and arm64 only" ;;
esac
export VARIANT="${VARIANT:-plain}"
results=$out/bench/$ARCH

# The log of exceptions is long: what it says of debug exceptions, and of faults that are marks.
exceptions()
{
	if [ "$ARCH" = x86_64 ]; then
		grep --line-buffered -oE '\bv=(01|03|06)' | sed -u 's/v=0[13]/trap/; s/v=06/mark/'
	else
		grep --line-buffered -oE 'ESR 0x3./|FAR 0xfffffffffffff000' | sed -u 's/ESR.*/trap/; s/FAR.*/mark/'
	fi
}

prepare()	# SOURCE OBJ
{
	"$harness/build.sh" "$1" "$2"
	"$harness/outside.sh" bench "$1" "$2"
}

count()	# WHICH OBJ OTHERS
{
	which=$1 objects=$2
	fifo=$results/$which.exceptions
	rm -f "$fifo"
	mkfifo "$fifo"
	exceptions <"$fifo" >"$results/$which.vectors" &
	OBJ=$objects SMP=1 TIMEOUT=${TIMEOUT:-1800} QEMU_ACCEL="-accel tcg -icount shift=0,sleep=off" QEMU_EXTRA="-d int -D $fifo" \
		"$harness/boot.sh" "bench-$which" bench "kpothers=$3" ||
		# If QEMU has not come to open the fifo, its reader would wait for ever.
		{ kill $! 2>/dev/null || :; exit 1; }
	wait $!
	cp "$out/logs/bench-$which.log" "$results/$which.log"
}

attach()	# WHICH OBJ COUNTS SINGLES
{
	OBJ=$2 SMP=1 TIMEOUT=${TIMEOUT:-1800} QEMU_ACCEL="-accel tcg -icount shift=0,sleep=off" \
		"$harness/boot.sh" "bench-attach-$1" bench "kpattach=$3" "kpsingles=$4"
	cp "$out/logs/bench-attach-$1.log" "$results/$1.attach.log"
	rm -f "$results/$1".attach2.*.log
	for nth in $(seq "${BOOTS:-5}"); do
		OBJ=$2 SMP=2 "$harness/boot.sh" "bench-attach2-$1" bench kpattach=100 kpsingles=100
		cp "$out/logs/bench-attach2-$1.log" "$results/$1.attach2.$nth.log"
	done
}

users()	# WHICH OBJ
{
	OBJ=$2 SMP=1 TIMEOUT=${TIMEOUT:-1800} QEMU_ACCEL="-accel tcg -icount shift=0,sleep=off" \
		"$harness/boot.sh" "bench-users-$1" bench kpusers=1
	cp "$out/logs/bench-users-$1.log" "$results/$1.users.log"
}

asked_for()	# hits|attach|users
{
	case " ${ROWS:-hits attach users} " in
	*" $1 "*)	;;
	*)		return 1 ;;
	esac
}

clock()	# WHICH OBJ
{
	OBJ=$2 SMP=2 QEMU_ACCEL="-accel tcg,thread=multi" "$harness/boot.sh" "bench-wall-$1" bench kpwall=1
	cp "$out/logs/bench-wall-$1.log" "$results/$1.wall.log"
}

stale()	# LOG
{
	[ ! -f "$results/$1" ] || [ ! -f "$build/rootfs-$(basename "$base").cpio" ] ||
		[ -n "$(find "$harness/bench" "$harness/guest/bench.sh" "$harness/configs" "$pristine.version" -type f \
			-newer "$results/$1" -print -quit)" ]
}

base=$build/$ARCH-$VARIANT-pristine
ours=$build/$ARCH-$VARIANT
prepared=
mkdir -p "$results"
"$harness/tree.sh"
if asked_for hits && stale pristine.log; then
	prepare "$pristine" "$base"
	prepared=yes
	count pristine "$base" "${PRISTINE_OTHERS:-6000}"
fi
if asked_for attach && stale pristine.attach.log; then
	[ -n "$prepared" ] || prepare "$pristine" "$base"
	prepared=yes
	attach pristine "$base" "${PRISTINE_ATTACH:-1,100,1000}" "${PRISTINE_SINGLES:-100}"
fi
if asked_for users && stale pristine.users.log; then
	[ -n "$prepared" ] || prepare "$pristine" "$base"
	users pristine "$base"
fi
prepare "$tree" "$ours"
if asked_for users; then
	users ours "$ours"
	python3 "$harness/bench_users.py" "$ARCH" "$results"
fi
if asked_for attach; then
	attach ours "$ours" "${ATTACH:-1,100,1000,10000}" "${SINGLES:-10000}"
	python3 "$harness/bench_attach.py" "$ARCH" "$results"
fi
if asked_for hits; then
	count ours "$ours" "${OTHERS:-100000}"
	clock pristine "$base"
	clock ours "$ours"
	python3 "$harness/bench.py" "$ARCH" "$results"
fi
