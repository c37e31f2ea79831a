/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From copies of probed instructions, and from the returns of functions, to the handlers and back,
 * without a trap.
 */
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/kprobes.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>

#include "internal.h"

/* The general registers, and what an iret takes */
#define LOADED_SIZE	(10 * 4)

	.text

/*
 * Saves the registers as at a trap in the kernel, with the stack pointer and its segment: its value
 * is the one above the word that is on top of the stack here. No instruction changes the flags
 * before they are saved. Then denies access to user memory, as an exception does.
 */
	.macro	save_regs ip:req orig_ax:req
	pushl	$__KERNEL_DS
	pushl	%esp
	pushfl
	addl	$8, 4(%esp)
	pushl	$__KERNEL_CS
	pushl	\ip
	pushl	\orig_ax
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
	.endm

	.macro	pop_regs
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
	.endm

/* Restores the flags last, and returns by the word on which save_regs was used. */
	.macro	restore_regs_and_return
	pop_regs
	addl	$(PT_EFLAGS-PT_DS), %esp
	popfl
	leal	(PTREGS_SIZE-PT_OLDESP)(%esp), %esp
	RET
	.endm

/*
 * Called from a detour or a slot: the return address identifies it, and a return continues
 * there. @owner is the offset from the return address to the pointer to the site.
 *
 * If @handler returns true, all registers are loaded by an iret. Otherwise the stack pointer has
 * not changed, and @handler has replaced the return address by the address to continue at. The
 * segment registers are the kernel's all the time: what has others, around calls of the BIOS,
 * cannot be probed.
 */
	.macro	from_copy name:req handler:req owner:req orig_ax:req
SYM_CODE_START(\name)
	save_regs 16(%esp), $\orig_ax	/* an unwinder may look before @handler has set ip */
	movl	PTREGS_SIZE(%esp), %edx
	movl	\owner(%edx), %edx
	movl	%esp, %eax
	cld
	call	\handler
	testb	%al, %al
	jnz	kprobe_load_all
	restore_regs_and_return
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
	pop_regs
	iret
SYM_CODE_END(kprobe_load_all)
_ASM_NOKPROBE(kprobe_load_all)

#ifdef CONFIG_KRETPROBE_RETURN_STACK
/* Functions return here, see entry_64.S. */
SYM_START(__kretprobe_trampoline, SYM_L_GLOBAL, SYM_F_ALIGN)
	pushl	$__kretprobe_trampoline
	save_regs $0, $-1	/* C code fills in ip */
	movl	%esp, %eax
	leal	PTREGS_SIZE(%esp), %edx
	call	kretprobe_returned
	restore_regs_and_return
SYM_FUNC_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)
#endif
