/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ASM_PROBES_H
#define __ASM_PROBES_H

#include <linux/types.h>

struct pt_regs;

/*
 * Simulates @insn at @addr, which regs->pc is, too. Returns true, with regs->pc set to the
 * address of the next instruction; or false, with @regs unchanged, if memory could not be read.
 */
typedef bool (probes_handler_t)(u32 insn, unsigned long addr, struct pt_regs *regs);

/* What uprobes keep of an instruction that is simulated. */
struct arch_probe_insn {
	probes_handler_t *handler;
};

#endif /* __ASM_PROBES_H */
