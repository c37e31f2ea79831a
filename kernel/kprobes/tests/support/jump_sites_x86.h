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

/* A jump to where a register points: directly, or through the compiler's thunk */
#ifdef CONFIG_MITIGATION_RETPOLINE
#define KPROBES_JUMP_ANYWHERE	"jmp __x86_indirect_thunk_" _ASM_AX
#else
#define KPROBES_JUMP_ANYWHERE	ANNOTATE_RETPOLINE_SAFE "\njmp *%" _ASM_AX
#endif

/* An instruction that is never executed */
#define KPROBES_NEVER(insn)	"add $1, %eax; nop; nop; cmp %eax, %eax; je 1f\n" insn "\n1:"

#define KPROBES_NO_JUMPS(J)									\
	J(target, "jumped to", 1, "target",							\
	  "je 1f; nop; 1: add $1, %eax; add $1, %eax")						\
	J(parted, "jumped to by the cold part", 1, "target",					\
	  "je kprobes_jump_parted.cold; nop; .Lkprobes_parted_back:\n"				\
	  "add $1, %eax; add $1, %eax")								\
	/* Merged with another function, whose name comes first */				\
	J(twin, "jumped to by the cold part of another name", 1, "target",			\
	  "je kprobes_jump_twin.cold; nop; .Lkprobes_twin_back:\n"				\
	  "add $1, %eax; add $1, %eax")								\
	J(anywhere, "jumped to from anywhere", 0, "target",					\
	  KPROBES_NEVER(KPROBES_JUMP_ANYWHERE))							\
	J(register, "jumped to by way of a register", 0, "target",				\
	  KPROBES_NEVER(ANNOTATE_RETPOLINE_SAFE "\njmp *%" _ASM_AX))				\
	J(parted_anywhere, "jumped to from anywhere in the cold part", 0, "target",		\
	  "add $1, %eax; nop; nop; cmp %eax, %eax; jne kprobes_jump_parted_anywhere.cold")	\
	J(fixup, "gone on at after a fault", 1, "fixup",					\
	  "1: mov (%" _ASM_SI "), %" _ASM_AX "; nop; 2: add $1, %eax; add $1, %eax\n"		\
	  _ASM_EXTABLE(1b, 2b))									\
	J(faulting, "fixed up when it faults", 0, "insn",					\
	  "nop; 1: mov (%" _ASM_SI "), %" _ASM_AX "; nop; nop; nop; nop; 2:\n"			\
	  _ASM_EXTABLE(1b, 2b))									\
	J(end, "end of the function", 0, "end",							\
	  "nop; nop; kprobes_jump_behind: add $1, %eax; add $1, %eax")				\
	J(bug, "trap for a bug", 0, "insn", "nop; je 1f; ud2; 1:")				\
	J(indirect, "indirect jump", 1, "insn",							\
	  "je 1f; nop\n" ANNOTATE_RETPOLINE_SAFE "\njmp *%" _ASM_AX "; nop; nop; 1:")

#define KPROBES_FAR_JUMPS(J)									\
	J(far_memory, "jumped to by a far jump through memory", 0, "target",			\
	  KPROBES_NEVER("ljmp *(%" _ASM_SI ")"))						\
	J(far_return, "jumped to by a far return", 0, "target", KPROBES_NEVER("lret"))		\
	J(far_return_drops, "jumped to by a far return that drops arguments", 0, "target",	\
	  KPROBES_NEVER("lret $8"))								\
	J(iret, "jumped to by iret", 0, "target", KPROBES_NEVER("iret"))

KPROBES_NO_JUMPS(KPROBES_JUMP_TEXT)
KPROBES_FAR_JUMPS(KPROBES_JUMP_TEXT)

/* objtool does not know far ones in functions that can be called. */
#define KPROBES_FAR_JUMP(id, ...)	STACK_FRAME_NON_STANDARD(kprobes_jump_##id);
KPROBES_FAR_JUMPS(KPROBES_FAR_JUMP)
#ifdef CONFIG_X86_32
KPROBES_JUMP(kprobes_jump_far, KPROBES_NEVER("ljmp $" __stringify(__KERNEL_CS) ", $1f"));
STACK_FRAME_NON_STANDARD(kprobes_jump_far);
#endif

static const struct kprobes_jump kprobes_no_jumps[] = {
	KPROBES_NO_JUMPS(KPROBES_JUMP_ROW) KPROBES_FAR_JUMPS(KPROBES_JUMP_ROW)
#ifdef CONFIG_X86_32
	{ "jumped to by a far jump", kprobes_jump_far, 0, "target" },
#endif
};

/* A function's cold part, which ends with a jump elsewhere */
#define KPROBES_COLD(function, jump)					\
	"	.type " #function ".cold, @function\n"			\
	#function ".cold: inc %ecx; " jump "\n"				\
	"	.size " #function ".cold, . - " #function ".cold\n"

asm("	.pushsection .text, \"ax\"\n"
	KPROBES_COLD(kprobes_jump_parted_anywhere, KPROBES_JUMP_ANYWHERE)
	KPROBES_COLD(kprobes_jump_parted, "jmp .Lkprobes_parted_back")
	KPROBES_COLD(kprobes_jump_twin, "jmp .Lkprobes_twin_back")
"	.type kprobes_jump_another, @function\n"
"	.set kprobes_jump_another, kprobes_jump_twin\n"
"	.popsection\n");

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
