// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of changes to filters of ftrace that are in use, as sites at function
 * entries make them
 */
#include <linux/completion.h>
#include <linux/workqueue.h>

#include "support/kinds.h"
#include "support/report.h"
#include "support/threads.h"
#include "test_ftrace.h"

#define MAX_BATCH	12

static void walk(struct kunit *test, unsigned int most)
{
	int i, p;

	for (i = 0; i < NR_STEPS; i++) {
		p = prandom_u32_state(&random) % NR_PARTIES;
		step(test, &parties[p], 1 + prandom_u32_state(&random) % most);
		expect_calls(test);
		expect_text(test);
		if (i % 16 == 0)
			expect_no_pending_records(test);
	}
}

static void functions_come_and_go_one_by_one(struct kunit *test)
{
	walk(test, 1);
}

static void functions_come_and_go_by_the_dozen(struct kunit *test)
{
	walk(test, MAX_BATCH);
}

/* They come one after the other in any order, so that the filter grows several times. */
static void filter_takes_them_all(struct kunit *test)
{
	struct party *party = &parties[REGISTERS];
	DECLARE_BITMAP(which, NR_TARGETS);
	int i;

	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[PLAIN], 5));
	for (i = 0; i < NR_TARGETS && draw(which, 1, party->in, false); i++) {
		KUNIT_ASSERT_EQ(test, 0, join(party, which));
		expect_calls(test);
	}
	bitmap_complement(which, party->in, NR_TARGETS);
	if (!bitmap_empty(which, NR_TARGETS))
		KUNIT_ASSERT_EQ(test, 0, join(party, which));
	expect_text(test);
	while (draw(which, 1, party->in, true)) {
		KUNIT_ASSERT_EQ(test, 0, leave(party, which));
		expect_calls(test);
	}
	expect_text(test);
}

/* --- what is refused --- */

static void conflict_leaves_all_as_it_was(struct kunit *test)
{
	struct party *party = &parties[OTHER_MODIFIER];
	DECLARE_BITMAP(which, NR_TARGETS) = {};
	u64 sum;
	int i;

	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 3));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[PLAIN], 3));
	KUNIT_ASSERT_EQ(test, 0, join_one(party, 1));
	sum = sum_of_records();

	/* First, one function of many is in conflict; then, it is the only one. */
	for (i = 0; i < NR_TARGETS; i++)
		__set_bit(i, which);
	KUNIT_EXPECT_EQ(test, -EBUSY, join(party, which));
	KUNIT_EXPECT_EQ(test, -EBUSY, join_one(party, 3));
	expect_records(test, sum);
	expect_calls(test);
	expect_text(test);

	__clear_bit(3, which);
	KUNIT_EXPECT_EQ(test, 0, join(party, which));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, -EBUSY, join_one(&parties[MODIFIER], 4));
	KUNIT_EXPECT_EQ(test, 0, leave_one(party, 4));
	KUNIT_EXPECT_EQ(test, 0, join_one(&parties[MODIFIER], 4));
	expect_calls(test);
}

static void wrong_addresses_change_nothing(struct kunit *test)
{
	struct ftrace_ops *ops = &parties[PLAIN].ops;
	unsigned long nowhere[] = { locations[2], (unsigned long)locations };
	unsigned long absent[] = { locations[0], locations[9] };
	unsigned long twice[] = { locations[7], locations[7] };
	u64 sum;

	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[PLAIN], 0));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[PLAIN], 1));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[PLAIN], 8));
	sum = sum_of_records();
	KUNIT_EXPECT_EQ(test, -EINVAL, ftrace_set_filter_ips(ops, nowhere, 2, 0, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, ftrace_set_filter_ips(ops, nowhere + 1, 1, 1, 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, ftrace_set_filter_ips(ops, absent, 2, 1, 0));
	expect_records(test, sum);
	expect_calls(test);

	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ips(ops, absent, 1, 0, 0));
	expect_records(test, sum);
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ips(ops, twice, 2, 0, 0));
	__set_bit(7, parties[PLAIN].in);
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, -ENOENT, ftrace_set_filter_ips(ops, twice, 2, 1, 0));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ips(ops, twice, 1, 1, 0));
	__clear_bit(7, parties[PLAIN].in);
	expect_calls(test);
}

/* The start of a function stands for its call of ftrace, wherever that is. */
static void starts_of_functions_will_do(struct kunit *test)
{
	struct ftrace_ops *ops = &parties[REGISTERS].ops;

	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[REGISTERS], 1));
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(ops, (unsigned long)targets[2], 0, 0));
	__set_bit(2, parties[REGISTERS].in);
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(ops, (unsigned long)targets[2], 1, 0));
	__clear_bit(2, parties[REGISTERS].in);
	expect_calls(test);
}

/* A past bug: ftrace went on saving all registers when the probe had left. */
static void registers_are_saved_while_somebody_asks(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[PLAIN], 1));
	expect_calls(test);
	KUNIT_EXPECT_FALSE(test, parties[PLAIN].saw_registers);
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[REGISTERS], 1));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[REGISTERS], 2));
	expect_calls(test);
	KUNIT_EXPECT_TRUE(test, parties[PLAIN].saw_registers);
	KUNIT_ASSERT_EQ(test, 0, leave_one(&parties[REGISTERS], 1));
	expect_calls(test);
	KUNIT_EXPECT_FALSE(test, parties[PLAIN].saw_registers);
}

/* --- in company --- */

static void drop_ops(void *ops)
{
	unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

static void drop_notrace(void *ops)
{
	ftrace_set_notrace(ops, NULL, 0, 1);
}

static void not_traced_stays_not_traced(struct kunit *test)
{
	struct party *party = &parties[PLAIN];
	char name[] = "target_003";

	KUNIT_ASSERT_EQ(test, 0, ftrace_set_notrace(&party->ops, name, strlen(name), 0));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_notrace, &party->ops));
	KUNIT_ASSERT_EQ(test, 0, join_one(party, 1));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[REGISTERS], 1));
	KUNIT_EXPECT_EQ(test, 0, join_one(party, 3));
	__clear_bit(3, party->in);
	expect_calls(test);
	expect_text(test);
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[REGISTERS], 3));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(party, 3));
	expect_calls(test);
	expect_text(test);
}

static struct party everything = { .ops = { .func = party_func } };

static void one_who_traces_all_is_not_disturbed(struct kunit *test)
{
	int i, n;

	KUNIT_ASSERT_EQ(test, 0, register_ftrace_function(&everything.ops));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_ops, &everything.ops));
	for (n = 0; n < 40; n++) {
		memset(everything.hits, 0, sizeof(everything.hits));
		step(test, &parties[n % NR_PARTIES], 1 + n % 3);
		expect_calls(test);
		for (i = 0; i < NR_TARGETS; i++)
			KUNIT_EXPECT_EQ(test, everything.hits[i], 1);
	}
	/* With functions in its filter, it hooks these only. */
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(&everything.ops, locations[9], 0, 0));
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(&everything.ops, locations[4], 0, 0));
	memset(everything.hits, 0, sizeof(everything.hits));
	expect_calls(test);
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ(test, everything.hits[i], i == 4 || i == 9);
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(&everything.ops, locations[9], 1, 0));
	/* When the last one has left the filter, it hooks everything again. */
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(&everything.ops, locations[4], 1, 0));
	memset(everything.hits, 0, sizeof(everything.hits));
	expect_calls(test);
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ(test, everything.hits[i], 1);
}

/* ftrace calls an ops in memory that can be freed in another way. */
static void ops_on_the_heap_can_change_too(struct kunit *test)
{
	struct party *party = test_alloc(test, sizeof(*party));
	int i;

	party->ops.func = party_func;
	KUNIT_ASSERT_EQ(test, 0, join_one(party, 0));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_ops, &party->ops));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[UNGUARDED], 2));
	for (i = 1; i < 10; i++)
		KUNIT_EXPECT_EQ(test, 0, join_one(party, i));
	KUNIT_EXPECT_EQ(test, 0, leave_one(party, 4));
	expect_calls(test);
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ(test, party->hits[i], test_bit(i, party->in));
}

static u32 call_first(u32 x)
{
	return targets[0](x);
}

/*
 * Two parties hook the first function, so that each call looks it up in their filters.
 * Meanwhile, other functions come to these filters, which grow, and leave them.
 */
static void calls_meanwhile_miss_nobody(struct kunit *test)
{
	struct party *one = &parties[PLAIN], *two = &parties[REGISTERS];
	struct caller *caller;
	int round, i;

	KUNIT_ASSERT_EQ(test, 0, join_one(one, 0));
	KUNIT_ASSERT_EQ(test, 0, join_one(two, 0));
	memset(one->hits, 0, sizeof(one->hits));
	memset(two->hits, 0, sizeof(two->hits));
	caller = caller_start(test, call_first);
	for (round = 0; round < 10; round++) {
		for (i = 1; i < NR_TARGETS; i++)
			KUNIT_EXPECT_EQ(test, 0, join_one(i % 3 ? one : two, i));
		for (i = 1; i < NR_TARGETS; i++)
			KUNIT_EXPECT_EQ(test, 0, leave_one(i % 3 ? one : two, i));
		caller_wait(test, caller);
	}
	caller_stop(caller);
	KUNIT_EXPECT_EQ(test, one->hits[0], caller->calls);
	KUNIT_EXPECT_EQ(test, two->hits[0], caller->calls);
	expect_calls(test);
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
static struct ftrace_ops direct_ops;
static DECLARE_COMPLETION(updated);
static int update_error;
static bool updated_meanwhile;

static void update_others(struct work_struct *unused)
{
	update_error = join_one(&parties[REGISTERS], 9);
	complete(&updated);
}

static DECLARE_WORK(update_work, update_others);

static int agree(struct ftrace_ops *ops, enum ftrace_ops_cmd cmd)
{
	return 0;
}

/* The records are being gone through. Nobody else may say now which of them to go through. */
static int agree_after_a_while(struct ftrace_ops *ops, enum ftrace_ops_cmd cmd)
{
	schedule_work(&update_work);
	updated_meanwhile = wait_for_completion_timeout(&updated, HZ / 5);
	return 0;
}

static void drop_direct(void *unused)
{
	/* Filters that are freed must not be set again. */
	unregister_ftrace_direct(&direct_ops, (unsigned long)ftrace_stub_direct_tramp, false);
}

/* As the function is a modifier's, too, the ops of the direct call is asked whether it agrees. */
static void other_filters_wait_while_a_direct_call_changes(struct kunit *test)
{
	const unsigned long to = (unsigned long)ftrace_stub_direct_tramp;

	reinit_completion(&updated);
	updated_meanwhile = false;
	update_error = -EINVAL;
	direct_ops.ops_func = agree;
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[REGISTERS], 8));
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	KUNIT_ASSERT_EQ(test, 0, ftrace_set_filter_ip(&direct_ops, locations[5], 0, 1));
	KUNIT_ASSERT_EQ(test, 0, register_ftrace_direct(&direct_ops, to));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_direct, NULL));
	direct_ops.ops_func = agree_after_a_while;
	KUNIT_EXPECT_EQ(test, 0, modify_ftrace_direct(&direct_ops, to));
	flush_work(&update_work);
	KUNIT_EXPECT_FALSE(test, updated_meanwhile);
	KUNIT_EXPECT_EQ(test, 0, update_error);
}
#endif

/* There is a warning, and that is all. */
static void ops_that_never_came_cannot_leave(struct kunit *test)
{
	static struct ftrace_ops never = { .func = party_func };

	need_warnings(test);
	expect_report_begin();
	KUNIT_EXPECT_EQ(test, -EBUSY, unregister_ftrace_function(&never));
	expect_report_end();
}

static struct kunit_case filter_cases[] = {
	KUNIT_CASE(functions_come_and_go_one_by_one),
	KUNIT_CASE(functions_come_and_go_by_the_dozen),
	KUNIT_CASE(filter_takes_them_all),
	KUNIT_CASE(conflict_leaves_all_as_it_was),
	KUNIT_CASE(wrong_addresses_change_nothing),
	KUNIT_CASE(starts_of_functions_will_do),
	KUNIT_CASE(registers_are_saved_while_somebody_asks),
	KUNIT_CASE(not_traced_stays_not_traced),
	KUNIT_CASE_SLOW(one_who_traces_all_is_not_disturbed),
	KUNIT_CASE(ops_on_the_heap_can_change_too),
	KUNIT_CASE_SLOW(calls_meanwhile_miss_nobody),
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	KUNIT_CASE(other_filters_wait_while_a_direct_call_changes),
#endif
	KUNIT_CASE(ops_that_never_came_cannot_leave),
	{}
};

static struct kunit_suite filter_suite = {
	.name = "kprobes_ftrace_filters",
	.init = filters_init,
	.test_cases = filter_cases,
};

kunit_test_suite(filter_suite);

MODULE_DESCRIPTION("KUnit tests of filters of ftrace that change while they are in use");
MODULE_LICENSE("GPL");
