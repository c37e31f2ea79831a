// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: hits of branches, compared with native execution
 *
 * All forms of branches are in a function's text, and have a probe each. By a breakpoint they are
 * emulated, by a jump their copies in detours run. Those that read memory run with a bad address,
 * too, and branches that do not say their target with one that is no address: the fault is the
 * instruction's, as with a copy.
 *
 * There are some instructions that are copied, too, which test_copy.c does not draw.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/insn.h>
#include <asm/msr.h>
#include <asm/trapnr.h>

#include "../internal.h"
#include "support/seed.h"
#include "support/switch.h"
#include "test_native.h"

#define REG_CX		1
#define REG_SP		4
#define REG_R9		9

/* Offset in the page: targets of branches */
#define LANDINGS_AT	64
#define NR_LANDINGS	1024

static unsigned long data[512];
static DEFINE_PER_CPU(unsigned long, percpu_data);

static struct rnd_state random;

static unsigned long landing(unsigned int i)
{
	return (unsigned long)kprobe_test_page + LANDINGS_AT + i % NR_LANDINGS;
}

/* What registers, or the words on the stack, hold; and for loops, one that counts */
enum contents { RANDOM, LANDINGS, DATA, STACK, COUNTS };

/* What a 32-bit displacement has to be set to. */
enum displaced { AS_IS, ABSOLUTE, RIP_RELATIVE, PERCPU };

struct form {
	const char	*name;
	u8		code[16];
	u8		length;
	enum contents	regs, words;
	enum displaced	displaced;
	bool		only_64, only_32;
	bool		is_pad;		/* refused where the processor looks for it */
};

static unsigned long content(enum contents what, unsigned int i)
{
	switch (what) {
	case LANDINGS:
		return landing(i);
	case DATA:
		return (unsigned long)&data[i % 16 * 16];
	case STACK:
		return (unsigned long)&kprobe_test_stack[STACK_AT + i % 32];
	default:
		return prandom_u32_state(&random) |
		       (u64)prandom_u32_state(&random) << 32;
	}
}

/* Each count comes with and without the zero flag: see kprobe_test_flags(). */
static u64 nth_count(int state)
{
	static const u64 counts[] = {
		0, 1, 2, 0x10000, 0x10001, 0x100000000, 0x100000001, U64_MAX,
	};

	return counts[(state & 3) | (state & 8) >> 1];
}

static void fill_regs(struct pt_regs *regs, enum contents what, int state)
{
	int i;

	for (i = 0; i < NR_REGS; i++)
		*reg(regs, i) = content(what, i);
	regs->sp = (unsigned long)&kprobe_test_stack[STACK_AT];
	if (what == COUNTS)
		regs->cx = nth_count(state);
	if (what != DATA)
		return;
	/* These two serve as an index. */
	*reg(regs, REG_CX) = 8;
	if (NR_REGS > REG_R9)
		*reg(regs, REG_R9) = 16;
}

/* The displacement of per-CPU data from %gs. Without SMP its address is not relative to %gs. */
static long percpu_displacement(void)
{
	unsigned long base = 0;

	if (IS_ENABLED(CONFIG_X86_64) && !IS_ENABLED(CONFIG_SMP))
		rdmsrq(MSR_GS_BASE, base);
	return (__force long)&percpu_data - base;
}

/* Makes an instruction of @form for @at, with its displacement. */
static void place_form(const struct form *form, unsigned long at, struct diff_insn *insn)
{
	long to;

	insn->at = at;
	insn->length = form->length;
	memcpy(insn->code, form->code, sizeof(form->code));
	switch (form->displaced) {
	case ABSOLUTE:
		to = (long)&data[40];
		break;
	case RIP_RELATIVE:
		to = (long)&data[40] - (long)(at + form->length);
		break;
	case PERCPU:
		to = percpu_displacement();
		break;
	default:
		return;
	}
	put_unaligned((s32)to, (s32 *)(insn->code + form->length - sizeof(s32)));
}

/* The words of the stack that are compared. One of them is below the stack pointer. */
static size_t words_size(int i)
{
	return STACK_SEEN * sizeof(long);
}

/* Leaves out what is below the stack pointer, or was only made room for: traps write there. */
static void see_words(const struct diff_run *run, const struct pt_regs *regs, void *seen)
{
	const unsigned long *word = &kprobe_test_stack[STACK_AT - 1];
	unsigned long *to = seen;
	int i;

	for (i = 0; i < STACK_SEEN; i++)
		to[i] = (unsigned long)&word[i] < regs->sp ? 0 : word[i];
	if (regs->sp < run->good.sp - sizeof(long))
		to[0] = 0;
}

#define ONLY_64		.only_64 = true
#define ONLY_32		.only_32 = true
#define CODE(...)	.code = { __VA_ARGS__ }, .length = sizeof((u8 []) { __VA_ARGS__ })

static const struct form forms[] = {
	{ "jmp short", CODE(0xeb, 0x7f) }, { "jmp short back", CODE(0xeb, 0x80) },
	{ "jmp near", CODE(0xe9, 0, 2, 0, 0) },
	{ "jmp near back", CODE(0xe9, 0, 0xfc, 0xff, 0xff) },
	{ "bnd jmp near", CODE(0xf2, 0xe9, 0, 2, 0, 0) }, { "call", CODE(0xe8, 0, 2, 0, 0) },
	{ "call back", CODE(0xe8, 0, 0xfc, 0xff, 0xff) },
	{ "cs call", CODE(0x2e, 0xe8, 0, 2, 0, 0) }, { "gs call", CODE(0x65, 0xe8, 0, 2, 0, 0) },
	{ "addr32 call", CODE(0x67, 0xe8, 0, 2, 0, 0) },
	{ "bnd call", CODE(0xf2, 0xe8, 0, 2, 0, 0) }, { "rep call", CODE(0xf3, 0xe8, 0, 2, 0, 0) },
	{ "rex.w call", CODE(0x48, 0xe8, 0, 2, 0, 0), ONLY_64 },
	{ "cs addr32 bnd rex call", CODE(0x2e, 0x67, 0xf2, 0x4f, 0xe8, 0, 2, 0, 0), ONLY_64 },
	{ "ret", CODE(0xc3), RANDOM, LANDINGS }, { "rep ret", CODE(0xf3, 0xc3), RANDOM, LANDINGS },
	{ "bnd ret", CODE(0xf2, 0xc3), RANDOM, LANDINGS },
	{ "ret $0", CODE(0xc2, 0, 0), RANDOM, LANDINGS },
	{ "ret $24", CODE(0xc2, 24, 0), RANDOM, LANDINGS },
	{ "rep ret $0x100", CODE(0xf3, 0xc2, 0, 1), RANDOM, LANDINGS },

	{ "notrack jmp *%rax", CODE(0x3e, 0xff, 0xe0), LANDINGS },
	{ "notrack call *%rdx", CODE(0x3e, 0xff, 0xd2), LANDINGS },
	{ "bnd jmp *%rbx", CODE(0xf2, 0xff, 0xe3), LANDINGS },
	{ "cs call *%r11", CODE(0x2e, 0x41, 0xff, 0xd3), LANDINGS, ONLY_64 },
	{ "rex.w jmp *%r8", CODE(0x49, 0xff, 0xe0), LANDINGS, ONLY_64 },

	{ "call *(%rax)", CODE(0xff, 0x10), DATA },
	{ "notrack jmp *(%rax)", CODE(0x3e, 0xff, 0x20), DATA },
	{ "call *8(%rbx)", CODE(0xff, 0x53, 8), DATA },
	{ "call *-0x80(%rbp)", CODE(0xff, 0x95, 0x80, 0xff, 0xff, 0xff), DATA },
	{ "jmp *(%rsp)", CODE(0xff, 0x24, 0x24), DATA, LANDINGS },
	{ "call *(%rsp)", CODE(0xff, 0x14, 0x24), DATA, LANDINGS },
	{ "call *16(%rsp)", CODE(0xff, 0x54, 0x24, 16), DATA, LANDINGS },
	{ "jmp *8(%rsp,%rcx,2)", CODE(0xff, 0x64, 0x4c, 8), DATA, LANDINGS },
	{ "call *(%rdx,%rcx,8)", CODE(0xff, 0x14, 0xca), DATA },
	{ "jmp *-16(%rbx,%rcx,4)", CODE(0xff, 0x64, 0x8b, 0xf0), DATA },
	{ "call *x(,%rcx,8)", CODE(0xff, 0x14, 0xcd, 0, 0, 0, 0), DATA, .displaced = ABSOLUTE },
	{ "jmp *x", CODE(0xff, 0x24, 0x25, 0, 0, 0, 0), DATA, .displaced = ABSOLUTE },
	{ "call *x(%rip)", CODE(0xff, 0x15, 0, 0, 0, 0), DATA, .displaced = RIP_RELATIVE, ONLY_64 },
	{ "jmp *x(%rip)", CODE(0xff, 0x25, 0, 0, 0, 0), DATA, .displaced = RIP_RELATIVE, ONLY_64 },
	{ "call *(%r12)", CODE(0x41, 0xff, 0x14, 0x24), DATA, ONLY_64 },
	{ "jmp *(%r13)", CODE(0x41, 0xff, 0x65, 0), DATA, ONLY_64 },
	{ "call *(%r13,%r9,2)", CODE(0x43, 0xff, 0x54, 0x4d, 0), DATA, ONLY_64 },
	{ "rex.w call *8(%rsi,%r9,1)", CODE(0x4a, 0xff, 0x54, 0x0e, 8), DATA, ONLY_64 },
	{ "call *%gs:x", CODE(0x65, 0xff, 0x14, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_64 },
	{ "jmp *%gs:x", CODE(0x65, 0xff, 0x24, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_64 },
	{ "addr32 call *%gs:x", CODE(0x65, 0x67, 0xff, 0x14, 0x25, 0, 0, 0, 0), DATA,
	  .displaced = PERCPU, ONLY_64 },
	{ "call *%fs:x", CODE(0x64, 0xff, 0x14, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_32 },
	{ "jmp *%fs:x", CODE(0x64, 0xff, 0x24, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_32 },
};

/* Is it a form of this kernel's instructions? */
static bool form_exists(const struct form *form)
{
	return IS_ENABLED(CONFIG_X86_64) ? !form->only_32 : !form->only_64;
}

/* Do branches by data lead nowhere, and not to landings? */
static void set_data(bool nowhere)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(data); i++)
		data[i] = nowhere ? NO_ADDRESS : landing(i);
	for_each_possible_cpu(i)
		per_cpu(percpu_data, i) = nowhere ? NO_ADDRESS : landing(0);
}

/*
 * Short branches, and near ones by 512 bytes forth or 1024 back, lead between two forms. The
 * longest form, with its padding, ends before the first of these places.
 */
#define STRIDE		48
#define FIRST_AT	1088
#define MAX_FORMS	((TEXT_SIZE_FORMS - FIRST_AT - 640) / STRIDE)

/* Those that set the stack pointer; and landing pads, where the processor does not look for them */
static const struct form copied_forms[] = {
	{ "push %rsp", CODE(0x54) }, { "pop %rsp", CODE(0x5c), RANDOM, STACK },
	{ "mov %ebp, %esp", CODE(0x89, 0xec), STACK, ONLY_32 },
	{ "mov %rbp, %rsp", CODE(0x48, 0x89, 0xec), STACK, ONLY_64 },
	{ "mov (%rsp), %rsp", CODE(0x48, 0x8b, 0x24, 0x24), RANDOM, STACK, ONLY_64 },
	{ "xchg %rbp, %rsp", CODE(0x48, 0x87, 0xec), STACK, ONLY_64 },
	{ "and $-64, %rsp", CODE(0x48, 0x83, 0xe4, 0xc0), ONLY_64 },
	{ "lea 8(%esp), %esp", CODE(0x8d, 0x64, 0x24, 0x08), ONLY_32 },
	{ "lea -36(%esp), %esp", CODE(0x8d, 0x64, 0x24, 0xdc), ONLY_32 },
	{ "lea 8(%rsp), %rsp", CODE(0x48, 0x8d, 0x64, 0x24, 0x08), ONLY_64 },
	{ "lea -48(%rsp), %rsp", CODE(0x48, 0x8d, 0x64, 0x24, 0xd0), ONLY_64 },
	{ "lea -512(%rsp), %rsp", CODE(0x48, 0x8d, 0xa4, 0x24, 0, 0xfe, 0xff, 0xff), ONLY_64 },
	{ "endbr64", CODE(0xf3, 0x0f, 0x1e, 0xfa), .is_pad = true },
	{ "endbr32", CODE(0xf3, 0x0f, 0x1e, 0xfb), .is_pad = true },
};

/* What is added to these: each condition, the loops, and calls and jumps by each register */
#define NR_MORE		(16 * 2 + 4 * 2 + 16 * 2)
#define NR_ALL		(ARRAY_SIZE(forms) + ARRAY_SIZE(copied_forms) + NR_MORE)

/* Does this processor's branch fault if it leads to what is no address? */
static bool branches_fault;

static struct form all_forms[NR_ALL];
static int nr_all;

/* Those in one of the two texts */
static struct form_at {
	const struct form	*form;
	struct diff_insn	insn;
} there[MAX_FORMS];

#define ADD(...)	(all_forms[nr_all++] = (struct form) { __VA_ARGS__ })

static void add_forms(const struct form *from, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		if (form_exists(&from[i]) && !(from[i].is_pad && kprobe_need_landing_pads()))
			all_forms[nr_all++] = from[i];
	}
}

static void list_forms(void)
{
	int i;

	nr_all = 0;
	add_forms(forms, ARRAY_SIZE(forms));
	add_forms(copied_forms, ARRAY_SIZE(copied_forms));
	for (i = 0; i < 16; i++) {
		ADD("jcc short", CODE(0x70 + i, 0x7f));
		ADD("jcc near", CODE(0x0f, 0x80 + i, 0, 2, 0, 0));
	}
	for (i = 0; i < 4; i++) {
		ADD("loop, jcxz", CODE(0xe0 + i, 0x7f), COUNTS);
		ADD("addr32 loop, jcxz", CODE(0x67, 0xe0 + i, 0x80), COUNTS);
	}
	/* Not through the stack pointer: see far_cases[] in test_emulate.c. */
	for (i = 0; i < 8; i++) {
		if (i != REG_SP) {
			ADD("call *%reg", CODE(0xff, 0xd0 + i), LANDINGS);
			ADD("jmp *%reg", CODE(0xff, 0xe0 + i), LANDINGS);
		}
		if (IS_ENABLED(CONFIG_X86_64)) {
			ADD("call *%reg", CODE(0x41, 0xff, 0xd0 + i), LANDINGS);
			ADD("jmp *%reg", CODE(0x41, 0xff, 0xe0 + i), LANDINGS);
		}
	}
}

/* Is there no jump, because of what the copies in detours cannot do? */
static bool has_no_jump(struct insn *insn)
{
	switch (kprobe_branch_of(insn)) {
	case KPROBE_LOOP:
	case KPROBE_INDIRECT_CALL:
	case KPROBE_INDIRECT_JUMP:
		return true;
	case KPROBE_RETURN_BY_THUNK:
		return insn->immediate.nbytes;
	default:
		return false;
	}
}

static struct diff_insn *form_insn(int i)
{
	return &there[i].insn;
}

/* Returns how many of the forms belong into that text. */
static int lay_out(unsigned long at, bool jumps)
{
	struct insn insn;
	int i, nr = 0;

	for (i = 0; i < nr_all && nr < MAX_FORMS; i++) {
		const struct form *form = &all_forms[i];
		struct form_at *to = &there[nr];

		to->form = form;
		place_form(form, at, &to->insn);
		if (insn_decode_kernel(&insn, to->insn.code))
			return -EINVAL;
		if (has_no_jump(&insn) == jumps)
			continue;
		at += STRIDE;
		nr++;
	}
	return nr < MAX_FORMS ? nr : -ENOSPC;
}

/* Does it read memory at an address that is in a register? */
static bool can_fail(const struct form *form)
{
	return form->words == LANDINGS || (form->regs == DATA && form->displaced == AS_IS);
}

/* Does a branch lead to where a register, the stack, or data say? */
static bool can_go_astray(const struct form *form)
{
	return IS_ENABLED(CONFIG_X86_64) &&
	       (form->regs == LANDINGS || form->words == LANDINGS || form->regs == DATA);
}

static int nr_form_states(int i)
{
	return NR_FLAGS;
}

/* Sets registers and the stack, with the flags of that state. */
static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	const struct form *form = there[run->i].form;
	int i;

	prandom_seed_state(&random, test_seed + run->i * NR_FLAGS + run->state);
	if (data[0] == NO_ADDRESS)
		set_data(false);
	memset(kprobe_test_stack, 0, sizeof(kprobe_test_stack));
	for (i = 0; i < STACK_SEEN - 1; i++)
		kprobe_test_stack[STACK_AT + i] = content(form->words, i);
	fill_regs(regs, form->regs, run->state);
	regs->flags = kprobe_test_flags(run->state);
}

/* Has registers and the stack hold a bad address. An index stays. */
static void spoil(const struct diff_run *run, struct pt_regs *regs)
{
	const bool nowhere = run->trial == DIFF_NOWHERE;
	const struct form *form = there[run->i].form;
	unsigned long bad = nowhere ? NO_ADDRESS : kprobe_test_bad_address(run->state & 1);
	int i;

	if (form->words == LANDINGS && !nowhere) {
		regs->sp = kprobe_test_edge;
		return;
	}
	for (i = 0; (!nowhere || form->regs == LANDINGS) && i < NR_REGS; i++) {
		if (i != REG_SP && (nowhere || (i != REG_CX && i != REG_R9)))
			*reg(regs, i) = bad;
	}
	for (i = 0; form->words == LANDINGS && i < STACK_SEEN - 1; i++)
		kprobe_test_stack[STACK_AT + i] = NO_ADDRESS;
	if (nowhere)
		set_data(true);
}

/* By a jump alone, the branch itself is executed, which QEMU lets go there first. */
static bool kprobes_raise_it(struct diff_way way)
{
	return !way.jump || way.post || branches_fault;
}

/* Does it fault in the kernel's return thunk, and not where it is? */
static bool faults_elsewhere(const struct form *form, struct diff_way way)
{
	return way.jump && !way.post && form->words == LANDINGS &&
	       cpu_feature_enabled(X86_FEATURE_RETHUNK);
}

static bool tries(const struct diff_run *run)
{
	const struct form *form = there[run->i].form;

	if (run->trial == DIFF_GOOD)
		return true;
	if (faults_elsewhere(form, run->way))
		return false;
	if (run->trial == DIFF_NOWHERE)
		return can_go_astray(form) && kprobes_raise_it(run->way);
	return can_fail(form);
}

static struct diff_lab lab = {
	.padding	= PADDING_SIZE,
	.insn		= form_insn,
	.nr_states	= nr_form_states,
	.size		= words_size,
	.tries		= tries,
	.set_up		= set_up,
	.spoil		= spoil,
	.see		= see_words,
};

static void try_text(struct kunit *test, void (*text)(void), bool jumps)
{
	lab.nr = lay_out((unsigned long)text + FIRST_AT, jumps);
	KUNIT_ASSERT_GT(test, lab.nr, 0);
	KUNIT_ASSERT_EQ(test, 0, kprobe_test_write(text, TEXT_SIZE_FORMS, &lab));
	kprobe_test_astray = !jumps;
	diff_run_natively(test, &lab);
	kprobe_test_in_all_ways(test, &lab, GENMASK(DIFF_TRIALS - 1, 0), jumps);
}

static void instructions_with_a_jump_do_as_in_place(struct kunit *test)
{
	try_text(test, kprobe_test_forms, true);
}

/* Indirect branches, and loops: because of them the whole function has no jumps. */
static void branches_without_a_jump_do_as_in_place(struct kunit *test)
{
	try_text(test, kprobe_test_branches, false);
}

static void each_emulator_has_a_form(struct kunit *test)
{
	DECLARE_BITMAP(rows, 64) = {};
	struct kprobe_emulation em;
	struct insn insn;
	int i, row;

	KUNIT_ASSERT_LE(test, kprobe_nr_emulators, 64);
	for (i = 0; i < nr_all; i++) {
		KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, all_forms[i].code));
		row = kprobe_find_emulator(&em, &insn);
		if (row >= 0)
			__set_bit(row, rows);
	}
	KUNIT_EXPECT_TRUE_MSG(test, bitmap_full(rows, kprobe_nr_emulators), "not %lu",
			      find_first_zero_bit(rows, 64));
}

static void forms_suite_exit(struct kunit_suite *suite)
{
	switch_suite_exit(suite);
	kprobe_test_native_exit();
}

static void see_whether_branches_fault(void)
{
	static const u8 jmp_rax[] = { 0x3e, 0xff, 0xe0 };
	struct pt_regs regs = {
		.ip = (unsigned long)kprobe_test_page,
		.flags = kprobe_test_flags(0),
		.ax = NO_ADDRESS,
		.sp = (unsigned long)&kprobe_test_stack[STACK_AT],
	};

	kprobe_test_put_code(jmp_rax, sizeof(jmp_rax));
	branches_fault = IS_ENABLED(CONFIG_X86_64) &&
			 kprobe_test_try_natively(&regs) == X86_TRAP_GP &&
			 regs.ip == (unsigned long)kprobe_test_page;
}

static int forms_suite_init(struct kunit_suite *suite)
{
	int err = kprobe_test_native_init() ?: switch_suite_init(suite);

	if (err)
		return err;
	seed_random(suite, &random);
	set_data(false);
	list_forms();
	see_whether_branches_fault();
	return 0;
}

static struct kunit_case forms_cases[] = {
	KUNIT_CASE_SLOW(instructions_with_a_jump_do_as_in_place),
	KUNIT_CASE_SLOW(branches_without_a_jump_do_as_in_place),
	KUNIT_CASE(each_emulator_has_a_form),
	{ }
};

static struct kunit_suite forms_suite = {
	.name		= "kprobes_x86_forms",
	.suite_init	= forms_suite_init,
	.suite_exit	= forms_suite_exit,
	.init		= switch_init,
	.exit		= switch_exit,
	.test_cases	= forms_cases,
};

kunit_test_suite(forms_suite);
