// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a crowd of other probes costs. Some of its sites, drawn at random, have
 * probes of other kinds than the rest, and are measured one by one. They are
 * registered along with the others, since a lookup may well find a newcomer sooner.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "sites.h"

#define SAMPLE		1000
#define SINGLES		200
#define SEED		20240917

static char *modules[SITE_MODULES];

static struct sample {
	const char *name;
	unsigned int what;
	int num;
	void *addrs[SAMPLE];
	u64 bare[SAMPLE];
} samples[] = {
	{ "sites-pre",		PRE },
	{ "sites-pre-post",	PRE | POST },
	{ "sites-return",	RETURN },
};

#define SAMPLED		(SAMPLE * ARRAY_SIZE(samples))

/* What a site is for: one of these, or the sample of that index. */
enum { FREE = 0x80, CROWD, SINGLE, FIRST };

static u8 uses[NR_SITES];

static struct kprobe *kprobes;
static struct kprobe **kprobe_list;
static struct kretprobe *kretprobes;
static struct kretprobe **kretprobe_list;
static int num_kprobes, num_kretprobes;		/* that are registered */

void *site(int i)
{
	return modules[i / MODULE_SITES] + i % MODULE_SITES * SITE_SIZE;
}

void *first_site(void)
{
	return site(0);
}

static void draw(struct rnd_state *random, int num, int step, u8 use)
{
	int drawn;

	while (num--) {
		do
			drawn = prandom_u32_state(random) % (NR_SITES / step) * step;
		while (uses[drawn] != FREE);
		uses[drawn] = use;
	}
}

/* A return probe needs a function, and that begins where a group does. */
static void draw_all(int crowd)
{
	struct rnd_state random;
	int i;

	prandom_seed_state(&random, SEED);
	memset(uses, FREE, sizeof(uses));
	uses[0] = FIRST;
	for (i = ARRAY_SIZE(samples) - 1; i >= 0; i--)
		draw(&random, SAMPLE, samples[i].what & RETURN ? SITE_GROUP : 1, i);
	draw(&random, SINGLES, 1, SINGLE);
	draw(&random, crowd, 1, CROWD);
}

static void symbol_name(char *name, size_t size, int i)
{
	snprintf(name, size, "kmod_bench_sites_%d", i);
}

int open_sites(void)
{
	char name[32];
	int i;

	for (i = 0; i < SITE_MODULES; i++) {
		symbol_name(name, sizeof(name), i);
		modules[i] = __symbol_get(name);
		if (!modules[i])
			return -ENOENT;
	}
	draw_all(0);
	return 0;
}

void close_sites(void)
{
	char name[32];
	int i;

	for (i = 0; i < SITE_MODULES && modules[i]; i++) {
		symbol_name(name, sizeof(name), i);
		__symbol_put(name);
	}
}

static void add_to_sample(struct sample *s, void *addr)
{
	s->addrs[s->num] = addr;
	s->bare[s->num] = timed_calls(addr, SITE_CALLS);
	s->num++;
}

/* In the order of addresses, which is none of what the sites are for. */
static void fill_crowd(void)
{
	struct kretprobe *rp = kretprobes;
	struct kprobe *p = kprobes;
	unsigned int what;
	int i;

	for (i = 0; i < NR_SITES; i++) {
		if (uses[i] >= FREE && uses[i] != CROWD)
			continue;
		what = uses[i] == CROWD ? PRE : samples[uses[i]].what;
		if (uses[i] != CROWD)
			add_to_sample(&samples[uses[i]], site(i));
		if (what & RETURN) {
			init_kretprobe(rp, site(i), what);
			kretprobe_list[rp - kretprobes] = rp;
			rp++;
		} else {
			init_kprobe(p, site(i), what);
			kprobe_list[p - kprobes] = p;
			p++;
		}
	}
}

static int register_more_kprobes(int num, u64 *spent)
{
	u64 begin = bench_clock();
	int ret = register_kprobes(kprobe_list + num_kprobes, num);

	if (!ret)
		num_kprobes += num;
	*spent += bench_clock() - begin;
	return ret;
}

static int register_returns(void)
{
	int ret = register_kretprobes(kretprobe_list, SAMPLE);

	if (!ret)
		num_kretprobes = SAMPLE;
	return ret;
}

/* The return probes come in the middle. */
static int register_all(int num)
{
	int half = num / 2, ret;
	u64 spent = 0;

	ret = register_more_kprobes(half, &spent) ?:
	      register_returns() ?:
	      register_more_kprobes(num - SAMPLE - half, &spent);
	if (!ret)
		pr_info("set=%s others=%d register=%llu registered=%d\n", bench_set, num, spent,
			num_kprobes);
	return ret;
}

static int wait_for_crowd(void)
{
	void **addrs = vcalloc(num_kprobes, sizeof(*addrs));
	int i;

	if (!addrs)
		return -ENOMEM;
	for (i = 0; i < num_kprobes; i++)
		addrs[i] = kprobes[i].addr;
	wait_optimized(addrs, num_kprobes);
	vfree(addrs);
	return 0;
}

/* unregister_crowd() is to follow, whatever the result. */
int register_crowd(int num)
{
	int ret;

	if (!num)
		return 0;
	if (num < 2 * SAMPLED || num > NR_SITES - 1 - SINGLES)
		return -EINVAL;
	kprobes = vcalloc(num, sizeof(*kprobes));
	kprobe_list = vcalloc(num, sizeof(*kprobe_list));
	kretprobes = vcalloc(SAMPLE, sizeof(*kretprobes));
	kretprobe_list = vcalloc(SAMPLE, sizeof(*kretprobe_list));
	if (!kprobes || !kprobe_list || !kretprobes || !kretprobe_list)
		return -ENOMEM;

	draw_all(num - SAMPLED);
	fill_crowd();
	ret = register_all(num);
	if (!ret && bench_optimized)
		ret = wait_for_crowd();
	return ret;
}

void unregister_crowd(void)
{
	if (num_kretprobes)
		unregister_kretprobes(kretprobe_list, num_kretprobes);
	if (num_kprobes)
		unregister_kprobes(kprobe_list, num_kprobes);
	vfree(kretprobe_list);
	vfree(kretprobes);
	vfree(kprobe_list);
	vfree(kprobes);
}

static void call_all(struct sample *s)
{
	void (*target)(void);
	int i;

	for (i = 0; i < SAMPLE; i++) {
		target = s->addrs[i];
		target();
	}
}

static void marked_sample(struct sample *s)
{
	unsigned long flags;

	local_irq_save(flags);
	mark();
	call_all(s);
	mark();
	local_irq_restore(flags);
}

static void run_sample(struct sample *s)
{
	long long insns, sum = 0, worst = 0;
	int i;

	if (bench_optimized)
		wait_optimized(s->addrs, SAMPLE);
	call_all(s);
	bench_hits = 0;
	for (i = 0; i < SAMPLE; i++) {
		insns = timed_calls(s->addrs[i], SITE_CALLS) - s->bare[i];
		sum += insns;
		worst = max(worst, insns);
	}
	pr_info(CASE_FORMAT " worst=%lld worst_calls=%d\n", s->name, bench_set,
		SAMPLE * SITE_CALLS, hweight32(s->what), bench_hits, sum, SAMPLE, worst,
		SITE_CALLS);
	marked_sample(s);
}

void run_samples(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(samples); i++)
		run_sample(&samples[i]);
}

/* One by one, which is how tools attach: instructions for each of them. */
int run_singles(void)
{
	struct kprobe *table = vcalloc(SINGLES, sizeof(*table));
	u64 begin, middle;
	int i, n = 0, ret = 0;

	if (!table)
		return -ENOMEM;
	begin = bench_clock();
	for (i = 0; i < NR_SITES && !ret; i++) {
		if (uses[i] != SINGLE)
			continue;
		init_kprobe(&table[n], site(i), PRE);
		ret = register_kprobe(&table[n]);
		n += !ret;
	}
	middle = bench_clock();
	while (n--)
		unregister_kprobe(&table[n]);
	pr_info("set=%s singles=%d attach=%llu detach=%llu\n", bench_set, SINGLES,
		middle - begin, bench_clock() - middle);
	vfree(table);
	return ret;
}
