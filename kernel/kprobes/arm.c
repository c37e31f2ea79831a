// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preparing, arming and disarming sites. The architecture's hooks that do so are only
 * called from here; those for jumps are called from optimize.c.
 */
#include <kunit/static_stub.h>
#include <linux/cpu.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/memory.h>

#include "../smpboot.h"
#include "internal.h"

/* Overridden by architectures whose functions do not start with what ftrace patches. */
unsigned long __weak arch_kprobe_ftrace_location(unsigned long addr)
{
	void *at = (void *)addr;

	/* ftrace_location() looks up a symbol, unless ftrace patches @addr itself. */
	return ftrace_text_reserved(at, at) && ftrace_location(addr) == addr ? addr : 0;
}

/* Was the lock on CPU hotplug taken with kprobe_mutex, and not released since? */
static bool cpus_locked;

/**
 * kprobe_lock_cpus() - keep CPUs from coming and going
 *
 * In a callback of CPU hotplug, nothing is done: hotplug has locked out all others.
 *
 * Context: may sleep; kprobe_mutex is not held.
 * Return: true if cpus_read_unlock() is to be called.
 */
bool kprobe_lock_cpus(void)
{
	if (cpuhp_runs_callback())
		return false;
	cpus_read_lock();
	return true;
}

/**
 * kprobe_lock() - take kprobe_mutex in order to change text
 *
 * No CPU comes or goes until kprobe_unlock(), or until ftrace is told of something. A callback of
 * CPU hotplug may wait for kprobe_mutex, so hotplug is waited for without it. And some
 * architectures' ftrace takes the lock on hotplug once more, with kprobe_mutex held: so
 * kprobe_mutex is not waited for with that lock either.
 *
 * Context: may sleep.
 */
void kprobe_lock(void)
{
	bool mine = !cpuhp_runs_callback();

	mutex_lock(&kprobe_mutex);
	while (mine && !cpus_read_trylock()) {
		mutex_unlock(&kprobe_mutex);
		cpus_read_lock();
		cpus_read_unlock();
		mutex_lock(&kprobe_mutex);
	}
	cpus_locked = mine;
}

/**
 * kprobe_unlock() - release what kprobe_lock() has taken
 *
 * Context: that of kprobe_lock().
 */
void kprobe_unlock(void)
{
	kprobe_unlock_cpus();
	mutex_unlock(&kprobe_mutex);
}

/**
 * kprobe_unlock_cpus() - let CPUs come and go, but keep kprobe_mutex
 *
 * Then the text lock cannot be taken any more. Others take the lock on CPU hotplug with ftrace's
 * locks held.
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_unlock_cpus(void)
{
	lockdep_assert_held(&kprobe_mutex);
	if (cpus_locked)
		cpus_read_unlock();
	cpus_locked = false;
}

/**
 * kprobe_text_lock() - take the locks for reading and patching text
 *
 * Until kprobe_text_unlock() nobody else patches text.
 *
 * Context: between kprobe_lock() and kprobe_unlock(), and before ftrace is told of something; may
 * sleep.
 */
void kprobe_text_lock(void)
{
	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_cpus_held();
	jump_label_lock();
	mutex_lock(&text_mutex);
}

/**
 * kprobe_text_unlock() - release the locks of kprobe_text_lock()
 *
 * Context: that of kprobe_text_lock().
 */
void kprobe_text_unlock(void)
{
	mutex_unlock(&text_mutex);
	jump_label_unlock();
}

/* Overridden where CPUs have to be told of what they are going to execute */
void __weak arch_kprobe_sync(void)
{
}

/**
 * kprobe_prepare() - check a new site, and decide how it is going to be hit
 * @site: NEW; its address and flags are set
 *
 * Context: between kprobe_lock() and kprobe_unlock().
 * Return: 0, or an errno if the address cannot be probed.
 */
int kprobe_prepare(struct kprobe_site *site)
{
	unsigned long addr = (unsigned long)site->kp.addr;
	int err;

	KUNIT_STATIC_STUB_REDIRECT(kprobe_prepare, site);
	lockdep_assert_held(&kprobe_mutex);
	site->ftrace_ip = arch_kprobe_ftrace_location(addr);
	if (site->ftrace_ip) {
		if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
			return kprobe_refuse(&site->kp, -EINVAL, "ftrace patches it");
		site->kp.flags |= KPROBE_FLAG_FTRACE;
	}

	kprobe_text_lock();
	err = kprobe_check_text(&site->kp);
	if (!err && kprobe_debugger_stops_at_site(site))
		err = kprobe_refuse(&site->kp, -EINVAL, KPROBE_DEBUGGER_STOPS);
	if (!err && !kprobe_ftrace(&site->kp))
		err = arch_prepare_kprobe(&site->kp);
	else if (!err && !ARCH_KPROBE_STATELESS)
		err = arch_prepare_kprobe_ftrace(&site->kp);
	kprobe_text_unlock();
	return err;
}

/**
 * kprobe_take_batch() - move the first entries of a list to another one
 * @from: the list
 * @batch: where they go; what it has had is forgotten
 * @n: how many, at most
 *
 * Context: the lists are the caller's.
 */
void kprobe_take_batch(struct list_head *from, struct list_head *batch, unsigned int n)
{
	struct list_head *last = from;

	while (n-- && last->next != from)
		last = last->next;
	list_cut_position(batch, from, last);
}

/* Monitors look at this for what is armed, with the site's kprobe, and at its result. */
static noinline __noclone int arm_kprobe(struct kprobe *kp)
{
	struct kprobe_site *site = site_of(kp);
	int err = kprobe_ftrace(kp) ? kprobe_ftrace_arm(site) : 0;

	if (!err && !kprobe_site_armed(site))
		kprobe_site_set_state(site, SITE_ARMED);
	if (err)
		kprobe_site_set_disabled(site, !kprobe_site_armed(site));
	return err;
}

/* And at this for what is disarmed */
static noinline __noclone void disarm_kprobe(struct kprobe *kp)
{
	struct kprobe_site *site = site_of(kp);

	if (kprobe_ftrace(kp))
		kprobe_ftrace_disarm(site);
	if (site->state != SITE_IDLE)
		kprobe_site_set_state(site, SITE_IDLE);
}

/* Patches the text of all sites of @from, and then sets their state to @state. */
static void patch_text(struct list_head *from, enum kprobe_site_state state)
{
	struct kprobe *kp, *next;
	LIST_HEAD(batch);

	while (!list_empty(from)) {
		kprobe_take_batch(from, &batch, KPROBE_TEXT_BATCH);
		if (state == SITE_IDLE)
			kprobe_unoptimize_sites(&batch);
		kprobe_text_lock();
		if (state == SITE_ARMED) {
			/* CPUs are told of these with the breakpoints. */
			kprobe_make_detours(&batch);
			arch_arm_kprobes(&batch);
		} else {
			arch_disarm_kprobes(&batch);
		}
		list_for_each_entry(kp, &batch, list) {
			if (state == SITE_ARMED)
				arm_kprobe(kp);
			else
				disarm_kprobe(kp);
		}
		if (state == SITE_ARMED)
			kprobe_optimize_armed(&batch);
		kprobe_text_unlock();
		list_for_each_entry_safe(kp, next, &batch, list)
			list_del_init(&kp->list);
	}
}

/*
 * Plans to write a breakpoint, or to remove it. A plan is made by those who register probes or
 * by those who unregister some, so nobody wants the opposite of what is planned.
 */
static void plan_text(struct kprobe_site *site, bool armed, struct kprobe_plan *plan)
{
	bool done = armed == kprobe_site_armed(site);

	if (WARN_ON_ONCE(done && kprobe_site_planned(site)))
		return;
	if (!done && !kprobe_site_planned(site))
		list_add_tail(&site->kp.list, armed ? &plan->arm : &plan->disarm);
}

/*
 * Plans to have ftrace call for a site, as its probes need it by then, or to stop that. Somebody
 * who unregisters several probes of a site may first leave some of them, and then none.
 */
static void plan_entry(struct kprobe_site *site, bool armed, struct kprobe_plan *plan)
{
	bool done = armed ? kprobe_ftrace_fits(site) : !site->ops;

	if (done)
		list_del_init(&site->kp.list);
	else
		list_move_tail(&site->kp.list, armed ? &plan->hook : &plan->unhook);
}

/**
 * kprobe_disarm_entry() - stop ftrace from calling for a site
 * @site: the site; nothing is done if ftrace does not call for it
 *
 * Context: kprobe_mutex is held, until kprobe_ftrace_settle().
 */
void kprobe_disarm_entry(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->ops)
		disarm_kprobe(&site->kp);
}

/**
 * kprobe_plan_arming() - plan to arm or disarm a site
 * @site: IDLE or armed; or DYING, if @armed is false
 * @armed: true to arm it
 * @plan: collects the changes
 *
 * Context: kprobe_mutex is held, until the plan is applied.
 */
void kprobe_plan_arming(struct kprobe_site *site, bool armed, struct kprobe_plan *plan)
{
	lockdep_assert_held(&kprobe_mutex);
	if (kprobe_ftrace(&site->kp))
		plan_entry(site, armed, plan);
	else
		plan_text(site, armed, plan);
}

/* Tells ftrace of all entries. Returns an error if some that were to be armed are not. */
static int hook_entries(struct kprobe_plan *plan)
{
	struct kprobe *kp, *next;
	int err = 0, last;

	list_for_each_entry_safe(kp, next, &plan->unhook, list) {
		list_del_init(&kp->list);
		kprobe_disarm_entry(site_of(kp));
	}
	list_for_each_entry_safe(kp, next, &plan->hook, list) {
		list_del_init(&kp->list);
		last = arm_kprobe(kp);
		err = err ?: last;
	}
	last = kprobe_ftrace_settle();
	return err ?: last;
}

/**
 * kprobe_plan_apply() - make the changes that were planned
 * @plan: is empty afterwards
 *
 * All text is patched at once, as far as the architecture can do that. ftrace is told last, because
 * CPUs can come and go then.
 *
 * Context: between kprobe_lock() and kprobe_unlock(). The text lock cannot be taken after this.
 * Return: 0; or an error of ftrace's, if some sites are not armed as they were to be.
 */
int kprobe_plan_apply(struct kprobe_plan *plan)
{
	struct kprobe_site *site, *next;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	patch_text(&plan->disarm, SITE_IDLE);
	patch_text(&plan->arm, SITE_ARMED);
	err = hook_entries(plan);
	list_for_each_entry_safe(site, next, &plan->left, leaving) {
		list_del_init(&site->leaving);
		kprobe_retire(site);
	}
	return err;
}
