#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/deb.sh [check]: Debian packages of the kernel and of the headers that modules are built
# with, by the tree's own bindeb-pkg, into out/deb/$ARCH.
#
# CONFIG is a .config file, a distribution's for example; without it they are of a small kernel
# (configs/deb.config). What is built is kept in build/deb/$ARCH.
#
# check	installs these packages in a Debian of its own (build/deb/root), of this one's release, which boots from its
#	disk in QEMU, by its own initrd if the kernel takes one, and with its own init. There
#	harness/installed/check builds a module against the headers package, and has its probe fire;
#	and has Debian's tools for probing do their work. Ends with "N passed, N failed". For
#	ARCH=x86_64, as root.

. "${0%/*}/lib.sh"

config=${CONFIG:-}
[ -z "$config" ] || config=$(realpath "$config")
packages=$out/deb/$ARCH
work=$build/deb
export VARIANT=deb
export OBJ="$work/$ARCH"
# Told apart from the distribution's, and installed beside them
suffix=-kprobes

packages()
{
	kernel_make "$tree" "$OBJ" "LOCALVERSION=$suffix" KDEB_CHANGELOG_DIST="$(codename)" bindeb-pkg
}

build_packages()
{
	need_build_tools
	need build-essential dpkg-dev debhelper rsync
	mkdir -p "$OBJ"
	if [ -n "$config" ]; then
		[ -f "$config" ] || die "no file $config"
		cp "$config" "$OBJ/.config"
		rm -f "$OBJ/configured"
		run_logged "deb-$ARCH" "configuring as $config has it" kernel_make "$tree" "$OBJ" olddefconfig
	else
		"$harness/build.sh" "$tree" "$OBJ" configure
	fi
	# They are put beside the O= directory.
	rm -rf "$work"/*.deb "$packages"
	mkdir -p "$packages"
	run_logged "deb-$ARCH" "building the packages" packages
	mv "$work"/linux-image-*.deb "$work"/linux-headers-*.deb "$packages/"
	rm -f "$work"/linux-*
	ls -s "$packages"
}

# A Debian with init, a compiler and tools that probe, as it comes, is kept.
in_base=systemd-sysv,initramfs-tools,kmod,make,gcc,libc6-dev,linux-perf,bpftrace,bpfcc-tools,perf-tools-unstable,trace-cmd
base_system()
{
	release=$(codename)
	[ "$(cat "$work/base/complete" 2>/dev/null)" != "$release $in_base" ] || return 0
	need debootstrap
	mirror=$(site "$release")
	rm -rf "$work/base"
	run_logged deb-base "unpacking a Debian $release" debootstrap --variant=minbase \
		--include=$in_base "$release" "$work/base" ${mirror:+"$mirror"}
	echo "$release $in_base" >"$work/base/complete"
}

install_packages()
{
	rm -rf "$work/root"
	cp -a "$work/base" "$work/root"
	# Not the debug symbols: the disk may have no room for them.
	cp "$packages"/*"$suffix"_*.deb "$work/root/tmp/"
	run_logged deb-install "installing the packages" chroot "$work/root" sh -c 'dpkg -i /tmp/*.deb'
	rm "$work/root/tmp"/*.deb
	mkdir "$work/root/usr/src/probe"
	cp "$top/samples/kprobes/kprobe_example.c" "$harness"/installed/* "$work/root/usr/src/probe/"
	mv "$work/root/usr/src/probe/probe-check.service" "$work/root/etc/systemd/system/"
	mkdir -p "$work/root/etc/systemd/system/multi-user.target.wants"
	ln -s ../probe-check.service "$work/root/etc/systemd/system/multi-user.target.wants/"
}

make_disk()
{
	need e2fsprogs
	rm -f "$work/disk"
	truncate -s 3G "$work/disk"
	run_logged deb-disk "making the disk" /sbin/mke2fs -q -t ext4 -d "$work/root" "$work/disk"
}

row()	# VERDICT NAME [DETAIL]
{
	printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$results"
}

boot_disk()
{
	results=$out/deb/results
	rm -f "$results"
	initrd=$(find "$work/root/boot" -name "initrd.img-*$suffix")
	verdict=fail
	KERNEL=$(echo "$work"/root/boot/vmlinuz-*"$suffix") INITRD=$initrd TIMEOUT=${TIMEOUT:-1200} \
		QEMU_EXTRA="-drive file=$work/disk,format=raw,if=none,id=disk -device virtio-blk-pci,drive=disk" \
		"$harness/boot.sh" "deb-$ARCH" installed root=/dev/vda rw && verdict=pass
	row $verdict "Debian with the packages boots" "out/logs/deb-$ARCH.log"
	"$harness/console.py" guest "$out/logs/deb-$ARCH.log" >>"$results"
	cat "$results"
	verdicts "$results"
}

"$harness/tree.sh"
build_packages
[ "${1:-}" = check ] || exit 0
[ "$ARCH" = x86_64 ] || die "the check is for ARCH=x86_64"
base_system
install_packages
make_disk
boot_disk
