// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of probes at function entries, where others have hooks of ftrace, too
 */
#include <linux/cpumask.h>
#include <linux/sched.h>

#include "../internal.h"
#include "support/core.h"
#include "support/kinds.h"
#include "support/slow.h"
#include "support/threads.h"
#include "test_ftrace.h"
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
#endif

struct probes {
	struct kprobe	kps[NR_TARGETS];
	struct kprobe	*list[NR_TARGETS];
	unsigned long	hits[NR_TARGETS];
};

static struct probes *probes;

static int count_hit(struct kprobe *kp, struct pt_regs *regs)
{
	probes->hits[kp - probes->kps]++;
	return 0;
}

static void ignore_hit(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static void drop_probes(void *unused)
{
	unregister_kprobes(probes->list, NR_TARGETS);
}

/* The hooks of other architectures only let ftrace serve a probe at the address of its call. */
static kprobe_opcode_t *entry_of(void *function)
{
	if (!ARCH_KPROBE_STATELESS)
		return (kprobe_opcode_t *)ftrace_location((unsigned long)function);
	return function;
}

/* Every second probe is exclusive, so it is in conflict with modifiers. */
static void new_probes(struct kunit *test)
{
	struct kprobe *kp;
	int i;

	probes = test_alloc(test, sizeof(*probes));
	for (i = 0; i < NR_TARGETS; i++) {
		kp = &probes->kps[i];
		kp->addr = entry_of(targets[i]);
		kp->pre_handler = count_hit;
		kp->flags = KPROBE_FLAG_DISABLED;
		if (i % 2)
			kp->post_handler = ignore_hit;
		probes->list[i] = kp;
	}
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(probes->list, NR_TARGETS));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_probes, NULL));
	KUNIT_ASSERT_TRUE(test, kprobe_ftrace(&probes->kps[0]));
}

static void switch_probe(struct kunit *test, int i)
{
	struct kprobe *kp = &probes->kps[i];
	bool taken = i % 2 && test_bit(i, parties[MODIFIER].in);

	if (!kprobe_disabled(kp))
		KUNIT_EXPECT_EQ(test, 0, disable_kprobe(kp));
	else
		KUNIT_EXPECT_EQ(test, taken ? -EBUSY : 0, enable_kprobe(kp));
}

static void switch_modifier(struct kunit *test, int i)
{
	struct party *party = &parties[MODIFIER];
	bool taken = i % 2 && !kprobe_disabled(&probes->kps[i]);

	if (test_bit(i, party->in))
		KUNIT_EXPECT_EQ(test, 0, leave_one(party, i));
	else
		KUNIT_EXPECT_EQ(test, taken ? -EBUSY : 0, join_one(party, i));
}

/* A past bug: a probe that could not be armed was left marked as enabled. */
static void probes_come_and_go_among_others(struct kunit *test)
{
	int n, i;

	new_probes(test);
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
		memset(probes->hits, 0, sizeof(probes->hits));
		expect_calls(test);
		for (i = 0; i < NR_TARGETS; i++)
			KUNIT_EXPECT_EQ(test, probes->hits[i],
					!kprobe_disabled(&probes->kps[i]));
		if (n % 16 == 0)
			expect_no_pending_records(test);
	}
}

/* How often ftrace is told of changes, which concerns all CPUs each time, and by whom */
static unsigned int nr_told;
static struct task_struct *teller_task;

static int count_told(struct kprobe *kp, struct pt_regs *regs)
{
	if (current == teller_task)
		nr_told++;
	return 0;
}

KUNIT_DEFINE_ACTION_WRAPPER(drop_teller, unregister_kprobe, struct kprobe *);

static void count_from_here(struct kunit *test)
{
	static struct kprobe teller;

	teller = (struct kprobe){
		.symbol_name = "ftrace_set_filter_ips", .pre_handler = count_told,
	};
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&teller));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_teller, &teller));
	teller_task = current;
	nr_told = 0;
}

static void expect_hits(struct kunit *test, unsigned long each)
{
	int i;

	memset(probes->hits, 0, sizeof(probes->hits));
	expect_calls(test);
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ(test, probes->hits[i], each);
}

static void batch_of_probes_is_told_at_once(struct kunit *test)
{
	int i;

	new_probes(test);
	unregister_kprobes(probes->list, NR_TARGETS);
	for (i = 0; i < NR_TARGETS; i++) {
		probes->kps[i].flags = 0;
		probes->kps[i].post_handler = NULL;
	}
	count_from_here(test);
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(probes->list, NR_TARGETS));
	KUNIT_EXPECT_EQ(test, nr_told, 1);
	expect_hits(test, 1);
	/* If the ops hooks nothing else, it leaves as a whole. */
	unregister_kprobes(probes->list, NR_TARGETS);
	KUNIT_EXPECT_LE(test, nr_told, 2);
	expect_calls(test);
}

/* There are two probes on each function, the second of which is exclusive at some. */
static void batch_may_want_it_both_ways(struct kunit *test)
{
	int i, half = NR_TARGETS / 2;

	new_probes(test);
	unregister_kprobes(probes->list, NR_TARGETS);
	for (i = 0; i < NR_TARGETS; i++) {
		probes->kps[i].flags = 0;
		probes->kps[i].addr = entry_of(targets[i % half]);
		probes->kps[i].post_handler = i >= half && i % 3 == 0 ? ignore_hit : NULL;
	}
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(probes->list, NR_TARGETS));
	expect_hits(test, 1);
	unregister_kprobes(probes->list + half, half);
	memset(probes->hits, 0, sizeof(probes->hits));
	expect_calls(test);
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ(test, probes->hits[i], i < half);
	unregister_kprobes(probes->list, half);
	expect_calls(test);
}

/* No probe is left registered. The first two are for one function, with pre handlers only. */
static void two_probes(struct kunit *test, int target)
{
	int i;

	new_probes(test);
	unregister_kprobes(probes->list, NR_TARGETS);
	for (i = 0; i < 2; i++) {
		probes->kps[i].flags = 0;
		probes->kps[i].addr = entry_of(targets[target]);
		probes->kps[i].post_handler = NULL;
	}
}

static void expect_hits_of_both(struct kunit *test)
{
	memset(probes->hits, 0, sizeof(probes->hits));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, probes->hits[0], 1);
	KUNIT_EXPECT_EQ(test, probes->hits[1], 1);
}

static void switch_on(void *unused)
{
	kprobe_set_all_armed(true);
}

/* While the switch is off, a modifier hooks the function of two exclusive probes. */
static void lose_function(struct kunit *test, int target)
{
	two_probes(test, target);
	probes->kps[0].post_handler = ignore_hit;
	probes->kps[1].post_handler = ignore_hit;
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(probes->list, 2));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, switch_on, NULL));
	KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(false));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], target));
	KUNIT_EXPECT_EQ(test, -EBUSY, kprobe_set_all_armed(true));
}

/*
 * Registering or enabling a probe fails because of those that are there already. Disabling
 * and unregistering do not fail.
 */
static void probes_come_and_go_where_none_could_be_armed(struct kunit *test)
{
	struct kprobe *asleep, *awake;

	lose_function(test, 5);
	asleep = &probes->kps[2];
	awake = &probes->kps[3];
	asleep->addr = probes->kps[0].addr;
	asleep->flags = KPROBE_FLAG_DISABLED;
	KUNIT_EXPECT_EQ(test, 0, register_kprobe(asleep));
	KUNIT_EXPECT_EQ(test, -EBUSY, enable_kprobe(asleep));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(asleep));
	awake->addr = probes->kps[0].addr;
	awake->flags = 0;
	awake->post_handler = NULL;
	KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobe(awake));
	KUNIT_EXPECT_TRUE(test, list_empty(&awake->list));

	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&probes->kps[0]));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&probes->kps[0]));

	unregister_kprobes(probes->list, 3);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	probes->kps[0].flags = 0;
	probes->kps[1].flags = 0;
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(probes->list, 2));
	expect_hits_of_both(test);
}

/* The function is free again when another probe comes. Then the probes that wait are hit. */
static void site_is_armed_when_that_is_possible_again(struct kunit *test)
{
	struct kprobe *asleep;

	lose_function(test, 5);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	asleep = &probes->kps[2];
	asleep->addr = probes->kps[0].addr;
	asleep->flags = KPROBE_FLAG_DISABLED;
	KUNIT_EXPECT_EQ(test, 0, register_kprobe(asleep));
	expect_hits_of_both(test);
	KUNIT_EXPECT_EQ(test, probes->hits[2], 0);
}

static void switch_names_what_it_could_not_arm(struct kunit *test)
{
	log_watch(test, "could not be armed");
	lose_function(test, 5);
	KUNIT_EXPECT_EQ(test, log_times(), 1);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
}

static void function_is_free_when_its_post_handler_has_left(struct kunit *test)
{
	two_probes(test, 5);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[0]));
	probes->kps[1].post_handler = ignore_hit;
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[1]));
	KUNIT_EXPECT_EQ(test, -EBUSY, join_one(&parties[MODIFIER], 5));
	unregister_kprobe(&probes->kps[1]);
	KUNIT_EXPECT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	KUNIT_EXPECT_EQ(test, probes->hits[0], 1);
}

/* The next one has a post handler, too, and is for another function. */
static void refused_function_is_in_nobodys_way(struct kunit *test)
{
	two_probes(test, 5);
	probes->kps[0].post_handler = ignore_hit;
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobe(&probes->kps[0]));
	probes->kps[7].flags = 0;
	KUNIT_EXPECT_EQ(test, 0, register_kprobe(&probes->kps[7]));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, probes->hits[0], 0);
	KUNIT_EXPECT_EQ(test, probes->hits[7], 1);
}

/* The probe that is there already is none that modifies. */
static void post_handler_is_refused_beside_a_modifier(struct kunit *test)
{
	two_probes(test, 5);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[0]));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	probes->kps[1].post_handler = ignore_hit;
	KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobe(&probes->kps[1]));
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_STREQ(test, "somebody else redirects this function",
				   kprobe_last_refusal());
	KUNIT_EXPECT_TRUE(test, list_empty(&probes->kps[1].list));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, probes->hits[0], 1);
	KUNIT_EXPECT_EQ(test, probes->hits[1], 0);
}

#define SLOW_TRIES	1000

static int slow_pre(struct kprobe *kp, struct pt_regs *regs)
{
	take_time();
	return 0;
}

static u32 call_target_4(u32 x)
{
	return targets[4](x);
}

/*
 * ftrace hooks the first function of a batch before it refuses the second one, so handlers of
 * the first one may be running when the batch fails.
 */
static void failed_batch_waits_for_its_handlers(struct kunit *test)
{
	struct kprobe *first, *second;
	unsigned int tries;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU cannot run a handler while it registers");
	two_probes(test, 4);
	first = &probes->kps[0];
	second = &probes->kps[1];
	first->pre_handler = slow_pre;
	second->post_handler = ignore_hit;
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	let_it_take_time();
	caller_start(test, call_target_4);
	for (tries = 0; tries < SLOW_TRIES && !READ_ONCE(began); tries++) {
		first->addr = entry_of(targets[4]);
		second->addr = entry_of(targets[5]);
		KUNIT_EXPECT_EQ(test, -EBUSY, register_kprobes(probes->list, 2));
		KUNIT_EXPECT_EQ(test, READ_ONCE(began), READ_ONCE(ended));
	}
	KUNIT_EXPECT_TRUE(test, began);
}

#ifdef CONFIG_FUNCTION_ERROR_INJECTION
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

/*
 * ftrace is told of the first probe when the second one asks for more, when both have
 * asked, or when the first one has left again.
 */
static void pair_that_is_not_hooked_leaves_nothing(struct kunit *test)
{
	const struct failure *failure = test->param_value;

	two_probes(test, 5);
	if (failure->post)
		probes->kps[1].post_handler = ignore_hit;
	have_ftrace_fail(test);
	ftrace_failures = failure->times;
	KUNIT_EXPECT_EQ(test, -ENOMEM, register_kprobes(probes->list, 2));
	ftrace_failures = 0;

	KUNIT_EXPECT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(probes->list, 2));
	expect_hits_of_both(test);
	unregister_kprobes(probes->list, 2);
	expect_text(test);
}

/* One that shares the function, and one that claims it then */
static void register_pair(struct kunit *test, int first)
{
	probes->kps[first + 1].post_handler = ignore_hit;
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[first]));
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[first + 1]));
}

/*
 * At first ftrace has no memory to take the hooks off. The ops are used for another function, too,
 * or they would be taken off as a whole, without memory.
 */
static void hooks_are_taken_off_when_there_is_memory(struct kunit *test)
{
	int i;

	two_probes(test, 5);
	for (i = 2; i < 4; i++) {
		probes->kps[i].flags = 0;
		probes->kps[i].addr = entry_of(targets[7]);
		probes->kps[i].post_handler = NULL;
	}
	register_pair(test, 0);
	register_pair(test, 2);
	have_ftrace_fail(test);
	ftrace_removals_fail = 3;
	unregister_kprobes(probes->list, 2);
	KUNIT_EXPECT_EQ(test, 0, ftrace_removals_fail);
	KUNIT_EXPECT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	unregister_kprobes(probes->list + 2, 2);
	expect_text(test);
}

/* Arms a site as the switch does, and has ftrace told of it. kprobe_mutex is held. */
static int arm_again(struct kprobe_site *site)
{
	struct kprobe_plan plan;

	kprobe_plan_init(&plan);
	kprobe_site_refresh(site, &plan);
	return kprobe_plan_apply(&plan);
}

/* Before ftrace was told of the site, it counted as armed. */
static void site_that_is_not_hooked_is_known_to_be(struct kunit *test)
{
	struct kprobe_site *site;
	struct kprobe_plan plan;

	two_probes(test, 5);
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(probes->list, 2));
	have_ftrace_fail(test);
	kprobe_plan_init(&plan);
	kprobe_lock();
	site = kprobe_find_site((unsigned long)probes->kps[0].addr);
	KUNIT_EXPECT_FALSE(test, kprobe_site_arming_failed(site));
	kprobe_plan_arming(site, false, &plan);
	KUNIT_EXPECT_EQ(test, 0, kprobe_plan_apply(&plan));
	ftrace_failures = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, arm_again(site));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&site->kp));
	KUNIT_EXPECT_TRUE(test, kprobe_site_arming_failed(site));
	KUNIT_EXPECT_EQ(test, 0, arm_again(site));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&site->kp));
	KUNIT_EXPECT_FALSE(test, kprobe_site_arming_failed(site));
	kprobe_unlock();
	expect_hits_of_both(test);
}
#endif

#ifdef CONFIG_X86
/* Another tracer, which wants no registers, had the function call before the probe came. */
static void call_from_before_the_probe_is_no_hit(struct kunit *test)
{
	struct pt_regs none = {};
	void *fregs = IS_ENABLED(CONFIG_X86_32) ? NULL : &none;

	two_probes(test, 5);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[0]));
	memset(probes->hits, 0, sizeof(probes->hits));
	kprobe_ftrace_handler(locations[5], 0, NULL, fregs);
	KUNIT_EXPECT_EQ(test, probes->hits[0], 0);
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, probes->hits[0], 1);
}
#endif

/*
 * A callback calls a function with a probe, whose callback calls another one. Of these, ftrace
 * takes only the last for recursion: once it may be that a context was not counted yet.
 */
static const int nested_calls[] = { 0, 2, 4 };

static notrace void call_another(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (ip == locations[0])
		targets[2](1);
	else if (ip == locations[2])
		targets[4](1);
}

NOKPROBE_SYMBOL(call_another);

static struct ftrace_ops calling_ops = { .func = call_another };

static int set_calling_filter(bool remove)
{
	unsigned long ips[ARRAY_SIZE(nested_calls)];
	int n;

	for (n = 0; n < ARRAY_SIZE(ips); n++)
		ips[n] = locations[nested_calls[n]];
	return ftrace_set_filter_ips(&calling_ops, ips, ARRAY_SIZE(ips), remove, 0);
}

static void drop_calling_ops(void *unused)
{
	unregister_ftrace_function(&calling_ops);
	set_calling_filter(true);
}

/* A past bug: such hits were lost without being counted. */
static void probe_is_hit_in_a_callback_of_others(struct kunit *test)
{
	int n, i;

	new_probes(test);
	for (n = 0; n < ARRAY_SIZE(nested_calls); n++)
		KUNIT_ASSERT_EQ(test, 0, enable_kprobe(&probes->kps[nested_calls[n]]));
	KUNIT_ASSERT_EQ(test, 0, set_calling_filter(false));
	KUNIT_ASSERT_EQ(test, 0, register_ftrace_function(&calling_ops));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_calling_ops, NULL));
	KUNIT_EXPECT_EQ(test, targets[0](1), 1);
	for (n = 0; n < ARRAY_SIZE(nested_calls); n++) {
		i = nested_calls[n];
		KUNIT_EXPECT_EQ_MSG(test, probes->hits[i], 1, "target %d", i);
		KUNIT_EXPECT_EQ_MSG(test, probes->kps[i].nmissed, 0, "target %d", i);
	}
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(probes_come_and_go_among_others),
	KUNIT_CASE(batch_of_probes_is_told_at_once),
	KUNIT_CASE(batch_may_want_it_both_ways),
	KUNIT_CASE(probes_come_and_go_where_none_could_be_armed),
	KUNIT_CASE(site_is_armed_when_that_is_possible_again),
	KUNIT_CASE(switch_names_what_it_could_not_arm),
	KUNIT_CASE(function_is_free_when_its_post_handler_has_left),
	KUNIT_CASE(refused_function_is_in_nobodys_way),
	KUNIT_CASE(post_handler_is_refused_beside_a_modifier),
	KUNIT_CASE(failed_batch_waits_for_its_handlers),
#ifdef CONFIG_X86
	KUNIT_CASE(call_from_before_the_probe_is_no_hit),
#endif
	KUNIT_CASE(probe_is_hit_in_a_callback_of_others),
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
	KUNIT_CASE_PARAM(pair_that_is_not_hooked_leaves_nothing, failure_gen_params),
	KUNIT_CASE(hooks_are_taken_off_when_there_is_memory),
	KUNIT_CASE(site_that_is_not_hooked_is_known_to_be),
#endif
	{}
};

static struct kunit_suite probe_suite = {
	.name = "kprobes_ftrace_probes",
	.init = filters_init,
	.test_cases = probe_cases,
};

kunit_test_suite(probe_suite);

MODULE_DESCRIPTION("KUnit tests of probes beside others' hooks of ftrace");
MODULE_LICENSE("GPL");
