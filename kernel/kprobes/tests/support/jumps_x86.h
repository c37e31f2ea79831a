/* SPDX-License-Identifier: GPL-2.0 */
/* x86 half of kernel/kprobes/test_optimize.h: see there */
#ifndef _KPROBES_TESTS_JUMPS_X86_H
#define _KPROBES_TESTS_JUMPS_X86_H

#include <linux/unaligned.h>
#include <asm/text-patching.h>

#define KPROBES_LANDING_PAD	(IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? ENDBR_INSN_SIZE : 0)
#define KPROBES_FRAME_INSNS	(IS_ENABLED(CONFIG_FRAME_POINTER) ? 2 : 0)

/* --- registers --- */

/* In the order of struct pt_regs, where they come first */
#ifdef CONFIG_X86_64
#define KPROBES_REGS		15
#define KPROBES_REG_RESULT	10
#define KPROBES_REG_ARGUMENT	14
#else
#define KPROBES_REGS		7
#define KPROBES_REG_RESULT	6
#define KPROBES_REG_ARGUMENT	4
#endif
#define KPROBES_REGS_SEEN	KPROBES_REGS

#define KPROBES_FLAGS		(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | \
				 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_DF | \
				 X86_EFLAGS_OF)
#define KPROBES_FLAGS_SEEN	(KPROBES_FLAGS | X86_EFLAGS_IF)
#define KPROBES_FLAGS_ON	X86_EFLAGS_IF
#define KPROBES_FLAG_ZERO	X86_EFLAGS_ZF

struct kprobes_registers {
	unsigned long reg[KPROBES_REGS];
	unsigned long flags;
};

/*
 * Calls a function with the values of @registers, and stores the new ones there.
 * Clears the direction flag afterwards: C code must not see it set.
 */
void kprobes_jump_run(struct kprobes_registers *registers, void (*call)(void));

#ifdef CONFIG_X86_64
#define KPROBES_RUN_REGS	"r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi"
#define KPROBES_RUN_SAVE	"push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
#define KPROBES_RUN_RESTORE	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
#else
#define KPROBES_RUN_REGS	"ebx, ecx, edx, esi, edi, ebp"
#define KPROBES_RUN_SAVE	"push %ebp; push %ebx; push %esi; push %edi\n"
#define KPROBES_RUN_RESTORE	"pop %edi; pop %esi; pop %ebx; pop %ebp\n"
#endif

/* Of all registers but the argument's own; then that one's place is at .Lat. */
#define KPROBES_RUN_EACH(insn)						\
	".set .Lat, 0\n .irp reg, " KPROBES_RUN_REGS "\n" insn "\n"	\
	".set .Lat, .Lat + " __ASM_SEL_RAW(4, 8) "\n .endr\n"
#define KPROBES_RUN_REG		".Lat(%" _ASM_ARG1 ")"
#define KPROBES_RUN_FLAGS	__ASM_SEL_RAW(28, 120) "(%" _ASM_ARG1 ")"

KPROBES_FUNCTION(kprobes_jump_run,
		 KPROBES_RUN_SAVE "push %" _ASM_ARG2 "; push %" _ASM_ARG1 "\n"
		 "push " KPROBES_RUN_FLAGS "; popf\n"
		 KPROBES_RUN_EACH("mov " KPROBES_RUN_REG ", %\\reg")
		 "mov " KPROBES_RUN_REG ", %" _ASM_ARG1 "\n"
		 ANNOTATE_RETPOLINE_SAFE "\ncall *" __ASM_SEL_RAW(4, 8) "(%" _ASM_SP ")\n"
		 "xchg %" _ASM_ARG1 ", (%" _ASM_SP ")\n"
		 KPROBES_RUN_EACH("mov %\\reg, " KPROBES_RUN_REG) "pop " KPROBES_RUN_REG "\n"
		 "pushf; pop " KPROBES_RUN_FLAGS "; push " KPROBES_RUN_FLAGS "\n"
		 __ASM_SIZE(btr) " $10, (%" _ASM_SP "); popf\n"
		 "add $" __ASM_SEL_RAW(4, 8) ", %" _ASM_SP "\n" KPROBES_RUN_RESTORE ASM_RET);
STACK_FRAME_NON_STANDARD_FP(kprobes_jump_run);

static inline unsigned long *kprobes_reg(struct pt_regs *regs, unsigned int i)
{
	return (unsigned long *)regs + i;
}

static inline bool kprobes_reg_is_free(unsigned int i)
{
	return true;
}

static inline unsigned long *kprobes_flags(struct pt_regs *regs)
{
	return &regs->flags;
}

/* Makes the probed function return at once. */
static inline void kprobes_return(struct pt_regs *regs)
{
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
}

/* --- text --- */

static inline bool kprobes_trapped(void)
{
	return this_cpu_read(kprobe_int3_count);
}

static inline bool kprobes_is_breakpoint(const void *addr)
{
	return *(const u8 *)addr == INT3_INSN_OPCODE;
}

/* The target of the jump at @addr, or NULL if there is no jump */
static inline void *kprobes_jump_at(void *addr)
{
	if (*(u8 *)addr != JMP32_INSN_OPCODE)
		return NULL;
	return addr + JMP32_INSN_SIZE + get_unaligned((s32 *)(addr + 1));
}

/* --- functions with an instruction to probe --- */

/* Not ASM_RET: a thunk that counts returns changes the flags. */
#define KPROBES_RET	ANNOTATE_RETPOLINE_SAFE "\nret; int3\n"

#define KPROBES_JUMP(function, body)					\
void function(void);							\
KPROBES_FUNCTION(function, body "\n" KPROBES_RET)

#define KPROBES_UACCESS	"access to user memory"

/* Where there is no REX prefix, another one without effect takes its place */
#ifdef CONFIG_X86_64
#define KPROBES_REX	""
#else
#define KPROBES_REX	".byte 0x3e\n"
#endif

#define KPROBES_NOP4	"nopl 0(%" _ASM_AX ")\n"

/* By lea, as compilers do where that is faster than a subtraction */
#define KPROBES_GROW_STACK(bytes)					\
	"lea -" #bytes "(%" _ASM_SP "), %" _ASM_SP "; nop\n"		\
	"lea " #bytes "(%" _ASM_SP "), %" _ASM_SP

/* An indirect call leaves the function, an indirect jump may not. */
#ifdef CONFIG_MITIGATION_RETPOLINE
#define KPROBES_CALL_ANYWHERE	"call __x86_indirect_thunk_" _ASM_AX "\n"
#else
#define KPROBES_CALL_ANYWHERE	ANNOTATE_RETPOLINE_SAFE "\ncall *%" _ASM_AX "\n"
#endif

/*
 * What is in struct kprobes_jump, and the function's text. The architecture's own suites have more
 * instructions, by all ways to their handlers.
 */
#define KPROBES_JUMPS(J)									\
	J(boosted, "boosted", 0, "boost", "lfence; nop; nop")					\
	J(emulated, "emulated", 0, "emulate", "jmp 1f; nop; nop; nop; 1: nop")			\
	J(push_rsp, "push of the stack pointer", 0, "boost",					\
	  "push %" _ASM_SP "\n" KPROBES_NOP4 "pop %" _ASM_AX)					\
	J(grow_stack, "stack grown by 40 bytes", 0, "boost", KPROBES_GROW_STACK(40))		\
	J(grow_stack_more, "stack grown by 48 bytes", 0, "boost", KPROBES_GROW_STACK(48))	\
	J(grow_stack_most, "stack grown by 96 bytes", 0, "boost", KPROBES_GROW_STACK(96))	\
	J(call, "call", KPROBES_FRAME_INSNS, "emulate",						\
	  FRAME_BEGIN "call kprobes_seven\n" FRAME_END)						\
	/* Probed while user memory is accessible; the result tells whether it still is. */	\
	J(uaccess, KPROBES_UACCESS, 3, "boost",							\
	  KPROBES_SET_AC "nopl 0(%" _ASM_AX ", %" _ASM_AX "); nop\n" KPROBES_RESULT_AC)		\
	J(calls_anywhere, "indirect call in the function", KPROBES_FRAME_INSNS, "boost",	\
	  FRAME_BEGIN "add $1, %eax; nop; nop; cmp %eax, %eax; je 1f\n"				\
	  KPROBES_CALL_ANYWHERE "1:\n" FRAME_END)						\
	/* Various instructions that a jump covers besides the probed one */			\
	J(1112, "one, one, one and two bytes", 0, "boost",					\
	  "push %" _ASM_DI "; pop %" _ASM_AX "; nop; mov %eax, %edx")				\
	J(222, "two, two and two bytes", 0, "boost",						\
	  "mov %edi, %eax; add %esi, %eax; xor %ecx, %eax")					\
	J(4_15, "four and fifteen bytes", 0, "boost",						\
	  KPROBES_REX "lea 3(%" _ASM_DI "), %" _ASM_AX "\n"					\
	  ".byte 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e\n"					\
	  KPROBES_REX "lea 0x11223344(%" _ASM_AX ", %" _ASM_DI ", 8), %" _ASM_CX)		\
	J(then_if, "conditional jump covered", 0, "boost",					\
	  "test %edi, %edi; je 1f; add $1, %eax; 1:")						\
	J(then_call, "call covered", KPROBES_FRAME_INSNS, "boost",				\
	  FRAME_BEGIN "mov %edi, %eax; call kprobes_seven\n" FRAME_END)				\
	J(then_relative, "relative operand covered", 0, "boost",				\
	  "mov %edi, %eax; add " KPROBES_DATA(".Lkprobes_five") ", %eax")			\
	J(then_return, "return covered", 0, "boost",						\
	  KPROBES_REX "lea 8(%" _ASM_DI "), %" _ASM_AX)

#define KPROBES_JUMP_TEXT(id, name, insn, word, body)	KPROBES_JUMP(kprobes_jump_##id, body);
#define KPROBES_JUMP_ROW(id, name, insn, word, ...)	{ name, kprobes_jump_##id, insn, word },

KPROBES_JUMPS(KPROBES_JUMP_TEXT)

static const struct kprobes_jump kprobes_jumps[] = { KPROBES_JUMPS(KPROBES_JUMP_ROW) };

/* Each instruction sets a bit of the result. */
KPROBES_JUMP(kprobes_jump_bits,
	     "add $1, %al; add $2, %al; add $4, %al; add $8, %al; add $16, %al");

#endif /* _KPROBES_TESTS_JUMPS_X86_H */
