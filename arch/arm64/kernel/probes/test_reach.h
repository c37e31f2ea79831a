/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_REACH_H
#define __ARM64_KERNEL_PROBES_TEST_REACH_H

#include <linux/kprobes.h>
#include <linux/math.h>
#include <linux/sizes.h>

#include "detour.h"

/* For kprobe_in_reach(): as if slots near the kernel's text, and the handlers, were too far away */
static inline bool only_modules_in_reach(unsigned long from, unsigned long to)
{
	long distance = to - from;

	if (is_kprobe_insn_slot(to) || to == (unsigned long)kprobe_detour_entry ||
	    to == (unsigned long)kprobe_tail_entry)
		return false;
	return abs(distance) < SZ_128M;
}

#endif /* __ARM64_KERNEL_PROBES_TEST_REACH_H */
