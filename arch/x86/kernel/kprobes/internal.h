/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_INTERNAL_H
#define __X86_KERNEL_KPROBES_INTERNAL_H

/*
 * Layout of a detour, for assembly, too:
 *
 *   DETOUR_OWNER	the address of the site
 *   DETOUR_ENTRY	the target of the jump: a call of kprobe_detour_entry()
 *   DETOUR_COPY	copies of the instructions that the jump covers, and a jump back
 *
 * A copy is as long as its original, except for branches: a short branch gets its long form,
 * of up to six bytes, a call becomes a push and a jump, and a return may become a jump.
 */
#define DETOUR_OWNER	0
#define DETOUR_ENTRY	8
#define DETOUR_COPY	13
#define DETOUR_SIZE	64

#ifndef __ASSEMBLY__
#include <linux/kprobes_arch.h>
#include <linux/kprobes_function.h>
#include <linux/kprobes_hit.h>
#include <linux/types.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

/* decode.c: what an instruction is, and where instructions begin */

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
bool kprobe_note_insns(struct kprobe_function *f, unsigned long *at, unsigned long end);
int kprobe_opcode(struct insn *insn);
enum kprobe_branch kprobe_branch_of(struct insn *insn);
int kprobe_check_boundary(unsigned long addr, const char **why);
bool kprobe_need_landing_pads(void);
int kprobe_check_insn(struct insn *insn, unsigned long addr, const char **kind);
int kprobe_relocate(u8 *copy, struct insn *insn, unsigned long from, unsigned long to);
int kprobe_copy(u8 *copy, struct insn *insn, unsigned long from, unsigned long to);

/* Others that may not continue with the next instruction, as a jump back does, are refused. */
static inline bool kprobe_can_boost(struct insn *insn)
{
	return kprobe_branch_of(insn) == KPROBE_NO_BRANCH;
}

/* emulate.c: emulating a branch on saved registers. The table is for tests, to try every row. */
extern const unsigned int kprobe_nr_emulators;
int kprobe_emulation_init(struct kprobe_emulation *em, struct insn *insn);
int kprobe_find_emulator(struct kprobe_emulation *em, struct insn *insn);
bool kprobe_emulate_pushed(const struct kprobe_emulation *em, struct pt_regs *regs);

/* Defined by the linker script. */
extern char __static_call_text_start[], __static_call_text_end[];
extern struct exception_table_entry __start___ex_table[], __stop___ex_table[];

/* int3.c */
unsigned long kprobe_execute_post(struct kprobe_site *site, struct pt_regs *regs);

/* If the instruction is boosted, this is the copy for hits with a post handler. */
static __always_inline unsigned long kprobe_slot_last(const struct kprobe *kp)
{
	return (unsigned long)kp->ainsn.insn + KPROBE_SLOT_LAST_OFFSET;
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

/* Prepares to resume at @to. Returns true if all of @regs has to be loaded to get there. */
static __always_inline bool kprobe_resume(struct pt_regs *regs, unsigned long to)
{
	if (unlikely(kprobe_sp_changed(regs))) {
		regs->ip = to;
		return true;
	}
	*(unsigned long *)(regs + 1) = to;
	return false;
}

static __always_inline unsigned long kprobe_next_ip(const struct kprobe *kp)
{
	return (unsigned long)kp->addr + kp->ainsn.emulation.length;
}

/* detour.c, int3.c, ftrace.c: called from assembly, with arguments in registers on 32 bits too */
bool __noendbr kprobe_detour_hit(struct pt_regs *regs, struct kprobe_site *site);
bool __noendbr kprobe_detour_called(struct pt_regs *regs, struct kprobe_site *site, int chosen);
bool __noendbr kprobe_tail_hit(struct pt_regs *regs, struct kprobe_site *site);
bool __noendbr kprobe_tail_called(struct pt_regs *regs, struct kprobe_site *site);
bool __noendbr kprobe_entry_hit(struct pt_regs *regs, struct kprobe_site *site);
bool __noendbr kprobe_entry_called(struct pt_regs *regs, struct kprobe_site *site, int chosen);

static __always_inline struct arch_optimized_insn *kprobe_optinsn(struct kprobe *kp)
{
	return &container_of(kp, struct optimized_kprobe, kp)->optinsn;
}

/* Returns the address of the first copy in the detour, that of the probed instruction. */
static __always_inline unsigned long kprobe_detour_copy(struct kprobe *kp)
{
	return (unsigned long)kprobe_optinsn(kp)->insn + DETOUR_COPY;
}

/*
 * Returns where to resume a hit that goes on at @ip: there; or if a jump covers @ip, or is going
 * to, at the copy in the detour. If the instruction itself leads there, to @led, a jump can only
 * cover the next one, and is the site's own. Otherwise a handler has chosen @ip.
 */
static __always_inline unsigned long kprobe_resume_ip(struct kprobe *kp, unsigned long ip,
						      unsigned long led)
{
	if (unlikely(ip != led))
		return arch_kprobe_resume_ip(ip);
	return led == kprobe_next_ip(kp) && kprobe_optimized(kp) ? kprobe_optinsn(kp)->next : ip;
}

unsigned long kprobe_original_in_detour(struct kprobe *kp, unsigned long ip);

#endif /* __ASSEMBLY__ */
#endif /* __X86_KERNEL_KPROBES_INTERNAL_H */
