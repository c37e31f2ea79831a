#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/all.sh build|test [ARCH...]: the architectures whose kprobes hooks are the tree's own.
#
# build	a small kernel for each (configs/bare.config)
# test	boots those that QEMU boots, thrice: with our KUnit suites; with the pristine tree's
#	test_kprobes.c in place of ours; and the pristine kernel with that. What passes there
#	has to pass here.
#
# Both end with a table, which is out/all/table too; status 1 when a kernel did not build, a test
# of ours failed, a console had something to tell, or ours does worse than the pristine kernel.
# Where the pristine kernel does not build either, only our files are compiled; and where arch.sh
# says that it shows nothing, ours need not.
# The pristine kernels are built once and kept.

. "${0%/*}/lib.sh"

results=$out/all
everyone="riscv64 s390x ppc64le arm sparc64 mips64el parisc sh4 arc loongarch64"

say_row()	# VALUE...
{
	printf '| %-12s | %-6s | %-6s | %-33s | %-22s |\n' "$@"
}

# Results go to ARCH.KIND.rows: verdict, case, detail. What else is on the pristine kernel's console
# does not matter.
boot()	# KIND OBJ [KERNEL-ARGUMENT...]
{
	rows=$results/$ARCH.$1.rows
	name=all-$ARCH-$1 boot_obj=$2 expect=clean
	[ "$1" != pristine ] || expect=any
	shift 2
	OBJ=$boot_obj EXPECT=$expect "$harness/boot.sh" "$name" kunit kunit.enable=1 "$@" ||
		echo "$name" >>"$results/$ARCH.unclean"
	"$harness/console.py" kunit "$out/logs/$name.log" >"$rows"
}

# Cases that pass with the pristine kernel and not with ours
worse()
{
	for kind in upstream pristine; do
		grep -qs '^pass' "$results/$ARCH.$kind.rows" || { echo "nothing passes in $kind"; return; }
	done
	awk -F '\t' 'NR == FNR { ours[$2] = $1; next } $1 == "pass" && ours[$2] != "pass" { print $2 }' \
		"$results/$ARCH.upstream.rows" "$results/$ARCH.pristine.rows"
}

only_ours()
{
	run_logged "all-$ARCH-objects" "compiling our files" \
		kernel_make "$tree" "$obj" kernel/kprobes.o kernel/kprobes/ lib/ "arch/$kernel_arch/kernel/"
	! "$harness/build.sh" "$pristine" "$build/$ARCH-pristine" ||
		die "$ARCH: the pristine kernel builds, and ours does not"
	echo "only our files, nor does the pristine kernel" >"$results/$ARCH.built"
}

# One architecture, in a process of its own so that a step that fails ends it.
one()	# build|test
{
	began=$(date +%s)
	if ! "$harness/build.sh"; then
		only_ours
		exit
	fi
	echo "$(($(date +%s) - began)) s" >"$results/$ARCH.built"
	[ "$1" = test ] && [ -n "$emulator" ] || exit 0
	boot kunit "$obj"
	hold_skips "$ARCH/all" <"$results/$ARCH.kunit.rows" >"$results/$ARCH.held"
	mv "$results/$ARCH.held" "$results/$ARCH.kunit.rows"
	suite=$(upstream_suite)
	"$harness/upstream.sh"
	boot upstream "$build/$ARCH-upstream" "kunit.filter_glob=$suite"
	"$harness/build.sh" "$pristine" "$build/$ARCH-pristine"
	boot pristine "$build/$ARCH-pristine" "kunit.filter_glob=$suite"
	grep '^fail' "$results/$ARCH.kunit.rows" || :
	worse | sed 's/^/worse than the pristine kernel: /'
}

column()	# FILE: what it says, or a dash
{
	if [ -f "$results/$1" ]; then verdicts "$results/$1" || :; else echo -; fi
}

passed()	# FILE: how many of how many
{
	awk -F '\t' '$1 == "pass" { n++ } END { print n + 0 "/" NR }' "$results/$1" 2>/dev/null || echo -
}

# What does not boot without us either is no fault of ours, where that is known.
boots_nowhere()
{
	(. "$harness/arch.sh" && [ -n "$mute" ]) && [ -f "$results/$ARCH.pristine.rows" ] &&
		! grep -q '^pass' "$results/$ARCH.kunit.rows" "$results/$ARCH.pristine.rows"
}

row()
{
	built=no boots=no
	[ ! -f "$results/$ARCH.built" ] || built=$(cat "$results/$ARCH.built")
	! grep -q '^pass' "$results/$ARCH.kunit.rows" 2>/dev/null || boots=yes
	! boots_nowhere || boots="no, nor does the pristine kernel"
	say_row "$ARCH" "$built" "$boots" "$(column "$ARCH.kunit.rows")" \
		"$(passed "$ARCH.upstream.rows"), $(passed "$ARCH.pristine.rows")"
}

healthy()
{
	[ -f "$results/$ARCH.built" ] || return 1
	[ -f "$results/$ARCH.kunit.rows" ] && ! boots_nowhere || return 0
	[ ! -f "$results/$ARCH.unclean" ] && ! grep -q '^fail' "$results/$ARCH.kunit.rows" && [ -z "$(worse)" ]
}

table()
{
	say_row architecture built boots "our suites" "theirs: ours, pristine"
	say_row --- --- --- --- ---
	for ARCH in "$@"; do
		row
	done
}

mkdir -p "$results"
if [ "$1" = --one ]; then
	one "$2"
	exit
fi

mode=$1 status=0
shift
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $everyone
"$harness/tree.sh"
: >"$results/results"
for ARCH in "$@"; do
	rm -f "$results/$ARCH".*
	say "== $ARCH"
	verdict=pass
	if ! OBJ='' VARIANT='' "$0" --one "$mode"; then
		say "== $ARCH: ended early, see the messages above"
		verdict=fail
	fi
	healthy || verdict=fail
	[ $verdict = pass ] || status=1
	printf '%s\t%s\t%s\n' "$verdict" "$ARCH" "$(row | tr -s ' ')" >>"$results/results"
done
table "$@" | tee "$results/table"
exit $status
