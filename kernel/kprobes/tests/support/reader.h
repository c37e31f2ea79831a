/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TEST_READER_H
#define _KERNEL_KPROBES_TEST_READER_H
/*
 * A task that reads under RCU until a moment after it was told to end. Who waits for a grace period
 * waits for that. If nothing can preempt it, it ends by itself before anybody can tell it to.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

static bool reader_began, reader_ended;
static unsigned long reader_stays_until;

static int reader_run(void *unused)
{
	rcu_read_lock();
	WRITE_ONCE(reader_began, true);
	while (time_before(jiffies, READ_ONCE(reader_stays_until)))
		cpu_relax();
	WRITE_ONCE(reader_ended, true);
	rcu_read_unlock();
	return 0;
}

/* When this returns, the task is reading; or it has ended, where it could not be preempted. */
static inline void reader_start(struct kunit *test)
{
	WRITE_ONCE(reader_began, false);
	WRITE_ONCE(reader_ended, false);
	WRITE_ONCE(reader_stays_until, jiffies + 10 * HZ);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(reader_run, NULL, "kprobes_reader")));
	while (!READ_ONCE(reader_began))
		cond_resched();
}

static inline void reader_ends_soon(void)
{
	WRITE_ONCE(reader_stays_until, jiffies + HZ / 2);
}

#endif /* _KERNEL_KPROBES_TEST_READER_H */
