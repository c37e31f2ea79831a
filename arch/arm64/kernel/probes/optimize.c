// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on arm64: a branch to the slot in the place of the BRK.
 *
 * One instruction replaces another, so no task can be in between. BRK and B are among those that
 * may replace each other while other CPUs execute them (Arm ARM, B2.2.5): no CPU has to be
 * stopped. Until a CPU has noticed the change, it executes the old one.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/smp.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/patching.h>

#include "detour.h"

/* The most executable memory that a site may take, as it is scarcer than other memory */
static_assert(ARCH_KPROBE_SLOT_SIZE * sizeof(kprobe_opcode_t) <= 96);

#define HINT_NUMBER	GENMASK(11, 5)

/* With BTI, an indirect branch has to find its landing pad in the text. */
static bool is_landing_pad(u32 insn)
{
	if (!aarch64_insn_is_hint(insn))
		return false;
	switch (insn & HINT_NUMBER) {
	case AARCH64_INSN_HINT_PACIASP:
	case AARCH64_INSN_HINT_PACIBSP:
	case AARCH64_INSN_HINT_BTIC:
	case AARCH64_INSN_HINT_BTIJ:
	case AARCH64_INSN_HINT_BTIJC:
		return true;
	}
	return false;
}

int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig)
{
	if (is_landing_pad(orig->opcode)) {
		op->why = "pad";
		return -EINVAL;
	}
	if (!orig->ainsn.detour) {
		op->why = "reach";
		return -ERANGE;
	}
	op->optinsn.branch = aarch64_insn_gen_branch_imm((unsigned long)orig->addr,
							 (unsigned long)orig->ainsn.insn,
							 AARCH64_INSN_BRANCH_NOLINK);
	return 0;
}

/* The detour is a part of the slot, which arch_remove_kprobe() gives back. */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op)
{
	op->optinsn.branch = 0;
}

int arch_prepared_optinsn(struct arch_optimized_insn *optinsn)
{
	return optinsn->branch;
}

int arch_check_optimized_kprobe(struct optimized_kprobe *op)
{
	return 0;
}

int arch_within_optimized_kprobe(struct optimized_kprobe *op, kprobe_opcode_t *addr)
{
	return addr == op->kp.addr;
}

/*
 * All CPUs were stopped to write the BRK, after the slot was written. So each of them
 * has synchronized what it fetches from the slot.
 */
void arch_optimize_kprobes(struct list_head *oplist)
{
	struct optimized_kprobe *op, *next;

	list_for_each_entry_safe(op, next, oplist, list) {
		if (!aarch64_insn_patch_text_nosync(op->kp.addr, op->optinsn.branch))
			list_del_init(&op->list);
	}
}

/* On return no CPU executes the branch any more: all have been interrupted after the change. */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	struct optimized_kprobe *op;

	list_for_each_entry(op, oplist, list)
		WARN_ON_ONCE(aarch64_insn_patch_text_nosync(op->kp.addr, BRK64_OPCODE_KPROBES));
	kick_all_cpus_sync();
	list_splice_tail_init(oplist, done_list);
}
