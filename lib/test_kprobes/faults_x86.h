/* SPDX-License-Identifier: GPL-2.0 */
/* x86_64 half of faults.h: see there */
#ifndef _LIB_TEST_KPROBES_FAULTS_X86_H
#define _LIB_TEST_KPROBES_FAULTS_X86_H

#include <linux/string.h>
#include <asm/asm.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace.h>
#include <asm/trapnr.h>

/* This kind of fixup leaves the vector in the register for return values. */
static inline u64 kprobes_fixed(const struct kprobes_fault *fault)
{
	return fault->trap;
}

static inline int kprobes_trap(int trapnr)
{
	return trapnr;
}

/* The general ones come first; the stack pointer is behind what traps differ in. */
static inline bool kprobes_same_registers(const struct pt_regs *a, const struct pt_regs *b)
{
	return !memcmp(a, b, offsetof(struct pt_regs, orig_ax)) && a->sp == b->sp;
}

#define KPROBES_FAULTY(function, before, insn, after)			\
u64 function(u64 x);							\
extern u8 function##_insn[] asm(".Lkprobes_step_" #function "_insn");	\
extern u8 function##_next[] asm(".Lkprobes_step_" #function "_next");	\
asm("	.pushsection .text, \"ax\"\n"					\
	ASM_FUNC_ALIGN "\n"						\
"	.type " #function ", @function\n"				\
#function ":\n"								\
	ASM_ENDBR							\
"	nop\n"								\
	before								\
KPROBES_STEP(#function "_insn")						\
"1:	" insn "\n"							\
KPROBES_STEP(#function "_next")						\
"2:\n"									\
	after								\
	ASM_RET								\
"	.size " #function ", . - " #function "\n"			\
	_ASM_EXTABLE_FAULT(1b, 2b)					\
"	.popsection\n")

KPROBES_FAULTY(kprobes_load, "", "movq (%rdi), %rax", "");

/* Relative to this register a bad address is a fault of the stack segment. */
KPROBES_FAULTY(kprobes_load_by_rbp, "xchgq %rdi, %rbp\n", "movq (%rbp), %rax",
	       "xchgq %rdi, %rbp\n");

KPROBES_FAULTY(kprobes_divide, "movl $1000, %eax\n xorl %edx, %edx\n", "divl %edi", "");

/* Reads a control register that there is not. */
KPROBES_FAULTY(kprobes_undefined, "", ".byte 0x0f, 0x20, 0xc8", "");

/* Its copy is not the same instruction. */
KPROBES_FAULTY(kprobes_call_by_pointer, FRAME_BEGIN, ANNOTATE_RETPOLINE_SAFE "callq *(%rdi)",
	       FRAME_END);

static u64 kprobes_called(void)
{
	return KPROBES_VALUE;
}

static const u64 kprobes_word = KPROBES_VALUE;
static u64 (*const kprobes_pointer)(void) = kprobes_called;

#define KPROBES_NON_CANONICAL	BIT_ULL(63)

#define KPROBES_FAULT(what, function, register)				\
	.name = what,							\
	.insn = function##_insn,					\
	.next = function##_next,					\
	.call = function,						\
	.reg = offsetof(struct pt_regs, register)

static const struct kprobes_fault kprobes_faults_table[] = {
	{
		KPROBES_FAULT("load", kprobes_load, di),
		.bad = KPROBES_UNMAPPED,
		.good = (unsigned long)&kprobes_word,
		.value = KPROBES_VALUE,
		.trap = X86_TRAP_PF,
	}, {
		KPROBES_FAULT("load from no address", kprobes_load, di),
		.bad = KPROBES_NON_CANONICAL,
		.good = (unsigned long)&kprobes_word,
		.value = KPROBES_VALUE,
		.trap = X86_TRAP_GP,
	}, {
		KPROBES_FAULT("load by rbp from no address", kprobes_load_by_rbp, bp),
		.bad = KPROBES_NON_CANONICAL,
		.good = (unsigned long)&kprobes_word,
		.value = KPROBES_VALUE,
		.trap = X86_TRAP_SS,
		.optional = true,
	}, {
		KPROBES_FAULT("division", kprobes_divide, di),
		.bad = 0,
		.good = 8,
		.value = 125,
		.trap = X86_TRAP_DE,
	}, {
		KPROBES_FAULT("undefined instruction", kprobes_undefined, di),
		.trap = X86_TRAP_UD,
	}, {
		KPROBES_FAULT("call by pointer", kprobes_call_by_pointer, di),
		.bad = KPROBES_UNMAPPED,
		.good = (unsigned long)&kprobes_pointer,
		.value = KPROBES_VALUE,
		.trap = X86_TRAP_PF,
	},
};

#endif /* _LIB_TEST_KPROBES_FAULTS_X86_H */
