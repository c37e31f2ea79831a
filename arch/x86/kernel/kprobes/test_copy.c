// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * Each opcode that the decoder has copied is drawn several times, with registers, operands
 * in memory and prefixes. All of it is written into a function's text, and runs there as it
 * is, and then with a probe on it in all ways that there are.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/vmalloc.h>
#include <asm/inat.h>
#include <asm/insn.h>
#include <asm/nops.h>
#include <asm/text-patching.h>

#include "../../../../lib/test_kprobes/switch.h"
#include "common.h"
#include "test_native.h"

/* --- generator: from here on up to the places --- */

enum { AX, CX, DX, BX, SP, BP, SI, DI, NO_REG = 16 };
enum form { PLAIN, MEMORY, REGISTER, FORMS };

#define ANY_EXT		0xff
#define ANY_FORM	(BIT(PLAIN) | BIT(MEMORY) | BIT(REGISTER))

/* What operands in memory are in the middle of; and the seen part of the stack */
#define MEMORY_SIZE	192
#define STACK_BELOW	(10 * sizeof(long))
#define STACK_ABOVE	192

static u8 memory[MEMORY_SIZE] __aligned(16);
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

/**
 * struct left_out - opcodes that are copied, but not executed here
 * @first:	from, see kprobe_opcode()
 * @last:	to
 * @exts:	bitmask: values of the ModRM byte's reg field, for groups
 * @forms:	bitmask: kinds of operands
 * @bits:	32 or 64 where it is only for one of these, else 0
 * @why:	the reason
 */
struct left_out {
	u16		first;
	u16		last;
	u8		exts;
	u8		forms;
	u8		bits;
	const char	*why;
};

static const char segments[] = "the kernel's segment registers are not to be tried out";
static const char ports[] = "talks to devices";
static const char fpu[] = "the FPU's and vector registers are not the kernel's to use";
static const char privileged[] = "changes the state of the processor";
static const char differs[] = "its result differs each time, or on each processor";
static const char undefined[] = "is no instruction, or not on every processor";
static const char loses_stack[] = "without REX it sets the stack pointer";

static const struct left_out left_out[] = {
	{ 0x06, 0x07, ANY_EXT, ANY_FORM, 0, segments },	/* push, pop %es */
	{ 0x0e, 0x0e, ANY_EXT, ANY_FORM, 0, segments },	/* push %cs */
	{ 0x16, 0x16, ANY_EXT, ANY_FORM, 0, segments },	/* push %ss */
	{ 0x1e, 0x1f, ANY_EXT, ANY_FORM, 0, segments },	/* push, pop %ds */
	{ 0x27, 0x27, ANY_EXT, ANY_FORM, 64, undefined },	/* daa */
	{ 0x2f, 0x2f, ANY_EXT, ANY_FORM, 64, undefined },	/* das */
	{ 0x37, 0x37, ANY_EXT, ANY_FORM, 64, undefined },	/* aaa */
	{ 0x3f, 0x3f, ANY_EXT, ANY_FORM, 64, undefined },	/* aas */
	{ 0x44, 0x44, ANY_EXT, ANY_FORM, 32, loses_stack },	/* inc */
	{ 0x4c, 0x4c, ANY_EXT, ANY_FORM, 32, loses_stack },	/* dec */
	{ 0x5c, 0x5c, ANY_EXT, ANY_FORM, 32, loses_stack },	/* pop */
	{ 0x60, 0x61, ANY_EXT, ANY_FORM, 64, undefined },	/* pusha, popa */
	{ 0x62, 0x62, ANY_EXT, ANY_FORM, 32, "traps" },		/* bound */
	{ 0x6c, 0x6f, ANY_EXT, ANY_FORM, 0, ports },		/* ins, outs */
	{ 0x82, 0x82, ANY_EXT, ANY_FORM, 64, undefined },	/* as 0x80 */
	{ 0x8c, 0x8c, ANY_EXT, ANY_FORM, 0, segments },		/* mov from */
	{ 0x8d, 0x8d, ANY_EXT, BIT(REGISTER), 0, undefined },	/* lea */
	{ 0x8e, 0x8e, ANY_EXT, ANY_FORM, 0, segments },		/* mov to */
	{ 0x94, 0x94, ANY_EXT, ANY_FORM, 32, loses_stack },	/* xchg */
	{ 0x9b, 0x9b, ANY_EXT, ANY_FORM, 0, fpu },		/* fwait */
	{ 0xbc, 0xbc, ANY_EXT, ANY_FORM, 32, loses_stack },	/* mov */
	{ 0xc4, 0xc5, ANY_EXT, ANY_FORM, 32, segments },	/* les, lds */
	{ 0xd4, 0xd4, ANY_EXT, ANY_FORM, 64, undefined },	/* aam */
	{ 0xd6, 0xd6, ANY_EXT, ANY_FORM, 64, undefined },	/* salc */
	{ 0xd8, 0xdf, ANY_EXT, ANY_FORM, 0, fpu },
	{ 0xe4, 0xe7, ANY_EXT, ANY_FORM, 0, ports },		/* in, out */
	{ 0xec, 0xef, ANY_EXT, ANY_FORM, 0, ports },
	{ 0xf6, 0xf7, BIT(1), ANY_FORM, 0, undefined },	/* test */
	{ 0x0f00, 0x0f01, ANY_EXT, ANY_FORM, 0, privileged },	/* lldt, lgdt and so on */
	{ 0x0f02, 0x0f03, ANY_EXT, ANY_FORM, 0, differs },	/* lar, lsl */
	{ 0x0f06, 0x0f06, ANY_EXT, ANY_FORM, 0, privileged },	/* clts */
	{ 0x0f08, 0x0f09, ANY_EXT, ANY_FORM, 0, privileged },	/* invd, wbinvd */
	{ 0x0f0d, 0x0f0d, ANY_EXT, BIT(REGISTER), 0, undefined },	/* prefetchw */
	{ 0x0f0e, 0x0f17, ANY_EXT, ANY_FORM, 0, fpu },
	{ 0x0f18, 0x0f18, ANY_EXT, BIT(REGISTER), 0, undefined },	/* prefetch */
	{ 0x0f1a, 0x0f1b, ANY_EXT, ANY_FORM, 0, fpu },		/* bndmov and so on */
	{ 0x0f20, 0x0f23, ANY_EXT, ANY_FORM, 0, privileged },	/* mov to and from cr, dr */
	{ 0x0f28, 0x0f2f, ANY_EXT, ANY_FORM, 0, fpu },
	{ 0x0f30, 0x0f30, ANY_EXT, ANY_FORM, 0, privileged },	/* wrmsr */
	{ 0x0f31, 0x0f33, ANY_EXT, ANY_FORM, 0, differs },	/* rdtsc, rdmsr, rdpmc */
	{ 0x0f50, 0x0f7f, ANY_EXT, ANY_FORM, 0, fpu },
	{ 0x0fa0, 0x0fa1, ANY_EXT, ANY_FORM, 0, segments },	/* push, pop %fs */
	{ 0x0fa2, 0x0fa2, ANY_EXT, ANY_FORM, 0, differs },	/* cpuid */
	{ 0x0fa6, 0x0fa7, ANY_EXT, ANY_FORM, 0, undefined },	/* VIA's */
	{ 0x0fa8, 0x0fa8, ANY_EXT, ANY_FORM, 0, segments },	/* push %gs */
	{ 0x0fa9, 0x0fa9, ANY_EXT, ANY_FORM, 32, segments },	/* pop %gs */
	{ 0x0fae, 0x0fae, ANY_EXT, BIT(MEMORY), 0, fpu },	/* fxsave; clflush */
	{ 0x0fae, 0x0fae, 0x1f, BIT(REGISTER), 0, undefined },	/* but fences */
	{ 0x0fb2, 0x0fb2, ANY_EXT, ANY_FORM, 0, segments },	/* lss */
	{ 0x0fb4, 0x0fb4, ANY_EXT, ANY_FORM, 0, segments },	/* lfs */
	{ 0x0fb5, 0x0fb5, ANY_EXT, ANY_FORM, 32, segments },	/* lgs */
	{ 0x0fba, 0x0fba, 0x0f, ANY_FORM, 0, undefined },	/* but bt and so on */
	{ 0x0fc2, 0x0fc2, ANY_EXT, ANY_FORM, 0, fpu },
	{ 0x0fc3, 0x0fc3, ANY_EXT, BIT(REGISTER), 0, undefined },	/* movnti */
	{ 0x0fc4, 0x0fc6, ANY_EXT, ANY_FORM, 0, fpu },
	{ 0x0fc7, 0x0fc7, 0xfd, ANY_FORM, 0, privileged },	/* but cmpxchg8b */
	{ 0x0fc7, 0x0fc7, BIT(1), BIT(REGISTER), 0, undefined },
	{ 0x0fcc, 0x0fcc, ANY_EXT, ANY_FORM, 32, loses_stack },	/* bswap */
	{ 0x0fd0, 0x0fff, ANY_EXT, ANY_FORM, 0, fpu },
};

/* Opcodes with the kind of their operand, for groups each of its own: what must be tried */
struct cell {
	u16		opcode;
	u8		ext;
	enum form	form;
};

/* An instruction, and what it takes to set its operands */
struct subject {
	struct cell	cell;
	u8		code[MAX_INSN_SIZE];
	u8		length;
	u8		serial;
	bool		wide;
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

static bool is_group(int opcode)
{
	insn_attr_t attr = inat_get_opcode_attribute(opcode > 0xff ? 0x0f : opcode);

	if (opcode > 0xff)
		attr = inat_get_escape_attribute(opcode & 0xff, 0, attr);
	return inat_is_group(attr);
}

/* What a site at @code would have. @code has room for another instruction behind. */
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

/* Whether the decoder has copied what is in a cell. All of them are tried. */
static bool cell_is_copied(const struct cell *c)
{
	struct subject s = { .cell = *c };
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	append_opcode(&s);
	append(&s, modrm_of(c, 1, 0));
	return try_decode(&s, &insn, buf);
}

static bool row_is_for(const struct left_out *row, const struct cell *c)
{
	return c->opcode >= row->first && c->opcode <= row->last && row->exts & BIT(c->ext) &&
	       row->forms & BIT(c->form) && (!row->bits || row->bits == BITS_PER_LONG);
}

static const struct left_out *find_left_out(const struct cell *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		if (row_is_for(&left_out[i], c))
			return &left_out[i];
	}
	return NULL;
}

static bool processor_has(const struct cell *c)
{
	switch (c->opcode) {
	case 0x9e ... 0x9f:	/* sahf, lahf */
		return !IS_ENABLED(CONFIG_X86_64) || boot_cpu_has(X86_FEATURE_LAHF_LM);
	case 0x0f0d:		/* prefetchw */
		return boot_cpu_has(X86_FEATURE_3DNOWPREFETCH);
	case 0x0f18:		/* prefetch */
		return boot_cpu_has(X86_FEATURE_XMM);
	case 0x0f40 ... 0x0f4f:
		return boot_cpu_has(X86_FEATURE_CMOV);
	case 0x0fae:		/* fences, movnti */
	case 0x0fc3:
		return boot_cpu_has(X86_FEATURE_XMM2);
	case 0x0fb8:
		return boot_cpu_has(X86_FEATURE_POPCNT);
	}
	return true;
}

static bool is_string(int opcode)
{
	return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
}

static bool is_comparison_of_strings(int opcode)
{
	return opcode == 0xa6 || opcode == 0xa7 || opcode == 0xae || opcode == 0xaf;
}

/* Bit tests whose offset is in a register, and leads away from the operand */
static bool is_bit_at_offset(int opcode)
{
	return opcode == 0x0fa3 || opcode == 0x0fab || opcode == 0x0fb3 || opcode == 0x0fbb;
}

static bool is_division(const struct cell *c)
{
	return (c->opcode == 0xf6 || c->opcode == 0xf7) && c->ext >= 6;
}

/* What pushes or pops. Such a word is to be seen below where the stack has begun. */
static bool uses_stack(const struct cell *c)
{
	switch (c->opcode) {
	case 0x50 ... 0x5f:
	case 0x68:
	case 0x6a:
	case 0x8f:
	case 0x9c ... 0x9d:
	case 0xc8 ... 0xc9:
		return true;
	case 0x60 ... 0x61:
		return !IS_ENABLED(CONFIG_X86_64);
	case 0xff:
		return c->ext == 6;
	}
	return false;
}

static bool may_have_lock(const struct cell *c)
{
	if (c->form != MEMORY)
		return false;
	switch (c->opcode) {
	case 0x00 ... 0x37:
		return (c->opcode & 7) < 2;
	case 0x80 ... 0x81:
	case 0x83:
		return c->ext != 7;
	case 0x86 ... 0x87:
	case 0x0fab:
	case 0x0fb0 ... 0x0fb1:
	case 0x0fb3:
	case 0x0fbb:
	case 0x0fc0 ... 0x0fc1:
	case 0x0fc7:
		return true;
	case 0xf6 ... 0xf7:
		return c->ext == 2 || c->ext == 3;
	case 0xfe ... 0xff:
		return c->ext < 2;
	case 0x0fba:
		return c->ext > 4;
	}
	return false;
}

/* A stack of halves of words is nobody's; elsewhere it makes another instruction of it. */
static bool may_have_operand_size(const struct cell *c)
{
	switch (c->opcode) {
	case 0x0fae:
	case 0x0fc3:
	case 0x0fc7 ... 0x0fcf:
		return false;
	}
	return !uses_stack(c);
}

static bool may_have_rep(const struct cell *c)
{
	switch (c->opcode) {
	case 0x0fb8:		/* popcnt; tzcnt, lzcnt */
	case 0x0fbc ... 0x0fbd:
		return true;
	}
	return is_string(c->opcode);
}

/* Those of the subtraction that makes room on the stack, and of its counterpart */
static bool is_stack_room(const struct cell *c)
{
	return c->opcode == 0x83 && c->form == REGISTER && (c->ext == 0 || c->ext == 5);
}

static void draw_prefixes(struct subject *s)
{
	const struct cell *c = &s->cell;

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

/* Where a byte is meant, and there is no REX, that register is ah. */
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

/* Some of those that leave a register alone, so that it can be the stack pointer */
static bool only_reads_reg(int opcode)
{
	switch (opcode) {
	case 0x00 ... 0x37:
		return !(opcode & 2);
	case 0x38 ... 0x3b:
	case 0x84 ... 0x85:
	case 0x88 ... 0x89:
		return true;
	}
	return false;
}

static bool only_reads_rm(int opcode)
{
	switch (opcode) {
	case 0x00 ... 0x37:
		return opcode & 2;
	case 0x38 ... 0x3b:
	case 0x84 ... 0x85:
	case 0x8a ... 0x8b:
	case 0x0f40 ... 0x0f4f:
	case 0x0faf:
		return true;
	}
	return false;
}

static u8 rm_register(struct insn *insn)
{
	return X86_MODRM_RM(insn->modrm.bytes[0]) | X86_REX_B(insn->rex_prefix.value) << 3;
}

/* What has its register in the opcode, and changes it */
static bool sets_opcode_register(int opcode)
{
	switch (opcode) {
	case 0x40 ... 0x4f:
	case 0x58 ... 0x5f:
	case 0x91 ... 0x97:
	case 0xb0 ... 0xbf:
	case 0x0fc8 ... 0x0fcf:
		return true;
	}
	return false;
}

/* Whether the stack would be lost */
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

/* A divisor has to be known not to be zero: see set_dividend(). */
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

/* Whether the operand can be brought where it belongs by the values of its registers */
static bool operand_fits(const struct subject *s)
{
	if (s->base != NO_REG && s->base == s->index)
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

/* Sets what nothing but the code says. */
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

/* Draws an instruction for a cell. Returns false if that is none that can be executed. */
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

/* Sets where it is going to run. */
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

#define NR_CELLS	(0x200 * 8 * FORMS)

/* How often the instructions of a cell are drawn: all flags have to come by. */
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

/* Where registers are drawn, it is one cell whatever they are. */
static int cell_index(const struct cell *c)
{
	int opcode = (c->opcode & 0xff) + (c->opcode > 0xff ? 0x100 : 0);

	return (opcode * 8 + (is_group(c->opcode) ? c->ext : 0)) * FORMS + c->form;
}

#define TRIES	256

/* Fills in the subjects of a cell, at most @room. Returns how many there are. */
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

/* --- generator: what is in registers and memory --- */

/* What is often in memory */
#define COMMON_BYTE	0x55

/* Each instruction with so many values; the flags of all of a cell's are all that there are. */
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

/* Sets the registers that are named by nothing but the opcode. */
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

static void set_address(const struct subject *s, struct pt_regs *regs)
{
	if (s->index != NO_REG)
		*reg(regs, s->index) = (long)below(4) - (s->base == SP ? 0 : 2);
	if (s->base != NO_REG && s->base != SP)
		*reg(regs, s->base) = target() - offset_of(s, regs) - s->disp;
}

static unsigned long operand_at(const struct subject *s, struct pt_regs *regs)
{
	if (s->base == NO_REG)
		return target() + offset_of(s, regs);
	return *reg(regs, s->base) + offset_of(s, regs) + s->disp;
}

/* Has half of the exchanges happen. */
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

/* What an instruction finds in memory and on the stack, all times that it runs */
static struct {
	u32	seed;
	u8	memory[MEMORY_SIZE];
	u8	stack[STACK_BELOW + STACK_ABOVE];
} contents;

/* Few values, none zero: so there are equal ones, and none is a bad divisor. */
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

/* The same for each run of an instruction */
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

struct registers {
	unsigned long	reg[16];
	unsigned long	flags;
	unsigned long	ip;
};

struct outcome {
	struct registers registers;
	u8		memory[MEMORY_SIZE];
	u8		stack[STACK_BELOW + STACK_ABOVE];
};

static void see_registers(struct registers *r, struct pt_regs *regs)
{
	int i;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < NR_REGS; i++)
		r->reg[i] = *reg(regs, i);
	r->flags = regs->flags & ~(unsigned long)X86_EFLAGS_RF;
	r->ip = regs->ip;
}

/* Below what is in use of the stack are the remains of the traps. */
static void see(const struct subject *s, struct outcome *out, struct pt_regs *regs)
{
	unsigned long bottom = stack_start() - STACK_BELOW, in_use = regs->sp;

	if (!uses_stack(&s->cell))
		in_use = max(in_use, stack_start());
	memset(out, 0, sizeof(*out));
	see_registers(&out->registers, regs);
	memcpy(out->memory, memory, sizeof(memory));
	in_use = clamp(in_use, bottom, bottom + sizeof(out->stack));
	memcpy(out->stack + (in_use - bottom), (void *)in_use,
	       bottom + sizeof(out->stack) - in_use);
}

/* --- places --- */

#define MAX_SUBJECTS	4096
#define PADDING_SIZE	4

static struct {
	struct subject	*subjects;
	struct outcome	*outcomes;	/* NR_STATES of each */
	struct kprobe	*plain;
	struct kprobe	*post;
	struct kprobe	**list;
	int		nr;
	bool		plain_there;
	bool		post_there;
} lab;

/* Drawn again, they are the same: so text is written only once, and may have jumps then. */
static bool is_written;

static int put_subject(u8 *image, int at, struct subject *s)
{
	static const u8 padding[] = { BYTES_NOP4 };

	relocate(s, (unsigned long)kprobe_test_text + at);
	memcpy(image + at, s->code, s->length);
	at += s->length;
	memcpy(image + at, padding, sizeof(padding));
	/* And an int3, at which it ends. */
	return at + sizeof(padding) + INT3_INSN_SIZE;
}

static void write_text(const u8 *image)
{
	u8 *text = (u8 *)kprobe_test_text;
	int i;

	OPTIMIZER_HIDE_VAR(text);
	scoped_guard(mutex, &text_mutex) {
		for (i = 0; i < TEXT_SIZE; i += PAGE_SIZE)
			text_poke(text + i, image + i, PAGE_SIZE);
		text_poke_sync();
	}
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_function_forget();
}

/* One instruction after the other, each with as much behind it as a jump may cover */
static int write_subjects(void)
{
	u8 *image = kvmalloc(TEXT_SIZE, GFP_KERNEL);
	int i, at = MAX_INSN_SIZE;

	static_assert(1 + PADDING_SIZE >= JMP32_INSN_SIZE);
	if (!image)
		return -ENOMEM;
	memset(image, INT3_INSN_OPCODE, TEXT_SIZE);
	for (i = 0; i < lab.nr && at + 2 * MAX_INSN_SIZE < TEXT_SIZE; i++)
		at = put_subject(image, at, &lab.subjects[i]);
	if (!is_written)
		write_text(image);
	is_written = true;
	kvfree(image);
	return i < lab.nr ? -ENOSPC : 0;
}

/* --- runs --- */

/* What the handlers have seen */
static struct {
	struct pt_regs	pre;
	struct pt_regs	post;
	unsigned int	pres;
	unsigned int	posts;
	bool		trapped;
} hit;

static int see_before(struct kprobe *p, struct pt_regs *regs)
{
	hit.pre = *regs;
	hit.pres++;
	hit.trapped = this_cpu_read(kprobe_int3_count);
	return 0;
}

static void see_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	hit.post = *regs;
	hit.posts++;
}

/* How an instruction is carried out */
struct way {
	const char	*name;
	bool		jump;
	bool		post;
};

static const struct way ways[] = {
	{ "breakpoint", false, false },
	{ "jump", true, false },
	{ "jump, post handler", true, true },
	{ "breakpoint, post handler", false, true },
};

static void run_one(const struct subject *s, int state, struct registers *in,
		    struct outcome *out)
{
	struct pt_regs regs;

	set_up(s, state, &regs);
	regs.ip = s->at;
	see_registers(in, &regs);
	memset(&hit, 0, sizeof(hit));
	kprobe_test_run_natively(&regs);
	see(s, out, &regs);
}

static void expect_registers(struct kunit *test, const struct subject *s, const char *way,
			     const char *when, const struct registers *a,
			     const struct registers *b)
{
	int i;

	if (!memcmp(a, b, sizeof(*a)))
		return;
	for (i = 0; i < NR_REGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, a->reg[i], b->reg[i], "%*ph, %s, %s: register %d",
				    s->length, s->code, way, when, i);
	KUNIT_EXPECT_EQ_MSG(test, a->flags, b->flags, "%*ph, %s, %s: flags",
			    s->length, s->code, way, when);
	KUNIT_EXPECT_EQ_MSG(test, a->ip, b->ip, "%*ph, %s, %s: ip",
			    s->length, s->code, way, when);
}

static void expect_outcome(struct kunit *test, const struct subject *s, const char *way,
			   const struct outcome *native, const struct outcome *ours)
{
	if (!memcmp(native, ours, sizeof(*native)))
		return;
	expect_registers(test, s, way, "afterwards", &native->registers, &ours->registers);
	KUNIT_EXPECT_MEMEQ_MSG(test, native->memory, ours->memory, sizeof(native->memory),
			       "%*ph, %s: memory", s->length, s->code, way);
	KUNIT_EXPECT_MEMEQ_MSG(test, native->stack, ours->stack, sizeof(native->stack),
			       "%*ph, %s: stack", s->length, s->code, way);
}

static void expect_hit(struct kunit *test, const struct subject *s, const struct way *way,
		       struct registers *in, const struct outcome *native)
{
	struct registers before, after, expected = native->registers;

	KUNIT_EXPECT_EQ_MSG(test, hit.pres, 1, "%*ph, %s", s->length, s->code, way->name);
	KUNIT_EXPECT_EQ_MSG(test, hit.posts, way->post, "%*ph, %s", s->length, s->code,
			    way->name);
	KUNIT_EXPECT_EQ_MSG(test, hit.trapped, !way->jump, "%*ph, %s", s->length, s->code,
			    way->name);
	see_registers(&before, &hit.pre);
	/* What it is at a hit is another test's to say. */
	in->ip = before.ip;
	expect_registers(test, s, way->name, "pre handler", in, &before);
	if (!way->post)
		return;
	see_registers(&after, &hit.post);
	expected.ip = s->at + s->length;
	expect_registers(test, s, way->name, "post handler", &expected, &after);
}

static void run_natively(void)
{
	struct registers in;
	int i;

	for (i = 0; i < lab.nr * NR_STATES; i++) {
		run_one(&lab.subjects[i / NR_STATES], i % NR_STATES, &in, &lab.outcomes[i]);
		cond_resched();
	}
}

/* Ends with the first instruction that does something else. */
static void run_probed(struct kunit *test, const struct way *way)
{
	static struct outcome ours;
	const struct subject *s;
	struct registers in;
	int i;

	for (i = 0; i < lab.nr * NR_STATES; i++) {
		s = &lab.subjects[i / NR_STATES];
		run_one(s, i % NR_STATES, &in, &ours);
		expect_outcome(test, s, way->name, &lab.outcomes[i], &ours);
		expect_hit(test, s, way, &in, &lab.outcomes[i]);
		if (i % NR_STATES == NR_STATES - 1)
			KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
		cond_resched();
	}
}

static int probe_all(struct kprobe *probes, bool post)
{
	int i;

	for (i = 0; i < lab.nr; i++) {
		probes[i] = (struct kprobe) {
			.addr		= (kprobe_opcode_t *)lab.subjects[i].at,
			.pre_handler	= see_before,
			.post_handler	= post ? see_after : NULL,
		};
		lab.list[i] = &probes[i];
	}
	return register_kprobes(lab.list, lab.nr);
}

static void drop_all(struct kprobe *probes, bool *there)
{
	int i;

	if (!*there)
		return;
	for (i = 0; i < lab.nr; i++)
		lab.list[i] = &probes[i];
	unregister_kprobes(lab.list, lab.nr);
	*there = false;
}

static void drop_what_is_there(void *unused)
{
	drop_all(lab.plain, &lab.plain_there);
	drop_all(lab.post, &lab.post_there);
}

static void expect_jumps(struct kunit *test)
{
	const struct subject *s;
	int i;

	wait_for_kprobe_optimizer();
	for (i = 0; i < lab.nr; i++) {
		s = &lab.subjects[i];
		KUNIT_ASSERT_EQ_MSG(test, *(u8 *)s->at, JMP32_INSN_OPCODE, "%*ph",
				    s->length, s->code);
	}
}

static void allow_jumps(struct kunit *test, bool allow)
{
	if (IS_ENABLED(CONFIG_OPTPROBES))
		KUNIT_ASSERT_EQ(test, 0, switch_set(allow));
}

/* The probes without a post handler leave when those with one are there. */
static void copies_do_as_in_place(struct kunit *test)
{
	const bool jumps = IS_ENABLED(CONFIG_OPTPROBES);

	if (jumps)
		switch_need(test);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_what_is_there, NULL));
	run_natively();

	allow_jumps(test, false);
	KUNIT_ASSERT_EQ(test, 0, probe_all(lab.plain, false));
	lab.plain_there = true;
	run_probed(test, &ways[0]);
	allow_jumps(test, true);
	if (jumps) {
		expect_jumps(test);
		run_probed(test, &ways[1]);
	}

	KUNIT_ASSERT_EQ(test, 0, probe_all(lab.post, true));
	lab.post_there = true;
	drop_all(lab.plain, &lab.plain_there);
	if (jumps) {
		expect_jumps(test);
		run_probed(test, &ways[2]);
	}
	allow_jumps(test, false);
	run_probed(test, &ways[3]);
	drop_what_is_there(NULL);
	kunit_info(test, "%d instructions, %d times in %d ways\n", lab.nr, NR_STATES,
		   jumps ? 4 : 2);
}

/* --- what was drawn --- */

static void whatever_is_copied_was_drawn_or_left_out(struct kunit *test)
{
	struct cell c;
	bool drawn;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		if (!next_cell(&c, i) || !processor_has(&c))
			continue;
		drawn = test_bit(cell_index(&c), cells_tried);
		KUNIT_EXPECT_TRUE_MSG(test, drawn || find_left_out(&c), "%#x /%d, operands %d",
				      c.opcode, c.ext, c.form);
	}
}

/* A row that leaves out nothing any more is to go. */
static void whatever_is_left_out_would_be_copied(struct kunit *test)
{
	DECLARE_BITMAP(used, ARRAY_SIZE(left_out)) = {};
	const struct left_out *row;
	struct cell c;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		row = next_cell(&c, i) ? find_left_out(&c) : NULL;
		if (row)
			__set_bit(row - left_out, used);
	}
	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		row = &left_out[i];
		if (!row->bits || row->bits == BITS_PER_LONG)
			KUNIT_EXPECT_TRUE_MSG(test, test_bit(i, used), "%#x-%#x: %s",
					      row->first, row->last, row->why);
	}
}

static void free_lab(void)
{
	kvfree(lab.subjects);
	kvfree(lab.outcomes);
	kvfree(lab.plain);
	kvfree(lab.post);
	kvfree(lab.list);
	memset(&lab, 0, sizeof(lab));
}

static int make_lab(void)
{
	lab.subjects = kvcalloc(MAX_SUBJECTS, sizeof(*lab.subjects), GFP_KERNEL);
	if (!lab.subjects)
		return -ENOMEM;
	lab.nr = draw_all(lab.subjects, MAX_SUBJECTS);
	lab.outcomes = kvcalloc(lab.nr * NR_STATES, sizeof(*lab.outcomes), GFP_KERNEL);
	lab.plain = kvcalloc(lab.nr, sizeof(*lab.plain), GFP_KERNEL);
	lab.post = kvcalloc(lab.nr, sizeof(*lab.post), GFP_KERNEL);
	lab.list = kvcalloc(lab.nr, sizeof(*lab.list), GFP_KERNEL);
	if (!lab.outcomes || !lab.plain || !lab.post || !lab.list)
		return -ENOMEM;
	return write_subjects();
}

static void copy_suite_exit(struct kunit_suite *suite)
{
	free_lab();
	switch_suite_exit(suite);
	kprobe_test_native_exit();
}

static int copy_suite_init(struct kunit_suite *suite)
{
	int err;

	bitmap_zero(cells_tried, NR_CELLS);
	prandom_seed_state(&random, 1);
	err = kprobe_test_native_init() ?: switch_suite_init(suite) ?: make_lab();
	if (err)
		copy_suite_exit(suite);
	return err;
}

static int copy_init(struct kunit *test)
{
	return IS_ENABLED(CONFIG_OPTPROBES) ? switch_init(test) : 0;
}

static void copy_exit(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_OPTPROBES))
		switch_exit(test);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE_SLOW(copies_do_as_in_place),
	KUNIT_CASE(whatever_is_copied_was_drawn_or_left_out),
	KUNIT_CASE(whatever_is_left_out_would_be_copied),
	{ }
};

static struct kunit_suite copy_suite = {
	.name		= "kprobes_x86_copy",
	.suite_init	= copy_suite_init,
	.suite_exit	= copy_suite_exit,
	.init		= copy_init,
	.exit		= copy_exit,
	.test_cases	= copy_cases,
};

kunit_test_suite(copy_suite);
