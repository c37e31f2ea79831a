#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/boot.sh NAME JOB [KERNEL-ARGUMENT...]: boot a kernel in QEMU, or with EMULATOR=bochs in
# Bochs (x86_64 and i386), and run harness/guest/JOB.sh.
#
# The console goes to out/logs/NAME.log; with JOB shell it is the terminal's. With JOB none, or
# where there is no userland (see arch.sh), the kernel starts anew or turns the power off, which
# ends QEMU, when KUnit is through; with JOB kexec, the kernel that was started by the first one.
# JOB installed has no initrd of ours: a disk of QEMU_EXTRA's, named by root=, has what runs.
# The jobs demo, selftests, kselftest and shell find two empty disks, which are gone afterwards;
# kpdisks= has their names. Bochs has none, and no job shell.
# Status 0 when the job came to its end and the console shows no oops, warning or report (see
# console.py), 124 when there was no end in time, 2 when the emulator itself failed, else 1.
# From the environment: TIMEOUT (1200 s), KERNEL and INITRD (in place of those for OBJ), EXPECT=any
# to take any console; for QEMU, QEMU (another program), SMP and MEMORY (arch.sh has the defaults),
# QEMU_ACCEL (whole -accel options in place of what ACCEL gives), and QEMU_EXTRA (more options).

. "${0%/*}/lib.sh"

name=$1 job=$2
shift 2
log=$out/logs/$name.log limit=${TIMEOUT:-1200}
rm -f "$log"

# KVM runs what the processor can run; the rest is emulated.
case $ACCEL/$(uname -m)/$ARCH in
kvm/x86_64/x86_64 | kvm/x86_64/i386)	;;
kvm/*)	say "ACCEL=kvm: not for $ARCH on this machine, tcg instead"
	ACCEL=tcg ;;
esac
case $ACCEL in
tcg)	accel="-accel tcg,thread=single" ;;
kvm)	[ -w /dev/kvm ] || die "ACCEL=kvm: no access to /dev/kvm"
	accel="-accel kvm" ;;
*)	die "ACCEL=$ACCEL: use tcg or kvm" ;;
esac
accel=${QEMU_ACCEL:-$accel}

[ -n "$emulator" ] || die "ARCH=$ARCH: no emulator in Debian boots it"
# shellcheck disable=SC2086
need $emulator
if [ -z "$userland" ]; then
	[ "$job" != shell ] || die "ARCH=$ARCH: there is no userland for it here"
	job=none
fi

# KUnit runs at every boot of a kernel that has it: only where it is asked for.
case " $* " in
*\ kunit.enable=*)	;;
*)	set -- kunit.enable=0 "$@" ;;
esac
end="kptest: end" initrd=${INITRD:-$build/rootfs-$(basename "$obj").cpio}
case $job in
# What the kernel says of its restart stays in a buffer on s390x, and with PREEMPT_RT; and a suite
# with one case has no totals. That all suites came to their end is for console.py kunit to see.
none)	end="# Totals: |reboot: Restarting" initrd=
	set -- kunit_shutdown="$ending" "$@" ;;
kexec)	end="reboot: Restarting system" ;;
installed)	initrd=${INITRD:-} ;;
esac
case $job in
demo | selftests | kselftest | shell)
	[ -z "$disk" ] || set -- kpdisks=/dev/vda,/dev/vdb "$@" ;;
*)	disk= ;;
esac
args="console=$console${arguments:+ $arguments} panic=-1 oops=panic printk.devkmsg=on kpjob=$job $*"
kernel=${KERNEL:-$obj/$kernel_image}
case ${EMULATOR:-qemu}/$job in
bochs/shell)	die "EMULATOR=bochs: no terminal there" ;;
bochs/*)	set -- "$harness/bochs.py" "$build/bochs-$name" "$kernel" "$initrd" "${memory%M}" "$args" ;;
*)	# shellcheck disable=SC2086
	set -- ${QEMU:-${qemu%% *}} ${qemu#* } $accel -smp "${SMP:-$cpus}" -m "${MEMORY:-$memory}" -no-reboot \
		-nic none ${QEMU_EXTRA:-} -kernel "$kernel" ${initrd:+-initrd "$initrd"} -append "$args"
	[ "$job" = shell ] || set -- "$@" -display none -monitor none -serial stdio ;;
esac
for letter in ${disk:+a b}; do
	image=$build/disk-$name-$letter
	rm -f "$image"
	truncate -s 16M "$image"
	set -- "$@" -drive "if=none,id=$letter,format=raw,file=$image" -device "$disk,drive=$letter"
done

rc=0
if [ "$job" = shell ]; then
	"$@" -nographic || rc=$?
	rm -f "$build/disk-$name"-[ab]
	exit $rc
fi
began=$(date +%s)
run_logged "$name" "guest $name" timeout -k 5 "$limit" "$@" || rc=$?
rm -f "$build/disk-$name"-[ab]
case $rc in
0)	;;
124)	say "guest $name: no end after $limit s"
	exit 124 ;;
*)	exit 2 ;;
esac
say "guest $name ran $(($(date +%s) - began)) s, console in ${log#"$top"/}"
[ "${EXPECT:-clean}" = any ] || python3 "$harness/console.py" check "$log" "$end"
