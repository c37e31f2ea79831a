// SPDX-License-Identifier: GPL-2.0-only
/*
 * For architectures that keep state between the exceptions of a hit, without
 * ARCH_KPROBE_STATELESS: what the core does for them alone.
 */
#include <linux/cleanup.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/kprobes_hit.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "internal.h"

/**
 * kprobe_legacy_unregister() - remove all probes at an address, given what get_kprobe() returned
 * @kp: any kprobe
 *
 * sh does that in a trap, when a breakpoint turns out to be in a delay slot. What get_kprobe()
 * returned is not the caller's, so nobody waits for handlers.
 *
 * Context: as unregister_kprobe().
 * Return: false if @kp is not what get_kprobe() returns.
 */
bool kprobe_legacy_unregister(struct kprobe *kp)
{
	struct kprobe_site *site;
	struct kprobe *p, *next;
	struct kprobe_plan plan;

	scoped_guard(preempt)
		if (kp != get_kprobe(kp->addr))
			return false;
	kprobe_plan_init(&plan);
	guard(kprobe_lock)();
	site = kprobe_find_site((unsigned long)kp->addr);
	if (site && &site->kp == kp)
		list_for_each_entry_safe(p, next, &site->probes, list)
			kprobe_site_detach(site, p, &plan);
	kprobe_plan_apply(&plan);
	return true;
}

#if !ARCH_KPROBE_STATELESS
int __init __weak arch_init_kprobes(void)
{
	return 0;
}

int __weak arch_prepare_kprobe_ftrace(struct kprobe *kp)
{
	return 0;
}

bool __weak arch_within_kprobe_blacklist(unsigned long addr)
{
	return addr >= (unsigned long)__kprobes_text_start &&
	       addr < (unsigned long)__kprobes_text_end;
}

int __weak arch_trampoline_kprobe(struct kprobe *kp)
{
	return 0;
}

NOKPROBE_SYMBOL(arch_trampoline_kprobe);

int __weak kprobe_exceptions_notify(struct notifier_block *self, unsigned long val, void *data)
{
	return NOTIFY_DONE;
}

NOKPROBE_SYMBOL(kprobe_exceptions_notify);

/* Called before all others, which must not take a probe's breakpoint for their own. */
static struct notifier_block kprobe_die_nb = {
	.notifier_call	= kprobe_exceptions_notify,
	.priority	= INT_MAX,
};

/**
 * kprobe_legacy_init() - initialize the architecture's part
 *
 * Context: once, at boot.
 * Return: 0, or an errno.
 */
int __init kprobe_legacy_init(void)
{
	return arch_init_kprobes() ?: register_die_notifier(&kprobe_die_nb);
}

/**
 * kprobe_legacy_addr() - get the address that a user means
 * @addr: the address that was asked for
 *
 * Bit 0 is set in a pointer to a Thumb function, and arm's code looks for a site with that first.
 *
 * Context: any.
 * Return: the address of the instruction.
 */
unsigned long kprobe_legacy_addr(unsigned long addr)
{
	return IS_ENABLED(CONFIG_THUMB2_KERNEL) ? addr & ~1UL : addr;
}

/**
 * kprobe_legacy_in_ftrace_call() - check for a call of ftrace, behind its first instruction
 * @addr: an address in text
 *
 * Others find that out themselves. No probe there is by ftrace, so nobody would keep the two apart.
 *
 * Context: may sleep.
 * Return: true if it is.
 */
bool kprobe_legacy_in_ftrace_call(unsigned long addr)
{
	void *at = (void *)addr;

	return ftrace_text_reserved(at, at) && ftrace_location(addr) != addr;
}

/**
 * kprobe_legacy_counts() - check for a function that is called to count hits and misses
 * @f: the function
 *
 * Hits are known to be nested only after that. On sparc64 all atomic operations are functions. On
 * sh and mips they may mask interrupts by functions.
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_legacy_counts(const struct kprobe_function *f)
{
	if (f->module)
		return false;
	if (IS_ENABLED(CONFIG_SPARC64))
		return str_has_prefix(f->name, "arch_atomic");
	return (IS_ENABLED(CONFIG_SUPERH) || IS_ENABLED(CONFIG_MIPS)) &&
	       str_has_prefix(f->name, "arch_local_");
}

/**
 * kprobe_legacy_join() - prepare a probe that is going to be on a site
 * @site: the site
 * @p: the probe
 *
 * powerpc's code looks at the copy of what is running, in handlers of returns, too.
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_legacy_join(struct kprobe_site *site, struct kprobe *p)
{
	p->ainsn = site->kp.ainsn;
}

/**
 * kprobe_legacy_wait() - wait for hits in text that was restored and is about to be freed
 *
 * Their sites are settled at once when it is. In a detour, and on s390 in the exception, too, a
 * task can be preempted before the site has been looked up.
 *
 * Context: between kprobe_lock() and kprobe_unlock(). The text lock cannot be taken after this.
 */
void kprobe_legacy_wait(void)
{
	kprobe_unlock_cpus();
	kprobe_wait_for_tasks();
}

/**
 * kprobe_site_pre() - pre_handler of every site's own kprobe
 * @kp: the site's own kprobe
 * @regs: registers at the hit
 *
 * For architectures that have their own guard against recursion, and call this with
 * current_kprobe set.
 *
 * Context: any, NMI included, preemption off.
 * Return: 1 if a handler has set where to continue, else 0.
 */
int kprobe_site_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return kprobe_hit_pre(site_of(kp), regs) == KPROBE_RESULT_REDIRECTED;
}

NOKPROBE_SYMBOL(kprobe_site_pre);

/**
 * kprobe_site_post() - post_handler of every site's own kprobe
 * @kp: the site's own kprobe
 * @regs: registers as the instruction left them
 * @flags: not used
 *
 * Context: as kprobe_site_pre().
 */
void kprobe_site_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kprobe_hit_post(site_of(kp), regs);
}

NOKPROBE_SYMBOL(kprobe_site_post);
#endif
