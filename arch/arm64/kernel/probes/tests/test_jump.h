/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARM64_KPROBES_TEST_JUMP_H
#define _ARM64_KPROBES_TEST_JUMP_H
/*
 * For tests that want hits by a jump
 */
#include <kunit/test.h>
#include <linux/kprobes_arch.h>
#include <linux/preempt.h>
#include <asm/insn.h>

/* Expects hits there to come by a branch. The case is skipped if these are switched off. */
static inline void need_jump(struct kunit *test, void *addr)
{
	enum kprobe_obstacle obstacle;
	struct kprobe *site;

	if (!IS_ENABLED(CONFIG_OPTPROBES))
		kunit_skip(test, "there are no jumps");
	preempt_disable();
	site = get_kprobe(addr);
	obstacle = container_of(site, struct optimized_kprobe, kp)->obstacle;
	preempt_enable();

	if (obstacle == KPROBE_OBSTACLE_OFF)
		kunit_skip(test, "jumps are switched off");
	KUNIT_ASSERT_EQ(test, obstacle, KPROBE_NO_OBSTACLE);
	KUNIT_ASSERT_TRUE(test, aarch64_insn_is_b(le32_to_cpup(addr)));
}

#endif /* _ARM64_KPROBES_TEST_JUMP_H */
