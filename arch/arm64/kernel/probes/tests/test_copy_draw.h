/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_COPY_DRAW_H
#define __ARM64_KERNEL_PROBES_TEST_COPY_DRAW_H
/*
 * Draws instructions from the forms of test_copy_forms.h, and registers with which they do no
 * harm. Nothing in here needs a running kernel.
 */
#include <linux/bitops.h>
#include <linux/prandom.h>

#include "test_copy_forms.h"

/* How far the stack pointer may move, or memory be from it, in either direction */
#define COPY_STACK	256

static struct rnd_state copy_random;

static u32 random_below(u32 ceiling)
{
	return prandom_u32_state(&copy_random) % ceiling;
}

static u64 random_u64(void)
{
	return prandom_u32_state(&copy_random) | (u64)prandom_u32_state(&copy_random) << 32;
}

static const u8 shift_of[] = { 0, 5, 16, 10 };	/* of D, N, M, A */

static unsigned int reg_of(u32 insn, u32 field)
{
	return insn >> shift_of[__ffs(field)] & 31;
}

static u32 with_reg(u32 insn, u32 field, unsigned int reg)
{
	unsigned int shift = shift_of[__ffs(field)];

	return (insn & ~(31U << shift)) | reg << shift;
}

/* Is the register in one of these fields? */
static bool reg_in(u32 fields, u32 insn, unsigned int reg)
{
	u32 field;

	for (field = D; field <= A; field <<= 1) {
		if (fields & field && reg_of(insn, field) == reg)
			return true;
	}
	return false;
}

/* --- memory --- */

static bool is_load(const struct copy_form *form, u32 insn)
{
	/* For single general registers, two bits are zero in stores. */
	if ((form->at == INDEXED || form->at == IMM9) && !(form->what & FP))
		return insn >> 22 & 3;
	return insn & BIT(22);
}

/* log2 of the size of an access, for a pair that of each half */
static unsigned int scale_of(const struct copy_form *form, u32 insn)
{
	if (form->at != PAIR)
		return insn >> 30 | (form->what & FP ? insn >> 21 & 4 : 0);
	if (form->what & FP)
		return 2 + (insn >> 30);
	if (insn & BIT(30))
		return is_load(form, insn) ? 2 : 4;	/* ldpsw, stgp */
	return 2 + (insn >> 31);
}

static unsigned int size_of_access(const struct copy_form *form, u32 insn)
{
	if (form->at == PAIR)
		return insn & BIT(30) && form->what & ALIGNED ? 16 : 2U << scale_of(form, insn);
	return form->at == BY_SIZE && form->what & M ? 2U << (insn >> 30) : 1U << (insn >> 30);
}

static s64 imm9(const struct copy_form *form, u32 insn)
{
	return sign_extend64(insn >> 12, 8) * (form->what & GRANULES ? 16 : 1);
}

static s64 imm7(const struct copy_form *form, u32 insn)
{
	return sign_extend64(insn >> 15, 6) * (1 << scale_of(form, insn));
}

static u64 extended(u32 insn, u64 value)
{
	unsigned int option = insn >> 13 & 7;

	return option == 2 ? (u32)value : option == 6 ? (s32)value : value;
}

/* From the base register to where memory is accessed */
static s64 offset_of(const struct copy_form *form, u32 insn, const u64 *regs)
{
	unsigned int rm = reg_of(insn, M);

	switch (form->at) {
	case IMM9:
		return imm9(form, insn);
	case INDEXED:
		return insn & BIT(11) ? imm9(form, insn) : 0;
	case PAIR:
		return (insn >> 23 & 3) == 1 ? 0 : imm7(form, insn);
	case UNSIGNED:
		return (u64)(insn >> 10 & 0xfff) << scale_of(form, insn);
	case REGISTER:
		return extended(insn, rm == 31 ? 0 : regs[rm]) <<
		       (insn & BIT(12) ? scale_of(form, insn) : 0);
	case BY_SIZE:
		return is_load(form, insn) ? 0 : -(s64)size_of_access(form, insn);
	}
	return 0;
}

/* Where the immediate is, and whether the base register is written to; a pair tells that itself */
static const struct {
	u32 immediate;
	bool writes_back;
} modes[] = {
	[IMM9] = { GENMASK(20, 12) },
	[INDEXED] = { GENMASK(20, 12), true },
	[PAIR] = { GENMASK(21, 15) },
	[UNSIGNED] = { GENMASK(21, 10) },
	[AND_MOVE] = { 0, true },
	[BY_SIZE] = { 0, true },
};

static bool writes_back(const struct copy_form *form, u32 insn)
{
	return form->at == PAIR ? insn & BIT(23) : modes[form->at].writes_back;
}

/* By how much writeback moves the base register, for forms where that can be sp */
static s64 move_of(const struct copy_form *form, u32 insn)
{
	if (!writes_back(form, insn))
		return 0;
	return form->at == PAIR ? imm7(form, insn) : imm9(form, insn);
}

/*
 * Can the base register be the stack pointer? Nothing can be read below the stack pointer, and
 * what is stored there stays only if the stack pointer moves along. Tags of the stack are not
 * changed.
 */
static bool stack_usable(const struct copy_form *form, u32 insn)
{
	s64 offset, move;

	if (form->at == AND_MOVE || form->at >= REGISTER || form->what & GRANULES)
		return false;
	/* stgp */
	if (form->at == PAIR && form->what & ALIGNED)
		return false;
	offset = offset_of(form, insn, NULL);
	move = move_of(form, insn);
	if (move % 16 || move < -COPY_STACK / 2 || move > COPY_STACK / 2)
		return false;
	if (offset < 0 && (offset != move || is_load(form, insn)))
		return false;
	return offset <= COPY_STACK / 2 && !(form->what & ALIGNED && offset % 16);
}

/* With writeback, the base register must not be loaded or stored, too. */
static bool base_is_data(const struct copy_form *form, u32 insn)
{
	unsigned int base = reg_of(insn, N);
	u32 data = form->what & (form->at == BY_SIZE ? D | M : D | A);

	return writes_back(form, insn) && base != 31 && reg_in(data, insn, base);
}

static bool memory_usable(const struct copy_form *form, u32 insn)
{
	unsigned int base = reg_of(insn, N);

	if (form->at == ON_RT)
		return reg_of(insn, D) != 31;
	if (base_is_data(form, insn))
		return false;
	if (form->at == PAIR && is_load(form, insn) && reg_of(insn, D) == reg_of(insn, A))
		return false;
	/* The sum of a register and a multiple of it cannot be any address. */
	if (form->at == REGISTER && reg_of(insn, M) == base)
		return false;
	return base != 31 || stack_usable(form, insn);
}

/* --- registers --- */

static bool pairs_usable(u32 insn)
{
	return (reg_of(insn, D) & ~1) != 18 && (reg_of(insn, M) & ~1) != 18;
}

static bool both_usable(u32 insn)
{
	unsigned int one = reg_of(insn, D), other = reg_of(insn, M);

	return one != 31 && other != 31 && one != other && one != reg_of(insn, N) &&
	       other != reg_of(insn, N);
}

/* Does it set the stack pointer? That is left to a form of its own, which limits the distance. */
static bool moves_stack(const struct copy_form *form, u32 insn)
{
	bool sets_flags = insn & BIT(29);

	if (form->what & BITMASK)
		sets_flags = (insn >> 29 & 3) == 3;
	return form->what & D_SP && reg_of(insn, D) == 31 && !sets_flags;
}

/* Is it a bitmask? The size of elements is a power of two, and a bit is clear in each. */
static bool is_bitmask(u32 insn)
{
	unsigned int imms = insn >> 10 & 63, zeroes = ~imms & 63, ones;

	if (insn & BIT(22))
		return imms != 63;
	if (zeroes < 2)
		return false;
	ones = BIT(__fls(zeroes)) - 1;
	return (imms & ones) != ones;
}

/* Can it be executed without doing harm? */
static bool copy_usable(const struct copy_form *form, u32 insn)
{
	/* x18 is not loaded, and may be the shadow call stack's. */
	if (reg_in(form->what, insn, 18) || moves_stack(form, insn))
		return false;
	if ((form->what & BITMASK && !is_bitmask(insn)) ||
	    (form->what & KEEPS && reg_of(insn, D) == 31) ||
	    (form->what & PAIRS && !pairs_usable(insn)) ||
	    (form->what & BOTH && !both_usable(insn)) ||
	    (form->what & STRUCTURES && (insn >> 10 & 3) == 3 && !(insn & BIT(30))))
		return false;
	return form->at == NO_MEMORY || memory_usable(form, insn);
}

/* --- words --- */

/* The bits of the immediate, if there is one. If there is none, they do no harm. */
static u32 immediate_of(const struct copy_form *form)
{
	if (form->at != NO_MEMORY)
		return modes[form->at].immediate;
	return form->free & GENMASK(21, 10) &
	       ~((form->what & M ? GENMASK(20, 16) : 0) | (form->what & A ? GENMASK(14, 10) : 0));
}

/* In half of all cases, makes the immediate 0, -1, or the smallest or largest signed number. */
static u32 with_extreme(const struct copy_form *form, u32 insn)
{
	u32 imm = immediate_of(form), top = imm ? BIT(__fls(imm)) : 0;
	const u32 extremes[] = { 0, imm, top, imm & ~top };
	u32 choice = imm ? random_below(8) : 8;

	return choice < ARRAY_SIZE(extremes) ? (insn & ~imm) | extremes[choice] : insn;
}

static u32 with_alias(const struct copy_form *form, u32 insn)
{
	u32 from = BIT(random_below(4)), to = BIT(random_below(4));

	if (!(form->what & from) || !(form->what & to))
		return insn;
	return with_reg(insn, to, reg_of(insn, from));
}

/* Makes the stack pointer the base: displaced by 16 bytes up or down, or by one operand up */
static u32 with_stack(const struct copy_form *form, u32 insn)
{
	u32 imm = immediate_of(form), step = 16;

	insn = with_reg(insn, N, 31);
	if (!imm)
		return insn;
	if (form->at == PAIR)
		step = max(16U >> scale_of(form, insn), 1U);
	else if (form->at == UNSIGNED)
		step = 1;
	if (form->at != UNSIGNED && random_below(2))
		step = -step;
	return (insn & ~imm) | (step << __ffs(imm) & imm);
}

static u32 draw(const struct copy_form *form)
{
	u32 insn = prandom_u32_state(&copy_random);

	insn = with_extreme(form, insn);
	if (!random_below(3))
		insn = with_alias(form, insn);
	insn = form->value | (insn & form->free);
	if (form->at > ON_RT && form->what & N && !random_below(6))
		insn = form->value | (with_stack(form, insn) & form->free);
	return insn;
}

/* Returns 0 if none was found that can be used. */
static u32 copy_draw(const struct copy_form *form)
{
	unsigned int tries;
	u32 insn;

	for (tries = 0; tries < 1000; tries++) {
		insn = draw(form);
		if (copy_usable(form, insn))
			return insn;
	}
	return 0;
}

/* --- what registers hold --- */

/* Has memory be accessed at that address. Does nothing if the base is the stack pointer. */
static void copy_aim(const struct copy_form *form, u32 insn, u64 *regs, unsigned long at)
{
	unsigned int base = reg_of(insn, form->at == ON_RT ? D : N);

	if (form->at != NO_MEMORY && base != 31)
		regs[base] = at - offset_of(form, insn, regs);
}

/* Has a comparison with @memory succeed. After copy_aim() */
static void copy_agree(const struct copy_form *form, u32 insn, u64 *regs, const u64 *memory)
{
	unsigned int base = reg_of(insn, N), first = reg_of(insn, M);
	bool narrow = form->what & PAIRS && !(insn & BIT(30));

	if (!(form->what & COMPARES) || first == base || first == 31)
		return;
	regs[first] = memory[0];
	if (!(form->what & PAIRS) || first + 1 == base || first == 30)
		return;
	regs[first + 1] = narrow ? memory[0] >> 32 : memory[1];
}

#endif /* __ARM64_KERNEL_PROBES_TEST_COPY_DRAW_H */
