// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: exceptions other than those of memory accesses get to fault handlers. Nothing
 * fixes them up, so one that does not is an oops. A BUG() is told of before they are asked. And
 * faults of simulated loads, which are raised in software.
 */
#include <kunit/test.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <asm/esr.h>
#include <asm/insn.h>
#include <asm/sysreg.h>

#include "support/probe.h"
#include "support/report.h"
#include "test_exception.h"
#include "test_jump.h"

/* Does a signature that is another raise an exception? */
static bool signatures_matter(void)
{
	u64 first = read_sanitised_ftr_reg(SYS_ID_AA64ISAR1_EL1);
	u64 second = read_sanitised_ftr_reg(SYS_ID_AA64ISAR2_EL1);

	if (!IS_ENABLED(CONFIG_ARM64_PTR_AUTH_KERNEL) || !system_supports_address_auth())
		return false;
	return SYS_FIELD_GET(ID_AA64ISAR1_EL1, APA, first) >= ID_AA64ISAR1_EL1_APA_FPAC ||
	       SYS_FIELD_GET(ID_AA64ISAR1_EL1, API, first) >= ID_AA64ISAR1_EL1_API_FPAC ||
	       SYS_FIELD_GET(ID_AA64ISAR2_EL1, APA3, second) >= ID_AA64ISAR2_EL1_APA3_FPAC;
}

static const struct exception {
	const char *name;
	unsigned long (*raise)(unsigned long x);
	bool (*is_there)(void);		/* NULL: everywhere */
	u32 class;
	bool reported;
} exceptions[] = {
	{ "undefined instruction", raises_undefined, NULL, ESR_ELx_EC_UNKNOWN },
	{ "no landing pad", raises_astray, system_supports_bti_kernel, ESR_ELx_EC_BTI },
	{ "signature", raises_forged, signatures_matter, ESR_ELx_EC_FPAC },
	{ "BRK", raises_brk, NULL, ESR_ELx_EC_BRK64 },
	{ "BUG()", raises_bug, NULL, ESR_ELx_EC_BRK64, .reported = true },
};

KUNIT_ARRAY_PARAM_DESC(exception, exceptions, name);

#define SKIPPED		99

/* What the fault handler was told, how often, and what came of the instruction */
static struct {
	unsigned int times;
	u32 class;
	unsigned long at;
	unsigned long result;
} told;

static int skip_instruction(struct kprobe *kp, struct pt_regs *regs, int esr)
{
	told.times++;
	told.class = ESR_ELx_EC(esr);
	told.at = regs->pc;
	regs->regs[0] = SKIPPED;
	regs->pc += AARCH64_INSN_SIZE;
	return 1;
}

/* The exception that a handler raises */
static const struct exception *raised;

static int raise_exception(struct probe *probe, struct pt_regs *regs)
{
	told.result = raised->raise((unsigned long)probe);
	return 0;
}

static void exception_of_a_handler_is_offered(struct kunit *test)
{
	raised = test->param_value;
	if (raised->is_there && !raised->is_there())
		kunit_skip(test, "this processor raises none");
	probe_with(test, kprobes_untraced, .kp.fault_handler = skip_instruction,
		   .on_hit = raise_exception);
	if (raised->reported)
		expect_lines_begin("kernel BUG at");
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	if (raised->reported)
		expect_report_end();
	KUNIT_EXPECT_EQ(test, told.times, 1);
	KUNIT_EXPECT_EQ(test, told.class, raised->class);
	KUNIT_EXPECT_EQ(test, told.result, SKIPPED);
}

static void expect_undefined(struct kunit *test, unsigned int times)
{
	KUNIT_EXPECT_EQ(test, raises_undefined(1), SKIPPED);
	KUNIT_EXPECT_EQ(test, told.times, times);
	KUNIT_EXPECT_EQ(test, told.class, ESR_ELx_EC_UNKNOWN);
	KUNIT_EXPECT_PTR_EQ(test, (void *)told.at, (void *)kprobes_step_no_register);
}

static void undefined_copy_is_offered_at_its_place(struct kunit *test)
{
	struct probe *probe = probe_with(test, kprobes_step_no_register,
					 .kp.fault_handler = skip_instruction,
					 .kp.post_handler = probe_post_handler);

	expect_undefined(test, 1);
	probe_unregister(probe);
	probe_with(test, kprobes_step_no_register, .kp.fault_handler = skip_instruction);
	expect_undefined(test, 2);
	wait_for_kprobe_optimizer();
	need_jump(test, kprobes_step_no_register);
	expect_undefined(test, 3);
}

/* What the fault handler does when it is asked for the first time; later it skips the load. */
enum answer { PASS_ON, SKIP, TRY_AGAIN };

static enum answer first_answer;

#define ARGUMENT	7

static int answer_for_load(struct kprobe *kp, struct pt_regs *regs, int esr)
{
	const bool unchanged = regs->regs[0] == ARGUMENT;

	if (told.times || first_answer == SKIP) {
		skip_instruction(kp, regs, esr);
	} else {
		told.times = 1;
		told.class = ESR_ELx_EC((u32)esr);
		told.at = regs->pc;
	}
	told.result = unchanged;
	return told.times > 1 || first_answer != PASS_ON;
}

static void expect_all_answers(struct kunit *test, const char *how)
{
	enum answer answer;

	for (answer = PASS_ON; answer <= TRY_AGAIN; answer++) {
		unsigned long result;

		memset(&told, 0, sizeof(told));
		first_answer = answer;
		result = loads_nothing(ARGUMENT);
		KUNIT_EXPECT_EQ_MSG(test, result, answer == PASS_ON ? -EFAULT : SKIPPED, "%s", how);
		KUNIT_EXPECT_EQ_MSG(test, told.times, answer == TRY_AGAIN ? 2 : 1, "%s", how);
		KUNIT_EXPECT_EQ_MSG(test, told.class, ESR_ELx_EC_DABT_CUR, "%s", how);
		KUNIT_EXPECT_PTR_EQ_MSG(test, (void *)told.at, (void *)kprobes_step_literal, "%s",
					how);
		KUNIT_EXPECT_TRUE_MSG(test, told.result, "%s", how);
	}
}

static struct probe *probe_literal(struct kunit *test, kprobe_post_handler_t post_handler)
{
	return probe_with(test, kprobes_step_literal, .kp.fault_handler = answer_for_load,
			  .kp.post_handler = post_handler);
}

static void need_no_literal(struct kunit *test)
{
	u64 literal, *at = (void *)kprobes_step_literal - LITERAL_DISTANCE;

	KUNIT_ASSERT_NE_MSG(test, 0, get_kernel_nofault(literal, at),
			    "there is something at %pS", at);
}

/* A past bug: fault handlers were not asked, or with the registers of the simulation. */
static void literal_that_is_not_there_is_a_fault_of_the_load(struct kunit *test)
{
	struct probe *probe;

	need_no_literal(test);
	probe = probe_literal(test, probe_post_handler);
	expect_all_answers(test, "breakpoint, post handler");
	wait_for_kprobe_optimizer();
	expect_all_answers(test, "jump, post handler");
	KUNIT_EXPECT_EQ(test, probe->hits, 6);
	KUNIT_EXPECT_EQ(test, probe->posts, 0);
	probe_unregister(probe);
	probe_literal(test, NULL);
	expect_all_answers(test, "breakpoint");
	wait_for_kprobe_optimizer();
	need_jump(test, kprobes_step_literal);
	expect_all_answers(test, "jump");
}

static int load_nothing(struct probe *probe, struct pt_regs *regs)
{
	loads_nothing(ARGUMENT);
	return 0;
}

/* Then it is a fault of the handler that caused the hit. */
static void literal_that_is_not_there_at_a_missed_hit(struct kunit *test)
{
	struct probe *missed;

	need_no_literal(test);
	missed = probe_literal(test, probe_post_handler);
	probe_with(test, kprobes_untraced, .kp.fault_handler = answer_for_load,
		   .on_hit = load_nothing);
	first_answer = TRY_AGAIN;
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	KUNIT_EXPECT_EQ(test, told.times, 2);
	KUNIT_EXPECT_EQ(test, told.at, (unsigned long)kprobes_step_literal);
	KUNIT_EXPECT_TRUE(test, told.result);
	KUNIT_EXPECT_EQ(test, missed->hits, 0);
	KUNIT_EXPECT_EQ(test, missed->posts, 0);
}

static int exception_init(struct kunit *test)
{
	memset(&told, 0, sizeof(told));
	kprobes_text_watch(test, raises_undefined);
	kprobes_text_watch(test, loads_nothing);
	return kprobes_watch_targets(test);
}

static struct kunit_case exception_cases[] = {
	KUNIT_CASE_PARAM(exception_of_a_handler_is_offered, exception_gen_params),
	KUNIT_CASE(undefined_copy_is_offered_at_its_place),
	KUNIT_CASE(literal_that_is_not_there_is_a_fault_of_the_load),
	KUNIT_CASE(literal_that_is_not_there_at_a_missed_hit),
	{ }
};

static struct kunit_suite exception_suite = {
	.name		= "kprobes_arm64_exception",
	.init		= exception_init,
	.test_cases	= exception_cases,
};

kunit_test_suite(exception_suite);
