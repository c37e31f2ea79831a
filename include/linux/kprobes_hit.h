/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_HIT_H
#define _LINUX_KPROBES_HIT_H
/*
 * Sites, and what happens at a hit of one: for the core, and for an architecture's
 * code on the way from a hit to the handlers. It is inline because a call would be a
 * good part of what a hit costs. Files that include it for that are built without
 * tracing and without sanitizers.
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
 * When the text of a module or of the kernel's init is about to be freed, its sites
 * become GONE. They keep their slots until no task can be there any more, and those
 * without probes are freed then. A hit runs the handlers in ARMED, OPTIMIZING and
 * OPTIMIZED. In any other state it can only be a hit that was under way when the
 * state changed: then just the instruction is carried out. DYING ends when no task
 * can be in the slot or the detour any more.
 *
 * As soon as a site is OPTIMIZING, hits continue behind the bytes that the jump is
 * going to cover. OPTIMIZING ends when no task can be left among these bytes. If
 * somebody else needs them (another probe there, the global switch), the site is
 * made ARMED again at once.
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

/* Why no handler was told of a hit, or of a return. */
enum kprobe_miss {
	KPROBE_MISS_RECURSION,	/* a handler was running in the same context */
	KPROBE_MISS_POOL,	/* a return probe was following all the calls it can */
	KPROBE_NR_MISSES,
};

struct ftrace_ops;

/**
 * struct kprobe_site - one probed address
 * @by_addr:	member of the table, except in NEW and GONE. It comes first, so that
 *		the result of a lookup is the site's address
 * @op:		what arch code sees of a site that may be hit through a jump
 * @kp:		what arch code sees of any site. Its flags are those of the address,
 *		its list is for plans (struct kprobe_plan), and for retire.c in GONE
 * @first:	whose handlers a hit calls: those of the only probe here, if there is
 *		only one, it is enabled, and it has a pre handler; else those of @kp,
 *		which call the handlers of all probes
 * @probes:	the users' probes, newest first. Written under kprobe_mutex, read
 *		under RCU after a mark was entered
 * @all:	member of kprobe_sites
 * @leaving:	member of a list of retire.c in DYING, of kprobe_gone_sites in GONE,
 *		of a plan while its last probe leaves
 * @rcu:	instead of @leaving, to free the site behind the last lookup
 * @ops:	how an ARMED site was hooked: the ops of ftrace that it was added to,
 *		or NULL for a breakpoint
 * @ftrace_ip:	where ftrace calls for it, 0 if it does not
 * @claimed:	the function is also hooked by an ops that keeps others off
 * @post_bars_jump: when it was last asked, post handlers kept it from a jump
 * @state:	changed by kprobe_site_set_state() only
 * @hits:	how often handlers could run, counted while kprobe_stats is on
 * @missed:	hits, and returns, of which no handler was told, by cause
 */
struct kprobe_site {
	struct kprobe_node	by_addr;
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
	bool			post_bars_jump;
	enum kprobe_site_state	state;
	atomic_long_t		hits;
	atomic_t		missed[KPROBE_NR_MISSES];
};

extern struct kprobe_table kprobe_site_table;

/* From what arch code sees of a site, or is on the list of a plan, to the site. */
static inline struct kprobe_site *site_of(struct kprobe *kp)
{
	return container_of(kp, struct kprobe_site, kp);
}

/**
 * kprobe_find_site() - find the site at an address
 * @addr: any address
 *
 * Context: any, preemption off for as long as the result is used; or with
 * kprobe_mutex held.
 * Return: the site, or NULL.
 */
static __always_inline struct kprobe_site *kprobe_find_site(unsigned long addr)
{
	struct kprobe_node *node = kprobe_table_find(&kprobe_site_table, addr);

	return node ? container_of(node, struct kprobe_site, by_addr) : NULL;
}

/**
 * kprobe_of() - what arch code sees of a site, at a hit
 * @site: the site
 *
 * It is hidden from the compiler that one pointer is computed from the other, which
 * keeps it from holding both in registers for all of the hit.
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
 * @seq:	odd while they do. Plain increments are enough: only this CPU changes
 *		it, and whatever interrupts an increment has made it even again
 *		before it returns
 * @faulting:	a fault handler is running
 * @running:	the user's probe whose handler was called last in this hit, or NULL
 *
 * A nested hit looks at @seq. A hit at the level of a running handler comes from
 * that handler, and is a miss; a hit at a higher level comes from an interrupt or
 * NMI that arrived on top of the handler, and runs.
 *
 * @seq also protects a probe's memory, see wait.c: every call into a user's code lies
 * between an odd and an even value, and whatever leads to a user's memory is read
 * only after the odd value was stored.
 */
struct kprobe_mark {
	unsigned int	seq;
	bool		faulting;
	struct kprobe	*running;
};

/*
 * One of this CPU's marks: as a per-CPU address where instructions can have operands
 * there (ARCH_KPROBE_PERCPU_OPERANDS), else as its plain address.
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
	/* Keep the sum in a register, instead of both of its parts. */
	OPTIMIZER_HIDE_VAR(mark.at);
	return mark;
}

/* The mark's plain address, for what most hits do not do. */
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

/* Why a plain store and a compiler barrier are enough is explained in wait.c. */
static __always_inline void kprobe_mark_begin(union kprobe_own_mark mark)
{
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		raw_cpu_inc(mark.percpu->seq);
	else
		mark.at->seq++;
	barrier();
}

/* Whoever sees the even value also sees all that the handlers did. */
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
 * kprobe_enter() - occupy the caller's level, to run handlers
 * @frame: is set for kprobe_leave()
 * @kp: what kprobe_running() is to be, or NULL
 *
 * Context: any, preemption off until kprobe_leave().
 * Return: false when a handler is running at this level already: then the caller
 * must run none, but counts the miss.
 */
static __always_inline bool kprobe_enter(struct kprobe_frame *frame,
					 struct kprobe *kp)
{
	return kprobe_enter_level(frame, kp, arch_kprobe_level());
}

/* Records whose handler is called next. */
static __always_inline void kprobe_runs(union kprobe_own_mark mark, struct kprobe *p)
{
	if (ARCH_KPROBE_PERCPU_OPERANDS)
		raw_cpu_write(mark.percpu->running, p);
	else
		WRITE_ONCE(mark.at->running, p);
}

/**
 * kprobe_leave() - the handlers that kprobe_enter() was called for have run
 * @frame: from kprobe_enter()
 *
 * Context: that of kprobe_enter().
 */
static __always_inline void kprobe_leave(struct kprobe_frame *frame)
{
	kprobe_set_running(frame->outer);
	kprobe_mark_end(frame->mark);
}

/* Where the core runs handlers itself, without an exception: see KPROBE_HIT_ACTIVE. */
static __always_inline void kprobe_mark_active(void)
{
#if !ARCH_KPROBE_STATELESS
	get_kprobe_ctlblk()->kprobe_status = KPROBE_HIT_ACTIVE;
#endif
}

/*
 * Atomic, because several CPUs can miss at once and each miss has to be counted; by a
 * cast, because to users, who print and compare the member, it is a plain number.
 */
static __always_inline void kprobe_count_miss(struct kprobe *p)
{
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

DECLARE_STATIC_KEY_FALSE(kprobe_stats);

/* See @carry_out of kprobe_hit_site(). */
typedef bool (*kprobe_carry_out_fn)(struct kprobe *kp, struct pt_regs *regs);

/* stats.c and hit.c */
void kprobe_count_hit(struct kprobe *kp);
int kprobe_run_many(struct kprobe *kp, struct pt_regs *regs);
void kprobe_run_many_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
enum kprobe_result kprobe_hit_above_task(unsigned long level, struct kprobe *kp,
					 struct pt_regs *regs, kprobe_carry_out_fn carry_out);
unsigned long kprobe_reschedule(unsigned long result);

/*
 * Here and in what hits call, flags and a site's post_handler are read plainly, although
 * they are changed meanwhile, by WRITE_ONCE(). Each is a word, of which a hit tests a bit
 * or whether it is 0. So it finds what was true just before the change or just after it,
 * and both will do. With READ_ONCE() gcc does not let an instruction have the word as
 * its operand: every hit on x86 would take one instruction more. What is called is read
 * by READ_ONCE(), or is a user's, whose handlers do not change as long as a hit can find
 * them.
 */

/*
 * The site's first is read inside of the mark, as its list would be. If it is @kp, the
 * site's own kprobe, all probes on the list are asked. With ARCH_KPROBE_STATELESS that
 * is what the handlers of @kp do. Otherwise these are kprobe_site_pre() and
 * kprobe_site_post(), for the architecture to call, which lead here.
 */
static __always_inline int kprobe_run_pre(union kprobe_own_mark mark,
					  struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe *first = READ_ONCE(site_of(kp)->first);

	if (!ARCH_KPROBE_STATELESS && first == kp)
		return kprobe_run_many(kp, regs);
	kprobe_runs(mark, first);
	return first->pre_handler(first, regs);
}

static __always_inline void kprobe_run_post(union kprobe_own_mark mark,
					    struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe *first = READ_ONCE(site_of(kp)->first);
	kprobe_post_handler_t post_handler = READ_ONCE(first->post_handler);

	/* The probes may have changed since somebody asked for the post handler. */
	if (unlikely(!post_handler || (!ARCH_KPROBE_STATELESS && first == kp))) {
		kprobe_run_many_post(kp, regs, 0);
		return;
	}
	kprobe_runs(mark, first);
	post_handler(first, regs, 0);
}

/* See kprobe_hit_site(). */
static __always_inline enum kprobe_result
kprobe_hit_at_level(unsigned long level, struct kprobe *kp, struct pt_regs *regs,
		    kprobe_carry_out_fn carry_out)
{
	enum kprobe_result what = KPROBE_RESULT_CONTINUE;
	struct kprobe_frame frame = {};

	if (unlikely(!kprobe_enter_level(&frame, kp, level))) {
		kprobes_inc_nmissed_count(kp);
		return KPROBE_RESULT_MISSED;
	}
	if (static_branch_unlikely(&kprobe_stats))
		kprobe_count_hit(kp);
	if (unlikely(kprobe_run_pre(frame.mark, kp, regs))) {
		what = KPROBE_RESULT_REDIRECTED;
	} else if (kp->post_handler) {
		what = KPROBE_RESULT_POST;
		if (carry_out(kp, regs)) {
			kprobe_run_post(frame.mark, kp, regs);
			what = KPROBE_RESULT_DONE;
		}
	}
	kprobe_leave(&frame);
	return what;
}

/**
 * kprobe_hit_site() - a site was hit: run the handlers
 * @kp: the site
 * @regs: registers as the architecture presents them at a breakpoint
 * @carry_out: carries the instruction out on @regs, without causing a fault; or
 *	returns false, with nothing in @regs changed but the instruction pointer. Has
 *	to be inlined, and must not be probed
 *
 * If there are post handlers @carry_out is called, and if it returns true they run
 * here as well, inside of the same mark as the pre handlers.
 *
 * Context: any, NMI included, preemption off.
 * Return: what the architecture is to do next.
 */
static __always_inline enum kprobe_result
kprobe_hit_site(struct kprobe *kp, struct pt_regs *regs, kprobe_carry_out_fn carry_out)
{
	unsigned long level = arch_kprobe_level();

	/* With a constant level, the address of the mark is a constant too. */
	if (likely(!level))
		return kprobe_hit_at_level(0, kp, regs, carry_out);
	return kprobe_hit_above_task(level, kp, regs, carry_out);
}

/**
 * kprobe_preempt_enable() - preempt_enable_notrace() at the end of a hit
 * @result: what the caller is about to return
 *
 * For the call in preempt_enable_notrace() the compiler sets up a frame in every
 * function that this is inlined into. Here the call is out of line; @result is handed
 * through it, so that the caller does not have to save that meanwhile.
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
