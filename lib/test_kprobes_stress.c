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
 * - each probe that stayed all the time must have seen or missed each call, and its
 *   post handler must have seen what it saw; a return probe, each return;
 * - no handler may have run after its probe was unregistered, although tasks slept
 *   in the function, and nobody may have used the probe's struct, which is
 *   overwritten at once;
 * - the text of the functions must be what it was.
 *
 * test_kprobes_visitor, loaded and removed meanwhile, does the same with a module.
 * With victim=1, probes are put on functions of test_kprobes_victim, too. It is to
 * be loaded and removed meanwhile, and some probes must find it.
 */
#define pr_fmt(fmt) "kprobes_stress: " fmt

#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/poison.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "test_kprobes/targets.h"

static unsigned int seconds = 10;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long to run (default: 10)");

static unsigned int seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "where the random numbers start, 0 for anywhere (default: 0)");

static bool victim;
module_param(victim, bool, 0444);
MODULE_PARM_DESC(victim, "test_kprobes_victim comes and goes meanwhile (default: no)");

#define STEPS		ARRAY_SIZE(kprobes_steps_table)
#define ENTRIES		ARRAY_SIZE(kprobes_entries)
#define LONELY		ARRAY_SIZE(lonely)
#define CALLERS		2
#define SLEEPERS	2
#define BATCH		8

/*
 * Functions without a resident probe: a temporary one may be the first to come
 * and the last to leave. Like the other targets, they are called all the time.
 */
static noinline __noclone u32 kprobes_lonely_traced(u32 x)
{
	kprobes_begin(&x);
	return kprobes_expected(x) + 1;
}

static noinline __noclone notrace u32 kprobes_lonely_untraced(u32 x)
{
	kprobes_begin(&x);
	return kprobes_expected(x) + 2;
}

static u32 (*const lonely[])(u32 x) = { kprobes_lonely_traced, kprobes_lonely_untraced };

/* Calls of each function in kprobes_entries[] */
static atomic64_t calls[ENTRIES];

/* What went wrong */
static atomic_t wrong_results, late_handlers, wrong_answers;

/* What was done */
static atomic64_t registrations, temporary_hits;

/* How often a probe has found the victim, and how often not */
static atomic64_t victims, absences;

static unsigned int entry_of(const struct kprobes_step *step)
{
	unsigned int i;

	for (i = 0; i < ENTRIES - 1; i++) {
		if (kprobes_entries[i].call == step->call)
			break;
	}
	return i;
}

static void call_entry(unsigned int entry, u32 x)
{
	atomic64_inc(&calls[entry]);
	if (kprobes_entries[entry].call(x) != kprobes_expected(x))
		atomic_inc(&wrong_results);
}

static void call_lonely(u32 x)
{
	if (kprobes_lonely_traced(x) != kprobes_expected(x) + 1 ||
	    kprobes_lonely_untraced(x) != kprobes_expected(x) + 2)
		atomic_inc(&wrong_results);
}

/* A function that tasks sleep in, on several levels, while probes come and go. */
static atomic64_t sleeps;

static noinline __noclone u32 kprobes_sleeps(u32 depth, u32 us)
{
	u32 below = 0;

	atomic64_inc(&sleeps);
	if (depth)
		below = kprobes_sleeps(depth - 1, us);
	else
		usleep_range(us, us + 100);
	kprobes_no_tail_call(&below);
	return below + 1;
}

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

static int resident_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct resident *resident = container_of(kp, struct resident, kp);

	/* Now and then, make hits that have to be missed. */
	if (!(atomic64_inc_return(&resident->hits) & 31))
		call_entry((resident - residents) % ENTRIES, 1);
	return 0;
}

static void resident_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	atomic64_inc(&container_of(kp, struct resident, kp)->posts);
}

static void residents_leave(unsigned int num)
{
	unregister_kretprobe(&resident_return_probe);
	while (num--)
		unregister_kprobe(&residents[num].kp);
}

static int residents_come(void)
{
	unsigned int i;
	int ret;

	ret = register_kretprobe(&resident_return_probe);
	if (ret) {
		pr_err("fail: return probe: %d\n", ret);
		return ret;
	}
	for (i = 0; i < STEPS; i++) {
		residents[i].kp.addr = kprobes_steps_table[i].addr;
		residents[i].kp.pre_handler = resident_pre;
		if (i & 1)
			residents[i].kp.post_handler = resident_post;
		ret = register_kprobe(&residents[i].kp);
		if (ret) {
			pr_err("fail: %s: %d\n", kprobes_steps_table[i].name, ret);
			residents_leave(i);
			return ret;
		}
	}
	return 0;
}

/* Probes that come and go */

#define ALIVE	0x600dcafe

struct temporary {
	struct kprobe kp;
	unsigned int state;
};

struct temporary_return {
	struct kretprobe rp;
	unsigned int state;
};

static void expect_alive(unsigned int *state)
{
	if (READ_ONCE(*state) != ALIVE)
		atomic_inc(&late_handlers);
}

/* Now and then, stay here for so long that the probe is unregistered meanwhile. */
static void linger(void)
{
	if (!(atomic64_inc_return(&temporary_hits) & 15))
		udelay(50);
}

static void note_hit(unsigned int *state)
{
	expect_alive(state);
	linger();
	expect_alive(state);
}

static int temporary_pre(struct kprobe *kp, struct pt_regs *regs)
{
	note_hit(&container_of(kp, struct temporary, kp)->state);
	return 0;
}

static void temporary_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	note_hit(&container_of(kp, struct temporary, kp)->state);
}

static int temporary_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	note_hit(&container_of(rp, struct temporary_return, rp)->state);
	return 0;
}

static int temporary_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);

	if (rp)
		note_hit(&container_of(rp, struct temporary_return, rp)->state);
	return 0;
}

static void *lonely_function(struct rnd_state *rnd)
{
	return lonely[prandom_u32_state(rnd) % LONELY];
}

static struct temporary *temporary_new(struct rnd_state *rnd)
{
	struct temporary *probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	u32 bits = prandom_u32_state(rnd);

	if (!probe)
		return NULL;
	probe->state = ALIVE;
	probe->kp.addr = kprobes_steps_table[bits % STEPS].addr;
	if (bits & BIT(31))
		probe->kp.addr = lonely_function(rnd);
	bits = prandom_u32_state(rnd);
	if (bits & 1)
		probe->kp.pre_handler = temporary_pre;
	if (bits & 2)
		probe->kp.post_handler = temporary_post;
	if (bits & 4)
		probe->kp.flags = KPROBE_FLAG_DISABLED;
	return probe;
}

/* The memory is freed at once: nobody may use it any more. */
static void poison_and_free(void *probe, size_t size)
{
	memset(probe, POISON_FREE, size);
	kfree(probe);
}

static void temporary_free(struct temporary *probe)
{
	if (probe)
		poison_and_free(probe, sizeof(*probe));
}

static void expect_answer(int answer, int expected)
{
	if (answer != expected && answer != -ENOMEM)
		atomic_inc(&wrong_answers);
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

static void change_one(struct rnd_state *rnd)
{
	struct temporary *probe = temporary_new(rnd);
	unsigned int i;
	int ret;

	if (!probe)
		return;
	ret = register_kprobe(&probe->kp);
	expect_answer(ret, 0);
	if (!ret) {
		atomic64_inc(&registrations);
		for (i = prandom_u32_state(rnd) % 4; i; i--) {
			pause_a_little(rnd);
			expect_answer(i & 1 ? enable_kprobe(&probe->kp) :
				      disable_kprobe(&probe->kp), 0);
		}
		unregister_kprobe(&probe->kp);
	}
	temporary_free(probe);
}

/* A batch, sometimes with a probe in it that must be refused. */
static void change_many(struct rnd_state *rnd)
{
	struct kprobe *kps[BATCH] = {};
	unsigned int num, spoiled, i;
	int ret;

	num = 1 + prandom_u32_state(rnd) % BATCH;
	spoiled = prandom_u32_state(rnd) % (4 * BATCH);
	for (i = 0; i < num; i++) {
		struct temporary *probe = temporary_new(rnd);

		if (!probe)
			goto out;
		kps[i] = &probe->kp;
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
		temporary_free(kps[i] ? container_of(kps[i], struct temporary, kp) : NULL);
}

static struct temporary_return *temporary_return_new(struct rnd_state *rnd)
{
	struct temporary_return *probe = kzalloc(sizeof(*probe), GFP_KERNEL);

	if (!probe)
		return NULL;
	probe->state = ALIVE;
	probe->rp.kp.addr = (void *)kprobes_sleeps;
	if (prandom_u32_state(rnd) & 1)
		probe->rp.kp.addr = (void *)kprobes_entries[prandom_u32_state(rnd) % ENTRIES].call;
	else if (prandom_u32_state(rnd) & 1)
		probe->rp.kp.addr = lonely_function(rnd);
	probe->rp.handler = temporary_return;
	if (prandom_u32_state(rnd) & 1)
		probe->rp.entry_handler = temporary_entry;
	probe->rp.maxactive = prandom_u32_state(rnd) % 4;
	probe->rp.data_size = prandom_u32_state(rnd) % 64;
	return probe;
}

static void change_return(struct rnd_state *rnd)
{
	struct temporary_return *probe = temporary_return_new(rnd);
	int ret;

	if (!probe)
		return;
	ret = register_kretprobe(&probe->rp);
	expect_answer(ret, 0);
	if (!ret) {
		atomic64_inc(&registrations);
		pause_a_little(rnd);
		unregister_kretprobe(&probe->rp);
	}
	poison_and_free(probe, sizeof(*probe));
}

/*
 * At a function of another module, by name. The module may come and go at any time:
 * before, during and after the registration.
 */
static void aim_at_victim(struct kprobe *kp, struct rnd_state *rnd)
{
	kp->addr = NULL;
	kp->symbol_name = prandom_u32_state(rnd) & 1 ? "kprobes_victim" : "kprobes_victim_untraced";
}

/* If the module goes after the symbol was found, the address is no kernel text any more. */
static bool found_victim(int answer)
{
	if (!answer)
		atomic64_inc(&victims);
	else if (answer == -ENOENT || answer == -EINVAL)
		atomic64_inc(&absences);
	else
		expect_answer(answer, 0);
	return !answer;
}

static void change_victim(struct rnd_state *rnd)
{
	struct temporary *probe = temporary_new(rnd);

	if (!probe)
		return;
	aim_at_victim(&probe->kp, rnd);
	if (found_victim(register_kprobe(&probe->kp))) {
		pause_a_little(rnd);
		unregister_kprobe(&probe->kp);
	}
	temporary_free(probe);
}

static void change_victim_return(struct rnd_state *rnd)
{
	struct temporary_return *probe = temporary_return_new(rnd);

	if (!probe)
		return;
	aim_at_victim(&probe->rp.kp, rnd);
	if (found_victim(register_kretprobe(&probe->rp))) {
		pause_a_little(rnd);
		unregister_kretprobe(&probe->rp);
	}
	poison_and_free(probe, sizeof(*probe));
}

#ifdef CONFIG_JPROBES
static atomic_t jprobes;

/* A handler cannot tell which jprobe it is called for, but there must be one. */
static void expect_jprobe(void)
{
	if (!atomic_read(&jprobes))
		atomic_inc(&late_handlers);
}

static u32 jprobe_sleeps(u32 depth, u32 us)
{
	if (depth > 3 || us > 2000)
		atomic_inc(&wrong_results);
	depth = 77;
	us = 0;
	expect_jprobe();
	linger();
	expect_jprobe();
	jprobe_return();
	return depth + us;
}

static u32 jprobe_lonely(u32 x)
{
	expect_jprobe();
	linger();
	expect_jprobe();
	return x;
}

static void change_jprobe(struct rnd_state *rnd)
{
	struct jprobe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	int ret;

	if (!probe)
		return;
	probe->kp.addr = (kprobe_opcode_t *)kprobes_sleeps;
	probe->entry = JPROBE_ENTRY(jprobe_sleeps);
	if (prandom_u32_state(rnd) & 1) {
		probe->kp.addr = lonely_function(rnd);
		probe->entry = JPROBE_ENTRY(jprobe_lonely);
	}
	atomic_inc(&jprobes);
	ret = register_jprobe(probe);
	expect_answer(ret, 0);
	if (!ret) {
		atomic64_inc(&registrations);
		pause_a_little(rnd);
		unregister_jprobe(probe);
	}
	atomic_dec(&jprobes);
	poison_and_free(probe, sizeof(*probe));
}
#else
static void change_jprobe(struct rnd_state *rnd)
{
}
#endif

/* Threads */

struct worker {
	struct task_struct *task;
	struct rnd_state rnd;
	int (*run)(void *data);
};

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

		if (kprobes_sleeps(depth, (bits >> 2) % 2000) != depth + 1)
			atomic_inc(&wrong_results);
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

/* For each CPU there are callers, a changer, and sleepers, which are not bound to it. */
#define WORKERS		(CALLERS + SLEEPERS + 1)

static int worker_start(struct worker *worker, unsigned int number, unsigned int cpu)
{
	unsigned int role = number % WORKERS;

	prandom_seed_state(&worker->rnd, seed + number);
	worker->run = role < CALLERS ? caller_run :
		      role < CALLERS + SLEEPERS ? sleeper_run : changer_run;
	worker->task = kthread_create(worker->run, worker, "kprobes_stress/%u", number);
	if (IS_ERR(worker->task))
		return PTR_ERR(worker->task);
	if (worker->run != sleeper_run)
		kthread_bind(worker->task, cpu);
	wake_up_process(worker->task);
	return 0;
}

static int workers_start(void)
{
	unsigned int cpu, i, number = 0;
	int ret = 0;

	cpus_read_lock();
	nr_workers = num_online_cpus() * WORKERS;
	workers = kcalloc(nr_workers, sizeof(*workers), GFP_KERNEL);
	if (!workers) {
		cpus_read_unlock();
		return -ENOMEM;
	}
	for_each_online_cpu(cpu) {
		for (i = 0; i < WORKERS && !ret; i++, number++)
			ret = worker_start(&workers[number], number, cpu);
	}
	cpus_read_unlock();
	if (ret)
		workers_stop();
	return ret;
}

/* Checks at the end */

#define TEXTS	(ENTRIES + LONELY)

static void *texts[TEXTS];
static unsigned long text_sizes[TEXTS];

static void *text_of(unsigned int i)
{
	return i < ENTRIES ? kprobes_entries[i].call : lonely[i - ENTRIES];
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

static unsigned int texts_changed(void)
{
	unsigned int i, changed = 0;

	for (i = 0; i < TEXTS; i++)
		changed += !!memcmp(text_of(i), texts[i], text_sizes[i]);
	return changed;
}

/* A worker may take a jump out a while after the probe has left. */
static bool texts_restored(void)
{
	unsigned int tries;

	for (tries = 0; tries < 100 && texts_changed(); tries++)
		msleep(50);
	return !texts_changed();
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

/* Each call of a probed place must be a hit or a miss. */
static unsigned int residents_check(s64 *hits, s64 *missed)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < STEPS; i++) {
		struct resident *resident = &residents[i];
		s64 seen = atomic64_read(&resident->hits);
		s64 called = atomic64_read(&calls[entry_of(&kprobes_steps_table[i])]);

		*hits += seen;
		*missed += resident->kp.nmissed;
		if (seen + resident->kp.nmissed == called && posts_right(resident, seen))
			continue;
		pr_err("%s: %lld calls, %lld hits, %lu missed, %lld post handlers\n",
		       kprobes_steps_table[i].name, called, seen, resident->kp.nmissed,
		       (s64)atomic64_read(&resident->posts));
		wrong++;
	}
	return wrong;
}

static unsigned int returns_check(void)
{
	s64 called = atomic64_read(&sleeps);
	s64 seen = atomic64_read(&returns);
	int missed = resident_return_probe.nmissed;

	if (seen + missed == called &&
	    (!missed || !IS_ENABLED(CONFIG_KRETPROBE_RETURN_STACK)))
		return 0;
	pr_err("return probe: %lld calls, %lld returns, %d missed\n", called, seen, missed);
	return 1;
}

static int verdict(void)
{
	s64 hits = 0, missed = 0, called = 0;
	s64 found = atomic64_read(&victims);
	unsigned int miscounted, i;
	bool restored;

	miscounted = residents_check(&hits, &missed) + returns_check();
	restored = texts_restored();
	for (i = 0; i < ENTRIES; i++)
		called += atomic64_read(&calls[i]);
	if (miscounted || !restored || !called || (victim && !found) ||
	    atomic_read(&wrong_results) || atomic_read(&late_handlers) ||
	    atomic_read(&wrong_answers)) {
		pr_err("fail: seed %u: %u places miscounted, text %s, %d wrong results, %d late handlers, %d wrong answers, %lld calls, the victim was found %lld times\n",
		       seed, miscounted, restored ? "restored" : "changed",
		       atomic_read(&wrong_results), atomic_read(&late_handlers),
		       atomic_read(&wrong_answers), called, found);
		return -EIO;
	}
	pr_info("pass: seed %u, %u threads, %lld calls, %lld hits, %lld missed, %lld returns, %lld registrations with %lld hits, the victim was found %lld times and not %lld times\n",
		seed, nr_workers, called, hits, missed, (s64)atomic64_read(&returns),
		(s64)atomic64_read(&registrations), (s64)atomic64_read(&temporary_hits),
		found, (s64)atomic64_read(&absences));
	return 0;
}

static int run(void)
{
	int ret = residents_come();

	if (ret)
		return ret;
	ret = workers_start();
	if (!ret) {
		if (msleep_interruptible(seconds * MSEC_PER_SEC))
			ret = -EINTR;
		workers_stop();
	}
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
