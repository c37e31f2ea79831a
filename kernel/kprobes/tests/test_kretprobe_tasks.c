// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of return probes on functions that many tasks have entered at the
 * same time, or that interrupts call, too; and of stack traces through these.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fprobe.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/wait.h>

#include "support/probe.h"
#include "support/trace.h"

/* There are return stacks where return probes are not based on rethook. */
#define LOSES_NOTHING	IS_ENABLED(CONFIG_KRETPROBE_RETURN_STACK)

static void need_return_stacks(struct kunit *test)
{
	if (!LOSES_NOTHING)
		kunit_skip(test, "not promised by this architecture");
}

/**
 * struct counted - a return probe that counts, and checks what it was given
 * @any: for any_drop()
 * @rp: the probe itself
 * @entries: how often the entry handler ran
 * @returns: how often the return handler ran
 * @in_interrupt: how many of @entries were not in a task
 * @in_idle: how many of @entries were in an idle task, or interrupted one
 * @mixed_up: words of private data that were not this call's
 * @last: the instance of the last entry
 */
struct counted {
	union {
		struct any any;
		struct kretprobe rp;
	};
	atomic_t entries, returns, in_interrupt, in_idle, mixed_up;
	struct kretprobe_instance *last;
};

/* Set by the interrupt itself: a hit's exception may count as an interrupt, too. */
static bool in_an_interrupt;

/* Unique to a call: its stack pointer or, where that is not known at a return, its instance */
static unsigned long token_of(struct kretprobe_instance *ri, unsigned long sp)
{
	return KPROBES_RETURN_POPS < 0 ? (unsigned long)ri : sp;
}

/* Fills all private data with the token of the call. */
static int count_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct counted *probe = container_of(get_kretprobe(ri), struct counted, rp);
	unsigned long token = token_of(ri, kernel_stack_pointer(regs));
	unsigned long *data = (unsigned long *)ri->data;
	size_t i;

	atomic_inc(&probe->entries);
	if (in_an_interrupt)
		atomic_inc(&probe->in_interrupt);
	if (is_idle_task(current))
		atomic_inc(&probe->in_idle);
	for (i = 0; i < probe->rp.data_size / sizeof(*data); i++)
		data[i] = token + i;
	probe->last = ri;
	return 0;
}

/* The stack pointer is past the return address by now, if that was on the stack. */
static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct counted *probe = container_of(get_kretprobe(ri), struct counted, rp);
	unsigned long token = token_of(ri, kernel_stack_pointer(regs) - KPROBES_RETURN_POPS);
	unsigned long *data = (unsigned long *)ri->data;
	size_t i;

	atomic_inc(&probe->returns);
	for (i = 0; i < probe->rp.data_size / sizeof(*data); i++) {
		if (data[i] != token + i)
			atomic_inc(&probe->mixed_up);
	}
	return 0;
}

static struct counted *counted_new(struct kunit *test, void *addr,
				   size_t data_size, int maxactive)
{
	struct counted *probe = test_alloc(test, sizeof(*probe));

	probe->any.type = RETURN_PROBE;
	probe->rp.kp.addr = kprobes_entry(addr);
	probe->rp.entry_handler = count_entry;
	probe->rp.handler = count_return;
	probe->rp.data_size = data_size;
	probe->rp.maxactive = maxactive;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, any_drop, probe));
	return probe;
}

static struct counted *counted_registered(struct kunit *test, void *addr,
					  size_t data_size, int maxactive)
{
	struct counted *probe = counted_new(test, addr, data_size, maxactive);

	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	return probe;
}

/* Each call must have returned, with its own private data, or count as missed. */
static void expect_counts(struct kunit *test, struct counted *probe, int calls, int missed)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), calls - missed);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), calls - missed);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, missed);
	KUNIT_EXPECT_EQ(test, probe->rp.kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->mixed_up), 0);
}

/* Threads that sleep in a function until they are let go */

static DECLARE_WAIT_QUEUE_HEAD(gate);
static bool gate_open;
static atomic_t sleepers, wrong;

static noinline __noclone u32 sleeps(u32 depth)
{
	u32 below = 0;

	if (depth) {
		below = sleeps(depth - 1);
	} else {
		atomic_inc(&sleepers);
		wait_event_interruptible(gate, READ_ONCE(gate_open));
	}
	return kprobes_one_more(below);
}

static int wait_to_be_stopped(void)
{
	flush_signals(current);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int sleeper_run(void *depth)
{
	allow_signal(SIGINT);
	if (sleeps((unsigned long)depth) != (unsigned long)depth + 1)
		atomic_inc(&wrong);
	return wait_to_be_stopped();
}

/* How often to look whether threads have come where they are to sleep, once in 20 ms */
#define SLEEP_TRIES	6000

struct crowd {
	struct task_struct **task;
	unsigned int num;
};

static void crowd_close_gate(void)
{
	gate_open = false;
	atomic_set(&sleepers, 0);
	atomic_set(&wrong, 0);
}

static void crowd_open_gate(void)
{
	WRITE_ONCE(gate_open, true);
	wake_up_all(&gate);
}

/* When this returns, all threads have left the function. */
static void crowd_leave(void *data)
{
	struct crowd *crowd = data;

	crowd_open_gate();
	while (crowd->num)
		kthread_stop(crowd->task[--crowd->num]);
}

/* When this returns, all threads sleep in the function. */
static struct crowd *crowd_enter(struct kunit *test, unsigned int num, unsigned long depth)
{
	struct crowd *crowd = test_alloc(test, sizeof(*crowd));
	struct task_struct *task;
	unsigned int tries;

	crowd->task = kunit_kcalloc(test, num, sizeof(*crowd->task), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, crowd->task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, crowd_leave, crowd));
	crowd_close_gate();
	while (crowd->num < num) {
		task = kthread_run(sleeper_run, (void *)depth, "kprobes_sleeper");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		crowd->task[crowd->num++] = task;
	}
	for (tries = 0; tries < SLEEP_TRIES && atomic_read(&sleepers) < num; tries++)
		msleep(20);
	KUNIT_ASSERT_EQ(test, atomic_read(&sleepers), num);
	return crowd;
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
	struct counted *probe;
	struct crowd *crowd;

	need_return_stacks(test);
	kprobes_text_watch(test, sleeps);
	probe = counted_registered(test, sleeps, *size, 0);
	crowd = crowd_enter(test, MANY, LEVELS - 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), MANY * LEVELS);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
	crowd_leave(crowd);
	expect_counts(test, probe, MANY * LEVELS, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong), 0);
}

static void cap_is_kept_whoever_is_inside(struct kunit *test)
{
	const int cap = 7, tasks = 20, calls = 2 * tasks;
	const size_t *size = test->param_value;
	struct counted *probe;
	struct crowd *crowd;

	probe = counted_registered(test, sleeps, *size, cap);
	crowd = crowd_enter(test, tasks, 1);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, calls - cap);
	crowd_leave(crowd);
	expect_counts(test, probe, calls, calls - cap);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong), 0);
	KUNIT_EXPECT_EQ_MSG(test, probe->rp.maxactive, cap, "what the user wrote was changed");
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
	struct counted *probe;
	struct crowd *crowd;

	need_return_stacks(test);
	probe = counted_registered(test, sleeps, KRETPROBE_MAX_DATA_SIZE, 0);
	crowd = crowd_enter(test, reserve + 10, 0);
	crowd_leave(crowd);
	expect_counts(test, probe, reserve + 10, 10);
}

/*
 * Twice as many calls with 256 bytes of data as a return stack has room for. They have to fit on
 * the kernel's stack, too: on sparc64 a call takes 224 bytes of that, and there are 13 KiB.
 */
#define DEPTH	30

/* When the return stacks are full, and then the reserve, calls are missed. */
static void deep_recursion_is_counted_to_the_end(struct kunit *test)
{
	const int reserve = reserve_of_calls(), tasks = 1 + reserve / 10, calls = tasks * DEPTH;
	struct counted *probe;
	struct crowd *crowd;
	int missed;

	need_return_stacks(test);
	probe = counted_registered(test, sleeps, 256, 0);
	crowd = crowd_enter(test, tasks, DEPTH - 1);
	missed = probe->rp.nmissed;
	KUNIT_EXPECT_GT(test, missed, 0);
	KUNIT_EXPECT_LE(test, missed, calls - tasks * LEVELS - reserve);
	crowd_leave(crowd);
	expect_counts(test, probe, calls, missed);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong), 0);

	/* All of that memory is free again. */
	crowd = crowd_enter(test, 1, LEVELS - 1);
	crowd_leave(crowd);
	expect_counts(test, probe, calls + LEVELS, missed);
}

static void signalled_task_returns_like_any_other(struct kunit *test)
{
	struct counted *probe = counted_registered(test, sleeps, 8, 0);
	struct crowd *crowd = crowd_enter(test, 1, 2);
	unsigned int tries;

	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
	send_sig(SIGINT, crowd->task[0], 1);
	for (tries = 0; tries < 200 && atomic_read(&probe->returns) < 3; tries++)
		msleep(20);
	expect_counts(test, probe, 3, 0);
	crowd_leave(crowd);
}

/* Unregistering while tasks are inside */

static void tasks_inside_return_unseen_when_the_probe_has_left(struct kunit *test)
{
	const size_t *size = test->param_value;
	const int tasks = 20, calls = 3 * tasks;
	struct counted *probe = counted_registered(test, sleeps, *size, calls);
	struct counted *stays = counted_registered(test, sleeps, 8, 0);
	struct crowd *crowd = crowd_enter(test, tasks, 2);
	struct kretprobe_instance *ri = probe->last;

	kunit_release_action(test, any_drop, probe);
	if (LOSES_NOTHING) {
		guard(rcu)();
		KUNIT_EXPECT_NULL(test, get_kretprobe(ri));
	}
	/* The core must not use the struct any more. */
	memset(&probe->rp, 0x5a, sizeof(probe->rp));
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), calls);

	if (LOSES_NOTHING)
		kunit_release_action(test, any_drop, stays);
	crowd_leave(crowd);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong), 0);
}

/* Interrupts and idle tasks */

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
	struct counted *probe;
	unsigned int i;

	kprobes_text_watch(test, meets_interrupts);
	probe = counted_registered(test, meets_interrupts, 64, 0);
	for (i = 0; i < 100; i++) {
		interrupt_saw = 0;
		KUNIT_ASSERT_EQ(test, meets_interrupts(i, &work), i + 1);
		KUNIT_ASSERT_EQ(test, interrupt_saw, 42);
	}
	expect_counts(test, probe, 200, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->in_interrupt), 100);
}

static void call_on_cpu(void *unused)
{
	interrupt_saw = meets_interrupts(41, NULL);
}

static void idle_task_has_a_return_stack(struct kunit *test)
{
	struct counted *probe = counted_registered(test, meets_interrupts, 64, 0);
	unsigned int cpu, tries, most = max(100U, 2 * num_online_cpus());

	if (num_online_cpus() < 2)
		kunit_skip(test, "there is one CPU only");
	for (tries = 0; tries < most && !atomic_read(&probe->in_idle); tries++) {
		msleep(20);
		/* One after the other, as some may never be idle. Not this thread's own. */
		cpu = cpumask_nth(tries % num_online_cpus(), cpu_online_mask);
		if (cpu == raw_smp_processor_id())
			cpu = cpumask_any_but(cpu_online_mask, cpu);
		KUNIT_ASSERT_EQ(test, 0, smp_call_function_single(cpu, call_on_cpu, NULL, true));
	}
	KUNIT_EXPECT_GT(test, atomic_read(&probe->in_idle), 0);
	expect_counts(test, probe, tries, 0);
}

/* Stack traces */

static noinline __noclone u32 sleeps_deeper(u32 depth)
{
	return kprobes_one_more(sleeps(depth));
}

static noinline __noclone u32 sleeps_deepest(u32 depth)
{
	return kprobes_one_more(sleeps_deeper(depth));
}

static int deep_sleeper_run(void *depth)
{
	if (sleeps_deepest((unsigned long)depth) != (unsigned long)depth + 3)
		atomic_inc(&wrong);
	return wait_to_be_stopped();
}

/* The thread counts itself before it sleeps, and says so before it leaves its processor. */
static bool is_asleep(struct task_struct *task)
{
	if (!atomic_read(&sleepers) || task_is_running(task))
		return false;
#ifdef CONFIG_SMP
	return !READ_ONCE(task->on_cpu);
#else
	return true;
#endif
}

/* Takes the trace of a thread that sleeps in @depth recursions, below two other functions. */
static void trace_deep_sleeper(struct kunit *test, unsigned long depth, struct trace *trace)
{
	struct task_struct *task;
	unsigned int tries;

	crowd_close_gate();
	task = kthread_run(deep_sleeper_run, (void *)depth, "kprobes_deep");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	for (tries = 0; tries < SLEEP_TRIES && !is_asleep(task); tries++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, is_asleep(task));
	trace->length = stack_trace_save_tsk(task, trace->entries, ARRAY_SIZE(trace->entries), 0);
	crowd_open_gate();
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, atomic_read(&wrong), 0);
}

/* Are the functions in the trace, in this order, perhaps with others in between? */
static bool trace_has(struct trace *trace, void *const *function, unsigned int num)
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

static void need_stack_traces(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_STACKTRACE) ||
	    !IS_ENABLED(CONFIG_ARCH_CORRECT_STACKTRACE_ON_KRETPROBE))
		kunit_skip(test, "not promised by this architecture");
}

/* A recursion of three levels, below two other functions; all have return probes. */
static void another_task_sees_callers_not_trampolines(struct kunit *test)
{
	void *const callers[] = {
		sleeps, sleeps, sleeps, sleeps_deeper, sleeps_deepest, deep_sleeper_run,
	};
	struct trace trace = { };

	need_stack_traces(test);
	counted_registered(test, sleeps, 8, 0);
	counted_registered(test, sleeps, 0, 0);
	counted_registered(test, sleeps_deeper, 8, 0);
	counted_registered(test, sleeps_deepest, 8, 10);
	trace_deep_sleeper(test, 2, &trace);
	expect_trace(test, &trace, callers, ARRAY_SIZE(callers));
}

static struct trace entry_trace, return_trace;

static int trace_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_take(&entry_trace);
	return 0;
}

static int trace_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_take(&return_trace);
	return 0;
}

static noinline __noclone u32 level_one(u32 x)
{
	return kprobes_one_more(kprobes_traced(x));
}

static noinline __noclone u32 level_two(u32 x)
{
	return kprobes_one_more(level_one(x));
}

static noinline __noclone u32 level_three(u32 x)
{
	return kprobes_one_more(level_two(x));
}

static void handlers_see_callers_not_trampolines(struct kunit *test)
{
	void *const callers[] = { level_one, level_two, level_three };
	unsigned int unseen = KPROBES_TRACE_AT_ENTRY ? 0 : 1;
	struct counted *probe;

	need_stack_traces(test);
	counted_registered(test, level_one, 0, 0);
	counted_registered(test, level_two, 0, 0);
	probe = counted_new(test, kprobes_traced, 0, 0);
	probe->rp.entry_handler = trace_entry;
	probe->rp.handler = trace_return;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	level_three(1);
	expect_trace(test, &entry_trace, callers + unseen, ARRAY_SIZE(callers) - unseen);
	expect_trace(test, &return_trace, callers, ARRAY_SIZE(callers));
}

/* Beside others that divert returns */

#ifdef CONFIG_FPROBE
static atomic_t fprobe_exits;

static void count_exit(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
		       struct pt_regs *regs, void *data)
{
	atomic_inc(&fprobe_exits);
}

static void drop_fprobe(void *fp)
{
	unregister_fprobe(fp);
}

static void fprobe_exits_beside_return_probes(struct kunit *test)
{
	void *const callers[] = { sleeps, sleeps, sleeps_deeper, sleeps_deepest };
	struct trace trace = { };
	struct fprobe *fp;
	struct counted *first, *second;
	unsigned long ip[] = { (unsigned long)sleeps, (unsigned long)sleeps_deeper };

	need_return_stacks(test);
	/* A static one could be registered only once: ftrace keeps something of it. */
	fp = test_alloc(test, sizeof(*fp));
	fp->exit_handler = count_exit;
	atomic_set(&fprobe_exits, 0);
	first = counted_registered(test, sleeps, 8, 0);
	KUNIT_ASSERT_EQ(test, 0, register_fprobe_ips(fp, ip, ARRAY_SIZE(ip)));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_fprobe, fp));
	second = counted_registered(test, sleeps_deeper, 8, 0);
	trace_deep_sleeper(test, 1, &trace);
	KUNIT_EXPECT_EQ(test, atomic_read(&fprobe_exits), 3);
	expect_counts(test, first, 2, 0);
	expect_counts(test, second, 1, 0);
	expect_trace(test, &trace, callers, ARRAY_SIZE(callers));
}
#endif

/* trace_take_regs() is not for modules. */
#if defined(CONFIG_FPROBE) && !defined(MODULE)
/* What a handler was told of the caller: by its registers, and as an address */
struct told {
	unsigned long ip, ret_addr;
	struct trace trace;
};

static struct told told_by_probe;

struct told_fprobe {
	struct fprobe fp;
	struct told told;
};

static void note_what_is_told(struct told *told, struct pt_regs *regs, unsigned long ret_addr)
{
	told->ip = instruction_pointer(regs);
	told->ret_addr = ret_addr;
	trace_take_regs(&told->trace, regs);
}

static int note_probe(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	note_what_is_told(&told_by_probe, regs, get_kretprobe_retaddr(ri));
	return 0;
}

static void note_fprobe(struct fprobe *fp, unsigned long entry_ip, unsigned long ret_ip,
			struct pt_regs *regs, void *data)
{
	note_what_is_told(&container_of(fp, struct told_fprobe, fp)->told, regs, ret_ip);
}

static void expect_told_of_callers(struct kunit *test, struct told *told)
{
	void *const callers[] = { level_one, level_two, level_three };

	KUNIT_EXPECT_TRUE_MSG(test, kprobes_within(level_one, told->ip), "%pS", (void *)told->ip);
	KUNIT_EXPECT_EQ(test, told->ip, told->ret_addr);
	expect_trace(test, &told->trace, callers, ARRAY_SIZE(callers));
}

/*
 * Which fprobes there are, and whether they come before the return probe. Who comes later is
 * called first at the entry, and last at the return.
 */
struct order {
	const char *name;
	bool before, after;
};

static const struct order orders[] = {
	{ "return probe comes first", false, true },
	{ "fprobe comes first", true, false },
	{ "return probe comes between fprobes", true, true },
};

KUNIT_ARRAY_PARAM_DESC(order, orders, name);

static struct told_fprobe *told_fprobe_registered(struct kunit *test)
{
	struct told_fprobe *fprobe = test_alloc(test, sizeof(*fprobe));
	unsigned long ip = (unsigned long)kprobes_traced;

	fprobe->fp.exit_handler = note_fprobe;
	KUNIT_ASSERT_EQ(test, 0, register_fprobe_ips(&fprobe->fp, &ip, 1));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_fprobe, &fprobe->fp));
	return fprobe;
}

/* A past bug: a return probe beside fprobes, before or after it, was shown a trampoline. */
static void both_are_told_of_callers_not_trampolines(struct kunit *test)
{
	struct told_fprobe *before = NULL, *after = NULL;
	const struct order *order = test->param_value;
	struct counted *probe;

	need_return_stacks(test);
	need_stack_traces(test);
	memset(&told_by_probe, 0, sizeof(told_by_probe));
	probe = counted_new(test, kprobes_traced, 0, 0);
	probe->rp.handler = note_probe;
	if (order->before)
		before = told_fprobe_registered(test);
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&probe->rp));
	if (order->after)
		after = told_fprobe_registered(test);
	level_three(1);
	expect_told_of_callers(test, &told_by_probe);
	if (before)
		expect_told_of_callers(test, &before->told);
	if (after)
		expect_told_of_callers(test, &after->told);
}
#endif

static struct kunit_case kretprobe_tasks_cases[] = {
	KUNIT_CASE_PARAM(thousand_tasks_deep_inside_all_return, data_size_gen_params),
	KUNIT_CASE_PARAM(cap_is_kept_whoever_is_inside, data_size_gen_params),
	KUNIT_CASE(large_data_has_a_reserve),
	KUNIT_CASE(deep_recursion_is_counted_to_the_end),
	KUNIT_CASE(signalled_task_returns_like_any_other),
	KUNIT_CASE_PARAM(tasks_inside_return_unseen_when_the_probe_has_left,
			 data_size_gen_params),
	KUNIT_CASE(interrupt_enters_on_top_of_a_task),
	KUNIT_CASE(idle_task_has_a_return_stack),
	KUNIT_CASE(another_task_sees_callers_not_trampolines),
	KUNIT_CASE(handlers_see_callers_not_trampolines),
#ifdef CONFIG_FPROBE
	KUNIT_CASE(fprobe_exits_beside_return_probes),
#endif
#if defined(CONFIG_FPROBE) && !defined(MODULE)
	KUNIT_CASE_PARAM(both_are_told_of_callers_not_trampolines, order_gen_params),
#endif
	{}
};

static struct kunit_suite kretprobe_tasks_suite = {
	.name = "kretprobe_tasks_test",
	.init = kprobes_watch_targets,
	.test_cases = kretprobe_tasks_cases,
};

kunit_test_suite(kretprobe_tasks_suite);

MODULE_DESCRIPTION("KUnit tests of return probes and tasks");
MODULE_LICENSE("GPL");
