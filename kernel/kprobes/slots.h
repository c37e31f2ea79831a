/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_SLOTS_H
#define _KERNEL_KPROBES_SLOTS_H

#include <linux/kprobes_table.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

struct slot_page;

/**
 * struct kprobe_insn_cache - slots of one size
 * @mutex:	protects everything below, and the pages
 * @pages:	all pages; also walked under RCU
 * @table:	all pages by address, for lookups from any context
 * @nr_free:	free slots in all pages
 * @current_page: where the next slot is looked for first, or NULL
 * @collect:	makes dirty slots usable again, and frees empty pages
 * @alloc:	allocates a page of executable memory
 * @free:	frees it
 * @slot_size:	the size of a slot, in kprobe_opcode_t
 * @name:	what the pages are called in /proc/kallsyms and perf's records
 */
struct kprobe_insn_cache {
	struct mutex		mutex;	/* a leaf of the lock order */
	struct list_head	pages;
	struct kprobe_table	table;
	unsigned int		nr_free;
	struct slot_page	*current_page;
	struct work_struct	collect;
	void			*(*alloc)(void);
	void			(*free)(void *page);
	size_t			slot_size;
	const char		*name;
};

#endif /* _KERNEL_KPROBES_SLOTS_H */
