/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARM64_KPROBES_TEST_JUMP_H
#define _ARM64_KPROBES_TEST_JUMP_H
/*
 * For tests that want hits by a jump, or one by way of a slot where modules are
 */
#include <kunit/test.h>
#include <linux/execmem.h>
#include <linux/kprobes_arch.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sizes.h>
#include <asm/insn.h>
#include <asm/sections.h>

#include "../internal.h"

/* Expects hits there to come by a branch. The case is skipped if these are switched off. */
static inline void need_jump(struct kunit *test, void *addr)
{
	enum kprobe_obstacle obstacle;

	scoped_guard(preempt)
		obstacle = get_kprobe(addr)->obstacle;
	if (obstacle == KPROBE_OBSTACLE_OFF)
		kunit_skip(test, "jumps are switched off");
	KUNIT_ASSERT_EQ(test, obstacle, KPROBE_NO_OBSTACLE);
	KUNIT_ASSERT_TRUE(test, aarch64_insn_is_b(le32_to_cpup(addr)));
}

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

#endif /* _ARM64_KPROBES_TEST_JUMP_H */
