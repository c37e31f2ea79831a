// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites that have lost their last probe, or their text.
 *
 * When a site loses its last probe, the text is restored. But a task may have been preempted in the
 * site's slot, and stays there until it is scheduled again. So the site remains in the table until
 * kprobe_wait_for_tasks() has returned: a task that comes out of the slot finds it there, and it is
 * revived if the address is probed again.
 *
 * A site whose text is about to be freed leaves the table at once. But here, too, a task may have
 * to come out of the slot, which is kept for as long.
 */
#include <linux/workqueue.h>

#include "internal.h"

/* Sites for the next grace period, by kp.list. The worker has those whose it is. */
static LIST_HEAD(retire_next);

/* Sites on either list */
static unsigned int nr_retiring;

static void retire_sites(struct work_struct *work);
static DECLARE_WORK(retire_work, retire_sites);

/* Counts the sites that wait to be freed or settled. */
unsigned int kprobe_sites_retiring(void)
{
	lockdep_assert_held(&kprobe_mutex);
	return nr_retiring;
}

/*
 * Frees a site, or its slot, once nothing can be executing there. It is IDLE, without probes, and
 * is going to be freed; or GONE, not in the table any more, and is going to be settled: then it
 * must not be used after this if it has no probes.
 */
void kprobe_retire(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->state != SITE_GONE)
		kprobe_site_set_state(site, SITE_DYING);
	site->untidy = false;
	list_move_tail(&site->kp.list, &retire_next);
	nr_retiring++;
	queue_work(system_unbound_wq, &retire_work);
}

/* Revives a DYING site. */
void kprobe_unretire(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	kprobe_site_unqueue(site);
	nr_retiring--;
	kprobe_site_set_state(site, SITE_IDLE);
}

/* Ends the wait of some sites. Returns whether there may be more. */
static bool end_some(struct list_head *sites)
{
	struct kprobe_site *site, *next;
	int left = KPROBE_BATCH;

	guard(kprobe_lock)();
	list_for_each_entry_safe(site, next, sites, kp.list) {
		if (!left--)
			return true;
		kprobe_site_unqueue(site);
		nr_retiring--;
		if (site->state == SITE_GONE)
			kprobe_site_settle(site);
		else
			kprobe_site_destroy(site);
	}
	return false;
}

/*
 * The worker. A site that is revived while this waits, and loses its last probe again, is put on
 * retire_next, for another wait.
 */
static void retire_sites(struct work_struct *work)
{
	LIST_HEAD(sites);

	scoped_guard(mutex, &kprobe_mutex)
		list_splice_init(&retire_next, &sites);
	kprobe_wait_for_tasks();
	while (end_some(&sites))
		cond_resched();
}
