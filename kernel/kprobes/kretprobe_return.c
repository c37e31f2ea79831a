// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way back of calls that return probes follow: what the trampoline calls, the handlers, and
 * what unwinders ask. kretprobe_call.c has the way there.
 */
#include <linux/atomic.h>
#include <linux/panic.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "kretprobe.h"

/*
 * A running task changes its list while others walk it, which may lead them anywhere, even in
 * circles. Instances on a return stack have different sizes, so what is taken for a link may be
 * data, of any value. So those of other tasks are read in a way that survives any address, and a
 * walk ends after this many.
 */
#define WALK_LIMIT	1024

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
unsigned long __kprobes kretprobe_find_ret_addr(struct task_struct *tsk, void *fp,
						struct llist_node **cur)
{
	struct llist_node *node, *passed = *cur;
	struct kretprobe_instance ri;
	unsigned int walked;

	/* An RCU section: instances are not freed before it ends. */
	guard(preempt_notrace)();
	node = READ_ONCE(tsk->kretprobe_instances.first);
	for (walked = 0; node && walked < WALK_LIMIT; node = ri.llist.next, walked++) {
		if (tsk == current)
			ri = *kretprobe_instance_of(node);
		else if (copy_from_kernel_nofault(&ri, kretprobe_instance_of(node), sizeof(ri)))
			break;
		/* @passed is only compared: its call may have returned. */
		if (passed) {
			if (node == passed)
				passed = NULL;
		} else if (ri.ret_addr != kretprobe_trampoline_addr() && ri.fp == fp) {
			*cur = node;
			return (unsigned long)ri.ret_addr;
		}
	}
	return 0;
}

/**
 * kretprobe_caller() - follow a diverted return of the current task to the caller
 * @addr: where the return goes to
 * @fp: what the architecture has recorded of the frame
 * @kretprobe: the last instance of the call that @addr was in, or NULL
 * @rethook: the node of rethook's that @addr was in, or NULL
 *
 * If rethook, return probes and the graph tracer have diverted it in turn, one has saved the
 * trampoline of another. Handlers are to see the caller. What each has saved is there until the
 * return has come to its own trampoline.
 *
 * Context: any, as long as the calls are on the task's lists.
 * Return: the first address that is no trampoline, or the last that is known.
 */
unsigned long __kprobes kretprobe_caller(unsigned long addr, void *fp, struct llist_node *kretprobe,
					 struct llist_node *rethook)
{
	unsigned long next;
	int graph = 0;

	for (;; addr = next) {
		if (is_kretprobe_trampoline(addr))
			next = kretprobe_find_ret_addr(current, fp, &kretprobe);
		else if (kretprobe_is_rethook(addr))
			next = rethook_find_ret_addr(current, (unsigned long)fp, &rethook);
		else
			next = ftrace_graph_ret_addr(current, &graph, addr, fp);
		if (!next || next == addr)
			return addr;
	}
}

/* A careless owner may have set the handler to NULL. */
static __always_inline void call_handler(struct kretprobe *told, struct kretprobe_instance *ri,
					 struct pt_regs *regs)
{
	kretprobe_handler_t handler = READ_ONCE(told->handler);

	if (likely(handler))
		handler(ri, regs);
}

/*
 * Runs the handlers of a call, inside of a mark. None of them has to be left out because a handler
 * is running below: if it is at the return, it was at the entry, and this call is not followed.
 */
static void __kprobes run_handlers(struct llist_node *node, struct llist_node *end,
				   struct kprobe_hit *hit, struct pt_regs *regs,
				   kprobe_opcode_t *ret_addr)
{
	struct kretprobe_instance *ri;
	struct kretprobe *told;

	kmsan_unpoison_entry_regs(regs);
	for (; node != end; node = node->next) {
		ri = kretprobe_instance_of(node);
		told = READ_ONCE(ri->rph->told);
		ri->ret_addr = ret_addr;
		kprobe_set_running(&told->kp);
		kprobe_runs(hit->mark, &told->kp);
		call_handler(told, ri, regs);
	}
}

/*
 * Counts the misses of a call that returns while a handler is running. This is inside of that
 * handler's mark, which keeps return probes from being freed; but only those whose holder still has
 * their handler.
 */
static void __kprobes count_missed_returns(struct llist_node *node, struct llist_node *end)
{
	struct kretprobe *told;

	for (; node != end; node = node->next) {
		told = READ_ONCE(kretprobe_instance_of(node)->rph->told);
		if (told == &kretprobe_orphaned)
			kretprobe_orphan_ended(current);
		else if (READ_ONCE(told->handler))
			kretprobe_count_miss(told, KPROBE_MISS_RECURSION);
	}
}

/*
 * Gives back the instance of a call that returns, and takes the call off the count. If it is on the
 * return stack, it is the last there: everything above it has been given back before, unless a
 * handler has left calls behind. No other instance ends at the top.
 */
static __always_inline void end_call(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *rph = ri->rph;
	unsigned long at = (unsigned long)ri;

	if (likely(at + rph->size == current->kretprobe_top)) {
		WRITE_ONCE(current->kretprobe_top, at);
		kretprobe_uncount(rph);
	} else {
		kretprobe_call_ended(ri);
	}
}

/*
 * Finds the first instance of a call that has popped its arguments, as with fastcall on i386: then
 * the stack pointer, and so @fp, is above them. It is the outermost of the calls below. The others
 * are over, and the call of its caller is above the arguments. Stacks are aligned.
 */
static struct llist_node __kprobes *first_that_popped(void *fp)
{
	struct llist_node *node = current->kretprobe_instances.first, *found = NULL;
	void *other;

	for (; node; node = node->next) {
		other = kretprobe_instance_of(node)->fp;
		if (((unsigned long)other ^ (unsigned long)fp) >= THREAD_SIZE)
			continue;
		if (other > fp)
			break;
		if (!found || kretprobe_instance_of(found)->fp != other)
			found = node;
	}
	return found;
}

/* Finds the first instance of the call that returns to @fp. Calls before it will not return. */
static struct llist_node __kprobes *first_of_call(void *fp)
{
	struct llist_node *node = current->kretprobe_instances.first;

	while (node && kretprobe_instance_of(node)->fp != fp)
		node = node->next;
	if (!node && ARCH_KRETPROBE_FRAME_IS_SLOT)
		node = first_that_popped(fp);
	kretprobe_drop_calls(current, node);
	return node;
}

void __weak arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *correct_ret_addr)
{
}

NOKPROBE_SYMBOL(arch_kretprobe_fixup_return);

/* Ends a call that returns. @hit is NULL if no handler may run. Returns where to continue. */
static unsigned long __kprobes end_of_call(struct kprobe_hit *hit, struct pt_regs *regs, void *fp)
{
	struct llist_node *first = first_of_call(fp), *next;
	struct llist_node *last = kretprobe_last_of_call(first), *end;
	unsigned long ret_addr, caller;

	if (!last)
		panic("kprobes: a diverted return has no record of where it goes\n");
	ret_addr = (unsigned long)kretprobe_instance_of(last)->ret_addr;
	caller = kretprobe_caller(ret_addr, kretprobe_instance_of(first)->fp, last, NULL);
	/* Into the registers, and back on the stack for traces from handlers */
	instruction_pointer_set(regs, caller);
	arch_kretprobe_undivert(regs, fp, ret_addr);
	end = last->next;
	if (hit)
		run_handlers(first, end, hit, regs, (kprobe_opcode_t *)caller);
	else
		count_missed_returns(first, end);
	current->kretprobe_instances.first = end;
	barrier();
	for (; first != end; first = next) {
		next = first->next;
		end_call(kretprobe_instance_of(first));
	}
	return ret_addr;
}

/*
 * Handles any return: in any context, with several return probes, with calls to be dropped. Out of
 * line, as kretprobe_entry_slow() is.
 */
static noinline unsigned long __kprobes kretprobe_returned_slow(struct pt_regs *regs, void *fp)
{
	struct kprobe_hit hit = {};
	unsigned long addr;

	if (!kprobe_enter(&hit, NULL))
		return end_of_call(NULL, regs, fp);
	kprobe_mark_active();
	addr = end_of_call(&hit, regs, fp);
	kprobe_leave(&hit);
	return addr;
}

#if ARCH_KPROBE_STATELESS
/**
 * kretprobe_returned() - handle a diverted return
 * @regs: registers at the return
 * @frame: what arch_kretprobe_frame() was at the call
 *
 * The trampoline then continues where arch_kretprobe_undivert() has put the address.
 *
 * Context: any in which a function returns.
 */
void __kprobes kretprobe_returned(struct pt_regs *regs, void *frame)
{
	struct kretprobe_instance *ri;
	struct kretprobe *told;
	struct kprobe_mark __kprobe_own *mark;
	unsigned long ret_addr;

	guard(preempt_notrace)();
	mark = kprobe_own_mark(0);
	ri = kretprobe_instance_of(current->kretprobe_instances.first);
	/*
	 * The common return: of a task, outside of handlers, from a call that one return probe
	 * follows, and that neither rethook nor the graph tracer had diverted before. There is no
	 * check for NULL: without an instance the return address is lost anyway. Little is in use
	 * across the call of the handler, because that would have to be saved.
	 */
	if (likely(ri->fp == frame && !kretprobe_is_diverted((unsigned long)ri->ret_addr) &&
		   !arch_kprobe_level() && !kprobe_mark_entered(mark))) {
		ret_addr = (unsigned long)ri->ret_addr;
		kprobe_mark_begin(mark);
		kmsan_unpoison_entry_regs(regs);
		told = READ_ONCE(ri->rph->told);
		kprobe_runs(mark, &told->kp);
		instruction_pointer_set(regs, ret_addr);
		arch_kretprobe_undivert(regs, frame, ret_addr);
		call_handler(told, ri, regs);
		current->kretprobe_instances.first = ri->llist.next;
		barrier();
		end_call(ri);
		kprobe_mark_end(mark);
	} else {
		kretprobe_returned_slow(regs, frame);
	}
}
#else
/**
 * kretprobe_trampoline_handler() - handle a diverted return
 * @regs: registers at the return
 * @frame_pointer: what was recorded of this frame at the call
 *
 * Context: any in which a function returns.
 * Return: the address to continue at.
 */
unsigned long __kprobes kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer)
{
	guard(preempt_notrace)();
	return kretprobe_returned_slow(regs, frame_pointer);
}

/**
 * __kretprobe_trampoline_handler() - handle a diverted return, from a probed trampoline
 * @regs: registers at the return
 * @frame_pointer: what was recorded of this frame at the call
 *
 * Context: preemption off, inside a pre handler.
 * Return: the address to continue at.
 */
unsigned long __kprobes __kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer)
{
	struct kprobe *outer = kprobe_running();
	struct kprobe_hit hit = {
		.mark = kprobe_own_mark(arch_kprobe_level()),
	};
	unsigned long addr;

	addr = end_of_call(&hit, regs, frame_pointer);
	kprobe_set_running(outer);
	return addr;
}
#endif
