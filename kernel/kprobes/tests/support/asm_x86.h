/* SPDX-License-Identifier: GPL-2.0 */
/* For functions in assembly */
#ifndef _KPROBES_TESTS_ASM_X86_H
#define _KPROBES_TESTS_ASM_X86_H

#include <linux/cpufeature.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/stringify.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/irqflags.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>

/*
 * The type that an indirect call looks for before a function, as for one declared in C. It is the
 * operand of an instruction in a function of its own, by whose name objtool finds it, and it keeps
 * the alignment: see <asm/linkage.h>.
 */
asm("	.macro kprobes_type function, like\n"
#ifdef CONFIG_CFI
"	.type __cfi_\\function, @function\n"
"__cfi_\\function:\n"
#ifndef CONFIG_CALL_PADDING
"	.skip " __stringify(CONFIG_FUNCTION_PADDING_BYTES) ", 0x90\n"
#endif
"	.byte 0xb8\n"
"	.long __kcfi_typeid_\\like\n"
#ifdef CONFIG_CALL_PADDING
"	.skip " __stringify(CONFIG_FUNCTION_PADDING_BYTES) ", 0x90\n"
#endif
"	.size __cfi_\\function, . - __cfi_\\function\n"
#endif
"	.endm\n");

#define KPROBES_TYPE_OF(function, like)	"	kprobes_type " function ", " like "\n"
#define KPROBES_ALIGN			ASM_FUNC_ALIGN "\n"
#define KPROBES_PAD			ASM_ENDBR

#include "asm.h"

/*
 * The labels are local: with a symbol, each step would be a function. Their addresses
 * are used as data: objtool has to be told that no indirect branch goes there.
 */
#define KPROBES_STEP(name)	".Lkprobes_step_" name ": " ANNOTATE_NOENDBR "\n"

/* The flag that makes user memory accessible, on a processor with SMAP */
#define KPROBES_AC		"$" __stringify(X86_EFLAGS_AC_BIT)
#define KPROBES_SET_AC		"pushf; btsl " KPROBES_AC ", (%" _ASM_SP "); popf\n"

/* Returns the flags, and clears that one. */
#define KPROBES_RESULT_AC						\
	"pushf; pop %" _ASM_AX "; push %" _ASM_AX "\n"			\
	"btrl " KPROBES_AC ", (%" _ASM_SP "); popf\n"

/* Has user memory been made accessible? Without SMAP it always is, and this is false. */
static inline bool kprobes_uaccess(void)
{
	return boot_cpu_has(X86_FEATURE_SMAP) && native_save_fl() & X86_EFLAGS_AC;
}

#endif /* _KPROBES_TESTS_ASM_X86_H */
