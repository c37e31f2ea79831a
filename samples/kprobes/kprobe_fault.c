// SPDX-License-Identifier: GPL-2.0-only
/*
 * A handler that touches a bad address, and survives.
 *
 *	insmod kprobe_fault.ko					a NULL pointer
 *	insmod kprobe_fault.ko address=0xdead000000000000	another address
 *	insmod kprobe_fault.ko symbol=vfs_unlink		a probe on another function
 *
 * A fault in a probe's handler, or in a function that it calls, first goes to the
 * probe's fault handler. If that returns 1, execution goes on at the instruction
 * pointer that it has set. If it returns 0, the kernel treats the fault as it does
 * elsewhere, which here would mean an oops.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "careless.h"

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "kernel function to probe (default: kernel_clone)");

static ulong address;
module_param(address, ulong, 0444);
MODULE_PARM_DESC(address, "where the handler reads a word (default: 0)");

static atomic_t survived = ATOMIC_INIT(0);

static int read_word(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long word;
	unsigned int fault = careless_read(address, &word);

	if (fault)
		pr_info("%s entered by %s (pid %d): survived fault 0x%x at address 0x%lx\n",
			p->symbol_name, current->comm, current->pid, fault, address);
	else
		pr_info("%s entered by %s (pid %d): 0x%lx is at address 0x%lx\n",
			p->symbol_name, current->comm, current->pid, word, address);
	return 0;
}

/*
 * @regs are the registers at the fault, in careless_read(), and may be changed.
 * @trapnr is how the processor tells faults apart: 14 for a page fault on x86, the
 * syndrome on arm64.
 */
static int survive(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	if (instruction_pointer(regs) != (unsigned long)careless_load)
		return 0;
	atomic_inc(&survived);
	regs_set_return_value(regs, trapnr);
	instruction_pointer_set(regs, (unsigned long)careless_done);
	return 1;
}

static struct kprobe probe = {
	.pre_handler	= read_word,
	.fault_handler	= survive,
};

static int __init kprobe_fault_init(void)
{
	int ret;

	probe.symbol_name = symbol;
	ret = register_kprobe(&probe);
	if (ret) {
		pr_err("no probe on %s: error %d\n", symbol, ret);
		return ret;
	}
	pr_info("probing %s at %pS\n", symbol, probe.addr);
	return 0;
}

static void __exit kprobe_fault_exit(void)
{
	unregister_kprobe(&probe);
	pr_info("probe on %s removed, %d faults survived\n", symbol, atomic_read(&survived));
}

module_init(kprobe_fault_init)
module_exit(kprobe_fault_exit)
MODULE_DESCRIPTION("touches a bad address in a handler");
MODULE_LICENSE("GPL");
