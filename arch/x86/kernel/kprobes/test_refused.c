// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: functions of the architecture's that cannot be probed where they run,
 * or whose text others patch
 */

#include <kunit/test.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>

#include "../../../../lib/test_kprobes/text.h"

/* Calls and jumps that ftrace patches, but in no table. Not every kernel has them all. */
static const char * const patched[] = {
	"ftrace_call",
	"ftrace_regs_call",
	"ftrace_graph_call",
};

/* Returns whether there is such a function. */
static bool expect_refused(struct kunit *test, const char *name)
{
	unsigned long start = kallsyms_lookup_name(name), size, offset, addr;

	if (!start)
		return false;
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &offset));
	KUNIT_EXPECT_EQ(test, 0, offset);
	for (addr = start; addr < start + size; addr++)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr), "%s+%#lx", name,
				    addr - start);
	return true;
}

static void test_patched(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(patched); i++)
		expect_refused(test, patched[i]);
}

static struct kunit_case refused_cases[] = {
	KUNIT_CASE(test_patched),
	{ }
};

static struct kunit_suite refused_suite = {
	.name		= "kprobes_x86_refused",
	.test_cases	= refused_cases,
};

kunit_test_suite(refused_suite);
