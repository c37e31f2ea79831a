/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_REGS_H
#define __ARM64_KERNEL_PROBES_REGS_H

#include <asm/alternative.h>
#include <asm/asm-offsets.h>
#include <asm/sysreg.h>

	/* To or from a pt_regs at sp: registers that a call may change, and those it preserves */
	.macro	caller_saved, op
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

	.macro	callee_saved, op
	\op	x18, x19, [sp, #S_X18]
	\op	x20, x21, [sp, #S_X20]
	\op	x22, x23, [sp, #S_X22]
	\op	x24, x25, [sp, #S_X24]
	\op	x26, x27, [sp, #S_X26]
	\op	x28, x29, [sp, #S_X28]
	.endm

	/* With masking by priority, PSTATE does not show whether interrupts are masked. */
	.macro	save_priority_mask, tmp
#ifdef CONFIG_ARM64_PSEUDO_NMI
alternative_if ARM64_HAS_GIC_PRIO_MASKING
	mrs_s	\tmp, SYS_ICC_PMR_EL1
	str	\tmp, [sp, #S_PMR_SAVE]
alternative_else_nop_endif
#endif
	.endm

#endif /* __ARM64_KERNEL_PROBES_REGS_H */
