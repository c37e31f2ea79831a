/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_HIT_H
#define _LINUX_KPROBES_HIT_H
/*
 * Sites, and what happens when one is hit: for the core, and for the architecture's code between a
 * hit and the handlers. The functions are inline because a call would be a good part of the cost of
 * a hit. Files that include this for them are built without tracing and without sanitizers.
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

/* Why a handler has not run for a hit, or for a return */
enum kprobe_miss {
	KPROBE_MISS_RECURSION,	/* a handler was running in the same context */
	KPROBE_MISS_NESTED,	/* one was in a context below, both without KPROBE_FLAG_NESTS */
	KPROBE_MISS_POOL,	/* a return probe had no instance left for a call */
	KPROBE_NR_MISSES,
};

/*
 * Which ops of the core's have the function of an ARMED site; none if a breakpoint or jump is hit.
 * One of the first three calls for the site.
 */
enum kprobe_hook {
	KPROBE_HOOK_SHARED	= 1,	/* lets others redirect the function, too */
	KPROBE_HOOK_RETURNS	= 2,	/* the same, and may follow calls by itself */
	KPROBE_HOOK_EXCLUSIVE	= 4,	/* keeps others off */
	KPROBE_HOOK_CLAIM	= 8,	/* keeps others off, beside one of the first two */
	KPROBE_HOOK_KEEPS_OFF	= KPROBE_HOOK_EXCLUSIVE | KPROBE_HOOK_CLAIM,
};

/* Why a probe cannot be registered */
struct kprobe_reason {
	const char	*why;	/* in words that stay valid; NULL if the errno says it all */
	const char	*kind;	/* of instruction, if that is the reason */
};

/**
 * struct kprobe_site - one probed address
 * @by_addr:	member of the table, except in NEW and GONE. It comes first, so that a
 *	lookup returns the site's address
 * @first:	the kprobe whose handlers a hit calls: the only probe here, if there is
 *	only one, it is enabled, and it has a pre handler; else @kp, whose
 *	handlers call those of all probes. Beside @by_addr, which a lookup has just read
 * @probes:	the users' probes, newest first. Changed under kprobe_mutex; hits read it
 *	under RCU, after they have entered a mark
 * @reason:	in NEW, why the site is refused; see kprobe_refuse()
 * @all:	member of kprobe_sites, the oldest first
 * @rcu:	takes its place when the site is freed, after the last lookup
 * @ftrace_offset: where ftrace calls for the site, if it does
 * @hook:	how it was told to, as bits of enum kprobe_hook
 * @untidy:	a probe has left with preemption off, and the rest is left to a worker
 * @has_post_handler: an enabled probe has a post handler. If the architecture calls these by
 *	@kp, its post_handler does not say so: it is not cleared when the last one leaves
 * @planned:	kp.list is on one of a struct kprobe_plan. Else it is on one of retire.c, in
 *	DYING and GONE; on a local one of optimize.c, for a moment; or on none
 * @state:	changed by kprobe_site_set_state() only
 * @missed:	hits and returns for which not all handlers have run, by cause
 * @kp:		the site's own kprobe, which is what arch code gets of any site. Its flags
 *	are those of the address. Its list is used under kprobe_mutex, see @planned;
 *	its hlist in GONE, as a member of kprobe_gone_sites, while there are probes
 * @op:		what arch code gets of a site that may be hit through a jump. A site that
 *	ftrace calls for ends behind @kp
 */
struct kprobe_site {
	struct kprobe_node	by_addr;
	struct kprobe		*first;
	struct list_head	probes;
	union {
		struct kprobe_reason	*reason;
		struct list_head	all;
		struct rcu_head		rcu;
	};
	u8			hook : 4;
	bool			untidy : 1;
	bool			has_post_handler : 1;
	bool			planned : 1;
	u8			ftrace_offset;
	enum kprobe_site_state	state;
	atomic_t		missed[KPROBE_NR_MISSES];
	union {
		struct kprobe		kp;
		struct optimized_kprobe	op;
	};
};

extern struct kprobe_table kprobe_site_table;

/* The site of a kprobe: one that the architecture passes, or one on the list of a plan */
static inline struct kprobe_site *site_of(struct kprobe *kp)
{
	return container_of(kp, struct kprobe_site, kp);
}

/*
 * Finds the site at an address, or returns NULL. Preemption is off for as long as the result is
 * used, or kprobe_mutex is held.
 */
static __always_inline struct kprobe_site *kprobe_find_site(unsigned long addr)
{
	struct kprobe_node *node = kprobe_table_find(&kprobe_site_table, addr);

	return node ? container_of(node, struct kprobe_site, by_addr) : NULL;
}

#define KPROBE_LEVELS	4

/*
 * Whether handlers run, for a CPU and context level.
 *
 * A nested hit checks @seq. A hit at the level of a running handler is caused by that handler, and
 * is a miss. A hit at a higher level comes from an interrupt or NMI on top of the handler. It is a
 * miss for probes without KPROBE_FLAG_NESTS if @running has not got the flag either: see
 * kprobe_left_out().
 *
 * @seq also protects the memory of probes, see wait.c: it is odd while a user's code is called, and
 * everything that leads to a user's memory is read after the odd value was stored.
 */
struct kprobe_mark {
	/*
	 * Odd while handlers run. Plain increments will do: only this CPU changes it, and code that
	 * interrupts an increment leaves it even, as it was.
	 */
	unsigned int	seq;
	bool		faulting;	/* a fault handler is running */
	/* The probe whose handler was called last in this hit; NULL if none was, or @seq is even */
	struct kprobe	*running;
};

DECLARE_PER_CPU(struct kprobe_mark, kprobe_marks[KPROBE_LEVELS]);

/* The marks of this CPU. Preemption is off for as long as the result is used. */
static __always_inline struct kprobe_mark __kprobe_own *kprobe_own_mark(unsigned long level)
{
	return arch_kprobe_own_marks() + level;
}

/* A hit, or something else that runs handlers */
struct kprobe_hit {
	struct kprobe_site	*site;
	struct pt_regs		*regs;
	unsigned long		level;	/* of the probed code */
	struct kprobe_mark __kprobe_own *mark; /* of that level, this CPU's */
	struct kprobe		*outer;	/* what kprobe_running() was before */
};

static __always_inline bool kprobe_mark_entered(const struct kprobe_mark __kprobe_own *mark)
{
	return mark->seq & 1;
}

/* See wait.c for why compiler barriers are enough. */
static __always_inline void kprobe_mark_begin(struct kprobe_mark __kprobe_own *mark)
{
	barrier();
	/* Others only look whether it is odd, and then for any change. */
	data_race(mark->seq++);
	barrier();
}

/* Records whose handler is called next. */
static __always_inline void kprobe_runs(struct kprobe_mark __kprobe_own *mark, struct kprobe *p)
{
	WRITE_ONCE(mark->running, p);
}

/* Another CPU that sees the even value also sees everything that the handlers did. */
static __always_inline void kprobe_mark_end(struct kprobe_mark __kprobe_own *mark)
{
	/* It may be freed as soon as the mark is even, and an interrupt may look at it. */
	kprobe_runs(mark, NULL);
	/* Pairs with the acquire in wait.c. */
	smp_store_release(&mark->seq, mark->seq + 1);
}

static __always_inline bool kprobe_enter_level(struct kprobe_hit *hit, struct kprobe *kp)
{
	hit->mark = kprobe_own_mark(hit->level);
	if (kprobe_mark_entered(hit->mark))
		return false;
	kprobe_mark_begin(hit->mark);
	hit->outer = kprobe_set_running(kp);
	return true;
}

/*
 * Enters the mark of the caller's level, to run handlers until kprobe_leave(); kprobe_running()
 * returns @kp meanwhile. Preemption stays off. Returns false if a handler is running at this level
 * already. Then the caller must not run any, but counts a miss.
 */
static __always_inline bool kprobe_enter(struct kprobe_hit *hit, struct kprobe *kp)
{
	hit->level = arch_kprobe_level();
	return kprobe_enter_level(hit, kp);
}

static __always_inline void kprobe_leave(struct kprobe_hit *hit)
{
	kprobe_set_running(hit->outer);
	kprobe_mark_end(hit->mark);
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

/* hit.c */
void kprobe_count_hit(struct kprobe_site *site);
int kprobe_run_many(struct kprobe *kp, struct pt_regs *regs);
void kprobe_run_many_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
enum kprobe_result kprobe_hit_above_task(struct kprobe_site *site, struct pt_regs *regs,
					 unsigned long level);
void kprobe_resume_elsewhere(struct pt_regs *regs);
bool kprobe_over_plain(unsigned long level);

/*
 * Checks whether the handlers of a probe must not run now, on top of one that is running below.
 * @level is the caller's, whose mark was entered. The answer is the same at all times of a hit,
 * even if the probed instruction runs in between: Documentation/kprobes-design.rst says why.
 */
static __always_inline bool kprobe_left_out(struct kprobe *p, unsigned long level)
{
	/* No handler is below a task's. */
	return level && !(READ_ONCE(p->flags) & KPROBE_FLAG_NESTS) && kprobe_over_plain(level);
}

/*
 * The site's first is read inside of the mark, as its list would be. If it is the site's own
 * kprobe, all probes on the list are to be called, which its handlers do. But without
 * ARCH_KPROBE_STATELESS these are kprobe_site_pre() and kprobe_site_post(), which lead here when
 * the architecture calls them; so the list is run directly. So it is if the only probe is left out,
 * which is counted there.
 */
static __always_inline int kprobe_run_pre(struct kprobe_hit *hit)
{
	struct kprobe *first = READ_ONCE(hit->site->first);
	kprobe_pre_handler_t pre_handler;

	if ((!ARCH_KPROBE_STATELESS && first == &hit->site->kp) ||
	    unlikely(kprobe_left_out(first, hit->level)))
		return kprobe_run_many(&hit->site->kp, hit->regs);
	kprobe_runs(hit->mark, first);
	pre_handler = READ_ONCE(first->pre_handler);
	/* See set_handlers() in site.c; and a careless owner may have cleared it. */
	if (unlikely(!pre_handler))
		return 0;
	return pre_handler(first, hit->regs);
}

/* What is to be done after the pre handlers. @chosen: one of them has set where to resume. */
static __always_inline enum kprobe_result kprobe_pre_done(struct kprobe_hit *hit, int chosen)
{
	kprobe_leave(hit);
	if (unlikely(chosen)) {
		kprobe_resume_elsewhere(hit->regs);
		return KPROBE_RESULT_REDIRECTED;
	}
	if (unlikely(READ_ONCE(hit->site->kp.post_handler)))
		return KPROBE_RESULT_POST;
	return KPROBE_RESULT_CONTINUE;
}

/*
 * The end of kprobe_hit_pre(), for assembly that has entered the mark of a task's hit, and called
 * the handler of its only probe, by itself. @chosen is what that has returned.
 */
static __always_inline enum kprobe_result kprobe_hit_called(struct kprobe_site *site,
							    struct pt_regs *regs, int chosen)
{
	struct kprobe_hit hit = {
		.site = site, .regs = regs, .mark = kprobe_own_mark(0),
	};

	return kprobe_pre_done(&hit, chosen);
}

static __always_inline enum kprobe_result kprobe_hit_at(struct kprobe_site *site,
							struct pt_regs *regs, unsigned long level)
{
	struct kprobe_hit hit = { .site = site, .regs = regs, .level = level };

	if (unlikely(!kprobe_enter_level(&hit, &site->kp))) {
		kprobes_inc_nmissed_count(&site->kp);
		return KPROBE_RESULT_MISSED;
	}
	/* Assembly may have saved them. In here, because what this calls may be probed. */
	kmsan_unpoison_entry_regs(regs);
	if (static_branch_unlikely(&kprobe_stats))
		kprobe_count_hit(site);
	return kprobe_pre_done(&hit, kprobe_run_pre(&hit));
}

/**
 * kprobe_hit_pre() - run the pre handlers for a hit
 * @site: the site
 * @regs: registers as the architecture presents them at a breakpoint
 *
 * Context: any, NMI included, preemption off.
 * Return: what the architecture is to do next.
 */
static __always_inline enum kprobe_result kprobe_hit_pre(struct kprobe_site *site,
							 struct pt_regs *regs)
{
	unsigned long level = arch_kprobe_level();

	/* Most hits are a task's. A constant takes no register. */
	return likely(!level) ? kprobe_hit_at(site, regs, 0)
			      : kprobe_hit_above_task(site, regs, level);
}

static __always_inline void kprobe_run_post(struct kprobe_hit *hit)
{
	struct kprobe *first = READ_ONCE(hit->site->first);
	kprobe_post_handler_t post_handler = READ_ONCE(first->post_handler);

	/* The probes may have changed since somebody looked at the post handler. */
	if (unlikely(!post_handler || (!ARCH_KPROBE_STATELESS && first == &hit->site->kp) ||
		     kprobe_left_out(first, hit->level))) {
		kprobe_run_many_post(&hit->site->kp, hit->regs, 0);
		return;
	}
	kprobe_runs(hit->mark, first);
	post_handler(first, hit->regs, 0);
}

/**
 * kprobe_hit_post() - run the post handlers, after the instruction was executed
 * @site: the site
 * @regs: registers as the instruction left them
 *
 * Not to be called for a missed hit. If a handler is running at this level, the post handlers are
 * left out.
 *
 * Context: any, NMI included, preemption off.
 */
static __always_inline void kprobe_hit_post(struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe_hit hit = { .site = site, .regs = regs };

	if (unlikely(!kprobe_enter(&hit, &site->kp)))
		return;
	kmsan_unpoison_entry_regs(regs);
	kprobe_run_post(&hit);
	kprobe_leave(&hit);
}

/* The rest of kprobe_hit_entry(), after the pre handlers */
static __always_inline bool kprobe_entry_done(struct kprobe_site *site, struct pt_regs *regs,
					      enum kprobe_result what, unsigned long next,
					      unsigned long resume)
{
	if (unlikely(what == KPROBE_RESULT_REDIRECTED))
		return true;
	if (unlikely(what == KPROBE_RESULT_POST)) {
		instruction_pointer_set(regs, next);
		kprobe_hit_post(site, regs);
	}
	instruction_pointer_set(regs, resume);
	return false;
}

/**
 * kprobe_hit_entry() - run the handlers for a hit through ftrace
 * @site: the site, whose instruction does nothing
 * @regs: the registers
 * @at: the instruction pointer for the pre handlers
 * @next: and for the post handlers
 *
 * Unless a pre handler has chosen where to resume, the instruction pointer is as before.
 *
 * Context: any, NMI included, preemption off.
 * Return: true if a pre handler has done that.
 */
static __always_inline bool kprobe_hit_entry(struct kprobe_site *site, struct pt_regs *regs,
					     unsigned long at, unsigned long next)
{
	unsigned long resume = instruction_pointer(regs);

	instruction_pointer_set(regs, at);
	return kprobe_entry_done(site, regs, kprobe_hit_pre(site, regs), next, resume);
}

#endif /* _LINUX_KPROBES_HIT_H */
