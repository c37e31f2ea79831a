// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what holds for kprobes, return probes and jprobes alike, through what modules
 * can call: how they are registered alone and together, what is refused, and what the core does
 * not take from an owner who does what he must not. What can be probed by the kernel's own tables
 * is in test_kprobes_refused.c.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <asm/barrier.h>

#include "support/probe.h"
#include "support/threads.h"

KUNIT_ARRAY_PARAM_DESC(type, probe_types, name);

static enum any_type type_of(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;

	return kind->type;
}

static unsigned int hits;

KIND_HANDLERS(count, hits++);

/* Where probes of the case's type can be, each in a way of its own to the handlers */
static const struct kprobes_step *places_of(struct kunit *test, unsigned int *num)
{
	bool anywhere = type_of(test) == KPROBE;

	*num = anywhere ? ARRAY_SIZE(kprobes_steps_table) : ARRAY_SIZE(kprobes_entries);
	return anywhere ? kprobes_steps_table : kprobes_entries;
}

static const union any_probe *like(struct kunit *test)
{
	const struct probe_kind *kind = test->param_value;

	return &count[kind->id];
}

static struct any *new_probe(struct kunit *test, void *addr)
{
	return any_new(test, type_of(test), like(test), addr);
}

static struct any *registered(struct kunit *test, void *addr)
{
	return any_registered(test, type_of(test), like(test), addr);
}

static int add(struct any *any)
{
	return any_register(any->type, &any->probe);
}

/* Calls @step, where there are @probes. */
static void expect_hits(struct kunit *test, const struct kprobes_step *step, unsigned int probes)
{
	hits = 0;
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ_MSG(test, hits, probes * KPROBES_CALLS, "%s", step->name);
}

/* --- one at a time --- */

/* Two threads register it at the same time, so often */
#define CONTESTS	100

static struct any contested;

/* The last round that has begun, and the last one in which the other thread has an answer */
static int begun, ended, other_answer;

static int contest_run(void *unused)
{
	int round = 0;

	while (!kthread_should_stop()) {
		/* Pairs with the release in one_of_two_threads_registers_a_probe(). */
		if (smp_load_acquire(&begun) == round) {
			cond_resched();
			continue;
		}
		round++;
		other_answer = add(&contested);
		/* Pairs with the acquire there. */
		smp_store_release(&ended, round);
	}
	return 0;
}

/* A past bug: registering the same struct twice damaged the lists. */
static void one_of_two_threads_registers_a_probe(struct kunit *test)
{
	int round, answer;

	begun = 0;
	ended = 0;
	contested.type = type_of(test);
	wake_up_process(thread_new(test, contest_run, NULL));
	for (round = 1; round <= CONTESTS; round++) {
		any_reset(&contested.probe, like(test), kprobes_entries[1].addr);
		/* Pairs with the acquire in contest_run(): the struct is ready. */
		smp_store_release(&begun, round);
		answer = add(&contested);
		/* Pairs with the release there: the other answer is there. */
		while (smp_load_acquire(&ended) != round)
			cond_resched();
		KUNIT_EXPECT_EQ(test, answer + other_answer, -EINVAL);
		KUNIT_EXPECT_EQ(test, answer * other_answer, 0);
		expect_hits(test, &kprobes_entries[1], 1);
		any_drop(&contested);
		expect_hits(test, &kprobes_entries[1], 0);
	}
}

/* A caller may not have looked at what registering returned. */
static void probe_that_was_never_registered_is_left_out(struct kunit *test)
{
	const struct kprobes_step *entry = &kprobes_entries[1];
	struct any *never = new_probe(test, entry->addr), *any = registered(test, entry->addr);
	union any_probe *both[] = { &never->probe, &any->probe };

	KUNIT_EXPECT_EQ(test, -EINVAL, enable_kprobe(&never->probe.kp));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_kprobe(&never->probe.kp));
	any_drop(never);
	KUNIT_EXPECT_NULL(test, never->probe.kp.addr);
	expect_hits(test, entry, 1);

	/* It looks as if neither had ever been registered. */
	any_reset(&never->probe, like(test), entry->addr);
	any_unregister_many(any->type, both, ARRAY_SIZE(both));
	KUNIT_EXPECT_NULL(test, never->probe.kp.addr);
	KUNIT_EXPECT_TRUE(test, list_empty(&never->probe.kp.list));
	KUNIT_EXPECT_TRUE(test, list_empty(&any->probe.kp.list));
	expect_hits(test, entry, 0);
	any_reset(&never->probe, like(test), entry->addr);
	KUNIT_EXPECT_EQ(test, 0, add(never));
	expect_hits(test, entry, 1);
}

/* --- targets that are none --- */

static void expect_reusable(struct kunit *test, struct any *any, const union any_probe *like)
{
	any_reset(&any->probe, like, kprobes_entries[1].addr);
	KUNIT_EXPECT_EQ(test, 0, add(any));
	expect_hits(test, &kprobes_entries[1], 1);
	any_drop(any);
}

KPROBES_TARGET(kprobes_misuse_named, 303)

static const u32 constant_data[4] = { 1, 2, 3, 4 };
static u32 writable_data[4];

struct refusal {
	const char *what;
	int errno, or_errno;		/* the second will do, too, if it is not 0 */
	const char *symbol;		/* the probe's symbol_name */
	void *addr;			/* its address */
	unsigned int offset;		/* and its offset */
	bool is_text;			/* @addr is a function, whose text must not change */
};

#define AT(address)		.addr = (void *)(address)
#define TEXT(function)		AT(function), .is_text = true

static const struct refusal refusals[] = {
	{ "neither address nor symbol", -EINVAL },
	{ "neither, with an offset", -EINVAL, .offset = 16 },
	{ "both address and symbol", -EINVAL, .symbol = "kprobes_misuse_named",
	  TEXT(kprobes_misuse_named) },
	{ "unknown symbol", -ENOENT, .symbol = "no_such_function_anywhere" },
	{ "empty symbol", -ENOENT, .symbol = "" },
	{ "symbol with a far too large offset", -ENOENT, -EINVAL,
	  .symbol = "kprobes_misuse_named", .offset = 0x7fffffff },
	{ "address 1", -ENOENT, AT(1) },
	{ "user address", -ENOENT, AT(0x400000) },
	{ "last address", -ENOENT, -EINVAL, AT(-1UL) },
	{ "address between user and kernel", -ENOENT, AT(1UL << (BITS_PER_LONG - 2)) },
	{ "constant data", -EINVAL, -ENOENT, AT(constant_data) },
	{ "writable data", -EINVAL, -ENOENT, AT(writable_data) },
	{ "NOKPROBE_SYMBOL() function", -EINVAL, TEXT(kprobes_forbidden) },
	{ "blacklisted name", -EINVAL, .symbol = "kprobes_forbidden" },
	{ "way of a trap to its probe", -EINVAL, .symbol = "get_kprobe" },
	/* With one CPU it is a constant. */
	{ "what a trap asks RCU", -EINVAL, -ENOENT, .symbol = "rcu_is_watching" },
};

KUNIT_ARRAY_PARAM_DESC(refusal, refusals, what);

/*
 * A past bug: an address was read before it was known to be text. Another: on arm64
 * rcu_is_watching(), which a debug kernel calls at each BRK, was accepted.
 */
static void bad_target_is_refused(struct kunit *test)
{
	const struct refusal *refusal = test->param_value;
	unsigned int i;

	if (refusal->is_text)
		kprobes_text_watch(test, refusal->addr);
	for (i = 0; i < ARRAY_SIZE(probe_types); i++) {
		const union any_probe *like = &count[probe_types[i].id];
		struct any *any = any_new(test, probe_types[i].type, like, refusal->addr);

		any->probe.kp.symbol_name = refusal->symbol;
		any->probe.kp.offset = refusal->offset;
		any_expect_refused_by(test, any, refusal->errno,
				      refusal->or_errno ?: refusal->errno);
		expect_reusable(test, any, like);
	}
}

static void probe_off_the_entry_is_refused_and_not_changed(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "return");
	struct any *any = new_probe(test, step->addr);

	if (any->type == KPROBE) {
		KUNIT_EXPECT_EQ_MSG(test, 0, add(any), "they can be anywhere");
		return;
	}
	any_expect_refused(test, any, -EINVAL);
	any_reset(&any->probe, like(test), step->call);
	any->probe.kp.offset = step->addr - (void *)step->call;
	any_expect_refused(test, any, -EINVAL);
	/* Other suites have functions of the same name, but they are all alike. */
	any_reset(&any->probe, like(test), NULL);
	any->probe.kp.symbol_name = "kprobes_steps";
	any->probe.kp.offset = step->addr - (void *)step->call;
	any_expect_refused(test, any, -EINVAL);
	expect_reusable(test, any, like(test));
}

static struct kprobe *moved;
static void *elsewhere;

/*
 * Moves a probe right before it is planted: as if there were another module by then, with another
 * function at this place.
 */
static int move_inside(struct probe *probe, struct pt_regs *regs)
{
	if (kprobes_argument(regs) == (unsigned long)moved)
		moved->addr = elsewhere;
	return 0;
}

/*
 * A past bug: a module loaded to the same address meanwhile got the probe in the middle of a
 * function.
 */
static void function_is_checked_again_when_it_is_used(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "return");
	struct any *any = new_probe(test, step->call);
	struct probe *mover;

	kprobes_need_arguments(test);
	moved = &any->probe.kp;
	elsewhere = step->addr;
	mover = probe_with(test, NULL, .kp.symbol_name = "register_kprobe",
			   .on_hit = move_inside);
	KUNIT_EXPECT_EQ(test, any->type == KPROBE ? 0 : -EINVAL, add(any));
	probe_unregister(mover);
}

/* --- what the core does not take from an owner --- */

/* Whoever has return probes counts their misses elsewhere, and they have no post handler. */
static void only_two_flags_are_taken_from_the_user(struct kunit *test)
{
	struct any *any = new_probe(test, kprobes_untraced);
	struct kprobe *kp = &any->probe.kp;

	kp->flags = KPROBE_FLAG_GONE | KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_FTRACE;
	kp->nmissed = 99;
	if (any->type == RETURN_PROBE) {
		kp->post_handler = count_post;
		any->probe.rp.nmissed = 7;
	}
	KUNIT_ASSERT_EQ(test, 0, add(any));
	KUNIT_EXPECT_FALSE(test, kprobe_gone(kp));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(kp));
	KUNIT_EXPECT_FALSE(test, kp->flags & KPROBE_FLAG_NESTS);
	KUNIT_EXPECT_EQ(test, kp->nmissed, 0);
	expect_hits(test, &kprobes_entries[1], 1);
	if (any->type == RETURN_PROBE)
		KUNIT_EXPECT_EQ(test, any->probe.rp.nmissed, 0);

	any_drop(any);
	any_reset(&any->probe, like(test), kprobes_untraced);
	kp->flags = KPROBE_FLAG_NESTS | KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, 0, add(any));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(kp));
	expect_hits(test, &kprobes_entries[1], 0);
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(kp));
	expect_hits(test, &kprobes_entries[1], 1);
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(kp));
	expect_hits(test, &kprobes_entries[1], 0);
	KUNIT_EXPECT_TRUE(test, kp->flags & KPROBE_FLAG_NESTS);
	any_drop(any);
	KUNIT_EXPECT_TRUE(test, kp->flags & KPROBE_FLAG_NESTS);
}

/* A module cannot wait for jumps. */
static void let_jumps_come(void)
{
	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		wait_for_kprobe_optimizer();
}

/* Where a probe has pointers to the handlers that it has, and to the functions that count */
struct pointers {
	void **to[2], *from[2];
	unsigned int num;
};

/* One of two variants: without or with a post handler, or a cap */
static struct pointers set_handlers(struct any *any, bool second)
{
	union any_probe *probe = &any->probe;

	switch (any->type) {
	case KPROBE:
		probe->kp.post_handler = second ? count_post : NULL;
		return (struct pointers) {
			{ (void **)&probe->kp.pre_handler, (void **)&probe->kp.post_handler },
			{ count_pre, count_post }, 1 + second,
		};
	case RETURN_PROBE:
		probe->rp.entry_handler = count_return;
		probe->rp.maxactive = second;
		return (struct pointers) {
			{ (void **)&probe->rp.entry_handler, (void **)&probe->rp.handler },
			{ count_return, count_return }, 2,
		};
	default:
		return (struct pointers) { { &probe->jp.entry }, { count_jprobe }, 1 };
	}
}

/* First at a breakpoint, and again when there may be a jump */
static void take_handlers(struct kunit *test, const struct kprobes_step *step, struct any *any,
			  struct pointers all, unsigned int others)
{
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < all.num; i++)
			WRITE_ONCE(*all.to[i], all.from[i]);
		expect_hits(test, step, others + all.num);
		for (i = 0; i < all.num; i++) {
			WRITE_ONCE(*all.to[i], NULL);
			expect_hits(test, step, others + all.num - i - 1);
		}
		if (!others)
			let_jumps_come();
	}
	if (any->type == KPROBE)
		return;
	/* Without its own pre handler no more calls are followed. */
	for (i = 0; i < all.num; i++)
		WRITE_ONCE(*all.to[i], all.from[i]);
	WRITE_ONCE(any->probe.kp.pre_handler, NULL);
	expect_hits(test, step, others);
}

/* Their owner must not do that, but survives; alone, and beside another probe. */
static void handlers_may_be_set_to_null_in_use(struct kunit *test)
{
	unsigned int num, i, variant, others;
	const struct kprobes_step *places = places_of(test, &num);
	struct any *any = new_probe(test, NULL), *other = new_probe(test, NULL);
	struct pointers all;

	for (i = 0; i < num; i++) {
		for (variant = 0; variant < 4; variant++) {
			any_reset(&other->probe, like(test), places[i].addr);
			others = variant & 2 ? set_handlers(other, true).num : 0;
			if (others)
				KUNIT_ASSERT_EQ(test, 0, add(other));
			any_reset(&any->probe, like(test), places[i].addr);
			all = set_handlers(any, variant & 1);
			KUNIT_ASSERT_EQ(test, 0, add(any));
			take_handlers(test, &places[i], any, all, others);
			if (any->type == RETURN_PROBE)
				KUNIT_EXPECT_EQ(test, any->probe.rp.nmissed, 0);
			any_drop(any);
			if (others)
				any_drop(other);
		}
	}
}

/* --- together --- */

static union any_probe **new_batch(struct kunit *test, unsigned int num)
{
	union any_probe **batch = kunit_kcalloc(test, num, sizeof(*batch), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, batch);
	for (i = 0; i < num; i++)
		batch[i] = &new_probe(test, NULL)->probe;
	return batch;
}

static void reset_batch(struct kunit *test, union any_probe **batch)
{
	unsigned int num, i;
	const struct kprobes_step *places = places_of(test, &num);

	for (i = 0; i < num; i++)
		any_reset(batch[i], like(test), places[i].addr);
}

/* There is a probe at each of so many places. Several places may be in the same function. */
static void expect_hits_of_batch(struct kunit *test, unsigned int probes)
{
	unsigned int num, i, k, same;
	const struct kprobes_step *places = places_of(test, &num);

	for (i = 0; i < num; i++) {
		for (same = k = 0; k < probes; k++)
			same += places[k].call == places[i].call;
		expect_hits(test, &places[i], same);
	}
}

/* The batches that do not fail are of any size. */
static void failure_in_a_batch_undoes_it_all(struct kunit *test)
{
	enum any_type type = type_of(test);
	unsigned int num, bad, i;
	union any_probe **batch;

	places_of(test, &num);
	batch = new_batch(test, num);
	for (bad = 0; bad < num; bad++) {
		reset_batch(test, batch);
		batch[bad]->kp.addr = bad & 1 ? NULL : (void *)kprobes_forbidden;
		batch[bad]->kp.symbol_name = bad & 1 ? "no_such_function_anywhere" : NULL;
		KUNIT_EXPECT_EQ(test, bad & 1 ? -ENOENT : -EINVAL,
				any_register_many(type, batch, num));
		expect_hits_of_batch(test, 0);

		reset_batch(test, batch);
		KUNIT_ASSERT_EQ(test, 0, any_register_many(type, batch, bad + 1));
		for (i = 0; i <= bad; i++)
			KUNIT_EXPECT_FALSE(test, kprobe_disabled(&batch[i]->kp));
		expect_hits_of_batch(test, bad + 1);
		any_unregister_many(type, batch, bad + 1);
		expect_hits_of_batch(test, 0);
	}
}

/* One that is empty, or has a struct twice. */
static void bad_batch_is_refused(struct kunit *test)
{
	enum any_type type = type_of(test);
	union any_probe **batch = new_batch(test, 2), before[2];
	union any_probe *thrice[] = { batch[0], batch[1], batch[0] };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		any_reset(batch[i], like(test), kprobes_entries[i].addr);
		before[i] = *batch[i];
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, batch, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, batch, -1));
	any_unregister_many(type, batch, 0);
	any_unregister_many(type, batch, -1);
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, thrice, 3));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_MEMEQ(test, batch[i], &before[i], sizeof(before[i]));
		expect_hits(test, &kprobes_entries[i], 0);
	}

	/* The same for a struct that is registered already, beside another probe */
	KUNIT_ASSERT_EQ(test, 0, any_register_many(type, batch, 2));
	registered(test, kprobes_entries[0].addr);
	memcpy(&before[0], batch[0], sizeof(before[0]));
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, batch, 1));
	KUNIT_EXPECT_MEMEQ(test, batch[0], &before[0], sizeof(before[0]));
	for (i = 0; i < 2; i++)
		expect_hits(test, &kprobes_entries[i], 2 - i);
	any_unregister_many(type, batch, 1);
	expect_hits(test, &kprobes_entries[0], 1);
}

#define BATCH	16

/* At entries which ftrace does not serve: what ftrace patches is not counted. */
static void batch_patches_the_text_once(struct kunit *test)
{
	enum any_type type = type_of(test);
	union any_probe **batch;
	unsigned int i, before;

	if (KPROBES_BLOCKS < BATCH)
		kunit_skip(test, "no blocks among the targets");
	for (i = 0; i < BATCH; i++)
		kprobes_text_watch(test, kprobes_blocks[i].call);
	batch = new_batch(test, BATCH);
	for (i = 0; i < BATCH; i++)
		batch[i]->kp.addr = (void *)kprobes_blocks[i].call;
	syncs_count(test, KPROBES_SYNC_SYMBOL);
	KUNIT_ASSERT_EQ(test, 0, any_register_many(type, batch, BATCH));
	KUNIT_EXPECT_EQ(test, syncs, 1);
	hits = 0;
	for (i = 0; i < BATCH; i++)
		kprobes_blocks[i].call(1);
	KUNIT_EXPECT_EQ(test, hits, BATCH);
	any_unregister_many(type, batch, BATCH);
	/* Jumps may have been put in meanwhile by one more patch, and taken out by some. */
	KUNIT_EXPECT_GE(test, syncs, 2);
	KUNIT_EXPECT_LE(test, syncs, 1 + BATCH / 4);

	/* A batch that fails at its last probe has not touched the text at all. */
	before = syncs;
	for (i = 0; i < BATCH; i++)
		any_reset(batch[i], like(test), kprobes_blocks[i].call);
	batch[BATCH - 1]->kp.addr = (void *)kprobes_forbidden;
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, batch, BATCH));
	KUNIT_EXPECT_EQ(test, syncs, before);
}

#define CROWD	7

/* Most are at one address. With the two at the other one, they are not sorted by address. */
static void handlers_of_a_batch_run_newest_first(struct kunit *test)
{
	struct probe *probes = test_alloc(test, CROWD * sizeof(*probes));
	struct kprobe *kps[CROWD];
	unsigned int i;

	for (i = 0; i < CROWD; i++) {
		probe_reset(&probes[i], i % (CROWD - 1) ? kprobes_untraced : kprobes_traced);
		kps[i] = &probes[i].kp;
	}
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(kps, CROWD));
	kprobes_untraced(1);
	for (i = 2; i < CROWD - 1; i++)
		KUNIT_EXPECT_EQ(test, probes[i].turn + 1, probes[i - 1].turn);
	unregister_kprobes(kps, CROWD);
}

#ifdef CONFIG_X86_KERNEL_IBT
/* A probe on a landing pad is put behind it, where the other one is. */
static void later_of_two_at_a_landing_pad_runs_first(struct kunit *test)
{
	struct probe *two = test_alloc(test, 2 * sizeof(*two));
	struct kprobe *kps[] = { &two[0].kp, &two[1].kp };
	void *entry = kprobes_entry(kprobes_traced);
	unsigned int on_pad;

	/* objtool would object to a constant that points behind a landing pad. */
	OPTIMIZER_HIDE_VAR(entry);
	for (on_pad = 0; on_pad < 2; on_pad++) {
		probe_reset(&two[on_pad], entry);
		probe_reset(&two[!on_pad], entry + ENDBR_INSN_SIZE);
		KUNIT_ASSERT_EQ(test, 0, register_kprobes(kps, 2));
		KUNIT_EXPECT_PTR_EQ(test, kps[0]->addr, kps[1]->addr);
		kprobes_traced(1);
		KUNIT_EXPECT_EQ(test, two[1].turn + 1, two[0].turn);
		unregister_kprobes(kps, 2);
	}
}
#endif

static struct kunit_case kprobes_kinds_cases[] = {
	KUNIT_CASE_PARAM(one_of_two_threads_registers_a_probe, type_gen_params),
	KUNIT_CASE_PARAM(probe_that_was_never_registered_is_left_out, type_gen_params),
	KUNIT_CASE_PARAM(bad_target_is_refused, refusal_gen_params),
	KUNIT_CASE_PARAM(probe_off_the_entry_is_refused_and_not_changed, type_gen_params),
	KUNIT_CASE_PARAM(function_is_checked_again_when_it_is_used, type_gen_params),
	KUNIT_CASE_PARAM(only_two_flags_are_taken_from_the_user, type_gen_params),
	KUNIT_CASE_PARAM(handlers_may_be_set_to_null_in_use, type_gen_params),
	KUNIT_CASE_PARAM(failure_in_a_batch_undoes_it_all, type_gen_params),
	KUNIT_CASE_PARAM(bad_batch_is_refused, type_gen_params),
	KUNIT_CASE_PARAM(batch_patches_the_text_once, type_gen_params),
	KUNIT_CASE(handlers_of_a_batch_run_newest_first),
#ifdef CONFIG_X86_KERNEL_IBT
	KUNIT_CASE(later_of_two_at_a_landing_pad_runs_first),
#endif
	{}
};

static struct kunit_suite kprobes_kinds_suite = {
	.name = "kprobes_kinds_test",
	.init = kprobes_watch_targets,
	.test_cases = kprobes_kinds_cases,
};

kunit_test_suite(kprobes_kinds_suite);

MODULE_DESCRIPTION("KUnit tests of what holds for probes of all kinds");
MODULE_LICENSE("GPL");
