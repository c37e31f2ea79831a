/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARM64_KPROBES_TEST_EXCEPTION_H
#define _ARM64_KPROBES_TEST_EXCEPTION_H
/*
 * Functions that raise exceptions, which but for the last one nothing fixes up. All return what is
 * in x0 behind the instruction that does.
 */
#include <linux/sizes.h>
#include <linux/stringify.h>
#include <linux/types.h>
#include <asm/asm-bug.h>
#include <asm/asm-extable.h>

#include "support/targets.h"

unsigned long raises_undefined(unsigned long x);
unsigned long raises_astray(unsigned long x);
unsigned long raises_forged(unsigned long x);
unsigned long raises_brk(unsigned long x);
unsigned long raises_bug(unsigned long x);
unsigned long loads_nothing(unsigned long x);
extern u32 raises_register[] asm(".Lraises_register");
extern u32 loads_literal[] asm(".Lloads_literal");

/* As far as a literal can be: before the kernel's image, if this file is linked early enough */
#define LITERAL_DISTANCE	SZ_1M

/*
 * A read of a system register that no processor has; a branch to what is no landing pad; a
 * pointer whose signature is another; a BRK of nobody's; a BUG(); and a load of a literal.
 */
asm("	.pushsection .text, \"ax\"\n"
"	.balign	8\n"
"	.type raises_undefined, %function\n"
KPROBES_TYPE_OF("raises_undefined")
"raises_undefined:\n"
"	hint #34\n"
".Lraises_register:\n"
"	.inst 0xd5383000	// mrs x0, s3_0_c3_c0_0\n"
"	ret\n"
"	.size raises_undefined, . - raises_undefined\n"
"	.type raises_astray, %function\n"
KPROBES_TYPE_OF("raises_astray")
"raises_astray:\n"
"	hint #34\n"
"	adr x1, 1f\n"
"	br x1\n"
"1:	nop\n"
"	ret\n"
"	.size raises_astray, . - raises_astray\n"
"	.type raises_forged, %function\n"
KPROBES_TYPE_OF("raises_forged")
"raises_forged:\n"
"	hint #34\n"
"	.inst 0xdac133e0	// autiza x0\n"
"	ret\n"
"	.size raises_forged, . - raises_forged\n"
"	.type raises_brk, %function\n"
KPROBES_TYPE_OF("raises_brk")
"raises_brk:\n"
"	hint #34\n"
"	brk #1\n"
"	ret\n"
"	.size raises_brk, . - raises_brk\n"
"	.type raises_bug, %function\n"
KPROBES_TYPE_OF("raises_bug")
"raises_bug:\n"
"	hint #34\n"
	__stringify(ASM_BUG()) "\n"
"	ret\n"
"	.size raises_bug, . - raises_bug\n"
"	.type loads_nothing, %function\n"
KPROBES_TYPE_OF("loads_nothing")
"loads_nothing:\n"
"	hint #34\n"
".Lloads_literal:\n"
"1:	.inst 0x58800000	// ldr x0, . - 0x100000\n"
"2:	ret\n"
"	.size loads_nothing, . - loads_nothing\n"
	_ASM_EXTABLE_KACCESS_ERR(1b, 2b, x0)
"	.popsection\n");

#endif /* _ARM64_KPROBES_TEST_EXCEPTION_H */
