// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints on x86: what happens at a hit. They are written by slot.c.
 *
 * A probed instruction is carried out in the first of these ways that is possible:
 *
 * - boosted, by a copy that jumps back, unless there is a post handler
 * - emulated on the saved registers, which is for branches
 * - by a copy that is followed by a call of the post handlers (see tail.c)
 * - stepped, by a copy that ends in another int3
 *
 * No state is kept between the hit and that second int3: the site is found from the address
 * of the slot. So the copy runs with interrupts and preemption as in the probed code, can be
 * interrupted by anything, and can fault.
 */
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <asm/text-patching.h>

#include "internal.h"

/* See arch_kprobe_level(). */
DEFINE_PER_CPU(unsigned int, kprobe_int3_count);
#define INT3_COUNT	(NMI_OFFSET + HARDIRQ_OFFSET)

/* The address behind a copy, where its int3 or its jump back is. */
static __always_inline unsigned long copy_end(const struct kprobe *kp,
					      unsigned long copy)
{
	return copy + kp->ainsn.emulation.copied;
}

/* Goes on after the instruction, with the post handlers first if there are any. */
static __always_inline void carried_out(struct kprobe *kp, struct pt_regs *regs, bool post)
{
	if (!post) {
		regs->ip = kprobe_way_out(kp, regs->ip);
		return;
	}
	kprobe_hit_post(kp, regs);
	regs->ip = kprobe_way_after(kp, regs->ip);
}

/* Carries the instruction out, or lets the probed code continue at a copy of it. */
static __always_inline void carry_out(struct kprobe *kp, struct pt_regs *regs,
				      enum kprobe_result what)
{
	const struct kprobe_emulation *em = &kp->ainsn.emulation;
	bool post = what == KPROBE_RESULT_POST;

	if (kp->ainsn.boosted && !post) {
		regs->ip = kprobe_optimized(kp) ? kprobe_detour_copy(kp)
						: (unsigned long)kp->ainsn.insn;
		return;
	}
	/* A missed hit is inside of another hit's mark: a fault would look like a handler's. */
	if (em->fn && !(what == KPROBE_RESULT_MISSED && em->memory)) {
		regs->ip = (unsigned long)kp->addr;
		if (em->fn(em, regs)) {
			carried_out(kp, regs, post);
			return;
		}
	}
	regs->ip = kprobe_last_copy(kp);
}

/**
 * kprobe_carry_out_post() - carry the instruction out, then run the post handlers
 * @kp: a site whose pre handlers have run
 * @regs: the registers; the instruction pointer is set to where to continue
 *
 * If the instruction cannot be emulated, execution continues at a copy, and the post handlers
 * run behind that.
 *
 * Context: any, NMI included, preemption off.
 */
void kprobe_carry_out_post(struct kprobe *kp, struct pt_regs *regs)
{
	carry_out(kp, regs, KPROBE_RESULT_POST);
}

NOKPROBE_SYMBOL(kprobe_carry_out_post);

/* Has to agree with what carry_out() does at a hit. */
const char *arch_kprobe_path(struct kprobe *kp)
{
	if (kp->ainsn.boosted)
		return "boost";
	return kp->ainsn.emulation.fn ? "emulate" : "step";
}

/* Is this the int3 behind a copy? Then the instruction has been carried out. */
static bool step_done(unsigned long at, struct pt_regs *regs)
{
	struct kprobe *kp = kprobe_slot_owner(at);

	if (!kp || at != copy_end(kp, kprobe_last_copy(kp)))
		return false;
	regs->ip = (unsigned long)kp->addr;
	if (!kp->ainsn.emulation.memory) {
		regs->ip += kp->ainsn.emulation.length;
	} else if (!kprobe_emulate_pushed(&kp->ainsn.emulation, regs)) {
		regs->ip = (unsigned long)kp->ainsn.insn + KPROBE_SLOT_LAST_OFFSET;
		return true;
	}
	carried_out(kp, regs, READ_ONCE(kp->post_handler));
	return true;
}

NOKPROBE_SYMBOL(step_done);

/* Was the breakpoint removed after this CPU had hit it? Then the restored text is executed. */
static bool taken_out(unsigned long at, struct pt_regs *regs)
{
	u8 byte;

	__get_kernel_nofault(&byte, (u8 *)at, u8, unreadable);
	if (byte == INT3_INSN_OPCODE)
		return false;
	regs->ip = at;
	return true;
unreadable:
	return false;
}

NOKPROBE_SYMBOL(taken_out);

static __always_inline void after_hit(struct kprobe *kp, struct pt_regs *regs,
				      enum kprobe_result what)
{
	regs->orig_ax = -1;
	if (what == KPROBE_RESULT_REDIRECTED)
		regs->ip = kprobe_way_after(kp, regs->ip);
	else
		carry_out(kp, regs, what);
}

/* Out of line, so that what is rare takes no registers from the rest. */
static noinline void after_rare_hit(struct kprobe *kp, struct pt_regs *regs,
				    enum kprobe_result what)
{
	after_hit(kp, regs, what);
}

NOKPROBE_SYMBOL(after_rare_hit);

static __always_inline void site_hit(struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe *kp = kprobe_of(site);
	enum kprobe_result what;

	regs->orig_ax = KPROBE_HIT_ORIG_AX;
	/* It was for the int3: a breakpoint of the processor on what follows is to be hit. */
	regs->flags &= ~X86_EFLAGS_RF;
	what = kprobe_hit_site(kp, regs);
	if (likely(what == KPROBE_RESULT_CONTINUE))
		after_hit(kp, regs, what);
	else
		after_rare_hit(kp, regs, what);
}

/**
 * kprobe_int3_handler() - handle an int3, if it is ours
 * @regs: registers after the int3
 *
 * Context: the int3 exception, interrupts off.
 * Return: 1 if the int3 was ours, else 0.
 */
int kprobe_int3_handler(struct pt_regs *regs)
{
	unsigned long at = regs->ip - INT3_INSN_SIZE;
	struct kprobe_site *site;
	bool ours = true;

	if (user_mode(regs))
		return 0;

	__this_cpu_add(kprobe_int3_count, INT3_COUNT);
	site = kprobe_find_site(at);
	if (likely(site))
		site_hit(site, regs);
	else
		ours = step_done(at, regs) || taken_out(at, regs);
	__this_cpu_sub(kprobe_int3_count, INT3_COUNT);
	return ours;
}

NOKPROBE_SYMBOL(kprobe_int3_handler);

/**
 * kprobe_fault_handler() - handle a kernel fault, before a fixup is looked for
 * @regs: registers at the fault
 * @trapnr: the exception's vector
 *
 * A fault in a copy of the probed instruction becomes a fault of the original: the instruction
 * pointer is set to its address, which fault handlers and the exception table know. Faults in
 * the other copies of a detour stay where they are: these instructions have no fixups, and can
 * only continue in the detour.
 *
 * Context: any, preemption off.
 * Return: 1 if a probe's fault handler has handled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe *kp = kprobe_slot_owner(regs->ip);
	unsigned long copy = regs->ip;

	if (!kp)
		return 0;
	if (copy != (unsigned long)kp->ainsn.insn && copy != kprobe_detour_copy(kp) &&
	    copy != (unsigned long)kp->ainsn.insn + KPROBE_SLOT_LAST_OFFSET)
		return 0;
	return kprobe_hit_fault(kp, regs, trapnr);
}

NOKPROBE_SYMBOL(kprobe_fault_handler);

/*
 * From an address in a slot to the original: the probed instruction, or the next one if @ip is
 * behind a copy.
 */
static __always_inline unsigned long copied_into_slot(struct kprobe *kp, unsigned long ip)
{
	unsigned long offset = ip - (unsigned long)kp->ainsn.insn;
	const struct kprobe_emulation *em = &kp->ainsn.emulation;

	offset %= KPROBE_SLOT_LAST_OFFSET;
	return (unsigned long)kp->addr + (offset < em->copied ? 0 : em->length);
}

/**
 * kprobe_original_ip() - from an address in a slot or detour to the original
 * @ip: any address
 *
 * Context: any, NMI included.
 * Return: the address of the instruction whose copy is at @ip, or @ip itself if there is no
 * copy.
 */
unsigned long kprobe_original_ip(unsigned long ip)
{
	struct kprobe *kp;

	preempt_disable_notrace();
	kp = kprobe_slot_owner(ip);
	if (kp)
		ip = kprobe_covered_by_copy(kp, ip) ?: copied_into_slot(kp, ip);
	preempt_enable_notrace();
	return ip;
}

NOKPROBE_SYMBOL(kprobe_original_ip);
