/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where functions with a return probe return to: builds a pt_regs, has the
 * handlers run, and goes on to where the function would have returned.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/ptrace.h>

	/* To or from a pt_regs at sp: what a call may change, and what it preserves */
	.macro	caller_saved, op:req
	\op	x0, x1, [sp, #S_X0]
	\op	x2, x3, [sp, #S_X2]
	\op	x4, x5, [sp, #S_X4]
	\op	x6, x7, [sp, #S_X6]
	\op	x8, x9, [sp, #S_X8]
	\op	x10, x11, [sp, #S_X10]
	\op	x12, x13, [sp, #S_X12]
	\op	x14, x15, [sp, #S_X14]
	\op	x16, x17, [sp, #S_X16]
	.endm

	.macro	callee_saved, op:req
	\op	x18, x19, [sp, #S_X18]
	\op	x20, x21, [sp, #S_X20]
	\op	x22, x23, [sp, #S_X22]
	\op	x24, x25, [sp, #S_X24]
	\op	x26, x27, [sp, #S_X26]
	\op	x28, x29, [sp, #S_X28]
	.endm

	.text

/*
 * The link register is still the address here. What is taken back from the saved
 * registers is what a handler may have good reason to change, and what C does not
 * preserve. No caller expects flags back.
 */
SYM_CODE_START(__kretprobe_trampoline)
	sub	sp, sp, #PT_REGS_SIZE
	caller_saved stp
	callee_saved stp
	add	x0, sp, #PT_REGS_SIZE
	stp	lr, x0, [sp, #S_LR]
	mrs	x2, daif
	mov	x3, #PSR_MODE_EL1h
	orr	x2, x2, x3
	str	x2, [sp, #S_PSTATE]

	/* For unwinders, who know what this address stands for. */
	mov	x1, x29
	stp	x29, lr, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME

	mov	x0, sp
	bl	kretprobe_returned

	/* By now the frame record names the function's own caller. */
	caller_saved ldp
	ldp	x29, lr, [sp, #S_STACKFRAME]
	add	sp, sp, #PT_REGS_SIZE
	ret
SYM_CODE_END(__kretprobe_trampoline)
NOKPROBE(__kretprobe_trampoline)
