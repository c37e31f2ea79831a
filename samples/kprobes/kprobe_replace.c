// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function in place of one of the kernel's: /proc/version says something else.
 *
 *	insmod kprobe_replace.ko		a text of the module's
 *	insmod kprobe_replace.ko text=NetHack	any other one
 *
 * A pre handler may set the instruction pointer and return 1: execution goes on
 * there. At a function's entry arguments and return address are in their places,
 * so it can go on in another function of the same prototype, which returns to
 * the caller. rmmod puts the kernel's own function back.
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
 * Runs instead of version_proc_show(), and in its context: this is no handler
 * any more. It must not sleep all the same; see kprobe_replace_exit().
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
	/* Once this returns no call is sent to the replacement any more. */
	unregister_kprobe(&probe);
	/*
	 * But tasks may be in there, or on their way from the handler, and have
	 * lost the processor. The module's code must stay until they are out of
	 * it. This waits until every task has given up the processor of its own
	 * accord, which the replacement never does, or was in user space.
	 */
	synchronize_rcu_tasks();
	pr_info("%s is the kernel's own again\n", probe.symbol_name);
}

module_init(kprobe_replace_init)
module_exit(kprobe_replace_exit)
MODULE_DESCRIPTION("replaces a kernel function while it is loaded");
MODULE_LICENSE("GPL");
