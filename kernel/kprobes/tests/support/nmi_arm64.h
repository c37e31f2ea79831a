/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NMIs on arm64, for suites that are built in: an interrupt of the processor itself, which no
 * device has, and which the interrupt controller does not mask. There are none without
 * irqchip.gicv3_pseudo_nmi=1.
 */
#ifndef _KPROBES_TESTS_NMI_ARM64_H
#define _KPROBES_TESTS_NMI_ARM64_H

#include <linux/compiler.h>
#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/of.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <dt-bindings/interrupt-controller/arm-gic.h>

#define KPROBES_HAVE_NMI	1
#define KPROBES_TRAP_MASKS_NMI	true

/* The timers and the PMU have other ones. */
#define KPROBES_NMI_PPI		3

static kprobes_work_t kprobes_nmi_work;
static unsigned int kprobes_nmi_irq;
static DEFINE_PER_CPU(int, kprobes_nmi_cookie);

static inline bool kprobes_nmi_possible(void)
{
	return system_uses_irq_prio_masking();
}

static inline irqreturn_t kprobes_nmi(int irq, void *cookie)
{
	kprobes_work_t work = READ_ONCE(kprobes_nmi_work);

	WRITE_ONCE(kprobes_nmi_work, NULL);
	if (work)
		work();
	return IRQ_HANDLED;
}

static inline void kprobes_nmi_switch_on(void *unused)
{
	if (!prepare_percpu_nmi(kprobes_nmi_irq))
		enable_percpu_nmi(kprobes_nmi_irq, IRQ_TYPE_NONE);
}

static inline void kprobes_nmi_switch_off(void *unused)
{
	disable_percpu_nmi(kprobes_nmi_irq);
	teardown_percpu_nmi(kprobes_nmi_irq);
}

static inline unsigned int kprobes_nmi_map(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, "arm,gic-v3");
	struct irq_fwspec spec = {
		.fwnode = of_fwnode_handle(node),
		.param_count = 3,
		.param = { GIC_PPI, KPROBES_NMI_PPI, IRQ_TYPE_EDGE_RISING },
	};
	unsigned int irq = node ? irq_create_fwspec_mapping(&spec) : 0;

	of_node_put(node);
	return irq;
}

static inline int kprobes_nmi_setup(void)
{
	int err;

	if (!kprobes_nmi_possible())
		return 0;
	kprobes_nmi_irq = kprobes_nmi_map();
	if (!kprobes_nmi_irq)
		return -ENODEV;
	err = request_percpu_nmi(kprobes_nmi_irq, kprobes_nmi, "kprobes_test", &kprobes_nmi_cookie);
	if (err) {
		irq_dispose_mapping(kprobes_nmi_irq);
		return err;
	}
	on_each_cpu(kprobes_nmi_switch_on, NULL, true);
	return 0;
}

static inline void kprobes_nmi_teardown(void)
{
	if (!kprobes_nmi_possible())
		return;
	on_each_cpu(kprobes_nmi_switch_off, NULL, true);
	free_percpu_nmi(kprobes_nmi_irq, &kprobes_nmi_cookie);
	irq_dispose_mapping(kprobes_nmi_irq);
}

/* Sends this processor an NMI that does @work. Returns false if that is not possible. */
static inline bool kprobes_raise_nmi(kprobes_work_t work)
{
	if (!kprobes_nmi_possible())
		return false;
	WRITE_ONCE(kprobes_nmi_work, work);
	return !irq_set_irqchip_state(kprobes_nmi_irq, IRQCHIP_STATE_PENDING, true);
}

#endif /* _KPROBES_TESTS_NMI_ARM64_H */
