// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thunks: the probed instruction, executed by the processor on saved registers.
 *
 * A post handler has to see the effect of the instruction. The copy in the slot needs all
 * registers to be loaded before it and saved again after it; but no instruction has more than
 * four registers as operands. A thunk is a few instructions that load only these from a pt_regs,
 * execute a copy of the instruction with other registers in their place, and store those that
 * may have changed. kprobe_run_thunk() calls it.
 *
 * There are no thunks of instructions that access memory. The hit itself may have changed the
 * memory, as it does the preemption count; and when an instruction faults, everything else has
 * to be as in the probed code.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <asm/insn.h>

#include "decode-insn.h"
#include "thunk.h"

/* The fields of an instruction that are registers: Rd or Rt, Rn, Rm or Rs, Ra or Rt2 */
enum field { RD, RN, RM, RA, NR_FIELDS };

static const u8 shift_of[] = { [RD] = 0, [RN] = 5, [RM] = 16, [RA] = 10 };

/* The register that replaces the one of a field in a thunk: x9 to x12 */
#define TEMP(field)	(9 + (field))

#define READS(field)	BIT(field)
#define WRITES(field)	BIT(4 + (field))
/* Register 31 in Rn is the stack pointer, not zero */
#define RN_SP		BIT(8)
/* Register 31 in Rd is the stack pointer, not zero, if the instruction sets no flags */
#define RD_SP		BIT(9)

/**
 * struct row - instructions that use registers alike
 * @mask:	the bits that are compared; unallocated encodings have been refused before
 * @value:	the value of these bits
 * @what:	the fields that are registers, and how they are used
 */
struct row {
	u32	mask;
	u32	value;
	u16	what;
};

#define THREE_OPERANDS	(READS(RN) | READS(RM) | WRITES(RD))

static const struct row rows[] = {
	/* Data processing -- immediate */
	{ 0x1f800000, 0x11000000, READS(RN) | WRITES(RD) | RN_SP | RD_SP },	/* add, sub */
	{ 0x1f800000, 0x12000000, READS(RN) | WRITES(RD) | RD_SP },	/* logical */
	{ 0x1f800000, 0x12800000, READS(RD) | WRITES(RD) },		/* move wide */
	{ 0x1f800000, 0x13000000, READS(RN) | READS(RD) | WRITES(RD) },	/* bitfield */
	{ 0x1f800000, 0x13800000, THREE_OPERANDS },			/* extract */

	/* Data processing -- register */
	{ 0x1f000000, 0x0a000000, THREE_OPERANDS },			/* logical */
	{ 0x1f200000, 0x0b000000, THREE_OPERANDS },			/* add, sub */
	{ 0x1f200000, 0x0b200000, THREE_OPERANDS | RN_SP | RD_SP },	/* extended */
	{ 0x1fe0fc00, 0x1a000000, THREE_OPERANDS },			/* with carry */
	{ 0x3fe00c10, 0x3a400000, READS(RN) | READS(RM) },			/* ccmp */
	{ 0x3fe00c10, 0x3a400800, READS(RN) },
	{ 0x3fe00800, 0x1a800000, THREE_OPERANDS },			/* csel */
	{ 0x1f000000, 0x1b000000, THREE_OPERANDS | READS(RA) },		/* madd */
	{ 0x7fe0f800, 0x1ac00800, THREE_OPERANDS },			/* division */
	{ 0x7fe0f000, 0x1ac02000, THREE_OPERANDS },			/* shifts */
	{ 0x7fe0e000, 0x1ac04000, THREE_OPERANDS },			/* crc32 */
	{ 0x7fffe000, 0x5ac00000, READS(RN) | WRITES(RD) },		/* one source */
};

const unsigned int kprobe_nr_thunks = ARRAY_SIZE(rows);

/**
 * kprobe_find_thunk() - find the row of the table for an instruction
 * @insn:	an instruction that is to be copied
 *
 * Context: any.
 * Return: its index; -ENOENT if no thunk can be made of the instruction.
 */
int kprobe_find_thunk(u32 insn)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if ((insn & rows[i].mask) == rows[i].value)
			return i;
	}
	return -ENOENT;
}

static unsigned int register_number(u32 insn, enum field field)
{
	return insn >> shift_of[field] & 31;
}

/* Does an add, sub or logical instruction of a row with RD_SP set flags? */
static bool sets_flags(u32 insn)
{
	if ((insn & 0x1f800000) == 0x12000000)
		return (insn & 0x60000000) == 0x60000000;
	return insn & 0x20000000;
}

/* Does it change the stack pointer? Then no thunk is made. */
static bool moves_stack(u32 use, u32 insn)
{
	return use & RD_SP && register_number(insn, RD) == 31 && !sets_flags(insn);
}

/* Is this field a register that has to be loaded or stored? The zero register is not. */
static bool is_saved(u32 use, u32 insn, enum field field)
{
	return use & (READS(field) | WRITES(field)) &&
	       (register_number(insn, field) != 31 || (field == RN && use & RN_SP));
}

#define LOAD	AARCH64_INSN_LDST_LOAD_IMM_OFFSET
#define STORE	AARCH64_INSN_LDST_STORE_IMM_OFFSET

/*
 * A load or store of the register that replaces the one of a field. pt_regs has the stack pointer
 * behind x30, so register 31 needs no special case.
 */
static u32 move_insn(enum aarch64_insn_ldst_type type, u32 insn, enum field field)
{
	return aarch64_insn_gen_load_store_imm(TEMP(field), AARCH64_INSN_REG_0,
					       register_number(insn, field) * sizeof(u64),
					       AARCH64_INSN_SIZE_64, type);
}

/**
 * kprobe_make_thunk() - make a thunk of an instruction, if possible
 * @words:	where to write it
 * @room:	how many words there is room for
 * @insn:	an instruction that is to be copied
 *
 * Context: at registration; @words is not executed yet.
 * Return: the number of words, or 0.
 */
unsigned int kprobe_make_thunk(u32 *words, unsigned int room, u32 insn)
{
	int row = kprobe_find_thunk(insn);
	unsigned int n = 0;
	u32 use, copy = insn;
	enum field field;

	BUILD_BUG_ON(offsetof(struct pt_regs, sp) != 31 * sizeof(u64));
	if (row < 0)
		return 0;
	use = rows[row].what;
	if (moves_stack(use, insn))
		return 0;

	for (field = RD; field < NR_FIELDS; field++) {
		if (!is_saved(use, insn, field))
			continue;
		copy &= ~(31U << shift_of[field]);
		copy |= TEMP(field) << shift_of[field];
		if (use & READS(field) && n < room)
			words[n++] = move_insn(LOAD, insn, field);
	}
	if (n < room)
		words[n++] = copy;
	for (field = RD; field < NR_FIELDS; field++) {
		if (is_saved(use, insn, field) && use & WRITES(field) && n < room)
			words[n++] = move_insn(STORE, insn, field);
	}
	if (n == room)
		return 0;
	words[n++] = aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_LR,
						 AARCH64_INSN_BRANCH_RETURN);
	return n;
}
