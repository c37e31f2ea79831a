/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that ftrace can hook, in a table that has the name of its module. */
#define ENTRY_MODULES	10
#define MODULE_ENTRIES	1000

typedef void (*bench_entry_t)(void);
