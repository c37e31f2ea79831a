/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SAMPLES_KPROBES_CARELESS_H
#define _SAMPLES_KPROBES_CARELESS_H
/*
 * A function that loads a word from any address. It is in assembly, so that a
 * fault handler knows the address of the load that faults, and where to resume.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/types.h>
#ifdef CONFIG_X86
#include <asm/asm.h>
#endif

/*
 * Stores the word at @from in @word, and returns 0. If the load faults, and a
 * fault handler resumes at careless_done, this returns what that handler has put
 * into the return value register.
 */
unsigned int careless_read(unsigned long from, unsigned long *word);

extern u8 careless_load[] asm(".Lcareless_load");
extern u8 careless_done[] asm(".Lcareless_done");

#if defined(CONFIG_X86)

/* ANNOTATE_NOENDBR tells objtool that no indirect branch goes to the labels. */
asm("	.pushsection .text, \"ax\"\n"
	ASM_FUNC_ALIGN "\n"
"	.type careless_read, @function\n"
"careless_read:\n"
".Lcareless_load: " ANNOTATE_NOENDBR "\n"
"	mov (%" _ASM_ARG1 "), %" _ASM_CX "\n"
"	mov %" _ASM_CX ", (%" _ASM_ARG2 ")\n"
"	xor %eax, %eax\n"
".Lcareless_done: " ANNOTATE_NOENDBR "\n"
	ASM_RET
"	.size careless_read, . - careless_read\n"
"	.popsection\n"
);

#elif defined(CONFIG_ARM64)

asm("	.pushsection .text, \"ax\"\n"
"	.balign 16\n"
"	.type careless_read, %function\n"
"careless_read:\n"
"	hint #34\n"	/* bti c */
".Lcareless_load:\n"
"	ldr x2, [x0]\n"
"	str x2, [x1]\n"
"	mov w0, #0\n"
".Lcareless_done:\n"
"	ret\n"
"	.size careless_read, . - careless_read\n"
"	.popsection\n"
);

#endif

#endif /* _SAMPLES_KPROBES_CARELESS_H */
