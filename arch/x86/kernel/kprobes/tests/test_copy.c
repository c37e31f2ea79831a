// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * Each opcode that is carried out by a copy is drawn several times, with registers, operands in
 * memory and prefixes. The instructions are written into a function's text. Each runs there
 * natively, and then with a probe on it, in all ways in which a hit can be handled. Vector
 * instructions are not drawn: that their copies are right is compared with objdump, and that a hit
 * leaves their registers alone is seen with all others.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "support/seed.h"
#include "support/switch.h"
#include "../internal.h"
#include "test_copy_cells.h"
#include "test_copy_draw.h"
#include "test_copy_state.h"
#include "test_native.h"

/* --- places --- */

#define MAX_SUBJECTS	12288

static struct subject *subjects;

static struct diff_insn *subject_insn(int i)
{
	return &subjects[i].text;
}

static int subject_states(int i)
{
	return NR_STATES;
}

static struct fxregs_state fpu_before __aligned(16), fpu_after __aligned(16);

/* What is left of a run besides general registers */
struct seen {
	u8			memory[MEMORY_SIZE];
	u8			stack[STACK_BELOW + STACK_ABOVE];
	u8			vectors[sizeof(fpu_after.xmm_space)];
};

static_assert(sizeof(struct seen) <= DIFF_SEEN_SIZE);

static size_t seen_size(int i)
{
	return sizeof(struct seen);
}

/* --- drawing all --- */

/* Cells with their extension, even if that is a register; and by cell_index() */
static DECLARE_BITMAP(cells_copied, NR_CELLS);
static DECLARE_BITMAP(cells_tried, NR_CELLS);

static void find_cells(void)
{
	struct cell c;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		c = cell_at(i);
		__assign_bit(i, cells_copied, (!c.ext || c.form != PLAIN) && cell_is_copied(&c));
		cond_resched();
	}
}

/* How many instructions are drawn for a cell: enough to try all flags. */
static int nr_draws(const struct cell *c)
{
	struct cell other = *c;

	if (c->form == PLAIN)
		return 8;
	other.form = c->form == MEMORY ? REGISTER : MEMORY;
	if (is_group(c))
		return find_left_out(&other) ? 8 : 4;
	return find_left_out(&other) ? 2 : 1;
}

#define TRIES		256

/* Fills in the subjects of a cell, at most @room. Returns their number. */
static int draw_cell(struct subject *subjects, int room, const struct cell *c, int serial)
{
	int i, n = 0, tries;

	for (i = 0; i < nr_draws(c) && n < room; i++) {
		subjects[n] = (struct subject) { .cell = *c, .serial = serial + n };
		for (tries = 0; tries < TRIES && !draw_one(&subjects[n]);)
			tries++;
		n += tries < TRIES;
	}
	if (n)
		__set_bit(cell_index(c), cells_tried);
	return n;
}

static int draw_all(struct subject *subjects, int room)
{
	int i, n = 0, serial = 0, drawn;
	struct cell c, last = {};

	for_each_set_bit(i, cells_copied, NR_CELLS) {
		c = cell_at(i);
		if (find_left_out(&c) || !processor_has(&c))
			continue;
		if (c.opcode != last.opcode || (is_group(&c) && c.ext != last.ext))
			serial = 0;
		last = c;
		drawn = draw_cell(subjects + n, room - n, &c, serial);
		serial += drawn;
		n += drawn;
		cond_resched();
	}
	return n;
}

/* --- runs --- */

static DECLARE_BITMAP(cells_failed, NR_CELLS);

static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	set_up_subject(&subjects[run->i], run->state, regs);
}

static void spoil(const struct diff_run *run, struct pt_regs *regs)
{
	const struct subject *s = &subjects[run->i];

	break_operand_at(s, regs, kprobe_test_bad_address(s->seed & 1), kprobe_test_edge);
	__set_bit(cell_index(&s->cell), cells_failed);
}

static void trip(struct pt_regs *regs)
{
	if (!boot_cpu_has(X86_FEATURE_FXSR))
		return diff_trip(regs);
	kernel_fpu_begin();
	asm volatile("fxrstor %0" : : "m" (fpu_before));
	diff_trip(regs);
	asm volatile("fxsave %0" : "=m" (fpu_after));
	kernel_fpu_end();
}

/* Leaves out the unused part of the stack, where traps have left their remains. */
static void see(const struct diff_run *run, const struct pt_regs *regs, void *to)
{
	unsigned long bottom = stack_start() - STACK_BELOW, in_use = regs->sp;
	const struct subject *s = &subjects[run->i];
	struct seen *seen = to;

	memcpy(seen->memory, memory, sizeof(memory));
	if (!has_trait(&s->cell, USES_STACK))
		in_use = max(in_use, stack_start());
	in_use = clamp(in_use, bottom, bottom + sizeof(seen->stack));
	memcpy(seen->stack + (in_use - bottom), (void *)in_use,
	       bottom + sizeof(seen->stack) - in_use);
	memcpy(seen->vectors, fpu_after.xmm_space, sizeof(seen->vectors));
}

/* An operand in memory that is repaired is like another. */
static bool tries(const struct diff_run *run)
{
	const struct subject *s = &subjects[run->i];

	return run->trial == DIFF_GOOD ||
	       (run->state == run->way.post && can_fail(s) &&
		(run->trial == DIFF_LEFT_OUT || s->cell.form != MEMORY));
}

static struct diff_lab lab = {
	.padding	= PADDING_SIZE,
	.insn		= subject_insn,
	.nr_states	= subject_states,
	.size		= seen_size,
	.tries		= tries,
	.set_up		= set_up,
	.spoil		= spoil,
	.run		= trip,
	.see		= see,
};

/* Per-CPU operands are those of one CPU, as the registers that lead to them are compared. */
static void run_all(struct kunit *test, unsigned long trials)
{
	diff_stay(test);
	diff_run_natively(test, &lab);
	kprobe_test_in_all_ways(test, &lab, trials, true);
}

static void copies_do_as_in_place(struct kunit *test)
{
	run_all(test, BIT(DIFF_GOOD));
}

/*
 * Past bugs: with a jump, an instruction that a fault handler left out went on in the middle
 * of the jump; with a post handler, leave, pop and ret offered the emulator's registers.
 */
static void faults_of_copies_are_those_of_the_instruction(struct kunit *test)
{
	struct cell c;
	int i;

	bitmap_zero(cells_failed, NR_CELLS);
	run_all(test, BIT(DIFF_LEFT_OUT) | BIT(DIFF_REPAIRED));
	for_each_set_bit(i, cells_copied, NR_CELLS) {
		c = cell_at(i);
		if (c.form == MEMORY ? has_trait(&c, NEVER_FAILS) : !has_trait(&c, READS_IMPLIED))
			continue;
		if (!test_bit(cell_index(&c), cells_tried))
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(cell_index(&c), cells_failed),
				      "%#x /%d", c.opcode, c.ext);
	}
	kunit_info(test, "%d kinds of instructions", bitmap_weight(cells_failed, NR_CELLS));
}

/* --- what was drawn --- */

static void whatever_is_copied_was_drawn_or_left_out(struct kunit *test)
{
	int i, drawn = 0, left_out = 0, absent = 0;
	struct cell c;

	for_each_set_bit(i, cells_copied, NR_CELLS) {
		c = cell_at(i);
		/* Not once more with another register */
		if (i != cell_index(&c))
			continue;
		if (!processor_has(&c))
			absent++;
		else if (find_left_out(&c))
			left_out++;
		else if (test_bit(i, cells_tried))
			drawn++;
		else
			KUNIT_FAIL(test, "%#x /%d, operands %d", c.opcode, c.ext, c.form);
	}
	kunit_info(test, "%d drawn, %d left out, %d not on this processor", drawn, left_out,
		   absent);
}

/* A row of the list that leaves out nothing has to be removed. */
static void whatever_is_left_out_would_be_copied(struct kunit *test)
{
	DECLARE_BITMAP(used, ARRAY_SIZE(left_out)) = {};
	const struct rule *row;
	struct cell c;
	int i;

	for_each_set_bit(i, cells_copied, NR_CELLS) {
		c = cell_at(i);
		row = find_left_out(&c);
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

/* Gives each a place, and writes all into the text. */
static int write_subjects(void)
{
	unsigned long at = (unsigned long)kprobe_test_text + MAX_INSN_SIZE;
	int i;

	for (i = 0; i < lab.nr; i++) {
		relocate(&subjects[i], at);
		at += subjects[i].text.length + PADDING_SIZE + INT3_INSN_SIZE;
		if (at + MAX_INSN_SIZE > (unsigned long)kprobe_test_text + TEXT_SIZE)
			return -ENOSPC;
	}
	return kprobe_test_write(kprobe_test_text, TEXT_SIZE, &lab);
}

static int make_lab(void)
{
	subjects = kvcalloc(MAX_SUBJECTS, sizeof(*subjects), GFP_KERNEL);
	if (!subjects)
		return -ENOMEM;
	find_cells();
	lab.nr = draw_all(subjects, MAX_SUBJECTS);
	return write_subjects();
}

static void copy_suite_exit(struct kunit_suite *suite)
{
	kvfree(subjects);
	subjects = NULL;
	switch_suite_exit(suite);
	kprobe_test_native_exit();
}

static int copy_suite_init(struct kunit_suite *suite)
{
	int err;

	bitmap_zero(cells_tried, NR_CELLS);
	seed_random(suite, &random);
	prandom_bytes_state(&random, fpu_before.xmm_space, sizeof(fpu_before.xmm_space));
	fpu_before.cwd = 0x37f;
	fpu_before.mxcsr = MXCSR_DEFAULT;
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
	.init		= switch_init,
	.exit		= switch_exit,
	.test_cases	= copy_cases,
};

kunit_test_suite(copy_suite);
