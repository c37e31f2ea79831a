// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of changes to filters of ftrace that are in use, as sites at function entries make
 * them, and of probes there, where others have hooks, too.
 *
 * A few parties of different kinds hook some of many functions. At any time, a call
 * must reach just the parties that hook the function, the text of a function that
 * nobody hooks must be what it was, and no record of ftrace may wait for an update.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "../internal.h"
#include "support/core.h"
#include "support/kinds.h"
#include "support/slow.h"
#include "support/threads.h"

#define NR_TARGETS	64	/* as many as a set has bits */
#define NR_STEPS	300

#define EIGHT(what, n)							\
	what(n##0) what(n##1) what(n##2) what(n##3)			\
	what(n##4) what(n##5) what(n##6) what(n##7)

#define ALL_TARGETS(what)						\
	EIGHT(what, 00) EIGHT(what, 01) EIGHT(what, 02) EIGHT(what, 03)	\
	EIGHT(what, 04) EIGHT(what, 05) EIGHT(what, 06) EIGHT(what, 07)

#define TARGET(n)							\
static noinline __noclone u32 target_##n(u32 x)				\
{									\
	barrier();							\
	return x + (n);							\
}

ALL_TARGETS(TARGET)

#define TARGET_ENTRY(n)	target_##n,
static u32 (*const targets[NR_TARGETS])(u32 x) = { ALL_TARGETS(TARGET_ENTRY) };

static unsigned long locations[NR_TARGETS];
static unsigned long lowest, highest;
static u8 texts[NR_TARGETS][MCOUNT_INSN_SIZE];
static struct rnd_state random;

static notrace int target_at(unsigned long ip)
{
	int i;

	if (ip < lowest || ip > highest)
		return -1;
	for (i = 0; i < NR_TARGETS; i++) {
		if (locations[i] == ip)
			return i;
	}
	return -1;
}

struct party {
	struct ftrace_ops	ops;
	u64			in;	/* functions that it hooks; it is registered if any */
	bool			saw_registers;	/* the last time that it was called */
	unsigned long		hits[NR_TARGETS];
};

/* Must not be hooked itself: one of the parties hooks every function. */
static notrace void party_func(unsigned long ip, unsigned long parent_ip,
			       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct party *party = container_of(ops, struct party, ops);
	int i = target_at(ip);

	if (i < 0)
		return;
	party->hits[i]++;
	party->saw_registers = ftrace_get_regs(fregs);
}

NOKPROBE_SYMBOL(party_func);

enum { PLAIN, UNGUARDED, REGISTERS, MODIFIER, OTHER_MODIFIER, NR_PARTIES };

#define PARTY(with)	{ .ops = { .func = party_func, .flags = (with) } }

static struct party parties[NR_PARTIES] = {
	[PLAIN]		 = PARTY(0),
	[UNGUARDED]	 = PARTY(FTRACE_OPS_FL_RECURSION),
	[REGISTERS]	 = PARTY(FTRACE_OPS_FL_SAVE_REGS),
	[MODIFIER]	 = PARTY(FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY),
	[OTHER_MODIFIER] = PARTY(FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY),
};

static int set_filter(struct party *party, u64 which, bool remove)
{
	unsigned long ips[NR_TARGETS];
	unsigned int i, n = 0;

	for (i = 0; i < NR_TARGETS; i++) {
		if (which & BIT_ULL(i))
			ips[n++] = locations[i];
	}
	return ftrace_set_filter_ips(&party->ops, ips, n, remove, 0);
}

/* An empty filter means all functions, so no party may have one while it is registered. */
static int join(struct party *party, u64 which)
{
	int err = set_filter(party, which, false);

	if (err)
		return err;
	if (!party->in) {
		err = register_ftrace_function(&party->ops);
		if (err) {
			set_filter(party, which, true);
			return err;
		}
	}
	party->in |= which;
	return 0;
}

static int leave(struct party *party, u64 which)
{
	int err;

	if (party->in == which) {
		err = unregister_ftrace_function(&party->ops);
		if (err)
			return err;
	}
	err = set_filter(party, which, true);
	if (!err)
		party->in &= ~which;
	return err;
}

static int join_one(struct party *party, int i)
{
	return join(party, BIT_ULL(i));
}

static int leave_one(struct party *party, int i)
{
	return leave(party, BIT_ULL(i));
}

static bool hooks(struct party *party, int i)
{
	return party->in & BIT_ULL(i);
}

static void expect_hits_of(struct kunit *test, struct party *party, u64 which)
{
	int i;

	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ_MSG(test, party->hits[i], which >> i & 1, "target %d", i);
}

static void expect_calls(struct kunit *test)
{
	struct party *party;
	int i;

	for (party = parties; party < parties + NR_PARTIES; party++)
		memset(party->hits, 0, sizeof(party->hits));
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ(test, targets[i](1), 1 + i);
	for (party = parties; party < parties + NR_PARTIES; party++)
		expect_hits_of(test, party, party->in);
}

static void expect_text(struct kunit *test)
{
	u64 hooked = 0;
	int i;

	for (i = 0; i < NR_PARTIES; i++)
		hooked |= parties[i].in;
	for (i = 0; i < NR_TARGETS; i++) {
		bool same = !memcmp((void *)locations[i], texts[i], MCOUNT_INSN_SIZE);

		KUNIT_EXPECT_EQ_MSG(test, same, !(hooked >> i & 1), "target %d", i);
	}
}

/*
 * No record of ftrace may wait for an update. They are read without a lock: nobody else
 * changes them while the tests run.
 */
static void expect_no_pending_records(struct kunit *test)
{
	struct ftrace_rec_iter *iter;
	unsigned int pending = 0;

	for_ftrace_rec_iter(iter) {
		if (ftrace_test_record(ftrace_rec_iter_record(iter), true) !=
		    FTRACE_UPDATE_IGNORE)
			pending++;
	}
	KUNIT_EXPECT_EQ(test, pending, 0);
}

/* Two of the flags are left out, because they are never cleared again. */
static u64 sum_of_records(void)
{
	struct ftrace_rec_iter *iter;
	struct dyn_ftrace *rec;
	u64 sum = 0;

	for_ftrace_rec_iter(iter) {
		rec = ftrace_rec_iter_record(iter);
		sum += rec->ip * (rec->flags & ~(FTRACE_FL_TOUCHED | FTRACE_FL_MODIFIED));
	}
	return sum;
}

static void expect_records(struct kunit *test, u64 sum)
{
	KUNIT_EXPECT_EQ(test, sum, sum_of_records());
	expect_no_pending_records(test);
}

static u64 sum_at_start;

/* Runs after all actions that a case has added. */
static void expect_nothing_left(void *data)
{
	struct kunit *test = data;
	struct party *party;

	for (party = parties; party < parties + NR_PARTIES; party++) {
		if (party->in)
			KUNIT_EXPECT_EQ(test, 0, leave(party, party->in));
	}
	expect_calls(test);
	expect_text(test);
	expect_records(test, sum_at_start);
}

static int filters_init(struct kunit *test)
{
	int i;

	lowest = ULONG_MAX;
	highest = 0;
	for (i = 0; i < NR_TARGETS; i++) {
		locations[i] = ftrace_location((unsigned long)targets[i]);
		KUNIT_ASSERT_NE(test, locations[i], 0);
		lowest = min(lowest, locations[i]);
		highest = max(highest, locations[i]);
		memcpy(texts[i], (void *)locations[i], MCOUNT_INSN_SIZE);
	}
	prandom_seed_state(&random, 20240917);
	sum_at_start = sum_of_records();
	expect_no_pending_records(test);
	return kunit_add_action(test, expect_nothing_left, test);
}

/* Draws up to @n functions that are in the set, or are not. */
static u64 draw(unsigned int n, u64 set, bool among)
{
	unsigned int tries;
	u64 which = 0;

	for (tries = 0; tries < 4 * NR_TARGETS && n; tries++) {
		u64 one = BIT_ULL(prandom_u32_state(&random) % NR_TARGETS);

		if (!!(set & one) == among && !(which & one)) {
			which |= one;
			n--;
		}
	}
	return which;
}

/* Only one that modifies can have a function. */
static bool conflict(struct party *party, u64 which)
{
	return party->ops.flags & FTRACE_OPS_FL_IPMODIFY &&
	       (parties[MODIFIER].in | parties[OTHER_MODIFIER].in) & which;
}

static void step(struct kunit *test, struct party *party, unsigned int n)
{
	bool add = prandom_u32_state(&random) % 2;
	u64 which = draw(n, party->in, !add), sum;

	if (!which)
		return;
	if (!add) {
		KUNIT_EXPECT_EQ(test, 0, leave(party, which));
	} else if (conflict(party, which)) {
		sum = sum_of_records();
		KUNIT_EXPECT_EQ(test, -EBUSY, join(party, which));
		expect_records(test, sum);
	} else {
		KUNIT_EXPECT_EQ(test, 0, join(party, which));
	}
}

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

static void drop_ops(void *ops)
{
	unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

static void register_ops(struct kunit *test, struct ftrace_ops *ops, ftrace_func_t func)
{
	ops->func = func;
	KUNIT_ASSERT_EQ(test, 0, register_ftrace_function(ops));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_ops, ops));
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

/* --- probes among others --- */

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

kunit_test_suites(&filter_suite, &probe_suite);
