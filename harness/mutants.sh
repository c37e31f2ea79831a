#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/mutants.sh [NAME|ARCH...]: break the code in each of the ways of harness/mutants, or in
# these, or in all of these architectures, and see that the tests named there fail.
# harness/mutants.sh check: see that each of them changes the sources; nothing is built.
#
# It is the kernel of make test that is broken, in a copy of its O= directory; build/tree gets other
# files bound over its own, which nobody else sees, in a mount namespace. So this is for root.
#
# Before anything is broken the tests are run once, and have to pass: that says what to compare
# with, and how long it takes. A breakage was noticed when a test does not pass that did then, or
# when the console tells of trouble. A guest that came to no end in time says neither: that is a
# failure but where harness/mutants has "hangs".
# Consoles are in out/logs, verdicts as harness/test.sh takes them in out/mutants/ARCH.results. Ends
# with "N passed, N failed"; status 1 when a breakage was not noticed.

. "${0%/*}/lib.sh"

list=$harness/mutants
ours=$build/mutant-files-$ARCH
results=$out/mutants/$ARCH.results
mkdir -p "$out/mutants"

mutants_of()	# [ARCH]
{
	awk -v arch="$1" '$1 == "mutant" && (arch == "" || $3 == arch) { print $2 }' "$list"
}

tests_of()	# NAME
{
	awk -v name="$1" '$1 == "mutant" && $2 == name { print $4 }' "$list"
}

hangs()	# NAME
{
	grep -q "^mutant $1 .* hangs\$" "$list"
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

# Each file that some mutant changes, twice: as it is, and to be changed
copy_files()
{
	rm -rf "$ours"
	for file in $(files_of ''); do
		mkdir -p "$ours/${file%/*}"
		cp "$tree/$file" "$ours/$file.whole"
		cp -p "$tree/$file" "$ours/$file"
	done
}

bind_files()
{
	for file in $(files_of ''); do
		mount --bind "$ours/$file" "$tree/$file"
	done
}

break_code()	# NAME
{
	changes_of "$1" | while read -r file expression; do
		cp "$ours/$file" "$ours/before"
		# A failure would go unseen: who asks for the status of a function has "set -e" off in there.
		sed "$expression" "$ours/before" >"$ours/$file" ||
			{ say "$1: sed does not know $expression"; exit 1; }
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

check_all()
{
	ours=$build/mutant-check status=0
	copy_files
	for name in $(mutants_of ''); do
		[ -n "$(changes_of "$name")" ] || { say "$name: no change"; status=1; }
		break_code "$name" || status=1
		mend_code "$name"
	done
	rm -rf "$ours"
	return $status
}

build_mutant()	# NAME
{
	run_logged "mutant-$1-build" "building $1" \
		kernel_make "$tree" "$obj" "${kernel_image##*/}"
}

# If tree.sh replaces a file of the tree meanwhile, it loses what is bound over it.
still_bound()	# NAME
{
	for file in $(files_of "$1"); do
		cmp -s "$ours/$file" "$tree/$file" || return 1
	done
}

# run_tests NAME TESTS SECONDS: boot for them. Their verdicts go to out/mutants/NAME.rows, what
# boot.sh has to say to NAME.boot, and its status is this one's.
run_tests()
{
	name=$1 tests=$2 seconds=$3 parser=kunit status=0
	set -- none kunit.enable=1 "kunit.filter_glob=$tests"
	case $tests in
	# The one suite has no case for a boot alone: kunit_again.sh runs it once more.
	*.sh)	parser=guest
		set -- selftests kunit.enable=1 "kunit.filter_glob=kprobes_init_test.*" \
			"kpscripts=$tests" ;;
	esac
	OBJ=$obj INITRD=$build/rootfs-$ARCH.cpio TIMEOUT=$seconds \
		"$harness/boot.sh" "mutant-$name" "$@" >"$out/mutants/$name.boot" </dev/null || status=$?
	"$harness/console.py" $parser "$out/logs/mutant-$name.log" >"$out/mutants/$name.rows"
	return $status
}

result()	# VERDICT NAME DETAIL
{
	printf '%s\t%s\t%s\n' "$@" >>"$results"
	printf '%-8s %-52s %s\n' "$@"
}

# control_of TESTS: what the run with nothing broken is called by
control_of()
{
	echo "unbroken-$ARCH-$1" | sed 's/[*.]/-/g'
}

# The rows stay only if all is well.
run_control()	# TESTS
{
	control=$(control_of "$1") status=0
	rows=$out/mutants/$control.rows
	began=$(date +%s)
	run_tests "$control" "$1" "${TIMEOUT:-1800}" || status=$?
	spent=$(($(date +%s) - began))
	if [ $status = 0 ] && grep -q '^pass' "$rows" && ! grep '^fail' "$rows"; then
		# Other guests may have the processors by then.
		echo $((3 * spent + 120)) >"$out/mutants/$control.seconds"
		result pass "nothing is broken, $1" "$(grep -c '^pass' "$rows") passed in $spent s"
	else
		rm "$rows"
		result fail "nothing is broken, $1" "does not pass, see out/logs/mutant-$control.log"
	fi
}

# What says of itself that it failed, though the guest came to no end
failed()	# NAME
{
	awk -F '\t' '$1 == "fail" && $2 ~ /[.]/ { print $2 }' "$out/mutants/$1.rows"
	sed -n 's/.*# \([a-z0-9_]*\): [A-Z]* FAILED at .*/\1/p' "$out/logs/mutant-$1.log"
}

complaints()	# NAME
{
	sed -n "s/.*mutant-$1\.log:\([0-9]*:\)\{0,1\} //p" "$out/mutants/$1.boot"
}

# What passed with nothing broken and does not now
lost()	# NAME
{
	awk -F '\t' 'FILENAME == ARGV[1] { verdict[$2] = $1; next }
		$1 == "pass" && verdict[$2] != "pass" { print $2 " is missing" }' \
		"$out/mutants/$1.rows" "$out/mutants/$control.rows"
}

judge()	# NAME
{
	seconds=${TIMEOUT:-$(cat "$out/mutants/$control.seconds")} status=0
	run_tests "$1" "$tests" "$seconds" || status=$?
	case $status in
	0 | 1)	by=$({ failed "$1"; complaints "$1"; lost "$1"; } | head -n 1) ;;
	124)	by=$(failed "$1" | head -n 1) ;;
	*)	result fail "$1" "the guest did not run, see out/logs/mutant-$1.log"
		return ;;
	esac
	if [ -n "$by" ]; then
		result pass "$1" "$by"
	elif [ $status != 124 ]; then
		result fail "$1" "not noticed by $tests"
	elif hangs "$1"; then
		result pass "$1" "no end after $seconds s"
	else
		result fail "$1" "no end after $seconds s, and harness/mutants does not say so"
	fi
}

one_mutant()	# NAME
{
	tests=$(tests_of "$1")
	control=$(control_of "$tests")
	if [ ! -f "$out/mutants/$control.rows" ]; then
		result fail "$1" "not tried: $tests does not pass with nothing broken"
		return
	fi
	if ! break_code "$1"; then
		result fail "$1" "does not apply"
	elif ! build_mutant "$1"; then
		result fail "$1" "does not compile, see out/logs/mutant-$1-build.log"
	elif ! still_bound "$1"; then
		result fail "$1" "not tried: build/tree was laid over anew"
	else
		judge "$1"
	fi
	mend_code "$1"
}

run_all()	# NAME...
{
	for name in "$@"; do
		tests_of "$name"
	done | sort -u | while read -r tests; do
		run_control "$tests"
	done
	for name in "$@"; do
		one_mutant "$name"
	done
}

# In a namespace of its own, with ARCH set
if [ "${1:-}" = --run ]; then
	shift
	base=$build/$ARCH
	obj=$build/mutant-$ARCH
	: >"$results"
	copy_files
	bind_files
	rm -rf "$obj"
	flock "$base.lock" cp -a "$base" "$obj"
	run_all "$@"
	rm -rf "$obj" "$ours"
	exit
fi

if [ "${1:-}" = check ]; then
	"$harness/tree.sh"
	check_all
	exit
fi

known=" x86_64 arm64 i386 $(mutants_of '' | tr '\n' ' ')"
for name in "$@"; do
	case $known in
	*" $name "*)	;;
	*)	die "no $name in harness/mutants" ;;
	esac
done
need util-linux
ran=
for ARCH in x86_64 arm64 i386; do
	names=
	for name in $(mutants_of $ARCH); do
		case " $* " in
		"  " | *" $name "* | *" $ARCH "*)	names="$names $name" ;;
		esac
	done
	[ -n "$names" ] || continue
	"$harness/tree.sh"
	"$harness/build.sh"
	"$harness/initramfs.sh"
	# shellcheck disable=SC2086
	OBJ='' unshare -m "$0" --run $names
	ran="$ran $out/mutants/$ARCH.results"
done
# shellcheck disable=SC2086
cat $ran | verdicts -
