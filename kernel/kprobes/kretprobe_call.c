// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls that return probes follow, from their entry until they end, for architectures that
 * divert returns by themselves. Their memory is from kretprobe_stack.c; kretprobe_return.c has the
 * way back.
 *
 * Each task has a list of its calls under way, as instances, innermost first. While the task lives,
 * the list is only changed by the task, and by interrupts on top of it, which remove what they have
 * added before they end.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/sched/task_stack.h>

#include "internal.h"
#include "kretprobe.h"

/*
 * Raises the return stack's top before anything is written there, so that an interrupt or
 * NMI takes its own instances from above. Returns false if there is no room.
 */
static __always_inline bool take_from_stack(unsigned int size, struct kretprobe_instance **ri)
{
	unsigned long top = current->kretprobe_top;
	unsigned long next = top + size;

	if (unlikely(next > current->kretprobe_end))
		return false;
	WRITE_ONCE(current->kretprobe_top, next);
	barrier();
	*ri = (void *)top;
	return true;
}

/* Nothing in here is a call, which could be probed. */
static struct kretprobe_instance __kprobes *take_from_reserve(struct kretprobe_holder *rph)
{
	unsigned long taken, i;

	for (i = 0; i < rph->num_reserve; i++) {
		taken = READ_ONCE(rph->taken[BIT_WORD(i)]);
		if (taken == ~0UL)
			i |= BITS_PER_LONG - 1;
		else if (!(taken & BIT_MASK(i)) && !test_and_set_bit_lock(i, rph->taken))
			return rph->reserve + i * rph->size;
	}
	return NULL;
}

/*
 * Gives an instance back to where it came from. The stacks that the task has left become empty in
 * the order in which they were left, the last one first; the last instance on one frees it.
 */
static void __kprobes put_instance(struct task_struct *tsk, struct kretprobe_instance *ri)
{
	/* Both are read first: what compares two values in one go, like arm64, can do so then. */
	unsigned long start = tsk->kretprobe_start, end = tsk->kretprobe_end;
	unsigned long at = (unsigned long)ri;
	struct kretprobe_holder *rph;
	struct kretprobe_stack *stack;

	/* Without a stack, start and end are the same. */
	if (at >= start && at < end) {
		WRITE_ONCE(tsk->kretprobe_top, at);
		return;
	}
	llist_for_each_entry(stack, tsk->kretprobe_left.first, node) {
		if (at < stack->start || at >= (unsigned long)stack)
			continue;
		if (at == stack->start) {
			tsk->kretprobe_left.first = stack->node.next;
			kretprobe_stack_empty(stack);
		}
		return;
	}
	rph = ri->rph;
	clear_bit_unlock((at - (unsigned long)rph->reserve) / rph->size, rph->taken);
}

/*
 * Gives an instance back that is not on the current task's list, and takes its call off the count.
 * Preemption is off.
 */
void __kprobes kretprobe_call_ended(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *rph = ri->rph;

	put_instance(current, ri);
	kretprobe_uncount(rph);
}

/*
 * Gives up calls that will never return, of the current task, or of one that does not run. @last is
 * the innermost that still will; NULL if none will. Preemption is off.
 */
void __kprobes kretprobe_drop_calls(struct task_struct *tsk, struct llist_node *last)
{
	struct kretprobe_holder *rph;
	struct llist_node *node;

	while ((node = tsk->kretprobe_instances.first) != last) {
		rph = kretprobe_instance_of(node)->rph;
		tsk->kretprobe_instances.first = node->next;
		barrier();
		/* Was it unregistered? RCU's checks can be probed, so this goes without. */
		if (!rcu_dereference_raw(rph->rp))
			kretprobe_orphan_ended(tsk);
		put_instance(tsk, kretprobe_instance_of(node));
		/*
		 * Off @calls, also without a cap. Plain per-CPU operations change @inside, so an
		 * interrupt in the middle of one must leave it as it was. A call that the interrupt
		 * makes and returns from does so; dropping another's, as a softirq does those of a
		 * dead task, does not.
		 */
		atomic_dec(&rph->calls);
	}
}

/*
 * Checks whether an earlier call, whose frame is that of the present one, was made from the same
 * place. Then it is over. A slot has one return address at a time. Without slots, a function may
 * call another before it has made a frame, so that both calls have the same one; but they do not
 * return to the same place.
 */
static bool __kprobes same_place(struct llist_node *node, unsigned long ret_addr)
{
	/* This may be a tail call, of a function that was followed, and is to return to that. */
	if (kretprobe_is_diverted(ret_addr))
		return false;
	if (ARCH_KRETPROBE_FRAME_IS_SLOT)
		return true;
	node = kretprobe_last_of_call(node);
	return node && (unsigned long)kretprobe_instance_of(node)->ret_addr == ret_addr;
}

/*
 * Drops calls that are over. As the stack grows down, these are the calls that were made
 * from below the frame that makes one now, or from the same place. This only holds for frames
 * on the task's own stack; those on others cannot be compared with it.
 */
static void __kprobes drop_stale(struct pt_regs *regs)
{
	struct llist_node *node = current->kretprobe_instances.first;
	void *frame = arch_kretprobe_frame(regs), *other;
	unsigned long ret_addr;

	/*
	 * An interrupt may be on top of an entry whose instance is not on the list yet. In its
	 * first and last steps, where the level does not show it, interrupts are masked.
	 */
	if (arch_kprobe_level() || arch_kretprobe_irqs_off(regs) || !object_is_on_stack(frame))
		return;
	ret_addr = arch_kretprobe_ret_addr(regs, frame);
	for (; node; node = node->next) {
		other = kretprobe_instance_of(node)->fp;
		if (!object_is_on_stack(other) || other > frame ||
		    (other == frame && !same_place(node, ret_addr)))
			break;
	}
	kretprobe_drop_calls(current, node);
}

/*
 * Counts a call, and takes an instance for it: from the reserve if the return stack is full or is
 * not to be used. Returns NULL if there is none, or the cap is reached. Calls that are over do not
 * count for that.
 */
static struct kretprobe_instance __kprobes *take_instance(struct kretprobe_holder *rph,
							  struct pt_regs *regs)
{
	bool fits = kretprobe_uses_stacks(rph);
	struct kretprobe_instance *ri;

	if (rph->cap) {
		drop_stale(regs);
		if (!atomic_add_unless(&rph->calls, 1, rph->cap))
			return NULL;
	} else {
		raw_cpu_inc(*rph->inside);
	}
	if (fits && take_from_stack(rph->size, &ri))
		return ri;
	drop_stale(regs);
	if (fits && take_from_stack(rph->size, &ri))
		return ri;
	ri = take_from_reserve(rph);
	if (!ri)
		kretprobe_uncount(rph);
	return ri;
}

/*
 * Adds a call to the list. An NMI may unwind this task at any point. So the instance is
 * complete before it is on the list, and on the list before the return is diverted.
 */
static __always_inline void follow_call(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	void *frame = arch_kretprobe_frame(regs);

	kretprobe_record(ri, regs, frame);
	ri->llist.next = current->kretprobe_instances.first;
	barrier();
	current->kretprobe_instances.first = &ri->llist;
	barrier();
	arch_kretprobe_divert(regs, frame, (unsigned long)kretprobe_trampoline_addr());
}

/*
 * Out of line, because the calls in here would make the compiler save registers that the
 * fast path of an entry does not use.
 */
static noinline int __kprobes kretprobe_entry_slow(struct kretprobe *rp, struct pt_regs *regs)
{
	struct kretprobe_instance *ri = take_instance(rp->rph, regs);
	kretprobe_handler_t entry_handler = READ_ONCE(rp->entry_handler);
	void *frame = arch_kretprobe_frame(regs);
	unsigned long addr;

	if (!ri) {
		kretprobe_count_miss(rp, KPROBE_MISS_POOL);
		return 0;
	}
	ri->rph = rp->rph;
	if (entry_handler) {
		/*
		 * It may ask for the return address already, and is not to see what another return
		 * probe has left in the memory.
		 */
		addr = arch_kretprobe_ret_addr(regs, frame);
		if (kretprobe_is_diverted(addr))
			addr = kretprobe_caller(addr, frame, NULL, NULL);
		ri->ret_addr = (kprobe_opcode_t *)addr;
		memset(ri->data, 0, rp->data_size);
		if (entry_handler(ri, regs)) {
			kretprobe_call_ended(ri);
			return 0;
		}
	}
	follow_call(ri, regs);
	return 0;
}

/* The innermost call may be over if it was not made from a frame above the present one. */
static __always_inline bool may_be_over(struct pt_regs *regs)
{
	struct kretprobe_instance *ri = kretprobe_instance_of(current->kretprobe_instances.first);

	return ri && ri->fp <= arch_kretprobe_frame(regs);
}

/* The pre handler of return probes */
int __kprobes kretprobe_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct kretprobe *rp = kretprobe_of(kp);
	struct kretprobe_holder *rph = rp->rph;
	struct kretprobe_instance *ri;

	if (likely(rph->simple))
		raw_cpu_inc(*rph->inside);
	else if (rp->entry_handler || !rph->cap || !kretprobe_uses_stacks(rph) ||
		 may_be_over(regs) || !atomic_add_unless(&rph->calls, 1, rph->cap))
		return kretprobe_entry_slow(rp, regs);
	if (unlikely(!take_from_stack(rph->size, &ri))) {
		kretprobe_uncount(rph);
		return kretprobe_entry_slow(rp, regs);
	}
	ri->rph = rph;
	follow_call(ri, regs);
	return 0;
}

/**
 * kretprobe_reset_task() - give back the instances of a task whose calls never return
 * @tsk: does not run
 *
 * Context: any.
 */
void kretprobe_reset_task(struct task_struct *tsk)
{
	struct kretprobe_stack *stack, *next;

	scoped_guard(preempt_notrace)
		kretprobe_drop_calls(tsk, NULL);
	/* What is left is that of handlers that have not come to their end. */
	llist_for_each_entry_safe(stack, next, __llist_del_all(&tsk->kretprobe_left), node)
		kretprobe_stack_empty(stack);
	/* An empty stack is left alone: it may be taken away at the same time. */
	if (kretprobe_stack_in_use(tsk))
		WRITE_ONCE(tsk->kretprobe_top, tsk->kretprobe_start);
}

/**
 * kprobe_flush_task() - give back the instances and the return stack of a dead task
 * @tsk: left the list of tasks a grace period ago; those that hold a reference may look at it
 *
 * Context: any.
 */
void kprobe_flush_task(struct task_struct *tsk)
{
	kretprobe_reset_task(tsk);
	kretprobe_stack_free(tsk);
}
