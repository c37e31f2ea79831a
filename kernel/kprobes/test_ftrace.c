// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of changes to filters of ftrace that are in use, as sites at function
 * entries make them
 *
 * A few parties of different kinds hook some of many functions. At any time, a call
 * must reach just the parties that hook the function, the text of a function that
 * nobody hooks must be what it was, and no record of ftrace may wait for an update.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "../../lib/test_kprobes/caller.h"
#include "internal.h"
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
#include "test_fail_ftrace.h"
#endif

#define NR_TARGETS	64
#define NR_STEPS	300
#define MAX_BATCH	12

#define EIGHT(what, n)							\
	what(n##0) what(n##1) what(n##2) what(n##3)			\
	what(n##4) what(n##5) what(n##6) what(n##7)

#define ALL_TARGETS(what)						\
	EIGHT(what, 00) EIGHT(what, 01) EIGHT(what, 02) EIGHT(what, 03)	\
	EIGHT(what, 04) EIGHT(what, 05) EIGHT(what, 06) EIGHT(what, 07)

#define TARGET(n)							\
static noinline __noclone int target_##n(int x)				\
{									\
	barrier();							\
	return x + (n);							\
}

ALL_TARGETS(TARGET)

#define TARGET_ENTRY(n)	target_##n,
static int (*const targets[NR_TARGETS])(int x) = { ALL_TARGETS(TARGET_ENTRY) };

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
	/* The functions that it hooks, or would hook if it were registered */
	DECLARE_BITMAP(in, NR_TARGETS);
	bool			registered;
	/* It was called with all registers, the last time */
	bool			saw_registers;
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

static struct party parties[NR_PARTIES] = {
	[PLAIN]		 = { .ops = { .func = party_func } },
	[UNGUARDED]	 = { .ops = { .func = party_func,
				      .flags = FTRACE_OPS_FL_RECURSION } },
	[REGISTERS]	 = { .ops = { .func = party_func,
				      .flags = FTRACE_OPS_FL_SAVE_REGS } },
	[MODIFIER]	 = { .ops = { .func = party_func,
				      .flags = FTRACE_OPS_FL_SAVE_REGS |
					       FTRACE_OPS_FL_IPMODIFY } },
	[OTHER_MODIFIER] = { .ops = { .func = party_func,
				      .flags = FTRACE_OPS_FL_SAVE_REGS |
					       FTRACE_OPS_FL_IPMODIFY } },
};

static int set_filter(struct party *party, const unsigned long *which, bool remove)
{
	unsigned long ips[NR_TARGETS];
	unsigned int i, n = 0;

	for_each_set_bit(i, which, NR_TARGETS)
		ips[n++] = locations[i];
	return ftrace_set_filter_ips(&party->ops, ips, n, remove, 0);
}

/* An empty filter means all functions, so no party may have one while it is registered. */
static int join(struct party *party, const unsigned long *which)
{
	int err = set_filter(party, which, false);

	if (err)
		return err;
	if (!party->registered) {
		err = register_ftrace_function(&party->ops);
		if (err)
			goto undo;
		party->registered = true;
	}
	bitmap_or(party->in, party->in, which, NR_TARGETS);
	return 0;
undo:
	set_filter(party, which, true);
	return err;
}

static int leave(struct party *party, const unsigned long *which)
{
	int err = 0;

	if (bitmap_equal(party->in, which, NR_TARGETS) && party->registered) {
		err = unregister_ftrace_function(&party->ops);
		if (err)
			return err;
		party->registered = false;
	}
	err = set_filter(party, which, true);
	if (!err)
		bitmap_andnot(party->in, party->in, which, NR_TARGETS);
	return err;
}

static int join_one(struct party *party, int i)
{
	DECLARE_BITMAP(which, NR_TARGETS) = {};

	__set_bit(i, which);
	return join(party, which);
}

static int leave_one(struct party *party, int i)
{
	DECLARE_BITMAP(which, NR_TARGETS) = {};

	__set_bit(i, which);
	return leave(party, which);
}

static bool hooked(int i)
{
	int p;

	for (p = 0; p < NR_PARTIES; p++) {
		if (test_bit(i, parties[p].in))
			return true;
	}
	return false;
}

static void expect_calls(struct kunit *test)
{
	struct party *party;
	int i, p;

	for (p = 0; p < NR_PARTIES; p++)
		memset(parties[p].hits, 0, sizeof(parties[p].hits));
	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ(test, targets[i](1), 1 + i);
	for (p = 0; p < NR_PARTIES; p++) {
		party = &parties[p];
		for (i = 0; i < NR_TARGETS; i++)
			KUNIT_EXPECT_EQ_MSG(test, party->hits[i], test_bit(i, party->in),
					    "party %d, target %d", p, i);
	}
}

static void expect_text(struct kunit *test)
{
	int i;

	for (i = 0; i < NR_TARGETS; i++) {
		bool same = !memcmp((void *)locations[i], texts[i], MCOUNT_INSN_SIZE);

		KUNIT_EXPECT_EQ_MSG(test, same, !hooked(i), "target %d", i);
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
		if (!bitmap_empty(party->in, NR_TARGETS))
			KUNIT_EXPECT_EQ(test, 0, leave(party, party->in));
		KUNIT_EXPECT_FALSE(test, party->registered);
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

/* --- at random --- */

static bool draw(unsigned long *which, unsigned int n, const unsigned long *from, bool among)
{
	unsigned int tries, i;

	bitmap_zero(which, NR_TARGETS);
	for (tries = 0; tries < 4 * NR_TARGETS && n; tries++) {
		i = prandom_u32_state(&random) % NR_TARGETS;
		if (test_bit(i, from) == among && !__test_and_set_bit(i, which))
			n--;
	}
	return !bitmap_empty(which, NR_TARGETS);
}

static bool conflict(struct party *party, const unsigned long *which)
{
	struct party *other;

	if (party == &parties[MODIFIER])
		other = &parties[OTHER_MODIFIER];
	else if (party == &parties[OTHER_MODIFIER])
		other = &parties[MODIFIER];
	else
		return false;
	return bitmap_intersects(other->in, which, NR_TARGETS);
}

static void step(struct kunit *test, struct party *party, unsigned int n)
{
	DECLARE_BITMAP(which, NR_TARGETS);
	bool add = prandom_u32_state(&random) % 2;
	int err;

	if (!draw(which, n, party->in, !add))
		return;
	if (!add) {
		KUNIT_EXPECT_EQ(test, 0, leave(party, which));
		return;
	}
	err = join(party, which);
	KUNIT_EXPECT_EQ(test, err, conflict(party, which) ? -EBUSY : 0);
}

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
	struct party *party = kunit_kzalloc(test, sizeof(*party), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, party);
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

/* --- probes --- */

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

	probes = kunit_kzalloc(test, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
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

/* How often ftrace is told of changes, which concerns all CPUs each time */
static unsigned int nr_told;

static int count_told(struct kprobe *kp, struct pt_regs *regs)
{
	nr_told++;
	return 0;
}

static void drop_teller(void *kp)
{
	unregister_kprobe(kp);
}

static void count_from_here(struct kunit *test)
{
	static struct kprobe teller;

	teller = (struct kprobe){
		.symbol_name = "ftrace_set_filter_ips", .pre_handler = count_told,
	};
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&teller));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_teller, &teller));
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
	unregister_kprobes(probes->list, NR_TARGETS);
	KUNIT_EXPECT_EQ(test, nr_told, 2);
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

static void failure_desc(const struct failure *failure, char *desc)
{
	strscpy(desc, failure->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(failure, failures, failure_desc);

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

/* At first ftrace has no memory to take the hooks off. */
static void hooks_are_taken_off_when_there_is_memory(struct kunit *test)
{
	two_probes(test, 5);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[0]));
	probes->kps[1].post_handler = ignore_hit;
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probes->kps[1]));
	have_ftrace_fail(test);
	ftrace_removals_fail = 3;
	unregister_kprobes(probes->list, 2);
	KUNIT_EXPECT_EQ(test, 0, ftrace_removals_fail);
	KUNIT_EXPECT_EQ(test, 0, join_one(&parties[MODIFIER], 5));
	expect_calls(test);
	KUNIT_EXPECT_EQ(test, 0, leave_one(&parties[MODIFIER], 5));
	expect_text(test);
}

/* Arms a site as the switch does, and has ftrace told of it. kprobe_mutex is held. */
static int arm_again(struct kprobe_site *site)
{
	struct kprobe_plan plan;

	kprobe_plan_init(&plan);
	return kprobe_site_refresh(site, &plan) ?: kprobe_plan_apply(&plan);
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
	mutex_lock(&kprobe_mutex);
	site = kprobe_find_site((unsigned long)probes->kps[0].addr);
	KUNIT_EXPECT_FALSE(test, kprobe_site_arming_failed(site));
	KUNIT_EXPECT_EQ(test, 0, kprobe_plan_arming(site, false, &plan));
	KUNIT_EXPECT_EQ(test, 0, kprobe_plan_apply(&plan));
	ftrace_failures = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, arm_again(site));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&site->kp));
	KUNIT_EXPECT_TRUE(test, kprobe_site_arming_failed(site));
	KUNIT_EXPECT_EQ(test, 0, arm_again(site));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&site->kp));
	KUNIT_EXPECT_FALSE(test, kprobe_site_arming_failed(site));
	mutex_unlock(&kprobe_mutex);
	expect_hits_of_both(test);
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

static struct kunit_case ftrace_cases[] = {
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
	KUNIT_CASE(probes_come_and_go_among_others),
	KUNIT_CASE(batch_of_probes_is_told_at_once),
	KUNIT_CASE(batch_may_want_it_both_ways),
	KUNIT_CASE(probes_come_and_go_where_none_could_be_armed),
	KUNIT_CASE(site_is_armed_when_that_is_possible_again),
	KUNIT_CASE(function_is_free_when_its_post_handler_has_left),
	KUNIT_CASE(probe_is_hit_in_a_callback_of_others),
#ifdef CONFIG_FUNCTION_ERROR_INJECTION
	KUNIT_CASE_PARAM(pair_that_is_not_hooked_leaves_nothing, failure_gen_params),
	KUNIT_CASE(hooks_are_taken_off_when_there_is_memory),
	KUNIT_CASE(site_that_is_not_hooked_is_known_to_be),
#endif
	{}
};

static struct kunit_suite ftrace_suite = {
	.name = "kprobes_ftrace_filters",
	.init = filters_init,
	.test_cases = ftrace_cases,
};

kunit_test_suite(ftrace_suite);

MODULE_DESCRIPTION("KUnit tests of probes and others in the filters of ftrace");
MODULE_LICENSE("GPL");
