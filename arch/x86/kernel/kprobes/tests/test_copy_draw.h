/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_COPY_DRAW_H
#define __X86_KERNEL_KPROBES_TEST_COPY_DRAW_H
/*
 * Draws instructions for the cells of test_copy_cells.h.
 */
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/insn.h>
#include <asm/msr.h>

#include "../internal.h"
#include "test_copy_cells.h"
#include "test_native.h"

enum { AX, CX, DX, BX, SP, BP, SI, DI, NO_REG = 16 };

/* Sizes of the memory in whose middle operands are, and of the part of the stack to compare */
#define MEMORY_SIZE	320
#define STACK_BELOW	(10 * sizeof(long))
#define STACK_ABOVE	192

/* What target() leads to must not cross a cache line: see set_address(). */
static u8 memory[MEMORY_SIZE] __aligned(64);
static struct rnd_state random;

static u32 below(u32 n)
{
	return prandom_u32_state(&random) % n;
}

static unsigned long random_word(void)
{
	return prandom_u32_state(&random) | (u64)prandom_u32_state(&random) << 32;
}

static unsigned long target(void)
{
	return (unsigned long)memory + MEMORY_SIZE / 2;
}

static unsigned long stack_start(void)
{
	return (unsigned long)&kprobe_test_stack[STACK_AT];
}

/* An instruction, and what has to be known to set its operands */
struct subject {
	struct cell	cell;
	struct diff_insn text;
	u8		serial;
	bool		wide, percpu, relative;
	u8		reg, base, index, scale, disp_at, disp_size;
	s32		disp;
	u32		seed;
};

/* Would a probe use a copy of the instruction at @code? Another one has to fit behind it. */
static bool is_copied(struct insn *insn, u8 *buf, const u8 *code)
{
	unsigned long addr = (unsigned long)code;
	const char *kind;
	bool copied;

	preempt_disable();
	copied = !kprobe_decode(insn, buf, addr) && !kprobe_check_insn(insn, addr, &kind) &&
		 kprobe_can_boost(insn);
	preempt_enable();
	return copied;
}

static void append(struct subject *s, u8 byte)
{
	s->text.code[s->text.length++] = byte;
}

static void append_opcode(struct subject *s)
{
	if (s->cell.opcode >> 8)
		append(s, 0x0f);
	append(s, s->cell.opcode);
}

static u8 modrm_of(const struct cell *c, u8 mod, u8 rm)
{
	return (c->form == REGISTER ? 3 : mod) << 6 | c->ext << 3 | rm;
}

static bool try_decode(struct subject *s, struct insn *insn, u8 *buf)
{
	u8 code[2 * MAX_INSN_SIZE];

	memset(code, 0x90, sizeof(code));
	memcpy(code, s->text.code, MAX_INSN_SIZE);
	return is_copied(insn, buf, code) && kprobe_opcode(insn) == s->cell.opcode &&
	       !!insn->modrm.nbytes == (s->cell.form != PLAIN);
}

/* Are the instructions of this cell carried out by a copy? */
static bool cell_is_copied(const struct cell *c)
{
	struct subject s = { .cell = *c };
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	append_opcode(&s);
	append(&s, modrm_of(c, 1, 0));
	return try_decode(&s, &insn, buf);
}

/* The segment whose base is that of the CPU's data */
#define PERCPU_PREFIX	(IS_ENABLED(CONFIG_X86_64) ? 0x65 : 0x64)

static unsigned long percpu_base(void)
{
	unsigned long base;

	if (IS_ENABLED(CONFIG_X86_64))
		rdmsrl(MSR_GS_BASE, base);
	else
		base = (unsigned long)raw_cpu_ptr(&kprobe_int3_count) -
		       (__force unsigned long)&kprobe_int3_count;
	return base;
}

static void draw_prefixes(struct subject *s)
{
	const struct cell *c = &s->cell;

	s->percpu = c->form == MEMORY && !below(4);
	if (s->percpu)
		append(s, PERCPU_PREFIX);
	if (!has_trait(c, NO_SIZE | USES_STACK) && !below(4))
		append(s, 0x66);
	if (has_trait(c, MAY_LOCK) && !below(3))
		append(s, 0xf0);
	if (c->opcode == 0x0fb8 || (has_trait(c, MAY_REP) && below(2)))
		append(s, 0xf3);
	else if (has_trait(c, COMPARES_STRING) && below(2))
		append(s, 0xf2);
	if (IS_ENABLED(CONFIG_X86_64) && below(2))
		append(s, 0x40 | below(16));
}

static void draw(struct subject *s)
{
	s->text.length = 0;
	s->seed = prandom_u32_state(&random);
	if (has_trait(&s->cell, STACK_ROOM) && !s->serial) {
		if (IS_ENABLED(CONFIG_X86_64))
			append(s, 0x48);
		append_opcode(s);
		append(s, modrm_of(&s->cell, 3, SP));
	} else {
		draw_prefixes(s);
		append_opcode(s);
		if (s->cell.form != PLAIN)
			append(s, modrm_of(&s->cell, below(3), below(8)));
	}
	prandom_bytes_state(&random, s->text.code + s->text.length, MAX_INSN_SIZE - s->text.length);
}

static bool has_byte_registers(const struct subject *s, struct insn *insn)
{
	return !insn->rex_prefix.nbytes && has_trait(&s->cell, BYTES);
}

static u8 rm_register(struct insn *insn)
{
	return X86_MODRM_RM(insn->modrm.bytes[0]) | X86_REX_B(insn->rex_prefix.value) << 3;
}

/* Would the instruction lose the stack? */
static bool sets_sp(const struct subject *s, struct insn *insn)
{
	const struct cell *c = &s->cell;

	if ((has_trait(c, STACK_ROOM) && !s->serial) || has_byte_registers(s, insn))
		return false;
	if (c->form == PLAIN)
		return has_trait(c, SETS_REG) &&
		       ((c->opcode & 7) | X86_REX_B(insn->rex_prefix.value) << 3) == SP;
	if (!is_group(c) && s->reg == SP && !has_trait(c, READS_REG))
		return true;
	return c->form == REGISTER && rm_register(insn) == SP && !has_trait(c, READS_RM);
}

/* A divisor must be known not to be zero: see set_dividend(). */
static bool may_fault(const struct subject *s, struct insn *insn)
{
	u8 rm = X86_MODRM_RM(insn->modrm.bytes[0]);

	if (s->cell.opcode == 0x0fc7 && s->wide && !boot_cpu_has(X86_FEATURE_CX16))
		return true;
	if (!has_trait(&s->cell, DIVIDES))
		return false;
	if (s->cell.form == REGISTER)
		return rm == DX || rm == SP || (has_byte_registers(s, insn) && rm > SP);
	return s->base == AX || s->base == DX || s->index == AX || s->index == DX;
}

static void find_operand(struct subject *s, struct insn *insn)
{
	u8 rex = insn->rex_prefix.value, sib = insn->sib.bytes[0];
	u8 mod = X86_MODRM_MOD(insn->modrm.bytes[0]);

	s->wide = X86_REX_W(rex);
	s->reg = X86_MODRM_REG(insn->modrm.bytes[0]) | (X86_REX_R(rex) ? 8 : 0);
	s->base = NO_REG;
	s->index = NO_REG;
	s->scale = 0;
	if (s->cell.form != MEMORY)
		return;
	if (!insn->sib.nbytes) {
		if (rm_register(insn) % 8 != BP || mod)
			s->base = rm_register(insn);
		return;
	}
	s->scale = X86_SIB_SCALE(sib);
	if (X86_SIB_INDEX(sib) != SP || X86_REX_X(rex))
		s->index = X86_SIB_INDEX(sib) | (X86_REX_X(rex) ? 8 : 0);
	if (X86_SIB_BASE(sib) != BP || mod)
		s->base = X86_SIB_BASE(sib) | X86_REX_B(rex) << 3;
}

/* Can registers be set so that the operand is where it has to be? */
static bool operand_fits(const struct subject *s)
{
	if (s->base != NO_REG && s->base == s->index)
		return false;
	if (s->percpu && (s->base == NO_REG || s->base == SP))
		return false;
	if (s->cell.opcode == 0x0fc7 && s->index != NO_REG)
		return false;	/* has to be aligned */
	return !has_trait(&s->cell, BIT_AT_OFFSET) || s->cell.form != MEMORY ||
	       (s->reg != SP && s->base != s->reg);
}

static s32 draw_displacement(const struct subject *s)
{
	static const s32 extremes[] = { S32_MIN, S32_MAX, S32_MIN + 1, -1, 0 };

	if (s->base == SP)
		return 16 * below(8);
	if (s->disp_size == 1)
		return below(2) ? (s8)below(256) : below(2) ? S8_MIN : S8_MAX;
	return below(2) ? (s32)prandom_u32_state(&random) : extremes[below(5)];
}

static void put_displacement(struct subject *s)
{
	if (s->disp_size == 1)
		s->text.code[s->disp_at] = s->disp;
	else if (s->disp_size)
		put_unaligned(s->disp, (s32 *)(s->text.code + s->disp_at));
}

static void set_displacement(struct subject *s, struct insn *insn)
{
	s->disp = 0;
	s->disp_at = insn_offset_displacement(insn);
	s->disp_size = insn->displacement.nbytes;
	s->relative = IS_ENABLED(CONFIG_X86_64) && s->cell.form == MEMORY &&
		      insn_rip_relative(insn);
	if (!s->disp_size || s->relative)
		return;
	if (s->base == NO_REG)
		s->disp = (s32)target();
	else
		s->disp = draw_displacement(s);
	put_displacement(s);
}

/* Sets immediates that cannot have just any value. */
static void set_immediate(struct subject *s)
{
	u8 *end = s->text.code + s->text.length;

	switch (s->cell.opcode) {
	case 0x83:		/* room on the stack */
		if (has_trait(&s->cell, STACK_ROOM) && !s->serial)
			end[-1] = 16 * (1 + below(4));
		break;
	case 0xa0 ... 0xa3:	/* mov with an absolute address */
		put_unaligned(target(), (unsigned long *)(end - sizeof(long)));
		break;
	case 0xc8:		/* enter: no room, and so many frames above */
		end[-3] = 0;
		end[-2] = 0;
		end[-1] &= 3;
		break;
	case 0xd4 ... 0xd5:	/* aam, aad: a divisor */
		end[-1] |= 1;
		break;
	}
}

/* Draws an instruction for a cell. Returns false if it cannot be executed. */
static bool draw_one(struct subject *s)
{
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	draw(s);
	if (!try_decode(s, &insn, buf))
		return false;
	s->text.length = insn.length;
	find_operand(s, &insn);
	if (!operand_fits(s) || sets_sp(s, &insn) || may_fault(s, &insn))
		return false;
	set_displacement(s, &insn);
	set_immediate(s);
	return true;
}

/* Sets the address at which the instruction is going to run. */
static void relocate(struct subject *s, unsigned long at)
{
	s->text.at = at;
	if (!s->relative)
		return;
	s->disp = target() - (at + s->text.length);
	put_displacement(s);
}

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_DRAW_H */
