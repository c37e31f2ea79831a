/* SPDX-License-Identifier: GPL-2.0 */
/* x86 half of test_kprobes_contexts.c: a place that stays a breakpoint */
#ifndef _LIB_TEST_KPROBES_CONTEXTS_X86_H
#define _LIB_TEST_KPROBES_CONTEXTS_X86_H

static inline void *kprobes_trap_place(const struct kprobes_block *block)
{
	return block->first;
}

/* A jump would cover this one too, and cannot while it has a probe of its own. */
static inline void *kprobes_trap_neighbour(const struct kprobes_block *block)
{
	return block->first + KPROBES_BLOCK_INSN_SIZE;
}

#endif /* _LIB_TEST_KPROBES_CONTEXTS_X86_H */
