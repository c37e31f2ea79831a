// SPDX-License-Identifier: GPL-2.0-only
/* Functions with a call of ftrace's, and nothing else. */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/stringify.h>

#include "entries.h"

#define TEN(what, n)	\
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) \
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define HUNDRED(what, n) \
	TEN(what, n##0) TEN(what, n##1) TEN(what, n##2) TEN(what, n##3) TEN(what, n##4) \
	TEN(what, n##5) TEN(what, n##6) TEN(what, n##7) TEN(what, n##8) TEN(what, n##9)
#define THOUSAND(what) \
	HUNDRED(what, 0) HUNDRED(what, 1) HUNDRED(what, 2) HUNDRED(what, 3) HUNDRED(what, 4) \
	HUNDRED(what, 5) HUNDRED(what, 6) HUNDRED(what, 7) HUNDRED(what, 8) HUNDRED(what, 9)

/* No two are so equal that a compiler folds them. */
#define FUNCTION(n)	\
	static noinline void entry_##n(void) { asm volatile("" : : "i" (1##n)); }
#define POINTER(n)	entry_##n,

THOUSAND(FUNCTION)

extern const bench_entry_t __KBUILD_MODNAME[];
const bench_entry_t __KBUILD_MODNAME[MODULE_ENTRIES] = { THOUSAND(POINTER) };
EXPORT_SYMBOL_GPL(__KBUILD_MODNAME);

MODULE_DESCRIPTION("function entries for kprobe_bench");
MODULE_LICENSE("GPL");
