// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes for architectures that divert a return by themselves: the calls
 * under way are on a list of the task, innermost first. Only the task itself
 * changes the list while it lives.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/objpool.h>
#include <linux/panic.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

static struct kretprobe_instance *instance_of(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

NOKPROBE_SYMBOL(instance_of);

/* The pre handler of every return probe. */
int kretprobe_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(kp, struct kretprobe, kp);
	struct objpool_head *pool = &rp->rph->pool;
	struct kretprobe_instance *ri = objpool_pop(pool);

	if (!ri) {
		raw_atomic_inc((atomic_t *)&rp->nmissed);
		return 0;
	}
	if (rp->entry_handler && rp->entry_handler(ri, regs)) {
		objpool_push(ri, pool);
		return 0;
	}
	arch_prepare_kretprobe(ri, regs);
	__llist_add(&ri->llist, &current->kretprobe_instances);
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_entry);

static void drop_instance(struct rcu_head *rcu)
{
	struct kretprobe_instance *ri = container_of(rcu, struct kretprobe_instance, rcu);

	objpool_drop(ri, &ri->rph->pool);
}

NOKPROBE_SYMBOL(drop_instance);

/* After the return probe left, the last instance that comes back frees the pool. */
static void put_instance(struct kretprobe_instance *ri)
{
	if (get_kretprobe(ri))
		objpool_push(ri, &ri->rph->pool);
	else
		call_rcu(&ri->rcu, drop_instance);
}

NOKPROBE_SYMBOL(put_instance);

static void put_instances(struct llist_node *node)
{
	while (node) {
		struct llist_node *next = node->next;

		put_instance(instance_of(node));
		node = next;
	}
}

NOKPROBE_SYMBOL(put_instances);

/**
 * kprobe_flush_task() - give back the instances of a task that is no more
 * @tsk: will not run again: the calls it was in never return
 *
 * Context: any; called when the last reference to @tsk is put.
 */
void kprobe_flush_task(struct task_struct *tsk)
{
	kprobe_busy_begin();
	put_instances(__llist_del_all(&tsk->kretprobe_instances));
	kprobe_busy_end();
}

NOKPROBE_SYMBOL(kprobe_flush_task);

/*
 * Several return probes on one call make a row of instances: all but the last,
 * which was there first, hold the trampoline as their return address.
 */
static struct llist_node *last_of_row(struct llist_node *node)
{
	while (node && instance_of(node)->ret_addr == kretprobe_trampoline_addr())
		node = node->next;
	return node;
}

NOKPROBE_SYMBOL(last_of_row);

/**
 * kretprobe_find_ret_addr() - the address a diverted return goes to
 * @tsk: current, or a task that does not run
 * @fp: what the architecture recorded of the frame
 * @cur: NULL before the first call for a trace, then left alone by the caller
 *
 * For unwinders, which meet the frames from the innermost on.
 *
 * Context: any.
 * Return: the address, or 0 when no more frame of @tsk matches.
 */
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur)
{
	struct llist_node *node;

	if (WARN_ON_ONCE(!cur))
		return 0;
	node = *cur ? (*cur)->next : tsk->kretprobe_instances.first;
	for (node = last_of_row(node); node; node = last_of_row(node->next)) {
		*cur = node;
		if (instance_of(node)->fp == fp)
			return (unsigned long)instance_of(node)->ret_addr;
	}
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_find_ret_addr);

void __weak arch_kretprobe_fixup_return(struct pt_regs *regs,
					kprobe_opcode_t *correct_ret_addr)
{
}

static void run_handler(struct kretprobe_instance *ri, struct pt_regs *regs,
			kprobe_opcode_t *ret_addr)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct kprobe *outer = kprobe_running();

	if (!rp || !rp->handler)
		return;
	__this_cpu_write(current_kprobe, &rp->kp);
	ri->ret_addr = ret_addr;
	rp->handler(ri, regs);
	__this_cpu_write(current_kprobe, outer);
}

NOKPROBE_SYMBOL(run_handler);

/**
 * __kretprobe_trampoline_handler() - a diverted return was taken
 * @regs: registers at the return
 * @frame_pointer: what arch_prepare_kretprobe() recorded of this frame
 *
 * Context: preemption off, inside a handler's frame already.
 * Return: the address to go on at.
 */
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer)
{
	struct llist_node *first = current->kretprobe_instances.first;
	struct llist_node *node, *last = last_of_row(first);
	kprobe_opcode_t *ret_addr;

	if (!last)
		panic("kprobes: a diverted return has no record of where it goes\n");
	ret_addr = instance_of(last)->ret_addr;

	/* A stack trace that starts from the registers is to start there. */
	instruction_pointer_set(regs, (unsigned long)ret_addr);
	for (node = first; node != last->next; node = node->next) {
		if (WARN_ON_ONCE(instance_of(node)->fp != frame_pointer))
			break;
		run_handler(instance_of(node), regs, ret_addr);
	}
	arch_kretprobe_fixup_return(regs, ret_addr);

	current->kretprobe_instances.first = last->next;
	last->next = NULL;
	put_instances(first);
	return (unsigned long)ret_addr;
}

NOKPROBE_SYMBOL(__kretprobe_trampoline_handler)

/**
 * kretprobe_trampoline_handler() - the same, from a trampoline that is no probe
 * @regs: registers at the return
 * @frame_pointer: what arch_prepare_kretprobe() recorded of this frame
 *
 * Context: any in which a function returns.
 * Return: the address to go on at.
 */
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer)
{
	unsigned long addr;

	kprobe_busy_begin();
	addr = __kretprobe_trampoline_handler(regs, frame_pointer);
	kprobe_busy_end();
	return addr;
}

NOKPROBE_SYMBOL(kretprobe_trampoline_handler);

static int init_instance(void *obj, void *holder)
{
	struct kretprobe_instance *ri = obj;

	ri->rph = holder;
	return 0;
}

static int free_holder(struct objpool_head *pool, void *holder)
{
	kfree(holder);
	return 0;
}

int kretprobe_pool_create(struct kretprobe *rp)
{
	struct kretprobe_holder *rph = kzalloc(sizeof(*rph), GFP_KERNEL);
	size_t size = struct_size_t(struct kretprobe_instance, data, rp->data_size);

	if (!rph)
		return -ENOMEM;
	if (objpool_init(&rph->pool, rp->maxactive, size, GFP_KERNEL, rph,
			 init_instance, free_holder)) {
		kfree(rph);
		return -ENOMEM;
	}
	rcu_assign_pointer(rph->rp, rp);
	rp->rph = rph;
	return 0;
}

/* No return is reported after the next grace period. */
void kretprobe_pool_stop(struct kretprobe *rp)
{
	rcu_assign_pointer(rp->rph->rp, NULL);
}

/* What is still out is dropped, not put back, when its call returns. */
void kretprobe_pool_release(struct kretprobe *rp)
{
	struct kretprobe_holder *rph = rp->rph;

	rp->rph = NULL;
	objpool_fini(&rph->pool);
}
