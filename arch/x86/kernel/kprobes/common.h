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
	"	.irp reg, rdi, rsi, rdx, rcx, rax, r8, r9, r10, r11, rbx, rbp, "	\
	"	r12, r13, r14, r15\n"					\
	"	pushq %\\reg\n"					\
	"	.endr\n"						\
	ENCODE_FRAME_POINTER

#define RESTORE_REGS_STRING						\
	"	.irp reg, r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, "	\
	"	rcx, rdx, rsi, rdi\n"					\
	"	popq %\\reg\n"						\
	"	.endr\n"						\
	"	addq $24, %rsp\n"
#else
#define SAVE_REGS_STRING						\
	"	subl $16, %esp\n"					\
	"	.irp reg, fs, es, ds, eax, ebp, edi, esi, edx, ecx, ebx\n" \
	"	pushl %\\reg\n"						\
	"	.endr\n"						\
	ENCODE_FRAME_POINTER

#define RESTORE_REGS_STRING						\
	"	.irp reg, ebx, ecx, edx, esi, edi, ebp, eax\n"		\
	"	popl %\\reg\n"						\
	"	.endr\n"						\
	"	addl $28, %esp\n"
#endif

#endif /* __X86_KERNEL_KPROBES_COMMON_H */
