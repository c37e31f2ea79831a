// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes on top of rethook, which keeps the calls under way, diverts the returns,
 * and calls back.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/rethook.h>
#include <linux/sizes.h>

#include "internal.h"
#include "kretprobe.h"

/**
 * kretprobe_entry() - pre handler of every return probe
 * @kp: the return probe's kprobe
 * @regs: registers at the entry of the probed function
 *
 * Context: a pre handler.
 * Return: 0.
 */
int kretprobe_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct kretprobe *rp = kretprobe_of(kp);
	kretprobe_handler_t entry_handler;
	struct kretprobe_instance *ri;
	struct rethook_node *node;

	node = rethook_try_get(rp->rh);
	if (!node) {
		kretprobe_count_miss(rp, KPROBE_MISS_POOL);
		return 0;
	}
	ri = container_of(node, struct kretprobe_instance, node);
	entry_handler = READ_ONCE(rp->entry_handler);
	if (entry_handler && entry_handler(ri, regs))
		rethook_recycle(node);
	else
		rethook_hook(node, regs, kprobe_ftrace(kp));
	return 0;
}

NOKPROBE_SYMBOL(kretprobe_entry);

/*
 * Was the return probe unregistered? rethook has checked this before it called back. That
 * is not enough: only the mark keeps the return probe from being freed meanwhile.
 */
static bool stopped(struct rethook_node *node)
{
	return !rcu_access_pointer(node->rethook->handler);
}

NOKPROBE_SYMBOL(stopped);

/*
 * If the trampoline itself is probed, the hit there has entered the mark, and rethook
 * calls back from the pre handler.
 */
static bool in_trampoline(struct kprobe *running)
{
	return running && arch_trampoline_kprobe(running);
}

NOKPROBE_SYMBOL(in_trampoline);

static void run_handler(struct kretprobe *rp, struct kprobe_hit *frame,
			struct rethook_node *node, struct pt_regs *regs)
{
	kretprobe_handler_t handler = READ_ONCE(rp->handler);

	if (!handler)
		return;
	kprobe_mark_active();
	kprobe_set_running(&rp->kp);
	kprobe_runs(frame->mark, &rp->kp);
	handler(container_of(node, struct kretprobe_instance, node), regs);
}

NOKPROBE_SYMBOL(run_handler);

/*
 * Called by rethook at a return, with preemption off, which keeps the memory of instances
 * from being freed.
 */
static void kretprobe_return(struct rethook_node *node, void *data,
			     unsigned long ret_addr, struct pt_regs *regs)
{
	struct kretprobe *rp = data;
	struct kprobe *outer = kprobe_running();
	struct kprobe_hit frame = {
		.mark = arch_kprobe_own_mark(arch_kprobe_level()),
	};
	bool entered = kprobe_enter(&frame, NULL);

	if (!stopped(node) && rp->handler) {
		if (entered || in_trampoline(outer))
			run_handler(rp, &frame, node, regs);
		else
			kretprobe_count_miss(rp, KPROBE_MISS_RECURSION);
	}
	if (entered)
		kprobe_leave(&frame);
	else
		kprobe_set_running(outer);
}

NOKPROBE_SYMBOL(kretprobe_return);

/*
 * objpool computes as an int how many bytes it needs for a CPU: for the instances, and for a ring
 * of pointers to them, which is much smaller. It does not notice if that overflows.
 */
static bool pool_too_large(const struct kretprobe *rp, unsigned int num)
{
	num = DIV_ROUND_UP(num, num_possible_cpus());
	return num * (u64)(sizeof(struct kretprobe_instance) + rp->data_size) > SZ_1G;
}

/**
 * kretprobe_holder_create() - create the instances of a return probe
 * @rp: the return probe
 *
 * Context: may sleep.
 * Return: rethook's object with them, or an ERR_PTR().
 */
void *kretprobe_holder_create(struct kretprobe *rp)
{
	int num = rp->maxactive > 0 ? rp->maxactive : max(10U, 2 * num_possible_cpus());

	if (pool_too_large(rp, num))
		return ERR_PTR(-ENOMEM);
	return rethook_alloc(rp, kretprobe_return,
			     struct_size_t(struct kretprobe_instance, data, rp->data_size), num);
}

/**
 * kretprobe_holder_attach() - give a return probe its instances
 * @p: the return probe's kprobe, not hit yet
 * @holder: from kretprobe_holder_create()
 *
 * Context: kprobe_mutex is held.
 */
void kretprobe_holder_attach(struct kprobe *p, void *holder)
{
	kretprobe_of(p)->rh = holder;
}

/**
 * kretprobe_holder_drop() - free instances that no return probe was given
 * @holder: from kretprobe_holder_create()
 *
 * Context: may sleep.
 */
void kretprobe_holder_drop(void *holder)
{
	rethook_free(holder);
}

/**
 * kretprobe_holder_stop() - stop reporting returns, and have the instances freed
 * @p: the return probe's kprobe
 * @stopped: is not used: rethook waits by itself, for running handlers and for calls under way
 *
 * Context: kprobe_mutex is held.
 */
void kretprobe_holder_stop(struct kprobe *p, struct llist_head *stopped)
{
	rethook_free(kretprobe_of(p)->rh);
}

/**
 * kretprobe_holders_release() - release instances; see kretprobe_holder_stop()
 * @stopped: is not used
 *
 * Context: any.
 */
void kretprobe_holders_release(struct llist_head *stopped)
{
}
