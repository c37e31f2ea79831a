/* SPDX-License-Identifier: GPL-2.0-only */
/* What kprobe_bench.c probes on x86, and how it tells time and marks its log. */
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/linkage.h>
#include <asm/msr.h>

#define FILLER_SIZE	160
#define INSN_SIZE	3

#define TARGET(name, insn)				\
	".balign 16\n"					\
	".type " #name ", @function\n"			\
	#name ":\n"					\
	ANNOTATE_NOENDBR				\
	"	xor %eax, %eax\n"			\
	"	xor %edx, %edx\n"			\
	#name "_at:\n"					\
	ANNOTATE_NOENDBR				\
	"	" insn "\n"				\
	"	xor %ecx, %ecx\n"			\
	ASM_RET						\
	".size " #name ", . - " #name "\n"

asm(".text\n"
    TARGET(bench_plain, "mov %rdi, %rax")
    TARGET(bench_imul, "imul %rdi, %rax")
    TARGET(bench_fnop, "fnop")
    TARGET(bench_call, "call bench_leaf")
    ".balign 16\n"
    ".type bench_leaf, @function\n"
    "bench_leaf:\n"
    ASM_RET
    ".size bench_leaf, . - bench_leaf\n"
    ".macro bench_filler\n"
    ".balign 32\n"
    ".type bench_filler_\\@, @function\n"
    "bench_filler_\\@:\n"
    "	.rept " __stringify(FILLER_INSNS) "\n"
    "	mov %rdi, %rax\n"
    "	.endr\n"
    ASM_RET
    ".size bench_filler_\\@, . - bench_filler_\\@\n"
    ".endm\n"
    ".balign 32\n"
    "bench_fillers:\n"
    ANNOTATE_NOENDBR
    ".rept " __stringify(FILLERS) "\n"
    "	bench_filler\n"
    ".endr\n"
    ".balign 32\n"
    "bench_fillers_end:\n"
    ANNOTATE_NOENDBR
    "	int3\n"
    ".previous\n");

void bench_plain(void);
void bench_imul(void);
void bench_fnop(void);
void bench_call(void);
extern char bench_plain_at[], bench_imul_at[], bench_fnop_at[], bench_call_at[];

#define BENCH_CASES						\
	{ "mov-pre",	bench_plain,	bench_plain_at,	PRE },	\
	{ "mov-pre-post", bench_plain,	bench_plain_at,	PRE | POST },	\
	{ "imul-pre",	bench_imul,	bench_imul_at,	PRE },	\
	{ "imul-pre-post", bench_imul,	bench_imul_at,	PRE | POST },	\
	{ "fnop-pre",	bench_fnop,	bench_fnop_at,	PRE },	\
	{ "call-pre",	bench_call,	bench_call_at,	PRE },	\
	{ "call-pre-post", bench_call,	bench_call_at,	PRE | POST },

static inline u64 bench_clock(void)
{
	return rdtsc();
}

static inline void mark(void)
{
	asm volatile("1: ud2\n2:\n" _ASM_EXTABLE(1b, 2b));
}
