/* SPDX-License-Identifier: GPL-2.0 */
/* debug.kprobes-optimization, for suites that are built in */
#ifndef _LIB_TEST_KPROBES_SWITCH_H
#define _LIB_TEST_KPROBES_SWITCH_H

#include <kunit/test.h>

#include "mount.h"

#define SWITCH_PATH	"sys/debug/kprobes-optimization"

static struct vfsmount *switch_mount;
static bool switch_was_on;

static inline int switch_set(bool on)
{
	return write_inside(switch_mount, SWITCH_PATH, on ? "1" : "0");
}

static inline void switch_need(struct kunit *test)
{
	if (!switch_mount)
		kunit_skip(test, "this kernel has no sysctl");
}

/* For the suites: every case begins with it on, and leaves it as it was. */
static inline int switch_suite_init(struct kunit_suite *suite)
{
	if (IS_ENABLED(CONFIG_PROC_SYSCTL))
		switch_mount = mount_inside("proc");
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
	switch_was_on = read_inside(switch_mount, SWITCH_PATH) == '1';
	return switch_set(true);
}

static inline void switch_exit(struct kunit *test)
{
	if (switch_mount)
		switch_set(switch_was_on);
}

#endif /* _LIB_TEST_KPROBES_SWITCH_H */
