// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: the state of the processor in the handler of a return, and after it
 */

#include <kunit/test.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/irqflags.h>
#include <asm/processor-flags.h>

#include "support/uaccess_x86.h"

/* Returns the flags after the return of a function that is called with access to user memory. */
unsigned long kprobe_test_flags_of_return(void);
void kprobe_test_returns_with_access(void);

/* Returns the flags after the return of a function that returns with these flags. */
unsigned long kprobe_test_status_of_return(unsigned long flags);
void kprobe_test_returns_with_status(void);

asm("	.pushsection .text, \"ax\"\n"
	ASM_FUNC_ALIGN "\n"
"	.type kprobe_test_returns_with_access, @function\n"
"kprobe_test_returns_with_access:\n"
	ASM_ENDBR
"	nop\n"
	ASM_RET
"	.size kprobe_test_returns_with_access, . - kprobe_test_returns_with_access\n"
	ASM_FUNC_ALIGN "\n"
"	.type kprobe_test_flags_of_return, @function\n"
"kprobe_test_flags_of_return:\n"
	ASM_ENDBR
	FRAME_BEGIN
"	pushf; btsl " KPROBES_AC ", (%" _ASM_SP "); popf\n"
"	call kprobe_test_returns_with_access\n"
"	pushf; pop %" _ASM_AX "; push %" _ASM_AX "\n"
"	btrl " KPROBES_AC ", (%" _ASM_SP "); popf\n"
	FRAME_END
	ASM_RET
"	.size kprobe_test_flags_of_return, . - kprobe_test_flags_of_return\n"
	ASM_FUNC_ALIGN "\n"
"	.type kprobe_test_returns_with_status, @function\n"
"kprobe_test_returns_with_status:\n"
	ASM_ENDBR
"	push %" _ASM_ARG1 "; popf\n"
	ASM_RET
"	.size kprobe_test_returns_with_status, . - kprobe_test_returns_with_status\n"
	ASM_FUNC_ALIGN "\n"
"	.type kprobe_test_status_of_return, @function\n"
"kprobe_test_status_of_return:\n"
	ASM_ENDBR
	FRAME_BEGIN
"	call kprobe_test_returns_with_status\n"
"	pushf; pop %" _ASM_AX "\n"
	FRAME_END
	ASM_RET
"	.size kprobe_test_status_of_return, . - kprobe_test_status_of_return\n"
"	.popsection\n"
);

static unsigned int returns, with_access;

static int see_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returns++;
	with_access += kprobes_uaccess();
	return 0;
}

static void test_access_to_user_memory(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.addr = (kprobe_opcode_t *)kprobe_test_returns_with_access,
		.handler = see_return,
	};
	unsigned long flags;

	returns = 0;
	with_access = 0;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&rp));
	flags = kprobe_test_flags_of_return();
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, returns, 1);
	KUNIT_EXPECT_EQ(test, with_access, 0);
	KUNIT_EXPECT_TRUE(test, flags & X86_EFLAGS_AC);
}

#define STATUS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |	\
		 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* A past bug: a return lost the flags that KVM's functions return in. */
static void test_status_flags(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.addr = (kprobe_opcode_t *)kprobe_test_returns_with_status,
		.handler = see_return,
	};
	unsigned long others = native_save_fl() & ~STATUS, none, all;

	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "returns change the flags by themselves");
	returns = 0;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&rp));
	none = kprobe_test_status_of_return(others);
	all = kprobe_test_status_of_return(others | STATUS);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_EQ(test, returns, 2);
	KUNIT_EXPECT_EQ(test, none & STATUS, 0);
	KUNIT_EXPECT_EQ(test, all & STATUS, STATUS);
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
