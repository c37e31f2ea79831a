// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes: registering them, in whatever way calls are followed to their return.
 *
 * A return probe is a probe on the function's entry whose pre handler diverts the return.
 * How that is done, and where the calls under way are kept, is in kretprobe_list.c, or in
 * kretprobe_rethook.c for architectures that have only rethook.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/bitmap.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "internal.h"
#include "kretprobe.h"

/*
 * Protects the instances of all return probes, and the return stacks of tasks; internal.h
 * has the order of locks.
 */
DEFINE_MUTEX(kretprobe_mutex);

/* Held from the check of return probes to the end of their registration. */
static DEFINE_MUTEX(register_mutex);

/**
 * kretprobe_blacklist_init() - resolve the functions that must have no return probe
 *
 * The addresses are found in the same way as a probe's, past a landing pad, so that
 * they can be compared.
 *
 * Context: once, at boot.
 */
void __init kretprobe_blacklist_init(void)
{
	struct kretprobe_blackpoint *point;
	const char *why;
	bool on_entry;

	if (!kretprobe_blacklist_size)
		return;
	for (point = kretprobe_blacklist; point->name; point++) {
		point->addr = kprobe_resolve(NULL, point->name, 0, &on_entry, &why);
		if (IS_ERR(point->addr)) {
			pr_err("%s, which must have no return probe: %s\n",
			       point->name, why);
			point->addr = NULL;
		}
	}
}

static bool return_blacklisted(void *addr)
{
	struct kretprobe_blackpoint *point;

	if (!kretprobe_blacklist_size)
		return false;
	for (point = kretprobe_blacklist; point->name; point++)
		if (point->addr == addr)
			return true;
	return false;
}

/**
 * kretprobe_check_function() - check that the return of a function may be diverted
 * @addr: the function's entry
 *
 * Context: kprobe_mutex is held.
 * Return: 0; or -EINVAL, with the reason recorded by kprobe_refuse().
 */
int kretprobe_check_function(void *addr)
{
	if (return_blacklisted(addr))
		return kprobe_refuse(-EINVAL, "the function does not return as others do");
	return 0;
}

static int check_kretprobe(struct kretprobe *rp)
{
	kprobe_opcode_t *addr = kprobe_find_entry(&rp->kp);
	int err;

	if (IS_ERR(addr))
		return PTR_ERR(addr);
	err = kretprobe_check_function(addr);
	if (err)
		return err;
	if (rp->data_size > KRETPROBE_MAX_DATA_SIZE)
		return kprobe_refuse(-E2BIG, "data_size is too large");
	return 0;
}

/* What registration changes in a return probe, as the caller passed it */
struct kretprobe_before {
	struct kprobe_before	kp;
	int			nmissed;
};

/* An array of return probes can be used as one of kprobes: each begins with its kprobe. */
static struct kprobe **kprobes_of(struct kretprobe **rps)
{
	BUILD_BUG_ON(offsetof(struct kretprobe, kp));
	return (struct kprobe **)rps;
}

static int check_all(struct kretprobe **rps, int num)
{
	int i, err = 0;

	for (i = 0; i < num && !err; i++) {
		guard(mutex)(&kprobe_mutex);
		err = kprobe_note_refusal(&rps[i]->kp, check_kretprobe(rps[i]));
	}
	return err;
}

static void save_and_clear(struct kretprobe **rps, struct kretprobe_before *before, int num)
{
	int i;

	for (i = 0; i < num; i++) {
		kprobe_save(&before[i].kp, &rps[i]->kp);
		before[i].nmissed = rps[i]->nmissed;
		rps[i]->kp.pre_handler = NULL;
		rps[i]->kp.post_handler = NULL;
	}
}

/* In reverse: if a return probe is in the array twice, what was saved first is restored last. */
static void restore(struct kretprobe **rps, const struct kretprobe_before *before, int num)
{
	while (num--) {
		kprobe_restore(&rps[num]->kp, &before[num].kp);
		rps[num]->nmissed = before[num].nmissed;
	}
}

/*
 * objpool computes as an int how many bytes it needs for a CPU: for the instances, and for a ring
 * of pointers to them, which is much smaller. It does not notice if that overflows.
 */
static bool pool_too_large(const struct kretprobe *rp)
{
	unsigned int num = DIV_ROUND_UP(max(rp->maxactive, 0), num_possible_cpus());

	return num * (u64)(sizeof(struct kretprobe_instance) + rp->data_size) > SZ_1G;
}

/* A CPU that comes or goes runs tasks, and is not among those that are online. */
static int create_pool(struct kretprobe *rp)
{
	bool locked = kprobe_lock_cpus();
	int err;

	scoped_guard(mutex, &kretprobe_mutex)
		err = kretprobe_pool_create(rp);
	if (locked)
		cpus_read_unlock();
	return err;
}

/*
 * Gets one return probe ready for registration. save_and_clear() has removed all
 * handlers, so if this one has a handler again, it is in the array twice.
 */
static int make_ready(struct kretprobe *rp)
{
	int err;

	if (rp->kp.pre_handler)
		return kprobe_refuse_early(&rp->kp, -EINVAL, "registered already");
	err = pool_too_large(rp) ? -ENOMEM : create_pool(rp);
	if (err)
		return kprobe_refuse_early(&rp->kp, err, NULL);
	rp->kp.pre_handler = kretprobe_entry;
	rp->nmissed = 0;
	return 0;
}

/* Releases the pools of return probes that are not registered. */
static void stop_all(struct kretprobe **rps, int num)
{
	int i;

	scoped_guard(mutex, &kretprobe_mutex) {
		for (i = 0; i < num; i++)
			kretprobe_pool_stop(rps[i]);
	}
	/* A call that was followed meanwhile may be returning. */
	kprobe_wait_for_handlers();
	guard(mutex)(&kretprobe_mutex);
	for (i = 0; i < num; i++)
		kretprobe_pool_release(rps[i]);
}

/* Gets all of them ready, or none. */
static int make_all_ready(struct kretprobe **rps, int num)
{
	int i, err;

	for (i = 0; i < num; i++) {
		err = make_ready(rps[i]);
		if (!err)
			continue;
		if (i)
			stop_all(rps, i);
		return err;
	}
	return 0;
}

static int register_locked(struct kretprobe **rps, struct kretprobe_before *before, int num)
{
	int err;

	err = check_all(rps, num);
	if (err)
		return err;
	save_and_clear(rps, before, num);
	err = make_all_ready(rps, num);
	if (!err) {
		/* Some monitors have a probe on register_kprobe(). */
		err = num == 1 ? register_kprobe(&rps[0]->kp)
			       : register_kprobes(kprobes_of(rps), num);
		if (err)
			stop_all(rps, num);
	}
	if (err)
		restore(rps, before, num);
	return err;
}

/* Registers all of a chunk, or none. */
static int register_chunk(struct kretprobe **rps, struct kretprobe_before *before, int num)
{
	int err;

	if (!kprobe_lock_registering(&register_mutex))
		return kprobe_refuse_early(&rps[0]->kp, -EBUSY, KPROBE_REGISTERING);
	err = register_locked(rps, before, num);
	mutex_unlock(&register_mutex);
	return err;
}

/**
 * register_kretprobe() - plant a return probe
 * @rp: what to probe and what to run; belongs to the core until it is unregistered
 *
 * Sets the pre_handler of its kprobe, and clears the post_handler.
 *
 * Context: may sleep.
 * Return: 0, or with nothing changed: -EINVAL if the address is not a function's entry,
 * the function's return must not be diverted, or @rp is registered already; -E2BIG if
 * data_size is too large; -ENOMEM; -EBUSY in a callback of CPU hotplug, if another registration
 * waits for that; or an error of register_kprobe().
 */
int register_kretprobe(struct kretprobe *rp)
{
	struct kretprobe_before before;

	return register_chunk(&rp, &before, 1);
}
EXPORT_SYMBOL_GPL(register_kretprobe);

/**
 * register_kretprobes() - plant several return probes, or none
 * @rps: the return probes
 * @num: how many
 *
 * The text is patched for many of them at once. In between, others can register and
 * unregister. Of more than 1,024 return probes, the first may have been hit before a
 * later one is refused. See register_kretprobe().
 *
 * Context: may sleep.
 * Return: 0; -EINVAL unless @num is positive; -ENOMEM; or an error of
 * register_kretprobe() for one of them. After an error, none is left planted.
 */
int register_kretprobes(struct kretprobe **rps, int num)
{
	struct kretprobe_before *before;
	int i, end, err = 0;

	if (num <= 0)
		return kprobe_refuse_number();
	before = kvmalloc_array(num, sizeof(*before), GFP_KERNEL);
	if (!before)
		return kprobe_refuse_early(NULL, -ENOMEM, NULL);
	for (i = 0; i < num && !err; i = end) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		err = register_chunk(rps + i, before + i, end - i);
		if (err && i) {
			unregister_kretprobes(rps, i);
			restore(rps, before, i);
		}
	}
	kvfree(before);
	return err;
}
EXPORT_SYMBOL_GPL(register_kretprobes);

/**
 * unregister_kretprobe() - remove a return probe
 * @rp: the return probe
 *
 * See unregister_kretprobes().
 *
 * Context: may sleep; not from a handler.
 */
void unregister_kretprobe(struct kretprobe *rp)
{
	unregister_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(unregister_kretprobe);

/* Records which were registered: if one is in the array twice, its pool is released once. */
static void remove_chunk(struct kretprobe **rps, int num, unsigned long *removed)
{
	struct kprobe_plan plan;
	int i;

	kprobe_plan_init(&plan);
	guard(kprobe_lock)();
	for (i = 0; i < num; i++) {
		if (kprobe_remove(&rps[i]->kp, &plan)) {
			kretprobe_pool_stop(rps[i]);
			__set_bit(i, removed);
		} else {
			rps[i]->kp.addr = NULL;
		}
	}
	kprobe_plan_apply(&plan);
}

static void unregister_chunk(struct kretprobe **rps, int num)
{
	DECLARE_BITMAP(removed, KPROBE_PATCH_BATCH) = {};
	int i;

	remove_chunk(rps, num, removed);
	kprobe_wait_for_handlers();
	guard(mutex)(&kretprobe_mutex);
	for (i = 0; i < num; i++) {
		if (test_bit(i, removed))
			kretprobe_pool_release(rps[i]);
		INIT_LIST_HEAD(&rps[i]->kp.list);
	}
}

static void stop_returns(struct kprobe *p)
{
	kretprobe_pool_stop(container_of(p, struct kretprobe, kp));
}

static void release_returns(struct kprobe *p)
{
	kretprobe_pool_release(container_of(p, struct kretprobe, kp));
}

static const struct kprobe_leaving leaving = {
	.lock		= &kretprobe_mutex,
	.stop		= stop_returns,
	.release	= release_returns,
};

/**
 * unregister_kretprobes() - remove return probes
 * @rps: the return probes. If one is not registered, its address is set to NULL
 * @num: how many
 *
 * When this returns, none of their handlers is running or will run. Tasks that are still
 * inside the probed functions return to their callers unseen.
 *
 * Context: may sleep; not from a handler. Otherwise as unregister_kprobes().
 */
void unregister_kretprobes(struct kretprobe **rps, int num)
{
	int i, end;

	if (num <= 0)
		return;
	if (kprobe_cannot_sleep()) {
		kprobe_leave_at_once(kprobes_of(rps), num, &leaving);
		return;
	}
	for (i = 0; i < num; i = end) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		unregister_chunk(rps + i, end - i);
	}
}
EXPORT_SYMBOL_GPL(unregister_kretprobes);
