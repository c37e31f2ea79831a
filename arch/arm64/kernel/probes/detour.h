/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DETOUR_H
#define __ARM64_KERNEL_PROBES_DETOUR_H

#include <linux/linkage.h>
#include <linux/types.h>

#include "slot.h"

struct kprobe;
struct pt_regs;

/* Never called as a function: see slot.h. */
asmlinkage void kprobe_detour_entry(void);
asmlinkage void kprobe_tail_entry(void);
asmlinkage void kprobe_detour_leave(void);

/* Instructions, as they are in memory. */
extern const __le32 kprobe_slot_template[SLOT_WORDS];

asmlinkage unsigned long kprobe_detour_hit(struct pt_regs *regs, struct kprobe *p);
asmlinkage unsigned long kprobe_tail_hit(struct pt_regs *regs, struct kprobe *p);

bool kprobe_detour_left(struct pt_regs *regs);
void kprobe_simulate(struct kprobe *p, struct pt_regs *regs, bool post);

#endif /* __ARM64_KERNEL_PROBES_DETOUR_H */
