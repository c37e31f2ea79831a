/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the KUnit suites: probes that take notes, the targets for them, and a watch over
 * the targets' text. Handlers only take notes. The test case checks them afterwards.
 */
#ifndef _KPROBES_TESTS_PROBE_H
#define _KPROBES_TESTS_PROBE_H

#include <kunit/test.h>
#include <linux/string.h>

#include "kinds.h"
#include "regs.h"
#include "report.h"
#include "targets.h"

/* How often kprobes_call_step() executes the step */
#define KPROBES_CALLS	2

/* Calls the function around @step, as a part of the caller, so that its jump goes both ways. */
static __always_inline void kprobes_call_step(struct kunit *test,
					      const struct kprobes_step *step)
{
	static const u32 arguments[KPROBES_CALLS] = { 1, -15 };
	unsigned int i;

	for (i = 0; i < KPROBES_CALLS; i++) {
		u32 x = arguments[i];

		KUNIT_EXPECT_EQ_MSG(test, step->call(x), kprobes_expected(x),
				    "%s: the probed function went wrong", step->name);
	}
}

/* The step of that name, or NULL where the architecture has none */
static inline const struct kprobes_step *kprobes_find_step(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kprobes_steps_table); i++) {
		if (!strcmp(kprobes_steps_table[i].name, name))
			return &kprobes_steps_table[i];
	}
	return NULL;
}

/* Steps that differ in the way to the handlers. Not every architecture has all of them. */
static const char * const kprobes_common_steps[] __maybe_unused = {
	"function entry", "untraced function entry", "plain instruction", "call",
};

static inline const struct kprobes_step *kprobes_need_step(struct kunit *test,
							   const char *name)
{
	const struct kprobes_step *step = kprobes_find_step(name);

	if (!step)
		kunit_skip(test, "no %s among the targets", name);
	return step;
}

/* For suites: each case must leave all targets as it has found them. */
static inline int kprobes_watch_targets(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kprobes_steps_table); i++)
		kprobes_text_watch(test, kprobes_steps_table[i].call);
	return 0;
}

#endif /* _KPROBES_TESTS_PROBE_H */
