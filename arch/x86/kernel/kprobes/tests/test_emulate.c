// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: emulated branches, compared with native execution
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "support/probe.h"
#include "../internal.h"
#include "test_forms.h"
#include "test_native.h"

static DECLARE_BITMAP(rows_seen, 64);

/* The form that is tried, and how it is emulated */
static struct {
	const struct form	*form;
	const u64		*counts;	/* for loops, each with all flags */
	struct insn		insn;
	struct kprobe_emulation	em;
	struct diff_insn	at;
} tried;

static struct diff_insn *tried_insn(int i)
{
	return &tried.at;
}

static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	set_up_form(tried.form, run, regs);
	if (tried.counts)
		regs->cx = tried.counts[run->state / NR_FLAGS];
}

static const struct diff_lab lab = {
	.insn	= tried_insn,
	.size	= words_size,
	.set_up	= set_up,
	.see	= see_words,
};

static void prepare(struct kunit *test, const struct form *form)
{
	int row;

	tried.form = form;
	tried.counts = NULL;
	place_form(form, (unsigned long)kprobe_test_page + CODE_AT, &tried.at);

	KUNIT_ASSERT_EQ_MSG(test, 0, insn_decode_kernel(&tried.insn, tried.at.code), "%s",
			    form->name);
	KUNIT_ASSERT_EQ_MSG(test, form->length, tried.insn.length, "%s", form->name);
	KUNIT_ASSERT_EQ_MSG(test, 0, kprobe_emulation_init(&tried.em, &tried.insn), "%s",
			    form->name);
	KUNIT_ASSERT_TRUE_MSG(test, tried.em.fn || tried.em.memory, "%s", form->name);
	KUNIT_ASSERT_EQ(test, form->length, tried.em.length);

	row = kprobe_find_emulator(&tried.em, &tried.insn);
	KUNIT_ASSERT_TRUE(test, row >= 0 && row < kprobe_nr_emulators);
	__set_bit(row, rows_seen);
	kprobe_test_put_code(CODE_AT, tried.at.code, form->length);
}

static void emulate(struct kunit *test, const struct diff_run *run, struct pt_regs *regs)
{
	KUNIT_ASSERT_TRUE_MSG(test, tried.em.fn(&tried.em, regs), "%s", tried.form->name);
}

/* Does the same as a hit if the operand is left to the slot's copy. */
static void emulate_pushed(struct kunit *test, const struct diff_run *run, struct pt_regs *regs)
{
	unsigned long to = (unsigned long)kprobe_test_page + COPY_AT;
	u8 copy[16];
	int length;

	length = kprobe_copy(copy, &tried.insn, tried.at.at, to);
	KUNIT_ASSERT_GT(test, length, 0);
	kprobe_test_put_code(COPY_AT, copy, length);
	regs->ip = to;
	diff_trip(regs);
	KUNIT_ASSERT_EQ(test, to + length, regs->ip);
	regs->ip = tried.at.at;
	kprobe_emulate_pushed(&tried.em, regs);
}

static void compare(struct kunit *test, int state)
{
	struct diff_run run = { .state = state };

	if (tried.em.fn)
		diff_expect_same(test, &lab, &run, emulate);
	if (tried.em.memory)
		diff_expect_same(test, &lab, &run, emulate_pushed);
}

/* With all flags, for each of @nr counts if it is a loop */
static void try_counts(struct kunit *test, const struct form *form, const u64 *counts, int nr)
{
	int state;

	prepare(test, form);
	tried.counts = counts;
	for (state = 0; state < nr * NR_FLAGS; state++)
		compare(test, state);
}

static void try_form(struct kunit *test, const struct form *form)
{
	try_counts(test, form, NULL, 1);
}

static void test_forms(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		if (form_exists(&forms[i]))
			try_form(test, &forms[i]);
	}
}

/* A past bug: a conditional jump tested the wrong flags. */
static void test_conditions(struct kunit *test)
{
	static const u8 disps[] = { 0x80, 0x00, 0x7f };
	struct form near = { "jcc near", CODE(0x0f, 0x80, 0, 2, 0, 0) };
	struct form brief = { "jcc short", CODE(0x70, 0) };
	int cc, i;

	for (cc = 0; cc < 16; cc++) {
		near.code[1] = 0x80 + cc;
		try_form(test, &near);
		brief.code[0] = 0x70 + cc;
		for (i = 0; i < ARRAY_SIZE(disps); i++) {
			brief.code[1] = disps[i];
			try_form(test, &brief);
		}
	}
}

static void test_loops(struct kunit *test)
{
	static const u64 counts[] = {
		0, 1, 2, 0xffff, 0x10000, 0x10001, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 0x100000001, 0xffffffff00000001, U64_MAX,
	};
	struct form plain = { "loop, jcxz", CODE(0xe0, 0x7f) };
	struct form sized = { "addr32 loop, jcxz", CODE(0x67, 0xe0, 0x80) };
	int i;

	for (i = 0; i < 4; i++) {
		plain.code[0] = 0xe0 + i;
		try_counts(test, &plain, counts, ARRAY_SIZE(counts));
		sized.code[1] = 0xe0 + i;
		try_counts(test, &sized, counts, ARRAY_SIZE(counts));
	}
}

/* A form that begins with REX.B and ends with the low bits of register 0. */
static void try_register(struct kunit *test, struct form form, int i)
{
	form.code[form.length - 1] |= i & 7;
	if (i < 8)
		memmove(form.code, form.code + 1, --form.length);
	prepare(test, &form);
	compare(test, i);
}

/*
 * Not through the stack pointer: see far_cases. A past bug: an indirect call pushed a
 * wrong return address.
 */
static void test_indirect(struct kunit *test)
{
	const struct form call = { "call *%reg", CODE(0x41, 0xff, 0xd0), LANDINGS };
	const struct form jmp = { "jmp *%reg", CODE(0x41, 0xff, 0xe0), LANDINGS };
	int i;

	for (i = 0; i < NR_REGS; i++) {
		if (i == REG_SP)
			continue;
		try_register(test, call, i);
		try_register(test, jmp, i);
	}
}

/* Cases whose result has no code or no stack, so they cannot run: expect what the manual says. */
struct far_case {
	const char	*name;
	u8		code[MAX_INSN_SIZE];
	u64		ip, sp, pushed;
};

#define FAR_IP		0xffffffff81000000
#define FAR_CX		2
/* The stack pointer from before the instruction */
#define FAR_SP		1

static const struct far_case far_cases[] = {
	{ "jmp +2G", { 0xe9, 0xff, 0xff, 0xff, 0x7f }, FAR_IP + 5 + 0x7fffffff },
	{ "jmp -2G", { 0xe9, 0, 0, 0, 0x80 }, FAR_IP + 5 - 0x80000000 },
	{ "jae +2G", { 0x0f, 0x83, 0xff, 0xff, 0xff, 0x7f }, FAR_IP + 6 + 0x7fffffff },
	{ "jae -2G", { 0x0f, 0x83, 0, 0, 0, 0x80 }, FAR_IP + 6 - 0x80000000 },
	{ "jb -2G", { 0x0f, 0x82, 0, 0, 0, 0x80 }, FAR_IP + 6 },
	{ "call -2G", { 0xe8, 0, 0, 0, 0x80 }, FAR_IP + 5 - 0x80000000, -1, FAR_IP + 5 },
	{ "cs call +2G", { 0x2e, 0xe8, 0xff, 0xff, 0xff, 0x7f },
	  FAR_IP + 6 + 0x7fffffff, -1, FAR_IP + 6 },
	{ "loop -128", { 0xe2, 0x80 }, FAR_IP + 2 - 128 },
	{ "ret $0xfff8", { 0xc2, 0xf8, 0xff }, 0, sizeof(long) + 0xfff8 },
	{ "call *%sp", { 0xff, 0xd4 }, FAR_SP, -1, FAR_IP + 2 },
};

static bool emulate_code(struct kunit *test, const u8 *code, struct pt_regs *regs)
{
	struct kprobe_emulation em;
	struct insn insn;

	KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, code));
	KUNIT_ASSERT_EQ(test, 0, kprobe_emulation_init(&em, &insn));
	return em.fn(&em, regs);
}

/* A past bug: a call with prefixes returned into itself. */
static void test_far(struct kunit *test)
{
	unsigned long *sp = &kprobe_test_stack[STACK_AT], ip, moved;
	const struct far_case *c;
	struct pt_regs regs = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(far_cases); i++) {
		c = &far_cases[i];
		memset(kprobe_test_stack, 0, sizeof(kprobe_test_stack));
		regs.ip = (unsigned long)FAR_IP;
		regs.sp = (unsigned long)sp;
		regs.cx = FAR_CX;
		KUNIT_ASSERT_TRUE(test, emulate_code(test, c->code, &regs));
		ip = c->ip == FAR_SP ? (unsigned long)sp : c->ip;
		moved = c->sp == -1 ? -sizeof(long) : c->sp;
		KUNIT_EXPECT_EQ_MSG(test, ip, regs.ip, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, (unsigned long)sp + moved, regs.sp, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, (unsigned long)c->pushed, sp[-1], "%s", c->name);
	}
}

/* An instruction that would fault is left to the copy, with unchanged registers. */
static void test_faults(struct kunit *test)
{
	static const u8 codes[][MAX_INSN_SIZE] = {
		{ 0xc3 }, { 0xc2, 8, 0 }, { 0xff, 0x10 }, { 0xff, 0x20 },
	};
	const unsigned long addresses[] = {
		0, PAGE_SIZE, LONG_MAX, TASK_SIZE_MAX - sizeof(long), -PAGE_SIZE,
		/* The page behind user space, a non-canonical address, vsyscalls */
		IS_ENABLED(CONFIG_X86_64) ? TASK_SIZE_MAX : 0,
		IS_ENABLED(CONFIG_X86_64) ? BIT_ULL(63) : 0,
		IS_ENABLED(CONFIG_X86_64) ? -10UL << 20 : 0,
	};
	struct pt_regs before = {}, regs;
	int i;

	for (i = 0; i < ARRAY_SIZE(codes) * ARRAY_SIZE(addresses); i++) {
		fill_regs(&before, RANDOM);
		before.ax = addresses[i % ARRAY_SIZE(addresses)];
		before.bp = before.ax;
		before.sp = before.ax;
		regs = before;
		KUNIT_EXPECT_FALSE(test, emulate_code(test, codes[i / ARRAY_SIZE(addresses)],
						      &regs));
		KUNIT_EXPECT_MEMEQ(test, &before, &regs, sizeof(regs));
	}
}

#ifdef CONFIG_SMP
#define STEPPED_RESULT	7

unsigned long kprobe_test_stepped(void);

KPROBES_AT(stepped);

static unsigned long stepped_target(void)
{
	return STEPPED_RESULT;
}

static DEFINE_PER_CPU(unsigned long (*)(void), kprobe_test_target) __used = stepped_target;

/* A call by per-CPU memory, the one kind of instruction that is stepped. */
KPROBES_FUNCTION(kprobe_test_stepped,
		 FRAME_BEGIN KPROBES_STEP("stepped") ANNOTATE_RETPOLINE_SAFE
		 "call *%" __ASM_SEL_RAW(fs, gs) ":" KPROBES_DATA("kprobe_test_target") "\n"
		 FRAME_END ASM_RET);

/* The second call may be a hit by a jump. */
static void test_stepped(struct kunit *test)
{
	struct probe *probe = probe_with(test, kprobes_step_stepped,
					 .kp.post_handler = probe_post_handler);
	unsigned int calls;
	const char *path;

	scoped_guard(preempt)
		path = arch_kprobe_path(get_kprobe(kprobes_step_stepped));
	KUNIT_EXPECT_STREQ(test, path, "step");
	for (calls = 1; calls <= 2; calls++) {
		probe->post_ip = 0;
		KUNIT_EXPECT_EQ(test, STEPPED_RESULT, kprobe_test_stepped());
		probe_expect(test, probe, calls, calls, 0);
		KUNIT_EXPECT_EQ(test, probe->post_ip, (unsigned long)stepped_target);
		wait_for_kprobe_optimizer();
	}
}
#else
static void test_stepped(struct kunit *test)
{
	kunit_skip(test, "nothing is stepped here");
}
#endif

/* Runs last: the cases above have emulated an instruction of each row. */
static void test_coverage(struct kunit *test)
{
	int row;

	if (bitmap_empty(rows_seen, 64))
		kunit_skip(test, "the other cases were not run");
	KUNIT_ASSERT_LE(test, kprobe_nr_emulators, 64);
	for (row = 0; row < kprobe_nr_emulators; row++)
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(row, rows_seen),
				      "row %d of the table was not tried", row);
}

static int emulate_suite_init(struct kunit_suite *suite)
{
	int err = kprobe_test_native_init();

	if (err)
		return err;
	kprobe_test_astray = true;
	bitmap_zero(rows_seen, 64);
	forms_init(suite);
	return 0;
}

static void emulate_suite_exit(struct kunit_suite *suite)
{
	kprobe_test_native_exit();
}

static struct kunit_case emulate_cases[] = {
	KUNIT_CASE(test_forms),
	KUNIT_CASE(test_conditions),
	KUNIT_CASE(test_loops),
	KUNIT_CASE(test_indirect),
	KUNIT_CASE(test_far),
	KUNIT_CASE(test_faults),
	KUNIT_CASE(test_stepped),
	KUNIT_CASE(test_coverage),
	{ }
};

static struct kunit_suite emulate_suite = {
	.name		= "kprobes_x86_emulate",
	.suite_init	= emulate_suite_init,
	.suite_exit	= emulate_suite_exit,
	.test_cases	= emulate_cases,
};

kunit_test_suite(emulate_suite);
