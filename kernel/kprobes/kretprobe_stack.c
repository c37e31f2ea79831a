// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return stacks: each task has its own memory for the calls that return probes follow. So
 * no return is lost merely because many tasks are inside of a function.
 *
 * Tasks have return stacks while a return probe that uses them is registered, as large as the
 * largest of these needs. Existing tasks get theirs before the registration returns, new tasks at
 * fork. A task that could get none, because there was no memory, takes instances from the return
 * probes' reserves.
 *
 * Nobody but the task itself takes from its stack, in handlers. So another one is put in its place
 * while the task is not running; or in an interrupt on its CPU that has not arrived in a handler.
 * A stack that is in use then is left: it is freed by the task that leaves the last call on it.
 * In the same way a task leaves its stack itself when a call ends after the last return probe has
 * gone.
 */
#include <kunit/static_stub.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/kmsan-checks.h>
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "kretprobe.h"

/* Held while tasks are given stacks, or these are taken away; internal.h has the order of locks. */
DEFINE_MUTEX(kretprobe_mutex);

/* A stack has room for so many calls. */
#define STACK_DEPTH	8U

/* Sizes are powers of two, as those of what kmalloc() has; the smallest is this. */
#define STACK_MIN	512U
#define STACK_SIZES	5

static_assert((STACK_MIN << (STACK_SIZES - 1)) < KRETPROBE_NO_FIT);

/* The number of return probes that need stacks of each size */
static unsigned int stack_users[STACK_SIZES];
static DEFINE_RAW_SPINLOCK(users_lock);

/* The size that new tasks get, 0 if none; only read without the lock. */
static unsigned int stack_size;

/* The size that all tasks have at least, but those that there was no memory for */
static unsigned int size_of_all;

/* Has a task been left with less? fork() says so without a lock. */
static bool stack_missing;

/* Stacks that no call is on any more */
static LLIST_HEAD(empty_stacks);

/* There may be very many: fail rather than have a task killed for the memory. */
#define STACK_GFP	(__GFP_NORETRY | __GFP_NOWARN)

/* Tracers come and go: the next one should find the stacks still there. */
#define TRIM_DELAY	(5 * HZ)

/* How often tasks that were running are tried once more */
#define MAX_ROUNDS	8

static void trim_stacks(struct work_struct *work);
static DECLARE_DELAYED_WORK(trim_work, trim_stacks);

/**
 * kretprobe_stack_alloc() - allocate a return stack
 * @size: its size
 * @gfp: how
 *
 * Not static, for tests.
 *
 * Context: may sleep.
 * Return: the stack, or NULL.
 */
struct kretprobe_stack *kretprobe_stack_alloc(unsigned int size, gfp_t gfp)
{
	struct kretprobe_stack *stack;
	void *start;

	KUNIT_STATIC_STUB_REDIRECT(kretprobe_stack_alloc, size, gfp);
	start = kmalloc(size, gfp | STACK_GFP);
	if (!start)
		return NULL;
	/* What fills it in is not instrumented, so that KMSAN would take it for uninitialized. */
	kmsan_unpoison_memory(start, size);
	stack = kretprobe_stack_at((unsigned long)start + size);
	stack->start = (unsigned long)start;
	return stack;
}

/**
 * kretprobe_stacks_free() - free return stacks that were taken from kretprobe_stacks_emptied()
 * @stacks: a list of them, or NULL
 *
 * Context: may sleep.
 */
void kretprobe_stacks_free(struct llist_node *stacks)
{
	struct kretprobe_stack *stack, *next;

	llist_for_each_entry_safe(stack, next, stacks, node) {
		cond_resched();
		kfree((void *)stack->start);
	}
}

/**
 * kretprobe_stacks_emptied() - take all return stacks that no call is on any more
 *
 * Unwinders, and the end of the last call, may still be looking at them for a grace period.
 *
 * Context: may sleep.
 * Return: a list of them.
 */
struct llist_node *kretprobe_stacks_emptied(void)
{
	return llist_del_all(&empty_stacks);
}

/**
 * kretprobe_stack_empty() - have a return stack freed
 * @stack: is no task's any more, and no call is on it
 *
 * Context: any, as kretprobe_reap_holders().
 */
void kretprobe_stack_empty(struct kretprobe_stack *stack)
{
	llist_add(&stack->node, &empty_stacks);
	kretprobe_reap_holders();
}

NOKPROBE_SYMBOL(kretprobe_stack_empty);

/*
 * Takes a task's stack away. If calls are on it, the task keeps it on its list until they have
 * ended. Returns false, with nothing changed, if there is a call on it where its record has to be.
 */
static bool leave_stack(struct task_struct *tsk)
{
	struct kretprobe_stack *stack = kretprobe_stack_at(tsk->kretprobe_end);
	unsigned long start = tsk->kretprobe_start;
	bool empty = tsk->kretprobe_top == start;

	if (tsk->kretprobe_top > (unsigned long)stack)
		return false;
	/* An NMI that comes now does not take from it, nor from what may take its place. */
	WRITE_ONCE(tsk->kretprobe_end, 0);
	barrier();
	WRITE_ONCE(tsk->kretprobe_start, KRETPROBE_NO_STACK);
	WRITE_ONCE(tsk->kretprobe_top, 0);
	stack->start = start;
	if (empty) {
		kretprobe_stack_empty(stack);
	} else {
		stack->node.next = tsk->kretprobe_left.first;
		tsk->kretprobe_left.first = &stack->node;
	}
	return true;
}

NOKPROBE_SYMBOL(leave_stack);

/**
 * kretprobe_stack_leave() - leave the current task's return stack if nobody needs it any more
 *
 * The call that is ending may be on it. An interrupt does not do this: the task that it is on top
 * of may be using the stack. An empty stack is left to trim_stacks(), which may be taking it
 * right now.
 *
 * Context: the end of a call, preemption off.
 */
void kretprobe_stack_leave(void)
{
	/* Read once: an empty stack may be taken, and these change, at any time. */
	unsigned long top = READ_ONCE(current->kretprobe_top);
	unsigned long start = READ_ONCE(current->kretprobe_start);

	if (READ_ONCE(stack_size) || !top || start == KRETPROBE_NO_STACK || arch_kprobe_level())
		return;
	if (top != start)
		leave_stack(current);
}

NOKPROBE_SYMBOL(kretprobe_stack_leave);

static bool has_room(struct task_struct *tsk, unsigned int size)
{
	unsigned long end = READ_ONCE(tsk->kretprobe_end);

	return end && end - READ_ONCE(tsk->kretprobe_start) >= size;
}

/* May this CPU be where a handler runs, be it an interrupted one? */
static bool in_handlers(void)
{
	unsigned long level;

	for (level = 0; level < KPROBE_LEVELS; level++) {
		if (kprobe_mark_entered(kprobe_own_mark(level)))
			return true;
	}
	return false;
}

/*
 * Gives a task a stack, if it has no such large one. Returns -EAGAIN if it may be taking from the
 * one it has, else whether it has got it.
 */
static int give_stack(struct task_struct *tsk, void *arg)
{
	struct kretprobe_stack *stack = arg;
	unsigned long end = (unsigned long)(stack + 1);

	if (has_room(tsk, end - stack->start))
		return false;
	if (tsk == current ? in_handlers() : task_curr(tsk) && cpu_online(task_cpu(tsk)))
		return -EAGAIN;
	if (tsk->kretprobe_end && !leave_stack(tsk)) {
		WRITE_ONCE(stack_missing, true);
		return false;
	}
	WRITE_ONCE(tsk->kretprobe_top, stack->start);
	WRITE_ONCE(tsk->kretprobe_start, stack->start);
	barrier();
	WRITE_ONCE(tsk->kretprobe_end, end);
	return true;
}

/* Gives a task a spare stack. Returns true if it still needs one. */
static bool give_spare(struct task_struct *tsk, struct llist_head *spares)
{
	struct kretprobe_stack *stack;
	int given;

	if (has_room(tsk, READ_ONCE(stack_size)))
		return false;
	if (llist_empty(spares))
		return true;
	stack = llist_entry(llist_del_first(spares), struct kretprobe_stack, node);
	given = task_call_func(tsk, give_stack, stack);
	if (given <= 0)
		llist_add(&stack->node, spares);
	return given < 0;
}

/* In an interrupt, to the task that was running */
static void give_running(void *spares)
{
	give_spare(current, spares);
}

/* Calls a function for every task. Returns how often it has returned true. */
static unsigned int for_all_tasks(bool (*fn)(struct task_struct *tsk, struct llist_head *spares),
				  struct llist_head *spares)
{
	struct task_struct *process, *tsk;
	unsigned int n = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		tsk = idle_task(cpu);
		if (tsk)
			n += fn(tsk, spares);
	}
	/*
	 * A new task that is not on the list yet will read stack_size when it is; see
	 * kretprobe_init_task().
	 */
	read_lock(&tasklist_lock);
	for_each_process_thread(process, tsk)
		n += fn(tsk, spares);
	read_unlock(&tasklist_lock);
	return n;
}

/* Adds @num stacks to @spares, or as many as there is memory for. */
static void alloc_spares(unsigned int num, struct llist_head *spares)
{
	struct kretprobe_stack *stack;

	while (num--) {
		cond_resched();
		stack = kretprobe_stack_alloc(READ_ONCE(stack_size), GFP_KERNEL);
		if (!stack)
			return;
		llist_add(&stack->node, spares);
	}
}

static void give_to_all(void)
{
	LLIST_HEAD(spares);
	unsigned int without, rounds = 0;
	int cpu;

	WRITE_ONCE(stack_missing, false);
	while ((without = for_all_tasks(give_spare, &spares)) && rounds++ < MAX_ROUNDS) {
		if (llist_empty(&spares))
			alloc_spares(without, &spares);
		if (llist_empty(&spares))
			break;
		for_each_online_cpu(cpu)
			smp_call_function_single(cpu, give_running, &spares, true);
	}
	if (without)
		WRITE_ONCE(stack_missing, true);
	kretprobe_stacks_free(llist_del_all(&spares));
	/* If it has become smaller meanwhile, some have more. */
	raw_spin_lock(&users_lock);
	size_of_all = stack_size;
	raw_spin_unlock(&users_lock);
}

/* Which size do instances of so many bytes need? */
static unsigned int users_of(unsigned int instance)
{
	return order_base_2(max(STACK_DEPTH * instance, STACK_MIN)) - ilog2(STACK_MIN);
}

static void count_user(unsigned int instance, int change)
{
	unsigned int i = STACK_SIZES;

	raw_spin_lock(&users_lock);
	stack_users[users_of(instance)] += change;
	while (i && !stack_users[i - 1])
		i--;
	WRITE_ONCE(stack_size, i ? STACK_MIN << (i - 1) : 0);
	size_of_all = min(size_of_all, stack_size);
	raw_spin_unlock(&users_lock);
}

static bool all_have_enough(void)
{
	bool enough;

	raw_spin_lock(&users_lock);
	enough = size_of_all >= stack_size && !READ_ONCE(stack_missing);
	raw_spin_unlock(&users_lock);
	return enough;
}

/**
 * kretprobe_stacks_get() - give all tasks a return stack
 * @instance: the size of an instance
 *
 * Only the first user that needs stacks of a size goes through the tasks, or the next one after a
 * task was left without. There may be many of both. A task that there is no memory for goes
 * without, as after fork(). A CPU that comes or goes runs tasks, and is not among those that are
 * online.
 *
 * Context: may sleep.
 */
void kretprobe_stacks_get(unsigned int instance)
{
	bool locked = kprobe_lock_cpus();

	scoped_guard(mutex, &kretprobe_mutex) {
		cancel_delayed_work(&trim_work);
		count_user(instance, 1);
		if (!all_have_enough())
			give_to_all();
	}
	if (locked)
		cpus_read_unlock();
}

/**
 * kretprobe_stacks_put() - undo kretprobe_stacks_get()
 * @instance: the size of an instance
 *
 * The return probe's pre handler must not run any more.
 *
 * Context: any but interrupts.
 */
void kretprobe_stacks_put(unsigned int instance)
{
	count_user(instance, -1);
	if (!READ_ONCE(stack_size))
		schedule_delayed_work(&trim_work, TRIM_DELAY);
}

static int leave_if_empty(struct task_struct *tsk, void *unused)
{
	if (tsk->kretprobe_end && READ_ONCE(tsk->kretprobe_top) == tsk->kretprobe_start)
		leave_stack(tsk);
	return 0;
}

/* There is no return probe left that would use it again. */
static bool take_stack(struct task_struct *tsk, struct llist_head *unused)
{
	task_call_func(tsk, leave_if_empty, NULL);
	return false;
}

/**
 * kretprobe_stacks_trim() - free the return stacks if no return probe uses them
 *
 * A task keeps its stack while it is inside of a function whose return probe was
 * unregistered, and leaves it when the next one of these calls ends. The grace period is for
 * calls that were ending when there still was a return probe. Not static, for tests.
 *
 * Context: may sleep.
 */
void kretprobe_stacks_trim(void)
{
	synchronize_rcu();
	guard(mutex)(&kretprobe_mutex);
	if (!READ_ONCE(stack_size))
		for_all_tasks(take_stack, NULL);
}

static void trim_stacks(struct work_struct *work)
{
	kretprobe_stacks_trim();
}

/**
 * kretprobe_init_task() - give a new task its return stack
 * @tsk: on the list of tasks, but has not run yet
 *
 * Context: may sleep.
 */
void kretprobe_init_task(struct task_struct *tsk)
{
	unsigned int size = READ_ONCE(stack_size);
	struct kretprobe_stack *stack;

	if (likely(!size))
		return;
	stack = kretprobe_stack_alloc(size, GFP_KERNEL_ACCOUNT);
	if (!stack)
		WRITE_ONCE(stack_missing, true);
	else if (!task_call_func(tsk, give_stack, stack))
		kfree((void *)stack->start);
}

/**
 * kretprobe_stack_free() - free a task's return stack
 * @tsk: will not run again, but may still be unwound; no call is on the stack
 *
 * Context: any.
 */
void kretprobe_stack_free(struct task_struct *tsk)
{
	struct {
		struct rcu_head rcu;
	} *stack = (void *)tsk->kretprobe_start;

	if (!tsk->kretprobe_end)
		return;
	tsk->kretprobe_end = 0;
	tsk->kretprobe_start = KRETPROBE_NO_STACK;
	kfree_rcu(stack, rcu);
}
