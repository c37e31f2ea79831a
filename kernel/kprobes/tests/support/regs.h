/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function's first argument and its result, on architectures that tell in which
 * registers these are.
 */
#ifndef _KPROBES_TESTS_REGS_H
#define _KPROBES_TESTS_REGS_H

#include <kunit/test.h>
#include <linux/ptrace.h>

#define KPROBES_TELLS_ARGUMENTS	IS_ENABLED(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)
#define KPROBES_SETS_RESULTS	IS_ENABLED(CONFIG_HAVE_FUNCTION_ERROR_INJECTION)

/* The first argument, at a function's entry */
static inline unsigned long kprobes_argument(struct pt_regs *regs)
{
#ifdef CONFIG_HAVE_FUNCTION_ARG_ACCESS_API
	return regs_get_kernel_argument(regs, 0);
#else
	return 0;
#endif
}

static inline void kprobes_set_result(struct pt_regs *regs, unsigned long x)
{
#ifdef CONFIG_HAVE_FUNCTION_ERROR_INJECTION
	regs_set_return_value(regs, x);
#endif
}

static inline void kprobes_need_arguments(struct kunit *test)
{
	if (!KPROBES_TELLS_ARGUMENTS)
		kunit_skip(test, "no telling arguments from registers here");
}

static inline void kprobes_need_results(struct kunit *test)
{
	if (!KPROBES_SETS_RESULTS)
		kunit_skip(test, "no way to set a function's result here");
}

#endif /* _KPROBES_TESTS_REGS_H */
