// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: at each instruction of the core's assembly, of slots and of detours, a stack trace
 * has the callers. A step trap comes before each of them, and overwrites what is below the stack
 * pointer, as an interrupt would do that has been there.
 */
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/cpufeature.h>
#include <linux/kdebug.h>
#include <linux/linkage.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <asm/debugreg.h>
#include <asm/unwind.h>

#include "support/probe.h"
#include "support/switch.h"
#include "../internal.h"

asmlinkage void kprobe_detour_entry(void);
asmlinkage void kprobe_tail_entry(void);

/*
 * Returns the argument plus 1. The first instruction has an operand in memory: it is copied, with a
 * post handler as well. There is room for a jump.
 */
unsigned long kprobe_test_unwound(unsigned long x);

KPROBES_FUNCTION(kprobe_test_unwound,
		 "movq (%rsp), %rax; leaq 1(%rdi), %rax; nopl 0(%rax)\n" ASM_RET);

static unsigned long (*stepped)(unsigned long x);

static noinline __noclone notrace long steps_into(long x)
{
	unsigned long flags;

	asm volatile("pushf; pop %0" : "=r" (flags) : : "memory");
	asm volatile("push %0; popf" : : "r" (flags | X86_EFLAGS_TF) : "memory", "cc");
	x = stepped(x);
	asm volatile("push %0; popf" : : "r" (flags) : "memory", "cc");
	return x + 1;
}

/* The room is of a size that is not known. So the frame is found by the frame pointer. */
static noinline __noclone notrace long calls_with_a_frame(long x)
{
	u8 *room = __builtin_alloca(16 + (x & 15));

	OPTIMIZER_HIDE_VAR(room);
	room[0] = 0;
	barrier_data(room);
	return steps_into(x) + 1 + room[0];
}

/* Where the core's own instructions are */
static struct place {
	unsigned long start, size;
} places[4], callers[3];

/* How many traces were made there, how many of these missed a caller, and the first that did */
static struct {
	struct task_struct *task;
	unsigned int traces, bad;
	unsigned long first_bad;
} walk;

static struct place place_of(void *function)
{
	struct place place;

	place.start = (unsigned long)kprobes_function(function, &place.size);
	return place;
}

static notrace bool is_in(unsigned long addr, const struct place *place)
{
	return addr - place->start < place->size;
}

static notrace bool is_of_the_core(unsigned long ip)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (is_in(ip, &places[i]))
			return true;
	return is_kprobe_insn_slot(ip) || is_kprobe_optinsn_slot(ip);
}

static notrace bool has_callers(struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned int found = 0;
	unsigned long addr;

	for (unwind_start(&state, current, regs, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		addr = unwind_get_return_address(&state);
		if (!addr)
			return false;
		if (is_in(addr, &callers[found]))
			found++;
		else if (found)
			return false;
		if (found == ARRAY_SIZE(callers))
			return true;
	}
	return false;
}

#define BELOW	256

static int step(struct notifier_block *nb, unsigned long what, void *data)
{
	struct die_args *args = data;
	struct pt_regs *regs = args->regs;
	unsigned long *dr6 = ERR_PTR(args->err);

	if (what != DIE_DEBUG || current != walk.task || user_mode(regs) || !(*dr6 & DR_STEP))
		return NOTIFY_DONE;
	*dr6 &= ~DR_STEP;
	if (!is_of_the_core(regs->ip))
		return NOTIFY_STOP;
	memset((void *)regs->sp - BELOW, 0x5a, BELOW);
	walk.traces++;
	if (!has_callers(regs) && !walk.bad++)
		walk.first_bad = regs->ip;
	return NOTIFY_STOP;
}

static struct notifier_block step_notifier = { .notifier_call = step };

static noinline __noclone void expect_traces(struct kunit *test, unsigned int least)
{
	long result;

	walk.traces = 0;
	walk.bad = 0;
	/* A task that is switched to would be stepped, too. */
	preempt_disable();
	walk.task = current;
	result = calls_with_a_frame(1);
	walk.task = NULL;
	preempt_enable();
	KUNIT_EXPECT_EQ(test, result, 4);
	KUNIT_EXPECT_GE(test, walk.traces, least);
	KUNIT_EXPECT_EQ_MSG(test, walk.bad, 0, "of %u, the first at %pS", walk.traces,
			    (void *)walk.first_bad);
}

/* No less than what saves and loads the general registers */
#define MANY	30

static const struct way {
	const char *name;
	bool jump;
	kprobe_post_handler_t post_handler;
} ways[] = {
	{ "jump", true },
	{ "jump, post handler", true, probe_post_handler },
	{ "copy", false, probe_post_handler },
};

KUNIT_ARRAY_PARAM_DESC(way, ways, name);

/*
 * A past bug: a profiler's trace that began in the core's assembly lacked callers, or named a
 * wrong one.
 */
static void callers_are_found_at_a_hit(struct kunit *test)
{
	const struct way *way = test->param_value;
	struct probe *probe;

	if (way->jump)
		switch_need(test);
	else if (switch_mount)
		KUNIT_ASSERT_EQ(test, 0, switch_set(false));
	probe = probe_with(test, kprobe_test_unwound, .kp.post_handler = way->post_handler);
	wait_for_kprobe_optimizer();
	scoped_guard(preempt)
		KUNIT_EXPECT_TRUE(test, !way->jump || kprobe_optimized(get_kprobe(probe->kp.addr)));
	expect_traces(test, MANY);
	probe_expect(test, probe, 1, !!way->post_handler, 0);
}

#ifdef CONFIG_KRETPROBE_RETURN_STACK
static unsigned int returns;

static int see_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returns++;
	return 0;
}

static void expect_traces_of_a_return(struct kunit *test, void *function, unsigned int at_least)
{
	returns = 0;
	stepped = function;
	any_registered(test, RETURN_PROBE, &(union any_probe) { .rp.handler = see_return },
		       function);
	expect_traces(test, at_least);
	KUNIT_EXPECT_EQ(test, returns, 1);
}

static void callers_are_found_at_a_return(struct kunit *test)
{
	expect_traces_of_a_return(test, kprobe_test_unwound, MANY);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* ftrace calls at its entry. */
static noinline __noclone unsigned long traced(unsigned long x)
{
	barrier_data(&x);
	return x + 1;
}

static void callers_are_found_where_a_call_is_followed(struct kunit *test)
{
	expect_traces_of_a_return(test, traced, 3 * MANY);
}
#endif
#endif

static void stop_steps(void *unused)
{
	unregister_die_notifier(&step_notifier);
}

static int traces_init(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC))
		kunit_skip(test, "by frame pointers, not all are found");
	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		kunit_skip(test, "a step's registers are below the stack");
	places[0] = place_of(kprobe_tail_entry);
	places[1] = place_of(kprobe_detour_entry);
#ifdef CONFIG_KRETPROBE_RETURN_STACK
	places[2] = place_of(__kretprobe_trampoline);
#ifdef CONFIG_KPROBES_ON_FTRACE
	places[3] = place_of(kretprobe_ftrace_entry);
#endif
#endif
	stepped = kprobe_test_unwound;
	callers[0] = place_of(steps_into);
	callers[1] = place_of(calls_with_a_frame);
	callers[2] = place_of(expect_traces);
	kprobes_text_watch(test, kprobe_test_unwound);
	return register_die_notifier(&step_notifier) ?:
	       kunit_add_action_or_reset(test, stop_steps, NULL) ?: switch_init(test);
}

static struct kunit_case unwind_cases[] = {
	KUNIT_CASE_PARAM(callers_are_found_at_a_hit, way_gen_params),
#ifdef CONFIG_KRETPROBE_RETURN_STACK
	KUNIT_CASE(callers_are_found_at_a_return),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(callers_are_found_where_a_call_is_followed),
#endif
#endif
	{ }
};

static struct kunit_suite unwind_suite = {
	.name		= "kprobes_x86_unwind",
	.suite_init	= switch_suite_init,
	.suite_exit	= switch_suite_exit,
	.init		= traces_init,
	.exit		= switch_exit,
	.test_cases	= unwind_cases,
};

kunit_test_suite(unwind_suite);
