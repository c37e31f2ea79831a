/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_NATIVE_H
#define __X86_KERNEL_KPROBES_TEST_NATIVE_H
/*
 * Native execution of an instruction, for tests to compare with
 *
 * An instruction is put into a page of int3s, and the processor is sent there with registers of
 * the test's choice. Wherever the instruction leads, the next one is an int3, whose handler finds
 * the resulting registers. The page and a stack belong to the test; what the registers point to
 * depends on what is tried.
 */
#include <linux/kconfig.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <asm/insn-eval.h>

#include "support/diff.h"

#define NR_REGS		(IS_ENABLED(CONFIG_X86_64) ? 16 : 8)

/* In words. Interrupts need room below STACK_AT. */
#define STACK_SIZE	2048
#define STACK_AT	1024
#define STACK_SEEN	64

/* The flags that conditions test, in all combinations, and some others. */
#define NR_FLAGS	32

/* What follows an instruction in text that can be probed */
#define PADDING_SIZE	4

/* No address at all */
#define NO_ADDRESS	BIT(BITS_PER_LONG - 1)

extern u8 *kprobe_test_page;

/* The end of memory that may be a stack: nothing is mapped there. */
extern unsigned long kprobe_test_edge;

/* Indirect branches are under test, and lead to where there is no landing pad. */
extern bool kprobe_test_astray;
extern unsigned long kprobe_test_stack[STACK_SIZE];

/* Kernel text that can be probed, for one test each to overwrite. Nobody else calls it. */
#define TEXT_SIZE	163840
#define TEXT_SIZE_FORMS	12288
void kprobe_test_text(void);
void kprobe_test_forms(void);
void kprobe_test_branches(void);

static inline unsigned long *reg(struct pt_regs *regs, int i)
{
	return (void *)regs + pt_regs_offset(regs, i);
}

int kprobe_test_native_init(void);
void kprobe_test_native_exit(void);
void kprobe_test_put_code(const u8 *code, unsigned int length);
int kprobe_test_write(void (*function)(void), int size, const struct diff_lab *lab);
void kprobe_test_in_all_ways(struct kunit *test, const struct diff_lab *lab, unsigned long trials,
			     bool jumps);
unsigned long kprobe_test_bad_address(bool half);
int kprobe_test_try_natively(struct pt_regs *regs);
unsigned long kprobe_test_flags(unsigned int i);

#endif /* __X86_KERNEL_KPROBES_TEST_NATIVE_H */
