// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hit costs, by the processor's counter. Under an emulator that counts
 * instructions as time, this is the number of instructions, exactly.
 *
 *	insmod kprobe_bench.ko set=NAME [others=N] [optimized=1]
 *	insmod kprobe_bench.ko set=NAME attach=N[,N...] [single_limit=N] [optimized=1]
 *	insmod kprobe_bench.ko set=NAME named=FUNCTION[,FUNCTION...]
 *	insmod kprobe_bench.ko set=NAME wall=1
 *
 * Each case calls a target without a probe and as many times with one, interrupts
 * off, and prints the difference. Then the probed target is called some times
 * between two faults, which stand out in the emulator's log of exceptions, so that
 * the traps in between can be counted.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/module.h>

#include "bench.h"

char *bench_set = "";
module_param_named(set, bench_set, charp, 0444);
MODULE_PARM_DESC(set, "what to call these figures in the output");

bool bench_optimized;
module_param_named(optimized, bench_optimized, bool, 0444);
MODULE_PARM_DESC(optimized, "wait until probes are jumps, if they ever are");

static int others;
module_param(others, int, 0444);
MODULE_PARM_DESC(others, "how many other probes are registered (0, or 6000 to 100000)");

static int attach[8];
static unsigned int nr_attach;
module_param_array(attach, int, &nr_attach, 0444);
MODULE_PARM_DESC(attach, "attach and detach so many probes, and nothing else");

static char *named[16];
static unsigned int nr_named;
module_param_array(named, charp, &nr_named, 0444);
MODULE_PARM_DESC(named, "attach and detach a probe of each by its name, and nothing else");

static bool wall;
module_param(wall, bool, 0444);
MODULE_PARM_DESC(wall, "measure two CPUs at once by the clock, and nothing else");

unsigned long bench_hits;

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	bench_hits++;
	return 0;
}

static void count_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	bench_hits++;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	bench_hits++;
	return 0;
}

void init_kprobe(struct kprobe *p, void *addr, unsigned int what)
{
	*p = (struct kprobe) {
		.addr = addr,
		.pre_handler = what & PRE ? count_pre : NULL,
		.post_handler = what & POST ? count_post : NULL,
	};
}

void init_kretprobe(struct kretprobe *rp, void *addr, unsigned int what)
{
	*rp = (struct kretprobe) {
		.kp.addr = addr,
		.handler = count_return,
		.entry_handler = what & ENTRY ? count_return : NULL,
	};
}

u64 timed_calls(void (*target)(void), int calls)
{
	unsigned long flags;
	u64 begin, end;
	int i;

	local_irq_save(flags);
	begin = bench_clock();
	for (i = 0; i < calls; i++)
		target();
	end = bench_clock();
	local_irq_restore(flags);
	return end - begin;
}

static int count_breakpoints(void **addrs, int num)
{
	int i, count = 0;

	for (i = 0; i < num; i++)
		count += is_breakpoint(addrs[i]);
	return count;
}

/*
 * Until no breakpoint is left, or none has left for 5 seconds. What a kernel says
 * of its probes may be ahead of what stands in the text.
 */
void wait_optimized(void **addrs, int num)
{
	int left = count_breakpoints(addrs, num);
	int before = left;
	int i;

	for (i = 0; left && i < 100; i++) {
		msleep(50);
		left = count_breakpoints(addrs, num);
		if (left != before)
			i = 0;
		before = left;
	}
	/* Let whoever wrote the last jump come to an end. */
	msleep(100);
}

static int run_set(void)
{
	int ret = register_crowd(others);

	if (!ret) {
		run_cases();
		if (others)
			run_samples();
		ret = run_singles();
	}
	unregister_crowd();
	return ret;
}

static int __init kprobe_bench_init(void)
{
	int ret;

	init_targets();
	if (wall)
		return run_wall();
	if (nr_named)
		return run_named(named, nr_named);

	ret = open_sites();
	if (!ret)
		ret = nr_attach ? run_attach(attach, nr_attach) : run_set();
	close_sites();
	return ret;
}

static void __exit kprobe_bench_exit(void)
{
}

module_init(kprobe_bench_init)
module_exit(kprobe_bench_exit)
MODULE_DESCRIPTION("measures what a probe hit costs");
MODULE_LICENSE("GPL");
