# SPDX-License-Identifier: GPL-2.0
# What the harness has to know of an architecture. Sourced by lib.sh; for ARCH, a name of Debian's
# or the kernel's, this sets
#
#   kernel_arch	the kernel's own name for it
#   compiler	packages of the compiler, where it is not gcc itself
#   cross	what its tools' names begin with
#   llvm		what the kernel's LLVM= is to be where the compiler is clang
#   kernel_image	what is booted, in the O= directory; the last part of it is make's target
#   userland	yes when the guest has one, and the shared config; else KUnit runs at the end of
#		the kernel's own boot, in a small kernel (configs/bare.config), and that is all
#   libc		packages that build programs for that, and
#   libc_cross	what the names of those tools begin with
#   emulator	packages of what it boots in; empty when Debian has nothing
#   qemu	the emulator and its machine
#   mute	yes when no kernel shows anything there, the pristine one neither
#   disk	the device that is a disk in that
#   console	the kernel's name for the first serial port
#   arguments	what else its command line needs. On arm64, modules would be far from the kernel's
#		text with KASLR, where it is not what is tested: KASLR= (empty) in the environment
#   ending	how the kernel ends QEMU without a userland: what kunit_shutdown= takes
#   exempt	a variable for the kernel's make, for a file that does not compile without it
#   memory, cpus	of the guest. One CPU where every change of text stops the machine: QEMU
#		runs CPUs in turns, a tenth of a second each, and the others spin meanwhile

compiler='' cross='' llvm='' userland='' libc='' libc_cross='' exempt=''
emulator='' qemu='' mute='' disk='' console=ttyS0 arguments='' ending=reboot memory=2G cpus=2
kernel_arch=$ARCH
case $ARCH in
x86_64 | i386)
	# without ACPI the firmware tells of one processor in each socket
	userland=yes kernel_image=arch/x86/boot/bzImage cpus=2,sockets=2
	# a guest that waits for a processor of ours sees no ticks, and would panic over its timer
	arguments=no_timer_check
	emulator=qemu-system-x86 qemu="qemu-system-x86_64 -M q35 -cpu max" disk=virtio-blk-pci
	libc="gcc libc6-dev"
	if [ "$ARCH" = i386 ]; then
		# for want of highmem; and Linux would call QEMU's APM where it must not execute
		memory=768M arguments="$arguments apm=off"
		libc="gcc-i686-linux-gnu libc6-dev-i386-cross" libc_cross=i686-linux-gnu-
	fi ;;
arm64)
	userland=yes kernel_image=arch/arm64/boot/Image
	compiler="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" cross=aarch64-linux-gnu-
	libc=$compiler libc_cross=$cross
	emulator="qemu-system-arm ipxe-qemu" console=ttyAMA0 arguments=${KASLR-nokaslr}
	qemu="qemu-system-aarch64 -M virt,gic-version=3 -cpu max,pauth-impdef=on"
	disk=virtio-blk-device ;;
riscv64)
	kernel_arch=riscv kernel_image=arch/riscv/boot/Image
	compiler=gcc-riscv64-linux-gnu cross=riscv64-linux-gnu- cpus=1
	emulator="qemu-system-misc opensbi" qemu="qemu-system-riscv64 -M virt" ;;
s390x)
	kernel_arch=s390 kernel_image=arch/s390/boot/bzImage
	compiler=gcc-s390x-linux-gnu cross=s390x-linux-gnu- cpus=1
	emulator=qemu-system-misc qemu="qemu-system-s390x -M s390-ccw-virtio -cpu max" console=ttyS1 ;;
ppc64le)
	kernel_arch=powerpc kernel_image=vmlinux
	compiler=gcc-powerpc64le-linux-gnu cross=powerpc64le-linux-gnu-
	emulator=qemu-system-ppc qemu="qemu-system-ppc64 -M pseries -vga none" console=hvc0 ;;
arm)
	kernel_image=arch/arm/boot/zImage
	compiler=gcc-arm-linux-gnueabihf cross=arm-linux-gnueabihf- cpus=1
	emulator="qemu-system-arm ipxe-qemu" console=ttyAMA0
	qemu="qemu-system-arm -M virt -cpu cortex-a15" ;;
sparc64)
	kernel_image=arch/sparc/boot/image
	compiler=gcc-sparc64-linux-gnu cross=sparc64-linux-gnu-
	# 6.12.117 has an internal flag of open files where sparc64 has O_TMPFILE, and checks that.
	exempt='CFLAGS_fcntl.o=-U__OPTIMIZE__'
	emulator=qemu-system-sparc qemu="qemu-system-sparc64 -M sun4u" cpus=1
	# OpenBIOS does nothing when it is asked to boot, and the kernel panics.
	ending=poweroff ;;
mips64el)
	kernel_arch=mips kernel_image=vmlinux
	compiler=gcc-mips64el-linux-gnuabi64 cross=mips64el-linux-gnuabi64-
	emulator=qemu-system-mips qemu="qemu-system-mips64el -M malta -cpu MIPS64R2-generic" cpus=1 ;;
parisc)
	kernel_image=vmlinux
	compiler=gcc-hppa-linux-gnu cross=hppa-linux-gnu-
	# The firmware's console, where the kernel writes first, would be the screen.
	emulator=qemu-system-misc qemu="qemu-system-hppa -fw_cfg opt/console,string=serial" mute=yes
	memory=512M cpus=1 ;;
sh4)
	kernel_arch=sh kernel_image=arch/sh/boot/zImage
	compiler=gcc-sh4-linux-gnu cross=sh4-linux-gnu-
	# the console is the second port
	emulator=qemu-system-misc qemu="qemu-system-sh4 -M r2d -serial null" mute=yes cpus=1
	console=ttySC1 arguments="earlycon=scif,mmio16,0xffe80000 noiotrap" memory=64M ;;
arc)
	kernel_image=vmlinux
	compiler=gcc-arc-linux-gnu cross=arc-linux-gnu-
	# Debian's compiler gives up on this file otherwise.
	exempt='CFLAGS_random.o=-O1' ;;
loongarch64)
	kernel_arch=loongarch kernel_image=vmlinux
	compiler="clang-19 lld-19 llvm-19" llvm=-19 ;;
*)
	die "ARCH=$ARCH is not known here: see harness/arch.sh" ;;
esac
case ${EMULATOR:-qemu}/$ARCH in
qemu/*)	;;
bochs/x86_64 | bochs/i386)
	emulator="bochs bochs-term bochsbios isolinux syslinux-common xorriso" disk='' memory=768M cpus=1
	# What ends it; and what its CPUID is wrong about: Linux would warn, and do without AVX.
	arguments="${arguments:+$arguments }reboot=triple clearcpuid=ht,xsavec,xsaves" ;;
*)	die "EMULATOR=$EMULATOR: not for $ARCH" ;;
esac
case $VARIANT in
clang)	compiler="clang lld llvm" llvm=1 ;;
kcfi)	compiler="clang-19 lld-19 llvm-19" llvm=-19 ;;
esac
