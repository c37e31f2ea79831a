/* SPDX-License-Identifier: GPL-2.0-only */
/* What kprobe_bench.c probes on arm64, and how it tells time and marks its log. */
#include <linux/ktime.h>
#include <linux/uaccess.h>

#define FILLER_SIZE	256
#define INSN_SIZE	4

#define TARGET(name, insn)				\
	".balign 16\n"					\
	".type " #name ", %function\n"			\
	#name ":\n"					\
	"	hint #34\n"				\
	"	mov x0, xzr\n"				\
	#name "_at:\n"					\
	"	" insn "\n"				\
	"	mov x1, xzr\n"				\
	"	ret\n"					\
	".size " #name ", . - " #name "\n"

asm(".text\n"
    TARGET(bench_plain, "add x0, x0, #1")
    TARGET(bench_madd, "madd x0, x0, x0, x0")
    TARGET(bench_stp, "stp x0, x1, [sp, #-16]!\n	add sp, sp, #16")
    TARGET(bench_adr, "adr x0, .")
    TARGET(bench_call, "mov x2, lr\n	bl bench_leaf\n	mov lr, x2")
    ".balign 16\n"
    ".type bench_leaf, %function\n"
    "bench_leaf:\n"
    "	ret\n"
    ".size bench_leaf, . - bench_leaf\n"
    ".macro bench_filler\n"
    ".balign 256\n"
    ".type bench_filler_\\@, %function\n"
    "bench_filler_\\@:\n"
    "	.rept " __stringify(FILLER_INSNS) "\n"
    "	mov x0, x1\n"
    "	.endr\n"
    "	ret\n"
    ".size bench_filler_\\@, . - bench_filler_\\@\n"
    ".endm\n"
    ".balign 256\n"
    "bench_fillers:\n"
    ".rept " __stringify(FILLERS) "\n"
    "	bench_filler\n"
    ".endr\n"
    ".balign 256\n"
    "bench_fillers_end:\n"
    "	nop\n"
    ".previous\n");

void bench_plain(void);
void bench_madd(void);
void bench_stp(void);
void bench_adr(void);
void bench_call(void);
extern char bench_plain_at[], bench_madd_at[], bench_stp_at[], bench_adr_at[], bench_call_at[];

/* The call is the second instruction of its target's. */
#define BENCH_CASES						\
	{ "add-pre",	bench_plain,	bench_plain_at,	PRE },	\
	{ "add-pre-post", bench_plain,	bench_plain_at,	PRE | POST },	\
	{ "madd-pre",	bench_madd,	bench_madd_at,	PRE },	\
	{ "madd-pre-post", bench_madd,	bench_madd_at,	PRE | POST },	\
	{ "stp-pre",	bench_stp,	bench_stp_at,	PRE },	\
	{ "adr-pre",	bench_adr,	bench_adr_at,	PRE },	\
	{ "adr-pre-post", bench_adr,	bench_adr_at,	PRE | POST },	\
	{ "bl-pre",	bench_call,	bench_call_at + INSN_SIZE,	PRE },	\
	{ "bl-pre-post", bench_call,	bench_call_at + INSN_SIZE,	PRE | POST },

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
