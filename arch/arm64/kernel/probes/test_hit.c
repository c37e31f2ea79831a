// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: hits, and what is around them: the stack, and what of the processor's
 * state is neither saved nor switched by anybody else
 */

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include "../../../../lib/test_kprobes/probe.h"
#include "../../../../lib/test_kprobes/trace.h"

/* --- the stack --- */

static struct trace trace;

/* As if the function that has this frame record had been interrupted */
static void trace_from(unsigned long *record)
{
	struct pt_regs regs = {
		.pc = (unsigned long)kprobes_traced,
		.regs[29] = (unsigned long)record,
	};

	preempt_disable();
	trace.length = stack_trace_save_regs(&regs, trace.entries, ARRAY_SIZE(trace.entries), 0);
	preempt_enable();
}

/* The last record before an overflow: there is no room for the registers of an exception. */
static void unwinder_stays_on_the_stack(struct kunit *test)
{
	unsigned long *record = end_of_stack(current) + 2;
	unsigned long was[] = { record[0], record[1] };

	if (!IS_ENABLED(CONFIG_VMAP_STACK))
		kunit_skip(test, "what is below a stack can be read");
	record[0] = (unsigned long)__builtin_frame_address(0);
	record[1] = (unsigned long)kprobes_untraced;
	trace_from(record);
	memcpy(record, was, sizeof(was));

	KUNIT_ASSERT_GT(test, trace.length, 2);
	KUNIT_EXPECT_EQ(test, trace.entries[0], (unsigned long)kprobes_traced);
	KUNIT_EXPECT_EQ(test, trace.entries[1], (unsigned long)kprobes_untraced);
	KUNIT_EXPECT_EQ(test, trace.entries[2], (unsigned long)__builtin_return_address(0));
}

static struct kunit_case hit_cases[] = {
	KUNIT_CASE(unwinder_stays_on_the_stack),
	{ }
};

static struct kunit_suite hit_suite = {
	.name		= "kprobes_arm64_hit",
	.test_cases	= hit_cases,
};

kunit_test_suite(hit_suite);
