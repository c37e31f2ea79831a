/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_THUNK_H
#define __ARM64_KERNEL_PROBES_THUNK_H

#include <linux/kprobes.h>
#include <asm/debug-monitors.h>
#include <asm/ptrace.h>

extern const unsigned int kprobe_nr_thunks;

int kprobe_find_thunk(u32 insn);
unsigned int kprobe_make_thunk(u32 *words, unsigned int room, u32 insn);

#define PSR_STATUS_BITS	(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)

/*
 * Carries the instruction out on @regs, by its thunk. The thunk gets the probed code's flags, and
 * @regs in x0. It is entered, and left, by RET, which needs no landing pad. A debugger's step ends
 * here, as in simulate-insn.c.
 */
static __always_inline void kprobe_run_thunk(const kprobe_opcode_t *thunk,
					     struct pt_regs *regs)
{
	register struct pt_regs *on asm("x0") = regs;
	unsigned long flags = regs->pstate;

	asm volatile("	adr	x30, 1f\n"
		     "	msr	nzcv, %[flags]\n"
		     "	ret	%[thunk]\n"
		     "1:	mrs	%[flags], nzcv\n"
		     : [flags] "+&r" (flags)
		     : [thunk] "r" (thunk), "r" (on)
		     : "x9", "x10", "x11", "x12", "x30", "cc", "memory");
	regs->pstate = (regs->pstate & ~(u64)(PSR_STATUS_BITS | DBG_SPSR_SS)) | flags;
	regs->pc += sizeof(kprobe_opcode_t);
}

#endif /* __ARM64_KERNEL_PROBES_THUNK_H */
