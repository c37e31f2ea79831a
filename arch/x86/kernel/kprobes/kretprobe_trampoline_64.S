/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trampoline of return probes. Its address takes the place of a function's return
 * address on the stack.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>

#include "../../entry/calling.h"

	.text

/*
 * The first push writes to the word that the function has just returned through, so that
 * unwinders find the trampoline's address where they expect it. C code puts the function's own
 * return address there, and the trampoline finally returns through it.
 *
 * The saved stack pointer is the one after the function's return, two words above its value when
 * it is pushed. Registers are only restored if a handler may want to change them, or C code does
 * not preserve them. Flags are restored last, with lea after them: some functions return in flags,
 * those of KVM for instance that execute an instruction in place of the guest.
 *
 * Handlers run without access to user memory, as in an exception, because a task switch does not
 * save AC. A caller between stac and clac has access, and keeps it. Without SMAP there is no
 * stac, and AC can be set by user space.
 */
SYM_START(__kretprobe_trampoline, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR	/* only ever returned to */
	pushq	$__kretprobe_trampoline
	UNWIND_HINT_FUNC
	pushq	$__KERNEL_DS
	pushq	%rsp
	pushfq
	addq	$16, 8(%rsp)
	pushq	$__KERNEL_CS
	pushq	$0		/* ip, filled in by C */
	pushq	$-1		/* orig_ax */
	PUSH_REGS unwind_hint=0
	ENCODE_FRAME_POINTER
	ANNOTATE_IGNORE_ALTERNATIVE
	ASM_CLAC
	movq	%rsp, %rdi
	leaq	PTREGS_SIZE(%rsp), %rsi
	call	kretprobe_returned
#ifdef CONFIG_FRAME_POINTER
	movq	RBP(%rsp), %rbp	/* it was encoded */
#endif
	/* From here on rbp is the caller's, while the saved one is soon below the stack. */
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=PTREGS_SIZE+8 type=UNWIND_HINT_TYPE_CALL
	addq	$R11, %rsp
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	leaq	(EFLAGS-ORIG_RAX)(%rsp), %rsp
	popfq
	leaq	(PTREGS_SIZE-RSP)(%rsp), %rsp
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)

/* It sets up no frame: the frame pointer remains the caller's. */
STACK_FRAME_NON_STANDARD_FP __kretprobe_trampoline
