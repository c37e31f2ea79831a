// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaching and detaching at scale: so many probes are registered, hit for the
 * first time and once more, and unregistered, one by one and as a batch. The sums
 * are printed, in ticks of the clock. Interrupts are on, and what a kernel puts off
 * to a worker counts if it runs meanwhile; but not in what the task alone took,
 * which is printed for registering as well, in nanoseconds. So are, where they are many,
 * the bytes that the kernel has more while all are registered, as it tells users.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "entries.h"
#include "sites.h"

static int single_limit = 10000;
module_param(single_limit, int, 0444);
MODULE_PARM_DESC(single_limit, "attach no more than so many one by one");

struct places {
	const char *kind;
	int num;
	void *(*nth)(int i);
};

static void *nth_site(int i)
{
	return site(i);
}

/* As many as are loaded */
static bench_entry_t *entries[ENTRY_MODULES];

static void *nth_entry(int i)
{
	return entries[i / MODULE_ENTRIES][i % MODULE_ENTRIES];
}

static void entries_name(char *name, size_t size, int i)
{
	snprintf(name, size, "kmod_bench_entries_%d", i);
}

static void close_entries(void)
{
	char name[32];
	int i;

	for (i = 0; i < ENTRY_MODULES && entries[i]; i++) {
		entries_name(name, sizeof(name), i);
		__symbol_put(name);
	}
}

/* Returns how many there are. */
static int open_entries(void)
{
	char name[32];
	int i;

	for (i = 0; i < ENTRY_MODULES; i++) {
		entries_name(name, sizeof(name), i);
		entries[i] = __symbol_get(name);
		if (!entries[i])
			break;
	}
	return i * MODULE_ENTRIES;
}

/* One run: probes at places that are spread over all there are. */
struct run {
	const struct places *places;
	int num;
	bool batch;
	struct kprobe *probes;
	struct kprobe **list;
	void **addrs;
};

static void *place(const struct run *r, int i)
{
	return r->places->nth(i * (r->places->num / r->num));
}

static int attach_all(struct run *r)
{
	int i, ret = 0;

	if (r->batch)
		return register_kprobes(r->list, r->num);
	for (i = 0; i < r->num && !ret; i++)
		ret = register_kprobe(r->list[i]);
	if (ret) {
		for (i--; i--; )
			unregister_kprobe(r->list[i]);
	}
	return ret;
}

static void detach_all(struct run *r)
{
	int i;

	if (r->batch) {
		unregister_kprobes(r->list, r->num);
		return;
	}
	for (i = 0; i < r->num; i++)
		unregister_kprobe(r->list[i]);
}

static u64 call_places(struct run *r)
{
	u64 begin = bench_clock();
	void (*target)(void);
	int i;

	for (i = 0; i < r->num; i++) {
		target = place(r, i);
		target();
	}
	return bench_clock() - begin;
}

/* What this task has run for, brought up to date. */
static u64 own_time(void)
{
	yield();
	return current->se.sum_exec_runtime;
}

/* What was taken out before is to be gone, and not to serve again. */
static void settle(void)
{
	synchronize_rcu_tasks();
	msleep(MSEC_PER_SEC);
}

/* In kilobytes */
static long meminfo(const char *text, const char *what)
{
	const char *line = strnstr(text, what, strlen(text));
	long size = 0;

	if (line)
		sscanf(line + strlen(what), "%ld", &size);
	return size;
}

/* Among the memory of so many, what others do with theirs is little. */
#define MANY	10000

/* Bytes of small objects, and of mappings that are the kernel's own. Each CPU tells once a second. */
static long memory_used(int num)
{
	loff_t pos = 0;
	struct file *file;
	long size = 0;
	char *text;

	if (num < MANY)
		return 0;
	msleep(3 * MSEC_PER_SEC);
	file = filp_open("/proc/meminfo", O_RDONLY, 0);
	text = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!IS_ERR(file) && text && kernel_read(file, text, PAGE_SIZE - 1, &pos) > 0)
		size = (meminfo(text, "Slab:") + meminfo(text, "VmallocUsed:")) * SZ_1K;
	kfree(text);
	if (!IS_ERR(file))
		filp_close(file, NULL);
	return size;
}

static int measure(struct run *r)
{
	u64 begin, own, attached, first, again, detached;
	long memory;
	int i, ret;

	settle();
	for (i = 0; i < r->num; i++) {
		init_kprobe(&r->probes[i], place(r, i), PRE);
		r->list[i] = &r->probes[i];
	}
	bench_hits = 0;
	memory = memory_used(r->num);
	own = own_time();
	begin = bench_clock();
	ret = attach_all(r);
	attached = bench_clock() - begin;
	own = own_time() - own;
	if (ret)
		return ret;
	for (i = 0; i < r->num; i++)
		r->addrs[i] = r->probes[i].addr;
	if (bench_optimized)
		wait_optimized(r->addrs, r->num);
	first = call_places(r);
	again = call_places(r);
	memory = memory_used(r->num) - memory;
	begin = bench_clock();
	detach_all(r);
	detached = bench_clock() - begin;
	pr_info("scale=%s set=%s probes=%d batch=%d hits=%lu attached=%llu own=%llu first=%llu again=%llu detached=%llu memory=%ld\n",
		r->places->kind, bench_set, r->num, r->batch, bench_hits, attached, own, first,
		again, detached, memory);
	return 0;
}

/* Somebody else, who registers one probe now and then. */
struct other {
	struct kprobe probe;
	u64 longest;
	unsigned int times;
};

static u64 register_other(struct other *other)
{
	u64 begin, took;

	init_kprobe(&other->probe, site(NR_SITES - 1), PRE);
	begin = ktime_get_ns();
	if (register_kprobe(&other->probe))
		return U64_MAX;
	took = ktime_get_ns() - begin;
	unregister_kprobe(&other->probe);
	return took;
}

static int register_now_and_then(void *data)
{
	struct other *other = data;

	while (!kthread_should_stop()) {
		other->longest = max(other->longest, register_other(other));
		other->times++;
		usleep_range(50, 100);
	}
	return 0;
}

/* How long others wait for what is locked while probes come and go. */
#define COMINGS	2

static int measure_wait(struct run *r)
{
	struct other other = { };
	u64 alone = register_other(&other);
	struct task_struct *task;
	int i, n, ret = 0;

	task = kthread_run(register_now_and_then, &other, "kprobe_bench");
	if (IS_ERR(task))
		return PTR_ERR(task);
	for (n = 0; n < COMINGS && !ret; n++) {
		for (i = 0; i < r->num; i++) {
			init_kprobe(&r->probes[i], place(r, i), PRE);
			r->list[i] = &r->probes[i];
		}
		ret = attach_all(r);
		if (!ret)
			detach_all(r);
	}
	kthread_stop(task);
	pr_info("wait=%s set=%s probes=%d times=%u alone=%llu longest=%llu\n",
		r->places->kind, bench_set, r->num, other.times, alone, other.longest);
	return ret;
}

static int run_one(const struct places *places, int num, bool batch,
		   int (*measure)(struct run *r))
{
	struct run r = { .places = places, .num = num, .batch = batch };
	int ret = -ENOMEM;

	r.probes = vcalloc(num, sizeof(*r.probes));
	r.list = vcalloc(num, sizeof(*r.list));
	r.addrs = vcalloc(num, sizeof(*r.addrs));
	if (r.probes && r.list && r.addrs)
		ret = measure(&r);
	vfree(r.addrs);
	vfree(r.list);
	vfree(r.probes);
	return ret;
}

static int run_places(const struct places *places, int num)
{
	int ret = 0;

	if (num > places->num)
		return 0;
	if (num <= single_limit)
		ret = run_one(places, num, false, measure);
	if (!ret && num > 1)
		ret = run_one(places, num, true, measure);
	if (!ret && num == 1000)
		ret = run_one(places, num, true, measure_wait);
	return ret;
}

/* Of what is no breakpoint, optimization makes no difference. */
int run_attach(const int *counts, unsigned int nr_counts)
{
	const struct places at_sites = { "site", NR_SITES, nth_site };
	const struct places at_entries = { "entry", bench_optimized ? 0 : open_entries(), nth_entry };
	unsigned int i;
	int ret = at_entries.num || bench_optimized ? 0 : -ENOENT;

	for (i = 0; i < nr_counts && !ret; i++) {
		if (counts[i] <= 0)
			continue;
		ret = run_places(&at_sites, counts[i]);
		if (!ret)
			ret = run_places(&at_entries, counts[i]);
	}
	close_entries();
	return ret;
}

/* As most users do, by name; those that are refused are passed over. The mean is printed. */
int run_named(char **names, unsigned int num)
{
	u64 begin, middle, attached = 0, detached = 0;
	unsigned int i, done = 0;
	struct kprobe p;

	for (i = 0; i < num; i++) {
		settle();
		init_kprobe(&p, NULL, PRE);
		p.symbol_name = names[i];
		begin = bench_clock();
		if (register_kprobe(&p))
			continue;
		middle = bench_clock();
		unregister_kprobe(&p);
		detached += bench_clock() - middle;
		attached += middle - begin;
		done++;
	}
	if (!done)
		return -EINVAL;
	pr_info("users: register_kprobe() by name: %llu\n", div_u64(attached, done));
	pr_info("users: unregister_kprobe(): %llu\n", div_u64(detached, done));
	return 0;
}
