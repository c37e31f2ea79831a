// SPDX-License-Identifier: GPL-2.0
/*
 * As modules are written for Linux 6.12: arrays of probes, probes that are
 * disabled and enabled, and a return probe with data for each call.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>

struct call {
	int argument;
};

static int entered, switched, followed, strange;

static noinline __noclone int half_of(int number)
{
	barrier();
	return number / 2;
}

/* Not the last thing it does: it is to be seen as the caller. */
static noinline __noclone int sum_of_halves(int first, int second)
{
	int sum = half_of(first);

	sum += half_of(second);
	barrier();
	return sum;
}

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	if (p->symbol_name)
		entered++;
	else
		switched++;
	return 0;
}

static struct kprobe by_name = {
	.symbol_name	= "sum_of_halves",
	.pre_handler	= count_hit,
};

static struct kprobe by_address = {
	.addr		= (kprobe_opcode_t *)half_of,
	.pre_handler	= count_hit,
	.flags		= KPROBE_FLAG_DISABLED,
};

static struct kprobe *probes[] = { &by_name, &by_address };

/* An array with a bad probe in it: none of it may be planted. */
static int count_strange(struct kprobe *p, struct pt_regs *regs)
{
	strange++;
	return 0;
}

static struct kprobe good = {
	.symbol_name	= "half_of",
	.pre_handler	= count_strange,
};

static struct kprobe bad = {
	.symbol_name	= "no_such_function",
	.pre_handler	= count_strange,
};

static struct kprobe *half_good[] = { &good, &bad };

/* The calls for odd numbers are not followed. */
static int half_enters(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	call->argument = regs_get_kernel_argument(regs, 0);
	return call->argument & 1;
}

static int half_returns(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;
	struct kretprobe *rp = get_kretprobe(ri);

	if (!rp || rp->handler != half_returns ||
	    (int)regs_return_value(regs) != call->argument / 2)
		strange++;
	followed++;
	pr_info("half of %d is %d, for %ps\n", call->argument, (int)regs_return_value(regs),
		(void *)get_kretprobe_retaddr(ri));
	return 0;
}

static struct kretprobe half = {
	.kp.addr	= (kprobe_opcode_t *)half_of,
	.entry_handler	= half_enters,
	.handler	= half_returns,
	.data_size	= sizeof(struct call),
};

/* Each call is one hit of by_name, and two of by_address while that is enabled. */
static void call_them(void)
{
	if (sum_of_halves(14, 15) != 14)
		strange++;
}

static int try_all(void)
{
	int ret;

	call_them();
	ret = enable_kprobe(&by_address);
	if (ret)
		return ret;
	call_them();
	ret = disable_kprobe(&by_address);
	if (ret)
		return ret;
	call_them();
	ret = disable_kretprobe(&half);
	call_them();
	return ret;
}

static int __init outside_today_init(void)
{
	int ret;

	ret = register_kprobes(half_good, ARRAY_SIZE(half_good));
	pr_info("an array with a bad probe: %d\n", ret);
	if (!ret)
		unregister_kprobes(half_good, ARRAY_SIZE(half_good));
	ret = register_kprobes(probes, ARRAY_SIZE(probes));
	if (ret)
		return ret;
	ret = register_kretprobe(&half);
	if (ret)
		goto no_kretprobe;
	ret = try_all();
	if (!ret)
		return 0;

	unregister_kretprobe(&half);
no_kretprobe:
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	return ret;
}

static void __exit outside_today_exit(void)
{
	unregister_kretprobe(&half);
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	pr_info("entered %d, switched %d, followed %d, missed %d, strange %d\n", entered, switched,
		followed, half.nmissed, strange);
}

module_init(outside_today_init)
module_exit(outside_today_exit)
MODULE_DESCRIPTION("uses kprobes as in Linux 6.12");
MODULE_LICENSE("GPL");
