#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/decode.sh: compare the decoder of ARCH (arm64, x86_64 or i386), compiled for this machine,
# with what the manual says and with objdump. What for, and how, is in harness/decode/*.sh.
#
# The instructions are those of the kernel in $obj and of its modules, or of VMLINUX, another
# kernel; and all words of arm64, nearly all encodings of x86. What becomes of a probe on each is
# compared with harness/decode/arm64.table, which was written from the manual, and with rules, too,
# for what objdump prints: harness/decode/*.objdump. Results go to out/decode/$ARCH.results
# (verdict, name, detail), which is not there when this ends early.

. "${0%/*}/lib.sh"

case $ARCH in
x86_64 | i386)	decoder=x86 ;;
*)	decoder=$ARCH ;;
esac
[ -f "$harness/decode/$decoder.sh" ] || die "no harness/decode/$decoder.sh"
vmlinux=${VMLINUX:-$obj/vmlinux}
[ -f "$vmlinux" ] || die "no $vmlinux: make build ARCH=$ARCH"
work=$build/decode-$ARCH
results=$out/decode/$ARCH.results
mkdir -p "$work" "$out/decode"
rm -f "$results"
: >"$results.new"

row()	# STATUS NAME DETAIL
{
	verdict=fail
	[ "$1" != 0 ] || verdict=pass
	printf '%s\t%s\t%s\n' "$verdict" "$ARCH: $2" "$3" | tee -a "$results.new"
}

# stubs SOURCE...: what the decoder's own sources #include of the kernel is to find something.
stubs()
{
	cat "$@" | sed -n 's/^#[[:space:]]*include <\(.*\/.*\)>.*/\1/p' | grep -vx linux/errno.h |
		while read -r header; do
			[ ! -f "$work/include/$header" ] || continue
			mkdir -p "$work/include/${header%/*}"
			: >"$work/include/$header"
		done
}

# compare LOG KNOWN NAME OPTION...: $work/verdicts with the rules, see compare.awk
compare()
{
	log=$work/$1 known=$2 name=$3
	shift 3
	status=0
	awk -v arch="$ARCH" "$@" -f "$harness/decode/compare.awk" "$harness/decode/$decoder.objdump" \
		"$known" "$work/verdicts" >"$log" || status=$?
	tail -n 40 "$log"
	row $status "$name" "$(tail -n 1 "$log")"
}

. "$harness/decode/$decoder.sh"
# shellcheck disable=SC2086
need gcc libc6-dev $packages
compile
checks
mv "$results.new" "$results"
! grep -q '^fail' "$results"
