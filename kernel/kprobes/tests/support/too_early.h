/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A probe that is registered before kprobes are set up. Initcalls of one level are called in the
 * order of linking, and an architecture's objects come before the core.
 */
#ifndef _KPROBES_TESTS_TOO_EARLY_H
#define _KPROBES_TESTS_TOO_EARLY_H

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kprobes.h>

static struct kprobe too_early = { .symbol_name = "vsnprintf" };
static int answer_to_too_early;

static int __init register_too_early(void)
{
	answer_to_too_early = register_kprobe(&too_early);
	return 0;
}
early_initcall(register_too_early);

static inline void too_early_in_boot_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, answer_to_too_early, -EAGAIN);
	KUNIT_EXPECT_NULL(test, too_early.addr);
}

#endif /* _KPROBES_TESTS_TOO_EARLY_H */
