/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For suites that are built in: run a function in another context, on top of this
 * one, and tell which probe's handler runs in a context.
 */
#ifndef _KPROBES_TESTS_LEVELS_H
#define _KPROBES_TESTS_LEVELS_H

#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <asm/barrier.h>

#include "targets.h"

enum level { TASK, SOFTIRQ, HARDIRQ, NMI, LEVELS };

static const char * const level_names[LEVELS] __maybe_unused = {
	"task", "softirq", "interrupt", "NMI",
};

/* Does the kernel have this context? With PREEMPT_RT, softirqs run in tasks. */
static inline bool level_exists(enum level level)
{
	if (level == SOFTIRQ)
		return !IS_ENABLED(CONFIG_PREEMPT_RT);
	return level != NMI || kprobes_nmi_possible();
}

/* What to run in a context when it arrives, and whether that was done */
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
	/* Pairs with the acquire in visit_wait(). */
	smp_store_release(&visits[level].done, true);
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

/* Raises the interrupt that visit_expect() has prepared for. Returns false if it cannot come. */
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
	/* An interrupt that comes too late finds no work. */
	WRITE_ONCE(visits[level].work, NULL);
	/* Pairs with the release in visit_arrives(): this may be another processor by now. */
	return smp_load_acquire(&visits[level].done);
}

/* Runs @work in a context of @level, on top of this one. Returns whether it came. */
static inline bool level_run(enum level level, kprobes_work_t work)
{
	visit_expect(level, work);
	if (visit_raise(level))
		return visit_wait(level);
	WRITE_ONCE(visits[level].work, NULL);
	return false;
}

/* The same in a handler, where a trap may have masked interrupts. */
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

static inline int levels_init(struct kunit *test)
{
	return kprobes_nmi_setup();
}

static inline void levels_exit(struct kunit *test)
{
	irq_work_sync(&hardirq_visit);
	tasklet_kill(&softirq_visit);
	kprobes_nmi_teardown();
}

/* Address of the probe whose handler runs in this context, or NULL */
static inline kprobe_opcode_t *running_addr(void)
{
	struct kprobe *running;

	guard(preempt)();
	running = kprobe_running();
	return running ? running->addr : NULL;
}

#endif /* _KPROBES_TESTS_LEVELS_H */
