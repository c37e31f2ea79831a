/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DETOUR_TO_H
#define __ARM64_KERNEL_PROBES_DETOUR_TO_H

/*
 * log2 of how many calls of kprobe_detour_leave() can be under way on a CPU. Before the handler of
 * its BRK is called, tracers may be told of the exception, and that interrupts are masked; and each
 * of two events of the firmware may come on top of that.
 */
#define DETOUR_LEAVES_SHIFT	4

/* log2 of the size of a struct kprobe_destination */
#define DETOUR_TO_SHIFT		5

/* Where struct kprobe_destinations has @last */
#define DETOUR_TO_LAST		(1 << (DETOUR_LEAVES_SHIFT + DETOUR_TO_SHIFT))

#endif /* __ARM64_KERNEL_PROBES_DETOUR_TO_H */
