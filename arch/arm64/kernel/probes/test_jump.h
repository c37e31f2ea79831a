/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARM64_KPROBES_TEST_JUMP_H
#define _ARM64_KPROBES_TEST_JUMP_H
/*
 * For tests that want hits by a jump
 */
#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <asm/insn.h>

/* Expects hits there to come by a branch. The case is skipped if these are switched off. */
static inline void need_jump(struct kunit *test, void *addr)
{
	struct kprobe *site;
	const char *why;

	if (!IS_ENABLED(CONFIG_OPTPROBES))
		kunit_skip(test, "there are no jumps");
	preempt_disable();
	site = get_kprobe(addr);
	why = container_of(site, struct optimized_kprobe, kp)->why;
	preempt_enable();

	if (why && !strcmp(why, "off"))
		kunit_skip(test, "jumps are switched off");
	KUNIT_ASSERT_NULL_MSG(test, why, "%s", why);
	KUNIT_ASSERT_TRUE(test, aarch64_insn_is_b(le32_to_cpup(addr)));
}

#endif /* _ARM64_KPROBES_TEST_JUMP_H */
