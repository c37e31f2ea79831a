// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unregistering where nobody can sleep, which is a mistake of the caller's. With preemption off,
 * the caller spins for the locks and the handlers, and a worker does to the site what takes longer.
 * If the caller cannot even spin, or does so in vain, the probe stays where it is, and hits pass it
 * by.
 */
#include <linux/iopoll.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>

#include "internal.h"

/*
 * Waiting for handlers here might be waiting for oneself, or for what one holds up. A jump calls
 * handlers in the context of the probed code, and nothing in preempt_count() shows it. Only the
 * mark does.
 */
static bool cannot_wait(void)
{
	guard(preempt_notrace)();
	return !in_task() || irqs_disabled() ||
	       kprobe_mark_entered(kprobe_own_mark(arch_kprobe_level()));
}

/* Checks for a caller that must not wait for handlers as others do, as far as can be told. */
bool kprobe_cannot_sleep(void)
{
	/* Without that, architectures may leave preemption off after a step. */
	return cannot_wait() || rcu_preempt_depth() ||
	       (ARCH_KPROBE_STATELESS && IS_ENABLED(CONFIG_PREEMPT_COUNT) && in_atomic());
}

/* The owner of kprobe_mutex may need this CPU to go on, so after this the caller gives up. */
#define SPIN_US		(100 * USEC_PER_MSEC)

/*
 * Hits pass the probes by. Waits for handlers first: if that is in vain, the probes are still
 * registered. Then for the hits that are just passing a probe.
 */
static bool remove_late(struct kprobe **kps, int num, const struct kprobe_kind *kind,
			struct llist_head *stopped)
{
	struct kprobe_site *site;
	int i;

	if (!kprobe_spin_for_handlers())
		return false;
	for (i = 0; i < num; i++) {
		site = kprobe_site_holding(kps[i]);
		if (!site) {
			kps[i]->addr = NULL;
			continue;
		}
		kprobe_site_detach_late(site, kps[i]);
		if (kind->stop)
			kind->stop(kps[i], stopped);
	}
	return kprobe_spin_for_handlers();
}

/*
 * Has hits pass a probe by, without a lock: it is marked as gone. Hits that are under way may still
 * run its handlers.
 */
static void silence(struct kprobe *p)
{
	struct kprobe_site *site;

	guard(preempt_notrace)();
	if (!p->list.next || list_empty(&p->list))
		return;
	WRITE_ONCE(p->flags, p->flags | KPROBE_FLAG_GONE);
	/* Pairs with the barrier in set_handlers(): one of both sees what the other one wrote. */
	smp_mb();
	site = kprobe_find_site((unsigned long)p->addr);
	/* So that hits look at the list, and there at the flag. */
	if (site && READ_ONCE(site->first) == p)
		WRITE_ONCE(site->first, &site->kp);
}

/*
 * Removes probes where nobody can sleep, and warns of that. With preemption off, they are removed,
 * and their handlers waited for. Elsewhere, or if somebody holds that up, they are marked as gone,
 * but still registered: then this returns false.
 */
bool kprobe_leave_at_once(struct kprobe **kps, int num, const struct kprobe_kind *kind,
			  struct llist_head *stopped)
{
	bool gone = false;
	int i, got;

	for (i = 0; i < num; i++)
		silence(kps[i]);
	if (!cannot_wait() && !read_poll_timeout_atomic(mutex_trylock, got, got, 5, SPIN_US, false,
							&kprobe_mutex)) {
		gone = remove_late(kps, num, kind, stopped);
		mutex_unlock(&kprobe_mutex);
	}
	WARN(1, "kprobes: a probe is unregistered where nobody can sleep%s\n",
	     gone ? "" : ": its struct and its handlers must not be freed");
	return gone;
}
