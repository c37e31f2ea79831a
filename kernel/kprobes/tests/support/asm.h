/* SPDX-License-Identifier: GPL-2.0 */
/* For functions in assembly. An architecture's header has defined how they begin. */
#ifndef _KPROBES_TESTS_ASM_H
#define _KPROBES_TESTS_ASM_H

#include <linux/compiler.h>

/* The text of a function; @type comes between its alignment and its name. */
#define KPROBES_TEXT(type, name, body)					\
"	.pushsection .text, \"ax\"\n"					\
	KPROBES_ALIGN							\
	type								\
"	.type " name ", %function\n"					\
name ":\n"								\
	KPROBES_PAD							\
	body "\n"							\
"	.size " name ", . - " name "\n"					\
"	.popsection\n"

#define KPROBES_FUNCTION(name, body)	asm(KPROBES_TEXT("", #name, body))

/* One that is called indirectly. The compiler tells its type because its address is taken. */
#define KPROBES_CALLED(name, body)					\
	__ADDRESSABLE(name);						\
	asm(KPROBES_TEXT(KPROBES_TYPE_OF(#name, #name), #name, body))

#endif /* _KPROBES_TESTS_ASM_H */
