// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of changes to filters of ftrace that are in use, as sites at function entries make
 * them.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>

#include "support/kinds.h"
#include "support/threads.h"
#include "test_ftrace.h"

/* --- filters that change --- */

#define MAX_BATCH	12

/* A function that is hooked by two modifiers is refused, and that changes nothing. */
static void functions_come_and_go(struct kunit *test)
{
	int i, p;

	for (i = 0; i < NR_STEPS; i++) {
		p = prandom_u32_state(&random) % NR_PARTIES;
		step(test, &parties[p], 1 + prandom_u32_state(&random) % MAX_BATCH);
		expect_calls(test);
		expect_text(test);
		if (i % 16 == 0)
			expect_no_pending_records(test);
	}
}

/* --- what is refused --- */

static void wrong_addresses_change_nothing(struct kunit *test)
{
	struct ftrace_ops *ops = &parties[PLAIN].ops;
	unsigned long nowhere[] = { locations[2], (unsigned long)locations };
	unsigned long absent[] = { locations[0], locations[9] };
	unsigned long twice[] = { locations[7], locations[7] };
	u64 sum;

	KUNIT_ASSERT_EQ(test, 0, join(&parties[PLAIN], BIT_ULL(0) | BIT_ULL(1) | BIT_ULL(8)));
	sum = sum_of_records();
	KUNIT_EXPECT_EQ(test, -EINVAL, ftrace_set_filter_ips(ops, nowhere, 2, 0, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, ftrace_set_filter_ips(ops, nowhere + 1, 1, 1, 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, ftrace_set_filter_ips(ops, absent, 2, 1, 0));
	expect_records(test, sum);
	expect_calls(test);

	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ips(ops, absent, 1, 0, 0));
	expect_records(test, sum);
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ips(ops, twice, 2, 0, 0));
	parties[PLAIN].in |= BIT_ULL(7);
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, -ENOENT, ftrace_set_filter_ips(ops, twice, 2, 1, 0));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ips(ops, twice, 1, 1, 0));
	parties[PLAIN].in &= ~BIT_ULL(7);
	expect_calls(test);
}

/* The start of a function stands for its call of ftrace, wherever that is. */
static void starts_of_functions_will_do(struct kunit *test)
{
	unsigned long start = (unsigned long)targets[2];
	struct party *party = &parties[REGISTERS];
	unsigned int remove;

	KUNIT_ASSERT_EQ(test, 0, join_one(party, 1));
	for (remove = 0; remove < 2; remove++) {
		KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(&party->ops, start, remove, 0));
		party->in ^= BIT_ULL(2);
		expect_calls(test);
	}
}

/* A past bug: ftrace went on saving all registers when the probe had left. */
static void registers_are_saved_while_somebody_asks(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[PLAIN], 1));
	expect_calls(test);
	KUNIT_EXPECT_FALSE(test, parties[PLAIN].saw_registers);
	KUNIT_ASSERT_EQ(test, 0, join(&parties[REGISTERS], BIT_ULL(1) | BIT_ULL(2)));
	expect_calls(test);
	KUNIT_EXPECT_TRUE(test, parties[PLAIN].saw_registers);
	KUNIT_ASSERT_EQ(test, 0, leave_one(&parties[REGISTERS], 1));
	expect_calls(test);
	KUNIT_EXPECT_FALSE(test, parties[PLAIN].saw_registers);
}

/* --- in company --- */

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
	party->in &= ~BIT_ULL(3);
	expect_calls(test);
	expect_text(test);
	KUNIT_ASSERT_EQ(test, 0, join_one(&parties[REGISTERS], 3));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(party, 3));
	expect_calls(test);
	expect_text(test);
}

static void expect_sees(struct kunit *test, struct party *party, u64 which)
{
	memset(party->hits, 0, sizeof(party->hits));
	expect_calls(test);
	expect_hits_of(test, party, which);
}

/* ftrace calls an ops in memory that can be freed in another way. */
static void one_who_traces_all_is_not_disturbed(struct kunit *test)
{
	struct party *everything = test_alloc(test, sizeof(*everything));
	struct ftrace_ops *ops = &everything->ops;
	int n;

	register_ops(test, ops, party_func);
	for (n = 0; n < 40; n++) {
		step(test, &parties[n % NR_PARTIES], 1 + n % 3);
		expect_sees(test, everything, ~0ULL);
	}
	/* With functions in its filter, it hooks these only. */
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(ops, locations[9], 0, 0));
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(ops, locations[4], 0, 0));
	expect_sees(test, everything, BIT_ULL(4) | BIT_ULL(9));
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(ops, locations[9], 1, 0));
	/* When the last one has left the filter, it hooks everything again. */
	KUNIT_EXPECT_EQ(test, 0, ftrace_set_filter_ip(ops, locations[4], 1, 0));
	expect_sees(test, everything, ~0ULL);
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
	caller = caller_start(test, targets[0]);
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
static int update_error;
static bool updated_meanwhile;

static void update_others(struct work_struct *unused)
{
	WRITE_ONCE(update_error, join_one(&parties[REGISTERS], 9));
}

static DECLARE_WORK(update_work, update_others);

static int agree(struct ftrace_ops *ops, unsigned long ip, enum ftrace_ops_cmd cmd)
{
	return 0;
}

/* The records are being gone through. Nobody else may say now which of them to go through. */
static int agree_after_a_while(struct ftrace_ops *ops, unsigned long ip,
			       enum ftrace_ops_cmd cmd)
{
	schedule_work(&update_work);
	msleep(200);
	updated_meanwhile = READ_ONCE(update_error) != -EINPROGRESS;
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

	updated_meanwhile = true;
	update_error = -EINPROGRESS;
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
	KUNIT_CASE(functions_come_and_go),
	KUNIT_CASE(wrong_addresses_change_nothing),
	KUNIT_CASE(starts_of_functions_will_do),
	KUNIT_CASE(registers_are_saved_while_somebody_asks),
	KUNIT_CASE(not_traced_stays_not_traced),
	KUNIT_CASE_SLOW(one_who_traces_all_is_not_disturbed),
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
