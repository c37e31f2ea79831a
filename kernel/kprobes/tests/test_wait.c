// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests that unregistering waits for handlers that are running, of all kinds
 * and in all contexts, and for nothing else.
 */
#include <kunit/static_stub.h>
#include <linux/bpf.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/filter.h>
#include <linux/jiffies.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/rcupdate_trace.h>
#include <linux/srcu.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "../internal.h"
#include "support/core.h"
#include "support/levels.h"
#include "support/probe.h"
#include "support/slow.h"
#include "support/threads.h"

/* --- a handler that takes its time --- */

KIND_HANDLERS(slow, take_time());

KUNIT_ARRAY_PARAM_DESC(kind, probe_kinds, name);

/* Places with each way to the handlers: two entries and, for kprobes, an instruction */
static const struct kprobes_step *place_for(enum any_type type, unsigned int i)
{
	return i < (type == KPROBE ? 3 : 2) ? kprobes_find_step(kprobes_common_steps[i]) : NULL;
}

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

/*
 * Another CPU runs the handler meanwhile. Threads are made before the probe: there is an end to the
 * test if one cannot be had. What was unregistered is overwritten at once.
 */
static void expect_wait(struct kunit *test, struct task_struct *task, enum level level,
			void (*unregister)(void *probe), void *probe, size_t size)
{
	WRITE_ONCE(was_called, false);
	WRITE_ONCE(cannot_call, false);
	let_it_take_time();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
	wake_up_process(task);
	wait_for(test, &began);
	kunit_release_action(test, unregister, probe);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(ended), "in a call of %pS in %s context", called,
			      level_names[level]);
	memset(probe, 0x6b, size);
	wait_for(test, &was_called);
	kunit_release_action(test, thread_stop, task);
}

/* The test and the thread whose handler runs need a CPU each. */
static void need_two_cpus(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU cannot run a handler while it unregisters");
}

static void unregistering_waits_for_handlers(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;
	const struct kprobes_step *place;
	unsigned long level;
	unsigned int i;

	need_two_cpus(test);
	for (i = 0; (place = place_for(kind->type, i)); i++) {
		called = place->call;
		for (level = TASK; level <= HARDIRQ; level++) {
			struct task_struct *task = thread_new(test, call_in, (void *)level);
			struct any *planted = plant(test, kind, place->addr);

			expect_wait(test, task, level, any_drop, planted, sizeof(*planted));
		}
	}
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

/* A reader gives up before RCU complains. */
#define READER_SECONDS	10

static void read_on(struct holder *holder)
{
	guard(rcu)();
	called(1);
	while (holder_goes_on(holder))
		cpu_relax();
}

static void expect_no_wait(struct kunit *test, const struct probe_kind *kind, void *addr)
{
	struct holder *holder = holder_new(test, read_on, NULL, READER_SECONDS);
	struct any *planted = plant(test, kind, addr);

	holder_start(holder);
	kunit_release_action(test, any_drop, planted);
	KUNIT_ASSERT_FALSE_MSG(test, holder_stop(holder), "%s at %pS", kind->name, addr);
}

/* Neither for a reader that has hit the probe, nor for one that has not. */
static void unregistering_does_not_wait_for_readers(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;
	const struct kprobes_step *place;
	unsigned int i;

	/* To change text, some architectures stop all processors. */
	if (!preempt_model_preemptible())
		kunit_skip(test, "a reader cannot be preempted, and is in everybody's way");
	called = kprobes_untraced;
	for (i = 0; (place = place_for(kind->type, i)); i++)
		expect_no_wait(test, kind, place->addr);
}

#if defined(CONFIG_KPROBE_EVENTS) && defined(CONFIG_BPF_EVENTS)
/* --- events --- */

#define EVENT	"kprobes_closed"

static const struct event_user {
	const char *name;
	bool program, at_return;
} event_users[] = {
	{ "a counter" },
	{ "a counter and a program", .program = true },
	{ "a counter of returns", .at_return = true },
	{ "a counter of returns, and a program", .program = true, .at_return = true },
};

KUNIT_ARRAY_PARAM_DESC(user, event_users, name);

static void delete_event(void *unused)
{
	kprobe_event_delete(EVENT);
}

/* Returns the number of an event; ftrace must know its function. */
static int make_event(struct kunit *test)
{
	char *buf = test_alloc(test, MAX_DYNEVENT_CMD_LEN), location[24];
	const struct event_user *user = test->param_value;
	struct trace_event_file *file;
	struct dynevent_cmd cmd;
	int number;

	snprintf(location, sizeof(location), "0x%lx", (unsigned long)kprobes_traced);
	kprobe_event_cmd_init(&cmd, buf, MAX_DYNEVENT_CMD_LEN);
	if (user->at_return)
		KUNIT_ASSERT_EQ(test, 0, kretprobe_event_gen_cmd_start(&cmd, EVENT, location));
	else
		KUNIT_ASSERT_EQ(test, 0, kprobe_event_gen_cmd_start(&cmd, EVENT, location));
	KUNIT_ASSERT_EQ(test, 0, kprobe_event_gen_cmd_end(&cmd));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, delete_event, NULL));
	file = trace_get_event_file(NULL, "kprobes", EVENT);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	number = file->event_call->event.type;
	trace_put_event_file(file);
	return number;
}

/* What a loader of BPF programs calls in the kernel. No header declares it. */
int kern_sys_bpf(int cmd, union bpf_attr *attr, unsigned int size);

/* A program that has the hit counted */
static struct bpf_prog *load_program(struct kunit *test)
{
	struct bpf_insn insns[] = { BPF_MOV64_IMM(BPF_REG_0, 1), BPF_EXIT_INSN() };
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (unsigned long)insns,
		.insn_cnt = ARRAY_SIZE(insns),
		.license = (unsigned long)"GPL",
	};
	int fd = kern_sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	struct bpf_prog *program;

	KUNIT_ASSERT_GE(test, fd, 0);
	program = bpf_prog_get(fd);
	close_fd(fd);
	KUNIT_ASSERT_FALSE(test, IS_ERR(program));
	return program;
}

static void close_event(void *event)
{
	perf_event_release_kernel(event);
}

/* An event that counts the hits of this task, and has counted one */
static struct perf_event *open_event(struct kunit *test)
{
	const struct event_user *user = test->param_value;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = make_event(test),
	};
	struct perf_event *event;
	u64 enabled, running;

	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, close_event, event));
	if (user->program)
		KUNIT_ASSERT_EQ(test, 0, perf_event_set_bpf_prog(event, load_program(test), 0));
	kprobes_traced(1);
	KUNIT_ASSERT_EQ(test, 1, perf_event_read_value(event, &enabled, &running));
	return event;
}

/* Any handler can be one that uses the event. */
static void closing_an_event_waits_for_handlers(struct kunit *test)
{
	unsigned int before = handler_ms;
	struct perf_event *event;
	struct task_struct *task;

	need_two_cpus(test);
	task = thread_new(test, call_in, (void *)TASK);
	event = open_event(test);
	/* Here it has interrupts on, or who sends one would have waited already. */
	any_registered(test, KPROBE, &slow[PRE_HANDLER], kprobes_traced);
	called = kprobes_traced;
	/* First perf takes the event off its CPU. */
	handler_ms = 500;
	expect_wait(test, task, TASK, close_event, event, 0);
	handler_ms = before;
}

/* One of each kind that others' events and programs wait for */
static void read_all(struct holder *holder)
{
	guard(rcu)();
	guard(srcu)(&tracepoint_srcu);
	rcu_read_lock_trace();
	while (holder_goes_on(holder))
		cpu_relax();
	rcu_read_unlock_trace();
}

static void closing_an_event_does_not_wait_for_readers(struct kunit *test)
{
	struct perf_event *event = open_event(test);
	struct holder *holder = holder_new(test, read_all, NULL, READER_SECONDS);

	if (!preempt_model_preemptible())
		kunit_skip(test, "a reader cannot be preempted, and is in everybody's way");
	holder_start(holder);
	kunit_release_action(test, close_event, event);
	KUNIT_EXPECT_FALSE(test, holder_stop(holder));
}
#endif

/* --- marks --- */

static struct kprobe nobody;

static bool can_be_hit(void)
{
	struct kprobe_hit frame;
	bool entered = kprobe_enter(&frame, &nobody);

	if (entered)
		kprobe_leave(&frame);
	return entered;
}

static void task_that_dies_leaves_no_mark(struct kunit *test)
{
	bool inside, faulting, entered, kept_out;
	struct kprobe_hit frame;
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
	entered = can_be_hit();

	/* Busy sections leave with the task, too: the next one keeps hits out by itself. */
	kprobe_busy_begin();
	kprobe_busy_begin();
	kprobe_task_dies();
	preempt_enable_notrace();
	preempt_enable_notrace();
	kprobe_busy_begin();
	kept_out = !can_be_hit();
	kprobe_busy_end();
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, inside);
	KUNIT_EXPECT_NULL(test, running);
	KUNIT_EXPECT_FALSE(test, faulting);
	KUNIT_EXPECT_TRUE(test, entered);
	KUNIT_EXPECT_TRUE(test, kept_out);
	kprobe_wait_for_handlers();
}

#ifdef CONFIG_JPROBES
static bool dies, went_on;

/* The task does not really die, so the mark is entered again for what follows. */
static u32 dying_jprobe(u32 x)
{
	struct kprobe_hit frame;

	if (dies) {
		kprobe_task_dies();
		kprobe_enter(&frame, &nobody);
	}
	jprobe_return();
	went_on = true;
	return x;
}

/* The frame to return to is that of the last jprobe on this CPU, if the task has not died in it. */
static void jprobe_return_outside_of_a_jprobe_only_warns(struct kunit *test)
{
	struct jprobe jp = { .kp.addr = (void *)kprobes_traced, .entry = dying_jprobe };

	need_warnings(test);
	KUNIT_ASSERT_EQ(test, 0, register_jprobe(&jp));
	went_on = false;
	migrate_disable();
	dies = false;
	kprobes_traced(1);
	KUNIT_EXPECT_FALSE(test, went_on);
	expect_report_begin();
	jprobe_return();
	expect_report_end();
	dies = true;
	expect_report_begin();
	kprobes_traced(1);
	expect_report_end();
	migrate_enable();
	unregister_jprobe(&jp);
	KUNIT_EXPECT_TRUE(test, went_on);
}
#endif

static unsigned int tries;
static struct any *leaving;

KIND_HANDLERS(leave, tries++; any_unregister(leaving->type, &leaving->probe));

KUNIT_ARRAY_PARAM_DESC(type, probe_types, name);

/* By any way to the handler: if it waited for itself, that would never end. */
static void probe_cannot_leave_in_its_own_handler(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;
	const struct kprobes_step *place;
	unsigned int i;

	need_warnings(test);
	if (kind->type == KPROBE)
		kprobes_need_step(test, "plain instruction");
	for (i = 0; (place = place_for(kind->type, i)); i++) {
		leaving = any_registered(test, kind->type, &leave[kind->id], place->addr);
		wait_for_kprobe_optimizer();
		tries = 0;
		expect_report_begin();
		place->call(1);
		place->call(1);
		expect_report_end();
		/* Though it stays registered, it is not hit any more. */
		KUNIT_EXPECT_EQ_MSG(test, tries, 1, "at %pS", place->addr);
		KUNIT_EXPECT_TRUE_MSG(test, kprobe_gone(&leaving->probe.kp), "at %pS", place->addr);
		kunit_release_action(test, any_drop, leaving);
	}
}

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

static void leave_with_preemption_off(struct any *planted)
{
	expect_report_begin();
	scoped_guard(preempt)
		any_unregister(planted->type, &planted->probe);
	expect_report_end();
}

/* Preemption is on there, but nobody may sleep. */
static void leave_while_rcu_is_held(struct any *planted)
{
	expect_report_begin();
	scoped_guard(rcu)
		any_unregister(planted->type, &planted->probe);
	expect_report_end();
}

/* It is gone, and its struct is free for something else. Whether it was alone does not matter. */
static void expect_gone(struct kunit *test, const struct probe_kind *kind,
			const struct kprobes_step *place, bool alone,
			void (*leave)(struct any *planted))
{
	struct probe *other = alone ? NULL : probe_registered(test, place->addr);
	struct any *planted = plant(test, kind, place->addr);
	unsigned int times;

	for (times = 0; times < 2; times++) {
		leave(planted);
		KUNIT_EXPECT_TRUE(test, list_empty(&planted->probe.kp.list));
		memset(&planted->probe, 0xff, sizeof(planted->probe));
		KUNIT_EXPECT_EQ(test, kprobes_expected(5), place->call(5));
		any_reset(&planted->probe, &slow[kind->id], place->addr);
		KUNIT_EXPECT_EQ(test, 0, any_register(kind->type, &planted->probe));
	}
	kunit_release_action(test, any_drop, planted);
	if (other) {
		KUNIT_EXPECT_EQ(test, other->hits, 2);
		probe_unregister(other);
	}
}

/* Without CONFIG_PREEMPT_RCU, to hold RCU is to have preemption off. */
static void probe_leaves_where_nobody_may_sleep(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;
	const struct kprobes_step *place;
	unsigned int i;

	need_counted_preemption(test);
	for (i = 0; (place = place_for(kind->type, i / 2)); i++)
		expect_gone(test, kind, place, i % 2, leave_with_preemption_off);
	expect_gone(test, kind, place_for(kind->type, 1), true, leave_while_rcu_is_held);
}

/* The site goes as others do, once a worker has had its turn. */
static void site_goes_that_was_left_with_preemption_off(struct kunit *test)
{
	const union any_probe none = {};
	struct any *planted = any_registered(test, KPROBE, &none, kprobes_untraced);
	/* A landing pad may be in front of it. */
	unsigned long addr = (unsigned long)planted->probe.kp.addr;
	struct kprobe_site *site;
	unsigned int tries = 0;

	need_counted_preemption(test);
	leave_with_preemption_off(planted);
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

static int may_go_on, waited_in_vain;

/* For two seconds at most */
static void wait_with_interrupts_off(struct holder *holder)
{
	unsigned int tries = 0;

	guard(irqsave)();
	while (holder_goes_on(holder) && !READ_ONCE(may_go_on) && tries++ < 2000)
		mdelay(1);
	waited_in_vain = !READ_ONCE(may_go_on);
}

/* It may wait for a lock of the caller's. */
static void processor_without_interrupts_is_not_waited_for(struct kunit *test)
{
	struct holder *holder = holder_new(test, wait_with_interrupts_off, NULL, CALL_SECONDS);
	struct probe *probe = probe_registered(test, kprobes_untraced);

	need_counted_preemption(test);
	if (num_online_cpus() < 2)
		kunit_skip(test, "there is one processor");
	lose_patience(test);
	may_go_on = false;
	migrate_disable();
	kthread_bind(holder->task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
	holder_start(holder);
	expect_report_begin();
	scoped_guard(preempt) {
		unregister_kprobe(&probe->kp);
		WRITE_ONCE(may_go_on, true);
	}
	expect_report_end();
	migrate_enable();
	holder_stop(holder);
	KUNIT_EXPECT_FALSE(test, waited_in_vain);
	KUNIT_EXPECT_TRUE(test, is_registered(&probe->kp));
}

/* An architecture that has its own recursion guard calls kprobes_inc_nmissed_count(). */
static void probes_are_looked_at_inside_of_a_mark_only(struct kunit *test)
{
	struct probe *probe = probe_registered(test, kprobes_untraced);
	unsigned int before, after;
	struct kprobe_mark *mark;

	preempt_disable();
	mark = raw_cpu_ptr(kprobe_marks) + arch_kprobe_level();
	before = mark->seq;
	kprobes_inc_nmissed_count(get_kprobe(probe->kp.addr));
	after = mark->seq;
	preempt_enable();
	KUNIT_EXPECT_EQ(test, after, before + 2);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 1);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE_PARAM(unregistering_waits_for_handlers, kind_gen_params),
	KUNIT_CASE(every_processor_has_a_barrier),
	KUNIT_CASE_PARAM(unregistering_does_not_wait_for_readers, kind_gen_params),
#if defined(CONFIG_KPROBE_EVENTS) && defined(CONFIG_BPF_EVENTS)
	KUNIT_CASE_PARAM(closing_an_event_waits_for_handlers, user_gen_params),
	KUNIT_CASE_PARAM(closing_an_event_does_not_wait_for_readers, user_gen_params),
#endif
	KUNIT_CASE(task_that_dies_leaves_no_mark),
#ifdef CONFIG_JPROBES
	KUNIT_CASE(jprobe_return_outside_of_a_jprobe_only_warns),
#endif
	KUNIT_CASE_PARAM(probe_cannot_leave_in_its_own_handler, type_gen_params),
	KUNIT_CASE(probe_cannot_leave_with_interrupts_off),
	KUNIT_CASE_PARAM(probe_leaves_where_nobody_may_sleep, kind_gen_params),
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
