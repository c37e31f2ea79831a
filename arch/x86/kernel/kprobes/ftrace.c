// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function entries on x86: ftrace calls the handler. Nothing has to be executed, because the probed
 * instruction is ftrace's own nop.
 */
#include <linux/ftrace.h>
#include <linux/preempt.h>

#include "internal.h"

/* ftrace patches the calls at these labels, but has them in no table. */
NOKPROBE_SYMBOL(ftrace_call);
NOKPROBE_SYMBOL(ftrace_regs_call);

/*
 * The core guards against recursion, by context level. ftrace's guard is not used: it would take a
 * hit in an interrupt on top of a breakpoint's handler for recursion in the same context.
 *
 * ftrace may still call after it has shut itself down. Sites that are left are hit then, and others
 * are not found.
 *
 * @fregs has all registers, because the core's ops ask for them. But a task may have been
 * preempted where ftrace saves them, since before there was a probe. Its call is no hit.
 */
void __kprobes kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = &arch_ftrace_regs(fregs)->regs;
	struct kprobe_site *site;

	/* As ftrace_get_regs() finds it out, which looks at both here. */
	if (unlikely(IS_ENABLED(CONFIG_X86_32) ? !fregs : !regs->cs))
		return;
	guard(preempt_notrace)();
	site = kprobe_find_site(ip);
	if (likely(site)) {
		kprobe_mend_flags(regs);
		/* Handlers get the registers as at a breakpoint. */
		kprobe_hit_entry(site, regs, ip + INT3_INSN_SIZE, ip + MCOUNT_INSN_SIZE);
	}
}

#ifdef CONFIG_X86_64
/*
 * The same by the core's own trampoline, which saves registers right below the word that holds
 * where to resume. Returns false: with ftrace, a handler cannot move the stack pointer.
 */
bool __kprobes __noendbr kprobe_entry_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	unsigned long *resume = (unsigned long *)(regs + 1);

	regs->ip = *resume;
	kprobe_ftrace_handler(regs->ip - MCOUNT_INSN_SIZE, 0, NULL, (struct ftrace_regs *)regs);
	*resume = regs->ip;
	return false;
}

/* The end of it, after assembly has disabled preemption and called a handler by itself. */
bool __kprobes __noendbr kprobe_entry_called(struct pt_regs *regs, struct kprobe_site *site,
					     int chosen)
{
	unsigned long *resume = (unsigned long *)(regs + 1);

	kprobe_entry_done(site, regs, kprobe_hit_called(site, regs, chosen), *resume, *resume);
	*resume = regs->ip;
	preempt_enable_notrace();
	return false;
}
#endif
