/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TEST_HOTPLUG_H
#define _KERNEL_KPROBES_TEST_HOTPLUG_H
/*
 * For tests that take a CPU offline. Not every CPU can go, and none can go or come while a device
 * on a PCI bus is being probed, which may be so at boot.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/kconfig.h>

#define HOTPLUG_TRIES	250

/* The first CPU stays. It need not be number 0. */
static inline unsigned int hotplug_first(void)
{
	return cpumask_first(cpu_online_mask);
}

/* Another CPU; nr_cpu_ids or above if there is none that could go */
static inline unsigned int hotplug_candidate(void)
{
	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU))
		return nr_cpu_ids;
	return cpumask_any_but(cpu_online_mask, hotplug_first());
}

/* Does it again while it is busy. */
static inline int hotplug_try(int (*change)(unsigned int cpu), unsigned int cpu)
{
	unsigned int tries = 0;
	int err;

	while ((err = change(cpu)) == -EBUSY && ++tries < HOTPLUG_TRIES)
		msleep(20);
	return err;
}

#endif /* _KERNEL_KPROBES_TEST_HOTPLUG_H */
