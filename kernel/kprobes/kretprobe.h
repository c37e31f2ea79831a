/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_KRETPROBE_H
#define _KERNEL_KPROBES_KRETPROBE_H
/*
 * Shared by the files of return probes.
 */
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>

/* In kretprobe_stack.c: held while tasks are given return stacks, or lose them */
extern struct mutex kretprobe_mutex;

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
 * A size that fits on no return stack. No instance whose size is taken for this ends at a stack's
 * top: that is aligned.
 */
#define KRETPROBE_NO_FIT	(SZ_16K + 1)

/**
 * struct kretprobe_stack - a return stack that no task takes instances from
 * @node:	member of the list of empty ones, or of task_struct::kretprobe_left
 * @start:	where it begins
 *
 * This is at its end. No call is there when it is left, so the task may still be reading its last
 * instance.
 */
struct kretprobe_stack {
	struct llist_node	node;
	unsigned long		start;
};

static inline struct kretprobe_stack *kretprobe_stack_at(unsigned long end)
{
	return (struct kretprobe_stack *)end - 1;
}

static inline bool kretprobe_uses_stacks(const struct kretprobe_holder *rph)
{
	return rph->size <= sizeof(struct kretprobe_instance) + KRETPROBE_STACK_DATA;
}

/* kretprobe_stack.c */
struct kretprobe_stack *kretprobe_stack_alloc(unsigned int size, gfp_t gfp);
void kretprobe_stacks_get(unsigned int instance);
void kretprobe_stacks_put(unsigned int instance);
void kretprobe_stacks_trim(void);
struct llist_node *kretprobe_stacks_emptied(void);
void kretprobe_stacks_free(struct llist_node *stacks);
void kretprobe_stack_empty(struct kretprobe_stack *stack);
void kretprobe_stack_leave(void);
void kretprobe_stack_free(struct task_struct *tsk);

/* kretprobe_holder.c, or kretprobe_rethook.c */
void *kretprobe_holder_create(struct kretprobe *rp);
void kretprobe_holder_attach(struct kretprobe *rp, void *holder);
void kretprobe_holder_drop(void *holder);
void kretprobe_holder_stop(struct kretprobe *rp, struct llist_head *stopped);
void kretprobe_holders_release(struct llist_head *stopped);

/* kretprobe_holder.c */
extern struct kretprobe kretprobe_stopped, kretprobe_left;
void kretprobe_call_left(void);
void kretprobe_reap_holders(void);
bool kretprobe_holders_left(void);

#endif /* _KERNEL_KPROBES_KRETPROBE_H */
