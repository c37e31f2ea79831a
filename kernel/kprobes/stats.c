// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting hits if that is switched on, and misses by their cause. Called at hits, and
 * therefore built like hit.c.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>

#include "internal.h"

/* Off by default, because all CPUs count a site's hits in the same place. */
DEFINE_STATIC_KEY_FALSE(kprobe_stats);

/* If all probes of a site are left out, the hit only counts as missed. */
static bool all_left_out(struct kprobe_site *site)
{
	unsigned long level = arch_kprobe_level();
	struct kprobe *p;
	bool any = false;

	list_for_each_entry_lockless(p, &site->probes, list) {
		if (kprobe_disabled(p))
			continue;
		if (!kprobe_left_out(p, level))
			return false;
		any = true;
	}
	return any;
}

NOKPROBE_SYMBOL(all_left_out);

/**
 * kprobe_count_hit() - count a hit
 * @site: the site
 *
 * Out of line: it is seldom switched on, and must not take registers from a hit.
 *
 * Context: any, NMI included, preemption off; the level's mark was entered.
 */
noinline void kprobe_count_hit(struct kprobe_site *site)
{
	if (!all_left_out(site))
		raw_atomic_long_inc(&site->hits);
}

NOKPROBE_SYMBOL(kprobe_count_hit);

/**
 * kretprobe_count_miss() - count a call whose return is not seen
 * @rp: the return probe
 * @cause: for the site's count
 *
 * Context: any, NMI included, preemption off.
 */
void kretprobe_count_miss(struct kretprobe *rp, enum kprobe_miss cause)
{
	struct kprobe *kp = get_kprobe(rp->kp.addr);

	raw_atomic_inc(&rp->missed);
	/* If the text is gone, the site at that address may belong to other text by now. */
	if (kp && !kprobe_gone(&rp->kp))
		raw_atomic_inc(&site_of(kp)->missed[cause]);
}

NOKPROBE_SYMBOL(kretprobe_count_miss);

/**
 * kprobe_stats_reset() - reset the counts of a site to 0
 * @site: the site; a hit that is under way may still be added
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_stats_reset(struct kprobe_site *site)
{
	int cause;

	lockdep_assert_held(&kprobe_mutex);
	atomic_long_set(&site->hits, 0);
	for (cause = 0; cause < KPROBE_NR_MISSES; cause++)
		atomic_set(&site->missed[cause], 0);
}

/**
 * kprobe_stats_enable() - start or stop counting hits
 * @enabled: true to count hits; counts from before are kept
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
