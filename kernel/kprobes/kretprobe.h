/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_KRETPROBE_H
#define _KERNEL_KPROBES_KRETPROBE_H
/*
 * Shared by the files of return probes.
 */
#include <linux/build_bug.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

/* In kretprobe.c: taken before kprobe_mutex. */
extern struct mutex kretprobe_mutex;

/*
 * A task's return stack is a block of KRETPROBE_STACK_SIZE bytes, aligned to its size. It
 * is filled from the bottom with instances of various sizes, that of the innermost call
 * last; the used part ends at task_struct::kretprobe_top. Only the task itself changes
 * it, or an interrupt on top of the task, which ends before the task continues. So no
 * lock is needed, and instances are given back in the order in which their calls return.
 */

/* Instances with more private data than this are not kept on return stacks. */
#define KRETPROBE_STACK_DATA	512

#ifdef CONFIG_KRETPROBE_RETURN_STACK
/**
 * struct kretprobe_stack - a block that does not belong to a task
 * @rcu:	for the block of a task that has ended
 * @used:	where the instances were
 * @next:	the next free block. It is in the last word, where no instance can be: when
 *		a block is taken away from a task, that may still have to load the link of
 *		its last instance. Nothing orders this load before the store to
 *		kretprobe_top that made the block empty
 */
struct kretprobe_stack {
	union {
		struct rcu_head	rcu;
		u8		used[KRETPROBE_STACK_SIZE - sizeof(void *)];
	};
	struct kretprobe_stack	*next;
};

static_assert(sizeof(struct kretprobe_stack) == KRETPROBE_STACK_SIZE);

/*
 * Are two addresses in the same block? KRETPROBE_NO_STACK is in no block. The last byte
 * of a block is never used, so that kretprobe_top is in its block even if that is full.
 */
static __always_inline bool kretprobe_same_stack(unsigned long a, unsigned long b)
{
	return !((a ^ b) & ~(KRETPROBE_STACK_SIZE - 1));
}
#endif

/* kretprobe_stack.c */
int kretprobe_stacks_get(void);
void kretprobe_stacks_put(void);
void kretprobe_stacks_trim(void);
void kretprobe_stack_free(struct task_struct *tsk);

/* kretprobe_holder.c */
extern struct kretprobe kretprobe_stopped, kretprobe_left;
void kretprobe_reap_holders(void);
bool kretprobe_holders_left(void);

#endif /* _KERNEL_KPROBES_KRETPROBE_H */
