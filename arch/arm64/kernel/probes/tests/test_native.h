/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_NATIVE_H
#define __ARM64_KERNEL_PROBES_TEST_NATIVE_H

#include <linux/types.h>

/* The address of a symbol in assembly that is not declared in C */
#define ADDRESS_OF(symbol) ({						\
	unsigned long __addr;						\
									\
	asm("adrp	%0, " #symbol "\n"				\
	    "	add	%0, %0, :lo12:" #symbol : "=r" (__addr));	\
	(void *)__addr;							\
})

/**
 * struct probe_trip - registers before an instruction, and after it
 * @regs:	x0 to x30; x18 is not loaded
 * @nzcv:	the flags, in their bits of PSTATE
 * @landed:	where the instruction led to, see test_simulate.c
 *
 * Assembly knows the layout.
 */
struct probe_trip {
	u64		regs[31];
	u64		nzcv;
	u64		landed;
};

void probe_test_run(struct probe_trip *trip, u32 insn);

#endif /* __ARM64_KERNEL_PROBES_TEST_NATIVE_H */
