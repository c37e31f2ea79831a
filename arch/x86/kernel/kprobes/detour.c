// SPDX-License-Identifier: GPL-2.0-only
/* Hits through the jump to a detour. The assembly part is entry.S. */
#include <linux/preempt.h>
#include <linux/unaligned.h>

#include "internal.h"

unsigned long __kprobes arch_kprobe_resume_ip(unsigned long ip)
{
	struct arch_optimized_insn *optinsn;
	struct kprobe_site *site;
	unsigned long i;

	for (i = 1; i < JMP32_INSN_SIZE; i++) {
		site = kprobe_find_site(ip - i);
		if (!site || !kprobe_optimized(&site->kp))
			continue;
		optinsn = kprobe_optinsn(&site->kp);
		return (unsigned long)optinsn->insn + optinsn->copy[i];
	}
	return ip;
}

/* Prepares to resume after a hit. Returns true if all of the registers have to be loaded. */
static __always_inline bool detour_exit(struct kprobe *kp, struct pt_regs *regs,
					enum kprobe_result what)
{
	if (unlikely(what == KPROBE_RESULT_REDIRECTED)) {
		/* A trace that begins here must not look for the instruction before. */
		regs->orig_ax = -1;
		return true;
	}
	if (unlikely(what == KPROBE_RESULT_POST)) {
		return kprobe_resume(regs, kp->ainsn.emulation.boosted ? kprobe_slot_last(kp)
						 : kprobe_execute_post(site_of(kp), regs));
	}
	if (likely(!kprobe_sp_changed(regs)))
		return false;
	regs->ip = kprobe_detour_copy(kp);
	return true;
}

/*
 * Called when a jump in the text was taken. ip in @regs is not set yet; preemption is as in the
 * probed code. Returns true if all of @regs has to be loaded to resume.
 */
bool __kprobes __noendbr kprobe_detour_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	bool all;

	kprobe_mend_flags(regs);
	regs->ip = (unsigned long)site->kp.addr + INT3_INSN_SIZE;
	preempt_disable_notrace();
	all = detour_exit(&site->kp, regs, kprobe_hit_pre(site, regs));
	preempt_enable_notrace();
	return all;
}

/* The end of it, after assembly has disabled preemption and called a handler by itself. */
bool __kprobes __noendbr kprobe_detour_called(struct pt_regs *regs, struct kprobe_site *site,
					      int chosen)
{
	bool all = detour_exit(&site->kp, regs, kprobe_hit_called(site, regs, chosen));

	preempt_enable_notrace();
	return all;
}

/*
 * Returns the address of the original instruction, or if @ip is behind all copies, that of the next
 * one; 0 if @ip is not in the detour of @kp. If a call's copy, which is a push and a jump, has
 * pushed the return address, it is the address of what is called: the stack is as there.
 */
unsigned long __kprobes kprobe_original_in_detour(struct kprobe *kp, unsigned long ip)
{
	struct arch_optimized_insn *optinsn = kprobe_optinsn(kp);
	unsigned long offset = ip - (unsigned long)optinsn->insn;
	const u8 *jump = optinsn->insn + optinsn->call;
	int i;

	if (!optinsn->insn || offset >= DETOUR_SIZE)
		return 0;
	if (offset >= optinsn->end)
		return (unsigned long)kp->addr + kp->covered;
	if (optinsn->call && offset >= optinsn->call)
		return (unsigned long)jump + JMP32_INSN_SIZE + get_unaligned((s32 *)(jump + 1));
	for (i = JMP32_INSN_SIZE - 1; i > 0; i--) {
		if (optinsn->copy[i] && optinsn->copy[i] <= offset)
			break;
	}
	return (unsigned long)kp->addr + i;
}
