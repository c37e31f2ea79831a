/* SPDX-License-Identifier: GPL-2.0 */
/* x86 half of kernel/kprobes/test_optimize_sites.c: see there */
#ifndef _KPROBES_TESTS_JUMP_SITES_X86_H
#define _KPROBES_TESTS_JUMP_SITES_X86_H

#include <linux/jump_label.h>
#include <linux/objtool.h>
#include <linux/static_call.h>
#include <linux/stringify.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/text-patching.h>

#include "jumps_x86.h"

/* A jump covers instructions that have no probe. */
#define KPROBES_JUMP_COVERS	1
#define KPROBES_JUMP_LENGTH	JMP32_INSN_SIZE

/* How many bytes of executable memory a site with a jump may take at most */
#define KPROBES_JUMP_MEMORY	192

/* Places where no jump may be */

KPROBES_JUMP(kprobes_jump_target, "je 1f; nop; 1: add $1, %eax; add $1, %eax");
KPROBES_JUMP(kprobes_jump_parted,
	     "je kprobes_jump_parted.cold; nop; .Lkprobes_jump_back: add $1, %eax; add $1, %eax");
KPROBES_JUMP(kprobes_jump_fixup,
	     "1: mov (%" _ASM_SI "), %" _ASM_AX "; nop; 2: add $1, %eax; add $1, %eax\n"
	     _ASM_EXTABLE(1b, 2b));
KPROBES_JUMP(kprobes_jump_faulting,
	     "nop; 1: mov (%" _ASM_SI "), %" _ASM_AX "; nop; nop; nop; nop; 2:\n"
	     _ASM_EXTABLE(1b, 2b));
KPROBES_JUMP(kprobes_jump_end, "nop; nop; kprobes_jump_behind: add $1, %eax; add $1, %eax");
KPROBES_JUMP(kprobes_jump_bug, "nop; je 1f; ud2; 1:");
KPROBES_JUMP(kprobes_jump_indirect,
	     "je 1f; nop\n" ANNOTATE_RETPOLINE_SAFE "jmp *%" _ASM_AX "; nop; nop; 1:");

/* A jump to where a register points: directly, or through the compiler's thunk */
#ifdef CONFIG_MITIGATION_RETPOLINE
#define KPROBES_JUMP_ANYWHERE	"jmp __x86_indirect_thunk_" _ASM_AX
#else
#define KPROBES_JUMP_ANYWHERE	ANNOTATE_RETPOLINE_SAFE "jmp *%" _ASM_AX
#endif
KPROBES_JUMP(kprobes_jump_anywhere,
	     "add $1, %eax; nop; nop; cmp %eax, %eax; je 1f\n" KPROBES_JUMP_ANYWHERE "\n1:");
KPROBES_JUMP(kprobes_jump_register,
	     "add $1, %eax; nop; nop; cmp %eax, %eax; je 1f\n"
	     ANNOTATE_RETPOLINE_SAFE "jmp *%" _ASM_AX "\n1:");

/* Far ones are never executed. objtool does not know them in functions that can be called. */
#define KPROBES_FAR_JUMP(function, far)						\
	KPROBES_JUMP(function, "add $1, %eax; nop; nop; cmp %eax, %eax; je 1f\n" far "\n1:");	\
	STACK_FRAME_NON_STANDARD(function)

KPROBES_FAR_JUMP(kprobes_jump_far_memory, "ljmp *(%" _ASM_SI ")");
KPROBES_FAR_JUMP(kprobes_jump_far_return, "lret");
KPROBES_FAR_JUMP(kprobes_jump_far_return_drops, "lret $8");
KPROBES_FAR_JUMP(kprobes_jump_iret, "iret");
#ifdef CONFIG_X86_32
KPROBES_FAR_JUMP(kprobes_jump_far, "ljmp $" __stringify(__KERNEL_CS) ", $1f");
#endif

/* Merged with another function, whose name comes first */
KPROBES_JUMP(kprobes_jump_twin,
	     "je kprobes_jump_twin.cold; nop; .Lkprobes_jump_twin_back: add $1, %eax; add $1, %eax");

KPROBES_JUMP(kprobes_jump_parted_anywhere,
	     "add $1, %eax; nop; nop; cmp %eax, %eax; jne kprobes_jump_parted_anywhere.cold");

asm("	.pushsection .text, \"ax\"\n"
"	.type kprobes_jump_parted_anywhere.cold, @function\n"
"kprobes_jump_parted_anywhere.cold:\n"
"	inc %ecx\n"
	KPROBES_JUMP_ANYWHERE "\n"
"	.size kprobes_jump_parted_anywhere.cold, . - kprobes_jump_parted_anywhere.cold\n"
"	.type kprobes_jump_parted.cold, @function\n"
"kprobes_jump_parted.cold:\n"
"	inc %ecx\n"
"	jmp .Lkprobes_jump_back\n"
"	.size kprobes_jump_parted.cold, . - kprobes_jump_parted.cold\n"
"	.type kprobes_jump_twin.cold, @function\n"
"kprobes_jump_twin.cold:\n"
"	inc %ecx\n"
"	jmp .Lkprobes_jump_twin_back\n"
"	.size kprobes_jump_twin.cold, . - kprobes_jump_twin.cold\n"
"	.type kprobes_jump_another, @function\n"
"	.set kprobes_jump_another, kprobes_jump_twin\n"
"	.popsection\n"
);

static const struct kprobes_jump kprobes_no_jumps[] = {
	{ "jumped to", kprobes_jump_target, 1, "target" },
	{ "jumped to by the cold part", kprobes_jump_parted, 1, "target" },
	{ "jumped to by the cold part of another name", kprobes_jump_twin, 1, "target" },
	{ "jumped to from anywhere", kprobes_jump_anywhere, 0, "target" },
	{ "jumped to by way of a register", kprobes_jump_register, 0, "target" },
	{ "jumped to by a far jump through memory", kprobes_jump_far_memory, 0, "target" },
	{ "jumped to by a far return", kprobes_jump_far_return, 0, "target" },
	{ "jumped to by a far return that drops arguments", kprobes_jump_far_return_drops, 0,
	  "target" },
	{ "jumped to by iret", kprobes_jump_iret, 0, "target" },
#ifdef CONFIG_X86_32
	{ "jumped to by a far jump", kprobes_jump_far, 0, "target" },
#endif
	{ "jumped to from anywhere in the cold part", kprobes_jump_parted_anywhere, 0, "target" },
	{ "gone on at after a fault", kprobes_jump_fixup, 1, "fixup" },
	{ "fixed up when it faults", kprobes_jump_faulting, 0, "insn" },
	{ "end of the function", kprobes_jump_end, 0, "end" },
	{ "trap for a bug", kprobes_jump_bug, 0, "insn" },
	{ "indirect jump", kprobes_jump_indirect, 1, "insn" },
};

/* A nop in front of a jump label */
#ifdef CONFIG_JUMP_LABEL
static DEFINE_STATIC_KEY_FALSE(kprobes_jump_key);

static noinline __noclone unsigned long kprobes_jump_label(unsigned long x)
{
	asm volatile("nop" : "+r" (x) : : "memory");
	if (static_branch_unlikely(&kprobes_jump_key))
		x++;
	asm volatile("nop" : "+r" (x) : : "memory");
	return x;
}
#endif

/* A nop in front of a static call. Where those are not inline, only a trampoline is patched. */
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
static unsigned long kprobes_jump_called(unsigned long x)
{
	return x + 1;
}

DEFINE_STATIC_CALL(kprobes_jump_static, kprobes_jump_called);

static noinline __noclone unsigned long kprobes_jump_static_call(unsigned long x)
{
	asm volatile("nop" : "+r" (x) : : "memory");
	return static_call(kprobes_jump_static)(x) + 1;
}
#endif

static unsigned long (*const kprobes_patched[])(unsigned long x) = {
#ifdef CONFIG_JUMP_LABEL
	kprobes_jump_label,
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	kprobes_jump_static_call,
#endif
};

#endif /* _KPROBES_TESTS_JUMP_SITES_X86_H */
