// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * Each opcode that is carried out by a copy is drawn several times, with registers, operands in
 * memory and prefixes. The instructions are written into a function's text. Each runs there
 * natively, and then with a probe on it, in all ways in which a hit can be handled.
 *
 * What instructions a processor has beyond the general ones is found out by trying them.
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
	return nr_states(&subjects[i]);
}

/* What is left of a run besides registers; only vector instructions have those of the FPU. */
struct seen {
	u8			memory[MEMORY_SIZE];
	u8			stack[STACK_BELOW + STACK_ABOVE];
	u8			fpu[sizeof(struct fpu_image)];
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

/* Instructions that did not end where the decoder says, and the last one of them */
static int nr_misread;
static struct subject misread;

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
		return is_x87(c) && c->form == REGISTER ? 8 : is_evex(c) ? 3 : 2;
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
	struct rnd_state was = random;
	struct pt_regs regs = {};
	int trap;

	relocate(s, (unsigned long)kprobe_test_page + CODE_AT);
	kprobe_test_put_code(CODE_AT, s->text.code, s->text.length);
	set_up_subject(s, 0, &regs);
	regs.ip = s->text.at;
	trap = trip_with_fpu(&regs, true);
	random = was;
	if (trap == X86_TRAP_BP && regs.ip != s->text.at + s->text.length) {
		nr_misread++;
		misread = *s;
	}
	return trap;
}

#define TRIES		256

/*
 * Sets whether the processor has no such vector instruction, which ends the search. Returns false
 * for that reason, or if many instructions could not be executed.
 */
static bool draw_insn(struct subject *s, bool *absent)
{
	int undefined = 0, tries, trap;

	if (is_vector(&s->cell))
		s->variant = below(NR_VARIANTS);
	for (tries = 0; tries < TRIES && !*absent; tries++) {
		if (!draw_one(s))
			continue;
		trap = is_vector(&s->cell) ? try_vector(s) : X86_TRAP_BP;
		if (trap == X86_TRAP_BP)
			return true;
		undefined += trap == X86_TRAP_UD;
		*absent = undefined == NR_VARIANTS && !is_decorated(s);
		s->variant++;
	}
	return false;
}

/* Fills in the subjects of a cell, at most @room. Returns their number. */
static int draw_cell(struct subject *subjects, int room, const struct cell *c, int serial)
{
	bool absent = false;
	int i, n = 0;

	for (i = 0; i < nr_draws(c) && n < room; i++) {
		/* With each of its registers, the x87 may have another instruction or none. */
		if (absent && !is_x87(c))
			break;
		absent = false;
		subjects[n] = (struct subject) {
			.cell = *c,
			.serial = is_vector(c) ? i : serial + n,
		};
		n += draw_insn(&subjects[n], &absent);
	}
	if (n)
		__set_bit(cell_index(c), cells_tried);
	else if (absent)
		__set_bit(cell_index(c), cells_absent);
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

static const struct subject *running;

static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	running = &subjects[run->i];
	set_up_subject(running, run->state, regs);
}

static void spoil(const struct diff_run *run, struct pt_regs *regs)
{
	const struct subject *s = &subjects[run->i];

	break_operand_at(s, regs, kprobe_test_bad_address(s->seed & 1), kprobe_test_edge);
	__set_bit(cell_index(&s->cell), cells_failed);
}

static void trip(struct pt_regs *regs)
{
	if (is_vector(&running->cell))
		trip_with_fpu(regs, false);
	else
		diff_trip(regs);
}

/* Leaves out the unused part of the stack, where traps have left their remains. */
static void see(const struct diff_run *run, const struct pt_regs *regs, void *to)
{
	unsigned long bottom = stack_start() - STACK_BELOW, in_use = regs->sp;
	const struct subject *s = &subjects[run->i];
	struct seen *seen = to;

	memcpy(seen->memory, memory, sizeof(memory));
	if (has_trait(&s->cell, STORES_IP))
		forget_ip(seen->memory);
	if (!has_trait(&s->cell, USES_STACK))
		in_use = max(in_use, stack_start());
	in_use = clamp(in_use, bottom, bottom + sizeof(seen->stack));
	memcpy(seen->stack + (in_use - bottom), (void *)in_use,
	       bottom + sizeof(seen->stack) - in_use);
	if (!is_vector(&s->cell))
		return;
	if (run->trial == DIFF_LEFT_OUT)
		forget_early_effects(&fpu.after, has_trait(&s->cell, IN_MMX));
	memcpy(seen->fpu, &fpu.after, sizeof(fpu.after));
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

struct share {
	int	drawn, left_out, absent;
};

/* Counts a cell, unless it has been counted with another register. */
static bool count_cell(struct share *share, const struct cell *c, int index)
{
	int count = index == cell_index(c);

	if (!processor_has(c))
		share->absent += count;
	else if (find_left_out(c))
		share->left_out += count;
	else if (test_bit(cell_index(c), cells_tried))
		share->drawn += count;
	else if (test_bit(cell_index(c), cells_absent))
		share->absent += count;
	else
		return false;
	return true;
}

static void print_share(struct kunit *test, const struct cell *c, const struct share *share)
{
	kunit_info(test, "%s %02x: %d drawn, %d left out, %d not on this processor",
		   is_vector(c) ? "vector map" : "map", map_of(c), share->drawn,
		   share->left_out, share->absent);
}

static void whatever_is_copied_was_drawn_or_left_out(struct kunit *test)
{
	struct share share = {};
	struct cell c, last = {};
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		c = cell_at(i);
		if (i && (map_of(&c) != map_of(&last) || is_vector(&c) != is_vector(&last))) {
			print_share(test, &last, &share);
			share = (struct share) {};
		}
		last = c;
		if (test_bit(i, cells_copied))
			KUNIT_EXPECT_TRUE_MSG(test, count_cell(&share, &c, i),
					      "%#x /%d, operands %d, prefix %d",
					      c.opcode, c.ext, c.form, c.prefix);
	}
	print_share(test, &last, &share);
}

static void processor_and_decoder_agree_on_lengths(struct kunit *test)
{
	KUNIT_EXPECT_EQ_MSG(test, nr_misread, 0, "%*ph", misread.text.length, misread.text.code);
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
	nr_misread = 0;
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
	KUNIT_CASE(processor_and_decoder_agree_on_lengths),
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
