// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kprobes: what users call, the global switch, and how all of it begins. The rest is in
 * kernel/kprobes/: register.c leads to site.c, which has the code for a single probed address, a
 * site. internal.h there has the order of locks, linux/kprobes_hit.h the states of a site.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/export.h>
#include <linux/init.h>
#include <linux/module.h>
#include <asm/sections.h>

#include "kprobes/internal.h"

/* Protects all sites and everything that refers to them; internal.h has the order of locks. */
DEFINE_MUTEX(kprobe_mutex);

/* Sites by address, for lookups at hits. */
struct kprobe_table kprobe_site_table = KPROBE_TABLE_INIT(kprobe_site_table, &kprobe_mutex);

/* All sites; and by address, those whose text was freed under their probes. */
LIST_HEAD(kprobe_sites);
DEFINE_HASHTABLE(kprobe_gone_sites, 8);

/* The global switch. Single probes are enabled and disabled independently of it. */
bool kprobes_all_disarmed;

/* The kernel's own init text is about to be freed. */
bool kprobe_init_text_goes;

static bool site_has(struct kprobe_site *site, struct kprobe *p)
{
	struct kprobe *other;

	list_for_each_entry(other, &site->probes, list)
		if (other == p)
			return true;
	return false;
}

/*
 * Finds the site that a probe is registered at, or NULL. @p may be garbage: nothing of it is
 * trusted.
 */
struct kprobe_site *kprobe_site_holding(struct kprobe *p)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);
	site = kprobe_find_site((unsigned long)p->addr);
	if (site && site_has(site, p))
		return site;
	hash_for_each_possible(kprobe_gone_sites, site, kp.hlist, (unsigned long)p->addr)
		if (site_has(site, p))
			return site;
	return NULL;
}

/* Plain probes: each has its own handlers, and nothing else. */
static const struct kprobe_kind kprobe_kind;

/**
 * register_kprobe() - plant a probe
 * @p: what to probe and what to run; belongs to the core until it is unregistered
 *
 * With KPROBE_FLAG_DISABLED in its flags, the probe is planted, but its handlers do not run before
 * enable_kprobe() is called. With KPROBE_FLAG_NESTS, they may run on top of other handlers.
 *
 * Context: may sleep.
 * Return:
 * * 0 - the probe is planted. After an error, nothing has been changed
 * * -EINVAL - neither or both of addr and symbol_name are set; the address is not
 *   in kernel text, or is in text that must not be probed; @p is registered already
 * * -ENOENT - no such symbol; no symbol covers the address; the module is going away, has
 *   not been announced yet, or is about to free this init text
 * * -EILSEQ - not the start of an instruction
 * * -EOPNOTSUPP, -EINVAL - an instruction that cannot be probed
 * * -ERANGE - an instruction whose operand is out of reach for a copy (x86_64)
 * * -EBUSY - the probe has a post handler, and somebody else redirects this function
 * * -ENODEV - a function entry that ftrace serves, and ftrace has shut itself down
 * * -ENOMEM - no memory, or too many sites wait to be freed
 * * -EAGAIN - kprobes are not set up yet, which an early_initcall() does; or BPF is just
 *   changing its program at this function
 */
noinline __noclone int register_kprobe(struct kprobe *p)
{
	return kprobe_register_one(p, &kprobe_kind);
}
EXPORT_SYMBOL_GPL(register_kprobe);

/**
 * register_kprobes() - plant several probes, or none
 * @kps: the probes
 * @num: how many
 *
 * All addresses are checked first, by a call of register_kprobe() for each, so that monitors see
 * them. Then the text is patched, for many probes at once. Others can register and unregister in
 * between.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL unless @num is positive; -ENOMEM; the error of the first probe in
 * @kps whose address cannot be probed; or an error of ftrace's. After an error, none is
 * left planted.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	return kprobe_register(kps, num, &kprobe_kind);
}
EXPORT_SYMBOL_GPL(register_kprobes);

/*
 * Takes a probe off its site. Its handlers may run until the plan is applied and, after that,
 * kprobe_wait_for_handlers() has returned. Returns false if the probe was not registered.
 */
bool kprobe_remove(struct kprobe *p, struct kprobe_plan *plan)
{
	struct kprobe_site *site = kprobe_site_holding(p);

	lockdep_assert_held(&kprobe_mutex);
	if (site)
		kprobe_site_detach(site, p, plan);
	return site;
}

/**
 * unregister_kprobe() - remove a probe
 * @p: the probe
 *
 * Context: as unregister_kprobes().
 */
void unregister_kprobe(struct kprobe *p)
{
	unregister_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

static void remove_chunk(struct kprobe **kps, int num, const struct kprobe_kind *kind,
			 struct llist_head *stopped)
{
	DEFINE_KPROBE_PLAN(plan);
	int i;

	guard(kprobe_lock)();
	for (i = 0; i < num; i++) {
		if (!kprobe_remove(kps[i], &plan))
			kps[i]->addr = NULL;
		else if (kind->stop)
			kind->stop(kps[i], stopped);
	}
	kprobe_plan_apply(&plan);
}

/* Removes probes of any kind, as unregister_kprobes(). */
void kprobe_unregister(struct kprobe **kps, int num, const struct kprobe_kind *kind)
{
	LLIST_HEAD(stopped);
	int i, end;

	if (num <= 0)
		return;
	if (kprobe_cannot_sleep()) {
		if (!kprobe_leave_at_once(kps, num, kind, &stopped))
			return;
	} else {
		for (i = 0; i < num; i = end) {
			end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
			remove_chunk(kps + i, end - i, kind, &stopped);
		}
		kprobe_wait_for_handlers();
	}
	if (kind->release)
		kind->release(&stopped);
	for (i = 0; i < num; i++)
		INIT_LIST_HEAD(&kps[i]->list);
}

/**
 * unregister_kprobes() - remove probes
 * @kps: the probes. If one is not registered, its address is set to NULL
 * @num: how many
 *
 * When this returns, none of their handlers is running or will run, and the structs belong to the
 * caller again. The text is patched for many probes at once, and all of them share one wait.
 *
 * Context: may sleep; not from a handler. Anywhere else this warns. If only preemption is off, or
 * RCU is held, it spins instead of sleeping; it notices that with CONFIG_PREEMPT_COUNT, on x86 and
 * arm64. In handlers, in interrupts, with interrupts off, or if somebody else holds up the removal,
 * the probes are hit no more, but stay registered.
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	if (num != 1 || !kprobe_legacy_unregister(kps[0]))
		kprobe_unregister(kps, num, &kprobe_kind);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

static int set_probe_disabled(struct kprobe *p, bool disabled)
{
	struct kprobe_site *site = kprobe_site_holding(p);
	const u32 before = p->flags;
	DEFINE_KPROBE_PLAN(plan);
	int err;

	if (!site)
		return -EINVAL;
	if (kprobe_gone(p))
		return disabled ? 0 : -EINVAL;

	WRITE_ONCE(p->flags, disabled ? before | KPROBE_FLAG_DISABLED
				      : before & ~KPROBE_FLAG_DISABLED);
	kprobe_site_refresh(site, &plan);
	err = kprobe_plan_apply(&plan);
	/* Only other probes here can fail to be armed, and they were not armed before either. */
	if (disabled)
		return 0;
	if (err) {
		WRITE_ONCE(p->flags, before);
		kprobe_site_refresh(site, &plan);
		kprobe_plan_apply(&plan);
	}
	return err;
}

/**
 * enable_kprobe() - let the handlers of a probe run
 * @p: a registered probe
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @p is not registered or its text is gone; or -EBUSY, -EAGAIN, -ENODEV or
 * -ENOMEM if ftrace cannot serve it, with @p as it was before.
 */
int enable_kprobe(struct kprobe *p)
{
	guard(kprobe_lock)();
	return set_probe_disabled(p, false);
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/**
 * disable_kprobe() - stop the handlers of a probe from running
 * @p: a registered probe, which remains registered
 *
 * This does not wait for handlers that are already running.
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL if @p is not registered.
 */
int disable_kprobe(struct kprobe *p)
{
	guard(kprobe_lock)();
	return set_probe_disabled(p, true);
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/* How many sites are named if the global switch fails for some */
#define FAILURES_NAMED	16

/* Only after a plan was applied is it known what ftrace has refused. */
static void warn_of_failures(int err)
{
	struct kprobe_site *site;
	unsigned int failed = 0;

	list_for_each_entry(site, &kprobe_sites, all) {
		if (kprobe_site_arming_failed(site) && ++failed <= FAILURES_NAMED)
			pr_warn("%pS could not be armed (%d)\n", site->kp.addr, err);
	}
	if (failed > FAILURES_NAMED)
		pr_warn("nor could %u others be armed, see debugfs\n", failed - FAILURES_NAMED);
}

/*
 * Turns the global switch on or off. While it is off, no probe is in the text; probes that are
 * registered or enabled meanwhile are armed when it is turned on again. May sleep.
 *
 * Returns 0, or the last error if some could not be armed. ftrace is told of many at a time; if it
 * refuses one, none of these is armed. All others are.
 */
int kprobe_set_all_armed(bool armed)
{
	DEFINE_KPROBE_PLAN(plan);
	struct kprobe_site *site;
	int ret;

	guard(kprobe_lock)();
	if (armed != kprobes_all_disarmed)
		return 0;
	WRITE_ONCE(kprobes_all_disarmed, !armed);
	list_for_each_entry(site, &kprobe_sites, all)
		kprobe_site_refresh(site, &plan);
	ret = kprobe_plan_apply(&plan);
	if (ret)
		warn_of_failures(ret);
	pr_info("all probes are switched %s\n", armed ? "on" : "off");
	return ret;
}

static bool in_init_text(unsigned long addr, const struct module *unused)
{
	return init_section_contains((void *)addr, 1);
}

/*
 * Kills the sites in the kernel's init text, once, at the end of boot. The text is about to be
 * freed, but still counts as text, and can be patched.
 */
void kprobe_free_init_mem(void)
{
	guard(kprobe_lock)();
	kprobe_init_text_goes = true;
	kprobe_function_forget();
	kprobe_kill_sites(in_init_text, NULL);
}

/* Prints the probe at which something went wrong. Context: any. */
void __kprobes dump_kprobe(struct kprobe *kp)
{
	pr_err("at the probe on %pS\n", kp->addr);
}

static int __init kprobe_init(void)
{
	int err = 0;

	kprobe_sites_init();
	kprobe_slots_init();
	kprobe_blacklist_init();
	if (IS_ENABLED(CONFIG_KRETPROBES))
		kretprobe_blacklist_init();
	if (!ARCH_KPROBE_STATELESS)
		err = kprobe_legacy_init();
	err = err ?: kprobe_module_init();
	if (err)
		pr_err("not fully initialized (%d): a probe can crash the kernel\n", err);
	return err;
}
early_initcall(kprobe_init);
