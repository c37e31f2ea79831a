// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what may be probed, and how it is carried out
 */

#include <kunit/test.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "support/text.h"
#include "../decode-insn.h"
#include "test_native.h"

/*
 * A sample of each verdict and of each simulation. That all words have the right one is compared
 * with the manual where decode-insn.c is compiled outside of a kernel.
 */
static const struct sample {
	u32 insn;
	enum probe_action kprobe, uprobe;
} samples[] = {
	/* b, b.eq, cbz, tbz, blr, adr; ldr of a literal */
	{ 0x14000002, PROBE_SIMULATE, PROBE_SIMULATE },
	{ 0x54000040, PROBE_SIMULATE, PROBE_SIMULATE },
	{ 0x34000040, PROBE_SIMULATE, PROBE_SIMULATE },
	{ 0x36f80040, PROBE_SIMULATE, PROBE_SIMULATE },
	{ 0xd63f03c0, PROBE_SIMULATE, PROBE_SIMULATE },
	{ 0x30000000, PROBE_SIMULATE, PROBE_SIMULATE },
	{ 0x58000040, PROBE_SIMULATE, PROBE_REJECT },
	/* nop, add, ldr; msr pan, #1, msr daifset, #7; clrex, add of SVE */
	{ 0xd503201f, PROBE_COPY, PROBE_COPY },
	{ 0x91000420, PROBE_COPY, PROBE_COPY },
	{ 0xf9400420, PROBE_COPY, PROBE_COPY },
	{ 0xd500419f, PROBE_COPY, PROBE_REJECT },
	{ 0xd50347df, PROBE_COPY, PROBE_REJECT },
	{ 0xd5033f5f, PROBE_REJECT, PROBE_COPY },
	{ 0x04220020, PROBE_REJECT, PROBE_COPY },
};

static void test_verdicts(struct kunit *test)
{
	const struct probe_class *class;
	const struct sample *s;

	for (s = samples; s < samples + ARRAY_SIZE(samples); s++) {
		class = probe_classify(s->insn);
		KUNIT_ASSERT_NOT_NULL_MSG(test, class, "%08x", s->insn);
		KUNIT_EXPECT_EQ_MSG(test, s->kprobe, class->kprobe, "%s", class->name);
		KUNIT_EXPECT_EQ_MSG(test, s->uprobe, class->uprobe, "%s", class->name);
	}
}

/* Who asks why an instruction is refused is told the name of its row; NULL if it is in none. */
static const struct refused {
	u32 insn;
	const char *row;
} refused[] = {
	{ 0x0420bc20, "MOVPRFX" }, { 0x04112020, "MOVPRFX" }, { 0x1c000040, "(literal): SIMD" },
	{ 0x74052005, "Compare and branch" }, { 0x55000dbf, "RETA*SPPC" },
	{ 0xd65f0bff, "authenticated" }, { 0xd69f03e0, "ERET, DRPS" }, { 0x00000000, "UDF" },
	{ 0xd4200080, "Exception generation" }, { 0xd50324ff, "PACM" }, { 0xd503307f, "TCOMMIT" },
	{ 0xd5233060, "TSTART, TTEST" }, { 0xd50041bf, "PSTATE: SPSel" },
	{ 0xd50348df, "DAIFClr of D" }, { 0xd50b7719, "GCS" }, { 0xd52b7739, "SYSL" },
	{ 0xd91f0f7a, "guarded control stack" }, { 0xd5300240, "debug" }, { 0xd53b4500, "debug" },
	{ 0xd51b4220, "MSR of DAIF" }, { 0xd5384000, "SPSR, ELR" }, { 0xd5184200, "MSR of SPSel" },
	{ 0xd5385200, "ESR" }, { 0xd5385100, "ESR" }, { 0xd5386000, "FAR" },
	{ 0xd5184100, "SP_EL0" }, { 0xd518d080, "TPIDR_EL1" }, { 0xd51cd040, "TPIDR_EL2" },
	{ 0xd5182000, "TTBR0_EL1" }, { 0xd5182100, "key IA" }, { 0xf380009f, "AUTI*SPPC" },
	{ 0xdac1a3fe, "PC as modifier" }, { 0x885f7c20, "exclusive register" },
	{ 0xc87f0440, "exclusive pair" }, { 0xc95f7d6a, "(unprivileged)" },
	{ 0x19010440, "Memory Copy" },
	/* msr sctlr_el1, x0; sysp; mrrs; swpt; an unallocated addition */
	{ 0xd5181000 }, { 0xd5487d00 }, { 0xd5700000 }, { 0x192784bf }, { 0x0bc00000 },
};

/* A past bug: instructions newer than the decoder were taken for harmless. */
static void test_refused(struct kunit *test)
{
	const struct probe_class *class;
	const struct refused *r;

	for (r = refused; r < refused + ARRAY_SIZE(refused); r++) {
		class = probe_classify(r->insn);
		KUNIT_EXPECT_EQ_MSG(test, !r->row, !class, "%08x", r->insn);
		if (!class || !r->row)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, class->kprobe, PROBE_REJECT, "%s", class->name);
		KUNIT_EXPECT_EQ_MSG(test, class->uprobe, PROBE_REJECT, "%s", class->name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(class->name, r->row), "%s", class->name);
	}
}

/* Of branches that are simulated for user space it is not known whether the page is guarded. */
static void test_uprobes(struct kunit *test)
{
	struct pt_regs regs = {
		.pc = 0x1000, .regs[30] = 0x2000, .pstate = PSR_MODE_EL0t | PSR_BTYPE_C,
	};
	struct arch_probe_insn asi = {};

	/* blr x30 */
	KUNIT_EXPECT_EQ(test, INSN_GOOD_NO_SLOT, arm_probe_decode_insn(0xd63f03c0, &asi));
	KUNIT_ASSERT_NOT_NULL(test, asi.handler);
	asi.handler(0xd63f03c0, regs.pc, &regs);
	KUNIT_EXPECT_EQ(test, 0x2000, regs.pc);
	KUNIT_EXPECT_EQ(test, 0x1004, regs.regs[30]);
	KUNIT_EXPECT_EQ(test, PSR_MODE_EL0t | PSR_BTYPE_NONE, regs.pstate);
}

/* Instructions in pieces of text, by letters */
static const u32 letters[128] = {
	['-'] = 0xd503201f,		/* nop */
	['L'] = 0x885f7c01,		/* ldxr w1, [x0] */
	['S'] = 0x88027c01,		/* stxr w2, w1, [x0] */
	['X'] = 0xd5033f5f,		/* clrex */
	['l'] = 0x88dffc01,		/* ldar w1, [x0] */
	['s'] = 0x889ffc01,		/* stlr w1, [x0] */
	['c'] = 0x88a17c02,		/* cas w1, w2, [x0] */
	['0'] = 0xd5182000,		/* msr ttbr0_el1, x0 */
	['1'] = 0xd5182021,		/* msr ttbr1_el1, x1 */
	['2'] = 0xd5182040,		/* msr tcr_el1, x0 */
	['I'] = 0xd5033fdf,		/* isb */
};

static __le32 text[128];

/* Nops are behind it. */
static void put(const char *code)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(text); i++)
		text[i] = cpu_to_le32(letters[*code ? *code++ : '-']);
}

/* Is the @i-th instruction of a function of @nr instructions in a sequence of exclusives? */
static bool inside(unsigned int i, unsigned int nr)
{
	return probe_in_exclusive((unsigned long)(text + i), (unsigned long)text,
				  (unsigned long)(text + nr));
}

/* Is it in a switch of page tables? */
static bool in_switch(unsigned int i, unsigned int nr)
{
	return probe_in_switch((unsigned long)(text + i), (unsigned long)text);
}

/* In @expected there is an x for each instruction that is in such a sequence. */
static void expect_in(struct kunit *test, bool (*in)(unsigned int i, unsigned int nr),
		      const char *code, const char *expected)
{
	unsigned int i, nr = strlen(code);

	put(code);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ_MSG(test, expected[i] == 'x', in(i, nr), "%s: at %u", code, i);
}

/* The first exclusive that is found in either direction counts, if it is in the function. */
static void test_exclusive(struct kunit *test)
{
	expect_in(test, inside, "--L---S--", "--xxxxx--");
	expect_in(test, inside, "--l-c-s--", "---------");
	/* ldxr, for an event; then a loop */
	expect_in(test, inside, "--L---L---S--", "--x---xxxxx--");
	/* a loop; then a store that has no load */
	expect_in(test, inside, "--L---S-S--", "--xxxxx-x--");
	/* a clrex in between */
	expect_in(test, inside, "--L-X-S--", "--x---x--");
	/* ldar, stlr and cas do not end it */
	expect_in(test, inside, "--LlscS--", "--xxxxx--");
	/* the store is behind the end of the function */
	KUNIT_EXPECT_TRUE(test, inside(3, 7));
	KUNIT_EXPECT_FALSE(test, inside(3, 6));
}

static void test_exclusive_reach(struct kunit *test)
{
	put("L");
	text[64] = cpu_to_le32(letters['S']);
	KUNIT_EXPECT_TRUE(test, inside(32, 128));
	KUNIT_EXPECT_FALSE(test, inside(31, 128));
	KUNIT_EXPECT_FALSE(test, inside(33, 128));
	KUNIT_EXPECT_TRUE(test, inside(0, 128));
	KUNIT_EXPECT_TRUE(test, inside(64, 128));

	/* where nothing can be read */
	KUNIT_EXPECT_FALSE(test, probe_in_exclusive(-PAGE_SIZE, -PAGE_SIZE, -SZ_1K));
}

/* From behind the first write to the ISB, in whatever order they come */
static void test_switch(struct kunit *test)
{
	expect_in(test, in_switch, "--1--0--I--", "---xxxxxx--");
	expect_in(test, in_switch, "--0--1--I--", "---xxxxxx--");
	expect_in(test, in_switch, "--0-----I--", "---xxxxxx--");
	/* another register's */
	expect_in(test, in_switch, "--2-----I--", "-----------");
	/* the function begins with the first write, or behind it */
	expect_in(test, in_switch, "0--", "-xx");
	KUNIT_EXPECT_FALSE(test, probe_in_switch((unsigned long)(text + 2),
						 (unsigned long)(text + 1)));
	/* no ISB in sight */
	KUNIT_EXPECT_TRUE(test, in_switch(32, 128));
	KUNIT_EXPECT_FALSE(test, in_switch(33, 128));
	KUNIT_EXPECT_FALSE(test, probe_in_switch(-SZ_1K, -PAGE_SIZE));
}

/* Real sequences */
asm("	.pushsection .text, \"ax\"\n"
"	.balign	4\n"
"probe_test_llsc:\n"
"	prfm pstl1strm, [x0]; 1: ldxr w1, [x0]; add w1, w1, #1; cmp w1, #100\n"
"	stlxr w2, w1, [x0]; cbnz w2, 1b; ret\n"
"probe_test_llsc_end:\n"
"probe_test_ordered:\n"
"	ldar w1, [x0]; add w1, w1, #1; stlr w1, [x0]; add w1, w1, #1\n"
"	.inst 0x88a17c02; ret	// cas w1, w2, [x0]\n"
"probe_test_ordered_end:\n"
/* As around an access to user memory with CONFIG_ARM64_SW_TTBR0_PAN; never executed */
"probe_test_switch:\n"
"	mrs x1, ttbr1_el1; msr ttbr1_el1, x1; nop; msr ttbr0_el1, x0; isb; ret\n"
"probe_test_switch_end:\n"
"	.popsection\n"
);

/* With control flow integrity the word before a function may be its type. */
static bool is_type(unsigned long at, unsigned long end)
{
	return IS_ENABLED(CONFIG_CFI) && end - at == AARCH64_INSN_SIZE;
}

/* In @expected there is a y for each instruction from @start to @end that can be probed. */
static void expect_verdicts(struct kunit *test, const void *start, const void *end,
			    const char *expected)
{
	unsigned long from = (unsigned long)start, to = (unsigned long)end, at;

	KUNIT_ASSERT_EQ(test, strlen(expected) * AARCH64_INSN_SIZE, to - from);
	for (at = from; at < to; at += AARCH64_INSN_SIZE) {
		bool can = *expected++ == 'y' && !is_type(at, to);

		KUNIT_EXPECT_EQ_MSG(test, can ? 0 : -EINVAL, kprobes_try(at), "%pS", (void *)at);
	}
}

#define EXPECT_VERDICTS(test, name, expected) \
	expect_verdicts(test, ADDRESS_OF(name), ADDRESS_OF(name##_end), expected)

/*
 * Past bugs: a probe between exclusives kept a loop from ending; LDAR was taken for an
 * exclusive. Another: without PAN, the writes that open user memory were accepted.
 */
static void test_real_sequences(struct kunit *test)
{
	EXPECT_VERDICTS(test, probe_test_llsc, "y----yy");
	EXPECT_VERDICTS(test, probe_test_ordered, "yyyyyy");
	EXPECT_VERDICTS(test, probe_test_switch, "y----y");
}

/* What registration makes of an instruction */
enum verdict { REFUSED, COPIED, SIMULATED, IN_SEQUENCE, NR_VERDICTS };

static const char * const verdict_names[] = {
	"refused", "run as a copy", "simulated",
	"refused: between exclusives, or in a switch of page tables",
};

struct tally {
	struct kunit	*test;
	unsigned long	all, verdicts[NR_VERDICTS];
};

static enum verdict verdict_on(u32 insn, unsigned long addr, unsigned long start, unsigned long end)
{
	const struct probe_class *class = probe_classify(insn);

	if (!class || class->kprobe == PROBE_REJECT)
		return REFUSED;
	if (probe_in_exclusive(addr, start, end) || probe_in_switch(addr, start))
		return IN_SEQUENCE;
	return class->kprobe == PROBE_COPY ? COPIED : SIMULATED;
}

/* Padding between functions is all zeroes, a udf; nobody executes any udf #imm16. */
static bool is_padding(unsigned long at, unsigned long end, u32 insn)
{
	if (insn <= U16_MAX || is_type(at, end))
		return true;
	/* The pointer that ftrace keeps before a function */
	return IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) &&
	       end - at <= sizeof(u64) && ftrace_location(end);
}

static void look_at_function(void *data, unsigned long start, unsigned long end)
{
	struct tally *t = data;
	unsigned long at;
	u32 insn;

	for (at = start; at < end; at += AARCH64_INSN_SIZE) {
		KUNIT_ASSERT_EQ(t->test, 0, aarch64_insn_read((void *)at, &insn));
		if (is_padding(at, end, insn))
			continue;
		t->all++;
		t->verdicts[verdict_on(insn, at, start, end)]++;
	}
}

/* Only one function in so many is looked at, to save time. */
#define WALK_STRIDE	5

/* How many exclusives and BRKs there are, and writes of DAIF, depends on the configuration. */
static void test_text(struct kunit *test)
{
	struct tally t = { .test = test };
	unsigned int i, n = kprobes_walk_text(WALK_STRIDE, look_at_function, &t);
	unsigned long share;

	KUNIT_EXPECT_GT(test, n, 0);
	for (i = 0; i < NR_VERDICTS; i++) {
		share = t.verdicts[i] * 100000 / max(t.all, 1UL);
		kunit_info(test, "%7lu %2lu.%03lu%% %s", t.verdicts[i], share / 1000, share % 1000,
			   verdict_names[i]);
	}
	KUNIT_EXPECT_GT(test, t.verdicts[COPIED], 0);
	KUNIT_EXPECT_GT(test, t.verdicts[SIMULATED], 0);
	KUNIT_EXPECT_LE(test, t.verdicts[REFUSED] * 100, t.all * 5);
}

static struct kunit_case decode_cases[] = {
	KUNIT_CASE(test_verdicts),
	KUNIT_CASE(test_refused),
	KUNIT_CASE(test_uprobes),
	KUNIT_CASE(test_exclusive),
	KUNIT_CASE(test_exclusive_reach),
	KUNIT_CASE(test_switch),
	KUNIT_CASE(test_real_sequences),
	KUNIT_CASE(test_text),
	{ }
};

static struct kunit_suite decode_suite = {
	.name		= "kprobes_arm64_decode",
	.test_cases	= decode_cases,
};

kunit_test_suite(decode_suite);
