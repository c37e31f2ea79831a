// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of jump optimization: a site gets a jump where there can be one, loses it
 * when it is in the way of others, and gets it back. test_optimize.c tests hits by a jump.
 */
#include <kunit/static_stub.h>

#include "../internal.h"
#include "support/sites.h"
#include "support/switch.h"
#include "support/text.h"
#include "support/threads.h"
#include "test_optimize.h"

/*
 * An architecture has kprobes_no_jumps[], and how much text and memory a jump takes.
 * Where a jump covers more than the probed instruction, it also has functions with text
 * that others patch.
 */
#if defined(CONFIG_X86)
#include "support/jump_sites_x86.h"
#elif defined(CONFIG_ARM64)
#include "support/jump_sites_arm64.h"
#endif

KUNIT_ARRAY_PARAM_DESC(no_jump, kprobes_no_jumps, name);
KUNIT_ARRAY_PARAM(idle, idle_jumps, idle_desc);

/* --- neighbours --- */

#define CROWD	3

static const u8 orders[][CROWD] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

/* Does a jump at the first of these instructions cover the other one? */
static bool covers(unsigned int i, unsigned int other)
{
	return other > i && bits_at[other] - bits_at[i] < KPROBES_JUMP_LENGTH;
}

static bool covers_any(struct probe **crowd, unsigned int i)
{
	unsigned int j;

	for (j = 0; j < CROWD; j++) {
		if (crowd[j]->live && covers(i, j))
			return true;
	}
	return false;
}

static void crowd_expect(struct kunit *test, struct probe **crowd, struct view *v)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		crowd[i]->hits = 0;
	KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
	for (i = 0; i < CROWD; i++)
		KUNIT_EXPECT_EQ(test, crowd[i]->hits, crowd[i]->live);
}

static void crowd_settle(struct kunit *test, struct probe **crowd, struct view *v)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++) {
		bool covered = covers_any(crowd, i);

		if (!crowd[i]->live)
			continue;
		KUNIT_ASSERT_TRUE_MSG(test,
				      comes_to(bits_at[i], covered ? SITE_ARMED : SITE_OPTIMIZED),
				      "probe %u of %u%u%u is in state %u: %u", i,
				      crowd[0]->live, crowd[1]->live, crowd[2]->live,
				      state_at(bits_at[i]), site_at(bits_at[i])->kp.obstacle);
		KUNIT_EXPECT_EQ(test, !kprobes_jump_at(bits_at[i]), covered);
		if (covered)
			KUNIT_EXPECT_EQ(test, site_at(bits_at[i])->kp.obstacle,
					KPROBE_OBSTACLE_NEIGHBOUR);
	}
	crowd_expect(test, crowd, v);
}

static void crowd_join(struct kunit *test, struct probe **crowd, unsigned int newcomer,
		       struct view *v)
{
	unsigned int i;

	probe_reset(crowd[newcomer], bits_at[newcomer]);
	KUNIT_ASSERT_EQ(test, 0, probe_register(crowd[newcomer]));
	for (i = 0; i < CROWD; i++) {
		if (covers(i, newcomer) && crowd[i]->live)
			KUNIT_EXPECT_EQ(test, state_at(bits_at[i]), SITE_ARMED);
	}
	crowd_expect(test, crowd, v);
	crowd_settle(test, crowd, v);
}

/*
 * A past bug: a probe at the end of the covered bytes was overlooked, or had the jump in its
 * copy.
 */
static void jump_makes_room_for_a_probe_in_its_way(struct kunit *test)
{
	struct view *v = new_views(test);
	struct probe *crowd[CROWD];
	struct kprobes_text *text;
	unsigned int order, i;

	text = kprobes_text_watch(test, kprobes_jump_bits);
	find_bits(test);
	for (i = 0; i < CROWD; i++)
		crowd[i] = probe_new(test, bits_at[i]);
	for (order = 0; order < ARRAY_SIZE(orders); order++) {
		for (i = 0; i < CROWD; i++)
			crowd_join(test, crowd, orders[order][i], v);
		for (i = 0; i < CROWD; i++) {
			probe_unregister(crowd[orders[ARRAY_SIZE(orders) - 1 - order][i]]);
			crowd_settle(test, crowd, v);
		}
		expect_no_trace(test, text);
	}
}

static const char *why_of(void *addr)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_site_why(kprobe_find_site((unsigned long)addr));
}

static void expect_no_jump(struct kunit *test, void *addr, const char *why)
{
	KUNIT_EXPECT_FALSE_MSG(test, kprobe_optimized(&site_at(addr)->kp), "at %pS", addr);
	KUNIT_EXPECT_EQ_MSG(test, state_at(addr), SITE_ARMED, "at %pS", addr);
	KUNIT_EXPECT_STREQ_MSG(test, why_of(addr), why, "at %pS", addr);
	wait_for_kprobe_optimizer();
	expect_breakpoint(test, addr);
}

/*
 * Neither a probe that is refused, nor one on the first instruction that the jump does not cover.
 * A past bug: the jump was away for a while, and hits were traps.
 */
static void jump_stays_for_whom_it_is_not_in_the_way(struct kunit *test)
{
	struct probe *probe, *behind;
	unsigned int next = 1;

	find_bits(test);
	while (covers(0, next))
		next++;
	probe = probe_new(test, bits_at[0]);
	plant(test, probe);
	KUNIT_EXPECT_NE(test, 0, kprobes_try((unsigned long)bits_at[0] + 1));
	expect_jump(test, bits_at[0]);
	behind = probe_registered(test, bits_at[next]);
	expect_jump(test, bits_at[0]);
	KUNIT_EXPECT_EQ(test, run_bits(new_views(test)), ALL_BITS);
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
	KUNIT_EXPECT_EQ(test, behind->hits, 1);
}

/*
 * A probe that is disabled loses its jump, and does not get one over its neighbour again, whichever
 * of them leaves first. A past bug: a disabled probe was believed to have a jump in the text.
 */
static void disabled_neighbour_has_no_jump(struct kunit *test)
{
	struct view *v = new_views(test);
	struct kprobes_text *text;
	struct probe *pair[2];
	unsigned int i;

	text = kprobes_text_watch(test, kprobes_jump_bits);
	find_bits(test);
	if (!covers(0, 1))
		kunit_skip(test, "a jump covers one instruction");
	pair[0] = probe_new(test, bits_at[0]);
	pair[1] = probe_new(test, bits_at[1]);
	for (i = 0; i < 2; i++) {
		probe_reset(pair[0], bits_at[0]);
		probe_reset(pair[1], bits_at[1]);
		plant(test, pair[0]);
		KUNIT_ASSERT_EQ(test, 0, disable_kprobe(&pair[0]->kp));
		KUNIT_ASSERT_EQ(test, 0, probe_register(pair[1]));
		KUNIT_EXPECT_EQ(test, state_at(bits_at[0]), SITE_IDLE);
		KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
		KUNIT_ASSERT_EQ(test, 0, enable_kprobe(&pair[0]->kp));
		expect_no_jump(test, bits_at[0], "neighbour");
		KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
		probe_unregister(pair[i]);
		KUNIT_EXPECT_EQ(test, run_bits(v), ALL_BITS);
		KUNIT_EXPECT_EQ(test, pair[0]->hits, 1 + i);
		KUNIT_EXPECT_EQ(test, pair[1]->hits, 3 - i);
		probe_unregister(pair[!i]);
		expect_no_trace(test, text);
	}
}

/* --- where no jump may be --- */

/*
 * Past bugs: a jump covered the target of a fixup; or, where gcc had merged two functions,
 * what their cold part comes back to.
 */
static void site_without_room_stays_a_breakpoint(struct kunit *test)
{
	const struct kprobes_jump *jump = test->param_value;
	struct probe *probe = new_probe(test, jump);

	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	expect_no_jump(test, probe->kp.addr, jump->word);
}

#ifdef KPROBES_JUMP_COVERS
static bool is_patched(void *addr)
{
	bool patched;

	guard(kprobe_lock)();
	kprobe_text_lock();
	patched = kprobes_is_patched(addr);
	kprobe_text_unlock();
	return patched;
}

/* Returns the instruction in front of one that is patched, or NULL. */
static void *before_patched(void *function)
{
	unsigned long size;
	void *at = kprobes_function(function, &size), *end = at + size, *before = NULL;

	for (; at < end && !is_patched(at); at += kprobes_insn_length(at, LONGEST_INSN))
		before = at;
	return at < end ? before : NULL;
}

static void jump_does_not_cover_what_is_patched(struct kunit *test)
{
	struct probe *probe;
	unsigned int i;
	void *addr;

	for (i = 0; i < ARRAY_SIZE(kprobes_patched); i++) {
		kprobes_text_watch(test, kprobes_patched[i]);
		addr = before_patched(kprobes_patched[i]);
		KUNIT_ASSERT_NOT_NULL(test, addr);
		probe = probe_registered(test, addr);
		expect_no_jump(test, addr, "patched");
		kprobes_patched[i](1);
		KUNIT_EXPECT_EQ(test, probe->hits, 1);
	}
}
#endif

/* --- probes that come and go --- */

static void expect_hits(struct kunit *test, struct probe *probe, unsigned int hits)
{
	KUNIT_EXPECT_EQ(test, probe->hits, hits);
	probe->hits = 0;
}

static void expect_state(struct kunit *test, struct probe *probe, enum kprobe_site_state state)
{
	KUNIT_EXPECT_EQ(test, state_at(probe->kp.addr), state);
}

KUNIT_DEFINE_ACTION_WRAPPER(switch_to, kprobe_set_all_armed, bool);

/* By the probe's own switch, or by that for all */
static int turn(struct probe *probe, bool all, bool on)
{
	if (all)
		return kprobe_set_all_armed(on);
	return on ? enable_kprobe(&probe->kp) : disable_kprobe(&probe->kp);
}

/*
 * Also if it is disabled once more before it has the jump. A past bug: the two switches got out of
 * step, and a probe was disarmed twice.
 */
static void disabled_site_has_its_text_and_its_jump_again(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	void *addr = insn_at(jump->call, jump->insn);
	struct kprobes_text *text = kprobes_text_watch(test, addr);
	struct probe *probe = probe_new(test, addr);
	struct view *v = new_views(test);
	unsigned int i;

	plant(test, probe);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, switch_to, (void *)true));
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, 0, turn(probe, i & 1, false));
		KUNIT_EXPECT_EQ(test, 0, turn(probe, i & 1, true));
		KUNIT_EXPECT_EQ(test, 0, turn(probe, i & 1, false));
		wait_for_kprobe_optimizer();
		expect_state(test, probe, SITE_IDLE);
		expect_no_trace(test, text);
		run(jump->call, 0, v);
		expect_hits(test, probe, 0);
		KUNIT_EXPECT_EQ(test, 0, turn(probe, i & 1, true));
		KUNIT_ASSERT_TRUE(test, comes_to(addr, SITE_OPTIMIZED));
		expect_jump(test, addr);
		run(jump->call, 0, v);
		expect_hits(test, probe, 1);
	}
}

static void post_handler_comes_and_goes_by_a_jump(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct probe *probe = new_probe(test, jump), *with_post = probe_new(test, probe->kp.addr);
	struct view *v = new_views(test);
	unsigned int i;

	plant(test, probe);
	for (i = 0; i < 2; i++) {
		probe_reset(with_post, probe->kp.addr);
		with_post->kp.post_handler = look_after;
		KUNIT_ASSERT_EQ(test, 0, probe_register(with_post));
		expect_state(test, probe, SITE_OPTIMIZED);
		run(jump->call, 0, v);
		KUNIT_EXPECT_EQ(test, v->posts, 1);
		probe_unregister(with_post);
		expect_state(test, probe, SITE_OPTIMIZED);
		run(jump->call, 0, v);
		KUNIT_EXPECT_EQ(test, v->posts, 0);
		expect_hits(test, probe, 2);
	}
}

/* --- on and off --- */

#define NR_JUMPS	ARRAY_SIZE(kprobes_jumps)

static struct probe **plant_all(struct kunit *test)
{
	struct probe **all = test_alloc(test, NR_JUMPS * sizeof(*all));
	unsigned int i;

	/* Some share a function: its text is compared when all probes have left. */
	for (i = 0; i < NR_JUMPS; i++)
		kprobes_text_watch(test, kprobes_jumps[i].call);
	for (i = 0; i < NR_JUMPS; i++)
		all[i] = probe_new(test, insn_at(kprobes_jumps[i].call, kprobes_jumps[i].insn));
	for (i = 0; i < NR_JUMPS; i++)
		plant(test, all[i]);
	return all;
}

static void expect_all_off(struct kunit *test, struct probe **all)
{
	unsigned int i;

	for (i = 0; i < NR_JUMPS; i++)
		expect_no_jump(test, all[i]->kp.addr, "off");
}

/* Jumps that are there, and jumps that have not come yet */
static void switch_takes_out_all_jumps_and_puts_them_in_again(struct kunit *test)
{
	struct probe **all, *late;
	unsigned int i;

	switch_need(test);
	all = plant_all(test);
	KUNIT_EXPECT_EQ(test, 0, switch_set(false));
	expect_all_off(test, all);
	/* None comes while it is off, neither to a new site nor to one that is revived. */
	for (i = 0; i < ARRAY_SIZE(idle_jumps); i++) {
		late = all[i];
		probe_unregister(late);
		if (!i)
			KUNIT_ASSERT_TRUE(test, comes_to(late->kp.addr, SITE_NEW));
		KUNIT_ASSERT_EQ(test, 0, probe_register_again(late, late->kp.addr));
	}
	expect_all_off(test, all);
	KUNIT_EXPECT_EQ(test, 0, switch_set(true));
	for (i = 0; i < NR_JUMPS; i++)
		KUNIT_EXPECT_TRUE(test, kprobe_optimized(&site_at(all[i]->kp.addr)->kp));
	KUNIT_EXPECT_EQ(test, 0, switch_set(false));
	expect_all_off(test, all);
	KUNIT_EXPECT_EQ(test, 0, switch_set(true));
	wait_for_kprobe_optimizer();
	for (i = 0; i < NR_JUMPS; i++)
		expect_jump(test, all[i]->kp.addr);
}

static int module_is_going(unsigned long addr, struct module **mod, const char **why)
{
	return -ENOENT;
}

/* What is patched there is not known any more. */
static void probe_in_a_module_that_is_going_gets_no_jump(struct kunit *test)
{
	const struct kprobes_jump *jump = idle_param(test);
	struct probe *probe = new_probe(test, jump);
	void *addr = probe->kp.addr;

	/* A site that is revived has its detour. */
	KUNIT_ASSERT_TRUE(test, comes_to(addr, SITE_NEW));
	probe->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	kunit_activate_static_stub(test, kprobe_get_module, module_is_going);
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probe->kp));
	kunit_deactivate_static_stub(test, kprobe_get_module);
	expect_no_jump(test, addr, "patched");
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&probe->kp));
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probe->kp));
	KUNIT_EXPECT_TRUE(test, kprobe_optimized(&site_at(addr)->kp));
}

/* --- tasks that do not sleep --- */

/* Where no task is preempted in the kernel, none can be between two instructions. */
static struct caller *start_awake(struct kunit *test)
{
	struct caller *caller;

	if (!IS_ENABLED(CONFIG_TASKS_RCU))
		kunit_skip(test, "no task is preempted in the kernel's text");
	caller = caller_start(test, kprobes_untraced);
	caller_wait(test, caller);
	return caller;
}

/* Watches for much longer than it takes to wait for anything but tasks. */
static bool stays(void *addr, enum kprobe_site_state state)
{
	unsigned int tries;

	for (tries = 0; tries < 25 && state_at(addr) == state; tries++) {
		synchronize_rcu();
		msleep(20);
	}
	return state_at(addr) == state;
}

/* So does a site that was left: the task may be in the slot. */
static void jump_waits_for_a_task_that_does_not_sleep(struct kunit *test)
{
	struct probe *probe = new_probe(test, idle_param(test));
	void *addr = probe->kp.addr;
	struct caller *caller;

	/* With a jump before, nothing else is in its way. */
	plant(test, probe);
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(&probe->kp));
	caller = start_awake(test);
	KUNIT_ASSERT_EQ(test, 0, enable_kprobe(&probe->kp));
	KUNIT_EXPECT_TRUE(test, stays(addr, SITE_OPTIMIZING));
	expect_breakpoint(test, addr);
	probe_unregister(probe);
	KUNIT_EXPECT_TRUE(test, stays(addr, SITE_DYING));
	caller_stop(caller);
	wait_for_dying_sites(test);
	KUNIT_EXPECT_NULL(test, site_at(addr));
}

/* --- what perf is told, who follows a processor through text --- */

#ifdef CONFIG_PERF_EVENTS
static struct {
	unsigned int came, went, wrong;
} pages;

static int note_page(struct probe *probe, struct pt_regs *regs)
{
	/* The address has 64 bits. */
	const unsigned int words = 64 / BITS_PER_LONG;
	u32 size = regs_get_kernel_argument(regs, 1 + words);
	u8 gone = regs_get_kernel_argument(regs, 2 + words);
	const char *name = (const char *)regs_get_kernel_argument(regs, 3 + words);

	if (strcmp(name, kprobe_insn_slots.name))
		return 0;
	pages.wrong += size != PAGE_SIZE;
	if (gone)
		pages.went++;
	else
		pages.came++;
	return 0;
}

static void perf_is_told_of_pages_of_slots(struct kunit *test)
{
	unsigned int num = 2 * PAGE_SIZE / (kprobe_insn_slots.slot_size * sizeof(kprobe_opcode_t));
	kprobe_opcode_t **slots = test_alloc(test, num * sizeof(*slots));
	unsigned int i;

	probe_with(test, NULL, .kp.symbol_name = "perf_event_ksymbol", .on_hit = note_page);
	memset(&pages, 0, sizeof(pages));
	for (i = 0; i < num; i++)
		slots[i] = get_insn_slot();
	KUNIT_EXPECT_GT(test, pages.came, 0);
	for (i = 0; i < num; i++) {
		KUNIT_EXPECT_NOT_NULL(test, slots[i]);
		if (slots[i])
			free_insn_slot(slots[i], 0);
	}
	KUNIT_EXPECT_GT(test, pages.went, 0);
	KUNIT_EXPECT_EQ(test, pages.wrong, 0);
}

#ifdef CONFIG_X86
/* First bytes of changes at one address, and how many copies were written elsewhere */
static struct {
	unsigned long addr;
	unsigned int nr, copies;
	u8 before[8], after[8];
} changes;

static int note_change(struct probe *probe, struct pt_regs *regs)
{
	unsigned long addr = regs_get_kernel_argument(regs, 0);
	const u8 *before = (const u8 *)regs_get_kernel_argument(regs, 1);
	const u8 *after = (const u8 *)regs_get_kernel_argument(regs, 3);

	if (!before)
		changes.copies += is_kprobe_insn_slot(addr) || is_kprobe_optinsn_slot(addr);
	if (addr != changes.addr || changes.nr == ARRAY_SIZE(changes.before))
		return 0;
	changes.before[changes.nr] = *before;
	changes.after[changes.nr++] = *after;
	return 0;
}

static void perf_is_told_of_changed_text(struct kunit *test)
{
	struct probe *probe = new_probe(test, idle_param(test));
	const u8 bytes[] = {
		*(u8 *)probe->kp.addr, INT3_INSN_OPCODE, JMP32_INSN_OPCODE, INT3_INSN_OPCODE,
		*(u8 *)probe->kp.addr,
	};
	unsigned int i;

	/* A site that is revived has its copies. */
	KUNIT_ASSERT_TRUE(test, comes_to(probe->kp.addr, SITE_NEW));
	probe_with(test, NULL, .kp.symbol_name = "perf_event_text_poke", .on_hit = note_change);
	memset(&changes, 0, sizeof(changes));
	changes.addr = (unsigned long)probe->kp.addr;
	plant(test, probe);
	probe_unregister(probe);
	KUNIT_EXPECT_GT(test, changes.copies, 0);
	KUNIT_ASSERT_EQ(test, changes.nr, ARRAY_SIZE(bytes) - 1);
	for (i = 0; i < changes.nr; i++) {
		KUNIT_EXPECT_EQ(test, changes.before[i], bytes[i]);
		KUNIT_EXPECT_EQ(test, changes.after[i], bytes[i + 1]);
	}
}
#endif
#endif

/* --- memory --- */

static void jump_takes_little_executable_memory(struct kunit *test)
{
	size_t used = kprobe_insn_slots.slot_size;
	struct probe *probe = new_probe(test, &kprobes_jumps[0]);

	plant(test, probe);
	if (is_kprobe_optinsn_slot((unsigned long)kprobes_jump_at(probe->kp.addr)))
		used += kprobe_optinsn_slots.slot_size;
	used *= sizeof(kprobe_opcode_t);
	kunit_info(test, "%zu bytes", used);
	KUNIT_EXPECT_LE(test, used, KPROBES_JUMP_MEMORY);
}

static struct kunit_case optimize_sites_cases[] = {
	KUNIT_CASE_SLOW(jump_makes_room_for_a_probe_in_its_way),
	KUNIT_CASE(jump_stays_for_whom_it_is_not_in_the_way),
	KUNIT_CASE_SLOW(disabled_neighbour_has_no_jump),
	KUNIT_CASE_PARAM(site_without_room_stays_a_breakpoint, no_jump_gen_params),
#ifdef KPROBES_JUMP_COVERS
	KUNIT_CASE(jump_does_not_cover_what_is_patched),
#endif
	KUNIT_CASE_PARAM(disabled_site_has_its_text_and_its_jump_again, idle_gen_params),
	KUNIT_CASE_PARAM(post_handler_comes_and_goes_by_a_jump, idle_gen_params),
	KUNIT_CASE_SLOW(switch_takes_out_all_jumps_and_puts_them_in_again),
	KUNIT_CASE_PARAM(probe_in_a_module_that_is_going_gets_no_jump, idle_gen_params),
	KUNIT_CASE_PARAM_ATTR(jump_waits_for_a_task_that_does_not_sleep, idle_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
#ifdef CONFIG_PERF_EVENTS
	KUNIT_CASE(perf_is_told_of_pages_of_slots),
#ifdef CONFIG_X86
	KUNIT_CASE_PARAM(perf_is_told_of_changed_text, idle_gen_params),
#endif
#endif
	KUNIT_CASE(jump_takes_little_executable_memory),
	{}
};

static struct kunit_suite optimize_sites_suite = {
	.name = "kprobes_optimize_sites",
	.suite_init = switch_suite_init,
	.suite_exit = switch_suite_exit,
	.init = switch_init,
	.exit = switch_exit,
	.test_cases = optimize_sites_cases,
};

kunit_test_suite(optimize_sites_suite);
