/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DETOUR_H
#define __ARM64_KERNEL_PROBES_DETOUR_H

#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "detour_to.h"
#include "slot.h"

/* Not C functions: slots call the first two, which may continue at the third. See slot.h. */
asmlinkage void kprobe_detour_entry(void);
asmlinkage void kprobe_tail_entry(void);
asmlinkage void kprobe_detour_leave(void);
extern const char kprobe_detour_left_at[];

/* A slot before it is filled in; little-endian, as instructions in memory are. */
extern const __le32 kprobe_slot_template[SLOT_WORDS];

/* What a page of slots ends with, where modules are */
extern const char kprobe_veneers[VENEERS_SIZE];

/* What a slot calls if kprobe_detour_entry() and kprobe_tail_entry() are out of its reach */
enum kprobe_veneer { VENEER_DETOUR, VENEER_TAIL };

bool kprobe_in_reach(unsigned long from, unsigned long to);
bool kprobe_is_landing_pad(u32 insn);

#ifdef CONFIG_OPTPROBES
kprobe_opcode_t *kprobe_get_slot(unsigned long addr);
void kprobe_free_slot(kprobe_opcode_t *slot, int dirty);
unsigned long kprobe_veneer(kprobe_opcode_t *slot, enum kprobe_veneer which);
#else
static inline kprobe_opcode_t *kprobe_get_slot(unsigned long addr)
{
	return get_insn_slot();
}

static inline void kprobe_free_slot(kprobe_opcode_t *slot, int dirty)
{
	free_insn_slot(slot, dirty);
}

static inline unsigned long kprobe_veneer(kprobe_opcode_t *slot, enum kprobe_veneer which)
{
	return 0;
}
#endif

asmlinkage unsigned long kprobe_detour_hit(struct pt_regs *regs, struct kprobe *kp);
asmlinkage unsigned long kprobe_tail_hit(struct pt_regs *regs, struct kprobe *kp);
asmlinkage void kprobe_masked_return(struct pt_regs *regs, void *frame);

/*
 * Where kprobe_detour_leave() goes, and x29, which it cannot load: it stores this for the handler
 * of its BRK.
 */
struct kprobe_destination {
	unsigned long pc, pstate, fp, unused;
};

/**
 * struct kprobe_destinations - those of a CPU, a stack of them
 * @to:		used as a ring: what a task has left there that died on its way is overwritten
 *		in time
 * @last:	the index of the one that was pushed last. What is pushed in the middle of a push or
 *		a pop is popped before that goes on
 */
struct kprobe_destinations {
	struct kprobe_destination to[1 << DETOUR_LEAVES_SHIFT];
	unsigned long last;
};

DECLARE_PER_CPU(struct kprobe_destinations, kprobe_detour_to);

bool kprobe_detour_left(struct pt_regs *regs);
void kprobe_simulate(struct kprobe *kp, struct pt_regs *regs, enum kprobe_result what);

#endif /* __ARM64_KERNEL_PROBES_DETOUR_H */
