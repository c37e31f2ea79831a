/* SPDX-License-Identifier: GPL-2.0 */
/* arm64 half of faults.h: see there */
#ifndef _KPROBES_TESTS_FAULTS_ARM64_H
#define _KPROBES_TESTS_FAULTS_ARM64_H

#include <linux/errno.h>
#include <linux/string.h>
#include <asm/asm-extable.h>
#include <asm/esr.h>
#include <asm/ptrace.h>

static inline unsigned long kprobes_fixed(const struct kprobes_fault *fault)
{
	return -EFAULT;
}

#define KPROBES_ALIGNMENT	0x21

/* A translation fault may be found at any level of the page table. */
static inline int kprobes_trap(int trapnr)
{
	u32 esr = trapnr;

	if (ESR_ELx_EC(esr) != ESR_ELx_EC_DABT_CUR)
		return -1;
	if (esr_fsc_is_translation_fault(esr))
		return ESR_ELx_FSC_FAULT;
	return esr & ESR_ELx_FSC;
}

static inline bool kprobes_same_registers(const struct pt_regs *a, const struct pt_regs *b)
{
	return !memcmp(a->regs, b->regs, sizeof(a->regs)) && a->sp == b->sp;
}

#define KPROBES_FAULTY(function, insn)					\
unsigned long function(unsigned long x);				\
KPROBES_AT(function##_insn); KPROBES_AT(function##_next);		\
KPROBES_CALLED(function, KPROBES_STEP(#function "_insn") "1: " insn "\n"	\
	       KPROBES_STEP(#function "_next") "2: ret\n"			\
	       _ASM_EXTABLE_KACCESS_ERR(1b, 2b, x0))

KPROBES_FAULTY(kprobes_load, "ldr x0, [x0]");

/* Faults if its operand crosses a multiple of 16. */
KPROBES_FAULTY(kprobes_load_ordered, "ldar x0, [x0]");

static const unsigned long kprobes_words[4] __aligned(16) = { KPROBES_VALUE };

#define KPROBES_FAULT(what, function, bad, trap)					\
	.name = what, kprobes_step_##function##_insn, kprobes_step_##function##_next,		\
	function, offsetof(struct pt_regs, regs[0]), bad, (unsigned long)kprobes_words,		\
	KPROBES_VALUE, trap

static const struct kprobes_fault kprobes_faults_table[] = {
	{ KPROBES_FAULT("load", kprobes_load, KPROBES_UNMAPPED, ESR_ELx_FSC_FAULT) },
	{ KPROBES_FAULT("load from a user address", kprobes_load, 8, ESR_ELx_FSC_FAULT) },
	{ KPROBES_FAULT("ordered load", kprobes_load_ordered, KPROBES_UNMAPPED,
			ESR_ELx_FSC_FAULT) },
	{ KPROBES_FAULT("ordered load across a boundary", kprobes_load_ordered,
			(unsigned long)kprobes_words + 12, KPROBES_ALIGNMENT), .optional = true },
};

#endif /* _KPROBES_TESTS_FAULTS_ARM64_H */
