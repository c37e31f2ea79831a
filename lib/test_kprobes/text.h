/* SPDX-License-Identifier: GPL-2.0 */
/* Which function an address is in. */
#ifndef _LIB_TEST_KPROBES_TEXT_H
#define _LIB_TEST_KPROBES_TEXT_H

#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

/* Bounds of the function around @addr, by the exported part of kallsyms. */
static inline void *kprobes_function(void *addr, unsigned long *size)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned long offset;

	sprint_symbol(name, (unsigned long)addr);
	if (sscanf(strchrnul(name, '+'), "+%lx/%lx", &offset, size) != 2)
		return NULL;
	return addr - offset;
}

static inline bool kprobes_within(void *function, unsigned long addr)
{
	unsigned long size;
	void *start = kprobes_function(function, &size);

	return start && addr - (unsigned long)start < size;
}

#endif /* _LIB_TEST_KPROBES_TEXT_H */
