// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints on x86: what happens at a hit. They are written by slot.c.
 *
 * A probed instruction is executed in the first of these ways that is possible:
 *
 * - boosted, by a copy that jumps back, unless there is a post handler
 * - emulated on the saved registers, which is for branches
 * - by a copy that is followed by a call of the post handlers (see kprobe_tail_hit())
 * - stepped, for branches: by a copy that pushes the target, and ends in another int3
 *
 * No state is kept until then: the site is found from the address of the slot. So the copy runs
 * with interrupts and preemption as in the probed code, can be interrupted by anything, and can
 * fault.
 */
#include <linux/preempt.h>

#include "internal.h"

DEFINE_PER_CPU(unsigned int, kprobe_int3_count);
#ifdef CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS
#define INT3_COUNT	(NMI_OFFSET + HARDIRQ_OFFSET)
#else
/* One bit stands for all NMIs that nest. */
#define INT3_COUNT	(HARDIRQ_OFFSET + (__this_cpu_read(nmi_nesting) == 1 ? NMI_OFFSET : 0))
#endif

/* Returns the address of what is executed when a branch cannot be emulated right now. */
static __always_inline unsigned long branch_copy(const struct kprobe *kp)
{
	return kp->ainsn.emulation.memory ? (unsigned long)kp->ainsn.insn : kprobe_slot_last(kp);
}

/* Executes the instruction, and runs the post handlers if they wait for that. */
static __always_inline unsigned long execute(struct kprobe *kp, struct pt_regs *regs, bool post)
{
	const struct kprobe_emulation *em = &kp->ainsn.emulation;
	unsigned long led;

	regs->ip = (unsigned long)kp->addr;
	if (!em->fn || !em->fn(em, regs))
		return branch_copy(kp);
	led = regs->ip;
	if (post)
		kprobe_hit_post(site_of(kp), regs);
	return kprobe_resume_ip(kp, regs->ip, led);
}

/*
 * Executes a branch, then runs the post handlers. The pre handlers have run. Returns where to
 * resume: if the branch cannot be emulated, at its copy, and the post handlers run behind that.
 */
unsigned long __kprobes kprobe_execute_post(struct kprobe_site *site, struct pt_regs *regs)
{
	regs->orig_ax = -1;
	return execute(&site->kp, regs, true);
}

/* Has to agree with what after_hit() does. */
const char *arch_kprobe_path(struct kprobe *kp)
{
	if (kp->ainsn.emulation.boosted)
		return "boost";
	return kp->ainsn.emulation.fn ? "emulate" : "step";
}

/* Checks for the int3 behind a copy: it has pushed the target of a branch. */
static noinline bool __kprobes step_done(struct pt_regs *regs)
{
	unsigned long at = regs->ip - INT3_INSN_SIZE;
	struct kprobe *kp = kprobe_slot_owner(at);
	unsigned long led;

	if (!kp || !kp->ainsn.emulation.memory ||
	    at != branch_copy(kp) + kp->ainsn.emulation.copied)
		return false;
	regs->ip = (unsigned long)kp->addr;
	if (!kprobe_emulate_pushed(&kp->ainsn.emulation, regs)) {
		regs->ip = kprobe_slot_last(kp);
		return true;
	}
	led = regs->ip;
	if (READ_ONCE(kp->post_handler))
		kprobe_hit_post(site_of(kp), regs);
	regs->ip = kprobe_resume_ip(kp, regs->ip, led);
	return true;
}

/* If the breakpoint was removed after this CPU had hit it, the restored text is executed. */
static noinline bool __kprobes taken_out(struct pt_regs *regs)
{
	unsigned long at = regs->ip - INT3_INSN_SIZE;
	u8 byte;

	__get_kernel_nofault(&byte, (u8 *)at, u8, unreadable);
	if (byte == INT3_INSN_OPCODE)
		return false;
	regs->ip = at;
	return true;
unreadable:
	return false;
}

/* Returns where to resume. */
static __always_inline unsigned long after_hit(struct kprobe *kp, struct pt_regs *regs,
					       enum kprobe_result what)
{
	regs->orig_ax = -1;
	if (unlikely(what == KPROBE_RESULT_REDIRECTED))
		return regs->ip;
	if (unlikely(what == KPROBE_RESULT_POST))
		return kp->ainsn.emulation.boosted ? kprobe_slot_last(kp)
						  : kprobe_execute_post(site_of(kp), regs);
	if (kp->ainsn.emulation.boosted)
		return kprobe_optimized(kp) ? kprobe_detour_copy(kp)
					    : (unsigned long)kp->ainsn.insn;
	/* It is inside of another hit's mark: a fault would look like a handler's. */
	if (unlikely(what == KPROBE_RESULT_MISSED) && kp->ainsn.emulation.memory)
		return branch_copy(kp);
	return execute(kp, regs, false);
}

static __always_inline bool tail_exit(struct pt_regs *regs, struct kprobe *kp)
{
	return kprobe_resume(regs, kprobe_resume_ip(kp, regs->ip, kprobe_next_ip(kp)));
}

/*
 * Called when the copy for hits with a post handler was executed. ip in @regs is not set yet;
 * preemption is as in the probed code. Returns true if all of @regs has to be loaded to resume.
 */
bool __kprobes __noendbr kprobe_tail_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	kprobe_mend_flags(regs);
	regs->ip = kprobe_next_ip(&site->kp);
	guard(preempt_notrace)();
	kprobe_hit_post(site, regs);
	return tail_exit(regs, &site->kp);
}

/* The end of it, after assembly has disabled preemption and called a handler by itself. */
bool __kprobes __noendbr kprobe_tail_called(struct pt_regs *regs, struct kprobe_site *site)
{
	bool all;

	kprobe_mark_end(kprobe_own_mark(0));
	all = tail_exit(regs, &site->kp);
	preempt_enable_notrace();
	return all;
}

/* Called by the int3 exception, with interrupts off. Returns 1 if the int3 was ours, else 0. */
int __kprobes kprobe_int3_handler(struct pt_regs *regs)
{
	struct kprobe_site *site;
	bool ours = true;

	if (user_mode(regs))
		return 0;

	__this_cpu_add(kprobe_int3_count, INT3_COUNT);
	site = kprobe_find_site(regs->ip - INT3_INSN_SIZE);
	if (likely(site)) {
		regs->orig_ax = KPROBE_HIT_ORIG_AX;
		/* It was for the int3: a processor's breakpoint on what follows is to be hit. */
		regs->flags &= ~X86_EFLAGS_RF;
		regs->ip = after_hit(&site->kp, regs, kprobe_hit_pre(site, regs));
	} else {
		ours = step_done(regs) || taken_out(regs);
	}
	__this_cpu_sub(kprobe_int3_count, INT3_COUNT);
	return ours;
}

/*
 * The other copies of a detour are not meant: these instructions have no fixups, and can only
 * continue in the detour, so their faults stay where they are.
 */
struct kprobe __kprobes *arch_kprobe_copy_owner(unsigned long ip)
{
	struct kprobe *kp = kprobe_slot_owner(ip);

	if (kp && (ip == (unsigned long)kp->ainsn.insn || ip == kprobe_detour_copy(kp) ||
		   ip == kprobe_slot_last(kp)))
		return kp;
	return NULL;
}

/*
 * Returns the address of the instruction whose copy is at @ip, in a slot or detour, or @ip itself
 * if there is none. May be called in any context, NMI included.
 */
unsigned long __kprobes kprobe_original_ip(unsigned long ip)
{
	unsigned long original = ip, offset;
	struct kprobe *kp;

	guard(preempt_notrace)();
	kp = kprobe_slot_owner(ip);
	if (kp)
		original = kprobe_original_in_detour(kp, ip);
	if (kp && !original) {
		/* In a slot, the next instruction is meant behind a copy. */
		offset = (ip - (unsigned long)kp->ainsn.insn) % KPROBE_SLOT_LAST_OFFSET;
		original = (unsigned long)kp->addr;
		if (offset >= kp->ainsn.emulation.copied)
			original += kp->ainsn.emulation.length;
	}
	return original;
}
