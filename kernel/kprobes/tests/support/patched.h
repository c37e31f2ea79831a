/* SPDX-License-Identifier: GPL-2.0 */
/* Text that is patched, or known by its address, by the tables of the kernel or of a module. */
#ifndef _KPROBES_TESTS_PATCHED_H
#define _KPROBES_TESTS_PATCHED_H

#include <linux/bug.h>
#include <linux/static_call.h>

#ifdef CONFIG_GENERIC_BUG
static inline void *kprobes_bug_site(const struct bug_entry *bug)
{
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
	return (void *)&bug->bug_addr_disp + bug->bug_addr_disp;
#else
	return (void *)bug->bug_addr;
#endif
}
#endif

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
static inline void *kprobes_static_call_site(const struct static_call_site *site)
{
	return (void *)&site->addr + site->addr;
}
#endif

#endif
