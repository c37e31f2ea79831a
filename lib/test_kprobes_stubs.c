// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of a kernel without kprobes: registering a probe fails, and questions
 * about probes are answered as if there were none. In a kernel with kprobes, but without
 * return probes, this is so for return probes.
 */
#include <kunit/test.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

static unsigned int hits;

static noinline unsigned int target(unsigned int n)
{
	barrier_data(&n);
	return n + 1;
}

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static unsigned int count_call(unsigned int n)
{
	hits++;
	jprobe_return();
	return n;
}

/* A probe of each kind; all bytes of it are compared. */
static struct wanted {
	struct kprobe kp;
	struct kretprobe rp;
	struct jprobe jp;
} wanted, before;

static int stubs_init(struct kunit *test)
{
	memset(&wanted, 0, sizeof(wanted));
	wanted.kp.addr = (kprobe_opcode_t *)target;
	wanted.kp.pre_handler = count_hit;
	wanted.rp.kp.symbol_name = "schedule";
	wanted.rp.handler = count_return;
	wanted.jp.kp.addr = (kprobe_opcode_t *)target;
	wanted.jp.entry = JPROBE_ENTRY(count_call);
	memcpy(&before, &wanted, sizeof(before));
	hits = 0;
	return 0;
}

static void expect_nothing_happened(struct kunit *test)
{
	KUNIT_EXPECT_MEMEQ(test, &wanted, &before, sizeof(wanted));
	KUNIT_EXPECT_EQ(test, target(1), 2);
	KUNIT_EXPECT_EQ(test, hits, 0);
}

static void skip_with_kprobes(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_KPROBES))
		kunit_skip(test, "there are kprobes");
}

static void no_return_probe_can_be_registered(struct kunit *test)
{
	struct kretprobe *rps[] = { &wanted.rp };

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, register_kretprobe(&wanted.rp));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, register_kretprobes(rps, 1));
	/* A caller may not have looked at that. */
	unregister_kretprobe(&wanted.rp);
	unregister_kretprobes(rps, 1);
	expect_nothing_happened(test);
}

/* A caller may not have looked at what registering returned. */
static void ask_for_everything(struct kunit *test)
{
	struct jprobe *jps[] = { &wanted.jp };
	struct kprobe *kps[] = { &wanted.kp };
	const int answers[] = {
		register_kprobe(&wanted.kp), register_kprobes(kps, 1),
		register_jprobe(&wanted.jp), register_jprobes(jps, 1),
		enable_kprobe(&wanted.kp), disable_kprobe(&wanted.kp),
		enable_kretprobe(&wanted.rp), disable_kretprobe(&wanted.rp),
		enable_jprobe(&wanted.jp), disable_jprobe(&wanted.jp),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(answers); i++)
		KUNIT_EXPECT_EQ_MSG(test, answers[i], -EOPNOTSUPP, "question %u", i);
	unregister_kprobe(&wanted.kp);
	unregister_kprobes(kps, 1);
	unregister_jprobe(&wanted.jp);
	unregister_jprobes(jps, 1);
}

static void nothing_is_done_with_a_probe(struct kunit *test)
{
	skip_with_kprobes(test);
	ask_for_everything(test);
	expect_nothing_happened(test);
}

static void no_probe_is_found(struct kunit *test)
{
	unsigned long addr = (unsigned long)target, value;
	char name[KSYM_NAME_LEN], type;

	skip_with_kprobes(test);
	KUNIT_EXPECT_NULL(test, get_kprobe((void *)addr));
	KUNIT_EXPECT_FALSE(test, kprobe_occupies(addr));
	KUNIT_EXPECT_TRUE(test, within_kprobe_blacklist(addr));
	KUNIT_EXPECT_FALSE(test, is_kprobe_insn_slot(addr));
	KUNIT_EXPECT_FALSE(test, is_kprobe_optinsn_slot(addr));
	KUNIT_EXPECT_EQ(test, -ERANGE, kprobe_get_kallsym(0, &value, &type, name));
}

static void no_handler_runs(struct kunit *test)
{
	int count = preempt_count();
	struct pt_regs regs = {};

	skip_with_kprobes(test);
	KUNIT_EXPECT_NULL(test, kprobe_running());
	kprobe_busy_begin();
	KUNIT_EXPECT_NULL(test, kprobe_running());
	kprobe_busy_end();
	KUNIT_EXPECT_FALSE(test, kprobe_page_fault(&regs, 0));
	kprobe_task_dies();
	jprobe_return();
	KUNIT_EXPECT_EQ(test, count, preempt_count());
}

static void no_return_is_diverted(struct kunit *test)
{
	struct llist_node *cursor = NULL;

	KUNIT_EXPECT_FALSE(test, is_kretprobe_trampoline((unsigned long)target));
	KUNIT_EXPECT_EQ(test, 0, kretprobe_find_ret_addr(current, NULL, &cursor));
	KUNIT_EXPECT_NULL(test, cursor);
}

static struct kunit_case kprobes_stubs_cases[] = {
	KUNIT_CASE(no_return_probe_can_be_registered),
	KUNIT_CASE(nothing_is_done_with_a_probe),
	KUNIT_CASE(no_probe_is_found),
	KUNIT_CASE(no_handler_runs),
	KUNIT_CASE(no_return_is_diverted),
	{}
};

static struct kunit_suite kprobes_stubs_suite = {
	.name = "kprobes_stubs",
	.init = stubs_init,
	.test_cases = kprobes_stubs_cases,
};

kunit_test_suite(kprobes_stubs_suite);

MODULE_DESCRIPTION("KUnit test of a kernel without kprobes");
MODULE_LICENSE("GPL");
