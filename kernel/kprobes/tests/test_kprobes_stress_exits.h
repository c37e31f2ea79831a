/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks that end inside of a function with a return probe, on several levels. What the
 * return probe has to follow their calls is given back when they are reaped.
 */
#ifndef _KPROBES_TESTS_STRESS_EXITS_H
#define _KPROBES_TESTS_STRESS_EXITS_H

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>

#include "test_kprobes_stress.h"

/* Few enough to be all in use at times, while the dead wait for being reaped */
#define EXIT_INSTANCES	16
#define EXIT_DEPTHS	4

static struct calls exit_calls;
static atomic64_t exit_entries, exit_returns, tasks_ended;

/* See kprobes_sleeps() for @before. */
static noinline __noclone u32 kprobes_exits(u32 depth, bool ends, unsigned int before)
{
	u32 below = 0;

	calls_count(&exit_calls, before);
	if (depth)
		below = kprobes_exits(depth - 1, ends, switch_look());
	else if (ends)
		kthread_exit(0);
	return kprobes_one_more(below);
}

static int exit_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic64_inc(&exit_entries);
	return 0;
}

static int exit_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic64_inc(&exit_returns);
	return 0;
}

static struct kretprobe exit_probe = {
	.kp.addr = (kprobe_opcode_t *)kprobes_exits,
	.handler = exit_return,
	.entry_handler = exit_entry,
	.maxactive = EXIT_INSTANCES,
};

/**
 * struct leaver - what a task that may end inside is to do
 * @begun: it runs
 * @depth: how many more levels there are above the one where it ends
 * @ends: or returns from all of them
 */
struct leaver {
	struct completion begun;
	u32 depth;
	bool ends;
};

static int leaver_run(void *data)
{
	struct leaver *leaver = data;

	complete(&leaver->begun);
	if (kprobes_exits(leaver->depth, leaver->ends, switch_look()) != leaver->depth + 1)
		atomic64_inc(&wrong_results);
	return 0;
}

/* A thread that was stopped before it has begun would not call the function. */
static void leaver_send(struct leaver *leaver)
{
	struct task_struct *task;

	init_completion(&leaver->begun);
	task = kthread_create(leaver_run, leaver, "kprobes_leaver");
	if (IS_ERR(task))
		return;
	get_task_struct(task);
	wake_up_process(task);
	wait_for_completion(&leaver->begun);
	kthread_stop_put(task);
	if (leaver->ends)
		atomic64_inc(&tasks_ended);
}

static int exiter_run(void *data)
{
	struct worker *worker = data;

	while (!kthread_should_stop()) {
		u32 bits = prandom_u32_state(&worker->rnd);
		struct leaver leaver = {
			.depth = bits % EXIT_DEPTHS,
			/* One in four comes back. */
			.ends = (bits >> 8) % 4,
		};

		leaver_send(&leaver);
		usleep_range(2000, 2000 + (bits >> 16) % 16384);
	}
	return 0;
}

/* Follows as many calls at once as there are instances. Returns how many were not followed. */
static s64 exit_instances_away(void)
{
	s64 returns = atomic64_read(&exit_returns);

	if (kprobes_exits(EXIT_INSTANCES - 1, false, switch_look()) != EXIT_INSTANCES)
		atomic64_inc(&wrong_results);
	return returns + EXIT_INSTANCES - atomic64_read(&exit_returns);
}

/* How many instances do not come back? It may take a while until the dead are reaped. */
static s64 exit_instances_lost(void)
{
	unsigned int tries;

	if (may_be_deaf(&exit_probe.kp))
		return 0;
	for (tries = 0; tries < 250 && exit_instances_away(); tries++) {
		rcu_barrier();
		msleep(20);
	}
	return exit_instances_away();
}

/* A call that is followed returns, or its task ends. All others are missed. */
static unsigned int exits_check(void)
{
	s64 seen = atomic64_read(&exit_entries);
	s64 returns = atomic64_read(&exit_returns);

	if (calls_accounted(&exit_calls, &exit_probe.kp, seen + exit_probe.nmissed) &&
	    returns <= seen)
		return 0;
	calls_print("return probe where tasks end", &exit_calls);
	pr_err("%lld entries, %d missed, %lld returns\n", seen, exit_probe.nmissed, returns);
	return 1;
}

#endif /* _KPROBES_TESTS_STRESS_EXITS_H */
