// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites at function entries that ftrace hooks.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/ftrace.h>
#include <linux/kprobes.h>

#include "internal.h"

/*
 * Set when ftrace gave up on itself. Its records cannot be changed any more,
 * and what was hooked stays hooked.
 */
bool kprobe_ftrace_disabled __read_mostly;

/*
 * A site with a post handler is exclusive: others that redirect the function,
 * livepatch first of all, are kept off it, and it off theirs.
 *
 * Which ops calls back is decided once, when a site is armed. With two in turn,
 * a hit that finds both hooked would be seen twice or not at all when that
 * changes between the callbacks. So a shared site that becomes exclusive has the
 * function claimed by an ops that does nothing else; one that was exclusive from
 * the start remains so until it is disarmed.
 */
static struct ftrace_ops shared_ops __read_mostly = {
	.func	= kprobe_ftrace_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS,
};

static struct ftrace_ops exclusive_ops __read_mostly = {
	.func	= kprobe_ftrace_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static void claimed(unsigned long ip, unsigned long parent_ip,
		    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

NOKPROBE_SYMBOL(claimed);

static struct ftrace_ops claim_ops __read_mostly = {
	.func	= claimed,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

/* An ops without addresses would hook every function, so it is unregistered. */
static unsigned int nr_shared, nr_exclusive, nr_claimed;

static unsigned int *nr_sites(struct ftrace_ops *ops)
{
	if (ops == &claim_ops)
		return &nr_claimed;
	return ops == &exclusive_ops ? &nr_exclusive : &nr_shared;
}

static int hook(struct ftrace_ops *ops, unsigned long *ips, unsigned int nr)
{
	int err = ftrace_set_filter_ips(ops, ips, nr, 0, 0);

	if (err)
		return err;
	if (!*nr_sites(ops)) {
		err = register_ftrace_function(ops);
		if (err) {
			ftrace_set_filter_ips(ops, ips, nr, 1, 0);
			return err;
		}
	}
	*nr_sites(ops) += nr;
	return 0;
}

static void unhook(struct ftrace_ops *ops, unsigned long *ips, unsigned int nr)
{
	int err = 0;

	if (kprobe_ftrace_disabled)
		return;
	*nr_sites(ops) -= nr;
	if (!*nr_sites(ops))
		err = unregister_ftrace_function(ops);
	if (!err)
		err = ftrace_set_filter_ips(ops, ips, nr, 1, 0);
	WARN_ONCE(err, "kprobes: ftrace does not let go of %pS (%d)\n",
		  (void *)ips[0], err);
}

/*
 * Sites that an ops is to get, or to lose, all in one go: until that is done they
 * count as what they are to be, which nobody sees but who holds kprobe_mutex. If
 * they cannot be hooked, @err is why.
 */
#define MAX_PENDING	256

static struct {
	struct ftrace_ops	*ops;
	bool			hook;
	unsigned int		nr;
	int			err;
	struct kprobe_site	*sites[MAX_PENDING];
	unsigned long		ips[MAX_PENDING];
} pending;

static void give_up(struct kprobe_site *site)
{
	site->ops = NULL;
	kprobe_site_set_state(site, SITE_IDLE);
}

static void settle(void)
{
	unsigned int i, nr = pending.nr;
	int err = 0;

	pending.nr = 0;
	if (!nr)
		return;
	if (pending.hook)
		err = hook(pending.ops, pending.ips, nr);
	else
		unhook(pending.ops, pending.ips, nr);
	if (!err)
		return;
	for (i = 0; i < nr; i++)
		give_up(pending.sites[i]);
	pending.err = err;
}

static void postpone(struct kprobe_site *site, bool hook)
{
	if (pending.nr == MAX_PENDING || pending.ops != site->ops || pending.hook != hook)
		settle();
	pending.ops = site->ops;
	pending.hook = hook;
	pending.sites[pending.nr] = site;
	pending.ips[pending.nr++] = site->ftrace_ip;
}

/**
 * kprobe_ftrace_settle() - let ftrace know of all that was postponed
 *
 * Context: kprobe_mutex is held, since the first of the changes.
 * Return: 0; or an error of ftrace's, and some of the sites are not armed that
 * kprobe_ftrace_arm() has said it of.
 */
int kprobe_ftrace_settle(void)
{
	int err;

	lockdep_assert_held(&kprobe_mutex);
	settle();
	err = pending.err;
	pending.err = 0;
	return err;
}

static int claim(struct kprobe_site *site, bool exclusive)
{
	int err;

	settle();
	if (exclusive) {
		err = hook(&claim_ops, &site->ftrace_ip, 1);
		if (err)
			return err;
	} else {
		unhook(&claim_ops, &site->ftrace_ip, 1);
	}
	site->claimed = exclusive;
	return 0;
}

/* Others may be in the way of this one. */
static int hook_exclusively(struct kprobe_site *site)
{
	int err;

	settle();
	err = hook(&exclusive_ops, &site->ftrace_ip, 1);
	if (!err)
		site->ops = &exclusive_ops;
	return err;
}

/**
 * kprobe_ftrace_arm() - hook a function entry, in the way its probes ask for
 * @site: not armed, or armed already and its probes have changed
 *
 * Context: kprobe_mutex is held, until kprobe_ftrace_settle().
 * Return: 0, or an error of ftrace's with the site as it was.
 */
int kprobe_ftrace_arm(struct kprobe_site *site)
{
	bool exclusive = site->kp.post_handler;

	lockdep_assert_held(&kprobe_mutex);
	if (site->ops == &exclusive_ops || (site->ops && site->claimed == exclusive))
		return 0;
	/* With ftrace gone, more than is asked for will do as well. */
	if (kprobe_ftrace_disabled)
		return site->ops && !exclusive ? 0 : -ENODEV;
	if (site->ops)
		return claim(site, exclusive);
	if (exclusive)
		return hook_exclusively(site);
	site->ops = &shared_ops;
	postpone(site, true);
	return 0;
}

/**
 * kprobe_ftrace_disarm() - take back what kprobe_ftrace_arm() did
 * @site: armed through ftrace
 *
 * Context: kprobe_mutex is held, until kprobe_ftrace_settle().
 */
void kprobe_ftrace_disarm(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	postpone(site, false);
	if (site->claimed)
		claim(site, false);
	site->ops = NULL;
}

/**
 * kprobe_ftrace_kill() - ftrace has shut itself down
 *
 * Context: any, panic included.
 */
void kprobe_ftrace_kill(void)
{
	kprobe_ftrace_disabled = true;
}
