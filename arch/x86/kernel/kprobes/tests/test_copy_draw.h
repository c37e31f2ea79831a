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

/* Vector instructions have theirs here, or in one of the lines beside: some must be aligned. */
#define VECTOR_AT	128
#define VECTOR_ALIGN	64

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
	u8		serial, variant;
	bool		masked;		/* the bits of a mask register say what is accessed */
	bool		wide, percpu, relative;
	u8		reg, base, index, scale, disp_at, disp_size;
	s32		disp;
	u32		seed;
};

static unsigned long target_of(const struct subject *s)
{
	return is_vector(&s->cell) ? (unsigned long)memory + VECTOR_AT : target();
}

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
	u8 map = map_of(&s->cell);

	if (map == MAP_38 || map == MAP_3A)
		append(s, MAP_0F);
	if (map && map < MAP_VEX)
		append(s, map);
	append(s, s->cell.opcode);
}

/* REX, or the bits of VEX as they would be there */
static u8 rex_of(struct insn *insn)
{
	u8 *vex = insn->vex_prefix.bytes;

	if (!insn->vex_prefix.nbytes)
		return insn->rex_prefix.value;
	return (~vex[1] >> 5 & (insn->vex_prefix.nbytes == 2 ? 4 : 7)) | X86_VEX_W(vex[2]) >> 4;
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
	return is_copied(insn, buf, code) &&
	       insn->opcode.bytes[insn->opcode.nbytes - 1] == (s->cell.opcode & 0xff) &&
	       !!insn->modrm.nbytes == (s->cell.form != PLAIN);
}

/*
 * In the last byte of EVEX: the vector's length is 512 bits; the second source is not above 15;
 * what is in memory is read once, for all elements; elements that the mask leaves out become zero
 */
#define EVEX_LONG	0x40
#define EVEX_LOW_SOURCE	0x08
#define EVEX_BROADCAST	0x10
#define EVEX_ZEROES	0x80

/*
 * Appends the prefixes that a vector instruction must have. @rex has the bits of REX; @source is
 * the second source, inverted; and @last is the last byte of EVEX, or says how long VEX's are.
 */
static void append_vector_prefixes(struct subject *s, u8 rex, u8 source, u8 last)
{
	static const u8 legacy[PREFIXES] = { 0, 0x66, 0xf3, 0xf2 };
	u8 map = map_of(&s->cell), rxb = ~rex << 5, w = (rex & 8) << 4;
	u8 rest = source << 3 | (last & EVEX_LONG ? 4 : 0) | s->cell.prefix;

	if (is_evex(&s->cell)) {
		append(s, 0x62);
		append(s, rxb | 16 | (map - MAP_EVEX));
		append(s, w | rest | 4);
		append(s, last);
	} else if (map == MAP_VEX + 1 && !(rex & ~4) && s->seed & 1) {
		append(s, 0xc5);
		append(s, (rxb & 0x80) | rest);
	} else if (is_vex(&s->cell)) {
		append(s, 0xc4);
		append(s, rxb | (map - MAP_VEX));
		append(s, w | rest);
	} else {
		if (s->cell.prefix != NO_PREFIX)
			append(s, legacy[s->cell.prefix]);
		if (IS_ENABLED(CONFIG_X86_64) && rex)
			append(s, 0x40 | rex);
	}
}

/* Are the instructions of this cell carried out by a copy? */
static bool cell_is_copied(const struct cell *c)
{
	struct subject s = { .cell = *c };
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	if (is_vector(c))
		append_vector_prefixes(&s, 0, 15, EVEX_LOW_SOURCE);
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
		rdmsrq(MSR_GS_BASE, base);
	else
		base = (unsigned long)raw_cpu_ptr(&kprobe_int3_count) -
		       (__force unsigned long)&kprobe_int3_count;
	return base;
}

/* Which length, size, and second source an instruction takes is found by trying all of these. */
#define NR_VARIANTS	8

/*
 * Broadcasts and masks, but for a cell's first instruction. The second one that has an operand in
 * memory always accesses that: it has no mask.
 */
static u8 draw_evex_last(struct subject *s)
{
	u8 last = EVEX_LOW_SOURCE | (below(4) ? 0 : EVEX_BROADCAST) | below(3) << 5;

	s->masked = below(2) && (s->cell.form != MEMORY || s->serial > 1);
	return s->masked ? last | (1 + below(7)) | (below(2) ? EVEX_ZEROES : 0) : last;
}

/* Registers above 15 are left out: Bochs 2.7 has general ones, too. */
static void draw_vector_prefixes(struct subject *s)
{
	u8 rex = s->variant & 2 ? 8 : 0, source = s->variant & 4 ? 15 : below(16);
	u8 last = EVEX_LOW_SOURCE | (s->variant & 1 ? EVEX_LONG : 0);

	s->masked = false;
	if (is_evex(&s->cell) && s->serial)
		last = draw_evex_last(s);
	if (has_trait(&s->cell, SHORT_VECTORS))
		last &= ~EVEX_LONG;
	if (has_trait(&s->cell, NEEDS_64_BITS))
		rex |= 8;
	if (IS_ENABLED(CONFIG_X86_64))
		rex |= below(8);
	else
		source |= 8;	/* or it would be les or lds */
	if (has_trait(&s->cell, IN_MMX))
		rex &= s->cell.form == REGISTER ? ~5 : ~4;
	if (is_evex(&s->cell) && s->cell.form == REGISTER)
		rex &= ~2;
	append_vector_prefixes(s, rex, source, last);
}

static void draw_prefixes(struct subject *s)
{
	const struct cell *c = &s->cell;

	s->percpu = c->form == MEMORY && !below(4) && (s->serial || !is_vector(c));
	if (s->percpu)
		append(s, PERCPU_PREFIX);
	if (is_vector(c))
		return draw_vector_prefixes(s);
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

/* A cell's first vector instruction with an operand in memory has it at a fixed address. */
static void draw_modrm(struct subject *s)
{
	bool fixed = is_vector(&s->cell) && !s->serial && s->cell.form == MEMORY;
	u8 mod = fixed ? 0 : below(3), rm = fixed ? BP : below(8);
	struct cell c = s->cell;

	if (is_vector(&c) && !is_group(&c))
		c.ext = below(8);
	/* Bochs 2.7 aborts if a broadcast, right or not, has a displacement of one byte. */
	if (is_evex(&c) && s->text.code[s->text.length - 2] & EVEX_BROADCAST && mod == 1)
		mod = 2;
	append(s, modrm_of(&c, mod, rm));
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
			draw_modrm(s);
	}
	prandom_bytes_state(&random, s->text.code + s->text.length, MAX_INSN_SIZE - s->text.length);
}

static bool has_byte_registers(const struct subject *s, struct insn *insn)
{
	return !insn->rex_prefix.nbytes && has_trait(&s->cell, BYTES);
}

static u8 rm_register(struct insn *insn)
{
	return X86_MODRM_RM(insn->modrm.bytes[0]) | X86_REX_B(rex_of(insn)) << 3;
}

/* Would the instruction lose the stack? Of vector instructions, none has its register. */
static bool sets_sp(const struct subject *s, struct insn *insn)
{
	const struct cell *c = &s->cell;

	if (is_vector(c))
		return (is_vex(c) && X86_VEX_V(insn->vex_prefix.bytes[2]) == (~SP & 15)) ||
		       (!is_group(c) && s->reg == SP) ||
		       (c->form == REGISTER && rm_register(insn) == SP);
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
	u8 rex = rex_of(insn), sib = insn->sib.bytes[0];
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
	/* The stack is not aligned as some need it. */
	if (is_vector(&s->cell) && s->cell.form == MEMORY &&
	    (s->base == SP || (s->base == NO_REG && s->serial)))
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
		s->disp = (s32)target_of(s);
	else if (!is_evex(&s->cell) || s->disp_size > 1)	/* or EVEX would scale it */
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
	s->disp = target_of(s) - (at + s->text.length);
	put_displacement(s);
}

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_DRAW_H */
