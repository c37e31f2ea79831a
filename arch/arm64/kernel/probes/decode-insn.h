/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DECODE_INSN_H
#define __ARM64_KERNEL_PROBES_DECODE_INSN_H

#include <linux/types.h>
#include <asm/probes.h>

/* How a probed instruction is executed */
enum probe_action {
	PROBE_REJECT,		/* not at all: it cannot be probed */
	PROBE_COPY,		/* by the processor, which runs a copy elsewhere */
	PROBE_SIMULATE,		/* by us, on the saved registers */
};

/* Instructions that are all treated alike */
struct probe_class {
	/* As the Arm ARM has it (C4.1), and which of its instructions, unless it is all of them */
	const char		*name;
	u32			mask;		/* the bits that are compared */
	u32			value;		/* of these */
	u8			kprobe;		/* enum probe_action in the kernel */
	u8			uprobe;		/* and in user space */
	probes_handler_t	*simulate;	/* if one of these is PROBE_SIMULATE */
};

extern const struct probe_class probe_classes[];
extern const unsigned int probe_nr_classes;

const struct probe_class *probe_classify(u32 insn);
bool probe_in_exclusive(unsigned long addr, unsigned long start, unsigned long end);
bool probe_in_switch(unsigned long addr, unsigned long start);

/* In simulate-insn.c; any may be called at a hit. Only that of a literal can fail. */
probes_handler_t probe_simulate_branch, probe_simulate_cond_branch, probe_simulate_compare_branch;
probes_handler_t probe_simulate_test_branch, probe_simulate_branch_reg, probe_simulate_adr;
probes_handler_t probe_simulate_load_literal;
u32 probe_literal_fault(u32 insn, unsigned long addr);

/* The same for uprobes */
enum probe_insn {
	INSN_REJECTED = PROBE_REJECT,
	INSN_GOOD = PROBE_COPY,
	INSN_GOOD_NO_SLOT = PROBE_SIMULATE,
};

enum probe_insn arm_probe_decode_insn(u32 insn, struct arch_probe_insn *asi);

#endif /* __ARM64_KERNEL_PROBES_DECODE_INSN_H */
