/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_KPROBES_H
#define _ASM_ARM64_KPROBES_H

#include <asm-generic/kprobes.h>

struct pt_regs;

#ifdef CONFIG_KPROBES

#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/percpu.h>

#define __ARCH_WANT_KPROBES_INSN_SLOT

struct kprobe;

typedef u32 kprobe_opcode_t;

#define kretprobe_blacklist_size	0

/* See arch/arm64/kernel/probes/slot.h: a slot serves a branch in the text too. */
#define ARCH_KPROBE_SLOT_SIZE	24
#define MAX_OPTINSN_SIZE	ARCH_KPROBE_SLOT_SIZE
#define MAX_OPTIMIZED_LENGTH	sizeof(kprobe_opcode_t)

/* Slots run post handlers, and go where a handler says. */
#define ARCH_OPTPROBE_COMPLETE	1

/**
 * struct arch_specific_insn - how the probed instruction is carried out
 * @insn:	the out-of-line slot
 * @simulate:	carries it out on saved registers; false when its operand in
 *		memory could not be read. NULL for an instruction that is copied
 * @taken:	where a branch that is simulated leads to when it is taken, if the
 *		slot can go there; else 0
 * @thunk:	carries it out for post handlers, where @simulate is NULL; else NULL
 * @boosted:	the first copy in the slot branches back by itself
 * @detour:	a branch leads from the probed instruction to the slot and from
 *		there to the handlers
 */
struct arch_specific_insn {
	kprobe_opcode_t	*insn;
	bool		(*simulate)(u32 insn, unsigned long addr, struct pt_regs *regs);
	unsigned long	taken;
	kprobe_opcode_t	*thunk;
	bool		boosted;
	bool		detour;
};

/**
 * struct arch_optimized_insn - what a jump needs besides the slot
 * @branch:	the instruction that leads there, 0 for none
 */
struct arch_optimized_insn {
	u32	branch;
};

/* Patching kernel text stops the machine. */
#define arch_arm_kprobes	arch_arm_kprobes

/* For return probes: a function's caller is known by its frame record. */
#define arch_kretprobe_frame(regs)	((void *)frame_pointer(regs))

/*
 * The link register as it is before a prologue signs it or pushes it to a shadow
 * call stack, so both see the trampoline's address and come out right.
 */
static __always_inline unsigned long
arch_kretprobe_ret_addr(struct pt_regs *regs, void *frame)
{
	return procedure_link_pointer(regs);
}

static __always_inline void arch_kretprobe_divert(struct pt_regs *regs, void *frame,
						  unsigned long to)
{
	procedure_link_pointer_set(regs, to);
}

/* In the trampoline's frame record. */
static __always_inline void arch_kretprobe_undivert(struct pt_regs *regs, void *frame,
						    unsigned long addr)
{
	regs->stackframe[1] = addr;
}

/* Nothing is remembered between a hit and what follows on it. */
#define ARCH_KPROBE_STATELESS	1

/* Told from the program counter alone, whatever the context. */
#define arch_kprobe_may_own_fault()	true

const char *arch_kprobe_path(struct kprobe *p);
#define arch_kprobe_path	arch_kprobe_path

bool arch_kprobe_may_be_bug(unsigned long addr);
#define arch_kprobe_may_be_bug	arch_kprobe_may_be_bug

void arch_remove_kprobe(struct kprobe *p);
int kprobe_fault_handler(struct pt_regs *regs, unsigned int esr);

#endif /* CONFIG_KPROBES */

/* Called under IS_ENABLED(CONFIG_KPROBES). */
int kprobe_brk_handler(struct pt_regs *regs, unsigned long esr);
int kprobe_ss_brk_handler(struct pt_regs *regs, unsigned long esr);

#endif /* _ASM_ARM64_KPROBES_H */
