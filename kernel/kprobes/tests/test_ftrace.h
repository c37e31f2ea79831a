/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KPROBES_TESTS_FTRACE_H
#define _KPROBES_TESTS_FTRACE_H
/*
 * A few parties of different kinds hook some of many functions. At any time, a call
 * must reach just the parties that hook the function, the text of a function that
 * nobody hooks must be what it was, and no record of ftrace may wait for an update.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>

#define NR_TARGETS	64
#define NR_STEPS	300

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

#endif /* _KPROBES_TESTS_FTRACE_H */
