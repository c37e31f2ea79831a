#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/tree.sh: make build/tree (of another base than 6.12, build/BASE/tree) = the pristine source
#	- the files named in patches/old-files, and in the base's
#	+ our files (every directory of the repository that the kernel has too)
#	+ our MAINTAINERS section in place of the tree's
#	+ patches/*.patch
#	+ what is in bases/BASE beyond that
#
# bases/BASE/NAME.patch continues patches/NAME.patch, or is one that only that base needs; ours.patch
# changes our files, which are written for the newest base. A line "FILE NAME" of bases/BASE/renames
# says what FILE, as patches/ has it, is called there.
#
# The pristine source is the newest version of its package that the base's versions has, among the one
# installed and those that apt offers; for another base than 6.12, with lists of its own if the
# host's have none. If it has none of these, it is the newest one; there, a patch
# that does not apply is merged, and named. So it is if the package has made way for a newer kernel's.
# build/patches has the patches that were applied, as they
# apply; and build/pristine.version, that version, and the one that was installed when it was chosen.
#
# What the result differs in from the pristine tree is put together in build/stage first, then
# only files whose content changed are touched, so that make rebuilds no more than it must.
# build/tree.files lists the paths that may differ; a path that leaves the list is restored.
#
# harness/tree.sh try DIRECTORY: put that together for the pristine source in the directory, in
# DIRECTORY.try, and do no more. Patches are merged as if no version were known.

. "${0%/*}/lib.sh"

work=$build try=
if [ "${1:-}" = try ]; then
	try=yes pristine=$2 work=$2.try
	mkdir -p "$work"
fi
stage=$work/stage
ours=$edits/ours.patch
list=$work/tree.files
export list

# Files get the time of unpacking: what was built from another version is older.
unpack()
{
	now=$(installed)
	noted=$(cat "$pristine.version" 2>/dev/null) || :
	version=${noted% *}
	[ -d "$pristine" ] && [ "${noted#* }" = "$now" ] &&
		[ -z "$(find "$edits/versions" -newer "$pristine.version")" ] && return
	need xz-utils
	[ "$(id -u)" != 0 ] || run_logged apt-update "reading what apt offers" apt-get update || :
	if [ "$BASE" != "$stable" ] && [ -z "$(offered)" ]; then
		debian_lists "$build/apt"
		choose_package
	fi
	version=$(choose_version)
	[ -n "$version" ] || die "$linux_source is not installed, nor offered by apt"
	if [ ! -d "$pristine" ] || [ "$version" != "${noted% *}" ]; then
		fetch_source "$version" "$build/fetched"
		say "unpacking $linux_source $version"
		rm -rf "$pristine.new"
		mkdir "$pristine.new"
		run_logged unpack "unpacking the kernel source" \
			tar xmf "$archive" -C "$pristine.new" --strip-components=1
		rm -rf "$build/fetched" "$tree" "$pristine"
		mv "$pristine.new" "$pristine"
	fi
	echo "$version $now" >"$pristine.version"
}

copy_pristine()
{
	[ ! -d "$tree" ] || return 0
	say "copying the pristine tree to ${tree#"$top"/}"
	rm -rf "$tree.new" "$list"
	run_logged copy "copying the kernel source" cp -a --reflink=auto "$pristine" "$tree.new"
	mv "$tree.new" "$tree"
}

old_files()
{
	cat "$top/patches/old-files" "$edits/old-files" 2>/dev/null |
		sed 's/#.*//; s/[[:space:]]*$//; /^$/d'
}

our_files()
{
	cd "$top"
	for directory in */; do
		[ -d "$pristine/$directory" ] || continue
		find "$directory" -type f ! -name '*~' ! -name '.checkpatch*' ! -name '.*.sw?' ! -name '*.orig' ! -name '*.rej'
	done
}

# Copy the patches that this kernel needs.
copy_patches()
{
	rm -rf "$work/patches"
	mkdir "$work/patches"
	script=
	while read -r path name; do
		[ -z "$path" ] || script="$script;s,^\\(---\\|+++\\) \\([ab]\\)/$path\$,\\1 \\2/$name,"
	done <<-EOF
	$(cat "$edits/renames" 2>/dev/null)
	EOF
	for patch in "$top"/patches/*.patch "$edits"/*.patch; do
		until=$(sed -n '1s/^Until: //p' "$patch")
		if [ "$patch" != "$ours" ] && { [ -z "$until" ] || not_newer "$release" "$until"; }; then
			sed "$script" "$patch" >>"$work/patches/${patch##*/}"
		fi
	done
}

patched_files()
{
	sed -nE 's,^(---|\+\+\+) [ab]/([^[:space:]]*).*,\2,p' "$work"/patches/*
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

# apply PATCH [COPY]: as it is, or by a merge of the lines it has with those of the kernel. Then the
# result takes its place, or that of the copy.
apply()
{
	# Other names of the same files: they are replaced, never written to.
	rm -rf "$work/a" "$work/b"
	cp -al "$stage" "$work/a"
	! patch -p1 -s -f -F0 --no-backup-if-mismatch -r - <"$1" >/dev/null || return 0
	[ -n "$try" ] || ! known_version "$release" || die "${1##*/} does not apply"
	find . -mindepth 1 -delete
	cp -al "$work/a/." .
	ln -s stage "$work/b"
	if patch -p1 -f --merge --no-backup-if-mismatch <"$1" >"$work/merge"; then
		say "patches/${1##*/} does not apply as it is, and merges"
		(cd "$work" && diff -ruN a b) >"${2:-$1}" || :
	else
		say "patches/${1##*/} does not merge: $(awk '/^patching file/ { file = $3 }
			/NOT MERGED/ || /FAILED/ { print file }' "$work/merge" | uniq | tr '\n' ' ')"
		conflicts="$conflicts ${1##*/}"
	fi
}

fill_stage()
{
	rm -rf "$stage"
	mkdir "$stage"
	release=$(sed -nE 's/^(VERSION|PATCHLEVEL|SUBLEVEL) = //p' "$pristine/Makefile" | paste -sd .)
	copy_patches
	old_files >"$work/files.old"
	our_files >"$work/files.ours"
	patched_files | sort -u >"$work/files.patched"
	twice=$(sort "$work/files.ours" | comm -12 - "$work/files.patched")
	[ -z "$twice" ] || die "patched, but the file is ours (edit it instead): $twice"
	cd "$stage"
	while read -r path; do
		[ -f "$pristine/$path" ] || die "patches/old-files: the pristine tree has no $path"
	done <"$work/files.old"
	while read -r path; do
		[ -f "$pristine/$path" ] || continue
		mkdir -p "$(dirname "$path")"
		cp -p "$pristine/$path" "$path"
	done <"$work/files.patched"
	(cd "$top" && tar cf - -T "$work/files.ours") | tar xf -
	merge_maintainers
	conflicts=
	[ ! -f "$ours" ] || apply "$ours" /dev/null
	for patch in "$work"/patches/*; do
		apply "$patch"
	done
	[ -z "$conflicts" ] || die "these are to be adapted to $release:$conflicts"
	(cat "$work/files.old"; find . -type f | sed 's,^\./,,') | sort -u >"$list.new"
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
			grep -qxF "$path" "$work/files.old" && want=
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
	known_version "$version" || version="$version, which bases/$BASE/versions does not have"
	say "${tree#"$top"/} is up to date with $linux_source $version"
	say "($changed files changed, $(wc -l <"$list") differ from the pristine tree)"
}

need patch
exec 9>"$work/tree.lock"
flock 9
if [ -n "$try" ]; then
	fill_stage
	exit
fi
unpack
copy_pristine
fill_stage
sync_tree
