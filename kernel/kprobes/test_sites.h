/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TEST_SITES_H
#define _KERNEL_KPROBES_TEST_SITES_H
/*
 * For tests that must not be disturbed by what earlier probes have left.
 */
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "internal.h"

/* Does the site's slot wait for tasks to leave it? */
static inline bool is_dying(struct kprobe_site *site)
{
	return site->state == SITE_DYING ||
	       (site->state == SITE_GONE && kprobe_site_settling(site));
}

static inline unsigned int count_dying_sites(void)
{
	struct kprobe_site *site;
	unsigned int nr = 0;

	guard(mutex)(&kprobe_mutex);
	list_for_each_entry(site, &kprobe_sites, all)
		nr += is_dying(site);
	return nr;
}

/*
 * Sites go when no task can be in their slots any more. A debug kernel takes half a
 * minute to find that out.
 */
#define DYING_SITES_TRIES	2400

static inline void wait_for_dying_sites(struct kunit *test)
{
	unsigned int tries = 0, dying;

	while ((dying = count_dying_sites()) && ++tries < DYING_SITES_TRIES)
		msleep(50);
	KUNIT_EXPECT_EQ(test, dying, 0);
}

/* Where there is a probe on the trampoline, returns need a processor that is not busy. */
static inline bool trampoline_is_probed(void)
{
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);
	list_for_each_entry(site, &kprobe_sites, all)
		if (is_kretprobe_trampoline((unsigned long)site->kp.addr))
			return true;
	return false;
}

#endif /* _KERNEL_KPROBES_TEST_SITES_H */
