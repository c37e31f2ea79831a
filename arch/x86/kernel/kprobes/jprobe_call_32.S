/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls a function with the arguments that another function is about to get: in up to three
 * registers, which includes fastcall, and on the stack.
 */
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>

	.text

/* Saved below the frame pointer, in this order */
#define NR_SAVED	3

	.macro	restore_and_return
	leal	-4*NR_SAVED(%ebp), %esp
	popl	%edi
	popl	%esi
	popl	%ebx
	popl	%ebp
	RET
	.endm

/*
 * void arch_jprobe_call(void *entry, struct pt_regs *regs, const void *args,
 *			 size_t size, unsigned long *frame)
 *
 * The function may take its arguments off the stack, or leave them there.
 */
SYM_FUNC_START(arch_jprobe_call)
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
	restore_and_return
SYM_FUNC_END(arch_jprobe_call)
_ASM_NOKPROBE(arch_jprobe_call)

/* void arch_jprobe_return(unsigned long frame) */
SYM_FUNC_START(arch_jprobe_return)
	movl	%eax, %ebp
	restore_and_return
SYM_FUNC_END(arch_jprobe_return)
_ASM_NOKPROBE(arch_jprobe_return)
