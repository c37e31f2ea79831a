/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_FUNCTION_H
#define _LINUX_KPROBES_FUNCTION_H
/*
 * What is known of the function that was probed last: for the core, and for what
 * an architecture finds out when it prepares a site. The next probe is likely to
 * be in the same function, and does not look for all of it again.
 */
#include <linux/bitops.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/mutex.h>
#include <linux/types.h>

extern struct mutex kprobe_mutex;

/* What is known of each byte of a function, in a bitmap each. */
enum kprobe_byte {
	KPROBE_BYTE_LABEL,	/* a jump label, patched while the kernel runs */
	KPROBE_BYTE_TARGET,	/* a branch leads here */
	/* The rest is the architecture's to fill in, if it needs that. */
	KPROBE_BYTE_INSN,	/* an instruction begins here */
	KPROBE_BYTE_MAY_FAULT,	/* the instruction has a fixup */
	KPROBE_BYTE_FIXUP,	/* a fixup leads here */
	KPROBE_NR_BYTES,
};

/**
 * struct kprobe_function - a function in which a probe is to be
 * @start:	its first address
 * @end:	the address after its last
 * @module:	the name of its module, or NULL
 * @why:	why no probe can be anywhere in it, or NULL
 * @bytes:	one bitmap after the other; NULL before kprobe_survey()
 * @map_longs:	the size of one
 * @static_calls: there are static calls in it
 * @decoded:	for the architecture: @KPROBE_BYTE_INSN is filled in to here
 * @complete:	for the architecture: all bitmaps are
 * @unknown:	for the architecture: a branch may lead anywhere
 * @name:	the symbol's
 *
 * All of it is of the text as it was compiled, which changes only when modules
 * come and go.
 */
struct kprobe_function {
	unsigned long	start;
	unsigned long	end;
	char		*module;
	const char	*why;
	unsigned long	*bytes;
	unsigned long	map_longs;
	bool		static_calls;
	unsigned long	decoded;
	bool		complete;
	bool		unknown;
	char		name[KSYM_NAME_LEN];
};

struct kprobe_function *kprobe_function_at(unsigned long addr);
struct kprobe_function *kprobe_survey(unsigned long addr);
void kprobe_function_forget(void);

/* Whether the address is on the blacklist, without a look at its function's name. */
bool kprobe_blacklisted(unsigned long addr);

static inline bool kprobe_function_covers(const struct kprobe_function *f,
					  unsigned long addr)
{
	return addr >= f->start && addr < f->end;
}

static inline unsigned long *kprobe_byte_map(struct kprobe_function *f,
					     enum kprobe_byte what)
{
	return f->bytes + what * f->map_longs;
}

/* Nothing happens, and nothing is known, outside of the function. */
static inline void kprobe_byte_set(struct kprobe_function *f, unsigned long addr,
				   enum kprobe_byte what)
{
	if (kprobe_function_covers(f, addr))
		__set_bit(addr - f->start, kprobe_byte_map(f, what));
}

static inline bool kprobe_byte_is(struct kprobe_function *f, unsigned long addr,
				  enum kprobe_byte what)
{
	return kprobe_function_covers(f, addr) &&
	       test_bit(addr - f->start, kprobe_byte_map(f, what));
}

/* Whether one of the bytes from @addr up to @end, excluded, is. */
static inline bool kprobe_byte_among(struct kprobe_function *f, unsigned long addr,
				     unsigned long end, enum kprobe_byte what)
{
	for (; addr < end; addr++)
		if (kprobe_byte_is(f, addr, what))
			return true;
	return false;
}

/* Its breakpoint hides what was there, and will be that again. */
static inline bool kprobe_debugger_stops_at(unsigned long addr)
{
#ifdef CONFIG_KGDB
	/* They are looked for in a long table, and there are none without a line to one. */
	return READ_ONCE(dbg_io_ops) && kgdb_has_hit_break(addr);
#else
	return false;
#endif
}

#endif /* _LINUX_KPROBES_FUNCTION_H */
