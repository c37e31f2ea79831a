/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users of ftrace, and probes, that can hook a function. Each counts the calls that
 * it sees. For suites that are built in.
 */
#ifndef _KPROBES_TESTS_PARTIES_H
#define _KPROBES_TESTS_PARTIES_H

#include <linux/bitops.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>

/**
 * struct party - a user that can hook a function
 * @name: its name
 * @join: hooks the function
 * @leave: stops hooking it
 * @calls: how many calls it has seen; if it hooks returns, how many have returned
 */
struct party {
	const char *name;
	int (*join)(void);
	void (*leave)(void);
	unsigned long *calls;
};

/* Which of a suite's parties have joined */
static unsigned long present;

/* An action: a case that ends early must leave no party behind. */
static inline void parties_leave(void *data)
{
	const struct party *parties = data;
	unsigned int i;

	for_each_set_bit(i, &present, BITS_PER_LONG)
		parties[i].leave();
	present = 0;
}

/* A static ops can be used again, but must not be initialized again. */
static inline int ops_filter(struct ftrace_ops *ops, void *function)
{
	return ftrace_set_filter_ip(ops, ftrace_location((unsigned long)function), 0, 1);
}

static inline int ops_join(struct ftrace_ops *ops, void *function)
{
	return ops_filter(ops, function) ?: register_ftrace_function(ops);
}

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static unsigned long graph_calls;

static inline int graph_enters(struct ftrace_graph_ent *entry, struct fgraph_ops *ops,
			       struct ftrace_regs *fregs)
{
	return 1;
}

static inline void graph_returns(struct ftrace_graph_ret *ret, struct fgraph_ops *ops,
				 struct ftrace_regs *fregs)
{
	graph_calls++;
}

static struct fgraph_ops graph = {
	.entryfunc = graph_enters,
	.retfunc = graph_returns,
};

static inline int graph_join_at(void *function)
{
	return ops_filter(&graph.ops, function) ?: register_ftrace_graph(&graph);
}

static inline void graph_leave(void)
{
	unregister_ftrace_graph(&graph);
}
#endif

#ifdef CONFIG_KRETPROBES
/* Besides the calls: what was told of the caller, by the registers and as an address */
static unsigned long return_calls, return_ip, return_addr;

static inline int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return_calls++;
	return_ip = instruction_pointer(regs);
	return_addr = get_kretprobe_retaddr(ri);
	return 0;
}

static struct kretprobe return_probe;

static inline int return_join_at(void *function)
{
	return_probe = (struct kretprobe) {
		.kp.addr = function,
		.handler = count_return,
	};
	return register_kretprobe(&return_probe);
}

static inline void return_leave(void)
{
	unregister_kretprobe(&return_probe);
}
#endif

#endif /* _KPROBES_TESTS_PARTIES_H */
