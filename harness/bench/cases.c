// SPDX-License-Identifier: GPL-2.0-only
/* What is measured at one address: kprobes of all kinds, and their neighbours. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>

#include "bench.h"

#define CALLS		500
#define WARM_CALLS	10
#define MARKED		50

static struct kprobe kprobe;
static struct kretprobe kretprobe;

/* Where a kprobe of any kind was put, in the end. */
static void *probed;

static int attach_kprobe(void *addr, unsigned int what)
{
	int ret;

	init_kprobe(&kprobe, addr, what);
	ret = register_kprobe(&kprobe);
	probed = kprobe.addr;
	return ret;
}

static void detach_kprobe(void)
{
	unregister_kprobe(&kprobe);
}

static int attach_kretprobe(void *addr, unsigned int what)
{
	int ret;

	init_kretprobe(&kretprobe, addr, what);
	ret = register_kretprobe(&kretprobe);
	probed = kretprobe.kp.addr;
	return ret;
}

static void detach_kretprobe(void)
{
	unregister_kretprobe(&kretprobe);
}

#ifdef CONFIG_JPROBES
static struct jprobe jprobe;

static void count_jprobe(void)
{
	bench_hits++;
	jprobe_return();
}

static int attach_jprobe(void *addr, unsigned int what)
{
	int ret;

	jprobe = (struct jprobe) { .kp.addr = addr, .entry = count_jprobe };
	ret = register_jprobe(&jprobe);
	probed = jprobe.kp.addr;
	return ret;
}

static void detach_jprobe(void)
{
	unregister_jprobe(&jprobe);
}
#endif

static struct ftrace_ops ops;

static void count_ftrace(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			 struct ftrace_regs *fregs)
{
	bench_hits++;
}

static int attach_ftrace(void *addr, unsigned int what)
{
	int ret;

	ops = (struct ftrace_ops) {
		.func = count_ftrace,
		.flags = what & FTRACE_REGS ? FTRACE_OPS_FL_SAVE_REGS : 0,
	};
	ret = ftrace_set_filter_ip(&ops, (unsigned long)addr, 0, 0);
	if (!ret)
		ret = register_ftrace_function(&ops);
	if (ret)
		ftrace_free_filter(&ops);
	return ret;
}

static void detach_ftrace(void)
{
	unregister_ftrace_function(&ops);
	ftrace_free_filter(&ops);
}

#ifdef CONFIG_FPROBE
static struct fprobe fprobe;

static int count_fprobe_entry(struct fprobe *fp, unsigned long ip, unsigned long parent_ip,
			      struct pt_regs *regs, void *data)
{
	bench_hits++;
	return 0;
}

static void count_fprobe_exit(struct fprobe *fp, unsigned long ip, unsigned long parent_ip,
			      struct pt_regs *regs, void *data)
{
	bench_hits++;
}

static int attach_fprobe(void *addr, unsigned int what)
{
	unsigned long ip = (unsigned long)addr;

	fprobe = (struct fprobe) {
		.entry_handler = what & FPROBE_ENTRY ? count_fprobe_entry : NULL,
		.exit_handler = what & FPROBE_EXIT ? count_fprobe_exit : NULL,
	};
	return register_fprobe_ips(&fprobe, &ip, 1);
}

static void detach_fprobe(void)
{
	unregister_fprobe(&fprobe);
}
#endif

static const struct mechanism {
	unsigned int what;
	int (*attach)(void *addr, unsigned int what);
	void (*detach)(void);
} mechanisms[] = {
	{ PRE | POST,			attach_kprobe,		detach_kprobe },
	{ RETURN,			attach_kretprobe,	detach_kretprobe },
#ifdef CONFIG_JPROBES
	{ JPROBE,			attach_jprobe,		detach_jprobe },
#endif
	{ FTRACE | FTRACE_REGS,		attach_ftrace,		detach_ftrace },
#ifdef CONFIG_FPROBE
	{ FPROBE_ENTRY | FPROBE_EXIT,	attach_fprobe,		detach_fprobe },
#endif
};

static struct bench_case cases[] = {
	{ "entry-pre",			bench_function,	0, PRE },
	{ "entry-pre-post",		bench_function,	0, PRE | POST },
	{ "entry-return",		bench_function,	0, RETURN },
	{ "entry-return-entry",		bench_function,	0, RETURN | ENTRY },
	{ "entry-pre-return",		bench_function,	0, PRE | RETURN },
	{ "plain-pre",			BENCH_PLAIN,	0, PRE },
	{ "plain-return",		BENCH_PLAIN,	0, RETURN },
	{ "plain-pre-return",		BENCH_PLAIN,	0, PRE | RETURN },
#ifdef CONFIG_JPROBES
	{ "entry-jprobe",		bench_function,	0, JPROBE },
	{ "entry-jprobe-return",	bench_function,	0, JPROBE | RETURN },
	{ "plain-jprobe",		BENCH_PLAIN,	0, JPROBE },
	{ "plain-jprobe-return",	BENCH_PLAIN,	0, JPROBE | RETURN },
#endif
	{ "ftrace",			bench_function,	0, FTRACE },
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_REGS
	{ "ftrace-regs",		bench_function,	0, FTRACE_REGS },
#endif
#ifdef CONFIG_FPROBE
	{ "fprobe-entry",		bench_function,	0, FPROBE_ENTRY },
	{ "fprobe-exit",		bench_function,	0, FPROBE_EXIT },
	{ "fprobe-entry-exit",		bench_function,	0, FPROBE_ENTRY | FPROBE_EXIT },
#endif
	{ "site-pre",			NULL,		0, PRE },
	{ "site-pre-post",		NULL,		0, PRE | POST },
	{ "site-return",		NULL,		0, RETURN },
	{ }
};

static void detach(unsigned int what, size_t mechanism)
{
	while (mechanism--) {
		if (what & mechanisms[mechanism].what)
			mechanisms[mechanism].detach();
	}
}

static int attach(void *addr, unsigned int what)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(mechanisms); i++) {
		if (!(what & mechanisms[i].what))
			continue;
		ret = mechanisms[i].attach(addr, what);
		if (ret) {
			detach(what, i);
			return ret;
		}
	}
	return 0;
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

static u64 read_text(const struct bench_case *c)
{
	u64 text;

	memcpy(&text, (void *)c->target + c->offset, sizeof(text));
	return text;
}

static void prepare_case(struct bench_case *c)
{
	c->target = c->target ?: first_site();
	c->plain = timed_calls(c->target, CALLS);
	c->text = read_text(c);
}

/* A probe that is gone may leave its jump behind for a while. */
static void wait_restored(const struct bench_case *c)
{
	int i;

	for (i = 0; read_text(c) != c->text && i < 100; i++)
		msleep(50);
}

static void run_case(struct bench_case *c)
{
	u64 insns;
	int ret;

	wait_restored(c);
	probed = NULL;
	ret = attach((void *)c->target + c->offset, c->what);
	if (ret) {
		pr_info("case=%s set=%s error=%d\n", c->name, bench_set, ret);
		return;
	}
	if (bench_optimized && probed)
		wait_optimized(&probed, 1);

	timed_calls(c->target, WARM_CALLS);
	bench_hits = 0;
	insns = timed_calls(c->target, CALLS) - c->plain;
	pr_info(CASE_FORMAT "\n", c->name, bench_set, CALLS, hweight32(c->what), bench_hits,
		(long long)insns, MARKED);
	marked_calls(c->target);
	detach(c->what, ARRAY_SIZE(mechanisms));
}

static void walk_cases(void (*function)(struct bench_case *c))
{
	struct bench_case *c;

	for (c = target_cases; c->name; c++)
		function(c);
	for (c = cases; c->name; c++)
		function(c);
}

void run_cases(void)
{
	walk_cases(prepare_case);
	walk_cases(run_case);
}
