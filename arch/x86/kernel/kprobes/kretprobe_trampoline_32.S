/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trampoline of return probes; see kretprobe_trampoline_64.S.
 */
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>

	.text

SYM_START(__kretprobe_trampoline, SYM_L_GLOBAL, SYM_F_ALIGN)
	pushl	$__kretprobe_trampoline
	pushl	%ss
	pushl	%esp
	pushfl
	addl	$8, 4(%esp)
	pushl	$__KERNEL_CS
	pushl	$0		/* ip, filled in by C */
	pushl	$-1		/* orig_ax */
	pushl	$0		/* gs, which the kernel does not use */
	pushl	%fs
	pushl	%es
	pushl	%ds
	pushl	%eax
	pushl	%ebp
	pushl	%edi
	pushl	%esi
	pushl	%edx
	pushl	%ecx
	pushl	%ebx
	ENCODE_FRAME_POINTER
	ASM_CLAC
	movl	%esp, %eax
	leal	PTREGS_SIZE(%esp), %edx
	call	kretprobe_returned
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
	leal	(PT_EFLAGS-PT_DS)(%esp), %esp
	popfl
	leal	(PTREGS_SIZE-PT_OLDESP)(%esp), %esp
	RET
SYM_FUNC_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)
