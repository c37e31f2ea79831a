/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KPROBES_TESTS_MANY_H
#define _KPROBES_TESTS_MANY_H
/*
 * For tests that put probes on everything that can have one.
 */
#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>

#include "text.h"
#include "../../internal.h"

/* The handlers that count do as little as possible, and cannot be probed themselves. */
static DEFINE_PER_CPU(unsigned long, hits_before);
static DEFINE_PER_CPU(unsigned long, hits_after);

static int count_before(struct kprobe *kp, struct pt_regs *regs)
{
	this_cpu_inc(hits_before);
	return 0;
}

NOKPROBE_SYMBOL(count_before);

static void count_after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	this_cpu_inc(hits_after);
}

NOKPROBE_SYMBOL(count_after);

/* Returns how many hits there were, and begins to count anew. */
static inline unsigned long take_hits(unsigned long __percpu *counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		sum += *per_cpu_ptr(counter, cpu);
		*per_cpu_ptr(counter, cpu) = 0;
	}
	return sum;
}

/* Labels, static calls and calls of ftrace may be patched at any time. */
static inline bool others_patch(void *at)
{
	return kprobes_is_patched(at) || ftrace_text_reserved(at, at);
}

/*
 * Registers all of @probes that can be registered, and lists them in @registered, which
 * has room for all; @refused is called for each of the others. Returns how many are
 * registered. All are planted at once: one after the other, each would be slowed down
 * by those that the functions it needs have already.
 */
static inline unsigned int register_what_can_be(struct kprobe *probes, unsigned int num,
						struct kprobe **registered,
						void (*refused)(void *data), void *data)
{
	unsigned int i, live = 0;

	WARN_ON(kprobe_set_all_armed(false));
	for (i = 0; i < num; i++) {
		if (!register_kprobe(&probes[i]))
			registered[live++] = &probes[i];
		else if (refused)
			refused(data);
	}
	WARN_ON(kprobe_set_all_armed(true));
	return live;
}

#endif /* _KPROBES_TESTS_MANY_H */
