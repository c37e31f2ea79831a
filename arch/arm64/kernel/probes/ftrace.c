// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function entries on arm64: at the beginning of a function, behind its landing pad if it has one,
 * the compiler leaves room for two instructions. These copy the link register to x9, and call
 * ftrace. Nothing has to be executed for a probe on the function's first word. Its handlers get the
 * registers as at a breakpoint there, except that x9 is the link register already.
 */
#include <linux/align.h>
#include <linux/ftrace.h>
#include <linux/preempt.h>

#include "internal.h"

/*
 * From ftrace's location to the function. A pointer to ftrace's ops is in front of functions, so
 * they are aligned to 8; and ftrace's call is their second or third instruction.
 */
static __always_inline unsigned long entry_of(unsigned long ip)
{
	return ALIGN_DOWN(ip - AARCH64_INSN_SIZE, sizeof(u64));
}

unsigned long arch_kprobe_ftrace_location(unsigned long addr)
{
	const struct kprobe_function *f = kprobe_function_at(addr);
	unsigned long ip;

	/* Do not have ftrace search where there can be no such location. */
	if (!f || f->start != addr)
		return 0;
	ip = ftrace_location_range(f->start, f->end - 1);
	return ip && entry_of(ip) == addr ? ip : 0;
}

/* ftrace writes a branch in place of a nop, which is all that the CPUs need, but for when. */
void arch_kprobe_ftrace_armed(void)
{
	kprobe_sync_cpus();
}

/* A handler has set where to resume, if that is @chosen. */
static __always_inline void entry_done(struct pt_regs *regs, bool chosen)
{
	/*
	 * It can return for the function, by setting the program counter to the link register. But
	 * others are called at this entry after the probe. The graph tracer diverts the return by
	 * the link register, and BPF's trampolines call what the program counter points to, and
	 * expect that to return. So go to a function that returns.
	 */
	if (unlikely(chosen) && regs->pc == regs->regs[30])
		regs->pc = (unsigned long)ftrace_stub;
}

/*
 * The core guards against recursion, by context level; ftrace's guard would lose hits.
 * @fregs always has all registers, because the core's ops ask for them.
 */
void __kprobes kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = &arch_ftrace_regs(fregs)->regs;
	struct kprobe_site *site;

	guard(preempt_notrace)();
	CLASS(kprobe_watch, idle)(regs);
	site = kprobe_find_site(entry_of(ip));
	if (likely(site))
		entry_done(regs, kprobe_hit_entry(site, regs, entry_of(ip),
						  ip + AARCH64_INSN_SIZE));
}

/*
 * The same by the core's own trampoline, which has put where to resume into the frame record.
 * Returns that, or where a handler has chosen to.
 */
asmlinkage unsigned long __kprobes kprobe_entry_hit(struct pt_regs *regs, struct kprobe_site *site)
{
	regs->pc = regs->stackframe[1];
	kprobe_ftrace_handler(regs->pc - AARCH64_INSN_SIZE, 0, NULL, (struct ftrace_regs *)regs);
	return regs->pc;
}

/* The end of it, after assembly has disabled preemption and called a handler by itself. */
asmlinkage unsigned long __kprobes
kprobe_entry_called(struct pt_regs *regs, struct kprobe_site *site, int chosen)
{
	unsigned long resume = regs->stackframe[1];

	entry_done(regs, kprobe_entry_done(site, regs, kprobe_hit_called(site, regs, chosen),
					   resume, resume));
	preempt_enable_notrace();
	return regs->pc;
}
