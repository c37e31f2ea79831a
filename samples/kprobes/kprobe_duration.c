// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pre handler and a post handler that work together: how long does an instruction take?
 *
 *	insmod kprobe_duration.ko symbol=kernel_clone offset=0x2a
 *
 * The offset is that of an instruction, as for kprobe_offset. When the module is removed, it
 * tells how often the instruction was executed, and the longest time. That includes the
 * handlers' own, and that of interrupts and of other tasks which ran meanwhile.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "carry.h"

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "kernel function to probe (default: kernel_clone)");

static uint offset;
module_param(offset, uint, 0444);
MODULE_PARM_DESC(offset, "bytes from the start of the function (default: 0)");

static atomic_t times;
static atomic64_t longest;

static int note_begin(struct kprobe *p, struct pt_regs *regs)
{
	carry_leave(ktime_get_mono_fast_ns());
	return 0;
}

static void note_end(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	s64 took, before = atomic64_read(&longest);
	u64 begin;

	if (!carry_take(&begin))
		return;
	took = ktime_get_mono_fast_ns() - begin;
	while (took > before && !atomic64_try_cmpxchg(&longest, &before, took))
		;
	atomic_inc(&times);
}

static struct kprobe probe = {
	.pre_handler = note_begin,
	.post_handler = note_end,
};

static int __init kprobe_duration_init(void)
{
	int ret;

	probe.symbol_name = symbol;
	probe.offset = offset;
	ret = register_kprobe(&probe);
	if (ret) {
		pr_err("no probe at %s+0x%x: error %d\n", symbol, offset, ret);
		return ret;
	}
	pr_info("probing %pS\n", probe.addr);
	return 0;
}

static void __exit kprobe_duration_exit(void)
{
	unregister_kprobe(&probe);
	pr_info("%d times at %s+0x%x, %lld ns at the most\n", atomic_read(&times), symbol, offset,
		(s64)atomic64_read(&longest));
}

module_init(kprobe_duration_init)
module_exit(kprobe_duration_exit)
MODULE_DESCRIPTION("measures how long an instruction takes");
MODULE_LICENSE("GPL");
