// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emulation of the probed instruction on the saved registers.
 *
 * Only near branches are emulated, because a copy of them would lead elsewhere. A branch is
 * emulated exactly, or left to what is in the slot.
 *
 * The emulators run at a hit, in whatever context was probed. They take no lock and call
 * nothing. They access only the registers, one word that is pushed, for which a trap leaves room
 * on the stack, and the word that a branch reads its target from.
 *
 * What reads memory may fault, and its fault is the instruction's. So a branch that reads its
 * target from memory is not emulated at a missed hit: inside of another hit's mark, a fault looks
 * like a handler's. If the word cannot be read, the copy reads it again, and faults. A branch to
 * what is no address faults as well: the slot has an instruction that does so in its place.
 *
 * The processor's checks on the target of an indirect branch (IBT) are not
 * repeated.
 */

#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/insn.h>
#include <asm/insn-eval.h>
#include <asm/processor-flags.h>
#include <asm/text-patching.h>
#include <asm/vsyscall.h>

#include "internal.h"

static __always_inline unsigned long *reg_at(struct pt_regs *regs, u8 offset)
{
	return (void *)regs + offset;
}

static __always_inline unsigned long next_ip(const struct kprobe_emulation *em,
					     const struct pt_regs *regs)
{
	return regs->ip + em->length;
}

/* A fault at any other address is not fixed up by the exception table. */
static __always_inline bool is_kernel_address(unsigned long addr)
{
	if (!IS_ENABLED(CONFIG_X86_64))
		return addr >= TASK_SIZE_MAX;

	return addr >= TASK_SIZE_MAX + PAGE_SIZE && !is_vsyscall_vaddr(addr) &&
	       __is_canonical_address(addr, boot_cpu_data.x86_virt_bits);
}

static __always_inline bool read_word(unsigned long addr, unsigned long *word)
{
	if (!is_kernel_address(addr))
		return false;
	__get_kernel_nofault(word, (unsigned long *)addr, unsigned long, fault);
	return true;
fault:
	return false;
}

static __always_inline unsigned long
effective_address(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long addr = em->disp;

	if (em->base == offsetof(struct pt_regs, ip))
		addr += next_ip(em, regs);
	else if (em->base != KPROBE_NO_REG)
		addr += *reg_at(regs, em->base);
	if (em->index != KPROBE_NO_REG)
		addr += *reg_at(regs, em->index) << em->scale;
	return addr;
}

static bool __kprobes
emulate_jmp(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	regs->ip = next_ip(em, regs) + em->disp;
	return true;
}

static bool __kprobes
emulate_jcc(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	int3_emulate_jcc(regs, em->op & 0xf, next_ip(em, regs), em->disp);
	return true;
}

static bool __kprobes
emulate_call(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long next = next_ip(em, regs);

	int3_emulate_push(regs, next);
	regs->ip = next + em->disp;
	return true;
}

/* Sets the counter, which is rcx, ecx or cx; a write to ecx clears the rest of rcx. */
static __always_inline void set_count(const struct kprobe_emulation *em,
				      struct pt_regs *regs, unsigned long count)
{
	switch (em->size) {
	case 2:
		regs->cx = (regs->cx & ~0xffffUL) | (u16)count;
		return;
	case 4:
		regs->cx = (u32)count;
		return;
	}
	regs->cx = count;
}

static __always_inline unsigned long get_count(const struct kprobe_emulation *em,
					       const struct pt_regs *regs)
{
	switch (em->size) {
	case 2:
		return (u16)regs->cx;
	case 4:
		return (u32)regs->cx;
	}
	return regs->cx;
}

static bool __kprobes
emulate_jcxz(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	regs->ip = next_ip(em, regs) + (get_count(em, regs) ? 0 : em->disp);
	return true;
}

/* loop, loope and loopne decrement the counter, and then test it. */
static bool __kprobes
emulate_loop(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	bool zero = regs->flags & X86_EFLAGS_ZF;
	bool taken;

	set_count(em, regs, get_count(em, regs) - 1);
	taken = get_count(em, regs);
	if (em->op == 0xe0)
		taken = taken && !zero;
	else if (em->op == 0xe1)
		taken = taken && zero;

	regs->ip = next_ip(em, regs) + (taken ? em->disp : 0);
	return true;
}

/*
 * Checks for what is no address at all. A branch there faults. The return from a trap would fault,
 * too, but as if it led to user space.
 */
static __always_inline bool leads_nowhere(unsigned long target)
{
	return IS_ENABLED(CONFIG_X86_64) &&
	       !__is_canonical_address(target, __VIRTUAL_MASK_SHIFT + 1);
}

static bool __kprobes
emulate_ret(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target;

	if (!read_word(regs->sp, &target) || leads_nowhere(target))
		return false;
	regs->sp += sizeof(target) + em->disp;
	regs->ip = target;
	return true;
}

static bool __kprobes
emulate_jmp_reg(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target = *reg_at(regs, em->reg);

	if (leads_nowhere(target))
		return false;
	regs->ip = target;
	return true;
}

/* The register is read before the push, as it may be the stack pointer. */
static bool __kprobes
emulate_call_reg(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target = *reg_at(regs, em->reg);

	if (leads_nowhere(target))
		return false;
	int3_emulate_push(regs, next_ip(em, regs));
	regs->ip = target;
	return true;
}

static bool __kprobes
emulate_jmp_mem(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target;

	if (!read_word(effective_address(em, regs), &target) || leads_nowhere(target))
		return false;
	regs->ip = target;
	return true;
}

static bool __kprobes
emulate_call_mem(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target;

	if (!read_word(effective_address(em, regs), &target) || leads_nowhere(target))
		return false;
	int3_emulate_push(regs, next_ip(em, regs));
	regs->ip = target;
	return true;
}

/**
 * kprobe_emulate_pushed() - complete a branch whose target was read from memory, and pushed
 * @em:		its emulation, with @memory set
 * @regs:	registers after the slot's push, except that ip is the probed address
 *
 * Context: any, a hit included.
 * Return: false, with the registers as before the push, if the target is no address.
 */
bool __kprobes
kprobe_emulate_pushed(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target = int3_emulate_pop(regs);

	if (leads_nowhere(target))
		return false;
	if (em->fn == emulate_ret)
		regs->sp += sizeof(target) + em->disp;
	else if (X86_MODRM_REG(em->op) == 2)
		int3_emulate_push(regs, next_ip(em, regs));
	regs->ip = target;
	return true;
}

/* The code from here on does not run at a hit, but at registration. */

static u8 reg_offset(int low_bits, bool high)
{
	return pt_regs_offset(NULL, (low_bits & 7) | (high ? 8 : 0));
}

/* The register in ModRM.rm or SIB.base. */
static u8 rex_b_reg(struct insn *insn, u8 low_bits)
{
	return reg_offset(low_bits, X86_REX_B(insn->rex_prefix.value));
}

static bool has_memory_operand(struct insn *insn)
{
	return X86_MODRM_MOD(insn->modrm.bytes[0]) != 3;
}

static void init_sib(struct kprobe_emulation *em, struct insn *insn)
{
	bool high_index = X86_REX_X(insn->rex_prefix.value);
	u8 sib = insn->sib.bytes[0];

	if (X86_SIB_INDEX(sib) != 4 || high_index)
		em->index = reg_offset(X86_SIB_INDEX(sib), high_index);
	em->scale = X86_SIB_SCALE(sib);
	if (X86_SIB_BASE(sib) != 5 || X86_MODRM_MOD(insn->modrm.bytes[0]))
		em->base = rex_b_reg(insn, X86_SIB_BASE(sib));
}

/* A memory operand (SDM vol. 2A, tables 2-2, 2-3 and 2.2.1.6). */
static void init_address(struct kprobe_emulation *em, struct insn *insn)
{
	u8 modrm = insn->modrm.bytes[0];

	em->disp = insn->displacement.value;
	if (insn->sib.nbytes)
		init_sib(em, insn);
	else if (insn_rip_relative(insn))
		em->base = offsetof(struct pt_regs, ip);
	else if (X86_MODRM_RM(modrm) != 5 || X86_MODRM_MOD(modrm))
		em->base = rex_b_reg(insn, X86_MODRM_RM(modrm));
}

/* Fills in the operands. Returns false if this form of them is not emulated. */
typedef bool (*operands_fn)(struct kprobe_emulation *em, struct insn *insn);

static bool operands_immediate(struct kprobe_emulation *em, struct insn *insn)
{
	em->disp = insn->immediate.value;
	return true;
}

/* How many bytes it pops, besides the address. */
static bool operands_return(struct kprobe_emulation *em, struct insn *insn)
{
	em->memory = true;
	em->disp = (u16)insn->immediate.value;
	return true;
}

static bool operands_count(struct kprobe_emulation *em, struct insn *insn)
{
	em->size = insn->addr_bytes;
	return operands_immediate(em, insn);
}

static bool operands_rm_register(struct kprobe_emulation *em, struct insn *insn)
{
	em->reg = rex_b_reg(insn, X86_MODRM_RM(insn->modrm.bytes[0]));
	return !has_memory_operand(insn);
}

static bool operands_memory(struct kprobe_emulation *em, struct insn *insn)
{
	em->memory = true;
	em->op = insn->modrm.bytes[0];
	if (!has_memory_operand(insn))
		return false;
	init_address(em, insn);
	return true;
}

#define PREFIX_ADDRESS_SIZE	BIT(0)
#define PREFIX_REP		BIT(1)
#define PREFIX_SEGMENT		BIT(2)
#define PREFIX_OTHER		BIT(3)

/*
 * Prefixes that near branches ignore, or that their operands_*() take into account. The
 * operand size is not among them: with it, some processors truncate the target to 16 bits.
 */
#define WITH_BRANCH	(PREFIX_ADDRESS_SIZE | PREFIX_REP | PREFIX_SEGMENT)

/* Prefixes that change where a memory operand is, but not what is done with it. */
#define WITH_MEMORY	(PREFIX_ADDRESS_SIZE | PREFIX_SEGMENT)

#define ANY_EXT		0xff

/**
 * struct emulator - instructions that are emulated by the same function
 * @first:	the first opcode, see kprobe_opcode()
 * @last:	the last opcode
 * @exts:	bitmask: values of the ModRM byte's reg field
 * @prefixes:	the prefixes that are allowed, besides REX and segments without effect
 * @operands:	fills in the operands
 * @fn:		emulates the instruction. NULL where only the processor finds the operand: relative
 *		to fs or gs, or at an address of 32 bits on 64. See kprobe_emulate_pushed()
 */
struct emulator {
	u16			first;
	u16			last;
	u8			exts;
	u8			prefixes;
	operands_fn		operands;
	kprobe_emulate_fn	fn;
};

/* In the order in which they are tried. */
static const struct emulator emulators[] = {
	{ 0x70, 0x7f, ANY_EXT, WITH_BRANCH, operands_immediate, emulate_jcc },
	{ 0x0f80, 0x0f8f, ANY_EXT, WITH_BRANCH, operands_immediate, emulate_jcc },
	{ 0xc2, 0xc2, ANY_EXT, WITH_BRANCH, operands_return, emulate_ret },
	{ 0xc3, 0xc3, ANY_EXT, WITH_BRANCH, operands_return, emulate_ret },
	{ 0xe0, 0xe2, ANY_EXT, WITH_BRANCH, operands_count, emulate_loop },
	{ 0xe3, 0xe3, ANY_EXT, WITH_BRANCH, operands_count, emulate_jcxz },
	{ 0xe8, 0xe8, ANY_EXT, WITH_BRANCH, operands_immediate, emulate_call },
	{ 0xe9, 0xe9, ANY_EXT, WITH_BRANCH, operands_immediate, emulate_jmp },
	{ 0xeb, 0xeb, ANY_EXT, WITH_BRANCH, operands_immediate, emulate_jmp },
	{ 0xff, 0xff, BIT(2), WITH_BRANCH, operands_rm_register, emulate_call_reg },
	{ 0xff, 0xff, BIT(4), WITH_BRANCH, operands_rm_register, emulate_jmp_reg },
	{ 0xff, 0xff, BIT(2), 0, operands_memory, emulate_call_mem },
	{ 0xff, 0xff, BIT(4), 0, operands_memory, emulate_jmp_mem },
	{ 0xff, 0xff, BIT(2) | BIT(4), WITH_MEMORY, operands_memory, NULL },
};

const unsigned int kprobe_nr_emulators = ARRAY_SIZE(emulators);

static u8 prefix_kind(u8 prefix)
{
	switch (prefix) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:		/* segments that are flat in the kernel; hints */
		return 0;
	case 0x64 ... 0x65:
		return PREFIX_SEGMENT;
	case 0x67:
		return PREFIX_ADDRESS_SIZE;
	case 0xf2 ... 0xf3:
		return PREFIX_REP;
	}
	return PREFIX_OTHER;	/* operand size, lock */
}

static u8 prefixes_of(struct insn *insn)
{
	insn_byte_t prefix;
	u8 kinds = 0;
	int i;

	for_each_insn_prefix(insn, i, prefix)
		kinds |= prefix_kind(prefix);
	if (insn_is_rex2(insn) || insn->vex_prefix.nbytes)
		kinds |= PREFIX_OTHER;
	return kinds;
}

static bool matches(const struct emulator *row, struct insn *insn)
{
	int ext = X86_MODRM_REG(insn->modrm.bytes[0]);
	int opcode = kprobe_opcode(insn);

	return opcode >= row->first && opcode <= row->last &&
	       row->exts & BIT(ext) && !(prefixes_of(insn) & ~row->prefixes);
}

static int find_row(struct kprobe_emulation *em, struct insn *insn)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(emulators); i++) {
		*em = (struct kprobe_emulation) {
			.fn	= emulators[i].fn,
			.length	= insn->length,
			.op	= kprobe_opcode(insn),
			.base	= KPROBE_NO_REG,
			.index	= KPROBE_NO_REG,
		};
		if (matches(&emulators[i], insn) && emulators[i].operands(em, insn))
			return i;
	}
	return -ENOENT;
}

/**
 * kprobe_find_emulator() - find the row of the table that emulates an instruction
 * @insn:	the instruction
 *
 * Context: any.
 * Return: its index, or -ENOENT.
 */
int kprobe_find_emulator(struct insn *insn)
{
	struct kprobe_emulation em;

	return find_row(&em, insn);
}

/**
 * kprobe_emulation_init() - prepare to emulate an instruction
 * @em:		is filled in; zeroed if @insn is no branch
 * @insn:	an instruction that kprobe_check_insn() has let pass
 *
 * Context: any.
 * Return: 0, or -EOPNOTSUPP for a branch that cannot be emulated exactly.
 */
int kprobe_emulation_init(struct kprobe_emulation *em, struct insn *insn)
{
	if (find_row(em, insn) >= 0)
		return 0;
	memset(em, 0, sizeof(*em));
	return kprobe_can_boost(insn) ? 0 : -EOPNOTSUPP;
}
