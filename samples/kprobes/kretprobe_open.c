// SPDX-License-Identifier: GPL-2.0-only
/*
 * Show each file that is opened, or why it could not be.
 *
 *	insmod kretprobe_open.ko		all of them
 *	insmod kretprobe_open.ko name=/etc/	only those with this in their name
 *
 * The entry handler of a return probe sees the arguments, and the return handler
 * the result. The return handler only runs for calls that the entry handler wants.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

static char *name = "";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "show names that contain this (default: all)");

/* The caller owns the name, and keeps it until the call has returned. */
struct call {
	struct filename *pathname;
};

/*
 * The name is the second argument of do_filp_open(); the architecture knows the
 * register. If this returns non-zero, the return handler does not run.
 */
static int function_enters(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	call->pathname = (struct filename *)regs_get_kernel_argument(regs, 1);
	return !strstr(call->pathname->name, name);
}

static int function_returns(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;
	struct file *file = (struct file *)regs_return_value(regs);

	if (IS_ERR(file))
		pr_info("%s (pid %d) could not open \"%s\": error %ld\n", current->comm,
			current->pid, call->pathname->name, PTR_ERR(file));
	else
		pr_info("%s (pid %d) opened \"%s\"\n", current->comm, current->pid,
			call->pathname->name);
	return 0;
}

static struct kretprobe probe = {
	.kp.symbol_name	= "do_filp_open",
	.entry_handler	= function_enters,
	.handler	= function_returns,
	.data_size	= sizeof(struct call),
};

static int __init kretprobe_open_init(void)
{
	int ret = register_kretprobe(&probe);

	if (ret) {
		pr_err("no return probe on %s: error %d\n", probe.kp.symbol_name, ret);
		return ret;
	}
	pr_info("watching %s at %pS\n", probe.kp.symbol_name, probe.kp.addr);
	return 0;
}

static void __exit kretprobe_open_exit(void)
{
	unregister_kretprobe(&probe);
	/* Calls whose entry was missed are counted in kp, those whose return was in probe. */
	pr_info("return probe on %s removed, %lu calls missed\n", probe.kp.symbol_name,
		probe.kp.nmissed + probe.nmissed);
}

module_init(kretprobe_open_init)
module_exit(kretprobe_open_exit)
MODULE_DESCRIPTION("shows which files are opened, and which cannot be");
MODULE_LICENSE("GPL");
