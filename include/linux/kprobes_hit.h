/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_HIT_H
#define _LINUX_KPROBES_HIT_H
/*
 * Sites, and what happens at a hit of one: for the core, and for an architecture's
 * code on the way from a hit to the handlers, where a call is much. All of that is
 * built without tracing and without sanitizers.
 */
#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/kprobes_table.h>
#include <linux/percpu.h>

/*
 * What a site is, and what happens to it:
 *
 *  state      | text       | register here  | last probe leaves | disable, switch off
 *  -----------+------------+----------------+-------------------+--------------------
 *  NEW        | untouched  | not visible to anybody but its creator
 *  IDLE       | untouched  | joins, arms it | to DYING          | stays
 *  ARMED      | hooked     | joins          | disarmed, DYING   | disarmed, IDLE
 *  OPTIMIZING | breakpoint | joins          | ARMED first       | ARMED first
 *  OPTIMIZED  | jump       | joins          | ARMED first       | ARMED first
 *  DYING      | untouched  | joins: to IDLE | (has none)        | stays
 *  GONE       | freed      | (not found)    | freed             | stays
 *
 * When the text of a module or of the kernel's init goes, its sites become GONE,
 * and those without probes are freed at once. A hit runs the handlers in ARMED,
 * OPTIMIZING and OPTIMIZED; in any other state it can only be one that was on
 * its way, and the instruction is carried out. DYING ends when no task can be in
 * the slot or the detour any more.
 *
 * OPTIMIZING ends when no task can be in the bytes that the jump is to cover:
 * a hit goes on behind them from its beginning. Whoever needs these bytes (a
 * probe between them, the switch) makes the site ARMED again at once.
 */
enum kprobe_site_state {
	SITE_NEW,
	SITE_IDLE,
	SITE_ARMED,
	SITE_OPTIMIZING,
	SITE_OPTIMIZED,
	SITE_DYING,
	SITE_GONE,
};

/* Why a hit was a miss, or the return of one was. */
enum kprobe_miss {
	KPROBE_MISS_RECURSION,	/* a handler was running in the same context */
	KPROBE_MISS_POOL,	/* a return probe could follow no more calls */
	KPROBE_NR_MISSES,
};

struct ftrace_ops;

/**
 * struct kprobe_site - one probed address
 * @by_addr:	member of the table, except in NEW and GONE; the first, as a lookup
 *		ends in it
 * @op:		what arch code sees of a site that may be hit through a jump
 * @kp:		what it sees of any. Its flags say what holds for the address, its
 *		list is a plan's
 * @only:	the probe here, if it is the only one, enabled, and has a pre
 *		handler: what most hits need of @probes
 * @probes:	the users' probes, newest first. Written under kprobe_mutex, read
 *		under RCU after a mark was entered
 * @all:	member of kprobe_sites
 * @leaving:	member of a list of retire.c in DYING, of kprobe_gone_sites in GONE,
 *		of a plan while its last probe leaves
 * @rcu:	instead of @leaving, for lookups that outlast the table entry
 * @ops:	how an ARMED site was hooked: this ops of ftrace's, or NULL for a
 *		breakpoint
 * @ftrace_ip:	where ftrace calls for it, 0 if it does not
 * @claimed:	an ops that keeps others off is hooked as well
 * @state:	changed by kprobe_site_set_state() only
 * @hits:	whose handlers could run, while kprobe_stats is on
 * @missed:	those, and returns, of which nobody could be told, by cause
 */
struct kprobe_site {
	struct addr_node	by_addr;
	union {
		struct optimized_kprobe	op;
		struct kprobe		kp;
	};
	struct kprobe		*only;
	struct list_head	probes;
	struct list_head	all;
	union {
		struct list_head	leaving;
		struct rcu_head		rcu;
	};
	struct ftrace_ops	*ops;
	unsigned long		ftrace_ip;
	bool			claimed;
	enum kprobe_site_state	state;
	atomic_long_t		hits;
	atomic_t		missed[KPROBE_NR_MISSES];
};

extern struct addr_table kprobe_table;

static inline struct kprobe_site *site_of(struct kprobe *kp)
{
	return container_of(kp, struct kprobe_site, kp);
}

/* Preemption off, or kprobe_mutex held. */
static __always_inline struct kprobe_site *kprobe_find_site(unsigned long addr)
{
	struct addr_node *node = addr_table_find(&kprobe_table, addr);

	return node ? container_of(node, struct kprobe_site, by_addr) : NULL;
}

#define KPROBE_LEVELS	4

/**
 * struct kprobe_mark - whether handlers run, for a CPU and context level
 * @seq:	odd while they do. Changed by plain increments: only this CPU does,
 *		and who interrupts one has undone his own before it goes on
 * @faulting:	a fault handler is what runs
 * @running:	the user's probe whose handler was called last, or NULL
 *
 * @seq is what a nested hit looks at: one at the level of a running handler
 * comes from that handler, and is a miss; one at a higher level comes from an
 * interrupt or NMI that arrived on top of it, and runs. It is also what a
 * probe's memory is guarded by, see wait.c: every call into a user's code lies
 * between an odd and an even value, and whatever leads to a user's memory is
 * read only after the odd one was stored.
 */
struct kprobe_mark {
	unsigned int	seq;
	bool		faulting;
	struct kprobe	*running;
};

/*
 * A frame of handlers on this CPU. Between enter and leave preemption is off,
 * and a hit at the same level is a miss.
 */
struct kprobe_frame {
	struct kprobe		*outer;
	struct kprobe_mark	*mark;
};

DECLARE_PER_CPU(struct kprobe_mark, kprobe_marks[KPROBE_LEVELS]);

/* A plain store, and a compiler barrier: what makes it enough is in wait.c. */
static __always_inline void kprobe_mark_begin(struct kprobe_mark *mark)
{
	mark->seq++;
	barrier();
}

/* Who sees the even value sees the end of all that the handlers did. */
static __always_inline void kprobe_mark_end(struct kprobe_mark *mark)
{
	if (ARCH_KPROBE_ORDERED_STORES) {
		barrier();
		mark->seq++;
	} else {
		/* Pairs with the acquire in wait.c. */
		smp_store_release(&mark->seq, mark->seq + 1);
	}
}

/*
 * Claims the level of the caller for running handlers. False when a handler is
 * running there already: the caller must run none, and counts the miss.
 */
static __always_inline bool kprobe_enter(struct kprobe_frame *frame,
					 struct kprobe *site)
{
	struct kprobe_mark *mark = raw_cpu_ptr(kprobe_marks) + arch_kprobe_level();

	if (mark->seq & 1)
		return false;
	kprobe_mark_begin(mark);
	frame->mark = mark;
	frame->outer = kprobe_set_running(site);
	return true;
}

/* Says whose handler is called next. */
static __always_inline void kprobe_runs(struct kprobe_mark *mark, struct kprobe *p)
{
	WRITE_ONCE(mark->running, p);
}

static __always_inline void kprobe_leave(struct kprobe_frame *frame)
{
	kprobe_set_running(frame->outer);
	kprobe_mark_end(frame->mark);
}

/* For handlers that no exception led to: see KPROBE_HIT_ACTIVE. */
static __always_inline void kprobe_mark_active(void)
{
#if !ARCH_KPROBE_STATELESS
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
#endif
}

/* CPUs may miss at the same time, and no miss is to be lost. */
static __always_inline void kprobe_count_miss(struct kprobe *p)
{
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

DECLARE_STATIC_KEY_FALSE(kprobe_stats);

/* stats.c and hit.c */
void kprobe_count_hit(struct kprobe *p);
int kprobe_run_many(struct kprobe_mark *mark, struct kprobe *p, struct pt_regs *regs);
void kprobe_run_many_post(struct kprobe_mark *mark, struct kprobe *p,
			  struct pt_regs *regs);
void kprobe_reschedule(void);

/* @only is read when the mark was entered, as the list would be. */
static __always_inline int kprobe_run_pre(struct kprobe_mark *mark,
					  struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe *p = READ_ONCE(site->only);

	if (unlikely(!p))
		return kprobe_run_many(mark, &site->kp, regs);
	kprobe_runs(mark, p);
	return p->pre_handler(p, regs);
}

static __always_inline void kprobe_run_post(struct kprobe_mark *mark,
					    struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe *p = READ_ONCE(site->only);

	/* It may have come after who asked for the post handler. */
	if (unlikely(!p || !p->post_handler)) {
		kprobe_run_many_post(mark, &site->kp, regs);
		return;
	}
	kprobe_runs(mark, p);
	p->post_handler(p, regs, 0);
}

/**
 * kprobe_hit_site() - a site was hit: run the handlers
 * @site: the site
 * @regs: registers as the architecture presents them at a breakpoint
 * @carry_out: carries the instruction out on @regs, which tells nobody where it
 *	faults; or returns false, with @regs as they were but for the instruction
 *	pointer
 *
 * Post handlers run here if @carry_out has done its part. That saves them what
 * is to be done around handlers.
 *
 * Context: any, NMI included, preemption off.
 * Return: what the architecture is to do next.
 */
static __always_inline enum kprobe_hit
kprobe_hit_site(struct kprobe_site *site, struct pt_regs *regs,
		bool (*carry_out)(struct kprobe *p, struct pt_regs *regs))
{
	enum kprobe_hit what = KPROBE_HIT_CONTINUE;
	struct kprobe_frame frame = {};

	if (unlikely(!kprobe_enter(&frame, &site->kp))) {
		kprobes_inc_nmissed_count(&site->kp);
		return KPROBE_HIT_MISSED;
	}
	if (static_branch_unlikely(&kprobe_stats))
		kprobe_count_hit(&site->kp);
	if (unlikely(kprobe_run_pre(frame.mark, site, regs))) {
		what = KPROBE_HIT_REDIRECTED;
	} else if (site->kp.post_handler && carry_out(&site->kp, regs)) {
		kprobe_run_post(frame.mark, site, regs);
		what = KPROBE_HIT_DONE;
	}
	kprobe_leave(&frame);
	return what;
}

/*
 * preempt_enable_notrace(), but the call in it is out of line: inline, it takes a
 * frame pointer from every function on the way.
 */
static __always_inline void kprobe_preempt_enable(void)
{
#ifdef CONFIG_PREEMPTION
	barrier();
	if (unlikely(__preempt_count_dec_and_test()))
		kprobe_reschedule();
#else
	preempt_enable_notrace();
#endif
}

#endif /* _LINUX_KPROBES_HIT_H */
