// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function entries on x86: ftrace calls, and nothing has to be carried out,
 * because the probed instruction is ftrace's own nop.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <linux/preempt.h>

#include "common.h"

static __always_inline void entry_hit(unsigned long ip, struct pt_regs *regs)
{
	unsigned long resume = regs->ip;
	struct kprobe_hit_at hit;

	/* Handlers find the registers of a breakpoint, whatever led here. */
	regs->ip = ip + INT3_INSN_SIZE;
	hit = kprobe_hit_at(ip, regs);
	if (unlikely(hit.what == KPROBE_HIT_REDIRECTED))
		return;
	if (unlikely(hit.p && hit.p->post_handler && hit.what == KPROBE_HIT_CONTINUE)) {
		regs->ip = ip + MCOUNT_INSN_SIZE;
		kprobe_hit_post(hit.p, regs);
	}
	regs->ip = resume;
}

/*
 * The guard against recursion is the core's, by context level. ftrace's own
 * would take a probe in an interrupt on top of a breakpoint's handler for one
 * of the same context, and lose it.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);

	if (unlikely(kprobe_ftrace_disabled || !regs))
		return;
	preempt_disable_notrace();
	entry_hit(ip, regs);
	preempt_enable_notrace();
}

NOKPROBE_SYMBOL(kprobe_ftrace_handler);

int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	return 0;
}
