/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_INTERNAL_H
#define _KERNEL_KPROBES_INTERNAL_H

#include <linux/build_bug.h>
#include <linux/cleanup.h>
#include <linux/hashtable.h>
#include <linux/kprobes_arch.h>
#include <linux/kprobes_function.h>
#include <linux/kprobes_hit.h>
#include <linux/kprobes_legacy.h>
#include <linux/kprobes_table.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>

/**
 * DOC: lock order
 *
 * Outermost first::
 *
 *	kprobe_mutex		sites, their states, the table, plans, what is known of
 *				a function, the blacklist, refusals
 *	  cpu_hotplug_lock	for reading; kprobe_lock() only tries to take it
 *	    jump_label_mutex	\ the text lock, taken by kprobe_text_lock()
 *	      text_mutex	/
 *		slot mutex	one for each cache of slots; a leaf
 *	    direct_mutex	\ ftrace's, last of all, and without
 *	      ftrace_lock	/ cpu_hotplug_lock; never inside of the text lock
 *	cpu_hotplug_lock	for reading, while all tasks are given a return stack
 *	  kretprobe_mutex	the return stacks of all tasks, as they get or lose them
 *	    tasklist_lock	a leaf
 *
 * In a callback of CPU hotplug, hotplug holds cpu_hotplug_lock already. So nobody else waits for it
 * with a lock that a callback waits for, which is kprobe_mutex (unless ftrace does so, see
 * kprobe_lock()) or kretprobe_mutex.
 *
 * With any of these held, nobody waits for a grace period: not kprobes; except, without
 * ARCH_KPROBE_STATELESS, for hits in a module that goes; and not others, see the chapter on locks
 * in Documentation/kprobes-design.rst.
 */

/*
 * How many probes are processed before kprobe_mutex is released for others: 64 where each probe
 * takes its time (it is looked up, decoded, freed), 1024 where it does not, and the text of all is
 * patched at once. KPROBE_TEXT_BATCH in linux/kprobes_arch.h is for the text lock.
 */
#define KPROBE_BATCH		64
#define KPROBE_PATCH_BATCH	1024

/* Lets others run, and returns the end of the chunk of an array that begins at @i. */
static inline int kprobe_next_chunk(int i, int num, int batch)
{
	cond_resched();
	return min(num, i + batch);
}

/*
 * Changes to the text of many sites, to be made at once: patching text means interrupting or
 * stopping every CPU. A site is on at most one of these lists, linked by kp.list. Its state changes
 * after the text has.
 */
struct kprobe_plan {
	struct list_head	arm;	/* get a breakpoint */
	struct list_head	disarm;	/* lose it */
	struct list_head	hook;	/* ftrace is to call for them, or already does */
	struct list_head	unhook;	/* ftrace is to call for them no more */
	struct list_head	left;	/* are not armed, and retired if they have no probes */
};

#define DEFINE_KPROBE_PLAN(name)					\
	struct kprobe_plan name = {					\
		.arm	= LIST_HEAD_INIT((name).arm),			\
		.disarm	= LIST_HEAD_INIT((name).disarm),		\
		.hook	= LIST_HEAD_INIT((name).hook),			\
		.unhook	= LIST_HEAD_INIT((name).unhook),		\
		.left	= LIST_HEAD_INIT((name).left),			\
	}

/*
 * What makes a kind of probes: kprobes, return probes, jprobes. The last five are there or not
 * together. check(), attach() and stop() are called with kprobe_mutex held.
 */
struct kprobe_kind {
	/* The same for all of this kind; NULL if each has its own */
	kprobe_pre_handler_t	pre_handler;
	/* Why a probe on a function's entry is refused, or NULL. NULL if probes may be anywhere */
	const char		*(*check)(struct kprobe *p, kprobe_opcode_t *addr);
	/* Another count of misses, besides nmissed of the kprobe */
	int			*(*misses)(struct kprobe *p);
	/* Creates what a probe has of its own, before it is on its site. May sleep */
	void			*(*create)(struct kprobe *p, const char **why);
	/* Gives it to the probe on its site; or frees it, if the probe did not get there */
	void			(*attach)(struct kprobe *p, void *own);
	void			(*drop)(void *own);
	/* Hits pass the probe by now: stops reporting calls that return, and lists what it has */
	void			(*stop)(struct kprobe *p, struct llist_head *stopped);
	/* Takes that list, when no handler of these probes is running any more. Does not sleep */
	void			(*release)(struct llist_head *stopped);
};

/* An array of return probes or jprobes can be used as one of kprobes: each begins with that. */
#define kprobes_of(array)						\
({									\
	typeof(array) _array = (array);					\
									\
	BUILD_BUG_ON(offsetof(typeof(**_array), kp));			\
	(struct kprobe **)_array;					\
})

/* kernel/kprobes.c */
extern struct list_head kprobe_sites;
extern DECLARE_HASHTABLE(kprobe_gone_sites, 8);
extern bool kprobes_all_disarmed;
extern bool kprobe_init_text_goes;
int kprobe_set_all_armed(bool armed);
struct kprobe_site *kprobe_site_holding(struct kprobe *p);
void kprobe_unregister(struct kprobe **kps, int num, const struct kprobe_kind *kind);
bool kprobe_remove(struct kprobe *p, struct kprobe_plan *plan);

/* register.c */
int kprobe_register(struct kprobe **kps, int num, const struct kprobe_kind *kind);
int kprobe_register_one(struct kprobe *p, const struct kprobe_kind *kind);

/* legacy.c; all but the first only without ARCH_KPROBE_STATELESS */
bool kprobe_legacy_unregister(struct kprobe *kp);
int kprobe_legacy_init(void);
bool kprobe_legacy_counts(const struct kprobe_function *f);

/* The text of the site is about to change: @list is one of a plan. */
static inline void kprobe_site_plan(struct kprobe_site *site, struct list_head *list)
{
	list_move_tail(&site->kp.list, list);
	site->planned = true;
}

static inline void kprobe_site_unqueue(struct kprobe_site *site)
{
	list_del_init(&site->kp.list);
	site->planned = false;
}

/* The text of the site is gone, but a task may still be in its slot or detour. */
static inline bool kprobe_site_settling(const struct kprobe_site *site)
{
	return site->state == SITE_GONE && !list_empty(&site->kp.list);
}

/* Where ftrace calls for a site; the site's address, if it does not */
static inline unsigned long kprobe_ftrace_ip(const struct kprobe_site *site)
{
	return (unsigned long)site->kp.addr + site->ftrace_offset;
}

/* Hits run handlers, by way of a breakpoint, a jump or ftrace. */
static inline bool kprobe_site_armed(const struct kprobe_site *site)
{
	return site->state == SITE_ARMED || site->state == SITE_OPTIMIZING ||
	       site->state == SITE_OPTIMIZED;
}

/* hit.c */
void kprobe_preempt_enable(void);
int kprobe_stats_enable(bool enabled);
void kretprobe_count_miss(struct kretprobe *rp, enum kprobe_miss cause);

/* hit.c, legacy.c: the pre_handler and post_handler of every site's own kprobe */
#if ARCH_KPROBE_STATELESS
#define kprobe_site_pre		kprobe_run_many
#define kprobe_site_post	kprobe_run_many_post
#else
int kprobe_site_pre(struct kprobe *kp, struct pt_regs *regs);
void kprobe_site_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
#endif

/* wait.c */
extern unsigned int kprobe_patience;
void kprobe_tell_of_handler(unsigned int cpu);
bool kprobe_cannot_sleep(void);
bool kprobe_leave_at_once(struct kprobe **kps, int num, const struct kprobe_kind *kind,
			  struct llist_head *stopped);
void kprobe_wait_for_tasks(void);

/* Where a reader has stopped who goes through all sites with pauses */
struct kprobe_cursor {
	struct list_head	all;	/* member of the list of open cursors */
	struct kprobe_site	*next;	/* changes if that site is freed; NULL at the end */
};

/* site.c */
void kprobe_sites_init(void);
extern struct list_head kprobe_cursors;
struct kprobe_site *kprobe_site_after(struct kprobe_site *site);
struct kprobe_site *kprobe_site_create(unsigned long addr, bool on_entry,
				       struct kprobe_reason *reason);
void kprobe_site_destroy(struct kprobe_site *site);
void kprobe_site_attach(struct kprobe_site *site, struct kprobe *p);
void kprobe_site_detach(struct kprobe_site *site, struct kprobe *p, struct kprobe_plan *plan);
void kprobe_site_detach_late(struct kprobe_site *site, struct kprobe *p);
void kprobe_site_set_first(struct kprobe_site *site, struct kprobe *p);
void kprobe_site_set_disabled(struct kprobe_site *site, bool disabled);
void kprobe_site_refresh(struct kprobe_site *site, struct kprobe_plan *plan);
bool kprobe_site_arming_failed(struct kprobe_site *site);
void kprobe_site_kill(struct kprobe_site *site);
void kprobe_kill_sites(bool (*goes)(unsigned long addr, const struct module *mod),
		       const struct module *mod);
void kprobe_site_settle(struct kprobe_site *site);
void kprobe_site_set_state(struct kprobe_site *site, enum kprobe_site_state state);

/* retire.c */
unsigned int kprobe_sites_retiring(void);
void kprobe_retire(struct kprobe_site *site);
void kprobe_unretire(struct kprobe_site *site);

/* arm.c */
void kprobe_take_batch(struct list_head *from, struct list_head *batch, unsigned int n);
bool kprobe_lock_cpus(void);
void kprobe_lock(void);
void kprobe_unlock(void);
void kprobe_unlock_cpus(void);
void kprobe_text_lock(void);
void kprobe_text_unlock(void);
int kprobe_prepare(struct kprobe_site *site);
void kprobe_plan_arming(struct kprobe_site *site, bool armed, struct kprobe_plan *plan);
int kprobe_plan_apply(struct kprobe_plan *plan);
int arm_kprobe(struct kprobe *kp, int err);
void disarm_kprobe(struct kprobe *kp);
DEFINE_LOCK_GUARD_0(kprobe_lock, kprobe_lock(), kprobe_unlock())
DEFINE_LOCK_GUARD_0(kprobe_text, kprobe_text_lock(), kprobe_text_unlock())

/* slots.c */
/* Slots of one size */
struct kprobe_insn_cache {
	struct mutex		mutex;		/* protects the rest; a leaf of the lock order */
	struct list_head	pages;		/* also walked under RCU */
	struct kprobe_table	table;		/* all pages by address, for any context */
	unsigned int		nr_free;	/* free slots in all pages */
	struct slot_page	*current_page;	/* where to look for a slot first, or NULL */
	void			*(*alloc)(void);	/* a page of executable memory */
	void			(*free)(void *page);
	size_t			slot_size;	/* in kprobe_opcode_t */
	const char		*name;		/* of the pages in kallsyms and perf's records */
};

/* slots.c, optimize.c */
#ifdef CONFIG_OPTPROBES
void kprobe_slots_init(void);
bool kprobe_make_detours(struct list_head *sites);
void kprobe_optimize_armed(struct list_head *sites);
void kprobe_optimize_sites(struct list_head *sites);
void kprobe_unoptimize_sites(struct list_head *sites);
void kprobe_unoptimize_around(unsigned long addr);
void kprobe_optimize_around(unsigned long addr);
bool kprobe_jump_covers(unsigned long addr);
void kprobe_optimize_refresh(struct kprobe_site *site);
void kprobe_optimize_forget(struct kprobe_site *site);
#else
static inline void kprobe_slots_init(void) { }
static inline bool kprobe_make_detours(struct list_head *sites) { return false; }
static inline void kprobe_optimize_armed(struct list_head *sites) { }
static inline void kprobe_unoptimize_sites(struct list_head *sites) { }
static inline void kprobe_unoptimize_around(unsigned long addr) { }
static inline void kprobe_optimize_around(unsigned long addr) { }
static inline bool kprobe_jump_covers(unsigned long addr) { return false; }
static inline void kprobe_optimize_refresh(struct kprobe_site *site) { }
static inline void kprobe_optimize_forget(struct kprobe_site *site) { }
#endif

/* ftrace.c; without CONFIG_KPROBES_ON_FTRACE nothing of it is called */
int kprobe_ftrace_apply(struct kprobe_plan *plan);
bool kprobe_ftrace_fits(struct kprobe_site *site);
const char *kprobe_ftrace_why(void);

static inline bool kprobe_ftrace_dead(void)
{
	return IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) && READ_ONCE(kprobe_ftrace_disabled);
}

/* address.c */
bool kprobe_is_relocated(unsigned long addr);
kprobe_opcode_t *kprobe_named(kprobe_opcode_t *addr, const char *symbol, unsigned long offset,
			      const char **why);
kprobe_opcode_t *kprobe_instruction_at(kprobe_opcode_t *addr, const struct kprobe_function *f,
				       bool *on_entry, const char **why);
kprobe_opcode_t *kprobe_resolve(kprobe_opcode_t *addr, const char *symbol,
				unsigned long offset, bool *on_entry, const char **why);
const char *kprobe_not_called(unsigned long addr);
int kprobe_check_text(struct kprobe *kp);
bool kprobe_debugger_stops_at_site(struct kprobe_site *site);
int kprobe_get_module(unsigned long addr, struct module **mod, const char **why);

/* Addresses are shown with all digits, and as 0 to users who must not see them. */
#define KPROBE_ADDRESS_WIDTH	((int)(2 * sizeof(long)))

struct seq_file;

/* why.c */
#define KPROBE_REFUSALS		32U

int kprobe_note_refusal(struct kprobe *p, int err, struct kprobe_reason reason);
const char *kprobe_last_refusal(void);
void kprobe_refusals_show(struct seq_file *m, bool show_addresses);
const char *kprobe_site_path(struct kprobe_site *site);
const char *kprobe_site_why(struct kprobe_site *site);

/* blacklist.c */
void kprobe_blacklist_init(void);
const char *kprobe_objection_to_function(const struct kprobe_function *f);
void kprobe_blacklist_show(struct seq_file *m, bool show_addresses);
void kprobe_blacklist_add_module(struct module *mod);
void kprobe_blacklist_remove_module(struct module *mod, bool init_only);

/* module.c */
bool kprobe_module_is_relocated(struct module *mod);

#ifdef CONFIG_MODULES
int kprobe_module_init(void);
bool kprobe_module_is_known(struct module *mod);
#else
static inline bool kprobe_module_is_known(struct module *mod) { return true; }
static inline int kprobe_module_init(void) { return 0; }
#endif

/* kretprobe.c; and kretprobe_call.c, or kretprobe_rethook.c */
extern const struct kprobe_kind kretprobe_kind;
void kretprobe_blacklist_init(void);
int kretprobe_entry(struct kprobe *kp, struct pt_regs *regs);
#ifdef CONFIG_KRETPROBE_RETURN_STACK
struct kretprobe_holder *kretprobe_follows(struct kprobe *p);
#else
static inline struct kretprobe_holder *kretprobe_follows(struct kprobe *p) { return NULL; }
#endif

/* jprobe.c */
int jprobe_entry(struct kprobe *p, struct pt_regs *regs);
#ifdef CONFIG_JPROBES
void jprobe_forget(void);
#else
static inline void jprobe_forget(void) { }
#endif

#endif /* _KERNEL_KPROBES_INTERNAL_H */
