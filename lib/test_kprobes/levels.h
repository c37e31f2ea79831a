/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work that is done in a context of some kind on top of this one, for suites that
 * are built in; and whose handler is running in a context.
 */
#ifndef _LIB_TEST_KPROBES_LEVELS_H
#define _LIB_TEST_KPROBES_LEVELS_H

#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>

#include "targets.h"

enum level { TASK, SOFTIRQ, HARDIRQ, NMI, LEVELS };

static const char * const level_names[LEVELS] = { "task", "softirq", "interrupt", "NMI" };

#define HAVE_NMI	__is_defined(KPROBES_HAVE_NMI)

/* Whether there is such a context; softirqs are tasks in a real-time kernel. */
static inline bool level_exists(enum level level)
{
	if (level == SOFTIRQ)
		return !IS_ENABLED(CONFIG_PREEMPT_RT);
	return level != NMI || HAVE_NMI;
}

/* What is to be done in a context once that arrives */
static struct visit {
	kprobes_work_t work;
	bool done;
} visits[LEVELS];

static inline void visit_arrives(enum level level)
{
	kprobes_work_t work = READ_ONCE(visits[level].work);

	if (!work)
		return;
	WRITE_ONCE(visits[level].work, NULL);
	work();
	WRITE_ONCE(visits[level].done, true);
}

static inline void visit_in_softirq(struct tasklet_struct *unused)
{
	visit_arrives(SOFTIRQ);
}

static inline void visit_in_hardirq(struct irq_work *unused)
{
	visit_arrives(HARDIRQ);
}

static inline void visit_in_nmi(void)
{
	visit_arrives(NMI);
}

static DECLARE_TASKLET(softirq_visit, visit_in_softirq);
static struct irq_work hardirq_visit = IRQ_WORK_INIT_HARD(visit_in_hardirq);

static inline bool visit_raise_softirq(void)
{
	if (in_interrupt() || irqs_disabled())
		return false;
	local_bh_disable();
	tasklet_schedule(&softirq_visit);
	local_bh_enable();
	return true;
}

/* Have what is expected come; false if it cannot. */
static inline bool visit_raise(enum level level)
{
	switch (level) {
	case SOFTIRQ:
		return visit_raise_softirq();
	case HARDIRQ:
		return irq_work_queue(&hardirq_visit);
	case NMI:
		return kprobes_raise_nmi(visit_in_nmi);
	default:
		visit_arrives(level);
		return true;
	}
}

static inline void visit_expect(enum level level, kprobes_work_t work)
{
	visits[level].done = false;
	WRITE_ONCE(visits[level].work, work);
}

static inline bool visit_wait(enum level level)
{
	unsigned int us;

	for (us = 0; us < 100000 && !READ_ONCE(visits[level].done); us++)
		udelay(1);
	/* One that comes too late has nothing to do any more. */
	WRITE_ONCE(visits[level].work, NULL);
	return READ_ONCE(visits[level].done);
}

/* Do @work in a context of that kind on top of this one; false if none came. */
static inline bool level_run(enum level level, kprobes_work_t work)
{
	visit_expect(level, work);
	if (visit_raise(level))
		return visit_wait(level);
	WRITE_ONCE(visits[level].work, NULL);
	return false;
}

/* The same from a handler, for which a trap may have masked interrupts. */
static inline bool level_run_unmasked(enum level level, kprobes_work_t work)
{
	bool masked = irqs_disabled(), done;

	if (masked)
		local_irq_enable();
	done = level_run(level, work);
	if (masked)
		local_irq_disable();
	return done;
}

static inline int levels_init(void)
{
	return kprobes_nmi_setup();
}

static inline void levels_exit(void)
{
	irq_work_sync(&hardirq_visit);
	tasklet_kill(&softirq_visit);
	kprobes_nmi_teardown();
}

/* The probe whose handler runs in this context, by its address */
static inline kprobe_opcode_t *running_addr(void)
{
	struct kprobe *running;
	kprobe_opcode_t *addr;

	preempt_disable();
	running = kprobe_running();
	addr = running ? running->addr : NULL;
	preempt_enable();
	return addr;
}

#endif /* _LIB_TEST_KPROBES_LEVELS_H */
