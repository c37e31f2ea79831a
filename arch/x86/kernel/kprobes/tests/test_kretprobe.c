// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: the state of the processor in the handler of a return, and after it
 */

#include <kunit/test.h>

#include "support/asm_x86.h"
#include "support/kinds.h"

/* Returns the flags after the return of a function that is called with access to user memory. */
unsigned long kprobe_test_flags_of_return(void);
void kprobe_test_returns_with_access(void);

KPROBES_FUNCTION(kprobe_test_returns_with_access, "nop\n" ASM_RET);
KPROBES_FUNCTION(kprobe_test_flags_of_return,
		 FRAME_BEGIN KPROBES_SET_AC "call kprobe_test_returns_with_access\n"
		 KPROBES_RESULT_AC "\n" FRAME_END ASM_RET);

/* Returns the flags after the return of a function that returns with these flags. */
unsigned long kprobe_test_status_of_return(unsigned long flags);
void kprobe_test_returns_with_status(void);

KPROBES_FUNCTION(kprobe_test_returns_with_status, "push %" _ASM_ARG1 "; popf\n" ASM_RET);
KPROBES_FUNCTION(kprobe_test_status_of_return,
		 FRAME_BEGIN "call kprobe_test_returns_with_status; pushf; pop %" _ASM_AX "\n"
		 FRAME_END ASM_RET);

static unsigned int returns, with_access;

static int see_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returns++;
	with_access += kprobes_uaccess();
	return 0;
}

static void add_return_probe(struct kunit *test, void (*function)(void))
{
	const union any_probe like = { .rp.handler = see_return };

	returns = 0;
	with_access = 0;
	any_registered(test, RETURN_PROBE, &like, function);
}

static void test_access_to_user_memory(struct kunit *test)
{
	add_return_probe(test, kprobe_test_returns_with_access);
	KUNIT_EXPECT_TRUE(test, kprobe_test_flags_of_return() & X86_EFLAGS_AC);
	KUNIT_EXPECT_EQ(test, returns, 1);
	KUNIT_EXPECT_EQ(test, with_access, 0);
}

#define STATUS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
		 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* A past bug: a return lost the flags that KVM's functions return in. */
static void test_status_flags(struct kunit *test)
{
	unsigned long others = native_save_fl() & ~STATUS;

	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "returns change the flags by themselves");
	add_return_probe(test, kprobe_test_returns_with_status);
	KUNIT_EXPECT_EQ(test, kprobe_test_status_of_return(others) & STATUS, 0);
	KUNIT_EXPECT_EQ(test, kprobe_test_status_of_return(others | STATUS) & STATUS, STATUS);
	KUNIT_EXPECT_EQ(test, returns, 2);
}

static struct kunit_case kretprobe_cases[] = {
	KUNIT_CASE(test_access_to_user_memory),
	KUNIT_CASE(test_status_flags),
	{ }
};

static struct kunit_suite kretprobe_suite = {
	.name		= "kprobes_x86_kretprobe",
	.test_cases	= kretprobe_cases,
};

kunit_test_suite(kretprobe_suite);
