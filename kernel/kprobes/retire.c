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

/* Sites for the next grace period, and those whose grace period is running. */
static LIST_HEAD(retire_next);
static LIST_HEAD(retire_now);

/* The same for GONE sites, linked by kp.list: they may be on kprobe_gone_sites, too. */
static LIST_HEAD(gone_next);
static LIST_HEAD(gone_now);

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
 * kprobe_retire() - free a site once nothing can be executing in its slot
 * @site: IDLE, without probes
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_retire(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	kprobe_site_set_state(site, SITE_DYING);
	list_move_tail(&site->leaving, &retire_next);
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
	list_del_init(&site->leaving);
	nr_retiring--;
	kprobe_site_set_state(site, SITE_IDLE);
}

/**
 * kprobe_retire_gone() - settle a site once nothing can be executing in its slot
 * @site: GONE, not in the table any more; must not be used after this if it has no probes
 *
 * An architecture that keeps state between exceptions may write to the text when it frees
 * a slot. There the site is settled at once, while the text is still mapped.
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_retire_gone(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (!ARCH_KPROBE_STATELESS) {
		kprobe_site_settle(site);
		return;
	}
	list_add_tail(&site->kp.list, &gone_next);
	nr_retiring++;
	queue_work(system_unbound_wq, &retire_work);
}

/* Ends the wait of one site. Returns false if there is none. */
static bool end_one(void)
{
	struct kprobe_site *retired, *gone;

	retired = list_first_entry_or_null(&retire_now, struct kprobe_site, leaving);
	if (retired) {
		list_del(&retired->leaving);
		kprobe_site_destroy(retired);
		return true;
	}
	gone = list_first_entry_or_null(&gone_now, struct kprobe_site, kp.list);
	if (gone) {
		list_del_init(&gone->kp.list);
		kprobe_site_settle(gone);
	}
	return gone;
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
	list_splice_init(&gone_next, &gone_now);
	mutex_unlock(&kprobe_mutex);

	kprobe_wait_for_tasks();

	while (end_some())
		cond_resched();
}
