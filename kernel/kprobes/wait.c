// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for handlers of a probe that hits do not find any more, and for tasks in text
 * that nobody gets to any more.
 *
 * A hit enters its mark by a plain store, and then looks for probes. Whoever has taken a
 * probe out then looks at the marks. Both need a full barrier in between. The hit has
 * none of its own: an interrupt with a barrier in it is sent to each CPU. If it arrives
 * before the hit has entered its mark, the hit finds the probe gone; if it arrives
 * later, it makes the mark visible. Documentation/kprobes-design.rst has this as litmus
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

/* Most handlers have ended before so many reads of the mark; after that, sleep. */
#define WAIT_SPINS	200

static void barrier_for_hits(void *unused)
{
	/*
	 * Orders the hit's store to its mark before its load of the probe. The
	 * caller's side is ordered by asking for this interrupt after the probe was
	 * taken out, and reading the marks after it was done.
	 */
	smp_mb();
}

static unsigned int read_mark(struct kprobe_mark *mark)
{
	/* Pairs with the release in kprobe_mark_end(). */
	return smp_load_acquire(&mark->seq);
}

/*
 * The mark may be odd because of a later hit. That one need not be waited for, but it
 * cannot be told from others. Any change ends the wait: if the mark is odd again, the
 * CPU has made it even in between.
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
 * kprobe_wait_for_handlers() - wait until all handlers that are running have ended
 *
 * The caller has removed pointers to users' probes, from a site's list or from a return
 * probe's holder. Afterwards no CPU uses any of them any more. All handlers that are
 * running are waited for, of whatever probe; hits that come meanwhile are not.
 *
 * Offline CPUs run nothing, and while the barriers are made no CPU comes or goes.
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
 * kprobe_wait_for_tasks() - wait until nobody is in text that cannot be entered any more
 *
 * A task may have been preempted in a slot, in a detour, or between the instructions
 * that a jump is going to cover, and remains there until it sleeps or is in user mode.
 * RCU-tasks waits for that. It does not watch the idle loop, nor interrupts on top of
 * that; but preemption is off there, so RCU waits for them. Where neither watches, deep
 * in the idle loop, all text is on the blacklist, but for some of arm64's; there each CPU
 * runs another task when it is stopped for its text to be restored. In kernels without
 * RCU-tasks no task can be preempted in such text.
 *
 * Context: may sleep, for long; no lock that others may want is held.
 */
void kprobe_wait_for_tasks(void)
{
	synchronize_rcu_tasks();
	synchronize_rcu();
}
