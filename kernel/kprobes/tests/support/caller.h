/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that keeps calling a function while the test does something else. */
#ifndef _LIB_TEST_KPROBES_CALLER_H
#define _LIB_TEST_KPROBES_CALLER_H

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>

/**
 * struct caller - a thread that keeps calling a function
 * @call: the function
 * @task: the thread, NULL when it has ended
 * @calls: how many calls have returned
 */
struct caller {
	u32 (*call)(u32 x);
	struct task_struct *task;
	unsigned int calls;
};

static inline int caller_run(void *data)
{
	struct caller *caller = data;

	while (!kthread_should_stop()) {
		caller->call(1);
		WRITE_ONCE(caller->calls, caller->calls + 1);
		/* There may be one processor only, which the test needs, too. */
		cond_resched();
	}
	return 0;
}

/* After this, all calls have returned and are counted. */
static inline void caller_stop(struct caller *caller)
{
	if (caller->task)
		kthread_stop(caller->task);
	caller->task = NULL;
}

static inline void caller_drop(void *caller)
{
	caller_stop(caller);
}

/* The thread stops when the test case ends, if not before. */
static inline struct caller *caller_start(struct kunit *test, u32 (*call)(u32 x))
{
	struct caller *caller = kunit_kzalloc(test, sizeof(*caller), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, caller);
	caller->call = call;
	caller->task = kthread_run(caller_run, caller, "kprobes_caller");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, caller->task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, caller_drop, caller));
	return caller;
}

/* Waits until at least one more call has returned. */
static inline void caller_wait(struct kunit *test, struct caller *caller)
{
	unsigned int seen = READ_ONCE(caller->calls);
	unsigned long end = jiffies + 10 * HZ;

	while (READ_ONCE(caller->calls) == seen && time_before(jiffies, end))
		cond_resched();
	KUNIT_ASSERT_NE(test, READ_ONCE(caller->calls), seen);
}

#endif /* _LIB_TEST_KPROBES_CALLER_H */
