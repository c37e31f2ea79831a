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

#define RAISES(function, body)				\
unsigned long function(unsigned long x);		\
KPROBES_CALLED(function, body "\n ret")

/* A read of a system register that no processor has */
KPROBES_AT(no_register);
RAISES(raises_undefined, KPROBES_STEP("no_register")
       ".inst 0xd5383000	// mrs x0, s3_0_c3_c0_0");

/* A branch to what is no landing pad */
RAISES(raises_astray, "adr x1, 1f; br x1; 1: nop");

/* A pointer whose signature is another */
RAISES(raises_forged, ".inst 0xdac133e0	// autiza x0");

/* A BRK of nobody's, and that of a BUG() */
RAISES(raises_brk, "brk #1");
RAISES(raises_bug, __stringify(ASM_BUG()));

/* As far as a literal can be: before the kernel's image, if this file is linked early enough */
#define LITERAL_DISTANCE	SZ_1M

KPROBES_AT(literal);
RAISES(loads_nothing, KPROBES_STEP("literal")
       "1: .inst 0x58800000	// ldr x0, . - 0x100000\n"
       "2:\n" _ASM_EXTABLE_KACCESS_ERR(1b, 2b, x0));

#endif /* _ARM64_KPROBES_TEST_EXCEPTION_H */
