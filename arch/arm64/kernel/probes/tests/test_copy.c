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
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/vmalloc.h>
#include <asm/esr.h>
#include <asm/neon.h>
#include <asm/patching.h>

#include "support/asm_arm64.h"
#include "support/seed.h"
#include "support/switch.h"
#include "../decode-insn.h"
#include "../internal.h"
#include "test_native.h"
#include "test_plant.h"

/* Comes last, because it defines single letters. */
#include "test_copy_draw.h"

#define DRAWS		8
#define NR_FLAGS	16

/* --- text --- */

#define MAX_WORDS	2048

/* Each spot is an instruction, and a branch back. */
struct spot {
	__le32		insn;
	__le32		out;
};

/*
 * Three more spots at the end: two read and write the system register that an instruction
 * writes, and one does nothing.
 */
#define SPOT_MRS	MAX_WORDS
#define SPOT_MSR	(MAX_WORDS + 1)
#define SPOT_NOP	(MAX_WORDS + 2)
#define MRS_BIT		BIT(21)

asm("	.macro	copy_test_spots name\n"
"	.balign	8\n"
"	.type	\\name, %function\n"
"\\name:\n"
"	.rept	" __stringify(MAX_WORDS) " + 3\n"
"	nop\n"
"	b	copy_test_leave\n"
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

/* --- registers and stack --- */

/* The stack that is compared, in words; initially the stack pointer is in the middle. */
#define STACK_WORDS	(2 * COPY_STACK / 8)

/**
 * struct copy_trip - registers before an instruction, and after it
 * @regs:	x0 to x30; x17 holds the address of the instruction, x18 is not loaded
 * @sp:		the stack pointer after it, relative to the middle of the stack
 * @nzcv:	the flags, in their bits of PSTATE
 * @daif:	the interrupt masks after it
 * @stack:	the contents of the stack; before it, only those above the stack pointer
 * @frame:	the end of the stack
 * @spot:	where the instruction is
 *
 * Assembly knows the layout.
 */
struct copy_trip {
	u64		regs[31];
	u64		sp;
	u64		nzcv;
	u64		daif;
	u64		stack[STACK_WORDS];
	u64		frame;
	const void	*spot;
};

#define TRIP_SP		248
#define TRIP_NZCV	256
#define TRIP_DAIF	264
#define TRIP_STACK	272
#define TRIP_FRAME	784
#define TRIP_SPOT	792

static_assert(offsetof(struct copy_trip, sp) == TRIP_SP);
static_assert(offsetof(struct copy_trip, nzcv) == TRIP_NZCV);
static_assert(offsetof(struct copy_trip, daif) == TRIP_DAIF);
static_assert(offsetof(struct copy_trip, stack) == TRIP_STACK);
static_assert(offsetof(struct copy_trip, frame) == TRIP_FRAME);
static_assert(offsetof(struct copy_trip, spot) == TRIP_SPOT);

/* The instruction may change any register, so assembly has to know the address of this. */
static struct copy_trip copy_test_trip __used;

asmlinkage void copy_test_run(struct copy_trip *trip);

/*
 * A spot is entered by RET, which needs no landing pad. It may move the stack pointer, but
 * not misalign it.
 */
asm("	.pushsection .text, \"ax\"\n"
"	.balign	8\n"
"	.type	copy_test_run, %function\n"
"copy_test_run:\n"
"	hint	#34\n"				/* bti c */
"	stp	x29, x30, [sp, #-96]!\n"
	KPROBES_SAVE_CALLERS
"	mov	x1, sp\n"
"	str	x1, [x0, #" __stringify(TRIP_FRAME) "]\n"
"	mrs	x1, daif\n"
"	str	x1, [x0, #" __stringify(TRIP_DAIF) "]\n"
"	sub	sp, sp, #" __stringify(COPY_STACK) "\n"
"	add	x1, x0, #" __stringify(TRIP_STACK) " + " __stringify(COPY_STACK) "\n"
"	mov	x2, sp\n"
"	mov	x3, #" __stringify(COPY_STACK) " / 16\n"
"1:	ldp	x4, x5, [x1], #16\n"
"	stp	x4, x5, [x2], #16\n"
"	sub	x3, x3, #1\n"
"	cbnz	x3, 1b\n"
"	ldr	x1, [x0, #" __stringify(TRIP_NZCV) "]\n"
"	msr	nzcv, x1\n"
	KPROBES_LOAD_MOST
"	ldr	x17, [x0, #" __stringify(TRIP_SPOT) "]\n"
"	ldp	x28, x29, [x0, #224]\n"
"	ldr	x30, [x0, #240]\n"
"	ldp	x0, x1, [x0]\n"
"	ret	x17\n"

"copy_test_leave:\n"
"	str	x0, [sp, #-16]!\n"
"	adrp	x0, copy_test_trip\n"
"	add	x0, x0, :lo12:copy_test_trip\n"
"	str	x1, [x0, #8]\n"
	KPROBES_STORE_MOST
"	stp	x28, x29, [x0, #224]\n"
"	str	x30, [x0, #240]\n"
"	mrs	x1, nzcv\n"
"	str	x1, [x0, #" __stringify(TRIP_NZCV) "]\n"
"	mrs	x1, daif\n"
"	ldr	x2, [x0, #" __stringify(TRIP_DAIF) "]\n"
"	msr	daif, x2\n"
"	str	x1, [x0, #" __stringify(TRIP_DAIF) "]\n"
"	ldr	x1, [sp], #16\n"
"	str	x1, [x0]\n"
"	ldr	x2, [x0, #" __stringify(TRIP_FRAME) "]\n"
"	sub	x1, x2, #" __stringify(COPY_STACK) "\n"
"	mov	x3, sp\n"
"	sub	x3, x3, x1\n"
"	str	x3, [x0, #" __stringify(TRIP_SP) "]\n"
"	sub	x1, x1, #" __stringify(COPY_STACK) "\n"
"	add	x3, x0, #" __stringify(TRIP_STACK) "\n"
"1:	ldp	x4, x5, [x1], #16\n"
"	stp	x4, x5, [x3], #16\n"
"	cmp	x1, x2\n"
"	b.ne	1b\n"
"	mov	sp, x2\n"
	KPROBES_RESTORE_CALLERS
"	ldp	x29, x30, [sp], #96\n"
"	ret\n"
"	.size	copy_test_run, . - copy_test_run\n"
"	.popsection\n"
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
	u32			insn;
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

/* The instruction of a spot never changes: a site that waits to be freed may have read it. */
static int add_word(const struct copy_form *form)
{
	u32 insn = copy_draw(form);

	if (!insn || nr_words == MAX_WORDS || probe_classify(insn)->kprobe != PROBE_COPY) {
		pr_err("%08x was drawn of %08x\n", insn, form->value);
		return -EINVAL;
	}
	words[nr_words] = (struct word){ form, insn };
	__set_bit(row_of(insn), rows_run);
	return put(native, nr_words, insn) ?: put(probed, nr_words++, insn);
}

static bool is_here(const struct copy_form *form)
{
	return !form->here || form->here();
}

static int add_words(const struct copy_form *form)
{
	unsigned int draws = form->free ? DRAWS : 1;
	int err = 0;

	if (!is_here(form)) {
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

static u64 memory[MEMORY_SIZE / 8] __aligned(MEMORY_SIZE) __used;

/* The state before an instruction, the same for all words except for the registers */
static struct {
	u64		regs[31];
	u64		stack[STACK_WORDS];
	u64		memory[MEMORY_SIZE / 8];
	struct fp_state	fp;
} before;

/* The state after an instruction; fp and state are only used for some. */
struct outcome {
	struct copy_trip	trip;
	u64			memory[MEMORY_SIZE / 8];
	struct fp_state		fp;
	u64			state;
	u64			sp;
};

static struct outcome in_place, in_copy;

static void enter(const struct spot *spot)
{
	copy_test_trip.spot = spot;
	copy_test_run(&copy_test_trip);
}

/* Reads the system register that the instruction writes. */
static u64 read_state(void)
{
	enter(native + SPOT_MRS);
	return copy_test_trip.regs[0];
}

static void write_state(u64 value)
{
	copy_test_trip.regs[0] = value;
	enter(native + SPOT_MSR);
}

static int prepare_state(const struct word *w)
{
	u32 mrs = w->form->state;
	int err;

	if (!mrs)
		return 0;
	if (mrs == 1)
		mrs = (w->insn | MRS_BIT) & ~31U;
	err = put(native, SPOT_MRS, mrs) ?: put(native, SPOT_MSR, mrs & ~MRS_BIT);
	kprobe_sync_cpus();
	return err;
}

/* Clears the stack below the stack pointer, and what was allocated on it but not written. */
static void forget_dead_stack(const struct word *w, struct copy_trip *trip)
{
	unsigned int end = clamp_t(s64, COPY_STACK + (s64)trip->sp, 0, 2 * COPY_STACK);
	unsigned int written = 0;

	if (w->form->at > ON_RT && offset_of(w->form, w->insn, before.regs) < 0)
		written = size_of_access(w->form, w->insn);
	memset(trip->stack, 0, end);
	if (end + written < COPY_STACK)
		memset((u8 *)trip->stack + end + written, 0, COPY_STACK - end - written);
}

/* Clears what depends on the address of the instruction. */
static void forget_place(struct outcome *out)
{
	out->sp = out->trip.frame - COPY_STACK + out->trip.sp;
	out->trip.regs[COPY_WAY_IN] = 0;
	out->trip.regs[18] = 0;
	out->trip.frame = 0;
	out->trip.spot = NULL;
}

static noinline void run(const struct word *w, const struct spot *spot, u64 nzcv,
			 struct outcome *out)
{
	const struct copy_form *form = w->form;
	u64 was = form->state ? read_state() : 0;

	memcpy(copy_test_trip.regs, before.regs, sizeof(before.regs));
	memcpy(copy_test_trip.stack, before.stack, sizeof(before.stack));
	memcpy(memory, before.memory, sizeof(memory));
	if (form->what & KEEPS)
		copy_test_trip.regs[reg_of(w->insn, D)] = was;
	copy_test_trip.nzcv = nzcv;
	if (form->what & FP)
		load_fp(&before.fp);
	enter(spot);
	if (form->what & FP)
		store_fp(&out->fp);
	out->trip = copy_test_trip;
	memcpy(out->memory, memory, sizeof(memory));
	if (form->state) {
		out->state = read_state();
		write_state(was);
	}
	forget_dead_stack(w, &out->trip);
	forget_place(out);
}

static void fill_words(void *to, size_t size)
{
	u64 *word = to;

	for (; size; size -= sizeof(*word))
		*word++ = random_u64();
}

static void fill_before(void)
{
	fill_words(before.stack, sizeof(before.stack));
	fill_words(before.memory, sizeof(before.memory));
	fill_words(before.fp.v, sizeof(before.fp.v));
}

#define MIDDLE	(MEMORY_SIZE / 2 / 8)

/* Lets the instruction access memory at, or close to, an address. */
static void fill_registers(const struct word *w, unsigned long at)
{
	if (!(w->form->what & ALIGNED))
		at += random_below(64);
	fill_words(before.regs, sizeof(before.regs));
	copy_aim(w->form, w->insn, before.regs, at);
	if (random_below(2))
		copy_agree(w->form, w->insn, before.regs, &before.memory[MIDDLE]);
}

/* An address with nothing mapped around it; see find_unmapped() */
static unsigned long unmapped;

/*
 * In the middle of the guard page of an area, which stays unmapped until the area is freed when
 * the case ends. No instruction accesses more than half a page.
 */
static unsigned long find_unmapped(struct kunit *test)
{
	void *area = vmalloc(PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_memory, area));
	return (unsigned long)area + PAGE_SIZE + PAGE_SIZE / 2;
}

static DECLARE_BITMAP(forms_faulted, ARRAY_SIZE(copy_forms));

/* Does it fault if its registers point to no memory? The stack pointer always points to some. */
static bool must_fault(const struct word *w)
{
	const struct copy_form *form = w->form;

	if (form->at == NO_MEMORY || form->what & FAULTLESS)
		return false;
	return form->at == ON_RT || reg_of(w->insn, N) != 31;
}

/* --- probes --- */

static struct {
	unsigned int	pres, posts, traps, faults;
	u32		syndrome;
	struct pt_regs	seen;
} notes;

static int note_before(struct kprobe *p, struct pt_regs *regs)
{
	notes.pres++;
	notes.traps += irqs_disabled();
	return 0;
}

static void note_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	notes.posts++;
	notes.seen = *regs;
}

/* Skips the instruction. */
static int note_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	notes.faults++;
	notes.syndrome = trapnr;
	notes.seen = *regs;
	instruction_pointer_set(regs, (unsigned long)(p->addr + 1));
	return 1;
}

static void *spot_at(unsigned int i)
{
	return &probed[i].insn;
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

/* --- comparisons --- */

/*
 * Has the post handler seen the effect of the instruction? Or, as that has had none, has the
 * fault handler seen what was there before?
 */
static bool seen_is(unsigned int i, const struct outcome *out, struct way way)
{
	const void *pc = way.fault ? &probed[i].insn : &probed[i].out;
	const struct pt_regs *seen = &notes.seen;

	return has_seen(seen, out->trip.regs, out->trip.nzcv, BIT(COPY_WAY_IN)) &&
	       seen->sp == out->sp && seen->pc == (unsigned long)pc;
}

static bool is_translation_fault(u32 syndrome)
{
	return ESR_ELx_EC(syndrome) == ESR_ELx_EC_DABT_CUR &&
	       esr_fsc_is_translation_fault(syndrome);
}

static bool noted(unsigned int i, struct way way)
{
	bool post = way.post && !way.fault;

	if (notes.pres != 1 || notes.traps != !way.jump || notes.posts != post ||
	    notes.faults != way.fault)
		return false;
	if (way.fault && !is_translation_fault(notes.syndrome))
		return false;
	return !(post || way.fault) || seen_is(i, &in_copy, way);
}

/*
 * Runs both on the same CPU and in the same task, as system registers depend on these. An
 * instruction that faults cannot run in place. It is skipped, so a nop does the same.
 */
static void run_both(unsigned int i, u64 nzcv, struct way way)
{
	memset(&notes, 0, sizeof(notes));
	preempt_disable();
	run(&words[i], &native[way.fault ? SPOT_NOP : i], nzcv, &in_place);
	run(&words[i], &probed[i], nzcv, &in_copy);
	preempt_enable();
}

/* Returns the first flags with which there was a difference, or NR_FLAGS. */
static u64 find_difference(unsigned int i, struct way way)
{
	bool fp = words[i].form->what & FP;
	u64 flags;

	if (fp)
		kernel_neon_begin();
	for (flags = 0; flags < NR_FLAGS; flags++) {
		run_both(i, flags << 28, way);
		if (memcmp(&in_place, &in_copy, sizeof(in_place)) || !noted(i, way))
			break;
	}
	if (fp)
		kernel_neon_end();
	return flags;
}

static void explain(struct kunit *test, unsigned int i, u64 flags, struct way way)
{
	struct outcome *a = &in_place, *b = &in_copy;
	unsigned int reg;
	bool other;

	for (reg = 0; reg < ARRAY_SIZE(a->trip.regs); reg++)
		KUNIT_EXPECT_EQ_MSG(test, a->trip.regs[reg], b->trip.regs[reg], "x%u", reg);
	KUNIT_EXPECT_EQ(test, a->trip.sp, b->trip.sp);
	KUNIT_EXPECT_EQ(test, a->trip.nzcv, b->trip.nzcv);
	KUNIT_EXPECT_EQ(test, a->trip.daif, b->trip.daif);
	KUNIT_EXPECT_EQ(test, a->state, b->state);
	KUNIT_EXPECT_MEMEQ(test, a->trip.stack, b->trip.stack, sizeof(a->trip.stack));
	KUNIT_EXPECT_MEMEQ(test, a->memory, b->memory, sizeof(a->memory));
	KUNIT_EXPECT_MEMEQ(test, &a->fp, &b->fp, sizeof(a->fp));
	other = (notes.posts || notes.faults) && !seen_is(i, b, way);
	KUNIT_FAIL_AND_ABORT(test,
			     "%08x with flags %llx: %u hits, %u traps, %u posts, %u faults (%x)%s",
			     words[i].insn, flags, notes.pres, notes.traps, notes.posts,
			     notes.faults, notes.syndrome, other ? ", with other registers" : "");
}

static void compare(struct kunit *test, unsigned int i, struct way way)
{
	unsigned long at = way.fault ? unmapped : (unsigned long)&memory[MIDDLE];
	u64 flags;

	memset(&in_place, 0, sizeof(in_place));
	memset(&in_copy, 0, sizeof(in_copy));
	fill_registers(&words[i], at);
	KUNIT_ASSERT_EQ(test, 0, prepare_state(&words[i]));
	way.jump &= !is_landing_pad(words[i].insn);
	expect_text(test, &probed[i].insn, words[i].insn, way.jump);
	flags = find_difference(i, way);
	if (flags < NR_FLAGS)
		explain(test, i, flags, way);
}

static void compare_all(struct kunit *test, struct way way)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr_words; i++) {
		if (way.fault && !must_fault(&words[i]))
			continue;
		compare(test, i, way);
		if (way.fault)
			__set_bit(words[i].form - copy_forms, forms_faulted);
		n++;
		cond_resched();
	}
	kunit_info(test, "%u instructions by %s%s", n, way.jump ? "jump" : "breakpoint",
		   way.fault ? ", which fault" : "");
}

/* --- cases --- */

static void run_all(struct kunit *test, bool fault)
{
	const struct manner *manner = test->param_value;
	const struct kprobe like = {
		.pre_handler = note_before,
		.post_handler = manner->post ? note_after : NULL,
		.fault_handler = fault ? note_fault : NULL,
	};

	fill_before();
	plant(test, manner, nr_words, spot_at, &like);
	in_both_ways(test, manner, (struct way){ .fault = fault }, compare_all);
}

static void copies_do_as_in_place(struct kunit *test)
{
	run_all(test, false);
}

static bool is_load_or_store(u32 insn)
{
	return (insn & 0x0a000000) == 0x08000000;
}

/* A form was tried unless it has no operand in memory, is FAULTLESS, or is not here. */
static void expect_form(struct kunit *test, const struct copy_form *form)
{
	bool can_fault = form->at != NO_MEMORY && !(form->what & FAULTLESS);

	KUNIT_EXPECT_EQ_MSG(test, can_fault && is_here(form),
			    test_bit(form - copy_forms, forms_faulted), "%08x", form->value);
	if (is_load_or_store(form->value))
		KUNIT_EXPECT_NE_MSG(test, form->at, NO_MEMORY, "%08x", form->value);
}

static void copies_that_fault_have_no_effect(struct kunit *test)
{
	unsigned int i;

	unmapped = find_unmapped(test);
	bitmap_zero(forms_faulted, ARRAY_SIZE(copy_forms));
	run_all(test, true);
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
	KUNIT_CASE_PARAM_ATTR(copies_do_as_in_place, manner_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM_ATTR(copies_that_fault_have_no_effect, manner_gen_params,
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
