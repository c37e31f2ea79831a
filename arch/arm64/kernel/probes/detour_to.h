/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_DETOUR_TO_H
#define __ARM64_KERNEL_PROBES_DETOUR_TO_H

/*
 * The index of the struct kprobe_destination that is used: the number of NMIs in the preemption
 * count, NMI_SHIFT and NMI_BITS of C. Beside a pseudo-NMI and two events of the firmware, each
 * debug exception counts as one while it tells RCU that it begins or ends.
 */
#define DETOUR_NMI_SHIFT	20
#define DETOUR_NMI_BITS		4

/* log2 of the size of a struct kprobe_destination */
#define DETOUR_TO_SHIFT		5

#endif /* __ARM64_KERNEL_PROBES_DETOUR_TO_H */
