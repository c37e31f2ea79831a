/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_NATIVE_H
#define __ARM64_KERNEL_PROBES_TEST_NATIVE_H
/*
 * For suites that run many instructions, natively and with a probe on each: how diff_trip() gets to
 * an instruction and back, and the manners of planting probes.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include <linux/thread_info.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <asm/insn.h>

#include "support/diff.h"

/* The address of a symbol in assembly that is not declared in C */
#define ADDRESS_OF(symbol) ({						\
	unsigned long __addr;						\
									\
	asm("adrp	%0, " #symbol "\n"				\
	    "	add	%0, %0, :lo12:" #symbol : "=r" (__addr));	\
	(void *)__addr;							\
})

/* The word in front of an instruction: diff_trip() comes there by way of x17. */
#define TRIP_ENTRY							\
"	ldp	x16, x17, [sp], #16\n"

/* Wherever an instruction leads. The first word, the place of which is noted, is BTI JC. */
#define TRIP_LANDING							\
"	hint	#38\n"							\
"	stp	x0, x30, [sp, #-16]!\n"					\
"	bl	probe_test_trip_end\n"

#define TRIP_LANDING_SIZE	12

/* Sites of instructions, up to TRIP_SITES_END. Of each, label 8 is before it, and 9 behind. */
#define TRIP_SITES							\
"	.macro probe_test_site insn:vararg\n"				\
"8:\n"									\
	TRIP_LANDING							\
	TRIP_ENTRY							\
"	\\insn\n"							\
	TRIP_LANDING							\
"9:\n"									\
	TRIP_LANDING							\
"	.endm\n"							\
"	.pushsection .text, \"ax\"\n"					\
"	.balign	8\n"

#define TRIP_SITES_END							\
"	.popsection\n"							\
"	.purgem probe_test_site\n"

/* Relative to an instruction: the places to which it may lead. The last one ends its site. */
#define BEFORE		(-TRIP_LANDING_SIZE - AARCH64_INSN_SIZE)
#define AFTER		(AARCH64_INSN_SIZE + TRIP_LANDING_SIZE)
#define SITE_SIZE	(AFTER + TRIP_LANDING_SIZE - BEFORE)

/* Lists the sites between these two. Before there are probes, because it reads the text. */
int probe_test_sites(struct kunit *test, void *first, void *end, struct diff_insn **insns);

/* Where instructions have their stack; exceptions and interrupts, too, need room below. */
#define STACK_AT	(THREAD_SIZE - 1024)

extern u8 probe_test_stack[THREAD_SIZE];

static inline u32 word_of(const struct diff_insn *insn)
{
	return get_unaligned_le32(insn->code);
}

/* The manners of planting probes, as parameters of a case: with what in reach of a branch */
const void *probe_test_manners(const void *prev, char *desc);

/* Has all run in the case's manner: by jump, if there are any, and by breakpoint. */
void probe_test_in_manner(struct kunit *test, const struct diff_lab *lab, unsigned long trials);

#endif /* __ARM64_KERNEL_PROBES_TEST_NATIVE_H */
