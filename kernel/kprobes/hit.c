// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything of the core that runs at a hit.
 *
 * Nothing here may be probed or traced, or call what may be, before the mark is
 * entered: the recursion guard is that mark. The file is built without ftrace,
 * and without sanitizers, whose checks are calls.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>

#include "internal.h"

#define KPROBE_LEVELS	4

/*
 * One word per CPU and context level, odd while handlers run there.
 *
 * That is what a nested hit looks at: one at the level of a running handler
 * comes from that handler, and is a miss; one at a higher level comes from an
 * interrupt or NMI that arrived on top of it, and runs. It is also what a
 * probe's memory can be guarded by: every call into a user's code lies between
 * an odd and an even value, and the lists of probes are read only after the
 * odd one was stored.
 */
struct kprobe_marks {
	unsigned int	seq[KPROBE_LEVELS];
	/* what kprobe_busy_begin() hides, and how deep it is nested */
	struct kprobe_frame busy[KPROBE_LEVELS];
	unsigned int	busy_depth[KPROBE_LEVELS];
};

static DEFINE_PER_CPU(struct kprobe_marks, kprobe_marks);

static __always_inline bool enter(struct kprobe_frame *frame,
				  struct kprobe *running)
{
	unsigned int *mark = &raw_cpu_ptr(&kprobe_marks)->seq[arch_kprobe_level()];
	unsigned int seq = *mark;

	if (seq & 1)
		return false;
	WRITE_ONCE(*mark, seq + 1);
	barrier();
	frame->mark = mark;
	frame->outer = raw_cpu_read(current_kprobe);
	raw_cpu_write(current_kprobe, running);
	return true;
}

static __always_inline void leave(struct kprobe_frame *frame)
{
	raw_cpu_write(current_kprobe, frame->outer);
	barrier();
	WRITE_ONCE(*frame->mark, *frame->mark + 1);
}

/*
 * kprobe_enter() - claim the level of the caller for running handlers
 *
 * Returns false when a handler is running there already: the caller must run
 * none, and counts the miss. Preemption must be off until kprobe_leave().
 */
bool kprobe_enter(struct kprobe_frame *frame, struct kprobe *running)
{
	if (!enter(frame, running))
		return false;
	arch_kprobe_mark_active();
	return true;
}

NOKPROBE_SYMBOL(kprobe_enter);

void kprobe_leave(struct kprobe_frame *frame)
{
	leave(frame);
}

NOKPROBE_SYMBOL(kprobe_leave);

/**
 * get_kprobe() - find the site at an address
 * @addr: the probed address
 *
 * Context: any, NMI included, with preemption off for as long as the result is
 * used; or with kprobe_mutex held.
 * Return: the site's own kprobe, the same one for all probes at @addr; NULL
 * when nothing is probed there.
 */
struct kprobe *get_kprobe(void *addr)
{
	struct kprobe_site *site = kprobe_find_site((unsigned long)addr);

	return site ? &site->kp : NULL;
}

NOKPROBE_SYMBOL(get_kprobe);

/* CPUs may miss at the same time, and no miss is to be lost. */
static __always_inline void count_miss(struct kprobe *p)
{
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

/**
 * kprobes_inc_nmissed_count() - count a hit that nobody could be told of
 * @p: the site
 *
 * Context: any, NMI included, preemption off.
 */
void kprobes_inc_nmissed_count(struct kprobe *p)
{
	struct kprobe *kp;

	list_for_each_entry_lockless(kp, &site_of(p)->probes, list) {
		if (!kprobe_disabled(kp))
			count_miss(kp);
	}
}

NOKPROBE_SYMBOL(kprobes_inc_nmissed_count);

/* The list is walked without RCU's checks, which can be probed. */
static __always_inline int run_pre(struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe *p;

	list_for_each_entry_lockless(p, &site->probes, list) {
		if (!p->pre_handler || unlikely(kprobe_disabled(p)))
			continue;
		if (p->pre_handler(p, regs))
			return 1;
	}
	return 0;
}

static __always_inline void run_post(struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe *p;

	list_for_each_entry_lockless(p, &site->probes, list) {
		if (p->post_handler && !kprobe_disabled(p))
			p->post_handler(p, regs, 0);
	}
}

static __always_inline enum kprobe_hit hit_pre(struct kprobe_site *site,
					       struct pt_regs *regs)
{
	struct kprobe_frame frame;
	int redirected;

	if (unlikely(!enter(&frame, &site->kp))) {
		kprobes_inc_nmissed_count(&site->kp);
		return KPROBE_HIT_MISSED;
	}
	redirected = run_pre(site, regs);
	leave(&frame);
	return redirected ? KPROBE_HIT_REDIRECTED : KPROBE_HIT_CONTINUE;
}

/**
 * kprobe_hit_at() - an address was hit: find the site, run the pre handlers
 * @addr: where the breakpoint stands, or ftrace's call
 * @regs: registers as the architecture presents them at a breakpoint
 *
 * Context: any, NMI included, preemption off.
 * Return: the site, or NULL when nothing is probed at @addr, and what the
 * architecture is to do next.
 */
struct kprobe_hit_at kprobe_hit_at(unsigned long addr, struct pt_regs *regs)
{
	struct addr_node *node = addr_table_find(&kprobe_table, addr);
	struct kprobe_site *site;

	if (unlikely(!node))
		return (struct kprobe_hit_at) { };
	site = container_of(node, struct kprobe_site, by_addr);
	return (struct kprobe_hit_at) {
		.what = hit_pre(site, regs),
		.p = &site->kp,
	};
}

NOKPROBE_SYMBOL(kprobe_hit_at);

/**
 * kprobe_hit_post() - the instruction was carried out: run the post handlers
 * @p: the site
 * @regs: registers as the instruction left them
 *
 * Not for a hit that was missed. Should a handler be running at this level
 * after all, the post handlers are left out: their hit was missed as well.
 *
 * Context: any, NMI included, preemption off.
 */
void kprobe_hit_post(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe_frame frame;

	if (!enter(&frame, p))
		return;
	run_post(site_of(p), regs);
	leave(&frame);
}

NOKPROBE_SYMBOL(kprobe_hit_post);

/*
 * The pre_handler and post_handler of every site, for architectures that call
 * these with current_kprobe set and a recursion guard of their own.
 */
int kprobe_site_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return hit_pre(site_of(kp), regs) == KPROBE_HIT_REDIRECTED;
}

NOKPROBE_SYMBOL(kprobe_site_pre);

void kprobe_site_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kprobe_hit_post(kp, regs);
}

NOKPROBE_SYMBOL(kprobe_site_post);

/* Stands for "no probe" where one is said to be running. */
static struct kprobe kprobe_busy = {
	.addr = (kprobe_opcode_t *)get_kprobe,
};

/**
 * kprobe_busy_begin() - let hits from here on be misses
 *
 * For code that runs handlers of its own and must not be interrupted by
 * probes in what it calls. Only the caller's context level is occupied: probes
 * in an interrupt on top still run. Turns preemption off. Nests.
 *
 * Context: any.
 */
void kprobe_busy_begin(void)
{
	struct kprobe_marks *marks;
	unsigned long level;

	preempt_disable_notrace();
	marks = this_cpu_ptr(&kprobe_marks);
	level = arch_kprobe_level();
	if (marks->busy_depth[level] || !enter(&marks->busy[level], &kprobe_busy))
		marks->busy_depth[level]++;
	else
		arch_kprobe_mark_active();
}

NOKPROBE_SYMBOL(kprobe_busy_begin);

/**
 * kprobe_busy_end() - undo kprobe_busy_begin()
 *
 * Context: that of kprobe_busy_begin().
 */
void kprobe_busy_end(void)
{
	struct kprobe_marks *marks = this_cpu_ptr(&kprobe_marks);
	unsigned long level = arch_kprobe_level();

	if (marks->busy_depth[level])
		marks->busy_depth[level]--;
	else
		leave(&marks->busy[level]);
	preempt_enable_notrace();
}

NOKPROBE_SYMBOL(kprobe_busy_end);

#ifdef CONFIG_OPTPROBES
/*
 * Detours of architectures that call this run on a breakpoint's terms, but
 * cannot go anywhere else: what the handlers return has no effect.
 */
void opt_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe_frame frame;
	struct kprobe *kp;

	if (!enter(&frame, p)) {
		kprobes_inc_nmissed_count(p);
		return;
	}
	list_for_each_entry_lockless(kp, &site_of(p)->probes, list) {
		if (kp->pre_handler && !kprobe_disabled(kp))
			kp->pre_handler(kp, regs);
	}
	leave(&frame);
}

NOKPROBE_SYMBOL(opt_pre_handler);
#endif
