/* SPDX-License-Identifier: GPL-2.0 */
/* For functions in assembly */
#ifndef _KPROBES_TESTS_ASM_ARM64_H
#define _KPROBES_TESTS_ASM_ARM64_H

/* The type that an indirect call looks for before a function, as for one declared in C */
#ifdef CONFIG_CFI
#define KPROBES_TYPE_OF(function, like)	"	.4byte __kcfi_typeid_" like "\n"
#else
#define KPROBES_TYPE_OF(function, like)
#endif

#define KPROBES_ALIGN	"	.balign 16\n"
#define KPROBES_PAD	"	hint #34	// bti c\n"

#include "asm.h"

/* The labels are local: with a symbol, each step would be a function. */
#define KPROBES_STEP(name)	".Lkprobes_step_" name ":\n"

/*
 * For those that call another one with known registers: x0 points to the values, the first of
 * which is for x0 itself.
 */

/* Callee-saved registers, for which the frame has room from offset 16 on */
#define KPROBES_SAVE_CALLERS							\
"	stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]\n"	\
"	stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]\n"

#define KPROBES_RESTORE_CALLERS							\
"	ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]\n"	\
"	ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]\n"

/* Not x0 and x1, which come last; x18 and x28 to x30 may need something special. */
#define KPROBES_LOAD_MOST							\
"	ldp x2, x3, [x0, #16]; ldp x4, x5, [x0, #32]; ldp x6, x7, [x0, #48]\n"	\
"	ldp x8, x9, [x0, #64]; ldp x10, x11, [x0, #80]; ldp x12, x13, [x0, #96]\n"	\
"	ldp x14, x15, [x0, #112]; ldp x16, x17, [x0, #128]; ldr x19, [x0, #152]\n"	\
"	ldp x20, x21, [x0, #160]; ldp x22, x23, [x0, #176]\n"			\
"	ldp x24, x25, [x0, #192]; ldp x26, x27, [x0, #208]\n"

#define KPROBES_STORE_MOST							\
"	stp x2, x3, [x0, #16]; stp x4, x5, [x0, #32]; stp x6, x7, [x0, #48]\n"	\
"	stp x8, x9, [x0, #64]; stp x10, x11, [x0, #80]; stp x12, x13, [x0, #96]\n"	\
"	stp x14, x15, [x0, #112]; stp x16, x17, [x0, #128]; str x19, [x0, #152]\n"	\
"	stp x20, x21, [x0, #160]; stp x22, x23, [x0, #176]\n"			\
"	stp x24, x25, [x0, #192]; stp x26, x27, [x0, #208]\n"

#endif /* _KPROBES_TESTS_ASM_ARM64_H */
