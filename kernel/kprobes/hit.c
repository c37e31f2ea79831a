// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of the core that runs at hits.
 *
 * The mark is the guard against recursion. What runs before it is entered must not be probed or
 * traced, or call anything that may be. So the file is built without tracing, and without
 * sanitizers, whose checks are calls.
 */
#include <linux/export.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/uaccess.h>

#include "internal.h"

DEFINE_PER_CPU(struct kprobe_mark, kprobe_marks[KPROBE_LEVELS]);

/**
 * get_kprobe() - find the site at an address
 * @addr: the probed address
 *
 * Context: any, with preemption off for as long as the result is used; or kprobe_mutex is held.
 * Return: the site's own kprobe, the same one for all probes at @addr; NULL if nothing is probed
 * there.
 */
struct kprobe __kprobes *get_kprobe(void *addr)
{
	struct kprobe_site *site = kprobe_find_site((unsigned long)addr);

	return site ? &site->kp : NULL;
}

/**
 * kprobe_level() - find the context of the probed code
 *
 * For handlers: in_nmi() and the like would tell of their own context, perhaps that of a
 * breakpoint. A hit's pre handler and post handler get the same answer, and no other hit of the
 * same task and level comes in between, unless the instruction has not completed.
 *
 * Context: any, preemption off.
 * Return: 0 for a task, 1 for a softirq, 2 for an interrupt, 3 for an NMI.
 */
unsigned int __kprobes kprobe_level(void)
{
	return arch_kprobe_level();
}
EXPORT_SYMBOL_GPL(kprobe_level);

/**
 * kprobes_inc_nmissed_count() - count a missed hit
 * @kp: the site's own kprobe
 *
 * A hit is usually missed because the mark of this level is entered. But an architecture with a
 * guard of its own may miss hits while no handler runs; then this enters the mark, to look at the
 * users' probes.
 *
 * Context: any, NMI included, preemption off.
 */
void __kprobes kprobes_inc_nmissed_count(struct kprobe *kp)
{
	struct kprobe_hit hit;
	bool entered = kprobe_enter(&hit, kp);
	struct kprobe *p;

	raw_atomic_inc(&site_of(kp)->missed[KPROBE_MISS_RECURSION]);
	list_for_each_entry_lockless(p, &site_of(kp)->probes, list) {
		if (!kprobe_disabled(p))
			kprobe_count_miss(p);
	}
	if (entered)
		kprobe_leave(&hit);
}

/*
 * Checks whether a handler of a probe without KPROBE_FLAG_NESTS is running below a level. It cannot
 * go on before the caller has ended, so its probe is there.
 */
bool __kprobes kprobe_over_plain(unsigned long level)
{
	struct kprobe_mark *marks = raw_cpu_ptr(kprobe_marks);
	struct kprobe *p;

	while (level--) {
		p = READ_ONCE(marks[level].running);
		if (p && !(READ_ONCE(p->flags) & KPROBE_FLAG_NESTS))
			return true;
	}
	return false;
}

/*
 * Runs the pre handlers of all probes of a site, but counts a miss for those that are left out. The
 * mark was entered. The list is walked without RCU's checks, which can be probed. Returns 1 if a
 * handler has set where to continue, which ends the walk with @may_end; else 0.
 */
static __always_inline int run_pre_handlers(struct kprobe *kp, struct pt_regs *regs, bool may_end)
{
	unsigned long level = arch_kprobe_level();
	struct kprobe_mark __kprobe_own *mark = kprobe_own_mark(level);
	bool redirected = false, missed = false;
	kprobe_pre_handler_t pre_handler;
	struct kprobe *p;

	/* The caller may have named the site's own kprobe. */
	kprobe_runs(mark, NULL);
	list_for_each_entry_lockless(p, &site_of(kp)->probes, list) {
		if (kprobe_disabled(p))
			continue;
		if (kprobe_left_out(p, level)) {
			kprobe_count_miss(p);
			missed = true;
			continue;
		}
		pre_handler = READ_ONCE(p->pre_handler);
		if (!pre_handler)
			continue;
		kprobe_runs(mark, p);
		redirected = pre_handler(p, regs);
		if (redirected && may_end)
			break;
	}
	if (missed)
		raw_atomic_inc(&site_of(kp)->missed[KPROBE_MISS_NESTED]);
	return redirected;
}

int __kprobes kprobe_run_many(struct kprobe *kp, struct pt_regs *regs)
{
	return run_pre_handlers(kp, regs, true);
}

/* Runs the post handlers of all probes of a site. This can be a post_handler itself. */
void __kprobes kprobe_run_many_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	unsigned long level = arch_kprobe_level();
	struct kprobe_mark __kprobe_own *mark = kprobe_own_mark(level);
	kprobe_post_handler_t post_handler;
	struct kprobe *p;

	list_for_each_entry_lockless(p, &site_of(kp)->probes, list) {
		post_handler = READ_ONCE(p->post_handler);
		if (!post_handler || kprobe_disabled(p) || kprobe_left_out(p, level))
			continue;
		kprobe_runs(mark, p);
		post_handler(p, regs, 0);
	}
}

/* kprobe_hit_pre(), for all levels but the task's */
enum kprobe_result __kprobes kprobe_hit_above_task(struct kprobe_site *site, struct pt_regs *regs,
						   unsigned long level)
{
	return kprobe_hit_at(site, regs, level);
}

/* Corrects where to resume, after a handler has chosen that. It may be at any instruction. */
void __kprobes kprobe_resume_elsewhere(struct pt_regs *regs)
{
	unsigned long chosen = instruction_pointer(regs), ip = arch_kprobe_resume_ip(chosen);

	if (ip != chosen)
		instruction_pointer_set(regs, ip);
}

/* Records that a fault handler is running: it is not offered its own faults. */
static bool __kprobes run_fault(struct kprobe_mark __kprobe_own *mark, struct kprobe *p,
				struct pt_regs *regs, int trapnr)
{
	kprobe_fault_handler_t fault_handler = p ? READ_ONCE(p->fault_handler) : NULL;
	bool done;

	if (!fault_handler)
		return false;
	mark->faulting = true;
	barrier();
	done = fault_handler(p, regs, trapnr);
	barrier();
	mark->faulting = false;
	return done;
}

#if ARCH_KPROBE_STATELESS
/*
 * Handles a fault of a site's instruction, whose copy is at the instruction pointer. Handlers see
 * the probed address there. If one has the instruction tried again, it is at the copy again.
 */
static bool __kprobes insn_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	unsigned long copy = instruction_pointer(regs);
	struct kprobe_hit hit;
	struct kprobe *p;
	bool done = false;

	instruction_pointer_set(regs, (unsigned long)kp->addr);
	if (!kprobe_enter(&hit, kp))
		return false;
	list_for_each_entry_lockless(p, &site_of(kp)->probes, list) {
		if (kprobe_disabled(p) || kprobe_left_out(p, hit.level))
			continue;
		kprobe_runs(hit.mark, p);
		done = run_fault(hit.mark, p, regs, trapnr);
		if (done)
			break;
	}
	kprobe_leave(&hit);
	/* Try again in the copy: at the probed address it would be another hit. */
	if (done && instruction_pointer(regs) == (unsigned long)kp->addr)
		instruction_pointer_set(regs, copy);
	return done;
}
#endif

/* The mark of the caller's level, if a handler is running there */
static struct kprobe_mark __kprobe_own __kprobes *mark_in_use(void)
{
	struct kprobe_mark __kprobe_own *mark = kprobe_own_mark(arch_kprobe_level());

	return kprobe_mark_entered(mark) ? mark : NULL;
}

/*
 * Handles a fault of the handler that is running at this level, or of what it calls. The fault was
 * at @at, but the architecture may have changed that. If no handler chooses another address, try
 * again: in the copy, if a missed hit has faulted there. An architecture that keeps state has given
 * up the step: there it is another hit.
 */
static bool __kprobes handler_fault(struct pt_regs *regs, int trapnr, unsigned long at)
{
	unsigned long told = instruction_pointer(regs);
	struct kprobe_mark __kprobe_own *mark = mark_in_use();

	if (!mark || mark->faulting || !run_fault(mark, mark->running, regs, trapnr))
		return false;
	if (ARCH_KPROBE_STATELESS && instruction_pointer(regs) == told)
		instruction_pointer_set(regs, at);
	return true;
}

static bool __kprobes copy_fault(struct pt_regs *regs, int trapnr)
{
#if ARCH_KPROBE_STATELESS
	/* The address alone tells whether a copy has faulted. */
	struct kprobe *kp = arch_kprobe_copy_owner(instruction_pointer(regs));

	return kp && insn_fault(kp, regs, trapnr);
#else
	return kprobe_running() && kprobe_fault_handler(regs, trapnr);
#endif
}

/* Does the work of kprobe_page_fault(). */
bool __kprobes kprobe_fault(struct pt_regs *regs, unsigned int trap)
{
	unsigned long at = instruction_pointer(regs);
	bool done;

	guard(preempt_notrace)();
	done = copy_fault(regs, trap) || handler_fault(regs, trap, at);
	if (done)
		kprobe_resume_elsewhere(regs);
	return done;
}

/*
 * What kprobe_running() returns while kprobe_busy_begin() is in effect. Somebody may print the
 * address, so it is in text. It has no handler that others must not run on top of.
 */
static struct kprobe kprobe_busy = {
	.addr = (kprobe_opcode_t *)get_kprobe,
	.flags = KPROBE_FLAG_NESTS,
};

/* Prints which probe an oops is of, if any. @regs are the registers at the fault. Context: any. */
void __kprobes kprobe_explain_oops(struct pt_regs *regs)
{
	struct kprobe_mark __kprobe_own *mark;
	kprobe_opcode_t *addr;
	struct kprobe *kp;

	guard(preempt_notrace)();
	mark = mark_in_use();
	kp = get_kprobe((void *)instruction_pointer(regs));
	if (kp && !kprobe_disabled(kp))
		pr_alert("the probed instruction at %pS faulted\n", kp->addr);
	else if (mark && mark->running != &kprobe_busy &&
		 !get_kernel_nofault(addr, &mark->running->addr))
		pr_alert("a handler of the probe at %pS faulted\n", addr);
}

#if ARCH_KPROBE_STATELESS
/* For assembly that has found out that the task is to be preempted */
void __kprobes kprobe_preempt_enable(void)
{
	preempt_enable_notrace();
}

/**
 * kprobe_running() - find the probe whose handler is running on this CPU
 *
 * Context: any; the answer is only meaningful with preemption off.
 * Return: a probe at the address whose handlers are running, or the kprobe of a return probe; if
 * handlers are nested, that of the innermost. NULL if no handler is running.
 */
struct kprobe __kprobes *kprobe_running(void)
{
	struct kprobe_mark *marks = raw_cpu_ptr(kprobe_marks);
	int level;

	for (level = KPROBE_LEVELS - 1; level >= 0; level--)
		if (marks[level].seq & 1)
			return marks[level].running;
	return NULL;
}
#endif

/* For each level: what kprobe_busy_end() restores, and how many more calls are nested. */
struct kprobe_busy_state {
	struct kprobe_hit	hit[KPROBE_LEVELS];
	unsigned int		depth[KPROBE_LEVELS];
};

static DEFINE_PER_CPU(struct kprobe_busy_state, kprobe_busy_state);

/**
 * kprobe_busy_begin() - make hits in the caller's context be missed
 *
 * For code that may call probed functions, but must not run into handlers. Only the caller's level
 * is affected: in an interrupt on top of it, handlers still run. Disables preemption. Can be
 * nested.
 *
 * Context: any.
 */
void __kprobes kprobe_busy_begin(void)
{
	struct kprobe_busy_state *busy;
	unsigned long level;

	preempt_disable_notrace();
	busy = this_cpu_ptr(&kprobe_busy_state);
	level = arch_kprobe_level();
	if (busy->depth[level] || !kprobe_enter(&busy->hit[level], &kprobe_busy)) {
		busy->depth[level]++;
		return;
	}
	kprobe_runs(busy->hit[level].mark, &kprobe_busy);
	kprobe_mark_active();
}

/* Undoes kprobe_busy_begin(), in the same context. */
void __kprobes kprobe_busy_end(void)
{
	struct kprobe_busy_state *busy = this_cpu_ptr(&kprobe_busy_state);
	unsigned long level = arch_kprobe_level();

	if (busy->depth[level])
		busy->depth[level]--;
	else
		kprobe_leave(&busy->hit[level]);
	preempt_enable_notrace();
}

/**
 * kprobe_task_dies() - clean up for a task that dies, perhaps in a handler
 *
 * If an oops kills the task in a handler, perhaps in a jprobe's function, this leaves the handler's
 * mark. Otherwise all further hits at this level would be missed.
 *
 * Context: the task's own; if it was in a handler, preemption is still off.
 */
void __kprobes kprobe_task_dies(void)
{
	struct kprobe_mark __kprobe_own *mark;

	guard(preempt_notrace)();
	mark = kprobe_own_mark(0);
	if (kprobe_mark_entered(mark)) {
		mark->faulting = false;
		jprobe_forget();
		kprobe_set_running(NULL);
		kprobe_mark_end(mark);
	}
	this_cpu_ptr(&kprobe_busy_state)->depth[0] = 0;
}

#if defined(CONFIG_OPTPROBES) && !ARCH_KPROBE_STATELESS
/**
 * opt_pre_handler() - run the pre handlers of all probes for a hit through a jump
 * @kp: the site's own kprobe
 * @regs: the registers
 *
 * For architectures without ARCH_KPROBE_STATELESS. Their detours cannot continue anywhere else, so
 * what the handlers return has no effect.
 *
 * Context: any, NMI included, preemption off.
 */
void __kprobes opt_pre_handler(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe_hit hit;

	if (!kprobe_enter(&hit, kp)) {
		kprobes_inc_nmissed_count(kp);
		return;
	}
	if (static_branch_unlikely(&kprobe_stats))
		kprobe_count_hit(site_of(kp));
	run_pre_handlers(kp, regs, false);
	kprobe_leave(&hit);
}
#endif

/* Whether hits are counted. Off by default: all CPUs count a site's hits in the same place. */
DEFINE_STATIC_KEY_FALSE(kprobe_stats);

/* If all probes of a site are left out, the hit only counts as missed. */
static bool __kprobes all_left_out(struct kprobe_site *site)
{
	unsigned long level = arch_kprobe_level();
	struct kprobe *p;
	bool any = false;

	list_for_each_entry_lockless(p, &site->probes, list) {
		if (kprobe_disabled(p))
			continue;
		if (!kprobe_left_out(p, level))
			return false;
		any = true;
	}
	return any;
}

/*
 * Out of line: hits are seldom counted, and this must not take registers from a hit. The level's
 * mark was entered.
 */
noinline void __kprobes kprobe_count_hit(struct kprobe_site *site)
{
	if (!all_left_out(site))
		raw_atomic_long_inc(&site->kp.hits);
}

/* Counts a call whose return is not seen. Context: any, NMI included, preemption off. */
void __kprobes kretprobe_count_miss(struct kretprobe *rp, enum kprobe_miss cause)
{
	struct kprobe *kp = get_kprobe(rp->kp.addr);

	raw_atomic_inc(&rp->missed);
	/* If the text is gone, the site at that address may belong to other text by now. */
	if (kp && !kprobe_gone(&rp->kp))
		raw_atomic_inc(&site_of(kp)->missed[cause]);
}

/* Starts or stops counting hits; counts from before are kept. Returns 0. */
int kprobe_stats_enable(bool enabled)
{
	if (enabled)
		static_branch_enable(&kprobe_stats);
	else
		static_branch_disable(&kprobe_stats);
	return 0;
}
