#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/backports.sh: unpack the newest qemu-system-arm that this Debian's backports have into
# build/backports, and print the command, which harness/boot.sh takes as QEMU=. The lists of packages
# are its own: the host's are not changed.

. "${0%/*}/lib.sh"

work=$build/backports
# What it links with is what the host's needs.
need qemu-system-arm ipxe-qemu >&2
if [ ! -f "$work/complete" ]; then
	rm -rf "$work"
	mkdir -p "$work/packages"
	suites "$(codename)" "$(codename)-backports" >"$work/lists.sources"
	use_lists "$work" >&2
	(cd "$work/packages" && run_logged backports "fetching QEMU from backports" \
		apt-get download qemu-system-arm qemu-system-common qemu-system-data) >&2
	for package in "$work"/packages/*.deb; do
		dpkg -x "$package" "$work/root"
	done
	touch "$work/complete"
fi
# Its modules, not those of the host's
echo "env QEMU_MODULE_DIR=$(echo "$work"/root/usr/lib/*/qemu) $work/root/usr/bin/qemu-system-aarch64"
