// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jprobes on x86: where the arguments of a function are on the stack. The assembly that calls
 * a jprobe's function is in jprobe_call.S.
 */
#include <linux/align.h>
#include <linux/kprobes_arch.h>
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
/* The stacks of tasks and interrupts are aligned. No jprobe runs on the double fault stack. */
static __always_inline unsigned long stack_end(unsigned long sp)
{
	return ALIGN(sp + 1, THREAD_SIZE);
}
#endif

unsigned long __kprobes arch_jprobe_args(struct pt_regs *regs, unsigned long *end)
{
	*end = stack_end(regs->sp);
	/* Above the return address. */
	return regs->sp + sizeof(long);
}
