// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of registrations that run out of memory, at each of their allocations in
 * turn: they must not change anything. Probes on the kernel's functions for fault
 * injection make allocations fail. Other tests are of hits, which must not allocate.
 */
#include <kunit/test.h>
#include <linux/error-injection.h>
#include <linux/fault-inject.h>
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "../internal.h"
#include "../kretprobe.h"
#include "support/probe.h"
#include "support/sites.h"
#include "support/threads.h"

#define NR_STEPS	ARRAY_SIZE(kprobes_steps_table)

/* More than arm64 arms at a time without memory */
#define NR_MORE		24

/* How often handlers ran */
static unsigned int runs;

KIND_HANDLERS(note, runs++);

static void nothing_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

enum place { STEPS, BLOCK, TRACED, UNTRACED };

/* A kind of registration */
struct trial {
	const char *name;
	enum any_type type;
	unsigned int num;
	enum place place;	/* of the first; others are at the next step, the other entry ... */
	int maxactive;
	bool enables;		/* can fail: the one probe is registered disabled */
};

#define NR_PROBES	MAX(NR_STEPS, NR_MORE)

/* Probes as they were before a registration, to compare with, and as they are now */
static union any_probe before[NR_PROBES], now[NR_PROBES], *list[NR_PROBES];

static void *place_of(const struct trial *trial, unsigned int i)
{
	if (trial->place == STEPS)
		return kprobes_steps_table[i].addr;
	if (trial->place == BLOCK)
		return kprobes_blocks[0].first + i * KPROBES_BLOCK_INSN_SIZE;
	return (trial->place == TRACED) ^ i ? kprobes_traced : kprobes_untraced;
}

/* Fields that must not change have other values than a registration would set. */
static void start_anew(const struct trial *trial)
{
	static const enum kind_id kinds[] = { PRE_HANDLER, RETURN_HANDLER, JPROBE_HANDLER };
	unsigned int i;

	memset(now, 0, sizeof(now));
	for (i = 0; i < trial->num; i++) {
		/* The core may initialize a list that is empty, or leave it as it is. */
		any_reset(&now[i], &note[kinds[trial->type]], place_of(trial, i));
		now[i].kp.pre_handler = note_pre;
		if (trial->type == RETURN_PROBE) {
			now[i].kp.post_handler = nothing_after;
			now[i].rp.nmissed = 7;
			now[i].rp.maxactive = trial->maxactive;
		} else if (trial->type == KPROBE) {
			now[i].kp.nmissed = 7;
		}
		list[i] = &now[i];
	}
	if (trial->enables)
		now[0].kp.flags = KPROBE_FLAG_DISABLED;
}

static int comes(const struct trial *trial)
{
	if (trial->num > 1)
		return any_register_many(trial->type, list, trial->num);
	return any_register(trial->type, &now[0]);
}

/* With memory, what precedes what may fail; goes() undoes it, too. */
static int prepare(const struct trial *trial)
{
	int err = trial->enables ? comes(trial) : 0;

	memcpy(before, now, sizeof(now));
	return err;
}

static int may_fail(const struct trial *trial)
{
	return trial->enables ? enable_kprobe(&now[0].kp) : comes(trial);
}

static void goes(const struct trial *trial)
{
	if (trial->num > 1)
		any_unregister_many(trial->type, list, trial->num);
	else
		any_unregister(trial->type, &now[0]);
	/* The next registration has to allocate the return stacks again. */
	if (trial->type == RETURN_PROBE)
		kretprobe_stacks_trim(NULL);
}

static const struct trial trials[] = {
	{ "a kprobe",			KPROBE, 1, STEPS },
	{ "a kprobe at an entry",	KPROBE, 1, TRACED },
	{ "many kprobes",		KPROBE, NR_STEPS, STEPS },
	{ "more kprobes",		KPROBE, NR_MORE, BLOCK },
	{ "a return probe",		RETURN_PROBE, 1, UNTRACED },
	{ "a return probe with a cap",	RETURN_PROBE, 1, UNTRACED, .maxactive = 5 },
	{ "return probes",		RETURN_PROBE, 2, UNTRACED },
	{ "a jprobe",			JPROBE, 1, TRACED },
	{ "jprobes",			JPROBE, 2, TRACED },
	{ "a kprobe that is there",	KPROBE, 1, TRACED, .enables = true },
};

KUNIT_ARRAY_PARAM_DESC(trial, trials, name);

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
	{},
};

static void unregister_all(void *probes)
{
	struct kprobe *p;

	for (p = probes; p->symbol_name; p++)
		unregister_kprobe(p);
}

/* Until the case ends. They may have been registered before. @live of them can be. */
static void register_all(struct kunit *test, struct kprobe *probes, unsigned int live)
{
	struct kprobe *p;

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, unregister_all, probes));
	for (p = probes; p->symbol_name; p++) {
		p->addr = NULL;
		p->flags = 0;
		live -= !register_kprobe(p);
	}
	KUNIT_ASSERT_EQ(test, 0, live);
}

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
	start_anew(trial);
	KUNIT_ASSERT_EQ(test, 0, prepare(trial));
	failing.left = nth;
	failing.go_on = go_on;
	failing.task = current;
	err = may_fail(trial);
	failing.task = NULL;
	so_many = !failing.left;
	if (!err) {
		expect_registered(test, nth);
	} else {
		(*failures)++;
		KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "allocation %u", nth);
		KUNIT_EXPECT_MEMEQ_MSG(test, now, before, sizeof(now), "allocation %u", nth);
	}
	if (!err || trial->enables)
		goes(trial);
	return so_many;
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

	if (trial->type == RETURN_PROBE)
		expect_lines_begin("vmalloc error|percpu: allocation failed");
	fail_at(test, NEVER, false, &once);
	num = NEVER - failing.left;
	if (!num && trial->enables && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "only ftrace takes memory for that");
	fail_at_each(test, num, false, &once);
	fail_at_each(test, num, true, &for_good);
	if (trial->type == RETURN_PROBE)
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

static void no_memory(bool none)
{
	failing.left = 1;
	failing.go_on = true;
	failing.task = none ? current : NULL;
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
	const struct trial trial = { .type = RETURN_PROBE, .num = 1, .place = UNTRACED };
	struct task_struct *task = thread_new(test, sleep_on, NULL);

	start_anew(&trial);
	KUNIT_ASSERT_EQ(test, 0, comes(&trial));
	KUNIT_EXPECT_NE(test, task->kretprobe_end, 0);
	kretprobe_stack_free(task);
	register_another_return_probe(test);
	KUNIT_EXPECT_EQ(test, task->kretprobe_end, 0);
	/* What fork does for a task, and registration for all */
	no_memory(true);
	kretprobe_init_task(task);
	kretprobe_stacks_get(sizeof(struct kretprobe_instance));
	no_memory(false);
	kretprobe_stacks_put(sizeof(struct kretprobe_instance));
	KUNIT_EXPECT_EQ(test, task->kretprobe_end, 0);
	register_another_return_probe(test);
	KUNIT_EXPECT_NE(test, task->kretprobe_end, 0);
	goes(&trial);
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
	{},
};

#define NR_WITNESSES	3

/* Counts calls by handlers, in which hits of these probes are missed. */
static unsigned long missed_calls(void)
{
	const struct kprobe *p;
	unsigned long sum = 0;

	for (p = witnesses; p->symbol_name; p++)
		sum += READ_ONCE(p->nmissed);
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

	register_all(test, witnesses, NR_WITNESSES);
	for (post = 0; post < 2; post++) {
		start_anew(trial);
		for (i = 0; i < trial->num && trial->type == KPROBE; i++)
			now[i].kp.post_handler = post ? nothing_after : NULL;
		KUNIT_ASSERT_EQ(test, 0, prepare(trial));
		KUNIT_ASSERT_EQ(test, 0, may_fail(trial));
		expect_hits_without_calls(test);
		wait_for_kprobe_optimizer();
		expect_hits_without_calls(test);
		goes(trial);
	}
}

static int memory_init(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kprobes_watch_targets(test));
	register_all(test, injectors, ARRAY_SIZE(injectors) - 1);
	return 0;
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE_PARAM(registration_that_fails_changes_nothing, trial_gen_params),
	KUNIT_CASE(tasks_are_gone_through_only_if_one_has_no_stack),
	KUNIT_CASE_PARAM(hit_takes_neither_memory_nor_a_mutex, trial_gen_params),
	{}
};

static struct kunit_suite memory_suite = {
	.name = "kprobes_memory",
	.init = memory_init,
	.test_cases = memory_cases,
};

kunit_test_suite(memory_suite);
