/* SPDX-License-Identifier: GPL-2.0-only */
/* x86 half of test_exceptions.c: see there */
#ifndef _KPROBES_TESTS_EXCEPTIONS_X86_H
#define _KPROBES_TESTS_EXCEPTIONS_X86_H

#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <asm/special_insns.h>
#include <asm/trapnr.h>

static inline int kind_of(int trapnr)
{
	return trapnr;
}

#ifdef CONFIG_X86_32
KPROBES_AT(raises_bounds); KPROBES_AT(behind_bounds);

static noinline __noclone notrace void raise_bounds(void)
{
	static const u32 bounds[] = { 1, 4 };

	asm volatile(KPROBES_STEP("raises_bounds") "bound %0, %1\n" KPROBES_STEP("behind_bounds")
		     : : "r" (5), "m" (bounds));
}
#endif

KPROBES_AT(raises_not_available); KPROBES_AT(behind_not_available);

static notrace void switch_coprocessor_on(void)
{
	write_cr0(read_cr0() & ~X86_CR0_TS);
}

/* What comes in between might use the coprocessor. */
static noinline __noclone notrace void raise_not_available(void)
{
	unsigned long flags;

	local_irq_save(flags);
	write_cr0(read_cr0() | X86_CR0_TS);
	asm volatile(KPROBES_STEP("raises_not_available") "fnop\n"
		     KPROBES_STEP("behind_not_available"));
	switch_coprocessor_on();
	local_irq_restore(flags);
}

KPROBES_AT(raises_astray); KPROBES_AT(behind_astray);

KPROBES_FUNCTION(called_astray,
		 KPROBES_STEP("raises_astray") "nop\n" KPROBES_STEP("behind_astray") ASM_RET);

/* Leads behind the landing pad. */
static noinline __noclone notrace void raise_astray(void)
{
	asm volatile(ANNOTATE_RETPOLINE_SAFE "\n"
		     "call *%[to]" : ASM_CALL_CONSTRAINT : [to] "r" (kprobes_step_raises_astray));
}

static bool landing_pads_matter(void)
{
	return cpu_feature_enabled(X86_FEATURE_IBT);
}

static const struct exception exceptions[] = {
#ifdef CONFIG_X86_32
	{ "bounds", X86_TRAP_BR, raise_bounds, kprobes_step_raises_bounds,
	  kprobes_step_behind_bounds, .probed = true },
#endif
	{ "no coprocessor", X86_TRAP_NM, raise_not_available, kprobes_step_raises_not_available,
	  kprobes_step_behind_not_available, .repair = switch_coprocessor_on, .probed = true },
	{ "no landing pad", X86_TRAP_CP, raise_astray, kprobes_step_raises_astray,
	  kprobes_step_behind_astray, landing_pads_matter },
};

#endif /* _KPROBES_TESTS_EXCEPTIONS_X86_H */
