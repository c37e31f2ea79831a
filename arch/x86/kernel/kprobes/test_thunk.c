// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: thunks, compared with native execution
 *
 * The instructions are generated: each opcode that a thunk can be made of, with all registers,
 * all sizes, and all flags.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "../../../../lib/test_kprobes/seed.h"
#include "internal.h"
#include "test_native.h"

enum { AX, CX, DX, BX, SP, BP, SI, DI };

#define NR_BYTES	(KPROBE_SLOT_THUNK_OFFSET)
#define MAX_ROWS	128

static struct rnd_state random;
static DECLARE_BITMAP(rows_seen, MAX_ROWS);
static unsigned int nr_left_out;

struct outcome {
	struct pt_regs	regs;
	unsigned long	stack[STACK_SEEN];
};

/* An instruction under construction, and the site with its thunk */
struct subject {
	u8		code[MAX_INSN_SIZE];
	unsigned int	length;
	struct insn	insn;
	struct kprobe	p;
};

static void append(struct subject *s, u8 byte)
{
	s->code[s->length++] = byte;
}

static unsigned long random_word(void)
{
	return prandom_u32_state(&random) | (u64)prandom_u32_state(&random) << 32;
}

static void fill(struct pt_regs *regs)
{
	int i;

	for (i = 0; i < NR_REGS; i++)
		*reg(regs, i) = random_word();
	regs->sp = (unsigned long)&kprobe_test_stack[STACK_AT];
	regs->ip = (unsigned long)kprobe_test_page + CODE_AT;
}

static void fill_stack(struct rnd_state seed)
{
	prandom_bytes_state(&seed, &kprobe_test_stack[STACK_AT], STACK_SEEN * sizeof(long));
}

static void see(struct outcome *out, struct pt_regs *regs)
{
	out->regs = *regs;
	memcpy(out->stack, &kprobe_test_stack[STACK_AT], sizeof(out->stack));
}

static void expect_same(struct kunit *test, struct subject *s, struct outcome *native,
			struct outcome *ours)
{
	int i;

	for (i = 0; i < NR_REGS; i++)
		KUNIT_ASSERT_EQ_MSG(test, *reg(&native->regs, i), *reg(&ours->regs, i),
				    "%*ph: register %d", s->length, s->code, i);
	KUNIT_ASSERT_EQ_MSG(test, native->regs.flags, ours->regs.flags,
			    "%*ph: flags", s->length, s->code);
	KUNIT_ASSERT_EQ_MSG(test, native->regs.ip, ours->regs.ip,
			    "%*ph: ip", s->length, s->code);
	KUNIT_ASSERT_MEMEQ_MSG(test, native->stack, ours->stack, sizeof(native->stack),
			       "%*ph: stack", s->length, s->code);
}

/* Makes the thunk. Returns false if there is none. */
static bool make(struct kunit *test, struct subject *s)
{
	u8 image[NR_BYTES];
	int row;

	memset(&s->p, 0, sizeof(s->p));
	KUNIT_ASSERT_EQ_MSG(test, 0, insn_decode_kernel(&s->insn, s->code),
			    "%*ph", MAX_INSN_SIZE, s->code);
	s->length = s->insn.length;
	row = kprobe_find_thunk(&s->insn);
	if (row < 0)
		return false;
	KUNIT_ASSERT_LT(test, row, kprobe_nr_thunks);

	s->p.addr = kprobe_test_page + CODE_AT;
	s->p.ainsn.emulation.length = s->length;
	memset(image, INT3_INSN_OPCODE, sizeof(image));
	kprobe_make_thunk(image, sizeof(image), kprobe_test_page + COPY_AT, &s->insn, &s->p);
	if (!s->p.ainsn.emulation.thunk) {
		nr_left_out++;
		return false;
	}
	__set_bit(row, rows_seen);
	kprobe_test_put_code(CODE_AT, s->code, s->length);
	kprobe_test_put_code(COPY_AT, image, sizeof(image));
	return true;
}

/* Both on one CPU: another kind of core may leave other values in flags that are undefined. */
static void compare(struct kunit *test, struct subject *s, struct pt_regs *in)
{
	static struct outcome native, ours;
	struct rnd_state seed = random;
	struct pt_regs regs = *in;
	bool done;

	migrate_disable();
	fill_stack(seed);
	kprobe_test_run_natively(&regs);
	see(&native, &regs);

	regs = *in;
	fill_stack(seed);
	preempt_disable();
	done = kprobe_run_thunk(&s->p.ainsn.emulation, &regs);
	preempt_enable();
	migrate_enable();
	KUNIT_EXPECT_TRUE_MSG(test, done, "%*ph", s->length, s->code);
	see(&ours, &regs);
	expect_same(test, s, &native, &ours);
}

static void try_code(struct kunit *test, struct subject *s)
{
	struct pt_regs regs = {};
	int i;

	if (!make(test, s))
		return;
	for (i = 0; i < NR_FLAGS; i += 1 + prandom_u32_state(&random) % 8) {
		fill(&regs);
		regs.flags = kprobe_test_flags(i);
		compare(test, s, &regs);
	}
}

/* Begins an instruction with no prefix, or with one for 16 bits, 64 bits or other registers. */
static void begin(struct subject *s, int form, int opcode)
{
	memset(s->code, prandom_u32_state(&random), sizeof(s->code));
	s->length = 0;
	if (form == 1)
		append(s, 0x66);
	if (form == 2)
		append(s, 0x48);
	if (form == 3)
		append(s, 0x40 | (prandom_u32_state(&random) & 0xf));
	if (opcode > 0xff)
		append(s, 0x0f);
	append(s, opcode);
}

/* The opcode at an index: first those of one byte, then those behind an escape byte */
static int opcode_at(int i)
{
	return i < 0x100 ? i : 0x0f00 | (i & 0xff);
}

/* Is this byte not an opcode by itself, but a prefix or an escape byte? */
static bool is_prefix(u8 opcode)
{
	switch (opcode) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x0f:
	case 0x40 ... 0x4f:
	case 0x62:
	case 0x64 ... 0x67:
	case 0xc4 ... 0xc5:
	case 0xd5:
	case 0xf0:
	case 0xf2 ... 0xf3:
		return true;
	}
	return false;
}

/* Is @opcode in the table, with this ModRM byte? */
static bool has_row(struct subject *s, int opcode, u8 modrm)
{
	/* Instructions that need a prefix are tried below. */
	if ((opcode <= 0xff && is_prefix(opcode)) || opcode == 0x0fb8)
		return false;
	memset(s->code, 0, sizeof(s->code));
	s->length = 0;
	if (opcode > 0xff)
		append(s, 0x0f);
	append(s, opcode);
	append(s, modrm);
	return !insn_decode_kernel(&s->insn, s->code) && kprobe_find_thunk(&s->insn) >= 0;
}

static void operands_in_registers_do_as_in_place(struct kunit *test)
{
	struct subject s;
	int i, form, rm, other;

	for (i = 0; i < 0x200 * 64; i++) {
		rm = 0xc0 | (i & 63);
		if (!has_row(&s, opcode_at(i / 64), rm))
			continue;
		other = prandom_u32_state(&random) % 4;
		for (form = 0; form < 4; form++) {
			if (form != 2 && form != other)
				continue;
			begin(&s, form, opcode_at(i / 64));
			append(&s, rm);
			try_code(test, &s);
		}
	}
}

static void prefixes_are_kept(struct kunit *test)
{
	static const struct {
		const char	*name;
		u8		code[MAX_INSN_SIZE];
	} forms[] = {
		{ "popcnt %rbx, %r10", { 0xf3, 0x4c, 0x0f, 0xb8, 0xd3 } },
		{ "tzcnt %rsi, %rdi", { 0xf3, 0x48, 0x0f, 0xbc, 0xfe } },
		{ "movabs $x, %r13", { 0x49, 0xbd, 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ "bswap %r12", { 0x49, 0x0f, 0xcc } },
	};
	struct subject s;
	int i;

	if (IS_ENABLED(CONFIG_CFI_CLANG))
		kunit_skip(test, "a thunk has no type to be called by");
	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		memcpy(s.code, forms[i].code, sizeof(s.code));
		try_code(test, &s);
		KUNIT_EXPECT_NOT_NULL_MSG(test, s.p.ainsn.emulation.thunk, "%s", forms[i].name);
	}
}

#ifdef CONFIG_X86_KERNEL_IBT
static bool yes(void)
{
	return true;
}

/* Hits call it by a pointer. */
static void thunk_begins_with_a_landing_pad_if_one_is_needed(struct kunit *test)
{
	struct subject s = { .code = { 0x49, 0x0f, 0xcc } };	/* bswap %r12 */
	bool always = kprobe_need_landing_pads();

	if (IS_ENABLED(CONFIG_CFI_CLANG))
		kunit_skip(test, "a thunk has no type to be called by");
	KUNIT_ASSERT_TRUE(test, make(test, &s));
	KUNIT_EXPECT_EQ(test, always, is_endbr(*(u32 *)s.p.ainsn.emulation.thunk));
	kunit_activate_static_stub(test, kprobe_need_landing_pads, yes);
	KUNIT_ASSERT_TRUE(test, make(test, &s));
	KUNIT_EXPECT_TRUE(test, is_endbr(*(u32 *)s.p.ainsn.emulation.thunk));
	try_code(test, &s);
}
#endif

/* A thunk uses the stack pointer itself. */
static void none_is_made_that_names_the_stack_pointer(struct kunit *test)
{
	static const u8 codes[][MAX_INSN_SIZE] = {
		{ 0x48, 0x83, 0xec, 0x10 },	/* sub $16, %rsp */
		{ 0x48, 0x01, 0xe0 },		/* add %rsp, %rax */
		{ 0x40, 0x88, 0xe0 },		/* mov %spl, %al */
	};
	struct subject s;
	int i;

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		memcpy(s.code, codes[i], sizeof(s.code));
		KUNIT_EXPECT_FALSE(test, make(test, &s));
	}
}

static void none_is_made_of_what_may_fault(struct kunit *test)
{
	static const u8 codes[][MAX_INSN_SIZE] = {
		{ 0x48, 0xf7, 0xf3 },			/* div %rbx */
		{ 0xf6, 0xf9 },				/* idiv %cl */
		{ 0x48, 0x0f, 0xaf, 0x07 },		/* imul (%rdi), %rax */
		{ 0x65, 0xff, 0x05, 0, 0, 0, 0 },	/* incl %gs:(%rip) */
		{ 0x48, 0xad },				/* lods */
	};
	struct subject s;
	int i;

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		memcpy(s.code, codes[i], sizeof(s.code));
		KUNIT_EXPECT_FALSE_MSG(test, make(test, &s), "%*ph", s.length, s.code);
	}
}

/* Runs last: a thunk of each row has been executed. */
static void all_rows_were_tried(struct kunit *test)
{
	int row;

	if (bitmap_empty(rows_seen, MAX_ROWS))
		kunit_skip(test, "the other cases were not run");
	KUNIT_ASSERT_LE(test, kprobe_nr_thunks, MAX_ROWS);
	for (row = 0; row < kprobe_nr_thunks; row++)
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(row, rows_seen), "row %d", row);
}

static int thunk_suite_init(struct kunit_suite *suite)
{
	bitmap_zero(rows_seen, MAX_ROWS);
	seed_random(suite, &random);
	return kprobe_test_native_init();
}

static void thunk_suite_exit(struct kunit_suite *suite)
{
	kprobe_test_native_exit();
}

static struct kunit_case thunk_cases[] = {
	KUNIT_CASE_SLOW(operands_in_registers_do_as_in_place),
	KUNIT_CASE(prefixes_are_kept),
#ifdef CONFIG_X86_KERNEL_IBT
	KUNIT_CASE(thunk_begins_with_a_landing_pad_if_one_is_needed),
#endif
	KUNIT_CASE(none_is_made_that_names_the_stack_pointer),
	KUNIT_CASE(none_is_made_of_what_may_fault),
	KUNIT_CASE_SLOW(all_rows_were_tried),
	{ }
};

static struct kunit_suite thunk_suite = {
	.name		= "kprobes_x86_thunk",
	.suite_init	= thunk_suite_init,
	.suite_exit	= thunk_suite_exit,
	.test_cases	= thunk_cases,
};

kunit_test_suite(thunk_suite);
