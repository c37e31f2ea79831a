// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * Instructions of all classes that are copied are drawn at random, with registers, flags and
 * memory. Each is in the text twice. One is executed natively, the other with a probe: by
 * breakpoint and by jump, with and without a post handler. Those that access memory are also
 * run where none is mapped: then they have to do nothing, and a fault handler has to be told.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/kprobes.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <asm/esr.h>
#include <asm/neon.h>
#include <asm/patching.h>
#include <asm/sysreg.h>

#include "support/kinds.h"
#include "support/seed.h"
#include "support/switch.h"
#include "../decode-insn.h"
#include "../internal.h"
#include "test_native.h"

/* Comes last, because it defines single letters. */
#include "test_copy_draw.h"

#define DRAWS		8
#define NR_FLAGS	16

/* --- text --- */

#define MAX_WORDS	2048

struct spot {
	__le32		entry;
	__le32		insn;
	__le32		landing[TRIP_LANDING_SIZE / 4];
};

/* Two more spots at the end read and write the system register that an instruction writes. */
#define SPOT_MRS	MAX_WORDS
#define SPOT_MSR	(MAX_WORDS + 1)
#define MRS_BIT		BIT(21)

asm("	.macro	copy_test_spots name\n"
"	.balign	8\n"
"	.type	\\name, %function\n"
"\\name:\n"
"	.rept	" __stringify(MAX_WORDS) " + 2\n"
	TRIP_ENTRY
"	nop\n"
	TRIP_LANDING
"	.endr\n"
/* Words before a function may be data. */
"	nop\n"
"	nop\n"
"	nop\n"
"	nop\n"
"	.size	\\name, . - \\name\n"
"	.endm\n"

"	.pushsection .text, \"ax\"\n"
"	copy_test_spots copy_test_native\n"
"	copy_test_spots copy_test_probed\n"
"	.popsection\n"
"	.purgem copy_test_spots\n"
);

/* --- SIMD and floating point --- */

struct fp_state {
	u64		v[64];
	u64		fpsr;
	u64		fpcr;
};

static_assert(offsetof(struct fp_state, fpsr) == 512);

/* The assembler does not accept these by default, as the compiler does not use them. */
#define ENABLE_FP							\
"	.arch_extension fp\n"						\
"	.arch_extension simd\n"

#define FOR_ALL_VECTORS(insn)						\
"	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "	\
		"16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n" \
	insn								\
"	.endr\n"

/* The compiler uses none of these registers. */
static noinline void load_fp(const struct fp_state *state)
{
	asm volatile(ENABLE_FP
		     FOR_ALL_VECTORS("	ldr	q\\n, [%0, #16 * \\n]\n")
		     "	msr	fpsr, %1\n"
		     "	msr	fpcr, %2\n"
		     : : "r" (state), "r" (state->fpsr), "r" (state->fpcr) : "memory");
}

static noinline void store_fp(struct fp_state *state)
{
	u64 fpsr, fpcr;

	asm volatile(ENABLE_FP
		     FOR_ALL_VECTORS("	str	q\\n, [%0, #16 * \\n]\n")
		     : : "r" (state) : "memory");
	asm volatile(ENABLE_FP
		     "	mrs	%0, fpsr\n"
		     "	mrs	%1, fpcr\n"
		     "	msr	fpcr, xzr\n"
		     : "=r" (fpsr), "=r" (fpcr));
	state->fpsr = fpsr;
	state->fpcr = fpcr;
}

/* --- what was drawn --- */

struct word {
	const struct copy_form	*form;
	struct diff_insn	insn;
};

#define MAX_ROWS	512

static struct word words[MAX_WORDS];
static unsigned int nr_words;
static DECLARE_BITMAP(rows_run, MAX_ROWS);
static DECLARE_BITMAP(rows_absent, MAX_ROWS);

static struct spot *native, *probed;

static int put(struct spot *text, unsigned int i, u32 insn)
{
	return aarch64_insn_patch_text_nosync(&text[i].insn, insn);
}

static unsigned int row_of(u32 insn)
{
	return probe_classify(insn) - probe_classes;
}

/* Does BTI need to find this instruction in the text? */
static bool is_landing_pad(u32 insn)
{
	switch (insn) {
	case 0xd503233f:	/* paciasp */
	case 0xd503237f:	/* pacibsp */
	case 0xd503245f:	/* bti c */
	case 0xd503249f:	/* bti j */
	case 0xd50324df:	/* bti jc */
		return true;
	}
	return false;
}

/* The instruction of a spot never changes: a site that waits to be freed may have read it. */
static int add_word(const struct copy_form *form)
{
	struct word *w = &words[nr_words];
	u32 insn = copy_draw(form);

	if (!insn || nr_words == MAX_WORDS || probe_classify(insn)->kprobe != PROBE_COPY) {
		pr_err("%08x was drawn of %08x\n", insn, form->value);
		return -EINVAL;
	}
	w->form = form;
	w->insn.length = AARCH64_INSN_SIZE;
	w->insn.no_jump = is_landing_pad(insn);
	w->insn.at = (unsigned long)&probed[nr_words].insn;
	w->insn.twin = (unsigned long)&native[nr_words].insn;
	put_unaligned_le32(insn, w->insn.code);
	__set_bit(row_of(insn), rows_run);
	return put(native, nr_words, insn) ?: put(probed, nr_words++, insn);
}

static int add_words(const struct copy_form *form)
{
	unsigned int draws = form->free ? DRAWS : 1;
	int err = 0;

	if (!copy_is_here(form)) {
		__set_bit(row_of(form->value), rows_absent);
		return 0;
	}
	while (draws-- && !err)
		err = add_word(form);
	return err;
}

static int lay_out(struct kunit_suite *suite)
{
	unsigned int i;
	int err = 0;

	nr_words = 0;
	bitmap_zero(rows_run, MAX_ROWS);
	bitmap_zero(rows_absent, MAX_ROWS);
	native = ADDRESS_OF(copy_test_native);
	probed = ADDRESS_OF(copy_test_probed);
	seed_random(suite, &copy_random);
	for (i = 0; i < ARRAY_SIZE(copy_forms) && !err; i++)
		err = add_words(&copy_forms[i]);
	kprobe_sync_cpus();
	return err;
}

/* --- runs --- */

/* As much as DC ZVA may write, twice */
#define MEMORY_SIZE	1024
#define MIDDLE		(MEMORY_SIZE / 2 / 8)

static u64 memory[MEMORY_SIZE / 8] __aligned(MEMORY_SIZE) __used;

/* What is left of a run besides registers; not all have those of the FPU. */
struct seen {
	u64		daif;
	u64		state;
	u64		memory[MEMORY_SIZE / 8];
	u8		stack[2 * COPY_STACK];
	struct fp_state	fp;
};

/* What all find, but for registers; and the FPU and the system register that the last one left */
static struct seen before;
static struct fp_state fp_after;
static u64 state_before, state_after;
static const struct word *running;

static void enter(unsigned int spot, struct pt_regs *regs)
{
	regs->sp = (unsigned long)probe_test_stack + STACK_AT;
	regs->pc = (unsigned long)&native[spot].insn;
	diff_trip(regs);
}

/* Reads the system register that the instruction writes. */
static u64 read_state(void)
{
	struct pt_regs regs = {};

	enter(SPOT_MRS, &regs);
	return regs.regs[0];
}

static void write_state(u64 value)
{
	struct pt_regs regs = { .regs[0] = value };

	enter(SPOT_MSR, &regs);
}

static void prepare_state(const struct word *w)
{
	u32 mrs = w->form->state;

	if (!mrs)
		return;
	if (mrs == 1)
		mrs = (word_of(&w->insn) | MRS_BIT) & ~31U;
	WARN_ON_ONCE(put(native, SPOT_MRS, mrs) ?: put(native, SPOT_MSR, mrs & ~MRS_BIT));
	isb();
}

static void fill_words(void *to, size_t size)
{
	u64 *word = to;

	for (; size; size -= sizeof(*word))
		*word++ = random_u64();
}

/* Lets the instruction access memory at, or close to, an address. */
static void aim(const struct word *w, struct pt_regs *regs, unsigned long at)
{
	if (!(w->form->what & ALIGNED))
		at += random_below(64);
	copy_aim(w->form, word_of(&w->insn), regs->regs, at);
}

static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	const struct word *w = &words[run->i];
	u32 insn = word_of(&w->insn), what = w->form->what;

	if (running != w)
		prepare_state(w);
	running = w;
	prandom_seed_state(&copy_random, test_seed + run->i * NR_FLAGS + run->state);
	fill_words(regs->regs, sizeof(regs->regs));
	aim(w, regs, (unsigned long)&memory[MIDDLE]);
	if (random_below(2))
		copy_agree(w->form, insn, regs->regs, &before.memory[MIDDLE]);
	state_before = w->form->state ? read_state() : 0;
	state_after = state_before;
	if (what & KEEPS)
		regs->regs[reg_of(insn, D)] = state_before;
	regs->sp = (unsigned long)probe_test_stack + STACK_AT;
	regs->pstate = (u64)run->state << 28 | read_sysreg(daif);
	memcpy(memory, before.memory, sizeof(memory));
	memcpy(probe_test_stack + STACK_AT - COPY_STACK, before.stack, sizeof(before.stack));
	fp_after = before.fp;
}

static DECLARE_BITMAP(forms_faulted, ARRAY_SIZE(copy_forms));

/* The middle of a guard page: no instruction accesses more than half a page. */
static unsigned long unmapped;

static void spoil(const struct diff_run *run, struct pt_regs *regs)
{
	const struct word *w = &words[run->i];

	aim(w, regs, unmapped);
	__set_bit(w->form - copy_forms, forms_faulted);
}

static void trip(struct pt_regs *regs)
{
	const struct copy_form *form = running->form;

	if (form->what & FP) {
		kernel_neon_begin();
		load_fp(&before.fp);
	}
	diff_trip(regs);
	if (form->what & FP) {
		store_fp(&fp_after);
		kernel_neon_end();
	}
	if (form->state) {
		state_after = read_state();
		write_state(state_before);
	}
}

/* Clears the stack below the stack pointer, and what was allocated on it but not written. */
static void forget_dead_stack(const struct diff_run *run, u64 sp, u8 *stack)
{
	const struct word *w = &words[run->i];
	u32 insn = word_of(&w->insn);
	unsigned int end = clamp_t(s64, sp - (u64)(probe_test_stack + STACK_AT - COPY_STACK), 0,
				   2 * COPY_STACK);
	unsigned int written = 0;

	if (w->form->at > ON_RT && offset_of(w->form, insn, run->in.regs) < 0)
		written = size_of_access(w->form, insn);
	memset(stack, 0, end);
	if (end + written < COPY_STACK)
		memset(stack + end + written, 0, COPY_STACK - end - written);
}

static void see(const struct diff_run *run, const struct pt_regs *regs, void *to)
{
	struct seen *seen = to;

	seen->daif = regs->pstate & ~PSR_STATUS_BITS;
	seen->state = state_after;
	memcpy(seen->memory, memory, sizeof(memory));
	memcpy(seen->stack, probe_test_stack + STACK_AT - COPY_STACK, sizeof(seen->stack));
	forget_dead_stack(run, regs->sp, seen->stack);
	if (words[run->i].form->what & FP)
		seen->fp = fp_after;
}

/* --- what is run --- */

static struct diff_insn *word_insn(int i)
{
	return &words[i].insn;
}

static int nr_flags(int i)
{
	return NR_FLAGS;
}

static size_t seen_size(int i)
{
	return words[i].form->what & FP ? sizeof(struct seen) : offsetof(struct seen, fp);
}

/* Where nothing is mapped, a run has to fault. The stack pointer always leads to memory. */
static bool tries(const struct diff_run *run)
{
	const struct copy_form *form = words[run->i].form;

	if (run->trial == DIFF_GOOD)
		return true;
	if (form->at == NO_MEMORY || form->what & FAULTLESS)
		return false;
	return form->at == ON_RT || reg_of(word_of(&words[run->i].insn), N) != 31;
}

static void expect_translation_fault(struct kunit *test, const struct diff_run *run)
{
	u32 syndrome = diff_hit.trapnr;

	if (diff_hit.faults)
		KUNIT_EXPECT_TRUE_MSG(test, ESR_ELx_EC(syndrome) == ESR_ELx_EC_DABT_CUR &&
				      esr_fsc_is_translation_fault(syndrome), "%08x: %x",
				      word_of(&words[run->i].insn), syndrome);
}

static struct diff_lab lab = {
	.insn		= word_insn,
	.nr_states	= nr_flags,
	.size		= seen_size,
	.tries		= tries,
	.set_up		= set_up,
	.spoil		= spoil,
	.run		= trip,
	.see		= see,
	.check		= expect_translation_fault,
};

/* --- cases --- */

/* System registers are the CPU's. */
static void run_all(struct kunit *test, unsigned long trials)
{
	diff_stay(test);
	lab.nr = nr_words;
	running = NULL;
	fill_words(before.stack, sizeof(before.stack));
	fill_words(before.memory, sizeof(before.memory));
	fill_words(before.fp.v, sizeof(before.fp.v));
	probe_test_in_manner(test, &lab, trials);
}

static void copies_do_as_in_place(struct kunit *test)
{
	run_all(test, BIT(DIFF_GOOD));
}

static bool is_load_or_store(u32 insn)
{
	return (insn & 0x0a000000) == 0x08000000;
}

/* A form was tried unless it has no operand in memory, is FAULTLESS, or is not here. */
static void expect_form(struct kunit *test, const struct copy_form *form)
{
	bool can_fault = form->at != NO_MEMORY && !(form->what & FAULTLESS);

	KUNIT_EXPECT_EQ_MSG(test, can_fault && copy_is_here(form),
			    test_bit(form - copy_forms, forms_faulted), "%08x", form->value);
	if (is_load_or_store(form->value))
		KUNIT_EXPECT_NE_MSG(test, form->at, NO_MEMORY, "%08x", form->value);
}

static void copies_that_fault_have_no_effect(struct kunit *test)
{
	unsigned int i;

	unmapped = (unsigned long)kprobes_unmapped(test) + PAGE_SIZE / 2;
	bitmap_zero(forms_faulted, ARRAY_SIZE(copy_forms));
	run_all(test, BIT(DIFF_LEFT_OUT));
	for (i = 0; i < ARRAY_SIZE(copy_forms); i++)
		expect_form(test, &copy_forms[i]);
}

/* A row is exactly one of: run, not on this processor, left out. */
static const char *why_left_out(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(copy_left_out); i++) {
		if (!strcmp(copy_left_out[i].name, name))
			return copy_left_out[i].why;
	}
	return NULL;
}

static void expect_row(struct kunit *test, unsigned int row)
{
	const char *name = probe_classes[row].name, *why = why_left_out(name);
	bool drawn = test_bit(row, rows_run) || test_bit(row, rows_absent);

	KUNIT_EXPECT_NE_MSG(test, drawn, !!why, "%s", name);
	if (why)
		kunit_info(test, "left out: %s: %s", name, why);
	else if (!test_bit(row, rows_run))
		kunit_info(test, "not on this processor: %s", name);
}

static void all_rows_were_run(struct kunit *test)
{
	unsigned int row;

	for (row = 0; row < probe_nr_classes; row++) {
		if (probe_classes[row].kprobe == PROBE_COPY)
			expect_row(test, row);
	}
}

static void what_is_left_out_is_in_the_table(struct kunit *test)
{
	unsigned int i, row;

	for (i = 0; i < ARRAY_SIZE(copy_left_out); i++) {
		for (row = 0; row < probe_nr_classes; row++) {
			if (!strcmp(copy_left_out[i].name, probe_classes[row].name))
				break;
		}
		KUNIT_EXPECT_LT_MSG(test, row, probe_nr_classes, "%s", copy_left_out[i].name);
	}
}

static int copy_suite_init(struct kunit_suite *suite)
{
	if (probe_nr_classes > MAX_ROWS)
		return -EINVAL;
	return lay_out(suite) ?: switch_suite_init(suite);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE_PARAM_ATTR(copies_do_as_in_place, probe_test_manners,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM_ATTR(copies_that_fault_have_no_effect, probe_test_manners,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_SLOW(all_rows_were_run),
	KUNIT_CASE(what_is_left_out_is_in_the_table),
	{ }
};

static struct kunit_suite copy_suite = {
	.name		= "kprobes_arm64_copy",
	.suite_init	= copy_suite_init,
	.suite_exit	= switch_suite_exit,
	.init		= switch_init,
	.exit		= switch_exit,
	.test_cases	= copy_cases,
};

kunit_test_suite(copy_suite);
