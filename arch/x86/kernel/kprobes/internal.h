/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_INTERNAL_H
#define __X86_KERNEL_KPROBES_INTERNAL_H

#include <linux/kprobes_arch.h>
#include <linux/types.h>
#include <asm/ibt.h>
#include <asm/insn.h>

#include "detour.h"

/* decode.c: what an instruction is, and where instructions begin */
struct kprobe_function;

/* Kinds of branches, by how a copy of one is made. The last two cannot be probed. */
enum kprobe_branch {
	KPROBE_NO_BRANCH,
	KPROBE_JUMP,
	KPROBE_CONDITIONAL,
	KPROBE_LOOP,			/* and jcxz: they have no long form */
	KPROBE_CALL,
	KPROBE_RETURN,
	KPROBE_RETURN_BY_THUNK,		/* a copy has to jump to the return thunk */
	KPROBE_INDIRECT_CALL,
	KPROBE_INDIRECT_JUMP,
	KPROBE_XBEGIN,			/* an abort leads to its target */
	KPROBE_FAR_BRANCH,		/* except far calls, which return */
};

int kprobe_decode(struct insn *insn, u8 *buf, unsigned long addr);
bool kprobe_decode_until(struct kprobe_function *f, unsigned long end);
bool kprobe_note_branches(struct kprobe_function *f, unsigned long from, unsigned long to);
int kprobe_opcode(struct insn *insn);
enum kprobe_branch kprobe_branch_of(struct insn *insn);
int kprobe_check_boundary(unsigned long addr, const char **why);
bool kprobe_need_landing_pads(void);
int kprobe_check_insn(struct insn *insn, unsigned long addr, const char **kind);
bool kprobe_can_boost(struct insn *insn);
int kprobe_relocate(u8 *copy, struct insn *insn,
		    unsigned long from, unsigned long to);
int kprobe_copy(u8 *copy, struct insn *insn, unsigned long from, unsigned long to);

/* emulate.c: emulating a branch on saved registers */
int kprobe_emulation_init(struct kprobe_emulation *em, struct insn *insn);
int kprobe_find_emulator(struct insn *insn);
bool kprobe_emulate_pushed(const struct kprobe_emulation *em, struct pt_regs *regs);

/* Defined by the linker script. */
extern char __static_call_text_start[], __static_call_text_end[];

/* int3.c */
void kprobe_carry_out_post(struct kprobe *kp, struct pt_regs *regs);

/*
 * Returns the address of the copy for hits with a post handler, or of what is executed when a
 * branch cannot be emulated right now.
 */
static __always_inline unsigned long kprobe_last_copy(const struct kprobe *kp)
{
	unsigned long slot = (unsigned long)kp->ainsn.insn;

	return kp->ainsn.emulation.memory ? slot : slot + KPROBE_SLOT_LAST_OFFSET;
}

/*
 * On the ways without a trap, registers are saved on the probed code's own stack, right below a
 * word that holds the address to continue at. An emulated call overwrites that word. It is not
 * needed then: the stack pointer has changed, so all registers are loaded from the saved ones.
 */
static __always_inline bool kprobe_sp_changed(struct pt_regs *regs)
{
	return regs->sp != (unsigned long)(regs + 1) + sizeof(long);
}

/*
 * Prepares to continue at @to. Returns true if all registers have to be loaded from @regs to
 * get there.
 */
static __always_inline unsigned long kprobe_go_on(struct pt_regs *regs, unsigned long to)
{
	if (unlikely(kprobe_sp_changed(regs))) {
		regs->ip = to;
		return true;
	}
	*(unsigned long *)(regs + 1) = to;
	return false;
}

/* detour.c and tail.c, called from assembly; arguments are in registers, on 32 bits too */
unsigned long __noendbr kprobe_detour_hit(struct pt_regs *regs, struct kprobe *kp);
unsigned long __noendbr kprobe_tail_hit(struct pt_regs *regs, struct kprobe *kp);

#ifdef CONFIG_OPTPROBES
static __always_inline struct arch_optimized_insn *kprobe_optinsn(struct kprobe *kp)
{
	return &container_of(kp, struct optimized_kprobe, kp)->optinsn;
}

/* Returns the address of the first copy in the detour, that of the probed instruction. */
static __always_inline unsigned long kprobe_detour_copy(struct kprobe *kp)
{
	return (unsigned long)kprobe_optinsn(kp)->insn + DETOUR_COPY;
}

/* Is the byte at this offset from a site covered by the site's jump, or is going to be? */
static __always_inline bool kprobe_covers(struct kprobe *kp, unsigned long offset)
{
	return unlikely(offset - 1 < JMP32_INSN_SIZE - 1 && kprobe_optimized(kp));
}

static __always_inline unsigned long kprobe_copy_of(struct kprobe *kp, unsigned long offset)
{
	struct arch_optimized_insn *optinsn = kprobe_optinsn(kp);

	return (unsigned long)optinsn->insn + optinsn->copy[offset];
}

/*
 * Returns where a hit continues that would otherwise continue at @ip, where the probed
 * instruction leads to: if the site's jump covers @ip, or is going to, at the copy in the detour.
 */
static __always_inline unsigned long kprobe_way_out(struct kprobe *kp, unsigned long ip)
{
	unsigned long offset = ip - (unsigned long)kp->addr;

	return kprobe_covers(kp, offset) ? kprobe_copy_of(kp, offset) : ip;
}

/* Is this where the probed instruction leads to? Only handlers lead to anywhere else. */
static __always_inline bool kprobe_leads_to(struct kprobe *kp, unsigned long ip)
{
	const struct kprobe_emulation *em = &kp->ainsn.emulation;
	unsigned long distance = ip - (unsigned long)kp->addr - em->length;

	return likely(!distance) || (em->direct && distance == (unsigned long)em->disp);
}

/* The same after handlers, which may have chosen @ip. */
static __always_inline unsigned long kprobe_way_after(struct kprobe *kp, unsigned long ip)
{
	return kprobe_leads_to(kp, ip) ? kprobe_way_out(kp, ip) : kprobe_way_to(ip);
}

/* Defined by the linker script. */
extern struct exception_table_entry __start___ex_table[];
extern struct exception_table_entry __stop___ex_table[];

unsigned long kprobe_covered_by_copy(struct kprobe *kp, unsigned long ip);
void kprobe_recover_covered(struct kprobe *kp, u8 *buf, int at, int len);
#else
static __always_inline unsigned long kprobe_detour_copy(struct kprobe *kp)
{
	return (unsigned long)kp->ainsn.insn;
}

static __always_inline unsigned long kprobe_way_out(struct kprobe *kp, unsigned long ip)
{
	return ip;
}

static __always_inline unsigned long kprobe_way_after(struct kprobe *kp, unsigned long ip)
{
	return ip;
}

static inline unsigned long kprobe_covered_by_copy(struct kprobe *kp, unsigned long ip)
{
	return 0;
}

static inline void kprobe_recover_covered(struct kprobe *kp, u8 *buf, int at, int len)
{
}
#endif

/* The table in emulate.c, for tests to check that they have tried every row. */
extern const unsigned int kprobe_nr_emulators;

#endif /* __X86_KERNEL_KPROBES_INTERNAL_H */
