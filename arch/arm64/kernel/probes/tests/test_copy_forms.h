/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_COPY_FORMS_H
#define __ARM64_KERNEL_PROBES_TEST_COPY_FORMS_H
/*
 * The forms from which test_copy.c draws instructions. They have more than the decoder's table:
 * which fields are registers, where memory is accessed, and which processors have the
 * instructions.
 */
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/types.h>

/* The fields of an instruction that are general registers: Rd or Rt, Rn, Rm or Rs, Ra or Rt2 */
#define D		BIT(0)
#define N		BIT(1)
#define M		BIT(2)
#define A		BIT(3)
/* Register 31 in Rd is the stack pointer, not zero, if the instruction sets no flags */
#define D_SP		BIT(4)
/* An immediate, of which not every value is a bitmask */
#define BITMASK		BIT(5)
/* SIMD and floating point */
#define FP		BIT(6)
/* The memory that is accessed has to be aligned to 16 bytes */
#define ALIGNED		BIT(7)
/* Rs (or the pair) is compared with memory: both should be equal at times */
#define COMPARES	BIT(8)
/* Both Rs and Rt are the first register of a pair */
#define PAIRS		BIT(9)
/* Two registers that are read and written; neither may be the zero register */
#define BOTH		BIT(10)
/* Multiple structures: there have to be at least two elements of 64 bits */
#define STRUCTURES	BIT(11)
/* The register has to hold the system register's present value, which is written back */
#define KEEPS		BIT(12)
/*
 * Need not fault where no memory is mapped. A prefetch never does; address translation reports
 * it in PAR_EL1; and cache maintenance has nothing to do on some processors and emulators. All
 * other forms that access memory have to fault there.
 */
#define FAULTLESS	BIT(13)
/* Accesses tags: an offset counts in granules */
#define GRANULES	BIT(14)

/**
 * enum copy_address - where an instruction accesses memory
 * @NO_MEMORY: nowhere
 * @ON_RT: at the address in Rt
 * @ON_BASE: at the address in Rn
 * @AND_MOVE: at the address in Rn, to which Rm is added afterwards, or the size of the access
 * @IMM9: Rn with an offset
 * @INDEXED: Rn with an offset and writeback, before or after the access
 * @PAIR: a pair, in all addressing modes
 * @UNSIGNED: Rn with a scaled offset
 * @REGISTER: Rn with Rm, extended and scaled
 * @BY_SIZE: Rn with writeback by the size of the access: before a store, after a load
 */
enum copy_address {
	NO_MEMORY, ON_RT, ON_BASE, AND_MOVE, IMM9, INDEXED, PAIR, UNSIGNED, REGISTER,
	BY_SIZE,
};

/**
 * struct copy_form - instructions that can be drawn
 * @value:	the bits that are fixed
 * @free:	a mask of those that may be anything, unless copy_usable() objects
 * @what:	D, N and so on
 * @at:		where memory is accessed
 * @here:	which processors have them
 * @state:	MRS to x0 of the system register that is written; 1 if the instruction is an
 *		MSR, or an MRS, of that register
 */
struct copy_form {
	u32			value;
	u32			free;
	u16			what;
	u8			at;
	u8			here;
	u32			state;
};

/* The number of a hwcap, and of what the kernel knows by other names; 0 if all have it */
#define has(name)	(KERNEL_HWCAP_##name + 1)

enum copy_feature {
	has_GIC = MAX_CPU_FEATURES + 1, has_GPAC, has_MTE, has_PAC, has_PAN, has_RAS, has_FPSIMD,
	has_UAO, has_XS, has_PMU, has_ZVA,
};

static bool copy_is_here(const struct copy_form *form)
{
	unsigned int pmu = read_cpuid(ID_AA64DFR0_EL1) >> 8 & 15;
	u64 dczid = read_cpuid(DCZID_EL0);

	switch (form->here) {
	case 0:
		return true;
	case has_GIC:
		return cpus_have_final_cap(ARM64_HAS_GIC_CPUIF_SYSREGS);
	case has_GPAC:
		return system_supports_generic_auth();
	case has_MTE:
		return system_supports_mte();
	case has_PAC:
		return system_supports_address_auth();
	case has_PAN:
		return cpus_have_final_cap(ARM64_HAS_PAN);
	case has_RAS:
		return cpus_have_final_cap(ARM64_HAS_RAS_EXTN);
	case has_FPSIMD:
		return system_supports_fpsimd();
	case has_UAO:
		return read_cpuid(ID_AA64MMFR2_EL1) >> ID_AA64MMFR2_EL1_UAO_SHIFT & 15;
	case has_XS:
		return read_cpuid(ID_AA64ISAR1_EL1) >> ID_AA64ISAR1_EL1_XS_SHIFT & 15;
	case has_PMU:
		/* 15 is for PMUs that are not Arm's. */
		return pmu && pmu != 15;
	case has_ZVA:
		/* Unless DC ZVA is prohibited, or writes more than the memory of the test */
		return !(dczid & BIT(4)) && 4 << (dczid & 15) <= 512;
	}
	return cpu_have_feature(form->here - 1);
}

/* An MRS of any register; and SIMD and floating point, without general registers */
#define MRS(value)	{ value, 0x0000001f, D }
#define V(value, free)	{ value, free, FP, .here = has_FPSIMD }

static const struct copy_form copy_forms[] = {
	/* Hints: none that waits, and none that fails without a signed pointer */
	{ 0xd503201f, 0x00000020 },				/* nop, yield */
	{ 0xd503209f, 0x00000020 },				/* sev, sevl */
	{ 0xd50320df, 0x00000020 },				/* dgh, xpaclri */
	{ 0xd503221f, 0x00000020 },				/* esb, psb csync */
	{ 0xd503229f },						/* csdb */
	{ 0xd503231f, 0x00000060 },				/* pac*z, pac*sp */
	{ 0xd503241f, 0x000000c0 },				/* bti */
	{ 0xd503243f, 0x00000040 },
	{ 0xd50324bf },
	{ 0xd503251f, 0x000000e0 },				/* chkfeat */
	{ 0xd503261f, 0x000001e0 },
	{ 0xd503281f, 0x000007e0 },

	/* Barriers */
	{ 0xd503309f, 0x00000f20 },				/* dsb, dmb */
	{ 0xd50330df, 0x00000f00 },				/* isb */
	{ 0xd50330ff, .here = has(SB) },
	{ 0xd503323f, 0x00000c00, .here = has_XS },		/* dsb nxs */

	/* PSTATE; interrupts may be masked, as all of DAIF is restored */
	{ 0xd500401f, .here = has(FLAGM) },
	{ 0xd500403f, .here = has(FLAGM2) },
	{ 0xd500405f, .here = has(FLAGM2) },
	{ 0xd500407f, 0x00000100, .here = has_UAO, .state = 0xd5384280 },
	{ 0xd500409f, 0x00000100, .here = has_PAN, .state = 0xd5384260 },
	{ 0xd503403f, 0x00000100, .here = has(SSBS), .state = 0xd53b42c0 },
	{ 0xd503405f, 0x00000100, .here = has(DIT), .state = 0xd53b42a0 },
	{ 0xd503409f, 0x00000100, .here = has_MTE, .state = 0xd53b42e0 },
	{ 0xd50340df, 0x00000720 },				/* daifset, daifclr */

	/* Caches, translation */
	{ 0xd508711f },						/* ic ialluis */
	{ 0xd50b7420, 0x0000001f, D, ON_RT, has_ZVA },		/* dc zva */
	{ 0xd50b7520, 0x0000001f, D | FAULTLESS, ON_RT },	/* ic ivau */
	{ 0xd5087800, 0x0000003f, D | FAULTLESS, ON_RT },	/* at s1e1r, s1e1w */
	{ 0xd50b7a20, 0x0000001f, D | FAULTLESS, ON_RT },	/* dc cvac */
	{ 0xd50b7e20, 0x0000001f, D | FAULTLESS, ON_RT },	/* dc civac */
	{ 0xd5088320, 0x0000001f, D },				/* tlbi vae1is */

	/* System registers */
	{ 0xd51b4200, 0x0020001f, D },				/* nzcv */
	{ 0xd51b42a0, 0x0020001f, D, .here = has(DIT), .state = 1 },
	{ 0xd51b42c0, 0x0020001f, D, .here = has(SSBS), .state = 1 },
	{ 0xd51b42e0, 0x0020001f, D, .here = has_MTE, .state = 1 },	/* tco */
	{ 0xd51b4400, 0x0020003f, D | FP, .here = has_FPSIMD },	/* fpcr, fpsr */
	{ 0xd5184260, 0x0020001f, D, .here = has_PAN, .state = 1 },
	{ 0xd5184280, 0x0020001f, D, .here = has_UAO, .state = 1 },
	{ 0xd5184600, 0x0020001f, D | KEEPS, .here = has_GIC, .state = 1 },	/* pmr */
	/* sp_el0, currentel, daif, spsel, id_aa64pfr0_el1 */
	MRS(0xd5384100), MRS(0xd5384240), MRS(0xd53b4220), MRS(0xd5384200), MRS(0xd5380400),
	/* id_aa64isar0_el1, sctlr_el1, tcr_el1, ctr_el0 */
	MRS(0xd5380600), MRS(0xd5381000), MRS(0xd5382040), MRS(0xd53b0020),
	{ 0xd5385300, 0x0000001f, D, .here = has_RAS },		/* erridr_el1 */
	{ 0xd5385600, 0x0000001f, D, .here = has_MTE },		/* tfsr_el1 */
	MRS(0xd5387400),			/* par_el1 */
	{ 0xd53b9ca0, 0x0000001f, D, .here = has_PMU },		/* pmselr_el0 */
	/* mair_el1, vbar_el1, tpidr_el0, cntkctl_el1, cntfrq_el0 */
	MRS(0xd538a200), MRS(0xd538c000), MRS(0xd53bd040), MRS(0xd538e100), MRS(0xd53be000),
	{ 0xd51bd040, 0x0000003f, D, .state = 1 },		/* tpidr_el0, tpidrro_el0 */
	{ 0xd51b9ca0, 0x0000001f, D | KEEPS, .here = has_PMU, .state = 1 },
	{ 0xd5189e20, 0x0000001f, D | KEEPS, .here = has_PMU, .state = 1 },
	{ 0xd5189e5f, .here = has_PMU },			/* pmintenclr_el1, xzr */
	{ 0xd518e100, 0x0000001f, D | KEEPS, .state = 1 },	/* cntkctl_el1 */
	{ 0xd518d020, 0x0000001f, D, .state = 1 },		/* contextidr_el1 */
	{ 0xd5181040, 0x0000001f, D | KEEPS, .state = 1 },	/* cpacr_el1 */
	{ 0xd5182140, 0x0000003f, D | KEEPS, .here = has_PAC, .state = 1 },
	{ 0xd5182200, 0x0000007f, D | KEEPS, .here = has_PAC, .state = 1 },
	{ 0xd5182300, 0x0000003f, D | KEEPS, .here = has_GPAC, .state = 1 },
	{ 0xd5185600, 0x0000003f, D | KEEPS, .here = has_MTE, .state = 1 },
	{ 0xd518cc60, 0x0000001f, D | KEEPS, .here = has_GIC, .state = 1 }, /* icc_bpr1_el1 */

	/* Data processing -- immediate */
	{ 0x11000000, 0xe07fffff, D | N | D_SP },		/* add, sub */
	{ 0x910003ff, 0x4003c000 },				/* the same of sp */
	{ 0x91800000, 0x403f3fff, D | N | D_SP, .here = has_MTE },
	{ 0x11c00000, 0x800fffff, D | N, .here = has(CSSC) },
	{ 0x92000000, 0x607fffff, D | N | D_SP | BITMASK },	/* logical */
	{ 0x12000000, 0x603fffff, D | N | D_SP | BITMASK },
	{ 0x92800000, 0x007fffff, D },				/* move wide */
	{ 0xd2800000, 0x207fffff, D },
	{ 0x12800000, 0x003fffff, D },
	{ 0x52800000, 0x203fffff, D },
	{ 0x93400000, 0x203fffff, D | N },			/* bitfield */
	{ 0xd3400000, 0x003fffff, D | N },
	{ 0x13000000, 0x201f7fff, D | N },
	{ 0x53000000, 0x001f7fff, D | N },
	{ 0x93c00000, 0x001fffff, D | N | M },			/* extract */
	{ 0x13800000, 0x001f7fff, D | N | M },

	/* Data processing -- register */
	{ 0x1ac00800, 0x801f07ff, D | N | M },			/* division */
	{ 0x1ac02000, 0x801f0fff, D | N | M },			/* shifts */
	{ 0x1ac04000, 0x001f17ff, D | N | M, .here = has(CRC32) },
	{ 0x1ac04800, 0x001f13ff, D | N | M, .here = has(CRC32) },
	{ 0x9ac04c00, 0x001f13ff, D | N | M, .here = has(CRC32) },
	{ 0x1ac06000, 0x801f0fff, D | N | M, .here = has(CSSC) },
	{ 0x9ac00000, 0x201f03ff, D | N | M, .here = has_MTE },	/* subp */
	{ 0x9ac01400, 0x001f03ff, D | N | M, .here = has_MTE },	/* gmi */
	{ 0x9ac03000, 0x001f03ff, D | N | M, .here = has_GPAC },
	{ 0x5ac00000, 0x800007ff, D | N },			/* rbit, rev16 */
	{ 0x5ac00800, 0x800003ff, D | N },			/* rev, rev32 */
	{ 0xdac00c00, 0x000003ff, D | N },			/* rev64 */
	{ 0x5ac01000, 0x800007ff, D | N },			/* clz, cls */
	{ 0x5ac01800, 0x800007ff, D | N, .here = has(CSSC) },
	{ 0x5ac02000, 0x800003ff, D | N, .here = has(CSSC) },
	{ 0xdac10000, 0x00000fff, D | N, .here = has_PAC },	/* no aut*: nothing is signed */
	{ 0xdac123e0, 0x00000c1f, D, .here = has_PAC },
	{ 0xdac143e0, 0x0000041f, D, .here = has_PAC },		/* xpac* */
	{ 0x8a000000, 0x60ffffff, D | N | M },			/* logical */
	{ 0x0a000000, 0x60ff7fff, D | N | M },
	{ 0x8b000000, 0x605fffff, D | N | M },			/* add, sub */
	{ 0x8b800000, 0x601fffff, D | N | M },
	{ 0x0b000000, 0x605f7fff, D | N | M },
	{ 0x0b800000, 0x601f7fff, D | N | M },
	{ 0x0b200000, 0xe01fefff, D | N | M | D_SP },		/* extended */
	{ 0x0b201000, 0xe01fe3ff, D | N | M | D_SP },
	{ 0x1a000000, 0xe01f03ff, D | N | M },			/* with carry */
	{ 0xba000400, 0x001f83ef, N, .here = has(FLAGM) },	/* rmif */
	{ 0x3a00080d, 0x000043e0, N, .here = has(FLAGM) },	/* setf */
	{ 0x3a400000, 0xc01ff3ef, N | M },			/* ccmp, ccmn */
	{ 0x3a400800, 0xc01ff3ef, N },
	{ 0x1a800000, 0xc01ff7ff, D | N | M },			/* csel and the like */
	{ 0x1b000000, 0x801fffff, D | N | M | A },		/* madd, msub */
	{ 0x9b200000, 0x009fffff, D | N | M | A },
	{ 0x9b407c00, 0x009f03ff, D | N | M },

	/* SIMD and floating point: some instructions of each class, which take all operands */
	{ 0x4e284800, 0x000033ff, FP, .here = has(AES) },
	{ 0x5e000000, 0x001f33ff, FP, .here = has(SHA1) },
	{ 0x5e004000, 0x001f13ff, FP, .here = has(SHA2) },
	{ 0x5e006000, 0x001f03ff, FP, .here = has(SHA2) },
	{ 0x5e280800, 0x000013ff, FP, .here = has(SHA1) },
	V(0x5e010400, 0x001e03ff),			/* dup */
	{ 0x5e401c00, 0x001f03ff, FP, .here = has(ASIMDHP) },	/* fmulx */
	{ 0x5e79a800, 0x000003ff, FP, .here = has(ASIMDHP) },	/* fcvtns */
	{ 0x7e408400, 0x001f0bff, FP, .here = has(ASIMDRDM) },	/* sqrdmlah, sqrdmlsh */
	/* abs and neg, addp, fcvtns */
	V(0x5ee0b800, 0x200003ff), V(0x5ef1b800, 0x000003ff), V(0x5e21a800, 0x004003ff),
	/* sqdmull; add and sub; cmgt, cmge, cmhi, cmhs */
	V(0x5e60d000, 0x001f03ff), V(0x5ee08400, 0x201f03ff), V(0x5ee03400, 0x201f0bff),
	/* shl, sshr and the like, sqdmulh */
	V(0x5f405400, 0x003f03ff), V(0x5f400400, 0x203f33ff), V(0x5f40c000, 0x003f0bff),
	/* tbl and tbx, uzp1 and uzp2, ext */
	V(0x0e000000, 0x401f73ff), V(0x0e001800, 0x405f43ff), V(0x6e000000, 0x001f7bff),
	V(0x4e010400, 0x001e03ff),			/* dup */
	{ 0x4e010c00, 0x001e03ff, N | FP, .here = has_FPSIMD },
	{ 0x4e011c00, 0x001e03ff, N | FP, .here = has_FPSIMD },	/* ins */
	{ 0x0e013c00, 0x001e03ff, D | FP, .here = has_FPSIMD },	/* umov */
	{ 0x0e401400, 0x401f03ff, FP, .here = has(ASIMDHP) },	/* fadd */
	{ 0x0e79a800, 0x400003ff, FP, .here = has(ASIMDHP) },	/* fcvtns */
	{ 0x2e408400, 0x401f0bff, FP, .here = has(ASIMDRDM) },	/* sqrdmlah, sqrdmlsh */
	{ 0x0e809400, 0x601f03ff, FP, .here = has(ASIMDDP) },	/* sdot, udot */
	/* rev64, addv, saddl and the like */
	V(0x0e200800, 0x400003ff), V(0x0e31b800, 0x400003ff), V(0x0e200000, 0x605f33ff),
	/* add and sub, logical, fadd */
	V(0x0e208400, 0x605f03ff), V(0x0e201c00, 0x60df03ff), V(0x0e20d400, 0x401f03ff),
	/* movi and the like, sshr and the like, mul */
	V(0x0f000400, 0x600773ff), V(0x4f400400, 0x203f33ff), V(0x0f408000, 0x403f0bff),
	{ 0xce408000, 0x001f3fff, FP, .here = has(SM3) },
	{ 0xce608000, 0x001f07ff, FP, .here = has(SHA512) },
	{ 0xce000000, 0x001f7fff, FP, .here = has(SHA3) },
	{ 0xce400000, 0x001f7fff, FP, .here = has(SM3) },
	{ 0xce800000, 0x001fffff, FP, .here = has(SHA3) },
	{ 0xcec08000, 0x000003ff, FP, .here = has(SHA512) },
	{ 0xcec08400, 0x000003ff, FP, .here = has(SM4) },
	{ 0x9e020000, 0x0041ffff, N | FP, .here = has_FPSIMD },	/* scvtf, ucvtf */
	{ 0x9e180000, 0x0041ffff, D | FP, .here = has_FPSIMD },	/* fcvtzs, fcvtzu */
	{ 0x1e200000, 0x805903ff, D | FP, .here = has_FPSIMD },	/* fcvt* */
	{ 0x1e220000, 0x804103ff, N | FP, .here = has_FPSIMD },	/* scvtf, ucvtf */
	{ 0x9e660000, 0x000003ff, D | FP, .here = has_FPSIMD },	/* fmov */
	{ 0x9e670000, 0x000003ff, N | FP, .here = has_FPSIMD },
	{ 0x1e7e0000, 0x000003ff, D | FP, .here = has(JSCVT) },	/* fjcvtzs */
	/* fmov, fabs, fneg, fsqrt; fcmp and fcmpe */
	V(0x1e204000, 0x004183ff), V(0x1e202000, 0x005f03f0), V(0x1e202008, 0x004003f0),
	/* fmov; fccmp; fmul, fadd and the like */
	V(0x1e201000, 0x005fe01f), V(0x1e200400, 0x005ff3ff), V(0x1e200800, 0x005f73ff),
	/* fcsel, fmadd and the like */
	V(0x1e200c00, 0x005ff3ff), V(0x1f000000, 0x007fffff),

	/* Ordered and atomic */
	{ 0x089ffc00, 0xc04003ff, D | N | ALIGNED, ON_BASE },	/* ldar, stlr */
	{ 0x08a07c00, 0xc05f83ff, D | N | M | ALIGNED | COMPARES, ON_BASE, has(ATOMICS) },
	{ 0x08207c00, 0x405e83fe, D | N | M | ALIGNED | COMPARES | PAIRS, ON_BASE, has(ATOMICS) },
	{ 0x38200000, 0xc0df73ff, D | N | M | ALIGNED, ON_BASE, has(ATOMICS) },	/* ldadd */
	{ 0x38208000, 0xc0df03ff, D | N | M | ALIGNED, ON_BASE, has(ATOMICS) },	/* swp */
	{ 0x38bfc000, 0xc00003ff, D | N | ALIGNED, ON_BASE, has(LRCPC) },	/* ldapr */
	{ 0x19201000, 0x00df23ff, D | N | M | ALIGNED | BOTH, ON_BASE, has(LSE128) },
	{ 0x19208000, 0x00df03ff, D | N | M | ALIGNED | BOTH, ON_BASE, has(LSE128) },
	{ 0x19000000, 0x40dff3ff, D | N | ALIGNED, IMM9, has(ILRCPC) },	/* ldapur, stlur */
	{ 0x99000000, 0x405ff3ff, D | N | ALIGNED, IMM9, has(ILRCPC) },
	{ 0x99800000, 0x001ff3ff, D | N | ALIGNED, IMM9, has(ILRCPC) },
	{ 0x1d000800, 0xc05ff3ff, N | ALIGNED | FP, IMM9, has(LRCPC3) },
	{ 0x1d800800, 0x005ff3ff, N | ALIGNED | FP, IMM9, has(LRCPC3) },
	{ 0x99800800, 0x404003ff, D | N | ALIGNED, BY_SIZE, has(LRCPC3) },
	{ 0x99000800, 0x405f03ff, D | N | M | ALIGNED | BOTH, BY_SIZE, has(LRCPC3) },
	{ 0x99001800, 0x405f03ff, D | N | M | ALIGNED | BOTH, ON_BASE, has(LRCPC3) },

	/* Memory tags */
	{ 0xd9200400, 0x00dffbff, D | N | ALIGNED | GRANULES, INDEXED, has_MTE },
	{ 0xd9200800, 0x00dff3ff, D | N | ALIGNED | GRANULES, IMM9, has_MTE },
	{ 0xd9600000, 0x001ff3ff, D | N | ALIGNED | GRANULES, IMM9, has_MTE },	/* ldg */

	/* Structures */
	{ 0x0c000000, 0x40406fff, N | FP | STRUCTURES, ON_BASE, has_FPSIMD },
	{ 0x0c007000, 0x40400fff, N | FP, ON_BASE, has_FPSIMD },
	{ 0x0c008000, 0x40402fff, N | FP | STRUCTURES, ON_BASE, has_FPSIMD },
	{ 0x0c800000, 0x405f6fff, N | M | FP | STRUCTURES, AND_MOVE, has_FPSIMD },
	{ 0x0c807000, 0x405f0fff, N | M | FP, AND_MOVE, has_FPSIMD },
	{ 0x0c808000, 0x405f2fff, N | M | FP | STRUCTURES, AND_MOVE, has_FPSIMD },
	{ 0x0d000000, 0x40603fff, N | FP, ON_BASE, has_FPSIMD },
	{ 0x0d004000, 0x40603bff, N | FP, ON_BASE, has_FPSIMD },
	{ 0x0d008000, 0x406033ff, N | FP, ON_BASE, has_FPSIMD },
	{ 0x0d008400, 0x406023ff, N | FP, ON_BASE, has_FPSIMD },
	{ 0x0d40c000, 0x40202fff, N | FP, ON_BASE, has_FPSIMD },
	{ 0x0d018400, 0x404003ff, N | FP | ALIGNED, ON_BASE, has(LRCPC3) },
	{ 0x0d800000, 0x407f3fff, N | M | FP, AND_MOVE, has_FPSIMD },
	{ 0x0d804000, 0x407f3bff, N | M | FP, AND_MOVE, has_FPSIMD },
	{ 0x0d808000, 0x407f33ff, N | M | FP, AND_MOVE, has_FPSIMD },
	{ 0x0d808400, 0x407f23ff, N | M | FP, AND_MOVE, has_FPSIMD },
	{ 0x0dc0c000, 0x403f2fff, N | M | FP, AND_MOVE, has_FPSIMD },

	/* Pairs */
	{ 0x28000000, 0x807fffff, D | N | A, PAIR },
	{ 0x2c000000, 0x407fffff, N | FP, PAIR, has_FPSIMD },
	{ 0xac000000, 0x007fffff, N | FP, PAIR, has_FPSIMD },
	{ 0x28800000, 0x807fffff, D | N | A, PAIR },
	{ 0x68c00000, 0x003fffff, D | N | A, PAIR },		/* ldpsw */
	{ 0x68800000, 0x003fffff, D | N | A | ALIGNED, PAIR, has_MTE },	/* stgp */
	{ 0x2c800000, 0x407fffff, N | FP, PAIR, has_FPSIMD },
	{ 0xac800000, 0x007fffff, N | FP, PAIR, has_FPSIMD },
	{ 0x29000000, 0x80ffffff, D | N | A, PAIR },
	{ 0x69400000, 0x00bfffff, D | N | A, PAIR },
	{ 0x69000000, 0x00bfffff, D | N | A | ALIGNED, PAIR, has_MTE },
	{ 0x2d000000, 0x40ffffff, N | FP, PAIR, has_FPSIMD },
	{ 0xad000000, 0x00ffffff, N | FP, PAIR, has_FPSIMD },

	/* Single registers; in prefetches, Rt is not a register */
	{ 0x38000000, 0x40dff3ff, D | N, IMM9 },
	{ 0xb8000000, 0x405ff3ff, D | N, IMM9 },
	{ 0xb8800000, 0x001ff3ff, D | N, IMM9 },
	{ 0xf8800000, 0x001ff3ff, N | FAULTLESS, IMM9 },	/* prfum */
	{ 0x3c000000, 0xc05ff3ff, N | FP, IMM9, has_FPSIMD },
	{ 0x3c800000, 0x005ff3ff, N | FP, IMM9, has_FPSIMD },
	{ 0x38000400, 0x40dffbff, D | N, INDEXED },
	{ 0xb8000400, 0x405ffbff, D | N, INDEXED },
	{ 0xb8800400, 0x001ffbff, D | N, INDEXED },
	{ 0x3c000400, 0xc05ffbff, N | FP, INDEXED, has_FPSIMD },
	{ 0x3c800400, 0x005ffbff, N | FP, INDEXED, has_FPSIMD },
	{ 0x38204800, 0x40dfb3ff, D | N | M, REGISTER },
	{ 0xb8204800, 0x405fb3ff, D | N | M, REGISTER },
	{ 0xb8a04800, 0x001fb3ff, D | N | M, REGISTER },
	{ 0xf8a04800, 0x001fb3ff, N | M | FAULTLESS, REGISTER },	/* prfm */
	{ 0x3c204800, 0xc05fb3ff, N | M | FP, REGISTER, has_FPSIMD },
	{ 0x3ca04800, 0x005fb3ff, N | M | FP, REGISTER, has_FPSIMD },
	{ 0x39000000, 0x40ffffff, D | N, UNSIGNED },
	{ 0xb9000000, 0x407fffff, D | N, UNSIGNED },
	{ 0xb9800000, 0x003fffff, D | N, UNSIGNED },
	{ 0xf9800000, 0x003fffff, N | FAULTLESS, UNSIGNED },	/* prfm */
	{ 0x3d000000, 0xc07fffff, N | FP, UNSIGNED, has_FPSIMD },
	{ 0x3d800000, 0x007fffff, N | FP, UNSIGNED, has_FPSIMD },
};

/* Rows of the decoder's table that are not run, and why */
static const struct copy_left_out {
	const char	*name;
	const char	*why;
} copy_left_out[] = {
	{ "System instructions with register argument: WFET, WFIT", "waits" },
	{ "PSTATE: ALLINT", "the kernel does not look for it" },
	{ "System register move: ALLINT", "the kernel does not look for it" },
	{ "PSTATE: SM, ZA", "SME, of which the kernel has no use for itself" },
	{ "System register move: MRS of SVCR", "SME" },
	{ "System register move: MSR of TPIDR2_EL0", "SME" },
	{ "System register move: FPMR", "is for user space only" },
	{ "System instructions: prediction restriction", "the kernel does not look for it" },
	{ "System instructions: DC invalidate", "what was written may be lost" },
	{ "System register move: MSR, timers", "they run" },
	{ "System register move: MSR of ZCR_EL1", "traps while nobody uses SVE" },
	{ "Add/subtract (checked pointer)", "the kernel does not look for it" },
	{ "Data-processing (3 source): checked pointer", "the kernel does not look for it" },
	{ "Atomic memory operations: LD64B, ST64B", "is for devices" },
	{ "Atomic memory operations: ST64BV", "is for devices" },
	{ "Load/store memory tags: STZGM", "a block of a size that the processor defines" },
	{ "Load/store memory tags: STGM, LDGM", "a block of a size that the processor defines" },
	{ "Load/store register (unprivileged)", "is for user memory" },
	{ "Load/store register (unprivileged): LDTRSW", "is for user memory" },
	{ "Load/store register (pac)", "fails without a signed pointer" },
};

#endif /* __ARM64_KERNEL_PROBES_TEST_COPY_FORMS_H */
