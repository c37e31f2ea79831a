/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of file systems like proc, for suites that are built in: nothing is mounted
 * anywhere yet when they run.
 */
#ifndef _LIB_TEST_KPROBES_MOUNT_H
#define _LIB_TEST_KPROBES_MOUNT_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/string.h>

/* NULL when there is no such file system; else for kern_unmount(). */
static inline struct vfsmount *mount_inside(const char *name)
{
	struct file_system_type *type = get_fs_type(name);
	struct vfsmount *mount;

	if (!type)
		return NULL;
	mount = kern_mount(type);
	put_filesystem(type);
	return IS_ERR(mount) ? NULL : mount;
}

static inline int write_inside(struct vfsmount *mount, const char *path, const char *value)
{
	struct file *file = file_open_root_mnt(mount, path, O_WRONLY, 0);
	loff_t pos = 0;
	ssize_t written;

	if (IS_ERR(file))
		return PTR_ERR(file);
	written = kernel_write(file, value, strlen(value), &pos);
	filp_close(file, NULL);
	return written == strlen(value) ? 0 : -EIO;
}

/* The first character; 0 when it cannot be read. */
static inline char read_inside(struct vfsmount *mount, const char *path)
{
	struct file *file = file_open_root_mnt(mount, path, O_RDONLY, 0);
	char value = 0;
	loff_t pos = 0;

	if (IS_ERR(file))
		return 0;
	if (kernel_read(file, &value, 1, &pos) != 1)
		value = 0;
	filp_close(file, NULL);
	return value;
}

#endif /* _LIB_TEST_KPROBES_MOUNT_H */
