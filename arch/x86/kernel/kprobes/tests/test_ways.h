/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_WAYS_H
#define __X86_KERNEL_KPROBES_TEST_WAYS_H
/*
 * For suites that execute many instructions with a probe on each, in all ways in which a hit is
 * handled. The instructions are in text that only the suite uses, and are the same each time.
 */
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/nops.h>
#include <asm/text-patching.h>

#include "support/switch.h"
#include "test_native.h"

/* --- registers --- */

struct registers {
	unsigned long	reg[16];
	unsigned long	flags;
	unsigned long	ip;
};

static void see_registers(struct registers *r, struct pt_regs *regs)
{
	int i;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < NR_REGS; i++)
		r->reg[i] = *reg(regs, i);
	r->flags = regs->flags & ~(unsigned long)X86_EFLAGS_RF;
	r->ip = regs->ip;
}

/* An instruction, and how it is executed, for messages */
struct run {
	const char	*way;
	int		length;
	const u8	*code;
};

static void expect_registers(struct kunit *test, const struct run *run, const char *when,
			     const struct registers *a, const struct registers *b)
{
	int i;

	if (!memcmp(a, b, sizeof(*a)))
		return;
	for (i = 0; i < NR_REGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, a->reg[i], b->reg[i], "%*ph, %s, %s: register %d",
				    run->length, run->code, run->way, when, i);
	KUNIT_EXPECT_EQ_MSG(test, a->flags, b->flags, "%*ph, %s, %s: flags",
			    run->length, run->code, run->way, when);
	KUNIT_EXPECT_EQ_MSG(test, a->ip, b->ip, "%*ph, %s, %s: ip",
			    run->length, run->code, run->way, when);
}

/* --- text --- */

#define PADDING_SIZE	4

/*
 * Puts an instruction into @image, followed by as many bytes as a jump may cover, and by an int3,
 * where its run ends. Returns the offset behind that.
 */
static int put_insn(u8 *image, int at, const u8 *code, int length)
{
	static const u8 padding[] = { BYTES_NOP4 };

	static_assert(sizeof(padding) == PADDING_SIZE);
	static_assert(1 + PADDING_SIZE >= JMP32_INSN_SIZE);
	memcpy(image + at, code, length);
	memcpy(image + at + length, padding, sizeof(padding));
	return at + length + sizeof(padding) + INT3_INSN_SIZE;
}

static u8 *new_image(int size)
{
	u8 *image = kvmalloc(size, GFP_KERNEL);

	if (image)
		memset(image, INT3_INSN_OPCODE, size);
	return image;
}

/* Only once for each text: later there may be jumps in it. */
static void write_text(void (*function)(void), const u8 *image, int size)
{
	u8 *text = (u8 *)function;
	int i;

	OPTIMIZER_HIDE_VAR(text);
	scoped_guard(mutex, &text_mutex) {
		for (i = 0; i < size; i += PAGE_SIZE)
			text_poke(text + i, image + i, PAGE_SIZE);
		text_poke_sync();
	}
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_function_forget();
}

/* --- hits --- */

/*
 * What the handlers have seen, and what the fault handler does: it goes on at @next, or has the
 * instruction tried again with @repaired
 */
static struct {
	struct pt_regs	pre;
	struct pt_regs	post;
	struct pt_regs	fault;
	unsigned int	pres;
	unsigned int	posts;
	unsigned int	faults;
	unsigned long	next;
	struct pt_regs	*repaired;
	bool		trapped;
} hit;

static int see_before(struct kprobe *p, struct pt_regs *regs)
{
	hit.pre = *regs;
	hit.pres++;
	hit.trapped = this_cpu_read(kprobe_int3_count);
	return 0;
}

static void see_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	hit.post = *regs;
	hit.posts++;
}

static int see_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	int i;

	hit.fault = *regs;
	hit.faults++;
	for (i = 0; hit.repaired && i < NR_REGS; i++)
		*reg(regs, i) = *reg(hit.repaired, i);
	if (!hit.repaired)
		regs->ip = hit.next;
	/* Not again and again */
	return hit.faults == 1;
}

/* --- probes --- */

/* How instructions are carried out */
struct way {
	const char	*name;
	bool		jump;
	bool		post;
};

static const struct way by_breakpoint = { "breakpoint", false, false };
static const struct way by_jump = { "jump", true, false };
static const struct way by_jump_post = { "jump, post handler", true, true };
static const struct way by_breakpoint_post = { "breakpoint, post handler", false, true };

/* Each run is one hit. */
static void expect_calls(struct kunit *test, const struct run *run, const struct way *way,
			 unsigned int posts, unsigned int faults)
{
	KUNIT_EXPECT_EQ_MSG(test, hit.pres, 1, "%*ph, %s", run->length, run->code, run->way);
	KUNIT_EXPECT_EQ_MSG(test, hit.posts, posts, "%*ph, %s", run->length, run->code, run->way);
	KUNIT_EXPECT_EQ_MSG(test, hit.faults, faults, "%*ph, %s", run->length, run->code,
			    run->way);
	KUNIT_EXPECT_EQ_MSG(test, hit.trapped, !way->jump, "%*ph, %s", run->length, run->code,
			    run->way);
}

/* One hit: handlers saw @before, and @after if one of them is a post handler. */
static void expect_handlers(struct kunit *test, const struct run *run, const struct way *way,
			    struct registers *before, const struct registers *after,
			    unsigned int faults)
{
	const unsigned long at = before->ip;
	struct registers seen;

	expect_calls(test, run, way, way->post, faults);
	see_registers(&seen, &hit.pre);
	/* Another test checks the instruction pointer at a hit. */
	before->ip = seen.ip;
	expect_registers(test, run, "pre handler", before, &seen);
	if (faults) {
		before->ip = at;
		see_registers(&seen, &hit.fault);
		expect_registers(test, run, "fault handler", before, &seen);
	}
	if (!way->post)
		return;
	see_registers(&seen, &hit.post);
	expect_registers(test, run, "post handler", after, &seen);
}

/* The places of the probes, and those without and with a post handler */
static struct {
	unsigned long	*at;
	struct kprobe	*plain;
	struct kprobe	*post;
	struct kprobe	**list;
	int		nr;
	bool		plain_there;
	bool		post_there;
} planted;

static int planted_init(int nr)
{
	planted.nr = nr;
	planted.at = kvcalloc(nr, sizeof(*planted.at), GFP_KERNEL);
	planted.plain = kvcalloc(nr, sizeof(*planted.plain), GFP_KERNEL);
	planted.post = kvcalloc(nr, sizeof(*planted.post), GFP_KERNEL);
	planted.list = kvcalloc(nr, sizeof(*planted.list), GFP_KERNEL);
	return planted.at && planted.plain && planted.post && planted.list ? 0 : -ENOMEM;
}

static void planted_exit(void)
{
	kvfree(planted.at);
	kvfree(planted.plain);
	kvfree(planted.post);
	kvfree(planted.list);
	memset(&planted, 0, sizeof(planted));
}

static int plant(struct kprobe *probes, bool post)
{
	int i;

	for (i = 0; i < planted.nr; i++) {
		probes[i] = (struct kprobe) {
			.addr		= (kprobe_opcode_t *)planted.at[i],
			.pre_handler	= see_before,
			.post_handler	= post ? see_after : NULL,
			.fault_handler	= see_fault,
		};
		planted.list[i] = &probes[i];
	}
	return register_kprobes(planted.list, planted.nr);
}

static void drop(struct kprobe *probes, bool *there)
{
	int i;

	if (!*there)
		return;
	for (i = 0; i < planted.nr; i++)
		planted.list[i] = &probes[i];
	unregister_kprobes(planted.list, planted.nr);
	*there = false;
}

static void drop_all(void *unused)
{
	drop(planted.plain, &planted.plain_there);
	drop(planted.post, &planted.post_there);
}

static void expect_jumps(struct kunit *test)
{
	int i;

	wait_for_kprobe_optimizer();
	for (i = 0; i < planted.nr; i++)
		KUNIT_ASSERT_EQ_MSG(test, *(u8 *)planted.at[i], JMP32_INSN_OPCODE, "%d", i);
}

static void allow_jumps(struct kunit *test, bool allow)
{
	if (IS_ENABLED(CONFIG_OPTPROBES))
		KUNIT_ASSERT_EQ(test, 0, switch_set(allow));
}

/*
 * Calls @run with probes planted, once for each way; @jumps says whether all of the instructions
 * get a jump. The probes with a post handler are registered before those without are removed.
 */
static void run_in_all_ways(struct kunit *test, bool jumps,
			    void (*run)(struct kunit *test, const struct way *way))
{
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_all, NULL));

	allow_jumps(test, false);
	KUNIT_ASSERT_EQ(test, 0, plant(planted.plain, false));
	planted.plain_there = true;
	run(test, &by_breakpoint);
	allow_jumps(test, true);
	if (jumps) {
		expect_jumps(test);
		run(test, &by_jump);
	}

	KUNIT_ASSERT_EQ(test, 0, plant(planted.post, true));
	planted.post_there = true;
	drop(planted.plain, &planted.plain_there);
	if (jumps) {
		expect_jumps(test);
		run(test, &by_jump_post);
	}
	allow_jumps(test, false);
	run(test, &by_breakpoint_post);
	drop_all(NULL);
}

/* --- operands that are not there --- */

#define EDGE_SIZE	(4 * PAGE_SIZE)

/* Memory that may be a stack, up to an address at which nothing is mapped */
static void *edge;

static int find_bad_address(void)
{
	edge = vmalloc(EDGE_SIZE);
	return edge ? 0 : -ENOMEM;
}

static void free_bad_address(void)
{
	vfree(edge);
	edge = NULL;
}

static unsigned long edge_end(void)
{
	return (unsigned long)edge + EDGE_SIZE;
}

/*
 * With which registers an instruction runs, and what the fault handler does about a bad operand; or
 * with a bad target, to be left out as well
 */
enum trial { GOOD, LEFT_OUT, REPAIRED, NOWHERE };

/* In @half of the cases no address at all, which is another exception */
static unsigned long bad_address(bool half)
{
	return IS_ENABLED(CONFIG_X86_64) && half ? BIT(BITS_PER_LONG - 1) :
						   edge_end() + PAGE_SIZE / 2;
}

/* --- for the suites --- */

/* For cases with run_in_all_ways() */
static void ways_need(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_OPTPROBES))
		switch_need(test);
}

#endif /* __X86_KERNEL_KPROBES_TEST_WAYS_H */
