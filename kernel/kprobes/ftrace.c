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

static int hook(struct ftrace_ops *ops, unsigned long ip)
{
	int err = ftrace_set_filter_ip(ops, ip, 0, 0);

	if (err)
		return err;
	if (!*nr_sites(ops)) {
		err = register_ftrace_function(ops);
		if (err) {
			ftrace_set_filter_ip(ops, ip, 1, 0);
			return err;
		}
	}
	++*nr_sites(ops);
	return 0;
}

static void unhook(struct ftrace_ops *ops, unsigned long ip)
{
	int err = 0;

	if (kprobe_ftrace_disabled)
		return;
	if (!--*nr_sites(ops))
		err = unregister_ftrace_function(ops);
	if (!err)
		err = ftrace_set_filter_ip(ops, ip, 1, 0);
	WARN_ONCE(err, "kprobes: ftrace does not let go of %pS (%d)\n",
		  (void *)ip, err);
}

static int claim(struct kprobe_site *site, bool exclusive)
{
	int err;

	if (exclusive) {
		err = hook(&claim_ops, site->ftrace_ip);
		if (err)
			return err;
	} else {
		unhook(&claim_ops, site->ftrace_ip);
	}
	site->claimed = exclusive;
	return 0;
}

/**
 * kprobe_ftrace_arm() - hook a function entry, in the way its probes ask for
 * @site: not armed, or armed already and its probes have changed
 *
 * Context: kprobe_mutex is held.
 * Return: 0, or an error of ftrace's with the site as it was.
 */
int kprobe_ftrace_arm(struct kprobe_site *site)
{
	bool exclusive = site->kp.post_handler;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	if (site->ops == &exclusive_ops || (site->ops && site->claimed == exclusive))
		return 0;
	/* With ftrace gone, more than is asked for will do as well. */
	if (kprobe_ftrace_disabled)
		return site->ops && !exclusive ? 0 : -ENODEV;
	if (site->ops)
		return claim(site, exclusive);
	site->ops = exclusive ? &exclusive_ops : &shared_ops;
	err = hook(site->ops, site->ftrace_ip);
	if (err)
		site->ops = NULL;
	return err;
}

/**
 * kprobe_ftrace_disarm() - take back what kprobe_ftrace_arm() did
 * @site: armed through ftrace
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_ftrace_disarm(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	unhook(site->ops, site->ftrace_ip);
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
