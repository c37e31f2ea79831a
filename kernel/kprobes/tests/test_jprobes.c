// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of jprobes, through what modules can call.
 */
#include <linux/fprobe.h>

#include "support/jprobe.h"
#include "support/trace.h"

#ifdef CONFIG_JPROBES

KUNIT_ARRAY_PARAM_DESC(entry, kprobes_entries, name);

/* Handlers for the targets, each of which has its own element of seen[] */

static struct {
	unsigned int calls, turn;
	u32 x;
} seen[2];

static void note_seen(unsigned int number, u32 x)
{
	seen[number].calls++;
	seen[number].turn = probe_turn();
	seen[number].x = x;
}

static u32 older_handler(u32 x)
{
	note_seen(0, x);
	leave();
	return 0;
}

static u32 newer_handler(u32 x)
{
	note_seen(1, x);
	leave();
	return 0;
}

/* It has one instance. If that is not given back, the next call is missed. */
static struct return_probe *plant_return_probe(struct kunit *test, void *addr)
{
	return return_probe_with(test, addr, .rp.entry_handler = return_probe_entry,
				 .rp.maxactive = 1);
}

static void expect_returns(struct kunit *test, struct return_probe *probe, int returns, int missed)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), returns);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), returns);
	/* Entries in a handler count as missed hits, and not as missed returns. */
	KUNIT_EXPECT_EQ(test, probe->rp.kp.nmissed, missed);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

static void jprobes_kprobes_and_return_probes_share_a_function(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *returns;
	struct probe *probe;

	jprobe_registered(test, step->call, older_handler);
	probe = probe_with(test, step->call, .kp.post_handler = probe_post_handler);
	returns = plant_return_probe(test, step->call);
	jprobe_registered(test, step->call, newer_handler);
	KUNIT_EXPECT_EQ(test, step->call(5), kprobes_expected(5));
	KUNIT_EXPECT_EQ(test, seen[0].calls, 1);
	KUNIT_EXPECT_EQ(test, seen[1].calls, 1);
	KUNIT_EXPECT_EQ(test, seen[0].x, 5);
	KUNIT_EXPECT_EQ(test, seen[1].x, 5);
	probe_expect(test, probe, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, probe->turn, seen[1].turn + 1);
	KUNIT_EXPECT_EQ(test, seen[0].turn, probe->turn + 1);
	expect_returns(test, returns, 1, 0);
}

/* Has enough values to fill all registers that a call preserves. */
static noinline __noclone u64 values_across(const u64 *in, u32 (*call)(u32 x))
{
	u64 a = READ_ONCE(in[0]), b = READ_ONCE(in[1]), c = READ_ONCE(in[2]);
	u64 d = READ_ONCE(in[3]), e = READ_ONCE(in[4]), f = READ_ONCE(in[5]);
	u64 g = READ_ONCE(in[6]), h = READ_ONCE(in[7]), i = READ_ONCE(in[8]);
	u64 j = READ_ONCE(in[9]), k = READ_ONCE(in[10]), l = READ_ONCE(in[11]);

	call(2);
	/* Keeps them from being added up before the call. */
	asm volatile("" : "+rm" (a), "+rm" (b), "+rm" (c), "+rm" (d), "+rm" (e), "+rm" (f),
			  "+rm" (g), "+rm" (h), "+rm" (i), "+rm" (j), "+rm" (k), "+rm" (l));
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
	       11 * k + 12 * l;
}

static u64 live[2][12];

static u32 leaves_with_other_values(u32 x)
{
	note_seen(0, x);
	return values_across(live[1], leave_from_deep);
}

static void caller_keeps_its_registers_when_a_handler_is_left(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	unsigned int i;
	u64 sum;

	for (i = 0; i < ARRAY_SIZE(live[0]); i++) {
		live[0][i] = (i + 1) * 0x9e3779b97f4a7c15;
		live[1][i] = ~live[0][i];
	}
	sum = values_across(live[0], step->call);
	jprobe_registered(test, step->call, leaves_with_other_values);
	KUNIT_EXPECT_EQ(test, values_across(live[0], step->call), sum);
	KUNIT_EXPECT_EQ(test, seen[0].calls, 1);
}

static unsigned int wrong_calls(const struct kprobes_step *step, unsigned int calls)
{
	unsigned int i, wrong_ones = 0;

	for (i = 0; i < calls; i++)
		wrong_ones += step->call(i) != kprobes_expected(i) || seen[0].x != i;
	return wrong_ones;
}

#define MANY	10000
#define LEAVE	4711

/* A handler calls this with LEAVE, and it does not return then. */
static noinline __noclone u32 kprobes_test_leaver(u32 x)
{
	if (x == LEAVE)
		leave();
	kprobes_begin(&x);
	return x + 1;
}

static u32 leaves_in_another_function(u32 x)
{
	note_seen(0, x);
	return kprobes_test_leaver(LEAVE);
}

/* An fprobe sees calls by handlers, too, and diverts their returns. */
static unsigned int traced_entries, traced_exits;

static int note_traced_entry(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			     struct ftrace_regs *fregs, void *data)
{
	traced_entries++;
	return 0;
}

static void note_traced_exit(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			     struct ftrace_regs *fregs, void *data)
{
	traced_exits++;
}

KUNIT_DEFINE_ACTION_WRAPPER(fprobe_drop, unregister_fprobe, struct fprobe *);

static void return_probes_and_fprobes_lose_nothing_in_what_is_left(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *outside = plant_return_probe(test, step->call);
	struct return_probe *handler = plant_return_probe(test, leaves_in_another_function);
	struct return_probe *left = plant_return_probe(test, kprobes_test_leaver);
	struct fprobe *fp = test_alloc(test, sizeof(*fp));
	const char *symbol = "kprobes_test_leaver";

	fp->entry_handler = note_traced_entry;
	fp->exit_handler = note_traced_exit;
	if (IS_ENABLED(CONFIG_FPROBE)) {
		KUNIT_ASSERT_EQ(test, 0, register_fprobe_syms(fp, &symbol, 1));
		KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, fprobe_drop, fp));
	}
	traced_entries = 0;
	traced_exits = 0;
	jprobe_registered(test, step->call, leaves_in_another_function);
	KUNIT_EXPECT_EQ(test, wrong_calls(step, MANY), 0);
	KUNIT_EXPECT_EQ(test, traced_entries, IS_ENABLED(CONFIG_FPROBE) * MANY);
	KUNIT_EXPECT_EQ(test, traced_exits, 0);
	KUNIT_EXPECT_EQ(test, kprobes_test_leaver(1), 2);
	KUNIT_EXPECT_EQ(test, traced_exits, IS_ENABLED(CONFIG_FPROBE));
	KUNIT_EXPECT_EQ(test, fp->nmissed, 0);
	KUNIT_EXPECT_EQ(test, seen[0].calls, MANY);
	expect_returns(test, outside, MANY, 0);
	expect_returns(test, handler, 0, MANY);
	expect_returns(test, left, 1, MANY);
}

static struct trace trace;

static u32 takes_a_trace(u32 x)
{
	trace_take(&trace);
	leave();
	return 0;
}

static noinline __noclone u32 trace_caller(u32 (*call)(u32 x))
{
	u32 value = call(1);

	barrier();
	return value;
}

static void stack_trace_shows_the_function_and_its_caller(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	unsigned int at;

	if (!IS_ENABLED(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE))
		kunit_skip(test, "not promised by this architecture");
	jprobe_registered(test, step->call, takes_a_trace);
	trace.length = 0;
	trace_caller(step->call);
	at = trace_find(&trace, step->call);
	KUNIT_ASSERT_LT_MSG(test, at + 1, trace.length, "the function is not in the trace");
	if (!KPROBES_TRACE_AT_ENTRY)
		return;
	KUNIT_EXPECT_TRUE_MSG(test, kprobes_within(trace_caller, trace.entries[at + 1]),
			      "%pS follows on the function", (void *)trace.entries[at + 1]);
}

static void jprobe_without_a_function_is_refused_and_not_changed(struct kunit *test)
{
	const union any_probe none = {};

	any_expect_refused(test, any_new(test, JPROBE, &none, kprobes_untraced), -EINVAL);
}

static int jprobes_test_init(struct kunit *test)
{
	memset(seen, 0, sizeof(seen));
	return kprobes_watch_targets(test);
}

static struct kunit_case jprobes_test_cases[] = {
	KUNIT_CASE_PARAM(jprobes_kprobes_and_return_probes_share_a_function, entry_gen_params),
	KUNIT_CASE_PARAM(caller_keeps_its_registers_when_a_handler_is_left, entry_gen_params),
	KUNIT_CASE_PARAM(return_probes_and_fprobes_lose_nothing_in_what_is_left, entry_gen_params),
	KUNIT_CASE_PARAM(stack_trace_shows_the_function_and_its_caller, entry_gen_params),
	KUNIT_CASE(jprobe_without_a_function_is_refused_and_not_changed),
	{}
};

#else

static void jprobe_is_refused_where_there_are_none(struct kunit *test)
{
	struct jprobe jp = { .kp.addr = (void *)kprobes_traced, .entry = kprobes_untraced };

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, register_jprobe(&jp));
}

static struct kunit_case jprobes_test_cases[] = {
	KUNIT_CASE(jprobe_is_refused_where_there_are_none),
	{}
};

#define jprobes_test_init	NULL

#endif

static struct kunit_suite jprobes_test_suite = {
	.name = "kprobes_jprobe_test",
	.init = jprobes_test_init,
	.exit = expect_none_came_back,
	.test_cases = jprobes_test_cases,
};

kunit_test_suite(jprobes_test_suite);

MODULE_DESCRIPTION("KUnit tests of jprobes");
MODULE_LICENSE("GPL");
