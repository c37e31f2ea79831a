/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DECODE_INSN_H
#define __ARM64_KERNEL_PROBES_DECODE_INSN_H

#include <linux/types.h>
#include <asm/probes.h>

struct pt_regs;

/* How a probed instruction is carried out. */
enum probe_action {
	PROBE_REJECT,		/* not at all: it cannot be probed */
	PROBE_COPY,		/* by the processor, which runs a copy elsewhere */
	PROBE_SIMULATE,		/* by us, on the saved registers */
};

/*
 * Simulates @insn, which stands at @addr, as regs->pc says too. True, and
 * regs->pc is the address of the instruction that comes next; or false, and
 * @regs are what they were, when memory could not be read.
 */
typedef bool (*probe_simulate_fn)(u32 insn, unsigned long addr, struct pt_regs *regs);

/**
 * struct probe_class - instructions that are all treated alike
 * @name:	the class as the Arm ARM names it (C4.1), and which of its
 *		instructions where it is not about all of them
 * @mask:	the bits that tell
 * @value:	what they are for these instructions
 * @kprobe:	enum probe_action in the kernel
 * @uprobe:	enum probe_action in user space
 * @simulate:	what simulates these; NULL when neither action is PROBE_SIMULATE
 */
struct probe_class {
	const char		*name;
	u32			mask;
	u32			value;
	u8			kprobe;
	u8			uprobe;
	probe_simulate_fn	simulate;
};

extern const struct probe_class probe_classes[];
extern const unsigned int probe_nr_classes;

const struct probe_class *probe_classify(u32 insn);
bool probe_in_exclusive(unsigned long addr, unsigned long start, unsigned long end);

/* What uprobes want to know. */
enum probe_insn {
	INSN_REJECTED,
	INSN_GOOD_NO_SLOT,	/* simulated by the handler */
	INSN_GOOD,		/* to be copied */
};

enum probe_insn arm_probe_decode_insn(u32 insn, struct arch_probe_insn *asi);

#endif /* __ARM64_KERNEL_PROBES_DECODE_INSN_H */
