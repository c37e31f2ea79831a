// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trampoline of return probes on x86. Its address takes the place of a function's
 * return address on the stack.
 */
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/stringify.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/processor-flags.h>
#include <asm/ptrace.h>
#include <asm/segment.h>
#include <asm/smap.h>

#include "common.h"

#ifndef ANNOTATE_NOENDBR
#define ANNOTATE_NOENDBR
#endif

/* The size of the registers saved here, and where the flags are, for assembly. */
#ifdef CONFIG_X86_64
#define REGS_SIZE	168
#define REGS_FLAGS	144
#else
#define REGS_SIZE	68
#define REGS_FLAGS	56
#endif
static_assert(sizeof(struct pt_regs) == REGS_SIZE);
static_assert(offsetof(struct pt_regs, flags) == REGS_FLAGS);

/*
 * Between stac and clac a caller has access to user memory, and goes on having it. Without
 * SMAP there is no stac, and the flag can be user space's.
 */
#define SAVED_FLAGS	__stringify(REGS_FLAGS) "(%" _ASM_SP ")\n"
#define RESTORE_USER_ACCESS_STRING					\
	"	btl $" __stringify(X86_EFLAGS_AC_BIT) ", " SAVED_FLAGS	\
	"	jnc 1f\n"						\
	"	" __ASM_SIZE(push) " " SAVED_FLAGS			\
	"	popf\n"							\
	"1:\n"

/*
 * The first push writes to the word that the function has just returned through, so
 * that unwinders find the trampoline's address where they expect it. C code puts the
 * function's own return address there, and in the end this returns through it.
 *
 * The saved stack pointer is that after the function's return, which is two words above
 * its value when it is pushed. Of the saved registers, those are loaded again that a
 * handler may want to change or that C code does not preserve. Flags are loaded only for
 * AC, as no caller relies on others. Handlers run without access to user memory, as in an
 * exception: it is no state that a task switch would save.
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
	ANNOTATE_IGNORE_ALTERNATIVE
	ASM_CLAC "\n"
	"	movq %rsp, %rdi\n"
	"	leaq " __stringify(REGS_SIZE) "(%rsp), %rsi\n"
	"	call kretprobe_returned\n"
	RESTORE_USER_ACCESS_STRING
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
	ASM_CLAC "\n"
	"	movl %esp, %eax\n"
	"	leal " __stringify(REGS_SIZE) "(%esp), %edx\n"
	"	call kretprobe_returned\n"
	RESTORE_USER_ACCESS_STRING
	RESTORE_REGS_STRING
	"	addl $12, %esp\n"
#endif
	ASM_RET
	".size __kretprobe_trampoline, .-__kretprobe_trampoline\n"
	".popsection\n"
);

NOKPROBE_SYMBOL(__kretprobe_trampoline);

/* It sets up no frame: the frame pointer remains the caller's. */
STACK_FRAME_NON_STANDARD_FP(__kretprobe_trampoline);
