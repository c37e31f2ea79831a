/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_SIMULATE_INSN_H
#define __ARM64_KERNEL_PROBES_SIMULATE_INSN_H

#include <linux/types.h>

struct pt_regs;

/* Of BR, BLR and RET */
static __always_inline u32 probe_target_register(u32 insn)
{
	return insn >> 5 & 31;
}

bool probe_simulate_branch(u32 insn, unsigned long addr, struct pt_regs *regs);
bool probe_simulate_cond_branch(u32 insn, unsigned long addr, struct pt_regs *regs);
bool probe_simulate_compare_branch(u32 insn, unsigned long addr, struct pt_regs *regs);
bool probe_simulate_test_branch(u32 insn, unsigned long addr, struct pt_regs *regs);
bool probe_simulate_branch_reg(u32 insn, unsigned long addr, struct pt_regs *regs);
bool probe_simulate_adr(u32 insn, unsigned long addr, struct pt_regs *regs);
bool probe_simulate_load_literal(u32 insn, unsigned long addr, struct pt_regs *regs);
u32 probe_literal_fault(u32 insn, unsigned long addr);
bool probe_simulate_nop(u32 insn, unsigned long addr, struct pt_regs *regs);

#endif /* __ARM64_KERNEL_PROBES_SIMULATE_INSN_H */
