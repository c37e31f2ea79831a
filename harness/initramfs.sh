#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/initramfs.sh [SOURCE [OBJ]]: make OBJ's initramfs, build/rootfs-$(basename OBJ).cpio.
#
# In it: a static busybox, harness/guest/* (init and the jobs) and bench/users in /harness, the modules in
# /lib/modules/RELEASE (all of them by name in /modules, with those that EXTRA_MODULES names), the
# kernel's ftrace selftests and our own in /selftests, with what is to be compiled of them and of
# /harness, and the directories that EXTRA_DIRECTORIES names. No userland (see arch.sh), no
# initramfs.

. "${0%/*}/lib.sh"

source=${1:-$tree}
obj=${2:-$obj}
root=$build/rootfs-$(basename "$obj")

foreign_busybox()
{
	[ ! -x "$build/busybox-$ARCH" ] || return 0
	[ "$(id -u)" = 0 ] || die "as root: dpkg --add-architecture $ARCH; apt-get update; then run this again as root"
	say "fetching the $ARCH busybox"
	new=$build/busybox-$ARCH.new
	rm -rf "$new"
	mkdir "$new"
	# Of the lists it takes one: that another cannot be had does not matter.
	# shellcheck disable=SC2016
	run_logged "busybox-$ARCH" "fetching busybox-static:$ARCH" flock "$build/apt.lock" sh -ec 'cd "$0"
		dpkg --add-architecture "$1"
		apt-get update || :
		apt-get -o APT::Sandbox::User=root download "busybox-static:$1"
		dpkg-deb -x busybox-static_*.deb .' "$new" "$ARCH"
	find "$new" -path '*bin/busybox' -type f \
		-exec install -m 755 {} "$build/busybox-$ARCH" \;
	rm -rf "$new"
}

add_busybox()
{
	if [ "$ARCH" = x86_64 ]; then
		need busybox-static
		cp "$(dpkg-query -L busybox-static | grep '/bin/busybox$')" "$root.new/bin/busybox"
	else
		foreign_busybox
		cp "$build/busybox-$ARCH" "$root.new/bin/busybox"
	fi
	# The ftrace selftests want a shell that is a file of that name.
	cp "$root.new/bin/busybox" "$root.new/bin/sh"
}

add_modules()
{
	release=$(cat "$obj/include/config/kernel.release")
	into=$root.new/lib/modules/$release
	mkdir -p "$into/kernel" "$root.new/modules"
	: >"$into/modules.order"
	cp "$obj/modules.builtin" "$obj/modules.builtin.modinfo" "$into/"
	while read -r module; do
		cp "$obj/${module%.o}.ko" "$into/kernel/"
		ln -s "/lib/modules/$release/kernel/$(basename "$module" .o).ko" "$root.new/modules/"
	done <"$obj/modules.order"
	for module in ${EXTRA_MODULES:-}; do
		cp "$module" "$root.new/modules/"
	done
	/sbin/depmod -b "$root.new" "$release"
}

add_selftests()
{
	for suite in ftrace kprobes; do
		[ ! -d "$source/tools/testing/selftests/$suite" ] ||
			cp -r "$source/tools/testing/selftests/$suite" "$root.new/selftests/"
	done
}

# What scripts have need of beside busybox
add_programs()
{
	# shellcheck disable=SC2086
	need $libc
	for program in "$root.new"/harness/*.c "$root.new"/selftests/kprobes/*.c; do
		[ ! -f "$program" ] || "${libc_cross}gcc" -static -O2 -o "${program%.c}" "$program"
	done
}

# Its shell is not the one of this machine, which takes more for a name. Where it runs, it is asked.
check_scripts()
{
	shell=$root.new/bin/sh
	"$shell" -c true 2>/dev/null || return 0
	for script in "$root.new"/harness/*.sh "$root.new"/selftests/kprobes/*.sh; do
		[ ! -f "$script" ] || "$shell" -n "$script" || die "$script: see above"
	done
}

[ -n "$userland" ] || exit 0
need cpio kmod
rm -rf "$root.new"
mkdir -p "$root.new/bin" "$root.new/selftests" "$root.new/harness"
for directory in proc sys dev tmp run root etc; do
	mkdir "$root.new/$directory"
done
add_busybox
add_modules
add_selftests
# Tests of tracefs' files look for somebody else to give them to.
printf '%s\n' root:x:0:0::/root:/bin/sh nobody:x:65534:65534::/:/bin/false >"$root.new/etc/passwd"
printf '%s\n' root:x:0: nogroup:x:65534: >"$root.new/etc/group"
cp "$harness"/guest/* "$harness/bench/users.c" "$root.new/harness/"
check_scripts
add_programs
for directory in ${EXTRA_DIRECTORIES:-}; do
	cp -r "$directory" "$root.new/"
done
ln -s harness/init "$root.new/init"
(cd "$root.new" && find . | sort | cpio --quiet -o -H newc -R 0:0) >"$root.cpio.new"
mv "$root.cpio.new" "$root.cpio"
rm -rf "$root"
mv "$root.new" "$root"
