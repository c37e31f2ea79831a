/* SPDX-License-Identifier: GPL-2.0 */
/* targets.h for architectures without assembly of their own: entries only */
#ifndef _KPROBES_TESTS_TARGETS_GENERIC_H
#define _KPROBES_TESTS_TARGETS_GENERIC_H

/* Where a trap leaves the instruction pointer is not known */
#define KPROBES_TRAP_LENGTH	-1

#define KPROBES_TRACE_WITHOUT_FRAME	false
/* The unwinders of these three know a caller by the frame that its callee has made. */
#define KPROBES_TRACE_AT_ENTRY	(!IS_ENABLED(CONFIG_S390) && !IS_ENABLED(CONFIG_PPC) &&	\
				 !IS_ENABLED(CONFIG_SPARC))
/* The unwinder of mips ends at an exception. */
#define KPROBES_TRACE_PAST_EXCEPTIONS	!IS_ENABLED(CONFIG_MIPS)
/* How the stack pointer differs between entry and return is not known. */
#define KPROBES_RETURN_POPS	-1
#define KPROBES_HANDLER_MAY_UNMASK	false
#define KPROBES_SYNC_SYMBOL	NULL
#define KPROBES_NO_RETURN_SYMBOL	NULL

static inline bool kprobes_interruptible(struct pt_regs *regs)
{
	return true;
}

static inline bool kprobes_set_argument(struct pt_regs *regs, u32 x)
{
	return false;
}

static const struct kprobes_step kprobes_steps_table[] __maybe_unused = {
	{ "function entry", kprobes_traced, NULL, kprobes_traced },
	{ "untraced function entry", kprobes_untraced, NULL, kprobes_untraced },
};

/* There are none. */
#undef KPROBES_BLOCKS
#define KPROBES_BLOCKS		0
#define KPROBES_BLOCK_INSN_SIZE	0

static const struct kprobes_block kprobes_blocks[1] __maybe_unused;

#define KPROBES_REFUSED		(-EINVAL)
#define KPROBES_OFF_BOUNDARY	(-EINVAL)
#define KPROBES_OWN_REFUSED	0

/* Not known: cases that need it are skipped. */
static inline int kprobes_insn_length(const u8 *text, unsigned long size)
{
	return 0;
}

static inline unsigned long kprobes_trim(const u8 *text, unsigned long size)
{
	return size;
}

static inline bool kprobes_writable(unsigned long addr)
{
	return false;
}

#endif /* _KPROBES_TESTS_TARGETS_GENERIC_H */
