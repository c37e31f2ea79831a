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

/* The lock on CPU hotplug was taken with kprobe_mutex, and has not been released since. */
static bool cpus_locked;

/**
 * kprobe_lock_cpus() - keep CPUs from coming and going
 *
 * In a callback of CPU hotplug nothing is done: hotplug has locked out all others.
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

/**
 * kprobe_prepare() - check a new site, and decide how it is going to be hit
 * @site: NEW; its address and flags are set, and where ftrace would call
 *
 * Context: between kprobe_lock() and kprobe_unlock().
 * Return: 0, or an errno if the address cannot be probed.
 */
int kprobe_prepare(struct kprobe_site *site)
{
	int err;

	KUNIT_STATIC_STUB_REDIRECT(kprobe_prepare, site);
	lockdep_assert_held(&kprobe_mutex);
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
 * @batch: where they go; what it has had is dropped
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

/**
 * arm_kprobe() - record that a site was armed, or could not be
 * @kp: the site's kprobe; it may have been armed before
 * @err: 0, or ftrace's error
 *
 * Monitors look at this for what is armed, and at its result.
 *
 * Context: kprobe_mutex is held.
 * Return: @err.
 */
noinline __noclone int arm_kprobe(struct kprobe *kp, int err)
{
	struct kprobe_site *site = site_of(kp);

	if (err)
		kprobe_site_set_disabled(site, !kprobe_site_armed(site));
	else if (!kprobe_site_armed(site))
		kprobe_site_set_state(site, SITE_ARMED);
	return err;
}

/**
 * disarm_kprobe() - record that a site was disarmed
 * @kp: the site's kprobe
 *
 * Monitors look at this for what is disarmed.
 *
 * Context: kprobe_mutex is held.
 */
noinline __noclone void disarm_kprobe(struct kprobe *kp)
{
	if (kprobe_site_armed(site_of(kp)))
		kprobe_site_set_state(site_of(kp), SITE_IDLE);
}

static void put_breakpoints(struct list_head *sites)
{
	struct kprobe *kp, *next;
	LIST_HEAD(batch);

	while (!list_empty(sites)) {
		kprobe_take_batch(sites, &batch, KPROBE_TEXT_BATCH);
		kprobe_text_lock();
		/* CPUs are told of these with the breakpoints. */
		kprobe_make_detours(&batch);
		arch_arm_kprobes(&batch);
		list_for_each_entry(kp, &batch, list)
			arm_kprobe(kp, 0);
		kprobe_optimize_armed(&batch);
		kprobe_text_unlock();
		list_for_each_entry_safe(kp, next, &batch, list)
			kprobe_site_unqueue(site_of(kp));
	}
}

static void remove_breakpoints(struct list_head *sites, struct list_head *done)
{
	struct kprobe *kp;
	LIST_HEAD(batch);

	while (!list_empty(sites)) {
		kprobe_take_batch(sites, &batch, KPROBE_TEXT_BATCH);
		kprobe_unoptimize_sites(&batch);
		kprobe_text_lock();
		arch_disarm_kprobes(&batch);
		list_for_each_entry(kp, &batch, list)
			disarm_kprobe(kp);
		kprobe_text_unlock();
		list_splice_tail_init(&batch, done);
	}
}

/* Plans to write a breakpoint, or to remove it. A plan either only arms or only disarms. */
static void plan_text(struct kprobe_site *site, bool armed, struct kprobe_plan *plan)
{
	bool done = armed == kprobe_site_armed(site);

	if (WARN_ON_ONCE(done && kprobe_site_planned(site)))
		return;
	if (!done && !kprobe_site_planned(site))
		kprobe_site_queue(site, armed ? &plan->arm : &plan->disarm, KPROBE_QUEUE_PLAN);
}

/*
 * Plans to have ftrace call for a site, as its probes need it by then, or to stop that. When
 * several probes of a site are unregistered, first some may be left, and then none.
 */
static void plan_entry(struct kprobe_site *site, bool armed, struct kprobe_plan *plan)
{
	bool done = armed ? kprobe_ftrace_fits(site) : !site->hook;

	if (!done)
		kprobe_site_queue(site, armed ? &plan->hook : &plan->unhook, KPROBE_QUEUE_PLAN);
	else if (kprobe_site_planned(site))
		kprobe_site_unqueue(site);
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
	struct kprobe *kp, *next;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	remove_breakpoints(&plan->disarm, &plan->left);
	put_breakpoints(&plan->arm);
	err = kprobe_ftrace_apply(plan);
	list_for_each_entry_safe(kp, next, &plan->left, list) {
		kprobe_site_unqueue(site_of(kp));
		if (list_empty(&site_of(kp)->probes))
			kprobe_retire(site_of(kp));
	}
	return err;
}
