// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * A copy is the same word elsewhere. So an instruction of each kind is enough: those that use or
 * set registers that a hit uses as well, the flags, PSTATE, memory, the stack, or SIMD. Each runs
 * in place, and then with a probe on it, by breakpoint and by jump, with and without a post
 * handler. Those that access memory also run where none is mapped: then they have to do nothing,
 * and a fault handler has to be told.
 */

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/esr.h>
#include <asm/neon.h>
#include <asm/sysreg.h>

#include "support/kinds.h"
#include "support/switch.h"
#include "../internal.h"
#include "test_native.h"

/* The assembler does not accept these by default, as the compiler does not use them. */
#define ENABLE_FP							\
"	.arch_extension fp\n"						\
"	.arch_extension simd\n"

#define SITE(insn)	"	probe_test_site " insn "\n"

/* x1 leads to the middle of memory, and x2 is small. */
asm(ENABLE_FP TRIP_SITES
"copy_test_sites:\n"
	SITE("nop") SITE("hint #20") SITE("hint #7") SITE("dsb ish") SITE("dmb ish") SITE("isb")
	SITE("add x0, x3, #1") SITE("adds x0, x3, x4") SITE("subs xzr, x3, x4")
	SITE("adcs x3, x3, x4") SITE("ccmp x3, x4, #5, lt") SITE("csel x0, x3, x4, ge")
	SITE("add x16, x17, x30") SITE("sub x30, x29, x16") SITE("eor x17, x17, x16")
	SITE("add x29, sp, #16") SITE("mov x0, sp") SITE("movk x30, #5, lsl #48")
	SITE("madd x0, x3, x4, x5") SITE("udiv w0, w3, w4") SITE("ror x28, x3, x4")
	SITE("bfi x0, x3, #7, #9") SITE("extr w0, w3, w4, #5") SITE("rbit x0, x3")
	SITE("add sp, sp, #48") SITE("sub sp, sp, #64")
	/* PSTATE and system registers; all of DAIF is restored */
	SITE("msr nzcv, x3") SITE("mrs x0, nzcv") SITE("mrs x30, daif") SITE("mrs x0, currentel")
	SITE("mrs x0, sp_el0") SITE("mrs x16, sctlr_el1") SITE("msr daifset, #7")
	SITE("msr daifclr, #2") SITE("ic ialluis")
	/* Those of memory that cannot fault; SIMD */
	SITE("prfm pldl1keep, [x1]") SITE("at s1e1r, x1") SITE("ldp x29, x30, [sp], #16")
	SITE("stp x29, x30, [sp, #-16]!") SITE("ldr x30, [sp, #8]") SITE("ldr x0, [sp], #32")
	SITE("str w17, [sp, #4]") SITE("stp q3, q4, [sp, #-32]!") SITE("stp x3, xzr, [sp, #16]")
	SITE("add v0.4s, v1.4s, v2.4s") SITE("fadd d0, d1, d2") SITE("fcmp d0, d1")
	SITE("fmov x30, d1") SITE("fmov d0, x3") SITE("tbl v31.16b, {v1.16b}, v2.16b")
	SITE("msr fpsr, x3")
"copy_test_memory:\n"
	SITE("ldr x0, [x1]") SITE("ldr x1, [x1]") SITE("str x30, [x1]") SITE("ldrb w0, [x1, #1]")
	SITE("strh w16, [x1, #2]") SITE("ldrsw x17, [x1, #-4]") SITE("ldr x29, [x1, x2]")
	SITE("str x3, [x1, w2, sxtw #3]") SITE("ldr x0, [x1], #8") SITE("str x3, [x1, #-8]!")
	SITE("ldp x3, x4, [x1]") SITE("stp x29, x30, [x1, #-16]!")
	SITE("ldpsw x16, x17, [x1], #16") SITE("ldnp x0, x3, [x1]") SITE("ldar x0, [x1]")
	SITE("stlrb w3, [x1]") SITE("ldr q0, [x1]") SITE("str q3, [x1, #16]!")
	SITE("ldp d0, d1, [x1], #16") SITE("ld1 {v0.16b, v1.16b}, [x1]")
	SITE("st4 {v0.h, v1.h, v2.h, v3.h}[5], [x1], x2")
"copy_test_end:\n"
	TRIP_SITES_END);

#define NR_FLAGS	16
#define MIDDLE		256
#define STACK_SEEN	128

/* The most that an instruction pushes. One that makes more room does not write there. */
#define MAX_PUSH	32

static u8 memory[2 * MIDDLE] __aligned(64);

struct fp_state {
	u64		v[64];
	u64		fpsr;
};

/* What is left of a run besides registers */
struct seen {
	u64		daif;
	u8		memory[sizeof(memory)];
	u8		stack[MAX_PUSH + STACK_SEEN];
	struct fp_state	fp;
};

static_assert(sizeof(struct seen) <= DIFF_SEEN_SIZE);

/* What all find */
static struct seen before;
static struct fp_state fp_after;

static struct diff_insn *insns;
static int nr_faultless;
static unsigned long unmapped;

static struct diff_insn *nth_insn(int i)
{
	return &insns[i];
}

static int nr_flags(int i)
{
	return NR_FLAGS;
}

static size_t seen_size(int i)
{
	return sizeof(struct seen);
}

static u8 *stack_start(void)
{
	return probe_test_stack + STACK_AT;
}

static void set_up(const struct diff_run *run, struct pt_regs *regs)
{
	struct rnd_state random;

	prandom_seed_state(&random, run->i * NR_FLAGS + run->state);
	prandom_bytes_state(&random, regs->regs, sizeof(regs->regs));
	regs->regs[1] = (unsigned long)memory + MIDDLE;
	regs->regs[2] = run->state;
	regs->sp = (unsigned long)stack_start();
	regs->pstate = (u64)run->state << 28 | read_sysreg(daif);
	/* If the instruction is left out, nobody gets there. */
	fp_after = before.fp;
	memcpy(memory, before.memory, sizeof(memory));
	memcpy(stack_start() - MAX_PUSH, before.stack, sizeof(before.stack));
}

static void spoil(const struct diff_run *run, struct pt_regs *regs)
{
	regs->regs[1] = unmapped;
}

#define FOR_ALL_VECTORS(insn)						\
"	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "	\
		"16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n" \
	insn "\n"							\
"	.endr\n"

/* The compiler uses none of these registers. */
static void trip(struct pt_regs *regs)
{
	kernel_neon_begin();
	asm volatile(ENABLE_FP FOR_ALL_VECTORS("ldr q\\n, [%0, #16 * \\n]") "msr fpsr, %1"
		     : : "r" (&before.fp), "r" (before.fp.fpsr) : "memory");
	diff_trip(regs);
	asm volatile(ENABLE_FP FOR_ALL_VECTORS("str q\\n, [%1, #16 * \\n]") "mrs %0, fpsr"
		     : "=&r" (fp_after.fpsr) : "r" (&fp_after) : "memory");
	kernel_neon_end();
}

/* Leaves out the stack below the stack pointer, and room that was only made: traps write there. */
static void see(const struct diff_run *run, const struct pt_regs *regs, void *to)
{
	u8 *bottom = stack_start() - MAX_PUSH, *end = stack_start() + STACK_SEEN;
	u8 *from = (u8 *)regs->sp;
	struct seen *seen = to;

	from = from < bottom ? stack_start() : min(from, end);
	memcpy(seen->stack + (from - bottom), from, end - from);
	memcpy(seen->memory, memory, sizeof(memory));
	seen->daif = regs->pstate & ~PSR_STATUS_BITS;
	seen->fp = fp_after;
}

static bool tries(const struct diff_run *run)
{
	return run->trial == DIFF_GOOD || run->i >= nr_faultless;
}

static void expect_translation_fault(struct kunit *test, const struct diff_run *run)
{
	u32 syndrome = diff_hit.trapnr;

	if (diff_hit.faults)
		KUNIT_EXPECT_TRUE_MSG(test, ESR_ELx_EC(syndrome) == ESR_ELx_EC_DABT_CUR &&
				      esr_fsc_is_translation_fault(syndrome), "%08x: %x",
				      word_of(nth_insn(run->i)), syndrome);
}

static struct diff_lab lab = {
	.insn		= nth_insn,
	.nr_states	= nr_flags,
	.size		= seen_size,
	.tries		= tries,
	.set_up		= set_up,
	.spoil		= spoil,
	.run		= trip,
	.see		= see,
	.check		= expect_translation_fault,
};

/* System registers are the CPU's. */
static void copies_do_as_in_place(struct kunit *test)
{
	void *first = ADDRESS_OF(copy_test_sites), *end = ADDRESS_OF(copy_test_end);
	struct rnd_state random;

	diff_stay(test);
	lab.nr = probe_test_sites(test, first, end, &insns);
	nr_faultless = (ADDRESS_OF(copy_test_memory) - first) / SITE_SIZE;
	/* The middle of a guard page */
	unmapped = (unsigned long)kprobes_unmapped(test) + PAGE_SIZE / 2;
	prandom_seed_state(&random, 1);
	prandom_bytes_state(&random, &before, sizeof(before));
	before.fp.fpsr = 0;
	diff_run_natively(test, &lab);
	probe_test_in_manner(test, &lab, BIT(DIFF_GOOD) | BIT(DIFF_LEFT_OUT));
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE_PARAM(copies_do_as_in_place, probe_test_manners),
	{ }
};

static struct kunit_suite copy_suite = {
	.name		= "kprobes_arm64_copy",
	.suite_init	= switch_suite_init,
	.suite_exit	= switch_suite_exit,
	.init		= switch_init,
	.exit		= switch_exit,
	.test_cases	= copy_cases,
};

kunit_test_suite(copy_suite);
