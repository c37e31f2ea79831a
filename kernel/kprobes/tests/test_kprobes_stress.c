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
 * With victim=1, probes are put on functions of test_kprobes_victim, too. It is to
 * be loaded and removed meanwhile, and some probes must find it.
 *
 * With switches=1, all probes are to be switched off and on meanwhile. While they are
 * off, no call may be seen or missed. The parameter switch_is says when that was: it is
 * to be written to before, and after.
 *
 * With ftrace_dies=1, ftrace is to be made to shut itself down meanwhile. Who wants to be
 * called by ftrace then may be told that there is none, and who is already may miss calls.
 *
 * With failures=1, memory allocations of registrations fail. That is only so if failslab
 * in debugfs lets allocations fail that could wait: ignore-gfp-wait has to be 0. With
 * verbose at 0 it is quiet.
 */
#define pr_fmt(fmt) "kprobes_stress: " fmt

#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kprobes_arch.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sprintf.h>
#include <linux/string.h>

#include "test_kprobes_stress.h"
#include "test_kprobes_stress_changes.h"
#include "test_kprobes_stress_exits.h"
#include "test_kprobes_stress_nmi.h"

static unsigned int seconds = 10;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long to run (default: 10)");

static unsigned int seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "where the random numbers start, 0 for anywhere (default: 0)");

static bool victim;
module_param(victim, bool, 0444);
MODULE_PARM_DESC(victim, "test_kprobes_victim comes and goes meanwhile (default: no)");

static bool switches;
module_param(switches, bool, 0444);
MODULE_PARM_DESC(switches, "kprobes/enabled and switch_is are written to meanwhile (default: no)");

/* Probes that stay from the first call to the last */

static atomic64_t returns;

static int resident_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic64_inc(&returns);
	return 0;
}

static struct kretprobe resident_return_probe = {
	.kp.addr = (kprobe_opcode_t *)kprobes_sleeps,
	.handler = resident_return,
};

struct resident {
	struct kprobe kp;
	atomic64_t hits, posts;
};

static struct resident residents[STEPS];

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

static void residents_leave(unsigned int num)
{
	while (num--)
		unregister_kprobe(&residents[num].kp);
	unregister_kretprobe(&exit_probe);
	unregister_kretprobe(&resident_return_probe);
}

static int return_probes_come(void)
{
	int ret = register_kretprobe(&resident_return_probe);

	if (ret)
		return ret;
	ret = register_kretprobe(&exit_probe);
	if (ret)
		unregister_kretprobe(&resident_return_probe);
	return ret;
}

static int residents_come(void)
{
	unsigned int i;
	int ret;

	ret = return_probes_come();
	if (ret) {
		pr_err("fail: return probe: %d\n", ret);
		return ret;
	}
	for (i = 0; i < STEPS; i++) {
		residents[i].kp.addr = kprobes_steps_table[i].addr;
		residents[i].kp.pre_handler = resident_pre;
		if (i & 1)
			residents[i].kp.post_handler = resident_post;
		if (i & 2)
			residents[i].kp.flags = KPROBE_FLAG_NESTS;
		ret = register_kprobe(&residents[i].kp);
		if (ret) {
			pr_err("fail: %s: %d\n", kprobes_steps_table[i].name, ret);
			residents_leave(i);
			return ret;
		}
	}
	return 0;
}

/* Threads */

static int caller_run(void *data)
{
	struct worker *worker = data;
	unsigned int round = 0;

	while (!kthread_should_stop()) {
		u32 bits = prandom_u32_state(&worker->rnd);

		/* Some arguments make the conditional jump go the other way. */
		call_entry(bits % ENTRIES, bits & 0x80000000 ? -15 : bits);
		call_lonely(bits);
		if (!(++round % 64))
			usleep_range(50, 200);
	}
	return 0;
}

static int sleeper_run(void *data)
{
	struct worker *worker = data;

	while (!kthread_should_stop()) {
		u32 bits = prandom_u32_state(&worker->rnd);
		u32 depth = bits & 3;

		if (kprobes_sleeps(depth, (bits >> 2) % 2000, switch_look()) != depth + 1)
			atomic64_inc(&wrong_results);
	}
	return 0;
}

/* A changer runs one of these at a time, at random, and change_one() twice as often. */
static void (*const changes[])(struct rnd_state *rnd) = {
	change_one,
	change_one,
	change_many,
	change_return,
	change_jprobe,
	/* The last ones are left out without victim=1. */
	change_victim,
	change_victim_return,
};

#define VICTIM_CHANGES	2

static int changer_run(void *data)
{
	const unsigned int kinds = ARRAY_SIZE(changes) - (victim ? 0 : VICTIM_CHANGES);
	struct worker *worker = data;

	while (!kthread_should_stop()) {
		changes[prandom_u32_state(&worker->rnd) % kinds](&worker->rnd);
		cond_resched();
	}
	return 0;
}

/* There is one of each for each CPU. Callers and changers are bound to it. */
static int (*const roles[])(void *data) = {
	caller_run, caller_run, sleeper_run, sleeper_run, changer_run, exiter_run,
};

#define ROLES	ARRAY_SIZE(roles)

static struct worker *workers;
static unsigned int nr_workers;

static void workers_stop(void)
{
	unsigned int i;

	for (i = 0; i < nr_workers; i++) {
		if (!IS_ERR_OR_NULL(workers[i].task))
			kthread_stop(workers[i].task);
	}
	kfree(workers);
}

static int worker_start(unsigned int number, int (*run)(void *data), unsigned int cpu)
{
	struct worker *worker = &workers[number];

	prandom_seed_state(&worker->rnd, seed + number);
	worker->task = kthread_create(run, worker, "kprobes_stress/%u", number);
	if (IS_ERR(worker->task))
		return PTR_ERR(worker->task);
	if (run == caller_run || run == changer_run)
		kthread_bind(worker->task, cpu);
	wake_up_process(worker->task);
	return 0;
}

static int workers_start(void)
{
	unsigned int cpu, i, number = 0;
	int ret = 0;

	cpus_read_lock();
	nr_workers = num_online_cpus() * ROLES + has_nmis;
	workers = kcalloc(nr_workers, sizeof(*workers), GFP_KERNEL);
	if (!workers) {
		cpus_read_unlock();
		return -ENOMEM;
	}
	for_each_online_cpu(cpu) {
		for (i = 0; i < ROLES && !ret; i++)
			ret = worker_start(number++, roles[i], cpu);
	}
	if (has_nmis && !ret)
		ret = worker_start(number, nmi_run, 0);
	cpus_read_unlock();
	if (ret)
		workers_stop();
	return ret;
}

/* Checks at the end */

/*
 * As much of a function's entry as ftrace may have changed when it shuts itself down, and of its
 * end: on arm64, there is a pointer of ftrace's in front of the next function.
 */
#define ENTRY_SIZE	16
#define NEXT_SIZE	(IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) ? sizeof(void *) : 0)

/* Functions whose text is compared */
static void *const others[] = {
	kprobes_lonely_traced, kprobes_lonely_untraced, kprobes_sleeps, kprobes_exits,
};

#define TEXTS	(ENTRIES + ARRAY_SIZE(others))

static void *texts[TEXTS];
static unsigned long text_sizes[TEXTS];

static void *text_of(unsigned int i)
{
	if (i < ENTRIES)
		return kprobes_entries[i].call;
	return others[i - ENTRIES];
}

static int texts_save(void)
{
	unsigned int i;

	for (i = 0; i < TEXTS; i++) {
		void *start = kprobes_function(text_of(i), &text_sizes[i]);

		texts[i] = start ? kmemdup(start, text_sizes[i], GFP_KERNEL) : NULL;
		if (!texts[i])
			return -ENOMEM;
	}
	return 0;
}

static void texts_free(void)
{
	unsigned int i;

	for (i = 0; i < TEXTS; i++)
		kfree(texts[i]);
}

/* Tells where, with as much as a jump takes */
static void text_print(unsigned int i, unsigned long at, unsigned long end)
{
	const u8 *now = text_of(i), *then = texts[i];
	int length;

	while (at < end && now[at] == then[at])
		at++;
	length = min(end - at, 5);
	pr_err("at %pS is %*ph, and was %*ph\n", now + at, length, now + at, length, then + at);
}

static bool text_same(unsigned int i, unsigned long begin, unsigned long end)
{
	return end <= begin || !memcmp(text_of(i) + begin, texts[i] + begin, end - begin);
}

static unsigned int texts_changed(bool print)
{
	unsigned int i, begin = 0, behind = 0, changed = 0;

	if (ftrace_dies) {
		begin = ENTRY_SIZE;
		behind = NEXT_SIZE;
	}
	for (i = 0; i < TEXTS; i++) {
		if (text_same(i, begin, text_sizes[i] - behind))
			continue;
		changed++;
		if (print)
			text_print(i, begin, text_sizes[i] - behind);
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

static unsigned int entry_of(const struct kprobes_step *step)
{
	unsigned int i;

	for (i = 0; i < ENTRIES - 1; i++) {
		if (kprobes_entries[i].call == step->call)
			break;
	}
	return i;
}

/*
 * A probe that saw a hit sees its end, too: a handler that runs in the hit's own
 * context at the end also ran at the hit. That is not known for an architecture with
 * its own recursion guard, see kprobe_hit_post().
 */
static bool posts_right(struct resident *resident, s64 seen)
{
	s64 posts = atomic64_read(&resident->posts);

	if (!resident->kp.post_handler)
		return !posts;
	if (ARCH_KPROBE_STATELESS)
		return posts == seen;
	return posts <= seen && (posts || !seen);
}

/* All hits and misses of the probes that stayed */
static atomic64_t hits, misses;

/* Each call of a probed place must be a hit or a miss. */
static unsigned int residents_check(void)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < STEPS; i++) {
		struct calls *called = &calls[entry_of(&kprobes_steps_table[i])];
		struct resident *resident = &residents[i];
		s64 seen = atomic64_read(&resident->hits);
		s64 missed = resident->kp.nmissed;

		atomic64_add(seen, &hits);
		atomic64_add(missed, &misses);
		if (calls_accounted(called, &resident->kp, seen + missed) &&
		    posts_right(resident, seen))
			continue;
		calls_print(kprobes_steps_table[i].name, called);
		pr_err("%lld hits, %lld missed, %lld post handlers\n", seen, missed,
		       (s64)atomic64_read(&resident->posts));
		wrong++;
	}
	return wrong;
}

static unsigned int returns_check(void)
{
	s64 seen = atomic64_read(&returns);
	int missed = resident_return_probe.nmissed;

	if (calls_accounted(&sleeps, &resident_return_probe.kp, seen + missed) &&
	    (!missed || !IS_ENABLED(CONFIG_KRETPROBE_RETURN_STACK)))
		return 0;
	calls_print("return probe", &sleeps);
	pr_err("%lld returns, %d missed\n", seen, missed);
	return 1;
}

/* How many probes do not see one more call? Nobody else makes any now. */
static unsigned int residents_deaf(void)
{
	unsigned int i, deaf = 0;
	s64 before[STEPS];

	for (i = 0; i < STEPS; i++)
		before[i] = atomic64_read(&residents[i].hits);
	for (i = 0; i < ENTRIES; i++)
		call_entry(i, 1);
	for (i = 0; i < STEPS; i++) {
		deaf += !may_be_deaf(&residents[i].kp) &&
			atomic64_read(&residents[i].hits) != before[i] + 1;
	}
	return deaf;
}

static atomic64_t places_miscounted, places_deaf, instances_lost, functions_changed;
static atomic64_t all_calls, calls_off, instances_dropped;

/* With the probes that stayed still there */
static int look_before_they_leave(void)
{
	if (!switch_wait_on()) {
		pr_err("fail: the switch was not turned on again\n");
		return -EIO;
	}
	atomic64_set(&places_deaf, residents_deaf());
	atomic64_set(&instances_lost, exit_instances_lost());
	return 0;
}

static void look_afterwards(void)
{
	unsigned int i;

	atomic64_set(&places_miscounted, residents_check() + returns_check() + exits_check());
	atomic64_set(&functions_changed, texts_left_changed());
	atomic64_set(&instances_dropped,
		     atomic64_read(&exit_entries) - atomic64_read(&exit_returns));
	for (i = 0; i < ENTRIES; i++) {
		atomic64_add(calls_sum(&calls[i]), &all_calls);
		atomic64_add(atomic64_read(&calls[i].off), &calls_off);
	}
}

/**
 * struct count - something that is counted
 * @what: in words
 * @times: how often
 * @wanted: whether it is there at all; NULL if it always is
 */
struct count {
	const char *what;
	atomic64_t *times;
	const bool *wanted;
};

/* What must not have happened */
static const struct count wrongs[] = {
	{ "places miscounted", &places_miscounted },
	{ "places not hit any more", &places_deaf },
	{ "functions changed", &functions_changed },
	{ "wrong results", &wrong_results },
	{ "late handlers", &late_handlers },
	{ "handlers on top of each other", &overlaps },
	{ "wrong answers", &wrong_answers },
	{ "instances lost", &instances_lost },
};

/* What must have happened. stress.sh of the harness looks for some of these words. */
static const struct count deeds[] = {
	{ "calls", &all_calls },
	{ "calls in NMIs", &nmis, &has_nmis },
	{ "hits", &hits },
	{ "missed", &misses },
	{ "returns", &returns },
	{ "registrations", &registrations },
	{ "hits of these", &temporary_hits },
	{ "registrations out of memory", &shortages, &failures },
	{ "refused for want of ftrace", &refusals, &ftrace_dies },
	{ "times the victim was found", &victims, &victim },
	{ "times it was not", &absences, &victim },
	{ "tasks ended inside", &tasks_ended },
	{ "instances were theirs", &instances_dropped },
	{ "times switched off", &times_off, &switches },
	{ "calls meanwhile", &calls_off, &switches },
};

static char report[768];

static void report_count(const struct count *count)
{
	size_t len = strlen(report);

	scnprintf(report + len, sizeof(report) - len, ", %lld %s",
		  (s64)atomic64_read(count->times), count->what);
}

static bool nothing_wrong(void)
{
	bool right = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
		if (!atomic64_read(wrongs[i].times))
			continue;
		report_count(&wrongs[i]);
		right = false;
	}
	return right;
}

static bool all_done(void)
{
	bool done = true;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(deeds); i++) {
		if (deeds[i].wanted && !*deeds[i].wanted)
			continue;
		report_count(&deeds[i]);
		done &= atomic64_read(deeds[i].times) > 0;
	}
	return done;
}

static int verdict(void)
{
	bool right;

	look_afterwards();
	right = nothing_wrong();
	right &= all_done();
	if (!right) {
		pr_err("fail: seed %u, %u threads%s\n", seed, nr_workers, report);
		return -EIO;
	}
	pr_info("pass: seed %u, %u threads%s\n", seed, nr_workers, report);
	return 0;
}

static int run_workers(void)
{
	int ret;

	nmi_start();
	ret = workers_start();
	if (!ret) {
		if (msleep_interruptible(seconds * MSEC_PER_SEC))
			ret = -EINTR;
		workers_stop();
	}
	nmi_stop();
	return ret;
}

static int run(void)
{
	int ret = residents_come();

	if (ret)
		return ret;
	ret = run_workers() ?: look_before_they_leave();
	residents_leave(STEPS);
	return ret ?: verdict();
}

static int __init kprobes_stress_init(void)
{
	int ret;

	if (!seed)
		seed = get_random_u32();
	ret = texts_save();
	if (!ret) {
		pr_info("%u seconds, seed %u\n", seconds, seed);
		ret = run();
	}
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
