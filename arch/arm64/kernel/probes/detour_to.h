/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DETOUR_TO_H
#define __ARM64_KERNEL_PROBES_DETOUR_TO_H

/*
 * Which of a CPU's struct kprobe_destination is used: how many NMIs there are in the
 * preemption count, one by a masked priority and two of the firmware's at the most.
 */
#define DETOUR_NMI_SHIFT	20
#define DETOUR_NMI_BITS		2

/* And its size */
#define DETOUR_TO_SHIFT		4

#endif /* __ARM64_KERNEL_PROBES_DETOUR_TO_H */
