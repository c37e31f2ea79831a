/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls a function with the arguments that another function is about to get. */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>

	.section .kprobes.text, "ax"

/* A frame record, the registers that a call preserves, and x18 for the shadow call stack */
#define FRAME_SIZE	112
#define FRAME_SCS	96

	.macro	saved, op:req
	\op	x19, x20, [sp, #16]
	\op	x21, x22, [sp, #32]
	\op	x23, x24, [sp, #48]
	\op	x25, x26, [sp, #64]
	\op	x27, x28, [sp, #80]
	.endm

/*
 * void arch_jprobe_call(void *entry, struct pt_regs *regs, const void *args,
 *			 size_t size, unsigned long *frame)
 */
SYM_FUNC_START(arch_jprobe_call)
	stp	x29, x30, [sp, #-FRAME_SIZE]!
	mov	x29, sp
	saved	stp
	str	x18, [sp, #FRAME_SCS]
	str	x29, [x4]

	mov	x16, x0
	mov	x19, x1

	sub	sp, sp, x3
	mov	x9, sp
	cbz	x3, 2f
1:	ldp	x10, x11, [x2], #16
	stp	x10, x11, [x9], #16
	subs	x3, x3, #16
	b.ne	1b
2:
	ldp	x0, x1, [x19, #S_X0]
	ldp	x2, x3, [x19, #S_X2]
	ldp	x4, x5, [x19, #S_X4]
	ldp	x6, x7, [x19, #S_X6]
	ldr	x8, [x19, #S_X8]
	blr	x16

SYM_INNER_LABEL(arch_jprobe_done, SYM_L_LOCAL)
	mov	sp, x29
	saved	ldp
	ldp	x29, x30, [sp], #FRAME_SIZE
	ret
SYM_FUNC_END(arch_jprobe_call)

/* void arch_jprobe_return(unsigned long frame) */
SYM_FUNC_START(arch_jprobe_return)
	mov	x29, x0
#ifdef CONFIG_SHADOW_CALL_STACK
	/* The calls that are left here have not popped their return addresses. */
	ldr	x18, [x29, #FRAME_SCS]
#endif
	b	arch_jprobe_done
SYM_FUNC_END(arch_jprobe_return)
