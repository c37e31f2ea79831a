// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of return probes, through what modules can call: the interface; functions that many
 * tasks have entered at the same time, or that interrupts call, too; and stack traces.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fprobe.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>

#include "support/probe.h"
#include "support/threads.h"
#include "support/trace.h"

/* Are entry handlers told where the call returns to? */
#define KPROBES_KNOWS_CALLERS	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64))

/* There are return stacks where return probes are not based on rethook. */
#define LOSES_NOTHING	IS_ENABLED(CONFIG_KRETPROBE_RETURN_STACK)

KUNIT_ARRAY_PARAM_DESC(entry, kprobes_entries, name);

#define TRACES_CALLERS	(IS_ENABLED(CONFIG_STACKTRACE) && \
			 IS_ENABLED(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE))

static void need(struct kunit *test, bool promised)
{
	if (!promised)
		kunit_skip(test, "not promised by this architecture");
}

/* A return probe that notes what its handlers were given, and checks it */
struct noted {
	struct return_probe p;
	atomic_t in_interrupt;		/* entries that were not in a task */
	atomic_t left;			/* words of data that were there before the entry handler */
	atomic_t mixed_up;		/* words that were not this call's when it returned */
	struct kretprobe_instance *last; /* of the last entry */
	unsigned long value, retaddr;	/* returned last, and to where */
	unsigned long from;		/* to where, as the entry handler was told */
	struct kretprobe *owner;	/* what get_kretprobe() returned */
	bool preemptible;		/* some handler could have been preempted */
	bool masked;			/* some saved registers said that interrupts were off */
	int skip;			/* result of the entry handler */
	unsigned long force;		/* the value that the caller gets, if not 0 */
	struct trace *entry_trace, *return_trace; /* where to store stack traces, or NULL */
};

/* Set by the interrupt itself: a hit's exception may count as an interrupt, too. */
static bool in_an_interrupt;

/* Unique to a call: its stack pointer or, where that is not known at a return, its instance */
static unsigned long token_of(struct kretprobe_instance *ri, unsigned long sp)
{
	return KPROBES_RETURN_POPS < 0 ? (unsigned long)ri : sp;
}

/* Fills all private data with the token of the call. */
static int note_entry(struct return_probe *p, struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct noted *probe = container_of(p, struct noted, p);
	unsigned long token = token_of(ri, kernel_stack_pointer(regs));
	unsigned long *data = (unsigned long *)ri->data;
	size_t i;

	if (in_an_interrupt)
		atomic_inc(&probe->in_interrupt);
	probe->preemptible |= preemptible();
	probe->masked |= !kprobes_interruptible(regs);
	probe->from = get_kretprobe_retaddr(ri);
	probe->last = ri;
	for (i = 0; i < p->rp.data_size / sizeof(*data); i++) {
		if (data[i])
			atomic_inc(&probe->left);
		data[i] = token + i;
	}
	if (probe->entry_trace)
		trace_take(probe->entry_trace);
	return probe->skip;
}

/* The stack pointer is past the return address by now, if that was on the stack. */
static void note_return(struct return_probe *p, struct kretprobe_instance *ri,
			struct pt_regs *regs)
{
	struct noted *probe = container_of(p, struct noted, p);
	unsigned long token = token_of(ri, kernel_stack_pointer(regs) - KPROBES_RETURN_POPS);
	unsigned long *data = (unsigned long *)ri->data;
	size_t i;

	probe->value = regs_return_value(regs);
	probe->retaddr = get_kretprobe_retaddr(ri);
	probe->owner = get_kretprobe(ri);
	probe->preemptible |= preemptible();
	probe->masked |= !kprobes_interruptible(regs);
	for (i = 0; p->on_entry && i < p->rp.data_size / sizeof(*data); i++) {
		if (data[i] != token + i)
			atomic_inc(&probe->mixed_up);
	}
	if (probe->force)
		kprobes_set_result(regs, probe->force);
	if (probe->return_trace)
		trace_take(probe->return_trace);
}

static struct noted *noted_like(struct kunit *test, void *addr, const struct noted *like)
{
	struct noted *probe = test_alloc(test, sizeof(*probe));

	*probe = *like;
	probe->p.on_return = note_return;
	return_probe_init(test, &probe->p, addr ? kprobes_entry(addr) : NULL);
	return probe;
}

static struct noted *noted_registered(struct kunit *test, void *addr, const struct noted *like)
{
	struct noted *probe = noted_like(test, addr, like);

	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->p.rp));
	return probe;
}

/* With fields as given; without .p.on_entry = note_entry it has no entry handler. */
#define noted_new(test, addr, ...) \
	noted_like(test, addr, &(const struct noted) { __VA_ARGS__ })
#define noted_with(test, addr, ...) \
	noted_registered(test, addr, &(const struct noted) { __VA_ARGS__ })

/* One that counts entries, too, and checks that calls do not get each other's data */
static struct noted *counted(struct kunit *test, void *addr, size_t data_size, int maxactive)
{
	return noted_with(test, addr, .p.on_entry = note_entry, .p.rp.data_size = data_size,
			  .p.rp.maxactive = maxactive);
}

static int entries_of(struct noted *probe)
{
	return atomic_read(&probe->p.entries);
}

static int returns_of(struct noted *probe)
{
	return atomic_read(&probe->p.returns);
}

/* Each call must have returned, with its own private data, or count as missed. */
static void expect_counts(struct kunit *test, struct noted *probe, int calls, int missed)
{
	KUNIT_EXPECT_EQ(test, returns_of(probe), calls - missed);
	KUNIT_EXPECT_EQ(test, entries_of(probe), probe->p.on_entry ? calls - missed : 0);
	KUNIT_EXPECT_EQ(test, probe->p.rp.nmissed, missed);
	KUNIT_EXPECT_EQ(test, probe->p.rp.kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->mixed_up), 0);
}

static noinline __noclone void test_caller(struct kunit *test, const struct kprobes_step *step)
{
	kprobes_call_step(test, step);
	barrier();
}

/* A past bug: return probes were refused in NMIs, and on x86 a breakpoint counts as one. */
static void handlers_run_at_entry_and_return_and_may_change_the_value(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct noted *probe = counted(test, step->call, 0, 0);

	test_caller(test, step);
	expect_counts(test, probe, KPROBES_CALLS, 0);
	KUNIT_EXPECT_EQ(test, probe->value, kprobes_expected(-15));
	KUNIT_EXPECT_PTR_EQ(test, probe->owner, &probe->p.rp);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	KUNIT_EXPECT_FALSE(test, probe->masked);
	KUNIT_EXPECT_TRUE(test, kprobes_within(test_caller, probe->retaddr));
	KUNIT_EXPECT_TRUE(test, probe->p.rp.kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);

	probe->force = KPROBES_SETS_RESULTS ? 4711 : 0;
	KUNIT_EXPECT_EQ(test, step->call(1), probe->force ?: kprobes_expected(1));
	unregister_kretprobe(&probe->p.rp);
	test_caller(test, step);
	expect_counts(test, probe, KPROBES_CALLS + 1, 0);

	/* There need not be a return handler. */
	probe = noted_new(test, step->call, .p.on_entry = note_entry);
	probe->p.rp.handler = NULL;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->p.rp));
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, entries_of(probe), KPROBES_CALLS);
}

/* A past bug: an entry handler saw what another return probe had left in its memory. */
static void entry_handler_skips_the_return(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct noted *probe = noted_with(test, step->call, .p.on_entry = note_entry,
					 .p.rp.maxactive = 1, .skip = 1);

	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, entries_of(probe), KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, returns_of(probe), 0);
	KUNIT_EXPECT_EQ_MSG(test, probe->p.rp.nmissed, 0, "what is skipped is not missed");

	/* Nothing was recorded in this pool, so it can only be known from the call itself. */
	if (KPROBES_KNOWS_CALLERS)
		KUNIT_EXPECT_NE(test, probe->from, 0);

	probe->skip = 0;
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, returns_of(probe), KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, probe->p.rp.nmissed, 0);
}

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

/* The cap of another probe does not count for it. */
static void recursive_function_returns_on_every_level(struct kunit *test)
{
	struct noted *probe, *capped;

	kprobes_text_watch(test, recursive);
	capped = noted_with(test, recursive, .p.rp.maxactive = 3);
	probe = counted(test, recursive, sizeof(long), 0);
	KUNIT_EXPECT_EQ(test, recursive(DEPTH), DEPTH + 1);
	expect_counts(test, probe, DEPTH + 1, 0);
	expect_counts(test, capped, DEPTH + 1, DEPTH - 2);
	KUNIT_EXPECT_EQ(test, probe->value, DEPTH + 1);
	if (!KPROBES_KNOWS_CALLERS)
		return;
	/* These calls have the memory of the ones before, in which the data were. */
	KUNIT_EXPECT_EQ(test, recursive(DEPTH), DEPTH + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->left), 0);
	KUNIT_EXPECT_TRUE(test, kprobes_within(recursive, probe->from));
}

/* The last cap is more than there is memory for without one, where that is from return stacks. */
static void maxactive_is_a_cap_and_misses_are_counted(struct kunit *test)
{
	static const int caps[] = { 1, 2, DEPTH, LOSES_NOTHING ? 100 : 10 };
	unsigned int i;

	kprobes_text_watch(test, recursive);
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		struct noted *probe = noted_with(test, recursive, .p.rp.maxactive = caps[i]);

		KUNIT_EXPECT_EQ(test, recursive(caps[i] - 1), caps[i]);
		expect_counts(test, probe, caps[i], 0);
		/* The instances have all come back. */
		KUNIT_EXPECT_EQ(test, recursive(caps[i] + 1), caps[i] + 2);
		expect_counts(test, probe, 2 * caps[i] + 2, 2);
		unregister_kretprobe(&probe->p.rp);
	}
}

/*
 * So many that the bytes for one CPU are a little more than what 32 bits can tell from few. No
 * pool has more than 2^24 instances. Divided among many CPUs they can be had, but may take all
 * memory of the machine.
 */
static void maxactive_beyond_all_memory_is_refused(struct kunit *test)
{
	struct noted *probe = noted_new(test, recursive,
					.p.rp.data_size = KRETPROBE_MAX_DATA_SIZE);

	if (num_possible_cpus() > 16)
		kunit_skip(test, "no pool is that large for one of so many CPUs");
	probe->p.rp.maxactive = num_possible_cpus() << 20;
	KUNIT_EXPECT_EQ(test, register_kretprobe(&probe->p.rp), -ENOMEM);
}

#define CROWD	3

/* Rethook tells only the first one that was planted. */
static bool knows_caller(struct noted *probe)
{
	return IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK) ||
	       kprobes_within(test_caller, probe->retaddr);
}

static void return_probes_and_a_kprobe_share_a_function(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *beside = probe_with(test, step->call,
					  .kp.post_handler = probe_post_handler);
	struct noted *probes[CROWD];
	unsigned int gone, i;

	for (i = 0; i < CROWD; i++)
		probes[i] = noted_with(test, step->call);
	for (gone = 0; gone <= CROWD; gone++) {
		test_caller(test, step);
		for (i = 0; i < CROWD; i++) {
			expect_counts(test, probes[i], (min(gone, i) + 1) * KPROBES_CALLS, 0);
			KUNIT_EXPECT_TRUE(test, knows_caller(probes[i]));
		}
		if (gone < CROWD)
			unregister_kretprobe(&probes[gone]->p.rp);
		probe_expect(test, beside, (gone + 1) * KPROBES_CALLS,
			     (gone + 1) * KPROBES_CALLS, 0);
	}
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

/*
 * When the dead task has been reaped, another call can have its instance, whether it was on a
 * return stack or its data is too large. A past bug: instances of tasks that died inside were lost,
 * or freed too early.
 */
static void task_that_exits_inside_gives_its_instance_back(struct kunit *test)
{
	unsigned int tries, large;
	struct noted *probe;

	kprobes_text_watch(test, never_returns);
	for (large = 0; large < 2; large++) {
		probe = noted_with(test, never_returns, .p.rp.maxactive = 1,
				   .p.rp.data_size = large * KRETPROBE_MAX_DATA_SIZE);
		reinit_completion(&inside);
		KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(thread_never_returns, NULL,
							    "kprobes_exit")));
		wait_for_completion(&inside);
		for (tries = 0; tries < 100 && !returns_of(probe); tries++) {
			rcu_barrier();
			never_returns(0);
			msleep(20);
		}
		KUNIT_EXPECT_GT(test, returns_of(probe), 0);
		unregister_kretprobe(&probe->p.rp);
	}
}

/* A past bug: data_size had no limit. */
static void private_data_has_a_limit(struct kunit *test)
{
	static const size_t too_large[] = { KRETPROBE_MAX_DATA_SIZE + 1, SIZE_MAX };
	struct noted *probe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(too_large); i++) {
		probe = noted_new(test, kprobes_untraced, .p.rp.data_size = too_large[i]);
		any_expect_refused(test, &probe->p.any, -E2BIG);
	}
	probe = counted(test, kprobes_untraced, KRETPROBE_MAX_DATA_SIZE, 0);
	kprobes_untraced(17);
	expect_counts(test, probe, 1, 0);
}

/* A past bug: with landing pads, a function that switches stacks was not recognized. */
static void function_with_another_return_is_refused(struct kunit *test)
{
	/* Disabled: if it is accepted, the kernel must live long enough to report that. */
	struct noted *probe = noted_new(test, NULL, .p.rp.kp.flags = KPROBE_FLAG_DISABLED);

	probe->p.rp.kp.symbol_name = KPROBES_NO_RETURN_SYMBOL;
	if (!probe->p.rp.kp.symbol_name)
		kunit_skip(test, "no such function on this architecture");
	any_expect_refused(test, &probe->p.any, -EINVAL);
}

/* Threads that sleep in a function until they are stopped */

static DECLARE_WAIT_QUEUE_HEAD(bed);
static atomic_t sleepers, wrong;

static noinline __noclone u32 sleeps(u32 depth)
{
	u32 below = 0;

	if (depth) {
		below = sleeps(depth - 1);
	} else {
		atomic_inc(&sleepers);
		wait_event_interruptible(bed, kthread_should_stop());
	}
	return kprobes_one_more(below);
}

static noinline __noclone u32 sleeps_deeper(u32 depth)
{
	return kprobes_one_more(sleeps(depth));
}

static noinline __noclone u32 sleeps_deepest(u32 depth)
{
	return kprobes_one_more(sleeps_deeper(depth));
}

static int sleeper_run(void *depth)
{
	if (sleeps_deepest((unsigned long)depth) != (unsigned long)depth + 3)
		atomic_inc(&wrong);
	return thread_idle();
}

/* How often to look whether threads have come where they are to sleep, once in 20 ms */
#define SLEEP_TRIES	6000

struct crowd {
	unsigned int num;
	struct task_struct *task[] __counted_by(num);
};

/* When this returns, all threads sleep in the function. */
static struct crowd *crowd_enter(struct kunit *test, unsigned int num, unsigned long depth)
{
	struct crowd *crowd = test_alloc(test, struct_size(crowd, task, num));
	unsigned int i, tries;

	crowd->num = num;
	atomic_set(&sleepers, 0);
	atomic_set(&wrong, 0);
	for (i = 0; i < num; i++) {
		crowd->task[i] = thread_new(test, sleeper_run, (void *)depth);
		wake_up_process(crowd->task[i]);
	}
	for (tries = 0; tries < SLEEP_TRIES && atomic_read(&sleepers) < num; tries++)
		msleep(20);
	KUNIT_ASSERT_EQ(test, atomic_read(&sleepers), num);
	return crowd;
}

/* When this returns, all threads have left the function. */
static void crowd_leave(struct kunit *test, struct crowd *crowd)
{
	unsigned int i;

	for (i = crowd->num; i--; )
		kunit_release_action(test, thread_stop, crowd->task[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong), 0);
}

static const size_t data_sizes[] = { 0, 8, 256 };

static void data_size_desc(const size_t *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%zu bytes of data", *size);
}

KUNIT_ARRAY_PARAM(data_size, data_sizes, data_size_desc);

#define MANY	1000
#define LEVELS	8

/* A past bug: the pool was too small on small machines. */
static void thousand_tasks_deep_inside_all_return(struct kunit *test)
{
	const size_t *size = test->param_value;
	struct noted *probe;
	struct crowd *crowd;

	need(test, LOSES_NOTHING);
	kprobes_text_watch(test, sleeps);
	probe = counted(test, sleeps, *size, 0);
	crowd = crowd_enter(test, MANY, LEVELS - 1);
	KUNIT_EXPECT_EQ(test, entries_of(probe), MANY * LEVELS);
	KUNIT_EXPECT_EQ(test, returns_of(probe), 0);
	crowd_leave(test, crowd);
	expect_counts(test, probe, MANY * LEVELS, 0);
}

/* How many calls there is memory for beside return stacks */
static int reserve_of_calls(void)
{
	return 2 * num_possible_cpus() + 64;
}

/* The data is too large for return stacks. Calls beyond the reserve are missed, and counted. */
static void large_data_has_a_reserve(struct kunit *test)
{
	const int reserve = reserve_of_calls();
	struct noted *probe;

	need(test, LOSES_NOTHING);
	probe = counted(test, sleeps, KRETPROBE_MAX_DATA_SIZE, 0);
	crowd_leave(test, crowd_enter(test, reserve + 10, 0));
	expect_counts(test, probe, reserve + 10, 10);
}

/*
 * Twice as many calls with 256 bytes of data as a return stack has room for. They have to fit on
 * the kernel's stack, too: on sparc64 a call takes 224 bytes of that, and there are 13 KiB.
 */
#define DEEP	30

/* When the return stacks are full, and then the reserve, calls are missed. */
static void deep_recursion_is_counted_to_the_end(struct kunit *test)
{
	const int reserve = reserve_of_calls(), tasks = 1 + reserve / 10, calls = tasks * DEEP;
	struct noted *probe;
	struct crowd *crowd;
	int missed;

	need(test, LOSES_NOTHING);
	probe = counted(test, sleeps, 256, 0);
	crowd = crowd_enter(test, tasks, DEEP - 1);
	missed = probe->p.rp.nmissed;
	KUNIT_EXPECT_GT(test, missed, 0);
	KUNIT_EXPECT_LE(test, missed, calls - tasks * LEVELS - reserve);
	crowd_leave(test, crowd);
	expect_counts(test, probe, calls, missed);

	/* All of that memory is free again. */
	crowd_leave(test, crowd_enter(test, 1, LEVELS - 1));
	expect_counts(test, probe, calls + LEVELS, missed);
}

/* One that stays has a cap, whoever is inside. */
static void tasks_inside_return_unseen_when_the_probe_has_left(struct kunit *test)
{
	const size_t *size = test->param_value;
	const int tasks = 20, calls = 3 * tasks, cap = 7;
	struct noted *capped = counted(test, sleeps, *size, cap);
	struct noted *probe = counted(test, sleeps, *size, calls);
	struct noted *stays = counted(test, sleeps, 8, 0);
	struct crowd *crowd = crowd_enter(test, tasks, 2);
	struct kretprobe_instance *ri = probe->last;

	kunit_release_action(test, any_drop, probe);
	if (LOSES_NOTHING) {
		guard(rcu)();
		KUNIT_EXPECT_NULL(test, get_kretprobe(ri));
	}
	/* The core must not use the struct any more. */
	memset(&probe->p.rp, 0x5a, sizeof(probe->p.rp));
	KUNIT_EXPECT_EQ(test, entries_of(probe), calls);
	KUNIT_EXPECT_EQ(test, capped->p.rp.nmissed, calls - cap);

	if (LOSES_NOTHING)
		kunit_release_action(test, any_drop, stays);
	crowd_leave(test, crowd);
	KUNIT_EXPECT_EQ(test, returns_of(probe), 0);
	expect_counts(test, capped, calls, calls - cap);
	KUNIT_EXPECT_EQ_MSG(test, capped->p.rp.maxactive, cap, "what the user wrote was changed");
}

static noinline __noclone u32 meets_interrupts(u32 x, struct irq_work *work)
{
	if (work) {
		irq_work_queue(work);
		irq_work_sync(work);
	}
	kprobes_begin(&x);
	return x + 1;
}

static u32 interrupt_saw;

static void call_from_interrupt(struct irq_work *work)
{
	in_an_interrupt = in_hardirq();
	interrupt_saw = meets_interrupts(41, NULL);
	in_an_interrupt = false;
}

/* A past bug: the stack pointer at a return was not that of the function. */
static void interrupt_enters_on_top_of_a_task(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(call_from_interrupt);
	struct noted *probe;
	unsigned int i;

	kprobes_text_watch(test, meets_interrupts);
	probe = counted(test, meets_interrupts, 64, 0);
	for (i = 0; i < 100; i++) {
		interrupt_saw = 0;
		KUNIT_ASSERT_EQ(test, meets_interrupts(i, &work), i + 1);
		KUNIT_ASSERT_EQ(test, interrupt_saw, 42);
	}
	expect_counts(test, probe, 200, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->in_interrupt), 100);
}

/* Are the functions in the trace, in this order, perhaps with others in between? */
static bool trace_has(const struct trace *trace, void *const *function, unsigned int num)
{
	unsigned int i, n = 0;

	for (i = 0; i < trace->length && n < num; i++)
		n += kprobes_within(function[n], trace->entries[i]);
	return n == num;
}

static const char *const trampolines[] = {
	"__kretprobe_trampoline+0x0/", "arch_rethook_trampoline+0x0/", "return_to_handler+0x0/",
};

/* Diverted returns lead to a trampoline's first byte. Functions that it calls return elsewhere. */
static bool trace_names_a_trampoline(struct trace *trace)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i, k;

	for (i = 0; i < trace->length; i++) {
		sprint_symbol(name, trace->entries[i]);
		for (k = 0; k < ARRAY_SIZE(trampolines); k++) {
			if (str_has_prefix(name, trampolines[k]))
				return true;
		}
	}
	return false;
}

static void expect_trace(struct kunit *test, struct trace *trace,
			 void *const *function, unsigned int num)
{
	KUNIT_EXPECT_TRUE(test, trace_has(trace, function, num));
	KUNIT_EXPECT_FALSE(test, trace_names_a_trampoline(trace));
}

/* Taken in the function, after it has returned, and by its handlers */
static struct trace inside_trace, after_trace, entry_trace, return_trace;

static noinline __noclone u32 traces_itself(u32 x)
{
	trace_take(&inside_trace);
	kprobes_begin(&x);
	return x + 1;
}

static noinline __noclone u32 level_one(u32 (*call)(u32 x))
{
	u32 value = call(1);

	trace_take(&after_trace);
	return value + 1;
}

static noinline __noclone u32 level_two(u32 (*call)(u32 x))
{
	return kprobes_one_more(level_one(call));
}

static noinline __noclone u32 level_three(u32 (*call)(u32 x))
{
	return kprobes_one_more(level_two(call));
}

/* A past bug: stack traces ended at a trampoline. */
static void handlers_see_callers_not_trampolines(struct kunit *test)
{
	void *const callers[] = { traces_itself, level_one, level_two, level_three };
	unsigned int unseen = KPROBES_TRACE_AT_ENTRY ? 1 : 2;
	struct noted *probe;

	need(test, TRACES_CALLERS);
	counted(test, level_one, 0, 0);
	counted(test, level_two, 0, 0);
	probe = noted_with(test, traces_itself, .p.on_entry = note_entry,
			   .entry_trace = &entry_trace, .return_trace = &return_trace);
	KUNIT_EXPECT_EQ(test, level_three(traces_itself), 5);
	expect_counts(test, probe, 1, 0);
	expect_trace(test, &inside_trace, callers, 4);
	KUNIT_EXPECT_EQ(test, trace_count(&inside_trace, traces_itself), 1);
	KUNIT_EXPECT_EQ(test, trace_count(&inside_trace, level_one), 1);
	expect_trace(test, &entry_trace, callers + unseen, 4 - unseen);
	expect_trace(test, &return_trace, callers + 1, 3);
	expect_trace(test, &after_trace, callers + 1, 3);
}

#ifdef CONFIG_FPROBE
/* What a handler was told of the caller: by its registers, and as an address */
struct told {
	unsigned int calls;
	unsigned long ip, ret_addr;
	struct trace trace;
};

struct told_fprobe {
	struct fprobe fp;
	struct told told;
};

static void note_what_is_told(struct told *told, struct pt_regs *regs, unsigned long ret_addr)
{
	told->calls++;
	told->ip = instruction_pointer(regs);
	told->ret_addr = ret_addr;
	/* trace_take_regs() is not for modules. */
#ifndef MODULE
	trace_take_regs(&told->trace, regs);
#endif
}

static void note_fprobe(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			struct ftrace_regs *fregs, void *data)
{
	struct pt_regs regs;

	note_what_is_told(&container_of(fp, struct told_fprobe, fp)->told,
			  ftrace_partial_regs(fregs, &regs), ret_ip);
}

KUNIT_DEFINE_ACTION_WRAPPER(drop_fprobe, unregister_fprobe, struct fprobe *);

/* A static one could be registered only once: ftrace keeps something of it. */
static struct told_fprobe *told_fprobe_registered(struct kunit *test, void *first, void *second)
{
	struct told_fprobe *fprobe = test_alloc(test, sizeof(*fprobe));
	unsigned long ips[] = { (unsigned long)first, (unsigned long)second };

	fprobe->fp.exit_handler = note_fprobe;
	KUNIT_ASSERT_EQ(test, 0, register_fprobe_ips(&fprobe->fp, ips, 1 + !!second));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_fprobe, &fprobe->fp));
	return fprobe;
}
#endif

/*
 * A recursion of three levels, below two other functions, all with return probes; and with an
 * fprobe, which diverts returns by other trampolines.
 */
static void another_task_sees_callers_not_trampolines(struct kunit *test)
{
	void *const callers[] = {
		sleeps, sleeps, sleeps, sleeps_deeper, sleeps_deepest, sleeper_run,
	};
	unsigned int tries = TRACES_CALLERS ? 100 : 0;
	struct noted *inner, *deeper, *deepest;
	struct trace trace = { };
	struct crowd *one;

	inner = counted(test, sleeps, 8, 0);
#ifdef CONFIG_FPROBE
	if (LOSES_NOTHING)
		told_fprobe_registered(test, sleeps, sleeps_deeper);
#endif
	counted(test, sleeps, 0, 0);
	deeper = counted(test, sleeps_deeper, 8, 0);
	deepest = counted(test, sleeps_deepest, 8, 10);
	one = crowd_enter(test, 1, 2);
	/* It may not have left its processor yet, and has no trace then. */
	while (tries-- && !trace_has(&trace, callers, ARRAY_SIZE(callers))) {
		msleep(20);
		trace.length = stack_trace_save_tsk(one->task[0], trace.entries,
						    ARRAY_SIZE(trace.entries), 0);
	}
	if (TRACES_CALLERS)
		expect_trace(test, &trace, callers, ARRAY_SIZE(callers));
	crowd_leave(test, one);
	expect_counts(test, inner, 3, 0);
	expect_counts(test, deeper, 1, 0);
	expect_counts(test, deepest, 1, 0);
}

#if defined(CONFIG_FPROBE) && !defined(MODULE)
static struct told told_by_probe;

static void note_probe(struct return_probe *p, struct kretprobe_instance *ri,
		       struct pt_regs *regs)
{
	note_what_is_told(&told_by_probe, regs, get_kretprobe_retaddr(ri));
}

static void expect_told_of_callers(struct kunit *test, struct told *told)
{
	void *const callers[] = { level_one, level_two, level_three };

	KUNIT_EXPECT_TRUE_MSG(test, kprobes_within(level_one, told->ip), "%pS", (void *)told->ip);
	KUNIT_EXPECT_EQ(test, told->ip, told->ret_addr);
	KUNIT_EXPECT_EQ(test, told->calls, 1);
	expect_trace(test, &told->trace, callers, ARRAY_SIZE(callers));
}

#ifdef CONFIG_X86
u32 kprobes_tail_calls(u32 x);

KPROBES_CALLED(kprobes_tail_calls, "jmp kprobes_traced\n");
#endif

/*
 * Which fprobes there are, and whether they come before the return probe. Who comes later is
 * called first at the entry, and last at the return. Who has made a tail call is followed, too.
 */
struct order {
	const char *name;
	bool before, after;
	u32 (*tail_calls)(u32 x);
};

static const struct order orders[] = {
	{ "return probe comes first", false, true },
	{ "fprobe comes first", true, false },
	{ "return probe comes between fprobes", true, true },
#ifdef CONFIG_X86
	{ "fprobe is between return probes of a tail call", false, true, kprobes_tail_calls },
#endif
};

KUNIT_ARRAY_PARAM_DESC(order, orders, name);

/* Past bugs: a return probe beside fprobes was shown a trampoline; so was that of a tail call. */
static void both_are_told_of_callers_not_trampolines(struct kunit *test)
{
	struct told_fprobe *before = NULL, *after = NULL;
	const struct order *order = test->param_value;
	struct return_probe *outer = NULL;

	need(test, LOSES_NOTHING && TRACES_CALLERS);
	memset(&told_by_probe, 0, sizeof(told_by_probe));
	if (order->tail_calls)
		outer = return_probe_with(test, order->tail_calls);
	if (order->before)
		before = told_fprobe_registered(test, kprobes_traced, NULL);
	return_probe_with(test, kprobes_traced, .on_return = note_probe);
	if (order->after)
		after = told_fprobe_registered(test, kprobes_traced, NULL);
	level_three(order->tail_calls ?: kprobes_traced);
	expect_told_of_callers(test, &told_by_probe);
	if (outer)
		KUNIT_EXPECT_EQ(test, atomic_read(&outer->returns), 1);
	if (before)
		expect_told_of_callers(test, &before->told);
	if (after)
		expect_told_of_callers(test, &after->told);
}
#endif

static struct kunit_case kretprobes_test_cases[] = {
	KUNIT_CASE_PARAM(handlers_run_at_entry_and_return_and_may_change_the_value,
			 entry_gen_params),
	KUNIT_CASE_PARAM(entry_handler_skips_the_return, entry_gen_params),
	KUNIT_CASE(recursive_function_returns_on_every_level),
	KUNIT_CASE(maxactive_is_a_cap_and_misses_are_counted),
	KUNIT_CASE(maxactive_beyond_all_memory_is_refused),
	KUNIT_CASE_PARAM(return_probes_and_a_kprobe_share_a_function, entry_gen_params),
	KUNIT_CASE(task_that_exits_inside_gives_its_instance_back),
	KUNIT_CASE(private_data_has_a_limit),
	KUNIT_CASE(function_with_another_return_is_refused),
	KUNIT_CASE_PARAM(thousand_tasks_deep_inside_all_return, data_size_gen_params),
	KUNIT_CASE(large_data_has_a_reserve),
	KUNIT_CASE(deep_recursion_is_counted_to_the_end),
	KUNIT_CASE_PARAM(tasks_inside_return_unseen_when_the_probe_has_left,
			 data_size_gen_params),
	KUNIT_CASE(interrupt_enters_on_top_of_a_task),
	KUNIT_CASE(handlers_see_callers_not_trampolines),
	KUNIT_CASE(another_task_sees_callers_not_trampolines),
#ifdef CONFIG_FPROBE
#endif
#if defined(CONFIG_FPROBE) && !defined(MODULE)
	KUNIT_CASE_PARAM(both_are_told_of_callers_not_trampolines, order_gen_params),
#endif
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
