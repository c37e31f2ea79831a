// SPDX-License-Identifier: GPL-2.0
/*
 * A module that is removed while its handlers run: it has probes of all kinds on a
 * function that is called all the time.
 *
 *	insmod test_kprobes_visitor.ko target=kprobes_lonely_traced
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/poison.h>

static char *target = "";
module_param(target, charp, 0444);
MODULE_PARM_DESC(target, "the function, which takes a number and returns one");

static bool here = true;

/* Takes so long that a handler is likely to be running when the probes go. */
static void visit(void)
{
	WARN_ON_ONCE(!READ_ONCE(here));
	udelay(20);
	WARN_ON_ONCE(!READ_ONCE(here));
}

static int visit_pre(struct kprobe *p, struct pt_regs *regs)
{
	visit();
	return 0;
}

static void visit_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	visit();
}

static int visit_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	visit();
	return 0;
}

static struct kprobe kprobe = {
	.pre_handler = visit_pre,
	.post_handler = visit_post,
};

static struct kretprobe kretprobe = {
	.handler = visit_return,
	.entry_handler = visit_return,
};

static void forget(void *probe, size_t size)
{
	memset(probe, POISON_FREE, size);
}

#ifdef CONFIG_JPROBES
static u32 visit_jprobe(u32 x)
{
	visit();
	jprobe_return();
	return x;
}

static struct jprobe jprobe = {
	.entry = JPROBE_ENTRY(visit_jprobe),
};

static int jprobe_comes(void)
{
	jprobe.kp.symbol_name = target;
	return register_jprobe(&jprobe);
}

static void jprobe_goes(void)
{
	unregister_jprobe(&jprobe);
	forget(&jprobe, sizeof(jprobe));
}
#else
static int jprobe_comes(void)
{
	return 0;
}

static void jprobe_goes(void)
{
}
#endif

static void kprobe_goes(void)
{
	unregister_kprobe(&kprobe);
	forget(&kprobe, sizeof(kprobe));
}

static void kretprobe_goes(void)
{
	unregister_kretprobe(&kretprobe);
	forget(&kretprobe, sizeof(kretprobe));
}

static int __init kprobes_visitor_init(void)
{
	int ret;

	kprobe.symbol_name = target;
	kretprobe.kp.symbol_name = target;
	ret = register_kprobe(&kprobe);
	if (ret)
		return ret;
	ret = register_kretprobe(&kretprobe);
	if (ret)
		goto out_kprobe;
	ret = jprobe_comes();
	if (ret)
		goto out_kretprobe;
	return 0;

out_kretprobe:
	kretprobe_goes();
out_kprobe:
	kprobe_goes();
	return ret;
}

static void __exit kprobes_visitor_exit(void)
{
	jprobe_goes();
	kretprobe_goes();
	kprobe_goes();
	WRITE_ONCE(here, false);
}

module_init(kprobes_visitor_init)
module_exit(kprobes_visitor_exit)
MODULE_DESCRIPTION("probes that go with their module");
MODULE_LICENSE("GPL");
