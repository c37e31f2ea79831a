// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting: for handlers, of probes that are to be found no more; and for tasks,
 * in text that nobody gets to any more.
 *
 * A hit enters its mark by a plain store and then looks for probes; whoever took
 * one out looks at the marks. Each needs a barrier between the two. The hit's is
 * made for it: an interrupt with a barrier in it comes to each CPU, and if that
 * was before the hit had entered its mark, the hit finds the probe gone; else it
 * has made the mark visible. Documentation/kprobes-design.rst has this as litmus
 * tests.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "internal.h"

/* Most handlers are over in less. */
#define WAIT_SPINS	200

static void barrier_for_hits(void *unused)
{
	/*
	 * Between the mark and the probe. It pairs with what orders the caller: that
	 * this was asked for after the probe was taken out, and is done before the
	 * marks are read.
	 */
	smp_mb();
}

static unsigned int read_mark(struct kprobe_mark *mark)
{
	/* Pairs with the release in kprobe_mark_end(). */
	return smp_load_acquire(&mark->seq);
}

/*
 * An odd mark may be a later hit's by now, which need not be waited for but is,
 * once. One that is odd again was made so by the same CPU after the release.
 */
static void wait_for_mark(struct kprobe_mark *mark)
{
	unsigned int seq = read_mark(mark);
	unsigned int spins = 0;

	if (!(seq & 1))
		return;
	while (read_mark(mark) == seq) {
		if (spins++ < WAIT_SPINS)
			cpu_relax();
		else
			usleep_range(20, 100);
	}
}

/**
 * kprobe_wait_for_handlers() - wait until no handler runs that was found before
 *
 * Afterwards nobody has a pointer that was taken out before this was called, out
 * of a site's probes, or out of a return probe's holder, or looks at what it
 * points to. Hits that come meanwhile do not hold it up, whatever they are of;
 * handlers that run already do, whosever they are.
 *
 * A CPU that is offline runs nothing, and one that comes or goes does so before
 * or after the barriers.
 *
 * Context: may sleep; not from a handler.
 */
void kprobe_wait_for_handlers(void)
{
	unsigned int cpu, level;

	cpus_read_lock();
	on_each_cpu(barrier_for_hits, NULL, 1);
	cpus_read_unlock();
	for_each_possible_cpu(cpu) {
		for (level = 0; level < KPROBE_LEVELS; level++)
			wait_for_mark(per_cpu_ptr(&kprobe_marks[level], cpu));
	}
}

/**
 * kprobe_wait_for_tasks() - wait until nobody is in text that was left
 *
 * A task may have been preempted in a slot, a detour, or between the instructions
 * that a jump is to cover, and is there until it has slept or is in user mode:
 * that is RCU-tasks. It does not watch the idle loop, nor interrupts on top of it;
 * but preemption is off there, which is RCU. A kernel without RCU-tasks preempts
 * nobody in such text.
 *
 * Context: may sleep, for long; no lock that others may want is held.
 */
void kprobe_wait_for_tasks(void)
{
	synchronize_rcu_tasks();
	synchronize_rcu();
}
