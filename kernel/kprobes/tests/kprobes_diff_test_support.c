// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instructions, executed natively and with probes on them; see support/diff.h.
 */
#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../internal.h"
#include "support/diff.h"
#include "support/switch.h"

/* What a run leaves */
struct outcome {
	struct pt_regs	regs;
	u8		seen[];
};

#define OUTCOME_SIZE	(sizeof(struct outcome) + DIFF_SEEN_SIZE)

static u8 theirs_there[OUTCOME_SIZE] __aligned(8), ours_there[OUTCOME_SIZE] __aligned(8);
static struct outcome *const ours = (void *)ours_there;

/* What came of the native runs of each instruction */
static void **native;

KUNIT_DEFINE_ACTION_WRAPPER(free_array, kvfree, const void *);

void *diff_array(struct kunit *test, size_t n, size_t size)
{
	void *array = kvcalloc(n, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, array);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_array, array));
	return array;
}

void diff_stay(struct kunit *test)
{
	const struct cpumask *here = cpumask_of(raw_smp_processor_id());

	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, here));
}

static size_t seen_size(const struct diff_lab *lab, int i)
{
	size_t size = lab->size ? lab->size(i) : 0;

	WARN_ON_ONCE(size > DIFF_SEEN_SIZE);
	return size;
}

static size_t outcome_size(const struct diff_lab *lab, int i)
{
	return ALIGN(sizeof(struct outcome) + seen_size(lab, i), sizeof(long));
}

/* --- hits --- */

struct diff_hit diff_hit;

static int see_before(struct kprobe *p, struct pt_regs *regs)
{
	diff_regs(&diff_hit.pre, regs);
	diff_hit.pres++;
	diff_hit.trapped = diff_by_trap();
	return 0;
}

static void see_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	diff_regs(&diff_hit.post, regs);
	diff_hit.posts++;
}

static int see_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	diff_regs(&diff_hit.fault, regs);
	diff_hit.trapnr = trapnr;
	diff_hit.faults++;
	if (diff_hit.repaired)
		diff_load(regs, diff_hit.repaired);
	else
		instruction_pointer_set(regs, diff_hit.next);
	/* Not again and again */
	return diff_hit.faults == 1;
}

/* --- runs --- */

static bool is_left_out(const struct diff_run *run)
{
	return run->trial == DIFF_LEFT_OUT || run->trial == DIFF_NOWHERE;
}

static void set_up(const struct diff_lab *lab, struct diff_run *run, unsigned long at)
{
	memset(&run->good, 0, sizeof(run->good));
	lab->set_up(run, &run->good);
	instruction_pointer_set(&run->good, at);
	run->in = run->good;
	if (run->trial != DIFF_GOOD)
		lab->spoil(run, &run->in);
}

/* Where it goes on is told relative to where there is a probe, and from before the padding. */
static void see(const struct diff_lab *lab, const struct diff_run *run, unsigned long at,
		const struct pt_regs *regs, struct outcome *out)
{
	const struct diff_insn *insn = lab->insn(run->i);

	memset(out, 0, outcome_size(lab, run->i));
	diff_regs(&out->regs, regs);
	if (instruction_pointer(&out->regs) == at + insn->length + lab->padding)
		instruction_pointer_set(&out->regs, insn->at + insn->length);
	if (lab->see)
		lab->see(run, regs, out->seen);
}

static void run_at(const struct diff_lab *lab, struct diff_run *run, unsigned long at,
		   struct outcome *out)
{
	struct pt_regs regs;

	set_up(lab, run, at);
	regs = run->in;
	memset(&diff_hit, 0, sizeof(diff_hit));
	diff_hit.next = at + lab->insn(run->i)->length;
	diff_hit.repaired = run->trial == DIFF_REPAIRED ? &run->good : NULL;
	if (lab->run)
		lab->run(&regs);
	else
		diff_trip(&regs);
	see(lab, run, at, &regs, out);
	diff_hit.repaired = NULL;
}

/* An instruction that is left out has done nothing. */
static void leave_out(const struct diff_lab *lab, struct diff_run *run, struct outcome *out)
{
	const struct diff_insn *insn = lab->insn(run->i);
	struct pt_regs regs;

	set_up(lab, run, insn->at);
	regs = run->in;
	instruction_pointer_set(&regs, insn->at + insn->length + lab->padding);
	see(lab, run, insn->at, &regs, out);
}

/* As a run with a bad operand is to end as one without, or as none at all, that one is good. */
static struct outcome *native_outcome(const struct diff_lab *lab, const struct diff_run *run)
{
	struct outcome *out = (void *)theirs_there;
	struct diff_run none = *run;

	if (!is_left_out(run))
		return native[run->i] + run->state * outcome_size(lab, run->i);
	leave_out(lab, &none, out);
	return out;
}

void diff_run_natively(struct kunit *test, const struct diff_lab *lab)
{
	struct diff_run run = {};
	size_t size;

	native = diff_array(test, lab->nr, sizeof(*native));
	for (run.i = 0; run.i < lab->nr; run.i++) {
		size = outcome_size(lab, run.i);
		native[run.i] = diff_array(test, lab->nr_states(run.i), size);
		for (run.state = 0; run.state < lab->nr_states(run.i); run.state++)
			run_at(lab, &run, lab->insn(run.i)->at, native[run.i] + run.state * size);
		cond_resched();
	}
}

/* --- comparisons --- */

#define SEEN_ROW	16

/* For messages */
static const char *label(const struct diff_lab *lab, const struct diff_run *run)
{
	static char text[128];
	const struct diff_insn *insn = lab->insn(run->i);

	scnprintf(text, sizeof(text), "%*ph, state %d, trial %d, %s%s", insn->length, insn->code,
		  run->state, run->trial, run->way.jump ? "jump" : "breakpoint",
		  run->way.post ? ", post handler" : "");
	return text;
}

static void expect_regs(struct kunit *test, const struct diff_lab *lab,
			const struct diff_run *run, const char *when, const struct pt_regs *a,
			const struct pt_regs *b)
{
	const unsigned long *x = (void *)a, *y = (void *)b;
	int i;

	if (!memcmp(a, b, sizeof(*a)))
		return;
	for (i = 0; i < sizeof(*a) / sizeof(*x); i++)
		KUNIT_EXPECT_EQ_MSG(test, x[i], y[i], "%s, %s: word %d of pt_regs",
				    label(lab, run), when, i);
}

static void expect_outcome(struct kunit *test, const struct diff_lab *lab,
			   const struct diff_run *run, const struct outcome *theirs)
{
	size_t size = seen_size(lab, run->i), at, row;

	expect_regs(test, lab, run, "afterwards", &theirs->regs, &ours->regs);
	for (at = 0; at < size; at += SEEN_ROW) {
		row = min(size - at, SEEN_ROW);
		if (!memcmp(theirs->seen + at, ours->seen + at, row))
			continue;
		KUNIT_EXPECT_MEMEQ_MSG(test, theirs->seen + at, ours->seen + at, row,
				       "%s: at %#zx of %zu", label(lab, run), at, size);
	}
}

/* Each run is one hit, whose handlers see the registers before and after the instruction. */
static void expect_hit(struct kunit *test, const struct diff_lab *lab, const struct diff_run *run,
		       const struct outcome *theirs)
{
	const struct diff_insn *insn = lab->insn(run->i);
	struct pt_regs in;

	KUNIT_EXPECT_EQ_MSG(test, diff_hit.pres, 1, "%s", label(lab, run));
	KUNIT_EXPECT_EQ_MSG(test, diff_hit.posts, run->way.post && !is_left_out(run), "%s",
			    label(lab, run));
	KUNIT_EXPECT_EQ_MSG(test, diff_hit.faults, run->trial != DIFF_GOOD, "%s", label(lab, run));
	KUNIT_EXPECT_EQ_MSG(test, diff_hit.trapped, !run->way.jump, "%s", label(lab, run));
	diff_regs(&in, &run->in);
	if (diff_hit.faults)
		expect_regs(test, lab, run, "fault handler", &in, &diff_hit.fault);
	instruction_pointer_set(&in, insn->at + DIFF_PRE_IP);
	expect_regs(test, lab, run, "pre handler", &in, &diff_hit.pre);
	if (diff_hit.posts)
		expect_regs(test, lab, run, "post handler", &theirs->regs, &diff_hit.post);
	if (lab->check)
		lab->check(test, run);
}

/* Both on one CPU, and without a break, as some state is the CPU's or the task's. */
static void compare(struct kunit *test, const struct diff_lab *lab, struct diff_run *run)
{
	const struct outcome *theirs;

	preempt_disable();
	theirs = native_outcome(lab, run);
	run_at(lab, run, lab->insn(run->i)->at, ours);
	preempt_enable();
	expect_outcome(test, lab, run, theirs);
	expect_hit(test, lab, run, theirs);
}

void diff_expect_same(struct kunit *test, const struct diff_lab *lab, struct diff_run *run,
		      void (*how)(struct kunit *test, const struct diff_run *run,
				  struct pt_regs *regs))
{
	const unsigned long at = lab->insn(run->i)->at;
	struct outcome *theirs = (void *)theirs_there;
	struct pt_regs regs;

	run_at(lab, run, at, theirs);
	set_up(lab, run, at);
	regs = run->in;
	how(test, run, &regs);
	see(lab, run, at, &regs, ours);
	expect_outcome(test, lab, run, theirs);
	KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
}

/* --- probes --- */

static struct {
	struct kprobe	**list;
	int		nr;	/* 0 if they are not there */
} planted[2];

void diff_drop(bool post)
{
	if (planted[post].nr)
		unregister_kprobes(planted[post].list, planted[post].nr);
	planted[post].nr = 0;
}

static void drop_all(void *unused)
{
	diff_drop(false);
	diff_drop(true);
}

void diff_plant(struct kunit *test, const struct diff_lab *lab, bool post)
{
	struct kprobe *probes = diff_array(test, lab->nr, sizeof(*probes));
	struct kprobe **list = diff_array(test, lab->nr, sizeof(*list));
	int i;

	for (i = 0; i < lab->nr; i++) {
		probes[i] = (struct kprobe) {
			.addr		= (kprobe_opcode_t *)lab->insn(i)->at,
			.pre_handler	= see_before,
			.post_handler	= post ? see_after : NULL,
			.fault_handler	= see_fault,
		};
		list[i] = &probes[i];
	}
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_all, NULL));
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(list, lab->nr));
	planted[post].list = list;
	planted[post].nr = lab->nr;
}

void diff_allow_jumps(struct kunit *test, bool allow)
{
	if (!IS_ENABLED(CONFIG_OPTPROBES))
		return;
	switch_need(test);
	KUNIT_ASSERT_EQ(test, 0, switch_set(allow));
}

static void expect_jumps(struct kunit *test, const struct diff_lab *lab)
{
	const struct diff_insn *insn;
	int i;

	wait_for_kprobe_optimizer();
	for (i = 0; i < lab->nr; i++) {
		insn = lab->insn(i);
		KUNIT_ASSERT_TRUE_MSG(test, diff_is_jump(insn), "%*ph", insn->length, insn->code);
	}
}

void diff_run_probed(struct kunit *test, const struct diff_lab *lab, unsigned long trials,
		     bool jump, bool post)
{
	struct diff_run run = { .way = { jump, post } };
	unsigned int nr = 0;
	unsigned long trial;

	diff_allow_jumps(test, jump);
	if (jump)
		expect_jumps(test, lab);
	for (run.i = 0; run.i < lab->nr; run.i++) {
		for (run.state = 0; run.state < lab->nr_states(run.i); run.state++) {
			for_each_set_bit(trial, &trials, DIFF_TRIALS) {
				run.trial = trial;
				if (lab->tries && !lab->tries(&run))
					continue;
				compare(test, lab, &run);
				nr++;
			}
		}
		KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
		cond_resched();
	}
	kunit_info(test, "%d instructions, %u runs by %s%s", lab->nr, nr,
		   jump ? "jump" : "breakpoint", post ? " with a post handler" : "");
}
