// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a function was given on the stack. Its assembly part is jprobe_call_*.S.
 */
#include <linux/align.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#ifdef CONFIG_X86_64
static __always_inline unsigned long stack_end(unsigned long sp)
{
	struct stack_info info;

	if (!get_stack_info_noinstr((unsigned long *)sp, current, &info))
		return 0;
	return (unsigned long)info.end;
}
#else
/* Tasks' and interrupts' are aligned; no function of a double fault is followed. */
static __always_inline unsigned long stack_end(unsigned long sp)
{
	return ALIGN(sp + 1, THREAD_SIZE);
}
#endif

unsigned long arch_jprobe_args(struct pt_regs *regs, unsigned long *end)
{
	*end = stack_end(regs->sp);
	/* Above the return address. */
	return regs->sp + sizeof(long);
}

NOKPROBE_SYMBOL(arch_jprobe_args);
