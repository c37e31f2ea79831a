/* SPDX-License-Identifier: GPL-2.0 */
/*
 * debug.kprobes-optimization, for suites that are built in: they run before any
 * file system is mounted.
 */
#ifndef _LIB_TEST_KPROBES_SWITCH_H
#define _LIB_TEST_KPROBES_SWITCH_H

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mount.h>

static struct vfsmount *switch_mount;
static bool switch_was_on;

static inline struct file *switch_open(int flags)
{
	return file_open_root_mnt(switch_mount, "sys/debug/kprobes-optimization", flags, 0);
}

static inline int switch_set(bool on)
{
	struct file *file = switch_open(O_WRONLY);
	loff_t pos = 0;
	ssize_t written;

	if (IS_ERR(file))
		return PTR_ERR(file);
	written = kernel_write(file, on ? "1" : "0", 1, &pos);
	filp_close(file, NULL);
	return written == 1 ? 0 : -EIO;
}

static inline int switch_get(bool *on)
{
	struct file *file = switch_open(O_RDONLY);
	loff_t pos = 0;
	ssize_t size;
	char value;

	if (IS_ERR(file))
		return PTR_ERR(file);
	size = kernel_read(file, &value, 1, &pos);
	filp_close(file, NULL);
	*on = value == '1';
	return size == 1 ? 0 : -EIO;
}

static inline void switch_need(struct kunit *test)
{
	if (!switch_mount)
		kunit_skip(test, "this kernel has no sysctl, or no jumps");
}

/* For suites: each case begins with it on, and leaves it as it was at the beginning. */
static inline int switch_suite_init(struct kunit_suite *suite)
{
	struct file_system_type *type = get_fs_type("proc");

	if (!type || !IS_ENABLED(CONFIG_PROC_SYSCTL) || !IS_ENABLED(CONFIG_OPTPROBES))
		return 0;
	switch_mount = kern_mount(type);
	put_filesystem(type);
	if (IS_ERR(switch_mount))
		switch_mount = NULL;
	return 0;
}

static inline void switch_suite_exit(struct kunit_suite *suite)
{
	if (switch_mount)
		kern_unmount(switch_mount);
	switch_mount = NULL;
}

static inline int switch_init(struct kunit *test)
{
	if (!switch_mount)
		return 0;
	return switch_get(&switch_was_on) ?: switch_set(true);
}

static inline void switch_exit(struct kunit *test)
{
	if (switch_mount)
		switch_set(switch_was_on);
}

#endif /* _LIB_TEST_KPROBES_SWITCH_H */
