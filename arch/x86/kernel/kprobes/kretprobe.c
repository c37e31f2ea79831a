// SPDX-License-Identifier: GPL-2.0-only
/*
 * Diverting the return of a function on x86: its return address on the stack is
 * exchanged for that of the trampoline here, and put back when it is taken.
 */
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/stringify.h>
#include <asm/ibt.h>
#include <asm/ptrace.h>
#include <asm/segment.h>

#include "common.h"

#ifndef ANNOTATE_NOENDBR
#define ANNOTATE_NOENDBR
#endif

/* The size of the registers saved here, for assembly. */
#ifdef CONFIG_X86_64
#define REGS_SIZE	168
#else
#define REGS_SIZE	68
#endif
static_assert(sizeof(struct pt_regs) == REGS_SIZE);

/*
 * The first push takes the word the function has just returned through, so that
 * unwinders find there what they know how to recover. It is that word again
 * through which this returns, with the function's own return address in it.
 *
 * The stack pointer is saved as it is after a return: two words above where it
 * stands by then. What is taken back from the saved registers is what a handler
 * may have good reason to change, and what C does not preserve. No caller expects
 * flags back.
 */
asm(".pushsection .text\n"
	".global __kretprobe_trampoline\n"
	".type __kretprobe_trampoline, @function\n"
	"__kretprobe_trampoline:\n"
#ifdef CONFIG_X86_64
	ANNOTATE_NOENDBR	/* only ever returned to */
	"	pushq $__kretprobe_trampoline\n"
	UNWIND_HINT_FUNC
	"	pushq $" __stringify(__KERNEL_DS) "\n"
	"	pushq %rsp\n"
	"	pushfq\n"
	"	addq $16, 8(%rsp)\n"
	"	pushq $" __stringify(__KERNEL_CS) "\n"
	"	pushq $0\n"		/* ip, filled in by C */
	"	pushq $-1\n"		/* orig_ax */
	SAVE_GENERAL_STRING
	"	movq %rsp, %rdi\n"
	"	leaq " __stringify(REGS_SIZE) "(%rsp), %rsi\n"
	"	call kretprobe_returned\n"
	"	movq 32(%rsp), %rbp\n"	/* saving may have encoded it */
	"	addq $48, %rsp\n"
	RESTORE_CALLER_SAVED_STRING
	"	addq $48, %rsp\n"
	UNWIND_HINT_FUNC
#else
	"	pushl $__kretprobe_trampoline\n"
	"	pushl %ss\n"
	"	pushl %esp\n"
	"	pushfl\n"
	"	addl $8, 4(%esp)\n"
	"	pushl $" __stringify(__KERNEL_CS) "\n"
	"	pushl $0\n"		/* ip, filled in by C */
	"	pushl $-1\n"		/* orig_ax */
	"	pushl $0\n"		/* gs, which the kernel does not use */
	SAVE_GENERAL_STRING
	"	movl %esp, %eax\n"
	"	leal " __stringify(REGS_SIZE) "(%esp), %edx\n"
	"	call kretprobe_returned\n"
	RESTORE_REGS_STRING
	"	addl $12, %esp\n"
#endif
	ASM_RET
	".size __kretprobe_trampoline, .-__kretprobe_trampoline\n"
	".popsection\n"
);

NOKPROBE_SYMBOL(__kretprobe_trampoline);

/* The frame pointer goes on being the caller's. */
STACK_FRAME_NON_STANDARD_FP(__kretprobe_trampoline);
