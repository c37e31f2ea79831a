/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_COMMON_H
#define __X86_KERNEL_KPROBES_COMMON_H

#include <asm/frame.h>

/*
 * For the trampoline in rethook.c, which is not entered through an exception: pushes and
 * pops the general registers of a pt_regs. Room is left for what an exception would have
 * pushed (ip, cs, orig_ax; on 32 bits the segments too), which C code fills in.
 */
#ifdef CONFIG_X86_64
#define SAVE_REGS_STRING						\
	"	subq $24, %rsp\n"					\
	"	pushq %rdi;	pushq %rsi;	pushq %rdx\n"		\
	"	pushq %rcx;	pushq %rax;	pushq %r8\n"		\
	"	pushq %r9;	pushq %r10;	pushq %r11\n"		\
	"	pushq %rbx;	pushq %rbp;	pushq %r12\n"		\
	"	pushq %r13;	pushq %r14;	pushq %r15\n"		\
	ENCODE_FRAME_POINTER

#define RESTORE_REGS_STRING						\
	"	popq %r15;	popq %r14;	popq %r13\n"		\
	"	popq %r12;	popq %rbp;	popq %rbx\n"		\
	"	popq %r11;	popq %r10;	popq %r9\n"		\
	"	popq %r8;	popq %rax;	popq %rcx\n"		\
	"	popq %rdx;	popq %rsi;	popq %rdi\n"		\
	"	addq $24, %rsp\n"
#else
#define SAVE_REGS_STRING						\
	"	subl $16, %esp\n"					\
	"	pushl %fs;	pushl %es;	pushl %ds\n"		\
	"	pushl %eax;	pushl %ebp;	pushl %edi\n"		\
	"	pushl %esi;	pushl %edx;	pushl %ecx\n"		\
	"	pushl %ebx\n"						\
	ENCODE_FRAME_POINTER

#define RESTORE_REGS_STRING						\
	"	popl %ebx;	popl %ecx;	popl %edx\n"		\
	"	popl %esi;	popl %edi;	popl %ebp\n"		\
	"	popl %eax\n"						\
	"	addl $28, %esp\n"
#endif

#endif /* __X86_KERNEL_KPROBES_COMMON_H */
