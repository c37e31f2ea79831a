// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes on top of rethook, which keeps the calls under way, diverts the returns,
 * and calls back.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/math.h>
#include <linux/sizes.h>

#include "internal.h"
#include "kretprobe.h"

/* The pre handler of every return probe */
int __kprobes kretprobe_entry(struct kprobe *kp, struct pt_regs *regs)
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

/*
 * Called by rethook at a return, with preemption off, which keeps the memory of instances
 * from being freed.
 */
static void __kprobes kretprobe_return(struct rethook_node *node, void *data,
				       unsigned long ret_addr, struct pt_regs *regs)
{
	struct kretprobe *rp = data;
	struct kprobe *outer = kprobe_running();
	struct kprobe_hit frame = {
		.mark = kprobe_own_mark(arch_kprobe_level()),
	};
	bool entered = kprobe_enter(&frame, NULL);
	kretprobe_handler_t handler = NULL;

	/*
	 * Rethook has checked this before it called back. That is not enough: only the mark keeps
	 * the return probe from being freed meanwhile.
	 */
	if (rcu_access_pointer(node->rethook->handler))
		handler = READ_ONCE(rp->handler);
	/*
	 * If the trampoline itself is probed, the hit there has entered the mark, and rethook calls
	 * back from the pre handler.
	 */
	if (handler && (entered || (outer && arch_trampoline_kprobe(outer)))) {
		kprobe_mark_active();
		kprobe_set_running(&rp->kp);
		kprobe_runs(frame.mark, &rp->kp);
		handler(container_of(node, struct kretprobe_instance, node), regs);
	} else if (handler) {
		kretprobe_count_miss(rp, KPROBE_MISS_RECURSION);
	}
	if (entered)
		kprobe_leave(&frame);
	else
		kprobe_set_running(outer);
}

/* Creates the instances of a return probe: rethook's object with them, or an ERR_PTR(). */
void *kretprobe_holder_create(struct kretprobe *rp)
{
	size_t size = struct_size_t(struct kretprobe_instance, data, rp->data_size);
	int num = rp->maxactive > 0 ? rp->maxactive : max(10U, 2 * num_possible_cpus());

	/*
	 * objpool computes as an int how many bytes it needs for a CPU: for the instances, and for
	 * a ring of pointers to them, which is much smaller. It does not notice if that overflows.
	 */
	if ((u64)DIV_ROUND_UP(num, num_possible_cpus()) * size > SZ_1G)
		return ERR_PTR(-ENOMEM);
	return rethook_alloc(rp, kretprobe_return, size, num);
}

/* Gives a return probe its instances. It is not hit yet. */
void kretprobe_holder_attach(struct kprobe *p, void *holder)
{
	kretprobe_of(p)->rh = holder;
}

/* Frees instances that no return probe was given. */
void kretprobe_holder_drop(void *holder)
{
	rethook_free(holder);
}

/*
 * Stops reporting returns. Rethook waits by itself, for running handlers and for calls under way;
 * so there is nothing to release later.
 */
void kretprobe_holder_stop(struct kprobe *p, struct llist_head *stopped)
{
	rethook_free(kretprobe_of(p)->rh);
}

void kretprobe_holders_release(struct llist_head *stopped) { }
