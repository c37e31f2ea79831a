// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what may be probed, and how it is carried out
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/patching.h>
#include <asm/sections.h>

#include "support/text.h"
#include "../decode-insn.h"
#include "../internal.h"
#include "test_decode_samples.h"
#include "test_native.h"

/* No two rows may match the same instruction, and each must be complete. */
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

			KUNIT_EXPECT_NE_MSG(test, 0, (a->value ^ b->value) & a->mask & b->mask,
					    "%s overlaps with %s", a->name, b->name);
		}
	}
}

struct group {
	const char		*name;
	const struct sample	*samples;
	unsigned int		nr;
	enum probe_action	kprobe;
	enum probe_action	uprobe;
};

static const struct group groups[] = {
	{ "simulated", simulated, ARRAY_SIZE(simulated), PROBE_SIMULATE, PROBE_SIMULATE },
	{ "kernel simulated", kernel_simulated, ARRAY_SIZE(kernel_simulated),
	  PROBE_SIMULATE, PROBE_REJECT },
	{ "copied", copied, ARRAY_SIZE(copied), PROBE_COPY, PROBE_COPY },
	{ "kernel copied", kernel_copied, ARRAY_SIZE(kernel_copied), PROBE_COPY, PROBE_REJECT },
	{ "user copied", user_copied, ARRAY_SIZE(user_copied), PROBE_REJECT, PROBE_COPY },
	{ "rejected", rejected, ARRAY_SIZE(rejected), PROBE_REJECT, PROBE_REJECT },
};

/* Who asks why an instruction is refused is told the name of its row. */
static bool is_named(const struct sample *s, const struct probe_class *class)
{
	if (class->kprobe != PROBE_REJECT || class->uprobe != PROBE_REJECT)
		return !s->class;
	return s->class && strstr(class->name, s->class);
}

static void judge_group(struct kunit *test, const struct group *g, unsigned long *rows_seen)
{
	const struct probe_class *class;
	const struct sample *s;

	for (s = g->samples; s < g->samples + g->nr; s++) {
		class = probe_classify(s->insn);
		KUNIT_EXPECT_NOT_NULL_MSG(test, class, "%s: %08x, %s", g->name, s->insn, s->text);
		if (!class)
			continue;
		__set_bit(class - probe_classes, rows_seen);
		KUNIT_EXPECT_EQ_MSG(test, g->kprobe, class->kprobe, "%s: %08x, %s: %s",
				    g->name, s->insn, s->text, class->name);
		KUNIT_EXPECT_EQ_MSG(test, g->uprobe, class->uprobe, "%s: %08x, %s: %s",
				    g->name, s->insn, s->text, class->name);
		KUNIT_EXPECT_TRUE_MSG(test, is_named(s, class), "%s: %08x, %s: %s",
				      g->name, s->insn, s->text, class->name);
	}
}

/* There has to be a sample of every row. */
static void test_samples(struct kunit *test)
{
	unsigned long *rows_seen = kunit_kcalloc(test, BITS_TO_LONGS(probe_nr_classes),
						 sizeof(long), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rows_seen);
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		judge_group(test, &groups[i], rows_seen);
	for (i = 0; i < probe_nr_classes; i++)
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(i, rows_seen), "no sample of %s: %08x",
				      probe_classes[i].name, probe_classes[i].value);
}

/* A past bug: instructions newer than the decoder were taken for harmless. */
static void test_unknown(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		KUNIT_EXPECT_NULL_MSG(test, probe_classify(unknown[i].insn), "%08x, %s",
				      unknown[i].insn, unknown[i].text);
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
	}
}

static void test_uprobes(struct kunit *test)
{
	struct arch_probe_insn asi = {};
	struct pt_regs regs = { .pc = 0x1000, .pstate = PSR_MODE_EL0t | PSR_BTYPE_C };

	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(unknown[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(rejected[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(kernel_copied[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(kernel_simulated[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_GOOD, arm_probe_decode_insn(copied[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_GOOD, arm_probe_decode_insn(user_copied[0].insn, &asi));
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

#define NOP		0xd503201f
#define LDXR		0x885f7c01	/* ldxr w1, [x0] */
#define LDXP		0xc87f0801	/* ldxp x1, x2, [x0] */
#define STXR		0x88027c01	/* stxr w2, w1, [x0] */
#define STXP		0xc8230801	/* stxp w3, x1, x2, [x0] */
#define CLREX		0xd5033f5f
#define LDTXR		0xc95f7c01	/* ldtxr x1, [x0] */
#define STTXR		0xc9027c01	/* sttxr w2, x1, [x0] */
#define LDAR		0x88dffc01	/* ldar w1, [x0] */
#define STLR		0x889ffc01	/* stlr w1, [x0] */
#define CAS		0x88a17c02	/* cas w1, w2, [x0] */
#define CASP		0x08227c04	/* casp w2, w3, w4, w5, [x0] */
#define SWP		0xb8218002	/* swp w1, w2, [x0] */

static __le32 text[128];

/* Is the @i-th instruction of a function of @nr instructions in a sequence of exclusives? */
static bool inside(unsigned int i, unsigned int nr)
{
	unsigned long start = (unsigned long)text;

	return probe_in_exclusive(start + i * AARCH64_INSN_SIZE, start,
				  start + nr * AARCH64_INSN_SIZE);
}

static void put(unsigned int i, u32 insn)
{
	text[i] = cpu_to_le32(insn);
}

static void put_nops(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(text); i++)
		put(i, NOP);
}

/* A load is at 10, a store at 14: if both are exclusives, 10 to 14 are refused, and no more. */
static void expect_region(struct kunit *test, u32 load, u32 store, bool expected)
{
	int i;

	put_nops();
	put(10, load);
	put(14, store);
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ_MSG(test, expected && i >= 10 && i <= 14, inside(i, 40),
				    "%08x, %08x: at %d", load, store, i);
}

static void test_exclusive(struct kunit *test)
{
	expect_region(test, LDXR, STXR, true);
	expect_region(test, LDXP, STXP, true);
	expect_region(test, LDXR | BIT(15), STXR | BIT(15), true);
	expect_region(test, LDXR & ~BIT(31), STXR & ~BIT(31), true);
	expect_region(test, LDTXR, STTXR, true);
	expect_region(test, LDAR, STLR, false);
	expect_region(test, LDAR & ~BIT(15), STLR & ~BIT(15), false);
	expect_region(test, LDAR, CAS, false);
	expect_region(test, CAS, STLR, false);
	expect_region(test, CASP, CASP, false);
	expect_region(test, CAS | BIT(22), CAS, false);
	expect_region(test, SWP, SWP, false);
}

/* The first exclusive that is found in either direction counts, if it is in the function. */
static void test_exclusive_neighbours(struct kunit *test)
{
	int i;

	/* ldxr, for an event; then a loop */
	put_nops();
	put(10, LDXR);
	put(14, LDXR);
	put(18, STXR);
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ_MSG(test, i == 10 || (i >= 14 && i <= 18), inside(i, 40),
				    "at %d", i);

	/* a loop; then a store that has no load */
	put(10, NOP);
	put(20, STXR);
	KUNIT_EXPECT_FALSE(test, inside(19, 40));

	/* a clrex in between */
	put(16, CLREX);
	KUNIT_EXPECT_FALSE(test, inside(15, 40));
	KUNIT_EXPECT_FALSE(test, inside(17, 40));
	KUNIT_EXPECT_TRUE(test, inside(14, 40));

	/* ldar, stlr and cas do not end it */
	put(15, LDAR);
	put(16, STLR);
	put(17, CAS);
	for (i = 14; i <= 18; i++)
		KUNIT_EXPECT_TRUE_MSG(test, inside(i, 40), "at %d", i);

	/* the store is behind the end of the function */
	KUNIT_EXPECT_TRUE(test, inside(15, 19));
	KUNIT_EXPECT_FALSE(test, inside(15, 18));
}

static void test_exclusive_reach(struct kunit *test)
{
	put_nops();
	put(0, LDXR);
	put(64, STXR);
	KUNIT_EXPECT_TRUE(test, inside(32, 128));
	KUNIT_EXPECT_FALSE(test, inside(31, 128));
	KUNIT_EXPECT_FALSE(test, inside(33, 128));
	KUNIT_EXPECT_TRUE(test, inside(0, 128));
	KUNIT_EXPECT_TRUE(test, inside(64, 128));

	/* where nothing can be read */
	KUNIT_EXPECT_FALSE(test, probe_in_exclusive(-PAGE_SIZE, -PAGE_SIZE, -SZ_1K));
}

#define MSR_TTBR0	0xd5182000	/* msr ttbr0_el1, x0 */
#define MSR_TTBR1	0xd5182021	/* msr ttbr1_el1, x1 */
#define MSR_TCR		0xd5182040	/* msr tcr_el1, x0 */
#define ISB		0xd5033fdf

/* Is the @i-th instruction in a switch of page tables? */
static bool in_switch(unsigned int i, unsigned int start)
{
	return probe_in_switch((unsigned long)(text + i), (unsigned long)(text + start));
}

/* From behind the first write to the ISB, in whatever order they come */
static void expect_switch(struct kunit *test, u32 first, u32 second)
{
	int i;

	put_nops();
	put(10, first);
	put(13, second);
	put(16, ISB);
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ_MSG(test, i > 10 && i <= 16, in_switch(i, 0), "%08x, %08x: at %d",
				    first, second, i);
}

static void test_switch(struct kunit *test)
{
	expect_switch(test, MSR_TTBR1, MSR_TTBR0);
	expect_switch(test, MSR_TTBR0, MSR_TTBR1);
	expect_switch(test, MSR_TTBR0, NOP);

	/* another register's; then the function begins behind the first write */
	put(10, MSR_TCR);
	KUNIT_EXPECT_FALSE(test, in_switch(12, 0));
	put(10, MSR_TTBR0);
	KUNIT_EXPECT_TRUE(test, in_switch(12, 10));
	KUNIT_EXPECT_FALSE(test, in_switch(12, 11));

	/* no ISB in sight */
	put(16, NOP);
	KUNIT_EXPECT_TRUE(test, in_switch(42, 0));
	KUNIT_EXPECT_FALSE(test, in_switch(43, 0));
	KUNIT_EXPECT_FALSE(test, probe_in_switch(-SZ_1K, -PAGE_SIZE));
}

/* Real sequences */
asm("	.pushsection .text, \"ax\"\n"
"	.balign	4\n"
"probe_test_llsc:\n"
"	prfm	pstl1strm, [x0]\n"
"1:	ldxr	w1, [x0]\n"
"	add	w1, w1, #1\n"
"	cmp	w1, #100\n"
"	stlxr	w2, w1, [x0]\n"
"	cbnz	w2, 1b\n"
"	ret\n"
"probe_test_llsc_end:\n"
"probe_test_ordered:\n"
"	ldar	w1, [x0]\n"
"	add	w1, w1, #1\n"
"	stlr	w1, [x0]\n"
"	add	w1, w1, #1\n"
"	.inst	0x88a17c02\n"
"	ret\n"
"probe_test_ordered_end:\n"
/* As around an access to user memory with CONFIG_ARM64_SW_TTBR0_PAN; never executed */
"probe_test_switch:\n"
"	mrs	x1, ttbr1_el1\n"
"	msr	ttbr1_el1, x1\n"
"	nop\n"
"	msr	ttbr0_el1, x0\n"
"	isb\n"
"	ret\n"
"probe_test_switch_end:\n"
"	.popsection\n"
);

static bool can_be_probed(unsigned long addr, unsigned long start, unsigned long end)
{
	const struct probe_class *class;
	u32 insn;

	if (aarch64_insn_read((void *)addr, &insn))
		return false;
	class = probe_classify(insn);
	return class && class->kprobe != PROBE_REJECT && !probe_in_exclusive(addr, start, end) &&
	       !probe_in_switch(addr, start);
}

/* With control flow integrity the word before a function may be its type. */
static bool is_type(unsigned long at, unsigned long end)
{
	return IS_ENABLED(CONFIG_CFI_CLANG) && end - at == AARCH64_INSN_SIZE;
}

static int verdict_of(unsigned long at, unsigned long end, bool instruction_allows)
{
	return instruction_allows && !is_type(at, end) ? 0 : -EINVAL;
}

/* Which instructions from @start to @end can be probed? */
static void expect_verdicts(struct kunit *test, const void *start, const void *end,
			    const bool *expected, unsigned int nr)
{
	unsigned long from = (unsigned long)start, to = (unsigned long)end, at;

	KUNIT_ASSERT_EQ(test, nr * AARCH64_INSN_SIZE, to - from);
	for (at = from; at < to; at += AARCH64_INSN_SIZE, expected++) {
		KUNIT_EXPECT_EQ_MSG(test, *expected, can_be_probed(at, from, to), "%pS",
				    (void *)at);
		KUNIT_EXPECT_EQ_MSG(test, verdict_of(at, to, *expected), kprobes_try(at), "%pS",
				    (void *)at);
	}
}

/*
 * Past bugs: a probe between exclusives kept a loop from ending; LDAR was taken for an
 * exclusive. Another: without PAN, the writes that open user memory were accepted.
 */
static void test_real_sequences(struct kunit *test)
{
	static const bool llsc[] = { true, false, false, false, false, true, true };
	static const bool ordered[] = { true, true, true, true, true, true };
	static const bool ttbr[] = { true, false, false, false, false, true };

	expect_verdicts(test, ADDRESS_OF(probe_test_llsc), ADDRESS_OF(probe_test_llsc_end), llsc,
			ARRAY_SIZE(llsc));
	expect_verdicts(test, ADDRESS_OF(probe_test_ordered), ADDRESS_OF(probe_test_ordered_end),
			ordered, ARRAY_SIZE(ordered));
	expect_verdicts(test, ADDRESS_OF(probe_test_switch), ADDRESS_OF(probe_test_switch_end),
			ttbr, ARRAY_SIZE(ttbr));
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
	unsigned long addr = (unsigned long)ADDRESS_OF(probe_test_ordered) + AARCH64_INSN_SIZE;
	struct kprobe probe = { .addr = (kprobe_opcode_t *)addr };
	unsigned long next = addr + AARCH64_INSN_SIZE;
	struct arch_specific_insn *ainsn;
	kprobe_opcode_t *slot;
	u32 original = word_at(probe.addr);

	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probe));
	preempt_disable();
	ainsn = &get_kprobe(probe.addr)->ainsn;
	preempt_enable();
	slot = ainsn->insn;
	KUNIT_EXPECT_TRUE(test, ainsn->boosted && ainsn->detour);
	KUNIT_EXPECT_EQ(test, original, word_at(slot + SLOT_COPY));
	KUNIT_EXPECT_EQ(test, next, branches_to(slot + SLOT_COPY + 1));
	KUNIT_EXPECT_EQ(test, original, word_at(slot + SLOT_LAST));
	KUNIT_EXPECT_EQ(test, next, branches_to(slot + SLOT_NEXT_OUT + 2));
	KUNIT_EXPECT_NE(test, original, word_at((void *)addr));
	unregister_kprobe(&probe);
	KUNIT_EXPECT_EQ(test, original, word_at((void *)addr));
}

struct tally {
	struct kunit	*test;
	unsigned long	functions;
	unsigned long	padding;
	unsigned long	all;
	unsigned long	copied;
	unsigned long	stepped;
	unsigned long	simulated;
	unsigned long	refused;
	unsigned long	in_exclusive;
	unsigned long	in_switch;
	unsigned long	unknown;
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

	t->all++;
	if (class)
		t->rows[class - probe_classes]++;
	else
		t->unknown++;

	if (!class || class->kprobe == PROBE_REJECT)
		t->refused++;
	else if (probe_in_exclusive(at, start, end))
		t->in_exclusive++;
	else if (probe_in_switch(at, start))
		t->in_switch++;
	else if (class->kprobe == PROBE_COPY && !reaches(t->slot, at))
		t->stepped++;
	else if (class->kprobe == PROBE_COPY)
		t->copied++;
	else
		t->simulated++;
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

static void print_share(struct kunit *test, struct tally *t, unsigned long n,
			const char *what, const char *why)
{
	unsigned long s = n * 100000 / max(t->all, 1UL);

	if (n)
		kunit_info(test, "%7lu %2lu.%03lu%% %s%s", n, s / 1000, s % 1000, what, why);
}

static void print_tally(struct kunit *test, struct tally *t)
{
	unsigned int i;

	print_share(test, t, t->copied, "run as a copy", "");
	print_share(test, t, t->stepped, "run as a copy with a BRK behind it", "");
	print_share(test, t, t->simulated, "simulated", "");
	print_share(test, t, t->refused + t->in_exclusive + t->in_switch, "refused", "");
	print_share(test, t, t->in_exclusive, "refused: ", "Between exclusives");
	print_share(test, t, t->in_switch, "refused: ", "In a switch of page tables");
	print_share(test, t, t->unknown, "refused: ", "Unallocated or unknown");
	for (i = 0; i < probe_nr_classes; i++) {
		if (probe_classes[i].kprobe == PROBE_REJECT)
			print_share(test, t, t->rows[i], "refused: ", probe_classes[i].name);
	}
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

static unsigned long refused_otherwise(struct tally *t)
{
	unsigned long n = t->refused;
	unsigned int i;

	for (i = 0; i < probe_nr_classes; i++) {
		const struct probe_class *class = &probe_classes[i];

		if (class->kprobe == PROBE_REJECT && is_frequent(class->name))
			n -= t->rows[i];
	}
	return n;
}

/* Only one function in so many is looked at, to save time. */
#define WALK_STRIDE	5

static void test_text(struct kunit *test)
{
	kprobe_opcode_t *slot = get_insn_slot();
	struct tally t = { .test = test, .slot = (unsigned long)slot };
	unsigned int n;

	KUNIT_ASSERT_NOT_NULL(test, slot);
	free_insn_slot(slot, 0);
	t.rows = kunit_kcalloc(test, probe_nr_classes, sizeof(*t.rows), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t.rows);
	n = kprobes_walk_text(WALK_STRIDE, look_at_function, &t);

	kunit_info(test, "%lu of %u functions: %lu instructions, %lu of padding",
		   t.functions, n, t.all, t.padding);
	print_tally(test, &t);
	KUNIT_EXPECT_GT(test, n, 0);
	KUNIT_EXPECT_GT(test, t.copied, 0);
	KUNIT_EXPECT_GT(test, t.simulated, 0);
	KUNIT_EXPECT_LE(test, refused_otherwise(&t) * 1000, t.all * 2);
	KUNIT_EXPECT_LT(test, refused_otherwise(&t), t.refused);
	/* With a post handler, copied and simulated instructions take one trap. */
	KUNIT_EXPECT_GE(test, (t.copied + t.simulated) * 100,
			(t.copied + t.simulated + t.stepped) * 97);
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
