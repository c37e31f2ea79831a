/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions with an instruction that faults for some arguments. Tests of fault
 * handlers put probes on these instructions, and call the functions in handlers.
 *
 * All of these instructions have a fixup. So if a fault does not get to the fault
 * handler that should see it, there is a wrong value instead of an oops.
 */
#ifndef _KPROBES_TESTS_FAULTS_H
#define _KPROBES_TESTS_FAULTS_H

#include <linux/stddef.h>
#include <linux/types.h>

#include "targets.h"

/**
 * struct kprobes_fault - an instruction that faults for some arguments
 * @name: what it does
 * @insn: its address
 * @next: the address of the next instruction
 * @call: a function that executes it exactly once, with the function's argument in
 *	@reg, and returns what the instruction leaves in the return value register
 * @reg: offset in struct pt_regs of the register that makes it fault
 * @bad: an argument for which it faults
 * @good: an argument for which it does not, if there is one
 * @value: what @call returns for @good, 0 if there is none
 * @trap: the kind of fault, as kprobes_trap() returns it
 * @optional: not every processor or emulator raises this fault
 */
struct kprobes_fault {
	const char *name;
	void *insn;
	void *next;
	unsigned long (*call)(unsigned long x);
	size_t reg;
	unsigned long bad;
	unsigned long good;
	unsigned long value;
	int trap;
	bool optional;
};

/* Stands for an unmapped address, which only the test can find */
#define KPROBES_UNMAPPED	(~0UL)

#define KPROBES_VALUE		0x600d

/*
 * An architecture has
 *
 * - kprobes_faults_table[], which begins with a load from KPROBES_UNMAPPED;
 * - kprobes_fixed(): what @call returns after the fixup;
 * - kprobes_trap(): the kind of fault, from a fault handler's trapnr;
 * - kprobes_same_registers(): are two sets of registers the same, except for flags
 *   and instruction pointer?
 */
#if defined(CONFIG_X86)
#include "faults_x86.h"
#elif defined(CONFIG_ARM64)
#include "faults_arm64.h"
#else
#error "no instructions that fault here"
#endif

#endif /* _KPROBES_TESTS_FAULTS_H */
