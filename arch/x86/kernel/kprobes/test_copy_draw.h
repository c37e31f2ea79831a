/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_COPY_DRAW_H
#define __X86_KERNEL_KPROBES_TEST_COPY_DRAW_H
/*
 * Draws instructions for the cells of test_copy_cells.h, and contents of registers and memory
 * with which they do no harm.
 */
#include <linux/bitmap.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>
#include <asm/insn.h>
#include <asm/msr.h>

#include "internal.h"
#include "test_copy_cells.h"
#include "test_native.h"

enum { AX, CX, DX, BX, SP, BP, SI, DI, NO_REG = 16 };

/* Sizes of the memory in whose middle operands are, and of the part of the stack to compare */
#define MEMORY_SIZE	192
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
	u8		code[MAX_INSN_SIZE];
	u8		length;
	u8		serial;
	bool		wide;
	bool		percpu;
	u8		reg;
	u8		base;
	u8		index;
	u8		scale;
	u8		disp_at;
	u8		disp_size;
	s32		disp;
	bool		relative;
	u32		seed;
	unsigned long	at;
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
	s->code[s->length++] = byte;
}

static void append_opcode(struct subject *s)
{
	if (s->cell.opcode > 0xff)
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
	memcpy(code, s->code, sizeof(s->code));
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
	if (may_have_operand_size(c) && !below(4))
		append(s, 0x66);
	if (may_have_lock(c) && !below(3))
		append(s, 0xf0);
	if (c->opcode == 0x0fb8 || (may_have_rep(c) && below(2)))
		append(s, 0xf3);
	else if (is_comparison_of_strings(c->opcode) && below(2))
		append(s, 0xf2);
	if (IS_ENABLED(CONFIG_X86_64) && below(2))
		append(s, 0x40 | below(16));
}

static void draw(struct subject *s)
{
	s->length = 0;
	s->seed = prandom_u32_state(&random);
	if (is_stack_room(&s->cell) && !s->serial) {
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
	prandom_bytes_state(&random, s->code + s->length, sizeof(s->code) - s->length);
}

/* Are the registers bytes, without a REX prefix? Then register 4 is ah, not the stack pointer. */
static bool has_byte_registers(const struct subject *s, struct insn *insn)
{
	if (insn->rex_prefix.nbytes)
		return false;
	switch (s->cell.opcode) {
	case 0x00 ... 0x3f:
	case 0x80:
	case 0x82:
	case 0x84 ... 0x8a:
	case 0xc0 ... 0xc1:
	case 0xc6 ... 0xc7:
	case 0xd0 ... 0xd3:
	case 0xf6 ... 0xff:
	case 0x0fb0 ... 0x0fb1:
	case 0x0fc0 ... 0x0fc1:
		return !(s->cell.opcode & 1);
	case 0xb0 ... 0xb7:
	case 0x0f90 ... 0x0f9f:
		return true;
	}
	return false;
}

static u8 rm_register(struct insn *insn)
{
	return X86_MODRM_RM(insn->modrm.bytes[0]) | X86_REX_B(insn->rex_prefix.value) << 3;
}

/* Would the instruction lose the stack? */
static bool sets_sp(const struct subject *s, struct insn *insn)
{
	int opcode = s->cell.opcode;

	if (is_stack_room(&s->cell) && !s->serial)
		return false;
	if (has_byte_registers(s, insn))
		return false;
	if (s->cell.form == PLAIN)
		return sets_opcode_register(opcode) &&
		       ((opcode & 7) | X86_REX_B(insn->rex_prefix.value) << 3) == SP;
	if (!is_group(opcode) && s->reg == SP && !only_reads_reg(opcode))
		return true;
	return s->cell.form == REGISTER && rm_register(insn) == SP && !only_reads_rm(opcode);
}

/* A divisor must be known not to be zero: see set_dividend(). */
static bool may_fault(const struct subject *s, struct insn *insn)
{
	u8 rm = X86_MODRM_RM(insn->modrm.bytes[0]);

	if (s->cell.opcode == 0x0fc7 && s->wide && !boot_cpu_has(X86_FEATURE_CX16))
		return true;
	if (!is_division(&s->cell))
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
	return !is_bit_at_offset(s->cell.opcode) || s->cell.form != MEMORY ||
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
		s->code[s->disp_at] = s->disp;
	else if (s->disp_size)
		put_unaligned(s->disp, (s32 *)(s->code + s->disp_at));
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
	u8 *end = s->code + s->length;

	switch (s->cell.opcode) {
	case 0x83:		/* room on the stack */
		if (is_stack_room(&s->cell) && !s->serial)
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
	s->length = insn.length;
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
	s->at = at;
	if (!s->relative)
		return;
	s->disp = target() - (at + s->length);
	put_displacement(s);
}

static bool next_cell(struct cell *c, int i)
{
	int opcode = i / (8 * FORMS);

	*c = (struct cell) {
		.opcode	= opcode < 0x100 ? opcode : 0x0f00 | (opcode & 0xff),
		.ext	= i / FORMS % 8,
		.form	= i % FORMS,
	};
	return (c->form != PLAIN || !c->ext) && cell_is_copied(c);
}

/* How many instructions are drawn for a cell: enough to try all flags. */
static int nr_draws(const struct cell *c)
{
	struct cell other = *c;

	if (c->form == PLAIN)
		return 8;
	other.form = c->form == MEMORY ? REGISTER : MEMORY;
	if (is_group(c->opcode))
		return find_left_out(&other) ? 8 : 4;
	return find_left_out(&other) ? 2 : 1;
}

static DECLARE_BITMAP(cells_tried, NR_CELLS);

#define TRIES	256

/* Fills in the subjects of a cell, at most @room. Returns their number. */
static int draw_cell(struct subject *subjects, int room, const struct cell *c, int serial)
{
	int i, tries, n = 0;

	for (i = 0; i < nr_draws(c) && n < room; i++) {
		subjects[n] = (struct subject) { .cell = *c, .serial = serial + n };
		for (tries = 0; tries < TRIES && !draw_one(&subjects[n]); tries++)
			;
		n += tries < TRIES;
	}
	if (n)
		__set_bit(cell_index(c), cells_tried);
	return n;
}

static int draw_all(struct subject *subjects, int room)
{
	int i, n = 0, serial = 0, drawn;
	struct cell c, last = {};

	for (i = 0; i < NR_CELLS; i++) {
		if (!next_cell(&c, i) || find_left_out(&c) || !processor_has(&c))
			continue;
		if (c.opcode != last.opcode || (is_group(c.opcode) && c.ext != last.ext))
			serial = 0;
		last = c;
		drawn = draw_cell(subjects + n, room - n, &c, serial);
		serial += drawn;
		n += drawn;
	}
	return n;
}

/* --- contents of registers and memory --- */

/* The most frequent byte in memory */
#define COMMON_BYTE	0x55

/* Each instruction runs so many times, with different values. A cell's runs try all flags. */
#define NR_STATES	4

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

	if (is_string(opcode))
		set_string(regs);
	if (is_division(&s->cell))
		set_dividend(s, regs);
	if (is_bit_at_offset(opcode) && s->cell.form == MEMORY)
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
	if (s->index != NO_REG && s->base == SP && may_have_lock(&s->cell))
		*reg(regs, s->index) = 0;
	if (s->base != NO_REG && s->base != SP)
		set_operand(s, regs, target());
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
static void draw_contents(u32 seed)
{
	int i;

	contents.seed = seed;
	prandom_seed_state(&random, seed);
	prandom_bytes_state(&random, contents.stack, sizeof(contents.stack));
	prandom_bytes_state(&random, contents.memory, sizeof(contents.memory));
	for (i = 0; i < sizeof(contents.memory); i++)
		contents.memory[i] = contents.memory[i] & 3 ? COMMON_BYTE : contents.memory[i] | 1;
}

static void fill_memory(u32 seed)
{
	if (contents.seed != seed)
		draw_contents(seed);
	memcpy(memory, contents.memory, sizeof(memory));
	memcpy((void *)stack_start() - STACK_BELOW, contents.stack, sizeof(contents.stack));
}

/* Sets registers, memory and stack, the same for each run of an instruction in this state. */
static void set_up(const struct subject *s, int state, struct pt_regs *regs)
{
	int i;

	fill_memory(s->seed);
	prandom_seed_state(&random, s->seed + state);
	memset(regs, 0, sizeof(*regs));
	for (i = 0; i < NR_REGS; i++)
		*reg(regs, i) = random_word() | 1;
	regs->sp = stack_start();
	regs->flags = kprobe_test_flags((s->serial * NR_STATES + state) % NR_FLAGS);
	set_implied(s, regs);
	set_address(s, regs);
	set_expected(s, regs);
}

/* --- operands that are not there --- */

/* Followed by an address at which nothing is mapped */
static void *edge;

static int find_bad_address(void)
{
	edge = vmalloc(PAGE_SIZE);
	return edge ? 0 : -ENOMEM;
}

static void free_bad_address(void)
{
	vfree(edge);
	edge = NULL;
}

/* Of some instructions no address at all, which is another exception */
static unsigned long bad_address(const struct subject *s)
{
	if (IS_ENABLED(CONFIG_X86_64) && s->serial & 1)
		return BIT(BITS_PER_LONG - 1);
	return (unsigned long)edge + PAGE_SIZE + MEMORY_SIZE;
}

static bool can_fail(const struct subject *s)
{
	return s->cell.form == MEMORY && s->base != NO_REG && s->base != SP &&
	       !never_fails(&s->cell);
}

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_DRAW_H */
