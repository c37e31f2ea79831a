/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DECODE_INSN_H
#define __ARM64_KERNEL_PROBES_DECODE_INSN_H

#include <linux/types.h>
#include <asm/probes.h>

/* How a probed instruction is carried out. */
enum probe_action {
	PROBE_REJECT,		/* not at all: it cannot be probed */
	PROBE_COPY,		/* by the processor, which runs a copy elsewhere */
	PROBE_SIMULATE,		/* by us, on the saved registers */
};

/**
 * struct probe_class - instructions that are all treated alike
 * @name:	the class as the Arm ARM names it (C4.1), and which of its
 *		instructions, unless it is all of them
 * @mask:	the bits that are compared
 * @value:	the value of these bits
 * @kprobe:	enum probe_action in the kernel
 * @uprobe:	enum probe_action in user space
 * @simulate:	simulates the instruction; NULL if neither action is PROBE_SIMULATE
 */
struct probe_class {
	const char		*name;
	u32			mask;
	u32			value;
	u8			kprobe;
	u8			uprobe;
	probes_handler_t	*simulate;
};

extern const struct probe_class probe_classes[];
extern const unsigned int probe_nr_classes;

const struct probe_class *probe_classify(u32 insn);
bool probe_in_exclusive(unsigned long addr, unsigned long start, unsigned long end);
bool probe_in_switch(unsigned long addr, unsigned long start);

/* The verdict for uprobes. */
enum probe_insn {
	INSN_REJECTED,
	INSN_GOOD_NO_SLOT,	/* simulated by the handler */
	INSN_GOOD,		/* to be copied */
};

enum probe_insn arm_probe_decode_insn(u32 insn, struct arch_probe_insn *asi);

#endif /* __ARM64_KERNEL_PROBES_DECODE_INSN_H */
