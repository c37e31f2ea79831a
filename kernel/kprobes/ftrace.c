// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites at function entries that ftrace hooks.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>

#include "internal.h"

/*
 * Set when ftrace has shut itself down. Its records cannot be changed any more, and
 * functions that were hooked stay hooked.
 */
bool kprobe_ftrace_disabled __read_mostly;

/*
 * A site with a post handler is exclusive: it does not share its function with others
 * that redirect it, above all livepatch. Whichever comes second is refused.
 *
 * The ops that calls for a site is chosen when the site is armed, and stays the same
 * until it is disarmed. To move the site to another ops, both or neither would have to be
 * hooked for a while, and a hit could be handled twice, or not at all. So if a shared
 * site becomes exclusive, a third ops, which does nothing, claims the function; and a
 * site that was exclusive from the start remains so.
 */
static struct ftrace_ops kprobe_ftrace_ops __read_mostly = {
	.func	= kprobe_ftrace_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_GUARDED,
};

static struct ftrace_ops kprobe_ipmodify_ops __read_mostly = {
	.func	= kprobe_ftrace_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_GUARDED | FTRACE_OPS_FL_IPMODIFY,
};

/* Does nothing: claim_ops only has to be registered. */
static void claim_handler(unsigned long ip, unsigned long parent_ip,
			  struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

NOKPROBE_SYMBOL(claim_handler);

static struct ftrace_ops claim_ops __read_mostly = {
	.func	= claim_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

/*
 * An ops with an empty filter hooks every function, so it is unregistered when its count is 0.
 * The filter is left as it was then: who calls the hooks of a function may have found the ops just
 * before, and looks at the filter now.
 */
static unsigned int nr_shared, nr_exclusive, nr_claimed;

static unsigned int *nr_sites(struct ftrace_ops *ops)
{
	if (ops == &claim_ops)
		return &nr_claimed;
	return ops == &kprobe_ipmodify_ops ? &nr_exclusive : &nr_shared;
}

/*
 * Removes functions from a filter. That takes memory, but who unregisters a probe cannot be told
 * that there was none; and a function that stayed would be hit twice once it is probed again. So
 * this waits for memory.
 */
static int filter_remove(struct ftrace_ops *ops, unsigned long *ips, unsigned int nr)
{
	int err;

	for (;;) {
		err = ftrace_set_filter_ips(ops, ips, nr, 1, 0);
		if (err != -ENOMEM)
			return err;
		schedule_timeout_uninterruptible(1);
	}
}

/* Adds functions to an ops. After an error they are not hooked. */
static int ops_add(struct ftrace_ops *ops, unsigned long *ips, unsigned int nr)
{
	bool first = !*nr_sites(ops);
	int err;

	kprobe_unlock_cpus();
	err = ftrace_set_filter_ips(ops, ips, nr, 0, first);
	if (!err && first)
		err = register_ftrace_function(ops);
	/* ftrace may have found something unexpected, shut itself down, and returned 0. */
	if (!err && kprobe_ftrace_dead())
		err = -ENODEV;
	if (err)
		return err;
	*nr_sites(ops) += nr;
	arch_kprobe_sync();
	return 0;
}

/* Removes functions from an ops, which cannot fail unless ftrace has shut itself down. */
static void ops_remove(struct ftrace_ops *ops, unsigned long *ips, unsigned int nr)
{
	int err;

	if (kprobe_ftrace_dead())
		return;
	kprobe_unlock_cpus();
	*nr_sites(ops) -= nr;
	if (*nr_sites(ops))
		err = filter_remove(ops, ips, nr);
	else
		err = unregister_ftrace_function(ops);
	/* It may have shut itself down just now; -ENODEV, if it has yet to tell us. */
	WARN_ONCE(err && err != -ENODEV && !kprobe_ftrace_dead(),
		  "kprobes: ftrace does not let go of %pS (%d)\n", (void *)ips[0], err);
}

/*
 * Sites to be added to an ops, or to be removed from it, all at once. Until ftrace is
 * told, their state is ahead of what ftrace knows, and kprobe_mutex must not be released.
 * If they could not be added, @err is ftrace's error.
 */
#define MAX_PENDING	256

static struct {
	struct ftrace_ops	*ops;
	bool			add;
	unsigned int		nr;
	int			err;
	struct kprobe_site	*sites[MAX_PENDING];
	unsigned long		ips[MAX_PENDING];
} pending;

/* ftrace has refused a site that is marked as ARMED and enabled already: take that back. */
static void set_unhooked(struct kprobe_site *site)
{
	site->ops = NULL;
	kprobe_site_set_state(site, SITE_IDLE);
	WRITE_ONCE(site->kp.flags, site->kp.flags | KPROBE_FLAG_DISABLED);
}

/* Tells ftrace about all pending sites. */
static void settle_pending(void)
{
	unsigned int i, nr = pending.nr;
	int err = 0;

	pending.nr = 0;
	if (!nr)
		return;
	if (pending.add)
		err = ops_add(pending.ops, pending.ips, nr);
	else
		ops_remove(pending.ops, pending.ips, nr);
	if (!err)
		return;
	for (i = 0; i < nr; i++)
		set_unhooked(pending.sites[i]);
	pending.err = err;
}

/* Queues a site to be added to its ops, or removed; settle_pending() tells ftrace. */
static void postpone(struct kprobe_site *site, bool add)
{
	if (pending.nr == MAX_PENDING || pending.ops != site->ops || pending.add != add)
		settle_pending();
	pending.ops = site->ops;
	pending.add = add;
	pending.sites[pending.nr] = site;
	pending.ips[pending.nr++] = site->ftrace_ip;
}

/**
 * kprobe_ftrace_settle() - tell ftrace about all sites that were postponed
 *
 * Context: kprobe_mutex is held, and has been since the first of them.
 * Return: 0; or an error of ftrace's, if some sites are not armed although
 * kprobe_ftrace_arm() has succeeded.
 */
int kprobe_ftrace_settle(void)
{
	int err;

	lockdep_assert_held(&kprobe_mutex);
	settle_pending();
	err = pending.err;
	pending.err = 0;
	return err;
}

/**
 * kprobe_ftrace_unclaimed() - check for a post handler at a function that others redirect
 * @site: the site
 *
 * Context: kprobe_mutex is held.
 * Return: true if the function could not be claimed.
 */
bool kprobe_ftrace_unclaimed(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	return site->ops == &kprobe_ftrace_ops && site->has_post_handler && !site->claimed;
}

/* Makes a shared site exclusive. */
static int claim_function(struct kprobe_site *site)
{
	int err;

	settle_pending();
	/* If the site itself was pending, and ftrace has refused it, there is nothing to claim. */
	if (!site->ops)
		return pending.err;
	err = ops_add(&claim_ops, &site->ftrace_ip, 1);
	if (!err)
		site->claimed = true;
	return err;
}

static void unclaim_function(struct kprobe_site *site)
{
	settle_pending();
	ops_remove(&claim_ops, &site->ftrace_ip, 1);
	site->claimed = false;
}

/* Not postponed: unlike a shared site, an exclusive one may be refused because of others. */
static int hook_exclusively(struct kprobe_site *site)
{
	int err;

	settle_pending();
	err = ops_add(&kprobe_ipmodify_ops, &site->ftrace_ip, 1);
	if (!err)
		site->ops = &kprobe_ipmodify_ops;
	return err;
}

/**
 * kprobe_ftrace_fits() - check whether ftrace calls for a site as its probes require it
 * @site: the site
 *
 * Context: kprobe_mutex is held.
 * Return: true if there is nothing to do for kprobe_ftrace_arm().
 */
bool kprobe_ftrace_fits(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	return site->ops == &kprobe_ipmodify_ops ||
	       (site->ops && site->claimed == site->has_post_handler);
}

/**
 * kprobe_ftrace_arm() - hook a function entry as its probes require
 * @site: not armed, or armed already and its probes have changed
 *
 * Context: kprobe_mutex is held, until kprobe_ftrace_settle().
 * Return: 0; or an error of ftrace's, with the site as it was.
 */
int kprobe_ftrace_arm(struct kprobe_site *site)
{
	bool exclusive = site->has_post_handler;

	if (kprobe_ftrace_fits(site))
		return 0;
	/* ftrace cannot change anything now. A claim that is not needed any more does no harm. */
	if (kprobe_ftrace_dead())
		return site->ops && !exclusive ? 0 : -ENODEV;
	if (site->ops && exclusive)
		return claim_function(site);
	if (site->ops) {
		unclaim_function(site);
		return 0;
	}
	if (exclusive)
		return hook_exclusively(site);
	site->ops = &kprobe_ftrace_ops;
	postpone(site, true);
	return 0;
}

/**
 * kprobe_ftrace_disarm() - undo kprobe_ftrace_arm()
 * @site: armed through ftrace
 *
 * If ftrace has not been told about the site yet, it is told now. If that fails, there is
 * nothing left to undo, and the site is IDLE.
 *
 * Context: kprobe_mutex is held, until kprobe_ftrace_settle().
 */
void kprobe_ftrace_disarm(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (pending.add)
		settle_pending();
	if (!site->ops)
		return;
	postpone(site, false);
	if (site->claimed)
		unclaim_function(site);
	site->ops = NULL;
}

/**
 * kprobe_ftrace_kill() - note that ftrace has shut itself down
 *
 * Context: any, panic included.
 */
void kprobe_ftrace_kill(void)
{
	WRITE_ONCE(kprobe_ftrace_disabled, true);
}
