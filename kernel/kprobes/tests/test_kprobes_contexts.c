// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the guard against recursion: a hit by a handler is missed, a hit
 * in an interrupt on top of the handler is not, unless both probes are plain: without
 * KPROBE_FLAG_NESTS.
 *
 * Most cases run a chain: a place is called in a context, the handler of its probe
 * has the next place called, in the same context or in a new one on top, and so
 * on. Which hits are missed, and which probe is the running one in between, must
 * depend on the contexts only, not on the way to the handlers. Built-in only.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "../../../samples/kprobes/carry.h"

#include "support/levels.h"
#include "support/probe.h"
#include "support/threads.h"

/*
 * An architecture has kprobes_trap_place(), an address in a block where a probe
 * stays a breakpoint while there is another one at kprobes_trap_neighbour(), if
 * that is not NULL.
 */
#if defined(CONFIG_X86)
#include "support/contexts_x86.h"
#elif defined(CONFIG_ARM64)
#include "support/contexts_arm64.h"
#else
#error "no places for these tests here"
#endif

static unsigned int levels_from(enum level level)
{
	unsigned int n = 0;

	for (; level < LEVELS; level++)
		n += level_exists(level);
	return n;
}

/* Places with a probe, and the way from there to its handlers */

enum way { TRAP, JUMP, FTRACE, WAYS, ITSELF = WAYS };

static const char * const way_names[] = { "trap", "jump", "ftrace", "the same place" };

struct place {
	struct probe *probe;
	enum way way;		/* from a hit to the handlers */
	bool post;		/* the post handler does what the case is about */
	bool plain;		/* its handlers do not run on top of others that are plain */
	u32 (*call)(u32 x);	/* hits it once */
	u32 result;		/* what that returns for 1 */
};

KPROBES_TARGET(traced_1, 1)
KPROBES_TARGET(traced_2, 2)
KPROBES_TARGET(traced_3, 3)
KPROBES_TARGET(traced_4, 4)

static u32 (*const traced[LEVELS])(u32 x) = { traced_1, traced_2, traced_3, traced_4 };

static bool has_jump(struct probe *probe)
{
	struct kprobe *site;

	guard(preempt)();
	site = get_kprobe(probe->kp.addr);
	return site && kprobe_optimized(site);
}

/* Jumps are put in by a worker, some time after the probe was registered. */
static void need_jump(struct kunit *test, struct place *place)
{
	static bool gave_up[2];
	unsigned int tries = gave_up[place->post] ? 0 : 250;

	while (tries-- && !has_jump(place->probe))
		msleep(20);
	wait_for_kprobe_optimizer();
	gave_up[place->post] = !has_jump(place->probe);
	if (gave_up[place->post])
		kunit_skip(test, "no jump was put there");
}

static void need_way(struct kunit *test, enum way way)
{
	if (way == JUMP && !IS_ENABLED(CONFIG_OPTPROBES))
		kunit_skip(test, "no jump optimization in this kernel");
	if (way == FTRACE && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "ftrace does not call probes in this kernel");
}

static int chain_hit(struct probe *probe, struct pt_regs *regs);
static void chain_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);

/* Each block is used for one kind of place only, so nothing is left from another kind. */
static void *place_choose(struct place *place, unsigned int number)
{
	const struct kprobes_block *block = &kprobes_blocks[number];

	if (place->way == FTRACE) {
		place->call = traced[number];
		return traced[number];
	}
	if (place->way == JUMP)
		block += LEVELS;
	place->call = block->call;
	return place->way == TRAP ? kprobes_trap_place(block) : block->first;
}

static void keep_jump_away(struct kunit *test, void *neighbour)
{
	if (neighbour && IS_ENABLED(CONFIG_OPTPROBES))
		probe_registered(test, neighbour);
}

/* Each hit looks at the flag. To register the probe anew would mean to wait for its jump. */
static void place_set_plain(struct place *place, bool plain)
{
	u32 flags = place->probe->kp.flags & ~KPROBE_FLAG_NESTS;

	place->plain = plain;
	WRITE_ONCE(place->probe->kp.flags, plain ? flags : flags | KPROBE_FLAG_NESTS);
}

static struct place *place_register(struct kunit *test, struct place *place, void *addr,
				    void *neighbour)
{
	kprobes_text_watch(test, addr);
	place->result = place->call(1);
	if (place->way == TRAP)
		keep_jump_away(test, neighbour);
	place->probe = probe_new(test, addr);
	place_set_plain(place, false);
	if (place->post)
		place->probe->kp.post_handler = chain_post;
	else
		place->probe->on_hit = chain_hit;
	KUNIT_ASSERT_EQ(test, 0, probe_register(place->probe));
	if (place->way == JUMP)
		need_jump(test, place);
	if (place->way == FTRACE && !kprobe_ftrace(&place->probe->kp))
		kunit_skip(test, "ftrace does not call this probe");
	return place;
}

static void place_forget_hits(struct place *place)
{
	place->probe->hits = 0;
	place->probe->posts = 0;
	WRITE_ONCE(place->probe->kp.nmissed, 0);
}

/* Places in use at the same time must have different numbers, below LEVELS. */
static struct place *place_new(struct kunit *test, enum way way, bool post,
			       unsigned int number)
{
	struct place *place = test_alloc(test, sizeof(*place));

	need_way(test, way);
	place->way = way;
	place->post = post;
	return place_register(test, place, place_choose(place, number),
			      kprobes_trap_neighbour(&kprobes_blocks[number]));
}

/* At an instruction whose copy has to run before the post handler does */
static struct place *place_new_stepped(struct kunit *test)
{
	struct place *place = test_alloc(test, sizeof(*place));

	place->way = TRAP;
	place->post = true;
	place->call = kprobes_copied_call;
	return place_register(test, place, kprobes_copied_place(), kprobes_copied_neighbour());
}

/* A call of a place, by the handler of the link before or by the test */
struct link {
	struct place *place;
	enum level level;		/* the context of the call */
	bool returned;
	bool masked;			/* the handler was called with interrupts off */
	u32 result;
	/* Address of the running probe before the call, in the handler, and after what it calls */
	kprobe_opcode_t *before, *inside, *after;
};

static struct {
	struct link links[LEVELS];
	unsigned int nr, depth;
	char name[40];
} chain;

static void chain_call(void)
{
	struct link *link = &chain.links[chain.depth];

	link->before = running_addr();
	link->result = link->place->call(1);
	WRITE_ONCE(link->returned, true);
}

static void chain_follow(struct link *link, struct link *next)
{
	if (next->level == link->level)
		chain_call();
	else if (link->place->way == TRAP && next->level != NMI)
		level_run_unmasked(next->level, chain_call);
	else
		level_run(next->level, chain_call);
}

/* The handler at the end of the chain calls its own place, which is a miss. */
static int chain_hit(struct probe *probe, struct pt_regs *regs)
{
	struct link *link = &chain.links[chain.depth];

	if (chain.depth >= chain.nr)
		return 0;
	link->masked = irqs_disabled();
	link->inside = running_addr();
	chain.depth++;
	if (chain.depth < chain.nr)
		chain_follow(link, link + 1);
	else
		link->place->call(1);
	chain.depth--;
	link->after = running_addr();
	return 0;
}

static void chain_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	probe_post_handler(kp, regs, flags);
	chain_hit(container_of(kp, struct probe, kp), regs);
}

static bool can_come(struct place *place, enum level from, enum level to)
{
	if (!level_exists(from) || !level_exists(to))
		return false;
	if (from == to || place->way != TRAP)
		return true;
	if (from == NMI || to == NMI)
		return !KPROBES_TRAP_MASKS_NMI;
	/*
	 * Where a breakpoint counts as an NMI, softirqs do not run on top of it,
	 * and lockdep complains of the locks that interrupts take there.
	 */
	return KPROBES_HANDLER_MAY_UNMASK ||
	       (to == HARDIRQ && KPROBES_TRAP_INTERRUPTIBLE &&
		!IS_ENABLED(CONFIG_PROVE_LOCKING));
}

static void chain_start(void)
{
	memset(&chain, 0, sizeof(chain));
}

static void chain_add(struct place *place, enum level level)
{
	chain.links[chain.nr++] = (struct link) { .place = place, .level = level };
}

/* The handlers of all links before have run: one that is missed is the last. */
static bool link_runs(unsigned int i)
{
	unsigned int below;

	if (i && chain.links[i].level == chain.links[i - 1].level)
		return false;
	for (below = 0; below < i; below++) {
		if (chain.links[i].place->plain && chain.links[below].place->plain)
			return false;
	}
	return true;
}

static void chain_expect_hits(struct kunit *test, struct place *place)
{
	unsigned int i, hits = 0, missed = 0;

	for (i = 0; i < chain.nr; i++) {
		if (chain.links[i].place != place)
			continue;
		if (link_runs(i))
			hits++;
		else
			missed++;
		missed += link_runs(i) && i == chain.nr - 1;
	}
	KUNIT_EXPECT_EQ_MSG(test, place->probe->hits, hits, "%s", chain.name);
	KUNIT_EXPECT_EQ_MSG(test, place->probe->posts, place->post ? hits : 0, "%s", chain.name);
	KUNIT_EXPECT_EQ_MSG(test, place->probe->kp.nmissed, missed, "%s", chain.name);
}

static void chain_expect_link(struct kunit *test, unsigned int i)
{
	struct link *link = &chain.links[i];
	kprobe_opcode_t *addr = link->place->probe->kp.addr;

	KUNIT_EXPECT_TRUE_MSG(test, link->returned, "%s: no call %u", chain.name, i);
	KUNIT_EXPECT_EQ_MSG(test, link->result, link->place->result, "%s", chain.name);
	KUNIT_EXPECT_PTR_EQ_MSG(test, link->before,
				i ? link[-1].place->probe->kp.addr : NULL, "%s", chain.name);
	KUNIT_EXPECT_PTR_EQ_MSG(test, link->inside, link_runs(i) ? addr : NULL, "%s", chain.name);
	KUNIT_EXPECT_PTR_EQ_MSG(test, link->after, link_runs(i) ? addr : NULL, "%s", chain.name);
	if (link_runs(i) && link->level < HARDIRQ && !link->place->post)
		KUNIT_EXPECT_EQ_MSG(test, link->masked, link->place->way == TRAP,
				    "%s: not the way it was to take", chain.name);
}

static void chain_run(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < chain.nr; i++) {
		struct link *link = &chain.links[i];

		*link = (struct link) { .place = link->place, .level = link->level };
		place_forget_hits(link->place);
	}
	KUNIT_EXPECT_TRUE_MSG(test, level_run(chain.links[0].level, chain_call), "%s", chain.name);
	for (i = 0; i < chain.nr; i++) {
		chain_expect_link(test, i);
		chain_expect_hits(test, chain.links[i].place);
	}
	KUNIT_EXPECT_NULL_MSG(test, running_addr(), "%s", chain.name);
	KUNIT_EXPECT_FALSE_MSG(test, irqs_disabled(), "%s", chain.name);
}

/* A handler, and a hit while it runs */
struct pair {
	enum way below, above;
	bool post;	/* it is a post handler */
};

static const void *next_pair(const void *prev, char *desc, bool all)
{
	static struct pair pair;
	static unsigned int n;

	for (n = prev ? n + 1 : 0; n < 2 * WAYS * (WAYS + 1); n++) {
		pair.above = n % (WAYS + 1);
		pair.below = n / (WAYS + 1) % WAYS;
		pair.post = n / (WAYS + 1) / WAYS;
		if (!all && (pair.post || pair.above == ITSELF))
			continue;
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s in a %s handler by %s",
			 way_names[pair.above], pair.post ? "post" : "pre", way_names[pair.below]);
		return &pair;
	}
	return NULL;
}

static const void *pair_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_pair(prev, desc, true);
}

static const void *two_ways_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_pair(prev, desc, false);
}

/* Returns false if @to cannot come on top of @from. */
static bool run_pair(struct kunit *test, struct place *below, enum level from,
		     struct place *above, enum level to)
{
	unsigned int plain;

	if (!can_come(below, from, to))
		return false;
	chain_start();
	chain_add(below, from);
	chain_add(above, to);
	for (plain = 0; plain < 4; plain++) {
		/* They may be the same. */
		place_set_plain(below, plain & 1);
		place_set_plain(above, plain & 2);
		snprintf(chain.name, sizeof(chain.name), "%s%s over %s%s",
			 above->plain ? "plain " : "", level_names[to],
			 below->plain ? "plain " : "", level_names[from]);
		chain_run(test);
	}
	return true;
}

static void pair_places(struct kunit *test, struct place **below, struct place **above)
{
	const struct pair *pair = test->param_value;

	need_way(test, pair->above);
	*below = place_new(test, pair->below, pair->post, 0);
	*above = *below;
	if (pair->above != ITSELF)
		*above = place_new(test, pair->above, false, 1);
}

static void hit_by_the_handler_itself_is_missed(struct kunit *test)
{
	struct place *below, *above;
	unsigned int rows = 0;
	enum level level;

	pair_places(test, &below, &above);
	for (level = TASK; level < LEVELS; level++)
		rows += run_pair(test, below, level, above, level);
	KUNIT_EXPECT_EQ(test, rows, levels_from(TASK));
}

/* Otherwise it comes with the next tick of the timer, whenever that is. */
static void need_interrupts_of_our_own(struct kunit *test)
{
	if (!arch_irq_work_has_interrupt())
		kunit_skip(test, "no processor can interrupt itself");
}

/*
 * Past bugs: handlers ran on top of handlers that had relied on being alone on their CPU; and an
 * interrupt made kprobes forget the handler below it.
 */
static void hit_in_a_new_context_on_top_runs(struct kunit *test)
{
	struct place *below, *above;
	unsigned int rows = 0;
	enum level from, to;

	pair_places(test, &below, &above);
	if (below->way == TRAP && !KPROBES_TRAP_INTERRUPTIBLE)
		kunit_skip(test, "no interrupt comes in a handler here");
	if (below->way == TRAP)
		need_interrupts_of_our_own(test);
	for (from = TASK; from < LEVELS; from++) {
		for (to = from + 1; to < LEVELS; to++)
			rows += run_pair(test, below, from, above, to);
	}
	KUNIT_EXPECT_GE(test, rows, level_exists(SOFTIRQ) ? LEVELS - 1 : levels_from(HARDIRQ));
}

static const enum way ways[] = { TRAP, JUMP, FTRACE };

static void way_desc(const enum way *way, char *desc)
{
	strscpy(desc, way_names[*way], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(way, ways, way_desc);

/*
 * Through as many contexts as can come on top of each other. Then the first and the last one are
 * plain, and there are others in between, if there are enough.
 */
static void plain_handler_is_not_on_top_of_others_over_a_plain_one(struct kunit *test)
{
	enum way way = *(const enum way *)test->param_value;
	struct place *places[LEVELS];
	enum level level, from = TASK;

	if (way == TRAP && !KPROBES_TRAP_INTERRUPTIBLE &&
	    (!level_exists(NMI) || KPROBES_TRAP_MASKS_NMI))
		kunit_skip(test, "nothing comes in a handler here");
	for (level = TASK; level < LEVELS; level++)
		places[level] = place_new(test, way, false, level);
	chain_start();
	for (level = TASK; level < LEVELS; level++) {
		if (!can_come(places[from], from, level))
			continue;
		chain_add(places[level], level);
		from = level;
	}
	strscpy(chain.name, "all", sizeof(chain.name));
	KUNIT_EXPECT_GT(test, chain.nr, 1);
	chain_run(test);
	place_set_plain(chain.links[0].place, true);
	for (; chain.nr > 1; chain.nr--) {
		place_set_plain(chain.links[chain.nr - 1].place, true);
		chain_run(test);
		place_set_plain(chain.links[chain.nr - 1].place, false);
	}
}

/* At an instruction that a copy executes, so that the post handlers run some time later. */
static void left_out_probe_gets_no_post_handler_behind_a_copy(struct kunit *test)
{
	struct place *above = place_new_stepped(test);
	struct place *below = place_new(test, FTRACE, false, 0);
	unsigned int rows = 0;
	enum level level;

	for (level = SOFTIRQ; level < LEVELS; level++)
		rows += run_pair(test, below, TASK, above, level);
	KUNIT_EXPECT_EQ(test, rows, levels_from(SOFTIRQ));
}

static struct {
	struct place *place;
	enum level level;
	unsigned int visits;
	kprobe_opcode_t *running, *afterwards;
} busy;

static void call_while_busy(void)
{
	busy.place->call(1);
}

static void be_busy(void)
{
	enum level level;

	kprobe_busy_begin();
	kprobe_busy_begin();
	call_while_busy();
	kprobe_busy_end();
	call_while_busy();
	busy.running = running_addr();
	for (level = busy.level + 1; level < LEVELS; level++)
		busy.visits += level_exists(level) && level_run(level, call_while_busy);
	kprobe_busy_end();
	busy.afterwards = running_addr();
	call_while_busy();
}

static void expect_busy(struct kunit *test, struct place *place, enum level level)
{
	place_forget_hits(place);
	busy = (typeof(busy)) { .place = place, .level = level };
	KUNIT_EXPECT_TRUE_MSG(test, level_run(level, be_busy), "%s", level_names[level]);
	KUNIT_EXPECT_EQ_MSG(test, busy.visits, levels_from(level + 1), "%s", level_names[level]);
	KUNIT_EXPECT_EQ_MSG(test, place->probe->hits, busy.visits + 1, "%s", level_names[level]);
	KUNIT_EXPECT_EQ_MSG(test, place->probe->kp.nmissed, 2, "%s", level_names[level]);
	KUNIT_EXPECT_NOT_NULL_MSG(test, busy.running, "%s", level_names[level]);
	KUNIT_EXPECT_NULL_MSG(test, busy.afterwards, "%s", level_names[level]);
}

/* It is no handler, on top of which plain ones would not run. */
static void busy_section_occupies_its_own_context_only(struct kunit *test)
{
	const enum way *way = test->param_value;
	struct place *place = place_new(test, *way, false, 0);
	enum level level;

	place_set_plain(place, true);
	for (level = TASK; level < LEVELS; level++) {
		if (level_exists(level))
			expect_busy(test, place, level);
	}
}

static int be_busy_in_a_handler(struct probe *probe, struct pt_regs *regs)
{
	kprobe_busy_begin();
	call_while_busy();
	kprobe_busy_end();
	busy.running = running_addr();
	call_while_busy();
	return 0;
}

static void busy_section_in_a_handler_does_not_free_its_context(struct kunit *test)
{
	const enum way *way = test->param_value;
	struct place *handler = place_new(test, *way, false, 0);

	busy = (typeof(busy)) { .place = place_new(test, *way, false, 1) };
	handler->probe->on_hit = be_busy_in_a_handler;
	KUNIT_EXPECT_EQ(test, handler->call(1), handler->result);
	KUNIT_EXPECT_EQ(test, handler->probe->hits, 1);
	probe_expect(test, busy.place->probe, 0, 0, 2);
	KUNIT_EXPECT_PTR_EQ(test, busy.running, handler->probe->kp.addr);
	KUNIT_EXPECT_NULL(test, running_addr());
}

#define STEPS	100

/* The interrupt in the middle of a step: it calls a place, and reads where nothing is mapped */
static struct {
	struct place *place;
	enum level level;
	void *unmapped;
	kprobe_opcode_t *running;
	unsigned int calls;
	long fault;
} meanwhile;

/* This fault must not be taken for one of the probed instruction. */
static void call_meanwhile(void)
{
	unsigned long value;

	meanwhile.running = running_addr();
	meanwhile.fault = copy_from_kernel_nofault(&value, meanwhile.unmapped, sizeof(value));
	meanwhile.place->call(1);
	meanwhile.calls++;
}

static void interrupt_the_step(void)
{
	switch (meanwhile.level) {
	case SOFTIRQ:
		/* It runs when this interrupt ends. */
		visit_expect(SOFTIRQ, call_meanwhile);
		tasklet_schedule(&softirq_visit);
		break;
	case NMI:
		level_run(NMI, call_meanwhile);
		break;
	default:
		call_meanwhile();
	}
}

/* How long an interrupt controller may need to tell the processor */
#define RAISE_US	10

/* The interrupt comes as soon as the trap returns: at the copy of the probed instruction. */
static int leave_an_interrupt_pending(struct probe *probe, struct pt_regs *regs)
{
	visit_expect(HARDIRQ, interrupt_the_step);
	visit_raise(HARDIRQ);
	udelay(RAISE_US);
	return 0;
}

static bool wait_for_interrupts(void)
{
	return visit_wait(HARDIRQ) &&
	       (meanwhile.level != SOFTIRQ || visit_wait(SOFTIRQ));
}

/* Returns whether the interrupt came between the handlers, as it should. */
static bool interrupted_halfway(struct kunit *test, struct place *stepped)
{
	struct probe *above = meanwhile.place->probe;

	KUNIT_EXPECT_EQ(test, stepped->call(1), stepped->result);
	KUNIT_EXPECT_TRUE_MSG(test, wait_for_interrupts(), "%s", level_names[meanwhile.level]);
	KUNIT_EXPECT_EQ_MSG(test, meanwhile.fault, -EFAULT, "%s", level_names[meanwhile.level]);
	if (above->turn < stepped->probe->turn || above->turn > stepped->probe->post_turn)
		return false;
	KUNIT_EXPECT_NULL_MSG(test, meanwhile.running, "%s", level_names[meanwhile.level]);
	return true;
}

static void expect_interrupted_steps(struct kunit *test, struct place *stepped)
{
	const char *name = level_names[meanwhile.level];
	struct probe *above = meanwhile.place->probe;
	unsigned int i, halfway = 0;

	place_forget_hits(meanwhile.place);
	meanwhile.calls = 0;
	for (i = 0; i < STEPS; i++)
		halfway += interrupted_halfway(test, stepped);
	KUNIT_EXPECT_EQ_MSG(test, meanwhile.calls, STEPS, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, above->hits, STEPS, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, above->kp.nmissed, 0, "%s", name);
	KUNIT_EXPECT_GT_MSG(test, halfway, 0, "%s", name);
}

/*
 * Past bugs: a hit in the middle of a step was a BUG(); and any fault there was taken for the
 * stepped instruction's.
 */
static void hit_in_the_middle_of_a_step_runs(struct kunit *test)
{
	const enum way *way = test->param_value;
	struct place *stepped = place_new_stepped(test);
	struct place *above = place_new(test, *way, false, 1);
	enum level level;

	need_interrupts_of_our_own(test);
	/* No handler is running in between. */
	place_set_plain(stepped, true);
	place_set_plain(above, true);
	stepped->probe->on_hit = leave_an_interrupt_pending;
	meanwhile.place = above;
	meanwhile.unmapped = kprobes_unmapped(test);
	for (level = SOFTIRQ; level < LEVELS; level++) {
		if (!level_exists(level))
			continue;
		meanwhile.level = level;
		expect_interrupted_steps(test, stepped);
	}
	KUNIT_EXPECT_EQ(test, stepped->probe->posts, stepped->probe->hits);
	KUNIT_EXPECT_EQ(test, stepped->probe->kp.nmissed, 0);
}

/*
 * Each hit of the preempted task is interrupted at the copy, between its two handlers, by an
 * interrupt, which is hit there too, and then by a task that is.
 */

static DEFINE_PER_CPU(struct task_struct *, last_pre);

static struct {
	struct task_struct *preempted, *intruder;
	unsigned int found, lost, wrong;
	unsigned int foreign;	/* post handlers that found another's task in per-CPU data */
} carrying;

static u64 who_is_hit(void)
{
	return (unsigned long)current + kprobe_level();
}

static void let_in_others(void)
{
	kprobes_copied_call(1);
	wake_up_process(carrying.intruder);
}

static int carry_pre(struct probe *probe, struct pt_regs *regs)
{
	carry_leave(who_is_hit());
	__this_cpu_write(last_pre, current);
	if (current == carrying.preempted && kprobe_level() == TASK) {
		visit_expect(HARDIRQ, let_in_others);
		visit_raise(HARDIRQ);
		udelay(RAISE_US);
	}
	return 0;
}

static void carry_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	u64 who;

	probe_post_handler(kp, regs, flags);
	if (!carry_take(&who))
		carrying.lost++;
	else if (who == who_is_hit())
		carrying.found++;
	else
		carrying.wrong++;
	carrying.foreign += __this_cpu_read(last_pre) != current;
}

static int intrude(void *unused)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
		kprobes_copied_call(1);
	}
	return 0;
}

static void start_intruder(struct kunit *test)
{
	struct task_struct *task = thread_new(test, intrude, NULL);

	carrying.intruder = task;
	kthread_bind(task, raw_smp_processor_id());
	sched_set_fifo(task);
	wake_up_process(task);
}

static void data_is_carried_to_the_post_handler_of_the_same_hit(struct kunit *test)
{
	struct probe *probe = probe_new(test, kprobes_copied_place());
	unsigned int i;

	need_interrupts_of_our_own(test);
	if (!preempt_model_preemptible())
		kunit_skip(test, "no task is preempted in the kernel");
	keep_jump_away(test, kprobes_copied_neighbour());
	memset(&carrying, 0, sizeof(carrying));
	probe->on_hit = carry_pre;
	probe->kp.post_handler = carry_post;
	migrate_disable();
	start_intruder(test);
	KUNIT_EXPECT_EQ(test, 0, probe_register(probe));
	carrying.preempted = current;
	for (i = 0; probe->live && i < STEPS; i++) {
		kprobes_copied_call(1);
		KUNIT_EXPECT_TRUE(test, visit_wait(HARDIRQ));
	}
	kunit_release_action(test, thread_stop, carrying.intruder);
	migrate_enable();
	KUNIT_EXPECT_GE(test, probe->hits, 3 * STEPS);
	KUNIT_EXPECT_EQ(test, probe->posts, probe->hits);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, carrying.found, probe->hits);
	KUNIT_EXPECT_EQ(test, carrying.lost, 0);
	KUNIT_EXPECT_EQ(test, carrying.wrong, 0);
	KUNIT_EXPECT_GT_MSG(test, carrying.foreign, 0, "no task was preempted in between");
}

#define STORM_TICK	(200 * NSEC_PER_USEC)
#define STORM_SPIN	(2 * NSEC_PER_MSEC)
#define STORM_ROUNDS	100
#define STORM_TICKS	500
/* By when a slow machine must have had them; then the case fails. */
#define STORM_SECONDS	30

static struct {
	struct hrtimer timer;
	struct place *spinner;	/* its handler spins */
	struct place *in_tick;	/* called by each tick of the timer */
	bool spinning;
	unsigned int rounds;	/* of spinning */
	unsigned int ticks;	/* of the timer */
	unsigned int over;	/* ticks on top of the spinning handler */
	unsigned int handled;	/* those among them that were not missed */
} storm;

static enum hrtimer_restart storm_tick(struct hrtimer *timer)
{
	storm.ticks++;
	storm.over += READ_ONCE(storm.spinning);
	storm.in_tick->call(1);
	hrtimer_forward_now(timer, ns_to_ktime(STORM_TICK));
	return HRTIMER_RESTART;
}

static int storm_tick_handler(struct probe *probe, struct pt_regs *regs)
{
	storm.handled += READ_ONCE(storm.spinning);
	return 0;
}

static int storm_spin(struct probe *probe, struct pt_regs *regs)
{
	u64 end = ktime_get_mono_fast_ns() + STORM_SPIN;
	unsigned int us;

	WRITE_ONCE(storm.spinning, true);
	/* Bounded, in case time stands still. */
	for (us = 0; us < STORM_SPIN / NSEC_PER_USEC && ktime_get_mono_fast_ns() < end; us++)
		udelay(1);
	WRITE_ONCE(storm.spinning, false);
	return 0;
}

/* A slow timer gets more rounds. */
static bool storm_goes_on(unsigned long end)
{
	if (storm.rounds < STORM_ROUNDS)
		return true;
	return storm.spinner->way != TRAP && READ_ONCE(storm.over) < STORM_TICKS &&
	       time_before(jiffies, end);
}

static void storm_run(void)
{
	unsigned long end = jiffies + STORM_SECONDS * HZ;

	migrate_disable();
	hrtimer_start(&storm.timer, ns_to_ktime(STORM_TICK), HRTIMER_MODE_REL_PINNED_HARD);
	for (; storm_goes_on(end); storm.rounds++) {
		storm.spinner->call(1);
		cond_resched();
	}
	hrtimer_cancel(&storm.timer);
	migrate_enable();
}

/* A past bug: hits were lost, and not counted as missed. */
static void storm_of_interrupts_is_counted_to_the_last(struct kunit *test)
{
	const struct pair *pair = test->param_value;

	need_way(test, pair->above);
	if (hrtimer_resolution > STORM_TICK)
		kunit_skip(test, "the timer is too coarse");
	memset(&storm, 0, sizeof(storm));
	storm.spinner = place_new(test, pair->below, false, 0);
	storm.in_tick = place_new(test, pair->above, false, 1);
	storm.spinner->probe->on_hit = storm_spin;
	storm.in_tick->probe->on_hit = storm_tick_handler;
	hrtimer_setup(&storm.timer, storm_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	storm_run();
	kunit_info(test, "%u rounds, %u ticks, %u on top", storm.rounds, storm.ticks, storm.over);
	probe_expect(test, storm.spinner->probe, storm.rounds, 0, 0);
	probe_expect(test, storm.in_tick->probe, storm.ticks, 0, 0);
	KUNIT_EXPECT_EQ(test, storm.handled, storm.over);
	if (pair->below == TRAP)
		KUNIT_EXPECT_GT(test, storm.ticks, 0);
	else
		KUNIT_EXPECT_GE(test, storm.over, STORM_TICKS);
}

static int contexts_init(struct kunit *test)
{
	chain_start();
	return levels_init(test);
}

/* A breakpoint is like an NMI, behind which nobody is preempted. */
static const enum way preemptible_ways[] = { JUMP, FTRACE };

KUNIT_ARRAY_PARAM(preemptible_way, preemptible_ways, way_desc);

static int have_task_preempted(struct probe *probe, struct pt_regs *regs)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	return 0;
}

/* Behind the handler, and not when an interrupt comes, or when somebody else looks. */
static void task_is_preempted_behind_a_handler(struct kunit *test)
{
	enum way way = *(const enum way *)test->param_value;
	struct place *place;

	if (!preempt_model_preemptible())
		kunit_skip(test, "tasks are not preempted in this kernel");
	place = place_new(test, way, false, 0);
	place->probe->on_hit = have_task_preempted;
	KUNIT_EXPECT_EQ(test, place->call(1), place->result);
	KUNIT_EXPECT_FALSE(test, need_resched());
}

static struct kunit_case kprobes_contexts_cases[] = {
	KUNIT_CASE_PARAM(hit_by_the_handler_itself_is_missed, pair_gen_params),
	KUNIT_CASE_PARAM(hit_in_a_new_context_on_top_runs, pair_gen_params),
	KUNIT_CASE_PARAM(plain_handler_is_not_on_top_of_others_over_a_plain_one, way_gen_params),
	KUNIT_CASE(left_out_probe_gets_no_post_handler_behind_a_copy),
	KUNIT_CASE_PARAM(busy_section_occupies_its_own_context_only, way_gen_params),
	KUNIT_CASE_PARAM(busy_section_in_a_handler_does_not_free_its_context, way_gen_params),
	KUNIT_CASE_PARAM(hit_in_the_middle_of_a_step_runs, way_gen_params),
	KUNIT_CASE(data_is_carried_to_the_post_handler_of_the_same_hit),
	KUNIT_CASE_PARAM(task_is_preempted_behind_a_handler, preemptible_way_gen_params),
	KUNIT_CASE_PARAM(storm_of_interrupts_is_counted_to_the_last, two_ways_gen_params),
	{}
};

static struct kunit_suite kprobes_contexts_suite = {
	.name = "kprobes_contexts",
	.init = contexts_init,
	.exit = levels_exit,
	.test_cases = kprobes_contexts_cases,
};

kunit_test_suite(kprobes_contexts_suite);
