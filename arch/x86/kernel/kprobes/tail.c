// SPDX-License-Identifier: GPL-2.0-only
/*
 * Behind the copy for hits with a post handler. The assembly parts are detour_entry_{32,64}.S.
 */
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <linux/preempt.h>
#include <asm/ibt.h>
#include <asm/ptrace.h>

#include "internal.h"

/**
 * kprobe_tail_hit() - the copy for hits with a post handler was executed
 * @regs: the registers as the copy left them, except for ip and orig_ax
 * @kp: the site
 *
 * Context: any; preemption as in the probed code.
 * Return: true if all of @regs has to be loaded to continue.
 */
unsigned long __noendbr kprobe_tail_hit(struct pt_regs *regs, struct kprobe *kp)
{
	unsigned long all;

	kprobe_mend_flags(regs);
	regs->ip = (unsigned long)kp->addr + kp->ainsn.emulation.length;
	regs->orig_ax = -1;
	preempt_disable_notrace();
	if (likely(READ_ONCE(kp->post_handler)))
		kprobe_hit_post(kp, regs);
	all = kprobe_go_on(regs, kprobe_way_after(kp, regs->ip));
	return kprobe_preempt_enable(all);
}

NOKPROBE_SYMBOL(kprobe_tail_hit);
