// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replace a kernel function: make /proc/version say something else.
 *
 *	insmod kprobe_replace.ko		says the module's own message
 *	insmod kprobe_replace.ko text=NetHack	says another message
 *
 * If a pre handler sets the instruction pointer and returns 1, execution goes on
 * there. At a function's entry, the arguments and the return address are where
 * the caller has put them. So execution can go on in another function of the same
 * prototype, which returns to the caller. rmmod restores the kernel's function.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>

static char *text = "whatever kprobe_replace has to say";
module_param(text, charp, 0444);
MODULE_PARM_DESC(text, "what /proc/version says");

/*
 * Runs in place of version_proc_show(), in the same context: this is not a
 * handler. It must not sleep all the same; see kprobe_replace_exit().
 */
static int version_replacement(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n", text);
	return 0;
}

static int go_elsewhere(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)version_replacement);
	return 1;
}

static struct kprobe probe = {
	.symbol_name	= "version_proc_show",
	.pre_handler	= go_elsewhere,
};

static int __init kprobe_replace_init(void)
{
	int ret = register_kprobe(&probe);

	if (ret) {
		pr_err("%s cannot be replaced: error %d\n", probe.symbol_name, ret);
		return ret;
	}
	pr_info("%ps runs in place of %ps\n", version_replacement, probe.addr);
	return 0;
}

static void __exit kprobe_replace_exit(void)
{
	/* Once this returns, no new call goes to the replacement. */
	unregister_kprobe(&probe);
	/*
	 * But a task may have been preempted in the replacement, or on its way
	 * there. The module's code must stay until all tasks are out of it. This
	 * waits until each task has either scheduled voluntarily, which the
	 * replacement never does, or been in user space.
	 */
	synchronize_rcu_tasks();
	pr_info("%s is the kernel's own again\n", probe.symbol_name);
}

module_init(kprobe_replace_init)
module_exit(kprobe_replace_exit)
MODULE_DESCRIPTION("replaces a kernel function while it is loaded");
MODULE_LICENSE("GPL");
