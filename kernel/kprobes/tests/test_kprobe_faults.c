// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fault handlers, through what modules can call.
 *
 * Fault handlers note each fault that they are called for. Other handlers note
 * each fault that they cause, before they do, so that the two can be compared.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/uaccess.h>

#include "support/faults.h"
#include "support/probe.h"

KUNIT_ARRAY_PARAM_DESC(step, kprobes_steps_table, name);
KUNIT_ARRAY_PARAM_DESC(fault, kprobes_faults_table, name);
KUNIT_ARRAY_PARAM_DESC(kind, probe_kinds, name);

#define NOTES	16

/* The calls of fault handlers */
static struct offer {
	struct kprobe *to;
	int trapnr;
	struct pt_regs regs;
} offers[NOTES];

static unsigned int nr_offers;

/* Faults that handlers have caused: the handler's probe, and the value that was read */
static struct peek {
	struct kprobe *by;
	unsigned long value;
} peeks[NOTES];

static unsigned int nr_peeks;

/* The instruction that faults in a test case, and arguments for which it does and does not */
static const struct kprobes_fault *subject;
static unsigned long bad, good;

static unsigned long unmapped;

/* The result of an instruction that a fault handler skips */
#define SKIPPED		0xdead

/* Returns false when there are so many faults that they must be endless. */
static bool note_offer(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	struct offer *offer;

	if (nr_offers == NOTES)
		return false;
	offer = &offers[nr_offers++];
	offer->to = kp;
	offer->trapnr = trapnr;
	offer->regs = *regs;
	return true;
}

static int decline(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	note_offer(kp, regs, trapnr);
	return 0;
}

static int go_past(struct pt_regs *regs)
{
	regs_set_return_value(regs, SKIPPED);
	instruction_pointer_set(regs, (unsigned long)subject->next);
	return 1;
}

static int skip(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	return note_offer(kp, regs, trapnr) ? go_past(regs) : 0;
}

static int try_again(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	if (!note_offer(kp, regs, trapnr))
		return 0;
	*(unsigned long *)((void *)regs + subject->reg) = good;
	return 1;
}

static long nofault_result;

static void read_unmapped(void)
{
	unsigned long value;

	nofault_result = copy_from_kernel_nofault(&value, (void *)unmapped, sizeof(value));
}

static int fault_and_skip(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	if (!note_offer(kp, regs, trapnr))
		return 0;
	read_unmapped();
	return go_past(regs);
}

static noinline __noclone void peek_below(struct peek *note, unsigned int depth)
{
	if (depth)
		peek_below(note, depth - 1);
	else
		note->value = subject->call(bad);
	/* Keeps the calls above from becoming tail calls. */
	barrier();
}

/* Faults in the handler itself, and then in what it calls, by turns. */
static void peek(struct kprobe *kp)
{
	struct peek *note;

	if (nr_peeks == NOTES)
		return;
	note = &peeks[nr_peeks++];
	note->by = kp;
	peek_below(note, nr_peeks & 1 ? 0 : 3);
}

static int peek_before(struct kprobe *kp, struct pt_regs *regs)
{
	peek(kp);
	return 0;
}

static void peek_after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	peek(kp);
}

static int peek_at_return_probe(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	peek(&get_kretprobe(ri)->kp);
	return 0;
}

static struct kprobe *peeking_jprobe;

static u32 peek_at_jprobe(u32 x)
{
	peek(peeking_jprobe);
	jprobe_return();
	return 0;
}

static const union any_probe peekers[KINDS] = {
	[PRE_HANDLER] = { .kp.fault_handler = skip, .kp.pre_handler = peek_before },
	[POST_HANDLER] = { .kp.fault_handler = skip, .kp.post_handler = peek_after },
	[RETURN_HANDLER] = { .rp.kp.fault_handler = skip, .rp.handler = peek_at_return_probe },
	[ENTRY_HANDLER] = {
		.rp.kp.fault_handler = skip, .rp.entry_handler = peek_at_return_probe,
	},
	[JPROBE_HANDLER] = { .jp.kp.fault_handler = skip, .jp.entry = peek_at_jprobe },
};

/* Chooses the subject, and checks that it faults and is fixed up without a hit. */
static void choose(struct kunit *test, const struct kprobes_fault *fault)
{
	unsigned long value;

	nr_offers = 0;
	nr_peeks = 0;
	nofault_result = 0;
	subject = fault;
	bad = fault->bad == KPROBES_UNMAPPED ? unmapped : fault->bad;
	good = fault->good;
	value = fault->call(bad);
	if (fault->optional && value != kprobes_fixed(fault))
		kunit_skip(test, "this processor has no such fault");
	KUNIT_ASSERT_EQ(test, value, kprobes_fixed(fault));
	if (fault->value)
		KUNIT_ASSERT_EQ(test, fault->call(good), fault->value);
}

static void expect_offer(struct kunit *test, unsigned int i, struct kprobe *to)
{
	KUNIT_ASSERT_LT(test, i, nr_offers);
	KUNIT_EXPECT_PTR_EQ(test, offers[i].to, to);
	KUNIT_EXPECT_EQ(test, kprobes_trap(offers[i].trapnr), subject->trap);
	KUNIT_EXPECT_EQ(test, instruction_pointer(&offers[i].regs), (unsigned long)subject->insn);
}

/* Handlers must have faulted, and each fault must have gone to the handler's own probe. */
static void expect_own_offers(struct kunit *test, unsigned int num, unsigned long value)
{
	unsigned int i;

	/* The compiler does not see that probed code calls handlers. */
	barrier();
	KUNIT_EXPECT_EQ(test, nr_peeks, num);
	KUNIT_ASSERT_EQ(test, nr_offers, nr_peeks);
	for (i = 0; i < nr_offers; i++) {
		expect_offer(test, i, peeks[i].by);
		KUNIT_EXPECT_EQ(test, peeks[i].value, value);
	}
}

/* The handler of a second probe that faults at the same place */
static const enum kind_id others[KINDS] = {
	[PRE_HANDLER] = POST_HANDLER, [POST_HANDLER] = PRE_HANDLER,
	[RETURN_HANDLER] = ENTRY_HANDLER, [ENTRY_HANDLER] = RETURN_HANDLER,
};

/* Alone, and beside another probe: the fault is offered to that whose handler it is. */
static void fault_in_a_handler_is_dealt_with(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;
	bool anywhere = kind->type == KPROBE;
	unsigned int i, num = anywhere ? ARRAY_SIZE(kprobes_steps_table) :
					 ARRAY_SIZE(kprobes_entries);
	const struct kprobes_step *place = anywhere ? kprobes_steps_table : kprobes_entries;
	struct any *first, *second;

	for (i = 0; i < num; i++, place++) {
		choose(test, kprobes_faults_table);
		first = any_registered(test, kind->type, &peekers[kind->id], place->addr);
		peeking_jprobe = &first->probe.kp;
		kprobes_call_step(test, place);
		expect_own_offers(test, KPROBES_CALLS, SKIPPED);
		if (kind->type != JPROBE) {
			nr_offers = 0;
			nr_peeks = 0;
			second = any_registered(test, kind->type, &peekers[others[kind->id]],
						place->addr);
			kprobes_call_step(test, place);
			expect_own_offers(test, 2 * KPROBES_CALLS, SKIPPED);
			any_drop(second);
		}
		KUNIT_EXPECT_EQ(test, first->probe.kp.nmissed, 0);
		any_drop(first);
	}
}

/* Has a pre handler fault. With @handler as the fault handler, it must read @value. */
static void expect_in_handler(struct kunit *test, kprobe_fault_handler_t handler,
			      unsigned long value)
{
	const union any_probe like = {
		.kp.pre_handler = peek_before, .kp.fault_handler = handler,
	};

	any_registered(test, KPROBE, &like, kprobes_untraced);
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	expect_own_offers(test, 1, value);
}

static struct kretprobe *disabled_inside;

static noinline __noclone int disables_its_own_probe(int x)
{
	int ret = disable_kretprobe(disabled_inside);

	return ret ? ret : x + 1;
}

/* The call began while the probe was enabled, so its return handler runs, and may fault. */
static void fault_in_a_return_handler_is_dealt_with_after_disabling(struct kunit *test)
{
	struct any *any;

	kprobes_text_watch(test, disables_its_own_probe);
	choose(test, kprobes_faults_table);
	any = any_registered(test, RETURN_PROBE, &peekers[RETURN_HANDLER],
			     disables_its_own_probe);
	disabled_inside = &any->probe.rp;
	KUNIT_EXPECT_EQ(test, disables_its_own_probe(1), 2);
	expect_own_offers(test, 1, SKIPPED);
}

static struct pt_regs regs_at_hit;

static int note_registers(struct probe *probe, struct pt_regs *regs)
{
	regs_at_hit = *regs;
	return 0;
}

static struct probe *probe_subject(struct kunit *test, kprobe_fault_handler_t handler,
				   kprobe_post_handler_t post_handler)
{
	return probe_with(test, subject->insn, .on_hit = note_registers,
			  .kp.fault_handler = handler, .kp.post_handler = post_handler);
}

/* Expects one hit, and one fault, which has the registers of the hit. */
static void expect_one_fault(struct kunit *test, struct probe *probe)
{
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	KUNIT_ASSERT_EQ(test, nr_offers, 1);
	expect_offer(test, 0, &probe->kp);
	KUNIT_EXPECT_TRUE(test, kprobes_same_registers(&offers[0].regs, &regs_at_hit));
}

/*
 * Has the copy fault that jumps back, and then the one that is stepped for a post
 * handler. Returns how often the post handler ran.
 */
static unsigned int expect_in_copies(struct kunit *test, kprobe_fault_handler_t handler,
				     unsigned long value)
{
	unsigned int posts = 0, stepped;

	for (stepped = 0; stepped <= 1; stepped++) {
		struct probe *probe = probe_subject(test, handler,
						    stepped ? probe_post_handler : NULL);

		nr_offers = 0;
		KUNIT_EXPECT_EQ_MSG(test, subject->call(bad), value, "stepped: %u", stepped);
		if (handler)
			expect_one_fault(test, probe);
		KUNIT_EXPECT_EQ(test, probe->hits, 1);
		posts += probe->posts;
		probe_unregister(probe);
	}
	return posts;
}

static void instruction_is_tried_again(struct kunit *test)
{
	choose(test, test->param_value);
	if (!subject->value)
		kunit_skip(test, "nothing makes that one better");
	expect_in_handler(test, try_again, subject->value);
	KUNIT_EXPECT_EQ(test, expect_in_copies(test, try_again, subject->value), 1);
}

/* It is left open whether a post handler runs for an instruction that is not executed. */
static void instruction_is_skipped_or_fixed_up(struct kunit *test)
{
	choose(test, test->param_value);
	expect_in_handler(test, skip, SKIPPED);
	KUNIT_EXPECT_LE(test, expect_in_copies(test, skip, SKIPPED), 1);
	KUNIT_EXPECT_LE(test, expect_in_copies(test, decline, kprobes_fixed(subject)), 1);
	KUNIT_EXPECT_LE(test, expect_in_copies(test, NULL, kprobes_fixed(subject)), 1);
}

static void fault_at_a_user_address_is_dealt_with_too(struct kunit *test)
{
	choose(test, kprobes_faults_table);
	bad = 8;
	expect_in_handler(test, skip, SKIPPED);
	KUNIT_EXPECT_EQ(test, expect_in_copies(test, try_again, subject->value), 1);
}

#define CROWD	3

static void fault_handlers_are_asked_newest_first_until_one_says_yes(struct kunit *test)
{
	struct probe *crowd[CROWD];
	unsigned int i;

	choose(test, test->param_value);
	for (i = 0; i < CROWD; i++)
		crowd[i] = probe_subject(test, i == CROWD - 1 ? decline : skip, NULL);
	KUNIT_EXPECT_EQ(test, subject->call(bad), SKIPPED);
	KUNIT_ASSERT_EQ(test, nr_offers, 2);
	expect_offer(test, 0, &crowd[2]->kp);
	expect_offer(test, 1, &crowd[1]->kp);
}

static void fault_handler_of_a_disabled_probe_is_not_asked(struct kunit *test)
{
	struct probe *sleeper, *probe;

	choose(test, test->param_value);
	probe = probe_subject(test, decline, NULL);
	sleeper = probe_subject(test, skip, NULL);
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(&sleeper->kp));
	KUNIT_EXPECT_EQ(test, subject->call(bad), kprobes_fixed(subject));
	expect_one_fault(test, probe);

	nr_offers = 0;
	KUNIT_ASSERT_EQ(test, 0, enable_kprobe(&sleeper->kp));
	KUNIT_EXPECT_EQ(test, subject->call(bad), SKIPPED);
	expect_one_fault(test, sleeper);
}

static void fault_of_a_fault_handler_is_not_given_to_it(struct kunit *test)
{
	choose(test, test->param_value);
	expect_in_handler(test, fault_and_skip, SKIPPED);
	KUNIT_EXPECT_EQ(test, nofault_result, -EFAULT);

	nofault_result = 0;
	expect_in_copies(test, fault_and_skip, SKIPPED);
	KUNIT_EXPECT_EQ(test, nofault_result, -EFAULT);
}

/* It is a fault of the handler that has caused the miss, whose fault handler gets it once. */
static void fault_at_a_missed_hit_is_not_the_missed_probes(struct kunit *test)
{
	struct probe *missed;

	choose(test, test->param_value);
	missed = probe_subject(test, skip, NULL);
	expect_in_handler(test, decline, kprobes_fixed(subject));
	KUNIT_EXPECT_EQ(test, missed->hits, 0);
	KUNIT_EXPECT_EQ(test, missed->kp.nmissed, 1);
}

static void fault_outside_of_handlers_is_left_alone(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_with(test, step->addr, .kp.fault_handler = skip);

	choose(test, kprobes_faults_table);
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, subject->call(bad), kprobes_fixed(subject));
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, nr_offers, 0);
}

/* How often an interrupt has faulted, and what it has read last */
static unsigned int interrupts;
static unsigned long interrupt_value;

static void fault_in_interrupt(struct irq_work *unused)
{
	interrupt_value = subject->call(bad);
	WRITE_ONCE(interrupts, interrupts + 1);
}

static struct irq_work faulting_work = IRQ_WORK_INIT_HARD(fault_in_interrupt);

static void wait_for_interrupt(void)
{
	unsigned int before = READ_ONCE(interrupts);
	unsigned int us;

	irq_work_queue(&faulting_work);
	for (us = 0; us < 100000 && READ_ONCE(interrupts) == before; us++)
		udelay(1);
}

static int be_interrupted(struct probe *probe, struct pt_regs *regs)
{
	bool off = irqs_disabled();

	if (off && !KPROBES_HANDLER_MAY_UNMASK)
		return 0;
	if (off)
		local_irq_enable();
	wait_for_interrupt();
	if (off)
		local_irq_disable();
	return 0;
}

/* A past bug: any fault during a step was taken for the stepped instruction's. */
static void fault_in_an_interrupt_of_a_handler_is_left_alone(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe;
	unsigned int came;

	choose(test, kprobes_faults_table);
	interrupts = 0;
	probe = probe_with(test, step->addr, .on_hit = be_interrupted, .kp.fault_handler = skip);
	kprobes_call_step(test, step);
	came = READ_ONCE(interrupts);
	irq_work_sync(&faulting_work);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
	if (!came)
		kunit_skip(test, "no interrupt can come while a handler runs here");
	KUNIT_EXPECT_EQ(test, interrupt_value, kprobes_fixed(subject));
	KUNIT_EXPECT_EQ(test, nr_offers, 0);
}

/* A probe that is not called for the hit is not asked about its fault either. */
static void fault_handler_is_left_out_with_its_probe(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *above;
	unsigned int plain;

	choose(test, kprobes_faults_table);
	probe_with(test, step->addr, .on_hit = be_interrupted);
	for (plain = 0; plain < 2; plain++) {
		interrupts = 0;
		nr_offers = 0;
		above = probe_with(test, subject->insn, .kp.fault_handler = skip,
				   .kp.flags = plain ? 0 : KPROBE_FLAG_NESTS);
		step->call(1);
		irq_work_sync(&faulting_work);
		if (!READ_ONCE(interrupts))
			kunit_skip(test, "no interrupt can come while a handler runs here");
		probe_expect(test, above, !plain, 0, plain);
		KUNIT_EXPECT_EQ(test, nr_offers, !plain);
		KUNIT_EXPECT_EQ(test, interrupt_value, plain ? kprobes_fixed(subject) : SKIPPED);
		probe_unregister(above);
	}
}

/* Its owner must not do that, but survives. */
static void fault_handler_may_be_set_to_null_in_use(struct kunit *test)
{
	struct probe *probe;

	choose(test, kprobes_faults_table);
	probe = probe_subject(test, skip, NULL);
	KUNIT_EXPECT_EQ(test, subject->call(bad), SKIPPED);
	WRITE_ONCE(probe->kp.fault_handler, NULL);
	KUNIT_EXPECT_EQ(test, subject->call(bad), kprobes_fixed(subject));
	KUNIT_EXPECT_EQ(test, probe->hits, 2);
	KUNIT_EXPECT_EQ(test, nr_offers, 1);
}

static int faults_init(struct kunit *test)
{
	unsigned int i;

	unmapped = (unsigned long)kprobes_unmapped(test);
	for (i = 0; i < ARRAY_SIZE(kprobes_faults_table); i++)
		kprobes_text_watch(test, kprobes_faults_table[i].insn);
	return kprobes_watch_targets(test);
}

static struct kunit_case kprobes_fault_test_cases[] = {
	KUNIT_CASE_PARAM(fault_in_a_handler_is_dealt_with, kind_gen_params),
	KUNIT_CASE(fault_in_a_return_handler_is_dealt_with_after_disabling),
	KUNIT_CASE_PARAM(instruction_is_tried_again, fault_gen_params),
	KUNIT_CASE_PARAM(instruction_is_skipped_or_fixed_up, fault_gen_params),
	KUNIT_CASE(fault_at_a_user_address_is_dealt_with_too),
	KUNIT_CASE_PARAM(fault_handlers_are_asked_newest_first_until_one_says_yes,
			 fault_gen_params),
	KUNIT_CASE_PARAM(fault_handler_of_a_disabled_probe_is_not_asked, fault_gen_params),
	KUNIT_CASE_PARAM(fault_of_a_fault_handler_is_not_given_to_it, fault_gen_params),
	KUNIT_CASE_PARAM(fault_at_a_missed_hit_is_not_the_missed_probes, fault_gen_params),
	KUNIT_CASE_PARAM(fault_outside_of_handlers_is_left_alone, step_gen_params),
	KUNIT_CASE_PARAM(fault_in_an_interrupt_of_a_handler_is_left_alone, step_gen_params),
	KUNIT_CASE_PARAM(fault_handler_is_left_out_with_its_probe, step_gen_params),
	KUNIT_CASE(fault_handler_may_be_set_to_null_in_use),
	{}
};

static struct kunit_suite kprobes_fault_test_suite = {
	.name = "kprobes_fault_test",
	.init = faults_init,
	.test_cases = kprobes_fault_test_cases,
};

kunit_test_suite(kprobes_fault_test_suite);

MODULE_DESCRIPTION("KUnit tests of fault handlers of kprobes");
MODULE_LICENSE("GPL");
