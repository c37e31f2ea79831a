/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NMIs that call the functions, too. A thread sees to it that there are some, on one processor
 * after the other. They are counted like all other calls: each is a hit or a miss.
 */
#ifndef _KPROBES_TESTS_STRESS_NMI_H
#define _KPROBES_TESTS_STRESS_NMI_H

#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/smp.h>

#include "test_kprobes_stress.h"

static atomic64_t nmis;

/* Can they be sent? */
static bool has_nmis;

static void __maybe_unused call_in_nmi(void)
{
	u32 number = atomic64_inc_return(&nmis);

	call_entry(number % ENTRIES, number & 8 ? -15 : number);
	call_lonely(number);
}

#if defined(CONFIG_X86)
/* Processors that were sent one, and have not noticed yet */
static struct cpumask nmi_wanted;

static int stress_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &nmi_wanted))
		return NMI_DONE;
	call_in_nmi();
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

/* Has a processor interrupted, and waits for some time that @bits say something of. */
static void nmi_provoke(unsigned int cpu, u32 bits)
{
	cpus_read_lock();
	if (cpu_online(cpu))
		nmi_send(cpu);
	cpus_read_unlock();
	usleep_range(2000, 2000 + bits % 16384);
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
#elif defined(CONFIG_ARM64) && defined(CONFIG_ARM_PMUV3)
/* A counter that has run out interrupts: by an NMI, where interrupts are masked by priority. */
static void stress_nmi(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs)
{
	if (in_nmi())
		call_in_nmi();
}

/* The processor may have gone in between, and has no counter then. */
static void nmi_provoke(unsigned int cpu, u32 bits)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_CPU_CYCLES,
		.size		= sizeof(attr),
		.sample_period	= 2000000 + (bits & 15) * 500000,
		.pinned		= 1,
	};
	struct perf_event *counter = perf_event_create_kernel_counter(&attr, cpu, NULL, stress_nmi,
								      NULL);

	usleep_range(20000, 40000);
	if (!IS_ERR(counter))
		perf_event_release_kernel(counter);
}

static void nmi_start(void)
{
	has_nmis = system_uses_irq_prio_masking();
}

/* The thread has released its last counter. */
static void nmi_stop(void)
{
}
#else
static void nmi_provoke(unsigned int cpu, u32 bits)
{
}

static void nmi_start(void)
{
}

static void nmi_stop(void)
{
}
#endif

static int nmi_run(void *data)
{
	struct worker *worker = data;

	while (!kthread_should_stop()) {
		u32 bits = prandom_u32_state(&worker->rnd);
		unsigned int cpu;

		cpus_read_lock();
		cpu = cpumask_nth(bits % num_online_cpus(), cpu_online_mask);
		cpus_read_unlock();
		nmi_provoke(cpu, bits >> 16);
	}
	return 0;
}

#endif /* _KPROBES_TESTS_STRESS_NMI_H */
