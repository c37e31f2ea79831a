/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From copies of probed instructions to the handlers and back, without a trap.
 */
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/kprobes.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>

#include "detour.h"

/* The general registers, and what an iret takes */
#define LOADED_SIZE	(10 * 4)

	.text

/*
 * Called from the copy, so that the word on the stack tells which one that is,
 * and returning goes on there. Nothing changes the flags before they are saved.
 * @owner is where the site's address is found, from that word. The registers are
 * as a trap of the kernel's presents them, with the stack pointer and its segment.
 *
 * When @handler returns true, the registers say all about where to go on. Else
 * the stack pointer is as it was, and the word on the stack says where. Segment
 * registers are those of the kernel all the time.
 */
	.macro	from_copy name:req handler:req owner:req
SYM_CODE_START(\name)
	pushl	$__KERNEL_DS
	pushl	%esp
	pushfl
	addl	$8, 4(%esp)
	pushl	$__KERNEL_CS
	pushl	$0
	pushl	$KPROBE_HIT_ORIG_AX
	pushl	$0
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
	movl	PTREGS_SIZE(%esp), %edx
	movl	\owner(%edx), %edx
	movl	%esp, %eax
	cld
	call	\handler
	testb	%al, %al
	jnz	kprobe_load_all
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
	addl	$(PT_EFLAGS-PT_DS), %esp
	popfl
	leal	8(%esp), %esp
	RET
SYM_CODE_END(\name)
_ASM_NOKPROBE(\name)
	.endm

/* Before the probed instruction: a jump stands in its place. */
	from_copy kprobe_detour_entry, kprobe_detour_hit, (DETOUR_OWNER-DETOUR_COPY)

/* Behind the copy of one that a post handler is to see. */
	from_copy kprobe_tail_entry, kprobe_tail_hit, 0

/*
 * An iret in the kernel does not load the stack pointer: what it and the pops in
 * front of it take has to end where that is to be. This can be anywhere, in the
 * registers that are still needed too. So they are copied to below both places
 * first. Nothing that is needed is ever below the stack pointer, where interrupts
 * come.
 */
SYM_CODE_START_LOCAL(kprobe_load_all)
	movl	%esp, %ebp
	movl	PT_OLDESP(%ebp), %eax
	subl	$LOADED_SIZE, %eax
	cmpl	%esp, %eax
	jae	1f
	movl	%eax, %esp
1:
	pushl	PT_EFLAGS(%ebp)
	pushl	PT_CS(%ebp)
	pushl	PT_EIP(%ebp)
	pushl	PT_EAX(%ebp)
	pushl	PT_EBP(%ebp)
	pushl	PT_EDI(%ebp)
	pushl	PT_ESI(%ebp)
	pushl	PT_EDX(%ebp)
	pushl	PT_ECX(%ebp)
	pushl	PT_EBX(%ebp)
	.set	at, 0
	.rept	LOADED_SIZE / 4
	popl	at(%eax)
	.set	at, at + 4
	.endr
	movl	%eax, %esp
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
	iret
SYM_CODE_END(kprobe_load_all)
_ASM_NOKPROBE(kprobe_load_all)
