// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what kprobes must not take from their users: targets that are none, flags
 * that are not theirs, handlers that go. What holds for other probes, too, is in
 * test_kprobes_kinds.c; what can be probed by the kernel's own tables, in
 * test_kprobes_refused.c.
 */
#include <linux/errno.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "support/probe.h"

KUNIT_ARRAY_PARAM_DESC(step, kprobes_steps_table, name);

/* Targets */

static noinline __noclone u32 kprobes_misuse_named(u32 x)
{
	kprobes_begin(&x);
	return x + 303;
}

static noinline u32 __kprobes in_the_kprobes_section(u32 x)
{
	kprobes_begin(&x);
	return x;
}

static noinstr u32 not_for_instrumentation(u32 x)
{
	return x + 1;
}

static const u32 constant_data[4] = { 1, 2, 3, 4 };
static u32 writable_data[4];

static void *address_constant(struct kunit *test, unsigned long where)
{
	return (void *)where;
}

static void *address_on_the_stack(struct kunit *test, unsigned long where)
{
	return __builtin_frame_address(0);
}

static void *address_on_the_heap(struct kunit *test, unsigned long where)
{
	return kunit_kzalloc(test, 64, GFP_KERNEL);
}

static void *address_in_vmalloc(struct kunit *test, unsigned long where)
{
	return kprobes_vmalloc(test, 64);
}

static void *address_freed_from_vmalloc(struct kunit *test, unsigned long where)
{
	void *p = vmalloc(64);

	vfree(p);
	return p;
}

#if defined(CONFIG_HAS_IOMEM) && defined(CONFIG_64BIT)
static void device_unmap(void *area)
{
	iounmap((void __iomem __force *)area);
}

/* Far above all memory, where no device answers: a read there may abort. */
static void *address_of_a_device(struct kunit *test, unsigned long where)
{
	phys_addr_t end = __pa(high_memory - 1) + 1;
	void *area = (void __force *)ioremap(end + SZ_512M, PAGE_SIZE);

	if (!area)
		kunit_skip(test, "no device can be mapped there");
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, device_unmap, area));
	return area;
}
#endif

/**
 * struct refusal - a target that must be refused
 * @what: its name
 * @errno: the expected error
 * @or_errno: another error that will do, 0 if none
 * @symbol: the probe's symbol_name
 * @make: returns the probe's address; NULL if it has none
 * @where: argument of @make
 * @offset: the probe's offset
 * @is_text: @where is a function, whose text must not change
 */
struct refusal {
	const char *what;
	int errno, or_errno;
	const char *symbol;
	void *(*make)(struct kunit *test, unsigned long where);
	unsigned long where;
	unsigned int offset;
	bool is_text;
};

#define AT(address)		.make = address_constant, .where = (unsigned long)(address)
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
	{ "stack", -ENOENT, .make = address_on_the_stack },
	/* It may be in a part of the kernel's image that was freed. */
	{ "heap", -ENOENT, -EINVAL, .make = address_on_the_heap },
	{ "vmalloc", -ENOENT, .make = address_in_vmalloc },
	{ "freed vmalloc", -ENOENT, .make = address_freed_from_vmalloc },
#if defined(CONFIG_HAS_IOMEM) && defined(CONFIG_64BIT)
	{ "device", -ENOENT, .make = address_of_a_device },
#endif
#ifdef KPROBES_GATE_AREA
	{ "gate area", -EINVAL, -ENOENT, AT(KPROBES_GATE_AREA) },
#endif
	{ "constant data", -EINVAL, -ENOENT, AT(constant_data) },
	{ "writable data", -EINVAL, -ENOENT, AT(writable_data) },
	{ "NOKPROBE_SYMBOL() function", -EINVAL, TEXT(kprobes_forbidden) },
	{ "function in __kprobes", -EINVAL, TEXT(in_the_kprobes_section) },
	{ "noinstr function", -EINVAL, TEXT(not_for_instrumentation) },
	{ "blacklisted name", -EINVAL, .symbol = "kprobes_forbidden" },
	{ "way of a trap to its probe", -EINVAL, .symbol = "get_kprobe" },
	/* With one CPU it is a constant. */
	{ "what a trap asks RCU", -EINVAL, -ENOENT, .symbol = "rcu_is_watching" },
	{ "entry code", -EINVAL, -ENOENT, .symbol = KPROBES_ENTRY_SYMBOL },
};

KUNIT_ARRAY_PARAM_DESC(refusal, refusals, what);

/*
 * A past bug: an address was read before it was known to be text. Another: on arm64
 * rcu_is_watching(), which a debug kernel calls at each BRK, was accepted.
 */
static void bad_target_is_refused(struct kunit *test)
{
	const struct refusal *refusal = test->param_value;
	void *addr = refusal->make ? refusal->make(test, refusal->where) : NULL;
	struct probe *probe = probe_new(test, addr);
	struct kprobe before;
	int ret;

	if (refusal->is_text)
		kprobes_text_watch(test, addr);
	probe->kp.symbol_name = refusal->symbol;
	probe->kp.offset = refusal->offset;
	memcpy(&before, &probe->kp, sizeof(before));
	ret = probe_register(probe);
	if (ret != refusal->or_errno || !ret)
		KUNIT_EXPECT_EQ(test, ret, refusal->errno);
	if (ret)
		KUNIT_EXPECT_MEMEQ_MSG(test, &probe->kp, &before, sizeof(before),
				       "it was changed");
	probe_unregister(probe);
	probe_expect_reusable(test, probe);
}

/* Structs */

static void unregistered_probe_cannot_be_switched(struct kunit *test)
{
	struct probe *probe = probe_new(test, kprobes_untraced);

	KUNIT_EXPECT_EQ(test, -EINVAL, enable_kprobe(&probe->kp));
	KUNIT_EXPECT_EQ(test, -EINVAL, disable_kprobe(&probe->kp));
	probe_expect_reusable(test, probe);
}

static void only_two_flags_are_taken_from_the_user(struct kunit *test)
{
	struct probe *probe = probe_new(test, kprobes_untraced);

	probe->kp.flags = KPROBE_FLAG_GONE | KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_FTRACE;
	probe->kp.nmissed = 99;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	KUNIT_EXPECT_FALSE(test, kprobe_gone(&probe->kp));
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&probe->kp));
	KUNIT_EXPECT_FALSE(test, probe->kp.flags & KPROBE_FLAG_NESTS);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	kprobes_untraced(1);
	KUNIT_EXPECT_EQ(test, probe->hits, 1);

	probe_unregister(probe);
	probe_reset(probe, kprobes_untraced);
	probe->kp.flags = KPROBE_FLAG_NESTS | KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&probe->kp));
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probe->kp));
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&probe->kp));
	KUNIT_EXPECT_TRUE(test, probe->kp.flags & KPROBE_FLAG_NESTS);
	probe_unregister(probe);
	KUNIT_EXPECT_TRUE(test, probe->kp.flags & KPROBE_FLAG_NESTS);
}

/* What an owner must not do, but survives */
static void expect_runs(struct kunit *test, const struct kprobes_step *step,
			struct probe *probe, unsigned int hits, unsigned int posts)
{
	probe->hits = 0;
	probe->posts = 0;
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ_MSG(test, probe->hits, hits, "%s", step->name);
	KUNIT_EXPECT_EQ_MSG(test, probe->posts, posts, "%s", step->name);
}

/* A module cannot wait for jumps. */
static void let_jumps_come(void)
{
	if (!IS_MODULE(CONFIG_KPROBES_SANITY_TEST))
		wait_for_kprobe_optimizer();
}

/* First at a breakpoint, and again when there may be a jump */
static void handlers_may_be_set_to_null_in_use(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_new(test, step->addr);
	unsigned int post, i;

	for (post = 0; post < 2; post++) {
		probe_reset(probe, step->addr);
		probe->kp.post_handler = post ? probe_post_handler : NULL;
		KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
		for (i = 0; i < 2; i++) {
			WRITE_ONCE(probe->kp.pre_handler, probe_pre_handler);
			WRITE_ONCE(probe->kp.post_handler, post ? probe_post_handler : NULL);
			expect_runs(test, step, probe, KPROBES_CALLS, post * KPROBES_CALLS);
			WRITE_ONCE(probe->kp.pre_handler, NULL);
			expect_runs(test, step, probe, 0, post * KPROBES_CALLS);
			WRITE_ONCE(probe->kp.post_handler, NULL);
			expect_runs(test, step, probe, 0, 0);
			let_jumps_come();
		}
		probe_unregister(probe);
	}
}

static void handlers_of_one_of_two_may_be_set_to_null_in_use(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *older = probe_new(test, step->addr);
	struct probe *newer = probe_new(test, step->addr);

	older->kp.post_handler = probe_post_handler;
	newer->kp.post_handler = probe_post_handler;
	KUNIT_ASSERT_EQ(test, 0, probe_register(older));
	KUNIT_ASSERT_EQ(test, 0, probe_register(newer));
	WRITE_ONCE(newer->kp.pre_handler, NULL);
	expect_runs(test, step, older, KPROBES_CALLS, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, newer->hits, 0);
	KUNIT_EXPECT_EQ(test, newer->posts, KPROBES_CALLS);
	WRITE_ONCE(newer->kp.post_handler, NULL);
	expect_runs(test, step, older, KPROBES_CALLS, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, newer->posts, KPROBES_CALLS);
}

static struct kunit_case kprobes_misuse_cases[] = {
	KUNIT_CASE_PARAM(bad_target_is_refused, refusal_gen_params),
	KUNIT_CASE(unregistered_probe_cannot_be_switched),
	KUNIT_CASE(only_two_flags_are_taken_from_the_user),
	KUNIT_CASE_PARAM(handlers_may_be_set_to_null_in_use, step_gen_params),
	KUNIT_CASE_PARAM(handlers_of_one_of_two_may_be_set_to_null_in_use, step_gen_params),
	{}
};

static struct kunit_suite kprobes_misuse_suite = {
	.name = "kprobes_misuse_test",
	.init = kprobes_watch_targets,
	.test_cases = kprobes_misuse_cases,
};

kunit_test_suite(kprobes_misuse_suite);

MODULE_DESCRIPTION("KUnit tests of kprobes that are misused");
MODULE_LICENSE("GPL");
