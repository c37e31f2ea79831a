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
 * @first:	whose handlers a hit calls: the probe here, if it is the only one,
 *		enabled, and has a pre handler; else @kp's, which call those of all
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
	struct kprobe		*first;
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

/*
 * What arch code sees of a site, for a hit: as a pointer of its own, so that no
 * register has to be kept for the site's.
 */
static __always_inline struct kprobe *kprobe_of(struct kprobe_site *site)
{
	struct kprobe *p = &site->kp;

	OPTIMIZER_HIDE_VAR(p);
	return p;
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
 * One of this CPU's marks: where it is in the per-CPU data if operands can be there,
 * else its address.
 */
union kprobe_own_mark {
	struct kprobe_mark __percpu	*percpu;
	struct kprobe_mark		*at;
};

/*
 * A frame of handlers on this CPU. Between enter and leave preemption is off,
 * and a hit at the same level is a miss.
 */
struct kprobe_frame {
	struct kprobe		*outer;
	union kprobe_own_mark	mark;
};

DECLARE_PER_CPU(struct kprobe_mark, kprobe_marks[KPROBE_LEVELS]);

static __always_inline union kprobe_own_mark kprobe_own_mark(unsigned long level)
{
	union kprobe_own_mark mark;

	if (ARCH_KPROBE_PERCPU_OPERANDS) {
		mark.percpu = kprobe_marks + level;
		return mark;
	}
	mark.at = raw_cpu_ptr(kprobe_marks) + level;
	/* In one register, please, not in a base and an offset. */
	OPTIMIZER_HIDE_VAR(mark.at);
	return mark;
}

/* For what is not done at most hits. */
static __always_inline struct kprobe_mark *kprobe_mark_at(union kprobe_own_mark mark)
{
	return ARCH_KPROBE_PERCPU_OPERANDS ? raw_cpu_ptr(mark.percpu) : mark.at;
}

static __always_inline bool kprobe_mark_entered(union kprobe_own_mark mark)
{
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		return raw_cpu_read(mark.percpu->seq) & 1;
	return mark.at->seq & 1;
}

/* A plain store, and a compiler barrier: what makes it enough is in wait.c. */
static __always_inline void kprobe_mark_begin(union kprobe_own_mark mark)
{
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		raw_cpu_inc(mark.percpu->seq);
	else
		mark.at->seq++;
	barrier();
}

/* Who sees the even value sees the end of all that the handlers did. */
static __always_inline void kprobe_mark_end(union kprobe_own_mark mark)
{
	if (!ARCH_KPROBE_ORDERED_STORES) {
		struct kprobe_mark *at = kprobe_mark_at(mark);

		/* Pairs with the acquire in wait.c. */
		smp_store_release(&at->seq, at->seq + 1);
		return;
	}
	barrier();
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		raw_cpu_inc(mark.percpu->seq);
	else
		mark.at->seq++;
}

/* See kprobe_enter(). */
static __always_inline bool kprobe_enter_level(struct kprobe_frame *frame,
					       struct kprobe *site, unsigned long level)
{
	union kprobe_own_mark mark = kprobe_own_mark(level);

	if (kprobe_mark_entered(mark))
		return false;
	kprobe_mark_begin(mark);
	frame->mark = mark;
	frame->outer = kprobe_set_running(site);
	return true;
}

/*
 * Claims the level of the caller for running handlers. False when a handler is
 * running there already: the caller must run none, and counts the miss.
 */
static __always_inline bool kprobe_enter(struct kprobe_frame *frame,
					 struct kprobe *site)
{
	return kprobe_enter_level(frame, site, arch_kprobe_level());
}

/* Says whose handler is called next. */
static __always_inline void kprobe_runs(union kprobe_own_mark mark, struct kprobe *p)
{
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		raw_cpu_write(mark.percpu->running, p);
	else
		WRITE_ONCE(mark.at->running, p);
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

typedef bool (*kprobe_carry_out_fn)(struct kprobe *p, struct pt_regs *regs);

/* stats.c and hit.c */
void kprobe_count_hit(struct kprobe *p);
int kprobe_run_many(struct kprobe *p, struct pt_regs *regs);
void kprobe_run_many_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
enum kprobe_hit kprobe_hit_above_task(unsigned long level, struct kprobe *p,
				      struct pt_regs *regs, kprobe_carry_out_fn carry_out);
unsigned long kprobe_reschedule(unsigned long result);

/*
 * @first is read when the mark was entered, as the list would be. Only where an
 * architecture calls the handlers of a site by itself are @kp's not these.
 */
static __always_inline int kprobe_run_pre(union kprobe_own_mark mark,
					  struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe *first = READ_ONCE(site_of(p)->first);

	if (!ARCH_KPROBE_STATELESS && first == p)
		return kprobe_run_many(p, regs);
	kprobe_runs(mark, first);
	return first->pre_handler(first, regs);
}

static __always_inline void kprobe_run_post(union kprobe_own_mark mark,
					    struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe *first = READ_ONCE(site_of(p)->first);
	kprobe_post_handler_t post_handler = READ_ONCE(first->post_handler);

	/* It may have come after who asked for the post handler. */
	if (unlikely(!post_handler || (!ARCH_KPROBE_STATELESS && first == p))) {
		kprobe_run_many_post(p, regs, 0);
		return;
	}
	kprobe_runs(mark, first);
	post_handler(first, regs, 0);
}

/* See kprobe_hit_site(). */
static __always_inline enum kprobe_hit
kprobe_hit_at_level(unsigned long level, struct kprobe *p, struct pt_regs *regs,
		    kprobe_carry_out_fn carry_out)
{
	enum kprobe_hit what = KPROBE_HIT_CONTINUE;
	struct kprobe_frame frame = {};

	if (unlikely(!kprobe_enter_level(&frame, p, level))) {
		kprobes_inc_nmissed_count(p);
		return KPROBE_HIT_MISSED;
	}
	if (static_branch_unlikely(&kprobe_stats))
		kprobe_count_hit(p);
	if (unlikely(kprobe_run_pre(frame.mark, p, regs))) {
		what = KPROBE_HIT_REDIRECTED;
	} else if (p->post_handler) {
		what = KPROBE_HIT_POST;
		if (carry_out(p, regs)) {
			kprobe_run_post(frame.mark, p, regs);
			what = KPROBE_HIT_DONE;
		}
	}
	kprobe_leave(&frame);
	return what;
}

/**
 * kprobe_hit_site() - a site was hit: run the handlers
 * @p: the site
 * @regs: registers as the architecture presents them at a breakpoint
 * @carry_out: carries the instruction out on @regs, which tells nobody where it
 *	faults; or returns false, with @regs as they were but for the instruction
 *	pointer. To be inlined, and not to be probed
 *
 * Post handlers run here if @carry_out has done its part. That saves them what
 * is to be done around handlers.
 *
 * Context: any, NMI included, preemption off.
 * Return: what the architecture is to do next.
 */
static __always_inline enum kprobe_hit
kprobe_hit_site(struct kprobe *p, struct pt_regs *regs, kprobe_carry_out_fn carry_out)
{
	unsigned long level = arch_kprobe_level();

	/* A task's mark is always in the same place, which takes less to say. */
	if (likely(!level))
		return kprobe_hit_at_level(0, p, regs, carry_out);
	return kprobe_hit_above_task(level, p, regs, carry_out);
}

/*
 * preempt_enable_notrace(), but the call in it is out of line: inline, it takes a
 * frame pointer from every function on the way. It takes and returns what the
 * function is about to return, which then need not be kept meanwhile.
 */
static __always_inline unsigned long kprobe_preempt_enable(unsigned long result)
{
#ifdef CONFIG_PREEMPTION
	barrier();
	if (unlikely(__preempt_count_dec_and_test()))
		return kprobe_reschedule(result);
#else
	preempt_enable_notrace();
#endif
	return result;
}

#endif /* _LINUX_KPROBES_HIT_H */
