// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: simulated instructions, compared with native execution
 *
 * Each instruction is in a function of its own, which loads all registers before it and stores
 * them after it, wherever it led to. The same instruction is then simulated on the same
 * registers and at the same address; and the function is run with a probe on it, by breakpoint
 * and by jump, with and without a post handler.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/insn.h>
#include <asm/patching.h>
#include <asm/sysreg.h>

#include "support/asm_arm64.h"
#include "support/switch.h"
#include "../decode-insn.h"
#include "../simulate-insn.h"
#include "test_native.h"
#include "test_plant.h"

/* Where an instruction led to. */
enum landing { NEXT, AFTER, BEFORE, NR_LANDINGS };

struct site {
	void		(*run)(struct probe_trip *trip);
	unsigned long	landings[NR_LANDINGS];
	const char	*text;
};

static_assert(offsetof(struct probe_trip, nzcv) == 248);
static_assert(offsetof(struct probe_trip, landed) == 256);

/*
 * The frame of a site: 0 to 95, registers to be restored for the caller; 96, the trip; 104, x0
 * after the instruction; 112, where it landed. All registers are loaded except x18, which may be
 * the shadow call stack's. Labels for instructions: 8 is before them, 9 after.
 */
asm("	.macro probe_test_land where\n"
"	hint	#38\n"				/* bti jc */
"	str	x0, [sp, #104]\n"
"	mov	x0, #\\where\n"
"	b	probe_test_leave\n"
"	.endm\n"

"	.macro probe_test_site insn:vararg\n"
"8:	probe_test_land 2\n"
".Lprobe_test_run\\@:\n"
"	hint	#34\n"				/* bti c */
"	stp	x29, x30, [sp, #-128]!\n"
	KPROBES_SAVE_CALLERS
"	str	x0, [sp, #96]\n"
"	ldr	x1, [x0, #248]\n"
"	msr	nzcv, x1\n"
	KPROBES_LOAD_MOST
"	ldp	x28, x29, [x0, #224]\n"
"	ldr	x30, [x0, #240]\n"
"	ldp	x0, x1, [x0]\n"
"	\\insn\n"
".Lprobe_test_next\\@:\n"
"	probe_test_land 0\n"
"9:	probe_test_land 1\n"
"	.pushsection .rodata.probe_test, \"a\"\n"
"	.quad	.Lprobe_test_run\\@, .Lprobe_test_next\\@, 9b, 8b, .Lprobe_test_text\\@\n"
"	.popsection\n"
"	.pushsection .rodata.probe_test_text, \"a\"\n"
".Lprobe_test_text\\@:\n"
"	.asciz	\"\\insn\"\n"
"	.popsection\n"
"	.endm\n"

"	.pushsection .rodata.probe_test, \"a\"\n"
"	.balign	8\n"
"probe_test_sites:\n"
"	.popsection\n"

"	.pushsection .text, \"ax\"\n"
"	.balign	4\n"
"probe_test_leave:\n"
"	str	x0, [sp, #112]\n"
"	ldr	x0, [sp, #96]\n"
"	str	x1, [x0, #8]\n"
	KPROBES_STORE_MOST
"	stp	x28, x29, [x0, #224]\n"
"	str	x30, [x0, #240]\n"
"	ldr	x1, [sp, #104]\n"
"	str	x1, [x0]\n"
"	mrs	x1, nzcv\n"
"	str	x1, [x0, #248]\n"
"	ldr	x1, [sp, #112]\n"
"	str	x1, [x0, #256]\n"
	KPROBES_RESTORE_CALLERS
"	ldp	x29, x30, [sp], #128\n"
"	ret\n"

/* Off by four bytes, so that literals of eight bytes are not aligned. */
"	.balign	8\n"
"	.long	0x7fffffff\n"
"probe_test_literal:\n"
"	.quad	0x8000000176543210\n"
"	.quad	0x76543210fedcba98\n"

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
"	.popsection\n"

"	.pushsection .rodata.probe_test, \"a\"\n"
"probe_test_sites_end:\n"
"	.popsection\n"

/* A site to put other instructions into */
"	.pushsection .text, \"ax\"\n"
"	.balign	4\n"
"	probe_test_site nop\n"
"	.popsection\n"
"	.purgem probe_test_site\n"
"	.purgem probe_test_land\n"
);

static struct rnd_state random;

static u64 random_u64(void)
{
	return prandom_u32_state(&random) | (u64)prandom_u32_state(&random) << 32;
}

/* Interrupts are masked, because the frame pointer has a value of ours. */
static noinline __nocfi void run_natively(const struct site *s, struct probe_trip *trip)
{
	unsigned long flags;

	local_irq_save(flags);
	s->run(trip);
	local_irq_restore(flags);
}

/**
 * probe_test_run - let the processor execute an instruction
 * @trip:	the registers before it, and then those after it
 * @insn:	the instruction; not a branch, and does not use the stack pointer
 *
 * Context: may sleep; one at a time.
 */
void probe_test_run(struct probe_trip *trip, u32 insn)
{
	const struct site *any = ADDRESS_OF(probe_test_sites_end);
	void *at = (void *)any->landings[NEXT] - AARCH64_INSN_SIZE;

	WARN_ON_ONCE(aarch64_insn_patch_text_nosync(at, insn));
	isb();
	run_natively(any, trip);
}

struct subject {
	const struct site		*site;
	const struct probe_class	*class;
	unsigned long			addr;
	u32				insn;
};

static void prepare(struct kunit *test, struct subject *s, const struct site *site)
{
	s->site = site;
	s->addr = site->landings[NEXT] - AARCH64_INSN_SIZE;
	KUNIT_ASSERT_EQ(test, 0, aarch64_insn_read((void *)s->addr, &s->insn));
	s->class = probe_classify(s->insn);
	KUNIT_ASSERT_NOT_NULL_MSG(test, s->class, "%s", site->text);
	KUNIT_ASSERT_EQ_MSG(test, PROBE_SIMULATE, s->class->kprobe, "%s", site->text);
}

static bool is_branch_reg(u32 insn)
{
	return aarch64_insn_is_br(insn) || aarch64_insn_is_blr(insn) ||
	       aarch64_insn_is_ret(insn);
}

/* What all registers hold. Two of the fills have just the bit set, or clear, that is tested. */
#define NR_FILLS	8
static u64 content(u32 insn, int fill)
{
	unsigned int bit = (insn >> 31) << 5 | (insn >> 19 & 31);

	switch (fill) {
	case 0:
		return 0;
	case 1:
		return U64_MAX;
	case 2:
		return BIT_ULL(bit);
	case 3:
		return ~BIT_ULL(bit);
	case 4:
		return (u64)U32_MAX << 32;
	case 5:
		return U32_MAX;
	}
	return random_u64();
}

static void fill_trip(const struct subject *s, struct probe_trip *trip, int fill, u64 nzcv)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(trip->regs); i++)
		trip->regs[i] = content(s->insn, fill);
	if (is_branch_reg(s->insn))
		trip->regs[s->insn >> 5 & 31] = s->site->landings[fill & 1 ? AFTER : BEFORE];
	trip->nzcv = nzcv;
	trip->landed = NR_LANDINGS;
}

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

static void expect_same(struct kunit *test, const struct subject *s,
			const struct probe_trip *native, struct pt_regs *in, struct pt_regs *ours)
{
	const char *text = s->site->text;
	int i;

	KUNIT_ASSERT_LT_MSG(test, native->landed, NR_LANDINGS, "%s", text);
	for (i = 0; i < ARRAY_SIZE(native->regs); i++) {
		if (i != 18)
			in->regs[i] = native->regs[i];
	}
	in->pc = s->site->landings[native->landed];
	in->pstate &= ~(PSR_BTYPE_MASK | PSR_STATUS_BITS);
	in->pstate |= native->nzcv | expected_btype(s->insn);

	for (i = 0; i < ARRAY_SIZE(native->regs); i++)
		KUNIT_ASSERT_EQ_MSG(test, in->regs[i], ours->regs[i], "%s: x%d", text, i);
	KUNIT_ASSERT_EQ_MSG(test, in->pc, ours->pc, "%s: pc", text);
	KUNIT_ASSERT_EQ_MSG(test, in->pstate, ours->pstate, "%s: pstate", text);
	KUNIT_ASSERT_MEMEQ_MSG(test, in, ours, sizeof(*in), "%s: the rest", text);
}

static void compare(struct kunit *test, const struct subject *s, int fill, u64 nzcv)
{
	struct pt_regs in, ours;
	struct probe_trip trip;

	fill_trip(s, &trip, fill, nzcv);
	fill_regs(&in, trip.regs, nzcv, s->addr);
	ours = in;
	run_natively(s->site, &trip);
	KUNIT_ASSERT_TRUE_MSG(test, s->class->simulate(s->insn, s->addr, &ours),
			      "%s", s->site->text);
	expect_same(test, s, &trip, &in, &ours);
}

/* BC.cond is B.cond with a hint. Not every processor can run it, so it is only simulated. */
static void compare_with_hinted(struct kunit *test, const struct subject *s, u64 nzcv,
				unsigned long *rows_seen)
{
	const struct probe_class *class = probe_classify(s->insn | BIT(4));
	struct pt_regs plain, hinted;
	u64 regs[31] = {};

	KUNIT_ASSERT_NOT_NULL(test, class);
	__set_bit(class - probe_classes, rows_seen);
	fill_regs(&plain, regs, nzcv, s->addr);
	hinted = plain;
	KUNIT_EXPECT_TRUE(test, s->class->simulate(s->insn, s->addr, &plain));
	KUNIT_EXPECT_TRUE(test, class->simulate(s->insn | BIT(4), s->addr, &hinted));
	KUNIT_EXPECT_MEMEQ(test, &plain, &hinted, sizeof(plain));
}

static void compare_all(struct kunit *test, const struct site *site, unsigned long *rows_seen)
{
	struct subject s;
	u64 nzcv;
	int fill;

	prepare(test, &s, site);
	__set_bit(s.class - probe_classes, rows_seen);
	for (nzcv = 0; nzcv < 16; nzcv++) {
		for (fill = 0; fill < NR_FILLS; fill++)
			compare(test, &s, fill, nzcv << 28);
		if (aarch64_insn_is_bcond(s.insn))
			compare_with_hinted(test, &s, nzcv << 28, rows_seen);
	}
}

/*
 * Past bugs: loads of literals had the wrong size or sign; a branch read its register after
 * writing it; the zero register was written to.
 */
static void test_native(struct kunit *test)
{
	const struct site *sites = ADDRESS_OF(probe_test_sites);
	const struct site *end = ADDRESS_OF(probe_test_sites_end);
	unsigned long *rows_seen = kunit_kcalloc(test, BITS_TO_LONGS(probe_nr_classes),
						 sizeof(long), GFP_KERNEL);
	const struct site *site;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rows_seen);
	prandom_seed_state(&random, 6);
	for (site = sites; site < end; site++)
		compare_all(test, site, rows_seen);

	kunit_info(test, "%td instructions", end - sites);
	for (i = 0; i < probe_nr_classes; i++)
		KUNIT_EXPECT_EQ_MSG(test, probe_classes[i].kprobe == PROBE_SIMULATE,
				    test_bit(i, rows_seen), "%s", probe_classes[i].name);
}

/* Instructions that reach as far as possible, and expected distances */
struct far {
	const char	*text;
	u32		insn;
	long		distance;
	bool		link;
};

static const struct far branches[] = {
	{ "b", 0x15ffffff, 0x7fffffc },
	{ "b", 0x16000000, -0x8000000 },
	{ "b .", 0x14000000, 0 },
	{ "bl", 0x95ffffff, 0x7fffffc, true },
	{ "bl", 0x96000000, -0x8000000, true },
	{ "b.al", 0x547fffee, 0xffffc },
	{ "b.al", 0x5480000e, -0x100000 },
	{ "b.nv", 0x54ffffef, -4 },
	{ "cbz xzr", 0xb47fffff, 0xffffc },
	{ "cbz xzr", 0xb480001f, -0x100000 },
	{ "cbz wzr", 0x347fffff, 0xffffc },
	{ "cbnz wzr", 0x357fffff, 4 },
	{ "tbz wzr, #0", 0x3603ffff, 0x7ffc },
	{ "tbz wzr, #31", 0x36fc001f, -0x8000 },
	{ "tbz xzr, #63", 0xb6fc001f, -0x8000 },
	{ "tbnz xzr, #63", 0xb7fc001f, 4 },
	{ "prfm", 0xd87fffe0, 4 },
};

static bool simulate(struct kunit *test, u32 insn, struct pt_regs *regs)
{
	const struct probe_class *class = probe_classify(insn);

	KUNIT_ASSERT_NOT_NULL(test, class);
	KUNIT_ASSERT_NOT_NULL(test, class->simulate);
	return class->simulate(insn, regs->pc, regs);
}

static void test_far_branches(struct kunit *test)
{
	const unsigned long addr = 0xffff800080123454;
	const u64 zeroes[31] = {};
	struct pt_regs regs;
	int i;

	for (i = 0; i < ARRAY_SIZE(branches); i++) {
		const struct far *f = &branches[i];

		fill_regs(&regs, zeroes, 0, addr);
		KUNIT_EXPECT_TRUE(test, simulate(test, f->insn, &regs));
		KUNIT_EXPECT_EQ_MSG(test, addr + f->distance, regs.pc, "%s", f->text);
		KUNIT_EXPECT_EQ_MSG(test, f->link ? addr + 4 : 0, regs.regs[30], "%s", f->text);
	}
}

static const struct far addresses[] = {
	{ "adr", 0x707fffe0, 0xfffff },
	{ "adr", 0x10800000, -0x100000 },
	{ "adr", 0x70ffffe0, -1 },
	{ "adr .", 0x10000000, 0 },
	{ "adrp", 0xf07fffe0, 0xfffff000 - 0x454 },
	{ "adrp", 0x90800000, -0x100000000 - 0x454 },
	{ "adrp", 0xf0ffffe0, -0x1000 - 0x454 },
	{ "adrp .", 0x90000000, -0x454 },
};

static void test_far_addresses(struct kunit *test)
{
	const unsigned long addr = 0xffff800080123454;
	const u64 zeroes[31] = {};
	struct pt_regs regs;
	int i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		const struct far *f = &addresses[i];

		fill_regs(&regs, zeroes, 0, addr);
		KUNIT_EXPECT_TRUE(test, simulate(test, f->insn, &regs));
		KUNIT_EXPECT_EQ_MSG(test, addr + f->distance, regs.regs[0], "%s", f->text);
		KUNIT_EXPECT_EQ_MSG(test, addr + 4, regs.pc, "%s", f->text);
	}
}

#define LDR_W		0x18000000	/* ldr w0, . */
#define LDR_X		0x58000000	/* ldr x0, . */
#define LDRSW		0x98000000	/* ldrsw x0, . */

/* Literals at both ends of what can be reached. */
static void test_far_literals(struct kunit *test)
{
	const u32 most = 0x3ffff << 5, least = 0x40000 << 5;
	void *area = vmalloc(2 * SZ_1M + PAGE_SIZE);
	unsigned long addr = (unsigned long)area + SZ_1M;
	u64 regs[31] = {};
	struct pt_regs in;

	KUNIT_ASSERT_NOT_NULL(test, area);
	*(u64 *)(addr - SZ_1M) = 0x8000000000000001;
	*(u32 *)(addr + SZ_1M - 4) = 0x80000002;

	fill_regs(&in, regs, 0, addr);
	KUNIT_EXPECT_TRUE(test, simulate(test, LDR_X | least, &in));
	KUNIT_EXPECT_EQ(test, 0x8000000000000001, in.regs[0]);
	in.pc = addr;
	KUNIT_EXPECT_TRUE(test, simulate(test, LDR_W | most, &in));
	KUNIT_EXPECT_EQ(test, 0x80000002, in.regs[0]);
	in.pc = addr;
	KUNIT_EXPECT_TRUE(test, simulate(test, LDRSW | most, &in));
	KUNIT_EXPECT_EQ(test, 0xffffffff80000002, in.regs[0]);
	vfree(area);
}

/* A literal behind the end of a mapping, or in user space, cannot be read. */
static void test_no_literal(struct kunit *test)
{
	static const u32 loads[] = { LDR_W, LDR_X, LDRSW };
	void *page = __vmalloc(PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	unsigned long end = (unsigned long)page + PAGE_SIZE;
	struct pt_regs before, after;
	u64 regs[31];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(regs, 0xa5, sizeof(regs));
	for (i = 0; i < ARRAY_SIZE(loads); i++) {
		/* .+4 */
		u32 insn = loads[i] | 1 << 5;

		fill_regs(&before, regs, PSR_N_BIT, end - 4);
		after = before;
		KUNIT_EXPECT_FALSE_MSG(test, simulate(test, insn, &after), "%08x", insn);
		KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));

		before.pc = PAGE_SIZE;
		after = before;
		KUNIT_EXPECT_FALSE_MSG(test, simulate(test, insn, &after), "%08x", insn);
		KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));

		/* Of a literal of eight bytes, only the first four can be read. */
		before.pc = end - 8;
		after = before;
		KUNIT_EXPECT_EQ_MSG(test, loads[i] != LDR_X, simulate(test, insn, &after),
				    "%08x", insn);
		if (loads[i] == LDR_X)
			KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));
		else
			KUNIT_EXPECT_EQ(test, 0, after.regs[0]);
	}
	vfree(page);
}

/* --- with a probe --- */

#define NR_FLAGS	16

/* All bits are clear; or only the bit that is tested is set, or is clear. */
static const u8 probed_fills[] = { 0, 2, 3 };

#define NR_TRIPS	(NR_FLAGS * ARRAY_SIZE(probed_fills))

/* All sites, and NR_TRIPS for each of them, as they are natively */
static struct subject *subjects;
static struct probe_trip *native_trips;
static unsigned int nr_subjects;

static void fill_nth(const struct subject *s, struct probe_trip *trip, unsigned int n)
{
	fill_trip(s, trip, probed_fills[n / NR_FLAGS], (u64)(n % NR_FLAGS) << 28);
}

static struct probe_trip *native_trip(const struct subject *s, unsigned int n)
{
	return &native_trips[(s - subjects) * NR_TRIPS + n];
}

static void run_all_natively(struct kunit *test, const struct subject *s)
{
	struct probe_trip *trip;
	unsigned int n;

	for (n = 0; n < NR_TRIPS; n++) {
		trip = native_trip(s, n);
		fill_nth(s, trip, n);
		run_natively(s->site, trip);
		KUNIT_ASSERT_LT_MSG(test, trip->landed, NR_LANDINGS, "%s", s->site->text);
	}
}

/* Has to be done before there are probes, because it reads the text. */
static void prepare_all(struct kunit *test)
{
	const struct site *sites = ADDRESS_OF(probe_test_sites);
	const struct site *end = ADDRESS_OF(probe_test_sites_end);
	unsigned int i;

	nr_subjects = end - sites;
	subjects = new_array(test, nr_subjects, sizeof(*subjects));
	native_trips = new_array(test, nr_subjects * NR_TRIPS, sizeof(*native_trips));
	for (i = 0; i < nr_subjects; i++) {
		prepare(test, &subjects[i], &sites[i]);
		run_all_natively(test, &subjects[i]);
	}
}

static void *subject_at(unsigned int i)
{
	return (void *)subjects[i].addr;
}

/* What the handlers have seen of a trip */
static struct {
	unsigned int	pres, posts, traps;
	struct pt_regs	before, after;
	bool		left_by_trap;
} seen;

/* Where kprobe_detour_leave() will say where to go, on this CPU */
static unsigned long *next_destination(void)
{
	struct kprobe_destinations *all = this_cpu_ptr(&kprobe_detour_to);

	return &all->to[(all->last + 1) % ARRAY_SIZE(all->to)].pc;
}

static void run_probed(const struct subject *s, struct probe_trip *trip)
{
	memset(&seen, 0, sizeof(seen));
	guard(preempt)();
	*next_destination() = 0;
	run_natively(s->site, trip);
	seen.left_by_trap = *next_destination();
}

/* A call by its own link register; and one by another, where it must be told from a jump */
static bool leaves_by_trap(u32 insn)
{
	return aarch64_insn_is_blr(insn) &&
	       (probe_target_register(insn) == AARCH64_INSN_REG_LR || system_supports_bti_kernel());
}

static int see_before(struct kprobe *p, struct pt_regs *regs)
{
	seen.pres++;
	/* Interrupts are masked in any case, but debug exceptions only in one. */
	seen.traps += !!(read_sysreg(daif) & PSR_D_BIT);
	seen.before = *regs;
	return 0;
}

static void see_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	seen.posts++;
	seen.after = *regs;
}

static void expect_trip(struct kunit *test, const struct subject *s, unsigned int n,
			const struct probe_trip *ours)
{
	const struct probe_trip *native = native_trip(s, n);
	const char *text = s->site->text;
	int i;

	for (i = 0; i < ARRAY_SIZE(native->regs); i++)
		KUNIT_EXPECT_EQ_MSG(test, native->regs[i], ours->regs[i], "%s, trip %u: x%d",
				    text, n, i);
	KUNIT_EXPECT_EQ_MSG(test, native->nzcv, ours->nzcv, "%s, trip %u", text, n);
	KUNIT_EXPECT_EQ_MSG(test, native->landed, ours->landed, "%s, trip %u", text, n);
}

static void expect_before(struct kunit *test, const struct subject *s, unsigned int n,
			  struct way way, const struct probe_trip *in)
{
	const char *text = s->site->text;

	KUNIT_EXPECT_EQ_MSG(test, 1, seen.pres, "%s, trip %u", text, n);
	KUNIT_EXPECT_EQ_MSG(test, !way.jump, seen.traps, "%s, trip %u", text, n);
	KUNIT_EXPECT_EQ_MSG(test, way.jump && leaves_by_trap(s->insn), seen.left_by_trap,
			    "%s, trip %u", text, n);
	KUNIT_EXPECT_EQ_MSG(test, s->addr, seen.before.pc, "%s, trip %u", text, n);
	KUNIT_EXPECT_TRUE_MSG(test, has_seen(&seen.before, in->regs, in->nzcv, 0),
			      "%s, trip %u", text, n);
}

/* The post handler gets what the instruction leaves natively. */
static void expect_after(struct kunit *test, const struct subject *s, unsigned int n,
			 struct way way)
{
	const struct probe_trip *native = native_trip(s, n);
	const char *text = s->site->text;

	KUNIT_EXPECT_EQ_MSG(test, way.post, seen.posts, "%s, trip %u", text, n);
	if (!way.post)
		return;
	KUNIT_EXPECT_EQ_MSG(test, s->site->landings[native->landed], seen.after.pc,
			    "%s, trip %u", text, n);
	KUNIT_EXPECT_EQ_MSG(test, seen.before.sp, seen.after.sp, "%s, trip %u", text, n);
	KUNIT_EXPECT_TRUE_MSG(test, has_seen(&seen.after, native->regs, native->nzcv, 0),
			      "%s, trip %u", text, n);
}

/* Stops after the first instruction that does not do the same. */
static void compare_probed(struct kunit *test, const struct subject *s, struct way way)
{
	struct probe_trip in, ours;
	unsigned int n;

	expect_text(test, (void *)s->addr, s->insn, way.jump);
	for (n = 0; n < NR_TRIPS; n++) {
		fill_nth(s, &in, n);
		ours = in;
		run_probed(s, &ours);
		expect_trip(test, s, n, &ours);
		expect_before(test, s, n, way, &in);
		expect_after(test, s, n, way);
	}
	KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
}

static void compare_all_probed(struct kunit *test, struct way way)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++) {
		compare_probed(test, &subjects[i], way);
		cond_resched();
	}
	kunit_info(test, "%u instructions by %s", nr_subjects, way.jump ? "jump" : "breakpoint");
}

/* A past bug: by a jump, ret, br and blr took a trap. */
static void probed_instructions_do_as_in_place(struct kunit *test)
{
	const struct manner *manner = test->param_value;
	const struct kprobe like = {
		.pre_handler = see_before,
		.post_handler = manner->post ? see_after : NULL,
	};

	prepare_all(test);
	plant(test, manner, nr_subjects, subject_at, &like);
	in_both_ways(test, manner, (struct way){ }, compare_all_probed);
}

static struct kunit_case simulate_cases[] = {
	KUNIT_CASE(test_native),
	KUNIT_CASE(test_far_branches),
	KUNIT_CASE(test_far_addresses),
	KUNIT_CASE(test_far_literals),
	KUNIT_CASE(test_no_literal),
	KUNIT_CASE_PARAM_ATTR(probed_instructions_do_as_in_place, manner_gen_params,
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
