// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * Each opcode that is carried out by a copy is drawn several times, with registers, operands in
 * memory and prefixes. The instructions are written into a function's text. Each runs there
 * natively, and then with a probe on it, in all ways in which a hit can be handled.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "../../../../lib/test_kprobes/seed.h"
#include "internal.h"
#include "test_copy_draw.h"
#include "test_native.h"
#include "test_ways.h"

/* --- outcomes --- */

struct outcome {
	struct registers registers;
	u8		memory[MEMORY_SIZE];
	u8		stack[STACK_BELOW + STACK_ABOVE];
};

/* Leaves out the unused part of the stack, where traps have left their remains. */
static void see(const struct subject *s, struct outcome *out, struct pt_regs *regs)
{
	unsigned long bottom = stack_start() - STACK_BELOW, in_use = regs->sp;

	if (!uses_stack(&s->cell))
		in_use = max(in_use, stack_start());
	memset(out, 0, sizeof(*out));
	see_registers(&out->registers, regs);
	memcpy(out->memory, memory, sizeof(memory));
	in_use = clamp(in_use, bottom, bottom + sizeof(out->stack));
	memcpy(out->stack + (in_use - bottom), (void *)in_use,
	       bottom + sizeof(out->stack) - in_use);
}

/* --- places --- */

#define MAX_SUBJECTS	4096

static struct {
	struct subject	*subjects;
	struct outcome	*outcomes;	/* NR_STATES for each subject */
	int		nr;
} lab;

static bool is_written;

static int write_subjects(void)
{
	u8 *image = new_image(TEXT_SIZE);
	int i, at = MAX_INSN_SIZE;

	if (!image)
		return -ENOMEM;
	for (i = 0; i < lab.nr && at + 2 * MAX_INSN_SIZE < TEXT_SIZE; i++) {
		struct subject *s = &lab.subjects[i];

		relocate(s, (unsigned long)kprobe_test_text + at);
		planted.at[i] = s->at;
		at = put_insn(image, at, s->code, s->length);
	}
	if (!is_written)
		write_text(kprobe_test_text, image, TEXT_SIZE);
	is_written = true;
	kvfree(image);
	return i < lab.nr ? -ENOSPC : 0;
}

/* --- runs --- */

static struct run run_of(const struct subject *s, const struct way *way)
{
	return (struct run) { way->name, s->length, s->code };
}

/* Sets everything up, calls @spoil if there is one, and has the instruction executed. */
static void run_one(const struct subject *s, int state, struct registers *in,
		    struct outcome *out,
		    void (*spoil)(const struct subject *s, struct pt_regs *regs))
{
	struct pt_regs regs;

	set_up(s, state, &regs);
	if (spoil)
		spoil(s, &regs);
	regs.ip = s->at;
	see_registers(in, &regs);
	memset(&hit, 0, sizeof(hit));
	hit.next = s->at + s->length;
	kprobe_test_run_natively(&regs);
	see(s, out, &regs);
}

static void expect_outcome(struct kunit *test, const struct run *run,
			   const struct outcome *native, const struct outcome *ours)
{
	if (!memcmp(native, ours, sizeof(*native)))
		return;
	expect_registers(test, run, "afterwards", &native->registers, &ours->registers);
	KUNIT_EXPECT_MEMEQ_MSG(test, native->memory, ours->memory, sizeof(native->memory),
			       "%*ph, %s: memory", run->length, run->code, run->way);
	KUNIT_EXPECT_MEMEQ_MSG(test, native->stack, ours->stack, sizeof(native->stack),
			       "%*ph, %s: stack", run->length, run->code, run->way);
}

static void expect_hit(struct kunit *test, const struct subject *s, const struct run *run,
		       const struct way *way, struct registers *in, const struct outcome *native)
{
	struct registers after = native->registers;

	/* The native run has gone on, through the padding. */
	after.ip = s->at + s->length;
	expect_handlers(test, run, way, in, &after);
}

static void run_natively(void)
{
	struct registers in;
	int i;

	for (i = 0; i < lab.nr * NR_STATES; i++) {
		run_one(&lab.subjects[i / NR_STATES], i % NR_STATES, &in, &lab.outcomes[i], NULL);
		cond_resched();
	}
}

/* Stops after the first instruction whose outcome differs. */
static void run_probed(struct kunit *test, const struct way *way)
{
	static struct outcome ours;
	const struct subject *s;
	struct registers in;
	struct run run;
	int i;

	for (i = 0; i < lab.nr * NR_STATES; i++) {
		s = &lab.subjects[i / NR_STATES];
		run = run_of(s, way);
		run_one(s, i % NR_STATES, &in, &ours, NULL);
		expect_outcome(test, &run, &lab.outcomes[i], &ours);
		expect_hit(test, s, &run, way, &in, &lab.outcomes[i]);
		if (i % NR_STATES == NR_STATES - 1)
			KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
		cond_resched();
	}
}

/* Per-CPU operands are those of one CPU, as the registers that lead to them are compared. */
static void stay(struct kunit *test)
{
	const struct cpumask *here = cpumask_of(raw_smp_processor_id());

	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, here));
}

static void copies_do_as_in_place(struct kunit *test)
{
	const bool jumps = IS_ENABLED(CONFIG_OPTPROBES);

	ways_need(test);
	stay(test);
	run_natively();
	run_in_all_ways(test, jumps, run_probed);
	kunit_info(test, "%d instructions, %d times in %d ways\n", lab.nr, NR_STATES,
		   jumps ? 4 : 2);
}

/* --- faults --- */

static DECLARE_BITMAP(cells_failed, NR_CELLS);

static void break_operand(const struct subject *s, struct pt_regs *regs)
{
	set_operand(s, regs, bad_address(s));
}

/* Nothing has been done when the fault handler is called, which leaves the instruction out. */
static void expect_fault(struct kunit *test, const struct subject *s, const struct way *way,
			 struct registers *in, const struct outcome *ours)
{
	struct run run = run_of(s, way);
	struct registers seen;

	expect_calls(test, &run, way, 0, 1);
	see_registers(&seen, &hit.fault);
	expect_registers(test, &run, "fault handler", in, &seen);
	in->ip = s->at + s->length + PADDING_SIZE;
	expect_registers(test, &run, "afterwards", in, &ours->registers);
	KUNIT_EXPECT_MEMEQ_MSG(test, contents.memory, ours->memory, sizeof(ours->memory),
			       "%*ph, %s: memory", run.length, run.code, run.way);
}

static void run_failing(struct kunit *test, const struct way *way)
{
	static struct outcome ours;
	const struct subject *s;
	struct registers in;
	int i;

	for (i = 0; i < lab.nr; i++) {
		s = &lab.subjects[i];
		if (!can_fail(s))
			continue;
		run_one(s, way->post, &in, &ours, break_operand);
		expect_fault(test, s, way, &in, &ours);
		KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
		__set_bit(cell_index(&s->cell), cells_failed);
		cond_resched();
	}
}

static void faults_of_copies_are_those_of_the_instruction(struct kunit *test)
{
	const bool jumps = IS_ENABLED(CONFIG_OPTPROBES);
	struct cell c;
	int i;

	ways_need(test);
	stay(test);
	bitmap_zero(cells_failed, NR_CELLS);
	run_in_all_ways(test, jumps, run_failing);
	for (i = 0; i < NR_CELLS; i++) {
		if (!next_cell(&c, i) || c.form != MEMORY || never_fails(&c) ||
		    !test_bit(cell_index(&c), cells_tried))
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(cell_index(&c), cells_failed),
				      "%#x /%d", c.opcode, c.ext);
	}
	kunit_info(test, "%d kinds of instructions", bitmap_weight(cells_failed, NR_CELLS));
}

/* --- what was drawn --- */

static void whatever_is_copied_was_drawn_or_left_out(struct kunit *test)
{
	struct cell c;
	bool drawn;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		if (!next_cell(&c, i) || !processor_has(&c))
			continue;
		drawn = test_bit(cell_index(&c), cells_tried);
		KUNIT_EXPECT_TRUE_MSG(test, drawn || find_left_out(&c), "%#x /%d, operands %d",
				      c.opcode, c.ext, c.form);
	}
}

/* A row of the list that leaves out nothing has to be removed. */
static void whatever_is_left_out_would_be_copied(struct kunit *test)
{
	DECLARE_BITMAP(used, ARRAY_SIZE(left_out)) = {};
	const struct left_out *row;
	struct cell c;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		row = next_cell(&c, i) ? find_left_out(&c) : NULL;
		if (row)
			__set_bit(row - left_out, used);
	}
	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		row = &left_out[i];
		if (!row->bits || row->bits == BITS_PER_LONG)
			KUNIT_EXPECT_TRUE_MSG(test, test_bit(i, used), "%#x-%#x: %s",
					      row->first, row->last, row->why);
	}
}

static void free_lab(void)
{
	kvfree(lab.subjects);
	kvfree(lab.outcomes);
	memset(&lab, 0, sizeof(lab));
	planted_exit();
	free_bad_address();
}

static int make_lab(void)
{
	lab.subjects = kvcalloc(MAX_SUBJECTS, sizeof(*lab.subjects), GFP_KERNEL);
	if (!lab.subjects)
		return -ENOMEM;
	lab.nr = draw_all(lab.subjects, MAX_SUBJECTS);
	lab.outcomes = kvcalloc(lab.nr * NR_STATES, sizeof(*lab.outcomes), GFP_KERNEL);
	if (!lab.outcomes)
		return -ENOMEM;
	return planted_init(lab.nr) ?: find_bad_address() ?: write_subjects();
}

static void copy_suite_exit(struct kunit_suite *suite)
{
	free_lab();
	switch_suite_exit(suite);
	kprobe_test_native_exit();
}

static int copy_suite_init(struct kunit_suite *suite)
{
	int err;

	bitmap_zero(cells_tried, NR_CELLS);
	seed_random(suite, &random);
	err = kprobe_test_native_init() ?: switch_suite_init(suite) ?: make_lab();
	if (err)
		copy_suite_exit(suite);
	return err;
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE_SLOW(copies_do_as_in_place),
	KUNIT_CASE_SLOW(faults_of_copies_are_those_of_the_instruction),
	KUNIT_CASE(whatever_is_copied_was_drawn_or_left_out),
	KUNIT_CASE(whatever_is_left_out_would_be_copied),
	{ }
};

static struct kunit_suite copy_suite = {
	.name		= "kprobes_x86_copy",
	.suite_init	= copy_suite_init,
	.suite_exit	= copy_suite_exit,
	.init		= ways_init,
	.exit		= ways_exit,
	.test_cases	= copy_cases,
};

kunit_test_suite(copy_suite);
