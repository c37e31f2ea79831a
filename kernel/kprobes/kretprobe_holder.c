// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holders: what the instances of a return probe refer to. A holder outlives its return
 * probe for as long as tasks are inside the probed function.
 *
 * With a cap, the calls under way are counted. Without, their number is the sum of one count per
 * CPU, which takes no atomic operation. A single count says nothing, and may even be negative,
 * because a call may return on another CPU than it was made on. While calls are being made, the sum
 * says nothing either, because it is read CPU by CPU. But after the return probe was unregistered no
 * call is added, and a sum of zero is final.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "kretprobe.h"

/* Instances in the reserve without a cap, for calls that get none from a return stack */
#define RESERVE		(2 * num_possible_cpus() + 64)

/* Holders of unregistered return probes, to be freed when no call is inside any more */
static LLIST_HEAD(left_holders);

static void reap_holders(struct work_struct *work);
static DECLARE_WORK(reap_work, reap_holders);

static void free_holder(struct kretprobe_holder *rph)
{
	kvfree(rph->reserve);
	free_percpu(rph->inside);
	kfree(rph);
}

/* With a cap, there is an instance for each call up to that, whatever is on return stacks. */
static void size_holder(struct kretprobe_holder *rph, const struct kretprobe *rp)
{
	rph->size = ALIGN(struct_size_t(struct kretprobe_instance, data, rp->data_size),
			  sizeof(u64));
	rph->cap = max(rp->maxactive, 0);
	rph->num_reserve = rph->cap ?: RESERVE;
	rph->plain_size = !rph->cap && kretprobe_uses_stacks(rph) ? rph->size : KRETPROBE_NO_FIT;
}

/*
 * What tells which instances of the reserve are in use is behind them. So no instance ends where
 * another allocation begins, which might be a return stack.
 */
static bool alloc_reserve(struct kretprobe_holder *rph)
{
	size_t size = size_mul(rph->num_reserve, rph->size);

	rph->reserve = kvzalloc(size_add(size, BITS_TO_LONGS(rph->num_reserve) * sizeof(long)),
				GFP_KERNEL | __GFP_NOWARN);
	rph->taken = rph->reserve + size;
	return rph->reserve;
}

/* The call may have been the last one inside. */
static int left_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kretprobe_call_left();
	return 0;
}

NOKPROBE_SYMBOL(left_handler);

/*
 * Who is told of returns in place of a return probe that must not be called any more, or was
 * unregistered. Others may run on top of what they do.
 */
struct kretprobe kretprobe_stopped = {
	.kp.flags = KPROBE_FLAG_NESTS,
};

struct kretprobe kretprobe_left = {
	.kp.flags = KPROBE_FLAG_NESTS,
	.handler = left_handler,
};

/**
 * kretprobe_holder_create() - create the holder of a return probe
 * @rp: the return probe
 *
 * Context: may sleep.
 * Return: the holder, or an ERR_PTR().
 */
void *kretprobe_holder_create(struct kretprobe *rp)
{
	struct kretprobe_holder *rph = kzalloc(sizeof(*rph), GFP_KERNEL);

	if (!rph)
		return ERR_PTR(-ENOMEM);
	size_holder(rph, rp);
	rph->inside = alloc_percpu(unsigned long);
	if (!rph->inside || !alloc_reserve(rph)) {
		free_holder(rph);
		return ERR_PTR(-ENOMEM);
	}
	if (kretprobe_uses_stacks(rph))
		kretprobe_stacks_get(rph->size);
	return rph;
}

/**
 * kretprobe_holder_attach() - give a return probe its holder
 * @rp: the return probe, not hit yet
 * @holder: from kretprobe_holder_create()
 *
 * Context: kprobe_mutex is held.
 */
void kretprobe_holder_attach(struct kretprobe *rp, void *holder)
{
	struct kretprobe_holder *rph = holder;

	if (rph->cap && kretprobe_uses_stacks(rph))
		rp->kp.pre_handler = kretprobe_entry_capped;
	rph->told = rp;
	rcu_assign_pointer(rph->rp, rp);
	rp->rph = rph;
}

/**
 * kretprobe_holder_drop() - free a holder that no return probe was given
 * @holder: from kretprobe_holder_create()
 *
 * Context: may sleep.
 */
void kretprobe_holder_drop(void *holder)
{
	struct kretprobe_holder *rph = holder;

	if (kretprobe_uses_stacks(rph))
		kretprobe_stacks_put(rph->size);
	free_holder(rph);
}

/**
 * kretprobe_holder_stop() - stop reporting returns
 * @rp: the return probe
 * @stopped: its holder is added to this
 *
 * Handlers that are running can still use get_kretprobe(): the caller has to wait for
 * them.
 *
 * Context: kprobe_mutex is held.
 */
void kretprobe_holder_stop(struct kretprobe *rp, struct llist_head *stopped)
{
	WRITE_ONCE(rp->rph->told, &kretprobe_stopped);
	llist_add(&rp->rph->leaving, stopped);
}

/**
 * kretprobe_holders_release() - release the holders of return probes
 * @stopped: from kretprobe_holder_stop(). Handlers have been waited for, so no more instances are
 *	     taken
 *
 * Context: does not sleep.
 */
void kretprobe_holders_release(struct llist_head *stopped)
{
	struct llist_node *node = llist_del_all(stopped);
	struct kretprobe_holder *rph, *next;

	if (!node)
		return;
	llist_for_each_entry_safe(rph, next, node, leaving) {
		if (kretprobe_uses_stacks(rph))
			kretprobe_stacks_put(rph->size);
		rcu_dereference_protected(rph->rp, true)->rph = NULL;
		RCU_INIT_POINTER(rph->rp, NULL);
		WRITE_ONCE(rph->told, &kretprobe_left);
		llist_add(&rph->leaving, &left_holders);
	}
	schedule_work(&reap_work);
}

static bool anybody_inside(struct kretprobe_holder *rph)
{
	unsigned int inside = atomic_read(&rph->calls);
	int cpu;

	for_each_possible_cpu(cpu)
		inside += READ_ONCE(*per_cpu_ptr(rph->inside, cpu));
	return inside;
}

/*
 * Frees return stacks that are empty, and the holders that no call is inside of. The first grace
 * period is for calls that were ending when the handler was replaced, and so do not queue this
 * again, and for unwinders that are looking at stacks. The second is for unwinders that are looking
 * at instances.
 */
static void reap_holders(struct work_struct *work)
{
	struct llist_node *stacks = kretprobe_stacks_emptied();
	struct llist_node *holders = llist_del_all(&left_holders);
	struct kretprobe_holder *rph, *next;
	LLIST_HEAD(empty);

	synchronize_rcu();
	kretprobe_stacks_free(stacks);
	llist_for_each_entry_safe(rph, next, holders, leaving)
		llist_add(&rph->leaving, anybody_inside(rph) ? &left_holders : &empty);
	if (llist_empty(&empty))
		return;
	synchronize_rcu();
	llist_for_each_entry_safe(rph, next, empty.first, leaving)
		free_holder(rph);
}

static void queue_reaping(struct irq_work *work)
{
	schedule_work(&reap_work);
}

static DEFINE_IRQ_WORK(reap_irq_work, queue_reaping);

/**
 * kretprobe_reap_holders() - have holders freed that no call is inside of, and empty return stacks
 *
 * Context: any, also with the scheduler's locks held or in an NMI.
 */
void kretprobe_reap_holders(void)
{
	irq_work_queue(&reap_irq_work);
}

NOKPROBE_SYMBOL(kretprobe_reap_holders);

/**
 * kretprobe_call_left() - do what is due when a call ends whose return probe was unregistered
 *
 * Context: the end of a call of the current task, before its instance is given back.
 */
void kretprobe_call_left(void)
{
	kretprobe_stack_leave();
	kretprobe_reap_holders();
}

NOKPROBE_SYMBOL(kretprobe_call_left);

/**
 * kretprobe_holders_left() - check for holders of unregistered return probes
 *
 * For tests.
 *
 * Context: may sleep.
 * Return: true if there are any.
 */
bool kretprobe_holders_left(void)
{
	flush_work(&reap_work);
	return !llist_empty(&left_holders);
}
