/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_IDLE_H
#define __ARM64_KERNEL_PROBES_IDLE_H
/*
 * Hits on a CPU that RCU takes for idle. cpu_suspend() and PSCI run code there that can be probed
 * like any other. The entry code of an exception lets RCU watch. Where handlers are called
 * without an exception, their callers have to do so.
 */
#include <linux/compiler.h>
#include <linux/context_tracking.h>
#include <linux/context_tracking_irq.h>
#include <asm/ptrace.h>

/*
 * Call with preemption off. Interrupts are masked wherever RCU does not watch, so few hits have
 * to look any further.
 */
static __always_inline bool kprobe_on_idle_cpu(struct pt_regs *regs)
{
	return unlikely(!interrupts_enabled(regs)) && unlikely(!rcu_is_watching_curr_cpu());
}

#endif /* __ARM64_KERNEL_PROBES_IDLE_H */
