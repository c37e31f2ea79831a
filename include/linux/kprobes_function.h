/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_FUNCTION_H
#define _LINUX_KPROBES_FUNCTION_H
/*
 * What is known about the function that was probed last. The core fills it in, and so
 * does an architecture when it prepares a site. The next probe is likely to be in the
 * same function, and then none of this has to be found out again.
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
 * @KPROBE_BYTE_INSN: an instruction begins here; filled in by the architecture
 * @KPROBE_BYTE_MAY_FAULT: that instruction has a fixup; filled in by the architecture
 * @KPROBE_BYTE_FIXUP: a fixup leads here; filled in by the architecture
 * @KPROBE_NR_BYTES: the number of these
 *
 * Each of these has a bitmap, with a bit for each byte of the function.
 */
enum kprobe_byte {
	KPROBE_BYTE_LABEL,
	KPROBE_BYTE_TARGET,
	KPROBE_BYTE_INSN,
	KPROBE_BYTE_MAY_FAULT,
	KPROBE_BYTE_FIXUP,
	KPROBE_NR_BYTES,
};

/**
 * struct kprobe_function - what is known about a function that is probed
 * @start:	its first address
 * @end:	the address after its last
 * @module:	the name of its module, or NULL
 * @why:	why nothing in it can be probed, in words, or NULL
 * @bytes:	the bitmaps of enum kprobe_byte, one after the other; NULL before
 *		kprobe_survey()
 * @map_longs:	the size of one bitmap, in longs
 * @static_calls: there are static calls in it
 * @decoded:	for the architecture: KPROBE_BYTE_INSN is filled in up to here
 * @complete:	for the architecture: all bitmaps are filled in
 * @leaves_to:	for the architecture: where a jump leads out of the function, or 0
 * @unknown:	for the architecture: a branch may lead anywhere in the function
 * @name:	the name of its symbol
 *
 * All of it describes the text as it was compiled, and so stays true until a module comes
 * or goes.
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
	unsigned long	leaves_to;
	bool		complete;
	bool		unknown;
	char		name[KSYM_NAME_LEN];
};

struct kprobe_function *kprobe_function_at(unsigned long addr);
struct kprobe_function *kprobe_survey(unsigned long addr);
void kprobe_function_forget(void);

/*
 * In blacklist.c. This does not look at the function's name; @why of struct
 * kprobe_function does.
 */
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

/**
 * kprobe_byte_set() - record a fact about a byte of a function
 * @f: the function, from kprobe_survey()
 * @addr: the byte's address; nothing happens if it is outside of @f
 * @what: the fact
 *
 * Context: the text lock is held.
 */
static inline void kprobe_byte_set(struct kprobe_function *f, unsigned long addr,
				   enum kprobe_byte what)
{
	if (kprobe_function_covers(f, addr))
		__set_bit(addr - f->start, kprobe_byte_map(f, what));
}

/**
 * kprobe_byte_is() - check whether a fact is recorded about a byte of a function
 * @f: the function, from kprobe_survey()
 * @addr: the byte's address
 * @what: the fact
 *
 * Context: the text lock is held.
 * Return: true if it is; false also if @addr is outside of @f.
 */
static inline bool kprobe_byte_is(struct kprobe_function *f, unsigned long addr,
				  enum kprobe_byte what)
{
	return kprobe_function_covers(f, addr) &&
	       test_bit(addr - f->start, kprobe_byte_map(f, what));
}

/**
 * kprobe_byte_among() - check whether a fact is recorded about one of several bytes
 * @f: the function, from kprobe_survey()
 * @addr: the first byte's address
 * @end: the address after the last byte
 * @what: the fact
 *
 * Context: the text lock is held.
 * Return: true if it is.
 */
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
 * If there is one, what is read from @addr is not the original instruction.
 *
 * Context: the text lock is held, or a site is in the table: on x86 no breakpoint is set under
 * that lock, and nowhere is one set at a site.
 * Return: true if there is one.
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
