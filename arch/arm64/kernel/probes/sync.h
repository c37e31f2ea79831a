/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_SYNC_H
#define __ARM64_KERNEL_PROBES_SYNC_H
/*
 * What a CPU has fetched, it may execute until it synchronizes its context, although the text has
 * changed (Arm ARM B2.2.5, concurrent modification and execution of instructions).
 */
#include <linux/smp.h>
#include <asm/barrier.h>

static inline void kprobe_sync_cpu(void *unused)
{
	isb();
}

/*
 * On return all CPUs have fetched anew what they execute. An interrupt alone would not do: one that
 * was under way before the text changed may serve this call, too.
 */
static inline void kprobe_sync_cpus(void)
{
	on_each_cpu(kprobe_sync_cpu, NULL, 1);
}

#endif /* __ARM64_KERNEL_PROBES_SYNC_H */
