# SPDX-License-Identifier: GPL-2.0
# Sourced by harness/decode.sh for ARCH=x86_64 or i386: the text of the kernel and its modules,
# nearly all encodings there are, and random bytes. DECODE_SEED and DECODE_CASES are of the latter.

probes=$tree/arch/x86/kernel/kprobes
x86=$tree/arch/x86
packages="binutils python3"
if [ "$ARCH" = x86_64 ]; then
	bits=64 machine=i386:x86-64 config=-DCONFIG_X86_64=1
else
	bits=32 machine=i386 config=
fi

# as HEADER FILE: what is found by that name
as()
{
	mkdir -p "$work/include/${1%/*}"
	ln -sf "$2" "$work/include/$1"
}

# What decodes instructions is the tree's own.
headers()
{
	rm -rf "$work/include"
	for name in insn inat inat_types emulate_prefix; do
		as asm/$name.h "$x86/include/asm/$name.h"
	done
	as asm/processor-flags.h "$x86/include/uapi/asm/processor-flags.h"
	as linux/const.h "$tree/include/uapi/linux/const.h"
	as linux/kconfig.h "$tree/include/linux/kconfig.h"
	as asm/kprobes.h "$tree/arch/x86/include/asm/kprobes.h"
	as linux/kprobes_function.h "$tree/include/linux/kprobes_function.h"
	stubs "$work"/include/*/*.h "$x86/lib/insn.c" "$x86/lib/inat.c" \
		"$probes/internal.h" "$probes/decode.c" "$probes/emulate.c"
	awk -f "$x86/tools/gen-insn-attr-x86.awk" "$x86/lib/x86-opcode-map.txt" >"$work/inat-tables.c"
}

# program NAME [OPTION...]
program()
{
	name=$1
	shift
	# shellcheck disable=SC2086
	gcc -O2 -Wall -Wno-unused-label -Werror -DCONFIG_KPROBES=1 $config -I"$work/include" \
		-I"$work" -I"$x86/lib" -I"$probes" "$@" -o "$work/$name" "$harness/decode/$name.c"
}

compile()
{
	headers
	program x86
	program x86-cells
	program x86-random -g -fsanitize=address,undefined -fno-sanitize-recover=all
}

modules()
{
	[ -n "${VMLINUX:-}" ] || find "$obj" -name '*.ko' | sort
}

kernel_text()
{
	# shellcheck disable=SC2046
	{ objdump -d -z --insn-width=16 "$vmlinux" $(modules) || echo "objdump failed"; } |
		"$work/x86" text >"$work/verdicts"
	compare text "$harness/decode/x86-text.known" \
		"the text of the kernel and its modules is what objdump says, and classified so" \
		-v need="copy refused trap call jcc ret call_mem"
}

encodings()
{
	like="-v all=1"
	objdump --version | grep -q '^GNU objdump.* 2\.40' || like="-v other=1"
	"$work/x86-cells" $bits >"$work/cells"
	objdump -D -b binary -m $machine --no-show-raw-insn "$work/cells" |
		"$work/x86" cells "$work/cells" >"$work/verdicts"
	rm "$work/cells"
	# shellcheck disable=SC2086
	compare cells "$harness/decode/x86-cells.known" \
		"so are instructions with all prefixes, opcodes and operands" $like
}

random_bytes()
{
	# The sanitizer's memory has its place, which some kernels' layouts take.
	fixed="setarch -R"
	$fixed true 2>/dev/null || fixed=
	status=0
	$fixed "$work/x86-random" "${DECODE_SEED:-$(date +%s)}" "${DECODE_CASES:-3000000}" \
		>"$work/random" 2>&1 || status=$?
	tail -n 30 "$work/random"
	row $status "random bytes are decoded without a look at what is behind them" \
		"$(grep -m 1 '^seed' "$work/random")"
}

branches()
{
	status=0
	# shellcheck disable=SC2046
	python3 "$harness/decode/x86-branches.py" "$vmlinux" $(modules) >"$work/branches" || status=$?
	tail -n 30 "$work/branches"
	row $status "what other functions branch to is a symbol" "$(tail -n 1 "$work/branches")"
}

checks()
{
	kernel_text
	branches
	encodings
	random_bytes
}
