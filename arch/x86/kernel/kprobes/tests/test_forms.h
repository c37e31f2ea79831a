/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_FORMS_H
#define __X86_KERNEL_KPROBES_TEST_FORMS_H
/*
 * Forms of the branches that are emulated, what registers and stack they need, and where they may
 * lead to.
 */
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/msr.h>

#include "support/seed.h"
#include "test_native.h"

#define REG_CX		1
#define REG_SP		4
#define REG_R9		9

/* Offset in the page: targets of branches */
#define LANDINGS_AT	64
#define NR_LANDINGS	1024

static unsigned long data[512];
static DEFINE_PER_CPU(unsigned long, percpu_data);

static struct rnd_state random;

static unsigned long landing(unsigned int i)
{
	return (unsigned long)kprobe_test_page + LANDINGS_AT + i % NR_LANDINGS;
}

/* What registers, or the words on the stack, hold. */
enum contents { RANDOM, LANDINGS, DATA, STACK };

/* What a 32-bit displacement has to be set to. */
enum displaced { AS_IS, ABSOLUTE, RIP_RELATIVE, PERCPU };

struct form {
	const char	*name;
	u8		code[16];
	u8		length;
	enum contents	regs, words;
	enum displaced	displaced;
	bool		only_64, only_32;
	bool		is_pad;		/* refused where the processor looks for it */
};

static unsigned long content(enum contents what, unsigned int i)
{
	switch (what) {
	case LANDINGS:
		return landing(i);
	case DATA:
		return (unsigned long)&data[i % 16 * 16];
	case STACK:
		return (unsigned long)&kprobe_test_stack[STACK_AT + i % 32];
	default:
		return prandom_u32_state(&random) |
		       (u64)prandom_u32_state(&random) << 32;
	}
}

static void fill_regs(struct pt_regs *regs, enum contents what)
{
	int i;

	for (i = 0; i < NR_REGS; i++)
		*reg(regs, i) = content(what, i);
	regs->sp = (unsigned long)&kprobe_test_stack[STACK_AT];
	if (what != DATA)
		return;
	/* These two serve as an index. */
	*reg(regs, REG_CX) = 8;
	if (NR_REGS > REG_R9)
		*reg(regs, REG_R9) = 16;
}

/* The displacement of per-CPU data from %gs. Without SMP its address is not relative to %gs. */
static long percpu_displacement(void)
{
	unsigned long base = 0;

	if (IS_ENABLED(CONFIG_X86_64) && !IS_ENABLED(CONFIG_SMP))
		rdmsrl(MSR_GS_BASE, base);
	return (__force long)&percpu_data - base;
}

/* Makes an instruction of @form for @at, with its displacement. */
static void place_form(const struct form *form, unsigned long at, struct diff_insn *insn)
{
	long to;

	insn->at = at;
	insn->length = form->length;
	memcpy(insn->code, form->code, sizeof(form->code));
	switch (form->displaced) {
	case ABSOLUTE:
		to = (long)&data[40];
		break;
	case RIP_RELATIVE:
		to = (long)&data[40] - (long)(at + form->length);
		break;
	case PERCPU:
		to = percpu_displacement();
		break;
	default:
		return;
	}
	put_unaligned((s32)to, (s32 *)(insn->code + form->length - sizeof(s32)));
}

/* The words of the stack that are compared. One of them is below the stack pointer. */
static size_t words_size(int i)
{
	return STACK_SEEN * sizeof(long);
}

/* Leaves out what is below the stack pointer, or was only made room for: traps write there. */
static void see_words(const struct diff_run *run, const struct pt_regs *regs, void *seen)
{
	const unsigned long *word = &kprobe_test_stack[STACK_AT - 1];
	unsigned long *to = seen;
	int i;

	for (i = 0; i < STACK_SEEN; i++)
		to[i] = (unsigned long)&word[i] < regs->sp ? 0 : word[i];
	if (regs->sp < run->good.sp - sizeof(long))
		to[0] = 0;
}

#define ONLY_64		.only_64 = true
#define ONLY_32		.only_32 = true
#define CODE(...)	.code = { __VA_ARGS__ }, .length = sizeof((u8 []) { __VA_ARGS__ })

static const struct form forms[] = {
	{ "jmp short", CODE(0xeb, 0x7f) }, { "jmp short back", CODE(0xeb, 0x80) },
	{ "jmp near", CODE(0xe9, 0, 2, 0, 0) },
	{ "jmp near back", CODE(0xe9, 0, 0xfc, 0xff, 0xff) },
	{ "bnd jmp near", CODE(0xf2, 0xe9, 0, 2, 0, 0) }, { "call", CODE(0xe8, 0, 2, 0, 0) },
	{ "call back", CODE(0xe8, 0, 0xfc, 0xff, 0xff) },
	{ "cs call", CODE(0x2e, 0xe8, 0, 2, 0, 0) }, { "ds call", CODE(0x3e, 0xe8, 0, 2, 0, 0) },
	{ "es call", CODE(0x26, 0xe8, 0, 2, 0, 0) }, { "ss call", CODE(0x36, 0xe8, 0, 2, 0, 0) },
	{ "fs call", CODE(0x64, 0xe8, 0, 2, 0, 0) }, { "gs call", CODE(0x65, 0xe8, 0, 2, 0, 0) },
	{ "addr32 call", CODE(0x67, 0xe8, 0, 2, 0, 0) },
	{ "bnd call", CODE(0xf2, 0xe8, 0, 2, 0, 0) }, { "rep call", CODE(0xf3, 0xe8, 0, 2, 0, 0) },
	{ "rex.w call", CODE(0x48, 0xe8, 0, 2, 0, 0), ONLY_64 },
	{ "cs addr32 bnd rex call", CODE(0x2e, 0x67, 0xf2, 0x4f, 0xe8, 0, 2, 0, 0), ONLY_64 },
	{ "ret", CODE(0xc3), RANDOM, LANDINGS }, { "rep ret", CODE(0xf3, 0xc3), RANDOM, LANDINGS },
	{ "bnd ret", CODE(0xf2, 0xc3), RANDOM, LANDINGS },
	{ "ret $0", CODE(0xc2, 0, 0), RANDOM, LANDINGS },
	{ "ret $24", CODE(0xc2, 24, 0), RANDOM, LANDINGS },
	{ "rep ret $0x100", CODE(0xf3, 0xc2, 0, 1), RANDOM, LANDINGS },

	{ "notrack jmp *%rax", CODE(0x3e, 0xff, 0xe0), LANDINGS },
	{ "notrack call *%rdx", CODE(0x3e, 0xff, 0xd2), LANDINGS },
	{ "bnd jmp *%rbx", CODE(0xf2, 0xff, 0xe3), LANDINGS },
	{ "cs call *%r11", CODE(0x2e, 0x41, 0xff, 0xd3), LANDINGS, ONLY_64 },
	{ "rex.w jmp *%r8", CODE(0x49, 0xff, 0xe0), LANDINGS, ONLY_64 },

	{ "call *(%rax)", CODE(0xff, 0x10), DATA },
	{ "notrack jmp *(%rax)", CODE(0x3e, 0xff, 0x20), DATA },
	{ "call *8(%rbx)", CODE(0xff, 0x53, 8), DATA },
	{ "call *-0x80(%rbp)", CODE(0xff, 0x95, 0x80, 0xff, 0xff, 0xff), DATA },
	{ "jmp *(%rsp)", CODE(0xff, 0x24, 0x24), DATA, LANDINGS },
	{ "call *(%rsp)", CODE(0xff, 0x14, 0x24), DATA, LANDINGS },
	{ "call *16(%rsp)", CODE(0xff, 0x54, 0x24, 16), DATA, LANDINGS },
	{ "jmp *8(%rsp,%rcx,2)", CODE(0xff, 0x64, 0x4c, 8), DATA, LANDINGS },
	{ "call *(%rdx,%rcx,8)", CODE(0xff, 0x14, 0xca), DATA },
	{ "jmp *-16(%rbx,%rcx,4)", CODE(0xff, 0x64, 0x8b, 0xf0), DATA },
	{ "call *x(,%rcx,8)", CODE(0xff, 0x14, 0xcd, 0, 0, 0, 0), DATA, .displaced = ABSOLUTE },
	{ "jmp *x", CODE(0xff, 0x24, 0x25, 0, 0, 0, 0), DATA, .displaced = ABSOLUTE },
	{ "call *x(%rip)", CODE(0xff, 0x15, 0, 0, 0, 0), DATA, .displaced = RIP_RELATIVE, ONLY_64 },
	{ "jmp *x(%rip)", CODE(0xff, 0x25, 0, 0, 0, 0), DATA, .displaced = RIP_RELATIVE, ONLY_64 },
	{ "call *(%r12)", CODE(0x41, 0xff, 0x14, 0x24), DATA, ONLY_64 },
	{ "jmp *(%r13)", CODE(0x41, 0xff, 0x65, 0), DATA, ONLY_64 },
	{ "call *(%r13,%r9,2)", CODE(0x43, 0xff, 0x54, 0x4d, 0), DATA, ONLY_64 },
	{ "rex.w call *8(%rsi,%r9,1)", CODE(0x4a, 0xff, 0x54, 0x0e, 8), DATA, ONLY_64 },
	{ "call *%gs:x", CODE(0x65, 0xff, 0x14, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_64 },
	{ "jmp *%gs:x", CODE(0x65, 0xff, 0x24, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_64 },
	{ "addr32 call *%gs:x", CODE(0x65, 0x67, 0xff, 0x14, 0x25, 0, 0, 0, 0), DATA,
	  .displaced = PERCPU, ONLY_64 },
	{ "call *%fs:x", CODE(0x64, 0xff, 0x14, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_32 },
	{ "jmp *%fs:x", CODE(0x64, 0xff, 0x24, 0x25, 0, 0, 0, 0), DATA, .displaced = PERCPU,
	  ONLY_32 },
};

/* Is it a form of this kernel's instructions? */
static bool form_exists(const struct form *form)
{
	return IS_ENABLED(CONFIG_X86_64) ? !form->only_32 : !form->only_64;
}

/* Do branches by data lead nowhere, and not to landings? */
static void set_data(bool nowhere)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(data); i++)
		data[i] = nowhere ? NO_ADDRESS : landing(i);
	for_each_possible_cpu(i)
		per_cpu(percpu_data, i) = nowhere ? NO_ADDRESS : landing(0);
}

/* Sets registers and the stack, with the flags of that state. */
static void set_up_form(const struct form *form, const struct diff_run *run, struct pt_regs *regs)
{
	int i;

	prandom_seed_state(&random, test_seed + run->i * NR_FLAGS + run->state);
	if (data[0] == NO_ADDRESS)
		set_data(false);
	memset(kprobe_test_stack, 0, sizeof(kprobe_test_stack));
	for (i = 0; i < STACK_SEEN - 1; i++)
		kprobe_test_stack[STACK_AT + i] = content(form->words, i);
	fill_regs(regs, form->regs);
	regs->flags = kprobe_test_flags(run->state % NR_FLAGS);
}

/* After kprobe_test_native_init() */
static void forms_init(struct kunit_suite *suite)
{
	seed_random(suite, &random);
	set_data(false);
}

#endif /* __X86_KERNEL_KPROBES_TEST_FORMS_H */
