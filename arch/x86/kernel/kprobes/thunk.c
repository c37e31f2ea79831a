// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thunks: the probed instruction, executed by the processor on saved registers.
 *
 * A post handler has to see the effect of the instruction. The copy in the slot needs all
 * registers to be loaded before it and saved again after it; but hardly any instruction has
 * more than three registers as operands. A thunk is a function that loads only these from a
 * pt_regs, executes a copy of the instruction, and stores those that may have changed:
 *
 *	unsigned long thunk(struct pt_regs *regs, unsigned long flags);
 *
 * It returns the flags. There are no thunks of instructions that access memory or may fault
 * otherwise. The hit itself may have changed the memory, as it does the preemption count; and
 * when an instruction faults, everything else has to be as in the probed code.
 */
#include <linux/cpufeature.h>
#include <linux/kprobes.h>
#include <linux/string.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/insn-eval.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

#include "internal.h"

enum { AX, CX, DX, BX, SP, BP, SI, DI, R8, R9, R10, R11, R12, R13, R14, R15, NR_REGS };

/* What thunks consist of. The lower bits of a push and of a pop are the register's. */
#define REX_B			0x41
#define REX_W			0x48
#define PUSH_OPCODE		0x50
#define POP_OPCODE		0x58
#define MOV_STORE_OPCODE	0x89
#define MOV_LOAD_OPCODE		0x8b
#define PUSHF_OPCODE		0x9c
#define POPF_OPCODE		0x9d

#define CALLEE_SAVED	(BIT(BX) | BIT(BP) | BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15))

/* Operands: registers in the ModRM byte, in the opcode, and implied ones */
#define REG		BIT(0)
#define RM		BIT(1)
#define OP		BIT(2)
#define USES_AX		BIT(3)
#define USES_CX		BIT(4)
#define USES_DX		BIT(5)
/* the same, of eight bits */
#define REG8		(REG | BIT(6))
#define RM8		(RM | BIT(7))
/* the same, written to */
#define SET_REG		(REG | BIT(8))
#define SET_RM		(RM | BIT(9))
#define SET_OP		(OP | BIT(10))
#define SET_AX		(USES_AX | BIT(11))
#define SET_DX		(USES_DX | BIT(12))
/*
 * USES_FLAGS: the thunk has to be called with the probed code's flags, because the instruction
 * depends on some, or leaves some unchanged. SETS_FLAGS: it sets some.
 */
#define USES_FLAGS	BIT(13)
#define SETS_FLAGS	BIT(14)
#define KEEPS_FLAGS	(USES_FLAGS | SETS_FLAGS)
/* The row also holds for the instruction that prefix F3 makes of the opcode. */
#define WITH_REP	BIT(15)

#define ANY		0xff

/**
 * struct row - instructions that use their operands alike
 * @mask:	the bits of the opcode that are compared, see kprobe_opcode()
 * @opcode:	the value of these bits
 * @exts:	bitmask: values of the ModRM byte's reg field
 * @what:	the operands and flags, and how they are used
 */
struct row {
	u16	mask;
	u16	opcode;
	u8	exts;
	u16	what;
};

/* In the order in which they are tried (SDM vol. 2D, appendix A.3). */
static const struct row rows[] = {
	/* Eight operations in each form: the third and the fourth, adc and sbb, use the carry */
	{ 0xfff7, 0x10, ANY, RM8 | REG8 | SET_RM | KEEPS_FLAGS },
	{ 0xffc7, 0x00, ANY, RM8 | REG8 | SET_RM | SETS_FLAGS },
	{ 0xfff7, 0x11, ANY, RM | REG | SET_RM | KEEPS_FLAGS },
	{ 0xffc7, 0x01, ANY, RM | REG | SET_RM | SETS_FLAGS },
	{ 0xfff7, 0x12, ANY, RM8 | REG8 | SET_REG | KEEPS_FLAGS },
	{ 0xffc7, 0x02, ANY, RM8 | REG8 | SET_REG | SETS_FLAGS },
	{ 0xfff7, 0x13, ANY, RM | REG | SET_REG | KEEPS_FLAGS },
	{ 0xffc7, 0x03, ANY, RM | REG | SET_REG | SETS_FLAGS },
	{ 0xfff7, 0x14, ANY, SET_AX | KEEPS_FLAGS },
	{ 0xffc7, 0x04, ANY, SET_AX | SETS_FLAGS },
	{ 0xfff7, 0x15, ANY, SET_AX | KEEPS_FLAGS },
	{ 0xffc7, 0x05, ANY, SET_AX | SETS_FLAGS },
	{ 0xffff, 0x80, BIT(2) | BIT(3), RM8 | SET_RM | KEEPS_FLAGS },
	{ 0xffff, 0x80, ANY, RM8 | SET_RM | SETS_FLAGS },
	{ 0xfffd, 0x81, BIT(2) | BIT(3), SET_RM | KEEPS_FLAGS },
	{ 0xfffd, 0x81, ANY, SET_RM | SETS_FLAGS },
	{ 0xffff, 0x84, ANY, RM8 | REG8 | SETS_FLAGS },		/* test */
	{ 0xffff, 0x85, ANY, RM | REG | SETS_FLAGS },
	{ 0xffff, 0xa8, ANY, USES_AX | SETS_FLAGS },
	{ 0xffff, 0xa9, ANY, USES_AX | SETS_FLAGS },
	{ 0xffff, 0xf6, BIT(0), RM8 | SETS_FLAGS },
	{ 0xffff, 0xf7, BIT(0), RM | SETS_FLAGS },
	{ 0xffff, 0xf6, BIT(2), RM8 | SET_RM },			/* not */
	{ 0xffff, 0xf7, BIT(2), SET_RM },
	{ 0xffff, 0xf6, BIT(3), RM8 | SET_RM | SETS_FLAGS },	/* neg */
	{ 0xffff, 0xf7, BIT(3), SET_RM | SETS_FLAGS },
	{ 0xffff, 0xfe, BIT(0) | BIT(1), RM8 | SET_RM | KEEPS_FLAGS },
	{ 0xffff, 0xff, BIT(0) | BIT(1), SET_RM | KEEPS_FLAGS },

	{ 0xffff, 0x0faf, ANY, RM | SET_REG | SETS_FLAGS },	/* imul */
	{ 0xfffd, 0x69, ANY, RM | SET_REG | SETS_FLAGS },
	{ 0xffff, 0xf6, BIT(4) | BIT(5), RM8 | SET_AX | KEEPS_FLAGS },
	{ 0xffff, 0xf7, BIT(4) | BIT(5), RM | SET_AX | SET_DX | KEEPS_FLAGS },
	{ 0xffff, 0x98, ANY, SET_AX },
	{ 0xffff, 0x99, ANY, USES_AX | SET_DX },

	{ 0xffff, 0xc0, ANY, RM8 | SET_RM | KEEPS_FLAGS },	/* shifts */
	{ 0xffff, 0xc1, ANY, SET_RM | KEEPS_FLAGS },
	{ 0xffff, 0xd0, ANY, RM8 | SET_RM | KEEPS_FLAGS },
	{ 0xffff, 0xd1, ANY, SET_RM | KEEPS_FLAGS },
	{ 0xffff, 0xd2, ANY, RM8 | USES_CX | SET_RM | KEEPS_FLAGS },
	{ 0xffff, 0xd3, ANY, USES_CX | SET_RM | KEEPS_FLAGS },
	{ 0xfff7, 0x0fa4, ANY, REG | SET_RM | KEEPS_FLAGS },
	{ 0xfff7, 0x0fa5, ANY, REG | USES_CX | SET_RM | KEEPS_FLAGS },

	{ 0xffff, 0x88, ANY, REG8 | RM8 | SET_RM },		/* moves */
	{ 0xffff, 0x89, ANY, REG | SET_RM },
	{ 0xffff, 0x8a, ANY, RM8 | REG8 | SET_REG },
	{ 0xffff, 0x8b, ANY, RM | SET_REG },
	{ 0xffff, 0xc6, BIT(0), RM8 | SET_RM },
	{ 0xffff, 0xc7, BIT(0), SET_RM },
	{ 0xfff8, 0xb8, ANY, SET_OP },
	{ 0xffff, 0x63, ANY, RM | SET_REG },
	{ 0xfff7, 0x0fb6, ANY, RM8 | SET_REG },
	{ 0xfff7, 0x0fb7, ANY, RM | SET_REG },
	{ 0xfff0, 0x0f40, ANY, RM | SET_REG | USES_FLAGS },	/* cmov, setcc */
	{ 0xfff0, 0x0f90, ANY, RM8 | SET_RM | USES_FLAGS },
	{ 0xfff8, 0x0fc8, ANY, SET_OP },			/* bswap */

	{ 0xffff, 0x86, ANY, RM8 | REG8 | SET_RM | SET_REG },	/* xchg, xadd */
	{ 0xffff, 0x87, ANY, SET_RM | SET_REG },
	{ 0xffff, 0x0fc0, ANY, RM8 | REG8 | SET_RM | SET_REG | SETS_FLAGS },
	{ 0xffff, 0x0fc1, ANY, SET_RM | SET_REG | SETS_FLAGS },
	{ 0xffff, 0x0fb0, ANY, RM8 | REG8 | SET_RM | SET_AX | SETS_FLAGS },
	{ 0xffff, 0x0fb1, ANY, REG | SET_RM | SET_AX | SETS_FLAGS },

	{ 0xffe7, 0x0fa3, ANY, REG | SET_RM | KEEPS_FLAGS },	/* bits */
	{ 0xffff, 0x0fba, 0xf0, SET_RM | KEEPS_FLAGS },
	{ 0xfffe, 0x0fbc, ANY, RM | SET_REG | KEEPS_FLAGS | WITH_REP },
	{ 0xffff, 0x0fb8, ANY, RM | SET_REG | KEEPS_FLAGS | WITH_REP },
};

const unsigned int kprobe_nr_thunks = ARRAY_SIZE(rows);

/* Does a prefix make it another instruction than those of the row? */
static bool has_prefix_but_for(struct insn *insn, u16 what)
{
	insn_byte_t prefix;
	int i;

	for_each_insn_prefix(insn, i, prefix) {
		if (prefix == 0x67 || prefix == 0xf0 || prefix == 0xf2 ||
		    (prefix == 0xf3 && !(what & WITH_REP)))
			return true;
	}
	return insn_is_rex2(insn) || insn->vex_prefix.nbytes;
}

/**
 * kprobe_find_thunk() - find the row of the table for an instruction
 * @insn:	the instruction
 *
 * Context: any.
 * Return: its index; -ENOENT if no thunk can be made of the instruction.
 */
int kprobe_find_thunk(struct insn *insn)
{
	int ext = X86_MODRM_REG(insn->modrm.bytes[0]);
	int opcode = kprobe_opcode(insn);
	int i;

	if (insn->modrm.nbytes && X86_MODRM_MOD(insn->modrm.bytes[0]) != 3)
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if ((opcode & rows[i].mask) == rows[i].opcode && rows[i].exts & BIT(ext))
			return has_prefix_but_for(insn, rows[i].what) ? -ENOENT : i;
	}
	return -ENOENT;
}

/**
 * struct thunk - a thunk under construction
 * @image:	where it is written
 * @at:		where it will run
 * @size:	the size of @image; what does not fit is left out
 * @used:	the size of the thunk so far, with what did not fit
 * @insn:	the instruction
 * @named:	the registers it names
 * @set:	those of them that it may change
 * @regs:	the register that points to the pt_regs
 */
struct thunk {
	u8		*image;
	void		*at;
	size_t		size;
	size_t		used;
	struct insn	*insn;
	u16		named;
	u16		set;
	u8		regs;
};

static void emit(struct thunk *t, const void *bytes, size_t length)
{
	if (t->used + length <= t->size)
		memcpy(t->image + t->used, bytes, length);
	t->used += length;
}

#define EMIT(t, ...)								\
	emit((t), (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))

static void name_register(struct thunk *t, int reg, bool set)
{
	t->named |= BIT(reg);
	if (set)
		t->set |= BIT(reg);
}

/*
 * The number of a register from its bits in the instruction. Of the 8-bit registers, 4 to
 * 7 are the upper bytes of 0 to 3 if there is no REX prefix (SDM vol. 2A, table 3-1).
 */
static int register_number(struct thunk *t, int low_bits, bool high, bool byte)
{
	if (byte && low_bits >= 4 && !t->insn->rex_prefix.nbytes)
		return low_bits - 4;
	return low_bits | (high ? R8 : 0);
}

static int modrm_reg_number(struct thunk *t, bool byte)
{
	return register_number(t, X86_MODRM_REG(t->insn->modrm.bytes[0]),
			       X86_REX_R(t->insn->rex_prefix.value), byte);
}

static int modrm_rm_number(struct thunk *t, bool byte)
{
	return register_number(t, X86_MODRM_RM(t->insn->modrm.bytes[0]),
			       X86_REX_B(t->insn->rex_prefix.value), byte);
}

static int opcode_register_number(struct thunk *t)
{
	return register_number(t, t->insn->opcode.bytes[t->insn->opcode.nbytes - 1] & 7,
			       X86_REX_B(t->insn->rex_prefix.value), false);
}

static void name_operands(struct thunk *t, u16 what)
{
	if (what & REG)
		name_register(t, modrm_reg_number(t, (what & REG8) == REG8),
			      (what & SET_REG) == SET_REG);
	if (what & RM)
		name_register(t, modrm_rm_number(t, (what & RM8) == RM8),
			      (what & SET_RM) == SET_RM);
	if (what & OP)
		name_register(t, opcode_register_number(t), true);
	if (what & USES_AX)
		name_register(t, AX, (what & SET_AX) == SET_AX);
	if (what & USES_CX)
		name_register(t, CX, false);
	if (what & USES_DX)
		name_register(t, DX, (what & SET_DX) == SET_DX);
}

/* A REX prefix for 64-bit operands, ModRM.reg and ModRM.rm. */
static u8 rex(int reg, int rm)
{
	return REX_W | (reg & R8 ? 4 : 0) | (rm & R8 ? 1 : 0);
}

/* Loads a register from an offset in the pt_regs, or stores it there. */
static void emit_move(struct thunk *t, u8 opcode, int reg, int offset)
{
	u8 modrm = (reg & 7) << 3 | (t->regs & 7);

	if (offset < 128)
		EMIT(t, rex(reg, t->regs), opcode, 0x40 | modrm, offset);
	else
		EMIT(t, rex(reg, t->regs), opcode, 0x80 | modrm, offset, 0, 0, 0);
}

static void emit_moves(struct thunk *t, u8 opcode, unsigned long regs)
{
	int reg;

	for_each_set_bit(reg, &regs, NR_REGS)
		emit_move(t, opcode, reg, pt_regs_offset(NULL, reg));
}

static void emit_pushes(struct thunk *t, unsigned long regs)
{
	int reg;

	for_each_set_bit(reg, &regs, NR_REGS) {
		if (reg & R8)
			EMIT(t, REX_B);
		EMIT(t, PUSH_OPCODE | (reg & 7));
	}
}

static void emit_pops(struct thunk *t, unsigned long regs)
{
	int reg;

	for (reg = NR_REGS - 1; reg >= 0; reg--) {
		if (!(regs & BIT(reg)))
			continue;
		if (reg & R8)
			EMIT(t, REX_B);
		EMIT(t, POP_OPCODE | (reg & 7));
	}
}

#ifdef CONFIG_X86_KERNEL_IBT
static void emit_landing_pad(struct thunk *t)
{
	u32 endbr = gen_endbr();

	if (kprobe_need_landing_pads())
		emit(t, &endbr, sizeof(endbr));
}
#else
static void emit_landing_pad(struct thunk *t)
{
}
#endif

static void emit_return(struct thunk *t)
{
	u8 jump[JMP32_INSN_SIZE];

	if (!cpu_feature_enabled(X86_FEATURE_RETHUNK)) {
		EMIT(t, RET_INSN_OPCODE);
		return;
	}
	__text_gen_insn(jump, JMP32_INSN_OPCODE, t->at + t->used, x86_return_thunk,
			sizeof(jump));
	emit(t, jump, sizeof(jump));
}

static void generate(struct thunk *t, u16 what)
{
	unsigned long preserved = t->named & CALLEE_SAVED;

	/* A register that is not an operand, and that a function need not preserve */
	t->regs = __ffs((BIT(DI) | BIT(SI) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11)) & ~t->named);
	emit_landing_pad(t);
	if (what & USES_FLAGS)
		EMIT(t, PUSH_OPCODE | SI, POPF_OPCODE);
	if (t->regs != DI)
		EMIT(t, rex(DI, t->regs), MOV_STORE_OPCODE, 0xc0 | DI << 3 | (t->regs & 7));
	emit_pushes(t, preserved);
	emit_moves(t, MOV_LOAD_OPCODE, t->named);
	emit(t, t->insn->kaddr, t->insn->length);
	emit_moves(t, MOV_STORE_OPCODE, t->set);
	if (what & SETS_FLAGS)
		EMIT(t, PUSHF_OPCODE, POP_OPCODE | AX);
	emit_pops(t, preserved);
	emit_return(t);
}

/**
 * kprobe_make_thunk() - make a thunk of an instruction, if possible
 * @image:	where to write it
 * @size:	how much room there is
 * @at:		where the thunk will run
 * @insn:	the instruction
 * @kp:		its site, whose emulation is filled in
 *
 * There are no thunks in kernels with clang's control flow integrity, which checks
 * the type hash before a function that is called indirectly.
 *
 * Context: at registration; @image is not executed yet.
 */
void kprobe_make_thunk(u8 *image, size_t size, void *at, struct insn *insn, struct kprobe *kp)
{
	struct kprobe_emulation *em = &kp->ainsn.emulation;
	struct thunk t = {
		.image = image, .at = at, .size = size, .insn = insn,
	};
	int row = kprobe_find_thunk(insn);

	if (row < 0 || IS_ENABLED(CONFIG_CFI_CLANG))
		return;
	name_operands(&t, rows[row].what);
	if (t.named & BIT(SP))
		return;
	generate(&t, rows[row].what);
	if (t.used > size) {
		memset(image, INT3_INSN_OPCODE, size);
		return;
	}
	em->uses_flags = rows[row].what & USES_FLAGS;
	em->sets_flags = rows[row].what & SETS_FLAGS;
	em->thunk = at;
}

/**
 * kprobe_thunk_flags() - the flags that a thunk is called with
 * @regs:	the probed code's registers
 *
 * Only the status flags are those of the probed code. The others, such as the interrupt flag,
 * are those of the caller. Out of line, because it takes room on the stack.
 *
 * Context: any.
 * Return: the flags.
 */
unsigned long __kprobes kprobe_thunk_flags(const struct pt_regs *regs)
{
	return kprobe_status_from(native_save_fl(), regs->flags);
}
