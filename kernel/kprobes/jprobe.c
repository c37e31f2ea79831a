// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jprobes: when a function is entered, call a function of the user's with the same arguments, from
 * the pre handler of a probe. The user's function ends by returning, or by jprobe_return() at any
 * depth of calls. Then registers and stack are as if it had not been called.
 */
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/kasan.h>
#include <linux/percpu.h>
#include <linux/rethook.h>

#include "internal.h"

/* How many bytes of arguments on the stack are copied at most */
#define JPROBE_ARGS_SIZE	256

/*
 * What arch_jprobe_return() goes back to, for each level of a CPU; 0 if no jprobe's function is
 * running there. At a level there is at most one, because it runs inside of a pre handler.
 */
static DEFINE_PER_CPU(unsigned long, jprobe_frames[KPROBE_LEVELS]);

/* Rethook follows calls, too. Those that jprobe_return() has left never return. */
#ifdef CONFIG_RETHOOK
static struct llist_node __kprobes *first_rethook(void)
{
	return current->rethooks.first;
}

static void __kprobes drop_rethooks(struct llist_node *last)
{
	struct llist_node *node;

	while ((node = current->rethooks.first) != last) {
		current->rethooks.first = node->next;
		rethook_recycle(container_of(node, struct rethook_node, llist));
	}
}
#else
static struct llist_node *first_rethook(void) { return NULL; }
static void drop_rethooks(struct llist_node *last) { }
#endif

/*
 * The pre handler of every jprobe. The user's function may have made calls that have not returned
 * when it ends. Rethook and KASAN have to forget about them here; the graph tracer pauses. Return
 * probes are not hit in a handler.
 */
int __kprobes jprobe_entry(struct kprobe *p, struct pt_regs *regs)
{
	struct jprobe *jp = container_of(p, struct jprobe, kp);
	unsigned long *frame = raw_cpu_ptr(jprobe_frames) + arch_kprobe_level();
	struct llist_node *rethooks = first_rethook();
	void *entry = READ_ONCE(jp->entry);
	unsigned long args, end;
	size_t size;

	/* A careless owner has set it to NULL. */
	if (!entry)
		return 0;
	args = arch_jprobe_args(regs, &end);
	size = args < end ? round_down(min(end - args, JPROBE_ARGS_SIZE), 16) : 0;
	pause_graph_tracing();
	arch_jprobe_call(entry, regs, (void *)args, size, frame);
	*frame = 0;
	kasan_unpoison_task_stack_below(__builtin_frame_address(0));
	drop_rethooks(rethooks);
	unpause_graph_tracing();
	return 0;
}

/* Forgets a jprobe's function that will not end, because its task dies. Preemption is off. */
void __kprobes jprobe_forget(void)
{
	raw_cpu_write(jprobe_frames[0], 0);
}

/**
 * jprobe_return() - end a jprobe's function
 *
 * Does not return. But if no jprobe's function is running, it warns and returns.
 *
 * Context: in a jprobe's function, or in what it calls.
 */
void __kprobes jprobe_return(void)
{
	unsigned long frame;

	preempt_disable_notrace();
	frame = raw_cpu_ptr(jprobe_frames)[arch_kprobe_level()];
	preempt_enable_notrace();
	if (!WARN(!frame, "kprobes: %s() outside of a jprobe's function\n", __func__))
		arch_jprobe_return(frame);
}
EXPORT_SYMBOL_GPL(jprobe_return);

static const char *check_jprobe(struct kprobe *p, kprobe_opcode_t *addr)
{
	struct jprobe *jp = container_of(p, struct jprobe, kp);

	return jp->entry ? NULL : "there is no function to call";
}

static const struct kprobe_kind jprobe_kind = {
	.pre_handler	= jprobe_entry,
	.check		= check_jprobe,
};

/**
 * register_jprobe() - plant a jprobe
 * @jp: what to probe and what to call; belongs to the core until it is unregistered
 *
 * Context: may sleep.
 * Return: 0; or with nothing changed: -EINVAL if the address is not a function's entry, there is no
 * function to call, or @jp is registered already; or an error of register_kprobe().
 */
int register_jprobe(struct jprobe *jp)
{
	return register_jprobes(&jp, 1);
}
EXPORT_SYMBOL_GPL(register_jprobe);

/**
 * register_jprobes() - plant several jprobes, or none
 * @jps: the jprobes
 * @num: how many
 *
 * Context: may sleep.
 * Return: 0; -EINVAL unless @num is positive; -ENOMEM; or an error of register_jprobe() for one of
 * them. After an error, none is left planted.
 */
int register_jprobes(struct jprobe **jps, int num)
{
	return kprobe_register(kprobes_of(jps), num, &jprobe_kind);
}
EXPORT_SYMBOL_GPL(register_jprobes);

/**
 * unregister_jprobe() - remove a jprobe
 * @jp: the jprobe
 *
 * Context: as unregister_jprobes().
 */
void unregister_jprobe(struct jprobe *jp)
{
	unregister_jprobes(&jp, 1);
}
EXPORT_SYMBOL_GPL(unregister_jprobe);

/**
 * unregister_jprobes() - remove jprobes
 * @jps: the jprobes. If one is not registered, its address is set to NULL
 * @num: how many
 *
 * When this returns, none of their functions is running for them or will be called.
 *
 * Context: as unregister_kprobes(); not from a jprobe's function.
 */
void unregister_jprobes(struct jprobe **jps, int num)
{
	kprobe_unregister(kprobes_of(jps), num, &jprobe_kind);
}
EXPORT_SYMBOL_GPL(unregister_jprobes);
