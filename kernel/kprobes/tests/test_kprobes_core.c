// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of hits that need functions which modules cannot call: no hit is
 * lost while probes change; functions that a hit calls can be probed, too; and so
 * can init text, and functions early in boot. Built-in only.
 */
#include <linux/uaccess.h>

#include "support/probe.h"
#include "support/threads.h"

KUNIT_ARRAY_PARAM_DESC(step, kprobes_steps_table, name);

static void registered_place_is_found_and_told_from_the_rest(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_registered(test, step->addr);
	int answer = step->addr == step->call ? 0 : -EINVAL;
	struct kprobe *found, *beside;

	scoped_guard(preempt) {
		found = get_kprobe(probe->kp.addr);
		beside = get_kprobe((void *)probe->kp.addr + 1);
	}
	KUNIT_ASSERT_NOT_NULL(test, found);
	KUNIT_EXPECT_PTR_EQ(test, found->addr, probe->kp.addr);
	KUNIT_EXPECT_PTR_NE(test, beside, found);

	probe_unregister(probe);
	KUNIT_EXPECT_EQ(test, answer, kprobe_on_func_entry(step->addr, NULL, 0));
	KUNIT_EXPECT_EQ(test, answer, kprobe_on_func_entry((void *)step->call, NULL,
							   step->addr - (void *)step->call));
	KUNIT_EXPECT_EQ(test, 0, kprobe_on_func_entry(NULL, "vsnprintf", 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, kprobe_on_func_entry(NULL, "no_such_function_anywhere", 0));
}

static void *bad_address;
static long fault_result;

static int fault_in_handler(struct probe *probe, struct pt_regs *regs)
{
	unsigned long value;

	fault_result = copy_from_kernel_nofault(&value, bad_address, sizeof(value));
	return 0;
}

static void fault_in_a_handler_is_fixed_up(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe;

	bad_address = kprobes_unmapped(test);
	fault_result = 0;
	probe = probe_with(test, step->addr, .on_hit = fault_in_handler);
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, fault_result, -EFAULT);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
}

#define CHANGES	50

/*
 * If unregistering waited until nothing is hit, or until each task has slept, this case would never
 * end. Past bugs: one task that never slept stopped all registrations; hits were lost, or seen
 * twice, while post handlers came and went.
 */
static void no_hit_is_lost_while_others_come_and_go(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *resident = probe_registered(test, step->addr);
	struct probe *visitor = probe_new(test, NULL);
	struct caller *caller;
	unsigned int i;

	visitor->kp.post_handler = probe_post_handler;
	caller = caller_start(test, step->call);
	/* At least one call falls between two changes. */
	for (i = 0; i < CHANGES; i++) {
		KUNIT_EXPECT_EQ(test, 0, probe_register_again(visitor, step->addr));
		caller_wait(test, caller);
		probe_unregister(visitor);
		caller_wait(test, caller);
	}
	caller_stop(caller);
	probe_expect(test, resident, caller->calls, 0, 0);
	KUNIT_EXPECT_GT(test, visitor->hits, 0);
}

/* A past bug: a slot could be written to at its address in the linear map. */
static void slot_pages_have_names_and_are_not_writable(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "plain instruction");
	char name[KSYM_NAME_LEN], type;
	unsigned long value, alias;
	unsigned int num;

	probe_registered(test, step->addr);
	/* Where there is a jump, the page of its detour is looked at, too. */
	wait_for_kprobe_optimizer();
	if (IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64))
		KUNIT_EXPECT_TRUE(test, kprobes_writable((unsigned long)&bad_address));
	for (num = 0; !kprobe_get_kallsym(num, &value, &type, name); num++) {
		KUNIT_EXPECT_EQ(test, type, 't');
		KUNIT_EXPECT_TRUE(test, !strcmp(name, "kprobe_insn_page") ||
				  !strcmp(name, "kprobe_optinsn_page"));
		KUNIT_EXPECT_TRUE(test, is_kprobe_insn_slot(value) ||
				  is_kprobe_optinsn_slot(value));
		KUNIT_EXPECT_FALSE(test, kprobes_writable(value));
		/* The same page in the linear map */
		alias = (unsigned long)page_address(vmalloc_to_page((void *)value));
		KUNIT_EXPECT_FALSE(test, kprobes_writable(alias));
	}
	KUNIT_EXPECT_GT(test, num, 0);
	KUNIT_EXPECT_EQ(test, -ERANGE, kprobe_get_kallsym(num, &value, &type, name));
}

static noinline __noclone int __init kprobes_test_init_text(int x)
{
	kprobes_begin(&x);
	return x + 1;
}

/* Must only be called while the init text is there. */
static noinline int __ref call_init_text(int x)
{
	return kprobes_test_init_text(x);
}

static struct probe init_probe;

static int register_init_probe(void)
{
	probe_reset(&init_probe, NULL);
	init_probe.kp.symbol_name = "kprobes_test_init_text";
	return probe_register(&init_probe);
}

/*
 * The first run, at boot, leaves a probe behind. The next one, started through
 * debugfs, checks what has become of it. Any run after boot checks that another
 * probe there is refused.
 */
static void init_text_is_probed_until_it_is_freed(struct kunit *test)
{
	int ret;

	if (system_state < SYSTEM_FREEING_INITMEM) {
		KUNIT_ASSERT_EQ(test, 0, register_init_probe());
		KUNIT_EXPECT_EQ(test, call_init_text(1), 2);
		KUNIT_EXPECT_EQ(test, init_probe.hits, 1);
		return;
	}
	if (init_probe.live) {
		KUNIT_EXPECT_TRUE(test, kprobe_gone(&init_probe.kp));
		KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&init_probe.kp));
		KUNIT_EXPECT_EQ(test, -EINVAL, enable_kprobe(&init_probe.kp));
		probe_unregister(&init_probe);
	}
	ret = register_init_probe();
	KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == -ENOENT, "answer %d", ret);
	probe_unregister(&init_probe);
}

/* Functions that a hit may call: a probe on one must not make the hit recurse */

/* Where every entry of a function that is not on the blacklist can be probed */
#define ENTRIES_ARE_PROBED							\
	((IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64)) &&		\
	 (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) || !IS_ENABLED(CONFIG_DYNAMIC_FTRACE)))

/* These are there, by the configuration, and have a probe. */
static const struct {
	const char *name;
	bool exists;
} surely_near[] = {
	{ "copy_from_kernel_nofault", true },
	{ "fixup_exception", true },
	{ "search_exception_tables", true },
	{ "core_kernel_text", true },
	{ "kernel_text_address", true },
	{ "kallsyms_lookup_size_offset", true },
	{ "ktime_get_mono_fast_ns", true },
	{ "__rcu_read_lock", IS_ENABLED(CONFIG_PREEMPT_RCU) },
	{ "__rcu_read_unlock", IS_ENABLED(CONFIG_PREEMPT_RCU) },
	{ "ftrace_location", IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
};

static const char * const near_the_way[] = {
	"preempt_count_add", "preempt_count_sub", "preempt_schedule_notrace",
	"preempt_schedule_notrace_thunk", "__x86_indirect_thunk_rax", "__x86_return_thunk",
	"retbleed_return_thunk", "srso_return_thunk", "its_return_thunk",
	"__this_cpu_preempt_check", "debug_smp_processor_id", "debug_lockdep_rcu_enabled",
	"rcu_read_lock_held", "lock_acquire", "lock_release", "lock_is_held_type",
	"trace_hardirqs_on", "trace_hardirqs_off", "lockdep_hardirqs_on",
	"__kasan_check_read", "__kasan_check_write", "__asan_load8", "__asan_store8",
	"kasan_check_range", "rcu_is_watching",
	"__hwasan_load4_noabort", "__sanitizer_cov_trace_pc", "__sanitizer_cov_trace_switch",
	"__sanitizer_cov_trace_const_cmp4", "check_kcov_mode", "write_comp_data",
	"memcpy", "memset", "__memcpy", "__memset", "memcmp", "ftrace_ops_test", "sched_clock",
	"notifier_call_chain", "atomic_notifier_call_chain", "irqentry_enter",
	"arch_atomic_add", "arch_atomic64_add", "arch_local_irq_save", "arch_local_irq_restore",
};

/* Where this is a function, and probed, it is hit by its own hits. */
static atomic_t hits_near;

KIND_HANDLERS(near, atomic_inc(&hits_near));

/* The last two of the steps are in the same function. */
#define NR_STEPS	ARRAY_SIZE(kprobes_common_steps)

static void call_common_steps(struct kunit *test)
{
	const struct kprobes_step *step;
	unsigned int i;

	for (i = 0; i < NR_STEPS - 1; i++) {
		step = kprobes_find_step(kprobes_common_steps[i]);
		if (step)
			kprobes_call_step(test, step);
	}
}

/* By breakpoint or ftrace, then maybe by a jump. Returns how many calls of each there were. */
static unsigned int call_in_both_ways(struct kunit *test)
{
	call_common_steps(test);
	wait_for_kprobe_optimizer();
	call_common_steps(test);
	return 2 * KPROBES_CALLS;
}

/* Calls them with a probe on a function. Many are refused, or do not exist in this kernel. */
static unsigned int call_with_probe_at(struct kunit *test, const char *name, enum any_type type,
				       int maxactive)
{
	union any_probe probe = near[type == KPROBE ? PRE_HANDLER : RETURN_HANDLER];
	unsigned int calls;

	probe.kp.symbol_name = name;
	if (type == RETURN_PROBE)
		probe.rp.maxactive = maxactive;
	if (any_register(type, &probe))
		return 0;
	calls = call_in_both_ways(test);
	any_unregister(type, &probe);
	return calls;
}

/* Rethook, which others have, calls functions that must not have a return probe. */
#define RETURNS_ARE_OURS	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64))

static unsigned int call_with_probes_at(struct kunit *test, const char *name)
{
	unsigned int calls = call_with_probe_at(test, name, KPROBE, 0);

	if (RETURNS_ARE_OURS)
		calls += call_with_probe_at(test, name, RETURN_PROBE, 0) +
			 call_with_probe_at(test, name, RETURN_PROBE, 1);
	return calls;
}

static unsigned int call_with_probes_near(struct kunit *test)
{
	unsigned int i, n, calls = 0;

	for (i = 0; i < ARRAY_SIZE(surely_near); i++) {
		n = call_with_probes_at(test, surely_near[i].name);
		KUNIT_EXPECT_TRUE_MSG(test, n || !surely_near[i].exists || !ENTRIES_ARE_PROBED,
				      "no probe at %s", surely_near[i].name);
		calls += n;
	}
	for (i = 0; i < ARRAY_SIZE(near_the_way); i++)
		calls += call_with_probes_at(test, near_the_way[i]);
	return calls;
}

/*
 * A past bug: what the path to a handler calls was hit without end. So were here
 * preempt_schedule_notrace(), __asan_load8(), RCU's read lock and, on sparc64, atomic
 * operations.
 */
static void what_a_hit_may_call_is_probed(struct kunit *test)
{
	struct probe *probes[NR_STEPS] = { };
	const struct kprobes_step *step, *entry = kprobes_need_step(test, "function entry");
	struct return_probe *far;
	unsigned int i, calls;

	if (IS_ENABLED(CONFIG_MIPS))
		kunit_skip(test, "its hooks never leave a hit of some branches");
	for (i = 0; i < NR_STEPS; i++) {
		step = kprobes_find_step(kprobes_common_steps[i]);
		if (step)
			probes[i] = probe_with(test, step->addr, .kp.post_handler =
					       i & 1 ? probe_post_handler : NULL);
	}
	far = return_probe_with(test, entry->addr);
	wait_for_kprobe_optimizer();
	calls = call_with_probes_near(test);
	KUNIT_EXPECT_GT(test, calls, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&far->returns), calls);
	for (i = 0; i < NR_STEPS; i++) {
		if (!probes[i])
			continue;
		KUNIT_EXPECT_EQ_MSG(test, probes[i]->hits, calls, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, probes[i]->posts, i & 1 ? calls : 0, "%u", i);
	}
}

KPROBES_TARGET(probed_early, 201)

static struct probe early_probes[2];

/* -ENOMEM: to be registered, or to be tried again */
static int early_answers[] = { -ENOMEM, -ENOMEM };

/* A probe at an entry and, if there are blocks, one in the middle of a function */
static unsigned int nr_early(void)
{
	return kprobes_blocks[0].first ? 2 : 1;
}

static int __init plant_early(void)
{
	unsigned int i;

	for (i = 0; kunit_enabled() && i < nr_early(); i++) {
		if (early_answers[i] != -ENOMEM)
			continue;
		probe_reset(&early_probes[i], i ? kprobes_blocks[0].first : (void *)probed_early);
		early_answers[i] = probe_register(&early_probes[i]);
	}
	return 0;
}
early_initcall(plant_early);

/* Before that, there is no memory for slots. */
#ifdef CONFIG_ARCH_WANTS_EXECMEM_LATE
subsys_initcall(plant_early);
#endif

/* They are in nobody's way if their case is filtered out. */
static void drop_early(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i < nr_early(); i++)
		probe_unregister(&early_probes[i]);
}

/*
 * A past bug: a probe of early boot was optimized before RCU-tasks was there. Another, on
 * arm64: a probe from an early initcall was an oops.
 */
static void probes_that_came_early_are_hit(struct kunit *test)
{
	unsigned int i;

	if (system_state >= SYSTEM_FREEING_INITMEM)
		kunit_skip(test, "it is late");
	KUNIT_EXPECT_EQ(test, probed_early(1), kprobes_expected(1) + 201);
	if (kprobes_blocks[0].first)
		kprobes_blocks[0].call(1);
	for (i = 0; i < nr_early(); i++) {
		KUNIT_EXPECT_EQ_MSG(test, early_answers[i], 0, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, early_probes[i].hits, 1, "%u", i);
		probe_unregister(&early_probes[i]);
	}
}

static struct kunit_case kprobes_core_test_cases[] = {
	KUNIT_CASE_PARAM(registered_place_is_found_and_told_from_the_rest, step_gen_params),
	KUNIT_CASE_PARAM(fault_in_a_handler_is_fixed_up, step_gen_params),
	KUNIT_CASE_PARAM(no_hit_is_lost_while_others_come_and_go, step_gen_params),
	KUNIT_CASE_SLOW(what_a_hit_may_call_is_probed),
	KUNIT_CASE(slot_pages_have_names_and_are_not_writable),
	KUNIT_CASE(probes_that_came_early_are_hit),
	{}
};

static struct kunit_suite kprobes_core_test_suite = {
	.name = "kprobes_core_test",
	.suite_exit = drop_early,
	.init = kprobes_watch_targets,
	.test_cases = kprobes_core_test_cases,
};

static struct kunit_case kprobes_init_test_cases[] = {
	KUNIT_CASE(init_text_is_probed_until_it_is_freed),
	{}
};

/* By itself, and quick, because it comes to its point when it is run again. */
static struct kunit_suite kprobes_init_test_suite = {
	.name = "kprobes_init_test",
	.test_cases = kprobes_init_test_cases,
};

kunit_test_suites(&kprobes_core_test_suite, &kprobes_init_test_suite);
