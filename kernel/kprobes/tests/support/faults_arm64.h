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
extern u8 function##_insn[] asm(".Lkprobes_step_" #function "_insn");	\
extern u8 function##_next[] asm(".Lkprobes_step_" #function "_next");	\
asm("	.pushsection .text, \"ax\"\n"					\
"	.balign 16\n"							\
"	.type " #function ", %function\n"				\
KPROBES_TYPE_OF(#function)						\
#function ":\n"								\
"	hint #34\n"							\
KPROBES_STEP(#function "_insn")						\
"1:	" insn "\n"							\
KPROBES_STEP(#function "_next")						\
"2:	ret\n"								\
"	.size " #function ", . - " #function "\n"			\
	_ASM_EXTABLE_KACCESS_ERR(1b, 2b, x0)				\
"	.popsection\n")

KPROBES_FAULTY(kprobes_load, "ldr x0, [x0]");

/* Faults if its operand crosses a multiple of 16. */
KPROBES_FAULTY(kprobes_load_ordered, "ldar x0, [x0]");

static const unsigned long kprobes_words[4] __aligned(16) = { KPROBES_VALUE };

#define KPROBES_FAULT(what, function)					\
	.name = what,							\
	.insn = function##_insn,					\
	.next = function##_next,					\
	.call = function,						\
	.reg = offsetof(struct pt_regs, regs[0]),			\
	.good = (unsigned long)kprobes_words,				\
	.value = KPROBES_VALUE

static const struct kprobes_fault kprobes_faults_table[] = {
	{
		KPROBES_FAULT("load", kprobes_load),
		.bad = KPROBES_UNMAPPED,
		.trap = ESR_ELx_FSC_FAULT,
	}, {
		KPROBES_FAULT("load from a user address", kprobes_load),
		.bad = 8,
		.trap = ESR_ELx_FSC_FAULT,
	}, {
		KPROBES_FAULT("ordered load", kprobes_load_ordered),
		.bad = KPROBES_UNMAPPED,
		.trap = ESR_ELx_FSC_FAULT,
	}, {
		KPROBES_FAULT("ordered load across a boundary", kprobes_load_ordered),
		.bad = (unsigned long)kprobes_words + 12,
		.trap = KPROBES_ALIGNMENT,
		.optional = true,
	},
};

#endif /* _KPROBES_TESTS_FAULTS_ARM64_H */
