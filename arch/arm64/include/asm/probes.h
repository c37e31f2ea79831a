/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ASM_PROBES_H
#define __ASM_PROBES_H

#include <linux/types.h>

struct pt_regs;

typedef u32 probe_opcode_t;

/* Carries an instruction out on @regs, as if it stood at @addr. */
typedef void (probes_handler_t)(u32 opcode, long addr, struct pt_regs *regs);

/* What uprobes keep of an instruction that is simulated. */
struct arch_probe_insn {
	probes_handler_t *handler;
};

#endif /* __ASM_PROBES_H */
