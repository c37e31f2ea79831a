/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls a function with the arguments that another function is about to get. On 32 bits they are in
 * up to three registers, which includes fastcall, and on the stack.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/unwind_hints.h>

	.section .kprobes.text, "ax"

/* Saved below the frame pointer, the last one first */
#ifdef CONFIG_X86_64
#define SAVED		r15, r14, r13, r12, rbx
#define SAVED_SIZE	(5 * 8)
#else
#define SAVED		edi, esi, ebx
#define SAVED_SIZE	(3 * 4)
#endif

	.macro	restore_and_return
	lea	-SAVED_SIZE(%_ASM_BP), %_ASM_SP
	.irp	reg, SAVED
	pop	%\reg
	.endr
	pop	%_ASM_BP
	RET
	.endm

#ifdef CONFIG_X86_64
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
#endif

/*
 * void arch_jprobe_call(void *entry, struct pt_regs *regs, const void *args,
 *			 size_t size, unsigned long *frame)
 *
 * On 64 bits the copy of the arguments on the stack is aligned as the original is, up to 64 bytes.
 * On 32 bits the function may take its arguments off the stack, or leave them there.
 */
SYM_FUNC_START(arch_jprobe_call)
#ifdef CONFIG_X86_64
	pushq	%rbp
	movq	%rsp, %rbp
	.irp	reg, rbx, r12, r13, r14, r15
	pushq	%\reg
	.endr
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
#else
	pushl	%ebp
	movl	%esp, %ebp
	pushl	%ebx
	pushl	%esi
	pushl	%edi
	movl	12(%ebp), %esi
	movl	%ebp, (%esi)

	movl	%eax, %ebx
	movl	%ecx, %esi
	movl	8(%ebp), %ecx
	subl	%ecx, %esp
	movl	%esp, %edi
	shrl	$2, %ecx
	rep movsl

	movl	PT_EAX(%edx), %eax
	movl	PT_ECX(%edx), %ecx
	movl	PT_EDX(%edx), %edx
	CALL_NOSPEC ebx
#endif
	restore_and_return
SYM_FUNC_END(arch_jprobe_call)

/* void arch_jprobe_return(unsigned long frame) */
SYM_FUNC_START(arch_jprobe_return)
	mov	%_ASM_ARG1, %_ASM_BP
	restore_and_return
SYM_FUNC_END(arch_jprobe_return)
STACK_FRAME_NON_STANDARD arch_jprobe_return
