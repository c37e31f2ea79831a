// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting until a probe, or text, is not in use any more.
 *
 * kprobe_wait_for_handlers() waits for the handlers of a probe that has been unlinked, so that new
 * hits cannot find it. kprobe_wait_for_tasks() waits for tasks in text that can no longer be
 * entered. kprobe_leave_at_once() unregisters where nobody can sleep, which is a mistake of the
 * caller's. With preemption off, the caller spins for the locks and the handlers, and a worker does
 * to the site what takes longer. If the caller cannot even spin, or does so in vain, the probe is
 * where it was, and hits pass it by.
 *
 * A hit makes its mark odd, and then looks for probes. To remove a probe is to unlink it, and then
 * to look at the marks. At least one of both must see the other's store, so each needs a full
 * barrier between its store and its load. A barrier at every hit would cost too much. Instead, the
 * remover has every CPU execute one in an interrupt. If the interrupt arrives before the hit has
 * stored its mark, the hit finds the probe gone; if it arrives later, the remover sees the odd
 * mark. Documentation/kprobes-design.rst has this as litmus tests.
 */
#include <kunit/static_stub.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "internal.h"

/* How often a mark is read before sleeping. Most handlers have ended by then. */
#define WAIT_SPINS	200

/* When a handler is said to take too long, in jiffies. Tests have less patience. */
unsigned int kprobe_patience = 10 * HZ;

static void barrier_for_hits(void *unused)
{
	/*
	 * Orders the hit's store to its mark before its load of the probe. The caller's side is
	 * ordered, too: it requests this interrupt after the probe was unlinked, and reads the
	 * marks after the interrupt was handled.
	 */
	smp_mb();
}

static unsigned int read_mark(unsigned int cpu, unsigned int level)
{
	/* Pairs with the release in kprobe_mark_end(). */
	return smp_load_acquire(&per_cpu(kprobe_marks, cpu)[level].seq);
}

/*
 * No handler may sleep. Where marks are per-CPU operands, one that does ends the mark of another
 * CPU, if it wakes up there, and the wait may never end.
 */
void kprobe_tell_of_handler(unsigned int cpu)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_tell_of_handler, cpu);
	pr_warn("a handler on CPU %u holds up unregistering: does it sleep?\n", cpu);
}

/*
 * The mark may be odd because of a later hit. There is no need to wait for that one, but it cannot
 * be told from others. Any change ends the wait: if the mark is odd again, the CPU has made it even
 * in between.
 */
static void wait_for_mark(unsigned int cpu, unsigned int level)
{
	unsigned long overdue = jiffies + kprobe_patience;
	unsigned int seq = read_mark(cpu, level);
	unsigned int spins = 0;
	bool told = false;

	if (!(seq & 1))
		return;
	while (read_mark(cpu, level) == seq) {
		if (spins++ < WAIT_SPINS)
			cpu_relax();
		else
			usleep_range(20, 100);
		if (told || !time_after(jiffies, overdue))
			continue;
		kprobe_tell_of_handler(cpu);
		told = true;
	}
}

/**
 * kprobe_wait_for_handlers() - wait until all handlers that are running have ended
 *
 * The caller has removed pointers that only handlers follow: from a site's list to a user's probe,
 * or from that to data of its handlers. When this returns, no CPU follows them any more. This waits
 * for all handlers that are running, of whatever probe, but not for hits that come meanwhile. CPUs
 * that are offline run nothing, and no CPU comes or goes while the barriers are executed.
 *
 * Context: may sleep; not from a handler.
 */
void kprobe_wait_for_handlers(void)
{
	bool locked = kprobe_lock_cpus();
	unsigned int cpu, level;

	on_each_cpu(barrier_for_hits, NULL, 1);
	if (locked)
		cpus_read_unlock();
	for_each_possible_cpu(cpu)
		for (level = 0; level < KPROBE_LEVELS; level++)
			wait_for_mark(cpu, level);
}

/* A caller that cannot sleep waits in steps of so many microseconds. */
#define SPIN_US		5

/*
 * Counts the steps that are left. The clock may have stopped: a CPU that has interrupts off may be
 * the one that drives it.
 */
static bool spin_once(unsigned int *left)
{
	if (!*left)
		return false;
	--*left;
	udelay(SPIN_US);
	return true;
}

static DEFINE_PER_CPU(bool, had_barrier);

static void barrier_for_spinner(void *unused)
{
	barrier_for_hits(NULL);
	/* Pairs with the acquire in spin_for_barrier(). */
	smp_store_release(this_cpu_ptr(&had_barrier), true);
}

static DEFINE_PER_CPU(call_single_data_t, barrier_call) = CSD_INIT(barrier_for_spinner, NULL);

/* A CPU that spins for the caller's lock with interrupts off never executes it. */
static bool spin_for_barrier(unsigned int cpu, unsigned int *left)
{
	bool *had = per_cpu_ptr(&had_barrier, cpu);

	/* One that was given up, and is still to come, will do as well: then this is -EBUSY. */
	smp_store_mb(*had, false);
	smp_call_function_single_async(cpu, per_cpu_ptr(&barrier_call, cpu));
	/* Pairs with the release in barrier_for_spinner(). */
	while (!smp_load_acquire(had)) {
		if (!spin_once(left))
			return false;
	}
	return true;
}

/* As wait_for_mark(). A handler, too, may want a lock of the caller's. */
static bool spin_for_mark(unsigned int cpu, unsigned int level, unsigned int *left)
{
	unsigned int seq = read_mark(cpu, level);

	while (seq & 1 && read_mark(cpu, level) == seq) {
		if (!spin_once(left)) {
			kprobe_tell_of_handler(cpu);
			return false;
		}
	}
	return true;
}

/*
 * Does the same where nobody can sleep, with interrupts on. If a CPU just comes, it may not have
 * been waited for. Returns false if some handlers have not ended, nor will as long as the caller
 * holds what they want.
 */
static bool spin_for_handlers(void)
{
	unsigned int left = jiffies_to_usecs(kprobe_patience) / SPIN_US;
	bool locked = cpus_read_trylock();
	unsigned int cpu, level;
	bool ended = true;

	lockdep_assert_held(&kprobe_mutex);
	for_each_online_cpu(cpu)
		ended = ended && spin_for_barrier(cpu, &left);
	if (locked)
		cpus_read_unlock();
	for_each_possible_cpu(cpu)
		for (level = 0; level < KPROBE_LEVELS; level++)
			ended = ended && spin_for_mark(cpu, level, &left);
	return ended;
}

/*
 * Waiting for handlers here might be waiting for oneself, or for what one holds up. A jump calls
 * handlers in the context of the probed code, and nothing in preempt_count() shows it. Only the
 * mark does.
 */
static bool cannot_wait(void)
{
	guard(preempt_notrace)();
	return !in_task() || irqs_disabled() ||
	       kprobe_mark_entered(kprobe_own_mark(arch_kprobe_level()));
}

/* Checks for a caller that must not wait for handlers as others do, as far as can be told. */
bool kprobe_cannot_sleep(void)
{
	/* Without that, architectures may leave preemption off after a step. */
	return cannot_wait() || rcu_preempt_depth() ||
	       (ARCH_KPROBE_STATELESS && IS_ENABLED(CONFIG_PREEMPT_COUNT) && in_atomic());
}

/* The owner of kprobe_mutex may need this CPU to go on, so after this the caller gives up. */
#define LOCK_US		(100 * USEC_PER_MSEC)

/*
 * Hits pass the probes by. Waits for handlers first: if that is in vain, the probes are still
 * registered. Then for the hits that are just passing a probe.
 */
static bool remove_late(struct kprobe **kps, int num, const struct kprobe_kind *kind,
			struct llist_head *stopped)
{
	struct kprobe_site *site;
	int i;

	if (!spin_for_handlers())
		return false;
	for (i = 0; i < num; i++) {
		site = kprobe_site_holding(kps[i]);
		if (!site) {
			kps[i]->addr = NULL;
			continue;
		}
		kprobe_site_detach_late(site, kps[i]);
		if (kind->stop)
			kind->stop(kps[i], stopped);
	}
	return spin_for_handlers();
}

/*
 * Has hits pass a probe by, without a lock: it is marked as gone. Hits that are under way may still
 * run its handlers.
 */
static void silence(struct kprobe *p)
{
	struct kprobe_site *site;

	guard(preempt_notrace)();
	if (!p->list.next || list_empty(&p->list))
		return;
	WRITE_ONCE(p->flags, p->flags | KPROBE_FLAG_GONE);
	/* Pairs with the barrier in set_handlers(): one of both sees what the other one wrote. */
	smp_mb();
	site = kprobe_find_site((unsigned long)p->addr);
	/* So that hits look at the list, and there at the flag. */
	if (site && READ_ONCE(site->first) == p)
		kprobe_site_set_first(site, NULL);
}

/*
 * Removes probes where nobody can sleep, and warns of that. With preemption off, they are removed,
 * and their handlers waited for. Elsewhere, or if somebody holds that up, they are marked as gone,
 * but still registered: then this returns false.
 */
bool kprobe_leave_at_once(struct kprobe **kps, int num, const struct kprobe_kind *kind,
			  struct llist_head *stopped)
{
	bool gone = false;
	int i, got;

	for (i = 0; i < num; i++)
		silence(kps[i]);
	if (!cannot_wait() && !read_poll_timeout_atomic(mutex_trylock, got, got, SPIN_US, LOCK_US,
							false, &kprobe_mutex)) {
		gone = remove_late(kps, num, kind, stopped);
		mutex_unlock(&kprobe_mutex);
	}
	WARN(1, "kprobes: a probe is unregistered where nobody can sleep%s\n",
	     gone ? "" : ": its struct and its handlers must not be freed");
	return gone;
}

/*
 * Waits until no task is in text that cannot be entered any more.
 *
 * A task may have been preempted in a slot, in a detour, or between the instructions that a jump is
 * going to cover. RCU-tasks waits until every task has slept or been in user mode, so that it has
 * left such text. It does not watch the idle loop, nor interrupts on top of that; but preemption is
 * off there, so RCU waits for them. Deep in the idle loop, where RCU is not watching either, all
 * text is on the blacklist, except for some of arm64's. But there all CPUs are stopped to restore
 * the text, each by a task of its own; by then the idle task has come back from such text. In
 * kernels without RCU-tasks no task can be preempted in such text.
 *
 * May sleep, for long; so no lock is held that others may want, unless text is about to be freed.
 */
void kprobe_wait_for_tasks(void)
{
	synchronize_rcu_tasks();
	synchronize_rcu();
}
