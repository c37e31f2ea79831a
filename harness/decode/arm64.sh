# SPDX-License-Identifier: GPL-2.0
# Sourced by harness/decode.sh for ARCH=arm64: all words, and those that are in the kernel's text.

probes=$tree/arch/arm64/kernel/probes
packages=binutils-aarch64-linux-gnu

compile()
{
	stubs "$probes/decode-insn.c" "$probes/decode-insn.h"
	gcc -O2 -Wall -Werror -I"$work/include" -I"$probes" -o "$work/decode" "$harness/decode/arm64.c"
}

all_words()
{
	status=0
	"$work/decode" "$harness/decode/arm64.table" >"$work/all" 2>&1 || status=$?
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
	disassemble "$vmlinux" >"$work/text"
	"$work/decode" "$harness/decode/arm64.table" words <"$work/text" >"$work/words"
	sed 's/^kernel/copy/' "$work/words" >"$work/verdicts"
	rm "$work/words"
	compare text /dev/null "the kernel's text is classified as objdump's mnemonics say" \
		-v need="copy refused adr branch"
}

checks()
{
	all_words
	kernel_text
}
