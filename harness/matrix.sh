#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/matrix.sh [ROW...]: what the rows of harness/configs/matrix ask for, or these of them, or
# with "short" those that make test takes.
#
# A row's O= directory is build/matrix-ROW. If the kernel without the row's lines was built, it is
# a copy of that one's, so that only what the lines change is compiled. It goes when the row has
# passed. Consoles and what compilers say are in out/logs, the table in out/matrix/table, and all
# verdicts, as harness/test.sh takes them, in out/matrix/results. Ends with "N passed, N failed";
# status 1 when a row failed.

. "${0%/*}/lib.sh"

matrix=$harness/configs/matrix
mkdir -p "$out/matrix"
format='%-24s %-8s %8s %8s  %-18s %s\n'

# Run as "matrix.sh --run ROW", a process of its own, with the row's ARCH and VARIANT.
row=
[ "${1:-}" != --run ] || row=$2
base=$obj
obj=$build/matrix-$row
console=$out/logs/matrix-$row.log
fragment=$out/matrix/$row.config
kconfig=$out/matrix/$row.Kconfig
complaints=$out/matrix/$row.complaints

header()	# ROW: the words behind its name
{
	sed -n "s/^row $1[[:space:]][[:space:]]*//p" "$matrix"
}

names()	# PATTERN
{
	sed -n "s/^row \([^[:space:]]*\)[[:space:]]*$1.*/\1/p" "$matrix"
}

lines()
{
	awk -v row="$row" '$1 == "row" { mine = $2 == row; next } mine' "$matrix"
}

# The fragment; and where the row asks for prompts, what is to be read in place of the tree's
# Kconfig.
write_fragment()
{
	lines | sed '/^prompt /d' >"$fragment"
	lines | grep -q '^prompt ' || return 0
	cp "$tree/Kconfig" "$kconfig"
	lines | sed -n 's/^prompt \(.*\)/config \1\n\tbool "\1"/p' >>"$kconfig"
	export KBUILD_KCONFIG="$kconfig"
}

compile_ours()
{
	objects=$(our_objects)
	[ -n "$objects" ] || return 0
	# shellcheck disable=SC2086
	forget_objects "$obj" $objects
	# shellcheck disable=SC2086
	run_logged "matrix-$row-objects" "compiling our files for $row" \
		kernel_make "$tree" "$obj" W=1 $objects
	ours_only "$out/logs/matrix-$row-objects.log" >>"$complaints"
}

build_all()
{
	FRAGMENT=$fragment OBJ=$obj "$harness/build.sh" >"$out/logs/matrix-$row-build.log" ||
		{ cat "$out/logs/matrix-$row-build.log"; return 1; }
	grep -E 'warning:|WARNING:' "$out/logs/build-matrix-$row.log" >>"$complaints" || :
}

# The table's line: what the row took and found, so far
finish()	# VERDICT
{
	spent=
	[ -z "${built:-}" ] || spent=$((built - began))
	# shellcheck disable=SC2059
	printf "$format" "$row" "$todo" "$spent" "$(wc -l <"$complaints")" "${kunit:--}" "$1" >"$out/matrix/$row.table"
}

boot_row()
{
	rc=0
	# shellcheck disable=SC2086
	OBJ=$obj TIMEOUT=${TIMEOUT:-1200} QEMU_EXTRA="${QEMU_EXTRA:-} $machine" \
		KASLR='' "$harness/boot.sh" "matrix-$row" none kunit.enable=1 $args || rc=1
	"$harness/console.py" kunit "$console" >"$out/matrix/$row.kunit"
	kunit=$(awk -F '\t' '{ n[$1]++ } END { printf "%d/%d/%d", n["pass"], n["fail"], n["skip"] }' "$out/matrix/$row.kunit")
	grep '^fail' "$out/matrix/$row.kunit" || :
	[ $rc = 0 ] && [ "${kunit%%/*}" -ge "$(least)" ] && ! grep -q '^fail' "$out/matrix/$row.kunit"
}

# How many cases have to pass, so that suites which are not there are noticed
least()
{
	grep -q '^CONFIG_KPROBES_SANITY_TEST=y' "$obj/.config" || { echo 1; return; }
	case $ARCH in
	x86_64 | i386 | arm64)	echo 250 ;;
	*)			echo 100 ;;
	esac
}

run_row()
{
	: >"$complaints"
	write_fragment
	copy_objects "$base" "$obj"
	began=$(date +%s)
	finish "FAILED to configure"
	FRAGMENT=$fragment OBJ=$obj "$harness/build.sh" "$tree" "$obj" configure
	finish "FAILED to compile"
	compile_ours
	if [ "$todo" != objects ]; then
		finish "FAILED to build"
		build_all
	fi
	built=$(date +%s)
	finish "FAILED: warnings"
	cat "$complaints"
	[ ! -s "$complaints" ] || exit 1
	if [ "$todo" = boot ]; then
		finish "FAILED to boot"
		boot_row || { finish "FAILED"; exit 1; }
	fi
	finish passed
	rm -rf "$obj" "$obj.lock"
}

# The words behind "row NAME"
of_header()
{
	target=$1 todo=$2
	shift 2
	[ "${1:-}" != short ] || shift
	[ -z "${MATRIX_SHORT:-}" ] || todo=objects
	machine=
	while :; do
		case ${1:-} in
		-*)	machine="$machine $1 $2"
			shift 2 ;;
		*)	break ;;
		esac
	done
	args=$*
}

if [ -n "$row" ]; then
	# shellcheck disable=SC2046
	of_header $(header "$row")
	run_row
	exit
fi

result()	# VERDICT ROW DETAIL
{
	printf '%s\t%s\t%s\n' "$@" >>"$out/matrix/results"
}

one_row()
{
	words=$(header "$1")
	[ -n "$words" ] || die "no row $1 in harness/configs/matrix"
	# shellcheck disable=SC2086
	of_header $words
	if [ "$target" = skip ]; then
		# shellcheck disable=SC2059
		printf "$format" "$1" skip "" "" - "skipped: ${words#skip}" >"$out/matrix/$1.table"
		result skip "$1" "${words#skip }"
		return
	fi
	say "== $1 ($target, $todo)"
	variant=lean
	[ "$target" = "${target%%-*}" ] || variant=${target#*-}
	if ARCH=${target%%-*} VARIANT=$variant OBJ='' "$0" --run "$1"; then
		result pass "$1" ""
	else
		result fail "$1" "$(awk '{ $1 = ""; print }' "$out/matrix/$1.table"), see out/logs/matrix-$1*.log"
	fi
	cat "$out/matrix/$1.table"
}

table()
{
	# shellcheck disable=SC2059
	printf "$format" configuration what "built, s" warnings "pass/fail/skip" verdict
	for row in "$@"; do
		cat "$out/matrix/$row.table"
	done
}

case ${1:-} in
'')	# shellcheck disable=SC2046
	set -- $(names '') ;;
short)	# shellcheck disable=SC2046
	set -- $(names '.* short')
	export MATRIX_SHORT=yes ;;
esac
"$harness/tree.sh"
: >"$out/matrix/results"
for row in "$@"; do
	one_row "$row"
done
table "$@" >"$out/matrix/table"
cat "$out/matrix/table"
verdicts "$out/matrix/results"
