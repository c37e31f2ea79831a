// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preparing, arming and disarming sites. Only this file calls the architecture's hooks for that;
 * optimize.c calls those for jumps.
 */
#include <kunit/static_stub.h>
#include <linux/cpu.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
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

/*
 * Keeps CPUs from coming and going. Returns whether cpus_read_unlock() is to be called: not in a
 * callback of CPU hotplug, which has locked out all others. kprobe_mutex is not held.
 */
bool kprobe_lock_cpus(void)
{
	if (cpuhp_runs_callback())
		return false;
	cpus_read_lock();
	return true;
}

/*
 * Takes kprobe_mutex in order to change text. No CPU comes or goes until kprobe_unlock(), or until
 * ftrace is told of something. A callback of CPU hotplug may wait for kprobe_mutex, so hotplug is
 * waited for without it. And some architectures' ftrace takes the lock on hotplug once more, with
 * kprobe_mutex held: so kprobe_mutex is not waited for with that lock either.
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

void kprobe_unlock(void)
{
	kprobe_unlock_cpus();
	mutex_unlock(&kprobe_mutex);
}

/*
 * Lets CPUs come and go, but keeps kprobe_mutex. The text lock cannot be taken after this: others
 * take the lock on CPU hotplug with ftrace's locks held.
 */
void kprobe_unlock_cpus(void)
{
	lockdep_assert_held(&kprobe_mutex);
	if (cpus_locked)
		cpus_read_unlock();
	cpus_locked = false;
}

/*
 * Takes the locks for reading and patching text; nobody else patches any until they are released.
 * Between kprobe_lock() and kprobe_unlock(), and before ftrace is told of something.
 */
void kprobe_text_lock(void)
{
	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_cpus_held();
	jump_label_lock();
	mutex_lock(&text_mutex);
}

void kprobe_text_unlock(void)
{
	mutex_unlock(&text_mutex);
	jump_label_unlock();
}

/* Checks a new site, and decides how it is going to be hit. */
int kprobe_prepare(struct kprobe_site *site)
{
	int err;

	KUNIT_STATIC_STUB_REDIRECT(kprobe_prepare, site);
	lockdep_assert_held(&kprobe_mutex);
	if (site->kp.flags & KPROBE_FLAG_FTRACE && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		return kprobe_refuse(&site->kp, -EINVAL, "ftrace patches it");

	guard(kprobe_text)();
	err = kprobe_check_text(&site->kp);
	if (err)
		return err;
	if (kprobe_debugger_stops_at_site(site))
		return kprobe_refuse(&site->kp, -EINVAL, KPROBE_DEBUGGER_STOPS);
	if (!kprobe_ftrace(&site->kp))
		return arch_prepare_kprobe(&site->kp);
	return ARCH_KPROBE_STATELESS ? 0 : arch_prepare_kprobe_ftrace(&site->kp);
}

/* Moves at most @n entries from the beginning of a list to @batch; what that has had is dropped. */
void kprobe_take_batch(struct list_head *from, struct list_head *batch, unsigned int n)
{
	struct list_head *last = from;

	while (n-- && last->next != from)
		last = last->next;
	list_cut_position(batch, from, last);
}

/*
 * Records that a site was armed, perhaps again, or could not be. Monitors look at this for what is
 * armed, and at its result, which is @err: 0, or ftrace's error.
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

/* Records that a site was disarmed. Monitors look at this, too. */
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
		arch_arm_kprobes(&batch, true);
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
		arch_arm_kprobes(&batch, false);
		list_for_each_entry(kp, &batch, list)
			disarm_kprobe(kp);
		kprobe_text_unlock();
		list_splice_tail_init(&batch, done);
	}
}

/*
 * Plans to arm or disarm a site, as its probes need it by then. A DYING site can only be disarmed.
 * A plan that unregisters several probes of a site comes here for each: some may be left, and then
 * none. ftrace may have to call for the site in another way first, and then no more. But a plan for
 * breakpoints either only arms or only disarms.
 */
void kprobe_plan_arming(struct kprobe_site *site, bool armed, struct kprobe_plan *plan)
{
	struct list_head *list;
	bool done;

	lockdep_assert_held(&kprobe_mutex);
	if (kprobe_ftrace(&site->kp)) {
		list = armed ? &plan->hook : &plan->unhook;
		done = armed ? kprobe_ftrace_fits(site) : !site->hook;
	} else {
		list = armed ? &plan->arm : &plan->disarm;
		done = armed == kprobe_site_armed(site);
		if (WARN_ON_ONCE(done && site->planned))
			return;
	}
	if (!done)
		kprobe_site_plan(site, list);
	else if (site->planned)
		kprobe_site_unqueue(site);
}

/*
 * Makes the changes of a plan, which is empty afterwards. All text is patched at once, as far as
 * the architecture can do that. ftrace is told last, because CPUs can come and go then: the text
 * lock cannot be taken after this. Returns 0; or an error of ftrace's, if some sites are not armed
 * as they were to be.
 */
int kprobe_plan_apply(struct kprobe_plan *plan)
{
	struct kprobe *kp, *next;
	int err = 0;

	lockdep_assert_held(&kprobe_mutex);
	remove_breakpoints(&plan->disarm, &plan->left);
	put_breakpoints(&plan->arm);
	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		err = kprobe_ftrace_apply(plan);
	list_for_each_entry_safe(kp, next, &plan->left, list) {
		kprobe_site_unqueue(site_of(kp));
		if (list_empty(&site_of(kp)->probes))
			kprobe_retire(site_of(kp));
	}
	return err;
}
