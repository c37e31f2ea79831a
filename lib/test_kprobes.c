// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of kprobes, through what modules can call.
 *
 * A case with a parameter runs once for each kind of place where a probe can
 * be, since each may take another path to the handlers. After each case the
 * text of all targets is compared with what it was before.
 */
#include <linux/errno.h>

#include "support/probe.h"
#include "support/trace.h"

KUNIT_ARRAY_PARAM_DESC(step, kprobes_steps_table, name);
KUNIT_ARRAY_PARAM_DESC(entry, kprobes_entries, name);

static void pre_handler_runs_before_the_instruction(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_registered(test, step->addr);

	kprobes_call_step(test, step);
	probe_expect(test, probe, KPROBES_CALLS, 0, 0);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	if (KPROBES_TRAP_LENGTH >= 0)
		KUNIT_EXPECT_EQ(test, probe->ip,
				(unsigned long)probe->kp.addr + KPROBES_TRAP_LENGTH);

	probe_unregister(probe);
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
}

static void post_handler_runs_after_the_instruction(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_with(test, step->addr, .kp.post_handler = probe_post_handler);

	kprobes_call_step(test, step);
	probe_expect(test, probe, KPROBES_CALLS, KPROBES_CALLS, 0);
	KUNIT_EXPECT_EQ(test, probe->post_turn, probe->turn + 1);
	KUNIT_EXPECT_EQ(test, probe->post_flags, 0);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	if (step->next && !step->jumps)
		KUNIT_EXPECT_EQ(test, probe->post_ip, (unsigned long)step->next);
}

static u32 argument_seen;

static int note_and_change_argument(struct probe *probe, struct pt_regs *regs)
{
	argument_seen = kprobes_argument(regs);
	kprobes_set_argument(regs, 1000);
	return 0;
}

/* Not every architecture can set one. */
static void arguments_at_a_function_entry_are_seen_and_changed(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct pt_regs regs = {};
	u32 argument = kprobes_set_argument(&regs, 0) ? 1000 : 4711;

	kprobes_need_arguments(test);
	probe_with(test, step->call, .on_hit = note_and_change_argument);
	argument_seen = 0;
	KUNIT_EXPECT_EQ(test, step->call(4711), kprobes_expected(argument));
	KUNIT_EXPECT_EQ(test, argument_seen, 4711);
}

static int change_result(struct probe *probe, struct pt_regs *regs)
{
	kprobes_set_result(regs, 123);
	return 0;
}

static void change_result_afterwards(struct kprobe *kp, struct pt_regs *regs,
				     unsigned long flags)
{
	kprobes_set_result(regs, 77);
}

static void probed_code_sees_a_register_changed_halfway(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "return");
	struct probe *probe = probe_with(test, step->addr, .on_hit = change_result);

	KUNIT_EXPECT_EQ(test, step->call(1), 123);
	probe_unregister(probe);

	probe->kp.pre_handler = NULL;
	probe->kp.post_handler = change_result_afterwards;
	KUNIT_ASSERT_EQ(test, 0, probe_register_again(probe, step->addr));
	KUNIT_EXPECT_EQ(test, step->call(1), 77);
}

static noinline u32 replacement(u32 x)
{
	kprobes_begin(&x);
	return x ^ 0x5a5a;
}

static int redirect(struct probe *probe, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)dereference_function_descriptor(replacement));
	return 1;
}

#define CROWD	3

static void crowd_register(struct kunit *test, struct probe **crowd, void *addr)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		crowd[i] = probe_with(test, addr, .kp.post_handler = probe_post_handler);
}

static void handlers_at_one_address_run_newest_first(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *crowd[CROWD];
	unsigned int i;

	crowd_register(test, crowd, step->addr);
	kprobes_call_step(test, step);
	for (i = 0; i < CROWD; i++)
		probe_expect(test, crowd[i], KPROBES_CALLS, KPROBES_CALLS, 0);
	for (i = 1; i < CROWD; i++) {
		KUNIT_EXPECT_EQ(test, crowd[i]->turn + 1, crowd[i - 1]->turn);
		KUNIT_EXPECT_EQ(test, crowd[i]->post_turn + 1, crowd[i - 1]->post_turn);
	}
	KUNIT_EXPECT_LT(test, crowd[0]->turn, crowd[CROWD - 1]->post_turn);

	/* The one in the middle is silent in their company. */
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(&crowd[1]->kp));
	kprobes_call_step(test, step);
	for (i = 0; i < CROWD; i++) {
		unsigned int runs = (i == 1 ? 1 : 2) * KPROBES_CALLS;

		probe_expect(test, crowd[i], runs, runs, 0);
	}
}

/* The test by which tracefs tells */
static bool seen_as_registered(struct kprobe *kp)
{
	return !list_empty(&kp->list) || !hlist_unhashed(&kp->hlist);
}

/* Calls the step. Each probe that is registered must be hit, and no other one. */
static void crowd_expect_hits(struct kunit *test, struct probe **crowd,
			      const struct kprobes_step *step)
{
	unsigned int before[CROWD];
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		before[i] = crowd[i]->hits;
	kprobes_call_step(test, step);
	for (i = 0; i < CROWD; i++) {
		KUNIT_EXPECT_EQ(test, crowd[i]->hits - before[i],
				crowd[i]->live ? KPROBES_CALLS : 0);
		if (crowd[i]->live)
			KUNIT_EXPECT_TRUE(test, seen_as_registered(&crowd[i]->kp));
	}
}

/*
 * One of them has a post handler. A past bug: when the probe with the post handler left, the wrong
 * ops of ftrace was released.
 */
static void probes_at_one_address_come_and_go_in_any_order(struct kunit *test)
{
	static const u8 orders[][CROWD] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	const struct kprobes_step *step = test->param_value;
	struct probe *crowd[CROWD];
	unsigned int order, i;

	for (i = 0; i < CROWD; i++)
		crowd[i] = probe_new(test, NULL);
	for (order = 0; order < ARRAY_SIZE(orders) * ARRAY_SIZE(orders); order++) {
		const u8 *come = orders[order / ARRAY_SIZE(orders)];
		const u8 *go = orders[order % ARRAY_SIZE(orders)];

		for (i = 0; i < CROWD; i++) {
			probe_reset(crowd[come[i]], step->addr);
			if (come[i] == 0)
				crowd[0]->kp.post_handler = probe_post_handler;
			KUNIT_ASSERT_EQ(test, 0, probe_register(crowd[come[i]]));
			crowd_expect_hits(test, crowd, step);
		}
		for (i = 0; i < CROWD; i++) {
			probe_unregister(crowd[go[i]]);
			crowd_expect_hits(test, crowd, step);
		}
		KUNIT_EXPECT_EQ(test, crowd[0]->posts, crowd[0]->hits);
	}
}

/* Alone, and between others */
static void pre_handler_replaces_a_function_and_stops_the_older_ones(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *crowd[CROWD], *probe = probe_with(test, step->call, .on_hit = redirect,
							.kp.post_handler = probe_post_handler);

	KUNIT_EXPECT_EQ(test, step->call(7), replacement(7));
	/* Nothing was executed for the post handler to come after. */
	probe_expect(test, probe, 1, 0, 0);
	probe_unregister(probe);
	kprobes_call_step(test, step);

	crowd_register(test, crowd, step->call);
	crowd[1]->on_hit = redirect;
	KUNIT_EXPECT_EQ(test, step->call(7), replacement(7));
	probe_expect(test, crowd[2], 1, 0, 0);
	probe_expect(test, crowd[1], 1, 0, 0);
	probe_expect(test, crowd[0], 0, 0, 0);
}

enum presence { ABSENT, OFF, ON, PRESENCES };

static void bring_to(struct kunit *test, struct probe *probe, void *addr, enum presence wanted)
{
	int ret = 0;

	if (wanted == ABSENT) {
		probe_unregister(probe);
	} else if (probe->live) {
		ret = wanted == ON ? enable_kprobe(&probe->kp) : disable_kprobe(&probe->kp);
	} else {
		probe->kp.addr = addr;
		probe->kp.flags = wanted == ON ? 0 : KPROBE_FLAG_DISABLED;
		ret = probe_register(probe);
	}
	KUNIT_ASSERT_EQ(test, ret, 0);
}

/* One probe makes each move, into the state that it is in as well, beside another in each state. */
static void only_enabled_probes_are_hit(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *mover = probe_new(test, NULL), *other = probe_new(test, NULL);
	unsigned int n;

	for (n = 0; n < PRESENCES * PRESENCES * PRESENCES; n++) {
		enum presence from = n % PRESENCES, to = n / PRESENCES % PRESENCES;
		enum presence beside = n / PRESENCES / PRESENCES;

		bring_to(test, mover, NULL, ABSENT);
		bring_to(test, mover, step->addr, from);
		bring_to(test, other, step->addr, beside);
		mover->hits = 0;
		other->hits = 0;
		bring_to(test, mover, step->addr, to);
		kprobes_call_step(test, step);
		KUNIT_EXPECT_EQ(test, mover->hits, to == ON ? KPROBES_CALLS : 0);
		KUNIT_EXPECT_EQ(test, other->hits, beside == ON ? KPROBES_CALLS : 0);
	}
}

static void disabled_place_has_its_own_text_again(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct kprobes_text *text = kprobes_text_watch(test, step->addr);
	struct probe *probe = probe_registered(test, step->addr), *other;

	KUNIT_EXPECT_NE(test, 0, memcmp(text->start, text->copy, text->size));
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&probe->kp));
	kprobes_text_compare(text);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&probe->kp));
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&probe->kp));

	/* Beside another one, it is neither hit nor missed. */
	other = probe_registered(test, step->addr);
	kprobes_call_step(test, step);
	probe_expect(test, other, KPROBES_CALLS, 0, 0);
	probe_expect(test, probe, 0, 0, 0);
	probe_unregister(other);

	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probe->kp));
	KUNIT_EXPECT_NE(test, 0, memcmp(text->start, text->copy, text->size));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&probe->kp));
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probe->kp));
}

KPROBES_TARGET(kprobes_test_by_name, 1)

static void symbol_is_looked_up_and_the_address_filled_in(struct kunit *test)
{
	struct probe *probe, *by_offset;
	unsigned long offset;

	kprobes_text_watch(test, kprobes_test_by_name);
	probe = probe_with(test, NULL, .kp.symbol_name = "kprobes_test_by_name");
	KUNIT_EXPECT_TRUE(test, kprobes_within(kprobes_test_by_name,
					       (unsigned long)probe->kp.addr));
	KUNIT_EXPECT_TRUE(test, probe->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);

	offset = (unsigned long)probe->kp.addr - (unsigned long)kprobes_test_by_name;
	by_offset = probe_with(test, NULL, .kp.symbol_name = "kprobes_test_by_name",
			       .kp.offset = offset);
	KUNIT_EXPECT_PTR_EQ(test, by_offset->kp.addr, probe->kp.addr);

	kprobes_test_by_name(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
	KUNIT_EXPECT_EQ(test, by_offset->hits, 1);
}

static void offset_counts_from_the_address_too(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "return");
	struct probe *probe = probe_with(test, step->call,
					 .kp.offset = step->addr - (void *)step->call);

	KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, step->addr);
	KUNIT_EXPECT_FALSE(test, probe->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
}

static u32 (*nested_call)(u32 x);

static int call_nested(struct probe *probe, struct pt_regs *regs)
{
	nested_call(1);
	return 0;
}

static void expect_missed_inside(struct kunit *test, const struct kprobes_step *outer,
				 const struct kprobes_step *inner)
{
	struct probe *probe, *missed[2] = {
		probe_registered(test, inner->addr), probe_registered(test, inner->addr),
	};
	bool same = inner->call == outer->call;
	unsigned int i;

	nested_call = inner->call;
	probe = probe_with(test, outer->addr, .on_hit = call_nested);
	kprobes_call_step(test, outer);
	if (!same)
		kprobes_call_step(test, inner);

	probe_expect(test, probe, KPROBES_CALLS, 0, same ? KPROBES_CALLS : 0);
	for (i = 0; i < ARRAY_SIZE(missed); i++) {
		probe_expect(test, missed[i], KPROBES_CALLS, 0, KPROBES_CALLS);
		probe_unregister(missed[i]);
	}
	probe_unregister(probe);
}

/* The result may depend on both instructions, which may be the same one, so all pairs are tried. */
static void hit_inside_a_handler_is_missed_and_counted(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kprobes_steps_table); i++)
		expect_missed_inside(test, test->param_value, &kprobes_steps_table[i]);
}

static struct trace trace;

static int note_trace(struct probe *probe, struct pt_regs *regs)
{
	trace_take(&trace);
	return 0;
}

static noinline __noclone void kprobes_test_caller(struct kunit *test,
						   const struct kprobes_step *step)
{
	kprobes_call_step(test, step);
	barrier();
}

static noinline __noclone void kprobes_test_callers_caller(struct kunit *test,
							   const struct kprobes_step *step)
{
	kprobes_test_caller(test, step);
	barrier();
}

static void stack_trace_in_a_handler_reaches_the_callers(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;

	if (!KPROBES_TRACE_PAST_EXCEPTIONS)
		kunit_skip(test, "not promised by this architecture");
	memset(&trace, 0, sizeof(trace));
	probe_with(test, step->addr, .on_hit = note_trace);
	kprobes_test_callers_caller(test, step);
	KUNIT_EXPECT_EQ(test, trace_count(&trace, kprobes_test_callers_caller), 1);
	if (step->addr == step->call ? KPROBES_TRACE_AT_ENTRY : KPROBES_TRACE_WITHOUT_FRAME)
		KUNIT_EXPECT_EQ(test, trace_count(&trace, kprobes_test_caller), 1);
}

static struct kunit_case kprobes_test_cases[] = {
	KUNIT_CASE_PARAM(pre_handler_runs_before_the_instruction, step_gen_params),
	KUNIT_CASE_PARAM(post_handler_runs_after_the_instruction, step_gen_params),
	KUNIT_CASE_PARAM(arguments_at_a_function_entry_are_seen_and_changed, entry_gen_params),
	KUNIT_CASE(probed_code_sees_a_register_changed_halfway),
	KUNIT_CASE_PARAM(handlers_at_one_address_run_newest_first, step_gen_params),
	KUNIT_CASE_PARAM(probes_at_one_address_come_and_go_in_any_order, step_gen_params),
	KUNIT_CASE_PARAM(pre_handler_replaces_a_function_and_stops_the_older_ones,
			 entry_gen_params),
	KUNIT_CASE_PARAM(only_enabled_probes_are_hit, entry_gen_params),
	KUNIT_CASE_PARAM(disabled_place_has_its_own_text_again, step_gen_params),
	KUNIT_CASE(symbol_is_looked_up_and_the_address_filled_in),
	KUNIT_CASE(offset_counts_from_the_address_too),
	KUNIT_CASE_PARAM(hit_inside_a_handler_is_missed_and_counted, step_gen_params),
	KUNIT_CASE_PARAM(stack_trace_in_a_handler_reaches_the_callers, step_gen_params),
	{}
};

static struct kunit_suite kprobes_test_suite = {
	.name = "kprobes_test",
	.init = kprobes_watch_targets,
	.test_cases = kprobes_test_cases,
};

kunit_test_suite(kprobes_test_suite);

MODULE_DESCRIPTION("KUnit tests of kprobes");
MODULE_LICENSE("GPL");
