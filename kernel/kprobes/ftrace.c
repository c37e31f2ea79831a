// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites at function entries that ftrace hooks.
 */
#include <linux/ftrace.h>

#include "internal.h"

/*
 * Set when ftrace has shut itself down. Its records cannot be changed any more, and functions that
 * were hooked stay hooked.
 */
bool kprobe_ftrace_disabled __read_mostly;

/*
 * A site with a post handler is exclusive: it does not share its function with others that redirect
 * it, above all livepatch. Whichever comes second is refused.
 *
 * The ops that calls for a site is chosen when the site is armed, and stays until it is disarmed.
 * To move the site to another ops, both or neither would have to be hooked for a while, and a hit
 * could be handled twice, or not at all. So if a shared site becomes exclusive, a third ops, which
 * does nothing, claims the function; and a site that was exclusive from the start remains so.
 */
static struct ftrace_ops kprobe_ftrace_ops __read_mostly = {
	.func	= kprobe_ftrace_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_GUARDED,
	.trampoline = ARCH_KPROBE_FTRACE_TRAMPOLINE,
};

/*
 * The same for sites that have such a return probe when they are armed. The trampoline leads to the
 * other one where there is more to do.
 */
static struct ftrace_ops kretprobe_ftrace_ops __read_mostly = {
	.func	= kprobe_ftrace_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_GUARDED,
	.trampoline = ARCH_KRETPROBE_FTRACE_TRAMPOLINE,
};

static struct ftrace_ops kprobe_ipmodify_ops __read_mostly = {
	.func	= kprobe_ftrace_handler,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_GUARDED | FTRACE_OPS_FL_IPMODIFY,
	.trampoline = ARCH_KPROBE_FTRACE_TRAMPOLINE,
};

/* Does nothing: it only has to be registered. */
static struct ftrace_ops claim_ops __read_mostly = {
	.func	= ftrace_stub,
	.flags	= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

/*
 * An ops and its sites. One with an empty filter hooks every function, so it is unregistered when
 * it has no sites. The filter is left as it was then: a CPU that calls the hooks of a function may
 * have found the ops just before, and looks at the filter now.
 */
struct hooks {
	struct ftrace_ops	*ops;
	enum kprobe_hook	bit;
	unsigned int		nr;	/* of sites */
};

static struct hooks claims = { &claim_ops, KPROBE_HOOK_CLAIM };
static struct hooks exclusive = { &kprobe_ipmodify_ops, KPROBE_HOOK_EXCLUSIVE };
static struct hooks shared = { &kprobe_ftrace_ops, KPROBE_HOOK_SHARED };
static struct hooks returns = { &kretprobe_ftrace_ops, KPROBE_HOOK_RETURNS };

/* Overridden where ftrace leaves it to time that CPUs see the calls it writes. */
void __weak arch_kprobe_ftrace_armed(void)
{
}

/* Adds functions to an ops. After an error they are not hooked. */
static int ops_add(struct hooks *h, unsigned long *ips, unsigned int nr)
{
	bool first = !h->nr;
	int err;

	kprobe_unlock_cpus();
	err = ftrace_set_filter_ips(h->ops, ips, nr, 0, first);
	if (!err && first)
		err = register_ftrace_function(h->ops);
	/* ftrace may have found something unexpected, shut itself down, and returned 0. */
	if (!err && kprobe_ftrace_dead())
		err = -ENODEV;
	if (err)
		return err;
	h->nr += nr;
	arch_kprobe_ftrace_armed();
	return 0;
}

/*
 * Removes functions from an ops. A function that stayed would be hit twice once it is probed again.
 * So this waits for memory, and cannot fail unless ftrace has shut itself down.
 */
static void ops_remove(struct hooks *h, unsigned long *ips, unsigned int nr)
{
	int err;

	if (kprobe_ftrace_dead())
		return;
	kprobe_unlock_cpus();
	h->nr -= nr;
	if (!h->nr) {
		err = unregister_ftrace_function(h->ops);
	} else {
		while ((err = ftrace_set_filter_ips(h->ops, ips, nr, 1, 0)) == -ENOMEM)
			schedule_timeout_uninterruptible(1);
	}
	/* It may have shut itself down just now; -ENODEV, if it has yet to tell us. */
	WARN_ONCE(err && err != -ENODEV && !kprobe_ftrace_dead(),
		  "kprobes: ftrace does not let go of %pS (%d)\n", (void *)ips[0], err);
}

/* Checks whether ftrace calls for a site already as its probes require it. */
bool kprobe_ftrace_fits(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->has_post_handler)
		return site->hook & KPROBE_HOOK_KEEPS_OFF;
	return site->hook && !(site->hook & KPROBE_HOOK_CLAIM);
}

/* How many sites ftrace is told of at once; their locations, protected by kprobe_mutex */
#define BATCH	256
static unsigned long ips[BATCH];

/* Returns the ops of a site that is going to share its function, and does not yet; else NULL. */
static struct hooks *comes_to_share(const struct kprobe_site *site)
{
	if (site->hook || site->has_post_handler)
		return NULL;
	return kretprobe_ftrace_ops.trampoline &&
	       kretprobe_follows(list_first_entry(&site->probes, struct kprobe, list)) ?
	       &returns : &shared;
}

/* Hooks those of some sites that come to share their function by an ops. */
static int hook_shared(struct hooks *h, struct list_head *sites)
{
	struct kprobe *kp;
	unsigned int nr = 0;
	int err;

	list_for_each_entry(kp, sites, list) {
		if (comes_to_share(site_of(kp)) == h)
			ips[nr++] = kprobe_ftrace_ip(site_of(kp));
	}
	if (!nr)
		return 0;
	err = kprobe_ftrace_dead() ? -ENODEV : ops_add(h, ips, nr);
	if (err)
		return err;
	list_for_each_entry(kp, sites, list) {
		if (comes_to_share(site_of(kp)) == h)
			site_of(kp)->hook = h->bit;
	}
	return 0;
}

/*
 * Hooks a function exclusively, makes a shared site exclusive, or lets others share it again. Not
 * for many at once: unlike a shared site, an exclusive one may be refused because of others.
 */
static int hook_exclusive(struct kprobe_site *site)
{
	unsigned long ip = kprobe_ftrace_ip(site);
	bool claim = site->hook;
	int err;

	if (kprobe_ftrace_fits(site))
		return 0;
	/* ftrace cannot change anything now. A claim that is not needed any more does no harm. */
	if (kprobe_ftrace_dead())
		return site->has_post_handler ? -ENODEV : 0;
	if (!site->has_post_handler) {
		ops_remove(&claims, &ip, 1);
		site->hook &= ~KPROBE_HOOK_CLAIM;
		return 0;
	}
	err = ops_add(claim ? &claims : &exclusive, &ip, 1);
	if (!err)
		site->hook |= claim ? KPROBE_HOOK_CLAIM : KPROBE_HOOK_EXCLUSIVE;
	return err;
}

static int hook(struct list_head *sites)
{
	struct kprobe *kp, *next;
	int err = 0, err_shared, last;
	struct kprobe_site *site;
	LIST_HEAD(batch);

	while (!list_empty(sites)) {
		kprobe_take_batch(sites, &batch, BATCH);
		err_shared = hook_shared(&shared, &batch) ?: hook_shared(&returns, &batch);
		list_for_each_entry_safe(kp, next, &batch, list) {
			site = site_of(kp);
			kprobe_site_unqueue(site);
			last = err_shared;
			if (!comes_to_share(site))
				last = hook_exclusive(site);
			arm_kprobe(kp, last);
			err = err ?: last;
		}
	}
	return err;
}

static void unhook_from(struct hooks *h, struct list_head *sites)
{
	struct kprobe *kp;
	unsigned int nr = 0;

	list_for_each_entry(kp, sites, list) {
		if (site_of(kp)->hook & h->bit)
			ips[nr++] = kprobe_ftrace_ip(site_of(kp));
	}
	if (nr)
		ops_remove(h, ips, nr);
}

static void unhook(struct list_head *sites, struct list_head *done)
{
	struct kprobe *kp, *next;
	LIST_HEAD(batch);

	while (!list_empty(sites)) {
		kprobe_take_batch(sites, &batch, BATCH);
		unhook_from(&shared, &batch);
		unhook_from(&returns, &batch);
		unhook_from(&exclusive, &batch);
		unhook_from(&claims, &batch);
		list_for_each_entry_safe(kp, next, &batch, list) {
			site_of(kp)->hook = 0;
			disarm_kprobe(kp);
			list_move_tail(&kp->list, done);
		}
	}
}

/*
 * Has ftrace call for sites, or stop that, as planned. Those that it calls for no more are left
 * then. Returns 0; or an error of ftrace's, if some sites are not armed as they were to be.
 */
int kprobe_ftrace_apply(struct kprobe_plan *plan)
{
	lockdep_assert_held(&kprobe_mutex);
	unhook(&plan->unhook, &plan->left);
	return hook(&plan->hook);
}

/* Names what keeps ftrace from calling for sites, for debugfs; "-" if it does. */
const char *kprobe_ftrace_why(void)
{
	if (kprobe_ftrace_dead())
		return "ftrace-dead";
	return READ_ONCE(ftrace_enabled) ? "-" : "ftrace-off";
}

/* Notes that ftrace has shut itself down. Context: any, panic included. */
void kprobe_ftrace_kill(void)
{
	WRITE_ONCE(kprobe_ftrace_disabled, true);
}
