// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes for architectures that divert returns by themselves. Each task has a list
 * of its calls under way, innermost first. While the task lives, the list is only changed
 * by the task, and by interrupts on top of it, which remove what they have added before
 * they end.
 *
 * The list is made of instances. They come from the task's return stack (see
 * kretprobe_stack.c), or from the reserve of the return probe.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/panic.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "kretprobe.h"

/* NULL becomes NULL, because the list node comes first. */
static __always_inline struct kretprobe_instance *instance_of(struct llist_node *node)
{
	BUILD_BUG_ON(offsetof(struct kretprobe_instance, llist));
	return container_of(node, struct kretprobe_instance, llist);
}

/*
 * Is it the trampoline of rethook, which fprobe diverts returns to? Its own function for that may
 * be called out of line, and be probed then.
 */
static __always_inline bool is_rethook_addr(unsigned long addr)
{
	return IS_ENABLED(CONFIG_RETHOOK) &&
	       addr == (unsigned long)
		       dereference_kernel_function_descriptor(arch_rethook_trampoline);
}

static __always_inline bool is_graph_addr(unsigned long addr)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	return addr == (unsigned long)dereference_kernel_function_descriptor(return_to_handler);
#else
	return false;
#endif
}

/* NULL if the return probe was unregistered. Goes without RCU's checks, which can be probed. */
static __always_inline struct kretprobe *user_of(struct kretprobe_holder *rph)
{
	return rcu_dereference_raw(rph->rp);
}

/* Counts a call that is made, unless there are as many under way as the cap allows. */
static __always_inline bool count_below_cap(struct kretprobe_holder *rph)
{
	int calls = atomic_read(&rph->calls);

	do {
		if (unlikely(calls >= rph->cap))
			return false;
	} while (unlikely(!atomic_try_cmpxchg(&rph->calls, &calls, calls + 1)));
	return true;
}

static bool count_call(struct kretprobe_holder *rph)
{
	if (rph->cap)
		return count_below_cap(rph);
	raw_cpu_inc(*rph->inside);
	return true;
}

NOKPROBE_SYMBOL(count_call);

/* Undoes that, when the call has returned, or is not followed. */
static void uncount_call(struct kretprobe_holder *rph)
{
	if (rph->cap)
		atomic_dec(&rph->calls);
	else
		raw_cpu_dec(*rph->inside);
}

NOKPROBE_SYMBOL(uncount_call);

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
static struct kretprobe_instance *take_from_reserve(struct kretprobe_holder *rph)
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

NOKPROBE_SYMBOL(take_from_reserve);

static void put_into_reserve(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *rph = ri->rph;

	clear_bit_unlock((unsigned long)((void *)ri - rph->reserve) / rph->size, rph->taken);
}

NOKPROBE_SYMBOL(put_into_reserve);

/* Is an instance from the stack that the task takes from? If it has none, its start is the end. */
static __always_inline bool is_on_stack(struct task_struct *tsk, struct kretprobe_instance *ri)
{
	unsigned long start = tsk->kretprobe_start, end = tsk->kretprobe_end;

	/* Both are read first: what compares two values in one go, like arm64, can do so then. */
	return (unsigned long)ri >= start && (unsigned long)ri < end;
}

/*
 * Gives an instance back to the return stack, if it is the last there: everything above it has been
 * given back before, unless a handler has left calls behind. No other instance ends at the top.
 */
static __always_inline bool put_on_top(struct kretprobe_instance *ri, unsigned int size)
{
	if (unlikely((unsigned long)ri + size != current->kretprobe_top))
		return false;
	WRITE_ONCE(current->kretprobe_top, (unsigned long)ri);
	return true;
}

/*
 * Finds the stack that an instance is on, of those that the task has left. These become empty in
 * the order in which they were left, the last one first.
 */
static struct kretprobe_stack *left_stack(struct task_struct *tsk, struct kretprobe_instance *ri)
{
	struct llist_node *node = tsk->kretprobe_left.first;
	struct kretprobe_stack *stack;

	for (; node; node = node->next) {
		stack = container_of(node, struct kretprobe_stack, node);
		if ((unsigned long)ri >= stack->start && (void *)ri < (void *)stack)
			return stack;
	}
	return NULL;
}

NOKPROBE_SYMBOL(left_stack);

/* Gives an instance back to where it came from. The last one on a stack that was left frees that. */
static void put_instance(struct kretprobe_instance *ri)
{
	struct kretprobe_stack *stack;

	if (is_on_stack(current, ri)) {
		WRITE_ONCE(current->kretprobe_top, (unsigned long)ri);
		return;
	}
	stack = left_stack(current, ri);
	if (!stack) {
		put_into_reserve(ri);
	} else if ((unsigned long)ri == stack->start) {
		current->kretprobe_left.first = stack->node.next;
		kretprobe_stack_empty(stack);
	}
}

NOKPROBE_SYMBOL(put_instance);

/*
 * Takes a call that will not return off the count.
 *
 * Also without a cap, @calls is changed, which is below 0 then, and atomic. @inside is changed by
 * plain per-CPU operations, so an interrupt in the middle of one must leave the counter as it was. A
 * call in the interrupt that returns there does so. What drops the calls of a dead task, in a
 * softirq, would not.
 */
static void uncount_dropped(struct kretprobe_holder *rph)
{
	atomic_dec(&rph->calls);
}

NOKPROBE_SYMBOL(uncount_dropped);

/*
 * Gives up calls of the current task that will never return: those inside of @last, the innermost
 * one that still will, or all if @last is NULL.
 */
static void drop_calls(struct llist_node *last)
{
	struct kretprobe_holder *rph;
	struct llist_node *node, *next;

	for (node = current->kretprobe_instances.first; node != last; node = next) {
		next = node->next;
		rph = instance_of(node)->rph;
		current->kretprobe_instances.first = next;
		barrier();
		if (!user_of(rph))
			kretprobe_call_left();
		put_instance(instance_of(node));
		uncount_dropped(rph);
	}
}

NOKPROBE_SYMBOL(drop_calls);

/*
 * Several return probes on one call make a row of instances. The first one that diverted
 * the return is the last of the row, and has the return address. All others found it
 * diverted already, so they have the trampoline's address.
 */
static __always_inline struct llist_node *last_of_row(struct llist_node *node)
{
	while (node && instance_of(node)->ret_addr == kretprobe_trampoline_addr())
		node = node->next;
	return node;
}

/*
 * Has nobody diverted the return of the call that is made now? If its return address is a
 * trampoline, this may be a tail call, of a function that was followed, and is to return to that.
 */
static bool call_is_fresh(unsigned long ret_addr)
{
	return ret_addr != (unsigned long)kretprobe_trampoline_addr() &&
	       !is_rethook_addr(ret_addr) && !is_graph_addr(ret_addr);
}

NOKPROBE_SYMBOL(call_is_fresh);

/*
 * Was an earlier call, whose frame is on the task's own stack, made from the same place as the
 * present one, which returns to @ret_addr? Then the earlier one is over. A slot has one return
 * address at a time. Without slots, a function may call another before it has made a frame, so that
 * both calls have the same one; but they do not return to the same place.
 */
static bool same_place(struct llist_node *node, unsigned long ret_addr)
{
	if (!call_is_fresh(ret_addr))
		return false;
	if (ARCH_KRETPROBE_FRAME_IS_SLOT)
		return true;
	node = last_of_row(node);
	return node && (unsigned long)instance_of(node)->ret_addr == ret_addr;
}

NOKPROBE_SYMBOL(same_place);

/*
 * Drops calls that are over. As the stack grows down, these are the calls that were made
 * from below the frame that makes one now, or from the same place. This only holds for frames
 * on the task's own stack; those on others cannot be compared with it.
 */
static void drop_stale(struct pt_regs *regs)
{
	struct llist_node *node = current->kretprobe_instances.first;
	void *frame = arch_kretprobe_frame(regs), *other;
	unsigned long ret_addr;

	/* An interrupt may be on top of an entry whose instance is not on the list yet. */
	if (arch_kprobe_level() || !object_is_on_stack(frame))
		return;
	ret_addr = arch_kretprobe_ret_addr(regs, frame);
	for (; node; node = node->next) {
		other = instance_of(node)->fp;
		if (!object_is_on_stack(other) || other > frame ||
		    (other == frame && !same_place(node, ret_addr)))
			break;
	}
	drop_calls(node);
}

NOKPROBE_SYMBOL(drop_stale);

/* Takes an instance: from the reserve if the return stack is full or is not to be used. */
static struct kretprobe_instance *take_instance(struct kretprobe_holder *rph, struct pt_regs *regs)
{
	unsigned int size = kretprobe_uses_stacks(rph) ? rph->size : KRETPROBE_NO_FIT;
	struct kretprobe_instance *ri;

	if (take_from_stack(size, &ri))
		return ri;
	drop_stale(regs);
	return take_from_stack(size, &ri) ? ri : take_from_reserve(rph);
}

NOKPROBE_SYMBOL(take_instance);

/*
 * Calls the entry handler, if there is one, and returns its answer. It may ask for the return
 * address already. What the memory was last used for, by another return probe perhaps, is not for
 * it to see.
 */
static int ask_entry_handler(struct kretprobe *rp, struct kretprobe_instance *ri,
			     struct pt_regs *regs)
{
	kretprobe_handler_t entry_handler = READ_ONCE(rp->entry_handler);
	void *frame = arch_kretprobe_frame(regs);
	unsigned long addr = arch_kretprobe_ret_addr(regs, frame);

	if (!entry_handler)
		return 0;
	if (!call_is_fresh(addr))
		addr = kretprobe_caller(addr, frame, NULL, NULL);
	ri->ret_addr = (kprobe_opcode_t *)addr;
	memset(ri->data, 0, rp->data_size);
	return entry_handler(ri, regs);
}

NOKPROBE_SYMBOL(ask_entry_handler);

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

/* Takes an instance, asks the entry handler, and follows the call. Returns false if it did not. */
static bool ask_and_follow(struct kretprobe *rp, struct pt_regs *regs)
{
	struct kretprobe_instance *ri = take_instance(rp->rph, regs);

	if (!ri) {
		kretprobe_count_miss(rp, KPROBE_MISS_POOL);
		return false;
	}
	ri->rph = rp->rph;
	if (ask_entry_handler(rp, ri, regs)) {
		put_instance(ri);
		return false;
	}
	follow_call(ri, regs);
	return true;
}

NOKPROBE_SYMBOL(ask_and_follow);

/*
 * Out of line, because the calls in here would make the compiler save registers that the
 * fast path of an entry does not use. Calls that are over do not count for a cap.
 */
static noinline int kretprobe_entry_slow(struct kretprobe *rp, struct pt_regs *regs)
{
	struct kretprobe_holder *rph = rp->rph;

	if (rph->cap)
		drop_stale(regs);
	if (!count_call(rph))
		kretprobe_count_miss(rp, KPROBE_MISS_POOL);
	else if (!ask_and_follow(rp, regs))
		uncount_call(rph);
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_entry_slow);

/**
 * kretprobe_entry() - pre handler of return probes
 * @kp: the return probe's kprobe
 * @regs: registers at the entry of the probed function
 *
 * Context: a pre handler.
 * Return: 0.
 */
int kretprobe_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(kp, struct kretprobe, kp);
	struct kretprobe_holder *rph = rp->rph;
	struct kretprobe_instance *ri;

	if (rp->entry_handler || unlikely(!take_from_stack(rph->plain_size, &ri)))
		return kretprobe_entry_slow(rp, regs);
	raw_cpu_inc(*rph->inside);
	ri->rph = rph;
	follow_call(ri, regs);
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_entry);

/**
 * kretprobe_entry_capped() - pre handler of return probes with a cap, and instances on stacks
 * @kp: the return probe's kprobe
 * @regs: registers at the entry of the probed function
 *
 * A call that is first on the list, and was not made from a frame above the present one, may be
 * over.
 *
 * Context: a pre handler.
 * Return: 0.
 */
int kretprobe_entry_capped(struct kprobe *kp, struct pt_regs *regs)
{
	struct kretprobe_instance *ri = instance_of(current->kretprobe_instances.first);
	struct kretprobe *rp = container_of(kp, struct kretprobe, kp);
	struct kretprobe_holder *rph = rp->rph;

	if (rp->entry_handler || (ri && ri->fp <= arch_kretprobe_frame(regs)) ||
	    unlikely(!count_below_cap(rph)))
		return kretprobe_entry_slow(rp, regs);
	if (unlikely(!take_from_stack(rph->size, &ri))) {
		atomic_dec(&rph->calls);
		return kretprobe_entry_slow(rp, regs);
	}
	ri->rph = rph;
	follow_call(ri, regs);
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_entry_capped);

/**
 * kretprobe_reset_task() - give back the instances of a task that starts again
 * @tsk: does not run; the calls it was in never return
 *
 * Context: any.
 */
void kretprobe_reset_task(struct task_struct *tsk)
{
	struct llist_node *node, *next;
	struct kretprobe_instance *ri;
	struct kretprobe_holder *rph;
	unsigned long top, start;

	for (node = __llist_del_all(&tsk->kretprobe_instances); node; node = next) {
		next = node->next;
		ri = instance_of(node);
		rph = ri->rph;
		guard(preempt_notrace)();
		if (!user_of(rph))
			kretprobe_reap_holders();
		if (!is_on_stack(tsk, ri) && !left_stack(tsk, ri))
			put_into_reserve(ri);
		uncount_dropped(rph);
	}
	for (node = __llist_del_all(&tsk->kretprobe_left); node; node = next) {
		next = node->next;
		kretprobe_stack_empty(container_of(node, struct kretprobe_stack, node));
	}
	/* An empty stack is left alone: it may be taken away at the same time. */
	top = READ_ONCE(tsk->kretprobe_top);
	start = READ_ONCE(tsk->kretprobe_start);
	if (top && start != KRETPROBE_NO_STACK && top != start)
		WRITE_ONCE(tsk->kretprobe_top, start);
}

/**
 * kprobe_flush_task() - give back the instances and the return stack of a dead task
 * @tsk: will not run again; the calls it was in never return
 *
 * Context: any; called a grace period after @tsk has left the list of tasks, so only those
 * still look at it who hold a reference.
 */
void kprobe_flush_task(struct task_struct *tsk)
{
	kretprobe_reset_task(tsk);
	kretprobe_stack_free(tsk);
}

/*
 * A running task changes its list while others walk it, which may lead them anywhere,
 * even in circles. So a walk ends after this many instances.
 */
#define WALK_LIMIT	1024

/*
 * Copies an instance, without its data. Instances on a return stack have different sizes,
 * so the link of one may be overwritten by the data of another, of any value. Therefore
 * instances of other tasks are read in a way that survives any address.
 */
static bool read_instance(struct task_struct *tsk, struct llist_node *node,
			  struct kretprobe_instance *ri)
{
	if (tsk == current) {
		*ri = *instance_of(node);
		return true;
	}
	return !copy_from_kernel_nofault(ri, instance_of(node), sizeof(*ri));
}

NOKPROBE_SYMBOL(read_instance);

/**
 * kretprobe_find_ret_addr() - find the address that a diverted return goes to
 * @tsk: the task that is unwound
 * @fp: what the architecture has recorded of the frame
 * @cur: NULL before the first call for a trace, then left alone by the caller
 *
 * For unwinders, which go from the innermost frame outwards. If @tsk is another task that
 * is running, the result may be wrong.
 *
 * Context: any.
 * Return: the address, or 0 if no more frame of @tsk matches.
 */
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
				      struct llist_node **cur)
{
	struct llist_node *node, *passed = *cur;
	struct kretprobe_instance ri;
	unsigned long addr = 0;
	unsigned int walked = 0;

	/* An RCU section: instances are not freed before it ends. */
	preempt_disable_notrace();
	node = READ_ONCE(tsk->kretprobe_instances.first);
	for (; node && walked < WALK_LIMIT && read_instance(tsk, node, &ri);
	     node = ri.llist.next, walked++) {
		/* @passed is only compared: its call may have returned. */
		if (passed) {
			if (node == passed)
				passed = NULL;
			continue;
		}
		if (ri.ret_addr == kretprobe_trampoline_addr() || ri.fp != fp)
			continue;
		addr = (unsigned long)ri.ret_addr;
		*cur = node;
		break;
	}
	preempt_enable_notrace();
	return addr;
}

NOKPROBE_SYMBOL(kretprobe_find_ret_addr);

/**
 * kretprobe_caller() - follow a diverted return of the current task to the caller
 * @addr: where the return goes to
 * @fp: what the architecture has recorded of the frame
 * @kretprobe: the last instance of the row that @addr was in, or NULL
 * @rethook: the node of rethook's that @addr was in, or NULL
 *
 * If rethook, return probes and the graph tracer have diverted it in turn, one has saved the
 * trampoline of another. Handlers are to see the caller. What each has saved is there until the
 * return has come to its own trampoline.
 *
 * Context: any, as long as the calls are on the task's lists.
 * Return: the first address that is no trampoline, or the last that is known.
 */
unsigned long kretprobe_caller(unsigned long addr, void *fp, struct llist_node *kretprobe,
			       struct llist_node *rethook)
{
	unsigned long next;
	int graph = 0;

	for (;; addr = next) {
		if (is_kretprobe_trampoline(addr))
			next = kretprobe_find_ret_addr(current, fp, &kretprobe);
		else if (is_rethook_addr(addr))
			next = rethook_find_ret_addr(current, (unsigned long)fp, &rethook);
		else
			next = ftrace_graph_ret_addr(current, &graph, addr, fp);
		if (!next || next == addr)
			return addr;
	}
}

NOKPROBE_SYMBOL(kretprobe_caller);

/* A careless owner may have set the handler to NULL. */
static __always_inline void call_handler(struct kretprobe *told, struct kretprobe_instance *ri,
					 struct pt_regs *regs)
{
	kretprobe_handler_t handler = READ_ONCE(told->handler);

	if (likely(handler))
		handler(ri, regs);
}

/*
 * Runs the handlers of a row, inside of a mark. None of them has to be left out because a handler
 * is running below: if it is at the return, it was at the entry, and this call is not followed.
 */
static void run_handlers(struct llist_node *node, struct llist_node *end,
			 struct kprobe_frame *frame, struct pt_regs *regs,
			 kprobe_opcode_t *ret_addr)
{
	struct kretprobe_instance *ri;
	struct kretprobe *told;

	kmsan_unpoison_entry_regs(regs);
	for (; node != end; node = node->next) {
		ri = instance_of(node);
		told = READ_ONCE(ri->rph->told);
		ri->ret_addr = ret_addr;
		kprobe_set_running(&told->kp);
		kprobe_runs(frame->mark, &told->kp);
		call_handler(told, ri, regs);
	}
}

NOKPROBE_SYMBOL(run_handlers);

/*
 * Counts the misses of a row whose call returns while a handler is running. This is
 * inside of that handler's mark, which keeps return probes from being freed; but only
 * those whose holder still has their handler.
 */
static void count_missed_returns(struct llist_node *node, struct llist_node *end)
{
	struct kretprobe *told;

	for (; node != end; node = node->next) {
		told = READ_ONCE(instance_of(node)->rph->told);
		if (told == &kretprobe_left)
			kretprobe_call_left();
		else if (READ_ONCE(told->handler))
			kretprobe_count_miss(told, KPROBE_MISS_RECURSION);
	}
}

NOKPROBE_SYMBOL(count_missed_returns);

/* Out of line, with its own @rph: the caller's would have to be in a register that is saved. */
static noinline void end_other_call(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *rph = ri->rph;

	put_instance(ri);
	uncount_call(rph);
}

NOKPROBE_SYMBOL(end_other_call);

/*
 * Gives back the instance of a call that returns, and takes the call off the count. Only with a cap,
 * an instance of @size ends at the top, and one of @plain_size does not.
 */
static __always_inline void end_call(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *rph = ri->rph;

	if (likely(put_on_top(ri, rph->plain_size)))
		raw_cpu_dec(*rph->inside);
	else if (likely(put_on_top(ri, rph->size)))
		atomic_dec(&rph->calls);
	else
		end_other_call(ri);
}

/* Takes a row off the list, and ends its calls. */
static void end_calls(struct llist_node *node, struct llist_node *end)
{
	struct llist_node *next;

	current->kretprobe_instances.first = end;
	barrier();
	for (; node != end; node = next) {
		next = node->next;
		end_call(instance_of(node));
	}
}

NOKPROBE_SYMBOL(end_calls);

/*
 * Finds the first instance of a call that has popped its arguments when it returns, as with
 * fastcall on i386: then the stack pointer, and so @fp, is above them. It is the outermost of the
 * calls below. The others are over, and the call of its caller is above the arguments. Stacks are
 * aligned.
 */
static struct llist_node *first_that_popped(void *fp)
{
	struct llist_node *node = current->kretprobe_instances.first, *found = NULL;
	void *other;

	for (; node; node = node->next) {
		other = instance_of(node)->fp;
		if (((unsigned long)other ^ (unsigned long)fp) >= THREAD_SIZE)
			continue;
		if (other > fp)
			break;
		if (!found || instance_of(found)->fp != other)
			found = node;
	}
	return found;
}

NOKPROBE_SYMBOL(first_that_popped);

/*
 * Finds the first instance of the call that returns to @fp, and drops those before it,
 * whose calls will not return.
 */
static struct llist_node *first_of_call(void *fp)
{
	struct llist_node *node = current->kretprobe_instances.first;

	while (node && instance_of(node)->fp != fp)
		node = node->next;
	if (!node && ARCH_KRETPROBE_FRAME_IS_SLOT)
		node = first_that_popped(fp);
	drop_calls(node);
	return node;
}

NOKPROBE_SYMBOL(first_of_call);

void __weak arch_kretprobe_fixup_return(struct pt_regs *regs,
					kprobe_opcode_t *correct_ret_addr)
{
}

NOKPROBE_SYMBOL(arch_kretprobe_fixup_return);

/*
 * Puts the return address into the registers, and back to where it was diverted, so that
 * a stack trace from a handler continues with the caller.
 */
static __always_inline void show_return(struct pt_regs *regs, void *fp, unsigned long addr,
					unsigned long caller)
{
	instruction_pointer_set(regs, caller);
	arch_kretprobe_undivert(regs, fp, addr);
}

/*
 * Ends a call that returns. @frame is NULL if no handler may run. Returns the address to
 * continue at.
 */
static unsigned long end_of_call(struct kprobe_frame *frame, struct pt_regs *regs, void *fp)
{
	struct llist_node *first = first_of_call(fp);
	struct llist_node *last = last_of_row(first);
	unsigned long ret_addr, caller;

	if (!last)
		panic("kprobes: a diverted return has no record of where it goes\n");
	ret_addr = (unsigned long)instance_of(last)->ret_addr;
	caller = kretprobe_caller(ret_addr, instance_of(first)->fp, last, NULL);
	show_return(regs, fp, ret_addr, caller);
	if (frame)
		run_handlers(first, last->next, frame, regs, (kprobe_opcode_t *)caller);
	else
		count_missed_returns(first, last->next);
	end_calls(first, last->next);
	return ret_addr;
}

NOKPROBE_SYMBOL(end_of_call);

/* Handles any return: in any context, with several return probes, with calls to be dropped. */
static unsigned long kretprobe_returned_slow(struct pt_regs *regs, void *fp)
{
	struct kprobe_frame frame = {};
	unsigned long addr;

	if (!kprobe_enter(&frame, NULL))
		return end_of_call(NULL, regs, fp);
	kprobe_mark_active();
	addr = end_of_call(&frame, regs, fp);
	kprobe_leave(&frame);
	return addr;
}

NOKPROBE_SYMBOL(kretprobe_returned_slow);

#if ARCH_KPROBE_STATELESS
/*
 * Is this the common return: of a task, outside of handlers, from a call that one return
 * probe follows, and that neither rethook nor the graph tracer had diverted before? @ri is not
 * compared with NULL: without an instance the return address is lost, and the kernel could not
 * go on anyway.
 */
static __always_inline bool is_simple(struct kretprobe_instance *ri, void *fp,
				      union kprobe_own_mark mark)
{
	return ri->fp == fp && ri->ret_addr != kretprobe_trampoline_addr() &&
	       !is_rethook_addr((unsigned long)ri->ret_addr) &&
	       !is_graph_addr((unsigned long)ri->ret_addr) &&
	       !arch_kprobe_level() && !kprobe_mark_entered(mark);
}

/*
 * Two functions with few arguments, so that little is saved while the handler runs. The first one
 * begins the mark.
 */
static __always_inline void simple_handler(union kprobe_own_mark mark,
					   struct kretprobe_instance *ri,
					   struct pt_regs *regs, void *fp)
{
	unsigned long ret_addr = (unsigned long)ri->ret_addr;
	struct kretprobe_holder *rph = ri->rph;
	struct kretprobe *told;

	kprobe_mark_begin(mark);
	kmsan_unpoison_entry_regs(regs);
	told = READ_ONCE(rph->told);
	kprobe_runs(mark, &told->kp);
	show_return(regs, fp, ret_addr, ret_addr);
	call_handler(told, ri, regs);
}

/**
 * kretprobe_returned() - handle a diverted return
 * @regs: registers at the return
 * @frame: what arch_kretprobe_frame() was at the call
 *
 * The trampoline then continues where arch_kretprobe_undivert() has put the address.
 *
 * Context: any in which a function returns.
 */
void kretprobe_returned(struct pt_regs *regs, void *frame)
{
	struct kretprobe_instance *ri;
	union kprobe_own_mark mark;

	preempt_disable_notrace();
	mark = kprobe_own_mark(0);
	ri = instance_of(current->kretprobe_instances.first);
	if (likely(is_simple(ri, frame, mark))) {
		simple_handler(mark, ri, regs, frame);
		current->kretprobe_instances.first = ri->llist.next;
		barrier();
		end_call(ri);
		kprobe_mark_end(mark);
	} else {
		kretprobe_returned_slow(regs, frame);
	}
	preempt_enable_notrace();
}

NOKPROBE_SYMBOL(kretprobe_returned);
#else
/**
 * kretprobe_trampoline_handler() - handle a diverted return
 * @regs: registers at the return
 * @frame_pointer: what was recorded of this frame at the call
 *
 * Context: any in which a function returns.
 * Return: the address to continue at.
 */
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer)
{
	unsigned long addr;

	preempt_disable_notrace();
	addr = kretprobe_returned_slow(regs, frame_pointer);
	preempt_enable_notrace();
	return addr;
}

NOKPROBE_SYMBOL(kretprobe_trampoline_handler);

/**
 * __kretprobe_trampoline_handler() - handle a diverted return, from a probed trampoline
 * @regs: registers at the return
 * @frame_pointer: what was recorded of this frame at the call
 *
 * Context: preemption off, inside a pre handler.
 * Return: the address to continue at.
 */
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs,
					     void *frame_pointer)
{
	struct kprobe *outer = kprobe_running();
	struct kprobe_frame frame = {
		.mark = kprobe_own_mark(arch_kprobe_level()),
	};
	unsigned long addr;

	addr = end_of_call(&frame, regs, frame_pointer);
	kprobe_set_running(outer);
	return addr;
}

NOKPROBE_SYMBOL(__kretprobe_trampoline_handler);
#endif
