// SPDX-License-Identifier: GPL-2.0
/*
 * Stress test of kprobes: on every processor, threads call functions of this
 * module while others put probes on them and take them off again.
 *
 *	insmod test_kprobes_stress.ko seconds=30 seed=12345
 *
 * Loading runs the test, and fails if the test does. At the end,
 *
 * - each call must have returned the right result;
 * - each probe that stayed all the time must have seen or missed each call, in NMIs, too,
 *   and its post handler must have seen what it saw; a return probe, each return;
 * - it must still be hit, and a return probe must have all its instances back, of those
 *   tasks, too, that ended in the function;
 * - no handler may have run after its probe was unregistered, although tasks slept
 *   in the function, and nobody may have used the probe's struct, which is
 *   overwritten at once;
 * - those that stayed and have no KPROBE_FLAG_NESTS may not have run their handlers on top of
 *   each other;
 * - the text of the functions must be what it was;
 * - and all that was to be done must have been done at least once.
 *
 * test_kprobes_visitor, loaded and removed meanwhile, does the same with a module.
 */
#define pr_fmt(fmt) "kprobes_stress: " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kprobes_arch.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/poison.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "support/kinds.h"
#include "support/targets.h"

static unsigned int seconds = 10;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long to run (default: 10)");

static unsigned int seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "where the random numbers start, 0 for anywhere (default: 0)");

/* Then probes are put on functions of it, too, and some must find it. */
static bool victim;
module_param(victim, bool, 0444);
MODULE_PARM_DESC(victim, "test_kprobes_victim comes and goes meanwhile (default: no)");

/*
 * Who wants to be called by ftrace then may be told that there is none, and who is already may miss
 * calls.
 */
static bool ftrace_dies;
module_param(ftrace_dies, bool, 0444);
MODULE_PARM_DESC(ftrace_dies, "ftrace shuts itself down meanwhile (default: no)");

#define STEPS		ARRAY_SIZE(kprobes_steps_table)
#define ENTRIES		ARRAY_SIZE(kprobes_entries)

/* What must not happen */
static atomic64_t wrong_results, late_handlers, wrong_answers, overlaps;
static atomic64_t places_miscounted, instances_lost, functions_changed;

/* What must */
static atomic64_t all_calls, nmis, hits, misses, returns;
static atomic64_t registrations, temporary_hits, refusals, victims, absences;
static atomic64_t exit_entries, exit_returns, instances_dropped, tasks_ended;

static bool has_nmis;

/* --- the functions that are called, and how often --- */

/* Of each function in kprobes_entries[], and of the two below */
static atomic64_t calls[ENTRIES], sleeps, exit_calls;

/* Once it has shut itself down, ftrace may go on calling for who is at an entry, or may not. */
static bool may_be_deaf(struct kprobe *kp)
{
	return ftrace_dies && kprobe_ftrace(kp);
}

/* Can @kp have as many hits and misses? */
static bool calls_accounted(s64 calls, struct kprobe *kp, s64 accounted)
{
	if (may_be_deaf(kp))
		return accounted > 0 && accounted <= calls;
	return accounted == calls;
}

static void expect_result(u32 result, u32 expected)
{
	if (result != expected)
		atomic64_inc(&wrong_results);
}

/*
 * Functions without a resident probe: a temporary one may be the first to come
 * and the last to leave. Like the other targets, they are called all the time.
 */
KPROBES_TARGET(kprobes_lonely_traced, 1)
KPROBES_TARGET(kprobes_lonely_untraced, 2, notrace)

static void call_entry(unsigned int entry, u32 x)
{
	expect_result(kprobes_entries[entry].call(x), kprobes_expected(x));
	atomic64_inc(&calls[entry]);
}

/* Some arguments make the conditional jump go the other way. */
static void call_some(u32 number, bool other_way)
{
	call_entry(number % ENTRIES, other_way ? -15 : number);
	expect_result(kprobes_lonely_traced(number), kprobes_expected(number) + 1);
	expect_result(kprobes_lonely_untraced(number), kprobes_expected(number) + 2);
}

/* A function that tasks sleep in, on several levels, while probes come and go. */
static noinline __noclone u32 kprobes_sleeps(u32 depth, u32 us)
{
	u32 below = 0;

	atomic64_inc(&sleeps);
	if (depth)
		below = kprobes_sleeps(depth - 1, us);
	else
		usleep_range(us, us + 100);
	return kprobes_one_more(below);
}

/* One that tasks end in, and what a return probe has to follow their calls is to be given back. */
static noinline __noclone u32 kprobes_exits(u32 depth, bool ends)
{
	u32 below = 0;

	atomic64_inc(&exit_calls);
	if (depth)
		below = kprobes_exits(depth - 1, ends);
	else if (ends)
		kthread_exit(0);
	return kprobes_one_more(below);
}

/* --- probes that stay from the first call to the last --- */

KIND_HANDLERS(sleep_ends, atomic64_inc(&returns));

static struct kretprobe resident_return_probe = {
	.kp.addr = (kprobe_opcode_t *)kprobes_sleeps,
	.handler = sleep_ends_return,
};

KIND_HANDLERS(exit_begins, atomic64_inc(&exit_entries));
KIND_HANDLERS(exit_ends, atomic64_inc(&exit_returns));

/* Few enough to be all in use at times, while the dead wait for being reaped */
#define EXIT_INSTANCES	16

static struct kretprobe exit_probe = {
	.kp.addr = (kprobe_opcode_t *)kprobes_exits,
	.handler = exit_ends_return,
	.entry_handler = exit_begins_return,
	.maxactive = EXIT_INSTANCES,
};

static struct resident {
	struct kprobe kp;
	atomic64_t hits, posts;
} residents[STEPS];

/* Handlers that run on this processor, of residents whose handlers exclude each other */
static DEFINE_PER_CPU(unsigned int, plain_handlers);

static void plain_begin(struct kprobe *kp)
{
	if (!(kp->flags & KPROBE_FLAG_NESTS) && this_cpu_inc_return(plain_handlers) != 1)
		atomic64_inc(&overlaps);
}

static void plain_end(struct kprobe *kp)
{
	if (!(kp->flags & KPROBE_FLAG_NESTS))
		this_cpu_dec(plain_handlers);
}

static int resident_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct resident *resident = container_of(kp, struct resident, kp);

	plain_begin(kp);
	/* Now and then, make hits that have to be missed. */
	if (!(atomic64_inc_return(&resident->hits) & 31))
		call_entry((resident - residents) % ENTRIES, 1);
	plain_end(kp);
	return 0;
}

static void resident_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	plain_begin(kp);
	atomic64_inc(&container_of(kp, struct resident, kp)->posts);
	plain_end(kp);
}

/* That one was not registered does no harm. */
static void residents_leave(void)
{
	unsigned int i;

	for (i = 0; i < STEPS; i++)
		unregister_kprobe(&residents[i].kp);
	unregister_kretprobe(&exit_probe);
	unregister_kretprobe(&resident_return_probe);
}

static int residents_come(void)
{
	unsigned int i;
	int ret = register_kretprobe(&resident_return_probe) ?: register_kretprobe(&exit_probe);

	if (ret)
		pr_err("fail: return probe: %d\n", ret);
	for (i = 0; i < STEPS && !ret; i++) {
		residents[i].kp.addr = kprobes_steps_table[i].addr;
		residents[i].kp.pre_handler = resident_pre;
		if (i & 1)
			residents[i].kp.post_handler = resident_post;
		if (i & 2)
			residents[i].kp.flags = KPROBE_FLAG_NESTS;
		ret = register_kprobe(&residents[i].kp);
		if (ret)
			pr_err("fail: %s: %d\n", kprobes_steps_table[i].name, ret);
	}
	return ret;
}

/* --- probes that come and go --- */

#define ALIVE		0x600dcafe
#define BATCH		8
#define LINGER_US	50

struct temporary {
	union any_probe probe;
	unsigned int state;
};

/* Now and then, stay here for so long that the probe is unregistered meanwhile. */
static void linger(void)
{
	if (!(atomic64_inc_return(&temporary_hits) & 15))
		udelay(LINGER_US);
}

static void expect_alive(bool alive)
{
	if (!alive)
		atomic64_inc(&late_handlers);
}

/* @probe is in a struct temporary. */
static void note_hit(void *probe)
{
	struct temporary *temporary = container_of(probe, struct temporary, probe);

	expect_alive(READ_ONCE(temporary->state) == ALIVE);
	linger();
	expect_alive(READ_ONCE(temporary->state) == ALIVE);
}

static int temporary_pre(struct kprobe *kp, struct pt_regs *regs)
{
	note_hit(kp);
	return 0;
}

static void temporary_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	note_hit(kp);
}

/* A call is only followed for a probe that is there. */
static int temporary_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	note_hit(get_kretprobe(ri));
	return 0;
}

static int temporary_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		note_hit(rp);
	return 0;
}

static atomic_t jprobes;

/* A handler cannot tell which jprobe it is called for, but there must be one. */
static void note_jprobe(void)
{
	expect_alive(atomic_read(&jprobes));
	linger();
	expect_alive(atomic_read(&jprobes));
}

static u32 jprobe_sleeps(u32 depth, u32 us)
{
	if (depth > 3 || us > 2000)
		atomic64_inc(&wrong_results);
	depth = 77;
	us = 0;
	note_jprobe();
	jprobe_return();
	return depth + us;
}

static u32 jprobe_lonely(u32 x)
{
	note_jprobe();
	return x;
}

static void *lonely_function(u32 bits)
{
	return bits & 1 ? kprobes_lonely_traced : kprobes_lonely_untraced;
}

static void *returning_function(u32 bits)
{
	switch (bits % 8) {
	case 0:
		return kprobes_exits;
	case 1:
	case 2:
		return kprobes_sleeps;
	case 3:
	case 4:
		return lonely_function(bits >> 8);
	default:
		return kprobes_entries[(bits >> 8) % ENTRIES].call;
	}
}

static void draw_kprobe(struct kprobe *kp, u32 bits, u32 place)
{
	kp->addr = kprobes_steps_table[place % STEPS].addr;
	if (place & BIT(31))
		kp->addr = lonely_function(place >> 8);
	if (bits & 1)
		kp->pre_handler = temporary_pre;
	if (bits & 2)
		kp->post_handler = temporary_post;
	if (bits & 4)
		kp->flags = KPROBE_FLAG_DISABLED;
	if (bits & 8)
		kp->flags |= KPROBE_FLAG_NESTS;
}

static void draw_return_probe(struct kretprobe *rp, u32 bits, u32 place)
{
	rp->kp.addr = returning_function(place);
	rp->handler = temporary_return;
	if (bits & 1)
		rp->entry_handler = temporary_entry;
	rp->maxactive = (bits >> 8) % 4;
	rp->data_size = (bits >> 16) % 512;
}

static void draw_jprobe(struct jprobe *jp, u32 bits, u32 place)
{
	jp->kp.addr = (kprobe_opcode_t *)kprobes_sleeps;
	jp->entry = JPROBE_ENTRY(jprobe_sleeps);
	if (bits & 1) {
		jp->kp.addr = lonely_function(place);
		jp->entry = JPROBE_ENTRY(jprobe_lonely);
	}
}

static struct temporary *temporary_new(struct rnd_state *rnd, enum any_type type)
{
	struct temporary *temporary = kzalloc(sizeof(*temporary), GFP_KERNEL);
	u32 bits = prandom_u32_state(rnd), place = prandom_u32_state(rnd);

	if (!temporary)
		return NULL;
	temporary->state = ALIVE;
	if (type == KPROBE)
		draw_kprobe(&temporary->probe.kp, bits, place);
	else if (type == RETURN_PROBE)
		draw_return_probe(&temporary->probe.rp, bits, place);
	else
		draw_jprobe(&temporary->probe.jp, bits, place);
	return temporary;
}

/* The memory is freed at once: nobody may use it any more. */
static void temporary_free(struct temporary *temporary)
{
	if (temporary)
		memset(temporary, POISON_FREE, sizeof(*temporary));
	kfree(temporary);
}

/* ftrace may have shut itself down. */
static void expect_answer(int answer, int expected)
{
	if (answer == expected)
		return;
	atomic64_inc(ftrace_dies && answer == -ENODEV ? &refusals : &wrong_answers);
}

static void pause_a_little(struct rnd_state *rnd)
{
	unsigned int us = prandom_u32_state(rnd) % 500;

	/* Sometimes for so long that a breakpoint becomes a jump. */
	if (us < 10)
		msleep(100);
	else
		usleep_range(us, us + 100);
}

/* If the module goes after the symbol was found, the address is no kernel text any more. */
static void note_search(int answer)
{
	if (!answer)
		atomic64_inc(&victims);
	else if (answer == -ENOENT || answer == -EINVAL)
		atomic64_inc(&absences);
	else
		expect_answer(answer, 0);
}

/*
 * @name is a function of another module, which may come and go at any time: before, during and
 * after the registration.
 */
static void change_probe(enum any_type type, const char *name, struct rnd_state *rnd)
{
	struct temporary *temporary = temporary_new(rnd, type);
	union any_probe *probe;
	unsigned int i;
	int ret;

	if (!temporary)
		return;
	probe = &temporary->probe;
	if (name) {
		probe->kp.addr = NULL;
		probe->kp.symbol_name = name;
	}
	ret = any_register(type, probe);
	if (name)
		note_search(ret);
	else
		expect_answer(ret, 0);
	if (!ret) {
		bool switched = type == KPROBE && !name;

		atomic64_inc(&registrations);
		/* Of one in a module that has gone, nothing can be switched. */
		if (!switched)
			pause_a_little(rnd);
		/* Others leave as soon as they have come, or were switched. */
		for (i = switched ? prandom_u32_state(rnd) % 4 : 0; i; i--) {
			pause_a_little(rnd);
			expect_answer(i & 1 ? enable_kprobe(&probe->kp) :
				      disable_kprobe(&probe->kp), 0);
		}
		any_unregister(type, probe);
	}
	temporary_free(temporary);
}

static void change_jprobe(struct rnd_state *rnd)
{
	if (!IS_ENABLED(CONFIG_JPROBES))
		return;
	atomic_inc(&jprobes);
	change_probe(JPROBE, NULL, rnd);
	atomic_dec(&jprobes);
}

static void change_victim(struct rnd_state *rnd)
{
	u32 bits = prandom_u32_state(rnd);

	change_probe(bits & 1 ? KPROBE : RETURN_PROBE,
		     bits & 2 ? "kprobes_victim" : "kprobes_victim_untraced", rnd);
}

/* A batch, sometimes with a probe in it that must be refused. */
static void change_many(struct rnd_state *rnd)
{
	unsigned int num = 1 + prandom_u32_state(rnd) % BATCH;
	unsigned int spoiled = prandom_u32_state(rnd) % (4 * BATCH);
	struct temporary *temporaries[BATCH] = {};
	struct kprobe *kps[BATCH];
	unsigned int i;
	int ret;

	for (i = 0; i < num; i++) {
		temporaries[i] = temporary_new(rnd, KPROBE);
		if (!temporaries[i])
			goto out;
		kps[i] = &temporaries[i]->probe.kp;
		if (i == spoiled)
			kps[i]->symbol_name = "no_such_function_anywhere";
	}
	ret = register_kprobes(kps, num);
	expect_answer(ret, spoiled < num ? -EINVAL : 0);
	if (!ret) {
		atomic64_add(num, &registrations);
		pause_a_little(rnd);
		unregister_kprobes(kps, num);
	}
out:
	for (i = 0; i < num; i++)
		temporary_free(temporaries[i]);
}

/* --- NMIs, which call the functions, too --- */

static void __maybe_unused call_in_nmi(void)
{
	u32 number = atomic64_inc_return(&nmis);

	call_some(number, number & 8);
}

#if defined(CONFIG_X86)
/* Processors that were sent one, and have not noticed yet */
static struct cpumask nmi_wanted;

static int stress_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &nmi_wanted))
		return NMI_DONE;
	call_in_nmi();
	return NMI_HANDLED;
}

/* One that nobody expects is reported. So a processor gets the next one when it has noticed. */
static void nmi_send(unsigned int cpu)
{
	unsigned int tries;

	cpumask_set_cpu(cpu, &nmi_wanted);
	preempt_disable();
	__apic_send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
	preempt_enable();
	for (tries = 0; tries < 1000 && cpumask_test_cpu(cpu, &nmi_wanted); tries++)
		usleep_range(50, 100);
}

/* Has a processor interrupted, and waits for some time that @bits say something of. */
static void nmi_provoke(unsigned int cpu, u32 bits)
{
	cpus_read_lock();
	if (cpu_online(cpu))
		nmi_send(cpu);
	cpus_read_unlock();
	usleep_range(2000, 2000 + bits % 16384);
}

static void nmi_start(void)
{
	has_nmis = boot_cpu_has(X86_FEATURE_APIC) &&
		   !register_nmi_handler(NMI_LOCAL, stress_nmi, 0, "kprobes_stress");
}

/* When this returns, none is under way. */
static void nmi_stop(void)
{
	if (has_nmis)
		unregister_nmi_handler(NMI_LOCAL, "kprobes_stress");
}
#elif defined(CONFIG_ARM64) && defined(CONFIG_ARM_PMUV3)
/* A counter that has run out interrupts: by an NMI, where interrupts are masked by priority. */
static void stress_nmi(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs)
{
	if (in_nmi())
		call_in_nmi();
}

/* The processor may have gone in between, and has no counter then. */
static void nmi_provoke(unsigned int cpu, u32 bits)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_CPU_CYCLES,
		.size		= sizeof(attr),
		.sample_period	= 2000000 + (bits & 15) * 500000,
		.pinned		= 1,
	};
	struct perf_event *counter = perf_event_create_kernel_counter(&attr, cpu, NULL, stress_nmi,
								      NULL);

	usleep_range(20000, 40000);
	if (!IS_ERR(counter))
		perf_event_release_kernel(counter);
}

static void nmi_start(void)
{
	has_nmis = system_uses_irq_prio_masking();
}

/* The thread has released its last counter. */
static void nmi_stop(void)
{
}
#else
static inline void nmi_provoke(unsigned int cpu, u32 bits) { }
static inline void nmi_start(void) { }
static inline void nmi_stop(void) { }
#endif

/* --- threads --- */

static void call_round(struct rnd_state *rnd)
{
	unsigned int i;

	for (i = 0; i < 64; i++) {
		u32 bits = prandom_u32_state(rnd);

		call_some(bits, bits & BIT(31));
	}
	usleep_range(50, 200);
}

static void sleep_round(struct rnd_state *rnd)
{
	u32 bits = prandom_u32_state(rnd), depth = bits & 3;

	expect_result(kprobes_sleeps(depth, (bits >> 2) % 2000), depth + 1);
}

static void change_round(struct rnd_state *rnd)
{
	switch (prandom_u32_state(rnd) % (victim ? 7 : 5)) {
	case 0:
	case 1:
		change_probe(KPROBE, NULL, rnd);
		break;
	case 2:
		change_many(rnd);
		break;
	case 3:
		change_probe(RETURN_PROBE, NULL, rnd);
		break;
	case 4:
		change_jprobe(rnd);
		break;
	default:
		change_victim(rnd);
	}
	cond_resched();
}

/* A task that ends @depth levels deep in a function, or returns from there */
struct leaver {
	struct completion begun;
	u32 depth;
	bool ends;
};

static int leaver_run(void *data)
{
	struct leaver *leaver = data;

	complete(&leaver->begun);
	expect_result(kprobes_exits(leaver->depth, leaver->ends), leaver->depth + 1);
	return 0;
}

static void exit_round(struct rnd_state *rnd)
{
	u32 bits = prandom_u32_state(rnd);
	/* One in four comes back. */
	struct leaver leaver = { .depth = bits % 4, .ends = (bits >> 8) % 4 };
	struct task_struct *task = kthread_create(leaver_run, &leaver, "kprobes_leaver");

	if (!IS_ERR(task)) {
		init_completion(&leaver.begun);
		get_task_struct(task);
		wake_up_process(task);
		/* A thread that was stopped before it has begun would not call the function. */
		wait_for_completion(&leaver.begun);
		kthread_stop_put(task);
		if (leaver.ends)
			atomic64_inc(&tasks_ended);
	}
	usleep_range(2000, 2000 + (bits >> 16) % 16384);
}

static void nmi_round(struct rnd_state *rnd)
{
	u32 bits = prandom_u32_state(rnd);
	unsigned int cpu;

	scoped_guard(cpus_read_lock)
		cpu = cpumask_nth(bits % num_online_cpus(), cpu_online_mask);
	nmi_provoke(cpu, bits >> 16);
}

/* What a thread does again and again. There is one of each for each processor. */
static const struct role {
	void (*round)(struct rnd_state *rnd);
	bool bound;
} roles[] = {
	{ call_round, true }, { call_round, true }, { sleep_round }, { sleep_round },
	{ change_round, true }, { exit_round },
};

/* And one of these in all */
static const struct role nmi_role = { nmi_round };

static struct worker {
	struct task_struct *task;
	const struct role *role;
	struct rnd_state rnd;
} *workers;

static unsigned int nr_workers;

static int worker_run(void *data)
{
	struct worker *worker = data;

	while (!kthread_should_stop())
		worker->role->round(&worker->rnd);
	return 0;
}

static void workers_stop(void)
{
	unsigned int i;

	for (i = 0; workers && i < nr_workers; i++) {
		if (!IS_ERR_OR_NULL(workers[i].task))
			kthread_stop(workers[i].task);
	}
	kfree(workers);
}

static int worker_start(unsigned int number, const struct role *role, unsigned int cpu)
{
	struct worker *worker = &workers[number];

	worker->role = role;
	prandom_seed_state(&worker->rnd, seed + number);
	worker->task = kthread_create(worker_run, worker, "kprobes_stress/%u", number);
	if (IS_ERR(worker->task))
		return PTR_ERR(worker->task);
	if (role->bound)
		kthread_bind(worker->task, cpu);
	wake_up_process(worker->task);
	return 0;
}

static int workers_start(void)
{
	unsigned int cpu, i, number = 0;
	int ret = 0;

	guard(cpus_read_lock)();
	nr_workers = num_online_cpus() * ARRAY_SIZE(roles) + has_nmis;
	workers = kcalloc(nr_workers, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	for_each_online_cpu(cpu) {
		for (i = 0; i < ARRAY_SIZE(roles) && !ret; i++)
			ret = worker_start(number++, &roles[i], cpu);
	}
	if (has_nmis && !ret)
		ret = worker_start(number, &nmi_role, 0);
	return ret;
}

/* --- text that has to be as it was --- */

/*
 * As much of a function's entry as ftrace may have changed when it shuts itself down, and of its
 * end: on arm64, there is a pointer of ftrace's in front of the next function.
 */
#define ENTRY_SIZE	16
#define NEXT_SIZE	(IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) ? sizeof(void *) : 0)

static void *const others[] = {
	kprobes_lonely_traced, kprobes_lonely_untraced, kprobes_sleeps, kprobes_exits,
};

static struct text {
	u8 *start, *copy;
	unsigned long begin, end;
} texts[ENTRIES + ARRAY_SIZE(others)];

static int texts_save(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct text *text = &texts[i];

		text->start = kprobes_function(i < ENTRIES ? (void *)kprobes_entries[i].call :
					       others[i - ENTRIES], &text->end);
		text->copy = text->start ? kmemdup(text->start, text->end, GFP_KERNEL) : NULL;
		if (!text->copy)
			return -ENOMEM;
		if (ftrace_dies) {
			text->begin = min(ENTRY_SIZE, text->end);
			text->end = max(text->begin, text->end - NEXT_SIZE);
		}
	}
	return 0;
}

static void texts_free(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		kfree(texts[i].copy);
}

/* The first byte that has changed, or the end */
static unsigned long text_differs(const struct text *text)
{
	unsigned long at = text->begin;

	while (at < text->end && text->start[at] == text->copy[at])
		at++;
	return at;
}

static unsigned int texts_changed(bool print)
{
	unsigned int i, changed = 0;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		unsigned long at = text_differs(&texts[i]);
		/* As much as a jump takes */
		int length = min(texts[i].end - at, 5);

		changed += length > 0;
		if (print && length)
			pr_err("at %pS is %*ph, and was %*ph\n", texts[i].start + at, length,
			       texts[i].start + at, length, texts[i].copy + at);
	}
	return changed;
}

/* A worker may take a jump out a while after the probe has left. */
static unsigned int texts_left_changed(void)
{
	unsigned int tries;

	for (tries = 0; tries < 100 && texts_changed(false); tries++)
		msleep(50);
	return texts_changed(true);
}

/* --- checks at the end --- */

/* What is known of a probed place: each of its calls must be a hit or a miss. */
struct place {
	const char *name;
	atomic64_t *calls;
	struct kprobe *kp;
	s64 seen, missed, ends;
};

static unsigned int place_check(const struct place *place, bool ends_right)
{
	s64 calls = atomic64_read(place->calls);

	if (ends_right && calls_accounted(calls, place->kp, place->seen + place->missed))
		return 0;
	pr_err("%s: %lld calls, %lld hits, %lld missed, %lld at their end\n", place->name, calls,
	       place->seen, place->missed, place->ends);
	return 1;
}

/*
 * A probe that saw a hit sees its end, too: a handler that runs in the hit's own
 * context at the end also ran at the hit. That is not known for an architecture with
 * its own recursion guard, see kprobe_hit_post().
 */
static bool posts_right(const struct place *place)
{
	if (!place->kp->post_handler)
		return !place->ends;
	if (ARCH_KPROBE_STATELESS)
		return place->ends == place->seen;
	return place->ends <= place->seen && (place->ends || !place->seen);
}

static unsigned int entry_of(const struct kprobes_step *step)
{
	unsigned int i;

	for (i = 0; i < ENTRIES - 1; i++) {
		if (kprobes_entries[i].call == step->call)
			break;
	}
	return i;
}

static unsigned int resident_check(unsigned int i)
{
	const struct kprobes_step *step = &kprobes_steps_table[i];
	struct resident *resident = &residents[i];
	struct place place = {
		step->name, &calls[entry_of(step)], &resident->kp,
		.seen = atomic64_read(&resident->hits),
		.missed = resident->kp.nmissed,
		.ends = atomic64_read(&resident->posts),
	};

	atomic64_add(place.seen, &hits);
	atomic64_add(place.missed, &misses);
	return place_check(&place, posts_right(&place));
}

/* A call that is followed returns, or its task ends. */
static unsigned int returns_check(void)
{
	struct place sleeping = {
		"return probe", &sleeps, &resident_return_probe.kp,
		.seen = atomic64_read(&returns),
		.missed = resident_return_probe.nmissed,
	};
	struct place exits = {
		"return probe where tasks end", &exit_calls, &exit_probe.kp,
		.seen = atomic64_read(&exit_entries),
		.missed = exit_probe.nmissed,
		.ends = atomic64_read(&exit_returns),
	};
	bool may_miss = !IS_ENABLED(CONFIG_KRETPROBE_RETURN_STACK);

	return place_check(&sleeping, may_miss || !sleeping.missed) +
	       place_check(&exits, exits.ends <= exits.seen);
}

/* Follows as many calls at once as there are instances. Returns how many were not followed. */
static s64 exit_instances_away(void)
{
	s64 before = atomic64_read(&exit_returns);

	expect_result(kprobes_exits(EXIT_INSTANCES - 1, false), EXIT_INSTANCES);
	return before + EXIT_INSTANCES - atomic64_read(&exit_returns);
}

/* How many instances do not come back? It may take a while until the dead are reaped. */
static s64 exit_instances_lost(void)
{
	unsigned int tries;

	if (may_be_deaf(&exit_probe.kp))
		return 0;
	for (tries = 0; tries < 250 && exit_instances_away(); tries++) {
		rcu_barrier();
		msleep(20);
	}
	return exit_instances_away();
}

/* With the probes that stayed still there */
static void look_before_they_leave(void)
{
	unsigned int i;

	/* They are counted as all calls are, so that a place that is not hit any more is found. */
	for (i = 0; i < ENTRIES; i++)
		call_entry(i, 1);
	atomic64_set(&instances_lost, exit_instances_lost());
}

static void look_afterwards(void)
{
	unsigned int i, miscounted = returns_check();

	for (i = 0; i < STEPS; i++)
		miscounted += resident_check(i);
	atomic64_set(&places_miscounted, miscounted);
	atomic64_set(&functions_changed, texts_left_changed());
	atomic64_set(&instances_dropped,
		     atomic64_read(&exit_entries) - atomic64_read(&exit_returns));
	for (i = 0; i < ENTRIES; i++)
		atomic64_add(atomic64_read(&calls[i]), &all_calls);
}

static const bool never, always = true;

/*
 * How often something was that must never be, or that must be, if it is wanted. stress.sh of the
 * harness looks for some of the words.
 */
static const struct count {
	const char *what;
	atomic64_t *times;
	const bool *wanted;
} counts[] = {
	{ "places miscounted", &places_miscounted, &never },
	{ "functions changed", &functions_changed, &never },
	{ "wrong results", &wrong_results, &never },
	{ "late handlers", &late_handlers, &never },
	{ "handlers on top of each other", &overlaps, &never },
	{ "wrong answers", &wrong_answers, &never },
	{ "instances lost", &instances_lost, &never },
	{ "calls", &all_calls, &always },
	{ "calls in NMIs", &nmis, &has_nmis },
	{ "hits", &hits, &always },
	{ "missed", &misses, &always },
	{ "returns", &returns, &always },
	{ "registrations", &registrations, &always },
	{ "hits of these", &temporary_hits, &always },
	{ "refused for want of ftrace", &refusals, &ftrace_dies },
	{ "times the victim was found", &victims, &victim },
	{ "times it was not", &absences, &victim },
	{ "tasks ended inside", &tasks_ended, &always },
	{ "instances were theirs", &instances_dropped, &always },
};

static int verdict(void)
{
	DECLARE_SEQ_BUF(report, 768);
	bool right = true;
	unsigned int i;

	look_afterwards();
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		s64 times = atomic64_read(counts[i].times);
		bool wanted = *counts[i].wanted;

		if (counts[i].wanted == &never ? times : wanted)
			seq_buf_printf(&report, ", %lld %s", times, counts[i].what);
		right &= counts[i].wanted == &never ? !times : times || !wanted;
	}
	if (!right) {
		pr_err("fail: seed %u, %u threads%s\n", seed, nr_workers, seq_buf_str(&report));
		return -EIO;
	}
	pr_info("pass: seed %u, %u threads%s\n", seed, nr_workers, seq_buf_str(&report));
	return 0;
}

static int run_workers(void)
{
	int ret;

	nmi_start();
	ret = workers_start();
	if (!ret && msleep_interruptible(seconds * MSEC_PER_SEC))
		ret = -EINTR;
	workers_stop();
	nmi_stop();
	return ret;
}

static int run(void)
{
	int ret;

	pr_info("%u seconds, seed %u\n", seconds, seed);
	ret = residents_come() ?: run_workers();
	if (!ret)
		look_before_they_leave();
	residents_leave();
	return ret ?: verdict();
}

static int __init kprobes_stress_init(void)
{
	int ret;

	if (!seed)
		seed = get_random_u32();
	ret = texts_save() ?: run();
	texts_free();
	return ret;
}

static void __exit kprobes_stress_exit(void)
{
}

module_init(kprobes_stress_init)
module_exit(kprobes_stress_exit)
MODULE_DESCRIPTION("stress test of kprobes");
MODULE_LICENSE("GPL");
