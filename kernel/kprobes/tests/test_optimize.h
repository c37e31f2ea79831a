/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KPROBES_TESTS_OPTIMIZE_H
#define _KPROBES_TESTS_OPTIMIZE_H
/*
 * Shared by the suites of jump optimization: functions in assembly that are called with
 * known values in all registers, and compared by the values that they leave there; and
 * the states of sites.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>

#include "../internal.h"
#include "support/probe.h"
#include "support/sites.h"

/* An instruction to probe */
struct kprobes_jump {
	const char *name;
	void (*call)(void);	/* its function, to be called by kprobes_jump_run() only */
	unsigned int insn;	/* how many are before it, not counting a landing pad */
	/* arch_kprobe_path() of a site with a post handler, or why there cannot be a jump */
	const char *word;
};

/*
 * An architecture has kprobes_jumps[], where the first instruction is boosted, the second
 * is emulated, and both have no effect; and kprobes_jump_bits(), where the n-th instruction
 * adds 1 << n to the result.
 */
#if defined(CONFIG_X86)
#include "support/jumps_x86.h"
#elif defined(CONFIG_ARM64)
#include "support/jumps_arm64.h"
#else
#error "no places for jumps here"
#endif

/* The instructions without an effect */
static const struct kprobes_jump * const idle_jumps[] = { &kprobes_jumps[0], &kprobes_jumps[1] };

static inline void idle_desc(const struct kprobes_jump * const *jump, char *desc)
{
	strscpy(desc, (*jump)->name, KUNIT_PARAM_DESC_SIZE);
}

static inline const struct kprobes_jump *idle_param(struct kunit *test)
{
	return *(const struct kprobes_jump * const *)test->param_value;
}

#define LONGEST_INSN	15

/* Returns the @n-th instruction. The function's text must be as it was compiled. */
static inline void *insn_at(void (*call)(void), unsigned int n)
{
	u8 *at;

	/* Keeps the compiler from making a reference into the function of this. */
	OPTIMIZER_HIDE_VAR(call);
	at = (u8 *)call + KPROBES_LANDING_PAD;
	while (n--)
		at += kprobes_insn_length(at, LONGEST_INSN);
	return at;
}

/* --- sites --- */

static inline enum kprobe_site_state state_at(void *addr)
{
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);
	site = kprobe_find_site((unsigned long)addr);
	return site ? site->state : SITE_NEW;
}

/* This may take time: a neighbour that has left is in the way until it is freed. */
static inline bool comes_to(void *addr, enum kprobe_site_state state)
{
	unsigned int tries;

	wait_for_kprobe_optimizer();
	for (tries = 0; tries < DYING_SITES_TRIES && state_at(addr) != state; tries++) {
		msleep(50);
		wait_for_kprobe_optimizer();
	}
	return state_at(addr) == state;
}

static inline void expect_jump(struct kunit *test, void *addr)
{
	unsigned long to = (unsigned long)kprobes_jump_at(addr);

	KUNIT_EXPECT_EQ_MSG(test, state_at(addr), SITE_OPTIMIZED, "at %pS", addr);
	KUNIT_EXPECT_TRUE_MSG(test, to && (is_kprobe_insn_slot(to) || is_kprobe_optinsn_slot(to)),
			      "no jump at %pS", addr);
}

static inline void expect_breakpoint(struct kunit *test, void *addr)
{
	KUNIT_EXPECT_TRUE_MSG(test, kprobes_is_breakpoint(addr), "no breakpoint at %pS", addr);
}

/* Takes out a site's jump, and has the site wait for a jump again. */
static inline void make_pending(struct kprobe_site *site)
{
	LIST_HEAD(sites);

	lockdep_assert_held(&kprobe_mutex);
	list_add(&site->kp.list, &sites);
	kprobe_unoptimize_sites(&sites);
	kprobe_optimize_sites(&sites);
	list_del_init(&site->kp.list);
}

/* A probe there, whose function must have its text again when the test case ends */
static inline struct probe *new_probe(struct kunit *test, const struct kprobes_jump *jump)
{
	void *addr = insn_at(jump->call, jump->insn);

	kprobes_text_watch(test, addr);
	return probe_new(test, addr);
}

static inline void plant(struct kunit *test, struct probe *probe)
{
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	KUNIT_ASSERT_TRUE_MSG(test, comes_to(probe->kp.addr, SITE_OPTIMIZED), "at %pS",
			      probe->kp.addr);
}

static inline void expect_no_trace(struct kunit *test, struct kprobes_text *text)
{
	KUNIT_EXPECT_MEMEQ_MSG(test, text->start, text->copy, text->size, "at %pS", text->start);
}

/* --- calls --- */

#define VARIATIONS	2

#ifndef KPROBES_UACCESS
static inline bool kprobes_uaccess(void)
{
	return false;
}
#endif

/* What handlers have seen of a call, and its results */
struct view {
	struct pt_regs pre, post;
	unsigned int pres, posts;
	bool pre_trapped, post_trapped;
	bool uaccess;	/* a handler had access to user memory */
	struct kprobes_registers out;
};

static struct view *view;

static inline int look(struct probe *probe, struct pt_regs *regs)
{
	view->pre = *regs;
	view->pres++;
	view->pre_trapped |= kprobes_trapped();
	view->uaccess |= kprobes_uaccess();
	return 0;
}

static inline void look_after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	view->post = *regs;
	view->posts++;
	view->post_trapped |= kprobes_trapped();
	view->uaccess |= kprobes_uaccess();
}

static inline void set_input(struct kprobes_registers *in, unsigned int variation)
{
	unsigned int i;

	for (i = 0; i < KPROBES_REGS; i++)
		in->reg[i] = 0x0101010101010101UL * (i + 1 + 64 * variation);
	in->reg[KPROBES_REG_ARGUMENT] = variation ? 5 : 0;
	in->flags = KPROBES_FLAGS_ON;
	in->flags |= variation ? KPROBES_FLAGS & ~KPROBES_FLAG_ZERO : KPROBES_FLAG_ZERO;
}

static inline void run_on(struct view *v, void (*call)(void))
{
	view = v;
	kprobes_jump_run(&v->out, call);
}

static inline void run(void (*call)(void), unsigned int variation, struct view *v)
{
	memset(v, 0, sizeof(*v));
	set_input(&v->out, variation);
	run_on(v, call);
}

static inline struct view *new_views(struct kunit *test)
{
	return test_alloc(test, VARIATIONS * sizeof(struct view));
}

/* --- an instruction for each bit --- */

#define NR_BITS		5
#define ALL_BITS	(BIT(NR_BITS) - 1)

static void *bits_at[NR_BITS + 1];

static inline void find_bits(struct kunit *test)
{
	unsigned int i;

	kprobes_text_watch(test, kprobes_jump_bits);
	for (i = 0; i <= NR_BITS; i++)
		bits_at[i] = insn_at(kprobes_jump_bits, i);
}

/* Returns which instructions were executed. */
static inline unsigned long run_bits(struct view *v)
{
	memset(v, 0, sizeof(*v));
	set_input(&v->out, 0);
	v->out.reg[KPROBES_REG_RESULT] = 0;
	run_on(v, kprobes_jump_bits);
	return v->out.reg[KPROBES_REG_RESULT];
}

#endif /* _KPROBES_TESTS_OPTIMIZE_H */
