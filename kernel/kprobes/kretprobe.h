/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_KRETPROBE_H
#define _KERNEL_KPROBES_KRETPROBE_H
/*
 * Shared by the files of return probes. These words are used in all of them:
 *
 * call		of a probed function, from its entry to its return
 * instance	the record of a call that a return probe follows
 * return stack	a task's own memory for instances
 * reserve	a return probe's memory for instances that are on no return stack
 * holder	what a return probe's instances refer to, and has its reserve
 * orphan	a call whose return probe was unregistered
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/*
 * A task's return stack is the memory from task_struct::kretprobe_start to kretprobe_end. It
 * is filled from the bottom with instances of various sizes, that of the innermost call
 * last; the used part ends at kretprobe_top. Only the task itself changes
 * that, or an interrupt on top of the task, which ends before the task continues. So no
 * lock is needed, and instances are given back in the order in which their calls return.
 */

/* Instances with more private data than this are not kept on return stacks. */
#define KRETPROBE_STACK_DATA	512

/*
 * A return stack that no task takes instances from. This is at its end, where no call is when it is
 * left; so the task may still be reading its last instance.
 */
struct kretprobe_stack {
	struct llist_node	node;	/* of the list of empty ones, or of kretprobe_left */
	unsigned long		start;
};

static __always_inline struct kretprobe *kretprobe_of(struct kprobe *p)
{
	return container_of(p, struct kretprobe, kp);
}

#ifdef CONFIG_KRETPROBE_RETURN_STACK
/*
 * Checks whether a call is on the stack that a task takes instances from: of the current task, or
 * one that does not run. Each field is read once, because an empty stack may be taken away.
 */
static __always_inline bool kretprobe_stack_in_use(const struct task_struct *tsk)
{
	unsigned long top = READ_ONCE(tsk->kretprobe_top);
	unsigned long start = READ_ONCE(tsk->kretprobe_start);

	return top && start != KRETPROBE_NO_STACK && top != start;
}

static inline bool kretprobe_uses_stacks(const struct kretprobe_holder *rph)
{
	return rph->size <= sizeof(struct kretprobe_instance) + KRETPROBE_STACK_DATA;
}

/* Takes a call off the count that has returned, or is not followed. */
static __always_inline void kretprobe_uncount(struct kretprobe_holder *rph)
{
	if (unlikely(rph->cap))
		atomic_dec(&rph->calls);
	else
		raw_cpu_dec(*rph->inside);
}

/* NULL becomes NULL, because the list node comes first. */
static __always_inline struct kretprobe_instance *kretprobe_instance_of(struct llist_node *node)
{
	BUILD_BUG_ON(offsetof(struct kretprobe_instance, llist));
	return container_of(node, struct kretprobe_instance, llist);
}

/*
 * Checks for the trampoline of rethook, which fprobe diverts returns to. Rethook's own function may
 * be called out of line, and be probed then.
 */
static __always_inline bool kretprobe_is_rethook(unsigned long addr)
{
	return IS_ENABLED(CONFIG_RETHOOK) &&
	       addr == (unsigned long)
		       dereference_kernel_function_descriptor(arch_rethook_trampoline);
}

/* Checks whether a return address is a trampoline of one of the three that divert returns. */
static __always_inline bool kretprobe_is_diverted(unsigned long addr)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	if (addr == (unsigned long)dereference_kernel_function_descriptor(return_to_handler))
		return true;
#endif
	return is_kretprobe_trampoline(addr) || kretprobe_is_rethook(addr);
}

/*
 * Each return probe on a call has an instance of its own. The first one that diverted the return is
 * the last of them on the list, and has the return address. All others found it diverted already,
 * so they have the trampoline's address.
 */
static __always_inline struct llist_node *kretprobe_last_of_call(struct llist_node *node)
{
	while (node && kretprobe_instance_of(node)->ret_addr == kretprobe_trampoline_addr())
		node = node->next;
	return node;
}
#endif

/* kretprobe_stack.c */
extern struct mutex kretprobe_mutex;
extern struct kretprobe kretprobe_stopped, kretprobe_orphaned;
void kretprobe_stacks_get(unsigned int instance);
void kretprobe_stacks_put(unsigned int instance);
void kretprobe_stacks_trim(struct work_struct *unused);
void kretprobe_stack_empty(struct kretprobe_stack *stack);
void kretprobe_stack_free(struct task_struct *tsk);
void kretprobe_orphan_ended(struct task_struct *tsk);
bool kretprobe_holders_left(void);

/* kretprobe_stack.c, or kretprobe_rethook.c */
void *kretprobe_holder_create(struct kretprobe *rp);
void kretprobe_holder_attach(struct kprobe *p, void *holder);
void kretprobe_holder_drop(void *holder);
void kretprobe_holder_stop(struct kprobe *p, struct llist_head *stopped);
void kretprobe_holders_release(struct llist_head *stopped);

/* kretprobe_call.c */
void kretprobe_call_ended(struct kretprobe_instance *ri);
void kretprobe_drop_calls(struct task_struct *tsk, struct llist_node *last);

#endif /* _KERNEL_KPROBES_KRETPROBE_H */
