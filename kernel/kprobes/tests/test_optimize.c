// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of jump optimization: for probed code and handlers, a hit by a jump is the
 * same as one by a breakpoint. test_optimize_sites.c tests which sites have a jump.
 */
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "support/switch.h"
#include "support/trace.h"
#include "test_optimize.h"

KUNIT_ARRAY_PARAM_DESC(jump, kprobes_jumps, name);
KUNIT_ARRAY_PARAM(idle, idle_jumps, idle_desc);

/* --- by the jump as by the breakpoint --- */

/* Not inlined: calls that are compared have to be made at the same stack depth. */
static noinline void run_variations(const struct kprobes_jump *jump, struct view *views)
{
	unsigned int i;

	for (i = 0; i < VARIATIONS; i++)
		run(jump->call, i, &views[i]);
}

static void expect_same_outcome(struct kunit *test, const struct view *a, const struct view *b)
{
	unsigned int i;

	for (i = 0; i < KPROBES_REGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, a->out.reg[i], b->out.reg[i], "register %u", i);
	KUNIT_EXPECT_EQ(test, a->out.flags, b->out.flags);
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

/* The pending jump is held up by kprobe_mutex, which a hit does not take. */
static void run_while_pending(struct kunit *test, struct probe *probe,
			      const struct kprobes_jump *jump, struct view *views)
{
	struct kprobe_site *site = site_at(probe->kp.addr);

	guard(kprobe_lock)();
	make_pending(site);
	KUNIT_EXPECT_EQ(test, site->state, SITE_OPTIMIZING);
	expect_breakpoint(test, probe->kp.addr);
	run_variations(jump, views);
}

static void compare_hits(struct kunit *test, const struct kprobes_jump *row, struct probe *probe,
			 bool post)
{
	struct view *plain = new_views(test), *trap = new_views(test), *jump = new_views(test);
	struct view *pending = new_views(test);
	unsigned int i, hits = 0;

	run_variations(row, plain);
	probe->on_hit = look;
	probe->kp.post_handler = post ? look_after : NULL;
	KUNIT_ASSERT_EQ(test, 0, switch_set(false));
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	run_variations(row, trap);
	KUNIT_ASSERT_EQ(test, 0, switch_set(true));
	KUNIT_ASSERT_TRUE(test, comes_to(probe->kp.addr, SITE_OPTIMIZED));
	run_variations(row, jump);
	if (post)
		KUNIT_EXPECT_STREQ(test, row->word,
				   arch_kprobe_path(&site_at(probe->kp.addr)->kp));
	run_while_pending(test, probe, row, pending);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, state_at(probe->kp.addr), SITE_OPTIMIZED);
	probe_unregister(probe);
	probe->kp.flags = 0;

	for (i = 0; i < VARIATIONS; i++) {
		expect_same_outcome(test, &plain[i], &trap[i]);
		expect_same_views(test, &trap[i], &jump[i]);
		expect_same_views(test, &trap[i], &pending[i]);
		KUNIT_EXPECT_EQ(test, trap[i].pre_trapped, !!trap[i].pres);
		KUNIT_EXPECT_EQ(test, pending[i].pre_trapped, !!pending[i].pres);
		KUNIT_EXPECT_FALSE(test, jump[i].pre_trapped || jump[i].post_trapped);
		KUNIT_EXPECT_FALSE(test, trap[i].uaccess || jump[i].uaccess);
		KUNIT_EXPECT_EQ(test, jump[i].posts, post ? jump[i].pres : 0);
		hits += jump[i].pres;
	}
	KUNIT_EXPECT_GT(test, hits, 0);
}

/*
 * Past bugs: functions lost their jumps because of indirect jumps that they did not have; handlers
 * had the access to user memory that the probed code had, and so had the next task.
 */
static void hit_by_a_jump_looks_like_one_by_a_breakpoint(struct kunit *test)
{
	const struct kprobes_jump *jump = test->param_value;
	struct probe *probe = new_probe(test, jump);

	switch_need(test);
	compare_hits(test, jump, probe, true);
	compare_hits(test, jump, probe, false);
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

/* Some of these end among the registers that were saved at the hit. */
static const unsigned int rooms[] = { 16, 64, 80, 96, 160, 240, 336 };
static unsigned int room;

static int take_room(struct probe *probe, struct pt_regs *regs)
{
	look(probe, regs);
	regs->sp -= room;
	return 0;
}

static void give_room_back(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	look_after(kp, regs, flags);
	regs->sp += room;
}

static void expect_room(struct kunit *test, const struct view *plain,
			const struct view *changed)
{
	unsigned int i;

	for (i = 0; i < VARIATIONS; i++) {
		expect_same_outcome(test, &plain[i], &changed[i]);
		KUNIT_EXPECT_EQ(test, changed[i].pres, 1);
		KUNIT_EXPECT_EQ(test, changed[i].posts, 1);
		KUNIT_EXPECT_EQ(test, changed[i].post.sp, changed[i].pre.sp - room);
	}
}

/* A past bug: on arm64, a handler that moved it down by 80 bytes overwrote the link register. */
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
	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		room = rooms[i];
		run_variations(jump, changed);
		expect_room(test, plain, changed);
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

/*
 * It has another function run in its place, or returns at once. A past bug: once there was a jump,
 * a redirection was ignored.
 */
static void pre_handler_at_a_jump_acts_for_the_function(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct view *plain = new_views(test), *v = new_views(test);
	struct probe *probe = new_probe(test, jump);
	unsigned int returns;

	run(jump->call, 0, plain);
	for (returns = 0; returns < 2; returns++) {
		probe_reset(probe, probe->kp.addr);
		probe->on_hit = returns ? return_at_once : replace_function;
		probe->kp.post_handler = returns ? NULL : look_after;
		plant(test, probe);
		run(jump->call, 0, v);
		KUNIT_EXPECT_EQ(test, v->out.reg[KPROBES_REG_RESULT], REPLACED);
		KUNIT_EXPECT_EQ(test, v->pres, 1);
		KUNIT_EXPECT_EQ(test, v->posts, 0);
		KUNIT_EXPECT_FALSE(test, v->pre_trapped);
		probe_unregister(probe);
	}
	/* The function was not executed, but it does nothing anyway. */
	plain->out.reg[KPROBES_REG_RESULT] = REPLACED;
	expect_same_outcome(test, plain, v);
}

static int replace_quickly(struct probe *probe, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)replacement);
	return 1;
}

/*
 * All registers are loaded then. A timer interrupts each of the last steps, given enough time: some
 * hundred ticks, of which one in some forty meets a certain step.
 */
static void __nocfi hit_may_be_interrupted_where_it_ends(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	unsigned long (*call)(void) = (void *)jump->call;
	struct probe *probe = new_probe(test, jump);
	unsigned long end;

	probe->on_hit = replace_quickly;
	plant(test, probe);
	for (end = jiffies + HZ; time_before(jiffies, end); cond_resched()) {
		unsigned int i;

		for (i = 0; i < 100; i++)
			KUNIT_ASSERT_EQ(test, call(), REPLACED);
	}
}

/* --- to another instruction --- */

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

static void reset_to_go(struct probe *probe)
{
	probe_reset(probe, bits_at[0]);
	probe->on_hit = go_before;
	probe->kp.post_handler = go_after;
}

/* The first instruction is probed, and handlers go to each of the others. */
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

/*
 * Where another probe has a jump, instructions that handlers go to may be covered by that. On x86
 * the first instruction has no jump itself if the other probe is on the next one.
 */
static void handlers_go_to_any_instruction(struct kunit *test)
{
	static const unsigned int others[] = { 3, 1 };
	struct view *v = new_views(test);
	struct probe *probe, *other;
	unsigned int i;

	find_bits(test);
	probe = probe_new(test, bits_at[0]);
	other = probe_new(test, bits_at[0]);
	reset_to_go(probe);
	plant(test, probe);
	expect_ways(test, v, "jump");
	KUNIT_EXPECT_FALSE(test, v->pre_trapped);
	scoped_guard(kprobe_lock) {
		make_pending(kprobe_find_site((unsigned long)bits_at[0]));
		expect_ways(test, v, "pending");
	}
	KUNIT_EXPECT_TRUE(test, v->pre_trapped);
	if (switch_mount && !switch_set(false)) {
		expect_ways(test, v, "breakpoint");
		KUNIT_ASSERT_EQ(test, 0, switch_set(true));
	}
	probe_unregister(probe);

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		probe_reset(other, bits_at[others[i]]);
		plant(test, other);
		reset_to_go(probe);
		KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
		wait_for_kprobe_optimizer();
		KUNIT_EXPECT_EQ(test, state_at(bits_at[others[i]]), SITE_OPTIMIZED);
		expect_ways(test, v, others[i] == 1 ? "before a jump" : "to a jump");
		probe_unregister(probe);
		probe_unregister(other);
	}
}

/* --- preemption --- */

static int want_preemption(struct probe *probe, struct pt_regs *regs)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	return look(probe, regs);
}

/* It may become due once more at any time. */
static void preemption_that_is_due_comes_when_the_hit_ends(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct probe *probe = new_probe(test, jump);
	struct view *v = new_views(test);
	unsigned int i, due = 0;

	if (!preempt_model_preemptible())
		kunit_skip(test, "no task is preempted in the kernel");
	probe->on_hit = want_preemption;
	plant(test, probe);
	for (i = 0; i < 100; i++) {
		run(jump->call, 0, v);
		due += tif_need_resched();
		KUNIT_EXPECT_FALSE(test, v->pre_trapped);
	}
	KUNIT_EXPECT_LT(test, due, 50);
}

/* --- the stack --- */

static struct trace trace;

static int note_trace(struct probe *probe, struct pt_regs *regs)
{
	trace_take(&trace);
	return 0;
}

static noinline __noclone u32 calls_block(u32 x)
{
	return kprobes_one_more(kprobes_blocks[0].call(x));
}

/* A past bug: with frame pointers, it left the probed function out. */
static void jump_is_seen_through_by_stack_traces(struct kunit *test)
{
	struct probe *probe;

	kprobes_text_watch(test, kprobes_blocks[0].first);
	probe = probe_new(test, kprobes_blocks[0].first);
	probe->on_hit = note_trace;
	plant(test, probe);
	KUNIT_EXPECT_EQ(test, calls_block(1), 2 + KPROBES_BLOCK_INSNS);
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
	KUNIT_EXPECT_GT(test, trace_count(&trace, kprobes_blocks[0].call), 0);
	KUNIT_EXPECT_GT(test, trace_count(&trace, jump_is_seen_through_by_stack_traces), 0);
	if (KPROBES_TRACE_WITHOUT_FRAME)
		KUNIT_EXPECT_GT(test, trace_count(&trace, calls_block), 0);
}

static struct kunit_case optimize_cases[] = {
	KUNIT_CASE_PARAM(hit_by_a_jump_looks_like_one_by_a_breakpoint, jump_gen_params),
	KUNIT_CASE_PARAM(handlers_may_change_every_register, idle_gen_params),
	KUNIT_CASE_PARAM(handlers_may_change_the_stack_pointer, idle_gen_params),
	KUNIT_CASE_PARAM(pre_handler_at_a_jump_acts_for_the_function, idle_gen_params),
	KUNIT_CASE_PARAM(hit_may_be_interrupted_where_it_ends, idle_gen_params),
	KUNIT_CASE(handlers_go_to_any_instruction),
	KUNIT_CASE_PARAM(preemption_that_is_due_comes_when_the_hit_ends, idle_gen_params),
	KUNIT_CASE(jump_is_seen_through_by_stack_traces),
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
