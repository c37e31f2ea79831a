// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return stacks: each task has its own memory for the calls that return probes follow. So
 * no return is lost merely because many tasks are inside of a function.
 *
 * Tasks have return stacks while a return probe that uses them is registered. Existing
 * tasks get theirs before the registration returns, new tasks at fork. A task that could
 * get none at fork takes instances from the return probes' pools.
 */
#include <linux/cleanup.h>
#include <linux/kmsan-checks.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "kretprobe.h"

/* The number of return probes that use return stacks; fork() reads it without a lock. */
static unsigned int stack_users;

/* Has a task been left without one? fork() says so without a lock. */
static bool stack_missing;

/* There may be very many: fail rather than have a task killed for the memory. */
#define STACK_GFP	(__GFP_NORETRY | __GFP_NOWARN)

/* Tracers come and go: the next one should find the stacks still there. */
#define TRIM_DELAY	(5 * HZ)

/* Who is inside of a function then may stay there for long. */
#define TRIM_AGAIN	(30 * HZ)

static void trim_stacks(struct work_struct *work);
static DECLARE_DELAYED_WORK(trim_work, trim_stacks);

/* What fills it in is not instrumented for KMSAN, which would take all of it for uninitialized. */
static struct kretprobe_stack *alloc_stack(gfp_t gfp)
{
	struct kretprobe_stack *stack = kmalloc(KRETPROBE_STACK_SIZE, gfp | STACK_GFP);

	if (stack)
		kmsan_unpoison_memory(stack, KRETPROBE_STACK_SIZE);
	return stack;
}

static void free_stacks(struct kretprobe_stack *stack)
{
	while (stack) {
		struct kretprobe_stack *next = stack->next;

		cond_resched();
		kfree(stack);
		stack = next;
	}
}

/* Allocates @num stacks, or none. */
static struct kretprobe_stack *alloc_stacks(unsigned int num)
{
	struct kretprobe_stack *stacks = NULL, *stack;

	while (num--) {
		cond_resched();
		stack = alloc_stack(GFP_KERNEL);
		if (!stack) {
			free_stacks(stacks);
			return NULL;
		}
		stack->next = stacks;
		stacks = stack;
	}
	return stacks;
}

/* With cmpxchg(), because fork may give the task a stack at the same time. */
static bool give_stack(struct task_struct *tsk, struct kretprobe_stack *stack)
{
	return cmpxchg(&tsk->kretprobe_top, KRETPROBE_NO_STACK,
		       (unsigned long)stack) == KRETPROBE_NO_STACK;
}

/* Gives a task a spare stack, if it has none. Returns true if it still has none. */
static bool give_spare(struct task_struct *tsk, struct kretprobe_stack **spare)
{
	struct kretprobe_stack *stack = *spare;

	if (READ_ONCE(tsk->kretprobe_top) != KRETPROBE_NO_STACK)
		return false;
	if (!stack)
		return true;
	*spare = stack->next;
	if (!give_stack(tsk, stack)) {
		stack->next = *spare;
		*spare = stack;
	}
	return false;
}

/* Calls a function for every task. Returns how often it has returned true. */
static unsigned int for_all_tasks(bool (*fn)(struct task_struct *tsk,
					     struct kretprobe_stack **stacks),
				  struct kretprobe_stack **stacks)
{
	struct task_struct *process, *tsk;
	unsigned int n = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		tsk = idle_task(cpu);
		if (tsk)
			n += fn(tsk, stacks);
	}
	/*
	 * A new task that is not on the list yet will read stack_users when it is; see
	 * kretprobe_init_task().
	 */
	read_lock(&tasklist_lock);
	for_each_process_thread(process, tsk)
		n += fn(tsk, stacks);
	read_unlock(&tasklist_lock);
	return n;
}

/**
 * kretprobe_stacks_get() - give all tasks a return stack
 *
 * Only the first user goes through the tasks, or the next one after a task was left without a
 * stack. There may be many of both.
 *
 * Context: kretprobe_mutex is held; may sleep.
 * Return: 0, or -ENOMEM.
 */
int kretprobe_stacks_get(void)
{
	struct kretprobe_stack *spare = NULL;
	unsigned int without;

	lockdep_assert_held(&kretprobe_mutex);
	cancel_delayed_work(&trim_work);
	WRITE_ONCE(stack_users, stack_users + 1);
	if (stack_users > 1 && !READ_ONCE(stack_missing))
		return 0;
	WRITE_ONCE(stack_missing, false);
	while ((without = for_all_tasks(give_spare, &spare))) {
		spare = alloc_stacks(without);
		if (!spare) {
			WRITE_ONCE(stack_missing, true);
			kretprobe_stacks_put();
			return -ENOMEM;
		}
	}
	free_stacks(spare);
	return 0;
}

/**
 * kretprobe_stacks_put() - undo kretprobe_stacks_get()
 *
 * The return probe's pre handler must not run any more.
 *
 * Context: kretprobe_mutex is held.
 */
void kretprobe_stacks_put(void)
{
	lockdep_assert_held(&kretprobe_mutex);
	WRITE_ONCE(stack_users, stack_users - 1);
	if (!stack_users)
		schedule_delayed_work(&trim_work, TRIM_DELAY);
}

/*
 * Takes a task's stack away, if the stack is empty. There is no return probe left that
 * would use it again. But the task may still be reading the last instance on it. Returns true
 * if the stack is in use.
 */
static bool take_stack(struct task_struct *tsk, struct kretprobe_stack **taken)
{
	unsigned long top = READ_ONCE(tsk->kretprobe_top);
	struct kretprobe_stack *stack = (void *)top;

	if (top == KRETPROBE_NO_STACK)
		return false;
	if (!IS_ALIGNED(top, KRETPROBE_STACK_SIZE) ||
	    cmpxchg(&tsk->kretprobe_top, top, KRETPROBE_NO_STACK) != top)
		return true;
	stack->next = *taken;
	*taken = stack;
	return false;
}

/**
 * kretprobe_stacks_trim() - free the return stacks if no return probe uses them
 *
 * A task keeps its stack while it is inside of a function whose return probe was
 * unregistered. Then this is done once more, later. Not static, for tests.
 *
 * Context: may sleep.
 */
void kretprobe_stacks_trim(void)
{
	struct kretprobe_stack *taken = NULL;

	scoped_guard(mutex, &kretprobe_mutex) {
		if (!stack_users && for_all_tasks(take_stack, &taken))
			schedule_delayed_work(&trim_work, TRIM_AGAIN);
	}
	if (!taken)
		return;
	/* Unwinders, and the end of a task's last call, may still be looking at them. */
	synchronize_rcu();
	free_stacks(taken);
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
	struct kretprobe_stack *stack;

	if (likely(!READ_ONCE(stack_users)))
		return;
	stack = alloc_stack(GFP_KERNEL_ACCOUNT);
	if (!stack)
		WRITE_ONCE(stack_missing, true);
	else if (!give_stack(tsk, stack))
		kfree(stack);
}

/**
 * kretprobe_stack_free() - free a task's return stack
 * @tsk: will not run again, but may still be unwound
 *
 * Context: any.
 */
void kretprobe_stack_free(struct task_struct *tsk)
{
	unsigned long top = tsk->kretprobe_top;
	struct kretprobe_stack *stack;

	tsk->kretprobe_top = KRETPROBE_NO_STACK;
	if (top == KRETPROBE_NO_STACK)
		return;
	stack = (void *)ALIGN_DOWN(top, KRETPROBE_STACK_SIZE);
	kfree_rcu(stack, rcu);
}
