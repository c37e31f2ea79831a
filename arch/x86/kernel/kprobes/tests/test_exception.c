// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: exceptions that no fixup is looked for get to fault handlers. One that does not is
 * an oops, or a warning.
 */
#include <kunit/test.h>
#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/special_insns.h>
#include <asm/trapnr.h>

#include "support/probe.h"

#ifdef CONFIG_X86_32
KPROBES_AT(raises_bounds); KPROBES_AT(behind_bounds);

static noinline __noclone notrace void raise_bounds(void)
{
	static const u32 bounds[] = { 1, 4 };

	asm volatile(KPROBES_STEP("raises_bounds") "bound %0, %1\n" KPROBES_STEP("behind_bounds")
		     : : "r" (5), "m" (bounds));
}
#endif

KPROBES_AT(raises_not_available); KPROBES_AT(behind_not_available);

static notrace void switch_coprocessor(bool on)
{
	write_cr0(on ? read_cr0() & ~X86_CR0_TS : read_cr0() | X86_CR0_TS);
}

/* What comes in between might use the coprocessor. */
static noinline __noclone notrace void raise_not_available(void)
{
	unsigned long flags;

	local_irq_save(flags);
	switch_coprocessor(false);
	asm volatile(KPROBES_STEP("raises_not_available") "fnop\n"
		     KPROBES_STEP("behind_not_available"));
	switch_coprocessor(true);
	local_irq_restore(flags);
}

KPROBES_AT(raises_astray); KPROBES_AT(behind_astray);

KPROBES_FUNCTION(called_astray,
		 KPROBES_STEP("raises_astray") "nop\n" KPROBES_STEP("behind_astray") ASM_RET);

/* Leads behind the landing pad. */
static noinline __noclone notrace void raise_astray(void)
{
	asm volatile(ANNOTATE_RETPOLINE_SAFE
		     "call *%[to]" : ASM_CALL_CONSTRAINT : [to] "r" (kprobes_step_raises_astray));
}

static bool landing_pads_matter(void)
{
	return cpu_feature_enabled(X86_FEATURE_IBT);
}

static const struct exception {
	const char *name;
	int trap;
	void (*raise)(void);
	u8 *at, *behind;
	bool (*is_there)(void);		/* NULL: everywhere */
	bool before;			/* the branch to that instruction raises it */
} exceptions[] = {
#ifdef CONFIG_X86_32
	{ "bounds", X86_TRAP_BR, raise_bounds, kprobes_step_raises_bounds,
	  kprobes_step_behind_bounds },
#endif
	{ "no coprocessor", X86_TRAP_NM, raise_not_available, kprobes_step_raises_not_available,
	  kprobes_step_behind_not_available },
	{ "no landing pad", X86_TRAP_CP, raise_astray, kprobes_step_raises_astray,
	  kprobes_step_behind_astray, landing_pads_matter, .before = true },
};

KUNIT_ARRAY_PARAM_DESC(exception, exceptions, name);

static const struct exception *raised;

/* What the fault handler was told, and how often */
static struct {
	unsigned int times;
	int trap;
	unsigned long at;
} told;

static int leave_out(struct kprobe *kp, struct pt_regs *regs, int trap)
{
	told.times++;
	told.trap = trap;
	told.at = regs->ip;
	if (trap == X86_TRAP_NM)
		switch_coprocessor(true);
	instruction_pointer_set(regs, (unsigned long)raised->behind);
	return 1;
}

static void expect_told(struct kunit *test, unsigned int times)
{
	KUNIT_EXPECT_EQ(test, told.times, times);
	KUNIT_EXPECT_EQ(test, told.trap, raised->trap);
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
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	expect_told(test, 1);
}

static void exception_of_a_copy_is_offered_at_its_place(struct kunit *test)
{
	struct probe *probe;

	raised = test->param_value;
	if (raised->before)
		kunit_skip(test, "the branch raises it");
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
	KUNIT_CASE_PARAM(exception_of_a_copy_is_offered_at_its_place, exception_gen_params),
	{ }
};

static struct kunit_suite exception_suite = {
	.name		= "kprobes_x86_exception",
	.init		= exception_init,
	.test_cases	= exception_cases,
};

kunit_test_suite(exception_suite);
