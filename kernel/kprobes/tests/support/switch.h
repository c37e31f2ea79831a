/* SPDX-License-Identifier: GPL-2.0 */
/*
 * debug.kprobes-optimization, for suites that are built in: they run before any
 * file system is mounted.
 */
#ifndef _KPROBES_TESTS_SWITCH_H
#define _KPROBES_TESTS_SWITCH_H

#include <kunit/test.h>
#include <linux/types.h>

/* NULL where there is no switch */
extern struct vfsmount *switch_mount;

int switch_set(bool on);
void switch_need(struct kunit *test);

/* For suites: each case begins with it on, and leaves it as it was at the beginning. */
int switch_suite_init(struct kunit_suite *suite);
void switch_suite_exit(struct kunit_suite *suite);
int switch_init(struct kunit *test);
void switch_exit(struct kunit *test);

#endif /* _KPROBES_TESTS_SWITCH_H */
