// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits without an exception: through the branch to a slot, and behind the slot's copy for hits
 * with a post handler; and returns. The assembly part is entry.S.
 */
#include <linux/bits.h>
#include <linux/preempt.h>

#include "decode-insn.h"
#include "internal.h"

/* At the entry, the probed code's stack begins right above the saved registers. */
static __always_inline bool sp_changed(struct pt_regs *regs)
{
	return regs->sp != (unsigned long)(regs + 1);
}

/*
 * Returns how to resume at regs->pc: by a word of the slot that leads there, unless @word is 0 or
 * the stack pointer has changed. Then all registers are loaded from @regs.
 */
static __always_inline unsigned long resume(struct kprobe *kp, struct pt_regs *regs,
					    unsigned int word)
{
	if (unlikely(!word || sp_changed(regs)))
		return (unsigned long)kprobe_detour_leave;
	return (unsigned long)(kp->ainsn.insn + word);
}

/* Checks whether the branch at SLOT_COPY leads to regs->pc. "blr x30" has overwritten x30. */
static __always_inline bool is_taken(struct kprobe *kp, struct pt_regs *regs)
{
	if (kp->ainsn.taken)
		return regs->pc == kp->ainsn.taken;
	return kp->ainsn.by_register &&
	       regs->pc == pt_regs_read_reg(regs, probe_target_register(kp->opcode));
}

/* Out of line, so that it takes no registers from instructions that are no branches. */
static noinline unsigned long __kprobes after_branch(struct kprobe *kp, struct pt_regs *regs)
{
	return resume(kp, regs, is_taken(kp, regs) ? SLOT_COPY_OUT : 0);
}

/* Executes the instruction, and resumes by a branch in the slot, if one leads to regs->pc. */
static __always_inline unsigned long simulate_hit(struct kprobe *kp, struct pt_regs *regs,
						  enum kprobe_result what)
{
	kprobe_simulate(kp, regs, what);
	if (regs->pc == (unsigned long)(kp->addr + 1))
		return resume(kp, regs, SLOT_NEXT_OUT);
	return after_branch(kp, regs);
}

/* Has a copy execute the instruction. */
static __always_inline unsigned long copy_hit(struct kprobe *kp, struct pt_regs *regs, bool post)
{
	if (unlikely(sp_changed(regs))) {
		regs->pc = (unsigned long)(kp->ainsn.insn + (post ? SLOT_LAST : SLOT_COPY));
		return (unsigned long)kprobe_detour_leave;
	}
	return (unsigned long)(kp->ainsn.insn + (post ? SLOT_LAST_OUT : SLOT_COPY_OUT));
}

static __always_inline unsigned long detour_exit(struct kprobe *kp, struct pt_regs *regs,
						 enum kprobe_result what)
{
	if (unlikely(what == KPROBE_RESULT_REDIRECTED))
		return resume(kp, regs, 0);
	if (kp->ainsn.simulate)
		return simulate_hit(kp, regs, what);
	return copy_hit(kp, regs, what == KPROBE_RESULT_POST);
}

static __always_inline unsigned long jump_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	return detour_exit(&site->kp, regs, kprobe_hit_pre(site, regs));
}

/* The same on a CPU that RCU takes for idle, which is rare. */
static noinline unsigned long __kprobes idle_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	unsigned long to;

	ct_nmi_enter();
	to = jump_hit(regs, site);
	ct_nmi_exit();
	return to;
}

/*
 * Called when the branch in the text was taken. pc and the frame record in @regs are not set yet;
 * preemption is as in the probed code. Returns where to continue.
 */
asmlinkage unsigned long __kprobes
kprobe_detour_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	unsigned long addr = (unsigned long)site->kp.addr;

	regs->pc = addr;
	regs->stackframe[1] = addr;
	guard(preempt_notrace)();
	return kprobe_on_idle_cpu(regs) ? idle_hit(regs, site) : jump_hit(regs, site);
}

/* The end of it, after assembly has disabled preemption and called a handler by itself. */
asmlinkage unsigned long __kprobes
kprobe_detour_called(struct pt_regs *regs, struct kprobe_site *site, int chosen)
{
	unsigned long to = detour_exit(&site->kp, regs, kprobe_hit_called(site, regs, chosen));

	preempt_enable_notrace();
	return to;
}

static __always_inline unsigned long tail_exit(struct kprobe *kp, struct pt_regs *regs)
{
	return resume(kp, regs, regs->pc == (unsigned long)(kp->addr + 1) ? SLOT_NEXT_OUT : 0);
}

/* As kprobe_detour_hit(), behind the copy for hits with a post handler. */
asmlinkage unsigned long __kprobes
kprobe_tail_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	unsigned long next = (unsigned long)(site->kp.addr + 1);
	bool idle;

	regs->pc = next;
	regs->stackframe[1] = next;
	guard(preempt_notrace)();
	idle = kprobe_on_idle_cpu(regs);
	if (idle)
		ct_nmi_enter();
	kprobe_hit_post(site, regs);
	if (idle)
		ct_nmi_exit();
	return tail_exit(&site->kp, regs);
}

/* As kprobe_detour_called() */
asmlinkage unsigned long __kprobes
kprobe_tail_called(struct pt_regs *regs, struct kprobe_site *site)
{
	unsigned long to;

	kprobe_mark_end(kprobe_own_mark(0));
	to = tail_exit(&site->kp, regs);
	preempt_enable_notrace();
	return to;
}

/* As kretprobe_returned(), where interrupts are masked. */
asmlinkage void __kprobes kprobe_masked_return(struct pt_regs *regs, void *frame)
{
	if (likely(rcu_is_watching_curr_cpu())) {
		kretprobe_returned(regs, frame);
		return;
	}
	ct_nmi_enter();
	kretprobe_returned(regs, frame);
	ct_nmi_exit();
}

DEFINE_PER_CPU(struct kprobe_destinations, kprobe_detour_to);

static_assert(1 << DETOUR_TO_SHIFT == sizeof(struct kprobe_destination));
static_assert(offsetof(struct kprobe_destinations, last) == DETOUR_TO_LAST);

/* What is taken from the saved PSTATE, because handlers or a simulation may have changed it */
#define PSTATE_FROM_REGS	(PSR_STATUS_BITS | PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | PSR_F_BIT | \
				 PSR_BTYPE_MASK | DBG_SPSR_SS)

/*
 * Completes kprobe_detour_leave(), if the BRK is the one there: sets pc, x29 and PSTATE. Returns
 * false if it is another one.
 */
bool __kprobes kprobe_detour_left(struct pt_regs *regs)
{
	struct kprobe_destinations *all = raw_cpu_ptr(&kprobe_detour_to);
	const struct kprobe_destination *to = all->to + all->last;

	if (regs->pc != (unsigned long)kprobe_detour_left_at)
		return false;
	regs->pc = to->pc;
	regs->regs[29] = to->fp;
	regs->pstate &= ~PSTATE_FROM_REGS;
	regs->pstate |= to->pstate & PSTATE_FROM_REGS;
	/* From here on, an event of the firmware may overwrite it. */
	barrier();
	all->last = (all->last - 1) & (BIT(DETOUR_LEAVES_SHIFT) - 1);
	return true;
}
