// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites that lost their last probe.
 *
 * Their text is as it was, but a task may have been preempted in their slot, and
 * stays there until it is scheduled again. So a site remains in the table until
 * kprobe_wait_for_tasks() has returned: it is found by the task that comes out of the
 * slot, and revived if somebody probes the address again.
 */
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "internal.h"

/*
 * One task that never sleeps can hold up RCU-tasks for ever. Memory for sites that wait
 * must not grow for ever meanwhile: so many mean that something is wrong.
 */
#define RETIRE_LIMIT	BIT(20)

/* Sites for the next grace period, and those whose grace period is running. */
static LIST_HEAD(retire_next);
static LIST_HEAD(retire_now);
static unsigned int nr_retiring;

static void retire_sites(struct work_struct *work);
static DECLARE_WORK(retire_work, retire_sites);

/**
 * kprobe_retire_reserve() - can another site be made?
 *
 * Context: kprobe_mutex is held.
 * Return: 0, or -ENOMEM when too many are waiting to be freed.
 */
int kprobe_retire_reserve(void)
{
	lockdep_assert_held(&kprobe_mutex);
	if (nr_retiring < RETIRE_LIMIT)
		return 0;
	return kprobe_refuse(-ENOMEM, "too many sites wait to be freed");
}

/**
 * kprobe_retire() - free a site when nothing can be executing in it
 * @site: IDLE, without probes
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_retire(struct kprobe_site *site)
{
	kprobe_site_set_state(site, SITE_DYING);
	list_add_tail(&site->leaving, &retire_next);
	nr_retiring++;
	queue_work(system_unbound_wq, &retire_work);
}

/**
 * kprobe_unretire() - bring a site back that is waiting to be freed
 * @site: DYING
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_unretire(struct kprobe_site *site)
{
	list_del_init(&site->leaving);
	nr_retiring--;
	kprobe_site_set_state(site, SITE_IDLE);
}

/* Returns whether there are more. */
static bool free_some_retired(void)
{
	struct kprobe_site *site, *next;
	int left = KPROBE_BATCH;

	guard(mutex)(&kprobe_mutex);
	list_for_each_entry_safe(site, next, &retire_now, leaving) {
		if (!left--)
			return true;
		list_del(&site->leaving);
		nr_retiring--;
		kprobe_site_destroy(site);
	}
	return false;
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

	while (free_some_retired())
		cond_resched();
}
