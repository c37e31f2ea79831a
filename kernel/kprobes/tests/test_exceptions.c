// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: exceptions that no fixup is looked for get to fault handlers. One that does not is
 * an oops, or a warning.
 */
#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/string.h>

#include "support/probe.h"

/**
 * struct exception - a kind of exception
 * @name:	its name
 * @kind:	what kind_of() says of it
 * @raise:	raises it
 * @at:		where it is raised
 * @behind:	the next instruction
 * @is_there:	does this processor raise it? NULL if all do
 * @repair:	what has to be done before anything else, or NULL
 * @probed:	the instruction can have a probe
 * @reported:	the kernel reports it as a BUG() before fault handlers are asked
 */
struct exception {
	const char *name;
	int kind;
	void (*raise)(void);
	u8 *at, *behind;
	bool (*is_there)(void);
	void (*repair)(void);
	bool probed, reported;
};

/* An architecture has exceptions[] and kind_of(). */
#ifdef CONFIG_X86
#include "support/exceptions_x86.h"
#else
#include "support/exceptions_arm64.h"
#endif

KUNIT_ARRAY_PARAM_DESC(exception, exceptions, name);

static const void *probed_gen_params(struct kunit *test, const void *prev, char *desc)
{
	do {
		prev = exception_gen_params(test, prev, desc);
	} while (prev && !((const struct exception *)prev)->probed);
	return prev;
}

static const struct exception *raised;

/* What the fault handler was told, and how often */
static struct {
	unsigned int times;
	int kind;
	unsigned long at;
} told;

static int leave_out(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	told.times++;
	told.kind = kind_of(trapnr);
	told.at = instruction_pointer(regs);
	if (raised->repair)
		raised->repair();
	instruction_pointer_set(regs, (unsigned long)raised->behind);
	return 1;
}

static void expect_told(struct kunit *test, unsigned int times)
{
	KUNIT_EXPECT_EQ(test, told.times, times);
	KUNIT_EXPECT_EQ(test, told.kind, raised->kind);
	KUNIT_EXPECT_EQ(test, told.at, (unsigned long)raised->at);
}

static int raise_exception(struct probe *probe, struct pt_regs *regs)
{
	raised->raise();
	return 0;
}

static void exception_of_a_handler_is_offered(struct kunit *test)
{
	raised = test->param_value;
	if (raised->is_there && !raised->is_there())
		kunit_skip(test, "this processor raises none");
	probe_with(test, kprobes_untraced, .kp.fault_handler = leave_out,
		   .on_hit = raise_exception);
	if (raised->reported)
		expect_lines_begin("kernel BUG at");
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	if (raised->reported)
		expect_report_end();
	expect_told(test, 1);
}

static void exception_of_a_copy_is_offered_at_its_place(struct kunit *test)
{
	struct probe *probe;

	raised = test->param_value;
	probe = probe_with(test, raised->at, .kp.fault_handler = leave_out,
			   .kp.post_handler = probe_post_handler);
	raised->raise();
	expect_told(test, 1);
	probe_unregister(probe);
	probe_with(test, raised->at, .kp.fault_handler = leave_out);
	raised->raise();
	expect_told(test, 2);
	/* Perhaps in the copy of a detour */
	wait_for_kprobe_optimizer();
	raised->raise();
	expect_told(test, 3);
}

static int exception_init(struct kunit *test)
{
	int i;

	memset(&told, 0, sizeof(told));
	for (i = 0; i < ARRAY_SIZE(exceptions); i++)
		kprobes_text_watch(test, exceptions[i].raise);
	return kprobes_watch_targets(test);
}

static struct kunit_case exception_cases[] = {
	KUNIT_CASE_PARAM(exception_of_a_handler_is_offered, exception_gen_params),
	KUNIT_CASE_PARAM(exception_of_a_copy_is_offered_at_its_place, probed_gen_params),
	{ }
};

static struct kunit_suite exception_suite = {
	.name		= "kprobes_exceptions",
	.init		= exception_init,
	.test_cases	= exception_cases,
};

kunit_test_suite(exception_suite);
