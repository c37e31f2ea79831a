/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From copies of probed instructions to the handlers and back, without a trap.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/cpufeatures.h>
#include <asm/frame.h>
#include <asm/kprobes.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>

#include "../../entry/calling.h"
#include "detour.h"

	.text

/*
 * Called from a detour or a slot: the return address identifies it, and a return continues
 * there. @owner is the offset from the return address to the pointer to the site. No
 * instruction changes the flags before they are saved. Handlers run without access to user
 * memory, as in an exception, because a task switch does not save EFLAGS.AC.
 *
 * If @handler returns true, all registers are loaded by an iret. Otherwise the stack pointer has
 * not changed, and @handler has replaced the return address by the address to continue at. With
 * call depth tracking that is left by an iret, too: the thunk that counts a return changes the
 * flags.
 */
	.macro	from_copy name:req handler:req owner:req orig_ax:req
SYM_CODE_START(\name)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	pushq	$__KERNEL_DS
	pushq	%rsp
	pushfq
	addq	$16, 8(%rsp)
	pushq	$__KERNEL_CS
	pushq	32(%rsp)	/* for who looks before @handler has set ip */
	pushq	$\orig_ax
	PUSH_REGS
	ENCODE_FRAME_POINTER
	movq	PTREGS_SIZE(%rsp), %rsi
	movq	\owner(%rsi), %rsi
	movq	%rsp, %rdi
	cld
	ASM_CLAC
	call	\handler
	testb	%al, %al
	ALTERNATIVE "{disp32} jnz .Lall_of_\name", "jmp .Lcounted_\name", X86_FEATURE_CALL_DEPTH
	/* As from here: what is saved is soon below the stack, and what returns has not called. */
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=PTREGS_SIZE+8 type=UNWIND_HINT_TYPE_CALL signal=1
	POP_REGS
	addq	$24, %rsp
	popfq
	leaq	16(%rsp), %rsp
	RET

.Lcounted_\name:
	UNWIND_HINT_REGS
	jnz	.Lall_of_\name
	movq	PTREGS_SIZE(%rsp), %rax
	movq	%rax, RIP(%rsp)

.Lall_of_\name:
	UNWIND_HINT_REGS
	/*
	 * An iret of its own would fault in a Xen PV guest. Who is interrupted at the kernel's is
	 * taken for one whose iret to the user has failed, and has no per-CPU data then. In such a
	 * guest it is another iret, and interrupts are not masked like this.
	 */
	ALTERNATIVE "cli", "", X86_FEATURE_XENPV
	jmp	restore_regs_and_return_to_kernel
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
