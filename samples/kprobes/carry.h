/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SAMPLES_KPROBES_CARRY_H
#define _SAMPLES_KPROBES_CARRY_H
/*
 * What the pre handler of a hit leaves for its post handler. Memory of the CPU will not do:
 * the task may be preempted in between, others may be hit on this CPU meanwhile, and the task
 * may continue on another CPU. So it is found by the task, and by the context level, because
 * an interrupt on top of the instruction has the same task.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* There are as many hits under way at a time at the most, or almost. */
#define CARRIED		64

static struct carried {
	struct task_struct *task;	/* only compared; NULL if this is free */
	unsigned int level;
	u64 data;
} carried[CARRIED];

/*
 * The probe is registered without KPROBE_FLAG_NESTS. So no handler of it interrupts another
 * one that holds the lock, and interrupts need not be disabled.
 */
static DEFINE_RAW_SPINLOCK(carry_lock);

static struct carried *carry_find(struct task_struct *task, unsigned int level)
{
	unsigned int i;

	for (i = 0; i < CARRIED; i++) {
		if (carried[i].task == task && carried[i].level == level)
			return &carried[i];
	}
	return NULL;
}

/*
 * For the pre handler. If the instruction faults and is tried again, this is called again.
 * If it never completes, because a fixup continues elsewhere, what was left stays. When
 * nothing is free, some of that is overwritten.
 */
static void carry_leave(u64 data)
{
	unsigned int level = kprobe_level();
	static unsigned int victim;
	struct carried *c;

	raw_spin_lock(&carry_lock);
	c = carry_find(current, level) ?: carry_find(NULL, 0) ?: &carried[victim++ % CARRIED];
	*c = (struct carried){ .task = current, .level = level, .data = data };
	raw_spin_unlock(&carry_lock);
}

/* For the post handler. Returns false if nothing was left for it. */
static bool carry_take(u64 *data)
{
	struct carried *c;

	raw_spin_lock(&carry_lock);
	c = carry_find(current, kprobe_level());
	if (c) {
		*data = c->data;
		*c = (struct carried){};
	}
	raw_spin_unlock(&carry_lock);
	return c;
}

#endif /* _SAMPLES_KPROBES_CARRY_H */
