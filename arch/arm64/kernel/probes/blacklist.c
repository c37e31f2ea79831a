// SPDX-License-Identifier: GPL-2.0-only
/* What must not be probed on arm64, whatever the instruction is. */
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <asm/sections.h>
#include <asm/system_misc.h>
#include <asm/trans_pgd.h>
#include <asm/virt.h>

#include "decode-insn.h"
#include "internal.h"

#define IF(option, function)	{ .name = IS_ENABLED(CONFIG_##option) ? function : "" }

struct kretprobe_blackpoint kretprobe_blacklist[] = {
	/*
	 * A CPU that has lost its registers resumes by returning from this a second time, to the
	 * trampoline, for a call that has returned already.
	 */
	IF(CPU_PM, "__cpu_suspend_enter"),
	/* Is jumped to after a fault of the firmware, and takes the link register for the stack. */
	IF(EFI, "__efi_rt_asm_recover"),
	/* Looks around its return address for who is to be called. */
	IF(FUNCTION_TRACER, "ftrace_caller"),
	/* Returns with its return address swapped for the one in x9. */
	IF(DYNAMIC_FTRACE_WITH_DIRECT_CALLS, "ftrace_stub_direct_tramp"),
#ifndef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
	/* Is jumped to, and returns by the frame record of where that was. */
	IF(FUNCTION_GRAPH_TRACER, "ftrace_graph_caller"),
#endif
	/* Is returned to, and gets to know only then where to return itself. */
	IF(FUNCTION_GRAPH_TRACER, "return_to_handler"),
	{ }
};

/* With BTI, an indirect branch has to find one of these in the text. */
bool kprobe_is_landing_pad(u32 insn)
{
	if (!aarch64_insn_is_hint(insn))
		return false;
	switch (insn & GENMASK(11, 5)) {
	case AARCH64_INSN_HINT_PACIASP:
	case AARCH64_INSN_HINT_PACIBSP:
	case AARCH64_INSN_HINT_BTIC:
	case AARCH64_INSN_HINT_BTIJ:
	case AARCH64_INSN_HINT_BTIJC:
		return true;
	}
	return false;
}

/*
 * Checks whether execution continues behind an instruction. A call may be of a function that does
 * not return, a hint may be padding, and what cannot be probed may be no instruction at all.
 */
static bool continues(u32 insn)
{
	const struct probe_class *class = probe_classify(insn);

	return class && class->kprobe != PROBE_REJECT && !aarch64_insn_is_hint(insn) &&
	       class->simulate != probe_simulate_branch &&
	       class->simulate != probe_simulate_branch_reg;
}

/* A function has a landing pad, or code does not run into it. */
const char *arch_kprobe_not_called(unsigned long addr)
{
	unsigned long before = addr - AARCH64_INSN_SIZE;
	u32 insn;

	/* There are the types of functions, which look like any instruction. */
	if (IS_ENABLED(CONFIG_CFI))
		return NULL;
	if (aarch64_insn_read((void *)addr, &insn) || kprobe_is_landing_pad(insn) ||
	    !kernel_text_address(before) || aarch64_insn_read((void *)before, &insn))
		return NULL;
	return continues(insn) ? "a label that the code in front of it runs into" : NULL;
}

/* Entry code, code of the hypervisor, and code that runs with the MMU off. */
int __init arch_populate_kprobe_blacklist(void)
{
	const struct {
		char *start, *end;
	} areas[] = {
		{ __entry_text_start, __entry_text_end },
		{ __irqentry_text_start, __irqentry_text_end },
		{ __hyp_text_start, __hyp_text_end },
		{ __hyp_idmap_text_start, __hyp_idmap_text_end },
		{ __idmap_text_start, __idmap_text_end },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(areas); i++)
		kprobe_add_area_blacklist((unsigned long)areas[i].start,
					  (unsigned long)areas[i].end);
	if (!IS_ENABLED(CONFIG_TRANS_TABLE))
		return 0;
	/* On the way to another kernel, these are copied from the text, with breakpoints in it. */
	return kprobe_add_area_blacklist((unsigned long)trans_pgd_stub_vectors,
					 (unsigned long)trans_pgd_stub_vectors +
					 ARM64_VECTOR_TABLE_LEN);
}
