// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting hits, for those who ask for it, and misses by their cause. Called at
 * hits, and built as hit.c is.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>

#include "internal.h"

/* Off by default, because all CPUs count a site's hits in the same place. */
DEFINE_STATIC_KEY_FALSE(kprobe_stats);

/**
 * kprobe_count_hit() - count a hit
 * @kp: the site
 *
 * Out of line: it is seldom asked for, and must not take registers from a hit.
 *
 * Context: any, NMI included, preemption off.
 */
noinline void kprobe_count_hit(struct kprobe *kp)
{
	raw_atomic_long_inc(&site_of(kp)->hits);
}

NOKPROBE_SYMBOL(kprobe_count_hit);

/**
 * kretprobe_count_miss() - count a call whose return is not seen
 * @rp: the return probe
 * @cause: for the site's count
 *
 * Atomic, by a cast, as kprobe_count_miss() is.
 *
 * Context: any, NMI included, preemption off.
 */
void kretprobe_count_miss(struct kretprobe *rp, enum kprobe_miss cause)
{
	struct kprobe *kp = get_kprobe(rp->kp.addr);

	raw_atomic_inc((atomic_t *)&rp->nmissed);
	/* If its text is gone, the site at that address may be of other text by now. */
	if (kp && !kprobe_gone(&rp->kp))
		raw_atomic_inc(&site_of(kp)->missed[cause]);
}

NOKPROBE_SYMBOL(kretprobe_count_miss);

/**
 * kprobe_stats_reset() - count from 0 again
 * @site: whose hits and misses; a hit that is under way may still be added
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_stats_reset(struct kprobe_site *site)
{
	int cause;

	atomic_long_set(&site->hits, 0);
	for (cause = 0; cause < KPROBE_NR_MISSES; cause++)
		atomic_set(&site->missed[cause], 0);
}

/**
 * kprobe_stats_enable() - start or stop counting hits
 * @enabled: whether hits are to be counted; what was counted before stays
 *
 * Context: may sleep.
 */
void kprobe_stats_enable(bool enabled)
{
	if (enabled)
		static_branch_enable(&kprobe_stats);
	else
		static_branch_disable(&kprobe_stats);
}
