#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/tree.sh: make build/tree = the pristine source
#	- the files named in patches/old-files
#	+ our files (every directory of the repository that the kernel has too)
#	+ our MAINTAINERS section in place of the tree's
#	+ patches/*.patch
#
# What the result differs in from the pristine tree is put together in build/stage first, then
# only files whose content changed are touched, so that make rebuilds no more than it must.
# build/tree.files lists the paths that may differ; a path that leaves the list is restored.

. "${0%/*}/lib.sh"

tarball=/usr/src/linux-source-6.12.tar.xz
stage=$build/stage
list=$build/tree.files
export list

unpack()
{
	[ ! -d "$pristine" ] || return 0
	need linux-source-6.12 xz-utils
	say "unpacking $tarball"
	rm -rf "$pristine.new"
	mkdir "$pristine.new"
	run_logged unpack "unpacking the kernel source" \
		tar xf "$tarball" -C "$pristine.new" --strip-components=1
	mv "$pristine.new" "$pristine"
}

copy_pristine()
{
	[ ! -d "$tree" ] || return 0
	say "copying the pristine tree to build/tree"
	rm -rf "$tree.new" "$list"
	run_logged copy "copying the kernel source" cp -a --reflink=auto "$pristine" "$tree.new"
	mv "$tree.new" "$tree"
}

old_files()
{
	[ ! -f "$top/patches/old-files" ] || sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$top/patches/old-files"
}

our_files()
{
	cd "$top"
	for directory in */; do
		[ -d "$pristine/$directory" ] || continue
		find "$directory" -type f ! -name '*~' ! -name '.checkpatch*' ! -name '.*.sw?' ! -name '*.orig' ! -name '*.rej'
	done
}

patches()
{
	find "$top/patches" -name '*.patch' | sort
}

patched_files()
{
	patches | xargs -r sed -nE 's,^(---|\+\+\+) [ab]/([^[:space:]]*).*,\2,p'
}

# Our MAINTAINERS holds the KPROBES section only; it takes the place of the tree's.
merge_maintainers()
{
	[ -f "$top/MAINTAINERS" ] || return 0
	awk -v ours="$top/MAINTAINERS" '
		/^KPROBES$/ { skip = 1; while ((getline line < ours) > 0) print line; found = 1 }
		skip && /^$/ { skip = 0 }
		!skip { print }
		END { exit !found }' "$pristine/MAINTAINERS" >MAINTAINERS ||
		die "the pristine MAINTAINERS has no KPROBES section"
}

fill_stage()
{
	rm -rf "$stage"
	mkdir "$stage"
	old_files >"$build/files.old"
	our_files >"$build/files.ours"
	patched_files | sort -u >"$build/files.patched"
	twice=$(sort "$build/files.ours" | comm -12 - "$build/files.patched")
	[ -z "$twice" ] || die "patched, but the file is ours (edit it instead): $twice"
	cd "$stage"
	while read -r path; do
		[ -f "$pristine/$path" ] || die "patches/old-files: the pristine tree has no $path"
	done <"$build/files.old"
	while read -r path; do
		[ -f "$pristine/$path" ] || continue
		mkdir -p "$(dirname "$path")"
		cp -p "$pristine/$path" "$path"
	done <"$build/files.patched"
	(cd "$top" && tar cf - -T "$build/files.ours") | tar xf -
	merge_maintainers
	for patch in $(patches); do
		patch -p1 -s -f -F0 --no-backup-if-mismatch <"$patch" ||
			die "${patch#"$top"/} does not apply"
	done
	(cat "$build/files.old"; find . -type f | sed 's,^\./,,') | sort -u >"$list.new"
}

# Bring every path of old and new list to what stage, or else the pristine tree, says.
sync_tree()
{
	changed=0
	touch "$list"
	sort -u "$list" "$list.new" >"$list.both"
	cp "$list.both" "$list"
	while read -r path; do
		want=$stage/$path have=$tree/$path
		if [ ! -f "$want" ]; then
			want=$pristine/$path
			grep -qxF "$path" "$build/files.old" && want=
		fi
		if [ -z "$want" ] || [ ! -f "$want" ]; then
			[ ! -f "$have" ] || { rm "$have"; changed=$((changed + 1)); }
			(cd "$tree" && rmdir -p --ignore-fail-on-non-empty "$(dirname "$path")" 2>/dev/null) || :
		elif ! cmp -s "$want" "$have"; then
			mkdir -p "$(dirname "$have")"
			cp "$want" "$have.new"
			[ ! -x "$want" ] || chmod +x "$have.new"
			mv "$have.new" "$have"
			changed=$((changed + 1))
		fi
	done <"$list.both"
	mv "$list.new" "$list"
	rm "$list.both"
	say "build/tree is up to date ($changed files changed, $(wc -l <"$list") differ from the pristine tree)"
}

need patch
exec 9>"$build/tree.lock"
flock 9
unpack
copy_pristine
fill_stage
sync_tree
