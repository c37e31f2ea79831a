/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the parts of test_kprobes_stress.c: the functions that are called, and how
 * their calls are counted.
 */
#ifndef _KPROBES_TESTS_STRESS_H
#define _KPROBES_TESTS_STRESS_H

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/kstrtox.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/sched.h>

#include "support/targets.h"

#define STEPS		ARRAY_SIZE(kprobes_steps_table)
#define ENTRIES		ARRAY_SIZE(kprobes_entries)
#define LONELY		ARRAY_SIZE(lonely)

/**
 * struct worker - a thread that does something until it is stopped
 * @task: the thread
 * @rnd: its random numbers
 */
struct worker {
	struct task_struct *task;
	struct rnd_state rnd;
};

/* What went wrong while threads were running */
static atomic64_t wrong_results, late_handlers, wrong_answers, overlaps;

/* The switch for all probes, kprobes/enabled in debugfs */

enum { SWITCH_OFF, SWITCH_ON, SWITCH_MOVES };

#define SWITCH_MASK	3

/* Where it is, and above SWITCH_MASK, how often it was turned: no value comes twice. */
static unsigned int switch_state = SWITCH_ON;

static atomic64_t times_off;

/* Whoever turns the switch writes SWITCH_MOVES before, and afterwards where it is. */
static int switch_is_set(const char *val, const struct kernel_param *kp)
{
	unsigned int position, state = READ_ONCE(switch_state);
	int ret = kstrtouint(val, 0, &position);

	if (ret)
		return ret;
	if (position > SWITCH_MOVES)
		return -EINVAL;
	if (position == SWITCH_OFF)
		atomic64_inc(&times_off);
	WRITE_ONCE(switch_state, (state | SWITCH_MASK) + 1 + position);
	return 0;
}

static const struct kernel_param_ops switch_is_ops = {
	.set = switch_is_set,
};

module_param_cb(switch_is, &switch_is_ops, NULL, 0200);
MODULE_PARM_DESC(switch_is, "2 before kprobes/enabled is written to, and what it is after that");

static unsigned int switch_look(void)
{
	unsigned int state;

	/* A call that was made before ends before this. */
	smp_mb();
	state = READ_ONCE(switch_state);
	/* A call that is made now begins after this. */
	smp_mb();
	return state;
}

/* Whoever turns it turns it on in the end. */
static bool switch_wait_on(void)
{
	unsigned int tries;

	for (tries = 0; tries < 600; tries++) {
		if ((switch_look() & SWITCH_MASK) == SWITCH_ON)
			return true;
		msleep(50);
	}
	return false;
}

/* ftrace shuts itself down */

static bool ftrace_dies;
module_param(ftrace_dies, bool, 0444);
MODULE_PARM_DESC(ftrace_dies, "ftrace shuts itself down meanwhile (default: no)");

/* Answers that say so */
static atomic64_t refusals;

/* Then it may go on calling for who is at a function's entry already, or may not. */
static bool may_be_deaf(struct kprobe *kp)
{
	return ftrace_dies && kprobe_ftrace(kp);
}

/**
 * struct calls - how often a function was called
 * @on: with the switch on from beginning to end: each is a hit or a miss
 * @off: with the switch off from beginning to end: none is
 * @between: all others, of which some are
 */
struct calls {
	atomic64_t on, off, between;
};

/* Counts a call. @before is what switch_look() said when it began. */
static void calls_count(struct calls *calls, unsigned int before)
{
	unsigned int position = SWITCH_MOVES;

	if (switch_look() == before)
		position = before & SWITCH_MASK;
	switch (position) {
	case SWITCH_ON:
		atomic64_inc(&calls->on);
		break;
	case SWITCH_OFF:
		atomic64_inc(&calls->off);
		break;
	default:
		atomic64_inc(&calls->between);
	}
}

static s64 calls_sum(struct calls *calls)
{
	return atomic64_read(&calls->on) + atomic64_read(&calls->off) +
	       atomic64_read(&calls->between);
}

/* Can @kp have as many hits and misses? Unless the switch was turned, it is one number. */
static bool calls_accounted(struct calls *calls, struct kprobe *kp, s64 accounted)
{
	s64 least = atomic64_read(&calls->on);

	if (may_be_deaf(kp))
		return accounted > 0 && accounted <= calls_sum(calls);
	return accounted >= least && accounted <= least + atomic64_read(&calls->between);
}

static void calls_print(const char *name, struct calls *calls)
{
	pr_err("%s: %lld calls while switched on, %lld while off, %lld in between\n", name,
	       (s64)atomic64_read(&calls->on), (s64)atomic64_read(&calls->off),
	       (s64)atomic64_read(&calls->between));
}

/*
 * Functions without a resident probe: a temporary one may be the first to come
 * and the last to leave. Like the other targets, they are called all the time.
 */
static noinline __noclone u32 kprobes_lonely_traced(u32 x)
{
	kprobes_begin(&x);
	return kprobes_expected(x) + 1;
}

static noinline __noclone notrace u32 kprobes_lonely_untraced(u32 x)
{
	kprobes_begin(&x);
	return kprobes_expected(x) + 2;
}

static u32 (*const lonely[])(u32 x) = { kprobes_lonely_traced, kprobes_lonely_untraced };

/* Calls of each function in kprobes_entries[] */
static struct calls calls[ENTRIES];

static void call_entry(unsigned int entry, u32 x)
{
	unsigned int before = switch_look();

	if (kprobes_entries[entry].call(x) != kprobes_expected(x))
		atomic64_inc(&wrong_results);
	calls_count(&calls[entry], before);
}

static void call_lonely(u32 x)
{
	if (kprobes_lonely_traced(x) != kprobes_expected(x) + 1 ||
	    kprobes_lonely_untraced(x) != kprobes_expected(x) + 2)
		atomic64_inc(&wrong_results);
}

/*
 * A function that tasks sleep in, on several levels, while probes come and go. It is
 * entered between switch_look(), which has said @before, and calls_count().
 */
static struct calls sleeps;

static noinline __noclone u32 kprobes_sleeps(u32 depth, u32 us, unsigned int before)
{
	u32 below = 0;

	calls_count(&sleeps, before);
	if (depth)
		below = kprobes_sleeps(depth - 1, us, switch_look());
	else
		usleep_range(us, us + 100);
	return kprobes_one_more(below);
}

#endif /* _KPROBES_TESTS_STRESS_H */
