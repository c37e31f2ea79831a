/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the KUnit suites of jprobes: jprobes, and ways to leave their handlers. */
#ifndef _KPROBES_TESTS_JPROBE_H
#define _KPROBES_TESTS_JPROBE_H

#include "kinds.h"
#include "probe.h"

/* It is unregistered when the test case ends; doing that before is fine, too. */
static inline struct jprobe *jprobe_registered(struct kunit *test, void *addr, void *entry)
{
	const union any_probe like = { .jp.entry = entry };

	return &any_registered(test, JPROBE, &like, addr)->probe.jp;
}

/* How often jprobe_return() has returned to its caller */
static unsigned int came_back;

static __always_inline void leave(void)
{
	jprobe_return();
	came_back++;
}

static noinline __noclone __maybe_unused u32 leave_from_deep(u32 depth)
{
	if (depth)
		leave_from_deep(depth - 1);
	else
		leave();
	kprobes_no_tail_call(&depth);
	return depth;
}

/* Suites call this after each case. */
static inline void expect_none_came_back(struct kunit *test)
{
	KUNIT_EXPECT_EQ_MSG(test, came_back, 0, "jprobe_return() returned");
	came_back = 0;
}

#endif /* _KPROBES_TESTS_JPROBE_H */
