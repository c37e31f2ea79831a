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
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "../../trace/ftrace_internal.h"
#include "../internal.h"
#include "support/core.h"
#include "support/probe.h"
#include "support/report.h"
#include "support/threads.h"

#ifdef CONFIG_MODULES
#include "../../module/internal.h"
#endif

/* --- a probe of every kind --- */

static int hits;

KIND_HANDLERS(count, hits++);

static noinline __noclone u32 claimed(u32 x)
{
	kprobes_begin(&x);
	return kprobes_expected(x);
}

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

static int plant(struct all_kinds *all, unsigned int i)
{
	const struct kprobes_step *step = kprobes_find_step("plain instruction");
	union any_probe *probe = &all->probes[i];

	any_reset(probe, &count[wanted[i].kind], wanted[i].addr);
	if (wanted[i].addr == claimed)
		probe->kp.pre_handler = count_pre;
	if (!wanted[i].addr)
		probe->kp.addr = step ? step->addr : (void *)kprobes_untraced;
	return any_register(wanted[i].type, probe);
}

static int plant_some(struct all_kinds *all, unsigned int first, unsigned int end)
{
	unsigned int i;
	int err = 0;

	for (i = first; i < end && !err; i++)
		err = plant(all, i);
	return err;
}

static void drop_all(void *data)
{
	struct all_kinds *all = data;
	unsigned int i;

	for (i = 0; i < NR_ALL; i++) {
		if (all->probes[i].kp.addr)
			any_unregister(wanted[i].type, &all->probes[i]);
		all->probes[i].kp.addr = NULL;
	}
}

static struct all_kinds *new_kinds(struct kunit *test)
{
	struct all_kinds *all = test_alloc(test, sizeof(*all));

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_all, all));
	return all;
}

/* --- somebody who holds a lock, or a grace period up --- */

/* Then who waits fails. It must be long against what a slow machine needs. */
#define HOLD_SECONDS	20

static int holds, gave_up;

static bool go_on(unsigned long end)
{
	if (kthread_should_stop())
		return false;
	if (time_before(jiffies, end))
		return true;
	WRITE_ONCE(gave_up, true);
	return false;
}

static void start(struct kunit *test, struct task_struct *task)
{
	holds = false;
	gave_up = false;
	thread_begin(test, task, &holds, HOLD_SECONDS);
}

static int hold_mutex(void *data)
{
	unsigned long end = jiffies + HOLD_SECONDS * HZ;

	mutex_lock(data);
	WRITE_ONCE(holds, true);
	while (go_on(end))
		usleep_range(100, 200);
	mutex_unlock(data);
	return thread_idle();
}

#ifdef CONFIG_DYNAMIC_FTRACE
/*
 * struct lock - somebody else's mutex, which is held over grace periods, or was
 * @name: its name
 * @mutex: the mutex
 * @first: the first of wanted[] that does without it
 */
static const struct lock {
	const char *name;
	struct mutex *mutex;	/* the case has a thread hold it */
	unsigned int first;
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
	struct task_struct *task = thread_new(test, hold_mutex, lock->mutex);
	struct all_kinds *all = new_kinds(test);

	start(test, task);
	KUNIT_EXPECT_EQ(test, 0, plant_some(all, lock->first, NR_KPROBES));
	WRITE_ONCE(hits, 0);
	kprobes_untraced(1);
	KUNIT_EXPECT_LT(test, 0, READ_ONCE(hits));
	drop_all(all);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(gave_up));
}

/* RCU-tasks waits until each task has slept. */
static int never_sleep(void *data)
{
	unsigned long end = jiffies + HOLD_SECONDS * HZ;

	WRITE_ONCE(holds, true);
	while (go_on(end))
		cond_resched();
	return thread_idle();
}

static notrace void do_nothing(unsigned long ip, unsigned long parent_ip,
			       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

static noinline __noclone u32 without_probes(u32 x)
{
	kprobes_begin(&x);
	return kprobes_expected(x);
}

static int enter_ops(struct ftrace_ops *ops)
{
	ops->func = do_nothing;
	return register_ftrace_function(ops);
}

static void leave_ops(struct ftrace_ops *ops)
{
	unregister_ftrace_function(ops);
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
static int enter_direct(struct ftrace_ops *ops)
{
	return register_ftrace_direct(ops, (unsigned long)ftrace_stub_direct_tramp);
}

static void leave_direct(struct ftrace_ops *ops)
{
	unregister_ftrace_direct(ops, (unsigned long)ftrace_stub_direct_tramp, false);
}
#endif

/* What asks ftrace for a call, and is waited for when it leaves */
static const struct ftrace_user {
	const char *name;
	int (*enter)(struct ftrace_ops *ops);
	void (*leave)(struct ftrace_ops *ops);
} users[] = {
	{ "an ops",		enter_ops,	leave_ops },
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	{ "a direct call",	enter_direct,	leave_direct },
#endif
};

KUNIT_ARRAY_PARAM_DESC(user, users, name);

static struct ftrace_ops *leaving_ops;
static int is_leaving, has_left;

/* The ops is in memory that can be freed. So it is waited for. */
static int leave_ftrace(void *data)
{
	const struct ftrace_user *user = data;

	WRITE_ONCE(is_leaving, true);
	user->leave(leaving_ops);
	WRITE_ONCE(has_left, true);
	return thread_idle();
}

/* @leaves runs up to its wait, which @busy makes a long one. */
static void start_leaving(struct kunit *test, struct task_struct *busy, struct task_struct *leaves)
{
	is_leaving = 0;
	has_left = 0;
	start(test, busy);
	thread_begin(test, leaves, &is_leaving, HOLD_SECONDS);
	msleep(300);
}

static void expect_still_leaving(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, READ_ONCE(has_left));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(gave_up));
}

static struct ftrace_ops *enter_ftrace(struct kunit *test, const struct ftrace_user *user)
{
	const unsigned long location = ftrace_location((unsigned long)without_probes);
	struct ftrace_ops *ops = test_alloc(test, sizeof(*ops));

	KUNIT_ASSERT_EQ(test, 0, ftrace_set_filter_ip(ops, location, 0, 1));
	KUNIT_ASSERT_EQ(test, 0, user->enter(ops));
	return ops;
}

/*
 * Probes of all kinds come and go while somebody else waits for as long as that takes; and his
 * function is free for others.
 */
static void nobody_waits_for_users_of_ftrace_that_leave(struct kunit *test)
{
	struct all_kinds *before = new_kinds(test), *after = new_kinds(test);
	const struct ftrace_user *user = test->param_value;
	struct task_struct *busy, *leaves;
	struct ftrace_ops *other;

	if (!preempt_model_preemptible())
		kunit_skip(test, "who never sleeps holds up nobody");
	if (!ftrace_location((unsigned long)kprobes_traced))
		kunit_skip(test, "ftrace does not call for that function");
	leaving_ops = enter_ftrace(test, user);
	leaves = thread_new(test, leave_ftrace, (void *)user);
	/* It is stopped first, and lets the other one go. */
	busy = thread_new(test, never_sleep, NULL);
	KUNIT_ASSERT_EQ(test, 0, plant_some(before, 0, NR_KPROBES));
	start_leaving(test, busy, leaves);
	drop_all(before);
	other = enter_ftrace(test, user);
	KUNIT_EXPECT_EQ(test, 0, plant_some(after, 0, NR_ALL));
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&after->probes[0].kp));
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&after->probes[0].kp));
	drop_all(after);
	expect_still_leaving(test);
	kunit_release_action(test, thread_stop, busy);
	user->leave(other);
}

static void drop_mount(void *mnt)
{
	kern_unmount(mnt);
}

static struct vfsmount *mount_tracefs(struct kunit *test)
{
	struct file_system_type *type = get_fs_type("tracefs");
	struct vfsmount *mnt;

	if (!type)
		kunit_skip(test, "there is no tracefs");
	mnt = kern_mount(type);
	put_filesystem(type);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mnt));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_mount, mnt));
	return mnt;
}

/* Opening it clears it. */
static struct file *open_pids(struct vfsmount *mnt)
{
	return file_open_root_mnt(mnt, "set_ftrace_pid", O_WRONLY | O_TRUNC, 0);
}

/* As a shell does; the file reads user memory. */
static void trace_first_task_only(struct kunit *test, struct vfsmount *mnt)
{
	unsigned long buf = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					  MAP_ANONYMOUS | MAP_PRIVATE, 0);
	struct file *file = open_pids(mnt);
	loff_t pos = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_NE(test, 0, buf);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)buf, "1\n", 2));
	KUNIT_EXPECT_EQ(test, 2, vfs_write(file, (void __user *)buf, 2, &pos));
	fput(file);
}

static int clear_err;

static int clear_pids(void *mnt)
{
	struct file *file;

	WRITE_ONCE(is_leaving, true);
	file = open_pids(mnt);
	WRITE_ONCE(clear_err, PTR_ERR_OR_ZERO(file));
	if (!IS_ERR(file))
		fput(file);
	WRITE_ONCE(has_left, true);
	return thread_idle();
}

static int hold_rcu(void *data)
{
	unsigned long end = jiffies + HOLD_SECONDS * HZ;

	scoped_guard(rcu) {
		WRITE_ONCE(holds, true);
		while (go_on(end))
			cpu_relax();
	}
	return thread_idle();
}

/* Whoever clears the list of the tasks that are traced waits for its readers. */
static void nobody_waits_for_lists_of_pids_that_leave(struct kunit *test)
{
	struct all_kinds *before = new_kinds(test), *after = new_kinds(test);
	struct vfsmount *mnt = mount_tracefs(test);
	struct task_struct *busy, *clears;

	if (!preempt_model_preemptible())
		kunit_skip(test, "who never sleeps holds up nobody");
	trace_first_task_only(test, mnt);
	clears = thread_new(test, clear_pids, mnt);
	/* It is stopped first, and lets the other one go. */
	busy = thread_new(test, hold_rcu, NULL);
	KUNIT_ASSERT_EQ(test, 0, plant_some(before, 0, NR_ALL));
	start_leaving(test, busy, clears);
	drop_all(before);
	KUNIT_EXPECT_EQ(test, 0, plant_some(after, 0, NR_ALL));
	drop_all(after);
	expect_still_leaving(test);
	kunit_release_action(test, thread_stop, busy);
	kunit_release_action(test, thread_stop, clears);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(clear_err));
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
	callback_err = callback_err ?: plant_some(in_callback, 0, NR_ALL);
	claimed(1);
	kprobes_untraced(1);
	/* By both handlers of the one, and by the other */
	missing += READ_ONCE(hits) < 3;
	return 0;
}

static noinline __noclone u32 meanwhile(u32 x)
{
	kprobes_begin(&x);
	return kprobes_expected(x);
}

static int registrations;

/* Another task registers and unregisters, and waits for CPU hotplug with its locks. */
static int register_meanwhile(void *unused)
{
	while (!kthread_should_stop()) {
		struct kprobe kp = { .addr = (void *)meanwhile, .pre_handler = count_pre };
		struct kretprobe rp = { .kp.addr = (void *)meanwhile };

		if (!register_kprobe(&kp))
			unregister_kprobe(&kp);
		if (IS_ENABLED(CONFIG_KRETPROBES) && !register_kretprobe(&rp))
			unregister_kretprobe(&rp);
		WRITE_ONCE(registrations, registrations + 1);
		cond_resched();
	}
	return 0;
}

static const struct callback {
	const char *name;
	enum cpuhp_state state;
} callback_kinds[] = {
	{ "the task that changes the CPU", CPUHP_BP_PREPARE_DYN },
	{ "the CPU's own thread", CPUHP_AP_ONLINE_DYN },
};

KUNIT_ARRAY_PARAM_DESC(callback, callback_kinds, name);

static void remove_state(void *state)
{
	cpuhp_remove_state((long)state);
}

static void probes_come_and_go_in_callbacks_of_hotplug(struct kunit *test)
{
	const struct callback *callback = test->param_value;
	unsigned int cpu = hotplug_candidate();
	struct task_struct *other = thread_new(test, register_meanwhile, NULL);
	int before, state;

	in_callback = new_kinds(test);
	callbacks = 0;
	callback_err = 0;
	disable_err = 0;
	missing = 0;
	registrations = 0;
	KUNIT_ASSERT_EQ(test, 0, plant_some(in_callback, 0, NR_ALL));
	wait_for_kprobe_optimizer();
	wake_up_process(other);
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
	before = READ_ONCE(registrations);
	while (READ_ONCE(registrations) == before)
		usleep_range(100, 200);
}

/* --- where nobody can sleep --- */

/* The one who holds the mutex may need this CPU. So the probe stays, and is not hit any more. */
static void probe_is_silent_if_the_mutex_cannot_be_had(struct kunit *test)
{
	struct task_struct *task = thread_new(test, hold_mutex, &kprobe_mutex);
	struct probe *probe = probe_registered(test, kprobes_untraced);

	need_warnings(test);
	if (!ARCH_KPROBE_STATELESS || !IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "nobody knows that preemption is off");
	start(test, task);
	expect_report_begin();
	scoped_guard(preempt)
		unregister_kprobe(&probe->kp);
	expect_report_end();
	KUNIT_EXPECT_FALSE(test, READ_ONCE(gave_up));
	kunit_release_action(test, thread_stop, task);
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 0);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&probe->kp));
}

static struct kunit_case lock_cases[] = {
#ifdef CONFIG_DYNAMIC_FTRACE
	KUNIT_CASE_PARAM(locks_of_others_are_not_taken, lock_gen_params),
	KUNIT_CASE_PARAM(nobody_waits_for_users_of_ftrace_that_leave, user_gen_params),
	KUNIT_CASE(nobody_waits_for_lists_of_pids_that_leave),
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

MODULE_DESCRIPTION("KUnit tests of what registering does not wait for");
MODULE_LICENSE("GPL");
