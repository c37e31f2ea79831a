// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: the state of the processor in the handler of a return, and after it
 */

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/sched.h>

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

static struct kprobe *add_return_probe(struct kunit *test, void (*function)(void))
{
	const union any_probe like = { .rp.handler = see_return };

	returns = 0;
	with_access = 0;
	return &any_registered(test, RETURN_PROBE, &like, function)->probe.rp.kp;
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

#ifdef CONFIG_X86_64
static struct task_struct *swaps_for;
static unsigned long other_stack[64], taken_at, top_inside;

static noinline void calls_with_another_stack(void)
{
	taken_at = (unsigned long)current->kretprobe_instances.first;
	top_inside = current->kretprobe_top;
}

static void put_stack(unsigned long start, unsigned long end)
{
	WRITE_ONCE(current->kretprobe_top, start);
	WRITE_ONCE(current->kretprobe_start, start);
	WRITE_ONCE(current->kretprobe_end, end);
}

/* As an interrupt that comes when an entry has just looked where the task's stack ends */
static void swap_stacks(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	if (current != swaps_for)
		return;
	swaps_for = NULL;
	put_stack((unsigned long)other_stack, (unsigned long)(other_stack + 64));
}

static void test_another_stack_at_an_entry(struct kunit *test)
{
	struct perf_event * __percpu *events;
	struct perf_event_attr attr;
	unsigned long start, end;

	if (!kprobe_ftrace(add_return_probe(test, calls_with_another_stack)))
		kunit_skip(test, "no entry by ftrace");
	start = current->kretprobe_start;
	end = current->kretprobe_end;
	KUNIT_ASSERT_EQ(test, current->kretprobe_top, start);
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&current->kretprobe_end;
	attr.bp_type = HW_BREAKPOINT_RW;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	events = register_wide_hw_breakpoint(&attr, swap_stacks, NULL);
	if (IS_ERR((void __force *)events))
		kunit_skip(test, "no breakpoints on data");
	swaps_for = current;
	calls_with_another_stack();
	unregister_wide_hw_breakpoint(events);
	KUNIT_EXPECT_NULL(test, swaps_for);
	KUNIT_EXPECT_EQ(test, taken_at, (unsigned long)other_stack);
	KUNIT_EXPECT_GT(test, top_inside, taken_at);
	KUNIT_EXPECT_EQ(test, current->kretprobe_top, (unsigned long)other_stack);
	KUNIT_EXPECT_EQ(test, returns, 1);
	put_stack(start, end);
}
#endif

static struct kunit_case kretprobe_cases[] = {
	KUNIT_CASE(test_access_to_user_memory),
	KUNIT_CASE(test_status_flags),
#ifdef CONFIG_X86_64
	KUNIT_CASE(test_another_stack_at_an_entry),
#endif
	{ }
};

static struct kunit_suite kretprobe_suite = {
	.name		= "kprobes_x86_kretprobe",
	.test_cases	= kretprobe_cases,
};

kunit_test_suite(kretprobe_suite);
