// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests that return probes leave nothing behind. test_kretprobes.c tests what users see.
 */
#include <kunit/test.h>
#include <linux/align.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/objpool.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/stacktrace.h>

#include "../internal.h"
#include "../kretprobe.h"
#include "support/core.h"
#include "support/probe.h"
#include "support/regs.h"
#include "support/sites.h"
#include "support/trace.h"

static noinline __noclone u32 returns(u32 x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return x + 1;
}

static DECLARE_COMPLETION(go_on);

static noinline __noclone u32 waits(u32 x)
{
	wait_for_completion(&go_on);
	return x + 1;
}

/* Returns to where handlers cannot run. */
static noinline __noclone u32 waits_until_busy(u32 x)
{
	wait_for_completion(&go_on);
	kprobe_busy_begin();
	return x + 1;
}

static noinline __noclone u32 waits_and_ends(u32 x)
{
	wait_for_completion(&go_on);
	if (x)
		kthread_exit(0);
	return x;
}

static atomic_t nr_returns;

KIND_HANDLERS(count, atomic_inc(&nr_returns));

static struct kretprobe *registered_with(struct kunit *test, void *addr, int maxactive,
					 size_t data_size)
{
	const union any_probe like = {
		.rp = { .handler = count_return, .maxactive = maxactive, .data_size = data_size },
	};

	atomic_set(&nr_returns, 0);
	return &any_registered(test, RETURN_PROBE, &like, addr)->probe.rp;
}

static struct kretprobe *registered(struct kunit *test, void *addr, int maxactive)
{
	return registered_with(test, addr, maxactive, 0);
}

#define expect_soon(test, condition)					\
do {									\
	unsigned int tries = 250;					\
	bool yes;							\
									\
	while (!(yes = (condition)) && tries--) {			\
		rcu_barrier();						\
		msleep(20);						\
	}								\
	KUNIT_EXPECT_TRUE_MSG(test, yes, "%s", #condition);		\
} while (0)

/* For much longer than it takes to free those that no call is inside of: two grace periods */
static void let_holders_be_freed(void)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		synchronize_rcu();
		msleep(20);
	}
}

static void expect_no_holder_soon(struct kunit *test)
{
	expect_soon(test, !kretprobe_holders_left());
}

static int call_and_live_on(void *function)
{
	u32 (*call)(u32 x) = function;

	call(1);
	if (call == waits_until_busy)
		kprobe_busy_end();
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* When this returns, the thread has left the function, and has ended. */
static void stop_waiting(void *task)
{
	complete(&go_on);
	kthread_stop_put(task);
}

/* Returns a thread that is in a function, until stop_waiting() is released. */
static struct task_struct *start_waiting_in(struct kunit *test, u32 (*function)(u32 x))
{
	struct task_struct *task;
	unsigned int tries;

	reinit_completion(&go_on);
	task = kthread_create(call_and_live_on, function, "kprobes_waits");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	wake_up_process(task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, stop_waiting, task));
	for (tries = 0; tries < 3000 && !READ_ONCE(task->kretprobe_instances.first); tries++)
		msleep(20);
	KUNIT_ASSERT_NOT_NULL(test, READ_ONCE(task->kretprobe_instances.first));
	return task;
}

static const int maxactives[] = { 0, 5 };

static void maxactive_desc(const int *maxactive, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "maxactive %d", *maxactive);
}

KUNIT_ARRAY_PARAM(maxactive, maxactives, maxactive_desc);

/* Room for one call, or for any number */
static const int caps[] = { 0, 1 };

KUNIT_ARRAY_PARAM(cap, caps, maxactive_desc);

/* A past bug: the instances of a return probe were freed while a handler used one. */
static void holder_stays_for_those_inside_and_then_goes(struct kunit *test)
{
	/* Those inside return, miss that, or end. */
	u32 (* const functions[])(u32 x) = { waits, waits_until_busy, waits_and_ends };
	const int *maxactive = test->param_value;
	struct task_struct *task;
	struct kretprobe *rp;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		/* Then the trampoline itself would be missed. */
		if (functions[i] == waits_until_busy && trampoline_is_probed())
			continue;
		expect_no_holder_soon(test);
		rp = registered(test, functions[i], *maxactive);
		task = start_waiting_in(test, functions[i]);
		kunit_release_action(test, any_drop, rp);
		let_holders_be_freed();
		KUNIT_EXPECT_TRUE(test, kretprobe_holders_left());
		kunit_release_action(test, stop_waiting, task);
		expect_no_holder_soon(test);
		KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns), 0);
	}
}

#if defined(CONFIG_X86) || defined(CONFIG_ARM64)
static bool use_in_an_nmi(struct objpool_head *pool)
{
	void *object;

	nmi_enter();
	object = objpool_pop(pool);
	if (object)
		objpool_push(object, pool);
	nmi_exit();
	return object;
}

/*
 * As if an NMI had come when objpool_push() has reserved an entry of the ring for the object @out,
 * and not filled it in. Returns whether the NMI has got an object, without making that entry
 * available.
 */
static bool nmi_in_a_push(struct objpool_head *pool, void *out)
{
	struct objpool_slot *slot;
	u32 tail, last;
	bool used;

	guard(irqsave)();
	slot = pool->cpu_slots[smp_processor_id()];
	tail = slot->tail++;
	used = use_in_an_nmi(pool);
	last = slot->last;
	slot->entries[tail & slot->mask] = out;
	__objpool_make_available(slot, tail);
	return used && last == tail;
}

/* A past bug of objpool, on which rethook is built: one object became two, another was lost. */
static void nmi_in_a_push_loses_no_object(struct kunit *test)
{
	struct objpool_head pool;
	void *objects[2];
	bool fine;

	KUNIT_ASSERT_EQ(test, 0, objpool_init(&pool, 2, 64, GFP_KERNEL, NULL, NULL, NULL));
	objects[0] = objpool_pop(&pool);
	fine = objects[0] && nmi_in_a_push(&pool, objects[0]);
	objects[0] = objpool_pop(&pool);
	objects[1] = objpool_pop(&pool);
	KUNIT_EXPECT_TRUE(test, fine);
	KUNIT_EXPECT_NOT_NULL(test, objects[0]);
	KUNIT_EXPECT_NOT_NULL(test, objects[1]);
	KUNIT_EXPECT_PTR_NE(test, objects[0], objects[1]);
	KUNIT_EXPECT_NULL(test, objpool_pop(&pool));
	objpool_free(&pool);
}
#endif

#if defined(CONFIG_STACKTRACE) && (defined(CONFIG_X86) || defined(CONFIG_ARM64))
/* A return address that is not found ends a trace. It is none of the callers, and no address. */
static void expect_no_caller_at_0(struct kunit *test, struct task_struct *task)
{
	unsigned long entries[16];
	unsigned int i, nr = stack_trace_save_tsk(task, entries, ARRAY_SIZE(entries), 0);

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_NE_MSG(test, 0, entries[i], "entry %u of %u", i, nr);
}
#else
static void expect_no_caller_at_0(struct kunit *test, struct task_struct *task)
{
}
#endif

/*
 * If the task runs meanwhile, a link may be anything: a user's address, no address at all, or
 * one that leads in a circle. Here the task sleeps, so its list can be tampered with.
 */
static void unwinding_survives_links_to_nowhere(struct kunit *test)
{
	struct kretprobe_instance *fake = test_alloc(test, sizeof(*fake));
	const unsigned long links[] = { 16, ULONG_MAX / 3 & -sizeof(long), (unsigned long)fake };
	struct llist_node *first, *cur = NULL;
	struct task_struct *task;
	unsigned int i;

	registered(test, waits, 0);
	task = start_waiting_in(test, waits);
	first = task->kretprobe_instances.first;
	task->kretprobe_instances.first = &fake->llist;
	for (i = 0; i < ARRAY_SIZE(links); i++) {
		fake->llist.next = (struct llist_node *)links[i];
		KUNIT_EXPECT_EQ(test, 0, kretprobe_find_ret_addr(task, test, &cur));
		KUNIT_EXPECT_NULL(test, cur);
		expect_no_caller_at_0(test, task);
	}
	task->kretprobe_instances.first = first;
	kunit_release_action(test, stop_waiting, task);
	KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns), 1);
}

static bool has_stack(struct task_struct *tsk)
{
	return READ_ONCE(tsk->kretprobe_end) || READ_ONCE(tsk->kretprobe_left.first);
}

/* How many tasks have return stacks or not, and how large they are */
static struct {
	unsigned int with, without;
	size_t smallest, largest;
} stacks;

static void look_at_stack(struct task_struct *tsk)
{
	size_t size = READ_ONCE(tsk->kretprobe_end) - READ_ONCE(tsk->kretprobe_start);

	if (has_stack(tsk)) {
		stacks.with++;
	} else {
		stacks.without++;
		size = 0;
	}
	stacks.smallest = min(stacks.smallest, size);
	stacks.largest = max(stacks.largest, size);
}

static unsigned int tasks_with_stack(void)
{
	struct task_struct *process, *tsk;
	int cpu;

	stacks = (typeof(stacks)) { .smallest = SIZE_MAX };
	guard(rcu)();
	for_each_process_thread(process, tsk)
		look_at_stack(tsk);
	for_each_possible_cpu(cpu)
		look_at_stack(idle_task(cpu));
	return stacks.with;
}

/* A task that is just being made is on the list before it has one. */
static void expect_stacks_soon(struct kunit *test)
{
	expect_soon(test, tasks_with_stack() && !stacks.without);
}

static void expect_no_stack_soon(struct kunit *test)
{
	expect_soon(test, !tasks_with_stack());
}

/* How much of its stack this task uses; 0 if the innermost call is not on it */
static size_t used_of_own_stack(void)
{
	unsigned long innermost = (unsigned long)current->kretprobe_instances.first;

	if (innermost < current->kretprobe_start || innermost >= current->kretprobe_end)
		return 0;
	return current->kretprobe_top - current->kretprobe_start;
}

static size_t used_at_the_bottom;

static noinline __noclone u32 deep(u32 depth)
{
	u32 below = 0;

	if (depth)
		below = deep(depth - 1);
	else
		used_at_the_bottom = used_of_own_stack();
	barrier_data(&below);
	return below + 1;
}

static bool new_task_has_stack;

static int look_at_own_stack(void *done)
{
	new_task_has_stack = has_stack(current);
	returns(1);
	complete(done);
	return 0;
}

static void every_task_has_a_stack_while_one_is_wanted(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;
	struct kretprobe *rp;

	kretprobe_stacks_trim(NULL);
	KUNIT_EXPECT_EQ(test, 0, tasks_with_stack());
	/* A return probe with much data does not need return stacks, nor fill those of others. */
	registered_with(test, deep, 0, KRETPROBE_STACK_DATA + 1);
	KUNIT_EXPECT_EQ(test, 0, tasks_with_stack());

	rp = registered(test, returns, 0);
	expect_stacks_soon(test);
	task = kthread_run(look_at_own_stack, &done, "kprobes_new");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&done);
	KUNIT_EXPECT_TRUE(test, new_task_has_stack);
	KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns), 1);
	KUNIT_EXPECT_EQ(test, deep(0), 1);
	KUNIT_EXPECT_EQ(test, used_at_the_bottom, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns), 2);

	/* As long as return stacks are needed, none is taken away. */
	kretprobe_stacks_trim(NULL);
	KUNIT_EXPECT_GT(test, tasks_with_stack(), 0);
	kunit_release_action(test, any_drop, rp);
	kretprobe_stacks_trim(NULL);
	KUNIT_EXPECT_EQ(test, 0, tasks_with_stack());
}

/*
 * Some seconds after the last probe that needs them has left; or when the last call on one has
 * ended, for which nobody looks at all tasks again.
 */
static void stacks_go_by_themselves(struct kunit *test)
{
	struct kretprobe *rp = registered(test, waits, 0);
	unsigned int tries;

	start_waiting_in(test, waits);
	kunit_release_action(test, any_drop, rp);
	KUNIT_EXPECT_GT(test, tasks_with_stack(), 0);
	for (tries = 0; tries < 60 && tasks_with_stack() != 1; tries++)
		msleep(1000);
	KUNIT_EXPECT_EQ(test, tasks_with_stack(), 1);
	complete(&go_on);
	expect_no_stack_soon(test);
}

static struct kretprobe *leaving[2];

/* Until the mutex is released, nobody else takes stacks away. */
static noinline __noclone u32 drops_its_probes(u32 x)
{
	unregister_kretprobe(leaving[0]);
	unregister_kretprobe(leaving[1]);
	mutex_lock(&kretprobe_mutex);
	return x + 1;
}

/* The worker takes it, and may be doing so when this call ends. So the call itself does not. */
static void empty_stack_is_left_to_the_worker(struct kunit *test)
{
	unsigned long end;

	leaving[0] = registered(test, returns, 0);
	leaving[1] = registered_with(test, drops_its_probes, 0, KRETPROBE_STACK_DATA + 1);
	KUNIT_EXPECT_NE(test, 0, current->kretprobe_end);
	drops_its_probes(1);
	end = READ_ONCE(current->kretprobe_end);
	mutex_unlock(&kretprobe_mutex);
	KUNIT_EXPECT_NE(test, 0, end);
	kretprobe_stacks_trim(NULL);
	expect_no_stack_soon(test);
}

/* --- the size of return stacks --- */

static const size_t data_sizes[] = { 0, 1, 32, 96, 97, 256, KRETPROBE_STACK_DATA };

static void data_size_desc(const size_t *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%zu bytes", *size);
}

KUNIT_ARRAY_PARAM(data_size, data_sizes, data_size_desc);

/* What eight calls need */
static size_t eight_calls(size_t data_size)
{
	return 8 * (sizeof(struct kretprobe_instance) + ALIGN(data_size, sizeof(u64)));
}

/* A task that is just being made is on the list before it has a stack. */
static void expect_stacks_of(struct kunit *test, size_t size)
{
	expect_soon(test, tasks_with_stack() && stacks.smallest >= size);
}

static void task_has_memory_for_eight_calls(struct kunit *test)
{
	const size_t *data_size = test->param_value, wanted = eight_calls(*data_size);
	struct kretprobe *rp;

	kretprobe_stacks_trim(NULL);
	rp = registered_with(test, deep, 0, *data_size);
	KUNIT_EXPECT_EQ(test, deep(7), 8);
	KUNIT_EXPECT_EQ(test, used_at_the_bottom, wanted);
	KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns), 8);
	KUNIT_EXPECT_EQ(test, rp->nmissed, 0);
	expect_stacks_of(test, wanted);
	kunit_info(test, "%zu to %zu bytes", stacks.smallest, stacks.largest);
	KUNIT_EXPECT_LT(test, stacks.largest, max(2 * wanted, 513UL));
	if (*data_size <= 96)
		KUNIT_EXPECT_LE(test, stacks.largest, 1024);
}

static noinline __noclone u32 waits_and_goes_deep(u32 x)
{
	wait_for_completion(&go_on);
	return deep(7) + x;
}

/* Registers a return probe of deep() for which the stacks of before are too small. */
static struct kretprobe *grow(struct kunit *test, struct task_struct *task, size_t data_size)
{
	unsigned long start = task->kretprobe_start;
	struct kretprobe *rp = registered_with(test, deep, 0, data_size);

	expect_stacks_of(test, eight_calls(data_size));
	KUNIT_EXPECT_NE(test, task->kretprobe_start, start);
	return rp;
}

static int under_way(struct kretprobe *rp)
{
	return atomic_read(&rp->rph->calls);
}

/*
 * One task is in use of its stack, another one is not, and the third is this. The stack that was
 * left goes with its call, be it that this returns, or that its task ends.
 */
static void larger_stack_takes_the_place_of_an_empty_one(struct kunit *test)
{
	u32 (* const functions[])(u32 x) = { waits_and_goes_deep, waits_and_ends };
	struct kretprobe *rps[3];
	struct task_struct *task;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		kretprobe_stacks_trim(NULL);
		rps[0] = registered(test, functions[i], 1);
		task = start_waiting_in(test, functions[i]);
		KUNIT_EXPECT_EQ(test, task->kretprobe_end - task->kretprobe_start, 512);
		rps[1] = grow(test, task, 100);
		KUNIT_EXPECT_NOT_NULL(test, task->kretprobe_left.first);
		KUNIT_EXPECT_NULL(test, current->kretprobe_left.first);
		KUNIT_EXPECT_EQ(test, deep(7), 8);
		KUNIT_EXPECT_EQ(test, used_at_the_bottom, eight_calls(100));

		/* The one before is empty now, though the first is not. */
		rps[2] = grow(test, task, 256);
		KUNIT_EXPECT_NOT_NULL(test, task->kretprobe_left.first);
		KUNIT_EXPECT_NULL(test, task->kretprobe_left.first->next);
		KUNIT_EXPECT_EQ(test, under_way(rps[0]), 1);
		used_at_the_bottom = 0;
		get_task_struct(task);
		kunit_release_action(test, stop_waiting, task);
		/* Both return probes follow each of these calls; the stack is for one of them. */
		if (functions[i] == waits_and_goes_deep) {
			KUNIT_EXPECT_GT(test, used_at_the_bottom, 0);
			KUNIT_EXPECT_NULL(test, task->kretprobe_left.first);
			KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns), 17);
		}
		expect_soon(test, !under_way(rps[0]));
		expect_soon(test, !has_stack(task));
		put_task_struct(task);
		for (k = 0; k < ARRAY_SIZE(rps); k++)
			kunit_release_action(test, any_drop, rps[k]);
	}
}

/* They may be calls that are ending, and have seen that somebody needs their stack. */
static void stacks_wait_for_their_readers(struct kunit *test)
{
	struct kretprobe *rp = registered(test, returns, 0);

	reader_start(test, NULL);
	kunit_release_action(test, any_drop, rp);
	KUNIT_EXPECT_GT(test, tasks_with_stack(), 0);
	reader_ends_soon();
	kretprobe_stacks_trim(NULL);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(reader_ended));
}

/* They may be calls that are ending, which do not ask once more for the holder to be freed. */
static void holder_waits_for_readers(struct kunit *test)
{
	unsigned int tries = 0;
	struct kretprobe *rp;

	expect_no_holder_soon(test);
	/* While it is there no stack is taken away, after which holders are looked at, too. */
	registered(test, deep, 0);
	rp = registered(test, returns, 0);
	reader_start(test, &rp->rph->calls);
	kunit_release_action(test, any_drop, rp);
	reader_ends_soon();
	while (kretprobe_holders_left() && ++tries < 3000)
		msleep(20);
	KUNIT_EXPECT_FALSE(test, kretprobe_holders_left());
	KUNIT_EXPECT_TRUE(test, READ_ONCE(reader_ended));
}

/* They may be entries, which have found the holder, and count their call late. */
static void holder_waits_for_entries(struct kunit *test)
{
	struct kretprobe *rp;
	struct kretprobe_holder *rph;

	expect_no_holder_soon(test);
	registered(test, deep, 0);
	rp = registered(test, returns, 0);
	rph = rp->rph;
	reader_start(test, &rph->calls);
	/* It takes one off this in the end; any sum but 0 will do. */
	atomic_set(&rph->calls, 0);
	kunit_release_action(test, any_drop, rp);
	reader_ends_soon();
	let_holders_be_freed();
	KUNIT_EXPECT_TRUE(test, READ_ONCE(reader_ended));
	KUNIT_ASSERT_TRUE(test, kretprobe_holders_left());
	/* Its call ends. */
	atomic_set(&rph->calls, 0);
	scoped_guard(preempt)
		kretprobe_orphan_ended(current);
	expect_no_holder_soon(test);
}

#ifdef CONFIG_X86_64
static unsigned int full_entries;

static int full_entry(struct kprobe *kp, struct pt_regs *regs)
{
	WRITE_ONCE(full_entries, full_entries + 1);
	return kretprobe_entry(kp, regs);
}

/* Whether the pre handler is called for a call, which is to be followed */
static void expect_full_entry(struct kunit *test, struct kretprobe *rp, bool full)
{
	unsigned int entries = READ_ONCE(full_entries);
	int seen = atomic_read(&nr_returns);

	/* The compiler sees that the function calls nobody. */
	WRITE_ONCE(rp->kp.pre_handler, full_entry);
	KUNIT_EXPECT_EQ(test, kprobes_traced(1), kprobes_expected(1));
	WRITE_ONCE(rp->kp.pre_handler, kretprobe_entry);
	KUNIT_EXPECT_EQ(test, READ_ONCE(full_entries) - entries, full);
	KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns) - seen, 1);
}

/* Only a task's call is, of a function that nobody else probes, while hits are not counted. */
static void entry_that_only_follows_a_call_enters_no_mark(struct kunit *test)
{
	struct kretprobe *rp = registered(test, kprobes_traced, 0);
	struct kprobe_site *site = site_at(rp->kp.addr);
	struct probe *beside;

	if (site->hook != KPROBE_HOOK_RETURNS)
		kunit_skip(test, "this entry is hit in another way");
	expect_full_entry(test, rp, false);
	beside = probe_registered(test, kprobes_traced);
	expect_full_entry(test, rp, true);
	KUNIT_EXPECT_EQ(test, beside->hits, 1);
	probe_unregister(beside);
	expect_full_entry(test, rp, false);

	KUNIT_EXPECT_EQ(test, 0, kprobe_stats_enable(true));
	expect_full_entry(test, rp, true);
	KUNIT_EXPECT_EQ(test, 0, kprobe_stats_enable(false));
	scoped_guard(preempt) {
		nmi_enter();
		expect_full_entry(test, rp, true);
		nmi_exit();
	}

	/* In a handler it is missed, and counted. */
	kprobe_busy_begin();
	kprobes_traced(1);
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, 1, rp->kp.nmissed);

	KUNIT_EXPECT_EQ(test, 0, disable_kretprobe(rp));
	kprobes_traced(1);
	KUNIT_EXPECT_EQ(test, 5, atomic_read(&nr_returns));
	KUNIT_EXPECT_EQ(test, 0, enable_kretprobe(rp));
	expect_full_entry(test, rp, false);

	/* Who keeps others off keeps them off this, too. */
	beside = probe_with(test, kprobes_traced, .kp.post_handler = probe_post_handler);
	KUNIT_EXPECT_TRUE(test, site->hook == (KPROBE_HOOK_RETURNS | KPROBE_HOOK_CLAIM));
	expect_full_entry(test, rp, true);
	probe_unregister(beside);
	KUNIT_EXPECT_TRUE(test, site->hook == KPROBE_HOOK_RETURNS);
	kunit_release_action(test, any_drop, rp);
	KUNIT_EXPECT_EQ(test, kprobes_traced(1), kprobes_expected(1));
	KUNIT_EXPECT_EQ(test, 7, atomic_read(&nr_returns));
}
#endif

/* A past bug: the holder was left behind. */
static void return_probe_that_is_unregistered_twice_leaves_nothing(struct kunit *test)
{
	struct kretprobe *rp = registered(test, returns, 0), *twice[] = { rp, rp };

	kunit_remove_action(test, any_drop, rp);
	unregister_kretprobes(twice, ARRAY_SIZE(twice));
	KUNIT_EXPECT_NULL(test, rp->rph);
	expect_no_holder_soon(test);
	kretprobe_stacks_trim(NULL);
	KUNIT_EXPECT_EQ(test, 0, tasks_with_stack());
	KUNIT_EXPECT_EQ(test, 2, returns(1));
	KUNIT_EXPECT_EQ(test, atomic_read(&nr_returns), 0);
}

#if defined(CONFIG_X86) || defined(CONFIG_ARM64)
/* There the stack pointer tells where the frame of a call is. */
static struct kretprobe *left_behind;

/* What the probed code has of interrupts, where somebody asks */
static bool __maybe_unused left_masked;

static void hit_left_behind(struct pt_regs *regs)
{
	struct kprobe_hit frame = {};

#ifdef CONFIG_X86
	regs->flags = left_masked ? 0 : X86_EFLAGS_IF;
#endif
	preempt_disable_notrace();
	if (kprobe_enter(&frame, &left_behind->kp)) {
		left_behind->kp.pre_handler(&left_behind->kp, regs);
		kprobe_leave(&frame);
	}
	preempt_enable_notrace();
}

/* Enters another call, which never returns. */
static noinline __noclone u32 leaves_call_behind(u32 x)
{
	unsigned long slot = 0;
	struct pt_regs regs = { .sp = (unsigned long)&slot };

	hit_left_behind(&regs);
	return x + 1;
}

/* Who left the calls behind is followed by @rp. Nothing of either probe stays. */
static void drop_both(struct kunit *test, struct kretprobe *rp)
{
	kunit_release_action(test, any_drop, left_behind);
	kunit_release_action(test, any_drop, rp);
	expect_no_holder_soon(test);
}

/* More than there is memory for on a return stack and in the reserve */
#define MANY_CALLS	1000

/* As if a function whose frame has that word had called another one, to return to @addr. */
static void make_call(struct pt_regs *regs, unsigned long *word, unsigned long addr)
{
#if ARCH_KRETPROBE_FRAME_IS_SLOT
	regs->sp = (unsigned long)word;
	WRITE_ONCE(*word, addr);
#else
	regs->regs[29] = (unsigned long)word;
	procedure_link_pointer_set(regs, addr);
#endif
}

/* Makes calls from one place that do not return; or one, and then tail calls of that. */
static noinline __noclone u32 leaves_many_behind(u32 fresh)
{
	unsigned long word = 0;
	struct pt_regs regs = {};
	unsigned int i;

	for (i = 0; i < MANY_CALLS; i++) {
		if (fresh || !i)
			make_call(&regs, &word, (unsigned long)leaves_many_behind);
		hit_left_behind(&regs);
	}
	return fresh + 1;
}

/* A past bug: calls from one place that never return filled the return stack. */
static void calls_that_are_left_behind_are_forgotten(struct kunit *test)
{
	u32 (* const functions[])(u32 x) = { leaves_call_behind, leaves_many_behind };
	const int *cap = test->param_value;
	struct kretprobe *rp;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		rp = registered(test, functions[i], 0);
		left_behind = registered(test, returns, *cap);
		KUNIT_EXPECT_EQ(test, 2, functions[i](1));
		KUNIT_EXPECT_EQ(test, 2, functions[i](1));
		KUNIT_EXPECT_EQ(test, 0, left_behind->nmissed);
		KUNIT_EXPECT_EQ(test, 2, atomic_read(&nr_returns));
		if (*cap)
			KUNIT_EXPECT_EQ(test, 0, under_way(left_behind));
		drop_both(test, rp);
	}
}

#ifdef CONFIG_X86_64
/*
 * With interrupts masked, this might be the beginning or the end of one on top of an entry whose
 * instance is on no list yet, and would be overwritten.
 */
static void calls_are_not_forgotten_where_an_interrupt_may_begin(struct kunit *test)
{
	struct kretprobe *rp = registered(test, leaves_many_behind, 0);

	left_behind = registered(test, returns, 0);
	left_masked = true;
	KUNIT_EXPECT_EQ(test, 2, leaves_many_behind(1));
	left_masked = false;
	KUNIT_EXPECT_GT(test, left_behind->nmissed, 0);
	drop_both(test, rp);
}
#endif

/* None of these is dropped in favour of the next one, but when the function returns. */
static void tail_calls_are_not_forgotten(struct kunit *test)
{
	struct kretprobe *rp = registered(test, leaves_many_behind, 0);
	unsigned int followed;

	left_behind = registered(test, returns, 0);
	KUNIT_EXPECT_EQ(test, 1, leaves_many_behind(0));
	followed = -atomic_read(&left_behind->rph->calls);
	KUNIT_EXPECT_EQ(test, MANY_CALLS, followed + left_behind->nmissed);
	KUNIT_EXPECT_GT(test, left_behind->nmissed, 0);
	drop_both(test, rp);
}
#endif

/* The idle task of a CPU that goes offline never returns from arch_cpu_idle_dead(). */
static void idle_task_of_an_offlined_cpu_starts_anew(struct kunit *test)
{
	unsigned int cpu = hotplug_candidate(), i;
	const int *cap = test->param_value;
	struct task_struct *idle;
	struct kretprobe *rp;
	int err;

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "no CPU to take offline");
	rp = registered(test, arch_cpu_idle_dead, *cap);
	idle = idle_task(cpu);
	for (i = 0; i < 3; i++) {
		err = hotplug_try(remove_cpu, cpu);
		if (err)
			kunit_skip(test, "CPU %u cannot go offline: %d", cpu, err);
		KUNIT_EXPECT_NOT_NULL(test, idle->kretprobe_instances.first);
		KUNIT_ASSERT_EQ(test, 0, hotplug_try(add_cpu, cpu));
		KUNIT_EXPECT_NULL(test, idle->kretprobe_instances.first);
		KUNIT_EXPECT_EQ(test, idle->kretprobe_top, idle->kretprobe_start);
	}
	KUNIT_EXPECT_EQ(test, rp->nmissed, 0);
	kunit_release_action(test, any_drop, rp);
	expect_no_holder_soon(test);
}

static bool stopped_before_release;
/* Others may unregister return probes meanwhile. */
static struct task_struct *stopper;

static int look_at_handler(struct probe *probe, struct pt_regs *regs)
{
	struct llist_head *stopped = (struct llist_head *)kprobes_argument(regs);
	struct kretprobe_holder *rph;

	if (current != stopper)
		return 0;
	rph = llist_entry(stopped->first, struct kretprobe_holder, leaving);
	stopped_before_release = rph->told == &kretprobe_stopped;
	return 0;
}

/* A call that returns after handlers were waited for must not run one any more. */
static void handlers_are_stopped_before_they_are_waited_for(struct kunit *test)
{
	struct kretprobe *rp;

	kprobes_need_arguments(test);
	rp = registered(test, returns, 0);
	stopper = current;
	stopped_before_release = false;
	probe_with(test, kretprobe_holders_release, .on_hit = look_at_handler);
	kunit_release_action(test, any_drop, rp);
	KUNIT_EXPECT_TRUE(test, stopped_before_release);
}

#if defined(CONFIG_X86) && defined(CONFIG_STACKTRACE)
static struct trace taken;

/* Takes a trace from registers as an interrupt has them that comes right after the return. */
static int look_from_trampoline(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct pt_regs at_trampoline = *regs;

	instruction_pointer_set(&at_trampoline, (unsigned long)kretprobe_trampoline_addr());
	trace_take_regs(&taken, &at_trampoline);
	return 0;
}

static noinline __noclone u32 calls_returns(u32 x)
{
	return kprobes_one_more(returns(x));
}

static noinline __noclone u32 calls_that(u32 x)
{
	return kprobes_one_more(calls_returns(x));
}

/* The first entry is the registers' own. It has taken the place of calls_returns(). */
static void trace_from_the_trampoline_goes_on_to_callers(struct kunit *test)
{
	return_probe_with(test, returns, .rp.handler = look_from_trampoline);
	KUNIT_EXPECT_EQ(test, 4, calls_that(1));
	KUNIT_EXPECT_GT(test, trace_count(&taken, calls_that), 0);
}
#endif

static struct kunit_case kretprobe_cases[] = {
	KUNIT_CASE_PARAM(holder_stays_for_those_inside_and_then_goes, maxactive_gen_params),
	KUNIT_CASE(unwinding_survives_links_to_nowhere),
	KUNIT_CASE(every_task_has_a_stack_while_one_is_wanted),
	KUNIT_CASE_SLOW(stacks_go_by_themselves),
	KUNIT_CASE(empty_stack_is_left_to_the_worker),
	KUNIT_CASE_PARAM(task_has_memory_for_eight_calls, data_size_gen_params),
	KUNIT_CASE(larger_stack_takes_the_place_of_an_empty_one),
	KUNIT_CASE(stacks_wait_for_their_readers),
	KUNIT_CASE(holder_waits_for_readers),
	KUNIT_CASE(holder_waits_for_entries),
#ifdef CONFIG_X86_64
	KUNIT_CASE(entry_that_only_follows_a_call_enters_no_mark),
#endif
	KUNIT_CASE(return_probe_that_is_unregistered_twice_leaves_nothing),
#if defined(CONFIG_X86) || defined(CONFIG_ARM64)
	KUNIT_CASE(nmi_in_a_push_loses_no_object),
	KUNIT_CASE_PARAM(calls_that_are_left_behind_are_forgotten, cap_gen_params),
#ifdef CONFIG_X86_64
	KUNIT_CASE(calls_are_not_forgotten_where_an_interrupt_may_begin),
#endif
	KUNIT_CASE(tail_calls_are_not_forgotten),
#endif
	KUNIT_CASE_PARAM(idle_task_of_an_offlined_cpu_starts_anew, cap_gen_params),
	KUNIT_CASE(handlers_are_stopped_before_they_are_waited_for),
#if defined(CONFIG_X86) && defined(CONFIG_STACKTRACE)
	KUNIT_CASE(trace_from_the_trampoline_goes_on_to_callers),
#endif
	{}
};

static struct kunit_suite kretprobe_suite = {
	.name = "kretprobe_core",
	.test_cases = kretprobe_cases,
};

kunit_test_suite(kretprobe_suite);
