// SPDX-License-Identifier: GPL-2.0
/*
 * As modules were written for Linux 2.6: a kprobe with a fault handler, jprobes
 * by address and by name, and a return probe with a limit, all but one of them
 * on the same function.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

static int before, behind, faults, unreadable, returned, wrong;

/* More arguments than there are registers for them */
static noinline __noclone long target(long a, long b, long c, long d, long e,
				      long f, long g, long h, long i, long j)
{
	barrier();
	return a + b + c + d + e + f + g + h + i + j;
}

static int target_pre(struct kprobe *p, struct pt_regs *regs)
{
	long word;

	before++;
	/* No process has anything there. */
	pagefault_disable();
	if (__get_user(word, (long __user *)8))
		unreadable++;
	pagefault_enable();
	return 0;
}

static void target_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	behind++;
}

/* Looks on: the kernel knows what to do about it. */
static int target_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	faults++;
	return 0;
}

static struct kprobe kp = {
	.pre_handler	= target_pre,
	.post_handler	= target_post,
	.fault_handler	= target_fault,
};

static long jtarget(long a, long b, long c, long d, long e,
		    long f, long g, long h, long i, long j)
{
	pr_info("arguments %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld\n",
		a, b, c, d, e, f, g, h, i, j);
	jprobe_return();
	return 0;
}

static struct jprobe jp_target = {
	.entry = (kprobe_opcode_t *)jtarget,
};

static void jdo_exit(long code)
{
	if (code)
		pr_info("%s exits, code %ld\n", current->comm, code);
	jprobe_return();
}

static struct jprobe jp_exit = {
	.kp.symbol_name	= "do_exit",
	.entry		= (kprobe_opcode_t *)jdo_exit,
};

static int target_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returned++;
	if (regs_return_value(regs) != 55)
		wrong++;
	return 0;
}

static struct kretprobe rp = {
	.handler	= target_return,
	.maxactive	= 4,
};

static int __init outside_old_init(void)
{
	int ret, i;

	kp.addr = (kprobe_opcode_t *)target;
	ret = register_kprobe(&kp);
	if (ret < 0)
		return ret;
	jp_target.kp.addr = (kprobe_opcode_t *)target;
	ret = register_jprobe(&jp_target);
	if (ret < 0)
		goto no_jprobe;
	ret = register_jprobe(&jp_exit);
	if (ret < 0)
		goto no_exit;
	rp.kp.addr = (kprobe_opcode_t *)target;
	ret = register_kretprobe(&rp);
	if (ret < 0)
		goto no_kretprobe;
	for (i = 0; i < 3; i++)
		if (target(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) != 55)
			wrong++;
	return 0;

no_kretprobe:
	unregister_jprobe(&jp_exit);
no_exit:
	unregister_jprobe(&jp_target);
no_jprobe:
	unregister_kprobe(&kp);
	return ret;
}

static void __exit outside_old_exit(void)
{
	unregister_kretprobe(&rp);
	unregister_jprobe(&jp_exit);
	unregister_jprobe(&jp_target);
	unregister_kprobe(&kp);
	pr_info("before %d, behind %d, faults %d, unreadable %d, returned %d, missed %d, wrong %d\n",
		before, behind, faults, unreadable, returned, rp.nmissed, wrong);
}

module_init(outside_old_init);
module_exit(outside_old_exit);
MODULE_DESCRIPTION("uses kprobes as in Linux 2.6");
MODULE_LICENSE("GPL");
