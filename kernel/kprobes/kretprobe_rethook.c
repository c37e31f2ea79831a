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
 * rethook does not call back once rethook_stop() has been called, and has
 * preemption off around this.
 */
static void kretprobe_return(struct rethook_node *node, void *data,
			     unsigned long ret_addr, struct pt_regs *regs)
{
	struct kretprobe *rp = data;
	struct kprobe_frame frame = {};

	if (!rp->handler)
		return;
	if (!kprobe_enter(&frame, &rp->kp)) {
		kretprobe_count_miss(rp, KPROBE_MISS_RECURSION);
		return;
	}
	kprobe_mark_active();
	kprobe_runs(frame.mark, &rp->kp);
	rp->handler(container_of(node, struct kretprobe_instance, node), regs);
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

/* No return is reported after the next grace period. */
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
