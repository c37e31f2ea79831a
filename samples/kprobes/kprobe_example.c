// SPDX-License-Identifier: GPL-2.0-only
/*
 * A first probe: show the processor's registers each time a kernel function
 * is entered.
 *
 *	insmod kprobe_example.ko			kernel_clone(), which forks
 *	insmod kprobe_example.ko symbol=vfs_unlink	another function
 *
 * Every hit is one line in the kernel log. While the module is loaded,
 * /sys/kernel/debug/kprobes/list shows the probe; rmmod removes it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "kernel function to probe (default: kernel_clone)");

/*
 * Runs before the first instruction of the function, with preemption off: it
 * must not sleep. Returning 0 lets the function go on.
 */
static int show_registers(struct kprobe *p, struct pt_regs *regs)
{
#if defined(CONFIG_X86_64)
	pr_info("%s entered by %s (pid %d): sp=%lx flags=%lx rdi=%lx rsi=%lx rdx=%lx\n",
		p->symbol_name, current->comm, current->pid, regs->sp, regs->flags, regs->di,
		regs->si, regs->dx);
#elif defined(CONFIG_X86_32)
	pr_info("%s entered by %s (pid %d): sp=%lx flags=%lx eax=%lx edx=%lx ecx=%lx\n",
		p->symbol_name, current->comm, current->pid, regs->sp, regs->flags, regs->ax,
		regs->dx, regs->cx);
#elif defined(CONFIG_ARM64)
	pr_info("%s entered by %s (pid %d): sp=%llx pstate=%llx x0=%llx x1=%llx x2=%llx\n",
		p->symbol_name, current->comm, current->pid, regs->sp, regs->pstate, regs->regs[0],
		regs->regs[1], regs->regs[2]);
#else
	pr_info("%s entered by %s (pid %d): stack pointer %lx\n",
		p->symbol_name, current->comm, current->pid, kernel_stack_pointer(regs));
#endif
	return 0;
}

static struct kprobe probe = {
	.pre_handler = show_registers,
};

static int __init kprobe_example_init(void)
{
	int ret;

	probe.symbol_name = symbol;
	ret = register_kprobe(&probe);
	if (ret) {
		pr_err("no probe on %s: error %d\n", symbol, ret);
		return ret;
	}
	/* The core has looked up the symbol and filled in the address. */
	pr_info("probing %s at %pS\n", symbol, probe.addr);
	return 0;
}

static void __exit kprobe_example_exit(void)
{
	/* Once this returns, the handler is not running and will not run again. */
	unregister_kprobe(&probe);
	pr_info("probe on %s removed, %lu hits missed\n", symbol, probe.nmissed);
}

module_init(kprobe_example_init)
module_exit(kprobe_example_exit)
MODULE_DESCRIPTION("shows registers where a kernel function is entered");
MODULE_LICENSE("GPL");
