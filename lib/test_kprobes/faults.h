/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions with an instruction that faults if they are told to, for the tests
 * of fault handlers to put probes on and to call from handlers.
 *
 * All of these instructions have a fixup. A fault that is not offered to the
 * fault handler it should be offered to gives a wrong value then, and no oops.
 */
#ifndef _LIB_TEST_KPROBES_FAULTS_H
#define _LIB_TEST_KPROBES_FAULTS_H

#include <linux/stddef.h>
#include <linux/types.h>

#include "targets.h"

/**
 * struct kprobes_fault - an instruction that faults for some arguments
 * @name: what it does
 * @insn: where it stands
 * @next: the instruction that stands after it
 * @call: a function that executes it exactly once, with its argument in @reg,
 *	and returns what it leaves in the register for return values
 * @reg: offset in struct pt_regs of the register that makes it fault
 * @bad: an argument that it faults for
 * @good: an argument that it does not fault for, if there is one
 * @value: what @call returns for @good, 0 if there is none
 * @trap: which fault it is, see kprobes_trap()
 * @optional: not every processor, or what emulates one, has that fault
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

/* For an address where nothing is, which only the test can find */
#define KPROBES_UNMAPPED	(~0UL)

#define KPROBES_VALUE		0x600d

/*
 * An architecture gives kprobes_faults_table[], which begins with a load from
 * KPROBES_UNMAPPED; kprobes_fixed(), what @call returns when the fixup was taken;
 * kprobes_trap(), which tells the kind of fault from a fault handler's trapnr;
 * and kprobes_same_registers(), where neither flags nor instruction pointer count.
 */
#if defined(CONFIG_X86)
#include "faults_x86.h"
#elif defined(CONFIG_ARM64)
#include "faults_arm64.h"
#else
#error "no instructions that fault here"
#endif

#endif /* _LIB_TEST_KPROBES_FAULTS_H */
