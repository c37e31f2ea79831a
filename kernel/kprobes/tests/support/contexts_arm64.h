/* SPDX-License-Identifier: GPL-2.0 */
/* arm64 half of test_kprobes_contexts.c: a place that stays a breakpoint */
#ifndef _KPROBES_TESTS_CONTEXTS_ARM64_H
#define _KPROBES_TESTS_CONTEXTS_ARM64_H

#define KPROBES_TRAP_INTERRUPTIBLE	KPROBES_HANDLER_MAY_UNMASK

/* A landing pad. A BRK is accepted in its place, a branch is not, so there is no jump. */
static inline void *kprobes_trap_place(const struct kprobes_block *block)
{
	return block->call;
}

static inline void *kprobes_trap_neighbour(const struct kprobes_block *block)
{
	return NULL;
}

/* A hint is not simulated: its copy has to run before the post handler does. */
static u32 kprobes_copied_call(u32 x)
{
	return kprobes_blocks[0].call(x);
}

static inline void *kprobes_copied_place(void)
{
	return kprobes_blocks[0].call;
}

static inline void *kprobes_copied_neighbour(void)
{
	return NULL;
}

#endif /* _KPROBES_TESTS_CONTEXTS_ARM64_H */
