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
#include <asm/smap.h>

#include "detour.h"

/* The general registers, and what an iret takes */
#define LOADED_SIZE	(10 * 4)

	.text

/*
 * Called from a detour or a slot: the return address identifies it, and a return continues
 * there. @owner is the offset from the return address to the pointer to the site. No
 * instruction changes the flags before they are saved. The registers are saved as at a trap in
 * the kernel, with the stack pointer and its segment. Handlers run without access to user
 * memory, as in an exception.
 *
 * If @handler returns true, all registers are loaded by an iret. Otherwise the stack pointer has
 * not changed, and @handler has replaced the return address by the address to continue at. The
 * segment registers are the kernel's all the time: what has others, around calls of the BIOS,
 * cannot be probed.
 */
	.macro	from_copy name:req handler:req owner:req orig_ax:req
SYM_CODE_START(\name)
	pushl	$__KERNEL_DS
	pushl	%esp
	pushfl
	addl	$8, 4(%esp)
	pushl	$__KERNEL_CS
	pushl	16(%esp)	/* for who looks before @handler has set ip */
	pushl	$\orig_ax
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
	ASM_CLAC
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

#ifdef CONFIG_OPTPROBES
/* From a detour, before the probed instruction */
	from_copy kprobe_detour_entry, kprobe_detour_hit, (DETOUR_OWNER-DETOUR_COPY), \
		  KPROBE_HIT_ORIG_AX
#endif

/* From a slot, after the copy for hits with a post handler */
	from_copy kprobe_tail_entry, kprobe_tail_hit, 0, -1

/*
 * An iret in the kernel does not load the stack pointer. So the block that the iret and the pops
 * before it take from the stack has to end at the new stack pointer. That can be anywhere, even
 * among the saved registers. So these are first copied below both that block and the present
 * stack pointer, and then moved up into the block. Nothing that is still needed is ever below
 * the stack pointer, where an interrupt would overwrite it.
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
