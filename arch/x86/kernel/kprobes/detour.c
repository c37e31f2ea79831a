// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits through the jump to a detour. The assembly parts are detour_entry_{32,64}.S.
 */
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <linux/preempt.h>
#include <linux/unaligned.h>
#include <asm/ibt.h>
#include <asm/ptrace.h>

#include "internal.h"

/**
 * kprobe_way_to() - find where to continue, if a handler has chosen that
 * @ip: the address it has chosen, of any instruction
 *
 * A jump may cover that instruction: the jump of the site that was hit, or of another one.
 *
 * Context: any, NMI included, preemption off.
 * Return: the address of its copy in a detour; @ip if no jump covers it, or is going to.
 */
unsigned long kprobe_way_to(unsigned long ip)
{
	struct kprobe_site *site;
	unsigned long i;

	for (i = 1; i < JMP32_INSN_SIZE; i++) {
		site = kprobe_find_site(ip - i);
		if (site && kprobe_covers(&site->kp, i))
			return kprobe_copy_of(&site->kp, i);
	}
	return ip;
}

NOKPROBE_SYMBOL(kprobe_way_to);

static unsigned long detour_exit_slow(struct kprobe *kp, struct pt_regs *regs,
				      enum kprobe_result what)
{
	switch (what) {
	case KPROBE_RESULT_REDIRECTED:
		/* A trace that begins here must not look for the instruction before. */
		regs->orig_ax = -1;
		regs->ip = kprobe_way_to(regs->ip);
		return true;
	case KPROBE_RESULT_POST:
		regs->orig_ax = -1;
		kprobe_carry_out_post(kp, regs);
		return kprobe_go_on(regs, regs->ip);
	default:
		return kprobe_go_on(regs, kprobe_detour_copy(kp));
	}
}

NOKPROBE_SYMBOL(detour_exit_slow);

/**
 * kprobe_detour_hit() - a jump in the text was taken
 * @regs: the probed code's registers, except for ip and orig_ax
 * @kp: the site
 *
 * Context: any; preemption as in the probed code.
 * Return: true if all of @regs has to be loaded to continue.
 */
unsigned long __noendbr kprobe_detour_hit(struct pt_regs *regs, struct kprobe *kp)
{
	unsigned long all = false;
	enum kprobe_result what;

	kprobe_mend_flags(regs);
	regs->ip = (unsigned long)kp->addr + INT3_INSN_SIZE;
	preempt_disable_notrace();
	what = kprobe_hit_site(kp, regs);
	if (unlikely(what != KPROBE_RESULT_CONTINUE || kprobe_sp_changed(regs)))
		all = detour_exit_slow(kp, regs, what);
	return kprobe_preempt_enable(all);
}

NOKPROBE_SYMBOL(kprobe_detour_hit);

/* The copy of a call is a push of the return address and a jump. Returns what it calls. */
static __always_inline unsigned long called_by_copy(const struct arch_optimized_insn *optinsn)
{
	const u8 *jump = optinsn->insn + optinsn->call;

	return (unsigned long)jump + JMP32_INSN_SIZE + get_unaligned((s32 *)(jump + 1));
}

/**
 * kprobe_covered_by_copy() - from an address in a detour to the original
 * @kp:	the site
 * @ip:	any address
 *
 * Context: any, NMI included.
 * Return: the address of the original instruction, or if @ip is behind all copies, that of the
 * next one; 0 if @ip is not in the detour of @kp. If a call's copy has pushed the return address,
 * it is the address of what is called: the stack is as there.
 */
unsigned long kprobe_covered_by_copy(struct kprobe *kp, unsigned long ip)
{
	struct arch_optimized_insn *optinsn = kprobe_optinsn(kp);
	unsigned long offset = ip - (unsigned long)optinsn->insn;
	int i;

	if (!optinsn->insn || offset >= DETOUR_SIZE)
		return 0;
	if (offset >= optinsn->end)
		return (unsigned long)kp->addr + optinsn->size;
	if (optinsn->call && offset >= optinsn->call)
		return called_by_copy(optinsn);
	for (i = JMP32_INSN_SIZE - 1; i > 0; i--) {
		if (optinsn->copy[i] && optinsn->copy[i] <= offset)
			break;
	}
	return (unsigned long)kp->addr + i;
}

NOKPROBE_SYMBOL(kprobe_covered_by_copy);
