// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a function was given on the stack. Its assembly part is jprobe_call.S.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

unsigned long arch_jprobe_args(struct pt_regs *regs, unsigned long *end)
{
	/* Above the return address. */
	unsigned long args = regs->sp + sizeof(long);
	struct stack_info info;

	*end = 0;
	if (get_stack_info_noinstr((unsigned long *)regs->sp, current, &info))
		*end = (unsigned long)info.end;
	return args;
}

NOKPROBE_SYMBOL(arch_jprobe_args);
