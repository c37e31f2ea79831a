/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NMIs that call the functions, too. A thread sends them, to one processor after the
 * other. They are counted like all other calls: each is a hit or a miss.
 */
#ifndef _LIB_TEST_KPROBES_STRESS_NMI_H
#define _LIB_TEST_KPROBES_STRESS_NMI_H

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/smp.h>

#include "test_kprobes_stress.h"

static atomic64_t nmis;

/* Can they be sent? */
static bool has_nmis;

#ifdef KPROBES_HAVE_NMI
/* Processors that were sent one, and have not noticed yet */
static struct cpumask nmi_wanted;

static int stress_nmi(unsigned int type, struct pt_regs *regs)
{
	u32 number;

	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &nmi_wanted))
		return NMI_DONE;
	number = atomic64_inc_return(&nmis);
	call_entry(number % ENTRIES, number & 8 ? -15 : number);
	call_lonely(number);
	return NMI_HANDLED;
}

/* One that nobody expects is reported. So a processor gets the next one when it has noticed. */
static void nmi_send(unsigned int cpu)
{
	unsigned int tries;

	cpumask_set_cpu(cpu, &nmi_wanted);
	preempt_disable();
	__apic_send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
	preempt_enable();
	for (tries = 0; tries < 1000 && cpumask_test_cpu(cpu, &nmi_wanted); tries++)
		usleep_range(50, 100);
}

static int nmi_run(void *data)
{
	struct worker *worker = data;

	while (!kthread_should_stop()) {
		u32 bits = prandom_u32_state(&worker->rnd);

		cpus_read_lock();
		nmi_send(cpumask_nth(bits % num_online_cpus(), cpu_online_mask));
		cpus_read_unlock();
		usleep_range(2000, 2000 + (bits >> 16) % 16384);
	}
	return 0;
}

static void nmi_start(void)
{
	has_nmis = boot_cpu_has(X86_FEATURE_APIC) &&
		   !register_nmi_handler(NMI_LOCAL, stress_nmi, 0, "kprobes_stress");
}

/* When this returns, none is under way. */
static void nmi_stop(void)
{
	if (has_nmis)
		unregister_nmi_handler(NMI_LOCAL, "kprobes_stress");
}
#else
static inline int nmi_run(void *data)
{
	return 0;
}

static inline void nmi_start(void)
{
}

static inline void nmi_stop(void)
{
}
#endif

#endif /* _LIB_TEST_KPROBES_STRESS_NMI_H */
