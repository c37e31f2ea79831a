/* SPDX-License-Identifier: GPL-2.0 */
/* x86 half of test_kprobes_contexts.c: a place that stays a breakpoint */
#ifndef _KPROBES_TESTS_CONTEXTS_X86_H
#define _KPROBES_TESTS_CONTEXTS_X86_H

/* A breakpoint's handler can be interrupted if it enables interrupts. */
#define KPROBES_TRAP_INTERRUPTIBLE	true

static inline void *kprobes_trap_place(const struct kprobes_block *block)
{
	return block->first;
}

/* A jump would cover this instruction too, and cannot while that has its own probe. */
static inline void *kprobes_trap_neighbour(const struct kprobes_block *block)
{
	return block->first + KPROBES_BLOCK_INSN_SIZE;
}

KPROBES_AT(copied); KPROBES_AT(behind_copied);

/* The instruction names the stack pointer: its copy has to run before the post handler does. */
static noinline __noclone u32 kprobes_copied_call(u32 x)
{
	asm volatile(KPROBES_STEP("copied") "test %%" _ASM_SP ", %%" _ASM_SP "\n"
		     KPROBES_STEP("behind_copied") "nop\n" : "+r" (x) : : "cc");
	return x + 1;
}

static inline void *kprobes_copied_place(void)
{
	return kprobes_step_copied;
}

static inline void *kprobes_copied_neighbour(void)
{
	return kprobes_step_behind_copied;
}

#endif /* _KPROBES_TESTS_CONTEXTS_X86_H */
