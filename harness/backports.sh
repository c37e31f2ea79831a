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
	mkdir -p "$work/lists/partial" "$work/packages"
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016
	archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $release" | head -n 1)
	[ -n "$archive" ] || die "apt knows no archive of $release"
	echo "deb $archive $release-backports main" >"$work/sources.list"
	# shellcheck disable=SC2016
	run_logged backports "fetching QEMU from $release-backports" sh -ec 'cd "$0/packages"
		set -- -o Dir::Etc::sourcelist="$0/sources.list" -o Dir::Etc::sourceparts=/dev/null \
			-o Dir::State::lists="$0/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
			-o APT::Sandbox::User=root -o Acquire::Retries=3
		apt-get "$@" update
		apt-get "$@" download qemu-system-arm qemu-system-common qemu-system-data
		for package in *.deb; do dpkg -x "$package" "$0/root"; done' "$work" >&2
	touch "$work/complete"
fi
# Its modules, not those of the host's
echo "env QEMU_MODULE_DIR=$(echo "$work"/root/usr/lib/*/qemu) $work/root/usr/bin/qemu-system-aarch64"
