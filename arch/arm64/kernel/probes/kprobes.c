// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints on arm64: what happens at a hit. They are written by slot.c.
 *
 * An instruction that depends on its address is simulated on the saved registers. Any other
 * instruction is executed by a copy that
 *
 * - branches back by itself, if there is no post handler
 * - is followed by a call of the post handlers (see kprobe_tail_hit())
 * - ends in another BRK, if the targets of the slot's branches are out of reach
 *
 * No state is kept until then: the site is found from the address of the slot. So the copy runs
 * with PSTATE as in the probed code, can be interrupted by anything, and can fault.
 */
#include <linux/extable.h>
#include <linux/uaccess.h>
#include <asm/system_misc.h>

#include "decode-insn.h"
#include "internal.h"

/*
 * The operand of a simulated load cannot be read: does as if a copy had faulted. Returns true if
 * the load is to be tried again.
 */
static noinline bool __kprobes operand_fault(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned long copy = (unsigned long)(kp->ainsn.insn + SLOT_LAST);
	u32 esr = probe_literal_fault(kp->opcode, (unsigned long)kp->addr);

	if (!esr)
		return true;
	regs->pc = copy;
	if (kprobe_fault(regs, esr))
		return regs->pc == copy;
	if (!fixup_exception(regs)) {
		kprobe_explain_oops(regs);
		die("Oops - operand of a probed instruction", regs, 0);
	}
	return false;
}

/* Executes an instruction that is simulated, on the saved registers, and runs the post handlers. */
void __kprobes kprobe_simulate(struct kprobe *kp, struct pt_regs *regs, enum kprobe_result what)
{
	unsigned long addr = (unsigned long)kp->addr;

	do {
		regs->pc = addr;
		if (!kp->ainsn.simulate(kp->opcode, addr, regs))
			continue;
		if (what == KPROBE_RESULT_POST)
			kprobe_hit_post(site_of(kp), regs);
		return;
	} while (operand_fault(kp, regs));
}

/* Executes the instruction, or has the probed code resume at a copy of it. */
static __always_inline void execute(struct kprobe *kp, struct pt_regs *regs,
				    enum kprobe_result what)
{
	if (kp->ainsn.simulate)
		kprobe_simulate(kp, regs, what);
	else if (kp->ainsn.boosted && what != KPROBE_RESULT_POST)
		regs->pc = (unsigned long)(kp->ainsn.insn + SLOT_COPY);
	else
		regs->pc = (unsigned long)(kp->ainsn.insn + SLOT_LAST);
}

/* Has to agree with what execute() does at a hit. */
const char *arch_kprobe_path(struct kprobe *kp)
{
	if (kp->ainsn.simulate)
		return "emulate";
	return kp->ainsn.boosted && (kp->ainsn.detour || !kp->post_handler) ? "boost" : "step";
}

/* If the BRK was removed after this CPU had hit it, the restored text is executed. */
static noinline int __kprobes taken_out(unsigned long addr)
{
	__le32 insn;

	__get_kernel_nofault(&insn, (__le32 *)addr, __le32, unreadable);
	if (le32_to_cpu(insn) != BRK64_OPCODE_KPROBES)
		return DBG_HOOK_HANDLED;
unreadable:
	return DBG_HOOK_ERROR;
}

/*
 * Called for a BRK with the immediate of kprobes, by the debug exception of EL1, with all masked
 * and preemption off.
 */
int __kprobes kprobe_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	struct kprobe_site *site = kprobe_find_site(regs->pc);
	enum kprobe_result what;

	if (unlikely(!site))
		return taken_out(regs->pc);
	what = kprobe_hit_pre(site, regs);
	if (unlikely(what == KPROBE_RESULT_REDIRECTED))
		/* These are for the probed address, not for the one where it resumes. */
		regs->pstate &= ~(PSR_BTYPE_MASK | DBG_SPSR_SS);
	else
		execute(&site->kp, regs, what);
	return DBG_HOOK_HANDLED;
}

/* The same for the BRK behind a copy: the instruction has been executed. */
int __kprobes kprobe_ss_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	unsigned long at = regs->pc;
	struct kprobe *kp = kprobe_slot_owner(at);

	if (!kp || at != (unsigned long)(kp->ainsn.insn + SLOT_LAST + 1))
		return DBG_HOOK_ERROR;
	regs->pc = (unsigned long)(kp->addr + 1);
	regs->pstate &= ~DBG_SPSR_SS;
	if (READ_ONCE(kp->post_handler))
		kprobe_hit_post(site_of(kp), regs);
	return DBG_HOOK_HANDLED;
}

struct kprobe __kprobes *arch_kprobe_copy_owner(unsigned long ip)
{
	struct kprobe *kp = kprobe_slot_owner(ip);
	kprobe_opcode_t *copy = (kprobe_opcode_t *)ip;

	if (!kp || (copy != kp->ainsn.insn + SLOT_COPY && copy != kp->ainsn.insn + SLOT_LAST))
		return NULL;
	return kp;
}
