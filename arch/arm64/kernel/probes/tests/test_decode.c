// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what may be probed, and how it is carried out
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/ftrace.h>
#include <linux/hex.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/patching.h>

#include "support/kinds.h"
#include "support/text.h"
#include "../decode-insn.h"
#include "../internal.h"
#include "test_decode_samples.h"
#include "test_native.h"

/*
 * Each row must be complete. If two match the same instruction, the first has to be an exception to
 * the other one: all that it matches is matched by that, too.
 */
static void test_table(struct kunit *test)
{
	unsigned int i, j;

	for (i = 0; i < probe_nr_classes; i++) {
		const struct probe_class *a = &probe_classes[i];
		bool simulated = a->kprobe == PROBE_SIMULATE || a->uprobe == PROBE_SIMULATE;

		KUNIT_ASSERT_NOT_NULL_MSG(test, a->name, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, 0, a->value & ~a->mask, "%s", a->name);
		KUNIT_EXPECT_LE_MSG(test, a->kprobe, PROBE_SIMULATE, "%s", a->name);
		KUNIT_EXPECT_LE_MSG(test, a->uprobe, PROBE_SIMULATE, "%s", a->name);
		KUNIT_EXPECT_EQ_MSG(test, simulated, !!a->simulate, "%s", a->name);
		for (j = 0; j < i; j++) {
			const struct probe_class *b = &probe_classes[j];

			if (!((a->value ^ b->value) & a->mask & b->mask))
				KUNIT_EXPECT_EQ_MSG(test, a->mask, a->mask & b->mask,
						    "%s overlaps with %s", a->name, b->name);
		}
	}
}

/* The word that a sample begins with */
static u32 word_of_sample(struct kunit *test, const char *sample)
{
	u8 bytes[sizeof(u32)];

	KUNIT_ASSERT_EQ_MSG(test, 0, hex2bin(bytes, sample, sizeof(bytes)), "%s", sample);
	return get_unaligned_be32(bytes);
}

static void judge(struct kunit *test, const struct samples *group, const char *sample,
		  unsigned long *rows_seen)
{
	const struct probe_class *class = probe_classify(word_of_sample(test, sample));
	/* Who asks why an instruction is refused is told the name of its row. */
	bool named = group->kprobe == PROBE_REJECT && group->uprobe == PROBE_REJECT;

	KUNIT_EXPECT_NOT_NULL_MSG(test, class, "%s", sample);
	if (!class)
		return;
	__set_bit(class - probe_classes, rows_seen);
	KUNIT_EXPECT_EQ_MSG(test, group->kprobe, class->kprobe, "%s: %s", sample, class->name);
	KUNIT_EXPECT_EQ_MSG(test, group->uprobe, class->uprobe, "%s: %s", sample, class->name);
	KUNIT_EXPECT_TRUE_MSG(test, named ? group->class && strstr(class->name, group->class) :
			      !group->class, "%s: %s", sample, class->name);
}

/* There has to be a sample of every row. */
static void test_samples(struct kunit *test)
{
	unsigned long *rows_seen = test_alloc(test, BITS_TO_LONGS(probe_nr_classes) * sizeof(long));
	const char * const *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		for (s = known[i].list; *s; s++)
			judge(test, &known[i], *s, rows_seen);
	for (i = 0; i < probe_nr_classes; i++)
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(i, rows_seen), "no sample of %s: %08x",
				      probe_classes[i].name, probe_classes[i].value);
}

/* A past bug: instructions newer than the decoder were taken for harmless. */
static void test_unknown(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		KUNIT_EXPECT_NULL_MSG(test, probe_classify(word_of_sample(test, unknown[i])), "%s",
				      unknown[i]);
}

/* Setting or clearing bits of DAIF is refused if D is among them, and only then. */
static void test_daif(struct kunit *test)
{
	static const u32 daif[] = { 0xd50340df, 0xd50340ff };
	unsigned int i, imm;

	for (i = 0; i < ARRAY_SIZE(daif); i++) {
		for (imm = 0; imm < 16; imm++) {
			const struct probe_class *class = probe_classify(daif[i] | imm << 8);

			KUNIT_ASSERT_NOT_NULL(test, class);
			KUNIT_EXPECT_EQ_MSG(test, imm & 8 ? PROBE_REJECT : PROBE_COPY,
					    class->kprobe, "#%u", imm);
			KUNIT_EXPECT_EQ(test, PROBE_REJECT, class->uprobe);
		}
	}
}

/* All hints can be copied, except for PACM. */
static void test_hints(struct kunit *test)
{
	unsigned int hint;

	for (hint = 0; hint < 128; hint++) {
		const struct probe_class *class = probe_classify(0xd503201f | hint << 5);

		KUNIT_ASSERT_NOT_NULL_MSG(test, class, "#%u", hint);
		KUNIT_EXPECT_EQ_MSG(test, hint == 39 ? PROBE_REJECT : PROBE_COPY,
				    class->kprobe, "#%u", hint);
		KUNIT_EXPECT_EQ_MSG(test, class->kprobe, class->uprobe, "#%u", hint);
	}
}

static void test_uprobes(struct kunit *test)
{
	/* msr sctlr_el1, x0; movprfx z0, z1; msr uao, #0; ldr w0, .+8; then nop; clrex */
	static const u32 refused[] = { 0xd5181000, 0x0420bc20, 0xd500407f, 0x18000040 };
	static const u32 good[] = { 0xd503201f, 0xd5033f5f };
	struct arch_probe_insn asi = {};
	struct pt_regs regs = { .pc = 0x1000, .pstate = PSR_MODE_EL0t | PSR_BTYPE_C };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++)
		KUNIT_EXPECT_EQ_MSG(test, INSN_REJECTED, arm_probe_decode_insn(refused[i], &asi),
				    "%08x", refused[i]);
	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_EQ_MSG(test, INSN_GOOD, arm_probe_decode_insn(good[i], &asi), "%08x",
				    good[i]);
	KUNIT_EXPECT_NULL(test, asi.handler);

	/* b .+8 */
	KUNIT_EXPECT_EQ(test, INSN_GOOD_NO_SLOT, arm_probe_decode_insn(0x14000002, &asi));
	KUNIT_ASSERT_NOT_NULL(test, asi.handler);
	asi.handler(0x14000002, regs.pc, &regs);
	KUNIT_EXPECT_EQ(test, 0x1008, regs.pc);
	KUNIT_EXPECT_EQ(test, PSR_MODE_EL0t | PSR_BTYPE_NONE, regs.pstate);

	/* blr x30: it is not known whether the page is guarded */
	regs.regs[30] = 0x2000;
	KUNIT_EXPECT_EQ(test, INSN_GOOD_NO_SLOT, arm_probe_decode_insn(0xd63f03c0, &asi));
	asi.handler(0xd63f03c0, regs.pc, &regs);
	KUNIT_EXPECT_EQ(test, 0x2000, regs.pc);
	KUNIT_EXPECT_EQ(test, 0x100c, regs.regs[30]);
	KUNIT_EXPECT_EQ(test, PSR_MODE_EL0t | PSR_BTYPE_NONE, regs.pstate);
}

/* Instructions in pieces of text, by letters */
static const u32 letters[128] = {
	['-'] = 0xd503201f,		/* nop */
	['L'] = 0x885f7c01,		/* ldxr w1, [x0] */
	['S'] = 0x88027c01,		/* stxr w2, w1, [x0] */
	['A'] = 0x885ffc01,		/* ldaxr w1, [x0] */
	['R'] = 0x8802fc01,		/* stlxr w2, w1, [x0] */
	['B'] = 0x085f7c01,		/* ldxrb w1, [x0] */
	['Z'] = 0x08027c01,		/* stxrb w2, w1, [x0] */
	['P'] = 0xc87f0801,		/* ldxp x1, x2, [x0] */
	['Q'] = 0xc8230801,		/* stxp w3, x1, x2, [x0] */
	['U'] = 0xc95f7c01,		/* ldtxr x1, [x0] */
	['V'] = 0xc9027c01,		/* sttxr w2, x1, [x0] */
	['X'] = 0xd5033f5f,		/* clrex */
	['l'] = 0x88dffc01,		/* ldar w1, [x0] */
	['s'] = 0x889ffc01,		/* stlr w1, [x0] */
	['m'] = 0x88df7c01,		/* ldlar w1, [x0] */
	['t'] = 0x889f7c01,		/* stllr w1, [x0] */
	['c'] = 0x88a17c02,		/* cas w1, w2, [x0] */
	['a'] = 0x88e17c02,		/* casa w1, w2, [x0] */
	['p'] = 0x08227c04,		/* casp w2, w3, w4, w5, [x0] */
	['w'] = 0xb8218002,		/* swp w1, w2, [x0] */
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

static void test_exclusive(struct kunit *test)
{
	expect_in(test, inside, "--L---S--", "--xxxxx--");
	expect_in(test, inside, "--P---Q--", "--xxxxx--");
	expect_in(test, inside, "--A---R--", "--xxxxx--");
	expect_in(test, inside, "--B---Z--", "--xxxxx--");
	expect_in(test, inside, "--U---V--", "--xxxxx--");
	expect_in(test, inside, "--l---s--", "---------");
	expect_in(test, inside, "--m---t--", "---------");
	expect_in(test, inside, "--l---c--", "---------");
	expect_in(test, inside, "--c---s--", "---------");
	expect_in(test, inside, "--p---p--", "---------");
	expect_in(test, inside, "--a---c--", "---------");
	expect_in(test, inside, "--w---w--", "---------");
}

/* The first exclusive that is found in either direction counts, if it is in the function. */
static void test_exclusive_neighbours(struct kunit *test)
{
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

/* What registration makes of an instruction */
enum verdict { COPIED, SIMULATED, STEPPED, REFUSED, IN_EXCLUSIVE, IN_SWITCH, UNKNOWN, NR_VERDICTS };

static const char * const verdict_names[] = {
	"run as a copy", "simulated", "run as a copy with a BRK behind it", "refused",
	"refused: Between exclusives", "refused: In a switch of page tables",
	"refused: Unallocated or unknown",
};

static enum verdict verdict_on(u32 insn, unsigned long addr, unsigned long start, unsigned long end)
{
	const struct probe_class *class = probe_classify(insn);

	if (!class)
		return UNKNOWN;
	if (class->kprobe == PROBE_REJECT)
		return REFUSED;
	if (probe_in_exclusive(addr, start, end))
		return IN_EXCLUSIVE;
	if (probe_in_switch(addr, start))
		return IN_SWITCH;
	return class->kprobe == PROBE_COPY ? COPIED : SIMULATED;
}

static bool can_be_probed(unsigned long addr, unsigned long start, unsigned long end)
{
	u32 insn;

	return !aarch64_insn_read((void *)addr, &insn) &&
	       verdict_on(insn, addr, start, end) <= SIMULATED;
}

/* With control flow integrity the word before a function may be its type. */
static bool is_type(unsigned long at, unsigned long end)
{
	return IS_ENABLED(CONFIG_CFI_CLANG) && end - at == AARCH64_INSN_SIZE;
}

/* In @expected there is a y for each instruction from @start to @end that can be probed. */
static void expect_verdicts(struct kunit *test, const void *start, const void *end,
			    const char *expected)
{
	unsigned long from = (unsigned long)start, to = (unsigned long)end, at;

	KUNIT_ASSERT_EQ(test, strlen(expected) * AARCH64_INSN_SIZE, to - from);
	for (at = from; at < to; at += AARCH64_INSN_SIZE) {
		bool can = *expected++ == 'y';

		KUNIT_EXPECT_EQ_MSG(test, can, can_be_probed(at, from, to), "%pS", (void *)at);
		KUNIT_EXPECT_EQ_MSG(test, can && !is_type(at, to) ? 0 : -EINVAL, kprobes_try(at),
				    "%pS", (void *)at);
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

static u32 word_at(const void *addr)
{
	return le32_to_cpup(addr);
}

/* The target of a branch, 0 if it is none */
static unsigned long branches_to(const kprobe_opcode_t *at)
{
	u32 insn = word_at(at);

	if (!aarch64_insn_is_branch_imm(insn))
		return 0;
	return (unsigned long)at + aarch64_get_branch_offset(insn);
}

/* What a hit runs: a copy that branches back, and one that leads to the tail. */
static void test_slot(struct kunit *test)
{
	kprobe_opcode_t *addr = ADDRESS_OF(probe_test_ordered) + AARCH64_INSN_SIZE, *slot;
	unsigned long next = (unsigned long)(addr + 1);
	u32 original = word_at(addr);
	struct probe *probe = probe_registered(test, addr);
	const struct arch_specific_insn *ainsn;

	scoped_guard(preempt)
		ainsn = &get_kprobe(addr)->ainsn;
	slot = ainsn->insn;
	KUNIT_EXPECT_TRUE(test, ainsn->boosted && ainsn->detour);
	KUNIT_EXPECT_EQ(test, original, word_at(slot + SLOT_COPY));
	KUNIT_EXPECT_EQ(test, next, branches_to(slot + SLOT_COPY + 1));
	KUNIT_EXPECT_EQ(test, original, word_at(slot + SLOT_LAST));
	KUNIT_EXPECT_EQ(test, next, branches_to(slot + SLOT_NEXT_OUT + 2));
	KUNIT_EXPECT_NE(test, original, word_at(addr));
	probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, original, word_at(addr));
}

struct tally {
	struct kunit	*test;
	unsigned long	functions, padding, all;
	unsigned long	verdicts[NR_VERDICTS];
	unsigned long	*rows;
	unsigned long	slot;
};

/* Can a copy branch back by itself? Else it takes a second trap. */
static bool reaches(unsigned long slot, unsigned long at)
{
	const long reach = SZ_128M - PAGE_SIZE;
	long distance = at - slot;

	return distance > -reach && distance < reach;
}

static void count(struct tally *t, unsigned long at, unsigned long start, unsigned long end,
		  u32 insn)
{
	const struct probe_class *class = probe_classify(insn);
	enum verdict v = verdict_on(insn, at, start, end);

	t->all++;
	if (class)
		t->rows[class - probe_classes]++;
	t->verdicts[v == COPIED && !reaches(t->slot, at) ? STEPPED : v]++;
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

	for (t->functions++, at = start; at < end; at += AARCH64_INSN_SIZE) {
		KUNIT_ASSERT_EQ(t->test, 0, aarch64_insn_read((void *)at, &insn));
		if (is_padding(at, end, insn))
			t->padding++;
		else
			count(t, at, start, end, insn);
	}
}

static void print_share(struct tally *t, unsigned long n, const char *what, const char *why)
{
	unsigned long s = n * 100000 / max(t->all, 1UL);

	if (n)
		kunit_info(t->test, "%7lu %2lu.%03lu%% %s%s", n, s / 1000, s % 1000, what, why);
}

/*
 * Is this a class of refused instructions whose number depends on the compiler: exclusive
 * accesses, or BRK and the like?
 */
static bool is_frequent(const char *name)
{
	/* Where a page table stands in for PAN, around each access to user memory */
	if (IS_ENABLED(CONFIG_ARM64_SW_TTBR0_PAN) &&
	    (strstarts(name, "System register move: MSR of DAIF") ||
	     strstarts(name, "System register move: MSR of TTBR")))
		return true;
	return strstarts(name, "Load/store exclusive") || strstarts(name, "Exception generation");
}

/* Returns how many are refused by their class, and that is a frequent one. */
static unsigned long print_tally(struct tally *t)
{
	const struct probe_class *class;
	unsigned long frequent = 0;
	unsigned int i;

	for (i = 0; i < NR_VERDICTS; i++)
		print_share(t, t->verdicts[i], verdict_names[i], "");
	for (i = 0; i < probe_nr_classes; i++) {
		class = &probe_classes[i];
		if (class->kprobe != PROBE_REJECT)
			continue;
		print_share(t, t->rows[i], "refused: ", class->name);
		if (is_frequent(class->name))
			frequent += t->rows[i];
	}
	return frequent;
}

/* Only one function in so many is looked at, to save time. */
#define WALK_STRIDE	5

static void test_text(struct kunit *test)
{
	kprobe_opcode_t *slot = get_insn_slot();
	struct tally t = { .test = test, .slot = (unsigned long)slot };
	unsigned long refused, frequent;
	unsigned int n;

	KUNIT_ASSERT_NOT_NULL(test, slot);
	free_insn_slot(slot, 0);
	t.rows = test_alloc(test, probe_nr_classes * sizeof(*t.rows));
	n = kprobes_walk_text(WALK_STRIDE, look_at_function, &t);

	kunit_info(test, "%lu of %u functions: %lu instructions, %lu of padding",
		   t.functions, n, t.all, t.padding);
	frequent = print_tally(&t);
	KUNIT_EXPECT_GT(test, n, 0);
	KUNIT_EXPECT_GT(test, t.verdicts[COPIED], 0);
	KUNIT_EXPECT_GT(test, t.verdicts[SIMULATED], 0);
	refused = t.verdicts[REFUSED] + t.verdicts[UNKNOWN];
	KUNIT_EXPECT_LE(test, (refused - frequent) * 1000, t.all * 2);
	KUNIT_EXPECT_GT(test, frequent, 0);
	/* With a post handler, copied and simulated instructions take one trap. */
	KUNIT_EXPECT_LE(test, t.verdicts[STEPPED] * 97,
			(t.verdicts[COPIED] + t.verdicts[SIMULATED]) * 3);
}

static struct kunit_case decode_cases[] = {
	KUNIT_CASE(test_table),
	KUNIT_CASE(test_samples),
	KUNIT_CASE(test_unknown),
	KUNIT_CASE(test_daif),
	KUNIT_CASE(test_hints),
	KUNIT_CASE(test_uprobes),
	KUNIT_CASE(test_exclusive),
	KUNIT_CASE(test_exclusive_neighbours),
	KUNIT_CASE(test_exclusive_reach),
	KUNIT_CASE(test_switch),
	KUNIT_CASE(test_real_sequences),
	KUNIT_CASE(test_slot),
	KUNIT_CASE(test_text),
	{ }
};

static struct kunit_suite decode_suite = {
	.name		= "kprobes_arm64_decode",
	.test_cases	= decode_cases,
};

kunit_test_suite(decode_suite);
