// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what holds for kprobes, return probes and jprobes alike, through what
 * modules can call: how they are registered alone and together, and what is refused.
 */
#include <linux/errno.h>

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

static void disabled_probe_is_silent(struct kunit *test)
{
	unsigned int num, i;
	const struct kprobes_step *places = places_of(test, &num);

	for (i = 0; i < num; i++) {
		struct any *any = new_probe(test, places[i].addr);

		any->probe.kp.flags = KPROBE_FLAG_DISABLED;
		KUNIT_ASSERT_EQ(test, 0, add(any));
		expect_hits(test, &places[i], 0);
		KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&any->probe.kp));
		expect_hits(test, &places[i], 1);
		KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&any->probe.kp));
		expect_hits(test, &places[i], 0);
		any_drop(any);
	}
}

/* What is refused is not changed, and can be used again. */
static void expect_refused(struct kunit *test, struct any *any, int errno)
{
	union any_probe before;

	memcpy(&before, &any->probe, sizeof(before));
	KUNIT_EXPECT_EQ(test, errno, add(any));
	KUNIT_EXPECT_MEMEQ_MSG(test, &any->probe, &before, sizeof(before), "it was changed");
	any_drop(any);
	any_reset(&any->probe, like(test), kprobes_entries[1].addr);
	KUNIT_EXPECT_EQ(test, 0, add(any));
	expect_hits(test, &kprobes_entries[1], 1);
	any_drop(any);
}

static void bad_probe_is_refused_and_not_changed(struct kunit *test)
{
	static const struct {
		void *addr;
		const char *symbol;
		int errno;
	} bad[] = {
		{ NULL, NULL, -EINVAL },
		{ kprobes_untraced, "kprobes_untraced", -EINVAL },
		{ NULL, "no_such_function_anywhere", -ENOENT },
		{ (void *)1, NULL, -ENOENT },
		{ kprobes_forbidden, NULL, -EINVAL },
	};
	struct any *any;
	unsigned int i;

	kprobes_text_watch(test, kprobes_forbidden);
	any = new_probe(test, NULL);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		any_reset(&any->probe, like(test), bad[i].addr);
		any->probe.kp.symbol_name = bad[i].symbol;
		expect_refused(test, any, bad[i].errno);
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
	expect_refused(test, any, -EINVAL);
	any_reset(&any->probe, like(test), step->call);
	any->probe.kp.offset = step->addr - (void *)step->call;
	expect_refused(test, any, -EINVAL);
	/* Other suites have functions of the same name, but they are all alike. */
	any_reset(&any->probe, like(test), NULL);
	any->probe.kp.symbol_name = "kprobes_steps";
	any->probe.kp.offset = step->addr - (void *)step->call;
	expect_refused(test, any, -EINVAL);
}

/* A past bug: registering the same struct twice damaged the lists. */
static void same_struct_is_refused_twice(struct kunit *test)
{
	unsigned int num, i;
	const struct kprobes_step *places = places_of(test, &num);

	for (i = 0; i < num; i++) {
		struct any *any = registered(test, places[i].addr);
		struct any *neighbour = registered(test, places[i].addr);
		union any_probe before;

		/* The struct has the address that the first registration has left in it. */
		memcpy(&before, &any->probe, sizeof(before));
		KUNIT_EXPECT_EQ(test, -EINVAL, add(any));
		KUNIT_EXPECT_MEMEQ(test, &any->probe, &before, sizeof(before));
		expect_hits(test, &places[i], 2);
		any_drop(any);
		expect_hits(test, &places[i], 1);
		any_drop(neighbour);
	}
}

static struct any contested;

static int register_contested(void)
{
	return add(&contested);
}

/* The same bug, by two threads at the same time. */
static void one_of_two_threads_registers_a_probe(struct kunit *test)
{
	struct contest *contest = contest_start(test, register_contested);
	unsigned int i;

	contested.type = type_of(test);
	for (i = 0; i < CONTESTS; i++) {
		any_reset(&contested.probe, like(test), kprobes_entries[1].addr);
		contest_hold(test, contest);
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

/* Several places may be in the same function. */
static void expect_hits_of_batch(struct kunit *test, unsigned int probes)
{
	unsigned int num, i, k, same;
	const struct kprobes_step *places = places_of(test, &num);

	for (i = 0; i < num; i++) {
		for (same = k = 0; k < num; k++)
			same += places[k].call == places[i].call;
		expect_hits(test, &places[i], probes * same);
	}
}

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
		KUNIT_ASSERT_EQ(test, 0, any_register_many(type, batch, num));
		for (i = 0; i < num; i++)
			KUNIT_EXPECT_FALSE(test, kprobe_disabled(&batch[i]->kp));
		expect_hits_of_batch(test, 1);
		any_unregister_many(type, batch, num);
		expect_hits_of_batch(test, 0);
	}
}

static void empty_batch_is_refused(struct kunit *test)
{
	enum any_type type = type_of(test);
	union any_probe *one = &new_probe(test, kprobes_untraced)->probe;

	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, &one, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, &one, -1));
	any_unregister_many(type, &one, 0);
	any_unregister_many(type, &one, -1);
	expect_hits(test, &kprobes_entries[1], 0);
}

static void one_struct_twice_in_a_batch_is_refused(struct kunit *test)
{
	enum any_type type = type_of(test);
	union any_probe **batch = new_batch(test, 2), before[2];
	union any_probe *thrice[] = { batch[0], batch[1], batch[0] };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		any_reset(batch[i], like(test), kprobes_entries[i].addr);
		before[i] = *batch[i];
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, thrice, 3));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_MEMEQ(test, batch[i], &before[i], sizeof(before[i]));
		expect_hits(test, &kprobes_entries[i], 0);
	}
	KUNIT_ASSERT_EQ(test, 0, any_register_many(type, batch, 2));
	KUNIT_EXPECT_EQ(test, -EINVAL, any_register_many(type, batch, 1));
	for (i = 0; i < 2; i++)
		expect_hits(test, &kprobes_entries[i], 1);
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

static struct kunit_case kprobes_kinds_cases[] = {
	KUNIT_CASE_PARAM(disabled_probe_is_silent, type_gen_params),
	KUNIT_CASE_PARAM(bad_probe_is_refused_and_not_changed, type_gen_params),
	KUNIT_CASE_PARAM(probe_off_the_entry_is_refused_and_not_changed, type_gen_params),
	KUNIT_CASE_PARAM(same_struct_is_refused_twice, type_gen_params),
	KUNIT_CASE_PARAM(one_of_two_threads_registers_a_probe, type_gen_params),
	KUNIT_CASE_PARAM(probe_that_was_never_registered_is_left_out, type_gen_params),
	KUNIT_CASE_PARAM(failure_in_a_batch_undoes_it_all, type_gen_params),
	KUNIT_CASE_PARAM(empty_batch_is_refused, type_gen_params),
	KUNIT_CASE_PARAM(one_struct_twice_in_a_batch_is_refused, type_gen_params),
	KUNIT_CASE_PARAM(batch_patches_the_text_once, type_gen_params),
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
