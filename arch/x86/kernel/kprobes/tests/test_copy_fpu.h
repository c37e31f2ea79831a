/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_COPY_FPU_H
#define __X86_KERNEL_KPROBES_TEST_COPY_FPU_H
/*
 * The registers of the FPU: x87, MMX, SSE, AVX and AVX-512. All exceptions are masked.
 */
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>

#include "test_native.h"

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

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_FPU_H */
