/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_KPROBES_H
#define _ASM_ARM64_KPROBES_H

#include <asm-generic/kprobes.h>

struct pt_regs;

#ifdef CONFIG_KPROBES

#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/percpu.h>
#include <asm/probes.h>

#define __ARCH_WANT_KPROBES_INSN_SLOT

struct kprobe;

typedef u32 kprobe_opcode_t;

/*
 * In instructions; see internal.h. A branch in the text leads to the slot, too. Those where modules
 * are take more, so that a page of any size has room for the veneers behind them.
 */
#define ARCH_KPROBE_SLOT_SIZE	18
#define MAX_OPTINSN_SIZE	24
#define MAX_OPTIMIZED_LENGTH	sizeof(kprobe_opcode_t)

/* How the probed instruction is executed */
struct arch_specific_insn {
	kprobe_opcode_t	*insn;		/* the slot, NULL for an entry that ftrace hooks */
	probes_handler_t *simulate;	/* NULL for an instruction that is copied */
	bool		boosted;	/* the first copy in the slot branches back */
	/* Branches reach from the text to the slot, and from there to the handlers and back. */
	bool		detour;
};

/* What a jump needs besides: the instruction that leads to the slot */
struct arch_optimized_insn {
	u32	branch;
};

/* Once for many sites, because all CPUs are stopped to patch text. */
#define arch_arm_kprobes	arch_arm_kprobes

/* For return probes: a function's caller is known by its frame record. */
#define arch_kretprobe_frame(regs)	((void *)frame_pointer(regs))

/*
 * In the link register. The prologue has not signed it yet, nor pushed it to a shadow call
 * stack: both will be done with the trampoline's address.
 */
static __always_inline unsigned long arch_kretprobe_ret_addr(struct pt_regs *regs, void *frame)
{
	return procedure_link_pointer(regs);
}

static __always_inline void arch_kretprobe_divert(struct pt_regs *regs, void *frame,
						  unsigned long to)
{
	procedure_link_pointer_set(regs, to);
}

/* In the trampoline's frame record, from where it returns, and unwinders go on. */
static __always_inline void arch_kretprobe_undivert(struct pt_regs *regs, void *frame,
						    unsigned long addr)
{
	regs->stackframe[1] = addr;
}

/* Nothing is remembered between a hit and what follows on it. */
#define ARCH_KPROBE_STATELESS	1

void kprobe_ftrace_entry(void);
#define ARCH_KPROBE_FTRACE_TRAMPOLINE	((unsigned long)kprobe_ftrace_entry)

void arch_remove_kprobe(struct kprobe *kp);

#endif /* CONFIG_KPROBES */

/* Called only if IS_ENABLED(CONFIG_KPROBES), but always declared. */
int kprobe_brk_handler(struct pt_regs *regs, unsigned long esr);
int kprobe_ss_brk_handler(struct pt_regs *regs, unsigned long esr);

#endif /* _ASM_ARM64_KPROBES_H */
