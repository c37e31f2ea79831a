// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arguments by name: show each file that is opened.
 *
 *	insmod jprobe_example.ko		all of them
 *	insmod jprobe_example.ko name=/etc/	only those with this in their name
 *
 * A jprobe's function is called with the arguments of the probed function. It
 * has the same prototype, and needs no knowledge of registers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

static char *name = "";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "show names that contain this (default: all)");

/* Known to fs/ alone. A prototype needs only its name. */
struct open_flags;

/*
 * Has the prototype of do_filp_open(), and runs before it, with preemption off:
 * it must not sleep. Its return value is ignored, and so is any change that it
 * makes to its parameters.
 */
static struct file *show_open(int dfd, struct filename *pathname, const struct open_flags *op)
{
	if (strstr(pathname->name, name))
		pr_info("%s (pid %d) opens pathname=\"%s\" dfd=%d\n", current->comm, current->pid,
			pathname->name, dfd);

	/* Ends the handler, at any call depth. The compiler does not know that. */
	jprobe_return();
	return NULL;
}

static struct jprobe probe = {
	.kp.symbol_name	= "do_filp_open",
	.entry		= JPROBE_ENTRY(show_open),
};

static int __init jprobe_example_init(void)
{
	int ret = register_jprobe(&probe);

	if (ret) {
		pr_err("no jprobe on %s: error %d\n", probe.kp.symbol_name, ret);
		return ret;
	}
	pr_info("showing arguments of %s at %pS\n", probe.kp.symbol_name, probe.kp.addr);
	return 0;
}

static void __exit jprobe_example_exit(void)
{
	/* Once this returns, show_open() is not running and will not run again. */
	unregister_jprobe(&probe);
	pr_info("jprobe on %s removed, %lu calls missed\n", probe.kp.symbol_name,
		probe.kp.nmissed);
}

module_init(jprobe_example_init)
module_exit(jprobe_example_exit)
MODULE_DESCRIPTION("shows arguments of a kernel function by name");
MODULE_LICENSE("GPL");
