/* SPDX-License-Identifier: GPL-2.0-only */
/* What the suites share of functions that an architecture refuses to be probed */
#ifndef _KPROBES_TESTS_REFUSED_H
#define _KPROBES_TESTS_REFUSED_H

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/string.h>

#include "text.h"

/**
 * struct refused - a function that must be refused as a whole
 * @name: its name
 * @exists: this kernel has it, by its configuration; else it may have it
 * @function: the function, where others have the same name
 */
struct refused {
	const char *name;
	bool exists;
	void *function;
};

/*
 * An architecture has refused[]; unreturning[], names of functions that can have no return probe;
 * and untraced[], names of functions that a hit passes by before it is counted as one.
 */
#if defined(CONFIG_X86)
#include "refused_x86.h"
#elif defined(CONFIG_ARM64)
#include "refused_arm64.h"
#endif

KUNIT_ARRAY_PARAM_DESC(refused, refused, name);

/*
 * All of this was accepted once: for instance the loop of a CPU that is not to boot, constants of
 * AES, and writes to MSRs, which are functions at -Os.
 */
static void all_of_it_is_refused(struct kunit *test)
{
	const struct refused *f = test->param_value;
	unsigned long start = f->function ? (unsigned long)f->function :
					    kallsyms_lookup_name(f->name);

	/* One that was renamed must be renamed here, too. */
	KUNIT_EXPECT_TRUE_MSG(test, start || !f->exists, "there is no %s", f->name);
	if (!start)
		kunit_skip(test, "there is none");
	kprobes_expect_refused(test, start, REFUSED_STEP);
}

static inline void unreturning_desc(const char * const *name, char *desc)
{
	strscpy(desc, *name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(unreturning, unreturning, unreturning_desc);

/*
 * A past bug: return probes on ftrace's assembly were accepted, which finds its way by return
 * addresses. What returns lead to is not called, so there is no return address to be replaced.
 */
static void return_probe_on_it_is_refused(struct kunit *test)
{
	struct kretprobe probe = {
		.kp.symbol_name = *(const char * const *)test->param_value,
		/* If it is accepted, the kernel must live long enough to report that. */
		.kp.flags = KPROBE_FLAG_DISABLED,
	};
	int ret;

	if (!kallsyms_lookup_name(probe.kp.symbol_name))
		kunit_skip(test, "there is none");
	ret = register_kretprobe(&probe);
	if (!ret)
		unregister_kretprobe(&probe);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
}

/* A past bug: it was, and some tracers call what can be probed before their guard. */
static void way_to_the_handlers_is_not_traced(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(untraced); i++)
		kprobes_expect_untraced(test, untraced[i]);
}

/*
 * A probe that is registered before kprobes are set up. Initcalls of one level are called in the
 * order of linking, and an architecture's objects come before the core.
 */
static struct kprobe too_early = { .symbol_name = "vsnprintf" };
static int answer_to_too_early;

static int __init register_too_early(void)
{
	answer_to_too_early = register_kprobe(&too_early);
	return 0;
}
early_initcall(register_too_early);

static void too_early_in_boot_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, answer_to_too_early, -EAGAIN);
	KUNIT_EXPECT_NULL(test, too_early.addr);
}

#endif /* _KPROBES_TESTS_REFUSED_H */
