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

	/* Changes x1 and x2. */
	.macro	count_preemption, op:req, task=x2
#ifdef CONFIG_PREEMPT_COUNT
	get_current_task \task
	ldr	w1, [\task, #TSK_TI_PREEMPT]
	\op	w1, w1, #1
	str	w1, [\task, #TSK_TI_PREEMPT]
#endif
	.endm

/*
 * The short path: calls the handler of a hit as most are, at which a task runs, there is one probe,
 * with a pre handler only, and hits are not counted. This is kprobe_hit_pre(), step by step,
 * with the site in x20, the registers at sp, PSTATE in x19, and preemption off, which it enables.
 * Any other hit goes to @rare, where nothing has happened yet. If there is a post handler, the
 * handler has set where to resume, or with @same_sp it has moved the stack pointer, it goes to
 * @called: the mark is still entered, and what the handler has returned is in w0. Changes x22 to x24.
 */
	.macro	run_handler, rare:req, called:req, same_sp=0
#ifdef CONFIG_CFI_CLANG
	b	\rare				// the call of a handler takes more there
#else
	tbnz	x19, #PSR_I_SHIFT, \rare	// RCU may take the CPU for idle
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
	ldr	x0, [x20, #KPROBE_SITE_FIRST]
	str	x0, [x23, #KPROBE_MARK_RUNNING]
	ldr	x2, [x0, #KPROBE_PRE_HANDLER]
	cbz	x2, .Lno_handler\@
	mov	x1, sp
	blr	x2
	cbnz	w0, \called
.Lno_handler\@:
	mov	w0, #0
	ldr	x1, [x20, #KPROBE_SITE_POST_HANDLER]
	cbnz	x1, \called
	.if	\same_sp
	ldr	x1, [sp, #S_SP]
	add	x2, sp, #PT_REGS_SIZE
	cmp	x1, x2
	b.ne	\called
	.endif
	str	xzr, [x23, #KPROBE_MARK_RUNNING]
	add	w24, w24, #2
	add	x1, x23, #KPROBE_MARK_SEQ
	stlr	w24, [x1]
#endif
	.endm

	/* Reads the count anew: an interrupt may have found that the task is to be preempted. */
	.macro	enable_preemption
#ifdef CONFIG_PREEMPT_COUNT
	count_preemption sub, x22
	ldr	x1, [x22, #TSK_TI_PREEMPT]
	cbnz	x1, .Lgo_on\@
	count_preemption add, x22
	bl	kprobe_preempt_enable
.Lgo_on\@:
#endif
	.endm

/*
 * Called from a slot, with a pt_regs at the stack pointer, in which the slot has saved x29 and
 * x30. The address of the site is in the slot, @owner words behind the return address.
 * Continues where @handler says: in the slot, which restores x29 and x30, or at
 * kprobe_detour_leave. @called goes on after the short path; there is none without it.
 *
 * @handler puts the address of the probed code into the frame record. Until then it has that of
 * the slot: an NMI or an interrupt may unwind, and must not find what was on the stack before.
 */
	.macro	from_slot name:req, handler:req, owner:req, called
SYM_CODE_START(\name)
	caller_saved stp
	callee_saved stp
	add	x1, sp, #PT_REGS_SIZE
	str	x1, [sp, #S_SP]
	save_pstate \name
	stp	x29, x30, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME
	ldr	x20, [x30, #4 * (\owner)]
	.ifnb	\called
	mov	x21, x30
	ldr	x1, [x20, #KPROBE_SITE_SIMULATE]
	cbnz	x1, .Lsimulated_\name
	ldr	x1, [x20, #KPROBE_SITE_ADDR]
	str	x1, [sp, #S_PC]
	str	x1, [sp, #S_STACKFRAME + 8]
	count_preemption add
	run_handler .Lrare_\name, .Lcalled_\name, same_sp=1
	enable_preemption
	mov	x30, x21
.Lrestore_\name:
	.else
	mov	x0, sp
	mov	x1, x20
	bl	\handler
	mov	x30, x0
	.endif
	restore_pstate \name
	callee_saved ldp
	caller_saved ldp
	/*
	 * As the return from an exception does (Arm ARM, "Wait for Event"): the probed code may be
	 * about to wait for an event, and a handler that waited itself has taken it.
	 */
	sevl
	ret
	rare_pstate \name
	.ifnb	\called
.Lrare_\name:
	count_preemption sub
.Lsimulated_\name:
	mov	x0, sp
	mov	x1, x20
	bl	\handler
	mov	x30, x0
	b	.Lrestore_\name
.Lcalled_\name:
	mov	w2, w0
	mov	x0, sp
	mov	x1, x20
	bl	\called
	mov	x30, x0
	b	.Lrestore_\name
	.endif
SYM_CODE_END(\name)
NOKPROBE(\name)
	.endm

	.text

/* From SLOT_ENTRY: before the probed instruction */
	from_slot kprobe_detour_entry, kprobe_detour_hit, (SLOT_OWNER-SLOT_COPY_OUT), \
		  kprobe_detour_called

/* From SLOT_LAST: behind the copy for hits with a post handler */
	from_slot kprobe_tail_entry, kprobe_tail_hit, (SLOT_OWNER-SLOT_NEXT_OUT)

/* A veneer goes here. It has left x16 where the handler will save it. */
	.macro	from_veneer name:req, entry:req
SYM_CODE_START_LOCAL(\name)
	bti	c
	ldr	x16, [sp, #S_X16]
	b	\entry
SYM_CODE_END(\name)
NOKPROBE(\name)
	.endm

	from_veneer far_detour_entry, kprobe_detour_entry
	from_veneer far_tail_entry, kprobe_tail_entry

/*
 * Only the return from an exception can go to any address with any value in every register. So
 * this loads all registers except x29, the program counter and PSTATE, leaves these three in
 * per-CPU data, and executes a BRK, whose handler takes them from there. Exceptions are masked
 * meanwhile. Events of the firmware (SDEI) cannot be masked, and tracers may be called before that
 * handler is. What these call may be probed, and get here. So the data are on a stack, and an
 * element is taken before it is written to. A handler may have moved the stack pointer to any
 * place, even into our frame. So nothing is stored by the new one here, and the frame of the BRK's
 * exception may overwrite ours.
 */
SYM_CODE_START(kprobe_detour_leave)
	msr	daifset, #0xf
	adr_this_cpu x30, kprobe_detour_to, x29
	ldr	x29, [x30, #DETOUR_TO_LAST]
	add	x29, x29, #1
	and	x29, x29, #((1 << DETOUR_LEAVES_SHIFT) - 1)
	str	x29, [x30, #DETOUR_TO_LAST]
	add	x30, x30, x29, lsl #DETOUR_TO_SHIFT
	ldr	x29, [sp, #S_PC]
	str	x29, [x30]
	ldr	x29, [sp, #S_PSTATE]
	str	x29, [x30, #8]
	ldr	x29, [sp, #S_FP]
	str	x29, [x30, #16]

	ldr	x30, [sp, #S_LR]
	ldr	x29, [sp, #S_SP]
	mov	sp, x29
SYM_INNER_LABEL(kprobe_detour_left_at, SYM_L_GLOBAL)
	brk	#KPROBES_BRK_IMM
SYM_CODE_END(kprobe_detour_leave)
NOKPROBE(kprobe_detour_leave)

#ifdef CONFIG_KPROBES_ON_FTRACE
/* As in entry-ftrace.S: room for a pt_regs, and above it for the callsite's frame record */
#define FRAME_SIZE	(PT_REGS_SIZE + 16)

/*
 * From a function's entry, if a branch reaches here: ftrace's call there leads here, unless others'
 * ops have the function, too. Then it leads to ftrace_caller, and from there to
 * kprobe_ftrace_handler(), which also does what the short path does not. The lookup is
 * kprobe_find_site(), and the key is entry_of(). x9 is the function's link register, and x30 is where
 * to resume, as in the frame record.
 */
SYM_CODE_START(kprobe_ftrace_entry)
	bti	c
	sub	sp, sp, #FRAME_SIZE
	caller_saved stp
	callee_saved stp
	save_pstate kprobe_ftrace_entry
	add	x1, sp, #FRAME_SIZE
	str	x9, [sp, #S_LR]
	stp	x1, x30, [sp, #S_SP]
	stp	x29, x9, [sp, #PT_REGS_SIZE]
	add	x29, sp, #PT_REGS_SIZE
	stp	x29, x30, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME
	count_preemption add
	sub	x21, x30, #2 * AARCH64_INSN_SIZE
	and	x21, x21, #~7
	ldr_l	x1, kprobe_site_table + KPROBE_TABLE_BUCKETS
	mov_q	x2, KPROBE_TABLE_FACTOR
	mul	w2, w21, w2
	ldr	w3, [x1, #KPROBE_BUCKETS_SHIFT]
	lsr	w2, w2, w3
	add	x2, x1, x2, lsl #3
	ldr	x20, [x2, #KPROBE_BUCKETS_HEADS]
.Llook:
	cbz	x20, .Lrare_entry
	ldr	x2, [x20, #KPROBE_NODE_KEY]
	cmp	x2, x21
	b.ne	.Lnext_node
	str	x21, [sp, #S_PC]
	run_handler .Lrare_entry, .Lcalled_entry
	enable_preemption
.Lrestore_entry:
	restore_pstate kprobe_ftrace_entry
	caller_saved ldp
	callee_saved ldp
	ldr	x30, [sp, #S_LR]
	ldr	x9, [sp, #S_STACKFRAME + 8]
	add	sp, sp, #FRAME_SIZE
	ret	x9
	rare_pstate kprobe_ftrace_entry

.Lnext_node:
	ldr	w2, [x1, #KPROBE_BUCKETS_SIDE]
	ldr	x20, [x20, x2, lsl #3]
	b	.Llook

.Lcalled_entry:
	mov	w2, w0
	mov	x0, sp
	mov	x1, x20
	ldr	x3, [sp, #S_STACKFRAME + 8]
	bl	kprobe_entry_called
	b	.Ldone_entry

.Lrare_entry:
	count_preemption sub
	ldr	x0, [sp, #S_STACKFRAME + 8]
	str	x0, [sp, #S_PC]
	sub	x0, x0, #AARCH64_INSN_SIZE
	mov	x3, sp
	bl	kprobe_ftrace_handler
.Ldone_entry:
	ldr	x9, [sp, #S_PC]
	str	x9, [sp, #S_STACKFRAME + 8]
	b	.Lrestore_entry
SYM_CODE_END(kprobe_ftrace_entry)
NOKPROBE(kprobe_ftrace_entry)
#endif

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
NOKPROBE(__kretprobe_trampoline)

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
