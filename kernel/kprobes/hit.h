/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_HIT_H
#define _KERNEL_KPROBES_HIT_H
/*
 * The guard around every call into a user's code: for hit.c, and for what else
 * is built like it, without tracing and without sanitizers.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>

#define KPROBE_LEVELS	4

/**
 * struct kprobe_mark - whether handlers run, for a CPU and context level
 * @seq:	odd while they do. Changed by plain increments: only this CPU does,
 *		and who interrupts one has undone his own before it goes on
 * @faulting:	a fault handler is what runs
 * @running:	the user's probe whose handler was called last, or NULL
 *
 * @seq is what a nested hit looks at: one at the level of a running handler
 * comes from that handler, and is a miss; one at a higher level comes from an
 * interrupt or NMI that arrived on top of it, and runs. It is also what a
 * probe's memory can be guarded by: every call into a user's code lies between
 * an odd and an even value, and the lists of probes are read only after the
 * odd one was stored.
 */
struct kprobe_mark {
	unsigned int	seq;
	bool		faulting;
	struct kprobe	*running;
};

/*
 * A frame of handlers on this CPU. Between enter and leave preemption is off,
 * and a hit at the same level is a miss.
 */
struct kprobe_frame {
	struct kprobe		*outer;
	struct kprobe_mark	*mark;
};

DECLARE_PER_CPU(struct kprobe_mark, kprobe_marks[KPROBE_LEVELS]);

/*
 * Claims the level of the caller for running handlers. False when a handler is
 * running there already: the caller must run none, and counts the miss.
 */
static __always_inline bool kprobe_enter(struct kprobe_frame *frame,
					 struct kprobe *site)
{
	struct kprobe_mark *mark = raw_cpu_ptr(kprobe_marks) + arch_kprobe_level();

	if (mark->seq & 1)
		return false;
	mark->seq++;
	barrier();
	frame->mark = mark;
	frame->outer = kprobe_set_running(site);
	return true;
}

/* Says whose handler is called next. */
static __always_inline void kprobe_runs(struct kprobe_frame *frame, struct kprobe *p)
{
	WRITE_ONCE(frame->mark->running, p);
}

static __always_inline void kprobe_leave(struct kprobe_frame *frame)
{
	kprobe_set_running(frame->outer);
	barrier();
	frame->mark->seq++;
}

/* For handlers that no exception led to: see KPROBE_HIT_ACTIVE. */
static __always_inline void kprobe_mark_active(void)
{
#if !ARCH_KPROBE_STATELESS
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
#endif
}

/* CPUs may miss at the same time, and no miss is to be lost. */
static __always_inline void kprobe_count_miss(struct kprobe *p)
{
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

#endif /* _KERNEL_KPROBES_HIT_H */
