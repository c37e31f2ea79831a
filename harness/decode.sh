#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/decode.sh: compare the decoder of ARCH (arm64 is the only one yet), compiled for this
# machine, on all words with harness/decode/$ARCH.table, which was written from the manual; and
# on the text of the kernel with what objdump says of it, see harness/decode/$ARCH.objdump.
# VMLINUX is another kernel's. Results go to out/decode/$ARCH.results (verdict, name, detail),
# which is not there when this ends early.

. "${0%/*}/lib.sh"

[ -f "$harness/decode/$ARCH.table" ] || die "no harness/decode/$ARCH.table"
probes=$top/arch/arm64/kernel/probes
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

# The decoder's own source. Its #includes of the kernel's headers are to find something.
compile()
{
	cat "$probes/decode-insn.c" "$probes/decode-insn.h" "$probes/simulate-insn.h" |
		sed -n 's/^#include <\(.*\)>/\1/p' | while read -r header; do
			mkdir -p "$work/include/${header%/*}"
			: >"$work/include/$header"
		done
	gcc -O2 -Wall -Werror -I"$work/include" -I"$probes" -o "$work/decode" "$harness/decode/$ARCH.c"
}

all_words()
{
	status=0
	"$work/decode" "$harness/decode/$ARCH.table" >"$work/all" 2>&1 || status=$?
	cat "$work/all"
	row $status "all 2^32 words are classified as the manual's tables say" "$(tail -n 1 "$work/all")"
	idle=$(grep -c '^no word is in' "$work/all") || :
	counted=$(grep -c '^ *[0-9]* [a-z_]*$' "$work/all") || :
	row $((idle + (counted == 0))) "there is a word in each row of both tables" "$idle have none"
}

# What objdump takes for instructions: word, tab, mnemonic and operands
disassemble()
{
	"${cross}objdump" -d "$1" >"$work/objdump"
	awk -F '\t' '
		$2 ~ /^[0-9a-f]+ *$/ && length($2) < 10 && $3 != ".word" {
			sub(/ *(\/\/|;).*/, "", $4)
			print substr($2, 1, 8) "\t" $3 ($4 == "" ? "" : " " $4)
		}' "$work/objdump"
	rm "$work/objdump"
}

kernel_text()
{
	vmlinux=${VMLINUX:-$obj/vmlinux}
	[ -f "$vmlinux" ] || die "no $vmlinux: make build ARCH=$ARCH"
	disassemble "$vmlinux" >"$work/text"
	"$work/decode" "$harness/decode/$ARCH.table" words <"$work/text" >"$work/verdicts"
	status=0
	awk -F '\t' '
		function wrong(expected) { bad++; print $2 ": " $3 ": " $1 ", not " expected }
		FNR == NR { if (!/^#/) { verdict[++rules] = $1; pattern[rules] = $2 } next }
		{ words++; if ($1 == "kernel") $1 = "copy" }
		!($3 in known) {
			for (i = 1; i <= rules && $3 !~ pattern[i]; i++)
				;
			known[$3] = i <= rules ? verdict[i] : "copy"
		}
		{ seen[$1]++ }
		$1 != known[$3] { wrong(known[$3]) }
		$1 == "copy" && $3 ~ /<.*>/ { wrong("of what names an address") }
		END {
			for (v in seen) printf "%9d %s\n", seen[v], v
			if (!seen["copy"] || !seen["refused"] || !seen["adr"] || !seen["branch"]) bad++
			printf "%d words, %d wrong\n", words, bad
			exit bad != 0
		}' "$harness/decode/$ARCH.objdump" "$work/verdicts" >"$work/kernel" || status=$?
	tail -n 30 "$work/kernel"
	row $status "the kernel's text is classified as objdump's mnemonics say" "$(tail -n 1 "$work/kernel")"
}

need gcc libc6-dev binutils-aarch64-linux-gnu
compile
all_words
kernel_text
mv "$results.new" "$results"
! grep -q '^fail' "$results"
