// SPDX-License-Identifier: GPL-2.0
/*
 * A module for the kprobes selftests to put probes on, from outside.
 *
 * Writing N to the parameter "calls" calls each function below N times, so a
 * test knows how many hits to expect; "middle" tells where there is an
 * instruction in the middle of one. The init function runs once.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/objtool.h>

/* Its address is data, which wants a word to objtool. */
extern u8 kprobes_victim_middle[] asm(".Lkprobes_victim_middle");

static noinline __noclone u32 kprobes_victim(u32 x)
{
	asm volatile(".Lkprobes_victim_middle: " ANNOTATE_NOENDBR "nop"
		     : "+r" (x) : : "memory");
	return x + 1;
}

/* Only here to be listed, and refused. */
static noinline __noclone u32 kprobes_victim_nokprobe(u32 x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return x + 1;
}

NOKPROBE_SYMBOL(kprobes_victim_nokprobe);

static unsigned int calls;

static int call_victims(const char *value, const struct kernel_param *kp)
{
	int ret = param_set_uint(value, kp);
	unsigned int i;

	for (i = 0; !ret && i < calls; i++) {
		if (kprobes_victim(i) != i + 1 || kprobes_victim_nokprobe(i) != i + 1)
			ret = -EIO;
	}
	return ret;
}

static const struct kernel_param_ops calls_ops = {
	.set = call_victims,
	.get = param_get_uint,
};

module_param_cb(calls, &calls_ops, &calls, 0600);
MODULE_PARM_DESC(calls, "write N to have each function called N times");

static int show_middle(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "kprobes_victim+0x%tx\n",
			  (void *)kprobes_victim_middle - (void *)kprobes_victim);
}

static const struct kernel_param_ops middle_ops = {
	.get = show_middle,
};

module_param_cb(middle, &middle_ops, NULL, 0400);
MODULE_PARM_DESC(middle, "symbol and offset of an instruction in the middle of a function");

static noinline __noclone int __init kprobes_victim_starts(int x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return x;
}

static int __init kprobes_victim_init(void)
{
	return kprobes_victim_starts(0);
}

static void __exit kprobes_victim_exit(void)
{
}

module_init(kprobes_victim_init)
module_exit(kprobes_victim_exit)
MODULE_DESCRIPTION("functions for the kprobes selftests to probe");
MODULE_LICENSE("GPL");
