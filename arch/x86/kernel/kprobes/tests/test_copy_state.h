/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_COPY_STATE_H
#define __X86_KERNEL_KPROBES_TEST_COPY_STATE_H
/*
 * Draws contents of registers and memory with which the instructions of test_copy_draw.h do no
 * harm.
 */
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/prandom.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>

#include "test_copy_draw.h"
#include "test_native.h"

/* --- the FPU: x87, MMX, SSE, AVX and AVX-512; all exceptions are masked --- */

/* Offsets in what fnstenv stores: of the status, and of the address of the last instruction */
#define X87_STATUS	4
#define X87_IP		12

/* As fxsave stores it, and then what xsave stores behind that: no processor puts it farther away */
struct fpu_image {
	struct fxregs_state	legacy;
	struct xstate_header	header;
	u8			extended[2112];
} __aligned(64);

/* Before and after an instruction */
static struct {
	struct fpu_image	before;
	struct fpu_image	after;
} fpu;

static u32 fpu_features(void)
{
	return XFEATURE_MASK_FPSSE | (boot_cpu_has(X86_FEATURE_AVX) ? XFEATURE_MASK_YMM : 0) |
	       (boot_cpu_has(X86_FEATURE_AVX512F) ? XFEATURE_MASK_AVX512 : 0);
}

static void load_fpu(const struct fpu_image *image)
{
	if (boot_cpu_has(X86_FEATURE_XSAVE))
		asm volatile("xrstor %0" : : "m" (*image), "a" (fpu_features()), "d" (0));
	else
		asm volatile("fxrstor %0" : : "m" (image->legacy));
}

/* Leaves out the address of the instruction. All registers count as used: they can be loaded. */
static void save_fpu(struct fpu_image *image)
{
	memset(image, 0, sizeof(*image));
	if (boot_cpu_has(X86_FEATURE_XSAVE))
		asm volatile("xsave %0" : "+m" (*image) : "a" (fpu_features()), "d" (0));
	else
		asm volatile("fxsave %0" : "+m" (image->legacy));
	image->legacy.rip = 0;
	memset(&image->header, 0, sizeof(image->header));
	image->header.xfeatures = fpu_features();
}

/*
 * Emulators do some things before it is certain that there is no fault. QEMU notes exceptions that
 * a store raises, and turns the stack of the x87 into MMX registers. Bochs notes the opcode of the
 * x87, and where its operand is, and clears the flag C1.
 */
static void forget_early_effects(struct fpu_image *image, bool is_mmx)
{
	image->legacy.swd &= ~0x27f;
	image->legacy.mxcsr &= ~0x3f;
	image->legacy.fop = 0;
	image->legacy.rdp = 0;
	if (is_mmx)
		memset(&image->legacy, 0, offsetof(struct fxregs_state, xmm_space));
}

static u32 draw_x87_control(struct rnd_state *random)
{
	return 0x037f | (prandom_u32_state(random) & 0x0c00);
}

static u32 draw_mxcsr(struct rnd_state *random)
{
	return MXCSR_DEFAULT | (prandom_u32_state(random) & 0x603f);
}

/* Most numbers are of a similar size, so that there are other results than infinities. */
static void draw_st(u32 *st)
{
	st[1] |= BIT(31);
	if (st[3] & 3)
		st[2] = 0x3ff0 | (st[2] & 0x801f);
	st[2] &= 0xffff;
	st[3] = 0;
}

static void draw_x87(struct fxregs_state *legacy, struct rnd_state *random)
{
	int i;

	for (i = 0; i < 8; i++)
		draw_st(&legacy->st_space[4 * i]);
	legacy->cwd = draw_x87_control(random);
	legacy->swd &= 0x7f7f;
	legacy->twd &= 0xff;
	legacy->fop = 0;
	legacy->rip = 0;
	legacy->rdp = 0;
}

static void draw_fpu(struct rnd_state *random)
{
	struct fxregs_state *legacy = &fpu.before.legacy;
	int i;

	prandom_bytes_state(random, &fpu.before, sizeof(fpu.before));
	draw_x87(legacy, random);
	for (i = 0; i < ARRAY_SIZE(legacy->xmm_space); i++) {
		if (legacy->xmm_space[i] & 3)
			legacy->xmm_space[i] = 0x3f000000 | (legacy->xmm_space[i] & 0x80ffffff);
	}
	legacy->mxcsr = draw_mxcsr(random);
	memset(legacy->padding, 0, sizeof(legacy->padding));
	memset(&fpu.before.header, 0, sizeof(fpu.before.header));
	fpu.before.header.xfeatures = fpu_features();
}

/* Draws what is in the registers, as far as the processor knows these bits. */
static void set_up_fpu(struct rnd_state *random)
{
	draw_fpu(random);
	kernel_fpu_begin_mask(KFPU_387 | KFPU_MXCSR);
	load_fpu(&fpu.before);
	save_fpu(&fpu.before);
	asm volatile("fninit");
	kernel_fpu_end();
	fpu.after = fpu.before;
}

/* As diff_trip() or kprobe_test_try_natively() */
static int trip_with_fpu(struct pt_regs *regs, bool may_trap)
{
	int trap = 0;

	kernel_fpu_begin_mask(KFPU_387 | KFPU_MXCSR);
	load_fpu(&fpu.before);
	if (may_trap)
		trap = kprobe_test_try_natively(regs);
	else
		diff_trip(regs);
	save_fpu(&fpu.after);
	asm volatile("fninit");
	kernel_fpu_end();
	return trap;
}

/* --- general registers and memory --- */

/* The most frequent byte in memory */
#define COMMON_BYTE	0x55

/*
 * Each instruction runs so many times, with different values. A cell's runs try all flags, but for
 * those of vector instructions, which hardly look at them.
 */
#define NR_STATES	4
#define NR_VECTOR_STATES	2

static int nr_states(const struct subject *s)
{
	return is_vector(&s->cell) ? NR_VECTOR_STATES : NR_STATES;
}

static void set_dividend(const struct subject *s, struct pt_regs *regs)
{
	regs->dx = 0;
	if (s->cell.opcode == 0xf6)
		regs->ax = (regs->ax & ~0xffffUL) | (regs->ax & 0x7f);
	else
		regs->ax &= ~0UL / 0xffff * 0x7fff;
	regs->ax |= 1;
}

static void set_string(struct pt_regs *regs)
{
	regs->si = target();
	regs->di = target();
	regs->cx = below(7);
	if (below(2))
		regs->ax = ~0UL / 0xff * COMMON_BYTE;
}

/* Sets the registers that the opcode implies. */
static void set_implied(const struct subject *s, struct pt_regs *regs)
{
	int opcode = s->cell.opcode;

	if (has_trait(&s->cell, STRING))
		set_string(regs);
	if (has_trait(&s->cell, DIVIDES))
		set_dividend(s, regs);
	if (has_trait(&s->cell, BIT_AT_OFFSET) && s->cell.form == MEMORY)
		*reg(regs, s->reg) = (long)below(256) - (s->base == SP ? 0 : 128);

	switch (opcode) {
	case 0x9d:		/* popf */
		kprobe_test_stack[STACK_AT] = kprobe_test_flags(below(NR_FLAGS));
		break;
	case 0xc8:		/* enter */
		regs->bp = target();
		break;
	case 0xc9:		/* leave */
		regs->bp = stack_start() + 2 * sizeof(long);
		break;
	case 0xd7:		/* xlat */
		regs->bx = target() - (u8)regs->ax;
		break;
	case 0x0ff7:		/* maskmov */
	case 0xc1f7:
		regs->di = target_of(s);
		break;
	}
}

static unsigned long offset_of(const struct subject *s, struct pt_regs *regs)
{
	return s->index == NO_REG ? 0 : *reg(regs, s->index) << s->scale;
}

/* Has the base register lead to @at. */
static void set_operand(const struct subject *s, struct pt_regs *regs, unsigned long at)
{
	if (s->percpu)
		at -= percpu_base();
	*reg(regs, s->base) = at - offset_of(s, regs) - s->disp;
}

static void set_vector_address(const struct subject *s, struct pt_regs *regs)
{
	long step = has_trait(&s->cell, LOADS_CONTROL | STORES_IP) ? 0 : (long)below(3) - 1;

	if (s->index != NO_REG)
		*reg(regs, s->index) = step * (VECTOR_ALIGN >> s->scale);
	if (s->base != NO_REG)
		set_operand(s, regs, target_of(s));
}

/*
 * Some processors raise an exception for a locked access that crosses a cache line, and in the
 * kernel that is an oops. xchg locks without a prefix.
 */
static void set_address(const struct subject *s, struct pt_regs *regs)
{
	if (is_vector(&s->cell)) {
		set_vector_address(s, regs);
		return;
	}
	if (s->index != NO_REG)
		*reg(regs, s->index) = (long)below(4) - (s->base == SP ? 0 : 2);
	if (s->index != NO_REG && s->base == SP && has_trait(&s->cell, MAY_LOCK))
		*reg(regs, s->index) = 0;
	if (s->base != NO_REG && s->base != SP)
		set_operand(s, regs, target());
}

static unsigned long operand_at(const struct subject *s, struct pt_regs *regs)
{
	if (s->base == NO_REG)
		return target() + offset_of(s, regs);
	return *reg(regs, s->base) + offset_of(s, regs) + s->disp + (s->percpu ? percpu_base() : 0);
}

/* Has half of the comparisons succeed, on which an exchange depends. */
static void set_expected(const struct subject *s, struct pt_regs *regs)
{
	bool pair = s->cell.opcode == 0x0fc7;
	unsigned long *at;

	if (!pair && s->cell.opcode != 0x0fb0 && s->cell.opcode != 0x0fb1)
		return;
	if (s->cell.form != MEMORY || s->base == AX || s->index == AX || below(2))
		return;
	at = (void *)operand_at(s, regs);
	regs->ax = get_unaligned(at);
	if (pair && s->base != DX)
		regs->dx = get_unaligned((unsigned long *)((void *)at + (s->wide ? 8 : 4)));
}

/* What an instruction finds in memory and on the stack, the same at each run */
static struct {
	u32	seed;
	u8	memory[MEMORY_SIZE];
	u8	stack[STACK_BELOW + STACK_ABOVE];
} contents;

/* Exceptions stay masked, and none is pending. */
static void draw_control(const struct subject *s)
{
	void *at = contents.memory + VECTOR_AT;

	if (is_x87(&s->cell)) {
		put_unaligned(draw_x87_control(&random), (u32 *)at);
		put_unaligned(0, (u32 *)(at + X87_STATUS));
	} else {
		put_unaligned(draw_mxcsr(&random), (u32 *)at);
	}
}

static void forget_ip(u8 *from)
{
	memset(from + VECTOR_AT + X87_IP, 0, sizeof(u32));
}

/* Few different bytes, so that some compare as equal. None is zero, which is a bad divisor. */
static void draw_contents(const struct subject *s)
{
	int i;

	contents.seed = s->seed;
	prandom_seed_state(&random, s->seed);
	prandom_bytes_state(&random, contents.stack, sizeof(contents.stack));
	prandom_bytes_state(&random, contents.memory, sizeof(contents.memory));
	for (i = 0; i < sizeof(contents.memory); i++)
		contents.memory[i] = contents.memory[i] & 3 ? COMMON_BYTE : contents.memory[i] | 1;
	if (has_trait(&s->cell, LOADS_CONTROL))
		draw_control(s);
	if (has_trait(&s->cell, STORES_IP))
		forget_ip(contents.memory);
}

/* A cell with fewer runs than there are flags has others than its neighbours. */
static unsigned int nth_flags(const struct subject *s, int state)
{
	return (s->cell.opcode + s->serial * nr_states(s) + state) % NR_FLAGS;
}

/* Sets registers, memory and stack, the same for each run of an instruction in this state. */
static void set_up_subject(const struct subject *s, int state, struct pt_regs *regs)
{
	int i;

	if (contents.seed != s->seed)
		draw_contents(s);
	memcpy(memory, contents.memory, sizeof(memory));
	memcpy((void *)stack_start() - STACK_BELOW, contents.stack, sizeof(contents.stack));
	prandom_seed_state(&random, s->seed + state);
	for (i = 0; i < NR_REGS; i++)
		*reg(regs, i) = random_word() | 1;
	regs->sp = stack_start();
	regs->flags = kprobe_test_flags(nth_flags(s, state));
	set_implied(s, regs);
	set_address(s, regs);
	set_expected(s, regs);
	if (is_vector(&s->cell))
		set_up_fpu(&random);
}

/* --- operands that are not there --- */

static bool can_fail(const struct subject *s)
{
	if (s->cell.form != MEMORY)
		return has_trait(&s->cell, READS_IMPLIED);
	return s->base != NO_REG && s->base != SP && !s->masked &&
	       !has_trait(&s->cell, NEVER_FAILS);
}

/* Has an operand in memory be at @at, or if that is on the stack, at @sp. */
static void break_operand_at(const struct subject *s, struct pt_regs *regs, unsigned long at,
			     unsigned long sp)
{
	if (s->cell.form == MEMORY) {
		set_operand(s, regs, at);
	} else if (has_trait(&s->cell, STRING)) {
		regs->si = at;
		regs->di = at;
		regs->cx |= 1;
	} else if (s->cell.opcode == 0xc9) {
		regs->bp = at;
	} else if (s->cell.opcode == 0xd7) {
		regs->bx = at - (u8)regs->ax;
	} else {
		regs->sp = sp;
	}
}

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_STATE_H */
