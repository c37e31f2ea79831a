// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a site, from its first probe to its last.
 */
#include <linux/init.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

/* There may be many sites, and kmalloc() would round up the size of each of them. */
static struct kmem_cache *site_cache, *entry_cache;

/* A site that ftrace calls for has no jump. */
#define ENTRY_SIZE	(offsetof(struct kprobe_site, kp) + sizeof(struct kprobe))

void __init kprobe_sites_init(void)
{
	BUILD_BUG_ON(sizeof(struct kprobe_site) > 240);
	BUILD_BUG_ON(offsetofend(struct kprobe, hlist) != sizeof(struct list_head));
	site_cache = KMEM_CACHE(kprobe_site, SLAB_PANIC);
	entry_cache = kmem_cache_create("kprobe_entry", ENTRY_SIZE, 0, SLAB_PANIC, NULL);
}

/* Which states may follow a state; the table in linux/kprobes_hit.h says why. */
static const struct {
	const char *name;
	u8 next;
} states[] = {
	[SITE_NEW]	  = { "NEW", BIT(SITE_IDLE) },
	[SITE_IDLE]	  = { "IDLE", BIT(SITE_ARMED) | BIT(SITE_DYING) | BIT(SITE_GONE) },
	[SITE_ARMED]	  = { "ARMED", BIT(SITE_IDLE) | BIT(SITE_OPTIMIZING) },
	[SITE_OPTIMIZING] = { "OPTIMIZING", BIT(SITE_ARMED) | BIT(SITE_OPTIMIZED) },
	[SITE_OPTIMIZED]  = { "OPTIMIZED", BIT(SITE_ARMED) },
	[SITE_DYING]	  = { "DYING", BIT(SITE_IDLE) },
	[SITE_GONE]	  = { "GONE", 0 },
};

/* Changes the state of a site. All changes are made here, and are checked. */
void kprobe_site_set_state(struct kprobe_site *site, enum kprobe_site_state state)
{
	lockdep_assert_held(&kprobe_mutex);
	WARN_ONCE(!(states[site->state].next & BIT(state)),
		  "kprobes: site at %pS goes from %s to %s\n",
		  site->kp.addr, states[site->state].name, states[state].name);
	site->state = state;
}

/*
 * A single task that never sleeps can hold up RCU-tasks for ever. Meanwhile the memory of sites
 * that wait must not grow for ever. If there are this many, something is wrong.
 */
#define RETIRE_LIMIT	BIT(20)

/*
 * Creates the site of an address in kernel text that has none; the module there is pinned.
 * @on_entry: it is a function's entry. Returns the site, IDLE and in the table, without probes; or
 * an ERR_PTR(), and perhaps says in @reason why.
 */
struct kprobe_site *kprobe_site_create(unsigned long addr, bool on_entry,
				       struct kprobe_reason *reason)
{
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
	INIT_LIST_HEAD(&site->probes);
	INIT_LIST_HEAD(&site->kp.list);
	site->kp.addr = (kprobe_opcode_t *)addr;
	site->kp.pre_handler = kprobe_site_pre;
	site->first = &site->kp;
	/* Whether a probe may nest is decided for each of them. */
	site->kp.flags = KPROBE_FLAG_DISABLED | KPROBE_FLAG_NESTS;
	if (on_entry)
		site->kp.flags |= KPROBE_FLAG_ON_FUNC_ENTRY;
	if (ftrace_ip) {
		site->kp.flags |= KPROBE_FLAG_FTRACE;
		site->ftrace_offset = ftrace_ip - addr;
	}
	site->kp.obstacle = KPROBE_OBSTACLE_UNSUPPORTED;

	err = kprobe_prepare(site);
	if (err) {
		kfree(site);
		return ERR_PTR(err);
	}
	kprobe_unoptimize_around(addr);
	kprobe_table_insert(&kprobe_site_table, &site->by_addr, addr);
	list_add_tail(&site->all, &kprobe_sites);
	kprobe_site_set_state(site, SITE_IDLE);
	return site;
}

LIST_HEAD(kprobe_cursors);

/* Returns the next of all sites, or NULL; the first one after NULL. */
noinline struct kprobe_site *kprobe_site_after(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (!site)
		return list_first_entry_or_null(&kprobe_sites, struct kprobe_site, all);
	return list_is_last(&site->all, &kprobe_sites) ? NULL : list_next_entry(site, all);
}

/* A site goes: cursors that have stopped there stop at the next one. */
static void pass_cursors(struct kprobe_site *site)
{
	struct kprobe_cursor *cursor;

	list_for_each_entry(cursor, &kprobe_cursors, all) {
		if (cursor->next == site)
			cursor->next = kprobe_site_after(site);
	}
}

static void release_copies(struct kprobe_site *site)
{
	kprobe_optimize_forget(site);
	arch_remove_kprobe(&site->kp);
}

/*
 * Frees a site without probes, with its slot and detour. It is DYING and in the table, and nothing
 * can be executing in its slot or detour; or it is GONE, and has neither any more.
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

/*
 * Checks for a site with an enabled probe that is not hit. Nothing has failed if all its probes are
 * disabled, or if the global switch keeps it disarmed. Nothing is planned for the site.
 */
bool kprobe_site_arming_failed(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	return site->state != SITE_GONE && !kprobe_site_armed(site) &&
	       any_enabled(site, false) && !switched_off(site);
}

/*
 * Sets what most hits look at instead of the list: the only probe; NULL if they are to look there.
 * Context: any.
 */
void kprobe_site_set_first(struct kprobe_site *site, struct kprobe *p)
{
	WRITE_ONCE(site->first, p ?: &site->kp);
	/* Its entry may be hit, and it was filled in just before. */
	smp_store_release(&site->kp.follows, p ? kretprobe_follows(p) : NULL);
}

/* Has hits call the handlers that they are to call now. */
static void set_handlers(struct kprobe_site *site)
{
	struct kprobe *p = list_first_entry_or_null(&site->probes, struct kprobe, list);
	/* If ftrace has shut itself down, it calls although the global switch is off. */
	bool none = ARCH_KPROBE_STATELESS && kprobe_ftrace_dead() && kprobe_ftrace(&site->kp) &&
		    switched_off(site);
	bool only = p && list_is_last(&p->list, &site->probes) &&
		    !kprobe_disabled(p) && p->pre_handler;

	WRITE_ONCE(site->kp.pre_handler, none ? NULL : kprobe_site_pre);
	kprobe_site_set_first(site, only && !none ? p : NULL);
	/* Pairs with the barrier in silence(), which marks a probe without a lock. */
	smp_mb();
	if (p && kprobe_disabled(p))
		kprobe_site_set_first(site, NULL);
	site->has_post_handler = !none && any_enabled(site, true);
	/*
	 * An architecture that calls it may load the pointer again after it has found that it is
	 * not NULL. So there it stays, and leads to all post handlers, of which there may be none.
	 */
	if (site->has_post_handler)
		WRITE_ONCE(site->kp.post_handler, kprobe_site_post);
	else if (ARCH_KPROBE_STATELESS)
		WRITE_ONCE(site->kp.post_handler, NULL);
}

/*
 * Sets what hits are told of a site. @disabled: none of its probes is enabled, or it could not be
 * armed.
 */
void kprobe_site_set_disabled(struct kprobe_site *site, bool disabled)
{
	u32 flags = site->kp.flags & ~KPROBE_FLAG_DISABLED;

	lockdep_assert_held(&kprobe_mutex);
	WRITE_ONCE(site->kp.flags, disabled ? flags | KPROBE_FLAG_DISABLED : flags);
}

/*
 * Updates a site and its text to what its probes want, after these or the global switch have
 * changed. The first hit has to find all handlers, so they are set before the site is armed. If the
 * plan cannot be applied, a caller that has enabled a probe must disable it again.
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

/*
 * Adds a probe to a site that is neither NEW nor GONE. The probe is disabled, so the text can stay
 * as it is.
 */
void kprobe_site_attach(struct kprobe_site *site, struct kprobe *p)
{
	int cause;

	lockdep_assert_held(&kprobe_mutex);
	if (site->state == SITE_DYING)
		kprobe_unretire(site);
	/* Its counts begin anew. A hit that is under way may still be added. */
	if (list_empty(&site->probes)) {
		atomic_long_set(&site->kp.hits, 0);
		for (cause = 0; cause < KPROBE_NR_MISSES; cause++)
			atomic_set(&site->missed[cause], 0);
	}
	list_add_rcu(&p->list, &site->probes);
	set_handlers(site);
}

/* Updates a site after some of its probes have left. If all have, the plan retires it. */
static void tidy(struct kprobe_site *site, struct kprobe_plan *plan)
{
	site->untidy = false;
	kprobe_site_refresh(site, plan);
	if (!list_empty(&site->probes))
		return;
	if (site->state != SITE_GONE) {
		if (!site->planned)
			kprobe_site_plan(site, &plan->left);
		return;
	}
	hash_del(&site->kp.hlist);
	if (!kprobe_site_settling(site))
		kprobe_site_destroy(site);
}

static void tidy_up(struct work_struct *work)
{
	struct kprobe_site *site, *next;
	DEFINE_KPROBE_PLAN(plan);

	guard(kprobe_lock)();
	list_for_each_entry_safe(site, next, &kprobe_sites, all) {
		if (site->untidy)
			tidy(site, &plan);
	}
	kprobe_plan_apply(&plan);
}

static DECLARE_WORK(tidy_work, tidy_up);

/*
 * Takes a probe off its site, and leaves the rest to a worker. If it was the last probe, hits only
 * execute the instruction. Does not sleep.
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

/*
 * Takes a probe off its site. Its handlers may still be running on other CPUs, and hits that are
 * under way can go on from it to the next probe. So its list head is left as it is.
 */
void kprobe_site_detach(struct kprobe_site *site, struct kprobe *p, struct kprobe_plan *plan)
{
	lockdep_assert_held(&kprobe_mutex);
	list_del_rcu(&p->list);
	tidy(site, plan);
}

/*
 * Gives up a site whose text was restored, and is about to be freed. The site leaves the table at
 * once, before its address can belong to other text.
 */
void kprobe_site_kill(struct kprobe_site *site)
{
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);
	if (site->state == SITE_DYING)
		kprobe_unretire(site);

	kprobe_table_remove(&kprobe_site_table, &site->by_addr);
	kprobe_site_set_state(site, SITE_GONE);
	/* It was a part of op.list. kprobe_site_holding() looks at those with probes. */
	INIT_HLIST_NODE(&site->kp.hlist);
	if (!list_empty(&site->probes))
		hash_add(kprobe_gone_sites, &site->kp.hlist, (unsigned long)site->kp.addr);
	WRITE_ONCE(site->kp.flags, site->kp.flags | KPROBE_FLAG_GONE);
	list_for_each_entry(p, &site->probes, list)
		WRITE_ONCE(p->flags, p->flags | KPROBE_FLAG_GONE);
	/*
	 * An architecture that keeps state may write to the text when it frees a slot. So there the
	 * site is settled while the text is still mapped.
	 */
	if (ARCH_KPROBE_STATELESS)
		kprobe_retire(site);
	else
		kprobe_site_settle(site);
}

static bool is_among(struct kprobe_site *site,
		     bool (*goes)(unsigned long addr, const struct module *mod),
		     const struct module *mod)
{
	return site->state != SITE_GONE && goes((unsigned long)site->kp.addr, mod);
}

/*
 * Gives up all sites in text that is about to be freed, but is still mapped. Some of it may run
 * until then: asynchronous functions that a module's init has started, and functions of its
 * parameters. So this restores the text first.
 */
void kprobe_kill_sites(bool (*goes)(unsigned long addr, const struct module *mod),
		       const struct module *mod)
{
	struct kprobe_site *site, *next;
	DEFINE_KPROBE_PLAN(plan);
	bool any = false;

	list_for_each_entry(site, &kprobe_sites, all) {
		if (!is_among(site, goes, mod))
			continue;
		any = true;
		kprobe_plan_arming(site, false, &plan);
	}
	kprobe_plan_apply(&plan);
	if (!any)
		return;
	/*
	 * Their sites are settled at once. In a detour, and on s390 in the exception, too, a task
	 * can be preempted before it has looked up the site.
	 */
	if (!ARCH_KPROBE_STATELESS) {
		kprobe_unlock_cpus();
		kprobe_wait_for_tasks();
	}
	list_for_each_entry_safe(site, next, &kprobe_sites, all) {
		if (is_among(site, goes, mod))
			kprobe_site_kill(site);
	}
}

/* Frees the slot and the detour of a GONE site; and the site as well, if it has no probes. */
void kprobe_site_settle(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	release_copies(site);
	if (list_empty(&site->probes))
		kprobe_site_destroy(site);
}
