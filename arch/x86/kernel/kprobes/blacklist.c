// SPDX-License-Identifier: GPL-2.0-only
/* What must not be probed on x86, whatever the instruction is. */
#include <linux/init.h>
#include <linux/kprobes.h>
#include <asm/orc_lookup.h>
#include <asm/sections.h>

#include "internal.h"

/*
 * Functions that return on another stack than the one they were called on, that return a second
 * time with another kernel's per-CPU data, or that are returned to: these have no return address.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ .name = "__switch_to" },
	{ .name = IS_ENABLED(CONFIG_HIBERNATION) ? "swsusp_arch_suspend" : "" },
	{ .name = IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER) ? "return_to_handler" : "" },
	{ }
};

/* Without ORC, nobody knows where the return address is. */
const char *arch_kprobe_not_called(unsigned long addr)
{
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC) || orc_may_be_called(addr))
		return NULL;
	return "the return address is not where a call leaves it";
}

/*
 * In the order of the linker script: the compiler's thunks for branches, which the int3 handler
 * itself uses; static calls, which can be probed; code that untrains branch predictors, which
 * depends on its exact bytes; entry code, where the stack and the registers are not yet what an
 * int3 handler needs; and more thunks, up to the end of the text.
 */
int __init arch_populate_kprobe_blacklist(void)
{
	kprobe_add_area_blacklist((unsigned long)__softirqentry_text_end,
				  (unsigned long)__static_call_text_start);
	return kprobe_add_area_blacklist((unsigned long)__static_call_text_end,
					 (unsigned long)_etext);
}
