// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a site, from its first probe to its last.
 */
#include <linux/build_bug.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

/* There may be many sites, and kmalloc() would round up the size of each of them. */
static struct kmem_cache *site_cache, *entry_cache;

/* A site that ftrace calls for has no jump. */
#define ENTRY_SIZE	(offsetof(struct kprobe_site, kp) + sizeof(struct kprobe))

/**
 * kprobe_sites_init() - create the caches that sites are allocated from
 *
 * Context: once, at boot.
 */
void __init kprobe_sites_init(void)
{
	BUILD_BUG_ON(sizeof(struct kprobe_site) > 288);
	site_cache = KMEM_CACHE(kprobe_site, SLAB_PANIC);
	entry_cache = kmem_cache_create("kprobe_entry", ENTRY_SIZE, 0, SLAB_PANIC, NULL);
}

/* Which states may follow a state; the table in linux/kprobes_hit.h says why. */
static const u8 next_states[] = {
	[SITE_NEW]	= BIT(SITE_IDLE),
	[SITE_IDLE]	= BIT(SITE_ARMED) | BIT(SITE_DYING) | BIT(SITE_GONE),
	[SITE_ARMED]	= BIT(SITE_IDLE) | BIT(SITE_OPTIMIZING) | BIT(SITE_GONE),
	[SITE_OPTIMIZING] = BIT(SITE_ARMED) | BIT(SITE_OPTIMIZED) | BIT(SITE_GONE),
	[SITE_OPTIMIZED] = BIT(SITE_ARMED) | BIT(SITE_GONE),
	[SITE_DYING]	= BIT(SITE_IDLE),
	[SITE_GONE]	= 0,
};

static const char * const state_names[] = {
	[SITE_NEW]	= "NEW",
	[SITE_IDLE]	= "IDLE",
	[SITE_ARMED]	= "ARMED",
	[SITE_OPTIMIZING] = "OPTIMIZING",
	[SITE_OPTIMIZED] = "OPTIMIZED",
	[SITE_DYING]	= "DYING",
	[SITE_GONE]	= "GONE",
};

/**
 * kprobe_site_set_state() - change the state of a site
 * @site: the site
 * @state: the new state
 *
 * All changes of state are made here, and are checked.
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_site_set_state(struct kprobe_site *site, enum kprobe_site_state state)
{
	lockdep_assert_held(&kprobe_mutex);
	WARN_ONCE(!(next_states[site->state] & BIT(state)),
		  "kprobes: site at %pS goes from %s to %s\n",
		  site->kp.addr, state_names[site->state], state_names[state]);
	site->state = state;
}

/*
 * A single task that never sleeps can hold up RCU-tasks for ever. The memory of sites
 * that wait must not grow for ever meanwhile. If there are this many, something is wrong.
 */
#define RETIRE_LIMIT	BIT(20)

/**
 * kprobe_site_create() - create a site for an address that has none
 * @addr: where the probe is to be, in kernel text
 * @on_entry: it is a function's entry
 * @reason: where to say why it cannot be created
 *
 * Context: kprobe_mutex is held, and a reference on the module of @addr, if it is in one.
 * Return: the site, IDLE and in the table, without probes; or an ERR_PTR().
 */
struct kprobe_site *kprobe_site_create(unsigned long addr, bool on_entry,
				       struct kprobe_reason *reason)
{
	static u64 serial;
	struct kprobe_site *site;
	unsigned long ftrace_ip;
	int err;

	if (kprobe_sites_retiring() >= RETIRE_LIMIT) {
		reason->why = "too many sites wait to be freed";
		return ERR_PTR(-ENOMEM);
	}
	if (!site_cache) {
		reason->why = "it is too early in boot";
		return ERR_PTR(-EAGAIN);
	}
	ftrace_ip = arch_kprobe_ftrace_location(addr);
	site = kmem_cache_zalloc(ftrace_ip ? entry_cache : site_cache, GFP_KERNEL);
	if (!site)
		return ERR_PTR(-ENOMEM);
	site->reason = reason;
	site->ftrace_ip = ftrace_ip;
	INIT_LIST_HEAD(&site->probes);
	INIT_LIST_HEAD(&site->kp.list);
	if (!ftrace_ip)
		site->op.obstacle = KPROBE_OBSTACLE_UNSUPPORTED;
	site->kp.addr = (kprobe_opcode_t *)addr;
	site->kp.pre_handler = kprobe_site_pre;
	site->first = &site->kp;
	/* Whether a probe may nest is decided for each of them. */
	site->kp.flags = KPROBE_FLAG_DISABLED | KPROBE_FLAG_NESTS;
	if (on_entry)
		site->kp.flags |= KPROBE_FLAG_ON_FUNC_ENTRY;

	err = kprobe_prepare(site);
	if (err) {
		kfree(site);
		return ERR_PTR(err);
	}
	kprobe_unoptimize_around(addr);
	kprobe_table_insert(&kprobe_site_table, &site->by_addr, addr);
	site->serial = serial++;
	list_add_tail(&site->all, &kprobe_sites);
	kprobe_site_set_state(site, SITE_IDLE);
	return site;
}

/* Open cursors, linked by all */
static LIST_HEAD(cursors);

/**
 * kprobe_cursor_open() - begin to go through all sites, with pauses
 * @cursor: where this is kept; what it has had does not matter
 *
 * Context: may sleep; kprobe_mutex is not held.
 */
void kprobe_cursor_open(struct kprobe_cursor *cursor)
{
	guard(mutex)(&kprobe_mutex);
	cursor->next = NULL;
	cursor->pos = -1;
	list_add(&cursor->all, &cursors);
}

/**
 * kprobe_cursor_close() - end kprobe_cursor_open()
 * @cursor: the cursor
 *
 * Context: may sleep; kprobe_mutex is not held.
 */
void kprobe_cursor_close(struct kprobe_cursor *cursor)
{
	guard(mutex)(&kprobe_mutex);
	list_del(&cursor->all);
}

/**
 * kprobe_site_after() - find the next of all sites
 * @site: a site, or NULL for the first one
 *
 * Context: kprobe_mutex is held.
 * Return: the site, or NULL if there is none.
 */
noinline struct kprobe_site *kprobe_site_after(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (!site)
		return list_first_entry_or_null(&kprobe_sites, struct kprobe_site, all);
	return list_is_last(&site->all, &kprobe_sites) ? NULL : list_next_entry(site, all);
}

/* A site goes; cursors that have stopped there stop at the next one. */
static void pass_cursors(struct kprobe_site *site)
{
	struct kprobe_cursor *cursor;

	list_for_each_entry(cursor, &cursors, all) {
		if (cursor->next == site)
			cursor->next = kprobe_site_after(site);
	}
}

/* Frees the slot and the detour of a site. */
static void release_copies(struct kprobe_site *site)
{
	if (!site->ftrace_ip)
		kprobe_optimize_forget(site);
	arch_remove_kprobe(&site->kp);
}

/**
 * kprobe_site_destroy() - free a site, with its slot and detour
 * @site: has no probes. It is DYING and in the table, and nothing can be executing in its
 *	slot or detour; or it is GONE, and has no slot and detour any more
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_site_destroy(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->state != SITE_GONE) {
		kprobe_table_remove(&kprobe_site_table, &site->by_addr);
		release_copies(site);
		kprobe_optimize_around((unsigned long)site->kp.addr);
	}
	pass_cursors(site);
	list_del(&site->all);
	if (list_empty(&kprobe_sites))
		kprobe_function_forget();
	kfree_rcu(site, rcu);
}

static bool any_enabled(struct kprobe_site *site, bool with_post_handler)
{
	struct kprobe *p;

	list_for_each_entry(p, &site->probes, list)
		if (!kprobe_disabled(p) && (p->post_handler || !with_post_handler))
			return true;
	return false;
}

/*
 * Checks whether the global switch keeps a site disarmed. It does not if that is a return
 * trampoline: on some architectures these are probes.
 */
static bool switched_off(struct kprobe_site *site)
{
	return kprobes_all_disarmed && !is_kretprobe_trampoline((unsigned long)site->kp.addr);
}

/**
 * kprobe_site_arming_failed() - check for a site that is not armed, but should be
 * @site: the site
 *
 * This is not the opposite of kprobe_site_armed(). A site whose probes are all disabled,
 * or that the global switch keeps disarmed, is not armed either, but nothing has failed
 * there.
 *
 * Context: kprobe_mutex is held, and nothing is planned for the site.
 * Return: true if an enabled probe at the site is not hit.
 */
bool kprobe_site_arming_failed(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	return site->state != SITE_GONE && !kprobe_site_armed(site) &&
	       any_enabled(site, false) && !switched_off(site);
}

static int run_nothing(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

NOKPROBE_SYMBOL(run_nothing);

/* Sets what most hits look at instead of the list. */
static void set_handlers(struct kprobe_site *site)
{
	struct kprobe *p = list_first_entry_or_null(&site->probes, struct kprobe, list);
	/* If ftrace has shut itself down, it calls although the global switch is off. */
	bool none = ARCH_KPROBE_STATELESS && kprobe_ftrace_dead() && kprobe_ftrace(&site->kp) &&
		    switched_off(site);
	bool only = p && list_is_last(&p->list, &site->probes) &&
		    !kprobe_disabled(p) && p->pre_handler;

	WRITE_ONCE(site->kp.pre_handler, none ? run_nothing : kprobe_site_pre);
	WRITE_ONCE(site->first, only && !none ? p : &site->kp);
	/* Pairs with the barrier of kprobe_leave_at_once(), which marks it without a lock. */
	smp_mb();
	if (p && kprobe_disabled(p))
		WRITE_ONCE(site->first, &site->kp);
	site->has_post_handler = !none && any_enabled(site, true);
	/*
	 * An architecture that calls the post handler itself may load the pointer once more after
	 * it has found that it is not NULL. So there the pointer stays once it is set, and leads to
	 * the post handlers of all probes, of which there may be none.
	 */
	if (site->has_post_handler)
		WRITE_ONCE(site->kp.post_handler, kprobe_site_post);
	else if (ARCH_KPROBE_STATELESS)
		WRITE_ONCE(site->kp.post_handler, NULL);
}

/**
 * kprobe_site_set_disabled() - set what hits are told of a site
 * @site: the site
 * @disabled: none of its probes is enabled, or it could not be armed
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_site_set_disabled(struct kprobe_site *site, bool disabled)
{
	u32 flags = site->kp.flags & ~KPROBE_FLAG_DISABLED;

	lockdep_assert_held(&kprobe_mutex);
	WRITE_ONCE(site->kp.flags,
		   disabled ? flags | KPROBE_FLAG_DISABLED : flags);
}

/**
 * kprobe_site_refresh() - update a site and its text to what its probes want
 * @site: the site; its probes or the global switch have changed
 * @plan: collects changes to the text
 *
 * The handlers that arch code gets are set before the site is armed: the first hit has to
 * find all of them.
 *
 * Context: between kprobe_lock() and kprobe_unlock(); kprobe_mutex is held until the plan is
 * applied. If that fails, a caller that has enabled a probe must disable it again.
 */
void kprobe_site_refresh(struct kprobe_site *site, struct kprobe_plan *plan)
{
	bool enabled;

	lockdep_assert_held(&kprobe_mutex);
	/* GONE sites need this, too: a hit may be on its way to their handlers. */
	set_handlers(site);
	if (site->state == SITE_GONE)
		return;

	enabled = any_enabled(site, false);
	kprobe_optimize_refresh(site);
	kprobe_site_set_disabled(site, !enabled);
	kprobe_plan_arming(site, enabled && !switched_off(site), plan);
}

/**
 * kprobe_site_attach() - add a probe to a site
 * @site: neither NEW nor GONE
 * @p: not on any list; disabled, so the text can stay as it is
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_site_attach(struct kprobe_site *site, struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->state == SITE_DYING)
		kprobe_unretire(site);
	if (list_empty(&site->probes))
		kprobe_stats_reset(site);
	list_add_rcu(&p->list, &site->probes);
	set_handlers(site);
}

/* Has a site be as its probes want it, after some of them have left. */
static void tidy(struct kprobe_site *site, struct kprobe_plan *plan)
{
	site->untidy = false;
	kprobe_site_refresh(site, plan);
	if (!list_empty(&site->probes))
		return;
	if (site->state != SITE_GONE) {
		if (!kprobe_site_planned(site))
			kprobe_site_queue(site, &plan->left, KPROBE_QUEUE_PLAN);
		return;
	}
	hash_del(&site->kp.hlist);
	if (!kprobe_site_settling(site))
		kprobe_site_destroy(site);
}

static void tidy_up(struct work_struct *work)
{
	struct kprobe_site *site, *next;
	struct kprobe_plan plan;

	kprobe_plan_init(&plan);
	guard(kprobe_lock)();
	list_for_each_entry_safe(site, next, &kprobe_sites, all) {
		if (site->untidy)
			tidy(site, &plan);
	}
	kprobe_plan_apply(&plan);
}

static DECLARE_WORK(tidy_work, tidy_up);

/**
 * kprobe_site_silence() - make hits pass by a probe that is about to leave
 * @site: the site of @p
 * @p: the probe; it is marked as gone. Its handlers may still be running on other CPUs
 *
 * Context: kprobe_mutex is held; does not sleep.
 */
void kprobe_site_silence(struct kprobe_site *site, struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);
	WRITE_ONCE(p->flags, p->flags | KPROBE_FLAG_GONE);
	set_handlers(site);
}

/**
 * kprobe_site_detach_late() - take a probe off its site, and leave the rest to a worker
 * @site: the site of @p
 * @p: as for kprobe_site_detach()
 *
 * Hits do not find @p any more. If it was the last probe, they carry out the instruction.
 *
 * Context: kprobe_mutex is held; does not sleep.
 */
void kprobe_site_detach_late(struct kprobe_site *site, struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);
	list_del_rcu(&p->list);
	set_handlers(site);
	if (site->state == SITE_GONE && list_empty(&site->probes))
		hash_del(&site->kp.hlist);
	site->untidy = true;
	queue_work(system_unbound_wq, &tidy_work);
}

/**
 * kprobe_site_detach() - take a probe off its site
 * @site: the site of @p
 * @p: its handlers may still be running on other CPUs, and hits that are under way can go
 *	on from it to the next probe. So its list head is left as it is
 * @plan: collects changes to the text
 *
 * If this was the last probe, the plan retires the site.
 *
 * Context: kprobe_mutex is held, until the plan is applied.
 */
void kprobe_site_detach(struct kprobe_site *site, struct kprobe *p,
			struct kprobe_plan *plan)
{
	lockdep_assert_held(&kprobe_mutex);
	list_del_rcu(&p->list);
	tidy(site, plan);
}

/**
 * kprobe_site_kill() - give up a site whose text is about to be freed
 * @site: the site. If it is armed, nothing executes the text any more
 *
 * A breakpoint is not removed here, because it goes with the text. But an entry is
 * unhooked, because ftrace still has a record for it. The site leaves the table at once,
 * before its address can belong to other text.
 *
 * Context: kprobe_mutex is held, the text is still mapped.
 */
void kprobe_site_kill(struct kprobe_site *site)
{
	struct kprobe_plan plan;
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);
	kprobe_plan_init(&plan);
	if (site->hook)
		kprobe_plan_arming(site, false, &plan);
	kprobe_plan_apply(&plan);
	if (site->state == SITE_DYING)
		kprobe_unretire(site);

	kprobe_table_remove(&kprobe_site_table, &site->by_addr);
	kprobe_optimize_stop(site);
	kprobe_site_set_state(site, SITE_GONE);
	/* kprobe_site_holding() looks there. */
	if (!list_empty(&site->probes))
		hash_add(kprobe_gone_sites, &site->kp.hlist, (unsigned long)site->kp.addr);
	WRITE_ONCE(site->kp.flags, site->kp.flags | KPROBE_FLAG_GONE);
	list_for_each_entry(p, &site->probes, list)
		WRITE_ONCE(p->flags, p->flags | KPROBE_FLAG_GONE);
	/*
	 * An architecture that keeps state may write to the text when it frees a slot. There the
	 * site is settled while the text is still mapped.
	 */
	if (ARCH_KPROBE_STATELESS)
		kprobe_retire(site);
	else
		kprobe_site_settle(site);
}

/**
 * kprobe_site_settle() - free the slot and the detour of a GONE site
 * @site: the site; if it has no probes, it is freed as well
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_site_settle(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	release_copies(site);
	if (list_empty(&site->probes))
		kprobe_site_destroy(site);
}
