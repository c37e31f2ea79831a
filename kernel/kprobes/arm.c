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

#include "internal.h"

/* Overridden by architectures whose functions do not start with what ftrace patches. */
unsigned long __weak arch_kprobe_ftrace_location(unsigned long addr)
{
	void *at = (void *)addr;

	/* ftrace_location() looks up a symbol, unless ftrace patches @addr itself. */
	return ftrace_text_reserved(at, at) && ftrace_location(addr) == addr ? addr : 0;
}

/**
 * kprobe_text_lock() - take the locks for reading and patching text
 *
 * Until kprobe_text_unlock() nobody else patches text, and no CPU comes or goes.
 *
 * Context: kprobe_mutex is held; may sleep.
 */
void kprobe_text_lock(void)
{
	lockdep_assert_held(&kprobe_mutex);
	cpus_read_lock();
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
	cpus_read_unlock();
}

int __weak arch_prepare_kprobe_ftrace(struct kprobe *kp)
{
	return 0;
}

/* ftrace's records are locked. */
static int prepare(struct kprobe_site *site)
{
	unsigned long addr = (unsigned long)site->kp.addr;
	int err;

	site->ftrace_ip = arch_kprobe_ftrace_location(addr);
	if (site->ftrace_ip) {
		if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
			return kprobe_refuse(-EINVAL, "ftrace patches it");
		site->kp.flags |= KPROBE_FLAG_FTRACE;
	}

	kprobe_text_lock();
	err = kprobe_check_text(addr);
	if (!err && kprobe_debugger_stops_there(site))
		err = kprobe_refuse(-EINVAL, KPROBE_DEBUGGER_STOPS);
	if (!err)
		err = kprobe_ftrace(&site->kp) ? arch_prepare_kprobe_ftrace(&site->kp)
					       : arch_prepare_kprobe(&site->kp);
	kprobe_text_unlock();
	return err;
}

/**
 * kprobe_prepare() - check a new site, and decide how it is going to be hit
 * @site: NEW; its address and flags are set
 *
 * Context: kprobe_mutex is held.
 * Return: 0, or an errno if the address cannot be probed.
 */
int kprobe_prepare(struct kprobe_site *site)
{
	int err;

	KUNIT_STATIC_STUB_REDIRECT(kprobe_prepare, site);
	lockdep_assert_held(&kprobe_mutex);
	ftrace_lock_records();
	err = prepare(site);
	ftrace_unlock_records();
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
		list_for_each_entry(kp, &batch, list)
			kprobe_site_set_state(site_of(kp), state);
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

static int arm_entry(struct kprobe_site *site)
{
	int err = kprobe_ftrace_arm(site);

	if (!err && site->state != SITE_ARMED)
		kprobe_site_set_state(site, SITE_ARMED);
	return err;
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
	if (!site->ops)
		return;
	kprobe_ftrace_disarm(site);
	if (site->state != SITE_IDLE)
		kprobe_site_set_state(site, SITE_IDLE);
}

/**
 * kprobe_plan_arming() - plan to arm or disarm a site
 * @site: IDLE or armed; or DYING, if @armed is false
 * @armed: true to arm it
 * @plan: collects changes to the text. Those that ftrace makes are collected by ftrace.c
 *
 * Context: kprobe_mutex is held, until the plan is applied.
 * Return: 0; or an error of ftrace's, with the site as it was.
 */
int kprobe_plan_arming(struct kprobe_site *site, bool armed, struct kprobe_plan *plan)
{
	lockdep_assert_held(&kprobe_mutex);
	if (!kprobe_ftrace(&site->kp)) {
		plan_text(site, armed, plan);
		return 0;
	}
	if (armed)
		return arm_entry(site);
	kprobe_disarm_entry(site);
	return 0;
}

/**
 * kprobe_plan_apply() - make the changes that were planned
 * @plan: is empty afterwards
 *
 * All text is patched at once, as far as the architecture can do that.
 *
 * Context: kprobe_mutex is held.
 * Return: 0; or an error of ftrace's, if some sites that were to be armed are not.
 */
int kprobe_plan_apply(struct kprobe_plan *plan)
{
	struct kprobe_site *site, *next;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	err = kprobe_ftrace_settle();
	patch_text(&plan->disarm, SITE_IDLE);
	patch_text(&plan->arm, SITE_ARMED);
	list_for_each_entry_safe(site, next, &plan->left, leaving) {
		list_del_init(&site->leaving);
		kprobe_retire(site);
	}
	return err;
}
