// SPDX-License-Identifier: GPL-2.0-only
/* Two CPUs in one probed function at once, by the clock. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "bench.h"

#define WALL_CPUS	2
#define WALL_CALLS	50000
#define WALL_ROUNDS	31

static DEFINE_PER_CPU(unsigned long, wall_hits);

static int count_on_cpu(struct kprobe *p, struct pt_regs *regs)
{
	this_cpu_inc(wall_hits);
	return 0;
}

/* One CPU's part of a round. */
struct runner {
	struct work_struct work;
	void (*target)(void);
	u64 begin, end;
};

static atomic_t running;

static void run(struct work_struct *work)
{
	struct runner *r = container_of(work, struct runner, work);
	int i;

	atomic_inc(&running);
	while (atomic_read(&running) < WALL_CPUS)
		cpu_relax();
	r->begin = ktime_get_ns();
	for (i = 0; i < WALL_CALLS; i++)
		r->target();
	r->end = ktime_get_ns();
}

static void run_round(const char *name, void (*target)(void))
{
	struct runner runners[WALL_CPUS];
	unsigned long hits = 0;
	int i;

	atomic_set(&running, 0);
	for (i = 0; i < WALL_CPUS; i++) {
		INIT_WORK_ONSTACK(&runners[i].work, run);
		runners[i].target = target;
		per_cpu(wall_hits, i) = 0;
	}
	for (i = 0; i < WALL_CPUS; i++)
		queue_work_on(i, system_highpri_wq, &runners[i].work);
	for (i = 0; i < WALL_CPUS; i++) {
		flush_work(&runners[i].work);
		destroy_work_on_stack(&runners[i].work);
		hits += per_cpu(wall_hits, i);
	}
	pr_info("wall=%s calls=%d hits=%lu ns=%llu\n", name, WALL_CPUS * WALL_CALLS, hits,
		max(runners[0].end, runners[1].end) - min(runners[0].begin, runners[1].begin));
}

static int run_rounds(const char *name, void (*target)(void), int offset)
{
	struct kprobe p = { .addr = (void *)target + offset, .pre_handler = count_on_cpu };
	int i, ret = register_kprobe(&p);

	if (ret)
		return ret;
	for (i = 0; i < WALL_ROUNDS; i++)
		run_round(name, target);
	unregister_kprobe(&p);
	return 0;
}

int run_wall(void)
{
	if (num_online_cpus() < WALL_CPUS)
		return -ENODEV;
	return run_rounds("trap", BENCH_PLAIN, TARGET_AT) ?:
	       run_rounds("entry", bench_function, 0);
}
