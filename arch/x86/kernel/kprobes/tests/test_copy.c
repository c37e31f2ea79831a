// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * Each opcode that is carried out by a copy is drawn several times, with registers, operands in
 * memory and prefixes. The instructions are written into a function's text. Each runs there
 * natively, and then with a probe on it, in all ways in which a hit can be handled.
 *
 * Which vector instructions a processor has is found out by trying them.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

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
	return is_vector(&subjects[i].cell) ? NR_VECTOR_STATES : NR_STATES;
}

/* What is left of a run besides general registers */
struct seen {
	u8			memory[MEMORY_SIZE];
	u8			stack[STACK_BELOW + STACK_ABOVE];
	u8			fpu[FPU_SIZE - FPU_AT];
};

static_assert(sizeof(struct seen) <= DIFF_SEEN_SIZE);

static size_t seen_size(int i)
{
	return is_vector(&subjects[i].cell) ? sizeof(struct seen) : offsetof(struct seen, fpu);
}

/* --- drawing all --- */

/* Cells with their extension, even if that is a register; and by cell_index() */
static DECLARE_BITMAP(cells_copied, NR_CELLS);
static DECLARE_BITMAP(cells_tried, NR_CELLS);
static DECLARE_BITMAP(cells_absent, NR_CELLS);

static void find_cells(void)
{
	struct cell c;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		c = cell_at(i);
		__assign_bit(i, cells_copied, cell_exists(&c) && cell_is_copied(&c));
		cond_resched();
	}
}

/* How many instructions are drawn for a cell: enough to try all flags. */
static int nr_draws(const struct cell *c)
{
	struct cell other = *c;

	if (is_vector(c))
		return is_evex(c) ? 3 : 2;
	if (c->form == PLAIN)
		return 8;
	other.form = c->form == MEMORY ? REGISTER : MEMORY;
	if (is_group(c))
		return find_left_out(&other) ? 8 : 4;
	return find_left_out(&other) ? 2 : 1;
}

/* Executes a vector instruction by itself. Returns the vector of the exception that ends it. */
static int try_vector(struct subject *s)
{
	u8 image[MAX_INSN_SIZE + INT3_INSN_SIZE];
	struct rnd_state was = random;
	struct pt_regs regs = {};
	int trap;

	relocate(s, (unsigned long)kprobe_test_page);
	memset(image, INT3_INSN_OPCODE, sizeof(image));
	memcpy(image, s->text.code, s->text.length);
	kprobe_test_put_code(image, sizeof(image));
	set_up_subject(s, 0, &regs);
	regs.ip = s->text.at;
	load_fpu();
	trap = kprobe_test_try_natively(&regs);
	save_fpu();
	random = was;
	return trap;
}

#define TRIES		256

/* A cell's first vector instruction shows whether the processor has it. */
static bool draw_insn(struct subject *s)
{
	int undefined = 0, tries, trap;

	s->variant = below(NR_VARIANTS);
	for (tries = 0; tries < TRIES; tries++) {
		if (!draw_one(s))
			continue;
		trap = is_vector(&s->cell) ? try_vector(s) : X86_TRAP_BP;
		if (trap == X86_TRAP_BP)
			return true;
		s->variant++;
		undefined += trap == X86_TRAP_UD;
		if (undefined == NR_VARIANTS && !s->serial) {
			__set_bit(cell_index(&s->cell), cells_absent);
			break;
		}
	}
	return false;
}

/* Fills in the subjects of a cell, at most @room. Returns their number. */
static int draw_cell(struct subject *subjects, int room, const struct cell *c, int serial)
{
	int i, n = 0;

	for (i = 0; i < nr_draws(c) && n < room && !test_bit(cell_index(c), cells_absent); i++) {
		subjects[n] = (struct subject) {
			.cell = *c,
			.serial = is_vector(c) ? i : serial + n,
		};
		n += draw_insn(&subjects[n]);
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
	if (!boot_cpu_has(X86_FEATURE_XSAVE))
		return diff_trip(regs);
	load_fpu();
	diff_trip(regs);
	save_fpu();
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
	if (is_vector(&s->cell))
		memcpy(seen->fpu, (void *)&fpu_after + FPU_AT, sizeof(seen->fpu));
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
	int i, drawn[2] = {}, left_out = 0, absent = 0;
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
			drawn[is_evex(&c)]++;
		else if (test_bit(i, cells_absent))
			absent++;
		else
			KUNIT_FAIL(test, "%#x /%d, operands %d, prefix %d", c.opcode, c.ext, c.form,
				   c.prefix);
	}
	kunit_info(test, "%d and %d of EVEX drawn, %d left out, %d not on this processor",
		   drawn[0], drawn[1], left_out, absent);
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
	bitmap_zero(cells_absent, NR_CELLS);
	seed_random(suite, &random);
	draw_fpu();
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
