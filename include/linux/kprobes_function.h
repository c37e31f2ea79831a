/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_FUNCTION_H
#define _LINUX_KPROBES_FUNCTION_H
/*
 * What is known about the function that was probed last. The core fills it in, and so does an
 * architecture when it prepares a site. The next probe is likely to be in the same function, and
 * then none of this has to be found out again.
 */
#include <linux/bitops.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/mutex.h>
#include <linux/types.h>

extern struct mutex kprobe_mutex;

/**
 * enum kprobe_byte - what may be known about a byte of a function
 * @KPROBE_BYTE_LABEL: it is in a jump label, patched while the kernel runs
 * @KPROBE_BYTE_TARGET: a branch leads here. The core fills in the targets of jump labels,
 *	the architecture all others
 * @KPROBE_BYTE_INSN: an instruction begins here; filled in by the architecture, as are the rest
 * @KPROBE_BYTE_MAY_FAULT: that instruction has a fixup
 * @KPROBE_BYTE_FIXUP: a fixup leads here
 * @KPROBE_NR_BYTES: how many of these there are; each has a bitmap
 */
enum kprobe_byte {
	KPROBE_BYTE_LABEL,
	KPROBE_BYTE_TARGET,
	KPROBE_BYTE_INSN,
	KPROBE_BYTE_MAY_FAULT,
	KPROBE_BYTE_FIXUP,
	KPROBE_NR_BYTES,
};

/*
 * A function that is probed, as it was compiled: all this stays true until a module comes or goes.
 * The last four are for the architecture.
 */
struct kprobe_function {
	unsigned long	start;		/* the first address */
	unsigned long	end;		/* the address after the last */
	char		*module;	/* the name of its module, or NULL */
	char		name[KSYM_NAME_LEN];
	const char	*why;		/* why nothing in it can be probed, or NULL */
	unsigned long	*bytes;		/* the bitmaps; NULL before kprobe_survey() */
	unsigned long	map_longs;	/* the size of one, in longs */
	bool		static_calls;	/* there are some in it */
	bool		complete;	/* all bitmaps are filled in */
	bool		unknown;	/* a branch may lead anywhere in the function */
	unsigned long	decoded;	/* KPROBE_BYTE_INSN is filled in up to here */
	unsigned long	leaves_to;	/* where a jump leads out of the function, or 0 */
};

struct kprobe_function *kprobe_function_at(unsigned long addr);
struct kprobe_function *kprobe_survey(unsigned long addr);
void kprobe_function_forget(void);

/*
 * In blacklist.c. This does not look at the function's name; @why of struct kprobe_function does.
 */
bool kprobe_blacklisted(unsigned long addr);

static inline bool kprobe_function_covers(const struct kprobe_function *f, unsigned long addr)
{
	return addr >= f->start && addr < f->end;
}

static inline unsigned long *kprobe_byte_map(struct kprobe_function *f, enum kprobe_byte what)
{
	return f->bytes + what * f->map_longs;
}

/*
 * Records a fact about a byte of a function from kprobe_survey(). Outside of it, nothing happens.
 * The text lock is held.
 */
static inline void kprobe_byte_set(struct kprobe_function *f, unsigned long addr,
				   enum kprobe_byte what)
{
	if (kprobe_function_covers(f, addr))
		__set_bit(addr - f->start, kprobe_byte_map(f, what));
}

/* Checks whether a fact is recorded about a byte; outside of the function, none is. */
static inline bool kprobe_byte_is(struct kprobe_function *f, unsigned long addr,
				  enum kprobe_byte what)
{
	return kprobe_function_covers(f, addr) &&
	       test_bit(addr - f->start, kprobe_byte_map(f, what));
}

/* The same, about one of the bytes from @addr to before @end. */
static inline bool kprobe_byte_among(struct kprobe_function *f, unsigned long addr,
				     unsigned long end, enum kprobe_byte what)
{
	for (; addr < end; addr++)
		if (kprobe_byte_is(f, addr, what))
			return true;
	return false;
}

/* Why a probe is refused there, and at what find_bug() knows */
#define KPROBE_DEBUGGER_STOPS	"a breakpoint of the debugger"
#define KPROBE_IS_BUG		"a BUG() or WARN(), known by its address"

/**
 * kprobe_debugger_stops_at() - check for a breakpoint of kgdb's
 * @addr: any address
 *
 * Context: the text lock is held, or a site is in the table: on x86 no breakpoint is set under that
 * lock, and nowhere is one set at a site.
 * Return: true if there is one: what is read from @addr is not the original instruction then.
 */
static inline bool kprobe_debugger_stops_at(unsigned long addr)
{
#ifdef CONFIG_KGDB
	/* Searching kgdb's table takes long. It is empty unless kgdb has an I/O driver. */
	return READ_ONCE(dbg_io_ops) && kgdb_has_hit_break(addr);
#else
	return false;
#endif
}

#endif /* _LINUX_KPROBES_FUNCTION_H */
