// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on arm64: a branch to the slot in the place of the BRK.
 *
 * One instruction replaces another, so no task can be in between. BRK and B are among those that
 * may replace each other while other CPUs execute them (Arm ARM, B2.2.5): no CPU has to be
 * stopped. Until a CPU has noticed the change, it executes the old one.
 *
 * Slots are near the kernel's text. Modules may be farther from there than a branch gets: with
 * KASLR, by default they are anywhere within 2 GiB. So there are pages of slots where modules are,
 * too. As the detours are parts of the slots, the core's cache of detours is free for those.
 */
#include <linux/cacheflush.h>
#include <linux/execmem.h>
#include <linux/list.h>
#include <linux/string.h>

#include "internal.h"

/* The most executable memory that a site may take, as it is scarcer than other memory */
static_assert(MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t) <= 96);
static_assert(SLOT_WORDS <= MAX_OPTINSN_SIZE);

/* The slots leave room for the veneers at the end of a page, whatever its size. */
static_assert(PAGE_SIZE % (MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t)) >= VENEERS_SIZE);

/* Allocates a page of slots where modules are, with veneers. */
void *alloc_optinsn_page(void)
{
	void *page = execmem_alloc(EXECMEM_MODULE_TEXT, PAGE_SIZE);
	void *veneers;

	if (!page)
		return NULL;
	veneers = page + PAGE_SIZE - VENEERS_SIZE;
	memcpy(veneers, kprobe_veneers, VENEERS_SIZE);
	flush_icache_range((unsigned long)veneers, (unsigned long)veneers + VENEERS_SIZE);
	return kprobe_seal_page(page);
}

int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig)
{
	if (kprobe_is_landing_pad(orig->opcode)) {
		op->kp.obstacle = KPROBE_OBSTACLE_PAD;
		return -EINVAL;
	}
	if (!orig->ainsn.detour) {
		op->kp.obstacle = KPROBE_OBSTACLE_REACH;
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

/* On return no CPU executes the branch any more. */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	struct optimized_kprobe *op;

	list_for_each_entry(op, oplist, list)
		WARN_ON_ONCE(aarch64_insn_patch_text_nosync(op->kp.addr, BRK64_OPCODE_KPROBES));
	kprobe_sync_cpus();
	list_splice_tail_init(oplist, done_list);
}
