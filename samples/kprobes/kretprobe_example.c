// SPDX-License-Identifier: GPL-2.0-only
/*
 * Show what a function returned, and how long it took.
 *
 *	insmod kretprobe_example.ko			kernel_clone(), which forks
 *	insmod kretprobe_example.ko func=vfs_unlink	another function
 *
 * Not one that reads the kernel log, such as vfs_read(): if a daemon reads the log
 * all the time, each line would lead to another.
 *
 * A return probe has two handlers. One runs at the entry, and can store data for
 * that call. The other one runs when the call returns, and gets the data back.
 * Any number of calls can be under way at the same time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

static char *func = "kernel_clone";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "kernel function to time (default: kernel_clone)");

/* There is one of these for each call that has not returned yet. */
struct call {
	u64 entered;
};

static int function_enters(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	/* Kernel threads are not of interest: their returns are skipped. */
	if (!current->mm)
		return 1;
	/* ktime_get() would wait for ever in a function that the clock's own update calls. */
	call->entered = ktime_get_mono_fast_ns();
	return 0;
}

static int function_returns(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;
	s64 ns = ktime_get_mono_fast_ns() - call->entered;

	pr_info("%s (pid %d): %s returned %ld after %lld ns\n", current->comm, current->pid,
		func, (long)regs_return_value(regs), ns);
	return 0;
}

static struct kretprobe probe = {
	.entry_handler	= function_enters,
	.handler	= function_returns,
	.data_size	= sizeof(struct call),
};

static int __init kretprobe_example_init(void)
{
	int ret;

	probe.kp.symbol_name = func;
	ret = register_kretprobe(&probe);
	if (ret) {
		pr_err("no return probe on %s: error %d\n", func, ret);
		return ret;
	}
	pr_info("timing %s at %pS\n", func, probe.kp.addr);
	return 0;
}

static void __exit kretprobe_example_exit(void)
{
	unregister_kretprobe(&probe);
	/* Calls whose entry was missed are counted in kp, those whose return was in probe. */
	pr_info("return probe on %s removed, %lu calls missed\n", func,
		probe.kp.nmissed + probe.nmissed);
}

module_init(kretprobe_example_init)
module_exit(kretprobe_example_exit)
MODULE_DESCRIPTION("shows return value and duration of a kernel function");
MODULE_LICENSE("GPL");
