/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From copies of probed instructions to the handlers and back, without a trap.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/kprobes.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

#include "../../entry/calling.h"
#include "detour.h"

	.text

/*
 * Called from the copy, so that the word on the stack tells which one that is,
 * and returning goes on there. Nothing changes the flags before they are saved.
 * @owner is where the site's address is found, from that word.
 *
 * When @handler returns true, the registers say all about where to go on. Else
 * the stack pointer is as it was, and the word on the stack says where.
 */
	.macro	from_copy name:req handler:req owner:req
SYM_CODE_START(\name)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	pushq	$__KERNEL_DS
	pushq	%rsp
	pushfq
	addq	$16, 8(%rsp)
	pushq	$__KERNEL_CS
	pushq	$0
	pushq	$KPROBE_HIT_ORIG_AX
	PUSH_REGS
	movq	PTREGS_SIZE(%rsp), %rsi
	movq	\owner(%rsi), %rsi
	movq	%rsp, %rdi
	cld
	call	\handler
	testb	%al, %al
	jnz	.Lall_of_\name
	POP_REGS
	UNWIND_HINT_IRET_REGS offset=8
	addq	$24, %rsp
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=32 type=UNWIND_HINT_TYPE_CALL
	popfq
	leaq	16(%rsp), %rsp
	RET

.Lall_of_\name:
	UNWIND_HINT_REGS
	POP_REGS
	UNWIND_HINT_IRET_REGS offset=8
	addq	$8, %rsp
	iretq
SYM_CODE_END(\name)
_ASM_NOKPROBE(\name)
	.endm

/* Before the probed instruction: a jump stands in its place. */
	from_copy kprobe_detour_entry, kprobe_detour_hit, (DETOUR_OWNER-DETOUR_COPY)

/* Behind the copy of one that a post handler is to see. */
	from_copy kprobe_tail_entry, kprobe_tail_hit, 0
