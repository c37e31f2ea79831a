/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_COPY_STATE_H
#define __X86_KERNEL_KPROBES_TEST_COPY_STATE_H
/*
 * Draws contents of registers and memory with which the instructions of test_copy_draw.h do no
 * harm.
 */
#include <linux/cpufeature.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>

#include "test_copy_draw.h"
#include "test_native.h"

/* All instructions find the same in these registers. */
static union fpregs_state fpu_before, fpu_after;

/* Where those of MMX are, and what is behind AVX-512: no processor puts that farther away */
#define FPU_AT		offsetof(struct fxregs_state, st_space)
#define FPU_SIZE	2688

static void draw_fpu(void)
{
	struct xregs_state *state = &fpu_before.xsave;

	prandom_bytes_state(&random, &fpu_before, FPU_SIZE);
	memset(state, 0, offsetof(struct xregs_state, i387.xmm_space));
	memset(&state->header, 0, sizeof(state->header));
	state->i387.cwd = 0x37f;
	state->i387.mxcsr = MXCSR_DEFAULT;
	state->header.xfeatures = XFEATURE_MASK_FPSSE |
				  (boot_cpu_has(X86_FEATURE_AVX) ? XFEATURE_MASK_YMM : 0) |
				  (boot_cpu_has(X86_FEATURE_AVX512F) ? XFEATURE_MASK_AVX512 : 0);
}

static void load_fpu(void)
{
	kernel_fpu_begin();
	asm volatile("xrstor %0" : : "m" (fpu_before),
		     "a" ((u32)fpu_before.xsave.header.xfeatures), "d" (0));
}

static void save_fpu(void)
{
	asm volatile("xsave %0" : "+m" (fpu_after) :
		     "a" ((u32)fpu_before.xsave.header.xfeatures), "d" (0));
	fpu_after.xsave.header = fpu_before.xsave.header;
	kernel_fpu_end();
}

/* The most frequent byte in memory */
#define COMMON_BYTE	0x55

/*
 * Each instruction runs so many times, with different values. A cell's runs try all flags, but for
 * vector instructions, which hardly look at them.
 */
#define NR_STATES	4
#define NR_VECTOR_STATES	2

static void set_dividend(const struct subject *s, struct pt_regs *regs)
{
	regs->dx = 0;
	if (s->cell.opcode == 0xf6)
		regs->ax = (regs->ax & ~0xffffUL) | (regs->ax & 0x7f);
	else
		regs->ax &= ~0UL / 0xffff * 0x7fff;
	regs->ax |= 1;
}

static void set_string(struct pt_regs *regs)
{
	regs->si = target();
	regs->di = target();
	regs->cx = below(7);
	if (below(2))
		regs->ax = ~0UL / 0xff * COMMON_BYTE;
}

/* Sets the registers that the opcode implies. */
static void set_implied(const struct subject *s, struct pt_regs *regs)
{
	int opcode = s->cell.opcode;

	if (has_trait(&s->cell, STRING))
		set_string(regs);
	if (has_trait(&s->cell, DIVIDES))
		set_dividend(s, regs);
	if (has_trait(&s->cell, BIT_AT_OFFSET) && s->cell.form == MEMORY)
		*reg(regs, s->reg) = (long)below(256) - (s->base == SP ? 0 : 128);

	switch (opcode) {
	case 0x9d:		/* popf */
		kprobe_test_stack[STACK_AT] = kprobe_test_flags(below(NR_FLAGS));
		break;
	case 0xc8:		/* enter */
		regs->bp = target();
		break;
	case 0xc9:		/* leave */
		regs->bp = stack_start() + 2 * sizeof(long);
		break;
	case 0xd7:		/* xlat */
		regs->bx = target() - (u8)regs->ax;
		break;
	case 0x0ff7:		/* maskmov */
	case 0xc1f7:
		regs->di = target_of(s);
		break;
	}
}

static unsigned long offset_of(const struct subject *s, struct pt_regs *regs)
{
	return s->index == NO_REG ? 0 : *reg(regs, s->index) << s->scale;
}

/* Has the base register lead to @at. */
static void set_operand(const struct subject *s, struct pt_regs *regs, unsigned long at)
{
	if (s->percpu)
		at -= percpu_base();
	*reg(regs, s->base) = at - offset_of(s, regs) - s->disp;
}

/*
 * Some processors raise an exception for a locked access that crosses a cache line, and in the
 * kernel that is an oops. xchg locks without a prefix.
 */
static void set_address(const struct subject *s, struct pt_regs *regs)
{
	if (s->index != NO_REG)
		*reg(regs, s->index) = (long)below(4) - (s->base == SP ? 0 : 2);
	if (s->index != NO_REG && s->base == SP && has_trait(&s->cell, MAY_LOCK))
		*reg(regs, s->index) = 0;
	if (s->index != NO_REG && is_vector(&s->cell))
		*reg(regs, s->index) = ((long)below(3) - 1) * (VECTOR_ALIGN >> s->scale);
	if (s->base != NO_REG && s->base != SP)
		set_operand(s, regs, target_of(s));
}

static unsigned long operand_at(const struct subject *s, struct pt_regs *regs)
{
	if (s->base == NO_REG)
		return target() + offset_of(s, regs);
	return *reg(regs, s->base) + offset_of(s, regs) + s->disp + (s->percpu ? percpu_base() : 0);
}

/* Has half of the comparisons succeed, on which an exchange depends. */
static void set_expected(const struct subject *s, struct pt_regs *regs)
{
	bool pair = s->cell.opcode == 0x0fc7;
	unsigned long *at;

	if (!pair && s->cell.opcode != 0x0fb0 && s->cell.opcode != 0x0fb1)
		return;
	if (s->cell.form != MEMORY || s->base == AX || s->index == AX || below(2))
		return;
	at = (void *)operand_at(s, regs);
	regs->ax = get_unaligned(at);
	if (pair && s->base != DX)
		regs->dx = get_unaligned((unsigned long *)((void *)at + (s->wide ? 8 : 4)));
}

/* What an instruction finds in memory and on the stack, the same at each run */
static struct {
	u32	seed;
	u8	memory[MEMORY_SIZE];
	u8	stack[STACK_BELOW + STACK_ABOVE];
} contents;

/* Few different bytes, so that some compare as equal. None is zero, which is a bad divisor. */
static void draw_contents(const struct subject *s)
{
	int i;

	contents.seed = s->seed;
	prandom_seed_state(&random, s->seed);
	prandom_bytes_state(&random, contents.stack, sizeof(contents.stack));
	prandom_bytes_state(&random, contents.memory, sizeof(contents.memory));
	for (i = 0; i < sizeof(contents.memory); i++)
		contents.memory[i] = contents.memory[i] & 3 ? COMMON_BYTE : contents.memory[i] | 1;
}

/* A cell with fewer runs than there are flags has others than its neighbours. */
static unsigned int nth_flags(const struct subject *s, int state)
{
	return (s->cell.opcode + s->serial * NR_STATES + state) % NR_FLAGS;
}

/* Sets registers, memory and stack, the same for each run of an instruction in this state. */
static void set_up_subject(const struct subject *s, int state, struct pt_regs *regs)
{
	int i;

	if (contents.seed != s->seed)
		draw_contents(s);
	memcpy(memory, contents.memory, sizeof(memory));
	memcpy((void *)stack_start() - STACK_BELOW, contents.stack, sizeof(contents.stack));
	prandom_seed_state(&random, s->seed + state);
	for (i = 0; i < NR_REGS; i++)
		*reg(regs, i) = random_word() | 1;
	memcpy(&fpu_after, &fpu_before, FPU_SIZE);
	regs->sp = stack_start();
	regs->flags = kprobe_test_flags(nth_flags(s, state));
	set_implied(s, regs);
	set_address(s, regs);
	set_expected(s, regs);
}

/* --- operands that are not there --- */

static bool can_fail(const struct subject *s)
{
	if (s->cell.form != MEMORY)
		return has_trait(&s->cell, READS_IMPLIED);
	return s->base != NO_REG && s->base != SP && !s->masked &&
	       !has_trait(&s->cell, NEVER_FAILS);
}

/* Has an operand in memory be at @at, or if that is on the stack, at @sp. */
static void break_operand_at(const struct subject *s, struct pt_regs *regs, unsigned long at,
			     unsigned long sp)
{
	if (s->cell.form == MEMORY) {
		set_operand(s, regs, at);
	} else if (has_trait(&s->cell, STRING)) {
		regs->si = at;
		regs->di = at;
		regs->cx |= 1;
	} else if (s->cell.opcode == 0xc9) {
		regs->bp = at;
	} else if (s->cell.opcode == 0xd7) {
		regs->bx = at - (u8)regs->ax;
	} else {
		regs->sp = sp;
	}
}

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_STATE_H */
