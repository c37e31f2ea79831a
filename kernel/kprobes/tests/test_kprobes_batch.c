// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of probes that are registered together, through what modules can
 * call: all of them are registered or none, and many take few changes of the text.
 */
#include <linux/errno.h>
#include <linux/mm.h>

#include "support/probe.h"

/**
 * struct batch - probes that come and go together
 * @probes: the probes
 * @kps: the same, as register_kprobes() takes them
 * @num: how many are registered
 */
struct batch {
	struct probe *probes;
	struct kprobe **kps;
	unsigned int num;
};

static void batch_drop(struct batch *batch)
{
	if (batch->num)
		unregister_kprobes(batch->kps, batch->num);
	batch->num = 0;
}

static void batch_free(void *data)
{
	struct batch *batch = data;

	batch_drop(batch);
	kvfree(batch->kps);
	kvfree(batch->probes);
}

static struct batch *batch_new(struct kunit *test, unsigned int size)
{
	struct batch *batch = test_alloc(test, sizeof(*batch));
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, batch_free, batch));
	batch->probes = kvcalloc(size, sizeof(*batch->probes), GFP_KERNEL);
	batch->kps = kvcalloc(size, sizeof(*batch->kps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, batch->probes);
	KUNIT_ASSERT_NOT_NULL(test, batch->kps);
	for (i = 0; i < size; i++)
		batch->kps[i] = &batch->probes[i].kp;
	return batch;
}

static int batch_register(struct batch *batch, unsigned int num)
{
	int ret = register_kprobes(batch->kps, num);

	batch->num = ret ? 0 : num;
	return ret;
}

/* A probe on each kind of instruction */

#define STEPS	ARRAY_SIZE(kprobes_steps_table)

static void batch_reset(struct batch *batch)
{
	unsigned int i;

	for (i = 0; i < STEPS; i++)
		probe_reset(&batch->probes[i], kprobes_steps_table[i].addr);
}

static void batch_call(struct kunit *test, struct batch *batch)
{
	unsigned int i;

	for (i = 0; i < STEPS; i++) {
		unsigned int before = batch->probes[i].hits;

		kprobes_call_step(test, &kprobes_steps_table[i]);
		KUNIT_EXPECT_EQ_MSG(test, batch->probes[i].hits - before,
				    i < batch->num ? KPROBES_CALLS : 0,
				    "probe %u of %u", i, batch->num);
	}
}

static void batch_of_any_size_is_registered(struct kunit *test)
{
	struct batch *batch = batch_new(test, STEPS);
	unsigned int num;

	for (num = 1; num <= STEPS; num++) {
		batch_reset(batch);
		KUNIT_ASSERT_EQ(test, 0, batch_register(batch, num));
		batch_call(test, batch);
		batch_drop(batch);
		batch_call(test, batch);
	}
}

#define CROWD	5

/* Most are at one address. With the two at the other one, they are not sorted by address. */
static void handlers_of_a_batch_run_newest_first(struct kunit *test)
{
	struct batch *batch = batch_new(test, CROWD + 2);
	unsigned int i;

	for (i = 0; i < CROWD + 2; i++)
		probe_reset(&batch->probes[i], kprobes_untraced);
	batch->kps[0]->addr = (void *)kprobes_traced;
	batch->kps[CROWD + 1]->addr = (void *)kprobes_traced;
	KUNIT_ASSERT_EQ(test, 0, batch_register(batch, CROWD + 2));
	kprobes_untraced(1);
	for (i = 2; i <= CROWD; i++)
		KUNIT_EXPECT_EQ(test, batch->probes[i].turn + 1, batch->probes[i - 1].turn);
}

/* Large numbers */

#define MANY	(KPROBES_BLOCKS * KPROBES_BLOCK_INSNS)

/* A probe on each instruction of the blocks */
static struct batch *batch_of_many(struct kunit *test)
{
	struct batch *batch;
	unsigned int i;

	if (!MANY)
		kunit_skip(test, "no blocks among the targets");
	for (i = 0; i < KPROBES_BLOCKS; i++)
		kprobes_text_watch(test, kprobes_blocks[i].first);
	batch = batch_new(test, MANY);
	for (i = 0; i < MANY; i++)
		probe_reset(&batch->probes[i], kprobes_blocks[i / KPROBES_BLOCK_INSNS].first +
			    i % KPROBES_BLOCK_INSNS * KPROBES_BLOCK_INSN_SIZE);
	return batch;
}

static void blocks_call(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < KPROBES_BLOCKS; i++)
		KUNIT_EXPECT_EQ(test, kprobes_blocks[i].call(i), i + KPROBES_BLOCK_INSNS);
}

/* Returns how many have not been hit exactly once. */
static unsigned int many_wrong(struct batch *batch)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < MANY; i++)
		wrong += batch->probes[i].hits != 1 || batch->probes[i].kp.nmissed;
	return wrong;
}

static void thousands_of_probes_are_each_hit_once(struct kunit *test)
{
	struct batch *batch = batch_of_many(test);

	KUNIT_ASSERT_EQ(test, 0, batch_register(batch, MANY));
	blocks_call(test);
	KUNIT_EXPECT_EQ(test, many_wrong(batch), 0);
	batch_drop(batch);
	blocks_call(test);
	KUNIT_EXPECT_EQ(test, many_wrong(batch), 0);
}

static void thousands_of_probes_take_few_patches(struct kunit *test)
{
	struct batch *batch = batch_of_many(test);

	syncs_count(test, KPROBES_SYNC_SYMBOL);
	KUNIT_ASSERT_EQ(test, 0, batch_register(batch, MANY));
	KUNIT_EXPECT_GT(test, syncs, 0);
	KUNIT_EXPECT_LE(test, syncs, MANY / 32);
	syncs = 0;
	batch_drop(batch);
	KUNIT_EXPECT_GT(test, syncs, 0);
	KUNIT_EXPECT_LE(test, syncs, MANY / 32);
	kunit_info(test, "%u probes registered, %u interruptions to unregister", MANY, syncs);
}

#ifdef CONFIG_X86_KERNEL_IBT
/* A probe on a landing pad is put behind it, where the other one is. */
static void later_of_two_at_a_landing_pad_runs_first(struct kunit *test)
{
	struct batch *batch = batch_new(test, 2);
	void *entry = kprobes_entry(kprobes_traced);
	unsigned int on_pad;

	/* objtool would object to a constant that points behind a landing pad. */
	OPTIMIZER_HIDE_VAR(entry);
	for (on_pad = 0; on_pad < 2; on_pad++) {
		probe_reset(&batch->probes[on_pad], entry);
		probe_reset(&batch->probes[!on_pad], entry + ENDBR_INSN_SIZE);
		KUNIT_ASSERT_EQ(test, 0, batch_register(batch, 2));
		KUNIT_EXPECT_PTR_EQ(test, batch->probes[0].kp.addr, batch->probes[1].kp.addr);
		kprobes_traced(1);
		KUNIT_EXPECT_EQ(test, batch->probes[1].turn + 1, batch->probes[0].turn);
		batch_drop(batch);
	}
}
#endif

static struct kunit_case kprobes_batch_test_cases[] = {
	KUNIT_CASE(batch_of_any_size_is_registered),
	KUNIT_CASE(handlers_of_a_batch_run_newest_first),
#ifdef CONFIG_X86_KERNEL_IBT
	KUNIT_CASE(later_of_two_at_a_landing_pad_runs_first),
#endif
	KUNIT_CASE_SLOW(thousands_of_probes_are_each_hit_once),
	KUNIT_CASE_SLOW(thousands_of_probes_take_few_patches),
	{}
};

static struct kunit_suite kprobes_batch_test_suite = {
	.name = "kprobes_batch_test",
	.init = kprobes_watch_targets,
	.test_cases = kprobes_batch_test_cases,
};

kunit_test_suite(kprobes_batch_test_suite);

MODULE_DESCRIPTION("KUnit tests of kprobes registered together");
MODULE_LICENSE("GPL");
