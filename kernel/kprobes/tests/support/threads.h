/* SPDX-License-Identifier: GPL-2.0 */
/* Threads beside the test's own */
#ifndef _KPROBES_TESTS_THREADS_H
#define _KPROBES_TESTS_THREADS_H

#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

/* For kunit_release_action() */
void thread_stop(void *task);

/* It has not begun yet, and stops when the test case ends, if not before. */
struct task_struct *thread_new(struct kunit *test, int (*run)(void *data), void *data);

/* Has it begin, and waits for it to say so by @flag. Without that the case is over. */
void thread_begin(struct kunit *test, struct task_struct *task, int *flag, unsigned int seconds);

/* What a thread has left to do when it must not end before it is told to */
int thread_idle(void);

/**
 * struct holder - a thread that holds something, or a grace period up, until it is stopped
 * @hold: takes it, keeps it while holder_goes_on(), and gives it back
 * @data: for @hold
 * @seconds: then it gives up: a test that waits for it must fail, and not hang
 * @end: when that is
 * @task: the thread
 * @test: the test case
 * @holds: it has it, or had
 * @gave_up: it gave up
 */
struct holder {
	void (*hold)(struct holder *holder);
	void *data;
	unsigned int seconds;
	unsigned long end;
	struct task_struct *task;
	struct kunit *test;
	int holds, gave_up;
};

struct holder *holder_new(struct kunit *test, void (*hold)(struct holder *holder), void *data,
			  unsigned int seconds);

/* Returns when the thread has it. */
void holder_start(struct holder *holder);
bool holder_goes_on(struct holder *holder);

/* Returns whether it had given up before it was told to stop. */
bool holder_stop(struct holder *holder);

/**
 * struct caller - a thread that keeps calling a function
 * @test: the test case
 * @call: the function
 * @task: the thread
 * @calls: how many calls have returned
 */
struct caller {
	struct kunit *test;
	u32 (*call)(u32 x);
	struct task_struct *task;
	unsigned int calls;
};

struct caller *caller_start(struct kunit *test, u32 (*call)(u32 x));

/* After this, all calls have returned and are counted. */
void caller_stop(struct caller *caller);

/* Waits until at least one more call has returned. */
void caller_wait(struct kunit *test, struct caller *caller);

#endif /* _KPROBES_TESTS_THREADS_H */
