/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KPROBES_TESTS_FTRACE_H
#define _KPROBES_TESTS_FTRACE_H
/*
 * Shared by the suites of function entries: many functions, a few parties of different kinds that
 * hook some of them, and what has to hold at any time. A call reaches just the parties that hook
 * the function, the text of a function that nobody hooks is what it was, and no record of ftrace
 * waits for an update.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>

#include "../internal.h"
#include "support/core.h"

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

static inline notrace int target_at(unsigned long ip)
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
static inline notrace void party_func(unsigned long ip, unsigned long parent_ip,
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

static inline int set_filter(struct party *party, u64 which, bool remove)
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
static inline int join(struct party *party, u64 which)
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

static inline int leave(struct party *party, u64 which)
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

static inline int join_one(struct party *party, int i)
{
	return join(party, BIT_ULL(i));
}

static inline int leave_one(struct party *party, int i)
{
	return leave(party, BIT_ULL(i));
}

static inline void expect_hits_of(struct kunit *test, struct party *party, u64 which)
{
	int i;

	for (i = 0; i < NR_TARGETS; i++)
		KUNIT_EXPECT_EQ_MSG(test, party->hits[i], which >> i & 1, "target %d", i);
}

static inline void expect_calls(struct kunit *test)
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

static inline void expect_text(struct kunit *test)
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
static inline void expect_no_pending_records(struct kunit *test)
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
static inline u64 sum_of_records(void)
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

static inline void expect_records(struct kunit *test, u64 sum)
{
	KUNIT_EXPECT_EQ(test, sum, sum_of_records());
	expect_no_pending_records(test);
}

static u64 sum_at_start;

/* Runs after all actions that a case has added. */
static inline void expect_nothing_left(void *data)
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

static inline int filters_init(struct kunit *test)
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
static inline u64 draw(unsigned int n, u64 set, bool among)
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
static inline bool conflict(struct party *party, u64 which)
{
	return party->ops.flags & FTRACE_OPS_FL_IPMODIFY &&
	       (parties[MODIFIER].in | parties[OTHER_MODIFIER].in) & which;
}

static inline void step(struct kunit *test, struct party *party, unsigned int n)
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

static inline void drop_ops(void *ops)
{
	unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

static inline void register_ops(struct kunit *test, struct ftrace_ops *ops, ftrace_func_t func)
{
	ops->func = func;
	KUNIT_ASSERT_EQ(test, 0, register_ftrace_function(ops));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_ops, ops));
}

#endif /* _KPROBES_TESTS_FTRACE_H */
