// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits without an exception: through the branch to a slot, and behind the slot's copy for hits
 * with a post handler; and returns. The assembly part is entry.S.
 */
#include <linux/preempt.h>

#include "internal.h"

/* At the entry, the probed code's stack begins right above the saved registers. */
static __always_inline bool sp_changed(struct pt_regs *regs)
{
	return regs->sp != (unsigned long)(regs + 1);
}

/*
 * Returns how to resume at regs->pc: by the slot's branch to the next instruction, if that is there
 * and the stack pointer has not changed. Else all registers are loaded from @regs.
 */
static __always_inline unsigned long resume(struct kprobe *kp, struct pt_regs *regs)
{
	if (unlikely(regs->pc != (unsigned long)(kp->addr + 1) || sp_changed(regs)))
		return (unsigned long)kprobe_detour_leave;
	return (unsigned long)(kp->ainsn.insn + SLOT_NEXT_OUT);
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
		return (unsigned long)kprobe_detour_leave;
	if (!kp->ainsn.simulate)
		return copy_hit(kp, regs, what == KPROBE_RESULT_POST);
	kprobe_simulate(kp, regs, what);
	return resume(kp, regs);
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
	CLASS(kprobe_watch, idle)(regs);
	return detour_exit(&site->kp, regs, kprobe_hit_pre(site, regs));
}

/* The end of it, after assembly has disabled preemption and called a handler by itself. */
asmlinkage unsigned long __kprobes
kprobe_detour_called(struct pt_regs *regs, struct kprobe_site *site, int chosen)
{
	unsigned long to = detour_exit(&site->kp, regs, kprobe_hit_called(site, regs, chosen));

	preempt_enable_notrace();
	return to;
}

/* As kprobe_detour_hit(), behind the copy for hits with a post handler. */
asmlinkage unsigned long __kprobes
kprobe_tail_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	unsigned long next = (unsigned long)(site->kp.addr + 1);

	regs->pc = next;
	regs->stackframe[1] = next;
	guard(preempt_notrace)();
	CLASS(kprobe_watch, idle)(regs);
	kprobe_hit_post(site, regs);
	return resume(&site->kp, regs);
}

/* As kprobe_detour_called() */
asmlinkage unsigned long __kprobes
kprobe_tail_called(struct pt_regs *regs, struct kprobe_site *site)
{
	unsigned long to;

	kprobe_mark_end(kprobe_own_mark(0));
	to = resume(&site->kp, regs);
	preempt_enable_notrace();
	return to;
}

/* As kretprobe_returned(), where interrupts are masked. */
asmlinkage void __kprobes kprobe_masked_return(struct pt_regs *regs, void *frame)
{
	CLASS(kprobe_watch, idle)(regs);
	kretprobe_returned(regs, frame);
}
