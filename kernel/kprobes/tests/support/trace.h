/* SPDX-License-Identifier: GPL-2.0 */
/* Stack traces, and which functions are in them. */
#ifndef _KPROBES_TESTS_TRACE_H
#define _KPROBES_TESTS_TRACE_H

#include <linux/kernel.h>
#include <linux/stacktrace.h>
#include <linux/types.h>

#include "text.h"

/**
 * struct trace - a stack trace
 * @entries: return addresses, the innermost first
 * @length: how many there are
 */
struct trace {
	unsigned long entries[64];
	unsigned int length;
};

static inline void trace_take(struct trace *trace)
{
	trace->length = stack_trace_save(trace->entries, ARRAY_SIZE(trace->entries), 0);
}

/* From where the registers are. stack_trace_save_regs() is not exported to modules. */
static inline void trace_take_regs(struct trace *trace, struct pt_regs *regs)
{
	trace->length = stack_trace_save_regs(regs, trace->entries, ARRAY_SIZE(trace->entries), 0);
}

/* The index of the first entry in @function, or the trace's length if there is none */
static inline unsigned int trace_find(const struct trace *trace, void *function)
{
	unsigned int i;

	for (i = 0; i < trace->length; i++) {
		if (kprobes_within(function, trace->entries[i]))
			break;
	}
	return i;
}

static inline unsigned int trace_count(const struct trace *trace, void *function)
{
	unsigned int i, found = 0;

	for (i = 0; i < trace->length; i++)
		found += kprobes_within(function, trace->entries[i]);
	return found;
}

#endif /* _KPROBES_TESTS_TRACE_H */
