/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KPROBES_TESTS_SITES_H
#define _KPROBES_TESTS_SITES_H
/*
 * For tests that must not be disturbed by what earlier probes have left.
 */
#include <kunit/test.h>
#include <linux/fs.h>

#include "../../internal.h"

/*
 * Sites go when no task can be in their slots any more. A debug kernel takes half a
 * minute to find that out.
 */
#define DYING_SITES_TRIES	2400

struct kprobe_site *site_at(void *addr);

/* How many sites there are for which the condition on @site is true */
#define count_sites(condition)							\
({										\
	struct kprobe_site *site;						\
	unsigned int nr = 0;							\
										\
	scoped_guard(mutex, &kprobe_mutex)					\
		list_for_each_entry(site, &kprobe_sites, all)			\
			nr += !!(condition);					\
	nr;									\
})

unsigned int count_dying_sites(void);
void wait_for_dying_sites(struct kunit *test);

/* As if the text of a site were about to be freed. Between kprobe_lock() and kprobe_unlock() */
void lose_text(struct kprobe_site *site);

/* Where there is a probe on the trampoline, returns need a processor that is not busy. */
bool trampoline_is_probed(void);

/* Until the test case ends: nothing is mounted yet when suites run at boot. */
struct vfsmount *mount_fs(struct kunit *test, const char *name);

#ifdef CONFIG_DEBUG_FS
struct file *open_list(struct kunit *test, struct vfsmount *mnt);

/* kernel_read() does not read from debugfs. */
ssize_t read_piece(struct file *file, char *text, size_t size, loff_t *pos);
#endif

#endif /* _KPROBES_TESTS_SITES_H */
