// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: probes on function entries by means of ftrace, alone and with all others that
 * can be called at an entry
 *
 * A function in assembly is called with random values in every register, and records the
 * values that arrive. The probe's handlers run in between: they record them, too, and may
 * change them.
 */

#include <kunit/test.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/sysreg.h>

#include "support/kinds.h"
#include "support/parties.h"
#include "support/targets.h"
#include "support/trace.h"
#include "../internal.h"
#include "test_ftrace.h"

unsigned long probe_test_directs, probe_test_direct_next;

static unsigned long location_of(void *function)
{
	return ftrace_location((unsigned long)function);
}

static struct probe probe;

/* What its handlers have seen, what the first of them does, and what that made of the registers */
static struct pt_regs pre, post;
static int (*action)(struct pt_regs *regs);
static struct image changed;

static void image_of(struct image *image, const struct pt_regs *regs)
{
	memcpy(image->x, regs->regs, sizeof(image->x));
	image->nzcv = regs->pstate & PSR_STATUS_BITS;
	image->daif = regs->pstate & (PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | PSR_F_BIT);
	image->sp = regs->sp;
}

static int look_and_act(struct probe *unused, struct pt_regs *regs)
{
	int result;

	pre = *regs;
	result = action ? action(regs) : 0;
	image_of(&changed, regs);
	return result;
}

static void post_handler(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	probe_post_handler(kp, regs, flags);
	post = *regs;
}

static int probe_join_with(int (*act)(struct pt_regs *regs), bool with_post)
{
	probe_reset(&probe, probe_test_target);
	probe.on_hit = look_and_act;
	probe.kp.post_handler = with_post ? post_handler : NULL;
	action = act;
	return probe_register(&probe);
}

static void probe_leave(void)
{
	probe_unregister(&probe);
}

static struct rnd_state random;

static noinline void call_target(struct call *call)
{
	unsigned long flags;

	memset(call, 0, sizeof(*call));
	prandom_bytes_state(&random, &call->in, sizeof(call->in));
	call->in.nzcv &= PSR_STATUS_BITS;
	/* All of DAIF: with pseudo-NMIs, local_irq_save() saves the priority instead. */
	flags = read_sysreg(daif);
	probe_test_call(call);
	write_sysreg(flags, daif);
}

/* Calls the target, with a probe on it whose handler does this. */
static void call_probed(struct kunit *test, struct call *call, int (*act)(struct pt_regs *regs),
			bool with_post)
{
	KUNIT_ASSERT_EQ(test, 0, probe_join_with(act, with_post));
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&probe.kp));
	KUNIT_EXPECT_PTR_EQ(test, (void *)probe.kp.addr, (void *)probe_test_target);
	call_target(call);
	KUNIT_EXPECT_EQ(test, probe.hits, 1);
}

/* x9 is a copy of the link register when ftrace is called, and is changed after that. */
#define X9	BIT(9)
#define X17	BIT(17)
#define X18	BIT(18)
#define X29	BIT(29)
#define X30	BIT(30)
#define NZCV	BIT(31)

static void expect_image(struct kunit *test, const struct image *want,
			 const struct image *got, u32 but)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(want->x); i++) {
		if (!(but & BIT(i)))
			KUNIT_EXPECT_EQ_MSG(test, want->x[i], got->x[i], "x%d", i);
	}
	if (!(but & NZCV))
		KUNIT_EXPECT_EQ(test, want->nzcv, got->nzcv);
	KUNIT_EXPECT_EQ(test, want->sp, got->sp);
	KUNIT_EXPECT_EQ(test, want->daif, got->daif);
}

static void expect_end(struct kunit *test, const struct call *call, enum body body,
		       enum landing landed)
{
	KUNIT_EXPECT_EQ(test, call->body, body);
	KUNIT_EXPECT_EQ(test, call->landed, landed);
}

/* The handler saw what the target was called with. */
static void expect_seen(struct kunit *test, const struct call *call, const struct pt_regs *regs)
{
	struct image seen;

	image_of(&seen, regs);
	expect_image(test, &call->in, &seen, X9);
}

static void handlers_see_every_register(struct kunit *test)
{
	struct call call;

	call_probed(test, &call, NULL, true);
	expect_seen(test, &call, &pre);
	KUNIT_EXPECT_EQ(test, pre.pc, (unsigned long)probe_test_target);
	KUNIT_EXPECT_EQ(test, pre.regs[9], call.in.x[30]);
	KUNIT_EXPECT_TRUE(test, interrupts_enabled(&pre));
	KUNIT_EXPECT_EQ(test, pre.pstate & PSR_MODE_MASK, kprobes_mode_here());

	KUNIT_EXPECT_EQ(test, probe.posts, 1);
	expect_seen(test, &call, &post);
	KUNIT_EXPECT_EQ(test, post.pc, location_of(probe_test_target) + AARCH64_INSN_SIZE);

	expect_image(test, &call.in, &call.out, X9);
	expect_end(test, &call, TARGET, CALLER);
}

/* Changes x0 to x29, except for those in @but, and the flags. */
static void change_registers(struct pt_regs *regs, u32 but)
{
	int i;

	for (i = 0; i < 30; i++) {
		if (!(but & BIT(i)))
			regs->regs[i] = ~regs->regs[i];
	}
	regs->pstate ^= PSR_STATUS_BITS;
}

static int change_all(struct pt_regs *regs)
{
	change_registers(regs, X18);
	return 0;
}

static int return_elsewhere(struct pt_regs *regs)
{
	procedure_link_pointer_set(regs, (unsigned long)probe_test_elsewhere);
	return 0;
}

static int mask_interrupts(struct pt_regs *regs)
{
	regs->pstate |= PSR_I_BIT;
	return 0;
}

static int redirect(struct pt_regs *regs)
{
	change_registers(regs, X18);
	instruction_pointer_set(regs, (unsigned long)probe_test_replacement);
	return 1;
}

static int return_at_once(struct pt_regs *regs)
{
	instruction_pointer_set(regs, procedure_link_pointer(regs));
	return 1;
}

/* What a handler changes, and where the call gets to */
static const struct change {
	const char *name;
	int (*act)(struct pt_regs *regs);
	enum body body;
	enum landing landed;
	bool post;
} changes[] = {
	{ "every register", change_all, TARGET, CALLER },
	{ "link register", return_elsewhere, TARGET, ELSEWHERE },
	{ "interrupt mask", mask_interrupts, TARGET, CALLER },
	{ "instruction pointer", redirect, REPLACEMENT, CALLER, .post = true },
	{ "return for the function", return_at_once, NONE, CALLER },
};

KUNIT_ARRAY_PARAM_DESC(change, changes, name);

static void changes_hold(struct kunit *test)
{
	const struct change *change = test->param_value;
	struct call call;

	call_probed(test, &call, change->act, change->post);
	KUNIT_EXPECT_EQ(test, probe.posts, 0);
	expect_seen(test, &call, &pre);
	if (change->body != NONE)
		expect_image(test, &changed, &call.out, X9);
	expect_end(test, &call, change->body, change->landed);
}

static struct trace trace;

static int note_trace(struct pt_regs *regs)
{
	trace_take_regs(&trace, regs);
	return 0;
}

static void stack_trace_by_registers_names_function_and_caller(struct kunit *test)
{
	struct call call;

	call_probed(test, &call, note_trace, false);
	KUNIT_ASSERT_GT(test, trace.length, 2);
	KUNIT_EXPECT_EQ(test, trace.entries[0], (unsigned long)probe_test_target);
	KUNIT_EXPECT_EQ(test, trace.entries[1], call.in.x[30]);
	KUNIT_EXPECT_EQ(test, trace_find(&trace, call_target), 2);
}

/* The pointer to ftrace's ops, the copy of the link register behind a landing pad, the call */
static void words_of_ftrace_are_refused(struct kunit *test)
{
	unsigned long entry = (unsigned long)probe_test_target, addr;
	unsigned long call = location_of(probe_test_target);

	KUNIT_EXPECT_EQ(test, call - entry, IS_ENABLED(CONFIG_ARM64_BTI_KERNEL) ? 8 : 4);
	for (addr = entry - 8; addr <= call + 4; addr += 4)
		KUNIT_EXPECT_EQ_MSG(test, kprobes_try(addr),
				    addr == entry || addr == call + 4 ? 0 : -EINVAL, "%+ld",
				    addr - entry);
}

/* The other parties that can be called at a function's entry */

static unsigned long tracer_calls, tracer_argument;

static void tracer_func(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	tracer_calls++;
	tracer_argument = ftrace_regs_get_argument(fregs, 7);
}

static struct ftrace_ops tracer_ops = { .func = tracer_func };

static int tracer_join(void)
{
	return ops_join(&tracer_ops, probe_test_target);
}

static void tracer_leave(void)
{
	unregister_ftrace_function(&tracer_ops);
}

static unsigned long probe_calls;

static int count_and_change(struct pt_regs *regs)
{
	probe_calls++;
	change_registers(regs, X18 | X29);
	return 0;
}

static int changing_join(void)
{
	return probe_join_with(count_and_change, false);
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
static struct ftrace_ops direct_ops;

static int direct_join(void)
{
	int err = ops_filter(&direct_ops, probe_test_target);

	return err ?: register_ftrace_direct(&direct_ops, (unsigned long)probe_test_direct);
}

static void direct_leave(void)
{
	unregister_ftrace_direct(&direct_ops, (unsigned long)probe_test_direct, false);
}
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static int graph_join(void)
{
	return graph_join_at(probe_test_target);
}
#endif

static int return_join(void)
{
	return return_join_at(probe_test_target);
}

static const struct party parties[] = {
	{ "probe", changing_join, probe_leave, &probe_calls },
	{ "return probe", return_join, return_leave, &return_calls },
	{ "tracer", tracer_join, tracer_leave, &tracer_calls },
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	{ "graph", graph_join, graph_leave, &graph_calls },
#endif
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	{ "direct call", direct_join, direct_leave, &probe_test_directs },
#endif
};

#define NR_PARTIES	ARRAY_SIZE(parties)

/* Of these, as bits of @present */
#define WITH_PROBE		BIT(0)
#define WITH_RETURN_PROBE	BIT(1)
#define WITH_TRACER		BIT(2)

/* Registers that a direct call may change, and ftrace, if nobody asks for all of them */
static u32 lost_registers(void)
{
	u32 scratch = X9 | X17 | X30;

	if (present && !(present & (WITH_PROBE | WITH_RETURN_PROBE)))
		scratch |= GENMASK(18, 9) | NZCV;
	return scratch;
}

static void expect_calls(struct kunit *test)
{
	unsigned long before[NR_PARTIES];
	const struct image *want;
	struct image seen;
	struct call call;
	int i;

	for (i = 0; i < NR_PARTIES; i++)
		before[i] = *parties[i].calls;
	call_target(&call);
	for (i = 0; i < NR_PARTIES; i++)
		KUNIT_EXPECT_EQ_MSG(test, *parties[i].calls - before[i], test_bit(i, &present),
				    "%s, of %lx", parties[i].name, present);

	image_of(&seen, &pre);
	if (present & WITH_PROBE)
		expect_image(test, &call.in, &seen, X9 | X30);
	want = present & WITH_PROBE ? &changed : &call.in;
	expect_image(test, want, &call.out, lost_registers());
	expect_end(test, &call, TARGET, CALLER);
	if (present & WITH_RETURN_PROBE) {
		KUNIT_EXPECT_EQ(test, return_addr, call.in.x[30]);
		KUNIT_EXPECT_EQ(test, return_ip, call.in.x[30]);
	}
	if (present & WITH_TRACER)
		KUNIT_EXPECT_TRUE(test, tracer_argument == call.in.x[7] ||
				  (present & WITH_PROBE && tracer_argument == changed.x[7]));
}

/* From each of them on: all join in turn, and leave in the same order, or in reverse. */
static void everybody_gets_the_registers(struct kunit *test)
{
	unsigned int i, n, which;

	for (n = 0; n < 2 * NR_PARTIES; n++) {
		for (i = 0; i < NR_PARTIES; i++) {
			which = (n + i) % NR_PARTIES;
			KUNIT_ASSERT_EQ_MSG(test, parties[which].join(), 0, "%s",
					    parties[which].name);
			__set_bit(which, &present);
			expect_calls(test);
		}
		for (i = 0; i < NR_PARTIES; i++) {
			which = (n < NR_PARTIES ? n + i : n + NR_PARTIES - 1 - i) % NR_PARTIES;
			parties[which].leave();
			__clear_bit(which, &present);
			expect_calls(test);
		}
	}
}

static const struct beside {
	const char *name;
} besides[] = { { "graph" }, { "direct call" } };

KUNIT_ARRAY_PARAM_DESC(beside, besides, name);

/*
 * Who has joined last is called first: here, that is the probe. Past bugs: it was a panic if the
 * graph tracer followed the call; and a direct call continued in the middle of the caller.
 */
static void handler_can_return_for_the_function_beside(struct kunit *test)
{
	const struct beside *beside = test->param_value;
	const struct party *party = parties;
	unsigned long before;
	struct call call;

	while (party < parties + NR_PARTIES && strcmp(party->name, beside->name))
		party++;
	if (party == parties + NR_PARTIES)
		kunit_skip(test, "there is no %s", beside->name);
	before = *party->calls;
	KUNIT_ASSERT_EQ(test, party->join(), 0);
	__set_bit(party - parties, &present);
	call_probed(test, &call, return_at_once, false);
	expect_end(test, &call, NONE, CALLER);
	probe_leave();
	parties_leave((void *)parties);
	KUNIT_EXPECT_EQ(test, *party->calls, before + 1);
	KUNIT_EXPECT_NE(test, probe_test_direct_next, call.in.x[30]);
}

noinline void probe_test_traced(void)
{
	trace_take(&trace);
	barrier();
}

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static noinline void calls_traced(void)
{
	probe_test_traced();
	barrier();
}

static noinline void calls_jump(void)
{
	probe_test_jump();
	barrier();
}

static void expect_caller_in_trace(struct kunit *test, void (*caller)(void),
				   unsigned int diversions)
{
	unsigned long returns = graph_calls + return_calls;
	unsigned int traced;

	caller();
	KUNIT_EXPECT_EQ(test, graph_calls + return_calls, returns + diversions);
	traced = trace_find(&trace, probe_test_traced);
	KUNIT_EXPECT_LT(test, traced + 1, trace.length);
	KUNIT_EXPECT_EQ(test, trace_find(&trace, caller), traced + 1);
}

static void stack_trace_sees_through_two_diversions(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, return_join_at(probe_test_traced), 0);
	KUNIT_ASSERT_EQ(test, graph_join_at(probe_test_traced), 0);
	expect_caller_in_trace(test, calls_traced, 2);
	return_leave();
	KUNIT_ASSERT_EQ(test, return_join_at(probe_test_traced), 0);
	expect_caller_in_trace(test, calls_traced, 2);
	graph_leave();
	return_leave();
}

/* A tail call's return is diverted again, before the first two diversions are undone. */
static void stack_trace_sees_through_those_of_a_tail_call(struct kunit *test)
{
	const union any_probe like = { .rp.handler = count_return };
	unsigned long jump = location_of(probe_test_jump);

	any_registered(test, RETURN_PROBE, &like, probe_test_jump);
	KUNIT_ASSERT_EQ(test, return_join_at(probe_test_traced), 0);
	KUNIT_ASSERT_EQ(test, ops_filter(&graph.ops, probe_test_traced), 0);
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&graph.ops, jump, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_graph(&graph), 0);
	expect_caller_in_trace(test, calls_jump, 4);
	graph_leave();
	return_leave();
}
#endif

static int ftrace_test_init(struct kunit *test)
{
	prandom_seed_state(&random, 612);
	return 0;
}

static void ftrace_test_exit(struct kunit *test)
{
	parties_leave((void *)parties);
	probe_leave();
}

static struct kunit_case ftrace_cases[] = {
	KUNIT_CASE(handlers_see_every_register),
	KUNIT_CASE_PARAM(changes_hold, change_gen_params),
	KUNIT_CASE(stack_trace_by_registers_names_function_and_caller),
	KUNIT_CASE(words_of_ftrace_are_refused),
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	KUNIT_CASE(stack_trace_sees_through_two_diversions),
	KUNIT_CASE(stack_trace_sees_through_those_of_a_tail_call),
#endif
	KUNIT_CASE_PARAM(handler_can_return_for_the_function_beside, beside_gen_params),
	KUNIT_CASE(everybody_gets_the_registers),
	{ }
};

static struct kunit_suite ftrace_suite = {
	.name		= "kprobes_arm64_ftrace",
	.init		= ftrace_test_init,
	.exit		= ftrace_test_exit,
	.test_cases	= ftrace_cases,
};

kunit_test_suite(ftrace_suite);
