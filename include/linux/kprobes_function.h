/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_FUNCTION_H
#define _LINUX_KPROBES_FUNCTION_H
/*
 * What is known of the function that was probed last: for the core, and for what
 * an architecture finds out when it prepares a site. The next probe is likely to
 * be in the same function, so that none of this has to be found out again.
 */
#include <linux/bitops.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/mutex.h>
#include <linux/types.h>

extern struct mutex kprobe_mutex;

/**
 * enum kprobe_byte - what can be known of a byte of a function
 * @KPROBE_BYTE_LABEL: it is in a jump label, patched while the kernel runs
 * @KPROBE_BYTE_TARGET: a branch leads here. The core knows those of jump labels, the
 *	others are for the architecture to add
 * @KPROBE_BYTE_INSN: an instruction begins here; the architecture's to fill in
 * @KPROBE_BYTE_MAY_FAULT: that instruction has a fixup; the architecture's to fill in
 * @KPROBE_BYTE_FIXUP: a fixup leads here; the architecture's to fill in
 * @KPROBE_NR_BYTES: how many of these there are
 *
 * There is a bitmap for each, with a bit for each byte of the function.
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
 * struct kprobe_function - a function in which a probe is to be
 * @start:	its first address
 * @end:	the address after its last
 * @module:	the name of its module, or NULL
 * @why:	why no probe can be anywhere in it, in words, or NULL
 * @bytes:	the bitmaps of enum kprobe_byte, one after the other; NULL before
 *		kprobe_survey()
 * @map_longs:	the size of one bitmap, in longs
 * @static_calls: there are static calls in it
 * @decoded:	for the architecture: KPROBE_BYTE_INSN is filled in up to here
 * @complete:	for the architecture: all bitmaps are filled in
 * @unknown:	for the architecture: a branch may lead anywhere in the function
 * @name:	of its symbol
 *
 * All of it describes the text as it was compiled, so it stays true until a module
 * comes or goes.
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

/* In blacklist.c. What goes by the function's name is in its why. */
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
 * kprobe_byte_set() - note something of a byte of a function
 * @f: the function, from kprobe_survey()
 * @addr: the byte's address; nothing happens if it is outside of @f
 * @what: what is noted
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
 * kprobe_byte_is() - has something been noted of a byte of a function?
 * @f: the function, from kprobe_survey()
 * @addr: the byte's address
 * @what: what is asked for
 *
 * Context: the text lock is held.
 * Return: true if so; false as well if @addr is outside of @f.
 */
static inline bool kprobe_byte_is(struct kprobe_function *f, unsigned long addr,
				  enum kprobe_byte what)
{
	return kprobe_function_covers(f, addr) &&
	       test_bit(addr - f->start, kprobe_byte_map(f, what));
}

/**
 * kprobe_byte_among() - has something been noted of one of several bytes?
 * @f: the function, from kprobe_survey()
 * @addr: the first byte's address
 * @end: the address after the last byte
 * @what: what is asked for
 *
 * Context: the text lock is held.
 * Return: true if so.
 */
static inline bool kprobe_byte_among(struct kprobe_function *f, unsigned long addr,
				     unsigned long end, enum kprobe_byte what)
{
	for (; addr < end; addr++)
		if (kprobe_byte_is(f, addr, what))
			return true;
	return false;
}

/**
 * kprobe_debugger_stops_at() - has kgdb a breakpoint at an address?
 * @addr: any address
 *
 * What is read there then is not the instruction that it is going to be again.
 *
 * Context: the text lock is held.
 * Return: true if so.
 */
static inline bool kprobe_debugger_stops_at(unsigned long addr)
{
#ifdef CONFIG_KGDB
	/* kgdb's table takes long to search, and is empty unless kgdb has an I/O driver. */
	return READ_ONCE(dbg_io_ops) && kgdb_has_hit_break(addr);
#else
	return false;
#endif
}

#endif /* _LINUX_KPROBES_FUNCTION_H */
