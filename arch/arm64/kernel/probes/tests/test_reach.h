/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_REACH_H
#define __ARM64_KERNEL_PROBES_TEST_REACH_H

#include <kunit/test.h>
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <asm/sections.h>

#include "../internal.h"

/* For kprobe_in_reach(): as if slots near the kernel's text, and the handlers, were too far away */
static inline bool only_modules_in_reach(unsigned long from, unsigned long to)
{
	long distance = to - from;

	if (is_kprobe_insn_slot(to) || to == (unsigned long)kprobe_detour_entry ||
	    to == (unsigned long)kprobe_tail_entry)
		return false;
	return abs(distance) < SZ_128M;
}

/* Modules have to be so near that the stub above tells the truth. With KASLR that is chance. */
static inline void need_modules_in_reach(struct kunit *test)
{
	void *module = execmem_alloc(EXECMEM_MODULE_TEXT, PAGE_SIZE);

	KUNIT_ASSERT_NOT_NULL(test, module);
	execmem_free(module);
	if (!only_modules_in_reach((unsigned long)_stext, (unsigned long)module) ||
	    !only_modules_in_reach((unsigned long)_etext, (unsigned long)module))
		kunit_skip(test, "modules are far from the kernel");
}

#endif /* __ARM64_KERNEL_PROBES_TEST_REACH_H */
