/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes that come and go, one by one and in batches, on functions of this module and of
 * test_kprobes_victim. With failures=1 registrations run out of memory at times.
 */
#ifndef _KPROBES_TESTS_STRESS_CHANGES_H
#define _KPROBES_TESTS_STRESS_CHANGES_H

#include <linux/errno.h>
#include <linux/poison.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "test_kprobes_stress.h"
#include "test_kprobes_stress_exits.h"

/* What was done */
static atomic64_t registrations, temporary_hits;

/* How often a probe has found the victim, and how often not */
static atomic64_t victims, absences;

/* Allocations that fail */

static bool failures;
module_param(failures, bool, 0444);
MODULE_PARM_DESC(failures, "registrations run out of memory, by failslab (default: no)");

/* Registrations that have failed for want of memory */
static atomic64_t shortages;

#ifdef CONFIG_FAILSLAB
/* The @nth allocation of this task is to fail from now on. */
static void memory_spoil(unsigned int nth)
{
	WRITE_ONCE(current->fail_nth, nth);
}

/* Returns whether it has failed. If there were not as many, none fails any more. */
static bool memory_mend(void)
{
	bool failed = !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return failed;
}
#else
static inline void memory_spoil(unsigned int nth)
{
}

static inline bool memory_mend(void)
{
	return false;
}
#endif

/*
 * One registration in four has an allocation that fails. Returns which, 0 for none. There
 * are a few for a breakpoint, and many for a function entry. As many numbers are drawn
 * without failures=1.
 */
static unsigned int shortage_begin(struct rnd_state *rnd)
{
	u32 bits = prandom_u32_state(rnd);
	unsigned int most = 4U << ((bits >> 4) % 4);
	unsigned int nth = 1 + (bits >> 8) % most;

	if (!failures || bits % 4)
		return 0;
	memory_spoil(nth);
	return nth;
}

/*
 * The same for return probes, where only the first one may fail. The next ones are for
 * their instances, in whole pages, and the kernel warns if there are none.
 */
static unsigned int shortage_begin_first(struct rnd_state *rnd)
{
	unsigned int nth = shortage_begin(rnd);

	if (nth)
		memory_spoil(1);
	return nth;
}

/* Was this the answer because of an allocation that was to fail? */
static bool shortage_end(unsigned int nth, int answer)
{
	if (!nth || !memory_mend() || answer != -ENOMEM)
		return false;
	atomic64_inc(&shortages);
	return true;
}

/* Probes */

#define ALIVE		0x600dcafe
#define BATCH		8
#define LINGER_US	50

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
		atomic64_inc(&late_handlers);
}

/* Now and then, stay here for so long that the probe is unregistered meanwhile. */
static void linger(void)
{
	if (!(atomic64_inc_return(&temporary_hits) & 15))
		udelay(LINGER_US);
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
	if (bits & 8)
		probe->kp.flags |= KPROBE_FLAG_NESTS;
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

/* Is this the answer because ftrace has shut itself down? */
static bool refused(int answer)
{
	if (!ftrace_dies || answer != -ENODEV)
		return false;
	atomic64_inc(&refusals);
	return true;
}

static void expect_answer(int answer, int expected)
{
	if (answer != expected && !refused(answer))
		atomic64_inc(&wrong_answers);
}

/* @nth is what shortage_begin() has returned before the registration. */
static void expect_registered(int answer, int expected, unsigned int nth)
{
	if (!shortage_end(nth, answer))
		expect_answer(answer, expected);
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
	unsigned int nth, i;
	int ret;

	if (!probe)
		return;
	nth = shortage_begin(rnd);
	ret = register_kprobe(&probe->kp);
	expect_registered(ret, 0, nth);
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
	unsigned int num, spoiled, nth, i;
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
	nth = shortage_begin(rnd);
	ret = register_kprobes(kps, num);
	expect_registered(ret, spoiled < num ? -EINVAL : 0, nth);
	if (!ret) {
		atomic64_add(num, &registrations);
		pause_a_little(rnd);
		unregister_kprobes(kps, num);
	}
out:
	for (i = 0; i < num; i++)
		temporary_free(kps[i] ? container_of(kps[i], struct temporary, kp) : NULL);
}

static void *returning_function(struct rnd_state *rnd)
{
	u32 bits = prandom_u32_state(rnd);

	switch (bits % 8) {
	case 0:
		return kprobes_exits;
	case 1:
	case 2:
		return kprobes_sleeps;
	case 3:
	case 4:
		return lonely_function(rnd);
	default:
		return kprobes_entries[(bits >> 8) % ENTRIES].call;
	}
}

static struct temporary_return *temporary_return_new(struct rnd_state *rnd)
{
	struct temporary_return *probe = kzalloc(sizeof(*probe), GFP_KERNEL);

	if (!probe)
		return NULL;
	probe->state = ALIVE;
	probe->rp.kp.addr = returning_function(rnd);
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
	unsigned int nth;
	int ret;

	if (!probe)
		return;
	nth = shortage_begin_first(rnd);
	ret = register_kretprobe(&probe->rp);
	expect_registered(ret, 0, nth);
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
static bool found_victim(int answer, unsigned int nth)
{
	if (shortage_end(nth, answer))
		return false;
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
	unsigned int nth;

	if (!probe)
		return;
	aim_at_victim(&probe->kp, rnd);
	nth = shortage_begin(rnd);
	if (found_victim(register_kprobe(&probe->kp), nth)) {
		pause_a_little(rnd);
		unregister_kprobe(&probe->kp);
	}
	temporary_free(probe);
}

static void change_victim_return(struct rnd_state *rnd)
{
	struct temporary_return *probe = temporary_return_new(rnd);
	unsigned int nth;

	if (!probe)
		return;
	aim_at_victim(&probe->rp.kp, rnd);
	nth = shortage_begin_first(rnd);
	if (found_victim(register_kretprobe(&probe->rp), nth)) {
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
		atomic64_inc(&late_handlers);
}

static u32 jprobe_sleeps(u32 depth, u32 us, unsigned int before)
{
	if (depth > 3 || us > 2000 || (before & SWITCH_MASK) > SWITCH_MOVES)
		atomic64_inc(&wrong_results);
	depth = 77;
	us = 0;
	before = 0;
	expect_jprobe();
	linger();
	expect_jprobe();
	jprobe_return();
	return depth + us + before;
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
	unsigned int nth;
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
	nth = shortage_begin(rnd);
	ret = register_jprobe(probe);
	expect_registered(ret, 0, nth);
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

#endif /* _KPROBES_TESTS_STRESS_CHANGES_H */
