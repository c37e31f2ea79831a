// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: emulated branches, where they cannot be compared with native execution
 */

#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "support/probe.h"
#include "../internal.h"
#include "test_native.h"

/* Cases whose result has no code or no stack, so they cannot run: expect what the manual says. */
struct far_case {
	const char	*name;
	u8		code[MAX_INSN_SIZE];
	u64		ip, sp, pushed;
};

#define FAR_IP		0xffffffff81000000
#define FAR_CX		2
/* The stack pointer from before the instruction */
#define FAR_SP		1

static const struct far_case far_cases[] = {
	{ "jmp +2G", { 0xe9, 0xff, 0xff, 0xff, 0x7f }, FAR_IP + 5 + 0x7fffffff },
	{ "jmp -2G", { 0xe9, 0, 0, 0, 0x80 }, FAR_IP + 5 - 0x80000000 },
	{ "jae +2G", { 0x0f, 0x83, 0xff, 0xff, 0xff, 0x7f }, FAR_IP + 6 + 0x7fffffff },
	{ "jae -2G", { 0x0f, 0x83, 0, 0, 0, 0x80 }, FAR_IP + 6 - 0x80000000 },
	{ "jb -2G", { 0x0f, 0x82, 0, 0, 0, 0x80 }, FAR_IP + 6 },
	{ "call -2G", { 0xe8, 0, 0, 0, 0x80 }, FAR_IP + 5 - 0x80000000, -1, FAR_IP + 5 },
	{ "cs call +2G", { 0x2e, 0xe8, 0xff, 0xff, 0xff, 0x7f },
	  FAR_IP + 6 + 0x7fffffff, -1, FAR_IP + 6 },
	{ "loop -128", { 0xe2, 0x80 }, FAR_IP + 2 - 128 },
	{ "ret $0xfff8", { 0xc2, 0xf8, 0xff }, 0, sizeof(long) + 0xfff8 },
	{ "call *%sp", { 0xff, 0xd4 }, FAR_SP, -1, FAR_IP + 2 },
};

static bool emulate_code(struct kunit *test, const u8 *code, struct pt_regs *regs)
{
	struct kprobe_emulation em;
	struct insn insn;

	KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, code));
	KUNIT_ASSERT_EQ(test, 0, kprobe_emulation_init(&em, &insn));
	return em.fn(&em, regs);
}

/* A past bug: a call with prefixes returned into itself. */
static void test_far(struct kunit *test)
{
	unsigned long *sp = &kprobe_test_stack[STACK_AT], ip, moved;
	const struct far_case *c;
	struct pt_regs regs = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(far_cases); i++) {
		c = &far_cases[i];
		memset(kprobe_test_stack, 0, sizeof(kprobe_test_stack));
		regs.ip = (unsigned long)FAR_IP;
		regs.sp = (unsigned long)sp;
		regs.cx = FAR_CX;
		KUNIT_ASSERT_TRUE(test, emulate_code(test, c->code, &regs));
		ip = c->ip == FAR_SP ? (unsigned long)sp : c->ip;
		moved = c->sp == -1 ? -sizeof(long) : c->sp;
		KUNIT_EXPECT_EQ_MSG(test, ip, regs.ip, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, (unsigned long)sp + moved, regs.sp, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, (unsigned long)c->pushed, sp[-1], "%s", c->name);
	}
}

/* An instruction that would fault is left to the copy, with unchanged registers. */
static void test_faults(struct kunit *test)
{
	static const u8 codes[][MAX_INSN_SIZE] = {
		{ 0xc3 }, { 0xc2, 8, 0 }, { 0xff, 0x10 }, { 0xff, 0x20 },
	};
	const unsigned long addresses[] = {
		0, PAGE_SIZE, LONG_MAX, TASK_SIZE_MAX - sizeof(long), -PAGE_SIZE,
		/* The page behind user space, a non-canonical address, vsyscalls */
		IS_ENABLED(CONFIG_X86_64) ? TASK_SIZE_MAX : 0,
		IS_ENABLED(CONFIG_X86_64) ? BIT_ULL(63) : 0,
		IS_ENABLED(CONFIG_X86_64) ? -10UL << 20 : 0,
	};
	struct pt_regs before = {}, regs;
	int i;

	for (i = 0; i < ARRAY_SIZE(codes) * ARRAY_SIZE(addresses); i++) {
		memset(&before, 0x5a, sizeof(before));
		before.ax = addresses[i % ARRAY_SIZE(addresses)];
		before.bp = before.ax;
		before.sp = before.ax;
		regs = before;
		KUNIT_EXPECT_FALSE(test, emulate_code(test, codes[i / ARRAY_SIZE(addresses)],
						      &regs));
		KUNIT_EXPECT_MEMEQ(test, &before, &regs, sizeof(regs));
	}
}

#ifdef CONFIG_SMP
#define STEPPED_RESULT	7

unsigned long kprobe_test_stepped(void);

KPROBES_AT(stepped);

static unsigned long stepped_target(void)
{
	return STEPPED_RESULT;
}

static DEFINE_PER_CPU(unsigned long (*)(void), kprobe_test_target) __used = stepped_target;

/* A call by per-CPU memory, the one kind of instruction that is stepped. */
KPROBES_FUNCTION(kprobe_test_stepped,
		 FRAME_BEGIN KPROBES_STEP("stepped") ANNOTATE_RETPOLINE_SAFE "\n"
		 "call *%" __ASM_SEL_RAW(fs, gs) ":" KPROBES_DATA("kprobe_test_target") "\n"
		 FRAME_END ASM_RET);

/* The second call may be a hit by a jump. */
static void test_stepped(struct kunit *test)
{
	struct probe *probe = probe_with(test, kprobes_step_stepped,
					 .kp.post_handler = probe_post_handler);
	unsigned int calls;
	const char *path;

	scoped_guard(preempt)
		path = arch_kprobe_path(get_kprobe(kprobes_step_stepped));
	KUNIT_EXPECT_STREQ(test, path, "step");
	for (calls = 1; calls <= 2; calls++) {
		probe->post_ip = 0;
		KUNIT_EXPECT_EQ(test, STEPPED_RESULT, kprobe_test_stepped());
		probe_expect(test, probe, calls, calls, 0);
		KUNIT_EXPECT_EQ(test, probe->post_ip, (unsigned long)stepped_target);
		wait_for_kprobe_optimizer();
	}
}
#else
static void test_stepped(struct kunit *test)
{
	kunit_skip(test, "nothing is stepped here");
}
#endif

static struct kunit_case emulate_cases[] = {
	KUNIT_CASE(test_far),
	KUNIT_CASE(test_faults),
	KUNIT_CASE(test_stepped),
	{ }
};

static struct kunit_suite emulate_suite = {
	.name		= "kprobes_x86_emulate",
	.test_cases	= emulate_cases,
};

kunit_test_suite(emulate_suite);
