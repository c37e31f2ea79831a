// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting hits, for those who ask for it, and misses by their cause. Called at
 * hits, and built as hit.c is.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>

#include "internal.h"

/* A hit is counted by all CPUs in one place: not for nothing. */
DEFINE_STATIC_KEY_FALSE(kprobe_stats);

/* Out of line: what is seldom asked for must not cost a hit any registers. */
noinline void kprobe_count_hit(struct kprobe *p)
{
	raw_atomic_long_inc(&site_of(p)->hits);
}

NOKPROBE_SYMBOL(kprobe_count_hit);

/**
 * kretprobe_count_miss() - count a call whose return is not seen
 * @rp: the return probe
 * @cause: for the site's count
 *
 * CPUs may miss at the same time, and no miss is to be lost.
 *
 * Context: any, NMI included, preemption off.
 */
void kretprobe_count_miss(struct kretprobe *rp, enum kprobe_miss cause)
{
	struct kprobe *p = get_kprobe(rp->kp.addr);

	raw_atomic_inc((atomic_t *)&rp->nmissed);
	/* Where its text has gone there may be somebody else's by now. */
	if (p && !kprobe_gone(&rp->kp))
		raw_atomic_inc(&site_of(p)->missed[cause]);
}

NOKPROBE_SYMBOL(kretprobe_count_miss);

/* Context: kprobe_mutex is held; a hit that is on its way may still count. */
void kprobe_stats_reset(struct kprobe_site *site)
{
	int cause;

	atomic_long_set(&site->hits, 0);
	for (cause = 0; cause < KPROBE_NR_MISSES; cause++)
		atomic_set(&site->missed[cause], 0);
}

/**
 * kprobe_stats_enable() - have hits counted, or no more
 * @enabled: which; what was counted stays
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
