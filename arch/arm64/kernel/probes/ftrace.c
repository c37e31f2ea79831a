// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function entries on arm64: the compiler leaves room for two instructions behind
 * a function's landing pad, if it has one. There the link register is copied to x9,
 * and ftrace is called. Nothing has to be carried out for a probe.
 *
 * The probe is on the function's first word, and its handlers find the registers of
 * a breakpoint there, but for x9, which is the link register already.
 */
#include <linux/align.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/kprobes_hit.h>
#include <linux/preempt.h>
#include <asm/insn.h>

#ifndef CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS
/* ftrace changes what this calls, and no table tells of it. */
NOKPROBE_SYMBOL(ftrace_call);
#endif

/*
 * Functions are aligned to the pointer before them, which is to ftrace's ops. The
 * call is their second instruction or their third.
 */
static __always_inline unsigned long entry_of(unsigned long ip)
{
	return ALIGN_DOWN(ip - AARCH64_INSN_SIZE, sizeof(u64));
}

unsigned long arch_kprobe_ftrace_location(unsigned long addr)
{
	const struct kprobe_function *f = kprobe_function_at(addr);
	unsigned long ip;

	/* Elsewhere than at a function's beginning, it would look for a symbol. */
	if (!f || f->start != addr)
		return 0;
	ip = ftrace_location_range(f->start, f->end - 1);
	return ip && entry_of(ip) == addr ? ip : 0;
}

int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	return 0;
}

static __always_inline __kprobes bool step_over(struct kprobe *p, struct pt_regs *regs)
{
	regs->pc = site_of(p)->ftrace_ip + AARCH64_INSN_SIZE;
	return true;
}

static __always_inline void entry_hit(unsigned long entry, struct pt_regs *regs)
{
	struct kprobe_site *site = kprobe_find_site(entry);
	unsigned long resume = regs->pc;

	if (unlikely(!site))
		return;
	regs->pc = entry;
	if (likely(kprobe_hit_site(kprobe_of(site), regs, step_over) != KPROBE_HIT_REDIRECTED))
		regs->pc = resume;
}

/*
 * Recursion is the core's to see, by context level; ftrace's guard would lose hits.
 * All registers are there: an ops that asks for them is not called without.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	preempt_disable_notrace();
	entry_hit(entry_of(ip), &arch_ftrace_regs(fregs)->regs);
	kprobe_preempt_enable(0);
}

NOKPROBE_SYMBOL(kprobe_ftrace_handler);
