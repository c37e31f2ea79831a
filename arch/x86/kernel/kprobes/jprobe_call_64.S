/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls a function with the arguments that another function is about to get.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/unwind_hints.h>

	.text

/* Saved below the frame pointer, in this order */
#define NR_SAVED	5

	.macro	restore_and_return
	leaq	-8*NR_SAVED(%rbp), %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	RET
	.endm

/*
 * Jumps to %r11 as a retpoline does. That is the beginning of a C function, where an indirect
 * branch must not lead with FineIBT, which has removed the landing pad. Callers in C branch to
 * the check in front of the function.
 */
SYM_FUNC_START_LOCAL(jprobe_enter)
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lenter
	int3
.Lenter:
	movq	%r11, (%rsp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(jprobe_enter)
_ASM_NOKPROBE(jprobe_enter)

/*
 * void arch_jprobe_call(void *entry, struct pt_regs *regs, const void *args,
 *			 size_t size, unsigned long *frame)
 *
 * The copy of the arguments on the stack is aligned as the original is, up to 64 bytes.
 */
SYM_FUNC_START(arch_jprobe_call)
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rbp, (%r8)

	movq	%rdi, %r11
	movq	%rsi, %rbx

	movq	%rdx, %rsi
	movq	%rdx, %rax
	andl	$63, %eax
	movq	%rsp, %rdi
	subq	%rcx, %rdi
	andq	$-64, %rdi
	leaq	-64(%rdi,%rax), %rdi
	movq	%rdi, %rsp
	shrq	$3, %rcx
	rep movsq

	movq	RDI(%rbx), %rdi
	movq	RSI(%rbx), %rsi
	movq	RDX(%rbx), %rdx
	movq	RCX(%rbx), %rcx
	movq	R8(%rbx), %r8
	movq	R9(%rbx), %r9
	movq	R10(%rbx), %r10
	movq	RAX(%rbx), %rax
	call	jprobe_enter
	restore_and_return
SYM_FUNC_END(arch_jprobe_call)
_ASM_NOKPROBE(arch_jprobe_call)

/* void arch_jprobe_return(unsigned long frame) */
SYM_FUNC_START(arch_jprobe_return)
	movq	%rdi, %rbp
	restore_and_return
SYM_FUNC_END(arch_jprobe_return)
_ASM_NOKPROBE(arch_jprobe_return)
STACK_FRAME_NON_STANDARD arch_jprobe_return
