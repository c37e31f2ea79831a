// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jprobes on arm64: where the arguments of a function are on the stack. The assembly that calls
 * a jprobe's function is in jprobe_call.S.
 */
#include <linux/kprobes_arch.h>
#include <linux/sched.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

unsigned long __kprobes arch_jprobe_args(struct pt_regs *regs, unsigned long *end)
{
	struct stack_info info = stackinfo_get_task(current);

	if (!stackinfo_on_stack(&info, regs->sp, 1))
		info = stackinfo_get_irq();
	*end = stackinfo_on_stack(&info, regs->sp, 1) ? info.high : 0;
	return regs->sp;
}
