/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From copies of probed instructions, and from the returns of functions, to the handlers and back,
 * without a trap.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/cpufeatures.h>
#include <asm/frame.h>
#include <asm/ftrace.h>
#include <asm/kprobes.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>

#include "internal.h"

	.section .kprobes.text, "ax"

/*
 * save_regs saves the registers as at a trap in the kernel. The stack pointer is the one above the
 * word that is on top of the stack here. No instruction changes the flags before they are saved.
 *
 * Handlers run without access to user memory, as in an exception, because a task switch does not
 * save EFLAGS.AC. A caller between stac and clac has access, and keeps it. Without SMAP there is no
 * stac, and AC can be set by user space.
 *
 * from_text is called from a detour or a slot: the return address identifies it, and a return
 * continues there. @owner is the offset from the return address to the pointer to the site. Without
 * @owner it is called at a function's entry, in place of ftrace's trampoline.
 *
 * If @handler returns true, all registers are loaded by an iret. Otherwise the stack pointer has
 * not changed, and @handler has replaced the return address by the address to continue at. If the
 * short path has called a probe's handler, @called goes on in place of @handler.
 */
#ifdef CONFIG_X86_64
#include "../../entry/calling.h"

	.macro	save_regs ip:req orig_ax:req unwind_hint=1
	pushq	$__KERNEL_DS
	pushq	%rsp
	pushfq
	addq	$16, 8(%rsp)
	pushq	$__KERNEL_CS
	pushq	\ip
	pushq	\orig_ax
	PUSH_REGS unwind_hint=\unwind_hint
	ENCODE_FRAME_POINTER
	.endm

/*
 * Registers are taken from below the stack, so unwinders look above it. @signal: what returns there
 * has not called.
 */
	.macro	restore_regs_and_return signal:req
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=PTREGS_SIZE+8 type=UNWIND_HINT_TYPE_CALL \
		    signal=\signal
	POP_REGS
	addq	$24, %rsp
	popfq
	leaq	16(%rsp), %rsp
	RET
	.endm

	.macro	count_preemption op:req
#ifdef CONFIG_PREEMPT_COUNT
	\op	PER_CPU_VAR(__preempt_count)
#endif
	.endm

/* As kprobe_find_site(), for the function that has called. Goes to @missing if there is none. */
	.macro	find_site missing:req site=%rbx ip=RIP(%rsp)
	movq	\ip, %rdx
	subq	$MCOUNT_INSN_SIZE, %rdx
	movq	kprobe_site_table + KPROBE_TABLE_buckets(%rip), %rsi
	imull	$KPROBE_TABLE_FACTOR, %edx, %eax
	movl	KPROBE_BUCKETS_shift(%rsi), %ecx
	shrl	%cl, %eax
	movq	KPROBE_BUCKETS_heads(%rsi, %rax, 8), \site
.Lnode\@:
	testq	\site, \site
	jz	\missing
	cmpq	%rdx, KPROBE_NODE_key(\site)
	je	.Lfound\@
	movl	KPROBE_BUCKETS_side(%rsi), %ecx
	movq	(\site, %rcx, 8), \site
	jmp	.Lnode\@
.Lfound\@:
	.endm

/*
 * The short path: calls the handler of a hit as most are, at which a task runs, there is one probe,
 * and hits are not counted. This is kprobe_hit_pre() and kprobe_hit_post(), step by step, with the
 * site in %rbx, the registers at %rsp, and preemption off. Any other hit goes to @rare, where
 * nothing has happened yet. If C code is to find out where to resume, it goes to @called: the mark
 * is still entered, and what a pre handler has returned is in %eax.
 */

	.macro	if_above_task rare:req
	testl	$KPROBE_ABOVE_TASK, PER_CPU_VAR(__preempt_count)
	jnz	\rare
	.endm

	/* Of a task's level */
	.macro	if_in_handler rare:req
	testb	$1, PER_CPU_VAR(kprobe_marks + KPROBE_MARK_seq)
	jnz	\rare
	.endm

	/* What it returns is in %eax, 0 if there is none. */
	.macro	call_handler handler:req rare:req
#if defined(CONFIG_CFI) || defined(CONFIG_KMSAN)
	jmp	\rare			/* the call takes more there */
#else
	movq	%rax, RIP(%rsp)
	if_above_task \rare
	if_in_handler \rare
	/* In a guest of Xen, see kprobe_mend_flags(). */
	cmpl	$0, kprobe_stats(%rip)
	ALTERNATIVE "{disp32} jne \rare", "jmp \rare", X86_FEATURE_XENPV
	incl	PER_CPU_VAR(kprobe_marks + KPROBE_MARK_seq)
	movq	KPROBE_SITE_first(%rbx), %rdi
	movq	%rdi, PER_CPU_VAR(kprobe_marks + KPROBE_MARK_running)
	movq	\handler(%rdi), %rax
	testq	%rax, %rax
	jz	.Lno_handler\@
	movq	%rsp, %rsi
	CALL_NOSPEC rax
.Lno_handler\@:
#endif
	.endm

	/* As kprobe_sp_changed(). Without an iret, the word above the registers leads on. */
	.macro	if_iret called:req
	leaq	PTREGS_SIZE+8(%rsp), %rcx
	cmpq	%rcx, RSP(%rsp)
	ALTERNATIVE "{disp32} jne \called", "jmp \called", X86_FEATURE_CALL_DEPTH
	.endm

	.macro	leave_mark
	movq	$0, PER_CPU_VAR(kprobe_marks + KPROBE_MARK_running)
	incl	PER_CPU_VAR(kprobe_marks + KPROBE_MARK_seq)
	.endm

	/* With @copy, a copy of the instruction is what it resumes with. */
	.macro	run_pre rare:req called:req copy
	movq	KPROBE_SITE_addr(%rbx), %rax
	incq	%rax
	call_handler KPROBE_pre_handler, \rare
	testl	%eax, %eax
	jnz	\called
	cmpq	$0, KPROBE_SITE_post_handler(%rbx)
	.ifb	\copy
	jne	\called
	.else
	je	.Lplain\@
	cmpb	$0, KPROBE_SITE_boosted(%rbx)
	je	\called
	movq	KPROBE_SITE_slot(%rbx), %rdx
	addq	$KPROBE_SLOT_LAST_OFFSET, %rdx
	movq	%rdx, PTREGS_SIZE(%rsp)
.Lplain\@:
	if_iret	\called
	.endif
	leave_mark
	.endm

	/* As kprobe_tail_hit() */
	.macro	run_post rare:req called:req copy
	movzbl	KPROBE_SITE_length(%rbx), %eax
	addq	KPROBE_SITE_addr(%rbx), %rax
	xorl	%edx, %edx
	call_handler KPROBE_post_handler, \rare
	movzbl	KPROBE_SITE_length(%rbx), %eax
	addq	KPROBE_SITE_addr(%rbx), %rax
	cmpq	%rax, RIP(%rsp)
	jne	\called
	testl	$KPROBE_FLAG_OPTIMIZED, KPROBE_SITE_flags(%rbx)
	cmovnzq	KPROBE_SITE_next(%rbx), %rax
	movq	%rax, PTREGS_SIZE(%rsp)
	if_iret	\called
	leave_mark
	.endm

/*
 * With call depth tracking it is always left by an iret: the thunk that counts a return changes the
 * flags.
 */
	.macro	from_text name:req run:req handler:req called:req owner orig_ax=-1
SYM_CODE_START(\name)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	save_regs 32(%rsp), $\orig_ax	/* an unwinder may look before ip is set */
	count_preemption incq
	.ifnb	\owner
	movq	PTREGS_SIZE(%rsp), %rax
	movq	\owner(%rax), %rbx
	cld
	ASM_CLAC
	.else
	find_site .Lrare_\name
	.endif
	\run	.Lrare_\name, .Lcalled_\name, \owner
#ifdef CONFIG_PREEMPT_COUNT
	count_preemption decq
	jz	.Lpreempted_\name
#endif
.Lrestore_\name:
	.ifnb	\owner
	restore_regs_and_return signal=1
	.else
	restore_regs_and_return signal=0
	.endif

.Lpreempted_\name:
	UNWIND_HINT_REGS
	count_preemption incq
	call	kprobe_preempt_enable
	jmp	.Lrestore_\name

.Lcalled_\name:
	UNWIND_HINT_REGS
	movq	%rsp, %rdi
	movq	%rbx, %rsi
	movl	%eax, %edx
	call	\called
	jmp	.Ldone_\name

.Lrare_\name:
	UNWIND_HINT_REGS
	count_preemption decq
	movq	%rsp, %rdi
	movq	%rbx, %rsi
	call	\handler
.Ldone_\name:
	testb	%al, %al
	jnz	.Lall_of_\name
	ALTERNATIVE "{disp32} jmp .Lrestore_\name", "", X86_FEATURE_CALL_DEPTH
	movq	PTREGS_SIZE(%rsp), %rax
	movq	%rax, RIP(%rsp)
.Lall_of_\name:
	/*
	 * An iret of its own would fault in a Xen PV guest. An interrupt at the kernel's would be
	 * taken for a failed iret to the user, without per-CPU data. In such a guest it is another
	 * iret, and interrupts are not masked like this.
	 */
	ALTERNATIVE "cli", "", X86_FEATURE_XENPV
	jmp	restore_regs_and_return_to_kernel
SYM_CODE_END(\name)
	.endm
#else
	.macro	save_regs ip:req orig_ax:req
	pushl	$__KERNEL_DS
	pushl	%esp
	pushfl
	addl	$8, 4(%esp)
	pushl	$__KERNEL_CS
	pushl	\ip
	pushl	\orig_ax
	pushl	$0		/* gs, which the kernel does not use */
	.irp	reg, fs, es, ds, eax, ebp, edi, esi, edx, ecx, ebx
	pushl	%\reg
	.endr
	ENCODE_FRAME_POINTER
	ASM_CLAC
	.endm

	.macro	pop_regs
	.irp	reg, ebx, ecx, edx, esi, edi, ebp, eax
	popl	%\reg
	.endr
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
 * The segment registers are the kernel's all the time: what has others, around calls of the BIOS,
 * cannot be probed.
 */
	.macro	from_text name:req run:req handler:req called owner orig_ax=-1
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
	.endm
#endif

/* From a detour, before the probed instruction */
	from_text kprobe_detour_entry, run_pre, kprobe_detour_hit, kprobe_detour_called, \
		  (DETOUR_OWNER-DETOUR_COPY), KPROBE_HIT_ORIG_AX

/* From a slot, after the copy for hits with a post handler */
	from_text kprobe_tail_entry, run_post, kprobe_tail_hit, kprobe_tail_called, 0

#if defined(CONFIG_X86_64) && defined(CONFIG_KPROBES_ON_FTRACE)
/* From entries that only the core's ops has. From others, ftrace calls kprobe_ftrace_handler(). */
	from_text kprobe_ftrace_entry, run_pre, kprobe_entry_hit, kprobe_entry_called

#ifdef CONFIG_KRETPROBE_RETURN_STACK
	.macro	for_scratch_regs op:req regs:vararg
	.irp	reg, \regs
	\op	%\reg
	.endr
	.endm

/*
 * The same from entries that were hooked for a return probe. If there is nothing to do but to
 * follow a call, of a task outside of handlers, this does so: it is kretprobe_entry(), step by
 * step, without all registers and without a mark. Any other hit goes the full way, with nothing
 * changed.
 *
 * There is no mark to keep the return probe, so only what is the core's is read, with preemption
 * off, which RCU waits for. Nor is there one that tells interrupts to leave the task's stack
 * alone. If one has put another in its place, the top is another, too.
 */
SYM_CODE_START(kretprobe_ftrace_entry)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	for_scratch_regs pushq rax, rcx, rdx, rsi
	count_preemption incq
	find_site .Lnot_followed, %rax, 32(%rsp)
	movq	KPROBE_SITE_follows(%rax), %rdx
	testq	%rdx, %rdx
	jz	.Lnot_followed
	if_above_task .Lnot_followed
	if_in_handler .Lnot_followed
	cmpl	$0, kprobe_stats(%rip)
	jne	.Lnot_followed
	movq	PER_CPU_VAR(current_task), %rcx
	movq	TASK_kretprobe_top(%rcx), %rax
	movl	KRETPROBE_HOLDER_size(%rdx), %esi
	addq	%rax, %rsi
	cmpq	TASK_kretprobe_end(%rcx), %rsi
	ja	.Lnot_followed
	cmpxchgq %rsi, TASK_kretprobe_top(%rcx)
	jne	.Lnot_followed
	movq	KRETPROBE_HOLDER_inside(%rdx), %rsi
	incq	__percpu(%rsi)
	movq	%rdx, KRETPROBE_INSTANCE_rph(%rax)
	leaq	40(%rsp), %rdx
	movq	%rdx, KRETPROBE_INSTANCE_fp(%rax)
	movq	(%rdx), %rsi
	movq	%rsi, KRETPROBE_INSTANCE_ret_addr(%rax)
	movq	TASK_kretprobe_instances(%rcx), %rsi
	movq	%rsi, (%rax)
	movq	%rax, TASK_kretprobe_instances(%rcx)
	movq	$__kretprobe_trampoline, (%rdx)
#ifdef CONFIG_PREEMPT_COUNT
	count_preemption decq
	jz	.Lpreempted_entry
#endif
	for_scratch_regs popq rsi, rdx, rcx, rax
	RET
.Lnot_followed:
	count_preemption decq
	for_scratch_regs popq rsi, rdx, rcx, rax
	jmp	kprobe_ftrace_entry
#ifdef CONFIG_PREEMPT_COUNT
.Lpreempted_entry:
	for_scratch_regs popq rsi, rdx, rcx, rax
	save_regs 32(%rsp), $-1
	count_preemption incq
	call	kprobe_preempt_enable
	restore_regs_and_return signal=0
#endif
SYM_CODE_END(kretprobe_ftrace_entry)
#endif
#endif

#ifdef CONFIG_X86_32
/* The general registers, and what an iret takes */
#define LOADED_SIZE	(10 * 4)

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
	.irp	pt, PT_EFLAGS, PT_CS, PT_EIP, PT_EAX, PT_EBP, PT_EDI, PT_ESI, PT_EDX, PT_ECX, PT_EBX
	pushl	\pt(%ebp)
	.endr
	.set	at, 0
	.rept	LOADED_SIZE / 4
	popl	at(%eax)
	.set	at, at + 4
	.endr
	movl	%eax, %esp
	pop_regs
	iret
SYM_CODE_END(kprobe_load_all)
#endif

#ifdef CONFIG_KRETPROBE_RETURN_STACK
#ifdef CONFIG_X86_64
/*
 * The short path of returns: calls the handler at a return as most are: of a task, outside of
 * handlers, from a call that one return probe follows, and that neither rethook nor the graph
 * tracer had diverted before. This is end_of_call(), step by step, with the registers at %rsp, the
 * place of the return address in %rsi, and preemption off. Any other return goes to @rare, where
 * nothing has happened yet. Without an instance the return address is lost anyway, so there is no
 * check for NULL.
 */
	.macro	run_return_handler rare:req
#if defined(CONFIG_CFI) || defined(CONFIG_KMSAN)
	jmp	\rare			/* the call of a handler takes more there */
#else
	movq	PER_CPU_VAR(current_task), %rbx
	movq	TASK_kretprobe_instances(%rbx), %rdi
	cmpq	%rsi, KRETPROBE_INSTANCE_fp(%rdi)
	/* See kprobe_mend_flags(). */
	ALTERNATIVE "{disp32} jne \rare", "jmp \rare", X86_FEATURE_XENPV
	movq	KRETPROBE_INSTANCE_ret_addr(%rdi), %rax
	cmpq	$__kretprobe_trampoline, %rax
	je	\rare
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	cmpq	$return_to_handler, %rax
	je	\rare
#endif
#ifdef CONFIG_RETHOOK
	cmpq	$arch_rethook_trampoline, %rax
	je	\rare
#endif
	if_above_task \rare
	if_in_handler \rare
	incl	PER_CPU_VAR(kprobe_marks + KPROBE_MARK_seq)
	movq	KRETPROBE_INSTANCE_rph(%rdi), %rdx
	movq	KRETPROBE_HOLDER_told(%rdx), %rdx
	movq	%rdx, PER_CPU_VAR(kprobe_marks + KPROBE_MARK_running)
	movq	%rax, RIP(%rsp)
	movq	%rax, (%rsi)
	movq	KRETPROBE_handler(%rdx), %rax
	testq	%rax, %rax
	jz	.Lno_handler\@
	movq	%rsp, %rsi
	CALL_NOSPEC rax
.Lno_handler\@:
	movq	TASK_kretprobe_instances(%rbx), %rdi
	movq	KRETPROBE_INSTANCE_rph(%rdi), %rdx
	movq	(%rdi), %rax
	movq	%rax, TASK_kretprobe_instances(%rbx)
	movl	KRETPROBE_HOLDER_size(%rdx), %eax
	addq	%rdi, %rax
	cmpq	%rax, TASK_kretprobe_top(%rbx)
	jne	.Lcall_c\@
	cmpl	$0, KRETPROBE_HOLDER_cap(%rdx)
	jne	.Lcall_c\@
	movq	%rdi, TASK_kretprobe_top(%rbx)
	movq	KRETPROBE_HOLDER_inside(%rdx), %rax
	decq	__percpu(%rax)
.Lended\@:
	leave_mark
#ifdef CONFIG_PREEMPT_COUNT
	count_preemption decq
	jnz	.Ldone\@
	count_preemption incq
	call	kprobe_preempt_enable
#endif
	jmp	.Ldone\@
.Lcall_c\@:
	call	kretprobe_call_ended
	jmp	.Lended\@
.Ldone\@:
#endif
	.endm
#endif

/*
 * The trampoline of return probes: its address takes the place of a function's return address.
 *
 * The first push writes to the word that the function has just returned through, so that
 * unwinders find the trampoline's address where they expect it. C code puts the function's own
 * return address there, and the trampoline finally returns through it.
 *
 * The saved stack pointer is the one after the function's return, two words above its value when
 * it is pushed. On 64 bits registers are only restored if a handler may want to change them, or C
 * code does not preserve them. Flags are restored last, with lea after them: some functions return
 * in flags, those of KVM for instance that execute an instruction in place of the guest.
 */
SYM_START(__kretprobe_trampoline, SYM_L_GLOBAL, SYM_F_ALIGN)
	ANNOTATE_NOENDBR	/* only ever returned to */
	push	$__kretprobe_trampoline
#ifdef CONFIG_X86_64
	UNWIND_HINT_FUNC
	save_regs $0, $-1, unwind_hint=0	/* C code fills in ip */
	ANNOTATE_IGNORE_ALTERNATIVE
	ASM_CLAC
	count_preemption incq
	leaq	PTREGS_SIZE(%rsp), %rsi
	run_return_handler .Lrare_return
.Lreturned:
#ifdef CONFIG_FRAME_POINTER
	movq	RBP(%rsp), %rbp	/* it was encoded */
#endif
	/* From here on rbp is the caller's, while the saved one is soon below the stack. */
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=PTREGS_SIZE+8 type=UNWIND_HINT_TYPE_CALL
	addq	$RBX, %rsp
	.irp	reg, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi
	popq	%\reg
	.endr
	leaq	(EFLAGS-ORIG_RAX)(%rsp), %rsp
	popfq
	leaq	(PTREGS_SIZE-RSP)(%rsp), %rsp
	UNWIND_HINT_FUNC
	RET
.Lrare_return:
	count_preemption decq
	movq	%rsp, %rdi
	call	kretprobe_returned
	jmp	.Lreturned
	/* It sets up no frame: the frame pointer remains the caller's. */
	STACK_FRAME_NON_STANDARD_FP __kretprobe_trampoline
#else
	save_regs $0, $-1
	movl	%esp, %eax
	leal	PTREGS_SIZE(%esp), %edx
	call	kretprobe_returned
	restore_regs_and_return
#endif
SYM_FUNC_END(__kretprobe_trampoline)
#endif
