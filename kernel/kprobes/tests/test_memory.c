// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of registrations that run out of memory, at each of their allocations in
 * turn: they must not change anything. Probes on the kernel's functions for fault
 * injection make allocations fail. Other tests are of hits, which must not allocate.
 */
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/error-injection.h>
#include <linux/fault-inject.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "support/probe.h"
#include "../internal.h"
#include "../kretprobe.h"
#include "support/sites.h"

#define NR_STEPS	ARRAY_SIZE(kprobes_steps_table)

/* More than arm64 arms at a time without memory */
#define NR_MORE		24

/* Probes as they were before a registration, to compare with, and as they are now */
static struct subject {
	struct kprobe kps[NR_STEPS];
	struct kprobe block[NR_MORE];
	struct kretprobe rps[2];
	struct jprobe jps[2];
} before, now;

static struct kprobe *kps[NR_STEPS], *block[NR_MORE];
static struct kretprobe *rps[] = { &now.rps[0], &now.rps[1] };
static struct jprobe *jps[] = { &now.jps[0], &now.jps[1] };

/* How often handlers ran */
static unsigned int runs;

static int note_hit(struct kprobe *p, struct pt_regs *regs)
{
	runs++;
	return 0;
}

static void nothing_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	runs++;
	return 0;
}

static u32 note_call(u32 x)
{
	runs++;
	jprobe_return();
	return x;
}

/* The core may initialize a list that is empty, or leave it as it is. */
static void empty_list(struct kprobe *p, struct kprobe *p_before)
{
	INIT_LIST_HEAD(&p->list);
	p_before->list = p->list;
}

/* Fields that must not change have other values than a registration would set. */
static void start_anew(void)
{
	unsigned int i;

	memset(&before, 0, sizeof(before));
	for (i = 0; i < NR_STEPS; i++) {
		before.kps[i].addr = kprobes_steps_table[i].addr;
		before.kps[i].pre_handler = note_hit;
		before.kps[i].nmissed = 7;
		kps[i] = &now.kps[i];
	}
	for (i = 0; i < NR_MORE; i++) {
		before.block[i].addr = kprobes_blocks[0].first + i * KPROBES_BLOCK_INSN_SIZE;
		before.block[i].pre_handler = note_hit;
		block[i] = &now.block[i];
	}
	for (i = 0; i < 2; i++) {
		before.rps[i].kp.addr = (kprobe_opcode_t *)(i ? kprobes_traced : kprobes_untraced);
		before.rps[i].kp.pre_handler = note_hit;
		before.rps[i].kp.post_handler = nothing_after;
		before.rps[i].handler = note_return;
		before.rps[i].nmissed = 7;
		before.jps[i].kp.addr = (kprobe_opcode_t *)(i ? kprobes_untraced : kprobes_traced);
		before.jps[i].kp.pre_handler = note_hit;
		before.jps[i].entry = JPROBE_ENTRY(note_call);
	}
	memcpy(&now, &before, sizeof(now));
	for (i = 0; i < NR_STEPS; i++)
		empty_list(&now.kps[i], &before.kps[i]);
	for (i = 0; i < NR_MORE; i++)
		empty_list(&now.block[i], &before.block[i]);
	for (i = 0; i < 2; i++) {
		empty_list(&now.rps[i].kp, &before.rps[i].kp);
		empty_list(&now.jps[i].kp, &before.jps[i].kp);
	}
}

/**
 * struct trial - a kind of registration
 * @name: what is registered
 * @come: registers it in @now
 * @go: undoes that
 * @warns: an allocation is so large that the kernel tells with a trace if it fails
 * @before: what precedes @come, with memory, or NULL; @go undoes it, too
 */
struct trial {
	const char *name;
	int (*come)(void);
	void (*go)(void);
	bool warns;
	int (*before)(void);
};

static int one_comes(void)
{
	return register_kprobe(&now.kps[0]);
}

static void one_goes(void)
{
	unregister_kprobe(&now.kps[0]);
}

static int one_at_an_entry_comes(void)
{
	now.kps[0].addr = (kprobe_opcode_t *)kprobes_traced;
	before.kps[0].addr = now.kps[0].addr;
	return register_kprobe(&now.kps[0]);
}

static int disabled_one_comes(void)
{
	now.kps[0].flags = KPROBE_FLAG_DISABLED;
	return one_at_an_entry_comes();
}

static int one_is_enabled(void)
{
	return enable_kprobe(&now.kps[0]);
}

static int all_come(void)
{
	return register_kprobes(kps, NR_STEPS);
}

static void all_go(void)
{
	unregister_kprobes(kps, NR_STEPS);
}

static int block_comes(void)
{
	return register_kprobes(block, NR_MORE);
}

static void block_goes(void)
{
	unregister_kprobes(block, NR_MORE);
}

static int return_comes(void)
{
	return register_kretprobe(&now.rps[0]);
}

static int capped_return_comes(void)
{
	now.rps[0].maxactive = 5;
	before.rps[0].maxactive = 5;
	return register_kretprobe(&now.rps[0]);
}

static void return_goes(void)
{
	unregister_kretprobe(&now.rps[0]);
	/* The next registration has to allocate the return stacks again. */
	kretprobe_stacks_trim();
}

static int two_returns_come(void)
{
	return register_kretprobes(rps, ARRAY_SIZE(rps));
}

static void two_returns_go(void)
{
	unregister_kretprobes(rps, ARRAY_SIZE(rps));
	kretprobe_stacks_trim();
}

static int jprobe_comes(void)
{
	return register_jprobe(&now.jps[0]);
}

static void jprobe_goes(void)
{
	unregister_jprobe(&now.jps[0]);
}

static int two_jprobes_come(void)
{
	return register_jprobes(jps, ARRAY_SIZE(jps));
}

static void two_jprobes_go(void)
{
	unregister_jprobes(jps, ARRAY_SIZE(jps));
}

static const struct trial trials[] = {
	{ "a kprobe", one_comes, one_goes },
	{ "a kprobe at an entry", one_at_an_entry_comes, one_goes },
	{ "many kprobes", all_come, all_go },
	{ "more kprobes", block_comes, block_goes },
	{ "a return probe", return_comes, return_goes, true },
	{ "a return probe with a cap", capped_return_comes, return_goes, true },
	{ "return probes", two_returns_come, two_returns_go, true },
	{ "a jprobe", jprobe_comes, jprobe_goes },
	{ "jprobes", two_jprobes_come, two_jprobes_go },
	{ "a kprobe that is there", one_is_enabled, one_goes, false, disabled_one_comes },
};

static void trial_desc(const struct trial *trial, char *desc)
{
	strscpy(desc, trial->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(trial, trials, trial_desc);

/* None fails. */
#define NEVER		UINT_MAX

/* A task's allocation that fails: the one at which left gets to 0, with go_on all later ones */
static struct {
	struct task_struct *task;
	unsigned int left;
	bool go_on;
} failing;

static int fail_if_it_is_time(struct pt_regs *regs, unsigned long flags, unsigned long answer)
{
	gfp_t gfp = (__force gfp_t)flags;

	if (current != failing.task || arch_kprobe_level() || gfp & __GFP_NOFAIL ||
	    !(failing.left || failing.go_on))
		return 0;
	if (failing.left && --failing.left)
		return 0;
	regs_set_return_value(regs, answer);
	override_function_with_return(regs);
	return 1;
}

static int at_should_failslab(struct kprobe *p, struct pt_regs *regs)
{
	return fail_if_it_is_time(regs, regs_get_kernel_argument(regs, 1), -ENOMEM);
}

static int at_should_fail_alloc_page(struct kprobe *p, struct pt_regs *regs)
{
	return fail_if_it_is_time(regs, regs_get_kernel_argument(regs, 0), true);
}

static struct kprobe injectors[] = {
	{ .symbol_name = "should_failslab", .pre_handler = at_should_failslab },
	{ .symbol_name = "should_fail_alloc_page", .pre_handler = at_should_fail_alloc_page },
};

/* How often handlers run if no allocation fails */
static unsigned int all_runs;

/* What is registered although an allocation failed has to work, all of it. */
static void expect_registered(struct kunit *test, unsigned int nth)
{
	runs = 0;
	KUNIT_EXPECT_EQ(test, kprobes_traced(1), kprobes_expected(1));
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	KUNIT_EXPECT_EQ(test, kprobes_blocks[0].call(1), 1 + KPROBES_BLOCK_INSNS);
	KUNIT_EXPECT_GT(test, runs, 0);
	if (nth == NEVER)
		all_runs = runs;
	KUNIT_EXPECT_EQ_MSG(test, runs, all_runs, "allocation %u", nth);
}

/* The next registration must not find an old site, or what is known of the last function. */
static void forget_the_last(struct kunit *test)
{
	wait_for_dying_sites(test);
	guard(mutex)(&kprobe_mutex);
	kprobe_function_forget();
}

/* Returns whether there was an @nth allocation. */
static bool fail_at(struct kunit *test, unsigned int nth, bool go_on, unsigned int *failures)
{
	const struct trial *trial = test->param_value;
	bool so_many;
	int err;

	forget_the_last(test);
	start_anew();
	if (trial->before) {
		KUNIT_ASSERT_EQ(test, 0, trial->before());
		memcpy(&before, &now, sizeof(now));
	}
	failing.left = nth;
	failing.go_on = go_on;
	failing.task = current;
	err = trial->come();
	failing.task = NULL;
	so_many = !failing.left;
	if (!err) {
		expect_registered(test, nth);
	} else {
		(*failures)++;
		KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "allocation %u", nth);
		KUNIT_EXPECT_MEMEQ_MSG(test, &now, &before, sizeof(now), "allocation %u", nth);
	}
	if (!err || trial->before)
		trial->go();
	return so_many;
}

static unsigned int count_allocations(struct kunit *test)
{
	unsigned int none = 0;

	fail_at(test, NEVER, false, &none);
	return NEVER - failing.left;
}

/*
 * So many at the beginning and at the end fail in turn. Of those in between, which are alike, as
 * there are some for each CPU and each task, only so many fail.
 */
#define EDGE	64
#define MIDDLE	30

static unsigned int next_to_fail(unsigned int nth, unsigned int num)
{
	if (nth < EDGE || nth + EDGE >= num)
		return nth + 1;
	return min(nth + 1 + num / MIDDLE, num - EDGE);
}

/* Has allocations fail, of about @num in all, one at a time. */
static void fail_at_each(struct kunit *test, unsigned int num, bool go_on, unsigned int *failures)
{
	unsigned int nth = 1;

	while (fail_at(test, nth, go_on, failures))
		nth = next_to_fail(nth, num);
}

/*
 * A past bug: a probe that could not be armed was left marked as enabled. Another: a batch
 * that had failed was tried again to find the reason, and could succeed.
 */
static void registration_that_fails_changes_nothing(struct kunit *test)
{
	const struct trial *trial = test->param_value;
	unsigned int once = 0, for_good = 0, num;

	if (trial->warns)
		expect_lines_begin("vmalloc error|percpu: allocation failed");
	num = count_allocations(test);
	if (!num && trial->before && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "only ftrace takes memory for that");
	fail_at_each(test, num, false, &once);
	fail_at_each(test, num, true, &for_good);
	if (trial->warns)
		expect_report_end();
	kunit_info(test, "%u allocations; %u failed alone, %u with all others",
		   num, once, for_good);
	KUNIT_EXPECT_GT(test, once, 0);
	KUNIT_EXPECT_GT(test, for_good, 0);
}

/* --- return stacks --- */

static int sleep_on(void *unused)
{
	return 0;
}

/* The task runs only now, to its end. */
static void run_it(void *task)
{
	kthread_stop(task);
}

static struct task_struct *task_to_run(struct kunit *test)
{
	struct task_struct *task = kthread_create(sleep_on, NULL, "kprobes_test");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, run_it, task));
	return task;
}

static void no_memory(bool none)
{
	failing.left = 1;
	failing.go_on = true;
	failing.task = none ? current : NULL;
}

/* What fork does for a task, without memory */
static void fork_without_memory(struct task_struct *task)
{
	no_memory(true);
	kretprobe_init_task(task);
	no_memory(false);
}

/* What registration does for tasks, without memory */
static void get_without_memory(void)
{
	no_memory(true);
	kretprobe_stacks_get(sizeof(struct kretprobe_instance));
	no_memory(false);
}

static void put_stacks(void)
{
	kretprobe_stacks_put(sizeof(struct kretprobe_instance));
}

/* There may be as many of these as there are tasks. */
static void register_another_return_probe(struct kunit *test)
{
	struct kretprobe another = {
		.kp.addr = (kprobe_opcode_t *)kprobes_traced, .handler = note_return,
	};

	KUNIT_EXPECT_EQ(test, 0, register_kretprobe(&another));
	unregister_kretprobe(&another);
}

static void tasks_are_gone_through_only_if_one_has_no_stack(struct kunit *test)
{
	struct task_struct *task = task_to_run(test);

	start_anew();
	KUNIT_ASSERT_EQ(test, 0, return_comes());
	KUNIT_EXPECT_NE(test, task->kretprobe_end, 0);
	kretprobe_stack_free(task);
	register_another_return_probe(test);
	KUNIT_EXPECT_EQ(test, task->kretprobe_end, 0);
	fork_without_memory(task);
	get_without_memory();
	put_stacks();
	KUNIT_EXPECT_EQ(test, task->kretprobe_end, 0);
	register_another_return_probe(test);
	KUNIT_EXPECT_NE(test, task->kretprobe_end, 0);
	return_goes();
}

/* --- hits --- */

/* The task whose calls are counted, and how many there were */
static struct task_struct *hitter;
static unsigned long calls;

static int note_witness(struct kprobe *p, struct pt_regs *regs)
{
	if (current == READ_ONCE(hitter))
		calls++;
	return 0;
}

/* On functions that no hit may call. Each kernel has one of the last two. */
static struct kprobe witnesses[] = {
	{ .symbol_name = "should_failslab", .pre_handler = note_witness },
	{ .symbol_name = "should_fail_alloc_page", .pre_handler = note_witness },
	{ .symbol_name = "mutex_lock", .pre_handler = note_witness },
	{ .symbol_name = "mutex_lock_nested", .pre_handler = note_witness },
};

static void drop_witnesses(void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(witnesses); i++)
		unregister_kprobe(&witnesses[i]);
}

static void register_witnesses(struct kunit *test)
{
	unsigned int i, live = 0;

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_witnesses, NULL));
	for (i = 0; i < ARRAY_SIZE(witnesses); i++) {
		witnesses[i].addr = NULL;
		witnesses[i].flags = 0;
		live += !register_kprobe(&witnesses[i]);
	}
	KUNIT_ASSERT_EQ(test, live, ARRAY_SIZE(witnesses) - 1);
}

/* Counts calls by handlers, in which hits of these probes are missed. */
static unsigned long missed_calls(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(witnesses); i++)
		sum += READ_ONCE(witnesses[i].nmissed);
	return sum;
}

/* With interrupts off, this task calls these functions for hits only. */
static unsigned long calls_for_hits(void)
{
	unsigned long missed = missed_calls();
	unsigned int i;

	guard(irqsave)();
	WRITE_ONCE(calls, 0);
	WRITE_ONCE(hitter, current);
	for (i = 0; i < NR_STEPS; i++)
		kprobes_steps_table[i].call(1);
	kprobes_blocks[0].call(1);
	WRITE_ONCE(hitter, NULL);
	return READ_ONCE(calls) + missed_calls() - missed;
}

static void expect_hits_without_calls(struct kunit *test)
{
	runs = 0;
	KUNIT_EXPECT_EQ(test, calls_for_hits(), 0);
	KUNIT_EXPECT_GT(test, runs, 0);
}

/* First by breakpoint and by ftrace, then by jump */
static void hit_takes_neither_memory_nor_a_mutex(struct kunit *test)
{
	const struct trial *trial = test->param_value;
	unsigned int i, post;

	register_witnesses(test);
	for (post = 0; post < 2; post++) {
		start_anew();
		for (i = 0; i < NR_STEPS; i++)
			now.kps[i].post_handler = post ? nothing_after : NULL;
		if (trial->before)
			KUNIT_ASSERT_EQ(test, 0, trial->before());
		KUNIT_ASSERT_EQ(test, 0, trial->come());
		expect_hits_without_calls(test);
		wait_for_kprobe_optimizer();
		expect_hits_without_calls(test);
		trial->go();
	}
}

static int allocate_or_so(struct kprobe *p, struct pt_regs *regs)
{
	should_fail_alloc_page(GFP_ATOMIC, 0);
	return 0;
}

static void hit_that_takes_memory_is_noticed(struct kunit *test)
{
	register_witnesses(test);
	start_anew();
	now.kps[0].pre_handler = allocate_or_so;
	KUNIT_ASSERT_EQ(test, 0, one_comes());
	KUNIT_EXPECT_GT(test, calls_for_hits(), 0);
	one_goes();
}

static int memory_init(struct kunit *test)
{
	unsigned int i;
	int err = kprobes_watch_targets(test);

	for (i = 0; i < ARRAY_SIZE(injectors) && !err; i++) {
		injectors[i].addr = NULL;
		injectors[i].flags = 0;
		err = register_kprobe(&injectors[i]);
	}
	return err;
}

static void memory_exit(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(injectors); i++)
		unregister_kprobe(&injectors[i]);
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE_PARAM(registration_that_fails_changes_nothing, trial_gen_params),
	KUNIT_CASE(tasks_are_gone_through_only_if_one_has_no_stack),
	KUNIT_CASE_PARAM(hit_takes_neither_memory_nor_a_mutex, trial_gen_params),
	KUNIT_CASE(hit_that_takes_memory_is_noticed),
	{}
};

static struct kunit_suite memory_suite = {
	.name = "kprobes_memory",
	.init = memory_init,
	.exit = memory_exit,
	.test_cases = memory_cases,
};

kunit_test_suite(memory_suite);
