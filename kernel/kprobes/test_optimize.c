// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of jump optimization: that a site gets its jump, that a hit by the
 * jump is to probed code and handlers what one by the breakpoint is, and that the
 * jump goes where it is in the way.
 *
 * Targets are functions in assembly, called with something known in every
 * register and compared by what they leave there.
 */
#include <linux/kprobes.h>
#include <linux/mutex.h>

#include "../../lib/test_kprobes/probe.h"
#include "../../lib/test_kprobes/switch.h"
#include "../../lib/test_kprobes/trace.h"
#include "internal.h"

/**
 * struct kprobes_jump - an instruction to probe
 * @name: what it is
 * @call: the function it is in, not to be called but by kprobes_jump_run()
 * @insn: how many instructions are before it, a landing pad apart
 * @word: where there can be a jump, arch_kprobe_path() of a site with a post
 *	handler; where there cannot, why
 */
struct kprobes_jump {
	const char *name;
	void (*call)(void);
	unsigned int insn;
	const char *word;
};

/*
 * An architecture gives kprobes_jumps[], of which the first is boosted, the second
 * emulated, and neither has an effect; kprobes_no_jumps[]; and kprobes_jump_bits(),
 * of whose instructions the n-th adds 1 << n to the result. Where a jump covers more
 * than the probed instruction, functions with text that is patched as well.
 */
#if defined(CONFIG_X86)
#include "../../lib/test_kprobes/jumps_x86.h"
#elif defined(CONFIG_ARM64)
#include "../../lib/test_kprobes/jumps_arm64.h"
#else
#error "no places for jumps here"
#endif

static void jump_desc(const struct kprobes_jump *jump, char *desc)
{
	strscpy(desc, jump->name, KUNIT_PARAM_DESC_SIZE);
}

/* Those without an effect of their own */
static const struct kprobes_jump * const idle_jumps[] = { &kprobes_jumps[0], &kprobes_jumps[1] };

static void idle_desc(const struct kprobes_jump * const *jump, char *desc)
{
	jump_desc(*jump, desc);
}

KUNIT_ARRAY_PARAM(jump, kprobes_jumps, jump_desc);
KUNIT_ARRAY_PARAM(no_jump, kprobes_no_jumps, jump_desc);
KUNIT_ARRAY_PARAM(idle, idle_jumps, idle_desc);

static const struct kprobes_jump *idle_param(struct kunit *test)
{
	return *(const struct kprobes_jump * const *)test->param_value;
}

#define LONGEST_INSN	15

/* The function's text must be as it was compiled. */
static void *insn_at(void (*call)(void), unsigned int n)
{
	u8 *at;

	/* The compiler is not to make a reference into the function of this. */
	OPTIMIZER_HIDE_VAR(call);
	at = (u8 *)call + KPROBES_LANDING_PAD;
	while (n--)
		at += kprobes_insn_length(at, LONGEST_INSN);
	return at;
}

/* --- sites --- */

static struct kprobe_site *site_at(void *addr)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_find_site((unsigned long)addr);
}

static enum kprobe_site_state state_at(void *addr)
{
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);
	site = kprobe_find_site((unsigned long)addr);
	return site ? site->state : SITE_NEW;
}

/* A neighbour that was dropped is in the way until it is freed. */
static bool comes_to(void *addr, enum kprobe_site_state state)
{
	unsigned int tries;

	for (tries = 0; tries < 250 && state_at(addr) != state; tries++) {
		msleep(20);
		wait_for_kprobe_optimizer();
	}
	return state_at(addr) == state;
}

static void expect_jump(struct kunit *test, void *addr)
{
	unsigned long to = (unsigned long)kprobes_jump_at(addr);

	KUNIT_EXPECT_TRUE_MSG(test, to && (is_kprobe_insn_slot(to) || is_kprobe_optinsn_slot(to)),
			      "no jump at %pS", addr);
}

static void expect_breakpoint(struct kunit *test, void *addr)
{
	KUNIT_EXPECT_TRUE_MSG(test, kprobes_is_breakpoint(addr), "no breakpoint at %pS", addr);
}

/* Makes a site that has a jump wait for it again, and go on to wait. */
static void make_pending(struct kprobe_site *site)
{
	LIST_HEAD(sites);

	lockdep_assert_held(&kprobe_mutex);
	list_add(&site->kp.list, &sites);
	kprobe_unoptimize_sites(&sites);
	kprobe_optimize_sites(&sites);
	list_del_init(&site->kp.list);
}

static struct probe *new_probe(struct kunit *test, const struct kprobes_jump *jump)
{
	void *addr = insn_at(jump->call, jump->insn);

	kprobes_text_watch(test, addr);
	return probe_new(test, addr);
}

static void plant(struct kunit *test, struct probe *probe)
{
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	KUNIT_ASSERT_TRUE_MSG(test, comes_to(probe->kp.addr, SITE_OPTIMIZED), "at %pS",
			      probe->kp.addr);
}

static void expect_no_trace(struct kunit *test, struct kprobes_text *text)
{
	KUNIT_EXPECT_MEMEQ_MSG(test, text->start, text->copy, text->size, "at %pS", text->start);
}

/* --- calls --- */

#define VARIATIONS	2

/**
 * struct view - what was to be seen of a call
 * @pre: what the pre handler was given
 * @post: what the post handler was given
 * @pres: how often the pre handler ran
 * @posts: how often the post handler ran
 * @pre_trapped: the pre handler was called from a trap
 * @post_trapped: the post handler was called from a trap
 * @out: what the call left in registers
 * @memory: and in memory
 */
struct view {
	struct pt_regs pre, post;
	unsigned int pres, posts;
	bool pre_trapped, post_trapped;
	struct kprobes_registers out;
	u64 memory[2];
};

static struct view *view;

/* At the same address in every call, for the registers that say where */
static u64 memory[2];

static int look(struct probe *probe, struct pt_regs *regs)
{
	view->pre = *regs;
	view->pres++;
	view->pre_trapped |= kprobes_trapped();
	return 0;
}

static void look_after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	view->post = *regs;
	view->posts++;
	view->post_trapped |= kprobes_trapped();
}

static void set_input(struct kprobes_registers *in, unsigned int variation)
{
	unsigned int i;

	for (i = 0; i < KPROBES_REGS; i++)
		in->reg[i] = 0x0101010101010101UL * (i + 1 + 64 * variation);
	in->reg[KPROBES_REG_MEMORY] = (unsigned long)memory;
	in->reg[KPROBES_REG_ARGUMENT] = variation ? 5 : 0;
	in->flags = KPROBES_FLAGS_ON;
	in->flags |= variation ? KPROBES_FLAGS & ~KPROBES_FLAG_ZERO : KPROBES_FLAG_ZERO;
	memory[0] = 0x1234567812345678;
	memory[1] = 0x8765432187654321;
}

static void run(void (*call)(void), unsigned int variation, struct view *v)
{
	memset(v, 0, sizeof(*v));
	set_input(&v->out, variation);
	view = v;
	kprobes_jump_run(&v->out, call);
	memcpy(v->memory, memory, sizeof(v->memory));
}

/* Not inlined: what is compared has to be called at the same depth of the stack. */
static noinline void run_variations(const struct kprobes_jump *jump, struct view *views)
{
	unsigned int i;

	for (i = 0; i < VARIATIONS; i++)
		run(jump->call, i, &views[i]);
}

static struct view *new_views(struct kunit *test)
{
	struct view *views = kunit_kcalloc(test, VARIATIONS, sizeof(*views), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, views);
	return views;
}

static void expect_same_outcome(struct kunit *test, struct view *a, struct view *b)
{
	unsigned int i;

	for (i = 0; i < KPROBES_REGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, a->out.reg[i], b->out.reg[i], "register %u", i);
	KUNIT_EXPECT_EQ(test, a->out.flags, b->out.flags);
	KUNIT_EXPECT_MEMEQ(test, a->memory, b->memory, sizeof(a->memory));
}

static void expect_same_registers(struct kunit *test, struct pt_regs *a, struct pt_regs *b)
{
	unsigned int i;

	for (i = 0; i < KPROBES_REGS_SEEN; i++)
		KUNIT_EXPECT_EQ_MSG(test, *kprobes_reg(a, i), *kprobes_reg(b, i),
				    "register %u", i);
	KUNIT_EXPECT_EQ(test, instruction_pointer(a), instruction_pointer(b));
	KUNIT_EXPECT_EQ(test, a->sp, b->sp);
	KUNIT_EXPECT_EQ(test, *kprobes_flags(a) & KPROBES_FLAGS_SEEN,
			*kprobes_flags(b) & KPROBES_FLAGS_SEEN);
	KUNIT_EXPECT_EQ(test, kprobes_interruptible(a), kprobes_interruptible(b));
}

static void expect_same_views(struct kunit *test, struct view *a, struct view *b)
{
	expect_same_outcome(test, a, b);
	expect_same_registers(test, &a->pre, &b->pre);
	expect_same_registers(test, &a->post, &b->post);
	KUNIT_EXPECT_EQ(test, a->pres, b->pres);
	KUNIT_EXPECT_EQ(test, a->posts, b->posts);
}

/* --- by the jump as by the breakpoint --- */

static void site_gets_a_jump_and_loses_it(struct kunit *test)
{
	const struct kprobes_jump *jump = test->param_value;
	void *addr = insn_at(jump->call, jump->insn);
	struct kprobes_text *text = kprobes_text_watch(test, addr);
	struct probe *probe = probe_registered(test, addr);

	KUNIT_EXPECT_TRUE(test, kprobe_optimized(&site_at(addr)->kp));
	KUNIT_EXPECT_NE(test, state_at(addr), SITE_ARMED);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_at(addr), SITE_OPTIMIZED);
	expect_jump(test, addr);
	KUNIT_EXPECT_NULL(test, site_at(addr)->op.why);

	probe_unregister(probe);
	expect_no_trace(test, text);
}

static void compare_hits(struct kunit *test, bool post)
{
	struct view *plain = new_views(test), *trap = new_views(test), *jump = new_views(test);
	const struct kprobes_jump *row = test->param_value;
	struct probe *probe = new_probe(test, row);
	unsigned int i, hits = 0;

	switch_need(test);
	run_variations(row, plain);
	probe->on_hit = look;
	probe->kp.post_handler = post ? look_after : NULL;
	KUNIT_ASSERT_EQ(test, 0, switch_set(false));
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	run_variations(row, trap);
	KUNIT_ASSERT_EQ(test, 0, switch_set(true));
	KUNIT_ASSERT_TRUE(test, comes_to(probe->kp.addr, SITE_OPTIMIZED));
	run_variations(row, jump);

	for (i = 0; i < VARIATIONS; i++) {
		expect_same_outcome(test, &plain[i], &trap[i]);
		expect_same_views(test, &trap[i], &jump[i]);
		KUNIT_EXPECT_EQ(test, trap[i].pre_trapped, !!trap[i].pres);
		KUNIT_EXPECT_FALSE(test, jump[i].pre_trapped || jump[i].post_trapped);
		KUNIT_EXPECT_EQ(test, jump[i].posts, post ? jump[i].pres : 0);
		hits += jump[i].pres;
	}
	KUNIT_EXPECT_GT(test, hits, 0);
	if (post)
		KUNIT_EXPECT_STREQ(test, row->word,
				   arch_kprobe_path(&site_at(probe->kp.addr)->kp));
}

static void hit_by_a_jump_looks_like_one_by_a_breakpoint(struct kunit *test)
{
	compare_hits(test, true);
}

static void jump_without_a_post_handler_does_the_same(struct kunit *test)
{
	compare_hits(test, false);
}

/* Held up by the mutex, which a hit does not take */
static void breakpoint_that_waits_for_its_jump_works(struct kunit *test)
{
	const struct kprobes_jump *jump = test->param_value;
	struct view *plain = new_views(test), *pending = new_views(test);
	struct probe *probe = new_probe(test, jump);
	struct kprobe_site *site;
	unsigned int i, post;

	run_variations(jump, plain);
	probe->on_hit = look;
	for (post = 0; post < 2; post++) {
		probe->kp.post_handler = post ? look_after : NULL;
		plant(test, probe);
		site = site_at(probe->kp.addr);
		mutex_lock(&kprobe_mutex);
		make_pending(site);
		KUNIT_EXPECT_EQ(test, site->state, SITE_OPTIMIZING);
		expect_breakpoint(test, probe->kp.addr);
		run_variations(jump, pending);
		mutex_unlock(&kprobe_mutex);
		for (i = 0; i < VARIATIONS; i++) {
			expect_same_outcome(test, &plain[i], &pending[i]);
			KUNIT_EXPECT_EQ(test, pending[i].pre_trapped, !!pending[i].pres);
			KUNIT_EXPECT_EQ(test, pending[i].posts, post ? pending[i].pres : 0);
		}
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, state_at(probe->kp.addr), SITE_OPTIMIZED);
		probe_unregister(probe);
		probe->kp.flags = 0;
	}
}

/* --- what handlers change --- */

#define CHANGE	0x0f0f0f0f0f0f0f0fUL

static struct {
	unsigned int reg;	/* KPROBES_REGS for the flags */
	bool afterwards;
} change;

static void change_register(struct pt_regs *regs, bool afterwards)
{
	if (change.afterwards != afterwards)
		return;
	if (change.reg < KPROBES_REGS)
		*kprobes_reg(regs, change.reg) ^= CHANGE;
	else
		*kprobes_flags(regs) ^= KPROBES_FLAGS;
}

static int change_before(struct probe *probe, struct pt_regs *regs)
{
	change_register(regs, false);
	return look(probe, regs);
}

static void change_after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	change_register(regs, true);
	look_after(kp, regs, flags);
}

static void expect_changed(struct kunit *test, const struct kprobes_jump *jump,
			   struct view *plain, struct view *changed)
{
	struct view expected = *plain;

	if (change.reg < KPROBES_REGS)
		expected.out.reg[change.reg] ^= CHANGE;
	else
		expected.out.flags ^= KPROBES_FLAGS;
	run(jump->call, 0, changed);
	expect_same_outcome(test, &expected, changed);
	KUNIT_EXPECT_EQ(test, changed->pres, 1);
	KUNIT_EXPECT_EQ(test, changed->posts, 1);
	KUNIT_EXPECT_FALSE(test, changed->pre_trapped || changed->post_trapped);
}

static void handlers_may_change_every_register(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct view *plain = new_views(test), *changed = new_views(test);
	struct probe *probe = new_probe(test, jump);
	unsigned int i;

	run(jump->call, 0, plain);
	probe->on_hit = change_before;
	probe->kp.post_handler = change_after;
	plant(test, probe);
	for (i = 0; i < 2 * (KPROBES_REGS + 1); i++) {
		change.reg = i / 2;
		change.afterwards = i % 2;
		if (change.reg == KPROBES_REGS || kprobes_reg_is_free(change.reg))
			expect_changed(test, jump, plain, changed);
	}
}

#define ROOM	64

static int take_room(struct probe *probe, struct pt_regs *regs)
{
	look(probe, regs);
	regs->sp -= ROOM;
	return 0;
}

static void give_room_back(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	look_after(kp, regs, flags);
	regs->sp += ROOM;
}

static void handlers_may_change_the_stack_pointer(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct view *plain = new_views(test), *changed = new_views(test);
	struct probe *probe = new_probe(test, jump);
	unsigned int i;

	run_variations(jump, plain);
	probe->on_hit = take_room;
	probe->kp.post_handler = give_room_back;
	plant(test, probe);
	run_variations(jump, changed);
	for (i = 0; i < VARIATIONS; i++) {
		expect_same_outcome(test, &plain[i], &changed[i]);
		KUNIT_EXPECT_EQ(test, changed[i].pres, 1);
		KUNIT_EXPECT_EQ(test, changed[i].posts, 1);
		KUNIT_EXPECT_EQ(test, changed[i].post.sp, changed[i].pre.sp - ROOM);
	}
}

#define REPLACED	0x5a5aUL

static noinline unsigned long replacement(void)
{
	unsigned long result = REPLACED;

	barrier_data(&result);
	return result;
}

static int replace_function(struct probe *probe, struct pt_regs *regs)
{
	look(probe, regs);
	instruction_pointer_set(regs, (unsigned long)replacement);
	return 1;
}

static int return_at_once(struct probe *probe, struct pt_regs *regs)
{
	look(probe, regs);
	regs_set_return_value(regs, REPLACED);
	kprobes_return(regs);
	return 1;
}

static void expect_replaced(struct kunit *test, struct probe *probe,
			    const struct kprobes_jump *jump, struct view *v)
{
	plant(test, probe);
	run(jump->call, 0, v);
	KUNIT_EXPECT_EQ(test, v->out.reg[KPROBES_REG_RESULT], REPLACED);
	KUNIT_EXPECT_EQ(test, v->pres, 1);
	KUNIT_EXPECT_EQ(test, v->posts, 0);
	KUNIT_EXPECT_FALSE(test, v->pre_trapped);
}

static void pre_handler_at_a_jump_replaces_the_function(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct probe *probe = new_probe(test, jump);

	probe->on_hit = replace_function;
	probe->kp.post_handler = look_after;
	expect_replaced(test, probe, jump, new_views(test));
}

static void pre_handler_at_a_jump_returns_for_the_function(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct view *plain = new_views(test), *v = new_views(test);
	struct probe *probe = new_probe(test, jump);

	run(jump->call, 0, plain);
	probe->on_hit = return_at_once;
	expect_replaced(test, probe, jump, v);
	/* Nothing of the function was executed, which does nothing either. */
	plain->out.reg[KPROBES_REG_RESULT] = REPLACED;
	expect_same_outcome(test, plain, v);
}

/* --- to another instruction --- */

#define NR_BITS		5
#define ALL_BITS	(BIT(NR_BITS) - 1)

static void *bits_at[NR_BITS + 1];

static void find_bits(struct kunit *test)
{
	unsigned int i;

	kprobes_text_watch(test, kprobes_jump_bits);
	for (i = 0; i <= NR_BITS; i++)
		bits_at[i] = insn_at(kprobes_jump_bits, i);
}

/* Which instructions were executed */
static unsigned long run_bits(struct view *v)
{
	memset(v, 0, sizeof(*v));
	set_input(&v->out, 0);
	v->out.reg[KPROBES_REG_RESULT] = 0;
	view = v;
	kprobes_jump_run(&v->out, kprobes_jump_bits);
	return v->out.reg[KPROBES_REG_RESULT];
}

static struct {
	void *from_pre, *from_post;
} way;

static int go_before(struct probe *probe, struct pt_regs *regs)
{
	look(probe, regs);
	if (!way.from_pre)
		return 0;
	instruction_pointer_set(regs, (unsigned long)way.from_pre);
	return 1;
}

static void go_after(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	look_after(kp, regs, flags);
	if (way.from_post)
		instruction_pointer_set(regs, (unsigned long)way.from_post);
}

/* The first instruction is probed, and handlers go to each of those behind it. */
static void expect_ways(struct kunit *test, struct view *v, const char *state)
{
	unsigned int to;

	for (to = 1; to <= NR_BITS; to++) {
		way.from_pre = bits_at[to];
		way.from_post = NULL;
		KUNIT_EXPECT_EQ_MSG(test, run_bits(v), ALL_BITS & ~(BIT(to) - 1),
				    "%s: from the pre handler to %u", state, to);
		KUNIT_EXPECT_EQ(test, v->posts, 0);
		way.from_pre = NULL;
		way.from_post = bits_at[to];
		KUNIT_EXPECT_EQ_MSG(test, run_bits(v), (ALL_BITS & ~(BIT(to) - 1)) | BIT(0),
				    "%s: from the post handler to %u", state, to);
	}
	way.from_post = NULL;
	KUNIT_EXPECT_EQ_MSG(test, run_bits(v), ALL_BITS, "%s", state);
}

static void handlers_go_to_any_instruction(struct kunit *test)
{
	struct view *v = new_views(test);
	struct probe *probe;

	find_bits(test);
	probe = probe_new(test, bits_at[0]);
	probe->on_hit = go_before;
	probe->kp.post_handler = go_after;
	plant(test, probe);
	expect_ways(test, v, "jump");
	KUNIT_EXPECT_FALSE(test, v->pre_trapped);
	scoped_guard(mutex, &kprobe_mutex) {
		make_pending(kprobe_find_site((unsigned long)bits_at[0]));
		expect_ways(test, v, "pending");
	}
	KUNIT_EXPECT_TRUE(test, v->pre_trapped);
	if (switch_mount && !switch_set(false))
		expect_ways(test, v, "breakpoint");
}

/* --- neighbours --- */

#define CROWD	3

static const u8 orders[][CROWD] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

/* Whether a jump at one of the instructions covers the other */
static bool covers(unsigned int i, unsigned int other)
{
	return other > i && bits_at[other] - bits_at[i] < KPROBES_JUMP_LENGTH;
}

static bool covers_any(struct probe **crowd, unsigned int i)
{
	unsigned int j;

	for (j = 0; j < CROWD; j++) {
		if (crowd[j]->live && covers(i, j))
			return true;
	}
	return false;
}

static void crowd_expect(struct kunit *test, struct probe **crowd, struct view *v)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		crowd[i]->hits = 0;
	KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
	for (i = 0; i < CROWD; i++)
		KUNIT_EXPECT_EQ(test, crowd[i]->hits, crowd[i]->live);
}

static void crowd_settle(struct kunit *test, struct probe **crowd, struct view *v)
{
	enum kprobe_site_state state;
	unsigned int i;

	for (i = 0; i < CROWD; i++) {
		state = covers_any(crowd, i) ? SITE_ARMED : SITE_OPTIMIZED;
		if (!crowd[i]->live)
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, comes_to(bits_at[i], state),
				      "probe %u of %u%u%u is in state %u: %s", i,
				      crowd[0]->live, crowd[1]->live, crowd[2]->live,
				      state_at(bits_at[i]), site_at(bits_at[i])->op.why);
		KUNIT_EXPECT_EQ(test, !kprobes_jump_at(bits_at[i]), state == SITE_ARMED);
		if (state == SITE_ARMED)
			KUNIT_EXPECT_STREQ(test, site_at(bits_at[i])->op.why, "neighbour");
	}
	crowd_expect(test, crowd, v);
}

static void crowd_join(struct kunit *test, struct probe **crowd, unsigned int newcomer,
		       struct view *v)
{
	unsigned int i;

	probe_reset(crowd[newcomer], bits_at[newcomer]);
	KUNIT_ASSERT_EQ(test, 0, probe_register(crowd[newcomer]));
	for (i = 0; i < CROWD; i++) {
		if (covers(i, newcomer) && crowd[i]->live)
			KUNIT_EXPECT_EQ(test, state_at(bits_at[i]), SITE_ARMED);
	}
	crowd_expect(test, crowd, v);
	crowd_settle(test, crowd, v);
}

static void jump_makes_room_for_a_probe_in_its_way(struct kunit *test)
{
	struct view *v = new_views(test);
	struct probe *crowd[CROWD];
	struct kprobes_text *text;
	unsigned int order, i;

	text = kprobes_text_watch(test, kprobes_jump_bits);
	find_bits(test);
	for (i = 0; i < CROWD; i++)
		crowd[i] = probe_new(test, bits_at[i]);
	for (order = 0; order < ARRAY_SIZE(orders); order++) {
		for (i = 0; i < CROWD; i++)
			crowd_join(test, crowd, orders[order][i], v);
		for (i = 0; i < CROWD; i++) {
			probe_unregister(crowd[orders[ARRAY_SIZE(orders) - 1 - order][i]]);
			crowd_settle(test, crowd, v);
		}
		expect_no_trace(test, text);
	}
}

static void expect_no_jump(struct kunit *test, void *addr, const char *why)
{
	KUNIT_EXPECT_FALSE_MSG(test, kprobe_optimized(&site_at(addr)->kp), "at %pS", addr);
	KUNIT_EXPECT_EQ_MSG(test, state_at(addr), SITE_ARMED, "at %pS", addr);
	KUNIT_EXPECT_STREQ_MSG(test, site_at(addr)->op.why, why, "at %pS", addr);
	wait_for_kprobe_optimizer();
	expect_breakpoint(test, addr);
}

/* One that is disabled has no jump any more, nor gets one over the other. */
static void expect_disabled_neighbour(struct kunit *test, struct probe **pair,
				      unsigned int i, unsigned int other, struct view *v)
{
	probe_reset(pair[0], bits_at[i]);
	probe_reset(pair[1], bits_at[other]);
	plant(test, pair[0]);
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(&pair[0]->kp));
	KUNIT_ASSERT_EQ(test, 0, probe_register(pair[1]));
	KUNIT_EXPECT_EQ(test, state_at(bits_at[i]), SITE_IDLE);
	KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
	KUNIT_EXPECT_EQ(test, pair[0]->hits, 0);
	KUNIT_EXPECT_EQ(test, pair[1]->hits, 1);
	KUNIT_ASSERT_EQ(test, 0, enable_kprobe(&pair[0]->kp));
	expect_no_jump(test, bits_at[i], "neighbour");
	KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
	KUNIT_EXPECT_EQ(test, pair[0]->hits, 1);
	KUNIT_EXPECT_EQ(test, pair[1]->hits, 2);
}

static void disabled_neighbour_has_no_jump(struct kunit *test)
{
	struct view *v = new_views(test);
	unsigned int i, other, first, tried = 0;
	struct kprobes_text *text;
	struct probe *pair[2];

	text = kprobes_text_watch(test, kprobes_jump_bits);
	find_bits(test);
	pair[0] = probe_new(test, bits_at[0]);
	pair[1] = probe_new(test, bits_at[1]);
	for (i = 0; i < CROWD; i++) {
		for (other = i + 1; other < CROWD; other++) {
			for (first = 0; covers(i, other) && first < 2; first++, tried++) {
				expect_disabled_neighbour(test, pair, i, other, v);
				probe_unregister(pair[first]);
				KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
				probe_unregister(pair[!first]);
				expect_no_trace(test, text);
			}
		}
	}
	if (!tried)
		kunit_skip(test, "a jump covers one instruction");
}

/* --- where no jump may be --- */

static void site_without_room_stays_a_breakpoint(struct kunit *test)
{
	const struct kprobes_jump *jump = test->param_value;
	struct probe *probe = new_probe(test, jump);

	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	expect_no_jump(test, probe->kp.addr, jump->word);
}

#ifdef KPROBES_JUMP_COVERS
static bool is_patched(void *addr)
{
	bool patched;

	guard(mutex)(&kprobe_mutex);
	kprobe_text_lock();
	patched = kprobes_is_patched(addr);
	kprobe_text_unlock();
	return patched;
}

/* The instruction in front of one that is patched; NULL for none */
static void *before_patched(void *function)
{
	unsigned long size;
	void *at = kprobes_function(function, &size), *end = at + size, *before = NULL;

	for (; at < end && !is_patched(at); at += kprobes_insn_length(at, LONGEST_INSN))
		before = at;
	return at < end ? before : NULL;
}

static void jump_does_not_cover_what_is_patched(struct kunit *test)
{
	struct probe *probe;
	unsigned int i;
	void *addr;

	for (i = 0; i < ARRAY_SIZE(kprobes_patched); i++) {
		kprobes_text_watch(test, kprobes_patched[i]);
		addr = before_patched(kprobes_patched[i]);
		KUNIT_ASSERT_NOT_NULL(test, addr);
		probe = probe_registered(test, addr);
		expect_no_jump(test, addr, "patched");
		kprobes_patched[i](1);
		KUNIT_EXPECT_EQ(test, probe->hits, 1);
	}
}
#endif

/* --- probes that come and go --- */

static void expect_hits(struct kunit *test, struct probe *probe, unsigned int hits)
{
	KUNIT_EXPECT_EQ(test, probe->hits, hits);
	probe->hits = 0;
}

static void several_probes_share_a_jump(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct probe *first = new_probe(test, jump), *second = probe_new(test, first->kp.addr);
	struct view *v = new_views(test);
	void *addr = first->kp.addr;

	plant(test, first);
	KUNIT_ASSERT_EQ(test, 0, probe_register(second));
	KUNIT_EXPECT_EQ(test, state_at(addr), SITE_OPTIMIZED);
	run(jump->call, 0, v);
	expect_hits(test, first, 1);
	expect_hits(test, second, 1);

	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&first->kp));
	KUNIT_EXPECT_EQ(test, state_at(addr), SITE_OPTIMIZED);
	run(jump->call, 0, v);
	expect_hits(test, first, 0);
	expect_hits(test, second, 1);

	probe_unregister(second);
	KUNIT_EXPECT_EQ(test, state_at(addr), SITE_IDLE);
	run(jump->call, 0, v);
	expect_hits(test, first, 0);
	expect_hits(test, second, 0);
}

static void disabled_site_has_its_text_and_its_jump_again(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	void *addr = insn_at(jump->call, jump->insn);
	struct kprobes_text *text = kprobes_text_watch(test, addr);
	struct probe *probe = probe_new(test, addr);
	struct view *v = new_views(test);
	unsigned int i;

	plant(test, probe);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&probe->kp));
		expect_no_trace(test, text);
		run(jump->call, 0, v);
		expect_hits(test, probe, 0);
		KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probe->kp));
		KUNIT_EXPECT_TRUE(test, comes_to(addr, SITE_OPTIMIZED));
		expect_jump(test, addr);
		run(jump->call, 0, v);
		expect_hits(test, probe, 1);
	}
}

static void post_handler_comes_and_goes_by_a_jump(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct probe *probe = new_probe(test, jump), *with_post = probe_new(test, probe->kp.addr);
	struct view *v = new_views(test);
	unsigned int i;

	plant(test, probe);
	for (i = 0; i < 2; i++) {
		probe_reset(with_post, probe->kp.addr);
		with_post->kp.post_handler = look_after;
		KUNIT_ASSERT_EQ(test, 0, probe_register(with_post));
		KUNIT_EXPECT_EQ(test, state_at(probe->kp.addr), SITE_OPTIMIZED);
		run(jump->call, 0, v);
		KUNIT_EXPECT_EQ(test, v->posts, 1);
		probe_unregister(with_post);
		KUNIT_EXPECT_EQ(test, state_at(probe->kp.addr), SITE_OPTIMIZED);
		run(jump->call, 0, v);
		KUNIT_EXPECT_EQ(test, v->posts, 0);
		expect_hits(test, probe, 2);
	}
}

/* --- misses --- */

static struct kprobes_registers nested;

static int hit_again(struct probe *probe, struct pt_regs *regs)
{
	look(probe, regs);
	set_input(&nested, 0);
	nested.reg[KPROBES_REG_RESULT] = 0;
	kprobes_jump_run(&nested, kprobes_jump_bits);
	return 0;
}

static void hit_by_its_own_handler_is_missed_and_carried_out(struct kunit *test)
{
	struct view *v = new_views(test);
	struct probe *probe;
	unsigned int post;

	find_bits(test);
	probe = probe_new(test, bits_at[0]);
	for (post = 0; post < 2; post++) {
		probe_reset(probe, bits_at[0]);
		probe->on_hit = hit_again;
		probe->kp.post_handler = post ? look_after : NULL;
		plant(test, probe);
		KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
		KUNIT_EXPECT_EQ(test, nested.reg[KPROBES_REG_RESULT], ALL_BITS);
		KUNIT_EXPECT_EQ(test, v->pres, 1);
		KUNIT_EXPECT_EQ(test, v->posts, post);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 1);
		probe_unregister(probe);
	}
}

/* --- on and off --- */

static void plant_all(struct kunit *test, struct probe **probes)
{
	unsigned int i;

	/* Some share a function: all probes have to go before it is looked at. */
	for (i = 0; i < ARRAY_SIZE(kprobes_jumps); i++)
		kprobes_text_watch(test, kprobes_jumps[i].call);
	for (i = 0; i < ARRAY_SIZE(kprobes_jumps); i++)
		probes[i] = probe_new(test, insn_at(kprobes_jumps[i].call, kprobes_jumps[i].insn));
	for (i = 0; i < ARRAY_SIZE(kprobes_jumps); i++)
		plant(test, probes[i]);
}

static void switch_takes_out_all_jumps_and_puts_them_in_again(struct kunit *test)
{
	struct probe *probes[ARRAY_SIZE(kprobes_jumps)];
	unsigned int i;

	switch_need(test);
	plant_all(test, probes);
	KUNIT_EXPECT_EQ(test, 0, switch_set(false));
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_no_jump(test, probes[i]->kp.addr, "off");
	KUNIT_EXPECT_EQ(test, 0, switch_set(true));
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, state_at(probes[i]->kp.addr), SITE_OPTIMIZED);
		expect_jump(test, probes[i]->kp.addr);
	}
}

static void no_jump_comes_while_the_switch_is_off(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct probe *probe = new_probe(test, jump);
	void *addr = probe->kp.addr;

	switch_need(test);
	KUNIT_ASSERT_EQ(test, 0, switch_set(false));
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	expect_no_jump(test, addr, "off");
	KUNIT_EXPECT_EQ(test, 0, switch_set(true));
	KUNIT_EXPECT_TRUE(test, kprobe_optimized(&site_at(addr)->kp));
	/* A jump that was asked for does not come after all. */
	KUNIT_EXPECT_EQ(test, 0, switch_set(false));
	expect_no_jump(test, addr, "off");
}

/* --- text that goes --- */

/* It stays in truth, as it is: nobody may call it meanwhile. */
static void kill_site(struct kprobe_site *site, struct kprobes_text *text, u8 *left, bool pending)
{
	guard(mutex)(&kprobe_mutex);
	if (pending)
		make_pending(site);
	memcpy(left, text->start, text->size);
	kprobe_site_kill(site);
}

static void put_text_back(struct kprobes_text *text)
{
	guard(mutex)(&kprobe_mutex);
	kprobe_text_lock();
	kprobes_put_text(text->start, text->copy, text->size);
	kprobe_text_unlock();
}

static void expect_dead(struct kunit *test, struct probe *probe, struct kprobe_site *site)
{
	KUNIT_EXPECT_EQ(test, site->state, SITE_GONE);
	KUNIT_EXPECT_FALSE(test, kprobe_optimized(&site->kp));
	KUNIT_EXPECT_FALSE(test, arch_prepared_optinsn(&site->op.optinsn));
	KUNIT_EXPECT_NULL(test, site_at(probe->kp.addr));
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&probe->kp));
	KUNIT_EXPECT_STREQ(test, kprobe_site_why(site), "gone");
}

static void jump_goes_with_its_text(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	void *addr = insn_at(jump->call, jump->insn);
	struct kprobes_text *text = kprobes_text_watch(test, addr);
	u8 *left = kunit_kzalloc(test, text->size, GFP_KERNEL);
	struct view *v = new_views(test);
	struct probe *probe, *next;
	struct kprobe_site *site;
	unsigned int pending;

	KUNIT_ASSERT_NOT_NULL(test, left);
	for (pending = 0; pending < 2; pending++) {
		probe = probe_new(test, addr);
		next = probe_new(test, addr);
		plant(test, probe);
		site = site_at(addr);
		kill_site(site, text, left, pending);
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_MEMEQ(test, text->start, left, text->size);
		put_text_back(text);
		expect_dead(test, probe, site);

		plant(test, next);
		run(jump->call, 0, v);
		expect_hits(test, probe, 0);
		expect_hits(test, next, 1);
		probe_unregister(probe);
		run(jump->call, 0, v);
		expect_hits(test, next, 1);
		probe_unregister(next);
	}
}

/* --- the stack --- */

static struct trace *trace;

static int note_trace(struct probe *probe, struct pt_regs *regs)
{
	trace_take(trace);
	return 0;
}

/* Leaves away what is above the probed function. */
static void trace_cut(void *function)
{
	unsigned int above = trace_find(trace, function);

	trace->length -= above;
	memmove(trace->entries, trace->entries + above, trace->length * sizeof(*trace->entries));
}

static noinline __noclone void trace_block(struct trace *t)
{
	trace = t;
	kprobes_blocks[0].call(1);
	trace_cut(kprobes_blocks[0].call);
}

static noinline __noclone void trace_both_ways(struct kunit *test, struct trace *traces,
					       struct probe *probe)
{
	unsigned int on;

	for (on = 0; on < 2; on++) {
		/* One call for both: unrolled, there would be two to return to. */
		OPTIMIZER_HIDE_VAR(on);
		KUNIT_EXPECT_EQ(test, 0, switch_set(on));
		KUNIT_EXPECT_TRUE(test, comes_to(probe->kp.addr,
						 on ? SITE_OPTIMIZED : SITE_ARMED));
		trace_block(&traces[on]);
	}
}

static void stack_trace_at_a_jump_is_that_at_a_breakpoint(struct kunit *test)
{
	struct trace *traces = kunit_kcalloc(test, 2, sizeof(*traces), GFP_KERNEL);
	struct probe *probe;

	switch_need(test);
	KUNIT_ASSERT_NOT_NULL(test, traces);
	kprobes_text_watch(test, kprobes_blocks[0].first);
	probe = probe_new(test, kprobes_blocks[0].first);
	probe->on_hit = note_trace;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	trace_both_ways(test, traces, probe);
	KUNIT_EXPECT_GT(test, traces[0].length, 2);
	KUNIT_EXPECT_EQ(test, traces[0].length, traces[1].length);
	KUNIT_EXPECT_MEMEQ(test, traces[0].entries, traces[1].entries,
			   traces[0].length * sizeof(*traces[0].entries));
	KUNIT_EXPECT_GT(test, trace_count(&traces[1], trace_both_ways), 0);
	if (KPROBES_TRACE_WITHOUT_FRAME)
		KUNIT_EXPECT_GT(test, trace_count(&traces[1], trace_block), 0);
}

/* --- memory --- */

static void jump_takes_little_executable_memory(struct kunit *test)
{
	size_t used = ARCH_KPROBE_SLOT_SIZE * sizeof(kprobe_opcode_t);
	struct probe *probe = new_probe(test, &kprobes_jumps[0]);

	plant(test, probe);
	if (is_kprobe_optinsn_slot((unsigned long)kprobes_jump_at(probe->kp.addr)))
		used += MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t);
	kunit_info(test, "%zu bytes", used);
	KUNIT_EXPECT_LE(test, used, KPROBES_JUMP_MEMORY);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE_PARAM(site_gets_a_jump_and_loses_it, jump_gen_params),
	KUNIT_CASE_PARAM(hit_by_a_jump_looks_like_one_by_a_breakpoint, jump_gen_params),
	KUNIT_CASE_PARAM(jump_without_a_post_handler_does_the_same, jump_gen_params),
	KUNIT_CASE_PARAM(breakpoint_that_waits_for_its_jump_works, jump_gen_params),
	KUNIT_CASE_PARAM(handlers_may_change_every_register, idle_gen_params),
	KUNIT_CASE_PARAM(handlers_may_change_the_stack_pointer, idle_gen_params),
	KUNIT_CASE_PARAM(pre_handler_at_a_jump_replaces_the_function, idle_gen_params),
	KUNIT_CASE_PARAM(pre_handler_at_a_jump_returns_for_the_function, idle_gen_params),
	KUNIT_CASE(handlers_go_to_any_instruction),
	KUNIT_CASE_SLOW(jump_makes_room_for_a_probe_in_its_way),
	KUNIT_CASE_SLOW(disabled_neighbour_has_no_jump),
	KUNIT_CASE_PARAM(site_without_room_stays_a_breakpoint, no_jump_gen_params),
#ifdef KPROBES_JUMP_COVERS
	KUNIT_CASE(jump_does_not_cover_what_is_patched),
#endif
	KUNIT_CASE_PARAM(several_probes_share_a_jump, idle_gen_params),
	KUNIT_CASE_PARAM(disabled_site_has_its_text_and_its_jump_again, idle_gen_params),
	KUNIT_CASE_PARAM(post_handler_comes_and_goes_by_a_jump, idle_gen_params),
	KUNIT_CASE(hit_by_its_own_handler_is_missed_and_carried_out),
	KUNIT_CASE(switch_takes_out_all_jumps_and_puts_them_in_again),
	KUNIT_CASE_PARAM(no_jump_comes_while_the_switch_is_off, idle_gen_params),
	KUNIT_CASE_PARAM(jump_goes_with_its_text, idle_gen_params),
	KUNIT_CASE(stack_trace_at_a_jump_is_that_at_a_breakpoint),
	KUNIT_CASE(jump_takes_little_executable_memory),
	{}
};

static struct kunit_suite optimize_suite = {
	.name = "kprobes_optimize",
	.suite_init = switch_suite_init,
	.suite_exit = switch_suite_exit,
	.init = switch_init,
	.exit = switch_exit,
	.test_cases = optimize_cases,
};

kunit_test_suite(optimize_suite);

MODULE_DESCRIPTION("KUnit tests of jump optimization of kprobes");
MODULE_LICENSE("GPL");
