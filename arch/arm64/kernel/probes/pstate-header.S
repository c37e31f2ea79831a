/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PSTATE where handlers are called without an exception, from slots, returns and ftrace.
 *
 * Of PSTATE, these macros save and restore the bits that this kernel sets, as an exception does.
 *
 * The protection against access to user memory, PSTATE.PAN or an empty TTBR0, is not switched with
 * the task. It survives preemption only because an exception saves it, and sets it until it
 * returns. So do these macros: if the probed code has access to user memory, neither handlers nor
 * another task have it.
 *
 * If the kernel's memory has tags (MTE), code that accesses user memory also sets PSTATE.TCO, so
 * that tags are not checked. A switch to another task clears TCO, so that the probed code would
 * resume without it; and handlers have to be checked.
 *
 * DIT and SSBS are the same in all of the kernel, so handlers may have the probed code's. Not all
 * processors that have SSBS have instructions to read and write it: ARM64_SSBS2 says that they are
 * there. Elsewhere pt_regs do not have it.
 */
#include <asm/alternative.h>
#include <asm/asm-uaccess.h>
#include <asm/assembler.h>
#include <asm/mmu.h>
#include <asm/ptrace.h>
#include <asm/sysreg.h>

#include "internal.h"

#define PAN_SHIFT	22	/* of PSR_PAN_BIT */

	/*
	 * To the pt_regs at sp, and to x19, which restore_pstate needs. Then denies access to user
	 * memory, and has tags checked. orig_x0 is cleared. Changes x3, x4 and the flags.
	 */
	.macro	save_pstate, name:req
	mrs	x19, nzcv
	mrs	x3, daif
	orr	x19, x19, x3
	/* The kernel can be at EL2. */
alternative_if_not ARM64_HAS_VIRT_HOST_EXTN
	add	x19, x19, #PSR_MODE_EL1h
alternative_else
	add	x19, x19, #PSR_MODE_EL2h
alternative_endif
alternative_if ARM64_HAS_DIT
	mrs_s	x3, SYS_PSTATE_DIT
	orr	x19, x19, x3
alternative_else_nop_endif
alternative_if ARM64_SSBS2
	mrs_s	x3, SYS_PSTATE_SSBS
	orr	x19, x19, x3
alternative_else_nop_endif
#ifdef CONFIG_ARM64_MTE
alternative_if ARM64_MTE
	mrs_s	x3, SYS_PSTATE_TCO
	orr	x19, x19, x3
#ifdef CONFIG_KASAN_HW_TAGS
	SET_PSTATE_TCO(0)
#endif
alternative_else_nop_endif
#endif
	/* Without PAN, the bit is set if there is no access, as by entry.S. */
#if defined(CONFIG_ARM64_SW_TTBR0_PAN)
alternative_if_not ARM64_HAS_PAN
	mrs	x3, ttbr0_el1
	orr	x19, x19, #PSR_PAN_BIT
	tst	x3, #TTBR_ASID_MASK			// not the reserved one
	b.ne	.Ldeny_user_access_\name
alternative_else
	mrs_s	x3, SYS_PSTATE_PAN
	orr	x19, x19, x3
	SET_PSTATE_PAN(1)
	nop
alternative_endif
.Luser_access_denied_\name:
#else
alternative_if ARM64_HAS_PAN
	mrs_s	x3, SYS_PSTATE_PAN
	orr	x19, x19, x3
	SET_PSTATE_PAN(1)
alternative_else_nop_endif
#endif
	stp	x19, xzr, [sp, #S_PSTATE]
	/* With masking by priority, PSTATE does not show whether interrupts are masked. */
#ifdef CONFIG_ARM64_PSEUDO_NMI
alternative_if ARM64_HAS_GIC_PRIO_MASKING
	mrs_s	x3, SYS_ICC_PMR_EL1
	str	w3, [sp, #S_PMR]
alternative_else_nop_endif
#endif
	.endm

	/* The reverse. Most handlers change nothing. Changes x1 to x4. */
	.macro	restore_pstate, name:req
	ldr	x1, [sp, #S_PSTATE]
	cmp	x1, x19
	b.ne	.Lpstate_was_changed_\name
.Lpstate_is_changed_\name:
	msr	nzcv, x1
#ifdef CONFIG_ARM64_MTE
alternative_if ARM64_MTE
	msr_s	SYS_PSTATE_TCO, x1
alternative_else_nop_endif
#endif
#if defined(CONFIG_ARM64_SW_TTBR0_PAN)
alternative_if_not ARM64_HAS_PAN
	tbz	x1, #PAN_SHIFT, .Lallow_user_access_\name
alternative_else
	msr_s	SYS_PSTATE_PAN, x1
alternative_endif
.Luser_access_restored_\name:
#else
alternative_if ARM64_HAS_PAN
	msr_s	SYS_PSTATE_PAN, x1
alternative_else_nop_endif
#endif
	.endm

	/* The rare parts of the two above, to be placed behind the code that uses them */
	.macro	rare_pstate, name:req
.Lpstate_was_changed_\name:
	msr	daif, x1
alternative_if ARM64_HAS_DIT
	msr_s	SYS_PSTATE_DIT, x1
alternative_else_nop_endif
alternative_if ARM64_SSBS2
	msr_s	SYS_PSTATE_SSBS, x1
alternative_else_nop_endif
	/* Some processors go on speculating with the old SSBS. */
	sb
	b	.Lpstate_is_changed_\name
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
.Ldeny_user_access_\name:
	and	x19, x19, #~PSR_PAN_BIT
	uaccess_ttbr0_disable x3, x4
	b	.Luser_access_denied_\name
.Lallow_user_access_\name:
	uaccess_ttbr0_enable x2, x3, x4
	b	.Luser_access_restored_\name
#endif
	.endm
