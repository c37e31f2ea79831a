/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for the kprobes tests to put probes on.
 *
 * They compute kprobes_expected(). kprobes_traced() calls ftrace at its
 * entry if the kernel is built so, kprobes_untraced() never does. kprobes_steps()
 * has the kinds of instruction that a probe has to deal with, and executes each
 * of them once per call. A file that includes this one gets its own copy of all
 * functions, and must be built with CC_FLAGS_FTRACE.
 */
#ifndef _KPROBES_TESTS_TARGETS_H
#define _KPROBES_TESTS_TARGETS_H

#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <linux/ptrace.h>
#include <linux/stringify.h>
#include <linux/types.h>

#include "text.h"

/**
 * struct kprobes_step - an instruction that can carry a probe
 * @name: the kind of instruction
 * @addr: its address
 * @next: the address of the next instruction, NULL if that is not known
 * @call: a function that executes it exactly once
 * @jumps: execution may go on elsewhere than at @next
 */
struct kprobes_step {
	const char *name;
	void *addr;
	void *next;
	u32 (*call)(u32 x);
	bool jumps;
};

/**
 * struct kprobes_block - a function with a run of equal instructions
 * @call: the function, which adds the number of these instructions to its argument
 * @first: the first of these instructions
 */
struct kprobes_block {
	u32 (*call)(u32 x);
	void *first;
};

static __always_inline u32 kprobes_expected(u32 x)
{
	u32 sum = x + 15;

	return sum ? sum + 1 : 0;
}

/* Keeps the call before this from becoming a tail call, and recursion from becoming a loop. */
static __always_inline void kprobes_no_tail_call(u32 *x)
{
	asm volatile("" : "+r" (*x) : : "memory");
}

/* For a function that adds one to what another has returned: its call is no tail call. */
static __always_inline u32 kprobes_one_more(u32 value)
{
	kprobes_no_tail_call(&value);
	return value + 1;
}

/*
 * Targets begin with this, to keep the compiler from folding functions that are
 * equal. On s390 it is an instruction that sets no condition code, because QEMU
 * before 9.1 loses the code that a single-stepped one has set.
 */
static __always_inline void kprobes_begin(u32 *x)
{
#ifdef CONFIG_S390
	asm volatile("la %0,1(%0)\n\tahi %0,-1" : "+a" (*x) : : "cc", "memory");
#else
	kprobes_no_tail_call(x);
#endif
}

/* A function that adds a number to kprobes_expected(), with more attributes */
#define KPROBES_TARGET(name, add, ...)						\
static noinline __noclone __VA_ARGS__ u32 name(u32 x)				\
{										\
	kprobes_begin(&x);							\
	return kprobes_expected(x) + (add);					\
}

KPROBES_TARGET(kprobes_traced, 0)
KPROBES_TARGET(kprobes_untraced, 0, notrace)

/* Not to be probed, not even by the tests. */
KPROBES_TARGET(kprobes_forbidden, 0)
NOKPROBE_SYMBOL(kprobes_forbidden);

typedef void (*kprobes_work_t)(void);

/* Functions with many equal instructions: how many of them an architecture has, if it has any */
#define KPROBES_BLOCKS		16
#define KPROBES_BLOCK_INSNS	50

/* Declares the address of what KPROBES_STEP() is before. */
#define KPROBES_AT(name)	extern u8 kprobes_step_##name[] asm(".Lkprobes_step_" #name)

/*
 * An architecture has
 *
 * - kprobes_steps_table[], with instructions in kprobes_steps() if it has that;
 * - kprobes_blocks[], and constants for its size;
 * - kprobes_set_argument(), which returns false if it cannot set an argument;
 * - some more constants.
 */
#if defined(CONFIG_X86)
#include "targets_x86.h"
#elif defined(CONFIG_ARM64)
#include "targets_arm64.h"
#else
#include "targets_generic.h"
#endif

#ifdef KPROBES_HAVE_STEPS
extern const struct kprobes_block kprobes_blocks[KPROBES_BLOCKS];

asm("	.pushsection .rodata, \"a\"\n"
"	.balign 8\n"
"kprobes_blocks:\n"
"	.rept " __stringify(KPROBES_BLOCKS) "\n"
"	kprobes_block\n"
"	.endr\n"
"	.popsection\n");
#endif

static const struct kprobes_step kprobes_entries[] __maybe_unused = {
	{ "function entry", kprobes_traced, NULL, kprobes_traced },
	{ "untraced function entry", kprobes_untraced, NULL, kprobes_untraced },
#ifdef KPROBES_HAVE_STEPS
	{ "assembly function entry", kprobes_steps, NULL, kprobes_steps },
#endif
};

#ifndef KPROBES_HAVE_MASKS
static inline unsigned long kprobes_masks(void)
{
	return irqs_disabled();
}
#endif

#ifndef KPROBES_HAVE_NMI
#define KPROBES_TRAP_MASKS_NMI	true

static inline bool kprobes_nmi_possible(void)
{
	return false;
}

static inline int kprobes_nmi_setup(void)
{
	return 0;
}

static inline void kprobes_nmi_teardown(void)
{
}

static inline bool kprobes_raise_nmi(kprobes_work_t work)
{
	return false;
}
#endif

#endif /* _KPROBES_TESTS_TARGETS_H */
