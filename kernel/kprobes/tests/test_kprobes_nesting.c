// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the running probe and of nested hits, for the kinds of instruction that every
 * architecture has: a hit by a handler is missed, one in an interrupt of the handler is not,
 * unless both probes are plain: without KPROBE_FLAG_NESTS; and a hit leaves interrupts masked or
 * not, as the probed code had them. Built-in only.
 *
 * test_kprobes_contexts.c has each context on top of each other, for each way to the handlers.
 */
#include <linux/cleanup.h>
#include <linux/irqflags.h>
#include <linux/kprobes_hit.h>

#include "support/levels.h"
#include "support/probe.h"
#include "support/switch.h"

KUNIT_ARRAY_PARAM_DESC(step, kprobes_steps_table, name);

/* Called by handlers */
static u32 (*inner_call)(u32 x);

static void call_inner(void)
{
	inner_call(1);
}

static kprobe_opcode_t *seen_running;
static u32 seen_flags;

/*
 * A miss leaves the running probe what it was. WRITE_ONCE(): the compiler does not see that a call
 * of probed code runs a handler.
 */
static int note_running(struct probe *probe, struct pt_regs *regs)
{
	struct kprobe *running;

	call_inner();
	running = kprobe_running();
	WRITE_ONCE(seen_running, running ? running->addr : NULL);
	WRITE_ONCE(seen_flags, running ? running->flags : 0);
	return 0;
}

static void running_probe_is_named_in_its_handler_only(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_with(test, step->addr, .on_hit = note_running);

	WRITE_ONCE(seen_running, NULL);
	inner_call = step->call;
	kprobes_call_step(test, step);
	probe_expect(test, probe, KPROBES_CALLS, 0, KPROBES_CALLS);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(seen_running), probe->kp.addr);
	KUNIT_EXPECT_EQ(test, !!(READ_ONCE(seen_flags) & KPROBE_FLAG_ON_FUNC_ENTRY),
			step->addr == step->call);
	KUNIT_EXPECT_NULL(test, running_addr());
}

static void busy_processor_misses_and_counts_hits(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_registered(test, step->addr);
	kprobe_opcode_t *running;

	kprobe_busy_begin();
	running = running_addr();
	step->call(1);
	kprobe_busy_end();
	KUNIT_EXPECT_NOT_NULL(test, running);
	probe_expect(test, probe, 0, 0, 1);
	KUNIT_EXPECT_NULL(test, running_addr());
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
	if (!level_exists(SOFTIRQ))
		return;

	/* Where softirqs are off is no softirq. */
	kprobe_busy_begin();
	local_bh_disable();
	step->call(1);
	local_bh_enable();
	kprobe_busy_end();
	probe_expect(test, probe, KPROBES_CALLS, 0, 2);
}

static int hit_itself(struct probe *probe, struct pt_regs *regs)
{
	call_inner();
	return 0;
}

static bool keeps_masks(u32 (*call)(u32 x))
{
	unsigned long before = kprobes_masks();

	call(1);
	return kprobes_masks() == before;
}

/* Each round is two calls, with interrupts on and off. */
static unsigned int wrong_rounds(u32 (*call)(u32 x), unsigned int rounds)
{
	bool on, off = false;
	unsigned int wrong = 0;

	while (rounds--) {
		on = keeps_masks(call);
		scoped_guard(irqsave)
			off = keeps_masks(call);
		wrong += !on || !off;
		cond_resched();
	}
	return wrong;
}

/* Some rounds, and enough of them for interrupts to come at any point */
#define ROUNDS		1000
#define MANY_ROUNDS	5000

/*
 * First with a breakpoint, then with a jump if there can be one, and often with each. A past
 * bug: a probe that its own handler hit left interrupts masked for ever.
 */
static void interrupts_are_as_before_the_hit(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_registered(test, step->addr);
	unsigned int many = MANY_ROUNDS;

	inner_call = step->call;
	KUNIT_EXPECT_EQ(test, wrong_rounds(step->call, ROUNDS), 0);
	probe->on_hit = hit_itself;
	KUNIT_EXPECT_EQ(test, wrong_rounds(step->call, ROUNDS), 0);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, wrong_rounds(step->call, ROUNDS), 0);
	probe->on_hit = NULL;
	KUNIT_EXPECT_EQ(test, wrong_rounds(step->call, MANY_ROUNDS), 0);
	if (switch_mount) {
		KUNIT_EXPECT_EQ(test, switch_set(false), 0);
		many *= 2;
		KUNIT_EXPECT_EQ(test, wrong_rounds(step->call, MANY_ROUNDS), 0);
	}
	KUNIT_EXPECT_EQ(test, probe->hits, 2 * (3 * ROUNDS + many));
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 2 * 2 * ROUNDS);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
}

/* Interrupts of handlers. Where ftrace or a jump leads to them, interrupts are on. */

/* Of the two flags, below and above, the bits of a number choose those that are set. */
#define FLAGS_OF_TWO	4

static u32 flag_of(unsigned int number, unsigned int which)
{
	return number & BIT(which) ? KPROBE_FLAG_NESTS : 0;
}

static bool inner_reached;

/* Runs of the handlers below and above */
static unsigned int runs_below, runs_above;

static void interrupt_once(void)
{
	if (!runs_below++)
		inner_reached = irqs_disabled() ? KPROBES_HANDLER_MAY_UNMASK &&
				level_run_unmasked(HARDIRQ, call_inner) :
				level_run(HARDIRQ, call_inner);
}

KIND_HANDLERS(below, interrupt_once());
KIND_HANDLERS(above, runs_above++);

KUNIT_ARRAY_PARAM_DESC(kind, probe_kinds, name);

static void expect_counts(struct kunit *test, void *addr, long hits, int nested)
{
	struct kprobe_site *site;

	guard(preempt)();
	site = site_of(get_kprobe(addr));
	KUNIT_EXPECT_EQ(test, hits, atomic_long_read(&site->kp.hits));
	KUNIT_EXPECT_EQ(test, nested, atomic_read(&site->missed[KPROBE_MISS_NESTED]));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&site->missed[KPROBE_MISS_RECURSION]));
}

/* The compiler knows that function, and what it does not change. */
static void hit_below(struct kunit *test)
{
	u32 result;

	runs_below = 0;
	runs_above = 0;
	inner_reached = false;
	barrier();
	result = kprobes_traced(1);
	barrier();
	KUNIT_EXPECT_EQ(test, result, kprobes_expected(1));
}

static void expect_excluded(struct kunit *test, const struct probe_kind *kind,
			    union any_probe *probe, unsigned int runs, bool lost)
{
	hit_below(test);
	KUNIT_EXPECT_EQ_MSG(test, runs_below, 1, "%s", kind->name);
	KUNIT_EXPECT_TRUE_MSG(test, inner_reached, "%s", kind->name);
	KUNIT_EXPECT_EQ_MSG(test, runs_above, lost ? 0 : runs, "%s, lost: %d", kind->name, lost);
	KUNIT_EXPECT_EQ_MSG(test, probe->kp.nmissed, lost, "%s", kind->name);
	expect_counts(test, probe->kp.addr, !lost, lost);
}

static void stop_counting(void *unused)
{
	static_branch_disable(&kprobe_stats);
}

static void count_in_contexts(struct kunit *test)
{
	if (!ARCH_KPROBE_STATELESS)
		kunit_skip(test, "these hooks know one hit on a processor, whatever its context");
	inner_call = kprobes_untraced;
	static_branch_enable(&kprobe_stats);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, stop_counting, NULL));
}

static void need_interrupts_in_handlers_of(struct kprobe *below)
{
	if (!kprobe_ftrace(below))
		wait_for_kprobe_optimizer();
}

/* Adds the other handler that a probe can have. Returns how many there are then. */
static unsigned int add_handler(union any_probe *over, enum kind_id id)
{
	if (id == POST_HANDLER)
		over->kp.pre_handler = above_pre;
	else if (id == RETURN_HANDLER)
		over->rp.entry_handler = above_return;
	else
		return 1;
	return 2;
}

static void kinds_meet(struct kunit *test, const struct probe_kind *kind_below,
		       const struct probe_kind *kind_above, unsigned int flags)
{
	struct any *under = any_new(test, kind_below->type, &below[kind_below->id],
				    kprobes_traced);
	struct any *over = any_new(test, kind_above->type, &above[kind_above->id],
				   kprobes_untraced);
	unsigned int runs = add_handler(&over->probe, kind_above->id);

	under->probe.kp.flags = flag_of(flags, 0);
	over->probe.kp.flags = flag_of(flags, 1);
	KUNIT_ASSERT_EQ(test, 0, any_register(under->type, &under->probe));
	need_interrupts_in_handlers_of(&under->probe.kp);
	KUNIT_ASSERT_EQ(test, 0, any_register(over->type, &over->probe));
	expect_excluded(test, kind_above, &over->probe, runs, !flags);
	any_drop(over);
	any_drop(under);
}

static void handlers_of_all_kinds_exclude_each_other_if_plain(struct kunit *test)
{
	unsigned int i, flags;

	count_in_contexts(test);
	for (i = 0; i < ARRAY_SIZE(probe_kinds); i++) {
		for (flags = 0; flags < FLAGS_OF_TWO; flags++)
			kinds_meet(test, test->param_value, &probe_kinds[i], flags);
	}
}

static int interrupt_in_a_handler(struct probe *probe, struct pt_regs *regs)
{
	interrupt_once();
	return 0;
}

static void each_probe_of_a_site_is_left_out_or_not(struct kunit *test)
{
	struct probe *below, *above[3];
	unsigned int i;

	count_in_contexts(test);
	below = probe_with(test, kprobes_traced, .on_hit = interrupt_in_a_handler);
	need_interrupts_in_handlers_of(&below->kp);
	for (i = 0; i < ARRAY_SIZE(above); i++)
		above[i] = probe_with(test, kprobes_untraced,
				      .kp.post_handler = probe_post_handler,
				      .kp.flags = i == 1 ? KPROBE_FLAG_NESTS : 0);
	hit_below(test);
	KUNIT_EXPECT_TRUE(test, inner_reached);
	for (i = 0; i < ARRAY_SIZE(above); i++)
		probe_expect(test, above[i], i == 1, i == 1, i != 1);
	/* Once for the hit, which has called one of them */
	expect_counts(test, above[0]->kp.addr, 1, 1);
	kprobes_untraced(1);
	for (i = 0; i < ARRAY_SIZE(above); i++)
		probe_expect(test, above[i], 1 + (i == 1), 1 + (i == 1), i != 1);
}

static int nesting_init(struct kunit *test)
{
	kprobes_watch_targets(test);
	return switch_init(test) ?: levels_init(test);
}

static void nesting_exit(struct kunit *test)
{
	levels_exit(test);
	switch_exit(test);
}

static struct kunit_case kprobes_nesting_cases[] = {
	KUNIT_CASE_PARAM(running_probe_is_named_in_its_handler_only, step_gen_params),
	KUNIT_CASE_PARAM(busy_processor_misses_and_counts_hits, step_gen_params),
	KUNIT_CASE_PARAM_ATTR(interrupts_are_as_before_the_hit, step_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM(handlers_of_all_kinds_exclude_each_other_if_plain, kind_gen_params),
	KUNIT_CASE(each_probe_of_a_site_is_left_out_or_not),
	{}
};

static struct kunit_suite kprobes_nesting_suite = {
	.name = "kprobes_nesting",
	.suite_init = switch_suite_init,
	.suite_exit = switch_suite_exit,
	.init = nesting_init,
	.exit = nesting_exit,
	.test_cases = kprobes_nesting_cases,
};

kunit_test_suite(kprobes_nesting_suite);
