// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: emulated branches, compared with native execution
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

#include "support/probe.h"
#include "../internal.h"
#include "test_forms.h"
#include "test_native.h"

static DECLARE_BITMAP(rows_seen, 64);

struct subject {
	const struct form	*form;
	struct insn		insn;
	struct kprobe_emulation	em;
	u8			code[16];
};

static void prepare(struct kunit *test, struct subject *s, const struct form *form)
{
	int row;

	s->form = form;
	memcpy(s->code, form->code, sizeof(s->code));
	set_displacement(s->code, form, (unsigned long)kprobe_test_page + CODE_AT);

	KUNIT_ASSERT_EQ_MSG(test, 0, insn_decode_kernel(&s->insn, s->code),
			    "%s", form->name);
	KUNIT_ASSERT_EQ_MSG(test, form->length, s->insn.length, "%s", form->name);
	KUNIT_ASSERT_EQ_MSG(test, 0, kprobe_emulation_init(&s->em, &s->insn),
			    "%s", form->name);
	KUNIT_ASSERT_TRUE_MSG(test, s->em.fn || s->em.memory, "%s", form->name);
	KUNIT_ASSERT_EQ(test, form->length, s->em.length);

	row = kprobe_find_emulator(&s->insn);
	KUNIT_ASSERT_TRUE(test, row >= 0 && row < kprobe_nr_emulators);
	__set_bit(row, rows_seen);
	kprobe_test_put_code(CODE_AT, s->code, form->length);
}

static void expect_same(struct kunit *test, struct subject *s, const char *how,
			struct outcome *native, struct outcome *ours)
{
	const char *name = s->form->name;
	int i;

	for (i = 0; i < NR_REGS; i++)
		KUNIT_ASSERT_EQ_MSG(test, *reg(&native->regs, i), *reg(&ours->regs, i),
				    "%s, %s: register %d", name, how, i);
	KUNIT_ASSERT_EQ_MSG(test, native->regs.flags, ours->regs.flags,
			    "%s, %s: flags", name, how);
	KUNIT_ASSERT_EQ_MSG(test, native->regs.ip, ours->regs.ip,
			    "%s, %s: ip", name, how);
	for (i = 0; i < STACK_SEEN; i++)
		KUNIT_ASSERT_EQ_MSG(test, native->words[i], ours->words[i],
				    "%s, %s: stack word %d", name, how, i - 1);
}

/* Does the same as a hit if the operand is left to the slot's copy. */
static void run_pushed(struct kunit *test, struct subject *s, struct pt_regs *regs)
{
	unsigned long from = (unsigned long)kprobe_test_page + CODE_AT;
	unsigned long to = (unsigned long)kprobe_test_page + COPY_AT;
	u8 copy[16];
	int length;

	length = kprobe_copy(copy, &s->insn, from, to);
	KUNIT_ASSERT_GT(test, length, 0);
	kprobe_test_put_code(COPY_AT, copy, length);
	regs->ip = to;
	kprobe_test_run_natively(regs);
	KUNIT_ASSERT_EQ(test, to + length, regs->ip);
	regs->ip = from;
	kprobe_emulate_pushed(&s->em, regs);
}

static void compare(struct kunit *test, struct subject *s, struct pt_regs *in,
		    const unsigned long *words)
{
	static struct outcome native, ours;
	struct pt_regs regs = *in;

	fill_stack(words);
	kprobe_test_run_natively(&regs);
	see(&native, &regs);

	if (s->em.fn) {
		regs = *in;
		fill_stack(words);
		KUNIT_ASSERT_TRUE_MSG(test, s->em.fn(&s->em, &regs), "%s", s->form->name);
		see(&ours, &regs);
		expect_same(test, s, "emulated", &native, &ours);
	}
	if (!s->em.memory)
		return;

	regs = *in;
	fill_stack(words);
	run_pushed(test, s, &regs);
	see(&ours, &regs);
	expect_same(test, s, "pushed", &native, &ours);
}

static void try_form(struct kunit *test, const struct form *form, int nr_flags)
{
	unsigned long words[STACK_SEEN];
	struct pt_regs regs = {};
	struct subject s;
	int i;

	prepare(test, &s, form);
	for (i = 0; i < nr_flags; i++) {
		fill_words(words, form->words);
		fill_regs(&regs, form->regs);
		regs.ip = (unsigned long)kprobe_test_page + CODE_AT;
		regs.flags = kprobe_test_flags(nr_flags == 1 ? prandom_u32_state(&random) : i);
		compare(test, &s, &regs, words);
	}
}

static void test_forms(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		if (form_exists(&forms[i]))
			try_form(test, &forms[i], NR_FLAGS);
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
		try_form(test, &near, NR_FLAGS);
		brief.code[0] = 0x70 + cc;
		for (i = 0; i < ARRAY_SIZE(disps); i++) {
			brief.code[1] = disps[i];
			try_form(test, &brief, NR_FLAGS);
		}
	}
}

static void try_counts(struct kunit *test, const struct form *form)
{
	static const u64 counts[] = {
		0, 1, 2, 0xffff, 0x10000, 0x10001, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, 0x100000001, 0xffffffff00000001,
		U64_MAX,
	};
	unsigned long words[STACK_SEEN] = {};
	struct pt_regs regs = {};
	struct subject s;
	int i;

	prepare(test, &s, form);
	for (i = 0; i < ARRAY_SIZE(counts) * NR_FLAGS; i++) {
		fill_regs(&regs, RANDOM);
		regs.ip = (unsigned long)kprobe_test_page + CODE_AT;
		regs.cx = counts[i / NR_FLAGS];
		regs.flags = kprobe_test_flags(i % NR_FLAGS);
		compare(test, &s, &regs, words);
	}
}

static void test_loops(struct kunit *test)
{
	struct form plain = { "loop, jcxz", CODE(0xe0, 0x7f) };
	struct form sized = { "addr32 loop, jcxz", CODE(0x67, 0xe0, 0x80) };
	int i;

	for (i = 0; i < 4; i++) {
		plain.code[0] = 0xe0 + i;
		try_counts(test, &plain);
		sized.code[1] = 0xe0 + i;
		try_counts(test, &sized);
	}
}

static void drop_rex(struct form *form)
{
	memmove(form->code, form->code + 1, --form->length);
}

/* A form that begins with REX.B and ends with the low bits of register 0. */
static void try_register(struct kunit *test, struct form form, int i)
{
	form.code[form.length - 1] |= i & 7;
	if (i < 8)
		drop_rex(&form);
	try_form(test, &form, 1);
}

/*
 * Not through the stack pointer: see test_call_sp(). A past bug: an indirect call pushed a
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
	u8		code[8];
	u64		ip;
	u64		sp;
	u64		pushed;
};

#define FAR_IP		0xffffffff81000000
#define FAR_CX		2

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
};

/* A past bug: a call with prefixes returned into itself. */
static void test_far(struct kunit *test)
{
	unsigned long *sp = &kprobe_test_stack[STACK_AT], moved;
	struct kprobe_emulation em;
	struct pt_regs regs = {};
	struct insn insn;
	int i;

	for (i = 0; i < ARRAY_SIZE(far_cases); i++) {
		const struct far_case *c = &far_cases[i];

		memset(kprobe_test_stack, 0, sizeof(kprobe_test_stack));
		regs.ip = (unsigned long)FAR_IP;
		regs.sp = (unsigned long)sp;
		regs.cx = FAR_CX;
		KUNIT_ASSERT_EQ(test, 0, insn_decode(&insn, c->code, sizeof(c->code),
						     INSN_MODE_KERN));
		KUNIT_ASSERT_EQ(test, 0, kprobe_emulation_init(&em, &insn));
		KUNIT_ASSERT_TRUE(test, em.fn(&em, &regs));
		moved = c->sp == -1 ? -sizeof(long) : c->sp;
		KUNIT_EXPECT_EQ_MSG(test, (unsigned long)c->ip, regs.ip, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, (unsigned long)sp + moved, regs.sp, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, (unsigned long)c->pushed, sp[-1], "%s", c->name);
	}
}

/* The target is the stack pointer from before the push; nothing can run there. */
static void test_call_sp(struct kunit *test)
{
	const u8 code[] = { 0xff, 0xd4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	unsigned long *sp = &kprobe_test_stack[STACK_AT];
	struct kprobe_emulation em;
	struct pt_regs regs = { .sp = (unsigned long)sp, .ip = (unsigned long)FAR_IP };
	struct insn insn;

	KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, code));
	KUNIT_ASSERT_EQ(test, 0, kprobe_emulation_init(&em, &insn));
	KUNIT_ASSERT_TRUE(test, em.fn(&em, &regs));
	KUNIT_EXPECT_EQ(test, (unsigned long)sp, regs.ip);
	KUNIT_EXPECT_EQ(test, (unsigned long)(sp - 1), regs.sp);
	KUNIT_EXPECT_EQ(test, (unsigned long)FAR_IP + 2, sp[-1]);
}

/* An instruction that would fault is left to the copy, with unchanged registers. */
static void test_faults(struct kunit *test)
{
	static const u8 codes[][15] = {
		{ 0xc3 }, { 0xc2, 8, 0 }, { 0xff, 0x10 }, { 0xff, 0x20 },
	};
	const unsigned long addresses[] = {
		0, PAGE_SIZE, LONG_MAX, TASK_SIZE_MAX - sizeof(long), -PAGE_SIZE,
		/* The page behind user space, a non-canonical address, vsyscalls */
		IS_ENABLED(CONFIG_X86_64) ? TASK_SIZE_MAX : 0,
		IS_ENABLED(CONFIG_X86_64) ? BIT_ULL(63) : 0,
		IS_ENABLED(CONFIG_X86_64) ? -10UL << 20 : 0,
	};
	struct kprobe_emulation em;
	struct pt_regs before = {}, regs;
	struct insn insn;
	const u8 *code;
	int i;

	for (i = 0; i < ARRAY_SIZE(codes) * ARRAY_SIZE(addresses); i++) {
		code = codes[i / ARRAY_SIZE(addresses)];
		fill_regs(&before, RANDOM);
		before.ax = addresses[i % ARRAY_SIZE(addresses)];
		before.bp = before.ax;
		before.sp = before.ax;
		regs = before;
		KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, code));
		KUNIT_ASSERT_EQ(test, 0, kprobe_emulation_init(&em, &insn));
		KUNIT_EXPECT_FALSE(test, em.fn(&em, &regs));
		KUNIT_EXPECT_MEMEQ(test, &before, &regs, sizeof(regs));
	}
}

#ifdef CONFIG_SMP
#ifdef CONFIG_X86_64
#define STEPPED_OPERAND	"%gs:kprobe_test_target(%rip)"
#else
#define STEPPED_OPERAND	"%fs:kprobe_test_target"
#endif

/* A call by per-CPU memory, the one kind of instruction that is stepped. */
#define STEPPED_RESULT	7

unsigned long kprobe_test_stepped(void);
extern u8 kprobe_test_stepped_insn[] asm(".Lkprobe_test_stepped_insn");

static unsigned long stepped_target(void)
{
	return STEPPED_RESULT;
}

static DEFINE_PER_CPU(unsigned long (*)(void), kprobe_test_target) __used = stepped_target;

asm("	.pushsection .text, \"ax\"\n"
	ASM_FUNC_ALIGN "\n"
"	.type kprobe_test_stepped, @function\n"
"kprobe_test_stepped:\n"
	ASM_ENDBR
	FRAME_BEGIN
".Lkprobe_test_stepped_insn:\n"
	ANNOTATE_NOENDBR
	ANNOTATE_RETPOLINE_SAFE
"	call *" STEPPED_OPERAND "\n"
	FRAME_END
	ASM_RET
"	.size kprobe_test_stepped, . - kprobe_test_stepped\n"
"	.popsection\n");

/* The second call may be a hit by a jump. */
static void test_stepped(struct kunit *test)
{
	struct probe *probe = probe_new(test, kprobe_test_stepped_insn);
	unsigned int calls;
	const char *path;

	probe->kp.post_handler = probe_post_handler;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	scoped_guard(preempt)
		path = arch_kprobe_path(get_kprobe(kprobe_test_stepped_insn));
	KUNIT_EXPECT_STREQ(test, path, "step");
	for (calls = 1; calls <= 2; calls++) {
		probe->post_ip = 0;
		KUNIT_EXPECT_EQ(test, STEPPED_RESULT, kprobe_test_stepped());
		KUNIT_EXPECT_EQ(test, probe->hits, calls);
		KUNIT_EXPECT_EQ(test, probe->posts, calls);
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
	KUNIT_CASE(test_call_sp),
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
