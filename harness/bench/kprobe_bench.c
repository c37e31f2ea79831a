// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hit costs, by the processor's counter. Under an emulator that counts
 * instructions as time, this is the number of instructions, exactly.
 *
 *	insmod kprobe_bench.ko [others=20000] [set=NAME]
 *
 * Each case calls a target CALLS times without a probe and as many times with
 * one, interrupts off, and prints the difference. Then the probed target is
 * called MARKED times between two faults, which stand out in the emulator's log
 * of exceptions, so that the traps in between can be counted.
 */
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define CALLS		2000
#define MARKED		100

/* Filler functions: all that probes need to be many. */
#define FILLERS		404
#define FILLER_INSNS	50
#define MAX_OTHERS	20000

static char *set = "";
module_param(set, charp, 0444);
MODULE_PARM_DESC(set, "what to call these figures in the output");

static int others;
module_param(others, int, 0444);
MODULE_PARM_DESC(others, "how many other probes are registered (up to 20000)");

#ifdef CONFIG_X86
#include "bench_x86.h"
#else
#include "bench_arm64.h"
#endif

extern char bench_fillers[], bench_fillers_end[];

static noinline void bench_function(void)
{
	barrier();
}

static unsigned long hits;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	hits++;
}

static int count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

enum { PRE = 1, POST = 2, RETURN = 4, ENTRY = 8 };

static const struct bench_case {
	const char *name;
	void (*target)(void);
	void *addr;
	unsigned int what;
} cases[] = {
	BENCH_CASES
	{ "entry-pre",		bench_function,	bench_function,	PRE },
	{ "entry-pre-post",	bench_function,	bench_function,	PRE | POST },
	{ "plain-return",	bench_plain,	bench_plain,	RETURN },
	{ "entry-return",	bench_function,	bench_function,	RETURN },
	{ "entry-return-entry",	bench_function,	bench_function,	RETURN | ENTRY },
};

static u64 timed_calls(void (*target)(void))
{
	unsigned long flags;
	u64 begin, end;
	int i;

	local_irq_save(flags);
	begin = bench_clock();
	for (i = 0; i < CALLS; i++)
		target();
	end = bench_clock();
	local_irq_restore(flags);
	return end - begin;
}

static void marked_calls(void (*target)(void))
{
	unsigned long flags;
	int i;

	local_irq_save(flags);
	mark();
	for (i = 0; i < MARKED; i++)
		target();
	mark();
	local_irq_restore(flags);
}

static void run_case(const struct bench_case *c, u64 plain)
{
	u64 probed;

	timed_calls(c->target);
	hits = 0;
	probed = timed_calls(c->target);
	pr_info("case=%s set=%s calls=%d hits=%lu insns=%lld marked=%d\n", c->name, set, CALLS,
		hits, (long long)(probed - plain), MARKED);
	marked_calls(c->target);
}

static int run_kprobe(const struct bench_case *c)
{
	struct kprobe p = { .addr = c->addr };
	u64 plain = timed_calls(c->target);
	int ret;

	p.pre_handler = c->what & PRE ? count_pre : NULL;
	p.post_handler = c->what & POST ? count_post : NULL;
	ret = register_kprobe(&p);
	if (ret)
		return ret;
	run_case(c, plain);
	unregister_kprobe(&p);
	return 0;
}

static int run_kretprobe(const struct bench_case *c)
{
	struct kretprobe rp = { .kp.addr = c->addr, .handler = count_return };
	u64 plain = timed_calls(c->target);
	int ret;

	rp.entry_handler = c->what & ENTRY ? count_entry : NULL;
	ret = register_kretprobe(&rp);
	if (ret)
		return ret;
	run_case(c, plain);
	unregister_kretprobe(&rp);
	return 0;
}

static void *filler_insn(int i)
{
	return bench_fillers + i / FILLER_INSNS * FILLER_SIZE + i % FILLER_INSNS * INSN_SIZE;
}

static int register_others(struct kprobe *table, struct kprobe **list)
{
	u64 begin = bench_clock();
	int i, ret;

	for (i = 0; i < others; i++) {
		table[i].addr = filler_insn(i);
		table[i].pre_handler = count_pre;
		list[i] = &table[i];
	}
	ret = others ? register_kprobes(list, others) : 0;
	pr_info("set=%s others=%d register=%llu\n", set, others, bench_clock() - begin);
	return ret;
}

/* One by one, which is how tools attach: instructions for each of them. */
#define SINGLES		200

static int run_singles(struct kprobe *table)
{
	u64 begin, middle;
	int i, ret;

	memset(table, 0, SINGLES * sizeof(*table));
	begin = bench_clock();
	for (i = 0; i < SINGLES; i++) {
		table[i].addr = filler_insn(MAX_OTHERS + i);
		table[i].pre_handler = count_pre;
		ret = register_kprobe(&table[i]);
		if (ret)
			break;
	}
	middle = bench_clock();
	while (i--)
		unregister_kprobe(&table[i]);
	pr_info("set=%s singles=%d attach=%llu detach=%llu\n", set, SINGLES, middle - begin,
		bench_clock() - middle);
	return ret;
}

static int run_cases(void)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ret = cases[i].what & RETURN ? run_kretprobe(&cases[i]) : run_kprobe(&cases[i]);
		if (ret) {
			pr_err("case=%s set=%s error=%d\n", cases[i].name, set, ret);
			return ret;
		}
	}
	return 0;
}

static int __init kprobe_bench_init(void)
{
	struct kprobe *table;
	struct kprobe **list;
	int ret = -ENOMEM;

	if (others < 0 || others > MAX_OTHERS || bench_fillers_end - bench_fillers != FILLERS * FILLER_SIZE)
		return -EINVAL;
	table = vcalloc(others + SINGLES, sizeof(*table));
	list = vcalloc(others + 1, sizeof(*list));
	if (!table || !list)
		goto out;
	ret = register_others(table, list);
	if (ret)
		goto out;
	ret = run_cases() ?: run_singles(table + others);
	if (others)
		unregister_kprobes(list, others);
out:
	vfree(list);
	vfree(table);
	return ret;
}

static void __exit kprobe_bench_exit(void)
{
}

module_init(kprobe_bench_init)
module_exit(kprobe_bench_exit)
MODULE_DESCRIPTION("measures what a probe hit costs");
MODULE_LICENSE("GPL");
