// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of probes beside others that hook the same function, watch the same
 * instruction or patch the text around it. They come and go in any order, and each
 * must be served as if it were alone.
 */
#include <linux/err.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/hw_breakpoint.h>
#include <linux/kprobes.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/static_call.h>

#include "../../trace/trace_output.h"
#include "../internal.h"
#include "support/parties.h"
#include "support/probe.h"
#include "support/sites.h"
#include "support/switch.h"

KUNIT_ARRAY_PARAM_DESC(step, kprobes_steps_table, name);

static void let_jumps(struct kunit *test, bool come)
{
	switch_need(test);
	KUNIT_ASSERT_EQ(test, 0, switch_set(come));
	wait_for_kprobe_optimizer();
}

/* --- at one function: kprobes_traced() --- */

/* A probe that counts calls, at an address that is known when it joins */
#define PROBE_PARTY(name, at)							\
static unsigned long name##_calls;						\
static int name##_count(struct kprobe *kp, struct pt_regs *regs)		\
{										\
	name##_calls++;								\
	return 0;								\
}										\
static struct kprobe name##_probe;						\
static int name##_join(void)							\
{										\
	name##_probe = (struct kprobe) {					\
		.addr = (void *)(at), .pre_handler = name##_count,		\
	};									\
	return register_kprobe(&name##_probe);					\
}										\
static void name##_leave(void)							\
{										\
	unregister_kprobe(&name##_probe);					\
}

PROBE_PARTY(entry, kprobes_traced)
/* Behind the instruction that ftrace patches */
PROBE_PARTY(middle, ftrace_location((unsigned long)kprobes_traced) + MCOUNT_INSN_SIZE)

#ifdef CONFIG_KRETPROBES
static int return_join(void)
{
	return return_join_at(kprobes_traced);
}
#endif

static unsigned long tracer_calls;

static notrace void count_traced(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	tracer_calls++;
}

NOKPROBE_SYMBOL(count_traced);

static struct ftrace_ops tracer = { .func = count_traced };

static int tracer_join(void)
{
	return ops_join(&tracer, kprobes_traced);
}

static void tracer_leave(void)
{
	unregister_ftrace_function(&tracer);
}

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static int graph_join(void)
{
	return graph_join_at(kprobes_traced);
}
#endif

static const struct party parties[] = {
	{ "probe on the entry", entry_join, entry_leave, &entry_calls },
	{ "probe in the middle", middle_join, middle_leave, &middle_calls },
#ifdef CONFIG_KRETPROBES
	{ "return probe", return_join, return_leave, &return_calls },
#endif
	{ "function tracer", tracer_join, tracer_leave, &tracer_calls },
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	{ "function graph tracer", graph_join, graph_leave, &graph_calls },
#endif
};

#define NR_PARTIES	ARRAY_SIZE(parties)

KUNIT_ARRAY_PARAM_DESC(party, parties, name);

static noinline __noclone u32 calls_traced(u32 x)
{
	return kprobes_one_more(kprobes_traced(x));
}

#ifdef CONFIG_KRETPROBES
/* Of the caller, and not of a trampoline, whoever else has diverted the return. */
static void expect_told_of_caller(struct kunit *test)
{
	/* Without a return probe, nobody was told. */
	if (!return_addr)
		return;
	KUNIT_EXPECT_TRUE_MSG(test, kprobes_within(calls_traced, return_addr),
			      "%pS, beside %lx", (void *)return_addr, present);
	KUNIT_EXPECT_EQ(test, return_ip, return_addr);
	return_addr = 0;
}
#else
static void expect_told_of_caller(struct kunit *test)
{
}
#endif

static void expect_all_see_calls(struct kunit *test)
{
	unsigned long before[NR_PARTIES];
	unsigned int i;

	for (i = 0; i < NR_PARTIES; i++)
		before[i] = *parties[i].calls;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, calls_traced(i), kprobes_expected(i) + 1);
	for (i = 0; i < NR_PARTIES; i++)
		KUNIT_EXPECT_EQ_MSG(test, *parties[i].calls - before[i],
				    test_bit(i, &present) ? 3 : 0, "%s, of %lx",
				    parties[i].name, present);
	expect_told_of_caller(test);
}

static void joins(struct kunit *test, unsigned int i)
{
	KUNIT_ASSERT_EQ_MSG(test, parties[i].join(), 0, "%s", parties[i].name);
	__set_bit(i, &present);
	expect_all_see_calls(test);
}

static void leaves(struct kunit *test, unsigned int i)
{
	parties[i].leave();
	__clear_bit(i, &present);
	expect_all_see_calls(test);
}

/*
 * From each of them on, and back in the same order or in reverse. A past bug: a return probe was
 * told that the graph tracer's trampoline was the caller.
 */
static void all_come_and_go_in_turn(struct kunit *test)
{
	const struct party *party = test->param_value;
	unsigned int first = party - parties, reverse, i;

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, parties_leave, (void *)parties));
	for (reverse = 0; reverse < 2; reverse++) {
		for (i = 0; i < NR_PARTIES; i++)
			joins(test, (first + i) % NR_PARTIES);
		wait_for_kprobe_optimizer();
		expect_all_see_calls(test);
		for (i = 0; i < NR_PARTIES; i++)
			leaves(test, (first + (reverse ? NR_PARTIES - 1 - i : i)) % NR_PARTIES);
	}
}

/* --- calls that a jprobe's function leaves --- */

#if defined(CONFIG_FUNCTION_GRAPH_TRACER) && defined(CONFIG_JPROBES)
static noinline __noclone u32 leaves_jprobe(u32 x)
{
	if (!x)
		jprobe_return();
	kprobes_begin(&x);
	return x + 1;
}

static u32 calls_leaver(u32 x)
{
	return leaves_jprobe(0);
}

KUNIT_DEFINE_ACTION_WRAPPER(drop_graph, unregister_ftrace_graph, struct fgraph_ops *);

static void graph_tracer_does_not_follow_what_a_jprobe_leaves(struct kunit *test)
{
	const union any_probe like = { .jp.entry = JPROBE_ENTRY(calls_leaver) };
	unsigned long calls;
	int depth;

	any_registered(test, JPROBE, &like, kprobes_untraced);
	KUNIT_ASSERT_EQ(test, 0, graph_join_at(leaves_jprobe));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_graph, &graph));
	calls = graph_calls;
	depth = current->curr_ret_stack;
	KUNIT_EXPECT_EQ(test, kprobes_untraced(1), kprobes_expected(1));
	KUNIT_EXPECT_EQ(test, current->curr_ret_stack, depth);
	KUNIT_EXPECT_EQ(test, graph_calls, calls);
	/* And it goes on. */
	KUNIT_EXPECT_EQ(test, leaves_jprobe(1), 2);
	KUNIT_EXPECT_EQ(test, graph_calls, calls + 1);
}
#endif

/* --- breakpoints of the processor --- */

#ifdef CONFIG_HAVE_HW_BREAKPOINT
struct watch {
	struct perf_event * __percpu *events;
};

static void watch_end(void *data)
{
	struct watch *watch = data;

	if (watch->events)
		unregister_wide_hw_breakpoint(watch->events);
	watch->events = NULL;
}

static struct watch *watch_new(struct kunit *test)
{
	struct watch *watch = test_alloc(test, sizeof(*watch));

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, watch_end, watch));
	return watch;
}

/* Without an overflow handler, so that arm64 gets past the breakpoint by itself. */
static int watch_begin(struct watch *watch, void *addr, int type, int length)
{
	struct perf_event * __percpu *events;
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)addr;
	attr.bp_type = type;
	attr.bp_len = length;
	events = register_wide_hw_breakpoint(&attr, NULL, NULL);
	if (IS_ERR((void __force *)events))
		return PTR_ERR((void __force *)events);
	watch->events = events;
	return 0;
}

#ifdef CONFIG_X86
#define EXECUTED_LENGTH	sizeof(long)
#else
#define EXECUTED_LENGTH	HW_BREAKPOINT_LEN_4
#endif

static int watch_executed(struct watch *watch, void *addr)
{
	return watch_begin(watch, addr, HW_BREAKPOINT_X, EXECUTED_LENGTH);
}

static u64 watch_count(struct watch *watch)
{
	u64 enabled, running, sum = 0;
	unsigned int cpu;

	for_each_online_cpu(cpu)
		sum += perf_event_read_value(per_cpu(*watch->events, cpu), &enabled, &running);
	return sum;
}

/*
 * x86 gets past a breakpoint by a flag that interrupts save. arm64 takes a step. If an
 * interrupt comes in that step, it stops at the breakpoint once more.
 */
static void expect_stops(struct kunit *test, u64 stops, u64 expected)
{
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_EQ(test, stops, expected);
	else
		KUNIT_EXPECT_GE(test, stops, expected);
}

/* The address that a probe at @addr gets: a landing pad there is not probed. */
static void *place_of(struct kunit *test, void *addr)
{
	struct probe *probe = probe_registered(test, addr);
	void *place = probe->kp.addr;

	probe_unregister(probe);
	return place;
}

static void expect_both_see_calls(struct kunit *test, const struct kprobes_step *step,
				  struct probe *probe, struct watch *watch)
{
	unsigned int hits = probe->hits;
	u64 count = watch_count(watch);

	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits - hits, probe->live ? KPROBES_CALLS : 0);
	expect_stops(test, watch_count(watch) - count, KPROBES_CALLS);
}

static bool has_jump(struct probe *probe)
{
	return site_at(probe->kp.addr)->state == SITE_OPTIMIZED;
}

/* There is room for a jump, unless a site behind it waits to be freed. */
static bool must_have_jump(const struct kprobes_step *step)
{
	return !strcmp(step->name, "nop");
}

static void meet_at(struct kunit *test, const struct kprobes_step *step, bool jump,
		    bool watch_first)
{
	void *place = place_of(test, step->addr);
	struct probe *probe = probe_new(test, place);
	struct watch *watch = watch_new(test);

	let_jumps(test, jump);
	if (watch_first)
		KUNIT_ASSERT_EQ(test, 0, watch_executed(watch, place));
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	wait_for_kprobe_optimizer();
	if (!jump || must_have_jump(step))
		KUNIT_EXPECT_EQ(test, jump, has_jump(probe));
	if (!watch_first)
		KUNIT_ASSERT_EQ(test, 0, watch_executed(watch, place));
	expect_both_see_calls(test, step, probe, watch);

	/* The first to come is the first to leave. */
	if (watch_first) {
		watch_end(watch);
		kprobes_call_step(test, step);
		KUNIT_EXPECT_EQ(test, probe->hits, 2 * KPROBES_CALLS);
		probe_unregister(probe);
	} else {
		probe_unregister(probe);
		expect_both_see_calls(test, step, probe, watch);
		watch_end(watch);
	}
}

/* A past bug: single-stepping and hardware breakpoints disturbed each other. */
static void processor_stops_at_the_same_instruction(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	unsigned int i;

	if (must_have_jump(step))
		wait_for_dying_sites(test);
	for (i = 0; i < 4; i++)
		meet_at(test, step, i & 2, i & 1);
}

/* In one place, where the probed function returns to */
static noinline void call_step(struct kunit *test, const struct kprobes_step *step)
{
	kprobes_call_step(test, step);
}

static void meet_behind(struct kunit *test, const struct kprobes_step *step,
			struct probe *probe, void *next)
{
	struct watch *here = watch_new(test), *behind = watch_new(test);
	u64 count_here, count_behind;

	KUNIT_ASSERT_EQ(test, 0, watch_executed(here, probe->kp.addr));
	KUNIT_ASSERT_EQ(test, 0, watch_executed(behind, next));
	count_here = watch_count(here);
	count_behind = watch_count(behind);
	call_step(test, step);
	expect_stops(test, watch_count(here) - count_here, KPROBES_CALLS);
	expect_stops(test, watch_count(behind) - count_behind, KPROBES_CALLS);
	watch_end(here);
	watch_end(behind);
}

/* Whoever carries the probed instruction out, its step is no longer than the instruction. */
static void processor_stops_at_the_next_instruction(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	void *place = place_of(test, step->addr), *next;
	struct probe *probe = probe_new(test, place);

	let_jumps(test, false);
	probe->kp.post_handler = probe_post_handler;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	call_step(test, step);
	KUNIT_ASSERT_EQ(test, probe->posts, KPROBES_CALLS);
	next = (void *)probe->post_ip;
	meet_behind(test, step, probe, next);
	probe_unregister(probe);
	probe->kp.post_handler = NULL;
	KUNIT_ASSERT_EQ(test, 0, probe_register_again(probe, place));
	meet_behind(test, step, probe, next);
}

static void processor_does_not_stop_where_no_probe_may_be(struct kunit *test)
{
	struct watch *watch = watch_new(test);

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "other architectures do not ask");
	KUNIT_EXPECT_EQ(test, -EINVAL, watch_executed(watch, get_kprobe));
}

/* Instructions to probe: one writes a word, and one reads it. On x86, a jump covers more. */
extern u8 beside_load[] asm(".Lbeside_load"), beside_store[] asm(".Lbeside_store");

static u32 watched;

static noinline __noclone notrace u32 access_watched(u32 x)
{
	u32 value;

#if defined(CONFIG_X86)
	asm volatile(".Lbeside_store: " ANNOTATE_NOENDBR "\nmovl %2, (%1)\n"
		     ".Lbeside_load: " ANNOTATE_NOENDBR "\nmovl (%1), %0\n"
		     "nop\n"
		     "nop\n"
		     "nop"
		     : "=&r" (value) : "r" (&watched), "r" (x) : "memory");
#elif defined(CONFIG_ARM64)
	asm volatile(".Lbeside_store: str %w2, [%1]\n"
		     ".Lbeside_load: ldr %w0, [%1]"
		     : "=&r" (value) : "r" (&watched), "r" (x) : "memory");
#endif
	return value;
}

#define CALLS	3

/* The word is written once in each call, and read once. */
static void expect_accesses(struct kunit *test, struct watch *watch)
{
	u64 count = watch_count(watch);
	u32 x;

	for (x = 1; x <= CALLS; x++)
		KUNIT_EXPECT_EQ(test, access_watched(x), x);
	expect_stops(test, watch_count(watch) - count, 2 * CALLS);
}

/* By whatever way the instruction is carried out */
static void watch_and_probe(struct kunit *test, void *insn, bool jump, bool post)
{
	struct watch *watch = watch_new(test);
	struct probe *probe = probe_new(test, insn);

	let_jumps(test, jump);
	probe->kp.post_handler = post ? probe_post_handler : NULL;
	KUNIT_ASSERT_EQ(test, 0, watch_begin(watch, &watched, HW_BREAKPOINT_RW, sizeof(watched)));
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, jump, has_jump(probe));
	expect_accesses(test, watch);
	probe_expect(test, probe, CALLS, post ? CALLS : 0, 0);
	probe_unregister(probe);
	expect_accesses(test, watch);
	watch_end(watch);
}

static void processor_stops_at_what_is_accessed(struct kunit *test)
{
	void *insns[] = { beside_load, beside_store };
	unsigned int i, way;

	kprobes_text_watch(test, access_watched);
	for (i = 0; i < ARRAY_SIZE(insns); i++) {
		/* The other one may be in the way of a jump. */
		wait_for_dying_sites(test);
		for (way = 0; way < 4; way++)
			watch_and_probe(test, insns[i], way & 1, way & 2);
	}
}
#endif

/* --- text that others patch --- */

#define CALLED(when, n)						\
static noinline __noclone notrace u32 called_##when(u32 x)	\
{								\
	asm volatile("nop" : "+r" (x) : : "memory");		\
	return x + (n);						\
}

CALLED(first, 1)
CALLED(then, 2)

DEFINE_STATIC_CALL(beside_call, called_first);

static noinline __noclone notrace u32 has_static_call(u32 x)
{
	asm volatile("nop" : "+r" (x) : : "memory");
	return static_call(beside_call)(x) + 10;
}

static void update_and_call(struct kunit *test, unsigned int times)
{
	while (times--) {
		static_call_update(beside_call, called_then);
		KUNIT_EXPECT_EQ(test, has_static_call(times), times + 12);
		static_call_update(beside_call, called_first);
		KUNIT_EXPECT_EQ(test, has_static_call(times), times + 11);
	}
}

static void first_again(void *unused)
{
	static_call_update(beside_call, called_first);
}

static void static_call_is_updated_among_probes(struct kunit *test)
{
	void *const functions[] = { has_static_call, called_first, called_then };
	struct probe *probes[ARRAY_SIZE(functions)];
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, first_again, NULL));
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		kprobes_text_watch(test, functions[i]);
		probes[i] = probe_registered(test, functions[i]);
	}
	update_and_call(test, 5);
	wait_for_kprobe_optimizer();
	update_and_call(test, 5);
	for (i = 0; i < ARRAY_SIZE(functions); i++)
		probe_expect(test, probes[i], i ? 10 : 20, 0, 0);
}

/* A function that was called by a tail call has a trampoline for its caller. */
static void expect_unknown(struct kunit *test, void *trampoline)
{
	struct trace_seq *s = test_alloc(test, sizeof(*s));

	trace_seq_init(s);
	trace_seq_print_sym(s, (unsigned long)trampoline, false);
	KUNIT_EXPECT_STREQ(test, "[unknown/kretprobe'd]", s->buffer);
}

/* A past bug: the trampoline of fprobe was. */
static void diverted_return_is_not_traced_as_a_caller(struct kunit *test)
{
	expect_unknown(test, kretprobe_trampoline_addr());
#ifdef CONFIG_FPROBE
	expect_unknown(test, arch_rethook_trampoline);
#endif
}

static struct kunit_case beside_cases[] = {
	KUNIT_CASE_PARAM(all_come_and_go_in_turn, party_gen_params),
#if defined(CONFIG_FUNCTION_GRAPH_TRACER) && defined(CONFIG_JPROBES)
	KUNIT_CASE(graph_tracer_does_not_follow_what_a_jprobe_leaves),
#endif
#ifdef CONFIG_HAVE_HW_BREAKPOINT
	KUNIT_CASE_PARAM(processor_stops_at_the_same_instruction, step_gen_params),
	KUNIT_CASE_PARAM(processor_stops_at_the_next_instruction, step_gen_params),
	KUNIT_CASE(processor_does_not_stop_where_no_probe_may_be),
	KUNIT_CASE(processor_stops_at_what_is_accessed),
#endif
	KUNIT_CASE(static_call_is_updated_among_probes),
	KUNIT_CASE(diverted_return_is_not_traced_as_a_caller),
	{}
};

static int beside_init(struct kunit *test)
{
	return switch_init(test) ?: kprobes_watch_targets(test);
}

static struct kunit_suite beside_suite = {
	.name = "kprobes_beside",
	.suite_init = switch_suite_init,
	.suite_exit = switch_suite_exit,
	.init = beside_init,
	.exit = switch_exit,
	.test_cases = beside_cases,
};

kunit_test_suite(beside_suite);

/* For a shell test, because this cannot be undone. */
static int set_kill_ftrace(const char *value, const struct kernel_param *kp)
{
	ftrace_kill();
	return 0;
}

static const struct kernel_param_ops kill_ftrace_ops = {
	.set = set_kill_ftrace,
};

module_param_cb(kill_ftrace, &kill_ftrace_ops, NULL, 0200);
MODULE_PARM_DESC(kill_ftrace, "write to it to have ftrace shut itself down for good");
