#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/mutants.sh [NAME...]: break the code in each of the ways of harness/mutants, or these, and
# see that the tests named there fail.
#
# It is the kernel of make test that is broken, in a copy of its O= directory; build/tree gets other
# files bound over its own, which nobody else sees, in a mount namespace. So this is for root.
# Consoles are in out/logs, verdicts as harness/test.sh takes them in out/mutants/results. Ends with
# "N passed, N failed"; status 1 when a breakage was not noticed.

. "${0%/*}/lib.sh"

list=$harness/mutants
ours=$build/mutant-files
mkdir -p "$out/mutants"

mutants_of()	# ARCH
{
	awk -v arch="$1" '$1 == "mutant" && $3 == arch { print $2 }' "$list"
}

tests_of()	# NAME
{
	awk -v name="$1" '$1 == "mutant" && $2 == name { print $4 }' "$list"
}

# The lines "FILE SED-EXPRESSION" of a mutant, or of all
changes_of()	# [NAME]
{
	awk -v name="$1" '$1 == "mutant" { mine = name == "" || $2 == name; next }
		mine && /^\t/ { sub(/^\t/, ""); print }' "$list"
}

files_of()	# [NAME]
{
	changes_of "$1" | cut -d' ' -f1 | sort -u
}

# A file of ours over each that some mutant changes
bind_files()
{
	rm -rf "$ours"
	for file in $(files_of ''); do
		mkdir -p "$ours/${file%/*}"
		cp "$tree/$file" "$ours/$file.whole"
		cp -p "$tree/$file" "$ours/$file"
		mount --bind "$ours/$file" "$tree/$file"
	done
}

break_code()	# NAME
{
	changes_of "$1" | while read -r file expression; do
		cp "$ours/$file" "$ours/before"
		sed "$expression" "$ours/before" >"$ours/$file"
		! cmp -s "$ours/before" "$ours/$file" ||
			{ say "$1: nothing is changed in $file by $expression"; exit 1; }
	done
}

# Newer than the objects, which are those of the mutant
mend_code()	# NAME
{
	for file in $(files_of "$1"); do
		cat "$ours/$file.whole" >"$ours/$file"
	done
}

build_mutant()	# NAME
{
	run_logged "mutant-$1-build" "building $1" \
		kernel_make "$tree" "$obj" "${kernel_image##*/}"
}

# Status 0 when there is no sign of trouble
boot_mutant()	# NAME
{
	tests=$(tests_of "$1")
	case $tests in
	*.sh)	parser=guest
		set -- "$1" selftests kunit.enable=0 "kpscripts=$tests" ;;
	*)	parser=kunit
		set -- "$1" none kunit.enable=1 "kunit.filter_glob=$tests" ;;
	esac
	name=$1
	shift
	OBJ=$obj INITRD=$build/rootfs-$ARCH.cpio TIMEOUT=${TIMEOUT:-240} \
		"$harness/boot.sh" "mutant-$name" "$@" >"$out/mutants/$name.boot" || return 1
	"$harness/console.py" $parser "$out/logs/mutant-$name.log" >"$out/mutants/$name.rows"
	grep -q '^pass' "$out/mutants/$name.rows" && ! grep -q '^fail' "$out/mutants/$name.rows"
}

# What noticed it, or what the console said
noticed_by()	# NAME
{
	"$harness/console.py" kunit "$out/logs/mutant-$1.log" |
		awk -F '\t' '$1 == "fail" && $2 ~ /[.]/ { print $2; found = 1; exit } END { exit !found }' ||
		sed -n "s/.*mutant-$1.log:[0-9]*: //p" "$out/mutants/$1.boot" | grep -m 1 . ||
		tail -n 1 "$out/mutants/$1.boot"
}

result()	# VERDICT NAME DETAIL
{
	printf '%s\t%s\t%s\n' "$@" >>"$out/mutants/results"
	printf '%-8s %-52s %s\n' "$@"
}

one_mutant()	# NAME
{
	if ! break_code "$1"; then
		result fail "$1" "does not apply"
	elif ! build_mutant "$1"; then
		result fail "$1" "does not compile, see out/logs/mutant-$1-build.log"
	elif boot_mutant "$1"; then
		result fail "$1" "not noticed by $(tests_of "$1")"
	else
		result pass "$1" "$(noticed_by "$1")"
	fi
	mend_code "$1"
}

# In a namespace of its own, with ARCH set
if [ "${1:-}" = --run ]; then
	shift
	base=$build/$ARCH
	obj=$build/mutant-$ARCH
	bind_files
	rm -rf "$obj"
	cp -a "$base" "$obj"
	for name in "$@"; do
		one_mutant "$name"
	done
	rm -rf "$obj" "$ours"
	exit
fi

need util-linux
: >"$out/mutants/results"
for ARCH in x86_64 arm64; do
	names=
	for name in $(mutants_of $ARCH); do
		case " $* " in
		"  " | *" $name "*)	names="$names $name" ;;
		esac
	done
	[ -n "$names" ] || continue
	"$harness/tree.sh"
	"$harness/build.sh"
	"$harness/initramfs.sh"
	# shellcheck disable=SC2086
	OBJ='' unshare -m "$0" --run $names
done
verdicts "$out/mutants/results" && grep -q '^pass' "$out/mutants/results"
