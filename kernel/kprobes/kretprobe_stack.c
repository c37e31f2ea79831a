// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of the calls that return probes follow.
 *
 * Return stacks: each task has its own memory for instances, so no return is lost merely because
 * many tasks are inside of a function. Tasks have them while a return probe that uses them is
 * registered, as large as the largest of these needs. Existing tasks get theirs before the
 * registration returns, new tasks at fork. A task that could get none, because there was no
 * memory, takes instances from the return probes' reserves.
 *
 * Nobody but the task itself takes from its stack, with preemption off. So another one is put in
 * its place while the task is not running; or in an interrupt on its CPU that has not arrived in a
 * handler. An entry without a mark may be under way there, which expects this. A stack that is in
 * use then is left: it is freed by the task that leaves the last call on it. So a task does itself
 * when a call ends after the last return probe has gone.
 *
 * Holders: what the instances of a return probe refer to. A holder outlives its return probe for
 * as long as tasks are inside the probed function. With a cap, the calls under way are counted.
 * Without, their number is the sum of one count per CPU, which takes no atomic operation. A single
 * count may even be negative, because a call may return on another CPU than it was made on; and
 * while calls are being made, the sum says nothing, because it is read CPU by CPU. But a grace
 * period after the return probe was unregistered no call is added, and a sum of zero is final.
 */
#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/kmsan-checks.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "internal.h"
#include "kretprobe.h"

/* Protects stack_users, stack_size and size_of_all. Held while tasks get or lose stacks. */
DEFINE_MUTEX(kretprobe_mutex);

/* Sizes are powers of two, as those of what kmalloc() has; the smallest is this. */
#define STACK_MIN	512U
#define STACK_SIZES	5
#define STACK_DEPTH	8U	/* a stack has room for so many calls */

static unsigned int stack_users[STACK_SIZES];	/* how many return probes need each size */
static unsigned int stack_size;		/* of new tasks, 0 if none; also read without the mutex */
static unsigned int size_of_all;	/* all tasks have this, but those there was no memory for */
static bool stack_missing;		/* one has less; fork() says so without the mutex */

static LLIST_HEAD(empty_stacks);	/* no call is on them any more */
static LLIST_HEAD(left_holders);	/* of unregistered return probes, until no call is inside */

static void reap_holders(struct work_struct *work);
static DECLARE_WORK(reap_work, reap_holders);

/* How often tasks that were running are tried once more */
#define MAX_ROUNDS	8

/* Allocates a return stack. */
static struct kretprobe_stack *alloc_stack(unsigned int size, gfp_t gfp)
{
	struct kretprobe_stack *stack;
	void *start;

	/* There may be very many: fail rather than have a task killed for the memory. */
	start = kmalloc(size, gfp | __GFP_NORETRY | __GFP_NOWARN);
	if (!start)
		return NULL;
	/* What fills it in is not instrumented, so that KMSAN would take it for uninitialized. */
	kmsan_unpoison_memory(start, size);
	stack = start + size - sizeof(*stack);
	stack->start = (unsigned long)start;
	return stack;
}

static void queue_reaping(struct irq_work *work)
{
	schedule_work(&reap_work);
}

static DEFINE_IRQ_WORK(reap_irq_work, queue_reaping);

/* Has a stack freed that no call is on; also in an NMI, or with the scheduler's locks held. */
void __kprobes kretprobe_stack_empty(struct kretprobe_stack *stack)
{
	llist_add(&stack->node, &empty_stacks);
	irq_work_queue(&reap_irq_work);
}

/*
 * Takes a task's stack away. If calls are on it, the task keeps it on its list until they have
 * ended. Returns false, with nothing changed, if there is a call on it where its record has to be.
 */
static bool __kprobes leave_stack(struct task_struct *tsk)
{
	struct kretprobe_stack *stack = (struct kretprobe_stack *)tsk->kretprobe_end - 1;
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

/*
 * Does what is due when a call ends whose return probe was unregistered, before its instance is
 * given back. It is of the current task, or of one that does not run; preemption is off.
 *
 * The current task leaves its return stack if nobody needs it any more. An interrupt does not do
 * this: the task that it is on top of may be using the stack. An empty stack is left to
 * kretprobe_stacks_trim(), which may be taking it right now.
 */
void __kprobes kretprobe_orphan_ended(struct task_struct *tsk)
{
	if (tsk == current && !READ_ONCE(stack_size) && kretprobe_stack_in_use(tsk) &&
	    !arch_kprobe_level())
		leave_stack(tsk);
	irq_work_queue(&reap_irq_work);
}

static bool has_room(struct task_struct *tsk, unsigned int size)
{
	unsigned long end = READ_ONCE(tsk->kretprobe_end);

	return end && end - READ_ONCE(tsk->kretprobe_start) >= size;
}

/* Checks whether a handler runs on this CPU, be it an interrupted one. */
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
	struct llist_node *node;
	int given;

	if (has_room(tsk, READ_ONCE(stack_size)))
		return false;
	node = llist_del_first(spares);
	if (!node)
		return true;
	given = task_call_func(tsk, give_stack, llist_entry(node, struct kretprobe_stack, node));
	if (given <= 0)
		llist_add(node, spares);
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

	for_each_possible_cpu(cpu)
		n += idle_task(cpu) && fn(idle_task(cpu), spares);
	/* A new task that is not there yet reads stack_size when it is: kretprobe_init_task(). */
	read_lock(&tasklist_lock);
	for_each_process_thread(process, tsk)
		n += fn(tsk, spares);
	read_unlock(&tasklist_lock);
	return n;
}

static void free_stacks(struct llist_node *stacks)
{
	struct kretprobe_stack *stack, *next;

	llist_for_each_entry_safe(stack, next, stacks, node) {
		cond_resched();
		kfree((void *)stack->start);
	}
}

static void give_to_all(void)
{
	LLIST_HEAD(spares);
	unsigned int without, wanted, rounds = 0;
	struct kretprobe_stack *stack;
	int cpu;

	WRITE_ONCE(stack_missing, false);
	while ((without = for_all_tasks(give_spare, &spares)) && rounds++ < MAX_ROUNDS) {
		wanted = llist_empty(&spares) ? without : 0;
		while (wanted-- && (stack = alloc_stack(stack_size, GFP_KERNEL))) {
			llist_add(&stack->node, &spares);
			cond_resched();
		}
		if (llist_empty(&spares))
			break;
		for_each_online_cpu(cpu)
			smp_call_function_single(cpu, give_running, &spares, true);
	}
	if (without)
		WRITE_ONCE(stack_missing, true);
	free_stacks(llist_del_all(&spares));
	size_of_all = stack_size;
}

/* Counts a return probe that comes, or goes, whose instances have so many bytes. */
static void count_user(unsigned int instance, int change)
{
	unsigned int order = order_base_2(max(STACK_DEPTH * instance, STACK_MIN));
	unsigned int i = STACK_SIZES;

	lockdep_assert_held(&kretprobe_mutex);
	stack_users[order - ilog2(STACK_MIN)] += change;
	while (i && !stack_users[i - 1])
		i--;
	WRITE_ONCE(stack_size, i ? STACK_MIN << (i - 1) : 0);
	size_of_all = min(size_of_all, stack_size);
}

/* There is no return probe left that would use the stack again. */
static int leave_if_empty(struct task_struct *tsk, void *unused)
{
	if (tsk->kretprobe_end && READ_ONCE(tsk->kretprobe_top) == tsk->kretprobe_start)
		leave_stack(tsk);
	return 0;
}

static bool take_stack(struct task_struct *tsk, struct llist_head *unused)
{
	return task_call_func(tsk, leave_if_empty, NULL);
}

/*
 * Frees the return stacks if no return probe uses them. A task keeps its stack while it is inside
 * of a function whose return probe was unregistered, and leaves it when the next one of these calls
 * ends. The worker has waited for calls that were ending when there still was a return probe. Not
 * static, for tests.
 */
void kretprobe_stacks_trim(struct work_struct *unused)
{
	flush_work(&reap_work);
	guard(mutex)(&kretprobe_mutex);
	if (!READ_ONCE(stack_size))
		for_all_tasks(take_stack, NULL);
}

static DECLARE_DELAYED_WORK(trim_work, kretprobe_stacks_trim);

/*
 * Gives all tasks a return stack for instances of so many bytes. Only the first user of a size goes
 * through the tasks, or the next one after a task was left without, for lack of memory. No CPU
 * comes or goes meanwhile: it would run tasks without being among those that are online.
 */
void kretprobe_stacks_get(unsigned int instance)
{
	bool locked = kprobe_lock_cpus();

	scoped_guard(mutex, &kretprobe_mutex) {
		cancel_delayed_work(&trim_work);
		count_user(instance, 1);
		if (size_of_all < stack_size || READ_ONCE(stack_missing))
			give_to_all();
	}
	if (locked)
		cpus_read_unlock();
}

/* Undoes that. The return probe's pre handler must not run any more. */
void kretprobe_stacks_put(unsigned int instance)
{
	guard(mutex)(&kretprobe_mutex);
	count_user(instance, -1);
	/* Tracers come and go: the next one should find the stacks still there. */
	if (!READ_ONCE(stack_size))
		schedule_delayed_work(&trim_work, 5 * HZ);
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
	stack = alloc_stack(size, GFP_KERNEL_ACCOUNT);
	if (!stack)
		WRITE_ONCE(stack_missing, true);
	else if (!task_call_func(tsk, give_stack, stack))
		kfree((void *)stack->start);
}

/* Frees a dead task's return stack, which no call is on. The task may still be unwound. */
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

static void free_holder(struct kretprobe_holder *rph)
{
	kvfree(rph->reserve);
	free_percpu(rph->inside);
	kfree(rph);
}

/* The call may have been the last one inside. */
static int __kprobes orphan_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kretprobe_orphan_ended(current);
	return 0;
}

/*
 * What is told of returns in place of a return probe that must not be called any more, or was
 * unregistered. Other handlers may run on top.
 */
struct kretprobe kretprobe_stopped = {
	.kp.flags = KPROBE_FLAG_NESTS,
};

struct kretprobe kretprobe_orphaned = {
	.kp.flags = KPROBE_FLAG_NESTS,
	.handler = orphan_handler,
};

/* Creates the holder of a return probe; or returns an ERR_PTR(). */
void *kretprobe_holder_create(struct kretprobe *rp)
{
	struct kretprobe_holder *rph = kzalloc(sizeof(*rph), GFP_KERNEL);
	size_t size;

	if (!rph)
		return ERR_PTR(-ENOMEM);
	rph->size = ALIGN(struct_size_t(struct kretprobe_instance, data, rp->data_size),
			  sizeof(u64));
	rph->cap = max(rp->maxactive, 0);
	/* With a cap, there is one for each call up to that, whatever is on return stacks. */
	rph->num_reserve = rph->cap ?: 2 * num_possible_cpus() + 64;
	rph->simple = !rph->cap && !rp->entry_handler && kretprobe_uses_stacks(rph);
	rph->inside = alloc_percpu(unsigned long);
	/*
	 * What tells which instances are in use is behind them. So none of them ends where another
	 * allocation begins, which might be a return stack.
	 */
	size = size_mul(rph->num_reserve, rph->size);
	rph->reserve = kvzalloc(size_add(size, BITS_TO_LONGS(rph->num_reserve) * sizeof(long)),
				GFP_KERNEL | __GFP_NOWARN);
	rph->taken = rph->reserve + size;
	if (!rph->inside || !rph->reserve) {
		free_holder(rph);
		return ERR_PTR(-ENOMEM);
	}
	if (kretprobe_uses_stacks(rph))
		kretprobe_stacks_get(rph->size);
	return rph;
}

/* Gives a return probe its holder. The return probe is not hit yet. */
void kretprobe_holder_attach(struct kprobe *p, void *holder)
{
	struct kretprobe *rp = kretprobe_of(p);
	struct kretprobe_holder *rph = holder;

	rph->told = rp;
	rcu_assign_pointer(rph->rp, rp);
	rp->rph = rph;
}

/* Returns the holder of a probe, if that only has to follow calls at an entry; else NULL. */
struct kretprobe_holder *kretprobe_follows(struct kprobe *p)
{
	struct kretprobe *rp = kretprobe_of(p);

	return p->pre_handler == kretprobe_entry && rp->rph->simple ? rp->rph : NULL;
}

/* Frees a holder that no return probe was given. */
void kretprobe_holder_drop(void *holder)
{
	struct kretprobe_holder *rph = holder;

	if (kretprobe_uses_stacks(rph))
		kretprobe_stacks_put(rph->size);
	free_holder(rph);
}

/*
 * Stops reporting returns, and adds the holder to @stopped. Handlers that are running can still use
 * get_kretprobe(): the caller has to wait for them.
 */
void kretprobe_holder_stop(struct kprobe *p, struct llist_head *stopped)
{
	struct kretprobe_holder *rph = kretprobe_of(p)->rph;

	WRITE_ONCE(rph->told, &kretprobe_stopped);
	llist_add(&rph->leaving, stopped);
}

/* Handlers have been waited for, so only entries without a mark take instances. Does not sleep. */
void kretprobe_holders_release(struct llist_head *stopped)
{
	struct llist_node *node = llist_del_all(stopped);
	struct kretprobe_holder *rph, *next;

	if (!node)
		return;
	llist_for_each_entry_safe(rph, next, node, leaving) {
		rcu_dereference_protected(rph->rp, true)->rph = NULL;
		RCU_INIT_POINTER(rph->rp, NULL);
		llist_add(&rph->leaving, &left_holders);
	}
	schedule_work(&reap_work);
}

static bool anybody_inside(struct kretprobe_holder *rph)
{
	unsigned int inside = atomic_read(&rph->calls);
	int cpu;

	for_each_possible_cpu(cpu)
		inside += READ_ONCE(*per_cpu_ptr(rph->inside, cpu));
	return inside;
}

/*
 * Frees return stacks that are empty, and the holders that no call is inside of. The first grace
 * period is for entries that have found the holder, and have yet to count their calls; for calls
 * that were ending when the handler was replaced, and so do not queue this again; and for unwinders
 * that are looking at stacks. The second is for unwinders that are looking at instances.
 */
static void reap_holders(struct work_struct *work)
{
	struct llist_node *stacks = llist_del_all(&empty_stacks);
	struct llist_node *holders = llist_del_all(&left_holders);
	struct kretprobe_holder *rph, *next;
	LLIST_HEAD(empty);

	llist_for_each_entry(rph, holders, leaving) {
		if (rph->told == &kretprobe_orphaned)
			continue;
		if (kretprobe_uses_stacks(rph))
			kretprobe_stacks_put(rph->size);
		/* Each call that ends may be the last one now. */
		WRITE_ONCE(rph->told, &kretprobe_orphaned);
	}
	synchronize_rcu();
	free_stacks(stacks);
	llist_for_each_entry_safe(rph, next, holders, leaving)
		llist_add(&rph->leaving, anybody_inside(rph) ? &left_holders : &empty);
	if (llist_empty(&empty))
		return;
	synchronize_rcu();
	llist_for_each_entry_safe(rph, next, empty.first, leaving)
		free_holder(rph);
}

/* Checks for holders of unregistered return probes, for tests. */
bool kretprobe_holders_left(void)
{
	flush_work(&reap_work);
	return !llist_empty(&left_holders);
}
