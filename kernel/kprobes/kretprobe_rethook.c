// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes on rethook: it keeps the calls that are under way, diverts the
 * returns, and calls back.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/rethook.h>

#include "internal.h"

/* The pre handler of every return probe. */
int kretprobe_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(kp, struct kretprobe, kp);
	struct kretprobe_instance *ri;
	struct rethook_node *node;

	node = rethook_try_get(rp->rh);
	if (!node) {
		kretprobe_count_miss(rp, KPROBE_MISS_POOL);
		return 0;
	}
	ri = container_of(node, struct kretprobe_instance, node);
	if (rp->entry_handler && rp->entry_handler(ri, regs))
		rethook_recycle(node);
	else
		rethook_hook(node, regs, kprobe_ftrace(kp));
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_entry);

/*
 * What is asked is inside a mark: rethook asks the same before it calls back, but
 * that is too early to keep the return probe where it is.
 */
static bool stopped(struct rethook_node *node)
{
	return !rcu_access_pointer(node->rethook->handler);
}

NOKPROBE_SYMBOL(stopped);

static void run_handler(struct kretprobe *rp, struct kprobe_frame *frame,
			struct rethook_node *node, struct pt_regs *regs)
{
	kprobe_mark_active();
	kprobe_runs(frame->mark, &rp->kp);
	rp->handler(container_of(node, struct kretprobe_instance, node), regs);
}

NOKPROBE_SYMBOL(run_handler);

/*
 * rethook has preemption off around this, and the calls' own memory stays while
 * it has.
 */
static void kretprobe_return(struct rethook_node *node, void *data,
			     unsigned long ret_addr, struct pt_regs *regs)
{
	struct kretprobe *rp = data;
	struct kprobe_frame frame = {};
	bool entered = kprobe_enter(&frame, &rp->kp);

	if (!stopped(node) && rp->handler) {
		if (entered)
			run_handler(rp, &frame, node, regs);
		else
			kretprobe_count_miss(rp, KPROBE_MISS_RECURSION);
	}
	if (entered)
		kprobe_leave(&frame);
}

NOKPROBE_SYMBOL(kretprobe_return);

int kretprobe_pool_create(struct kretprobe *rp)
{
	int num = rp->maxactive > 0 ? rp->maxactive : max(10U, 2 * num_possible_cpus());
	struct rethook *rh;

	rh = rethook_alloc(rp, kretprobe_return,
			   struct_size_t(struct kretprobe_instance, data, rp->data_size),
			   num);
	if (IS_ERR(rh))
		return PTR_ERR(rh);
	rp->rh = rh;
	return 0;
}

/* No return is reported after the handlers have been waited for. */
void kretprobe_pool_stop(struct kretprobe *rp)
{
	rethook_stop(rp->rh);
}

/* The instances of calls under way are freed when these return. */
void kretprobe_pool_release(struct kretprobe *rp)
{
	rethook_free(rp->rh);
	rp->rh = NULL;
}
