/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_SLOTS_H
#define _KERNEL_KPROBES_SLOTS_H

#include <linux/kprobes_table.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

struct slot_page;

/* Slots of one size */
struct kprobe_insn_cache {
	struct mutex		mutex;		/* protects the rest; a leaf of the lock order */
	struct list_head	pages;		/* also walked under RCU */
	struct kprobe_table	table;		/* all pages by address, for any context */
	unsigned int		nr_free;	/* free slots in all pages */
	struct slot_page	*current_page;	/* where to look for a slot first, or NULL */
	void			*(*alloc)(void);	/* a page of executable memory */
	void			(*free)(void *page);
	size_t			slot_size;	/* in kprobe_opcode_t */
	const char		*name;		/* of the pages in kallsyms and perf's records */
};

#endif /* _KERNEL_KPROBES_SLOTS_H */
