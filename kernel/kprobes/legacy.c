// SPDX-License-Identifier: GPL-2.0-only
/*
 * For architectures that keep state between the exceptions of a hit, without ARCH_KPROBE_STATELESS:
 * what the core does for them alone.
 */
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/limits.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "internal.h"

/*
 * Removes all probes at an address, given what get_kprobe() returned; else returns false. sh does
 * that in a trap, when a breakpoint turns out to be in a delay slot. The kprobe is not the
 * caller's, so nobody waits for handlers.
 */
bool kprobe_legacy_unregister(struct kprobe *kp)
{
	struct kprobe_site *site;
	struct kprobe *p, *next;
	DEFINE_KPROBE_PLAN(plan);

	scoped_guard(preempt)
		if (kp != get_kprobe(kp->addr))
			return false;
	guard(kprobe_lock)();
	site = kprobe_find_site((unsigned long)kp->addr);
	if (site && &site->kp == kp)
		list_for_each_entry_safe(p, next, &site->probes, list)
			kprobe_site_detach(site, p, &plan);
	kprobe_plan_apply(&plan);
	return true;
}

#if !ARCH_KPROBE_STATELESS
struct kretprobe_blackpoint __weak kretprobe_blacklist[1];

int __weak arch_prepare_kprobe_ftrace(struct kprobe *kp)
{
	return 0;
}

bool __weak arch_within_kprobe_blacklist(unsigned long addr)
{
	return addr >= (unsigned long)__kprobes_text_start &&
	       addr < (unsigned long)__kprobes_text_end;
}

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

int __init kprobe_legacy_init(void)
{
	return arch_init_kprobes() ?: register_die_notifier(&kprobe_die_nb);
}

/*
 * Checks for a function that is called to count hits and misses. Hits are known to be nested only
 * after that. On sparc64 all atomic operations are functions. On sh and mips they may mask
 * interrupts by functions.
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

/*
 * The pre_handler and post_handler of every site's own kprobe, for architectures with a guard of
 * their own against recursion. They call these with current_kprobe set.
 */
int __kprobes kprobe_site_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return kprobe_hit_pre(site_of(kp), regs) == KPROBE_RESULT_REDIRECTED;
}

void __kprobes kprobe_site_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kprobe_hit_post(site_of(kp), regs);
}
#endif
