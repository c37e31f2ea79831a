// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emulation of branches on the saved registers: a copy of them would lead elsewhere. A branch is
 * emulated exactly, or left to what is in the slot.
 *
 * The emulators run at a hit, in whatever context was probed. They take no lock and call nothing.
 * They access only the registers, one word that is pushed, for which a trap leaves room on the
 * stack, and the word that a branch reads its target from.
 *
 * That read may fault, and the fault is the instruction's. So such a branch is not emulated at a
 * missed hit: inside of another hit's mark, a fault looks like a handler's. If the word cannot be
 * read, the copy reads it again, and faults. A branch to what is no address faults as well: the
 * slot has an instruction that does so in its place.
 *
 * The processor's checks on the target of an indirect branch (IBT) are not repeated.
 */
#include <linux/mm.h>
#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>
#include <asm/insn-eval.h>
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

static __always_inline unsigned long effective_address(const struct kprobe_emulation *em,
						       struct pt_regs *regs)
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

static bool __kprobes emulate_jmp(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	regs->ip = next_ip(em, regs) + em->disp;
	return true;
}

static bool __kprobes emulate_jcc(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	int3_emulate_jcc(regs, em->op & 0xf, next_ip(em, regs), em->disp);
	return true;
}

static bool __kprobes emulate_call(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long next = next_ip(em, regs);

	int3_emulate_push(regs, next);
	regs->ip = next + em->disp;
	return true;
}

/* loop, loope and loopne decrement rcx, ecx or cx, and then test it; jcxz only tests it. */
static bool __kprobes emulate_loop(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long mask = ~0UL >> (BITS_PER_LONG - 8 * em->size), count = regs->cx & mask;
	bool zero = regs->flags & X86_EFLAGS_ZF, taken = !count;

	if (em->op != 0xe3) {
		count = (count - 1) & mask;
		/* A write to ecx clears the rest of rcx. */
		regs->cx = (em->size == 4 ? 0 : regs->cx & ~mask) | count;
		taken = count && (em->op != 0xe0 || !zero) && (em->op != 0xe1 || zero);
	}
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

static __always_inline bool return_to(const struct kprobe_emulation *em, struct pt_regs *regs,
				      unsigned long target)
{
	if (leads_nowhere(target))
		return false;
	regs->sp += sizeof(target) + em->disp;
	regs->ip = target;
	return true;
}

static bool __kprobes emulate_ret(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target;

	return read_word(regs->sp, &target) && return_to(em, regs, target);
}

/*
 * An indirect call or jump. @target was read before the push, as it may be from the stack pointer,
 * or relative to it.
 */
static __always_inline bool go_to(const struct kprobe_emulation *em, struct pt_regs *regs,
				  unsigned long target)
{
	if (leads_nowhere(target))
		return false;
	if (X86_MODRM_REG(em->op) == 2)
		int3_emulate_push(regs, next_ip(em, regs));
	regs->ip = target;
	return true;
}

static bool __kprobes emulate_reg(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	return go_to(em, regs, *reg_at(regs, em->base));
}

static bool __kprobes emulate_mem(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target;

	return read_word(effective_address(em, regs), &target) && go_to(em, regs, target);
}

/*
 * Completes a branch whose target was read from memory, and pushed by the slot's copy. regs->ip is
 * the probed address. Returns false, with the registers as before the push, if the target is no
 * address.
 */
bool __kprobes kprobe_emulate_pushed(const struct kprobe_emulation *em, struct pt_regs *regs)
{
	unsigned long target = int3_emulate_pop(regs);

	return em->fn == emulate_ret ? return_to(em, regs, target) : go_to(em, regs, target);
}

/* The code from here on does not run at a hit, but at registration. */

static u8 reg_offset(int low_bits, bool high)
{
	return pt_regs_offset(NULL, low_bits | (high ? 8 : 0));
}

/* An operand in memory, or in a register: @base (SDM vol. 2A, tables 2-2, 2-3 and 2.2.1.6). */
static void init_address(struct kprobe_emulation *em, struct insn *insn)
{
	bool high_index = X86_REX_X(insn->rex_prefix.value);
	u8 modrm = insn->modrm.bytes[0], sib = insn->sib.bytes[0];
	u8 base = insn->sib.nbytes ? X86_SIB_BASE(sib) : X86_MODRM_RM(modrm);

	em->disp = insn->displacement.value;
	if (insn->sib.nbytes && (X86_SIB_INDEX(sib) != 4 || high_index)) {
		em->index = reg_offset(X86_SIB_INDEX(sib), high_index);
		em->scale = X86_SIB_SCALE(sib);
	}
	if (insn_rip_relative(insn))
		em->base = offsetof(struct pt_regs, ip);
	else if (base != 5 || X86_MODRM_MOD(modrm))
		em->base = reg_offset(base, X86_REX_B(insn->rex_prefix.value));
}

static void init_operands(struct kprobe_emulation *em, struct insn *insn,
			  enum kprobe_branch branch)
{
	switch (branch) {
	case KPROBE_RETURN:
		em->memory = true;
		/* How many bytes it pops, besides the address. */
		em->disp = (u16)insn->immediate.value;
		break;
	case KPROBE_INDIRECT_CALL:
	case KPROBE_INDIRECT_JUMP:
		em->op = insn->modrm.bytes[0];
		em->memory = X86_MODRM_MOD(em->op) != 3;
		init_address(em, insn);
		break;
	default:
		em->disp = insn->immediate.value;
		em->size = insn->addr_bytes;
	}
}

/*
 * Kinds of prefixes: fs, gs or the address size, which change where a memory operand is; rep; and
 * operand size, lock and so on. With the operand size, some processors truncate the target of
 * a branch to 16 bits. Other segments are flat in the kernel, or hints.
 */
#define PREFIX_ADDRESS		BIT(0)
#define PREFIX_REP		BIT(1)
#define PREFIX_OTHER		BIT(2)

/* Near branches ignore these, or init_operands() takes them into account. */
#define WITH_BRANCH		(PREFIX_ADDRESS | PREFIX_REP)

/* Branches that are emulated by the same function */
static const struct emulator {
	enum kprobe_branch	branch;
	bool			memory;		/* as in struct kprobe_emulation */
	u8			prefixes;	/* that are allowed, besides REX */
	/*
	 * NULL where only the processor finds the operand: relative to fs or gs, or at an address
	 * of 32 bits on 64. See kprobe_emulate_pushed().
	 */
	kprobe_emulate_fn	fn;
} emulators[] = {	/* in the order in which they are tried */
	{ KPROBE_JUMP, false, WITH_BRANCH, emulate_jmp },
	{ KPROBE_CONDITIONAL, false, WITH_BRANCH, emulate_jcc },
	{ KPROBE_LOOP, false, WITH_BRANCH, emulate_loop },
	{ KPROBE_CALL, false, WITH_BRANCH, emulate_call },
	{ KPROBE_RETURN, true, WITH_BRANCH, emulate_ret },
	{ KPROBE_INDIRECT_CALL, false, WITH_BRANCH, emulate_reg },
	{ KPROBE_INDIRECT_JUMP, false, WITH_BRANCH, emulate_reg },
	{ KPROBE_INDIRECT_CALL, true, 0, emulate_mem },
	{ KPROBE_INDIRECT_JUMP, true, 0, emulate_mem },
	{ KPROBE_INDIRECT_CALL, true, PREFIX_ADDRESS, NULL },
	{ KPROBE_INDIRECT_JUMP, true, PREFIX_ADDRESS, NULL },
};

const unsigned int kprobe_nr_emulators = ARRAY_SIZE(emulators);

static u8 prefixes_of(struct insn *insn)
{
	insn_byte_t prefix;
	u8 kinds = 0;

	for_each_insn_prefix(insn, prefix) {
		/* es, cs, ss, ds */
		if ((prefix & ~0x18) == 0x26)
			continue;
		switch (prefix) {
		case 0x64 ... 0x65:
		case 0x67:
			kinds |= PREFIX_ADDRESS;
			break;
		case 0xf2 ... 0xf3:
			kinds |= PREFIX_REP;
			break;
		default:
			kinds |= PREFIX_OTHER;
		}
	}
	return insn_is_rex2(insn) ? kinds | PREFIX_OTHER : kinds;
}

/* Fills in @em, and returns the row of the table that emulates an instruction, or -ENOENT. */
int kprobe_find_emulator(struct kprobe_emulation *em, struct insn *insn)
{
	enum kprobe_branch branch = kprobe_branch_of(insn);
	u8 prefixes = prefixes_of(insn);
	int i;

	if (branch == KPROBE_RETURN_BY_THUNK)
		branch = KPROBE_RETURN;
	*em = (struct kprobe_emulation) {
		.length	= insn->length,
		.op	= kprobe_opcode(insn),
		.base	= KPROBE_NO_REG,
		.index	= KPROBE_NO_REG,
	};
	init_operands(em, insn, branch);
	for (i = 0; i < ARRAY_SIZE(emulators); i++) {
		em->fn = emulators[i].fn;
		if (emulators[i].branch == branch && emulators[i].memory == em->memory &&
		    !(prefixes & ~emulators[i].prefixes))
			return i;
	}
	return -ENOENT;
}

/*
 * Prepares to emulate an instruction that kprobe_check_insn() has let pass. @em is zeroed if it is
 * no branch. Returns -EOPNOTSUPP for a branch that cannot be emulated exactly.
 */
int kprobe_emulation_init(struct kprobe_emulation *em, struct insn *insn)
{
	if (kprobe_find_emulator(em, insn) >= 0)
		return 0;
	memset(em, 0, sizeof(*em));
	return kprobe_can_boost(insn) ? 0 : -EOPNOTSUPP;
}
