// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of return probes, through what modules can call.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>

#include "support/probe.h"
#include "support/trace.h"

/* Are entry handlers told where the call returns to? */
#define KPROBES_KNOWS_CALLERS	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64))

KUNIT_ARRAY_PARAM_DESC(entry, kprobes_entries, name);

/**
 * struct return_probe - a return probe that takes notes
 * @any: for any_drop()
 * @rp: the probe itself
 * @entries: how often the entry handler ran
 * @returns: how often the return handler ran
 * @value: the value returned last
 * @sum: all private data that reached the return handler, added up
 * @retaddr: where the probed function was going to return to
 * @from: the same, as the entry handler was told
 * @left: private data that was there before the entry handler
 * @owner: what get_kretprobe() returned
 * @preemptible: some handler could have been preempted
 * @masked: the saved registers said to some handler that interrupts were off
 * @skip: result of the entry handler
 * @force: the value that the caller gets, if not 0
 * @trace: where the return handler stores a stack trace, or NULL
 */
struct return_probe {
	union {
		struct any any;
		struct kretprobe rp;
	};
	unsigned int entries, returns;
	unsigned long value, sum, retaddr, from, left;
	struct kretprobe *owner;
	bool preemptible, masked;
	int skip;
	unsigned long force;
	struct trace *trace;
};

static int note_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct return_probe *probe = container_of(get_kretprobe(ri), struct return_probe, rp);

	probe->entries++;
	probe->preemptible |= preemptible();
	probe->masked |= !kprobes_interruptible(regs);
	probe->from = get_kretprobe_retaddr(ri);
	if (probe->rp.data_size >= sizeof(u32)) {
		probe->left |= *(u32 *)ri->data;
		*(u32 *)ri->data = kprobes_argument(regs);
	}
	return probe->skip;
}

static int note_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct return_probe *probe = container_of(get_kretprobe(ri), struct return_probe, rp);

	probe->returns++;
	probe->value = regs_return_value(regs);
	probe->retaddr = get_kretprobe_retaddr(ri);
	probe->owner = get_kretprobe(ri);
	probe->preemptible |= preemptible();
	probe->masked |= !kprobes_interruptible(regs);
	if (probe->rp.data_size >= sizeof(u32))
		probe->sum += *(u32 *)ri->data;
	if (probe->force)
		kprobes_set_result(regs, probe->force);
	if (probe->trace)
		trace_take(probe->trace);
	return 0;
}

static void return_probe_reset(struct return_probe *probe, void *addr)
{
	const union any_probe like = { .rp.handler = note_return };

	memset(probe, 0, sizeof(*probe));
	probe->any.type = RETURN_PROBE;
	any_reset(&probe->any.probe, &like, addr);
}

/* It is unregistered when the case ends, if not before. */
static struct return_probe *return_probe_new(struct kunit *test, void *addr)
{
	struct return_probe *probe = test_alloc(test, sizeof(*probe));

	return_probe_reset(probe, addr);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, any_drop, probe));
	return probe;
}

static struct return_probe *return_probe_registered(struct kunit *test, void *addr)
{
	struct return_probe *probe = return_probe_new(test, addr);

	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	return probe;
}

static noinline __noclone void test_caller(struct kunit *test, const struct kprobes_step *step)
{
	kprobes_call_step(test, step);
	barrier();
}

/* Handlers */

/* A past bug: return probes were refused in NMIs, and on x86 a breakpoint counts as one. */
static void handlers_run_at_entry_and_return(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *probe = return_probe_new(test, step->call);

	probe->rp.entry_handler = note_entry;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	test_caller(test, step);
	KUNIT_EXPECT_EQ(test, probe->entries, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, probe->returns, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, probe->value, kprobes_expected(-15));
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, probe->rp.kp.nmissed, 0);
	KUNIT_EXPECT_PTR_EQ(test, probe->owner, &probe->rp);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	KUNIT_EXPECT_FALSE(test, probe->masked);
	KUNIT_EXPECT_TRUE(test, kprobes_within(test_caller, probe->retaddr));
	KUNIT_EXPECT_TRUE(test, probe->rp.kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);

	unregister_kretprobe(&probe->rp);
	test_caller(test, step);
	KUNIT_EXPECT_EQ(test, probe->entries, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, probe->returns, KPROBES_CALLS);
}

static void any_handler_may_be_null(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *probe = return_probe_new(test, step->call);

	probe->rp.handler = NULL;
	probe->rp.entry_handler = note_entry;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->entries, KPROBES_CALLS);
}

/* Its owner must not do that, but survives. Without a pre handler no more calls are followed. */
static void any_handler_may_be_set_to_null_in_use(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *probe = return_probe_new(test, step->call);
	int maxactive;

	for (maxactive = 0; maxactive < 2; maxactive++) {
		return_probe_reset(probe, step->call);
		probe->rp.entry_handler = note_entry;
		probe->rp.maxactive = maxactive;
		KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
		kprobes_call_step(test, step);
		WRITE_ONCE(probe->rp.entry_handler, NULL);
		kprobes_call_step(test, step);
		KUNIT_EXPECT_EQ(test, probe->entries, KPROBES_CALLS);
		KUNIT_EXPECT_EQ(test, probe->returns, 2 * KPROBES_CALLS);
		WRITE_ONCE(probe->rp.handler, NULL);
		kprobes_call_step(test, step);
		WRITE_ONCE(probe->rp.handler, note_return);
		WRITE_ONCE(probe->rp.kp.pre_handler, NULL);
		kprobes_call_step(test, step);
		KUNIT_EXPECT_EQ(test, probe->returns, 2 * KPROBES_CALLS);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		unregister_kretprobe(&probe->rp);
	}
}

static void return_handler_changes_the_value(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *probe;

	kprobes_need_results(test);
	probe = return_probe_registered(test, step->call);
	probe->force = 4711;
	KUNIT_EXPECT_EQ(test, step->call(1), 4711);
	probe->force = 0;
	KUNIT_EXPECT_EQ(test, step->call(1), kprobes_expected(1));
}

/* A past bug: an entry handler saw what another return probe had left in its memory. */
static void entry_handler_skips_the_return(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *probe = return_probe_new(test, step->call);

	probe->rp.entry_handler = note_entry;
	probe->rp.maxactive = 1;
	probe->skip = 1;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->entries, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, probe->returns, 0);
	KUNIT_EXPECT_EQ_MSG(test, probe->rp.nmissed, 0, "what is skipped is not missed");

	/* Nothing was recorded in this pool, so it can only be known from the call itself. */
	if (KPROBES_KNOWS_CALLERS)
		KUNIT_EXPECT_NE(test, probe->from, 0);

	probe->skip = 0;
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->returns, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

/* Recursion */

static noinline __noclone u32 recursive(u32 depth)
{
	u32 below;

	/* Not to hit a branch with an empty delay slot: the hooks of mips never end such a hit. */
	if (IS_ENABLED(CONFIG_MIPS))
		asm volatile(".set push; .set noreorder; nop; .set pop" : : : "memory");
	below = depth ? recursive(depth - 1) : 0;
	return kprobes_one_more(below);
}

#define DEPTH	6

static void recursive_function_returns_on_every_level(struct kunit *test)
{
	struct return_probe *probe;

	kprobes_text_watch(test, recursive);
	probe = return_probe_new(test, kprobes_entry(recursive));
	probe->rp.entry_handler = note_entry;
	probe->rp.data_size = sizeof(u32);
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	KUNIT_EXPECT_EQ(test, recursive(DEPTH), DEPTH + 1);
	KUNIT_EXPECT_EQ(test, probe->returns, DEPTH + 1);
	KUNIT_EXPECT_EQ(test, probe->value, DEPTH + 1);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	if (KPROBES_TELLS_ARGUMENTS)
		KUNIT_EXPECT_EQ_MSG(test, probe->sum, DEPTH * (DEPTH + 1) / 2,
				    "private data of the levels got mixed up");
	if (!KPROBES_KNOWS_CALLERS)
		return;
	/* These calls have the memory of the ones before, in which the data were. */
	KUNIT_EXPECT_EQ(test, recursive(DEPTH), DEPTH + 1);
	KUNIT_EXPECT_EQ_MSG(test, probe->left, 0, "private data of an earlier call");
	KUNIT_EXPECT_TRUE(test, kprobes_within(recursive, probe->from));
}

static void maxactive_is_a_cap_and_misses_are_counted(struct kunit *test)
{
	int maxactive;

	kprobes_text_watch(test, recursive);
	for (maxactive = 1; maxactive <= DEPTH + 2; maxactive++) {
		struct return_probe *probe = return_probe_new(test, kprobes_entry(recursive));
		int seen = min(maxactive, DEPTH + 1);

		probe->rp.maxactive = maxactive;
		KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
		KUNIT_EXPECT_EQ(test, recursive(DEPTH), DEPTH + 1);
		KUNIT_EXPECT_EQ(test, probe->returns, seen);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, DEPTH + 1 - seen);
		KUNIT_EXPECT_EQ(test, recursive(0), 1);
		KUNIT_EXPECT_EQ_MSG(test, probe->returns, seen + 1,
				    "the instances did not all come back");
		unregister_kretprobe(&probe->rp);
	}
}

/*
 * So many that the bytes for one CPU are a little more than what 32 bits can tell from few. No
 * pool has more than 2^24 instances. Divided among many CPUs they can be had, but may take all
 * memory of the machine.
 */
static void maxactive_beyond_all_memory_is_refused(struct kunit *test)
{
	struct return_probe *probe = return_probe_new(test, kprobes_entry(recursive));

	if (num_possible_cpus() > 16)
		kunit_skip(test, "no pool is that large for one of so many CPUs");
	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	probe->rp.maxactive = num_possible_cpus() << 20;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe->rp), -ENOMEM);
}

/* Nesting, and several probes on one function */

static noinline __noclone u32 nesting(const struct kprobes_step *step, u32 x)
{
	u32 inner = step->call(x);

	asm volatile("" : "+r" (inner) : : "memory");
	return inner + 1000;
}

static void nested_functions_return_through_their_own_probes(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *outer, *inner;

	kprobes_text_watch(test, nesting);
	outer = return_probe_registered(test, kprobes_entry(nesting));
	inner = return_probe_registered(test, step->call);
	KUNIT_EXPECT_EQ(test, nesting(step, 5), kprobes_expected(5) + 1000);
	KUNIT_EXPECT_EQ(test, inner->returns, 1);
	KUNIT_EXPECT_EQ(test, inner->value, kprobes_expected(5));
	KUNIT_EXPECT_TRUE(test, kprobes_within(nesting, inner->retaddr));
	KUNIT_EXPECT_EQ(test, outer->returns, 1);
	KUNIT_EXPECT_EQ(test, outer->value, kprobes_expected(5) + 1000);
}

#define CROWD	3

/* Rethook tells only the first one that was planted. */
static bool knows_caller(struct return_probe *probe)
{
	return IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK) ||
	       kprobes_within(test_caller, probe->retaddr);
}

static void several_return_probes_share_a_function(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct return_probe *crowd[CROWD];
	unsigned int gone, i;

	for (i = 0; i < CROWD; i++)
		crowd[i] = return_probe_registered(test, step->call);
	for (gone = 0; gone <= CROWD; gone++) {
		test_caller(test, step);
		for (i = 0; i < CROWD; i++) {
			unsigned int calls = min(gone, i) + 1;

			KUNIT_EXPECT_EQ(test, crowd[i]->returns, calls * KPROBES_CALLS);
			KUNIT_EXPECT_TRUE(test, knows_caller(crowd[i]));
		}
		if (gone < CROWD)
			unregister_kretprobe(&crowd[gone]->rp);
	}
}

static void return_probes_and_kprobes_share_a_function(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	const struct kprobes_step *leave = kprobes_find_step("return");
	struct probe *before = probe_registered(test, step->call);
	struct return_probe *probe = return_probe_registered(test, step->call);
	struct probe *after = probe_new(test, step->call);
	struct probe *last = NULL;

	after->kp.post_handler = probe_post_handler;
	KUNIT_ASSERT_EQ(test, 0, probe_register(after));
	if (leave && leave->call == step->call)
		last = probe_registered(test, leave->addr);
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, before->hits, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, after->hits, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, after->posts, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, probe->returns, KPROBES_CALLS);
	if (last)
		KUNIT_EXPECT_EQ(test, last->hits, KPROBES_CALLS);
}

/* Leaving while the function runs */

static struct return_probe *leaving;

static noinline __noclone u32 unregisters_its_own_probe(u32 x)
{
	if (leaving)
		unregister_kretprobe(&leaving->rp);
	return x + 1;
}

static void probe_may_leave_before_the_function_returns(struct kunit *test)
{
	struct return_probe *probe;
	u32 value;

	kprobes_text_watch(test, unregisters_its_own_probe);
	probe = return_probe_registered(test, kprobes_entry(unregisters_its_own_probe));
	leaving = probe;
	value = unregisters_its_own_probe(41);
	leaving = NULL;
	KUNIT_EXPECT_EQ(test, value, 42);
	KUNIT_EXPECT_EQ(test, probe->returns, 0);
}

static DECLARE_COMPLETION(inside);

static noinline __noclone u32 never_returns(u32 x)
{
	if (x) {
		complete(&inside);
		kthread_exit(0);
	}
	return x;
}

static int thread_never_returns(void *unused)
{
	return never_returns(1);
}

/* When the dead task has been reaped, another call can have its instance. */
static bool return_is_seen_soon(struct return_probe *probe)
{
	unsigned int tries;

	for (tries = 0; tries < 100 && !probe->returns; tries++) {
		rcu_barrier();
		never_returns(0);
		msleep(20);
	}
	return probe->returns;
}

/* A past bug: instances of tasks that died inside were lost, or freed too early. */
static void task_that_exits_inside_gives_its_instance_back(struct kunit *test)
{
	struct return_probe *probe;
	struct task_struct *task;

	kprobes_text_watch(test, never_returns);
	probe = return_probe_new(test, kprobes_entry(never_returns));
	probe->rp.maxactive = 1;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	reinit_completion(&inside);
	task = kthread_run(thread_never_returns, NULL, "kprobes_exit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&inside);
	KUNIT_EXPECT_TRUE(test, return_is_seen_soon(probe));
}

/* Stack traces */

static struct trace traces[3];

static noinline __noclone u32 traces_itself(u32 x)
{
	trace_take(&traces[0]);
	barrier();
	return x + 1;
}

static noinline __noclone u32 calls_the_tracer(u32 x)
{
	u32 value = traces_itself(x);

	trace_take(&traces[1]);
	return value + 1;
}

static noinline __noclone u32 calls_both(u32 x)
{
	return kprobes_one_more(calls_the_tracer(x));
}

/* A past bug: stack traces ended at a trampoline. */
static void stack_trace_shows_callers_not_trampolines(struct kunit *test)
{
	struct return_probe *inner, *outer;

	if (!IS_ENABLED(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE))
		kunit_skip(test, "not promised by this architecture");
	inner = return_probe_registered(test, kprobes_entry(traces_itself));
	outer = return_probe_registered(test, kprobes_entry(calls_the_tracer));
	inner->trace = &traces[2];

	KUNIT_EXPECT_EQ(test, calls_both(1), 4);
	KUNIT_EXPECT_EQ(test, inner->returns, 1);
	KUNIT_EXPECT_EQ(test, outer->returns, 1);
	/* Inside the inner function, after its return, and in its return handler */
	KUNIT_EXPECT_EQ(test, trace_count(&traces[0], traces_itself), 1);
	KUNIT_EXPECT_EQ(test, trace_count(&traces[0], calls_the_tracer), 1);
	KUNIT_EXPECT_EQ(test, trace_count(&traces[0], calls_both), 1);
	KUNIT_EXPECT_EQ(test, trace_count(&traces[1], calls_the_tracer), 1);
	KUNIT_EXPECT_EQ(test, trace_count(&traces[1], calls_both), 1);
	KUNIT_EXPECT_EQ(test, trace_count(&traces[2], calls_the_tracer), 1);
	KUNIT_EXPECT_EQ(test, trace_count(&traces[2], calls_both), 1);
}

/* Refusals */

/* After this, it can be used again. */
static void expect_refused(struct kunit *test, struct return_probe *probe, int errno)
{
	struct kretprobe before;

	memcpy(&before, &probe->rp, sizeof(before));
	KUNIT_EXPECT_EQ(test, errno, register_kretprobe(&probe->rp));
	KUNIT_EXPECT_MEMEQ_MSG(test, &probe->rp, &before, sizeof(before), "it was changed");
	unregister_kretprobe(&probe->rp);
	return_probe_reset(probe, kprobes_untraced);
}

/* A past bug: data_size had no limit. */
static void private_data_has_a_limit(struct kunit *test)
{
	struct return_probe *probe = return_probe_new(test, kprobes_untraced);

	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
	expect_refused(test, probe, -E2BIG);
	probe->rp.data_size = SIZE_MAX;
	expect_refused(test, probe, -E2BIG);
	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	probe->rp.entry_handler = note_entry;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	kprobes_untraced(17);
	KUNIT_EXPECT_EQ(test, probe->returns, 1);
	if (KPROBES_TELLS_ARGUMENTS)
		KUNIT_EXPECT_EQ(test, probe->sum, 17);
}

/* A past bug: with landing pads, a function that switches stacks was not recognized. */
static void function_with_another_return_is_refused(struct kunit *test)
{
	struct return_probe *probe = return_probe_new(test, NULL);

	probe->rp.kp.symbol_name = KPROBES_NO_RETURN_SYMBOL;
	/* Disabled: if it is accepted, the kernel must live long enough to report that. */
	probe->rp.kp.flags = KPROBE_FLAG_DISABLED;
	if (!probe->rp.kp.symbol_name)
		kunit_skip(test, "no such function on this architecture");
	expect_refused(test, probe, -EINVAL);
	KUNIT_EXPECT_EQ(test, 0, register_kretprobe(&probe->rp));
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->returns, 1);
}

static struct kunit_case kretprobes_test_cases[] = {
	KUNIT_CASE_PARAM(handlers_run_at_entry_and_return, entry_gen_params),
	KUNIT_CASE_PARAM(any_handler_may_be_null, entry_gen_params),
	KUNIT_CASE_PARAM(any_handler_may_be_set_to_null_in_use, entry_gen_params),
	KUNIT_CASE_PARAM(return_handler_changes_the_value, entry_gen_params),
	KUNIT_CASE_PARAM(entry_handler_skips_the_return, entry_gen_params),
	KUNIT_CASE(recursive_function_returns_on_every_level),
	KUNIT_CASE(maxactive_is_a_cap_and_misses_are_counted),
	KUNIT_CASE(maxactive_beyond_all_memory_is_refused),
	KUNIT_CASE_PARAM(nested_functions_return_through_their_own_probes, entry_gen_params),
	KUNIT_CASE_PARAM(several_return_probes_share_a_function, entry_gen_params),
	KUNIT_CASE_PARAM(return_probes_and_kprobes_share_a_function, entry_gen_params),
	KUNIT_CASE(probe_may_leave_before_the_function_returns),
	KUNIT_CASE(task_that_exits_inside_gives_its_instance_back),
	KUNIT_CASE(stack_trace_shows_callers_not_trampolines),
	KUNIT_CASE(private_data_has_a_limit),
	KUNIT_CASE(function_with_another_return_is_refused),
	{}
};

static struct kunit_suite kretprobes_test_suite = {
	.name = "kretprobes_test",
	.init = kprobes_watch_targets,
	.test_cases = kretprobes_test_cases,
};

kunit_test_suite(kretprobes_test_suite);

MODULE_DESCRIPTION("KUnit tests of return probes");
MODULE_LICENSE("GPL");
