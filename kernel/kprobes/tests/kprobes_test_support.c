// SPDX-License-Identifier: GPL-2.0
/*
 * What the KUnit suites share: probes that take notes, probes of any kind, text that is
 * compared, and threads. See the headers of the same names in support/.
 */
#include <kunit/visibility.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "support/kinds.h"
#include "support/text.h"
#include "support/threads.h"

/* --- kinds.h --- */

void *test_alloc(struct kunit *test, size_t size)
{
	void *area = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, area);
	return area;
}
EXPORT_SYMBOL_IF_KUNIT(test_alloc);

/* How many handlers have run */
static unsigned int turns;

unsigned int probe_turn(void)
{
	return ++turns;
}
EXPORT_SYMBOL_IF_KUNIT(probe_turn);

int probe_pre_handler(struct kprobe *kp, struct pt_regs *regs)
{
	struct probe *probe = container_of(kp, struct probe, kp);

	probe->hits++;
	probe->turn = probe_turn();
	probe->ip = instruction_pointer(regs);
	probe->preemptible |= preemptible();
	return probe->on_hit ? probe->on_hit(probe, regs) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(probe_pre_handler);

void probe_post_handler(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct probe *probe = container_of(kp, struct probe, kp);

	probe->posts++;
	probe->post_turn = probe_turn();
	probe->post_ip = instruction_pointer(regs);
	probe->post_flags |= flags;
	probe->preemptible |= preemptible();
}
EXPORT_SYMBOL_IF_KUNIT(probe_post_handler);

void probe_reset(struct probe *probe, void *addr)
{
	memset(probe, 0, sizeof(*probe));
	INIT_LIST_HEAD(&probe->kp.list);
	probe->kp.addr = addr;
	probe->kp.pre_handler = probe_pre_handler;
}
EXPORT_SYMBOL_IF_KUNIT(probe_reset);

void probe_unregister(struct probe *probe)
{
	if (probe->live)
		unregister_kprobe(&probe->kp);
	probe->live = false;
}
EXPORT_SYMBOL_IF_KUNIT(probe_unregister);

KUNIT_DEFINE_ACTION_WRAPPER(probe_drop, probe_unregister, struct probe *);

struct probe *probe_new(struct kunit *test, void *addr)
{
	struct probe *probe = test_alloc(test, sizeof(*probe));

	probe_reset(probe, addr);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, probe_drop, probe));
	return probe;
}
EXPORT_SYMBOL_IF_KUNIT(probe_new);

int probe_register(struct probe *probe)
{
	int ret = register_kprobe(&probe->kp);

	probe->live = !ret;
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(probe_register);

int probe_register_again(struct probe *probe, void *addr)
{
	probe->kp.addr = addr;
	probe->kp.flags = 0;
	return probe_register(probe);
}
EXPORT_SYMBOL_IF_KUNIT(probe_register_again);

struct probe *probe_registered_like(struct kunit *test, void *addr, const struct probe *like)
{
	struct probe *probe = probe_new(test, NULL);

	*probe = *like;
	INIT_LIST_HEAD(&probe->kp.list);
	probe->kp.addr = addr;
	if (!probe->kp.pre_handler)
		probe->kp.pre_handler = probe_pre_handler;
	KUNIT_ASSERT_EQ_MSG(test, 0, probe_register(probe), "at %pS", addr);
	return probe;
}
EXPORT_SYMBOL_IF_KUNIT(probe_registered_like);

void probe_expect_at(unsigned int line, struct kunit *test, const struct probe *probe,
		     unsigned int hits, unsigned int posts, unsigned int missed)
{
	KUNIT_EXPECT_EQ_MSG(test, probe->hits, hits, "line %u, %pS", line, probe->kp.addr);
	KUNIT_EXPECT_EQ_MSG(test, probe->posts, posts, "line %u, %pS", line, probe->kp.addr);
	KUNIT_EXPECT_EQ_MSG(test, probe->kp.nmissed, missed, "line %u, %pS", line, probe->kp.addr);
}
EXPORT_SYMBOL_IF_KUNIT(probe_expect_at);

KUNIT_DEFINE_ACTION_WRAPPER(kprobes_vfree, vfree, const void *);

void *kprobes_vmalloc(struct kunit *test, size_t size)
{
	void *area = vmalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, kprobes_vfree, area));
	return area;
}
EXPORT_SYMBOL_IF_KUNIT(kprobes_vmalloc);

void *kprobes_unmapped(struct kunit *test)
{
	return kprobes_vmalloc(test, PAGE_SIZE) + PAGE_SIZE;
}
EXPORT_SYMBOL_IF_KUNIT(kprobes_unmapped);

unsigned int syncs;
EXPORT_SYMBOL_IF_KUNIT(syncs);

static struct task_struct *syncs_of;

static int note_sync(struct probe *probe, struct pt_regs *regs)
{
	if (current == syncs_of)
		syncs++;
	return 0;
}

void syncs_count(struct kunit *test, const char *symbol)
{
	if (!symbol)
		kunit_skip(test, "not known to patch many places at once");
	probe_with(test, NULL, .kp.symbol_name = symbol, .on_hit = note_sync);
	syncs_of = current;
	syncs = 0;
}
EXPORT_SYMBOL_IF_KUNIT(syncs_count);

void any_drop(void *data)
{
	struct any *any = data;

	any_unregister(any->type, &any->probe);
}
EXPORT_SYMBOL_IF_KUNIT(any_drop);

struct any *any_new(struct kunit *test, enum any_type type, const union any_probe *like,
		    void *addr)
{
	struct any *any = test_alloc(test, sizeof(*any));

	any->type = type;
	any_reset(&any->probe, like, addr);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, any_drop, any));
	return any;
}
EXPORT_SYMBOL_IF_KUNIT(any_new);

struct any *any_registered(struct kunit *test, enum any_type type, const union any_probe *like,
			   void *addr)
{
	struct any *any = any_new(test, type, like, addr);

	KUNIT_ASSERT_EQ_MSG(test, 0, any_register(type, &any->probe), "at %pS", addr);
	return any;
}
EXPORT_SYMBOL_IF_KUNIT(any_registered);

void any_expect_refused_by(struct kunit *test, struct any *any, int errno, int or_errno)
{
	union any_probe before;
	int err;

	memcpy(&before, &any->probe, sizeof(before));
	err = any_register(any->type, &any->probe);
	if (err != or_errno)
		KUNIT_EXPECT_EQ_MSG(test, err, errno, "type %d", any->type);
	if (err)
		KUNIT_EXPECT_MEMEQ_MSG(test, &any->probe, &before, sizeof(before),
				       "it was changed");
	any_drop(any);
}
EXPORT_SYMBOL_IF_KUNIT(any_expect_refused_by);

static struct return_probe *return_probe_of(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct return_probe, rp);
}

int return_probe_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct return_probe *probe = return_probe_of(ri);

	atomic_inc(&probe->entries);
	return probe->on_entry ? probe->on_entry(probe, ri, regs) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(return_probe_entry);

int return_probe_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct return_probe *probe = return_probe_of(ri);

	atomic_inc(&probe->returns);
	if (probe->on_return)
		probe->on_return(probe, ri, regs);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(return_probe_return);

void return_probe_init(struct kunit *test, struct return_probe *probe, void *addr)
{
	INIT_LIST_HEAD(&probe->rp.kp.list);
	probe->any.type = RETURN_PROBE;
	probe->rp.kp.addr = addr;
	if (probe->on_entry)
		probe->rp.entry_handler = return_probe_entry;
	if (!probe->rp.handler)
		probe->rp.handler = return_probe_return;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, any_drop, probe));
}
EXPORT_SYMBOL_IF_KUNIT(return_probe_init);

struct return_probe *return_probe_registered_like(struct kunit *test, void *addr,
						  const struct return_probe *like)
{
	struct return_probe *probe = test_alloc(test, sizeof(*probe));

	*probe = *like;
	return_probe_init(test, probe, addr);
	KUNIT_ASSERT_EQ_MSG(test, 0, register_kretprobe(&probe->rp), "at %pS", addr);
	return probe;
}
EXPORT_SYMBOL_IF_KUNIT(return_probe_registered_like);

/* --- text.h --- */

void kprobes_text_compare(void *data)
{
	struct kprobes_text *text = data;

	KUNIT_EXPECT_MEMEQ_MSG(text->test, text->start, text->copy, text->size,
			       "the text of %pS was left changed", text->start);
}
EXPORT_SYMBOL_IF_KUNIT(kprobes_text_compare);

struct kprobes_text *kprobes_text_watch(struct kunit *test, void *addr)
{
	struct kprobes_text *text;
	unsigned long size;
	void *start = kprobes_function(addr, &size);

	KUNIT_ASSERT_NOT_NULL(test, start);
	text = test_alloc(test, struct_size(text, copy, size));
	text->test = test;
	text->start = start;
	text->size = size;
	memcpy(text->copy, start, size);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, kprobes_text_compare, text));
	return text;
}
EXPORT_SYMBOL_IF_KUNIT(kprobes_text_watch);

/* --- threads.h --- */

void thread_stop(void *task)
{
	kthread_stop(task);
}
EXPORT_SYMBOL_IF_KUNIT(thread_stop);

struct task_struct *thread_new(struct kunit *test, int (*run)(void *data), void *data)
{
	struct task_struct *task = kthread_create(run, data, "kprobes_test");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, thread_stop, task));
	return task;
}
EXPORT_SYMBOL_IF_KUNIT(thread_new);

void thread_begin(struct kunit *test, struct task_struct *task, int *flag, unsigned int seconds)
{
	unsigned long end = jiffies + seconds * HZ;

	wake_up_process(task);
	while (!READ_ONCE(*flag) && time_before(jiffies, end))
		usleep_range(100, 200);
	KUNIT_ASSERT_TRUE(test, READ_ONCE(*flag));
}
EXPORT_SYMBOL_IF_KUNIT(thread_begin);

int thread_idle(void)
{
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(thread_idle);

static int holder_run(void *data)
{
	struct holder *holder = data;

	holder->end = jiffies + holder->seconds * HZ;
	holder->hold(holder);
	return thread_idle();
}

struct holder *holder_new(struct kunit *test, void (*hold)(struct holder *holder), void *data,
			  unsigned int seconds)
{
	struct holder *holder = test_alloc(test, sizeof(*holder));

	holder->test = test;
	holder->hold = hold;
	holder->data = data;
	holder->seconds = seconds;
	holder->task = thread_new(test, holder_run, holder);
	return holder;
}
EXPORT_SYMBOL_IF_KUNIT(holder_new);

void holder_start(struct holder *holder)
{
	thread_begin(holder->test, holder->task, &holder->holds, holder->seconds);
}
EXPORT_SYMBOL_IF_KUNIT(holder_start);

bool holder_goes_on(struct holder *holder)
{
	WRITE_ONCE(holder->holds, true);
	if (kthread_should_stop())
		return false;
	if (time_before(jiffies, holder->end))
		return true;
	WRITE_ONCE(holder->gave_up, true);
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(holder_goes_on);

bool holder_stop(struct holder *holder)
{
	bool gave_up = READ_ONCE(holder->gave_up);

	kunit_release_action(holder->test, thread_stop, holder->task);
	return gave_up;
}
EXPORT_SYMBOL_IF_KUNIT(holder_stop);

static int caller_run(void *data)
{
	struct caller *caller = data;

	while (!kthread_should_stop()) {
		caller->call(1);
		WRITE_ONCE(caller->calls, caller->calls + 1);
		/* There may be one processor only, which the test needs, too. */
		cond_resched();
	}
	return 0;
}

struct caller *caller_start(struct kunit *test, u32 (*call)(u32 x))
{
	struct caller *caller = test_alloc(test, sizeof(*caller));

	caller->test = test;
	caller->call = call;
	caller->task = thread_new(test, caller_run, caller);
	wake_up_process(caller->task);
	return caller;
}
EXPORT_SYMBOL_IF_KUNIT(caller_start);

void caller_stop(struct caller *caller)
{
	kunit_release_action(caller->test, thread_stop, caller->task);
}
EXPORT_SYMBOL_IF_KUNIT(caller_stop);

void caller_wait(struct kunit *test, struct caller *caller)
{
	unsigned int seen = READ_ONCE(caller->calls);
	unsigned long end = jiffies + 10 * HZ;

	while (READ_ONCE(caller->calls) == seen && time_before(jiffies, end))
		cond_resched();
	KUNIT_ASSERT_NE(test, READ_ONCE(caller->calls), seen);
}
EXPORT_SYMBOL_IF_KUNIT(caller_wait);

MODULE_DESCRIPTION("What the KUnit tests of kprobes share");
MODULE_LICENSE("GPL");
