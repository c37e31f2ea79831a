/* SPDX-License-Identifier: GPL-2.0-only */
/* For suites that are built in: what can be made to happen, or be watched, around the core. */
#ifndef _KPROBES_TESTS_CORE_H
#define _KPROBES_TESTS_CORE_H

#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/kprobes.h>

#include "report.h"

/* For cases in which it is told that somebody unregisters where nobody can sleep. */
static inline void need_counted_preemption(struct kunit *test)
{
	need_warnings(test);
	if (!ARCH_KPROBE_STATELESS || !IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "nobody knows that preemption is off");
}

/*
 * A task that reads under RCU until a moment after it was told to end. Who waits for a grace period
 * waits for that. If nothing can preempt it, it ends by itself before anybody can tell it to.
 */
extern bool reader_ended;

/*
 * When this returns, the task is reading; or it has ended, where it could not be preempted. Unless
 * NULL, it has one of these calls end while it reads.
 */
void reader_start(struct kunit *test, atomic_t *calls);
void reader_ends_soon(void);

/* Looks for these words in the kernel's log until the case ends. */
void log_watch(struct kunit *test, const char *words);

/* How often they have been there so far */
unsigned int log_times(void);

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_FUNCTION_ERROR_INJECTION)
#define CAN_FAIL_FTRACE

/*
 * How often ftrace has to fail from now on to hook functions, and to take hooks off, as it does
 * without memory
 */
extern unsigned int ftrace_failures, ftrace_removals_fail;

/* Prepares for failures, until the test case ends. The case says how many there are to be. */
void have_ftrace_fail(struct kunit *test);
#endif

/*
 * For tests that take a CPU offline. Not every CPU can go, and none can go or come while a device
 * on a PCI bus is being probed, which may be so at boot.
 */
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

#endif /* _KPROBES_TESTS_CORE_H */
