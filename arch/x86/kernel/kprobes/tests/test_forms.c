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
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/trapnr.h>

#include "../internal.h"
#include "test_forms.h"
#include "test_ways.h"

/*
 * Short branches, and near ones by 512 bytes forth or 1024 back, lead between two forms. The
 * longest form, with its padding, ends before the first of these places.
 */
#define STRIDE		48
#define FIRST_AT	1088
#define MAX_FORMS	((TEXT_SIZE_FORMS - FIRST_AT - 640) / STRIDE)

/* Those that set the stack pointer; and landing pads, where the processor does not look for them */
static const struct form copied_forms[] = {
	{ "push %rsp", CODE(0x54) },
	{ "pop %rsp", CODE(0x5c), RANDOM, STACK },
	{ "mov %ebp, %esp", CODE(0x89, 0xec), STACK, .only_32 = true },
	{ "mov %rbp, %rsp", CODE(0x48, 0x89, 0xec), STACK, .only_64 = true },
	{ "mov (%rsp), %rsp", CODE(0x48, 0x8b, 0x24, 0x24), RANDOM, STACK, .only_64 = true },
	{ "xchg %rbp, %rsp", CODE(0x48, 0x87, 0xec), STACK, .only_64 = true },
	{ "and $-64, %rsp", CODE(0x48, 0x83, 0xe4, 0xc0), .only_64 = true },
	{ "lea 8(%esp), %esp", CODE(0x8d, 0x64, 0x24, 0x08), .only_32 = true },
	{ "lea -36(%esp), %esp", CODE(0x8d, 0x64, 0x24, 0xdc), .only_32 = true },
	{ "lea 8(%rsp), %rsp", CODE(0x48, 0x8d, 0x64, 0x24, 0x08), .only_64 = true },
	{ "lea -48(%rsp), %rsp", CODE(0x48, 0x8d, 0x64, 0x24, 0xd0), .only_64 = true },
	{ "lea -512(%rsp), %rsp", CODE(0x48, 0x8d, 0xa4, 0x24, 0, 0xfe, 0xff, 0xff),
	  .only_64 = true },
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
static struct {
	const struct form	*form[MAX_FORMS];
	u8			code[MAX_FORMS][16];
	int			nr;
	struct outcome		*outcomes;	/* NR_FLAGS for each form */
} lab;

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

static int fill_image(u8 *image, void (*text)(void), bool jumps)
{
	unsigned long at = (unsigned long)text + FIRST_AT;
	struct insn insn;
	int i;

	lab.nr = 0;
	for (i = 0; i < nr_all; i++) {
		const struct form *form = &all_forms[i];
		u8 *code = lab.code[lab.nr];

		memcpy(code, form->code, sizeof(form->code));
		set_displacement(code, form, at);
		if (insn_decode_kernel(&insn, code))
			return -EINVAL;
		if (has_no_jump(&insn) == jumps)
			continue;
		if (lab.nr == MAX_FORMS - 1)
			return -ENOSPC;
		put_insn(image, at - (unsigned long)text, code, form->length);
		planted.at[lab.nr] = at;
		lab.form[lab.nr++] = form;
		at += STRIDE;
	}
	planted.nr = lab.nr;
	return 0;
}

static int make_lab(void (*text)(void), bool jumps, bool *is_written)
{
	u8 *image = new_image(TEXT_SIZE_FORMS);
	int err = image ? fill_image(image, text, jumps) : -ENOMEM;

	if (!err && !*is_written) {
		write_text(text, image, TEXT_SIZE_FORMS);
		*is_written = true;
	}
	kvfree(image);
	return err;
}

static struct run run_of(int i, const struct way *way)
{
	return (struct run) { way->name, lab.form[i]->length, lab.code[i] };
}

/* Does it read memory at an address that is in a register? */
static bool can_fail(const struct form *form)
{
	return form->words == LANDINGS || (form->regs == DATA && form->displaced == AS_IS);
}

/* Has that be an address at which nothing is. The index stays. */
static void break_operand(const struct form *form, struct pt_regs *regs, unsigned long bad)
{
	int i;

	if (form->words == LANDINGS) {
		regs->sp = edge_end();
		return;
	}
	for (i = 0; i < NR_REGS; i++) {
		if (i != REG_CX && i != REG_SP && i != REG_R9)
			*reg(regs, i) = bad;
	}
}

/* Does a branch lead to where a register, the stack, or data say? */
static bool can_go_astray(const struct form *form)
{
	return IS_ENABLED(CONFIG_X86_64) &&
	       (form->regs == LANDINGS || form->words == LANDINGS || form->regs == DATA);
}

static void break_target(const struct form *form, struct pt_regs *regs, unsigned long *words)
{
	int i;

	for (i = 0; form->regs == LANDINGS && i < NR_REGS; i++) {
		if (i != REG_SP)
			*reg(regs, i) = NO_ADDRESS;
	}
	for (i = 0; form->words == LANDINGS && i < STACK_SEEN; i++)
		words[i] = NO_ADDRESS;
	set_data(true);
}

/* The same registers and stack each time */
static void run_one(int i, int flags, struct pt_regs *in, struct outcome *out, enum trial trial)
{
	const struct form *form = lab.form[i];
	unsigned long words[STACK_SEEN];
	struct pt_regs regs, good;

	prandom_seed_state(&random, i * NR_FLAGS + flags);
	memset(in, 0, sizeof(*in));
	fill_words(words, form->words);
	fill_regs(in, form->regs);
	if (trial == NOWHERE)
		break_target(form, in, words);
	fill_stack(words);
	in->ip = planted.at[i];
	in->flags = kprobe_test_flags(flags);
	good = *in;
	if (trial == LEFT_OUT || trial == REPAIRED)
		break_operand(form, in, bad_address(flags & 1));
	memset(&hit, 0, sizeof(hit));
	hit.next = planted.at[i] + form->length;
	hit.repaired = trial == REPAIRED ? &good : NULL;
	regs = *in;
	kprobe_test_run_natively(&regs);
	if (trial == NOWHERE)
		set_data(false);
	see(out, &regs);
	/* Room on the stack that has not been written to */
	if (regs.sp < good.sp - sizeof(long))
		memset(out->words, 0, sizeof(*out->words));
}

static void expect_outcome(struct kunit *test, const struct run *run, struct outcome *native,
			   struct outcome *ours)
{
	struct registers a, b;
	int i;

	see_registers(&a, &native->regs);
	see_registers(&b, &ours->regs);
	expect_registers(test, run, "afterwards", &a, &b);
	for (i = 0; i < STACK_SEEN; i++)
		KUNIT_EXPECT_EQ_MSG(test, native->words[i], ours->words[i],
				    "%*ph, %s: stack word %d", run->length, run->code, run->way,
				    i - 1);
}

static void expect_hit(struct kunit *test, int i, const struct run *run, const struct way *way,
		       struct pt_regs *in, struct outcome *native, unsigned int faults)
{
	unsigned long next = planted.at[i] + run->length;
	struct registers before, after;

	see_registers(&before, in);
	see_registers(&after, &native->regs);
	/* The native run has gone on, through the padding. */
	if (after.ip == next + PADDING_SIZE)
		after.ip = next;
	expect_handlers(test, run, way, &before, &after, faults);
}

static void run_natively(void)
{
	struct pt_regs in;
	int i;

	for (i = 0; i < lab.nr * NR_FLAGS; i++)
		run_one(i / NR_FLAGS, i % NR_FLAGS, &in, &lab.outcomes[i], GOOD);
}

static void run_and_compare(struct kunit *test, const struct way *way, int i, enum trial trial)
{
	struct run run = run_of(i / NR_FLAGS, way);
	static struct outcome ours;
	struct pt_regs in;

	run_one(i / NR_FLAGS, i % NR_FLAGS, &in, &ours, trial);
	expect_outcome(test, &run, &lab.outcomes[i], &ours);
	expect_hit(test, i / NR_FLAGS, &run, way, &in, &lab.outcomes[i], trial == REPAIRED);
}

/* Nothing has been done when the fault handler is called, which leaves the instruction out. */
static void expect_left_out(struct kunit *test, const struct way *way, int i, enum trial trial)
{
	struct run run = run_of(i / NR_FLAGS, way);
	struct registers before, seen;
	static struct outcome ours;
	struct pt_regs in;

	run_one(i / NR_FLAGS, i % NR_FLAGS, &in, &ours, trial);
	expect_calls(test, &run, way, 0, 1);
	see_registers(&before, &in);
	see_registers(&seen, &hit.fault);
	expect_registers(test, &run, "fault handler", &before, &seen);
	before.ip += run.length + PADDING_SIZE;
	see_registers(&seen, &ours.regs);
	expect_registers(test, &run, "afterwards", &before, &seen);
}

/* By a jump alone, the branch itself is executed, which QEMU lets go there first. */
static bool kprobes_raise_it(const struct way *way)
{
	return !way->jump || way->post || branches_fault;
}

/* Does it fault in the kernel's return thunk, and not where it is? */
static bool faults_elsewhere(const struct form *form, const struct way *way)
{
	return way->jump && !way->post && form->words == LANDINGS &&
	       cpu_feature_enabled(X86_FEATURE_RETHUNK);
}

static void run_probed(struct kunit *test, const struct way *way)
{
	const struct form *form;
	int i;

	for (i = 0; i < lab.nr * NR_FLAGS; i++) {
		form = lab.form[i / NR_FLAGS];
		run_and_compare(test, way, i, GOOD);
		if (can_fail(form) && !faults_elsewhere(form, way)) {
			expect_left_out(test, way, i, LEFT_OUT);
			run_and_compare(test, way, i, REPAIRED);
		}
		if (can_go_astray(form) && kprobes_raise_it(way) && !faults_elsewhere(form, way))
			expect_left_out(test, way, i, NOWHERE);
		if (i % NR_FLAGS == NR_FLAGS - 1)
			KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
		cond_resched();
	}
}

static void try_text(struct kunit *test, void (*text)(void), bool jumps, bool *is_written)
{
	ways_need(test);
	KUNIT_ASSERT_EQ(test, 0, make_lab(text, jumps, is_written));
	KUNIT_ASSERT_GT(test, lab.nr, 0);
	run_natively();
	run_in_all_ways(test, jumps && IS_ENABLED(CONFIG_OPTPROBES), run_probed);
	kunit_info(test, "%d instructions", lab.nr);
}

static void instructions_with_a_jump_do_as_in_place(struct kunit *test)
{
	static bool is_written;

	kprobe_test_astray = false;
	try_text(test, kprobe_test_forms, true, &is_written);
}

/* Indirect branches, and loops: because of them the whole function has no jumps. */
static void branches_without_a_jump_do_as_in_place(struct kunit *test)
{
	static bool is_written;

	kprobe_test_astray = true;
	try_text(test, kprobe_test_branches, false, &is_written);
}

static void forms_suite_exit(struct kunit_suite *suite)
{
	planted_exit();
	free_bad_address();
	kvfree(lab.outcomes);
	memset(&lab, 0, sizeof(lab));
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
	int err = kprobe_test_native_init() ?: switch_suite_init(suite) ?:
		  planted_init(MAX_FORMS) ?: find_bad_address();

	lab.outcomes = kvcalloc(MAX_FORMS * NR_FLAGS, sizeof(*lab.outcomes), GFP_KERNEL);
	if (!err && !lab.outcomes)
		err = -ENOMEM;
	if (err) {
		forms_suite_exit(suite);
		return err;
	}
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
