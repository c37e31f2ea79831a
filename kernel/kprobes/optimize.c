// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization: the breakpoint of an armed site is replaced by a jump to code that runs the
 * handlers, so that a hit takes no trap.
 *
 * The jump may cover more than one instruction. A task that was preempted between two of them must
 * not continue in the middle of the jump. So hits first execute copies of the covered instructions,
 * and continue behind them. Then a worker waits, without any lock, until no task can be left among
 * the covered bytes. Only then does it write the jump.
 */
#include <linux/extable.h>
#include <linux/init.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/sysctl.h>
#include <linux/workqueue.h>

#include "internal.h"

/* debug.kprobes-optimization; changed under kprobe_mutex, and read without it for display */
static unsigned int optimization_on = 1;

/* OPTIMIZING sites for the next wait, linked by op.list; the worker has those waited for now. */
static LIST_HEAD(optimize_next);

static void optimize_settled(struct work_struct *work);
static DECLARE_WORK(optimize_work, optimize_settled);

static void set_optimized(struct kprobe_site *site, enum kprobe_site_state state)
{
	u32 flags = site->kp.flags & ~KPROBE_FLAG_OPTIMIZED;

	if (state != SITE_ARMED)
		flags |= KPROBE_FLAG_OPTIMIZED;
	WRITE_ONCE(site->kp.flags, flags);
	kprobe_site_set_state(site, state);
}

/* Makes the detour of a site, unless it has one. Returns what prevents that. */
static enum kprobe_obstacle make_detour(struct kprobe_site *site)
{
	struct module *mod;
	const char *why;

	if (!optimization_on)
		return KPROBE_OBSTACLE_OFF;
	if (!ARCH_KPROBE_STATELESS && site->has_post_handler)
		return KPROBE_OBSTACLE_POST;
	/* A fault in such a detour is not moved back to where there is a fixup. */
	if (!ARCH_KPROBE_STATELESS && search_exception_tables((unsigned long)site->kp.addr))
		return KPROBE_OBSTACLE_INSN;
	if (site->kp.has_detour)
		return KPROBE_NO_OBSTACLE;
	/* static_call_text_reserved() knows of no static calls in a module that is going. */
	if (kprobe_get_module((unsigned long)site->kp.addr, &mod, &why))
		return KPROBE_OBSTACLE_PATCHED;
	/* The hooks of other architectures set no reason. */
	site->kp.obstacle = KPROBE_OBSTACLE_UNSUPPORTED;
	site->kp.covered = MAX_OPTIMIZED_LENGTH;
	site->kp.has_detour = !arch_prepare_optimized_kprobe(&site->op, &site->kp);
	module_put(mod);
	return site->kp.has_detour ? KPROBE_NO_OBSTACLE : site->kp.obstacle;
}

/*
 * Makes detours for sites, if possible. They are linked by kp.list, and ARMED by a breakpoint, or
 * going to be. Returns true if CPUs have not been told of one of these detours.
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
		old = site->kp.has_detour;
		site->kp.obstacle = make_detour(site);
		made |= !old && !site->kp.obstacle;
	}
	return made;
}

/* Checks for another breakpoint among the bytes that the jump of a site would cover. */
static bool has_neighbour(struct kprobe_site *site)
{
	unsigned long addr = (unsigned long)site->kp.addr, end = addr + site->kp.covered;

	/* A debugger may have come since there was a jump here the last time. */
	while (++addr < end) {
		if (kprobe_find_site(addr) || kprobe_debugger_stops_at(addr))
			return true;
	}
	return false;
}

/* Makes an ARMED site with a detour OPTIMIZING, unless something prevents that. */
static void optimize(struct kprobe_site *site)
{
	lockdep_assert_held(&text_mutex);
	if (!site->kp.obstacle && has_neighbour(site))
		site->kp.obstacle = KPROBE_OBSTACLE_NEIGHBOUR;
	if (site->kp.obstacle)
		return;
	set_optimized(site, SITE_OPTIMIZING);
	list_add_tail(&site->op.list, &optimize_next);
	queue_work(system_unbound_wq, &optimize_work);
}

/* Begins to optimize sites that have been ARMED by a breakpoint since kprobe_make_detours() */
void kprobe_optimize_armed(struct list_head *sites)
{
	struct kprobe *kp;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(kp, sites, list)
		optimize(site_of(kp));
}

/* Begins to optimize sites that are ARMED by a breakpoint, linked by kp.list. */
void kprobe_optimize_sites(struct list_head *sites)
{
	LIST_HEAD(none);

	lockdep_assert_held(&kprobe_mutex);
	if (list_empty(sites))
		return;
	guard(kprobe_text)();
	/*
	 * On x86 a hit may go on there by a plain return, behind a copy or another detour. No CPU
	 * may have fetched what was there before (SDM vol. 3A, 9.1.3), which arming sees to.
	 */
	if (kprobe_make_detours(sites))
		arch_arm_kprobes(&none, true);
	kprobe_optimize_armed(sites);
}

/* Replaces jumps by breakpoints; the list is linked by op.list, and empty afterwards. */
static void unoptimize(struct list_head *ops)
{
	struct optimized_kprobe *op, *next;
	LIST_HEAD(done);

	if (list_empty(ops))
		return;
	scoped_guard(kprobe_text)
		arch_unoptimize_kprobes(ops, &done);
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

/*
 * Replaces jumps by breakpoints, so that the text is the original but for these. The sites are
 * linked by kp.list; those without a jump are left alone.
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
 * Calls a function with a list that is linked by kp.list, and empties it afterwards: plans use
 * kp.list, too.
 */
static void use_list(struct list_head *sites, void (*fn)(struct list_head *sites))
{
	fn(sites);
	while (!list_empty(sites))
		list_del_init(sites->next);
}

/* Finds the next site before an address that can have a jump to there. @distance begins with 0. */
static struct kprobe_site *site_before(unsigned long addr, unsigned long *distance)
{
	struct kprobe_site *site = NULL;

	while (!site && ++*distance < MAX_OPTIMIZED_LENGTH)
		site = kprobe_find_site(addr - *distance);
	return site;
}

/* The same, of those whose jump covers the address, or is going to. */
static struct kprobe_site *site_covering(unsigned long addr, unsigned long *distance)
{
	struct kprobe_site *site;

	do {
		site = site_before(addr, distance);
	} while (site && !(kprobe_optimized(&site->kp) && *distance < site->kp.covered));
	return site;
}

/*
 * Checks whether a jump covers an address behind its first byte, or is going to. kprobe_mutex is
 * held, or all other CPUs are stopped.
 */
bool kprobe_jump_covers(unsigned long addr)
{
	unsigned long distance = 0;

	return site_covering(addr, &distance);
}

/* Removes jumps that cover an address where somebody wants to place a probe. */
void kprobe_unoptimize_around(unsigned long addr)
{
	unsigned long distance = 0;
	struct kprobe_site *site;
	LIST_HEAD(ops);

	lockdep_assert_held(&kprobe_mutex);
	while ((site = site_covering(addr, &distance))) {
		collect(site, &ops);
		site->kp.obstacle = KPROBE_OBSTACLE_NEIGHBOUR;
	}
	unoptimize(&ops);
}

/* Optimizes sites whose jump was prevented by a probe. Its site is not in the table any more. */
void kprobe_optimize_around(unsigned long addr)
{
	unsigned long distance = 0;
	struct kprobe_site *site;
	LIST_HEAD(sites);

	lockdep_assert_held(&kprobe_mutex);
	while ((site = site_before(addr, &distance))) {
		/* If an armed site is planned, it is about to be disarmed. */
		if (site->state == SITE_ARMED && !kprobe_ftrace(&site->kp) && !site->planned)
			list_add_tail(&site->kp.list, &sites);
	}
	use_list(&sites, kprobe_optimize_sites);
}

/*
 * Adds or removes a site's jump after a change of handlers: it has one only if all can run there.
 */
void kprobe_optimize_refresh(struct kprobe_site *site)
{
	LIST_HEAD(ops);

	lockdep_assert_held(&kprobe_mutex);
	if (ARCH_KPROBE_STATELESS || kprobe_ftrace(&site->kp))
		return;
	if (site->has_post_handler && kprobe_optimized(&site->kp)) {
		collect(site, &ops);
		unoptimize(&ops);
		site->kp.obstacle = KPROBE_OBSTACLE_POST;
	} else if (!site->has_post_handler && site->state == SITE_ARMED &&
		   site->kp.obstacle == KPROBE_OBSTACLE_POST) {
		guard(kprobe_text)();
		site->kp.obstacle = make_detour(site);
		optimize(site);
	}
}

/* Frees the detour of a site that is about to be freed, or whose text has been. */
void kprobe_optimize_forget(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->kp.has_detour)
		arch_remove_optimized_kprobe(&site->op);
	site->kp.has_detour = false;
}

/*
 * Writes some of the jumps. State and flag are set first, because hits look at the flag as soon as
 * there is a jump. Returns whether there may be more.
 */
static bool put_jumps_in(struct list_head *waited_for)
{
	struct optimized_kprobe *op, *next;
	LIST_HEAD(ops);

	guard(kprobe_lock)();
	kprobe_take_batch(waited_for, &ops, KPROBE_BATCH);
	if (list_empty(&ops))
		return false;
	list_for_each_entry(op, &ops, list)
		set_optimized(site_of(&op->kp), SITE_OPTIMIZED);
	scoped_guard(kprobe_text)
		arch_optimize_kprobes(&ops);
	/* The architecture has left those on the list that it could not write. */
	list_for_each_entry_safe(op, next, &ops, list) {
		list_del_init(&op->list);
		op->kp.obstacle = KPROBE_OBSTACLE_FAILED;
		set_optimized(site_of(&op->kp), SITE_ARMED);
	}
	return true;
}

/*
 * The worker. A site that becomes ARMED and OPTIMIZING again while this waits is put on
 * optimize_next, for another wait.
 */
static void optimize_settled(struct work_struct *work)
{
	LIST_HEAD(waited_for);

	scoped_guard(mutex, &kprobe_mutex)
		list_splice_init(&optimize_next, &waited_for);
	kprobe_wait_for_tasks();
	while (put_jumps_in(&waited_for))
		cond_resched();
}

/* Waits until sites that are OPTIMIZING now have their jumps. May sleep. */
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
		site_of(kp)->kp.obstacle = KPROBE_OBSTACLE_OFF;
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
	if (on == optimization_on)
		return 0;
	WRITE_ONCE(optimization_on, on);
	for_all_sites(on ? kprobe_optimize_sites : forbid);
	pr_info("jump optimization is switched %s\n", on ? "on" : "off");
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
