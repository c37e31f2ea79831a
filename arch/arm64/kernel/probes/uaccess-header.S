/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protection against access to user memory, PSTATE.PAN or an empty TTBR0, is not switched
 * with the task. It survives preemption only because an exception saves it, and sets it until
 * the exception returns. These macros do the same where handlers are called without an
 * exception: if the probed code has access to user memory, neither handlers nor another task
 * have it.
 *
 * If the kernel's memory has tags (MTE), code that accesses user memory also sets PSTATE.TCO, so
 * that tags are not checked. TCO is not switched with the task, either. Handlers have to be
 * checked; and a switch to another task clears TCO, so that the probed code would resume
 * without it.
 */
#include <asm/alternative.h>
#include <asm/asm-uaccess.h>
#include <asm/mmu.h>
#include <asm/ptrace.h>
#include <asm/sysreg.h>

#include "tco.h"

#define PAN_SHIFT	22	/* of PSR_PAN_BIT */

	/*
	 * Denies access, and has tags checked. Before that, adds PSR_PAN_BIT to the PSTATE in x2
	 * if there is no access, as an exception would, and PSR_TCO_BIT if tags are not checked.
	 * Changes x3, x4 and the flags.
	 */
	.macro	deny_user_access, name:req
#ifdef CONFIG_KASAN_HW_TAGS
alternative_if ARM64_MTE
	mrs_s	x3, SYS_PSTATE_TCO
	orr	x2, x2, x3
	SET_PSTATE_TCO(0)
alternative_else_nop_endif
#endif
#if defined(CONFIG_ARM64_SW_TTBR0_PAN)
alternative_if_not ARM64_HAS_PAN
	mrs	x3, ttbr0_el1
	orr	x2, x2, #PSR_PAN_BIT
	tst	x3, #TTBR_ASID_MASK			// Not the reserved one?
	b.ne	.Ldeny_user_access_\name
alternative_else
	mrs_s	x3, SYS_PSTATE_PAN
	orr	x2, x2, x3
	SET_PSTATE_PAN(1)
	nop
alternative_endif
.Luser_access_denied_\name:
#elif defined(CONFIG_ARM64_PAN)
alternative_if ARM64_HAS_PAN
	mrs_s	x3, SYS_PSTATE_PAN
	orr	x2, x2, x3
	SET_PSTATE_PAN(1)
alternative_else_nop_endif
#endif
	.endm

	/* The reverse, with that PSTATE in x1. Changes x2 to x4. */
	.macro	restore_user_access, name:req
#ifdef CONFIG_KASAN_HW_TAGS
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
#elif defined(CONFIG_ARM64_PAN)
alternative_if ARM64_HAS_PAN
	msr_s	SYS_PSTATE_PAN, x1
alternative_else_nop_endif
#endif
	.endm

	/* The rare parts of the two above, to be placed behind the code that uses them */
	.macro	switch_user_access, name:req
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
.Ldeny_user_access_\name:
	and	x2, x2, #~PSR_PAN_BIT
	uaccess_ttbr0_disable x3, x4
	b	.Luser_access_denied_\name
.Lallow_user_access_\name:
	uaccess_ttbr0_enable x2, x3, x4
	b	.Luser_access_restored_\name
#endif
	.endm
