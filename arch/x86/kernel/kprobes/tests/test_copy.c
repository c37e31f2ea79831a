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
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

#include "support/seed.h"
#include "../internal.h"
#include "test_copy_cells.h"
#include "test_copy_draw.h"
#include "test_copy_fpu.h"
#include "test_copy_state.h"
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
	if (stores_ip(&s->cell))
		forget_ip(out->memory);
	in_use = clamp(in_use, bottom, bottom + sizeof(out->stack));
	memcpy(out->stack + (in_use - bottom), (void *)in_use,
	       bottom + sizeof(out->stack) - in_use);
}

/* --- places --- */

#define MAX_SUBJECTS	12288

/* The last subjects are vector instructions. Their outcomes have registers of the FPU, too. */
static struct {
	struct subject		*subjects;
	struct outcome		*outcomes;
	struct fpu_image	*fpus;
	int			nr;
	int			nr_outcomes;
	int			nr_plain;
} lab;

static struct fpu_image *fpu_of(const struct subject *s, int state)
{
	return &lab.fpus[s->outcome + state - lab.nr_plain];
}

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
	struct pt_regs regs;
	int trap;

	relocate(s, (unsigned long)kprobe_test_page + CODE_AT);
	kprobe_test_put_code(CODE_AT, s->code, s->length);
	set_up(s, 0, &regs);
	regs.ip = s->at;
	trap = run_with_fpu(&regs, true);
	random = was;
	if (trap == X86_TRAP_BP && regs.ip != s->at + s->length) {
		nr_misread++;
		misread = *s;
	}
	return trap;
}

#define TRIES		256

/*
 * Sets whether the processor has no such instruction, which ends the search. Returns false for
 * that reason, or if many instructions could not be executed.
 */
static bool draw_vector_insn(struct subject *s, bool *absent)
{
	int undefined = 0, tries, trap;

	s->variant = below(NR_VARIANTS);
	for (tries = 0; tries < TRIES && !*absent; tries++) {
		if (!draw_one(s))
			continue;
		trap = try_vector(s);
		if (trap == X86_TRAP_BP)
			return true;
		undefined += trap == X86_TRAP_UD;
		*absent = undefined == NR_VARIANTS && !is_decorated(s);
		s->variant++;
	}
	return false;
}

static bool draw_insn(struct subject *s, bool *absent)
{
	int tries;

	if (is_vector(&s->cell))
		return draw_vector_insn(s, absent);
	for (tries = 0; tries < TRIES; tries++) {
		if (draw_one(s))
			return true;
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

/* Numbers the outcomes. */
static void count_outcomes(void)
{
	int i, n = 0;

	for (i = 0; i < lab.nr; i++) {
		lab.subjects[i].outcome = n;
		n += nr_states(&lab.subjects[i]);
		if (!is_vector(&lab.subjects[i].cell))
			lab.nr_plain = n;
	}
	lab.nr_outcomes = n;
}

/* --- runs --- */

static struct run run_of(const struct subject *s, const struct way *way)
{
	return (struct run) { way->name, s->length, s->code };
}

/* Sets everything up, and has the instruction executed. */
static void run_one(const struct subject *s, int state, struct registers *in,
		    struct outcome *out, enum trial trial)
{
	struct pt_regs regs, good;

	set_up(s, state, &regs);
	good = regs;
	if (trial != GOOD)
		break_operand_at(s, &regs, bad_address(s->seed & 1), edge_end());
	regs.ip = s->at;
	see_registers(in, &regs);
	memset(&hit, 0, sizeof(hit));
	hit.next = s->at + s->length;
	hit.repaired = trial == REPAIRED ? &good : NULL;
	if (is_vector(&s->cell))
		run_with_fpu(&regs, false);
	else
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

#define FPU_ROW		16

static void expect_fpu(struct kunit *test, const struct run *run, const struct fpu_image *native)
{
	const u8 *theirs = (u8 *)native, *ours = (u8 *)&fpu.after;
	int i;

	if (!memcmp(theirs, ours, sizeof(*native)))
		return;
	for (i = 0; i < sizeof(*native); i += FPU_ROW)
		KUNIT_EXPECT_MEMEQ_MSG(test, theirs + i, ours + i, FPU_ROW,
				       "%*ph, %s: registers of the FPU, at %#x",
				       run->length, run->code, run->way, i);
}

static void expect_hit(struct kunit *test, const struct subject *s, const struct run *run,
		       const struct way *way, struct registers *in, const struct outcome *native,
		       unsigned int faults)
{
	struct registers after = native->registers;

	/* The native run has gone on, through the padding. */
	after.ip = s->at + s->length;
	expect_handlers(test, run, way, in, &after, faults);
}

static void run_natively(void)
{
	const struct subject *s;
	struct registers in;
	int i, state;

	for (i = 0; i < lab.nr; i++) {
		s = &lab.subjects[i];
		for (state = 0; state < nr_states(s); state++) {
			run_one(s, state, &in, &lab.outcomes[s->outcome + state], GOOD);
			if (is_vector(&s->cell))
				*fpu_of(s, state) = fpu.after;
		}
		cond_resched();
	}
}

static void run_state(struct kunit *test, const struct way *way, const struct subject *s, int state)
{
	static struct outcome ours;
	const struct outcome *native = &lab.outcomes[s->outcome + state];
	const struct run run = run_of(s, way);
	struct registers in;

	run_one(s, state, &in, &ours, GOOD);
	expect_outcome(test, &run, native, &ours);
	if (is_vector(&s->cell))
		expect_fpu(test, &run, fpu_of(s, state));
	expect_hit(test, s, &run, way, &in, native, 0);
}

/* Stops after the first instruction whose outcome differs. */
static void run_probed(struct kunit *test, const struct way *way)
{
	const struct subject *s;
	int i, state;

	for (i = 0; i < lab.nr; i++) {
		s = &lab.subjects[i];
		for (state = 0; state < nr_states(s); state++)
			run_state(test, way, s, state);
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
	kunit_info(test, "%d instructions, %d times in each of %d ways\n", lab.nr, lab.nr_outcomes,
		   jumps ? 4 : 2);
}

/* --- faults --- */

static DECLARE_BITMAP(cells_failed, NR_CELLS);

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
	if (is_vector(&s->cell)) {
		forget_early_effects(&fpu.before, is_mmx(&s->cell));
		forget_early_effects(&fpu.after, is_mmx(&s->cell));
		expect_fpu(test, &run, &fpu.before);
	}
}

/* The same with an instruction that is tried again. One operand in memory is like another. */
static void run_repaired(struct kunit *test, const struct way *way, const struct subject *s)
{
	const struct outcome *native = &lab.outcomes[s->outcome + way->post];
	const struct run run = run_of(s, way);
	static struct outcome ours;
	struct registers in;

	if (s->cell.form == MEMORY)
		return;
	run_one(s, way->post, &in, &ours, REPAIRED);
	expect_outcome(test, &run, native, &ours);
	expect_hit(test, s, &run, way, &in, native, 1);
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
		run_one(s, way->post, &in, &ours, LEFT_OUT);
		expect_fault(test, s, way, &in, &ours);
		run_repaired(test, way, s);
		KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
		__set_bit(cell_index(&s->cell), cells_failed);
		cond_resched();
	}
}

/*
 * Past bugs: with a jump, an instruction that a fault handler left out went on in the middle
 * of the jump; with a post handler, leave, pop and ret offered the emulator's registers.
 */
static void faults_of_copies_are_those_of_the_instruction(struct kunit *test)
{
	const bool jumps = IS_ENABLED(CONFIG_OPTPROBES);
	struct cell c;
	int i;

	ways_need(test);
	stay(test);
	bitmap_zero(cells_failed, NR_CELLS);
	run_natively();
	run_in_all_ways(test, jumps, run_failing);
	for_each_set_bit(i, cells_copied, NR_CELLS) {
		c = cell_at(i);
		if (c.form == MEMORY ? never_fails(&c) : !reads_implied(&c))
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
	int	drawn;
	int	left_out;
	int	absent;
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
	KUNIT_EXPECT_EQ_MSG(test, nr_misread, 0, "%*ph", misread.length, misread.code);
}

/* A row of the list that leaves out nothing has to be removed. */
static void whatever_is_left_out_would_be_copied(struct kunit *test)
{
	DECLARE_BITMAP(used, ARRAY_SIZE(left_out)) = {};
	const struct left_out *row;
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

static void free_lab(void)
{
	kvfree(lab.subjects);
	kvfree(lab.outcomes);
	kvfree(lab.fpus);
	memset(&lab, 0, sizeof(lab));
	planted_exit();
	free_bad_address();
}

static int make_lab(void)
{
	lab.subjects = kvcalloc(MAX_SUBJECTS, sizeof(*lab.subjects), GFP_KERNEL);
	if (!lab.subjects)
		return -ENOMEM;
	find_cells();
	lab.nr = draw_all(lab.subjects, MAX_SUBJECTS);
	count_outcomes();
	lab.outcomes = kvcalloc(lab.nr_outcomes, sizeof(*lab.outcomes), GFP_KERNEL);
	lab.fpus = kvcalloc(lab.nr_outcomes - lab.nr_plain + 1, sizeof(*lab.fpus), GFP_KERNEL);
	if (!lab.outcomes || !lab.fpus)
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
