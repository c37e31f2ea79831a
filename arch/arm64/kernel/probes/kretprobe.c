// SPDX-License-Identifier: GPL-2.0-only
/*
 * Diverting the return of a function on arm64. Its assembly part is
 * kretprobe_trampoline.S.
 */
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <asm/ptrace.h>
#include <asm/sysreg.h>

asmlinkage unsigned long kretprobe_return(struct pt_regs *regs);

/**
 * arch_prepare_kretprobe() - let the function that is being entered return to us
 * @ri: remembers where it was to return to, and its caller's frame
 * @regs: registers at the function's first instruction
 *
 * That is before a prologue signs the link register or pushes it to a shadow
 * call stack, so both see the trampoline's address and come out right.
 *
 * Context: that of a pre handler.
 */
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	ri->ret_addr = (kprobe_opcode_t *)procedure_link_pointer(regs);
	ri->fp = (void *)frame_pointer(regs);
	procedure_link_pointer_set(regs, (unsigned long)__kretprobe_trampoline);
}

NOKPROBE_SYMBOL(arch_prepare_kretprobe);

/*
 * Called by the trampoline, which has saved the general registers and the flags:
 * what is left is what an exception would have saved of PSTATE.
 */
asmlinkage unsigned long kretprobe_return(struct pt_regs *regs)
{
	regs->pstate |= read_sysreg(daif) | PSR_MODE_EL1h;
	regs->syscallno = NO_SYSCALL;
	return kretprobe_trampoline_handler(regs, (void *)frame_pointer(regs));
}

NOKPROBE_SYMBOL(kretprobe_return);
