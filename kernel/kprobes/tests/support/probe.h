/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the KUnit suites for kprobes: a probe that notes what its handlers
 * see, and a watch over the text of probed functions. Handlers only take notes.
 * The test case checks them afterwards.
 */
#ifndef _LIB_TEST_KPROBES_PROBE_H
#define _LIB_TEST_KPROBES_PROBE_H

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/vmalloc.h>

#include "regs.h"
#include "report.h"
#include "targets.h"

/**
 * struct probe - a kprobe that takes notes
 * @kp: the probe itself
 * @live: it is registered, so it has to be unregistered when the case ends
 * @hits: how often the pre handler ran
 * @posts: how often the post handler ran
 * @turn: when the pre handler ran last, counted in runs of all handlers
 * @post_turn: the same for the post handler
 * @ip: instruction pointer the pre handler was given
 * @post_ip: instruction pointer the post handler was given
 * @post_flags: last argument of the post handler
 * @preemptible: some handler could have been preempted
 * @on_hit: called by the pre handler, which returns its result
 */
struct probe {
	struct kprobe kp;
	bool live;
	unsigned int hits, posts;
	unsigned int turn, post_turn;
	unsigned long ip, post_ip, post_flags;
	bool preemptible;
	int (*on_hit)(struct probe *probe, struct pt_regs *regs);
};

static unsigned int probe_turns;

static inline bool probe_may_be_preempted(void)
{
	return preemptible();
}

static inline int probe_pre_handler(struct kprobe *kp, struct pt_regs *regs)
{
	struct probe *probe = container_of(kp, struct probe, kp);

	probe->hits++;
	probe->turn = ++probe_turns;
	probe->ip = instruction_pointer(regs);
	probe->preemptible |= probe_may_be_preempted();
	return probe->on_hit ? probe->on_hit(probe, regs) : 0;
}

static inline void probe_post_handler(struct kprobe *kp, struct pt_regs *regs,
				      unsigned long flags)
{
	struct probe *probe = container_of(kp, struct probe, kp);

	probe->posts++;
	probe->post_turn = ++probe_turns;
	probe->post_ip = instruction_pointer(regs);
	probe->post_flags |= flags;
	probe->preemptible |= probe_may_be_preempted();
}

/* Makes a struct that was used before as good as new. */
static inline void probe_reset(struct probe *probe, void *addr)
{
	memset(probe, 0, sizeof(*probe));
	INIT_LIST_HEAD(&probe->kp.list);
	probe->kp.addr = addr;
	probe->kp.pre_handler = probe_pre_handler;
}

static inline void probe_unregister(struct probe *probe)
{
	if (probe->live)
		unregister_kprobe(&probe->kp);
	probe->live = false;
}

static inline void probe_drop(void *probe)
{
	probe_unregister(probe);
}

/* A probe for @addr, not registered yet. It is unregistered when the test case ends. */
static inline struct probe *probe_new(struct kunit *test, void *addr)
{
	struct probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe_reset(probe, addr);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, probe_drop, probe));
	return probe;
}

static inline int probe_register(struct probe *probe)
{
	int ret = register_kprobe(&probe->kp);

	probe->live = !ret;
	return ret;
}

/* Registers a probe that was registered before, at @addr. Its notes are kept. */
static inline int probe_register_again(struct probe *probe, void *addr)
{
	probe->kp.addr = addr;
	probe->kp.flags = 0;
	return probe_register(probe);
}

static inline struct probe *probe_registered(struct kunit *test, void *addr)
{
	struct probe *probe = probe_new(test, addr);

	KUNIT_ASSERT_EQ_MSG(test, 0, probe_register(probe), "at %pS", addr);
	return probe;
}

/* How often kprobes_call_step() executes the step */
#define KPROBES_CALLS	2

/* Calls the function around @step, as a part of the caller, so that its jump goes both ways. */
static __always_inline void kprobes_call_step(struct kunit *test,
					      const struct kprobes_step *step)
{
	static const u32 arguments[KPROBES_CALLS] = { 1, -15 };
	unsigned int i;

	for (i = 0; i < KPROBES_CALLS; i++) {
		u32 x = arguments[i];

		KUNIT_EXPECT_EQ_MSG(test, step->call(x), kprobes_expected(x),
				    "%s: the probed function went wrong", step->name);
	}
}

/* The step of that name, or NULL where the architecture has none */
static inline const struct kprobes_step *kprobes_find_step(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kprobes_steps_table); i++) {
		if (!strcmp(kprobes_steps_table[i].name, name))
			return &kprobes_steps_table[i];
	}
	return NULL;
}

/* Steps that differ in the way to the handlers. Not every architecture has all of them. */
static const char * const kprobes_common_steps[] __maybe_unused = {
	"function entry", "untraced function entry", "plain instruction", "call",
};

static inline const struct kprobes_step *kprobes_need_step(struct kunit *test,
							   const char *name)
{
	const struct kprobes_step *step = kprobes_find_step(name);

	if (!step)
		kunit_skip(test, "no %s among the targets", name);
	return step;
}

/**
 * struct kprobes_text - a function, and its text without probes
 * @test: the test case
 * @start: address of the function
 * @size: its size
 * @copy: a copy of its text
 */
struct kprobes_text {
	struct kunit *test;
	void *start;
	unsigned long size;
	u8 copy[];
};

/* Whoever takes a probe out has restored the text, jumps included, when that returns. */
static inline void kprobes_text_compare(void *data)
{
	struct kprobes_text *text = data;

	KUNIT_EXPECT_MEMEQ_MSG(text->test, text->start, text->copy, text->size,
			       "the text of %pS was left changed", text->start);
}

/* The function around @addr as it is now. The copy is freed when the test case ends. */
static inline struct kprobes_text *kprobes_text_copy(struct kunit *test, void *addr)
{
	struct kprobes_text *text;
	unsigned long size;
	void *start = kprobes_function(addr, &size);

	KUNIT_ASSERT_NOT_NULL(test, start);
	text = kunit_kzalloc(test, struct_size(text, copy, size), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, text);
	text->test = test;
	text->start = start;
	text->size = size;
	memcpy(text->copy, start, size);
	return text;
}

/*
 * When the test case ends, the function around @addr must be what it is now. Has
 * to be called before the first probe is made: actions run in reverse order.
 */
static inline struct kprobes_text *kprobes_text_watch(struct kunit *test, void *addr)
{
	struct kprobes_text *text = kprobes_text_copy(test, addr);

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, kprobes_text_compare, text));
	return text;
}

/* For suites: each case must leave all targets as it has found them. */
static inline int kprobes_watch_targets(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kprobes_steps_table); i++)
		kprobes_text_watch(test, kprobes_steps_table[i].call);
	return 0;
}

static inline void kprobes_step_desc(const struct kprobes_step *step, char *desc)
{
	strscpy(desc, step->name, KUNIT_PARAM_DESC_SIZE);
}

/* For a probe that was refused or unregistered */
static inline void probe_expect_reusable(struct kunit *test, struct probe *probe)
{
	KUNIT_EXPECT_TRUE(test, list_empty(&probe->kp.list));
	probe_reset(probe, kprobes_untraced);
	KUNIT_EXPECT_EQ(test, 0, probe_register(probe));
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
	probe_unregister(probe);
}

static inline void kprobes_vfree(void *area)
{
	vfree(area);
}

/* The area is freed when the test case ends. */
static inline void *kprobes_vmalloc(struct kunit *test, size_t size)
{
	void *area = vmalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, kprobes_vfree, area));
	return area;
}

/* Returns the guard page of an area, which stays unmapped as long as the area exists. */
static inline void *kprobes_unmapped(struct kunit *test)
{
	return kprobes_vmalloc(test, PAGE_SIZE) + PAGE_SIZE;
}

/* How often the test's own task has synchronized all processors with changed text */
static unsigned int syncs __maybe_unused;
static struct task_struct *syncs_of __maybe_unused;

static inline int note_sync(struct probe *probe, struct pt_regs *regs)
{
	if (current == syncs_of)
		syncs++;
	return 0;
}

static inline void syncs_count(struct kunit *test)
{
	struct probe *probe;

	if (!KPROBES_SYNC_SYMBOL)
		kunit_skip(test, "not known to patch many places at once");
	probe = probe_new(test, NULL);
	probe->kp.symbol_name = KPROBES_SYNC_SYMBOL;
	probe->on_hit = note_sync;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	syncs_of = current;
	syncs = 0;
}

#endif /* _LIB_TEST_KPROBES_PROBE_H */
