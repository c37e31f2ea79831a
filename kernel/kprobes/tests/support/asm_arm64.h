/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For functions in assembly that call another one with known registers. x0 points
 * to the values, the first of which is for x0 itself.
 */
#ifndef _KPROBES_TESTS_ASM_ARM64_H
#define _KPROBES_TESTS_ASM_ARM64_H

/* Callee-saved registers, for which the frame has room from offset 16 on */
#define KPROBES_SAVE_CALLERS						\
"	stp	x19, x20, [sp, #16]\n"					\
"	stp	x21, x22, [sp, #32]\n"					\
"	stp	x23, x24, [sp, #48]\n"					\
"	stp	x25, x26, [sp, #64]\n"					\
"	stp	x27, x28, [sp, #80]\n"

#define KPROBES_RESTORE_CALLERS						\
"	ldp	x19, x20, [sp, #16]\n"					\
"	ldp	x21, x22, [sp, #32]\n"					\
"	ldp	x23, x24, [sp, #48]\n"					\
"	ldp	x25, x26, [sp, #64]\n"					\
"	ldp	x27, x28, [sp, #80]\n"

/* Not x0 and x1, which come last; x18 and x28 to x30 may need something special. */
#define KPROBES_LOAD_MOST						\
"	ldp	x2, x3, [x0, #16]\n"					\
"	ldp	x4, x5, [x0, #32]\n"					\
"	ldp	x6, x7, [x0, #48]\n"					\
"	ldp	x8, x9, [x0, #64]\n"					\
"	ldp	x10, x11, [x0, #80]\n"					\
"	ldp	x12, x13, [x0, #96]\n"					\
"	ldp	x14, x15, [x0, #112]\n"					\
"	ldp	x16, x17, [x0, #128]\n"					\
"	ldr	x19, [x0, #152]\n"					\
"	ldp	x20, x21, [x0, #160]\n"					\
"	ldp	x22, x23, [x0, #176]\n"					\
"	ldp	x24, x25, [x0, #192]\n"					\
"	ldp	x26, x27, [x0, #208]\n"

#define KPROBES_STORE_MOST						\
"	stp	x2, x3, [x0, #16]\n"					\
"	stp	x4, x5, [x0, #32]\n"					\
"	stp	x6, x7, [x0, #48]\n"					\
"	stp	x8, x9, [x0, #64]\n"					\
"	stp	x10, x11, [x0, #80]\n"					\
"	stp	x12, x13, [x0, #96]\n"					\
"	stp	x14, x15, [x0, #112]\n"					\
"	stp	x16, x17, [x0, #128]\n"					\
"	str	x19, [x0, #152]\n"					\
"	stp	x20, x21, [x0, #160]\n"					\
"	stp	x22, x23, [x0, #176]\n"					\
"	stp	x24, x25, [x0, #192]\n"					\
"	stp	x26, x27, [x0, #208]\n"

#endif /* _KPROBES_TESTS_ASM_ARM64_H */
