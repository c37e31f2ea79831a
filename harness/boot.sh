#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/boot.sh NAME JOB [KERNEL-ARGUMENT...]: boot a kernel in QEMU and run harness/guest/JOB.sh.
#
# The console goes to out/logs/NAME.log; with JOB shell it is the terminal's. Status 0 when the job
# came to its end and the console shows no oops, warning or report (see console.py).
# From the environment: SMP (2), MEMORY (2G; 768M on i386, for want of highmem), TIMEOUT (600 s),
# QEMU_ACCEL (whole -accel options in place of what ACCEL gives), QEMU_EXTRA (more options),
# EXPECT=any to take any console.

. "${0%/*}/lib.sh"

name=$1 job=$2
shift 2
log=$out/logs/$name.log
console=ttyS0

case $ACCEL in
tcg)	accel="-accel tcg,thread=single" ;;
kvm)	[ -w /dev/kvm ] || die "ACCEL=kvm: no access to /dev/kvm"
	accel="-accel kvm" ;;
*)	die "ACCEL=$ACCEL: use tcg or kvm" ;;
esac
accel=${QEMU_ACCEL:-$accel}

memory=2G
case $ARCH in
x86_64 | i386)
	need qemu-system-x86
	[ "$ARCH" = x86_64 ] || memory=768M
	qemu="qemu-system-x86_64 -M q35 -cpu max" ;;
arm64)
	need qemu-system-arm ipxe-qemu
	console=ttyAMA0
	qemu="qemu-system-aarch64 -M virt,gic-version=3 -cpu max,pauth-impdef=on" ;;
esac

# KUnit runs at every boot of a kernel that has it: only where it is asked for.
case " $* " in
*\ kunit.enable=*)	;;
*)	set -- kunit.enable=0 "$@" ;;
esac
args="console=$console panic=-1 oops=panic printk.devkmsg=on kpjob=$job $*"
# shellcheck disable=SC2086
set -- $qemu $accel -smp "${SMP:-2}" -m "${MEMORY:-$memory}" -no-reboot -nic none ${QEMU_EXTRA:-} \
	-kernel "$obj/$kernel_image" -initrd "$build/rootfs-$(basename "$obj").cpio" -append "$args"

if [ "$job" = shell ]; then
	exec "$@" -nographic
fi
began=$(date +%s)
rc=0
run_logged "$name" "guest $name" timeout -k 5 "${TIMEOUT:-600}" \
	"$@" -display none -monitor none -serial stdio || rc=$?
[ $rc != 124 ] || say "guest $name: no end after ${TIMEOUT:-600} s"
[ $rc = 0 ] || exit $rc
say "guest $name ran $(($(date +%s) - began)) s, console in ${log#"$top"/}"
[ "${EXPECT:-clean}" = any ] || python3 "$harness/console.py" check "$log"
