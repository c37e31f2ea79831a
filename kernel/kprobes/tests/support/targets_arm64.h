/* SPDX-License-Identifier: GPL-2.0 */
/* arm64 half of targets.h: see there */
#ifndef _KPROBES_TESTS_TARGETS_ARM64_H
#define _KPROBES_TESTS_TARGETS_ARM64_H

#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/pgtable.h>
#include <linux/unaligned.h>
#include <asm/insn.h>
#include <asm/sysreg.h>

#include "asm_arm64.h"

/* How far behind the probed address a trap leaves the instruction pointer */
#define KPROBES_TRAP_LENGTH	0

/*
 * A stack trace leaves out the caller of a function that has no frame yet, except
 * at the function's entry.
 */
#define KPROBES_TRACE_WITHOUT_FRAME	false
#define KPROBES_TRACE_AT_ENTRY		true
#define KPROBES_TRACE_PAST_EXCEPTIONS	true

/* At a return, the stack pointer is what it was at the entry. */
#define KPROBES_RETURN_POPS		0

/* Text that every kernel has, and that must not be probed */
#define KPROBES_ENTRY_SYMBOL	"vectors"

/*
 * The handler of a trap runs with interrupts masked by PSTATE, but not in an
 * interrupt. It can unmask them, unless the kernel masks interrupts by priority.
 */
#define KPROBES_HANDLER_MAY_UNMASK	(!system_uses_irq_prio_masking())

/* The mode that an exception saves: this exception level, with a stack pointer of its own */
static inline u64 kprobes_mode_here(void)
{
	return read_sysreg(CurrentEL) | (PSR_MODE_EL1h & ~PSR_MODE_EL1t);
}

/* Do the saved registers say that interrupts were on? */
static inline bool kprobes_interruptible(struct pt_regs *regs)
{
	return interrupts_enabled(regs);
}

/* A function that is called whenever all processors are synchronized with changed text */
#define KPROBES_SYNC_SYMBOL	"stop_machine_cpuslocked"

/* A function whose return must not be diverted */
#define KPROBES_NO_RETURN_SYMBOL	\
	(IS_ENABLED(CONFIG_CPU_PM) ? "__cpu_suspend_enter" : NULL)

static inline bool kprobes_set_argument(struct pt_regs *regs, u32 x)
{
	regs->regs[0] = x;
	return true;
}

#define KPROBES_HAVE_STEPS	1

u32 kprobes_steps(u32 x);

KPROBES_AT(nop); KPROBES_AT(stp); KPROBES_AT(add); KPROBES_AT(adr); KPROBES_AT(load);
KPROBES_AT(call); KPROBES_AT(blr); KPROBES_AT(cbz); KPROBES_AT(tbz); KPROBES_AT(sign);
KPROBES_AT(check); KPROBES_AT(jump); KPROBES_AT(return);

KPROBES_FUNCTION(kprobes_seven, "add w0, w0, #7; ret");

KPROBES_CALLED(kprobes_steps,
	       KPROBES_STEP("sign")	"hint #25\n"
	       KPROBES_STEP("nop")	"nop\n"
	       KPROBES_STEP("stp")	"stp x29, x30, [sp, #-16]!; mov x29, sp\n"
	       KPROBES_STEP("add")	"add w0, w0, #3\n"
	       KPROBES_STEP("adr")	"adr x1, 2f\n"
	       KPROBES_STEP("load")	"ldr w2, 3f; ldr w1, [x1]; add w0, w0, w1; add w0, w0, w2\n"
	       KPROBES_STEP("call")	"bl kprobes_seven; sub w0, w0, #7; adr x1, kprobes_seven\n"
	       KPROBES_STEP("blr")	"blr x1\n"
	       KPROBES_STEP("cbz")	"cbz xzr, 4f; add w0, w0, #1; 4:\n"
	       KPROBES_STEP("tbz")	"tbz x0, #33, 5f; add w0, w0, #1; 5: cmp w0, #0\n"
	       KPROBES_STEP("jump")	"b.eq 1f; add w0, w0, #1; 1: ldp x29, x30, [sp], #16\n"
	       KPROBES_STEP("check")	"hint #29\n"
	       KPROBES_STEP("return")	"ret\n"
	       "2: .long 2; 3: .long 3");

/* All masks: DAIF, and interrupts that are masked by priority */
#define KPROBES_HAVE_MASKS	1

static inline unsigned long kprobes_masks(void)
{
	return read_sysreg(daif) | irqs_disabled();
}

static const struct kprobes_step kprobes_steps_table[] __maybe_unused = {
	{ "function entry", kprobes_traced, NULL, kprobes_traced },
	{ "untraced function entry", kprobes_untraced, NULL, kprobes_untraced },
	{ "signing", kprobes_step_sign, kprobes_step_nop, kprobes_steps },
	{ "nop", kprobes_step_nop, kprobes_step_stp, kprobes_steps },
	{ "store with writeback", kprobes_step_stp, kprobes_step_stp + 4, kprobes_steps },
	{ "plain instruction", kprobes_step_add, kprobes_step_adr, kprobes_steps },
	{ "address relative to the pc", kprobes_step_adr, kprobes_step_load, kprobes_steps },
	{ "load relative to the pc", kprobes_step_load, kprobes_step_load + 4, kprobes_steps },
	{ "call", kprobes_step_call, kprobes_step_call + 4, kprobes_steps, true },
	{ "call through a register", kprobes_step_blr, kprobes_step_cbz, kprobes_steps, true },
	{ "compare and branch", kprobes_step_cbz, NULL, kprobes_steps, true },
	{ "test and branch", kprobes_step_tbz, NULL, kprobes_steps, true },
	{ "conditional jump", kprobes_step_jump, NULL, kprobes_steps, true },
	{ "authentication", kprobes_step_check, kprobes_step_return, kprobes_steps },
	{ "return", kprobes_step_return, NULL, kprobes_steps, true },
};

#define KPROBES_BLOCK_INSN_SIZE	AARCH64_INSN_SIZE

asm("	.macro kprobes_block\n"
	KPROBES_TEXT(KPROBES_TYPE_OF("kprobes_block_\\@", "kprobes_steps"), "kprobes_block_\\@",
		     ".Lkprobes_block_\\@:\n"
		     ".rept " __stringify(KPROBES_BLOCK_INSNS) "; add w0, w0, #1; .endr; ret")
"	.quad kprobes_block_\\@, .Lkprobes_block_\\@\n"
"	.endm\n");

/* The error for a probe on an instruction that cannot be probed */
#define KPROBES_REFUSED		(-EINVAL)

/* The error for a probe inside an instruction, if it is not -EILSEQ */
#define KPROBES_OFF_BOUNDARY	(-EINVAL)

/*
 * The most words of a target that may be refused: ftrace's call, with BTI also the move before
 * it, and two words of data. Those are the constants of kprobes_steps(), or ftrace's pointer or
 * the type before the next function.
 */
#define KPROBES_OWN_REFUSED	(IS_ENABLED(CONFIG_ARM64_BTI_KERNEL) ? 4 : 3)

static inline int kprobes_insn_length(const u8 *text, unsigned long size)
{
	return AARCH64_INSN_SIZE;
}

static inline unsigned long kprobes_trim(const u8 *text, unsigned long size)
{
	while (size && get_unaligned_le32(text + size - AARCH64_INSN_SIZE) ==
		       aarch64_insn_gen_nop())
		size -= AARCH64_INSN_SIZE;
	return size;
}

/* Looks the address up in the kernel's page table, which may have blocks. */
static inline bool kprobes_writable(unsigned long addr)
{
	p4d_t *p4dp = p4d_offset(pgd_offset_k(addr), addr);
	pud_t *pudp;
	pmd_t *pmdp;

	pudp = pud_offset(p4dp, addr);
	if (pud_leaf(*pudp))
		return pte_write(pud_pte(*pudp));
	pmdp = pmd_offset(pudp, addr);
	if (pmd_leaf(*pmdp))
		return pte_write(pmd_pte(*pmdp));
	return pte_write(*pte_offset_kernel(pmdp, addr));
}

#if defined(CONFIG_ARM64_PSEUDO_NMI) && !defined(MODULE)
#include "nmi_arm64.h"
#endif

#endif /* _KPROBES_TESTS_TARGETS_ARM64_H */
