// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: simulated instructions, compared with native execution
 *
 * Each instruction has places before and behind it to which it may lead. It is executed; then it is
 * simulated on the same registers and at the same address; and it is executed with a probe on it,
 * by breakpoint and by jump, with and without a post handler.
 */

#include <kunit/test.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/asm-extable.h>
#include <asm/esr.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "support/probe.h"
#include "support/switch.h"
#include "../decode-insn.h"
#include "../internal.h"
#include "test_jump.h"
#include "test_native.h"

asm(TRIP_SITES
/* Off by four bytes, so that literals of eight bytes are not aligned. */
"	.long	0x7fffffff\n"
"probe_test_literal:\n"
"	.quad	0x8000000176543210\n"
"	.quad	0x76543210fedcba98\n"

"simulate_test_sites:\n"
"	probe_test_site b 9f\n"
"	probe_test_site b 8b\n"
"	probe_test_site bl 9f\n"
"	probe_test_site bl 8b\n"

"	.irp	cond, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le, al, nv\n"
"	probe_test_site b.\\cond 9f\n"
"	probe_test_site b.\\cond 8b\n"
"	.endr\n"

"	.irp	reg, x0, w0, x3, w3, x17, x29, x30, w30, xzr, wzr\n"
"	probe_test_site cbz \\reg, 9f\n"
"	probe_test_site cbnz \\reg, 8b\n"
"	.endr\n"

"	.irp	high, 0, 8, 16, 24, 32, 40, 48, 56\n"
"	.irp	low, 0, 1, 2, 3, 4, 5, 6, 7\n"
"	probe_test_site tbz x3, #\\high + \\low, 9f\n"
"	probe_test_site tbnz x3, #\\high + \\low, 8b\n"
"	.endr\n"
"	.endr\n"
"	.irp	reg, x0, x30, xzr\n"
"	probe_test_site tbz \\reg, #33, 8b\n"
"	probe_test_site tbnz \\reg, #63, 9f\n"
"	.endr\n"

"	.irp	reg, x0, x3, x16, x17, x29, x30\n"
"	probe_test_site br \\reg\n"
"	probe_test_site blr \\reg\n"
"	probe_test_site ret \\reg\n"
"	.endr\n"

"	.irp	reg, x0, x3, x29, x30, xzr\n"
"	probe_test_site adr \\reg, 9f\n"
"	probe_test_site adr \\reg, 8b + 1\n"
"	probe_test_site adr \\reg, 8b - 2\n"
"	probe_test_site adrp \\reg, probe_test_literal\n"
"	probe_test_site ldr \\reg, probe_test_literal\n"
"	probe_test_site ldr \\reg, probe_test_literal + 8\n"
"	probe_test_site ldr \\reg, 8b\n"
"	probe_test_site ldrsw \\reg, probe_test_literal - 4\n"
"	probe_test_site ldrsw \\reg, probe_test_literal\n"
"	probe_test_site ldrsw \\reg, probe_test_literal + 4\n"
"	probe_test_site ldrsw \\reg, 9f\n"
"	.endr\n"
"	.irp	reg, w0, w3, w29, w30, wzr\n"
"	probe_test_site ldr \\reg, probe_test_literal\n"
"	probe_test_site ldr \\reg, probe_test_literal + 4\n"
"	probe_test_site ldr \\reg, 9f\n"
"	.endr\n"
"	probe_test_site prfm pldl1keep, probe_test_literal\n"
"simulate_test_end:\n"
	TRIP_SITES_END
);

#define NR_FLAGS	16
#define NR_FILLS	8

/* With a probe, only the first fills are tried. */
#define NR_FILLS_PROBED	3

static struct diff_insn *insns;

static struct rnd_state random;

static bool is_branch_reg(u32 insn)
{
	return aarch64_insn_is_br(insn) || aarch64_insn_is_blr(insn) ||
	       aarch64_insn_is_ret(insn);
}

/* What all registers hold. Two of the fills have just the bit set, or clear, that is tested. */
static u64 content(u32 insn, int fill)
{
	unsigned int bit = (insn >> 31) << 5 | (insn >> 19 & 31);
	const u64 contents[] = {
		0, BIT_ULL(bit), ~BIT_ULL(bit), U64_MAX, (u64)U32_MAX << 32, U32_MAX,
	};

	if (fill < ARRAY_SIZE(contents))
		return contents[fill];
	return prandom_u32_state(&random) | (u64)prandom_u32_state(&random) << 32;
}

static struct diff_insn *nth_insn(int i)
{
	return &insns[i];
}

static int nr_states_probed(int i)
{
	return NR_FLAGS * NR_FILLS_PROBED;
}

static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	const struct diff_insn *at = nth_insn(run->i);
	int i, fill = run->state / NR_FLAGS;
	u32 insn = word_of(at);

	prandom_seed_state(&random, run->state);
	for (i = 0; i < ARRAY_SIZE(regs->regs); i++)
		regs->regs[i] = content(insn, fill);
	if (is_branch_reg(insn))
		regs->regs[insn >> 5 & 31] = at->at + (fill & 1 ? AFTER : BEFORE);
	regs->sp = (unsigned long)probe_test_stack + STACK_AT;
	regs->pstate = (u64)(run->state % NR_FLAGS) << 28;
}

static struct diff_lab lab = {
	.insn		= nth_insn,
	.nr_states	= nr_states_probed,
	.set_up		= set_up,
};

static void prepare(struct kunit *test)
{
	lab.nr = probe_test_sites(test, ADDRESS_OF(simulate_test_sites),
				  ADDRESS_OF(simulate_test_end), &insns);
}

static const u64 zeroes[31];

/* Whatever a simulation should leave alone gets an odd value. */
static void fill_regs(struct pt_regs *regs, const u64 *from, u64 nzcv, unsigned long pc)
{
	memset(regs, 0x5a, sizeof(*regs));
	memcpy(regs->regs, from, sizeof(regs->regs));
	regs->pc = pc;
	regs->pstate = PSR_MODE_EL1h | PSR_I_BIT | PSR_PAN_BIT | PSR_BTYPE_J | nzcv;
}

/* BTYPE after a branch in guarded text, according to the Arm ARM */
static u64 expected_btype(u32 insn)
{
	int rn = insn >> 5 & 31;

	if (!system_supports_bti_kernel())
		return PSR_BTYPE_NONE;
	if (aarch64_insn_is_blr(insn))
		return PSR_BTYPE_C;
	if (aarch64_insn_is_br(insn))
		return rn == 16 || rn == 17 ? PSR_BTYPE_JC : PSR_BTYPE_J;
	return PSR_BTYPE_NONE;
}

static bool simulate(struct kunit *test, u32 insn, struct pt_regs *regs)
{
	const struct probe_class *class = probe_classify(insn);

	KUNIT_ASSERT_NOT_NULL(test, class);
	KUNIT_ASSERT_NOT_NULL_MSG(test, class->simulate, "%08x", insn);
	return class->simulate(insn, regs->pc, regs);
}

/* What is in @regs afterwards is compared with the native run; the rest stays, except for BTYPE. */
static void simulate_insn(struct kunit *test, const struct diff_run *run, struct pt_regs *regs)
{
	u32 insn = word_of(nth_insn(run->i));
	struct pt_regs odd, ours;

	fill_regs(&odd, regs->regs, regs->pstate, regs->pc);
	ours = odd;
	KUNIT_ASSERT_TRUE_MSG(test, simulate(test, insn, &ours), "%08x", insn);
	diff_load(regs, &ours);
	diff_load(&odd, &ours);
	odd.pstate = (odd.pstate & ~PSR_BTYPE_MASK) | expected_btype(insn);
	KUNIT_ASSERT_EQ_MSG(test, odd.pstate, ours.pstate, "%08x: pstate", insn);
	KUNIT_ASSERT_MEMEQ_MSG(test, &odd, &ours, sizeof(odd), "%08x: the rest", insn);
}

/*
 * Past bugs: loads of literals had the wrong size or sign; a branch read its register after
 * writing it; the zero register was written to.
 */
static void test_native(struct kunit *test)
{
	struct diff_run run = {};

	prepare(test);
	for (run.i = 0; run.i < lab.nr; run.i++)
		for (run.state = 0; run.state < NR_FLAGS * NR_FILLS; run.state++)
			diff_expect_same(test, &lab, &run, simulate_insn);
	kunit_info(test, "%d instructions", lab.nr);
}

static void probed_instructions_do_as_in_place(struct kunit *test)
{
	prepare(test);
	diff_run_natively(test, &lab);
	probe_test_in_manner(test, &lab, BIT(DIFF_GOOD));
}

#define FAR_PC		0xffff800080123454UL

/* Instructions that reach as far as possible, the distance, and what goes there: the PC, or x0 */
static const struct far {
	const char	*text;
	u32		insn;
	long		distance;
	enum { BRANCH, CALL, ADDRESS } what;
} fars[] = {
	{ "b", 0x15ffffff, 0x7fffffc }, { "b", 0x16000000, -0x8000000 }, { "b .", 0x14000000, 0 },
	{ "bl", 0x95ffffff, 0x7fffffc, CALL }, { "bl", 0x96000000, -0x8000000, CALL },
	{ "b.al", 0x547fffee, 0xffffc }, { "b.al", 0x5480000e, -0x100000 },
	{ "bc.al", 0x547ffffe, 0xffffc }, { "b.nv", 0x54ffffef, -4 },
	{ "cbz xzr", 0xb47fffff, 0xffffc },
	{ "cbz xzr", 0xb480001f, -0x100000 }, { "cbz wzr", 0x347fffff, 0xffffc },
	{ "cbnz wzr", 0x357fffff, 4 }, { "tbz wzr, #0", 0x3603ffff, 0x7ffc },
	{ "tbz wzr, #31", 0x36fc001f, -0x8000 }, { "tbz xzr, #63", 0xb6fc001f, -0x8000 },
	{ "tbnz xzr, #63", 0xb7fc001f, 4 }, { "prfm", 0xd87fffe0, 4 },
	{ "adr", 0x707fffe0, 0xfffff, ADDRESS }, { "adr", 0x10800000, -0x100000, ADDRESS },
	{ "adr", 0x70ffffe0, -1, ADDRESS }, { "adr .", 0x10000000, 0, ADDRESS },
	{ "adrp", 0xf07fffe0, 0xfffff000 - 0x454, ADDRESS },
	{ "adrp", 0x90800000, -0x100000000 - 0x454, ADDRESS },
	{ "adrp", 0xf0ffffe0, -0x1000 - 0x454, ADDRESS }, { "adrp .", 0x90000000, -0x454, ADDRESS },
};

static void test_far(struct kunit *test)
{
	const struct far *f;
	struct pt_regs regs;

	for (f = fars; f < fars + ARRAY_SIZE(fars); f++) {
		u64 there = FAR_PC + f->distance, next = FAR_PC + AARCH64_INSN_SIZE;

		fill_regs(&regs, zeroes, 0, FAR_PC);
		KUNIT_EXPECT_TRUE(test, simulate(test, f->insn, &regs));
		KUNIT_EXPECT_EQ_MSG(test, f->what == ADDRESS ? next : there, regs.pc, "%s",
				    f->text);
		KUNIT_EXPECT_EQ_MSG(test, f->what == ADDRESS ? there : 0, regs.regs[0], "%s",
				    f->text);
		KUNIT_EXPECT_EQ_MSG(test, f->what == CALL ? next : 0, regs.regs[30], "%s",
				    f->text);
	}
}

#define LDR_W		0x18000000	/* ldr w0, . */
#define LDR_X		0x58000000	/* ldr x0, . */
#define LDRSW		0x98000000	/* ldrsw x0, . */

/* Literals at both ends of what can be reached. */
static void test_far_literals(struct kunit *test)
{
	const u32 most = 0x3ffff << 5, least = 0x40000 << 5;
	const struct {
		u32 insn;
		u64 value;
	} loads[] = {
		{ LDR_X | least, 0x8000000000000001 },
		{ LDR_W | most, 0x80000002 },
		{ LDRSW | most, 0xffffffff80000002 },
	};
	void *at = kprobes_vmalloc(test, 2 * SZ_1M + PAGE_SIZE) + SZ_1M;
	struct pt_regs regs;
	int i;

	*(u64 *)(at - SZ_1M) = 0x8000000000000001;
	*(u32 *)(at + SZ_1M - 4) = 0x80000002;
	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		fill_regs(&regs, zeroes, 0, (unsigned long)at);
		KUNIT_EXPECT_TRUE(test, simulate(test, loads[i].insn, &regs));
		KUNIT_EXPECT_EQ(test, loads[i].value, regs.regs[0]);
	}
}

/*
 * A literal behind the end of a mapping, or in user space, cannot be read. Of one of eight bytes at
 * the end, only the first four can.
 */
static void test_no_literal(struct kunit *test)
{
	static const u32 loads[] = { LDR_W, LDR_X, LDRSW };
	void *page = kprobes_vmalloc(test, PAGE_SIZE);
	unsigned long end = (unsigned long)page + PAGE_SIZE;
	const unsigned long pcs[] = { end - 4, PAGE_SIZE, end - 8 };
	struct pt_regs before, after;
	unsigned int i, pc;
	u64 regs[31];

	memset(page, 0, PAGE_SIZE);
	memset(regs, 0xa5, sizeof(regs));
	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		for (pc = 0; pc < ARRAY_SIZE(pcs); pc++) {
			/* .+4 */
			u32 insn = loads[i] | 1 << 5;
			bool there = pcs[pc] == end - 8 && loads[i] != LDR_X;

			fill_regs(&before, regs, PSR_N_BIT, pcs[pc]);
			after = before;
			KUNIT_EXPECT_EQ_MSG(test, there, simulate(test, insn, &after), "%08x",
					    insn);
			if (there)
				KUNIT_EXPECT_EQ(test, 0, after.regs[0]);
			else
				KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));
		}
	}
}

/* As far as a literal can be: before the kernel's image, if this file is linked early enough */
#define LITERAL_DISTANCE	SZ_1M

unsigned long loads_nothing(unsigned long x);
KPROBES_AT(literal);

KPROBES_CALLED(loads_nothing, KPROBES_STEP("literal")
	       "1: .inst 0x58800000	// ldr x0, . - 0x100000\n"
	       "2: ret\n"
	       _ASM_EXTABLE_KACCESS_ERR(1b, 2b, x0));

/* What the fault handler does when it is asked for the first time; later it skips the load. */
static enum answer { PASS_ON, SKIP, TRY_AGAIN } first_answer;

#define ARGUMENT	7
#define SKIPPED		99

/* How often it was asked, and whether that was for the load, with the registers before it */
static struct {
	unsigned int times;
	bool right;
} asked;

static int answer_for_load(struct kprobe *kp, struct pt_regs *regs, int esr)
{
	asked.right = ESR_ELx_EC((u32)esr) == ESR_ELx_EC_DABT_CUR &&
		      regs->pc == (unsigned long)kprobes_step_literal &&
		      regs->regs[0] == ARGUMENT;
	if (asked.times++ || first_answer == SKIP) {
		regs->regs[0] = SKIPPED;
		regs->pc += AARCH64_INSN_SIZE;
	}
	return asked.times > 1 || first_answer != PASS_ON;
}

static void expect_all_answers(struct kunit *test, const char *how)
{
	unsigned long result;

	for (first_answer = PASS_ON; first_answer <= TRY_AGAIN; first_answer++) {
		asked.times = 0;
		result = loads_nothing(ARGUMENT);
		KUNIT_EXPECT_EQ_MSG(test, result, first_answer == PASS_ON ? -EFAULT : SKIPPED,
				    "%s", how);
		KUNIT_EXPECT_EQ_MSG(test, asked.times, first_answer == TRY_AGAIN ? 2 : 1, "%s",
				    how);
		KUNIT_EXPECT_TRUE_MSG(test, asked.right, "%s", how);
	}
}

static struct probe *probe_literal(struct kunit *test, kprobe_post_handler_t post_handler)
{
	u64 literal, *at = (void *)kprobes_step_literal - LITERAL_DISTANCE;

	KUNIT_ASSERT_NE_MSG(test, 0, get_kernel_nofault(literal, at),
			    "there is something at %pS", at);
	return probe_with(test, kprobes_step_literal, .kp.fault_handler = answer_for_load,
			  .kp.post_handler = post_handler);
}

/* A past bug: fault handlers were not asked, or with the registers of the simulation. */
static void literal_that_is_not_there_is_a_fault_of_the_load(struct kunit *test)
{
	struct probe *probe;

	probe = probe_literal(test, probe_post_handler);
	expect_all_answers(test, "breakpoint, post handler");
	wait_for_kprobe_optimizer();
	expect_all_answers(test, "jump, post handler");
	KUNIT_EXPECT_EQ(test, probe->hits, 6);
	KUNIT_EXPECT_EQ(test, probe->posts, 0);
	probe_unregister(probe);
	probe_literal(test, NULL);
	expect_all_answers(test, "breakpoint");
	wait_for_kprobe_optimizer();
	need_jump(test, kprobes_step_literal);
	expect_all_answers(test, "jump");
}

static int load_nothing(struct probe *probe, struct pt_regs *regs)
{
	loads_nothing(ARGUMENT);
	return 0;
}

/* Then it is a fault of the handler that caused the hit. */
static void literal_that_is_not_there_at_a_missed_hit(struct kunit *test)
{
	struct probe *missed = probe_literal(test, probe_post_handler), *outer;

	outer = probe_with(test, kprobes_untraced, .kp.fault_handler = answer_for_load,
			   .on_hit = load_nothing);
	asked.times = 0;
	first_answer = TRY_AGAIN;
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	/* The compiler knows what that function does not change. */
	barrier();
	KUNIT_EXPECT_EQ(test, asked.times, 2);
	KUNIT_EXPECT_TRUE(test, asked.right);
	KUNIT_EXPECT_EQ(test, outer->hits, 1);
	KUNIT_EXPECT_EQ(test, missed->hits, 0);
	KUNIT_EXPECT_EQ(test, missed->posts, 0);
}

static struct kunit_case simulate_cases[] = {
	KUNIT_CASE(test_native),
	KUNIT_CASE(test_far),
	KUNIT_CASE(test_far_literals),
	KUNIT_CASE(test_no_literal),
	KUNIT_CASE(literal_that_is_not_there_is_a_fault_of_the_load),
	KUNIT_CASE(literal_that_is_not_there_at_a_missed_hit),
	KUNIT_CASE_PARAM_ATTR(probed_instructions_do_as_in_place, probe_test_manners,
			      { .speed = KUNIT_SPEED_SLOW }),
	{ }
};

static struct kunit_suite simulate_suite = {
	.name		= "kprobes_arm64_simulate",
	.suite_init	= switch_suite_init,
	.suite_exit	= switch_suite_exit,
	.init		= switch_init,
	.exit		= switch_exit,
	.test_cases	= simulate_cases,
};

kunit_test_suite(simulate_suite);
