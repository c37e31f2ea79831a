// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of probes at function entries, where others have hooks, too. */
#include <linux/cpumask.h>

#include "support/kinds.h"
#include "support/slow.h"
#include "support/threads.h"
#include "test_ftrace.h"

static struct kprobe kps[NR_TARGETS], *kp_list[NR_TARGETS];
static unsigned long kp_hits[NR_TARGETS];

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	kp_hits[kp - kps]++;
	return 0;
}

static void ignore_hit(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* One with a post handler is exclusive, so it is in conflict with modifiers. */
static struct kprobe *set_probe(int i, int target, bool post)
{
	void *addr = targets[target];

	/* The hooks of other architectures only let ftrace serve a probe at its call. */
	if (!ARCH_KPROBE_STATELESS)
		addr = (void *)ftrace_location((unsigned long)addr);
	kps[i] = (struct kprobe) {
		.addr = addr,
		.pre_handler = count_hit,
		.post_handler = post ? ignore_hit : NULL,
	};
	INIT_LIST_HEAD(&kps[i].list);
	kp_list[i] = &kps[i];
	return &kps[i];
}

static void drop_probes(void *unused)
{
	unregister_kprobes(kp_list, NR_TARGETS);
}

/* The case may use them in another way. Every second is exclusive. */
static int probes_init(struct kunit *test)
{
	int i;

	for (i = 0; i < NR_TARGETS; i++)
		set_probe(i, i, i % 2);
	return filters_init(test) ?: kunit_add_action(test, drop_probes, NULL);
}

static void register_first(struct kunit *test, int num)
{
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(kp_list, num));
}

/* The first @num probes are hit, and no others. */
static void expect_hits(struct kunit *test, int num)
{
	int i;

	memset(kp_hits, 0, sizeof(kp_hits));
	expect_calls(test);
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ_MSG(test, kp_hits[i], i < num, "probe %d", i);
}

static bool hooks(struct party *party, int i)
{
	return party->in & BIT_ULL(i);
}

static void switch_probe(struct kunit *test, int i)
{
	bool taken = i % 2 && hooks(&parties[MODIFIER], i);

	if (!kprobe_disabled(&kps[i]))
		KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&kps[i]));
	else
		KUNIT_EXPECT_EQ(test, taken ? -EBUSY : 0, enable_kprobe(&kps[i]));
}

static void switch_modifier(struct kunit *test, int i)
{
	bool taken = i % 2 && !kprobe_disabled(&kps[i]);

	if (hooks(&parties[MODIFIER], i))
		KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], i));
	else
		KUNIT_EXPECT_EQ(test, taken ? -EBUSY : 0, join_one(&parties[MODIFIER], i));
}

/* A past bug: a probe that could not be armed was left marked as enabled. */
static void probes_come_and_go_among_others(struct kunit *test)
{
	int n, i;

	for (i = 0; i < NR_TARGETS; i++)
		kps[i].flags = KPROBE_FLAG_DISABLED;
	register_first(test, NR_TARGETS);
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&kps[0]));
	for (n = 0; n < NR_STEPS; n++) {
		i = prandom_u32_state(&random) % NR_TARGETS;
		switch (prandom_u32_state(&random) % 4) {
		case 0:
			step(test, &parties[PLAIN], 1);
			break;
		case 1:
			switch_modifier(test, i);
			break;
		default:
			switch_probe(test, i);
		}
		memset(kp_hits, 0, sizeof(kp_hits));
		expect_calls(test);
		for (i = 0; i < NR_TARGETS; i++)
			KUNIT_EXPECT_EQ(test, kp_hits[i], !kprobe_disabled(&kps[i]));
		if (n % 16 == 0)
			expect_no_pending_records(test);
	}
}

/* How often ftrace is told of changes, which concerns all CPUs each time */
static void batch_of_probes_is_told_at_once(struct kunit *test)
{
	int i;

	for (i = 0; i < NR_TARGETS; i++)
		kps[i].post_handler = NULL;
	syncs_count(test, "ftrace_set_filter_ips");
	register_first(test, NR_TARGETS);
	KUNIT_EXPECT_EQ(test, syncs, 1);
	expect_hits(test, NR_TARGETS);
	/* If the ops hooks nothing else, it leaves as a whole. */
	unregister_kprobes(kp_list, NR_TARGETS);
	KUNIT_EXPECT_LE(test, syncs, 2);
	expect_calls(test);
}

/* There are two probes on each function, the second of which is exclusive at some. */
static void batch_may_want_it_both_ways(struct kunit *test)
{
	int i, half = NR_TARGETS / 2;

	for (i = 0; i < NR_TARGETS; i++)
		set_probe(i, i % half, i >= half && i % 3 == 0);
	register_first(test, NR_TARGETS);
	expect_hits(test, NR_TARGETS);
	unregister_kprobes(kp_list + half, half);
	expect_hits(test, half);
	unregister_kprobes(kp_list, half);
	expect_calls(test);
}

KUNIT_DEFINE_ACTION_WRAPPER(switch_to, kprobe_set_all_armed, bool);

/* Off, and on again at the latest when the case ends */
static void switch_off(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, switch_to, (void *)true));
	KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(false));
}

/* While the switch is off, a modifier hooks the function of two exclusive probes. */
static void lose_function(struct kunit *test)
{
	set_probe(0, 5, true);
	set_probe(1, 5, true);
	register_first(test, 2);
	switch_off(test);
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	KUNIT_EXPECT_EQ(test, -EBUSY, kprobe_set_all_armed(true));
}

static struct kprobe *register_asleep(struct kunit *test)
{
	struct kprobe *asleep = set_probe(2, 5, true);

	asleep->flags = KPROBE_FLAG_DISABLED;
	KUNIT_EXPECT_EQ(test, 0, register_kprobe(asleep));
	return asleep;
}

/*
 * Registering or enabling a probe fails because of those that are there already. Disabling
 * and unregistering do not fail.
 */
static void probes_come_and_go_where_none_could_be_armed(struct kunit *test)
{
	struct kprobe *asleep, *awake;

	log_watch(test, "could not be armed");
	lose_function(test);
	KUNIT_EXPECT_EQ(test, log_times(), 1);
	asleep = register_asleep(test);
	KUNIT_EXPECT_EQ(test, -EBUSY, enable_kprobe(asleep));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(asleep));
	awake = set_probe(3, 5, false);
	KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobe(awake));
	KUNIT_EXPECT_TRUE(test, list_empty(&awake->list));

	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&kps[0]));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&kps[0]));

	unregister_kprobes(kp_list, 3);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	kps[0].flags = 0;
	kps[1].flags = 0;
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(kp_list, 2));
	expect_hits(test, 2);
}

/* The function is free again when another probe comes. Then the probes that wait are hit. */
static void site_is_armed_when_that_is_possible_again(struct kunit *test)
{
	lose_function(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	register_asleep(test);
	expect_hits(test, 2);
}

/* The first probe is none that modifies, and is in nobody's way. */
static void post_handler_and_modifier_exclude_each_other(struct kunit *test)
{
	set_probe(0, 5, false);
	register_first(test, 1);
	set_probe(1, 5, true);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&kps[1]));
	KUNIT_EXPECT_EQ(test, -EBUSY, join_one(&parties[MODIFIER], 5));
	unregister_kprobe(&kps[1]);
	KUNIT_EXPECT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	expect_hits(test, 1);

	set_probe(1, 5, true);
	KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobe(&kps[1]));
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_STREQ(test, "somebody else redirects this function",
				   kprobe_last_refusal());
	KUNIT_EXPECT_TRUE(test, list_empty(&kps[1].list));
	expect_hits(test, 1);
}

/* The next one has a post handler, too, and is for another function. */
static void refused_function_is_in_nobodys_way(struct kunit *test)
{
	set_probe(0, 5, true);
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobe(&kps[0]));
	set_probe(0, 7, true);
	register_first(test, 1);
	expect_hits(test, 1);
}

#define SLOW_TRIES	1000

KIND_HANDLERS(slow, take_time());

/*
 * ftrace hooks the first function of a batch before it refuses the second one, so handlers of
 * the first one may be running when the batch fails.
 */
static void failed_batch_waits_for_its_handlers(struct kunit *test)
{
	unsigned int tries;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU cannot run a handler while it registers");
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	let_it_take_time();
	caller_start(test, targets[4]);
	for (tries = 0; tries < SLOW_TRIES && !READ_ONCE(began); tries++) {
		set_probe(0, 4, false)->pre_handler = slow_pre;
		set_probe(1, 5, true);
		KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobes(kp_list, 2));
		KUNIT_EXPECT_EQ(test, READ_ONCE(began), READ_ONCE(ended));
	}
	KUNIT_EXPECT_TRUE(test, began);
}

#ifdef CAN_FAIL_FTRACE
/* A pair of probes at one function that ftrace cannot hook */
static const struct failure {
	const char	*name;
	bool		post;	/* The second probe is exclusive */
	unsigned int	times;	/* How often ftrace fails */
} failures[] = {
	{ "alike, once", false, 1 },
	{ "alike, always", false, UINT_MAX },
	{ "one with a post handler, once", true, 1 },
	{ "one with a post handler, always", true, UINT_MAX },
};

KUNIT_ARRAY_PARAM_DESC(failure, failures, name);

static void modifier_comes_and_goes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
}

/*
 * ftrace is told of the first probe when the second one asks for more, when both have
 * asked, or when the first one has left again.
 */
static void pair_that_is_not_hooked_leaves_nothing(struct kunit *test)
{
	const struct failure *failure = test->param_value;

	set_probe(0, 5, false);
	set_probe(1, 5, failure->post);
	have_ftrace_fail(test);
	ftrace_failures = failure->times;
	KUNIT_EXPECT_EQ(test, -ENOMEM, register_kprobes(kp_list, 2));
	ftrace_failures = 0;

	modifier_comes_and_goes(test);
	register_first(test, 2);
	expect_hits(test, 2);
	unregister_kprobes(kp_list, 2);
	expect_text(test);
}

/*
 * At first ftrace has no memory to take the hooks off. The ops are used for another function, too,
 * or they would be taken off as a whole, without memory. At each function, one probe shares it, and
 * one claims it then.
 */
static void hooks_are_taken_off_when_there_is_memory(struct kunit *test)
{
	int i;

	for (i = 0; i < 4; i++) {
		set_probe(i, i < 2 ? 5 : 7, i % 2);
		KUNIT_ASSERT_EQ(test, 0, register_kprobe(&kps[i]));
	}
	have_ftrace_fail(test);
	ftrace_removals_fail = 3;
	unregister_kprobes(kp_list, 2);
	KUNIT_EXPECT_EQ(test, 0, ftrace_removals_fail);
	modifier_comes_and_goes(test);
	unregister_kprobes(kp_list + 2, 2);
	expect_text(test);
}

/*
 * The switch has counted the site as armed before ftrace was told of it. When another probe comes,
 * those that wait are hit.
 */
static void site_that_is_not_hooked_is_known_to_be(struct kunit *test)
{
	set_probe(0, 5, false);
	set_probe(1, 5, false);
	register_first(test, 2);
	have_ftrace_fail(test);
	switch_off(test);
	ftrace_failures = UINT_MAX;
	KUNIT_EXPECT_EQ(test, -ENOMEM, kprobe_set_all_armed(true));
	ftrace_failures = 0;
	expect_hits(test, 0);
	register_asleep(test);
	expect_hits(test, 2);
	/* Others may have probes, too. */
	KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(false));
	KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(true));
}
#endif

#ifdef CONFIG_X86
/* Another tracer, which wants no registers, had the function call before the probe came. */
static void call_from_before_the_probe_is_no_hit(struct kunit *test)
{
	struct pt_regs none = {};
	void *fregs = IS_ENABLED(CONFIG_X86_32) ? NULL : &none;

	set_probe(0, 5, false);
	register_first(test, 1);
	kp_hits[0] = 0;
	kprobe_ftrace_handler(locations[5], 0, NULL, fregs);
	KUNIT_EXPECT_EQ(test, kp_hits[0], 0);
	expect_hits(test, 1);
}
#endif

/*
 * A callback calls a function with a probe, whose callback calls another one. Of these, ftrace
 * takes only the last for recursion: once it may be that a context was not counted yet.
 */
static notrace void call_another(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (ip == locations[0])
		targets[1](1);
	else if (ip == locations[1])
		targets[2](1);
}

NOKPROBE_SYMBOL(call_another);

/* A past bug: such hits were lost without being counted. */
static void probe_is_hit_in_a_callback_of_others(struct kunit *test)
{
	struct ftrace_ops *ops = test_alloc(test, sizeof(*ops));
	int i;

	for (i = 0; i < 3; i++)
		set_probe(i, i, false);
	register_first(test, 3);
	KUNIT_ASSERT_EQ(test, 0, ftrace_set_filter_ips(ops, locations, 3, 0, 0));
	register_ops(test, ops, call_another);
	memset(kp_hits, 0, sizeof(kp_hits));
	KUNIT_EXPECT_EQ(test, targets[0](1), 1);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ_MSG(test, kp_hits[i], 1, "target %d", i);
		KUNIT_EXPECT_EQ_MSG(test, kps[i].nmissed, 0, "target %d", i);
	}
}

/* What others patch is searched for elsewhere only, also in the same function. */
static void entry_is_not_searched(struct kunit *test)
{
	const struct kprobe_function *f;

	scoped_guard(mutex, &kprobe_mutex)
		kprobe_function_forget();
	set_probe(0, 0, false);
	register_first(test, 1);
	guard(mutex)(&kprobe_mutex);
	f = kprobe_function_at((unsigned long)targets[0]);
	KUNIT_EXPECT_NOT_NULL(test, f);
	KUNIT_EXPECT_TRUE(test, f && !f->bytes);
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(entry_is_not_searched),
	KUNIT_CASE(probes_come_and_go_among_others),
	KUNIT_CASE(batch_of_probes_is_told_at_once),
	KUNIT_CASE(batch_may_want_it_both_ways),
	KUNIT_CASE(probes_come_and_go_where_none_could_be_armed),
	KUNIT_CASE(site_is_armed_when_that_is_possible_again),
	KUNIT_CASE(post_handler_and_modifier_exclude_each_other),
	KUNIT_CASE(refused_function_is_in_nobodys_way),
	KUNIT_CASE(failed_batch_waits_for_its_handlers),
#ifdef CONFIG_X86
	KUNIT_CASE(call_from_before_the_probe_is_no_hit),
#endif
	KUNIT_CASE(probe_is_hit_in_a_callback_of_others),
#ifdef CAN_FAIL_FTRACE
	KUNIT_CASE_PARAM(pair_that_is_not_hooked_leaves_nothing, failure_gen_params),
	KUNIT_CASE(hooks_are_taken_off_when_there_is_memory),
	KUNIT_CASE(site_that_is_not_hooked_is_known_to_be),
#endif
	{}
};

static struct kunit_suite probe_suite = {
	.name = "kprobes_ftrace_probes",
	.init = probes_init,
	.test_cases = probe_cases,
};

kunit_test_suite(probe_suite);
