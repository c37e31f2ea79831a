/* SPDX-License-Identifier: GPL-2.0-only */
/* The targets on arm64, how time is told there, and a log of exceptions marked. */
#include <linux/ktime.h>
#include <linux/uaccess.h>

/* The clock ticks every 16 instructions. */
#define SITE_CALLS	32

/* Where in a target the instruction stands that it is named after. */
#define TARGET_AT	8

void bench_stp(void);
void bench_adr(void);
void bench_madd(void);
void bench_ret(void);
void bench_call(void);

#define BENCH_PLAIN	bench_stp

static inline u64 bench_clock(void)
{
	return ktime_get_ns();
}

/* Nothing is mapped in the last page. */
static inline void mark(void)
{
	u32 value;

	__get_kernel_nofault(&value, (u32 *)-PAGE_SIZE, u32, faulted);
faulted:
	return;
}

/* BRK, of any number */
static inline bool is_breakpoint(void *addr)
{
	return (READ_ONCE(*(u32 *)addr) & 0xffe0001f) == 0xd4200000;
}
