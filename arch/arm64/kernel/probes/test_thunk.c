// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: thunks, compared with native execution
 *
 * The instructions are drawn at random from each class that is copied, with any registers,
 * operands and flags. Those of which a thunk can be made are tried.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cpufeature.h>
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/patching.h>

#include "../../../../lib/test_kprobes/seed.h"
#include "decode-insn.h"
#include "slot.h"
#include "test_native.h"
#include "thunk.h"

#define ROOM		(SLOT_WORDS - SLOT_THUNK)
#define MAX_ROWS	64
#define DRAWS		400

static kprobe_opcode_t *page;
static struct rnd_state random;
static DECLARE_BITMAP(rows_seen, MAX_ROWS);

static unsigned int field(u32 insn, int shift)
{
	return insn >> shift & 31;
}

#define RD(insn)	field(insn, 0)
#define RN(insn)	field(insn, 5)
#define RM(insn)	field(insn, 16)
#define RA(insn)	field(insn, 10)

static bool is_memory(u32 insn)
{
	return (insn & 0x0a000000) == 0x08000000;
}

/* Is this immediate perhaps no bitmask? Those with elements below 32 bits are all left out. */
static bool is_no_bitmask(u32 insn)
{
	unsigned int imms = insn >> 10 & 63;

	if ((insn & 0x1f800000) != 0x12000000)
		return false;
	return insn & BIT(22) ? imms == 63 : imms >= 31;
}

/* The table of what can be probed does not say which processors have an instruction. */
static bool is_supported(u32 insn)
{
	/* With checked pointers */
	if (is_no_bitmask(insn) || (insn & 0xffe00000) == 0x9b600000)
		return false;
	if ((insn & 0x7fe0e000) == 0x1ac04000)
		return cpus_have_final_cap(ARM64_HAS_CRC32);
	/* The instructions behind CLS are newer. */
	if ((insn & 0x7fffe000) == 0x5ac00000)
		return (insn >> 10 & 7) < 6;
	return true;
}

/* The stack pointer and x18 are not loaded before the instruction. */
static bool names_special(u32 insn)
{
	return RN(insn) == 31 || RD(insn) == 18 || RN(insn) == 18 || RM(insn) == 18 ||
	       RA(insn) == 18;
}

static u64 random_word(void)
{
	return prandom_u32_state(&random) | (u64)prandom_u32_state(&random) << 32;
}

static void fill(struct probe_trip *trip)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(trip->regs); i++)
		trip->regs[i] = random_word();
	trip->nzcv = (u64)prandom_u32_state(&random) & PSR_STATUS_BITS;
}

static void to_regs(struct pt_regs *regs, const struct probe_trip *trip)
{
	memset(regs, 0x5a, sizeof(*regs));
	memcpy(regs->regs, trip->regs, sizeof(trip->regs));
	regs->pstate = PSR_MODE_EL1h | trip->nzcv;
}

/* Makes the thunk. Returns false if there is none. */
static bool make(struct kunit *test, u32 insn)
{
	u32 words[ROOM];
	unsigned int i, n;

	n = kprobe_make_thunk(words, ROOM, insn);
	KUNIT_ASSERT_LE(test, n, ROOM);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, 0, aarch64_insn_patch_text_nosync(page + i, words[i]));
	isb();
	return n;
}

static void compare(struct kunit *test, u32 insn)
{
	struct probe_trip trip = {};
	struct pt_regs regs;
	int i;

	fill(&trip);
	to_regs(&regs, &trip);
	probe_test_run(&trip, insn);

	preempt_disable();
	kprobe_run_thunk(page, &regs);
	preempt_enable();
	for (i = 0; i < ARRAY_SIZE(trip.regs); i++) {
		if (i != 18)
			KUNIT_ASSERT_EQ_MSG(test, trip.regs[i], regs.regs[i], "%08x: x%d",
					    insn, i);
	}
	KUNIT_ASSERT_EQ_MSG(test, PSR_MODE_EL1h | trip.nzcv, regs.pstate, "%08x: flags", insn);
	KUNIT_ASSERT_EQ_MSG(test, 0x5a5a5a5a5a5a5a5aUL + AARCH64_INSN_SIZE, regs.pc, "%08x",
			    insn);
	KUNIT_ASSERT_EQ_MSG(test, 0x5a5a5a5a5a5a5a5aUL, regs.sp, "%08x", insn);
}

static void try(struct kunit *test, u32 insn)
{
	int row = kprobe_find_thunk(insn);

	if (row < 0)
		return;
	KUNIT_ASSERT_LT(test, row, kprobe_nr_thunks);
	KUNIT_ASSERT_FALSE_MSG(test, is_memory(insn), "%08x", insn);
	if (names_special(insn))
		return;
	/* The only reason for no thunk is a write to the stack pointer. */
	if (!make(test, insn)) {
		KUNIT_EXPECT_EQ_MSG(test, 31, RD(insn), "%08x", insn);
		return;
	}
	/* Counts as tried, even if the processor does not have the instruction. */
	__set_bit(row, rows_seen);
	if (is_supported(insn))
		compare(test, insn);
}

static void instructions_do_as_in_place(struct kunit *test)
{
	const struct probe_class *class;
	int i;

	for (class = probe_classes; class < probe_classes + probe_nr_classes; class++) {
		if (class->kprobe != PROBE_COPY)
			continue;
		for (i = 0; i < DRAWS; i++)
			try(test, class->value | (prandom_u32_state(&random) & ~class->mask));
	}
}

static void the_stack_pointer_can_be_read(struct kunit *test)
{
	/* add x1, sp, #16; cmp sp, x3, lsl #1 */
	static const u32 insns[] = { 0x910043e1, 0xeb2367ff };
	struct pt_regs regs = { .sp = -0x1000ULL };
	int i;

	for (i = 0; i < ARRAY_SIZE(insns); i++) {
		KUNIT_ASSERT_TRUE(test, make(test, insns[i]));
		preempt_disable();
		kprobe_run_thunk(page, &regs);
		preempt_enable();
	}
	KUNIT_EXPECT_EQ(test, -0x1000ULL + 16, regs.regs[1]);
	KUNIT_EXPECT_EQ(test, -0x1000ULL, regs.sp);
	KUNIT_EXPECT_EQ(test, PSR_N_BIT | PSR_C_BIT, regs.pstate & (PSR_N_BIT | PSR_C_BIT));
}

static void none_is_made_that_moves_the_stack_pointer(struct kunit *test)
{
	/* sub sp, sp, #16; and sp, x1, #-16; add sp, x1, x2 */
	static const u32 insns[] = { 0xd10043ff, 0x927cec3f, 0x8b22603f };
	int i;

	for (i = 0; i < ARRAY_SIZE(insns); i++) {
		KUNIT_EXPECT_GE(test, kprobe_find_thunk(insns[i]), 0);
		KUNIT_EXPECT_FALSE(test, make(test, insns[i]));
	}
}

/* Runs last: a thunk of each row has been made. */
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
	page = alloc_insn_page();
	return page ? 0 : -ENOMEM;
}

static void thunk_suite_exit(struct kunit_suite *suite)
{
	execmem_free(page);
	page = NULL;
}

static struct kunit_case thunk_cases[] = {
	KUNIT_CASE(instructions_do_as_in_place),
	KUNIT_CASE(the_stack_pointer_can_be_read),
	KUNIT_CASE(none_is_made_that_moves_the_stack_pointer),
	KUNIT_CASE(all_rows_were_tried),
	{ }
};

static struct kunit_suite thunk_suite = {
	.name		= "kprobes_arm64_thunk",
	.suite_init	= thunk_suite_init,
	.suite_exit	= thunk_suite_exit,
	.test_cases	= thunk_cases,
};

kunit_test_suite(thunk_suite);
