// SPDX-License-Identifier: GPL-2.0-only
/* The functions that are probed. */
#include <linux/compiler.h>
#include <linux/percpu.h>

#include "bench.h"

#ifdef CONFIG_X86

#include <linux/objtool.h>
#include <asm/linkage.h>
#include <asm/nospec-branch.h>

/* There is room for a jump at the first instruction and at TARGET_AT. */
#define TARGET(name, insn)				\
	".balign 16\n"					\
	".globl " #name "\n"				\
	".type " #name ", @function\n"			\
	#name ":\n"					\
	ANNOTATE_NOENDBR				\
	"	xor %eax, %eax\n"			\
	"	xor %edx, %edx\n"			\
	"	" insn "\n"				\
	"	xor %ecx, %ecx\n"			\
	"	xor %esi, %esi\n"			\
	"	xor %r8d, %r8d\n"			\
	ASM_RET						\
	".size " #name ", . - " #name "\n"

asm(".text\n"
	TARGET(bench_mov, "mov %rdi, %rax")
	TARGET(bench_imul, "imul %rdi, %rax")
	TARGET(bench_step, ANNOTATE_RETPOLINE_SAFE "call *%gs:bench_step_pointer(%rip)")
	TARGET(bench_call, "call bench_leaf")
	".balign 16\n"
	".globl bench_leaf\n"
	".type bench_leaf, @function\n"
	"bench_leaf:\n"
	ANNOTATE_NOENDBR
	ASM_RET
	".size bench_leaf, . - bench_leaf\n"
	".previous\n");

struct bench_case target_cases[] = {
	{ "emulated-pre",	bench_mov,	TARGET_AT,	PRE },
	{ "emulated-pre-post",	bench_mov,	TARGET_AT,	PRE | POST },
	{ "boosted-pre",	bench_imul,	TARGET_AT,	PRE },
	{ "boosted-pre-post",	bench_imul,	TARGET_AT,	PRE | POST },
	{ "step-pre",		bench_step,	TARGET_AT,	PRE },
	{ "step-pre-post",	bench_step,	TARGET_AT,	PRE | POST },
	{ "call-pre",		bench_call,	TARGET_AT,	PRE },
	{ "call-pre-post",	bench_call,	TARGET_AT,	PRE | POST },
	{ }
};

DEFINE_PER_CPU(void *, bench_step_pointer);

void init_targets(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(bench_step_pointer, cpu) = bench_leaf;
}

#else

#define TARGET(name, insn)				\
	".balign 16\n"					\
	".globl " #name "\n"				\
	".type " #name ", %function\n"			\
	#name ":\n"					\
	"	mov x2, lr\n"				\
	"	mov x0, xzr\n"				\
	"	" insn "\n"				\
	"	mov x1, xzr\n"				\
	"	mov lr, x2\n"				\
	"	ret\n"					\
	".size " #name ", . - " #name "\n"

asm(".text\n"
	TARGET(bench_stp, "stp x0, x1, [sp, #-16]!\n	add sp, sp, #16")
	TARGET(bench_adr, "adr x0, .")
	TARGET(bench_madd, "madd x0, x0, x0, x0")
	TARGET(bench_ret, "ret x2")
	TARGET(bench_call, "bl bench_leaf")
	".balign 16\n"
	".type bench_leaf, %function\n"
	"bench_leaf:\n"
	"	ret\n"
	".size bench_leaf, . - bench_leaf\n"
	".previous\n");

struct bench_case target_cases[] = {
	{ "emulated-pre",	bench_stp,	TARGET_AT,	PRE },
	{ "emulated-pre-post",	bench_stp,	TARGET_AT,	PRE | POST },
	{ "adr-pre",		bench_adr,	TARGET_AT,	PRE },
	{ "adr-pre-post",	bench_adr,	TARGET_AT,	PRE | POST },
	{ "ret-pre",		bench_ret,	TARGET_AT,	PRE },
	{ "ret-pre-post",	bench_ret,	TARGET_AT,	PRE | POST },
	{ "boosted-pre",	bench_madd,	TARGET_AT,	PRE },
	{ "boosted-pre-post",	bench_madd,	TARGET_AT,	PRE | POST },
	{ "call-pre",		bench_call,	TARGET_AT,	PRE },
	{ "call-pre-post",	bench_call,	TARGET_AT,	PRE | POST },
	{ }
};

void init_targets(void)
{
}

#endif

noinline void bench_function(void)
{
	barrier();
}
