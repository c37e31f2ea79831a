/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KPROBES_TEST_EXCEPTION_H
#define _X86_KPROBES_TEST_EXCEPTION_H
/*
 * Functions that raise exceptions which nothing fixes up: each at a label, and another one is where
 * to go on.
 */
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/types.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/special_insns.h>

#include "support/targets.h"

#define PLACES_OF(what)								\
	extern kprobe_opcode_t raises_##what[] asm(".Lkprobes_step_raises_" #what);	\
	extern kprobe_opcode_t behind_##what[] asm(".Lkprobes_step_behind_" #what)

PLACES_OF(bounds);
PLACES_OF(not_available);
PLACES_OF(astray);

#ifdef CONFIG_X86_32
static noinline __noclone notrace void raise_bounds(void)
{
	static const u32 bounds[] = { 1, 4 };

	asm volatile(KPROBES_STEP("raises_bounds")
		     "bound %0, %1\n"
		     KPROBES_STEP("behind_bounds")
		     : : "r" (5), "m" (bounds));
}
#endif

static notrace void switch_coprocessor(bool on)
{
	write_cr0(on ? read_cr0() & ~X86_CR0_TS : read_cr0() | X86_CR0_TS);
}

/* What comes in between might use the coprocessor. */
static noinline __noclone notrace void raise_not_available(void)
{
	unsigned long flags;

	local_irq_save(flags);
	switch_coprocessor(false);
	asm volatile(KPROBES_STEP("raises_not_available")
		     "fnop\n"
		     KPROBES_STEP("behind_not_available"));
	switch_coprocessor(true);
	local_irq_restore(flags);
}

asm("	.pushsection .text, \"ax\"\n"
"	.type called_astray, @function\n"
"called_astray:\n"
	KPROBES_STEP("raises_astray")
"	nop\n"
	KPROBES_STEP("behind_astray")
	ASM_RET
"	.size called_astray, . - called_astray\n"
"	.popsection\n");

static noinline __noclone notrace void raise_astray(void)
{
	asm volatile(ANNOTATE_RETPOLINE_SAFE
		     "call *%[to]" : ASM_CALL_CONSTRAINT : [to] "r" (raises_astray));
}

#endif /* _X86_KPROBES_TEST_EXCEPTION_H */
