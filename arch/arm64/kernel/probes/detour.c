// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits that no exception led to: by the branch to a slot, and by the end of a
 * copy there that a post handler is to see. The assembly part is detour_entry.S.
 */
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <linux/preempt.h>
#include <asm/insn.h>
#include <asm/ptrace.h>

#include "detour.h"

static __always_inline unsigned long way_out(struct kprobe *p, unsigned int word)
{
	return (unsigned long)(p->ainsn.insn + word);
}

/* Where all registers are as @regs says. */
static unsigned long leave(struct pt_regs *regs, unsigned long pc)
{
	regs->pc = pc;
	return (unsigned long)kprobe_detour_leave;
}

NOKPROBE_SYMBOL(leave);

/* From where an instruction that was simulated has led to. */
static unsigned long after_simulation(struct kprobe *p, struct pt_regs *regs, unsigned long sp)
{
	if (likely(regs->sp == sp)) {
		if (regs->pc == (unsigned long)(p->addr + 1))
			return way_out(p, SLOT_NEXT_OUT);
		if (regs->pc == p->ainsn.taken)
			return way_out(p, SLOT_COPY_OUT);
	}
	return leave(regs, regs->pc);
}

NOKPROBE_SYMBOL(after_simulation);

static __always_inline unsigned long to_copy(struct kprobe *p, struct pt_regs *regs,
					     unsigned long sp, bool post)
{
	if (unlikely(regs->sp != sp))
		return leave(regs, way_out(p, post ? SLOT_LAST : SLOT_COPY));
	return way_out(p, post ? SLOT_LAST_OUT : SLOT_COPY_OUT);
}

static __always_inline unsigned long hit(struct pt_regs *regs, struct kprobe *p)
{
	enum kprobe_hit what = kprobe_hit_site(site_of(p), regs);
	unsigned long sp = (unsigned long)(regs + 1);
	bool post;

	if (unlikely(what == KPROBE_HIT_REDIRECTED))
		return leave(regs, regs->pc);
	post = p->post_handler && what != KPROBE_HIT_MISSED;
	if (!p->ainsn.simulate)
		return to_copy(p, regs, sp, post);
	kprobe_simulate(p, regs, post);
	return after_simulation(p, regs, sp);
}

/**
 * kprobe_detour_hit() - a branch in the text was taken
 * @regs: the probed code's registers, @pc and the frame record apart
 * @p: the site
 *
 * Context: any; preemption as in the probed code.
 * Return: where to go on.
 */
asmlinkage unsigned long kprobe_detour_hit(struct pt_regs *regs, struct kprobe *p)
{
	unsigned long to;

	regs->pc = (unsigned long)p->addr;
	regs->stackframe[1] = (unsigned long)p->addr;
	preempt_disable_notrace();
	to = hit(regs, p);
	preempt_enable_notrace();
	return to;
}

NOKPROBE_SYMBOL(kprobe_detour_hit);

/**
 * kprobe_tail_hit() - the copy of the probed instruction was carried out
 * @regs: the registers as it left them, @pc and the frame record apart
 * @p: the site
 *
 * Context: any; preemption as in the probed code.
 * Return: where to go on.
 */
asmlinkage unsigned long kprobe_tail_hit(struct pt_regs *regs, struct kprobe *p)
{
	unsigned long next = (unsigned long)(p->addr + 1);
	unsigned long sp = (unsigned long)(regs + 1);
	unsigned long to = way_out(p, SLOT_NEXT_OUT);

	regs->pc = next;
	regs->stackframe[1] = next;
	preempt_disable_notrace();
	if (likely(p->post_handler))
		kprobe_hit_post(p, regs);
	if (unlikely(regs->pc != next || regs->sp != sp))
		to = leave(regs, regs->pc);
	preempt_enable_notrace();
	return to;
}

NOKPROBE_SYMBOL(kprobe_tail_hit);

/* What a handler may have changed of the processor's state, or a branch has. */
#define PSTATE_FROM_REGS	(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT | \
				 PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | PSR_F_BIT | \
				 PSR_BTYPE_MASK)

/**
 * kprobe_detour_left() - complete what no branch could
 * @regs: registers at a BRK
 *
 * Context: the debug exception of EL1.
 * Return: false when that is not the BRK of kprobe_detour_leave().
 */
bool kprobe_detour_left(struct pt_regs *regs)
{
	const struct pt_regs *saved = (void *)regs->sp;
	int i;

	if (regs->pc != (unsigned long)kprobe_detour_leave)
		return false;
	for (i = 0; i < ARRAY_SIZE(regs->regs); i++)
		regs->regs[i] = saved->regs[i];
	regs->pc = saved->pc;
	regs->pstate &= ~PSTATE_FROM_REGS;
	regs->pstate |= saved->pstate & PSTATE_FROM_REGS;
	regs->sp = saved->sp;
	return true;
}

NOKPROBE_SYMBOL(kprobe_detour_left);
