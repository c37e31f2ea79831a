/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TEST_FAIL_FTRACE_H
#define _KERNEL_KPROBES_TEST_FAIL_FTRACE_H
/*
 * Makes ftrace fail to hook functions, or to take hooks off, as it does without memory.
 */
#include <kunit/test.h>
#include <linux/error-injection.h>
#include <linux/kprobes.h>
#include <linux/sched.h>

/* How often ftrace has to fail from now on: to hook, and to take hooks off */
static unsigned int ftrace_failures, ftrace_removals_fail;
/* For whom: others may use ftrace meanwhile. */
static struct task_struct *ftrace_fails_for;

static inline int fail_to_hook(struct kprobe *p, struct pt_regs *regs)
{
	bool remove = regs_get_kernel_argument(regs, 3);
	unsigned int *failures = remove ? &ftrace_removals_fail : &ftrace_failures;

	if (current != ftrace_fails_for || !*failures)
		return 0;
	--*failures;
	regs_set_return_value(regs, -ENOMEM);
	override_function_with_return(regs);
	return 1;
}

/* Keeps a jump away on architectures where that cannot go to where the pre handler wants. */
static inline void after_hooking(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe ftrace_failer;

static inline void mend_ftrace(void *unused)
{
	ftrace_failures = 0;
	ftrace_removals_fail = 0;
	unregister_kprobe(&ftrace_failer);
}

/* Prepares for failures, until the test case ends. The case says how many there are to be. */
static inline void have_ftrace_fail(struct kunit *test)
{
	ftrace_failures = 0;
	ftrace_removals_fail = 0;
	ftrace_fails_for = current;
	ftrace_failer = (struct kprobe) {
		.symbol_name = "ftrace_set_filter_ips",
		.pre_handler = fail_to_hook,
		.post_handler = after_hooking,
	};
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&ftrace_failer));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mend_ftrace, NULL));
}

#endif /* _KERNEL_KPROBES_TEST_FAIL_FTRACE_H */
