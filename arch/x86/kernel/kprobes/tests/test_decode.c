// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what may be probed, and what its copy looks like
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/cleanup.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/math64.h>
#include <linux/memory.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/ibt.h>
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

struct code {
	u8	length;
	u8	bytes[15];
};

#define C(...)		{ sizeof((u8 []) { __VA_ARGS__ }), { __VA_ARGS__ } }

/* Instructions that are judged alike */
struct judged {
	enum verdict		verdict;
	enum mode		mode;
	const char		*words;		/* among the reason; NULL if it has none */
	const struct code	*codes;		/* up to one without a length */
};

#define VERDICT(verdict, mode, words, ...)						\
	{ verdict, mode, words, (const struct code []) { __VA_ARGS__, {} } }

static const struct judged judged[] = {
	/* Traps, and instructions that others look for by their address */
	VERDICT(INVAL, ANY, "traps",
		C(0xcc), C(0xcd, 0x80), C(0xf1), C(0x0f, 0x0b), C(0x67, 0x0f, 0xb9, 0x40, 0x0c)),
	VERDICT(INVAL, ONLY_32, "traps", C(0xce)),
	/* ud2 and a name: for an emulator */
	VERDICT(UNSUPP, ANY, "emulator",
		C(0x0f, 0x0b, 0x78, 0x65, 0x6e, 0x0f, 0xa2),
		C(0x0f, 0x0b, 0x6b, 0x76, 0x6d, 0x0f, 0xa2)),
	/* Stack segment, gs base */
	VERDICT(UNSUPP, ANY, "segment", C(0x8e, 0xd0)),
	VERDICT(UNSUPP, ONLY_32, "segment", C(0x17)),
	VERDICT(BY_COPY, ONLY_32, NULL, C(0x1f), C(0x8e, 0xe8)),
	VERDICT(BY_COPY, ANY, NULL, C(0x8e, 0xd8), C(0x0f, 0xa1), C(0x0f, 0xae, 0x18)),
	VERDICT(UNSUPP, ONLY_64, "segment",
		C(0x8e, 0xe8), C(0x0f, 0xa9), C(0x0f, 0xb5, 0x00), C(0xf3, 0x48, 0x0f, 0xae, 0xd8)),
	VERDICT(UNSUPP, ANY, "mode", C(0x0f, 0x01, 0xf8)),
	VERDICT(BY_COPY, ONLY_64, NULL, C(0xf3, 0x48, 0x0f, 0xae, 0xd0)),
	/* Far transfers, other modes */
	VERDICT(UNSUPP, ONLY_32, "far branch",
		C(0x9a, 0, 0, 0, 0, 0, 0), C(0xea, 0, 0, 0, 0, 0, 0)),
	VERDICT(UNSUPP, ANY, "far branch",
		C(0xca, 8, 0), C(0xcb), C(0xcf), C(0xff, 0x18), C(0xff, 0x28)),
	VERDICT(UNSUPP, ONLY_64, "far branch", C(0x48, 0xcb), C(0x48, 0xcf)),
	VERDICT(UNSUPP, ANY, "not understood", C(0xff, 0xf8), C(0xfe, 0xd0), C(0xfe, 0x38)),
	VERDICT(UNSUPP, ANY, "mode",
		C(0x0f, 0x05), C(0x0f, 0x34), C(0x0f, 0x35), C(0x0f, 0x37), C(0x0f, 0xaa),
		C(0x0f, 0x01, 0xc1), C(0x0f, 0x01, 0xc2), C(0x0f, 0x01, 0xc3), C(0x0f, 0x01, 0xcf),
		C(0x0f, 0x01, 0xd5), C(0x0f, 0x01, 0xd8), C(0x0f, 0x01, 0xd9),
		C(0xf3, 0x0f, 0x01, 0xec), C(0xf2, 0x0f, 0x01, 0xca), C(0xf3, 0x0f, 0x01, 0xca),
		C(0xc6, 0xf8, 1), C(0xc7, 0xf8, 0, 0, 0, 0)),
	VERDICT(UNSUPP, ONLY_64, "mode", C(0x48, 0x0f, 0x07)),
	/* Waiting for an interrupt, and sti before it */
	VERDICT(UNSUPP, ANY, "its interrupt", C(0xf4)),
	VERDICT(UNSUPP, ANY, "mode", C(0x0f, 0x01, 0xc9), C(0x0f, 0x01, 0xfb)),
	VERDICT(UNSUPP, ANY, "interrupts off",
		C(0xfb, 0xf4), C(0xfb, 0x0f, 0x01, 0xc9), C(0xfb, 0x0f, 0x35)),
	VERDICT(BY_COPY, ANY, NULL, C(0xfb, 0x90, 0xf4)),
	/* Other instructions than insn_decode() takes them for */
	VERDICT(BAD, ANY, NULL,
		C(0x8f, 0xe8, 0x78, 0xc0, 0xc1, 0x01), C(0x0f, 0x20, 0x00), C(0x0f, 0x19, 0x00),
		C(0x0f, 0xff, 0xc0), C(0xf3, 0x0f, 0x44, 0xc1),
		C(0x66, 0x67, 0x0f, 0x73, 0xf8, 0x01), C(0x66, 0x67, 0xf2, 0xf0, 0x2e, 0x89, 0x03),
		C(0xc5, 0xf8, 0x05)),
	VERDICT(BY_COPY, ANY, NULL, C(0x66, 0x0f, 0x73, 0xf8, 0x01)),
	VERDICT(BAD, ONLY_64, NULL, C(0x48, 0x66, 0x89, 0xc3)),
	VERDICT(UNSUPP, ONLY_64, "APX",
		C(0xd5, 0x10, 0x50), C(0xd5, 0x00, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0)),
	VERDICT(UNSUPP, ONLY_64, "32 bits", C(0x67, 0x8b, 0x05, 0, 0, 0, 0)),
	/* Branches that do not have the same effect on all processors. They are not emulated. */
	VERDICT(BAD, ONLY_64, NULL,
		C(0x66, 0xe8, 0, 0, 0, 0), C(0x66, 0xe9, 0, 0, 0, 0),
		C(0x66, 0x0f, 0x84, 0, 0, 0, 0)),
	VERDICT(UNSUPP, ONLY_32, NULL,
		C(0x66, 0xe8, 0, 0), C(0x66, 0xe9, 0, 0), C(0x66, 0x0f, 0x84, 0, 0)),
	VERDICT(UNSUPP, ONLY_64, NULL, C(0x66, 0x48, 0xe8, 0, 0, 0, 0)),
	VERDICT(UNSUPP, ANY, NULL,
		C(0x66, 0xeb, 0), C(0x66, 0x74, 0), C(0x66, 0xe2, 0), C(0x66, 0xc3),
		C(0x66, 0xc2, 8, 0), C(0x66, 0xff, 0xd0), C(0x66, 0xff, 0x20),
		C(0xf0, 0xe8, 0, 0, 0, 0), C(0xf0, 0xff, 0x10), C(0xf2, 0xff, 0x10)),
	/* Other branches */
	VERDICT(BY_EMULATION, ANY, NULL,
		C(0x2e, 0xe8, 0, 0, 0, 0), C(0x3e, 0x74, 0), C(0xf2, 0xc3), C(0xe3, 0),
		C(0x67, 0xe2, 0), C(0x3e, 0xff, 0xe0), C(0x65, 0xff, 0x10), C(0x67, 0xff, 0x10)),
	/* The rest */
	VERDICT(BY_COPY, ANY, NULL,
		C(0x55), C(0x66, 0x55), C(0x89, 0xe5), C(0x66, 0x89, 0xe5), C(0x89, 0x45, 0xfc),
		C(0xc7, 0x00, 0, 0, 0, 0), C(0x67, 0x8d, 0x45, 0xfc), C(0xf3, 0x90), C(0x9c),
		C(0x66, 0x9d), C(0x01, 0xd8), C(0xf0, 0x0f, 0xb1, 0x0a), C(0xf3, 0xa4),
		C(0xff, 0x30), C(0xff, 0x00), C(0xfe, 0xc8), C(0x8f, 0x00), C(0x0f, 0x30),
		C(0x0f, 0x31), C(0x0f, 0xa2), C(0x0f, 0x22, 0xd8), C(0x0f, 0x01, 0xca),
		C(0x0f, 0x01, 0x10), C(0x0f, 0x01, 0x38), C(0x0f, 0xae, 0xe8), C(0x0f, 0xc7, 0x08),
		C(0x0f, 0x38, 0xf0, 0x00)),
	VERDICT(BY_COPY, ONLY_64, NULL, C(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), C(0x41, 0x90)),
	/* VEX maps, where the same numbers are other instructions */
	VERDICT(BY_COPY, ANY, NULL,
		C(0xc4, 0xe2, 0x71, 0x8e, 0x10), C(0xc5, 0xf8, 0x77),
		C(0xc5, 0xfd, 0x6f, 0x05, 0, 0, 0, 0)),
};

static void expect_verdict(struct kunit *test, const struct judged *j, const struct code *code)
{
	/* Nops follow the instruction. It need not be in text here. */
	static u8 text[2 * MAX_INSN_SIZE];
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	enum verdict v;

	memset(text, 0x90, sizeof(text));
	memcpy(text, code->bytes, code->length);
	v = judge(&insn, buf, (unsigned long)text);
	KUNIT_EXPECT_EQ_MSG(test, j->verdict, v, "%*ph: %s", code->length, code->bytes,
			    verdict_names[v]);
	KUNIT_EXPECT_TRUE_MSG(test, j->words ? said && strstr(said, j->words) : !said, "%*ph: %s",
			      code->length, code->bytes, said ?: "-");
}

/* A past bug: members of a group of opcodes were confused, and prefixes overlooked. */
static void test_verdicts(struct kunit *test)
{
	enum mode other = IS_ENABLED(CONFIG_X86_64) ? ONLY_32 : ONLY_64;
	const struct judged *j;
	const struct code *code;

	for (j = judged; j < judged + ARRAY_SIZE(judged); j++)
		for (code = j->codes; code->length && j->mode != other; code++)
			expect_verdict(test, j, code);
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

struct relocated {
	struct code	from, to;
	long		distance;
	int		err;
};

static const struct relocated relocated[] = {
	{ C(0x48, 0x8b, 0x05, 0, 1, 0, 0), C(0x48, 0x8b, 0x05, 0, 0, 0, 0), 0x100 },
	{ C(0x8b, 0x0d, 0, 0, 0, 0), C(0x8b, 0x0d, 0, 0, 0, 0x80), 0x80000000 },
	{ C(0x8b, 0x0d, 0, 0, 0, 0), C(0), 0x80000001, -ERANGE },
	{ C(0x8b, 0x0d, 0, 0, 0, 0), C(0x8b, 0x0d, 0xff, 0xff, 0xff, 0x7f), -0x7fffffff },
	{ C(0x8b, 0x0d, 0, 0, 0, 0), C(0), -0x80000000L, -ERANGE },
	{ C(0x8b, 0x0d, 0xff, 0xff, 0xff, 0x7f), C(0), -1, -ERANGE },
	{ C(0x8b, 0x0d, 0, 0, 0, 0x80), C(0), 1, -ERANGE },
	/* Followed by an immediate, or in an instruction with prefixes */
	{ C(0xc7, 0x05, 4, 0, 0, 0, 1, 2, 3, 4), C(0xc7, 0x05, 3, 0, 0, 0, 1, 2, 3, 4), 1 },
	{ C(0xc5, 0xfd, 0x6f, 0x05, 0, 0, 0, 0),
	  C(0xc5, 0xfd, 0x6f, 0x05, 0xff, 0xff, 0xff, 0xff), 1 },
	{ C(0xf0, 0x48, 0x0f, 0xb1, 0x0d, 1, 0, 0, 0),
	  C(0xf0, 0x48, 0x0f, 0xb1, 0x0d, 0, 0, 0, 0), 1 },
	/* Not relative */
	{ C(0x8b, 0x04, 0x25, 1, 0, 0, 0), C(0x8b, 0x04, 0x25, 1, 0, 0, 0), 1 },
	{ C(0x8b, 0x85, 1, 0, 0, 0), C(0x8b, 0x85, 1, 0, 0, 0), LONG_MAX },
	/* An indirect branch through memory becomes a push */
	{ C(0xff, 0x10), C(0xff, 0x30), 1 },
	{ C(0xff, 0x64, 0x24, 8), C(0xff, 0x74, 0x24, 8), 1 },
	{ C(0x41, 0xff, 0x54, 0x24, 8), C(0x41, 0xff, 0x74, 0x24, 8), 1 },
	{ C(0x65, 0xff, 0x14, 0x25, 1, 0, 0, 0), C(0x65, 0xff, 0x34, 0x25, 1, 0, 0, 0), 1 },
	{ C(0xff, 0x15, 1, 0, 0, 0), C(0xff, 0x35, 0, 0, 0, 0), 1 },
	{ C(0xff, 0x25, 1, 0, 0, 0), C(0xff, 0x35, 2, 0, 0, 0), -1 },
	/* So does a return */
	{ C(0xc3), C(0xff, 0x34, 0x24), 1 }, { C(0xf3, 0xc2, 8, 0), C(0xff, 0x34, 0x24), 1 },
	/* An indirect branch through a register does not */
	{ C(0xff, 0xd0), C(0xff, 0xd0), 1 }, { C(0xff, 0xe4), C(0xff, 0xe4), 1 },
};

static void test_relocate(struct kunit *test)
{
	const unsigned long from = (unsigned long)_stext;
	u8 copy[MAX_INSN_SIZE];
	struct insn insn;
	int ret, i;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "nothing is relative to the instruction pointer");

	for (i = 0; i < ARRAY_SIZE(relocated); i++) {
		const struct relocated *r = &relocated[i];

		KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, r->from.bytes));
		KUNIT_ASSERT_EQ(test, r->from.length, insn.length);
		ret = kprobe_copy(copy, &insn, from, from + r->distance);
		KUNIT_EXPECT_EQ_MSG(test, r->err ?: r->to.length, ret, "%*ph", r->from.length,
				    r->from.bytes);
		if (!r->err)
			KUNIT_EXPECT_MEMEQ_MSG(test, r->to.bytes, copy, r->to.length, "%*ph: %*ph",
					       r->from.length, r->from.bytes, r->to.length, copy);
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

static int locked_boundary(unsigned long addr)
{
	const char *why;

	guard(mutex)(&kprobe_mutex);
	guard(mutex)(&text_mutex);
	return kprobe_check_boundary(addr, &why);
}

/* A function to decode */
static noinline int subject(const char *text)
{
	int sum = 0;

	while (*text)
		sum = sum * 31 + *text++;
	return sum;
}

static unsigned long subject_entry(struct kunit *test, unsigned long *size)
{
	unsigned long addr = (unsigned long)subject, offset;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(addr, size, &offset));
	return addr - offset;
}

static void expect_boundaries(struct kunit *test)
{
	unsigned long size, entry = subject_entry(test, &size), i, next = 0;
	struct insn insn;
	u8 buf[MAX_INSN_SIZE];

	for (i = 0; i < size; i++) {
		if (i != next) {
			KUNIT_EXPECT_EQ_MSG(test, -EILSEQ, locked_boundary(entry + i), "%lu", i);
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, 0, locked_boundary(entry + i), "%lu", i);
		KUNIT_ASSERT_EQ(test, 0, locked_decode(&insn, buf, entry + i));
		next += insn.length;
	}
}

static void test_boundary(struct kunit *test)
{
	KUNIT_EXPECT_NE(test, 0, subject("x"));
	expect_boundaries(test);
	KUNIT_EXPECT_EQ(test, -EILSEQ, locked_boundary(PAGE_SIZE));
}

/* Decoding does not see a probe's breakpoint. */
static void test_probed(struct kunit *test)
{
	unsigned long size, entry = subject_entry(test, &size);
	u8 before[MAX_INSN_SIZE], after[MAX_INSN_SIZE];
	struct kprobe kp = {};
	struct insn insn;

	/* Behind a landing pad and ftrace's nop, which get no breakpoint */
	kp.addr = (void *)entry;
	do {
		KUNIT_ASSERT_EQ(test, 0, locked_decode(&insn, before, (unsigned long)kp.addr));
		kp.addr += insn.length;
	} while ((unsigned long)kp.addr - entry < 16);

	KUNIT_ASSERT_EQ(test, 0, locked_decode(&insn, before, (unsigned long)kp.addr));
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&kp));
	KUNIT_EXPECT_EQ(test, INT3_INSN_OPCODE, *(u8 *)kp.addr);
	KUNIT_EXPECT_EQ(test, 0, locked_decode(&insn, after, (unsigned long)kp.addr));
	KUNIT_EXPECT_MEMEQ(test, before, after, sizeof(before));
	expect_boundaries(test);
	unregister_kprobe(&kp);
	KUNIT_EXPECT_EQ(test, before[0], *(u8 *)kp.addr);
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

static u8 opcode_text[2 * MAX_INSN_SIZE];

/* Nops follow it. 0x0f.. is behind an escape byte, and prefix 0 is none. */
static void put_opcode(u8 prefix, u16 opcode, u8 modrm)
{
	u8 *p = opcode_text;

	memset(opcode_text, 0x90, sizeof(opcode_text));
	if (prefix)
		*p++ = prefix;
	if (opcode >> 8)
		*p++ = opcode >> 8;
	*p++ = opcode;
	*p = modrm;
}

/* All opcodes of two maps: each branch is either emulated or refused. */
static void test_opcodes(struct kunit *test)
{
	unsigned long addr = (unsigned long)opcode_text;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	int i;

	for (i = 0; i < 2 * 256 * 2 * 8; i++) {
		put_opcode(0, (i >> 12 ? 0x0f00 : 0) | (i >> 4 & 0xff),
			   (i & 1 ? 0xc0 : 0) | (i >> 1 & 7) << 3);
		KUNIT_EXPECT_TRUE_MSG(test, judge(&insn, buf, addr) != BAD ||
				      locked_decode(&insn, buf, addr), "%6ph", opcode_text);
	}
}

/* Opcodes that may lead elsewhere than to the next instruction, as put_opcode() takes them */
struct branch {
	u16	first, last;
	u8	exts;		/* bitmask: values of the ModRM byte's reg field */
	bool	near;		/* is emulated; all others are refused */
};

#define ANY_EXT		0xff

/* By the SDM, vol. 2D, tables, and not by what the decoder knows. */
static const struct branch branches[] = {
	/* jcc, ret, loop and jcxz, call and jmp */
	{ 0x70, 0x7f, ANY_EXT, true }, { 0x0f80, 0x0f8f, ANY_EXT, true },
	{ 0xc2, 0xc3, ANY_EXT, true }, { 0xe0, 0xe3, ANY_EXT, true },
	{ 0xe8, 0xe9, ANY_EXT, true }, { 0xeb, 0xeb, ANY_EXT, true },
	{ 0xff, 0xff, BIT(2) | BIT(4), true },
	/* lcall and ljmp, lret, xabort and xbegin */
	{ 0x9a, 0x9a, ANY_EXT }, { 0xea, 0xea, ANY_EXT }, { 0xff, 0xff, BIT(3) | BIT(5) },
	{ 0xca, 0xcb, ANY_EXT }, { 0xc6, 0xc7, BIT(7) },
	/* int3, int, into, iret; int1; ud2, ud1, ud0 */
	{ 0xcc, 0xcf, ANY_EXT }, { 0xf1, 0xf1, ANY_EXT },
	{ 0x0f0b, 0x0f0b, ANY_EXT }, { 0x0fb9, 0x0fb9, ANY_EXT }, { 0x0fff, 0x0fff, ANY_EXT },
	/* syscall, sysret, sysenter and sysexit, getsec, rsm */
	{ 0x0f05, 0x0f05, ANY_EXT }, { 0x0f07, 0x0f07, ANY_EXT }, { 0x0f34, 0x0f35, ANY_EXT },
	{ 0x0f37, 0x0f37, ANY_EXT }, { 0x0faa, 0x0faa, ANY_EXT },
};

/* None; those of size, repetition, segments and lock; and REX.W, which only 64 bits have */
static const u8 branch_prefixes[] = {
	0, 0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x3e, 0x64, 0xf0, 0x48,
};

#define NR_BRANCH_PREFIXES	(ARRAY_SIZE(branch_prefixes) - !IS_ENABLED(CONFIG_X86_64))

/* With a prefix, a near branch may be refused as well, but a copy must not run. */
static void expect_no_copy(struct kunit *test, const struct branch *b, u8 prefix)
{
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	enum verdict v = judge(&insn, buf, (unsigned long)opcode_text);
	bool boosted = v == BY_COPY || (v == BY_EMULATION && kprobe_can_boost(&insn));

	KUNIT_EXPECT_FALSE_MSG(test, boosted, "%6ph: %s", opcode_text, verdict_names[v]);
	if (!b->near)
		KUNIT_EXPECT_NE_MSG(test, BY_EMULATION, v, "%6ph", opcode_text);
	else if (!prefix)
		KUNIT_EXPECT_EQ_MSG(test, BY_EMULATION, v, "%6ph: %s", opcode_text,
				    verdict_names[v]);
}

/* Tries one opcode, with each operand in memory or in a register. */
static void try_branch(struct kunit *test, const struct branch *b, u16 opcode)
{
	const unsigned long exts = b->exts;
	unsigned int i, ext;

	for (i = 0; i < 2 * NR_BRANCH_PREFIXES; i++) {
		for_each_set_bit(ext, &exts, 8) {
			put_opcode(branch_prefixes[i / 2], opcode, (i & 1 ? 0xc0 : 0) | ext << 3);
			expect_no_copy(test, b, branch_prefixes[i / 2]);
		}
	}
}

/* The branches of 0f 01 are among test_verdicts(). */
static void test_branches(struct kunit *test)
{
	const struct branch *b;
	unsigned int opcode;

	for (b = branches; b < branches + ARRAY_SIZE(branches); b++) {
		for (opcode = b->first; opcode <= b->last; opcode++)
			try_branch(test, b, opcode);
	}
}

/* As registration prepares it */
static const char *path_of(struct insn *insn)
{
	struct kprobe p = {};

	kprobe_emulation_init(&p.ainsn.emulation, insn);
	p.ainsn.emulation.boosted = kprobe_can_boost(insn);
	return arch_kprobe_path(&p);
}

static void test_paths(struct kunit *test)
{
	static const struct {
		u8 code[MAX_INSN_SIZE];
		const char *path;
	} cases[] = {
		{ { 0x90 }, "boost" }, { { 0x0f, 0xae, 0xe8 }, "boost" },
		{ { 0xe8 }, "emulate" }, { { 0xff, 0x10 }, "emulate" },
		/* Only the processor finds these operands. */
		{ { 0x65, 0xff, 0x10 }, "step" }, { { 0x67, 0xff, 0x10 }, "step" },
	};
	struct insn insn;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, cases[i].code));
		KUNIT_EXPECT_STREQ_MSG(test, cases[i].path, path_of(&insn), "%6ph",
				       cases[i].code);
	}
}

/* How the instruction is carried out at a hit; "step" takes a second trap. */
static const char * const paths[] = { "emulate", "boost", "step" };

#define NR_PATHS	ARRAY_SIZE(paths)
#define STEP		(NR_PATHS - 1)

struct tally {
	struct kunit	*test;
	unsigned long	functions, verdicts[NR_VERDICTS], paths[NR_PATHS];
};

static void count(struct tally *t, struct insn *insn, enum verdict v)
{
	int path;

	t->verdicts[v]++;
	if (v != BY_EMULATION && v != BY_COPY)
		return;
	path = match_string(paths, NR_PATHS, path_of(insn));
	KUNIT_ASSERT_GE(t->test, path, 0);
	t->paths[path]++;
}

static void look_at_function(void *data, unsigned long at, unsigned long end)
{
	struct tally *t = data;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	enum verdict v;

	for (t->functions++; at < end; at += insn.length) {
		v = judge(&insn, buf, at);
		/* Padding is not counted. */
		if (buf[0] != INT3_INSN_OPCODE && buf[0] != BYTES_NOP1)
			count(t, &insn, v);
		KUNIT_EXPECT_NE_MSG(t->test, BAD, v, "%pS: %15ph", (void *)at, buf);
		if (v == BAD)
			break;
	}
}

/* A hit takes a single trap at a breakpoint, and none at a jump, except for few instructions. */
static void expect_few_traps(struct kunit *test, struct tally *t)
{
	unsigned long all = 0, share;
	int i;

	for (i = 0; i < NR_PATHS; i++)
		all += t->paths[i];
	for (i = 0; i < NR_PATHS; i++) {
		share = div_u64(t->paths[i] * 100000ULL, max(all, 1UL));
		kunit_info(test, "%s: %7lu %3lu.%03lu%%", paths[i],
			   t->paths[i], share / 1000, share % 1000);
	}
	KUNIT_EXPECT_LE(test, t->paths[STEP] * 100, all * 3);
}

/* Only one function in so many is looked at, to save time. Every other one is a __pfx_. */
#define WALK_STRIDE	13

/* A past bug: int3 as padding made functions undecodable. */
static void test_text(struct kunit *test)
{
	struct tally t = { .test = test };
	unsigned int i, n = kprobes_walk_text(WALK_STRIDE, look_at_function, &t);

	kunit_info(test, "%lu of %u functions", t.functions, n);
	for (i = 0; i < NR_VERDICTS; i++)
		kunit_info(test, "%s: %lu", verdict_names[i], t.verdicts[i]);
	KUNIT_EXPECT_GT(test, n, 0);
	KUNIT_EXPECT_GT(test, t.verdicts[BY_EMULATION], 0);
	KUNIT_EXPECT_GT(test, t.verdicts[BY_COPY], 0);
	KUNIT_EXPECT_LT(test, t.verdicts[UNSUPP] * 100, t.verdicts[BY_COPY]);
	expect_few_traps(test, &t);
}

#ifdef CONFIG_SMP
extern s32 __smp_locks[], __smp_locks_end[];

/*
 * A kernel that has booted with one CPU of several has no lock prefixes. They are patched in
 * when another CPU comes up.
 */
static void test_lock_prefixes(struct kunit *test)
{
	unsigned int tried = 0;
	unsigned long addr;
	s32 *entry;

	if (setup_max_cpus > 1 || num_possible_cpus() == 1)
		kunit_skip(test, "lock prefixes are there to stay: try maxcpus=1");
	for (entry = __smp_locks; entry < __smp_locks_end; entry++) {
		addr = (unsigned long)entry + *entry;
		/* Init text has been freed by then, and is not patched. */
		if (addr < (unsigned long)_stext || addr >= (unsigned long)_etext)
			continue;
		tried++;
		KUNIT_EXPECT_NE_MSG(test, 0, kprobes_try(addr), "%pS", (void *)addr);
	}
	KUNIT_EXPECT_GT(test, tried, 0);
}
#endif

static struct kunit_case decode_cases[] = {
	KUNIT_CASE(test_verdicts),
	KUNIT_CASE(test_landing_pad),
	KUNIT_CASE(test_relocate),
	KUNIT_CASE(test_mapping_end),
	KUNIT_CASE(test_boundary),
	KUNIT_CASE(test_probed),
	KUNIT_CASE(test_adjust),
	KUNIT_CASE(test_opcodes),
	KUNIT_CASE(test_branches),
	KUNIT_CASE(test_paths),
	KUNIT_CASE(test_text),
#ifdef CONFIG_SMP
	KUNIT_CASE(test_lock_prefixes),
#endif
	{ }
};

static struct kunit_suite decode_suite = {
	.name		= "kprobes_x86_decode",
	.test_cases	= decode_cases,
};

kunit_test_suite(decode_suite);
