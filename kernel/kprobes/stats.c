// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting hits if that is switched on, and misses by their cause. This runs at hits, and is built
 * like hit.c.
 */
#include <linux/atomic.h>

#include "internal.h"

/* Off by default, because all CPUs count a site's hits in the same place. */
DEFINE_STATIC_KEY_FALSE(kprobe_stats);

/* If all probes of a site are left out, the hit only counts as missed. */
static bool __kprobes all_left_out(struct kprobe_site *site)
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

/*
 * Out of line: hits are seldom counted, and this must not take registers from a hit. The level's
 * mark was entered.
 */
noinline void __kprobes kprobe_count_hit(struct kprobe_site *site)
{
	if (!all_left_out(site))
		raw_atomic_long_inc(&site->kp.hits);
}

/* Counts a call whose return is not seen. Context: any, NMI included, preemption off. */
void __kprobes kretprobe_count_miss(struct kretprobe *rp, enum kprobe_miss cause)
{
	struct kprobe *kp = get_kprobe(rp->kp.addr);

	raw_atomic_inc(&rp->missed);
	/* If the text is gone, the site at that address may belong to other text by now. */
	if (kp && !kprobe_gone(&rp->kp))
		raw_atomic_inc(&site_of(kp)->missed[cause]);
}

/* Starts or stops counting hits; counts from before are kept. Returns 0. */
int kprobe_stats_enable(bool enabled)
{
	if (enabled)
		static_branch_enable(&kprobe_stats);
	else
		static_branch_disable(&kprobe_stats);
	return 0;
}
