// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests that unregistering waits for handlers that are running, of all kinds
 * and in all contexts, and for nothing else.
 */
#include <kunit/static_stub.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../internal.h"
#include "support/levels.h"
#include "support/probe.h"
#include "support/slow.h"
#include "support/threads.h"

/* --- a handler that takes its time --- */

KIND_HANDLERS(slow, take_time());

KUNIT_ARRAY_PARAM_DESC(kind, probe_kinds, name);

/* The end of the case takes it out if nobody has before. */
static struct any *plant(struct kunit *test, const struct probe_kind *kind, void *addr)
{
	struct any *planted = any_registered(test, kind->type, &slow[kind->id], addr);

	wait_for_kprobe_optimizer();
	return planted;
}

/* --- another CPU that hits it --- */

static u32 (*called)(u32 x);
static int was_called, cannot_call;

static void call(void)
{
	called(1);
	WRITE_ONCE(was_called, true);
}

static int call_in(void *data)
{
	enum level level = (unsigned long)data;

	visit_expect(level, call);
	if (!visit_raise(level))
		WRITE_ONCE(cannot_call, true);
	thread_idle();
	/* If it comes too late, it finds no work. */
	WRITE_ONCE(visits[level].work, NULL);
	return 0;
}

/* Threads are made before the probe: there is an end to the test if one cannot be had. */
static void start_call(struct task_struct *task)
{
	WRITE_ONCE(was_called, false);
	WRITE_ONCE(cannot_call, false);
	let_it_take_time();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
	wake_up_process(task);
}

/* Then the case fails. KUnit gives it 300 seconds for several waits. */
#define CALL_SECONDS	60

/* Waits for a handler to begin, or for the call to end. A case that waits in vain is over. */
static void wait_for(struct kunit *test, int *flag)
{
	unsigned long end = jiffies + CALL_SECONDS * HZ;

	while (!READ_ONCE(*flag) && !READ_ONCE(was_called) && !READ_ONCE(cannot_call) &&
	       time_before(jiffies, end))
		cond_resched();
	KUNIT_ASSERT_TRUE(test, READ_ONCE(*flag));
}

/* The probe is overwritten as soon as it is unregistered. */
static void expect_wait(struct kunit *test, const struct probe_kind *kind, void *addr,
			enum level level)
{
	struct task_struct *task = thread_new(test, call_in, (void *)(unsigned long)level);
	struct any *planted = plant(test, kind, addr);

	start_call(task);
	wait_for(test, &began);
	kunit_release_action(test, any_drop, planted);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(ended), "%s at %pS in %s context",
			      kind->name, addr, level_names[level]);
	memset(planted, 0x6b, sizeof(*planted));
	wait_for(test, &was_called);
	kunit_release_action(test, thread_stop, task);
}

static void expect_waits(struct kunit *test, u32 (*function)(u32 x), void *addr)
{
	enum level level;

	called = function;
	for (level = TASK; level <= HARDIRQ; level++)
		expect_wait(test, test->param_value, addr, level);
}

/* The test and the thread whose handler runs need a CPU each. */
static void need_two_cpus(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU cannot run a handler while it unregisters");
}

static void unregistering_waits_at_an_ftrace_entry(struct kunit *test)
{
	need_two_cpus(test);
	expect_waits(test, kprobes_traced, kprobes_traced);
}

static void unregistering_waits_at_an_entry(struct kunit *test)
{
	need_two_cpus(test);
	expect_waits(test, kprobes_untraced, kprobes_untraced);
}

static void unregistering_waits_in_the_middle(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;
	const struct kprobes_step *step = kprobes_need_step(test, "plain instruction");

	need_two_cpus(test);
	if (kind->type != KPROBE)
		kunit_skip(test, "for entries only");
	expect_waits(test, step->call, step->addr);
}

/* --- many at a time --- */

static void drop_both(void *data)
{
	struct kprobe *kps = data, *both[] = { &kps[0], &kps[1] };

	unregister_kprobes(both, 2);
}

static void one_wait_serves_a_batch(struct kunit *test)
{
	struct kprobe *kps = kunit_kcalloc(test, 2, sizeof(*kps), GFP_KERNEL);
	struct kprobe *both[] = { &kps[0], &kps[1] };
	struct task_struct *task;

	need_two_cpus(test);
	KUNIT_ASSERT_NOT_NULL(test, kps);
	task = thread_new(test, call_in, (void *)TASK);
	kps[0].addr = (void *)kprobes_untraced;
	kps[1].addr = (void *)kprobes_traced;
	kps[1].pre_handler = slow_pre;
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(both, 2));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_both, kps));
	called = kprobes_traced;
	start_call(task);
	wait_for(test, &began);
	kunit_release_action(test, drop_both, kps);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(ended));
	memset(kps, 0x6b, 2 * sizeof(*kps));
	wait_for(test, &was_called);
	kunit_release_action(test, thread_stop, task);
}

static int fast_pre(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

#define ROUNDS	50

/*
 * If they did, this case would never end. A past bug: one task that never slept stopped all
 * registrations.
 */
static void hits_that_go_on_do_not_hold_it_up(struct kunit *test)
{
	struct probe *resident = probe_registered(test, kprobes_traced);
	struct probe *other = probe_new(test, kprobes_untraced);
	struct caller *caller = caller_start(test, kprobes_traced);
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		caller_wait(test, caller);
		KUNIT_EXPECT_EQ(test, 0, probe_register_again(other, kprobes_untraced));
		probe_unregister(other);
	}
	caller_stop(caller);
	KUNIT_EXPECT_EQ(test, resident->hits, caller->calls);
}

static atomic_t nr_barriers;

static int count_barrier(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&nr_barriers);
	return 0;
}

/*
 * A hit has no barrier between the store to its mark and its load of the probe. Who removes a
 * probe has each processor execute one.
 */
static void every_processor_has_a_barrier(struct kunit *test)
{
	struct kprobe barrier = {
		.symbol_name = "barrier_for_hits",
		.pre_handler = count_barrier,
	};
	struct probe *probe = probe_registered(test, kprobes_untraced);
	int err;

	/* A hit at a branch stays the current one there, and spoils the next hit of the CPU. */
	if (IS_ENABLED(CONFIG_MIPS))
		kunit_skip(test, "it begins with a branch there");
	err = register_kprobe(&barrier);
	if (err == -EINVAL && !ARCH_KPROBE_STATELESS)
		kunit_skip(test, "it begins with what cannot be probed here");
	KUNIT_ASSERT_EQ(test, 0, err);
	atomic_set(&nr_barriers, 0);
	probe_unregister(probe);
	KUNIT_EXPECT_GE(test, atomic_read(&nr_barriers) + barrier.nmissed, num_online_cpus());
	unregister_kprobe(&barrier);
}

/* --- readers of RCU --- */

/* A reader gives up before RCU complains: a test that waits for it must fail, and not hang. */
#define READER_SECONDS	10

static int reads, gave_up;

static int read_on(void *unused)
{
	unsigned long end = jiffies + READER_SECONDS * HZ;

	rcu_read_lock();
	called(1);
	WRITE_ONCE(reads, true);
	while (!kthread_should_stop() && time_before(jiffies, end))
		cpu_relax();
	WRITE_ONCE(gave_up, !kthread_should_stop());
	rcu_read_unlock();
	return thread_idle();
}

static void expect_no_wait(struct kunit *test, const struct probe_kind *kind, void *addr)
{
	struct task_struct *task = thread_new(test, read_on, NULL);
	struct any *planted = plant(test, kind, addr);
	bool waited;

	reads = false;
	gave_up = false;
	thread_begin(test, task, &reads, CALL_SECONDS);
	kunit_release_action(test, any_drop, planted);
	waited = READ_ONCE(gave_up);
	kunit_release_action(test, thread_stop, task);
	KUNIT_ASSERT_FALSE_MSG(test, waited, "%s at %pS", kind->name, addr);
}

/* Neither for a reader that has hit the probe, nor for one that has not. */
static void unregistering_does_not_wait_for_readers(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_find_step("plain instruction");
	const struct probe_kind *kind = test->param_value;

	/* To change text, some architectures stop all processors. */
	if (!preempt_model_preemptible())
		kunit_skip(test, "a reader cannot be preempted, and is in everybody's way");
	called = kprobes_untraced;
	expect_no_wait(test, kind, kprobes_untraced);
	expect_no_wait(test, kind, kprobes_traced);
	if (kind->type == KPROBE && step)
		expect_no_wait(test, kind, step->addr);
}

/* --- marks --- */

static struct kprobe nobody;

static void mark_of_a_task_that_dies_is_ended(struct kunit *test)
{
	bool inside, entered, faulting;
	struct kprobe_hit frame, another;
	struct kprobe *running;
	struct kprobe_mark *mark;

	preempt_disable();
	inside = kprobe_enter(&frame, &nobody);
	mark = raw_cpu_ptr(kprobe_marks) + arch_kprobe_level();
	/* It dies in a fault handler, which must be called again at the next fault. */
	mark->faulting = true;
	kprobe_task_dies();
	faulting = mark->faulting;
	mark->faulting = false;
	running = kprobe_running();
	entered = kprobe_enter(&another, &nobody);
	if (entered)
		kprobe_leave(&another);
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, inside);
	KUNIT_EXPECT_NULL(test, running);
	KUNIT_EXPECT_FALSE(test, faulting);
	KUNIT_EXPECT_TRUE(test, entered);
	kprobe_wait_for_handlers();
}

/* A section that nests leaves with the task, too: the next one is to keep hits out by itself. */
static void busy_sections_of_a_task_that_dies_are_forgotten(struct kunit *test)
{
	struct kprobe_hit frame;
	bool kept_out;

	preempt_disable();
	kprobe_busy_begin();
	kprobe_busy_begin();
	kprobe_task_dies();
	preempt_enable_notrace();
	preempt_enable_notrace();
	kprobe_busy_begin();
	kept_out = !kprobe_enter(&frame, &nobody);
	if (!kept_out)
		kprobe_leave(&frame);
	kprobe_busy_end();
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, kept_out);
}

#ifdef CONFIG_JPROBES
static bool went_on;

/* The task does not really die, so the mark is entered again for what follows. */
static u32 dying_jprobe(u32 x)
{
	struct kprobe_hit frame;

	kprobe_task_dies();
	kprobe_enter(&frame, &nobody);
	jprobe_return();
	went_on = true;
	return x;
}

static void nothing_returns_to_a_task_that_died_in_a_jprobe(struct kunit *test)
{
	struct jprobe jp = { .kp.addr = (void *)kprobes_traced, .entry = dying_jprobe };

	need_warnings(test);
	went_on = false;
	KUNIT_ASSERT_EQ(test, 0, register_jprobe(&jp));
	expect_report_begin();
	kprobes_traced(1);
	expect_report_end();
	unregister_jprobe(&jp);
	KUNIT_EXPECT_TRUE(test, went_on);
}

static u32 quick_jprobe(u32 x)
{
	jprobe_return();
	return x;
}

/* The frame to return to is this CPU's. */
static void jprobe_return_after_a_jprobe_only_warns(struct kunit *test)
{
	struct jprobe jp = { .kp.addr = (void *)kprobes_traced, .entry = quick_jprobe };

	need_warnings(test);
	KUNIT_ASSERT_EQ(test, 0, register_jprobe(&jp));
	migrate_disable();
	kprobes_traced(1);
	expect_report_begin();
	jprobe_return();
	expect_report_end();
	migrate_enable();
	unregister_jprobe(&jp);
}
#endif

static unsigned int tries;

static int leaves(struct kprobe *p, struct pt_regs *regs)
{
	tries++;
	unregister_kprobe(p);
	return 0;
}

static void expect_stays(struct kunit *test, u32 (*function)(u32 x), void *addr)
{
	struct kprobe kp = { .addr = addr, .pre_handler = leaves };

	tries = 0;
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&kp));
	wait_for_kprobe_optimizer();
	expect_report_begin();
	function(1);
	function(1);
	expect_report_end();
	/* Though it stays registered, it is not hit any more. */
	KUNIT_EXPECT_EQ_MSG(test, tries, 1, "at %pS", addr);
	KUNIT_EXPECT_TRUE_MSG(test, kprobe_gone(&kp), "at %pS", addr);
	unregister_kprobe(&kp);
}

/* By any way to the handler: if it waited for itself, that would never end. */
static void probe_cannot_leave_in_its_own_handler(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "plain instruction");

	need_warnings(test);
	expect_stays(test, kprobes_traced, kprobes_traced);
	expect_stays(test, kprobes_untraced, kprobes_untraced);
	expect_stays(test, step->call, step->addr);
}

#ifdef CONFIG_KRETPROBES
static int leaves_at_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	tries++;
	unregister_kretprobe(get_kretprobe(ri));
	return 0;
}

static void return_probe_cannot_leave_in_its_own_handler(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.addr = (void *)kprobes_traced,
		.handler = leaves_at_return,
	};

	need_warnings(test);
	tries = 0;
	KUNIT_ASSERT_EQ(test, 0, register_kretprobe(&rp));
	expect_report_begin();
	kprobes_traced(1);
	kprobes_traced(1);
	expect_report_end();
	KUNIT_EXPECT_EQ(test, tries, 1);
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&rp.kp));
	unregister_kretprobe(&rp);
}
#endif

static void probe_cannot_leave_with_interrupts_off(struct kunit *test)
{
	struct probe *probe = probe_registered(test, kprobes_untraced);

	need_warnings(test);
	expect_report_begin();
	scoped_guard(irqsave)
		unregister_kprobe(&probe->kp);
	expect_report_end();
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_kprobe(&probe->kp));
	probe_unregister(probe);
	/* Registered once more, it is as any other. */
	KUNIT_EXPECT_EQ(test, 0, probe_register(probe));
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
}

static void need_counted_preemption(struct kunit *test)
{
	need_warnings(test);
	if (!ARCH_KPROBE_STATELESS || !IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "nobody knows that it is off");
}

static void leave_with_preemption_off(struct any *planted)
{
	expect_report_begin();
	scoped_guard(preempt)
		any_unregister(planted->type, &planted->probe);
	expect_report_end();
}

/* It is gone, and its struct is free for something else. Whether it was alone does not matter. */
static void expect_gone(struct kunit *test, const struct probe_kind *kind, u32 (*function)(u32 x),
			void *addr, bool alone)
{
	struct probe *other = alone ? NULL : probe_registered(test, addr);
	struct any *planted = plant(test, kind, addr);
	unsigned int times;

	for (times = 0; times < 2; times++) {
		leave_with_preemption_off(planted);
		KUNIT_EXPECT_TRUE(test, list_empty(&planted->probe.kp.list));
		memset(&planted->probe, 0xff, sizeof(planted->probe));
		KUNIT_EXPECT_EQ(test, kprobes_expected(5), function(5));
		any_reset(&planted->probe, &slow[kind->id], addr);
		KUNIT_EXPECT_EQ(test, 0, any_register(kind->type, &planted->probe));
	}
	kunit_release_action(test, any_drop, planted);
	if (other) {
		KUNIT_EXPECT_EQ(test, other->hits, 2);
		probe_unregister(other);
	}
}

static void probe_leaves_with_preemption_off(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_find_step("plain instruction");
	const struct probe_kind *kind = test->param_value;
	unsigned int alone;

	need_counted_preemption(test);
	for (alone = 0; alone < 2; alone++) {
		expect_gone(test, kind, kprobes_traced, kprobes_traced, alone);
		expect_gone(test, kind, kprobes_untraced, kprobes_untraced, alone);
		if (kind->type == KPROBE && step)
			expect_gone(test, kind, step->call, step->addr, alone);
	}
}

/* Preemption is on there, but nobody may sleep. */
static void probe_leaves_while_rcu_is_held(struct kunit *test)
{
	struct probe *probe = probe_registered(test, kprobes_untraced);

	need_counted_preemption(test);
	if (!IS_ENABLED(CONFIG_PREEMPT_RCU))
		kunit_skip(test, "that is to have preemption off");
	expect_report_begin();
	scoped_guard(rcu)
		unregister_kprobe(&probe->kp);
	expect_report_end();
	KUNIT_EXPECT_TRUE(test, list_empty(&probe->kp.list));
	probe->live = false;
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 0);
}

/* The site goes as others do, once a worker has had its turn. */
static void site_goes_that_was_left_with_preemption_off(struct kunit *test)
{
	struct kprobe kp = { .addr = (void *)kprobes_untraced };
	struct kprobe_site *site;
	unsigned int tries = 0;
	unsigned long addr;

	need_counted_preemption(test);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&kp));
	/* A landing pad may be in front of it. */
	addr = (unsigned long)kp.addr;
	expect_report_begin();
	scoped_guard(preempt)
		unregister_kprobe(&kp);
	expect_report_end();
	do {
		msleep(20);
		guard(mutex)(&kprobe_mutex);
		site = kprobe_find_site(addr);
		if (!site || site->state == SITE_DYING)
			return;
	} while (++tries < 500);
	KUNIT_FAIL(test, "its state is %d", site->state);
}

/* --- a handler that sleeps: its mark stays --- */

static unsigned int told_times, told_cpu;

static void note_told(unsigned int cpu)
{
	told_times++;
	told_cpu = cpu;
}

/* The level of NMIs, which hit nothing during this test */
static struct kprobe_mark *left_mark(void)
{
	return per_cpu_ptr(&kprobe_marks[KPROBE_LEVELS - 1], cpumask_first(cpu_online_mask));
}

static void end_left_mark(struct work_struct *work)
{
	WRITE_ONCE(left_mark()->seq, left_mark()->seq + 1);
}

static DECLARE_DELAYED_WORK(end_of_left_mark, end_left_mark);

static void unregister_beside_a_mark(struct kunit *test, unsigned int ms)
{
	struct probe *probe = probe_registered(test, kprobes_untraced);

	told_times = 0;
	WRITE_ONCE(left_mark()->seq, left_mark()->seq + 1);
	schedule_delayed_work(&end_of_left_mark, msecs_to_jiffies(ms));
	probe_unregister(probe);
	flush_delayed_work(&end_of_left_mark);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(left_mark()->seq) & 1);
}

static void be_as_patient(void *as_before)
{
	kprobe_patience = (unsigned long)as_before;
}

/* Until the case ends */
static void lose_patience(struct kunit *test)
{
	void *before = (void *)(unsigned long)kprobe_patience;

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, be_as_patient, before));
	kprobe_patience = msecs_to_jiffies(50);
}

/* A past bug: if a handler slept, unregistering went on for ever, and nothing said why. */
static void handler_that_does_not_end_is_told_of(struct kunit *test)
{
	kunit_activate_static_stub(test, kprobe_tell_of_handler, note_told);
	unregister_beside_a_mark(test, 100);
	KUNIT_EXPECT_EQ(test, told_times, 0);
	lose_patience(test);
	unregister_beside_a_mark(test, 500);
	KUNIT_EXPECT_EQ(test, told_times, 1);
	KUNIT_EXPECT_EQ(test, told_cpu, cpumask_first(cpu_online_mask));
}

static bool is_registered(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_site_holding(p);
}

/* Then it stays, and can be unregistered as always when the handler has ended. */
static void probe_stays_if_a_handler_does_not_end(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;
	struct any *planted;

	need_counted_preemption(test);
	planted = plant(test, kind, kprobes_untraced);
	lose_patience(test);
	kunit_activate_static_stub(test, kprobe_tell_of_handler, note_told);
	WRITE_ONCE(left_mark()->seq, left_mark()->seq + 1);
	leave_with_preemption_off(planted);
	WRITE_ONCE(left_mark()->seq, left_mark()->seq + 1);
	KUNIT_EXPECT_TRUE(test, is_registered(&planted->probe.kp));
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&planted->probe.kp));
	let_it_take_time();
	kprobes_untraced(1);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(began));
	any_unregister(planted->type, &planted->probe);
	KUNIT_EXPECT_FALSE(test, is_registered(&planted->probe.kp));
	KUNIT_EXPECT_EQ(test, 0, any_register(kind->type, &planted->probe));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&planted->probe.kp));
}

static int is_waiting, may_go_on, waited_in_vain;

/* For two seconds at most */
static int wait_with_interrupts_off(void *unused)
{
	unsigned int tries = 0;

	scoped_guard(irqsave) {
		WRITE_ONCE(is_waiting, true);
		while (!READ_ONCE(may_go_on) && tries++ < 2000)
			mdelay(1);
		waited_in_vain = !READ_ONCE(may_go_on);
	}
	return thread_idle();
}

/* It may wait for a lock of the caller's. */
static void processor_without_interrupts_is_not_waited_for(struct kunit *test)
{
	struct task_struct *task = thread_new(test, wait_with_interrupts_off, NULL);
	struct probe *probe = probe_registered(test, kprobes_untraced);

	need_counted_preemption(test);
	if (num_online_cpus() < 2)
		kunit_skip(test, "there is one processor");
	lose_patience(test);
	is_waiting = false;
	may_go_on = false;
	migrate_disable();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
	thread_begin(test, task, &is_waiting, CALL_SECONDS);
	expect_report_begin();
	scoped_guard(preempt) {
		unregister_kprobe(&probe->kp);
		WRITE_ONCE(may_go_on, true);
	}
	expect_report_end();
	migrate_enable();
	kunit_release_action(test, thread_stop, task);
	KUNIT_EXPECT_FALSE(test, waited_in_vain);
	KUNIT_EXPECT_TRUE(test, is_registered(&probe->kp));
}

/* An architecture that has its own recursion guard calls kprobes_inc_nmissed_count(). */
static void probes_are_looked_at_inside_of_a_mark_only(struct kunit *test)
{
	struct kprobe p = { .addr = (void *)kprobes_untraced, .pre_handler = fast_pre };
	unsigned int before, after;
	struct kprobe_mark *mark;

	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&p));
	preempt_disable();
	mark = raw_cpu_ptr(kprobe_marks) + arch_kprobe_level();
	before = mark->seq;
	kprobes_inc_nmissed_count(get_kprobe(p.addr));
	after = mark->seq;
	preempt_enable();
	KUNIT_EXPECT_EQ(test, after, before + 2);
	KUNIT_EXPECT_EQ(test, p.nmissed, 1);
	unregister_kprobe(&p);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE_PARAM(unregistering_waits_at_an_ftrace_entry, kind_gen_params),
	KUNIT_CASE_PARAM(unregistering_waits_at_an_entry, kind_gen_params),
	KUNIT_CASE_PARAM(unregistering_waits_in_the_middle, kind_gen_params),
	KUNIT_CASE(one_wait_serves_a_batch),
	KUNIT_CASE(hits_that_go_on_do_not_hold_it_up),
	KUNIT_CASE(every_processor_has_a_barrier),
	KUNIT_CASE_PARAM(unregistering_does_not_wait_for_readers, kind_gen_params),
	KUNIT_CASE(mark_of_a_task_that_dies_is_ended),
	KUNIT_CASE(busy_sections_of_a_task_that_dies_are_forgotten),
#ifdef CONFIG_JPROBES
	KUNIT_CASE(nothing_returns_to_a_task_that_died_in_a_jprobe),
	KUNIT_CASE(jprobe_return_after_a_jprobe_only_warns),
#endif
	KUNIT_CASE(probe_cannot_leave_in_its_own_handler),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_probe_cannot_leave_in_its_own_handler),
#endif
	KUNIT_CASE(probe_cannot_leave_with_interrupts_off),
	KUNIT_CASE_PARAM(probe_leaves_with_preemption_off, kind_gen_params),
	KUNIT_CASE(probe_leaves_while_rcu_is_held),
	KUNIT_CASE(site_goes_that_was_left_with_preemption_off),
	KUNIT_CASE(handler_that_does_not_end_is_told_of),
	KUNIT_CASE_PARAM(probe_stays_if_a_handler_does_not_end, kind_gen_params),
	KUNIT_CASE(processor_without_interrupts_is_not_waited_for),
	KUNIT_CASE(probes_are_looked_at_inside_of_a_mark_only),
	{}
};

static struct kunit_suite wait_suite = {
	.name = "kprobes_wait",
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);

MODULE_DESCRIPTION("KUnit tests of how kprobes wait for handlers");
MODULE_LICENSE("GPL");
