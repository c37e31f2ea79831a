// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: copies of instructions, compared with their originals
 *
 * Each opcode that is carried out by a copy is drawn several times, with registers, operands in
 * memory and prefixes. The instructions are written into a function's text. Each runs there
 * natively, and then with a probe on it, in all ways in which a hit can be handled.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/insn.h>
#include <asm/nops.h>
#include <asm/text-patching.h>

#include "../../../../lib/test_kprobes/switch.h"
#include "internal.h"
#include "test_copy_draw.h"
#include "test_native.h"

/* --- outcomes --- */

struct registers {
	unsigned long	reg[16];
	unsigned long	flags;
	unsigned long	ip;
};

struct outcome {
	struct registers registers;
	u8		memory[MEMORY_SIZE];
	u8		stack[STACK_BELOW + STACK_ABOVE];
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

/* Leaves out the unused part of the stack, where traps have left their remains. */
static void see(const struct subject *s, struct outcome *out, struct pt_regs *regs)
{
	unsigned long bottom = stack_start() - STACK_BELOW, in_use = regs->sp;

	if (!uses_stack(&s->cell))
		in_use = max(in_use, stack_start());
	memset(out, 0, sizeof(*out));
	see_registers(&out->registers, regs);
	memcpy(out->memory, memory, sizeof(memory));
	in_use = clamp(in_use, bottom, bottom + sizeof(out->stack));
	memcpy(out->stack + (in_use - bottom), (void *)in_use,
	       bottom + sizeof(out->stack) - in_use);
}

/* --- places --- */

#define MAX_SUBJECTS	4096
#define PADDING_SIZE	4

static struct {
	struct subject	*subjects;
	struct outcome	*outcomes;	/* NR_STATES for each subject */
	struct kprobe	*plain;
	struct kprobe	*post;
	struct kprobe	**list;
	int		nr;
	bool		plain_there;
	bool		post_there;
} lab;

/*
 * The suite draws the same instructions each time it runs. So the text is written only once:
 * later there may be jumps in it.
 */
static bool is_written;

static int put_subject(u8 *image, int at, struct subject *s)
{
	static const u8 padding[] = { BYTES_NOP4 };

	relocate(s, (unsigned long)kprobe_test_text + at);
	memcpy(image + at, s->code, s->length);
	at += s->length;
	memcpy(image + at, padding, sizeof(padding));
	/* The padding is followed by an int3, where the run ends. */
	return at + sizeof(padding) + INT3_INSN_SIZE;
}

static void write_text(const u8 *image)
{
	u8 *text = (u8 *)kprobe_test_text;
	int i;

	OPTIMIZER_HIDE_VAR(text);
	scoped_guard(mutex, &text_mutex) {
		for (i = 0; i < TEXT_SIZE; i += PAGE_SIZE)
			text_poke(text + i, image + i, PAGE_SIZE);
		text_poke_sync();
	}
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_function_forget();
}

/* Writes all instructions, each followed by as many bytes as a jump may cover. */
static int write_subjects(void)
{
	u8 *image = kvmalloc(TEXT_SIZE, GFP_KERNEL);
	int i, at = MAX_INSN_SIZE;

	static_assert(1 + PADDING_SIZE >= JMP32_INSN_SIZE);
	if (!image)
		return -ENOMEM;
	memset(image, INT3_INSN_OPCODE, TEXT_SIZE);
	for (i = 0; i < lab.nr && at + 2 * MAX_INSN_SIZE < TEXT_SIZE; i++)
		at = put_subject(image, at, &lab.subjects[i]);
	if (!is_written)
		write_text(image);
	is_written = true;
	kvfree(image);
	return i < lab.nr ? -ENOSPC : 0;
}

/* --- runs --- */

/* What the handlers have seen */
static struct {
	struct pt_regs	pre;
	struct pt_regs	post;
	unsigned int	pres;
	unsigned int	posts;
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

/* How an instruction is carried out */
struct way {
	const char	*name;
	bool		jump;
	bool		post;
};

static const struct way ways[] = {
	{ "breakpoint", false, false },
	{ "jump", true, false },
	{ "jump, post handler", true, true },
	{ "breakpoint, post handler", false, true },
};

static void run_one(const struct subject *s, int state, struct registers *in,
		    struct outcome *out)
{
	struct pt_regs regs;

	set_up(s, state, &regs);
	regs.ip = s->at;
	see_registers(in, &regs);
	memset(&hit, 0, sizeof(hit));
	kprobe_test_run_natively(&regs);
	see(s, out, &regs);
}

static void expect_registers(struct kunit *test, const struct subject *s, const char *way,
			     const char *when, const struct registers *a,
			     const struct registers *b)
{
	int i;

	if (!memcmp(a, b, sizeof(*a)))
		return;
	for (i = 0; i < NR_REGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, a->reg[i], b->reg[i], "%*ph, %s, %s: register %d",
				    s->length, s->code, way, when, i);
	KUNIT_EXPECT_EQ_MSG(test, a->flags, b->flags, "%*ph, %s, %s: flags",
			    s->length, s->code, way, when);
	KUNIT_EXPECT_EQ_MSG(test, a->ip, b->ip, "%*ph, %s, %s: ip",
			    s->length, s->code, way, when);
}

static void expect_outcome(struct kunit *test, const struct subject *s, const char *way,
			   const struct outcome *native, const struct outcome *ours)
{
	if (!memcmp(native, ours, sizeof(*native)))
		return;
	expect_registers(test, s, way, "afterwards", &native->registers, &ours->registers);
	KUNIT_EXPECT_MEMEQ_MSG(test, native->memory, ours->memory, sizeof(native->memory),
			       "%*ph, %s: memory", s->length, s->code, way);
	KUNIT_EXPECT_MEMEQ_MSG(test, native->stack, ours->stack, sizeof(native->stack),
			       "%*ph, %s: stack", s->length, s->code, way);
}

static void expect_hit(struct kunit *test, const struct subject *s, const struct way *way,
		       struct registers *in, const struct outcome *native)
{
	struct registers before, after, expected = native->registers;

	KUNIT_EXPECT_EQ_MSG(test, hit.pres, 1, "%*ph, %s", s->length, s->code, way->name);
	KUNIT_EXPECT_EQ_MSG(test, hit.posts, way->post, "%*ph, %s", s->length, s->code,
			    way->name);
	KUNIT_EXPECT_EQ_MSG(test, hit.trapped, !way->jump, "%*ph, %s", s->length, s->code,
			    way->name);
	see_registers(&before, &hit.pre);
	/* Another test checks the instruction pointer at a hit. */
	in->ip = before.ip;
	expect_registers(test, s, way->name, "pre handler", in, &before);
	if (!way->post)
		return;
	see_registers(&after, &hit.post);
	expected.ip = s->at + s->length;
	expect_registers(test, s, way->name, "post handler", &expected, &after);
}

static void run_natively(void)
{
	struct registers in;
	int i;

	for (i = 0; i < lab.nr * NR_STATES; i++) {
		run_one(&lab.subjects[i / NR_STATES], i % NR_STATES, &in, &lab.outcomes[i]);
		cond_resched();
	}
}

/* Stops after the first instruction whose outcome differs. */
static void run_probed(struct kunit *test, const struct way *way)
{
	static struct outcome ours;
	const struct subject *s;
	struct registers in;
	int i;

	for (i = 0; i < lab.nr * NR_STATES; i++) {
		s = &lab.subjects[i / NR_STATES];
		run_one(s, i % NR_STATES, &in, &ours);
		expect_outcome(test, s, way->name, &lab.outcomes[i], &ours);
		expect_hit(test, s, way, &in, &lab.outcomes[i]);
		if (i % NR_STATES == NR_STATES - 1)
			KUNIT_ASSERT_EQ(test, test->status, KUNIT_SUCCESS);
		cond_resched();
	}
}

static int probe_all(struct kprobe *probes, bool post)
{
	int i;

	for (i = 0; i < lab.nr; i++) {
		probes[i] = (struct kprobe) {
			.addr		= (kprobe_opcode_t *)lab.subjects[i].at,
			.pre_handler	= see_before,
			.post_handler	= post ? see_after : NULL,
		};
		lab.list[i] = &probes[i];
	}
	return register_kprobes(lab.list, lab.nr);
}

static void drop_all(struct kprobe *probes, bool *there)
{
	int i;

	if (!*there)
		return;
	for (i = 0; i < lab.nr; i++)
		lab.list[i] = &probes[i];
	unregister_kprobes(lab.list, lab.nr);
	*there = false;
}

static void drop_what_is_there(void *unused)
{
	drop_all(lab.plain, &lab.plain_there);
	drop_all(lab.post, &lab.post_there);
}

static void expect_jumps(struct kunit *test)
{
	const struct subject *s;
	int i;

	wait_for_kprobe_optimizer();
	for (i = 0; i < lab.nr; i++) {
		s = &lab.subjects[i];
		KUNIT_ASSERT_EQ_MSG(test, *(u8 *)s->at, JMP32_INSN_OPCODE, "%*ph",
				    s->length, s->code);
	}
}

static void allow_jumps(struct kunit *test, bool allow)
{
	if (IS_ENABLED(CONFIG_OPTPROBES))
		KUNIT_ASSERT_EQ(test, 0, switch_set(allow));
}

/* The probes with a post handler are registered before those without one are removed. */
static void copies_do_as_in_place(struct kunit *test)
{
	const bool jumps = IS_ENABLED(CONFIG_OPTPROBES);

	if (jumps)
		switch_need(test);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, drop_what_is_there, NULL));
	run_natively();

	allow_jumps(test, false);
	KUNIT_ASSERT_EQ(test, 0, probe_all(lab.plain, false));
	lab.plain_there = true;
	run_probed(test, &ways[0]);
	allow_jumps(test, true);
	if (jumps) {
		expect_jumps(test);
		run_probed(test, &ways[1]);
	}

	KUNIT_ASSERT_EQ(test, 0, probe_all(lab.post, true));
	lab.post_there = true;
	drop_all(lab.plain, &lab.plain_there);
	if (jumps) {
		expect_jumps(test);
		run_probed(test, &ways[2]);
	}
	allow_jumps(test, false);
	run_probed(test, &ways[3]);
	drop_what_is_there(NULL);
	kunit_info(test, "%d instructions, %d times in %d ways\n", lab.nr, NR_STATES,
		   jumps ? 4 : 2);
}

/* --- what was drawn --- */

static void whatever_is_copied_was_drawn_or_left_out(struct kunit *test)
{
	struct cell c;
	bool drawn;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		if (!next_cell(&c, i) || !processor_has(&c))
			continue;
		drawn = test_bit(cell_index(&c), cells_tried);
		KUNIT_EXPECT_TRUE_MSG(test, drawn || find_left_out(&c), "%#x /%d, operands %d",
				      c.opcode, c.ext, c.form);
	}
}

/* A row of the list that leaves out nothing has to be removed. */
static void whatever_is_left_out_would_be_copied(struct kunit *test)
{
	DECLARE_BITMAP(used, ARRAY_SIZE(left_out)) = {};
	const struct left_out *row;
	struct cell c;
	int i;

	for (i = 0; i < NR_CELLS; i++) {
		row = next_cell(&c, i) ? find_left_out(&c) : NULL;
		if (row)
			__set_bit(row - left_out, used);
	}
	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		row = &left_out[i];
		if (!row->bits || row->bits == BITS_PER_LONG)
			KUNIT_EXPECT_TRUE_MSG(test, test_bit(i, used), "%#x-%#x: %s",
					      row->first, row->last, row->why);
	}
}

static void free_lab(void)
{
	kvfree(lab.subjects);
	kvfree(lab.outcomes);
	kvfree(lab.plain);
	kvfree(lab.post);
	kvfree(lab.list);
	memset(&lab, 0, sizeof(lab));
}

static int make_lab(void)
{
	lab.subjects = kvcalloc(MAX_SUBJECTS, sizeof(*lab.subjects), GFP_KERNEL);
	if (!lab.subjects)
		return -ENOMEM;
	lab.nr = draw_all(lab.subjects, MAX_SUBJECTS);
	lab.outcomes = kvcalloc(lab.nr * NR_STATES, sizeof(*lab.outcomes), GFP_KERNEL);
	lab.plain = kvcalloc(lab.nr, sizeof(*lab.plain), GFP_KERNEL);
	lab.post = kvcalloc(lab.nr, sizeof(*lab.post), GFP_KERNEL);
	lab.list = kvcalloc(lab.nr, sizeof(*lab.list), GFP_KERNEL);
	if (!lab.outcomes || !lab.plain || !lab.post || !lab.list)
		return -ENOMEM;
	return write_subjects();
}

static void copy_suite_exit(struct kunit_suite *suite)
{
	free_lab();
	switch_suite_exit(suite);
	kprobe_test_native_exit();
}

static int copy_suite_init(struct kunit_suite *suite)
{
	int err;

	bitmap_zero(cells_tried, NR_CELLS);
	prandom_seed_state(&random, 1);
	err = kprobe_test_native_init() ?: switch_suite_init(suite) ?: make_lab();
	if (err)
		copy_suite_exit(suite);
	return err;
}

static int copy_init(struct kunit *test)
{
	return IS_ENABLED(CONFIG_OPTPROBES) ? switch_init(test) : 0;
}

static void copy_exit(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_OPTPROBES))
		switch_exit(test);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE_SLOW(copies_do_as_in_place),
	KUNIT_CASE(whatever_is_copied_was_drawn_or_left_out),
	KUNIT_CASE(whatever_is_left_out_would_be_copied),
	{ }
};

static struct kunit_suite copy_suite = {
	.name		= "kprobes_x86_copy",
	.suite_init	= copy_suite_init,
	.suite_exit	= copy_suite_exit,
	.init		= copy_init,
	.exit		= copy_exit,
	.test_cases	= copy_cases,
};

kunit_test_suite(copy_suite);
