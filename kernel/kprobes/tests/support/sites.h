/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TEST_SITES_H
#define _KERNEL_KPROBES_TEST_SITES_H
/*
 * For tests that must not be disturbed by what earlier probes have left.
 */
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/uio.h>

#include "../../internal.h"

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

#ifdef CONFIG_DEBUG_FS
static inline void drop_mount(void *mnt)
{
	kern_unmount(mnt);
}

/* Nothing is mounted yet when suites run at boot. */
static inline struct vfsmount *mount_debugfs(struct kunit *test)
{
	struct file_system_type *type = get_fs_type("debugfs");
	struct vfsmount *mnt;

	KUNIT_ASSERT_NOT_NULL(test, type);
	mnt = kern_mount(type);
	put_filesystem(type);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mnt));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_mount, mnt));
	return mnt;
}

static inline struct file *open_list(struct kunit *test, struct vfsmount *mnt)
{
	struct file *list = file_open_root_mnt(mnt, "kprobes/list", O_RDONLY, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR(list));
	return list;
}

/* kernel_read() does not read from debugfs. */
static inline ssize_t read_piece(struct file *file, char *text, size_t size, loff_t *pos)
{
	struct kvec vec = { .iov_base = text, .iov_len = size };
	struct iov_iter iter;
	struct kiocb kiocb;
	ssize_t done;

	init_sync_kiocb(&kiocb, file);
	kiocb.ki_pos = *pos;
	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, size);
	done = seq_read_iter(&kiocb, &iter);
	*pos = kiocb.ki_pos;
	return done;
}
#endif

#endif /* _KERNEL_KPROBES_TEST_SITES_H */
