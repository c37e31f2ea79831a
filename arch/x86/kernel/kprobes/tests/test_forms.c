// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: hits of branches, compared with native execution
 *
 * test_emulate.c calls the emulators. Here the same forms are in a function's text, and have a
 * probe each: what leads to the emulators, and away from them, is tested too, and so are the
 * copies of branches in detours. Those that read memory run with a bad address, too, and branches
 * that do not say their target with one that is no address: the fault is the instruction's, as with
 * a copy.
 *
 * There are some instructions that are copied, too, which test_copy.c does not draw.
 */

#include <kunit/test.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/trapnr.h>

#include "../internal.h"
#include "support/switch.h"
#include "test_forms.h"

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

/* What is added to these: each condition, and the loops */
#define NR_MORE		(16 * 2 + 4)
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

static void add_branch(const char *name, u8 first, u8 second, int length)
{
	all_forms[nr_all++] = (struct form) {
		.name	= name,
		/* forth, by 127 or 512 bytes */
		.code	= { first, second, 0, length > 2 ? 2 : 0 },
		.length	= length,
	};
}

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
		add_branch("jcc short", 0x70 + i, 0x7f, 2);
		add_branch("jcc near", 0x0f, 0x80 + i, 6);
	}
	for (i = 0; i < 4; i++)
		add_branch("loop, jcxz", 0xe0 + i, 0x7f, 2);
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

static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	set_up_form(there[run->i].form, run, regs);
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

	kprobe_test_put_code(0, jmp_rax, sizeof(jmp_rax));
	branches_fault = IS_ENABLED(CONFIG_X86_64) &&
			 kprobe_test_try_natively(&regs) == X86_TRAP_GP &&
			 regs.ip == (unsigned long)kprobe_test_page;
}

static int forms_suite_init(struct kunit_suite *suite)
{
	int err = kprobe_test_native_init() ?: switch_suite_init(suite);

	if (err)
		return err;
	forms_init(suite);
	list_forms();
	see_whether_branches_fault();
	return 0;
}

static struct kunit_case forms_cases[] = {
	KUNIT_CASE_SLOW(instructions_with_a_jump_do_as_in_place),
	KUNIT_CASE_SLOW(branches_without_a_jump_do_as_in_place),
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
