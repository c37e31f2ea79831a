// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what registering and unregistering do not wait for: grace periods that others
 * wait for with a lock held, and CPU hotplug in one of its own callbacks.
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/preempt.h>
#include <linux/uaccess.h>

#include "../../trace/ftrace_internal.h"
#include "../internal.h"
#include "support/core.h"
#include "support/probe.h"
#include "support/sites.h"
#include "support/threads.h"

#ifdef CONFIG_MODULES
#include "../../module/internal.h"
#endif

/* --- a probe of every kind --- */

static int hits;

KIND_HANDLERS(count, hits++);

KPROBES_TARGET(claimed, 0)

/* By ftrace, shared and not; by a breakpoint or jump, at an entry and elsewhere; other types */
static const struct {
	enum any_type type;
	enum kind_id kind;
	void *addr;
} wanted[] = {
	{ KPROBE,	PRE_HANDLER,	kprobes_traced },
	{ KPROBE,	POST_HANDLER,	claimed },
	{ KPROBE,	PRE_HANDLER,	kprobes_untraced },
	{ KPROBE,	PRE_HANDLER,	NULL },
#define NR_KPROBES	4
#ifdef CONFIG_KRETPROBES
	{ RETURN_PROBE,	ENTRY_HANDLER,	kprobes_traced },
#endif
#ifdef CONFIG_JPROBES
	{ JPROBE,	JPROBE_HANDLER,	kprobes_traced },
#endif
};

#define NR_ALL		ARRAY_SIZE(wanted)

struct all_kinds {
	union any_probe probes[NR_ALL];
};

static int plant(struct all_kinds *all, unsigned int first, unsigned int end)
{
	const struct kprobes_step *step = kprobes_find_step("plain instruction");
	unsigned int i;
	int err = 0;

	for (i = first; i < end && !err; i++) {
		any_reset(&all->probes[i], &count[wanted[i].kind], wanted[i].addr);
		if (wanted[i].addr == claimed)
			all->probes[i].kp.pre_handler = count_pre;
		if (!wanted[i].addr)
			all->probes[i].kp.addr = step ? step->addr : (void *)kprobes_untraced;
		err = any_register(wanted[i].type, &all->probes[i]);
	}
	return err;
}

static void drop_all(void *data)
{
	struct all_kinds *all = data;
	unsigned int i;

	for (i = 0; i < NR_ALL; i++)
		any_unregister(wanted[i].type, &all->probes[i]);
}

static struct all_kinds *new_kinds(struct kunit *test)
{
	struct all_kinds *all = test_alloc(test, sizeof(*all));

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_all, all));
	return all;
}

/* --- somebody who holds a lock, or a grace period up --- */

/* It must be long against what a slow machine needs. */
#define HOLD_SECONDS	20

static void hold_mutex(struct holder *holder)
{
	mutex_lock(holder->data);
	while (holder_goes_on(holder))
		usleep_range(100, 200);
	mutex_unlock(holder->data);
}

#ifdef CONFIG_DYNAMIC_FTRACE
/* Somebody else's mutex, which is held over grace periods, or was */
static const struct lock {
	const char *name;
	struct mutex *mutex;	/* the case has a thread hold it */
	unsigned int first;	/* of wanted[] that does without it */
} locks[] = {
	/* ftrace is only asked for what it calls for. */
	{ "ftrace_lock",	&ftrace_lock,	2 },
#ifdef CONFIG_MODULES
	{ "module_mutex",	&module_mutex,	0 },
#endif
};

KUNIT_ARRAY_PARAM_DESC(lock, locks, name);

static void locks_of_others_are_not_taken(struct kunit *test)
{
	const struct lock *lock = test->param_value;
	struct holder *holder = holder_new(test, hold_mutex, lock->mutex, HOLD_SECONDS);
	struct all_kinds *all = new_kinds(test);

	holder_start(holder);
	KUNIT_EXPECT_EQ(test, 0, plant(all, lock->first, NR_KPROBES));
	WRITE_ONCE(hits, 0);
	kprobes_untraced(1);
	KUNIT_EXPECT_LT(test, 0, READ_ONCE(hits));
	drop_all(all);
	KUNIT_EXPECT_FALSE(test, holder_stop(holder));
}

/* RCU-tasks waits until each task has slept. */
static void never_sleep(struct holder *holder)
{
	while (holder_goes_on(holder))
		cond_resched();
}

static void hold_rcu(struct holder *holder)
{
	guard(rcu)();
	while (holder_goes_on(holder))
		cpu_relax();
}

static notrace void do_nothing(unsigned long ip, unsigned long parent_ip,
			       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

KPROBES_TARGET(without_probes, 0)

/* The ops is in memory that can be freed. So it is waited for. */
static struct ftrace_ops *new_ops(struct kunit *test)
{
	const unsigned long location = ftrace_location((unsigned long)without_probes);
	struct ftrace_ops *ops = test_alloc(test, sizeof(*ops));

	KUNIT_ASSERT_EQ(test, 0, ftrace_set_filter_ip(ops, location, 0, 1));
	return ops;
}

static void *enter_ops(struct kunit *test)
{
	struct ftrace_ops *ops = new_ops(test);

	ops->func = do_nothing;
	KUNIT_ASSERT_EQ(test, 0, register_ftrace_function(ops));
	return ops;
}

static int leave_ops(void *ops)
{
	return unregister_ftrace_function(ops);
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
static void *enter_direct(struct kunit *test)
{
	struct ftrace_ops *ops = new_ops(test);

	KUNIT_ASSERT_EQ(test, 0, register_ftrace_direct(ops,
							(unsigned long)ftrace_stub_direct_tramp));
	return ops;
}

static int leave_direct(void *ops)
{
	return unregister_ftrace_direct(ops, (unsigned long)ftrace_stub_direct_tramp, false);
}
#endif

/* Opening it clears it. */
static struct file *open_pids(struct vfsmount *mnt)
{
	return file_open_root_mnt(mnt, "set_ftrace_pid", O_WRONLY | O_TRUNC, 0);
}

/* Has the first task traced only, as a shell does; the file reads user memory. */
static void *enter_pids(struct kunit *test)
{
	unsigned long buf = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					  MAP_ANONYMOUS | MAP_PRIVATE, 0);
	struct vfsmount *mnt = mount_fs(test, "tracefs");
	struct file *file = open_pids(mnt);
	loff_t pos = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_NE(test, 0, buf);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)buf, "1\n", 2));
	KUNIT_EXPECT_EQ(test, 2, vfs_write(file, (void __user *)buf, 2, &pos));
	fput(file);
	return mnt;
}

static int leave_pids(void *mnt)
{
	struct file *file = open_pids(mnt);

	if (!IS_ERR(file))
		fput(file);
	return PTR_ERR_OR_ZERO(file);
}

/* What is asked of ftrace, and is waited for when it leaves, for as long as somebody holds it up */
static const struct ftrace_user {
	const char *name;
	void *(*enter)(struct kunit *test);
	int (*leave)(void *entered);
	void (*hold)(struct holder *holder);
	bool hooks;	/* without_probes() */
} users[] = {
	{ "an ops",		enter_ops,	leave_ops,	never_sleep, true },
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	{ "a direct call",	enter_direct,	leave_direct,	never_sleep, true },
#endif
	{ "a list of PIDs",	enter_pids,	leave_pids,	hold_rcu, false },
};

KUNIT_ARRAY_PARAM_DESC(user, users, name);

static void *entered;
static int is_leaving, has_left, leave_err;

static int leave_ftrace(void *data)
{
	const struct ftrace_user *user = data;

	WRITE_ONCE(is_leaving, true);
	WRITE_ONCE(leave_err, user->leave(entered));
	WRITE_ONCE(has_left, true);
	return thread_idle();
}

/*
 * Probes of all kinds come and go while somebody else waits for as long as that takes; and his
 * function is free for others.
 */
static void nobody_waits_for_users_of_ftrace_that_leave(struct kunit *test)
{
	struct all_kinds *before = new_kinds(test), *after = new_kinds(test);
	const struct ftrace_user *user = test->param_value;
	struct task_struct *leaves;
	struct holder *holder;
	void *other = NULL;

	if (!preempt_model_preemptible())
		kunit_skip(test, "who never sleeps holds up nobody");
	if (user->hooks && !ftrace_location((unsigned long)kprobes_traced))
		kunit_skip(test, "ftrace does not call for that function");
	entered = user->enter(test);
	is_leaving = 0;
	has_left = 0;
	leaves = thread_new(test, leave_ftrace, (void *)user);
	/* It is stopped first, and lets the other one go. */
	holder = holder_new(test, user->hold, NULL, HOLD_SECONDS);
	KUNIT_ASSERT_EQ(test, 0, plant(before, 0, NR_ALL));
	holder_start(holder);
	thread_begin(test, leaves, &is_leaving, HOLD_SECONDS);
	/* It gets to its wait. */
	msleep(300);
	drop_all(before);
	if (user->hooks)
		other = user->enter(test);
	KUNIT_EXPECT_EQ(test, 0, plant(after, 0, NR_ALL));
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&after->probes[0].kp));
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&after->probes[0].kp));
	drop_all(after);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(has_left));
	KUNIT_EXPECT_FALSE(test, holder_stop(holder));
	kunit_release_action(test, thread_stop, leaves);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(leave_err));
	if (other)
		user->leave(other);
}
#endif

/* --- CPU hotplug --- */

static struct all_kinds *in_callback;
static int callbacks, callback_err, disable_err, missing;

static int change_probes(unsigned int cpu)
{
	unsigned int i;

	callbacks++;
	for (i = 0; i < NR_KPROBES; i++)
		disable_err = disable_err ?: disable_kprobe(&in_callback->probes[i].kp);
	WRITE_ONCE(hits, 0);
	drop_all(in_callback);
	callback_err = callback_err ?: plant(in_callback, 0, NR_ALL);
	claimed(1);
	kprobes_untraced(1);
	/* By both handlers of the one, and by the other */
	missing += READ_ONCE(hits) < 3;
	return 0;
}

KPROBES_TARGET(meanwhile, 0)

/* Another task registers and unregisters, and waits for CPU hotplug with its locks. */
static u32 register_meanwhile(u32 x)
{
	struct kprobe kp = { .addr = (void *)meanwhile, .pre_handler = count_pre };
	struct kretprobe rp = { .kp.addr = (void *)meanwhile };

	if (!register_kprobe(&kp))
		unregister_kprobe(&kp);
	if (IS_ENABLED(CONFIG_KRETPROBES) && !register_kretprobe(&rp))
		unregister_kretprobe(&rp);
	return x;
}

static const struct callback {
	const char *name;
	enum cpuhp_state state;
} callback_kinds[] = {
	{ "the task that changes the CPU", CPUHP_BP_PREPARE_DYN },
	{ "the CPU's own thread", CPUHP_AP_ONLINE_DYN },
};

KUNIT_ARRAY_PARAM_DESC(callback, callback_kinds, name);

KUNIT_DEFINE_ACTION_WRAPPER(remove_state, cpuhp_remove_state, long);

static void probes_come_and_go_in_callbacks_of_hotplug(struct kunit *test)
{
	const struct callback *callback = test->param_value;
	unsigned int cpu = hotplug_candidate();
	struct caller *other;
	int before, state;

	in_callback = new_kinds(test);
	callbacks = 0;
	callback_err = 0;
	disable_err = 0;
	missing = 0;
	KUNIT_ASSERT_EQ(test, 0, plant(in_callback, 0, NR_ALL));
	wait_for_kprobe_optimizer();
	other = caller_start(test, register_meanwhile);
	state = cpuhp_setup_state(callback->state, "kprobes/test:locks", change_probes,
				  change_probes);
	KUNIT_ASSERT_GE(test, state, 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, remove_state, (void *)(long)state));
	KUNIT_EXPECT_GT(test, callbacks, 0);
	if (cpu < nr_cpu_ids && !hotplug_try(remove_cpu, cpu)) {
		before = callbacks;
		KUNIT_EXPECT_EQ(test, 0, hotplug_try(add_cpu, cpu));
		KUNIT_EXPECT_GT(test, callbacks, before);
	}
	kunit_release_action(test, remove_state, (void *)(long)state);
	KUNIT_EXPECT_EQ(test, 0, callback_err);
	KUNIT_EXPECT_EQ(test, 0, disable_err);
	KUNIT_EXPECT_EQ(test, 0, missing);
	caller_wait(test, other);
}

/* --- where nobody can sleep --- */

/* The one who holds the mutex may need this CPU. So the probe stays, and is not hit any more. */
static void probe_is_silent_if_the_mutex_cannot_be_had(struct kunit *test)
{
	struct holder *holder = holder_new(test, hold_mutex, &kprobe_mutex, HOLD_SECONDS);
	struct probe *probe = probe_registered(test, kprobes_untraced);

	need_counted_preemption(test);
	holder_start(holder);
	expect_report_begin();
	scoped_guard(preempt)
		unregister_kprobe(&probe->kp);
	expect_report_end();
	KUNIT_EXPECT_FALSE(test, holder_stop(holder));
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 0);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&probe->kp));
}

static struct kunit_case lock_cases[] = {
#ifdef CONFIG_DYNAMIC_FTRACE
	KUNIT_CASE_PARAM(locks_of_others_are_not_taken, lock_gen_params),
	KUNIT_CASE_PARAM(nobody_waits_for_users_of_ftrace_that_leave, user_gen_params),
#endif
	KUNIT_CASE_PARAM(probes_come_and_go_in_callbacks_of_hotplug, callback_gen_params),
	KUNIT_CASE(probe_is_silent_if_the_mutex_cannot_be_had),
	{}
};

static struct kunit_suite lock_suite = {
	.name = "kprobes_locks",
	.test_cases = lock_cases,
};

kunit_test_suite(lock_suite);
