#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/base.sh: whether the patches apply to each kernel that is newer than build/pristine, of those
# that Debian 12 and 13, their backports and their security updates have; and before that, whether
# the harness chooses and merges as it should.
#
# What is downloaded is chosen by a configuration of apt's of its own, build/base/apt.conf.
#
# Verdicts go to out/base/results, as harness/test.sh takes them. Ends with "N passed, N failed";
# status 1 when one failed.

. "${0%/*}/lib.sh"

base=$build/base
results=$out/base/results

row()	# VERDICT NAME [DETAIL]
{
	printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" | tee -a "$results"
}

expect()	# NAME GOT WANTED
{
	if [ "$2" = "$3" ]; then
		row pass "$1"
	else
		row fail "$1" "'$2', not '$3'"
	fi
}

# try DIRECTORY: what tree.sh says of the patches there, with its status
try()
{
	status=0
	said=$("$harness/tree.sh" try "$1" 2>&1) || status=$?
	# shellcheck disable=SC2086
	echo $said "($status)"
}

choosing()
{
	newest=$(grep '^[0-9]' "$edits/versions" | sort -V | tail -n 1)
	expect "the newest version that is known is chosen" \
		"$(offered() { printf '%s\n' 999.1-1 "$newest-2" "$newest-1~deb12u1" 0.1-1; }; choose_version)" "$newest-2"
	expect "if none is known, the newest is" \
		"$(offered() { printf '%s\n' 999.1-1 999.0-1; }; choose_version)" 999.1-1
	expect "a base that is there is taken" "$(following "7.3 7.4 7.10")" linux-source-7.3
	expect "the newest kernel that has followed it is, if not" "$(following "7.4 7.10")" linux-source-7.10
}

# following OFFERED: the package that base 7.3 takes if apt has others, too, but these are all that has
# versions
following()
{
	BASE=7.3 gives=$1
	names_offered() { printf 'linux-source-%s\n' 7.4 7.10 7.2 6.12 7.3; }
	offered() { case " $gives " in *" ${linux_source##*-} "*) echo 1 ;; esac; }
	choose_package
	echo "$linux_source"
}

# try_changed LINE...: with other words in these lines of a hunk, the first of the patch
try_changed()
{
	script=
	for line in "$@"; do
		script="$script$((first + line - 1))s,\$, /* changed */,;"
	done
	sed "$script" "$pristine/$target" >"$base/line"
	mv "$base/line" "$base/changed/$target"
	try "$base/changed"
}

merging()
{
	patch=core-exit.patch
	target=$(sed -n 's,^--- a/,,p' "$top/patches/$patch" | head -n 1)
	first=$(sed -n 's/^@@ -\([0-9]*\).*/\1/p' "$top/patches/$patch" | head -n 1)
	# Other names of the same files: they are replaced, never written to.
	cp -al "$pristine" "$base/changed"
	sed -i 's/^SUBLEVEL = .*/SUBLEVEL = 999/' "$base/changed/Makefile"
	expect "a newer version gets no patch that is for older ones" "$(try_changed)$(
		grep -l '^Until:' "$base/changed.try/patches"/*)" "(0)"
	expect "what else is in a hunk's lines merges" "$(try_changed 1)" \
		"patches/$patch does not apply as it is, and merges (0)"
	expect "what that comes to applies" "$(cd "$base/changed" &&
		patch -p1 -s -f -F0 --dry-run <"$base/changed.try/patches/$patch" 2>&1)" ""
	expect "where it does not merge, it is named" "$(try_changed 3 4)" \
		"patches/$patch does not merge: $target error: these are to be adapted to ${release%.*}.999: $patch (1)"
}

# What stays in the tree is patched; what does not may have changed, too.
replaced()
{
	while read -r path; do
		[ ! -f "$pristine/$path" ] || cmp -s "$pristine/$path" "$1/$path" || echo "$path"
	done <<-EOF
	$(cat "$build/files.old" "$build/files.ours")
	EOF
}

ahead()	# VERSION
{
	need xz-utils
	fetch_source "$1" "$base/fetched"
	rm -rf "$base/source" "$base/source.try"
	mkdir "$base/source"
	run_logged base-unpack "unpacking $linux_source $1" \
		tar xf "$archive" -C "$base/source" --strip-components=1
	said=$(try "$base/source")
	case $said in
	*"(0)")	verdict=pass ;;
	*)	verdict=fail ;;
	esac
	known_version "$1" && said="$said, known" || said="$said, not known"
	row $verdict "the patches apply to $1" \
		"$said$(replaced "$base/source" | sed 's/^/, changes what ours replaces: /' | tr -d '\n')"
}

# The newest package of each newer kernel
look_ahead()
{
	last=
	for linux_source in $(packages); do
		for version in $(offered); do
			! not_newer "${version%%-*}" "$release" || break
			[ "${version%%-*}" != "$last" ] || continue
			last=${version%%-*}
			ahead "$version"
		done
	done
	[ -n "$last" ] || say "Debian 12 and 13 have nothing newer than $release"
}

"$harness/tree.sh"
release=$(cut -d - -f 1 "$pristine.version")
mkdir -p "$out/base"
rm -rf "$results" "$base"
mkdir "$base"
choosing
merging
if debian_lists "$base"; then
	row pass "Debian's lists can be had, and are signed"
	look_ahead
else
	row fail "Debian's lists can be had, and are signed" "see out/logs/base-lists.log"
fi
rm -rf "$base"
verdicts "$results"
