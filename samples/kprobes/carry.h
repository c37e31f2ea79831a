/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SAMPLES_KPROBES_CARRY_H
#define _SAMPLES_KPROBES_CARRY_H
/*
 * What the pre handler of a hit leaves for its post handler. Memory of the CPU will not do:
 * the task may be preempted in between, others may be hit on this CPU meanwhile, and the task
 * may continue on another CPU. So it is found by the task, and by the context level, because
 * an interrupt on top of the instruction has the same task.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/types.h>

/* There are as many hits under way at a time at the most, or almost. */
#define CARRIED		64

static struct carried {
	struct task_struct *task;	/* only compared; NULL if this is free, or CARRY_BUSY */
	unsigned int level;
	u64 data;
} carried[CARRIED];

/* Somebody is reading or writing it. There is no lock: a hit can come in an NMI. */
#define CARRY_BUSY	((struct task_struct *)1)

static bool carry_claim(struct carried *c, struct task_struct *task)
{
	return task != CARRY_BUSY && cmpxchg(&c->task, task, CARRY_BUSY) == task;
}

static void carry_release(struct carried *c, struct task_struct *task)
{
	/* Pairs with the cmpxchg() of who claims it next. */
	smp_store_release(&c->task, task);
}

static struct carried *carry_find(struct task_struct *task, unsigned int level)
{
	struct carried *c;

	for (c = carried; c < carried + CARRIED; c++) {
		if (READ_ONCE(c->task) != task || !carry_claim(c, task))
			continue;
		if (!task || c->level == level)
			return c;
		carry_release(c, task);
	}
	return NULL;
}

static struct carried *carry_overwrite(void)
{
	static atomic_t victim;
	struct carried *c = &carried[(unsigned int)atomic_inc_return(&victim) % CARRIED];

	return carry_claim(c, READ_ONCE(c->task)) ? c : NULL;
}

/*
 * For the pre handler. If the instruction faults and is tried again, this is called again.
 * If it never completes, because a fixup continues elsewhere, what was left stays. When
 * nothing is free, some of that is overwritten.
 */
static void carry_leave(u64 data)
{
	unsigned int level = kprobe_level();
	struct carried *c;

	c = carry_find(current, level) ?: carry_find(NULL, 0) ?: carry_overwrite();
	if (!c)
		return;
	c->level = level;
	c->data = data;
	carry_release(c, current);
}

/* For the post handler. Returns false if nothing was left for it. */
static bool carry_take(u64 *data)
{
	struct carried *c = carry_find(current, kprobe_level());

	if (!c)
		return false;
	*data = c->data;
	carry_release(c, NULL);
	return true;
}

#endif /* _SAMPLES_KPROBES_CARRY_H */
