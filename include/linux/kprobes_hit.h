/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_HIT_H
#define _LINUX_KPROBES_HIT_H
/*
 * Sites, and what happens when one is hit: for the core, and for the architecture's code
 * between a hit and the handlers. The functions are inline because a call would be a good
 * part of the cost of a hit. Files that include this for them are built without tracing
 * and without sanitizers.
 */
#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/kmsan.h>
#include <linux/kprobes_arch.h>
#include <linux/kprobes_table.h>
#include <linux/list.h>
#include <linux/percpu.h>

/*
 * The states of a site:
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
 * When a module's text or the kernel's init text is about to be freed, its sites become
 * GONE. They keep their slots until no task can be there any more; then those without
 * probes are freed. DYING ends when no task can be in the slot or the detour any more.
 *
 * Hits run the handlers in ARMED, OPTIMIZING and OPTIMIZED. A hit in any other state was
 * under way when the state changed. It runs the handlers of probes that are still enabled,
 * if the global switch was turned off or the text is going; otherwise there are none.
 *
 * From OPTIMIZING on, hits continue behind the bytes that the jump will cover. OPTIMIZING
 * ends when no task can be left among these bytes. If they are needed for something else
 * (another probe there, the global switch), the site becomes ARMED again at once.
 */
enum kprobe_site_state {
	SITE_NEW,
	SITE_IDLE,
	SITE_ARMED,
	SITE_OPTIMIZING,
	SITE_OPTIMIZED,
	SITE_DYING,
	SITE_GONE,
} __packed;

/* Why a handler has not run for a hit, or for a return. */
enum kprobe_miss {
	KPROBE_MISS_RECURSION,	/* a handler was running in the same context */
	KPROBE_MISS_NESTED,	/* one was in a context below, both without KPROBE_FLAG_NESTS */
	KPROBE_MISS_POOL,	/* a return probe had no instance left for a call */
	KPROBE_NR_MISSES,
};

struct ftrace_ops;

/**
 * enum kprobe_queue - which list a site is on
 * @KPROBE_QUEUE_NONE: none; for a moment perhaps a local one, that is passed to
 *	kprobe_optimize_sites() or kprobe_unoptimize_sites()
 * @KPROBE_QUEUE_PLAN: one of a struct kprobe_plan
 * @KPROBE_QUEUE_RETIRE: one of retire.c, in DYING and GONE
 */
enum kprobe_queue {
	KPROBE_QUEUE_NONE,
	KPROBE_QUEUE_PLAN,
	KPROBE_QUEUE_RETIRE,
} __packed;

/**
 * struct kprobe_reason - why a probe cannot be registered
 * @why:	the reason in words, a string that stays valid; NULL if the errno says it all
 * @kind:	the kind of instruction, if that is the reason
 */
struct kprobe_reason {
	const char	*why;
	const char	*kind;
};

/**
 * struct kprobe_site - one probed address
 * @by_addr:	member of the table, except in NEW and GONE. It comes first, so that a
 *		lookup returns the site's address
 * @first:	the kprobe whose handlers a hit calls: the only probe here, if there is
 *		only one, it is enabled, and it has a pre handler; else @kp, whose
 *		handlers call those of all probes. Beside @by_addr, which a lookup has just read
 * @op:		what arch code gets of a site that may be hit through a jump
 * @kp:		the site's own kprobe, which is what arch code gets of any site. Its flags
 *		are those of the address. Its list is used under kprobe_mutex, see @queued_on
 * @probes:	the users' probes, newest first. Changed under kprobe_mutex; hits read it
 *		under RCU, after they have entered a mark
 * @all:	member of kprobe_sites, which is sorted by @serial
 * @serial:	how many sites had been created before
 * @reason:	in NEW, where whoever refuses the site says why; see kprobe_refuse()
 * @gone:	member of kprobe_gone_sites, in GONE and as long as there are probes
 * @rcu:	takes their place when the site is freed, after the last lookup
 * @ops:	how an ARMED site was hooked: the ftrace ops that it was added to, or NULL
 *		for a breakpoint
 * @ftrace_ip:	where ftrace calls for the site; 0 if it does not
 * @claimed:	the function is also hooked by an ops that keeps others off
 * @has_post_handler: an enabled probe has a post handler. If the architecture calls these by
 *		@kp, its post_handler does not say so: it is not cleared when the last one leaves
 * @untidy:	a probe has left with preemption off, and the rest is left to a worker
 * @queued_on:	which list kp.list is on
 * @state:	changed by kprobe_site_set_state() only
 * @missed:	hits and returns for which not all handlers have run, by cause
 * @hits:	hits that were not missed, counted while kprobe_stats is on
 */
struct kprobe_site {
	struct kprobe_node	by_addr;
	struct kprobe		*first;
	union {
		struct optimized_kprobe	op;
		struct kprobe		kp;
	};
	struct list_head	probes;
	struct list_head	all;
	u64			serial;
	union {
		struct kprobe_reason	*reason;
		struct hlist_node	gone;
		struct rcu_head		rcu;
	};
	struct ftrace_ops	*ops;
	unsigned long		ftrace_ip;
	bool			claimed;
	bool			has_post_handler;
	bool			untidy;
	enum kprobe_queue	queued_on;
	enum kprobe_site_state	state;
	atomic_t		missed[KPROBE_NR_MISSES];
	atomic_long_t		hits;
};

extern struct kprobe_table kprobe_site_table;

/* Returns the site of a kprobe: one that arch code passes, or one on the list of a plan. */
static inline struct kprobe_site *site_of(struct kprobe *kp)
{
	return container_of(kp, struct kprobe_site, kp);
}

/**
 * kprobe_find_site() - find the site at an address
 * @addr: any address
 *
 * Context: any, preemption off for as long as the result is used; or kprobe_mutex is
 * held.
 * Return: the site, or NULL.
 */
static __always_inline struct kprobe_site *kprobe_find_site(unsigned long addr)
{
	struct kprobe_node *node = kprobe_table_find(&kprobe_site_table, addr);

	return node ? container_of(node, struct kprobe_site, by_addr) : NULL;
}

/**
 * kprobe_of() - get a site's own kprobe, at a hit
 * @site: the site
 *
 * Hide from the compiler that one pointer is derived from the other. Otherwise it keeps
 * both in registers throughout the hit.
 *
 * Context: any.
 * Return: the site's own kprobe.
 */
static __always_inline struct kprobe *kprobe_of(struct kprobe_site *site)
{
	struct kprobe *kp = &site->kp;

	OPTIMIZER_HIDE_VAR(kp);
	return kp;
}

#define KPROBE_LEVELS	4

/**
 * struct kprobe_mark - whether handlers run, for a CPU and context level
 * @seq:	odd while they do. Plain increments are enough: only this CPU changes it,
 *		and code that interrupts an increment leaves it even, as it was
 * @faulting:	a fault handler is running
 * @running:	the probe whose handler was called last in this hit; NULL if none was, and
 *		while @seq is even
 *
 * A nested hit checks @seq. A hit at the level of a running handler is caused by that
 * handler, and is a miss. A hit at a higher level comes from an interrupt or NMI on top
 * of the handler. It is a miss for probes without KPROBE_FLAG_NESTS if @running has not got
 * the flag either: see kprobe_left_out().
 *
 * @seq also protects the memory of probes, see wait.c: it is odd while a user's code is
 * called, and everything that leads to a user's memory is read after the odd value was
 * stored.
 */
struct kprobe_mark {
	unsigned int	seq;
	bool		faulting;
	struct kprobe	*running;
};

/*
 * One of this CPU's marks: its per-CPU address if instructions can have operands there
 * (ARCH_KPROBE_PERCPU_OPERANDS), else its plain address.
 */
union kprobe_own_mark {
	struct kprobe_mark __percpu	*percpu;
	struct kprobe_mark		*at;
};

/**
 * struct kprobe_frame - what kprobe_leave() has to undo
 * @outer:	what kprobe_running() was before
 * @mark:	the mark that was entered
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
	/* Keep the sum in a register, not both of its parts. */
	OPTIMIZER_HIDE_VAR(mark.at);
	return mark;
}

/* Returns the mark's plain address, for what is not done at most hits. */
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

/* See wait.c for why a plain store and a compiler barrier are enough. */
static __always_inline void kprobe_mark_begin(union kprobe_own_mark mark)
{
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		raw_cpu_inc(mark.percpu->seq);
	else
		mark.at->seq++;
	barrier();
}

/* Records whose handler is called next. */
static __always_inline void kprobe_runs(union kprobe_own_mark mark, struct kprobe *p)
{
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		raw_cpu_write(mark.percpu->running, p);
	else
		WRITE_ONCE(mark.at->running, p);
}

/* Another CPU that sees the even value also sees everything that the handlers did. */
static __always_inline void kprobe_mark_end(union kprobe_own_mark mark)
{
	/* It may be freed as soon as the mark is even, and an interrupt may look at it. */
	kprobe_runs(mark, NULL);
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
					       struct kprobe *kp, unsigned long level)
{
	union kprobe_own_mark mark = kprobe_own_mark(level);

	if (kprobe_mark_entered(mark))
		return false;
	kprobe_mark_begin(mark);
	frame->mark = mark;
	frame->outer = kprobe_set_running(kp);
	return true;
}

/**
 * kprobe_enter() - enter the mark of the caller's level, to run handlers
 * @frame: filled in for kprobe_leave()
 * @kp: what kprobe_running() is to return, or NULL
 *
 * Context: any, preemption off until kprobe_leave().
 * Return: false if a handler is running at this level already. Then the caller must not
 * run any, but counts a miss.
 */
static __always_inline bool kprobe_enter(struct kprobe_frame *frame,
					 struct kprobe *kp)
{
	return kprobe_enter_level(frame, kp, arch_kprobe_level());
}

/**
 * kprobe_leave() - leave a mark after handlers have run
 * @frame: from kprobe_enter()
 *
 * Context: that of kprobe_enter().
 */
static __always_inline void kprobe_leave(struct kprobe_frame *frame)
{
	kprobe_set_running(frame->outer);
	kprobe_mark_end(frame->mark);
}

/* For handlers that the core runs without an exception: see KPROBE_HIT_ACTIVE. */
static __always_inline void kprobe_mark_active(void)
{
#if !ARCH_KPROBE_STATELESS
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
#endif
}

/* Atomic, because several CPUs can miss hits of a probe at once. */
static __always_inline void kprobe_count_miss(struct kprobe *p)
{
	raw_atomic_long_inc(&p->missed);
}

DECLARE_STATIC_KEY_FALSE(kprobe_stats);

/* stats.c and hit.c */
void kprobe_count_hit(struct kprobe *kp);
int kprobe_run_many(struct kprobe *kp, struct pt_regs *regs);
void kprobe_run_many_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
enum kprobe_result kprobe_hit_above_task(unsigned long level, struct kprobe *kp,
					 struct pt_regs *regs);
unsigned long kprobe_reschedule(unsigned long result);
bool kprobe_over_plain(unsigned long level);

/**
 * kprobe_left_out() - check whether the handlers of a probe must not run at a level now
 * @p: the probe
 * @level: the caller's level, whose mark was entered
 *
 * The answer is the same at all times of a hit, even if the probed instruction runs in
 * between: Documentation/kprobes-design.rst says why.
 *
 * Context: any, preemption off.
 * Return: true if it may not run on top of a handler that is running below.
 */
static __always_inline bool kprobe_left_out(struct kprobe *p, unsigned long level)
{
	/* No handler is below a task's. */
	return level && !(READ_ONCE(p->flags) & KPROBE_FLAG_NESTS) && kprobe_over_plain(level);
}

/*
 * The site's first is read inside of the mark, as its list would be. If it is @kp, the
 * handlers of all probes on the list are to be called. With ARCH_KPROBE_STATELESS the
 * handlers of @kp do that. Without it they are kprobe_site_pre() and kprobe_site_post(),
 * which lead here when the architecture calls them; so the list is run directly. So it is if
 * the only probe is left out, which is counted there.
 */
static __always_inline int kprobe_run_pre(union kprobe_own_mark mark, unsigned long level,
					  struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe *first = READ_ONCE(site_of(kp)->first);
	kprobe_pre_handler_t pre_handler;

	if ((!ARCH_KPROBE_STATELESS && first == kp) || unlikely(kprobe_left_out(first, level)))
		return kprobe_run_many(kp, regs);
	kprobe_runs(mark, first);
	pre_handler = READ_ONCE(first->pre_handler);
	/* A careless owner may have set it to NULL. */
	if (unlikely(!pre_handler))
		return 0;
	return pre_handler(first, regs);
}

/* See kprobe_hit_site(). */
static __always_inline enum kprobe_result
kprobe_hit_at_level(unsigned long level, struct kprobe *kp, struct pt_regs *regs)
{
	enum kprobe_result what = KPROBE_RESULT_CONTINUE;
	struct kprobe_frame frame = {};

	if (unlikely(!kprobe_enter_level(&frame, kp, level))) {
		kprobes_inc_nmissed_count(kp);
		return KPROBE_RESULT_MISSED;
	}
	/* Assembly may have saved them. In here, because what this calls may be probed. */
	kmsan_unpoison_entry_regs(regs);
	if (static_branch_unlikely(&kprobe_stats))
		kprobe_count_hit(kp);
	if (unlikely(kprobe_run_pre(frame.mark, level, kp, regs)))
		what = KPROBE_RESULT_REDIRECTED;
	else if (unlikely(READ_ONCE(kp->post_handler)))
		what = KPROBE_RESULT_POST;
	kprobe_leave(&frame);
	return what;
}

/**
 * kprobe_hit_site() - run the pre handlers for a hit
 * @kp: the site's own kprobe
 * @regs: registers as the architecture presents them at a breakpoint
 *
 * Context: any, NMI included, preemption off.
 * Return: what the architecture is to do next.
 */
static __always_inline enum kprobe_result
kprobe_hit_site(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned long level = arch_kprobe_level();

	/* If the level is a constant, so is the address of the mark. */
	if (likely(!level))
		return kprobe_hit_at_level(0, kp, regs);
	return kprobe_hit_above_task(level, kp, regs);
}

/**
 * kprobe_preempt_enable() - enable preemption at the end of a hit
 * @result: what the caller is about to return
 *
 * If this were preempt_enable_notrace(), the call in there would make the compiler set up
 * a frame in every function that inlines it. Here the call is out of line, and is passed
 * @result, so that the caller does not have to save that.
 *
 * Context: any, preemption off.
 * Return: @result.
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
