// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization: the breakpoint of an armed site is replaced by a jump to code that
 * runs the handlers, so that a hit takes no trap.
 *
 * The jump may cover more than one instruction. A task that was preempted between two of
 * them must not continue in the middle of the jump. So hits first execute copies of the
 * covered instructions, and continue behind them. Then a worker waits, without any lock,
 * until no task can be left among the covered bytes. Only then is the jump written.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/extable.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/workqueue.h>

#include "internal.h"

/* debug.kprobes-optimization; changed under kprobe_mutex, and read without it for display */
static unsigned int optimization_on = 1;

/* OPTIMIZING sites, linked by op.list: those for the next wait, and those waited for now */
static LIST_HEAD(optimize_next);
static LIST_HEAD(optimize_now);

static void optimize_settled(struct work_struct *work);
static DECLARE_WORK(optimize_work, optimize_settled);

static bool optimized(struct kprobe_site *site)
{
	return site->state == SITE_OPTIMIZING || site->state == SITE_OPTIMIZED;
}

static void set_optimized(struct kprobe_site *site, enum kprobe_site_state state)
{
	u32 flags = site->kp.flags & ~KPROBE_FLAG_OPTIMIZED;

	if (state != SITE_ARMED)
		flags |= KPROBE_FLAG_OPTIMIZED;
	WRITE_ONCE(site->kp.flags, flags);
	kprobe_site_set_state(site, state);
}

/* Allocates the detour of a site that has none. Returns what prevents that. */
static enum kprobe_obstacle allocate_detour(struct kprobe_site *site)
{
	struct optimized_kprobe *op = &site->op;
	struct module *mod;
	const char *why;
	int err;

	if (op->made)
		return KPROBE_NO_OBSTACLE;
	/* static_call_text_reserved() knows of no static calls in a module that is going. */
	if (kprobe_get_module((unsigned long)site->kp.addr, &mod, &why))
		return KPROBE_OBSTACLE_PATCHED;
	/* The hooks of other architectures set no reason. */
	op->obstacle = KPROBE_OBSTACLE_UNSUPPORTED;
	op->covered = MAX_OPTIMIZED_LENGTH;
	err = arch_prepare_optimized_kprobe(op, &site->kp);
	op->made = !err;
	module_put(mod);
	return err ? op->obstacle : KPROBE_NO_OBSTACLE;
}

/* Returns what prevents a detour; nothing does if the site has one. The text lock is held. */
static enum kprobe_obstacle make_detour(struct kprobe_site *site)
{
	if (!optimization_on)
		return KPROBE_OBSTACLE_OFF;
	if (!ARCH_KPROBE_STATELESS && site->has_post_handler)
		return KPROBE_OBSTACLE_POST;
	/* A fault in such a detour is not moved back to where there is a fixup. */
	if (!ARCH_KPROBE_STATELESS && search_exception_tables((unsigned long)site->kp.addr))
		return KPROBE_OBSTACLE_INSN;
	return allocate_detour(site);
}

/**
 * kprobe_make_detours() - make detours for sites, where that is possible
 * @sites: linked by kp.list; all are ARMED by a breakpoint, or are going to be
 *
 * Context: kprobe_mutex and the text lock are held.
 * Return: true if there is one that CPUs have not been told of.
 */
bool kprobe_make_detours(struct list_head *sites)
{
	struct kprobe_site *site;
	struct kprobe *kp;
	bool old, made = false;

	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_held(&text_mutex);
	list_for_each_entry(kp, sites, list) {
		site = site_of(kp);
		old = site->op.made;
		site->op.obstacle = make_detour(site);
		made |= !old && !site->op.obstacle;
	}
	return made;
}

/* Makes an ARMED site with a detour OPTIMIZING, unless something prevents that. */
static void optimize(struct kprobe_site *site)
{
	lockdep_assert_held(&text_mutex);
	if (!site->op.obstacle && arch_check_optimized_kprobe(&site->op))
		site->op.obstacle = KPROBE_OBSTACLE_NEIGHBOUR;
	if (site->op.obstacle)
		return;
	set_optimized(site, SITE_OPTIMIZING);
	list_add_tail(&site->op.list, &optimize_next);
	queue_work(system_unbound_wq, &optimize_work);
}

/**
 * kprobe_optimize_armed() - begin to optimize sites that have their detours, if they can
 * @sites: linked by kp.list; all are ARMED by a breakpoint, since kprobe_make_detours()
 *
 * Context: kprobe_mutex and the text lock are held.
 */
void kprobe_optimize_armed(struct list_head *sites)
{
	struct kprobe *kp;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(kp, sites, list)
		optimize(site_of(kp));
}

/* Overridden where a hit gets to a detour by an instruction that does not synchronize. */
void __weak arch_kprobe_detours_made(void)
{
}

/**
 * kprobe_optimize_sites() - begin to optimize sites, where that is possible
 * @sites: linked by kp.list; all are ARMED by a breakpoint
 *
 * Context: between kprobe_lock() and kprobe_unlock().
 */
void kprobe_optimize_sites(struct list_head *sites)
{
	lockdep_assert_held(&kprobe_mutex);
	if (list_empty(sites))
		return;
	kprobe_text_lock();
	if (kprobe_make_detours(sites))
		arch_kprobe_detours_made();
	kprobe_optimize_armed(sites);
	kprobe_text_unlock();
}

/* Replaces jumps by breakpoints; the list is linked by op.list, and empty afterwards. */
static void unoptimize(struct list_head *ops)
{
	struct optimized_kprobe *op, *next;
	LIST_HEAD(done);

	if (list_empty(ops))
		return;
	kprobe_text_lock();
	arch_unoptimize_kprobes(ops, &done);
	kprobe_text_unlock();
	list_for_each_entry_safe(op, next, &done, list) {
		list_del_init(&op->list);
		set_optimized(site_of(&op->kp), SITE_ARMED);
	}
}

/* Adds a site to the list for unoptimize(). If it has no jump yet, it becomes ARMED at once. */
static void collect(struct kprobe_site *site, struct list_head *ops)
{
	if (site->state == SITE_OPTIMIZED) {
		list_add_tail(&site->op.list, ops);
	} else if (site->state == SITE_OPTIMIZING) {
		list_del_init(&site->op.list);
		set_optimized(site, SITE_ARMED);
	}
}

/**
 * kprobe_unoptimize_sites() - replace jumps by breakpoints
 * @sites: linked by kp.list; those that are not OPTIMIZED or OPTIMIZING are left alone
 *
 * On return the text is the original, except for the breakpoints.
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_unoptimize_sites(struct list_head *sites)
{
	struct kprobe *kp;
	LIST_HEAD(ops);

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(kp, sites, list)
		collect(site_of(kp), &ops);
	unoptimize(&ops);
}

/*
 * Calls a function with a list that is linked by kp.list, and empties the list
 * afterwards, because plans use kp.list, too.
 */
static void use_list(struct list_head *sites, void (*fn)(struct list_head *sites))
{
	fn(sites);
	while (!list_empty(sites))
		list_del_init(sites->next);
}

/* Checks whether a site's jump covers an address behind it, or is going to. */
static bool covers(struct kprobe_site *site, unsigned long addr)
{
	return site && optimized(site) &&
	       addr - (unsigned long)site->kp.addr < site->op.covered;
}

/**
 * kprobe_jump_covers() - check whether an address is in a jump, behind its first byte
 * @addr: any address
 *
 * Context: kprobe_mutex is held, or all other CPUs are stopped.
 * Return: true if it is, or if a jump is going to be there.
 */
bool kprobe_jump_covers(unsigned long addr)
{
	unsigned long i;

	for (i = 1; i < MAX_OPTIMIZED_LENGTH; i++) {
		if (covers(kprobe_find_site(addr - i), addr))
			return true;
	}
	return false;
}

/**
 * kprobe_unoptimize_around() - remove jumps that cover an address
 * @addr: where somebody wants to place a probe
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_unoptimize_around(unsigned long addr)
{
	struct kprobe_site *site;
	unsigned long i;
	LIST_HEAD(ops);

	lockdep_assert_held(&kprobe_mutex);
	for (i = 1; i < MAX_OPTIMIZED_LENGTH; i++) {
		site = kprobe_find_site(addr - i);
		if (!covers(site, addr))
			continue;
		collect(site, &ops);
		site->op.obstacle = KPROBE_OBSTACLE_NEIGHBOUR;
	}
	unoptimize(&ops);
}

/**
 * kprobe_optimize_around() - optimize sites whose jump was prevented by a probe
 * @addr: where the probe was; its site is not in the table any more
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_optimize_around(unsigned long addr)
{
	struct kprobe_site *site;
	unsigned long i;
	LIST_HEAD(sites);

	lockdep_assert_held(&kprobe_mutex);
	for (i = 1; i < MAX_OPTIMIZED_LENGTH; i++) {
		site = kprobe_find_site(addr - i);
		/* If an armed site is planned, it is about to be disarmed. */
		if (site && site->state == SITE_ARMED && !kprobe_ftrace(&site->kp) &&
		    !kprobe_site_planned(site))
			list_add_tail(&site->kp.list, &sites);
	}
	use_list(&sites, kprobe_optimize_sites);
}

/**
 * kprobe_optimize_refresh() - add or remove a site's jump after a change of handlers
 * @site: its handlers have changed
 *
 * A site has a jump only if all of its handlers can run there.
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_optimize_refresh(struct kprobe_site *site)
{
	LIST_HEAD(ops);

	lockdep_assert_held(&kprobe_mutex);
	if (ARCH_KPROBE_STATELESS)
		return;
	if (site->has_post_handler && optimized(site)) {
		collect(site, &ops);
		unoptimize(&ops);
		site->op.obstacle = KPROBE_OBSTACLE_POST;
	} else if (!site->has_post_handler && site->state == SITE_ARMED &&
		   site->op.obstacle == KPROBE_OBSTACLE_POST) {
		kprobe_text_lock();
		site->op.obstacle = make_detour(site);
		optimize(site);
		kprobe_text_unlock();
	}
}

/**
 * kprobe_optimize_stop() - stop the optimization of a site
 * @site: its text is about to be freed; it keeps its detour
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_optimize_stop(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->state == SITE_OPTIMIZING)
		list_del_init(&site->op.list);
	WRITE_ONCE(site->kp.flags, site->kp.flags & ~KPROBE_FLAG_OPTIMIZED);
}

/**
 * kprobe_optimize_forget() - free a site's detour
 * @site: is about to be freed, or its text has been
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_optimize_forget(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->op.made)
		arch_remove_optimized_kprobe(&site->op);
	site->op.made = false;
}

/*
 * Writes the jumps. State and flag are set first, because hits look at the flag as soon
 * as there is a jump. Sites that the architecture leaves on the list got none.
 */
static void put_jumps_in(struct list_head *ops)
{
	struct optimized_kprobe *op, *next;

	list_for_each_entry(op, ops, list)
		set_optimized(site_of(&op->kp), SITE_OPTIMIZED);
	kprobe_text_lock();
	arch_optimize_kprobes(ops);
	kprobe_text_unlock();
	list_for_each_entry_safe(op, next, ops, list) {
		list_del_init(&op->list);
		op->obstacle = KPROBE_OBSTACLE_FAILED;
		set_optimized(site_of(&op->kp), SITE_ARMED);
	}
}

/* Returns whether there are more. */
static bool put_some_jumps_in(void)
{
	LIST_HEAD(ops);

	guard(kprobe_lock)();
	kprobe_take_batch(&optimize_now, &ops, KPROBE_BATCH);
	if (!list_empty(&ops))
		put_jumps_in(&ops);
	return !list_empty(&optimize_now);
}

/*
 * The worker. A site that becomes ARMED and OPTIMIZING again while this waits is put on
 * optimize_next, for another wait.
 */
static void optimize_settled(struct work_struct *work)
{
	mutex_lock(&kprobe_mutex);
	list_splice_init(&optimize_next, &optimize_now);
	mutex_unlock(&kprobe_mutex);

	kprobe_wait_for_tasks();

	while (put_some_jumps_in())
		cond_resched();
}

/**
 * wait_for_kprobe_optimizer() - wait until sites that are OPTIMIZING now have their jumps
 *
 * Context: may sleep.
 */
void wait_for_kprobe_optimizer(void)
{
	flush_work(&optimize_work);
}

#ifdef CONFIG_SYSCTL
/* The text lock is not held for all of them at once: others want to patch, too. */
static void for_all_sites(void (*fn)(struct list_head *sites))
{
	struct kprobe_site *site;
	LIST_HEAD(batch);
	LIST_HEAD(sites);

	list_for_each_entry(site, &kprobe_sites, all) {
		if (kprobe_site_armed(site) && !kprobe_ftrace(&site->kp))
			list_add_tail(&site->kp.list, &sites);
	}
	while (!list_empty(&sites)) {
		kprobe_take_batch(&sites, &batch, KPROBE_TEXT_BATCH);
		use_list(&batch, fn);
		cond_resched();
	}
}

static void forbid(struct list_head *sites)
{
	struct kprobe *kp;

	kprobe_unoptimize_sites(sites);
	list_for_each_entry(kp, sites, list)
		site_of(kp)->op.obstacle = KPROBE_OBSTACLE_OFF;
}

static void switch_optimization(unsigned int on)
{
	if (on == optimization_on)
		return;
	WRITE_ONCE(optimization_on, on);
	for_all_sites(on ? kprobe_optimize_sites : forbid);
	pr_info("jump optimization is switched %s\n", on ? "on" : "off");
}

/* debug.kprobes-optimization. When a write of 0 returns, no jump is left. */
static int optimization_sysctl(const struct ctl_table *table, int write,
			       void *buffer, size_t *length, loff_t *ppos)
{
	unsigned int on = READ_ONCE(optimization_on);
	struct ctl_table copy = *table;
	int err;

	copy.data = &on;
	err = proc_douintvec_minmax(&copy, write, buffer, length, ppos);
	if (err || !write)
		return err;
	guard(kprobe_lock)();
	switch_optimization(on);
	return 0;
}

static struct ctl_table optimization_table[] = {
	{
		.procname	= "kprobes-optimization",
		.maxlen		= sizeof(optimization_on),
		.mode		= 0644,
		.proc_handler	= optimization_sysctl,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init optimization_init(void)
{
	register_sysctl_init("debug", optimization_table);
	return 0;
}
subsys_initcall(optimization_init);
#endif
