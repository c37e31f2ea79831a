/* SPDX-License-Identifier: GPL-2.0-only */
/* The targets on x86, how time is told there, and a log of exceptions marked. */
#include <asm/asm.h>
#include <asm/msr.h>

/* The clock is exact. */
#define SITE_CALLS	4

/* Where in a target the instruction stands that it is named after. */
#define TARGET_AT	4

void bench_mov(void);
void bench_imul(void);
void bench_step(void);
void bench_call(void);
void bench_leaf(void);

#define BENCH_PLAIN	bench_mov

static inline u64 bench_clock(void)
{
	return rdtsc();
}

static inline void mark(void)
{
	asm volatile("1: ud2\n2:\n" _ASM_EXTABLE(1b, 2b));
}

static inline bool is_breakpoint(void *addr)
{
	return READ_ONCE(*(u8 *)addr) == 0xcc;
}
