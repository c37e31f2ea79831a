// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holders: what the instances of a return probe refer to. One outlives its
 * return probe for as long as tasks are inside the probed function.
 *
 * How many are, is a count per CPU, because a call may return on another CPU
 * than it was made on. The parts say nothing by themselves; but when the probe
 * has gone nobody enters any more, so that a sum which comes out as zero was
 * zero.
 */
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "kretprobe.h"

/* For tasks without a return stack, or whose stack is full. */
#define RESERVE		(2 * num_possible_cpus() + 64)

static LIST_HEAD(left_holders);
static DEFINE_MUTEX(left_mutex);

static void reap_holders(struct work_struct *work);
static DECLARE_WORK(reap_work, reap_holders);

static bool uses_stacks(struct kretprobe_holder *rph)
{
	return rph->size < KRETPROBE_STACK_SIZE;
}

static void free_holder(struct kretprobe_holder *rph)
{
	objpool_free(&rph->pool);
	free_percpu(rph->inside);
	kfree(rph);
}

static struct kretprobe_holder *alloc_holder(int num, size_t size)
{
	struct kretprobe_holder *rph = kzalloc(sizeof(*rph), GFP_KERNEL);

	if (!rph)
		return NULL;
	rph->inside = alloc_percpu(unsigned long);
	if (!rph->inside ||
	    objpool_init(&rph->pool, num, size, GFP_KERNEL, NULL, NULL, NULL)) {
		free_percpu(rph->inside);
		kfree(rph);
		return NULL;
	}
	return rph;
}

/* The handler of a return probe that has none. */
int kretprobe_no_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_no_handler);

/* And of one that has gone: what was the last call inside may just have ended. */
int kretprobe_left_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kretprobe_reap_holders();
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_left_handler);

int kretprobe_pool_create(struct kretprobe *rp)
{
	size_t size = ALIGN(struct_size_t(struct kretprobe_instance, data,
					  rp->data_size), sizeof(u64));
	bool capped = rp->maxactive > 0;
	struct kretprobe_holder *rph;
	int err = 0;

	rph = alloc_holder(capped ? rp->maxactive : RESERVE, size);
	if (!rph)
		return -ENOMEM;
	/* What is larger than a return stack is never taken from one. */
	rph->size = capped || rp->data_size > KRETPROBE_STACK_DATA ?
		    KRETPROBE_STACK_SIZE : size;
	if (uses_stacks(rph))
		err = kretprobe_stacks_get();
	if (err) {
		free_holder(rph);
		return err;
	}
	rph->handler = rp->handler ?: kretprobe_no_handler;
	rcu_assign_pointer(rph->rp, rp);
	rp->rph = rph;
	return 0;
}

/*
 * No return is reported after the handlers have been waited for. Until then they
 * can ask whose instance they were given.
 */
void kretprobe_pool_stop(struct kretprobe *rp)
{
	WRITE_ONCE(rp->rph->handler, kretprobe_no_handler);
}

/* After the handlers have been waited for: nobody takes an instance any more. */
void kretprobe_pool_release(struct kretprobe *rp)
{
	struct kretprobe_holder *rph = rp->rph;

	rp->rph = NULL;
	if (uses_stacks(rph))
		kretprobe_stacks_put();
	RCU_INIT_POINTER(rph->rp, NULL);
	WRITE_ONCE(rph->handler, kretprobe_left_handler);
	mutex_lock(&left_mutex);
	list_add_tail(&rph->leaving, &left_holders);
	mutex_unlock(&left_mutex);
	schedule_work(&reap_work);
}

static bool anybody_inside(struct kretprobe_holder *rph)
{
	unsigned int inside = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		inside += READ_ONCE(*per_cpu_ptr(rph->inside, cpu));
	return inside != (unsigned int)atomic_read(&rph->dropped);
}

/*
 * The first grace period is for calls that ended without seeing that they should
 * have this done, the second for those who unwind a task by its instances.
 */
static void reap_holders(struct work_struct *work)
{
	struct kretprobe_holder *rph, *next;
	LIST_HEAD(empty);

	synchronize_rcu();
	mutex_lock(&left_mutex);
	list_for_each_entry_safe(rph, next, &left_holders, leaving) {
		if (!anybody_inside(rph))
			list_move(&rph->leaving, &empty);
	}
	mutex_unlock(&left_mutex);
	if (list_empty(&empty))
		return;
	synchronize_rcu();
	list_for_each_entry_safe(rph, next, &empty, leaving)
		free_holder(rph);
}

static void queue_reaping(struct irq_work *work)
{
	schedule_work(&reap_work);
}

static DEFINE_IRQ_WORK(reap_irq_work, queue_reaping);

/**
 * kretprobe_reap_holders() - a call ended whose return probe has gone
 *
 * Context: any, the scheduler's locks held and NMI included.
 */
void kretprobe_reap_holders(void)
{
	irq_work_queue(&reap_irq_work);
}

NOKPROBE_SYMBOL(kretprobe_reap_holders);

/* Whether holders of return probes that have gone are still around: for tests. */
bool kretprobe_holders_left(void)
{
	guard(mutex)(&left_mutex);
	return !list_empty(&left_holders);
}
