/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARM64_KPROBES_TEST_EXCEPTION_H
#define _ARM64_KPROBES_TEST_EXCEPTION_H
/*
 * Functions that raise exceptions, which but for the last one nothing fixes up. All return what is
 * in x0 behind the instruction that does.
 */
#include <linux/sizes.h>
#include <linux/stringify.h>
#include <asm/asm-bug.h>
#include <asm/asm-extable.h>

#include "support/targets.h"

unsigned long raises_undefined(unsigned long x);
unsigned long raises_astray(unsigned long x);
unsigned long raises_forged(unsigned long x);
unsigned long raises_brk(unsigned long x);
unsigned long raises_bug(unsigned long x);
unsigned long loads_nothing(unsigned long x);
KPROBES_AT(no_register); KPROBES_AT(literal);

/*
 * A read of a system register that no processor has; a branch to what is no landing pad; a
 * pointer whose signature is another; a BRK of nobody's; a BUG(); and a load of a literal.
 */
KPROBES_CALLED(raises_undefined, KPROBES_STEP("no_register")
	       ".inst 0xd5383000	// mrs x0, s3_0_c3_c0_0\n ret");
KPROBES_CALLED(raises_astray, "adr x1, 1f; br x1; 1: nop; ret");
KPROBES_CALLED(raises_forged, ".inst 0xdac133e0; ret	// autiza x0");
KPROBES_CALLED(raises_brk, "brk #1; ret");
KPROBES_CALLED(raises_bug, __stringify(ASM_BUG()) "\n ret");

/* As far as a literal can be: before the kernel's image, if this file is linked early enough */
#define LITERAL_DISTANCE	SZ_1M

KPROBES_CALLED(loads_nothing, KPROBES_STEP("literal")
	       "1: .inst 0x58800000	// ldr x0, . - 0x100000\n"
	       "2: ret\n"
	       _ASM_EXTABLE_KACCESS_ERR(1b, 2b, x0));

#endif /* _ARM64_KPROBES_TEST_EXCEPTION_H */
