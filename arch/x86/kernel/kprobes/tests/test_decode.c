// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what may be probed, and what its copy looks like
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/memory.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>
#include <asm/insn.h>
#include <asm/nops.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "support/text.h"
#include "../internal.h"

enum verdict {
	BAD,		/* does not decode */
	INVAL,		/* refused */
	UNSUPP,		/* refused */
	BY_EMULATION,
	BY_COPY,
	NR_VERDICTS,
};

static const char * const verdict_names[] = {
	"not decoded", "-EINVAL", "-EOPNOTSUPP", "emulated", "boosted",
};

static int locked_decode(struct insn *insn, u8 *buf, unsigned long addr)
{
	guard(mutex)(&text_mutex);
	guard(preempt)();
	return kprobe_decode(insn, buf, addr);
}

/* What kprobe_check_insn() said of the last instruction that was judged */
static const char *said;

/* The verdict that registration would come to */
static enum verdict judge(struct insn *insn, u8 *buf, unsigned long addr)
{
	struct kprobe_emulation em;
	int err;

	/* For get_kprobe() */
	guard(preempt)();
	said = NULL;
	if (kprobe_decode(insn, buf, addr))
		return BAD;
	err = kprobe_check_insn(insn, addr, &said);
	if (!err)
		err = kprobe_emulation_init(&em, insn);
	if (err == -EINVAL)
		return INVAL;
	if (err)
		return UNSUPP;
	if (em.fn || em.memory)
		return BY_EMULATION;
	return kprobe_can_boost(insn) ? BY_COPY : BAD;
}

enum mode { ANY, ONLY_64, ONLY_32 };

/*
 * Each reason why an instruction is refused, and each way to carry one out. That nearly all
 * encodings are judged so is compared with objdump, where decode.c is compiled outside of a kernel.
 */
static const struct judged {
	enum verdict	verdict;
	enum mode	mode;
	const char	*words;		/* among the reason; NULL if it has none */
	u8		code[MAX_INSN_SIZE];
} judged[] = {
	{ INVAL, ANY, "traps", { 0xcc } }, { INVAL, ANY, "traps", { 0x0f, 0x0b } },
	{ UNSUPP, ANY, "emulator", { 0x0f, 0x0b, 0x6b, 0x76, 0x6d, 0x0f, 0xa2 } },
	{ UNSUPP, ANY, "segment", { 0x8e, 0xd0 } }, { UNSUPP, ONLY_64, "segment", { 0x8e, 0xe8 } },
	{ BY_COPY, ONLY_32, NULL, { 0x8e, 0xe8 } }, { BY_COPY, ANY, NULL, { 0x8e, 0xd8 } },
	{ UNSUPP, ANY, "far branch", { 0xcf } }, { UNSUPP, ANY, "far branch", { 0xff, 0x18 } },
	{ UNSUPP, ANY, "not understood", { 0xff, 0xf8 } },
	{ UNSUPP, ANY, "not understood", { 0xfe, 0xd0 } },
	{ UNSUPP, ANY, "not understood", { 0xfe, 0x38 } },
	{ UNSUPP, ANY, "mode", { 0x0f, 0x01, 0xf8 } }, { UNSUPP, ANY, "mode", { 0xc7, 0xf8 } },
	{ UNSUPP, ANY, "its interrupt", { 0xf4 } },
	{ UNSUPP, ANY, "interrupts off", { 0xfb, 0xf4 } },
	{ BY_COPY, ANY, NULL, { 0xfb, 0x90, 0xf4 } },
	{ UNSUPP, ONLY_64, "APX", { 0xd5, 0x10, 0x50 } },
	{ UNSUPP, ONLY_64, "32 bits", { 0x67, 0x8b, 0x05 } },
	/* Another instruction than insn_decode() takes it for; one that processors differ about */
	{ BAD, ANY, NULL, { 0x0f, 0x20, 0x00 } }, { UNSUPP, ANY, NULL, { 0x66, 0xc3 } },
	{ BY_EMULATION, ANY, NULL, { 0xe8 } }, { BY_EMULATION, ANY, NULL, { 0x67, 0xff, 0x10 } },
	{ BY_COPY, ANY, NULL, { 0x89, 0xe5 } }, { BY_COPY, ANY, NULL, { 0xfe, 0xc8 } },
	{ BY_COPY, ANY, NULL, { 0xc5, 0xf8, 0x77 } },
};

/* A past bug: members of a group of opcodes were confused, and prefixes overlooked. */
static void test_verdicts(struct kunit *test)
{
	enum mode other = IS_ENABLED(CONFIG_X86_64) ? ONLY_32 : ONLY_64;
	/* Zeroes follow the instruction. It need not be in text here. */
	static u8 text[2 * MAX_INSN_SIZE];
	u8 buf[MAX_INSN_SIZE];
	const struct judged *j;
	struct insn insn;
	enum verdict v;

	for (j = judged; j < judged + ARRAY_SIZE(judged); j++) {
		if (j->mode == other)
			continue;
		memcpy(text, j->code, sizeof(j->code));
		v = judge(&insn, buf, (unsigned long)text);
		KUNIT_EXPECT_EQ_MSG(test, j->verdict, v, "%8ph: %s", j->code, verdict_names[v]);
		KUNIT_EXPECT_TRUE_MSG(test, j->words ? said && strstr(said, j->words) : !said,
				      "%8ph: %s", j->code, said ?: "-");
	}
}

static bool need_pads;

static bool say_need_pads(void)
{
	return need_pads;
}

/* Inside of a function: where one begins, the probe is put behind it. */
static void test_landing_pad(struct kunit *test)
{
	static u8 text[2 * MAX_INSN_SIZE] = {
		0xf3, 0x0f, 0x1e, IS_ENABLED(CONFIG_X86_64) ? 0xfa : 0xfb, 0x90,
	};
	unsigned long addr = (unsigned long)text;
	struct insn insn;
	const char *kind;

	KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, text));
	kunit_activate_static_stub(test, kprobe_need_landing_pads, say_need_pads);
	need_pads = true;
	KUNIT_EXPECT_EQ(test, -EINVAL, kprobe_check_insn(&insn, addr, &kind));
	KUNIT_EXPECT_STREQ(test, kind, "it is the landing pad of indirect branches");
	need_pads = false;
	KUNIT_EXPECT_EQ(test, 0, kprobe_check_insn(&insn, addr, &kind));
}

/* Copies in reach are compared with objdump, too: here is where that ends. */
static void test_relocate(struct kunit *test)
{
	static const struct {
		s32	from;
		long	distance;
		s32	to;
		int	err;
	} cases[] = {
		{ 0x100, 0x100, 0 }, { 0, 0x80000000, S32_MIN }, { 0, 0x80000001, 0, -ERANGE },
		{ 0, -0x7fffffff, S32_MAX }, { 0, -0x80000000L, 0, -ERANGE },
		{ S32_MAX, -1, 0, -ERANGE }, { S32_MIN, 1, 0, -ERANGE },
	};
	const unsigned long from = (unsigned long)_stext;
	u8 code[MAX_INSN_SIZE] = { 0x8b, 0x0d }, copy[MAX_INSN_SIZE];	/* mov x(%rip), %ecx */
	struct insn insn;
	int ret, i;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "nothing is relative to the instruction pointer");

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		put_unaligned(cases[i].from, (s32 *)(code + 2));
		KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, code));
		ret = kprobe_copy(copy, &insn, from, from + cases[i].distance);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].err ?: insn.length, ret, "%d", i);
		if (!cases[i].err)
			KUNIT_EXPECT_EQ_MSG(test, cases[i].to,
					    get_unaligned((s32 *)(copy + 2)), "%d", i);
	}
}

/* At the end of a mapping, a whole instruction is decoded, half of one is not. */
static void test_mapping_end(struct kunit *test)
{
	u8 *text = __vmalloc(PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	unsigned long end = (unsigned long)text + PAGE_SIZE;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	KUNIT_ASSERT_NOT_NULL(test, text);
	text[PAGE_SIZE - 5] = 0xe8;
	text[PAGE_SIZE - 1] = 0xc3;
	KUNIT_EXPECT_EQ(test, 0, locked_decode(&insn, buf, end - 5));
	KUNIT_EXPECT_EQ(test, 5, insn.length);
	KUNIT_EXPECT_EQ(test, 0, locked_decode(&insn, buf, end - 1));
	KUNIT_EXPECT_EQ(test, 1, insn.length);
	text[PAGE_SIZE - 1] = 0xe8;
	KUNIT_EXPECT_EQ(test, -EILSEQ, locked_decode(&insn, buf, end - 1));
	KUNIT_EXPECT_EQ(test, -EFAULT, locked_decode(&insn, buf, end));
	KUNIT_EXPECT_EQ(test, -EFAULT, locked_decode(&insn, buf, 0));
	vfree(text);
}

/* A past bug: a probe missed a function because of the landing pad, or read what is not mapped. */
static void test_adjust(struct kunit *test)
{
	static const struct {
		u8	text[8];
		int	offset, to;
		bool	entry;
	} cases[] = {
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 0, 4, true },
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, 4, true },
		{ { 0xf3, 0x0f, 0x1e, 0xfb }, 0, 4, true },
		{ { 0x66, 0x0f, 0x1f, 0x00 }, 0, 4, true },
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 5, 5, false },
		{ { 0x0f, 0x1f, 0x44, 0, 0 }, 0, 0, true },
		{ { 0x0f, 0x1f, 0x44, 0, 0 }, 4, 4, false },
	};
	bool entry;
	int i;

	if (!IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		kunit_skip(test, "functions have no landing pads");

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned long addr = (unsigned long)cases[i].text;

		KUNIT_EXPECT_PTR_EQ(test, (kprobe_opcode_t *)addr + cases[i].to,
				    arch_adjust_kprobe_addr(addr, cases[i].offset, &entry));
		KUNIT_EXPECT_EQ_MSG(test, cases[i].entry, entry, "%d", i);
	}
	KUNIT_EXPECT_NULL(test, arch_adjust_kprobe_addr(PAGE_SIZE, 0, &entry));
	KUNIT_EXPECT_FALSE(test, entry);
}

struct tally {
	struct kunit	*test;
	unsigned long	verdicts[NR_VERDICTS];
};

static void look_at_function(void *data, unsigned long at, unsigned long end)
{
	struct tally *t = data;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	enum verdict v;

	for (; at < end; at += insn.length) {
		v = judge(&insn, buf, at);
		KUNIT_EXPECT_NE_MSG(t->test, BAD, v, "%pS: %15ph", (void *)at, buf);
		if (v == BAD)
			break;
		/* Padding is not counted. */
		if (buf[0] != INT3_INSN_OPCODE && buf[0] != BYTES_NOP1)
			t->verdicts[v]++;
	}
}

/* Only one function in so many is looked at, to save time. Every other one is a __pfx_. */
#define WALK_STRIDE	13

/* A past bug: int3 as padding made functions undecodable. */
static void test_text(struct kunit *test)
{
	struct tally t = { .test = test };
	unsigned int i, n = kprobes_walk_text(WALK_STRIDE, look_at_function, &t);

	KUNIT_EXPECT_GT(test, n, 0);
	for (i = 0; i < NR_VERDICTS; i++)
		kunit_info(test, "%s: %lu", verdict_names[i], t.verdicts[i]);
	KUNIT_EXPECT_GT(test, t.verdicts[BY_EMULATION], 0);
	KUNIT_EXPECT_LT(test, t.verdicts[UNSUPP] * 100, t.verdicts[BY_COPY]);
}

static struct kunit_case decode_cases[] = {
	KUNIT_CASE(test_verdicts),
	KUNIT_CASE(test_landing_pad),
	KUNIT_CASE(test_relocate),
	KUNIT_CASE(test_mapping_end),
	KUNIT_CASE(test_adjust),
	KUNIT_CASE(test_text),
	{ }
};

static struct kunit_suite decode_suite = {
	.name		= "kprobes_x86_decode",
	.test_cases	= decode_cases,
};

kunit_test_suite(decode_suite);
