// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the KUnit suites that are built in share: the switch, what earlier probes have left,
 * a reader of RCU, the kernel's log, and an ftrace that fails. See the headers in support/.
 */
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/error-injection.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uio.h>
#include <trace/events/printk.h>

#include "../internal.h"
#include "support/core.h"
#include "support/sites.h"
#include "support/switch.h"

/* --- switch.h --- */

struct vfsmount *switch_mount;
static bool switch_was_on;

static int switch_access(bool write, char *value)
{
	struct file *file = file_open_root_mnt(switch_mount, "sys/debug/kprobes-optimization",
					       write ? O_WRONLY : O_RDONLY, 0);
	loff_t pos = 0;
	ssize_t done;

	if (IS_ERR(file))
		return PTR_ERR(file);
	done = write ? kernel_write(file, value, 1, &pos) : kernel_read(file, value, 1, &pos);
	filp_close(file, NULL);
	return done == 1 ? 0 : -EIO;
}

int switch_set(bool on)
{
	char value = on ? '1' : '0';

	return switch_access(true, &value);
}

void switch_need(struct kunit *test)
{
	if (!switch_mount)
		kunit_skip(test, "this kernel has no sysctl, or no jumps");
}

int switch_suite_init(struct kunit_suite *suite)
{
	struct file_system_type *type = get_fs_type("proc");

	if (!type || !IS_ENABLED(CONFIG_PROC_SYSCTL) || !IS_ENABLED(CONFIG_OPTPROBES))
		return 0;
	switch_mount = kern_mount(type);
	put_filesystem(type);
	if (IS_ERR(switch_mount))
		switch_mount = NULL;
	return 0;
}

void switch_suite_exit(struct kunit_suite *suite)
{
	if (switch_mount)
		kern_unmount(switch_mount);
	switch_mount = NULL;
}

int switch_init(struct kunit *test)
{
	char value = '0';
	int err;

	if (!switch_mount)
		return 0;
	err = switch_access(false, &value);
	switch_was_on = value == '1';
	return err ?: switch_set(true);
}

void switch_exit(struct kunit *test)
{
	if (switch_mount)
		switch_set(switch_was_on);
}

/* --- sites.h --- */

static unsigned long lost_text;

static bool is_lost(unsigned long addr, const struct module *unused)
{
	return addr == lost_text;
}

void lose_text(struct kprobe_site *site)
{
	lost_text = (unsigned long)site->kp.addr;
	kprobe_kill_sites(is_lost, NULL);
}

struct kprobe_site *site_at(void *addr)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_find_site((unsigned long)addr);
}

/* Does the site's slot wait for tasks to leave it? */
static bool is_dying(struct kprobe_site *site)
{
	return site->state == SITE_DYING ||
	       (site->state == SITE_GONE && kprobe_site_settling(site));
}

unsigned int count_dying_sites(void)
{
	return count_sites(is_dying(site));
}

void wait_for_dying_sites(struct kunit *test)
{
	unsigned int tries = 0, dying;

	while ((dying = count_dying_sites()) && ++tries < DYING_SITES_TRIES)
		msleep(50);
	KUNIT_EXPECT_EQ(test, dying, 0);
}

bool trampoline_is_probed(void)
{
	return count_sites(is_kretprobe_trampoline((unsigned long)site->kp.addr));
}

KUNIT_DEFINE_ACTION_WRAPPER(drop_mount, kern_unmount, struct vfsmount *);

struct vfsmount *mount_fs(struct kunit *test, const char *name)
{
	struct file_system_type *type = get_fs_type(name);
	struct vfsmount *mnt;

	if (!type)
		kunit_skip(test, "there is no %s", name);
	mnt = kern_mount(type);
	put_filesystem(type);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mnt));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_mount, mnt));
	return mnt;
}

#ifdef CONFIG_DEBUG_FS
struct file *open_list(struct kunit *test, struct vfsmount *mnt)
{
	struct file *list = file_open_root_mnt(mnt, "kprobes/list", O_RDONLY, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR(list));
	return list;
}

ssize_t read_piece(struct file *file, char *text, size_t size, loff_t *pos)
{
	struct kvec vec = { .iov_base = text, .iov_len = size };
	struct iov_iter iter;
	struct kiocb kiocb;
	ssize_t done;

	init_sync_kiocb(&kiocb, file);
	kiocb.ki_pos = *pos;
	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, size);
	done = seq_read_iter(&kiocb, &iter);
	*pos = kiocb.ki_pos;
	return done;
}
#endif

/* --- core.h --- */

bool reader_ended;
static bool reader_began;
static unsigned long reader_stays_until;

static int reader_run(void *calls)
{
	rcu_read_lock();
	WRITE_ONCE(reader_began, true);
	while (time_before(jiffies, READ_ONCE(reader_stays_until)))
		cpu_relax();
	WRITE_ONCE(reader_ended, true);
	if (calls)
		atomic_dec((atomic_t *)calls);
	rcu_read_unlock();
	return 0;
}

void reader_start(struct kunit *test, atomic_t *calls)
{
	if (calls)
		atomic_inc(calls);
	WRITE_ONCE(reader_began, false);
	WRITE_ONCE(reader_ended, false);
	WRITE_ONCE(reader_stays_until, jiffies + 10 * HZ);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(reader_run, calls, "kprobes_reader")));
	while (!READ_ONCE(reader_began))
		cond_resched();
}

void reader_ends_soon(void)
{
	WRITE_ONCE(reader_stays_until, jiffies + HZ / 2);
}

static struct {
	const char	*words;
	unsigned int	times;
} log_watched;

static void log_read(void *unused, const char *text, size_t length)
{
	if (strnstr(text, log_watched.words, length))
		WRITE_ONCE(log_watched.times, log_watched.times + 1);
}

static void log_leave(void *unused)
{
	unregister_trace_console(log_read, NULL);
	tracepoint_synchronize_unregister();
}

void log_watch(struct kunit *test, const char *words)
{
	log_watched.words = words;
	WRITE_ONCE(log_watched.times, 0);
	KUNIT_ASSERT_EQ(test, 0, register_trace_console(log_read, NULL));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, log_leave, NULL));
}

unsigned int log_times(void)
{
	return READ_ONCE(log_watched.times);
}

#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_FUNCTION_ERROR_INJECTION)
unsigned int ftrace_failures, ftrace_removals_fail;

/* For whom: others may use ftrace meanwhile. */
static struct task_struct *ftrace_fails_for;

static int fail_to_hook(struct kprobe *p, struct pt_regs *regs)
{
	bool remove = regs_get_kernel_argument(regs, 3);
	unsigned int *failures = remove ? &ftrace_removals_fail : &ftrace_failures;

	if (current != ftrace_fails_for || !*failures)
		return 0;
	--*failures;
	regs_set_return_value(regs, -ENOMEM);
	override_function_with_return(regs);
	return 1;
}

/* Keeps a jump away on architectures where that cannot go to where the pre handler wants. */
static void after_hooking(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe ftrace_failer;

static void mend_ftrace(void *unused)
{
	ftrace_failures = 0;
	ftrace_removals_fail = 0;
	unregister_kprobe(&ftrace_failer);
}

void have_ftrace_fail(struct kunit *test)
{
	ftrace_fails_for = current;
	ftrace_failer = (struct kprobe) {
		.symbol_name = "ftrace_set_filter_ips",
		.pre_handler = fail_to_hook,
		.post_handler = after_hooking,
	};
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&ftrace_failer));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mend_ftrace, NULL));
}
#endif
