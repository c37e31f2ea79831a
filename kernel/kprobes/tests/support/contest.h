/* SPDX-License-Identifier: GPL-2.0 */
/* Two threads that register the same struct at the same time, again and again */
#ifndef _LIB_TEST_KPROBES_CONTEST_H
#define _LIB_TEST_KPROBES_CONTEST_H

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <asm/barrier.h>

/* How often a test case has them do that */
#define CONTESTS	100

/**
 * struct contest - two threads that call a function at the same time
 * @enter: the function, which registers the struct
 * @other: the thread beside the test's own
 * @begun: the last round that has begun
 * @ended: the last round in which @other has called the function
 * @err: what the function returned to @other then
 */
struct contest {
	int (*enter)(void);
	struct task_struct *other;
	int begun, ended;
	int err;
};

static inline int contest_run(void *data)
{
	struct contest *contest = data;
	int round = 0;

	while (!kthread_should_stop()) {
		/* Pairs with the release in contest_hold(). */
		if (smp_load_acquire(&contest->begun) == round) {
			cond_resched();
			continue;
		}
		round++;
		contest->err = contest->enter();
		/* Pairs with the acquire in contest_hold(): err is there. */
		smp_store_release(&contest->ended, round);
	}
	return 0;
}

static inline void contest_stop(void *data)
{
	struct contest *contest = data;

	kthread_stop(contest->other);
}

/* The other thread stops when the test case ends. */
static inline struct contest *contest_start(struct kunit *test, int (*enter)(void))
{
	struct contest *contest = kunit_kzalloc(test, sizeof(*contest), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, contest);
	contest->enter = enter;
	contest->other = kthread_run(contest_run, contest, "kprobes_contest");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, contest->other);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, contest_stop, contest));
	return contest;
}

/* Holds a round, for which the struct is ready: one of the threads is refused. */
static inline void contest_hold(struct kunit *test, struct contest *contest)
{
	int round = contest->begun + 1;
	int err;

	/* Pairs with the acquire in contest_run(): the struct is ready. */
	smp_store_release(&contest->begun, round);
	err = contest->enter();
	/* Pairs with the release in contest_run(). */
	while (smp_load_acquire(&contest->ended) != round)
		cond_resched();
	KUNIT_EXPECT_EQ(test, err + contest->err, -EINVAL);
	KUNIT_EXPECT_EQ(test, err * contest->err, 0);
}

#endif /* _LIB_TEST_KPROBES_CONTEST_H */
