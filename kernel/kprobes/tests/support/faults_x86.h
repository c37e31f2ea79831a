/* SPDX-License-Identifier: GPL-2.0 */
/* x86 half of faults.h: see there */
#ifndef _KPROBES_TESTS_FAULTS_X86_H
#define _KPROBES_TESTS_FAULTS_X86_H

#include <linux/preempt.h>
#include <linux/string.h>
#include <asm/ptrace.h>
#include <asm/trapnr.h>

/* This kind of fixup leaves the vector in the return value register. */
static inline unsigned long kprobes_fixed(const struct kprobes_fault *fault)
{
	return fault->trap;
}

static inline int kprobes_trap(int trapnr)
{
	return trapnr;
}

#ifdef CONFIG_X86_64
#define KPROBES_GENERAL_SIZE	offsetof(struct pt_regs, orig_ax)
#else
#define KPROBES_GENERAL_SIZE	offsetof(struct pt_regs, ds)
#endif

/* Compares the general registers, which come first, and the stack pointer. */
static inline bool kprobes_same_registers(const struct pt_regs *a, const struct pt_regs *b)
{
	return !memcmp(a, b, KPROBES_GENERAL_SIZE) && a->sp == b->sp;
}

#define KPROBES_FAULTY(function, before, insn, after)			\
unsigned long function(unsigned long x);				\
KPROBES_AT(function##_insn); KPROBES_AT(function##_next);		\
KPROBES_CALLED(function, "nop\n" before				\
	       KPROBES_STEP(#function "_insn") "1: " insn "\n"		\
	       KPROBES_STEP(#function "_next") "2:\n" after		\
	       ASM_RET _ASM_EXTABLE_FAULT(1b, 2b))

KPROBES_FAULTY(kprobes_load, "", "mov (%" _ASM_ARG1 "), %" _ASM_AX, "");

#ifdef CONFIG_X86_64
/* With this base register, a bad address raises a fault of the stack segment. */
KPROBES_FAULTY(kprobes_load_by_rbp, "xchgq %rdi, %rbp\n", "movq (%rbp), %rax",
	       "xchgq %rdi, %rbp\n");
#endif

KPROBES_FAULTY(kprobes_divide,
	       "mov %" _ASM_ARG1 ", %" _ASM_CX "\n movl $1000, %eax\n xorl %edx, %edx\n",
	       "divl %ecx", "");

/* Reads a control register that does not exist. */
KPROBES_FAULTY(kprobes_undefined, "", ".byte 0x0f, 0x20, 0xc8", "");

/*
 * A division by zero, which the coprocessor reports at its next instruction. Its state belongs
 * to some other task, and is restored.
 */
KPROBES_FAULTY(kprobes_coprocessor_error,
	       "sub $120, %" _ASM_SP "\n fnsave (%" _ASM_SP ")\n"
	       "movw $0x37b, 112(%" _ASM_SP ")\n fldcw 112(%" _ASM_SP ")\n"
	       "movl $0, 112(%" _ASM_SP ")\n fld1\n fdivs 112(%" _ASM_SP ")\n",
	       "fwait",
	       "fnclex\n frstor (%" _ASM_SP ")\n add $120, %" _ASM_SP "\n");

/* No other task may use the coprocessor meanwhile. */
static unsigned long kprobes_fail_coprocessor(unsigned long x)
{
	unsigned long result;

	preempt_disable();
	result = kprobes_coprocessor_error(x);
	preempt_enable();
	return result;
}

/* Its copy is another instruction. */
KPROBES_FAULTY(kprobes_call_by_pointer, FRAME_BEGIN,
	       ANNOTATE_RETPOLINE_SAFE "\ncall *(%" _ASM_ARG1 ")", FRAME_END);

KPROBES_FAULTY(kprobes_jump_by_pointer, "",
	       ANNOTATE_RETPOLINE_SAFE "\njmp *(%" _ASM_ARG1 ")", "");

static unsigned long kprobes_called(void)
{
	return KPROBES_VALUE;
}

static const unsigned long kprobes_word = KPROBES_VALUE;
static unsigned long (*const kprobes_pointer)(void) = kprobes_called;

#ifdef CONFIG_X86_64
#define KPROBES_NON_CANONICAL	BIT_ULL(63)
#endif

#define KPROBES_FAULT_OF(what, function, caller, register)		\
	.name = what, kprobes_step_##function##_insn, kprobes_step_##function##_next,	\
	caller, offsetof(struct pt_regs, register)

#define KPROBES_FAULT(what, function, register)				\
	KPROBES_FAULT_OF(what, function, function, register)

static const struct kprobes_fault kprobes_faults_table[] = {
	{ KPROBES_FAULT("load", kprobes_load, KPROBES_ARGUMENT),
	  KPROBES_UNMAPPED, (unsigned long)&kprobes_word, KPROBES_VALUE, X86_TRAP_PF },
#ifdef CONFIG_X86_64
	{ KPROBES_FAULT("load from no address", kprobes_load, KPROBES_ARGUMENT),
	  KPROBES_NON_CANONICAL, (unsigned long)&kprobes_word, KPROBES_VALUE, X86_TRAP_GP },
	{ KPROBES_FAULT("load by rbp from no address", kprobes_load_by_rbp, bp),
	  KPROBES_NON_CANONICAL, (unsigned long)&kprobes_word, KPROBES_VALUE, X86_TRAP_SS,
	  .optional = true },
#endif
	{ KPROBES_FAULT("division", kprobes_divide, cx), 0, 8, 125, X86_TRAP_DE },
	{ KPROBES_FAULT("undefined instruction", kprobes_undefined, KPROBES_ARGUMENT),
	  .trap = X86_TRAP_UD },
	{ KPROBES_FAULT_OF("coprocessor error", kprobes_coprocessor_error,
			   kprobes_fail_coprocessor, KPROBES_ARGUMENT), .trap = X86_TRAP_MF },
	{ KPROBES_FAULT("call by pointer", kprobes_call_by_pointer, KPROBES_ARGUMENT),
	  KPROBES_UNMAPPED, (unsigned long)&kprobes_pointer, KPROBES_VALUE, X86_TRAP_PF },
	{ KPROBES_FAULT("jump by pointer", kprobes_jump_by_pointer, KPROBES_ARGUMENT),
	  KPROBES_UNMAPPED, (unsigned long)&kprobes_pointer, KPROBES_VALUE, X86_TRAP_PF },
};

#endif /* _KPROBES_TESTS_FAULTS_X86_H */
