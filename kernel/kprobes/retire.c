// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites that have lost their last probe, or their text.
 *
 * When a site loses its last probe, the text is restored. But a task may have been
 * preempted in the site's slot, and stays there until it is scheduled again. So the site
 * remains in the table until kprobe_wait_for_tasks() has returned: a task that comes out
 * of the slot finds it there, and it is revived if the address is probed again.
 *
 * When its text is about to be freed, a site leaves the table at once. But here, too, a
 * task may be in the slot, and has to come out of it. So the slot is kept for as long.
 */
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Sites for the next grace period, and those whose grace period is running, by kp.list */
static LIST_HEAD(retire_next);
static LIST_HEAD(retire_now);

/* Sites on any of these lists */
static unsigned int nr_retiring;

static void retire_sites(struct work_struct *work);
static DECLARE_WORK(retire_work, retire_sites);

/**
 * kprobe_sites_retiring() - count the sites that wait to be freed or settled
 *
 * Context: kprobe_mutex is held.
 * Return: how many there are.
 */
unsigned int kprobe_sites_retiring(void)
{
	lockdep_assert_held(&kprobe_mutex);
	return nr_retiring;
}

/**
 * kprobe_retire() - free a site, or its slot, once nothing can be executing there
 * @site: IDLE, without probes: it is going to be freed. Or GONE, not in the table any more: it is
 *	going to be settled; it must not be used after this if it has no probes
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_retire(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->state != SITE_GONE)
		kprobe_site_set_state(site, SITE_DYING);
	site->untidy = false;
	kprobe_site_queue(site, &retire_next, KPROBE_QUEUE_RETIRE);
	nr_retiring++;
	queue_work(system_unbound_wq, &retire_work);
}

/**
 * kprobe_unretire() - revive a site that waits to be freed
 * @site: DYING
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_unretire(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	kprobe_site_unqueue(site);
	nr_retiring--;
	kprobe_site_set_state(site, SITE_IDLE);
}

/* Ends the wait of one site. Returns false if there is none. */
static bool end_one(void)
{
	struct kprobe_site *site;

	site = list_first_entry_or_null(&retire_now, struct kprobe_site, kp.list);
	if (!site)
		return false;
	kprobe_site_unqueue(site);
	if (site->state == SITE_GONE)
		kprobe_site_settle(site);
	else
		kprobe_site_destroy(site);
	return true;
}

/* Returns whether there may be more. */
static bool end_some(void)
{
	int left = KPROBE_BATCH;

	guard(kprobe_lock)();
	while (left && end_one()) {
		nr_retiring--;
		left--;
	}
	return !left;
}

/*
 * The worker. A site that is revived while this waits, and loses its last probe again,
 * is put on retire_next, for another wait.
 */
static void retire_sites(struct work_struct *work)
{
	mutex_lock(&kprobe_mutex);
	list_splice_init(&retire_next, &retire_now);
	mutex_unlock(&kprobe_mutex);

	kprobe_wait_for_tasks();

	while (end_some())
		cond_resched();
}
