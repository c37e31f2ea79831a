/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For test cases in which the kernel has to report something.
 */
#ifndef _KPROBES_TESTS_REPORT_H
#define _KPROBES_TESTS_REPORT_H

#include <kunit/test.h>
#include <linux/panic.h>
#include <linux/printk.h>

/* For suites that are built in: panic_on_warn is not exported. */
static inline void need_warnings(struct kunit *test)
{
	if (panic_on_warn)
		kunit_skip(test, "the kernel is told to panic when it warns");
}

/* Warnings on the console are errors, except between these two lines, where there has to be one. */
static inline void expect_report_begin(void)
{
	pr_info("kprobes_test: expected report begins\n");
}

/* The same for lines that match @pattern, which may be none */
static inline void expect_lines_begin(const char *pattern)
{
	pr_info("kprobes_test: expected report begins: %s\n", pattern);
}

static inline void expect_report_end(void)
{
	pr_info("kprobes_test: expected report ends\n");
}

#endif /* _KPROBES_TESTS_REPORT_H */
