/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_PLANT_H
#define __ARM64_KERNEL_PROBES_TEST_PLANT_H
/*
 * For suites that run many instructions, each with a probe on it: the probes, which are planted
 * and removed together, and the ways in which a hit is handled.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>

#include "support/sites.h"
#include "support/switch.h"
#include "../internal.h"
#include "test_reach.h"

static inline bool nothing_in_reach(unsigned long from, unsigned long to)
{
	return false;
}

/**
 * struct manner - the parameter of a case. Jumps and breakpoints are tried with the same probes
 * @name: its name
 * @post: there is a post handler
 * @reach: what is in reach of a branch at registration
 */
struct manner {
	const char	*name;
	bool		post;
	enum { ALL, ONLY_MODULES, NOTHING } reach;
};

static const struct manner manners[] = {
	{ "pre handler", false },
	{ "pre and post handler", true },
	{ "pre handler, by veneers", false, ONLY_MODULES },
	{ "pre and post handler, by veneers", true, ONLY_MODULES },
	{ "pre handler, out of reach", false, NOTHING },
	{ "pre and post handler, out of reach", true, NOTHING },
};

static inline void manner_desc(const struct manner *manner, char *desc)
{
	strscpy(desc, manner->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(manner, manners, manner_desc);

/**
 * struct way - a way in which a hit is handled
 * @post: there is a post handler
 * @jump: the hit comes by a jump, not by a breakpoint
 * @fault: the instruction faults, and a fault handler skips it; only in test_copy.c
 */
struct way {
	bool		post;
	bool		jump;
	bool		fault;
};

/* --- probes --- */

static struct kprobe *probes;
static struct kprobe **probe_list;
static unsigned int nr_probes;
static bool planted;

KUNIT_DEFINE_ACTION_WRAPPER(free_memory, kvfree, const void *);

/* The array is zeroed, and is freed when the case ends. */
static inline void *new_array(struct kunit *test, size_t n, size_t size)
{
	void *array = kvcalloc(n, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, array);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_memory, array));
	return array;
}

static inline u32 text_at(const void *at)
{
	return le32_to_cpu(READ_ONCE(*(const __le32 *)at));
}

static inline void unplant(void *unused)
{
	if (planted)
		unregister_kprobes(probe_list, nr_probes);
	planted = false;
}

/* Registration of all of them has failed: finds the ones that cannot be registered. */
static inline void blame(struct kunit *test, int err)
{
	unsigned int i;
	int one;

	for (i = 0; i < nr_probes; i++) {
		probes[i].flags = 0;
		one = register_kprobe(&probes[i]);
		KUNIT_EXPECT_EQ_MSG(test, 0, one, "%08x at %pS", text_at(probes[i].addr),
				    probes[i].addr);
		if (!one)
			unregister_kprobe(&probes[i]);
	}
	KUNIT_FAIL_AND_ABORT(test, "not registered: %d", err);
}

/* Has it the slot that it is to have? */
static inline bool slot_is(const struct kprobe *probe, const struct manner *manner)
{
	const struct arch_specific_insn *ainsn;
	bool modules;

	preempt_disable();
	ainsn = &get_kprobe(probe->addr)->ainsn;
	modules = is_kprobe_optinsn_slot((unsigned long)ainsn->insn);
	preempt_enable();
	if (manner->reach == NOTHING)
		return !ainsn->detour && !ainsn->boosted;
	return ainsn->detour && modules == (manner->reach == ONLY_MODULES);
}

static inline int register_all(struct kunit *test, const struct manner *manner)
{
	int err;

	if (manner->reach == ONLY_MODULES)
		kunit_activate_static_stub(test, kprobe_in_reach, only_modules_in_reach);
	if (manner->reach == NOTHING)
		kunit_activate_static_stub(test, kprobe_in_reach, nothing_in_reach);
	err = register_kprobes(probe_list, nr_probes);
	if (manner->reach != ALL)
		kunit_deactivate_static_stub(test, kprobe_in_reach);
	return err;
}

/*
 * Plants @nr probes of this manner with the handlers of @like; @at returns the address of each of
 * them.
 */
static inline void plant(struct kunit *test, const struct manner *manner, unsigned int nr,
			 void *(*at)(unsigned int i), const struct kprobe *like)
{
	unsigned int i;
	int err;

	if (manner->reach == ONLY_MODULES && !IS_ENABLED(CONFIG_OPTPROBES))
		kunit_skip(test, "there are no veneers");
	if (manner->reach == ONLY_MODULES)
		need_modules_in_reach(test);
	probes = new_array(test, nr, sizeof(*probes));
	probe_list = new_array(test, nr, sizeof(*probe_list));
	nr_probes = nr;
	for (i = 0; i < nr; i++) {
		probes[i] = *like;
		probes[i].addr = at(i);
		probe_list[i] = &probes[i];
	}
	/* They would come back to life, with their slots. */
	wait_for_dying_sites(test);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, unplant, NULL));
	err = register_all(test, manner);
	if (err)
		blame(test, err);
	planted = true;
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_TRUE_MSG(test, slot_is(&probes[i], manner), "%08x at %pS",
				      text_at(probes[i].addr), probes[i].addr);
}

/* --- hits --- */

/* Lets @compare run what was planted: by jump, if there are any, and by breakpoint. */
static inline void in_both_ways(struct kunit *test, const struct manner *manner, struct way way,
				void (*compare)(struct kunit *test, struct way way))
{
	way.post = manner->post;
	if (IS_ENABLED(CONFIG_OPTPROBES) && manner->reach != NOTHING) {
		wait_for_kprobe_optimizer();
		way.jump = true;
		compare(test, way);
		/* Breakpoints stay only if jumps are switched off. */
		switch_need(test);
		KUNIT_ASSERT_EQ(test, 0, switch_set(false));
	}
	way.jump = false;
	compare(test, way);
}

/* Expects a hit there to go that way. @insn is the original, which may be a branch itself. */
static inline void expect_text(struct kunit *test, const void *at, u32 insn, bool jump)
{
	u32 now = text_at(at);
	bool is_jump = aarch64_insn_is_b(now) && now != insn;

	KUNIT_EXPECT_TRUE_MSG(test, jump ? is_jump : now == BRK64_OPCODE_KPROBES,
			      "%08x is %08x, %s", insn, now, jump ? "jump" : "trap");
}

/*
 * Has a handler seen these registers and flags? x18 is never loaded; @except is a mask of others
 * that are not compared.
 */
static inline bool has_seen(const struct pt_regs *seen, const u64 *regs, u64 nzcv,
			    unsigned long except)
{
	unsigned int reg;

	except |= BIT(18);
	for (reg = 0; reg < ARRAY_SIZE(seen->regs); reg++) {
		if (!(except & BIT(reg)) && seen->regs[reg] != regs[reg])
			return false;
	}
	return (seen->pstate & PSR_STATUS_BITS) == nzcv;
}

#endif /* __ARM64_KERNEL_PROBES_TEST_PLANT_H */
