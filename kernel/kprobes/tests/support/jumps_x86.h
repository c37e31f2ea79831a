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
#define KPROBES_REG_MEMORY	13
#define KPROBES_REG_ARGUMENT	14
#else
#define KPROBES_REGS		7
#define KPROBES_REG_RESULT	6
#define KPROBES_REG_MEMORY	3
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
KPROBES_FUNCTION(kprobes_jump_run,
		 "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
		 "push %rsi; push %rdi; push 15*8(%rdi); popfq\n"
		 "mov 0*8(%rdi), %r15; mov 1*8(%rdi), %r14; mov 2*8(%rdi), %r13\n"
		 "mov 3*8(%rdi), %r12; mov 4*8(%rdi), %rbp; mov 5*8(%rdi), %rbx\n"
		 "mov 6*8(%rdi), %r11; mov 7*8(%rdi), %r10; mov 8*8(%rdi), %r9\n"
		 "mov 9*8(%rdi), %r8; mov 10*8(%rdi), %rax; mov 11*8(%rdi), %rcx\n"
		 "mov 12*8(%rdi), %rdx; mov 13*8(%rdi), %rsi; mov 14*8(%rdi), %rdi\n"
		 ANNOTATE_RETPOLINE_SAFE "call *8(%rsp)\n"
		 "xchg %rdi, (%rsp)\n"
		 "mov %r15, 0*8(%rdi); mov %r14, 1*8(%rdi); mov %r13, 2*8(%rdi)\n"
		 "mov %r12, 3*8(%rdi); mov %rbp, 4*8(%rdi); mov %rbx, 5*8(%rdi)\n"
		 "mov %r11, 6*8(%rdi); mov %r10, 7*8(%rdi); mov %r9, 8*8(%rdi)\n"
		 "mov %r8, 9*8(%rdi); mov %rax, 10*8(%rdi); mov %rcx, 11*8(%rdi)\n"
		 "mov %rdx, 12*8(%rdi); mov %rsi, 13*8(%rdi); pop 14*8(%rdi)\n"
		 "pushfq; pop 15*8(%rdi); push 15*8(%rdi); btrq $10, (%rsp); popfq\n"
		 "add $8, %rsp\n"
		 "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n" ASM_RET);
#else
KPROBES_FUNCTION(kprobes_jump_run,
		 "push %ebp; push %ebx; push %esi; push %edi\n"
		 "push %edx; push %eax; push 7*4(%eax); popf\n"
		 "mov 0*4(%eax), %ebx; mov 1*4(%eax), %ecx; mov 2*4(%eax), %edx\n"
		 "mov 3*4(%eax), %esi; mov 4*4(%eax), %edi; mov 5*4(%eax), %ebp\n"
		 "mov 6*4(%eax), %eax\n"
		 ANNOTATE_RETPOLINE_SAFE "call *4(%esp)\n"
		 "xchg %eax, (%esp)\n"
		 "mov %ebx, 0*4(%eax); mov %ecx, 1*4(%eax); mov %edx, 2*4(%eax)\n"
		 "mov %esi, 3*4(%eax); mov %edi, 4*4(%eax); mov %ebp, 5*4(%eax); pop 6*4(%eax)\n"
		 "pushf; pop 7*4(%eax); push 7*4(%eax); btrl $10, (%esp); popf\n"
		 "add $4, %esp; pop %edi; pop %esi; pop %ebx; pop %ebp\n" ASM_RET);
#endif
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

static inline void kprobes_put_text(void *addr, const void *text, size_t size)
{
	text_poke(addr, text, size);
	text_poke_sync();
}

/* --- functions with an instruction to probe --- */

/* Not ASM_RET: a thunk that counts returns changes the flags. */
#define KPROBES_RET	ANNOTATE_RETPOLINE_SAFE "ret; int3\n"

#define KPROBES_JUMP(function, body)					\
void function(void);							\
KPROBES_FUNCTION(function, body "\n" KPROBES_RET)

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

KPROBES_JUMP(kprobes_jump_boosted, "lfence; nop; nop");
KPROBES_JUMP(kprobes_jump_emulated, "jmp 1f; nop; nop; nop; 1: nop");
KPROBES_JUMP(kprobes_jump_add, "add %" _ASM_DI ", %" _ASM_AX "; nop; nop; nop");
KPROBES_JUMP(kprobes_jump_move, "mov %" _ASM_DI ", %" _ASM_AX "; nop; nop; nop");
KPROBES_JUMP(kprobes_jump_load, "mov 8(%" _ASM_SI "), %" _ASM_AX "; nop; nop");
KPROBES_JUMP(kprobes_jump_store, "mov %" _ASM_DI ", (%" _ASM_SI "); nop; nop; nop");
KPROBES_JUMP(kprobes_jump_modify, "add %" _ASM_DI ", (%" _ASM_SI "); nop; nop; nop");
KPROBES_JUMP(kprobes_jump_relative, "add " KPROBES_DATA(".Lkprobes_five") ", %eax");
KPROBES_JUMP(kprobes_jump_push, "push %" _ASM_SI "\n" KPROBES_NOP4 "pop %" _ASM_AX);
KPROBES_JUMP(kprobes_jump_pop, "push %" _ASM_SI "; pop %" _ASM_AX "\n" KPROBES_NOP4);
KPROBES_JUMP(kprobes_jump_push_rsp, "push %" _ASM_SP "\n" KPROBES_NOP4 "pop %" _ASM_AX);
KPROBES_JUMP(kprobes_jump_grow_stack, KPROBES_GROW_STACK(40));
KPROBES_JUMP(kprobes_jump_grow_stack_more, KPROBES_GROW_STACK(48));
KPROBES_JUMP(kprobes_jump_grow_stack_most, KPROBES_GROW_STACK(96));
KPROBES_JUMP(kprobes_jump_push_flags, "pushf\n" KPROBES_NOP4 "pop %" _ASM_AX);
KPROBES_JUMP(kprobes_jump_push_memory,
	     __ASM_SIZE(push) " 8(%" _ASM_SI ")\n" KPROBES_NOP4 "pop %" _ASM_AX);
KPROBES_JUMP(kprobes_jump_pop_memory,
	     "push %" _ASM_DI "; " __ASM_SIZE(pop) " (%" _ASM_SI ")\n" KPROBES_NOP4);
KPROBES_JUMP(kprobes_jump_call, FRAME_BEGIN "call kprobes_seven\n" FRAME_END);
KPROBES_JUMP(kprobes_jump_if_short, "je 1f; add $1, %eax; 1:");
KPROBES_JUMP(kprobes_jump_if, ".byte 0x0f, 0x84; .long 1f - . - 4; add $1, %eax; 1:");
KPROBES_JUMP(kprobes_jump_short, "je 2f; jmp 1f; nop; nop; nop; 2: add $1, %eax; 1:");
KPROBES_JUMP(kprobes_jump_jump, "je 2f; .byte 0xe9; .long 1f - . - 4; 2: add $1, %eax; 1:");
KPROBES_JUMP(kprobes_jump_return,
	     "je 1f\n" ANNOTATE_RETPOLINE_SAFE "ret; nop; nop; nop; nop; 1: add $1, %eax");

/* Probed while user memory is accessible; the result tells whether it still is afterwards. */
#define KPROBES_UACCESS	"access to user memory"
KPROBES_JUMP(kprobes_jump_uaccess,
	     KPROBES_SET_AC "nopl 0(%" _ASM_AX ", %" _ASM_AX "); nop\n" KPROBES_RESULT_AC);

/* Various instructions that a jump covers besides the probed one */
KPROBES_JUMP(kprobes_jump_1112, "push %" _ASM_DI "; pop %" _ASM_AX "; nop; mov %eax, %edx");
KPROBES_JUMP(kprobes_jump_222, "mov %edi, %eax; add %esi, %eax; xor %ecx, %eax");
KPROBES_JUMP(kprobes_jump_4_15,
	     KPROBES_REX "lea 3(%" _ASM_DI "), %" _ASM_AX "\n"
	     ".byte 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e\n"
	     KPROBES_REX "lea 0x11223344(%" _ASM_AX ", %" _ASM_DI ", 8), %" _ASM_CX);
KPROBES_JUMP(kprobes_jump_then_if, "test %edi, %edi; je 1f; add $1, %eax; 1:");
KPROBES_JUMP(kprobes_jump_then_call,
	     FRAME_BEGIN "mov %edi, %eax; call kprobes_seven\n" FRAME_END);
KPROBES_JUMP(kprobes_jump_then_relative,
	     "mov %edi, %eax; add " KPROBES_DATA(".Lkprobes_five") ", %eax");
KPROBES_JUMP(kprobes_jump_then_return, KPROBES_REX "lea 8(%" _ASM_DI "), %" _ASM_AX);

/* An indirect call leaves the function, an indirect jump may not. */
#ifdef CONFIG_MITIGATION_RETPOLINE
#define KPROBES_CALL_ANYWHERE	"call __x86_indirect_thunk_" _ASM_AX "\n"
#else
#define KPROBES_CALL_ANYWHERE	ANNOTATE_RETPOLINE_SAFE "call *%" _ASM_AX "\n"
#endif
KPROBES_JUMP(kprobes_jump_calls_anywhere,
	     FRAME_BEGIN "add $1, %eax; nop; nop; cmp %eax, %eax; je 1f\n"
	     KPROBES_CALL_ANYWHERE "1:\n" FRAME_END);

static const struct kprobes_jump kprobes_jumps[] = {
	{ "boosted", kprobes_jump_boosted, 0, "boost" },
	{ "emulated", kprobes_jump_emulated, 0, "emulate" },
	{ "addition", kprobes_jump_add, 0, "boost" },
	{ "move", kprobes_jump_move, 0, "boost" },
	{ "load", kprobes_jump_load, 0, "boost" },
	{ "store", kprobes_jump_store, 0, "boost" },
	{ "load and store", kprobes_jump_modify, 0, "boost" },
	{ "load relative to the pc", kprobes_jump_relative, 0, "boost" },
	{ "push", kprobes_jump_push, 0, "boost" },
	{ "pop", kprobes_jump_pop, 1, "boost" },
	{ "push of the stack pointer", kprobes_jump_push_rsp, 0, "boost" },
	{ "stack grown by 40 bytes", kprobes_jump_grow_stack, 0, "boost" },
	{ "stack grown by 48 bytes", kprobes_jump_grow_stack_more, 0, "boost" },
	{ "stack grown by 96 bytes", kprobes_jump_grow_stack_most, 0, "boost" },
	{ "push of the flags", kprobes_jump_push_flags, 0, "boost" },
	{ "push from memory", kprobes_jump_push_memory, 0, "boost" },
	{ "pop to memory", kprobes_jump_pop_memory, 1, "boost" },
	{ "call", kprobes_jump_call, KPROBES_FRAME_INSNS, "emulate" },
	{ "short conditional jump", kprobes_jump_if_short, 0, "emulate" },
	{ "conditional jump", kprobes_jump_if, 0, "emulate" },
	{ "short jump", kprobes_jump_short, 1, "emulate" },
	{ "jump", kprobes_jump_jump, 1, "emulate" },
	{ "return", kprobes_jump_return, 1, "emulate" },
	{ KPROBES_UACCESS, kprobes_jump_uaccess, 3, "boost" },
	{ "indirect call in the function", kprobes_jump_calls_anywhere, KPROBES_FRAME_INSNS,
	  "boost" },
	{ "one, one, one and two bytes", kprobes_jump_1112, 0, "boost" },
	{ "two, two and two bytes", kprobes_jump_222, 0, "boost" },
	{ "four and fifteen bytes", kprobes_jump_4_15, 0, "boost" },
	{ "conditional jump covered", kprobes_jump_then_if, 0, "boost" },
	{ "call covered", kprobes_jump_then_call, KPROBES_FRAME_INSNS, "boost" },
	{ "relative operand covered", kprobes_jump_then_relative, 0, "boost" },
	{ "return covered", kprobes_jump_then_return, 0, "boost" },
};

/* Each instruction sets a bit of the result. */
KPROBES_JUMP(kprobes_jump_bits,
	     "add $1, %al; add $2, %al; add $4, %al; add $8, %al; add $16, %al");

#endif /* _KPROBES_TESTS_JUMPS_X86_H */
