/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From slots, and from the returns of functions, to the handlers and back, without an exception.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/brk-imm.h>
#include <asm/insn-def.h>
#include <asm/ptrace.h>

#include "internal.h"
#include "pstate-header.S"

#define PSR_I_SHIFT	7

	/* To or from a pt_regs at sp: registers that a call may change, and those it preserves */
	.macro	caller_saved, op
	\op	x0, x1, [sp, #S_X0]
	\op	x2, x3, [sp, #S_X2]
	\op	x4, x5, [sp, #S_X4]
	\op	x6, x7, [sp, #S_X6]
	\op	x8, x9, [sp, #S_X8]
	\op	x10, x11, [sp, #S_X10]
	\op	x12, x13, [sp, #S_X12]
	\op	x14, x15, [sp, #S_X14]
	\op	x16, x17, [sp, #S_X16]
	.endm

	.macro	callee_saved, op
	\op	x18, x19, [sp, #S_X18]
	\op	x20, x21, [sp, #S_X20]
	\op	x22, x23, [sp, #S_X22]
	\op	x24, x25, [sp, #S_X24]
	\op	x26, x27, [sp, #S_X26]
	\op	x28, x29, [sp, #S_X28]
	.endm

	/* Changes x1; leaves the task in x22. */
	.macro	count_preemption, op:req
#ifdef CONFIG_PREEMPT_COUNT
	get_current_task x22
	ldr	w1, [x22, #TSK_TI_PREEMPT]
	\op	w1, w1, #1
	str	w1, [x22, #TSK_TI_PREEMPT]
#endif
	.endm

	/* As kprobe_find_site(entry_of()), for where x21 is behind the call */
	.macro	find_site, missing:req
	sub	x4, x21, #2 * AARCH64_INSN_SIZE
	and	x4, x4, #~7
	ldr_l	x1, kprobe_site_table + KPROBE_TABLE_BUCKETS
	mov_q	x2, KPROBE_TABLE_FACTOR
	mul	w2, w4, w2
	ldr	w3, [x1, #KPROBE_BUCKETS_SHIFT]
	lsr	w2, w2, w3
	add	x2, x1, x2, lsl #3
	ldr	x20, [x2, #KPROBE_BUCKETS_HEADS]
.Lnode\@:
	cbz	x20, \missing
	ldr	x2, [x20, #KPROBE_NODE_KEY]
	cmp	x2, x4
	b.eq	.Lfound\@
	ldr	w2, [x1, #KPROBE_BUCKETS_SIDE]
	ldr	x20, [x20, x2, lsl #3]
	b	.Lnode\@
.Lfound\@:
	.endm

/*
 * The short path: calls the handler of a hit as most are, at which a task runs, there is one probe,
 * and hits are not counted. This is kprobe_hit_pre() and kprobe_hit_post(), step by step, with the
 * site in x20, its address in x1, the registers at sp, PSTATE in x19, and preemption off. Any other
 * hit goes to @rare, where nothing has happened yet. If C code is to find out where to resume, it
 * goes to @called: the mark is still entered, and what a pre handler has returned is in w0. Changes
 * x22 to x24.
 */

	/* What it returns is in w0, 0 if there is none. */
	.macro	call_handler, handler:req, rare:req
#ifdef CONFIG_CFI
	b	\rare				// the call takes more there
#else
	str	x1, [sp, #S_PC]
	/* Where interrupts are masked, RCU may take the CPU for idle. */
	tbz	x19, #PSR_I_SHIFT, .Lno_idle\@
	adr_this_cpu x22, context_tracking, x23
	ldr	w22, [x22, #CT_STATE]
	tbz	w22, #CT_RCU_WATCHING_SHIFT, \rare
.Lno_idle\@:
	get_current_task x22
	ldr	w1, [x22, #TSK_TI_PREEMPT]
	tst	w1, #KPROBE_ABOVE_TASK
	b.ne	\rare
	adr_this_cpu x23, kprobe_marks, x1
	ldr	w24, [x23, #KPROBE_MARK_SEQ]
	tbnz	w24, #0, \rare
	ldr_l	w1, kprobe_stats, x1
	cbnz	w1, \rare
	add	w1, w24, #1
	str	w1, [x23, #KPROBE_MARK_SEQ]
	ldr	x3, [x20, #KPROBE_SITE_FIRST]
	str	x3, [x23, #KPROBE_MARK_RUNNING]
	ldr	x4, [x3, #\handler]
	mov	x0, #0
	cbz	x4, .Lno_handler\@
	mov	x0, x3
	mov	x1, sp
	mov	x2, #0
	blr	x4
.Lno_handler\@:
#endif
	.endm

	.macro	leave_mark
	str	xzr, [x23, #KPROBE_MARK_RUNNING]
	add	w24, w24, #2
	add	x1, x23, #KPROBE_MARK_SEQ
	stlr	w24, [x1]
	.endm

	.macro	if_sp_changed, called:req
	ldr	x1, [sp, #S_SP]
	add	x2, sp, #PT_REGS_SIZE
	cmp	x1, x2
	b.ne	\called
	.endm

	/* With @copy, a copy of the instruction is what it resumes with. */
	.macro	run_pre, rare:req, called:req, copy
	.ifnb	\copy
	ldr	x2, [x20, #KPROBE_SITE_SIMULATE]
	cbnz	x2, \rare
	str	x1, [sp, #S_STACKFRAME + 8]
	.endif
	call_handler KPROBE_PRE_HANDLER, \rare
	cbnz	w0, \called
	ldr	x1, [x20, #KPROBE_SITE_POST_HANDLER]
	.ifb	\copy
	cbnz	x1, \called
	.else
	cbz	x1, .Lplain\@
	add	x21, x21, #4 * (SLOT_LAST_OUT - SLOT_COPY_OUT)
.Lplain\@:
	if_sp_changed \called
	.endif
	leave_mark
	.endm

	/* As kprobe_tail_hit() */
	.macro	run_post, rare:req, called:req, copy
	add	x1, x1, #AARCH64_INSN_SIZE
	str	x1, [sp, #S_STACKFRAME + 8]
	call_handler KPROBE_POST_HANDLER, \rare
	ldr	x1, [sp, #S_PC]
	ldr	x2, [sp, #S_STACKFRAME + 8]
	cmp	x1, x2
	b.ne	\called
	if_sp_changed \called
	leave_mark
	.endm

	/* Calls C code with the registers and the site; where to continue is in x21 then. */
	.macro	call_c, function:req
	mov	x0, sp
	mov	x1, x20
	bl	\function
	mov	x21, x0
	.endm

/*
 * Called from a slot, with a pt_regs at the stack pointer, in which the slot has saved x29 and
 * x30. The address of the site is in the slot, @owner words behind the return address.
 * Continues where @handler says: in the slot, which restores x29 and x30, or at
 * kprobe_detour_leave. If the short path has called a probe's handler, @called goes on in place of
 * @handler.
 *
 * The frame record gets the address of the probed code. Until then it has that of the slot: an NMI
 * or an interrupt may unwind, and must not find what was on the stack before.
 *
 * Without @owner it is called at a function's entry, in place of ftrace_caller, and saves the same
 * as that: x9 is the function's link register, and x30 is where to resume.
 */
	.macro	from_text name:req, run:req, handler:req, called:req, owner
SYM_CODE_START(\name)
	.ifb	\owner
	sub	sp, sp, #FTRACE_FRAME_SIZE
	.endif
	caller_saved stp
	callee_saved stp
	.ifnb	\owner
	add	x1, sp, #PT_REGS_SIZE
	str	x1, [sp, #S_SP]
	.else
	add	x1, sp, #FTRACE_FRAME_SIZE
	stp	x9, x1, [sp, #S_LR]
	stp	x29, x9, [sp, #PT_REGS_SIZE]
	add	x29, sp, #PT_REGS_SIZE
	.endif
	save_pstate \name
	stp	x29, x30, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME
	mov	x21, x30
	count_preemption add
	.ifnb	\owner
	ldr	x20, [x30, #4 * (\owner)]
	.else
	find_site .Lrare_\name
	.endif
	ldr	x1, [x20, #KPROBE_SITE_ADDR]
	\run	.Lrare_\name, .Lcalled_\name, \owner
#ifdef CONFIG_PREEMPT_COUNT
	count_preemption sub
	/* Anew: an interrupt may have found that the task is to be preempted. */
	ldr	x1, [x22, #TSK_TI_PREEMPT]
	cbz	x1, .Lpreempted_\name
#endif
.Lgo_on_\name:
	mov	x30, x21
	restore_pstate \name
	callee_saved ldp
	caller_saved ldp
	.ifnb	\owner
	/*
	 * As the return from an exception does (Arm ARM, "Wait for Event"): the probed code may be
	 * about to wait for an event, and a handler that waited itself has taken it.
	 */
	sevl
	ret
	.else
	mov	x9, x30
	ldr	x30, [sp, #S_LR]
	add	sp, sp, #FTRACE_FRAME_SIZE
	ret	x9
	.endif
	rare_pstate \name

.Lrare_\name:
	count_preemption sub
	call_c \handler
	b	.Lgo_on_\name
.Lcalled_\name:
	mov	w2, w0
	call_c \called
	b	.Lgo_on_\name
.Lpreempted_\name:
	count_preemption add
	bl	kprobe_preempt_enable
	b	.Lgo_on_\name
SYM_CODE_END(\name)
	.endm

	.section .kprobes.text, "ax"

/* From SLOT_ENTRY: before the probed instruction */
	from_text kprobe_detour_entry, run_pre, kprobe_detour_hit, kprobe_detour_called, \
		  (SLOT_OWNER-SLOT_COPY_OUT)

/* From SLOT_LAST: behind the copy for hits with a post handler */
	from_text kprobe_tail_entry, run_post, kprobe_tail_hit, kprobe_tail_called, \
		  (SLOT_OWNER-SLOT_NEXT_OUT)

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * From entries that only the core's ops has, where a branch reaches here. From others, ftrace calls
 * kprobe_ftrace_handler().
 */
	from_text kprobe_ftrace_entry, run_pre, kprobe_entry_hit, kprobe_entry_called
#endif

/* A veneer goes here. It has left x16 where the handler will save it. */
	.macro	from_veneer name:req, entry:req
SYM_CODE_START_LOCAL(\name)
	bti	c
	ldr	x16, [sp, #S_X16]
	b	\entry
SYM_CODE_END(\name)
	.endm

	from_veneer far_detour_entry, kprobe_detour_entry
	from_veneer far_tail_entry, kprobe_tail_entry

/*
 * Only the return from an exception can go to any address with any value in every register. Here
 * all but x29, x30, the stack pointer and PSTATE have been loaded. A handler may have moved the
 * stack pointer to any place, even into our frame; and events of the firmware (SDEI), which cannot
 * be masked, may use the stack below it. So nothing is loaded from there once it has changed. As in
 * kernel_exit, FAR_EL1 keeps a register meanwhile: no exception comes, and such an event restores
 * it, as it does ELR_EL1 and SPSR_EL1.
 *
 * Where PSTATE.SSBS cannot be read, it is 0 after this, which is the safe value, until the kernel
 * is entered anew.
 */
SYM_CODE_START(kprobe_detour_leave)
	disable_daif
	ldp	x29, x30, [sp, #S_PC]
	msr	elr_el1, x29
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
alternative_if_not ARM64_HAS_PAN
	and	x30, x30, #~PSR_PAN_BIT		// such a CPU does not know it
alternative_else_nop_endif
#endif
	msr	spsr_el1, x30
	ldp	x29, x30, [sp, #S_FP]
	msr	far_el1, x29
	ldr	x29, [sp, #S_SP]
	mov	sp, x29
	mrs	x29, far_el1
	eret
	sb
SYM_CODE_END(kprobe_detour_leave)

/*
 * Functions with a return probe return here, with this address in the link register. Registers are
 * only restored if a handler may want to change them, or C code does not preserve them. So are the
 * flags: assembly may rely on them, as pmull_gcm_encrypt() does, which keeps them over calls.
 */
SYM_CODE_START(__kretprobe_trampoline)
	sub	sp, sp, #PT_REGS_SIZE
	callee_saved stp

	/* A frame record with the trampoline's address, which unwinders recognize. */
	stp	x29, lr, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME

	caller_saved stp
	add	x0, sp, #PT_REGS_SIZE
	stp	lr, x0, [sp, #S_LR]
	save_pstate __kretprobe_trampoline

	mov	x0, sp
	ldr	x1, [sp, #S_STACKFRAME]
	tbnz	x19, #PSR_I_SHIFT, .Lmasked
	bl	kretprobe_returned
.Lreturned:

	restore_pstate __kretprobe_trampoline

	/* By now the frame record has the function's own return address. */
	caller_saved ldp
	ldr	x19, [sp, #S_X18 + 8]
	ldp	x29, lr, [sp, #S_STACKFRAME]
	add	sp, sp, #PT_REGS_SIZE
	ret
	rare_pstate __kretprobe_trampoline

	/* RCU may take the CPU for idle. */
.Lmasked:
	bl	kprobe_masked_return
	b	.Lreturned
SYM_CODE_END(__kretprobe_trampoline)

	.macro	make_room
	sub	sp, sp, #PT_REGS_SIZE
	stp	x29, x30, [sp, #S_FP]
	.endm

	.macro	leave_room
	ldp	x29, x30, [sp, #S_FP]
	add	sp, sp, #PT_REGS_SIZE
	.endm

	.macro	to_be_filled_in, words=1
	.rept	\words
	brk	#FAULT_BRK_IMM
	.endr
	.endm

	/* Fails to assemble unless this is where internal.h says that @word is. */
	.macro	at_word, word:req
	.if	. - kprobe_slot_template - 4 * (\word)
	.error	"kprobe_slot_template is not laid out as in internal.h"
	.endif
	.endm

	.section .rodata, "a"

/* See internal.h. */
SYM_DATA_START(kprobe_slot_template)
	at_word SLOT_ENTRY
	make_room
	to_be_filled_in				/* call of kprobe_detour_entry() */
	at_word SLOT_COPY_OUT
	leave_room
	at_word SLOT_COPY
	to_be_filled_in words=2			/* copy, branch to the next instruction */
	at_word SLOT_LAST_OUT
	leave_room
	at_word SLOT_LAST
	to_be_filled_in				/* copy for post handlers */
	make_room
	to_be_filled_in				/* call of kprobe_tail_entry() */
	at_word SLOT_NEXT_OUT
	leave_room
	to_be_filled_in				/* branch to the next instruction */
	at_word SLOT_OWNER
	to_be_filled_in words=2
	at_word SLOT_WORDS
SYM_DATA_END(kprobe_slot_template)

	/*
	 * Called as what it leads to: x29 and x30 are as there. Of the others, only x16 and x17
	 * may be branched by where landing pads for calls are checked.
	 */
	.macro	veneer to:req
	str	x16, [sp, #S_X16]
	ldr	x16, . + 12
	br	x16
	to_be_filled_in				/* never: aligns the address */
	.quad	\to
	.endm

	.balign	8
/* See internal.h. In the order of enum kprobe_veneer. */
SYM_DATA_START(kprobe_veneers)
	veneer	far_detour_entry
	veneer	far_tail_entry
	.if	. - kprobe_veneers - VENEERS_SIZE
	.error	"kprobe_veneers is not laid out as in internal.h"
	.endif
SYM_DATA_END(kprobe_veneers)
