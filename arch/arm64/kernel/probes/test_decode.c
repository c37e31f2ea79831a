// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what may be probed, and how it is carried out
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/sizes.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/patching.h>
#include <asm/sections.h>

#include "../../../../lib/test_kprobes/text.h"
#include "decode-insn.h"
#include "slot.h"
#include "test_native.h"

/* No two rows may match the same instruction, and each must be complete. */
static void test_table(struct kunit *test)
{
	unsigned int i, j;

	for (i = 0; i < probe_nr_classes; i++) {
		const struct probe_class *a = &probe_classes[i];
		bool simulated = a->kprobe == PROBE_SIMULATE || a->uprobe == PROBE_SIMULATE;

		KUNIT_ASSERT_NOT_NULL_MSG(test, a->name, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, 0, a->value & ~a->mask, "%s", a->name);
		KUNIT_EXPECT_LE_MSG(test, a->kprobe, PROBE_SIMULATE, "%s", a->name);
		KUNIT_EXPECT_LE_MSG(test, a->uprobe, PROBE_SIMULATE, "%s", a->name);
		KUNIT_EXPECT_EQ_MSG(test, simulated, !!a->simulate, "%s", a->name);
		for (j = 0; j < i; j++) {
			const struct probe_class *b = &probe_classes[j];

			KUNIT_EXPECT_NE_MSG(test, 0, (a->value ^ b->value) & a->mask & b->mask,
					    "%s overlaps with %s", a->name, b->name);
		}
	}
}

struct sample {
	u32		insn;
	const char	*text;
};

static const struct sample simulated[] = {
	{ 0x14000002, "b .+8" },
	{ 0x16000000, "b .-0x8000000" },
	{ 0x94000002, "bl .+8" },
	{ 0x34000040, "cbz w0, .+8" },
	{ 0xb5ffffde, "cbnz x30, .-8" },
	{ 0x36f80040, "tbz w0, #31, .+8" },
	{ 0xb7ffffc0, "tbnz x0, #63, .-8" },
	{ 0x54000040, "b.eq .+8" },
	{ 0x54ffffce, "b.al .-8" },
	{ 0x54000050, "bc.eq .+8" },
	{ 0xd61f0000, "br x0" },
	{ 0xd61f0200, "br x16" },
	{ 0xd63f03c0, "blr x30" },
	{ 0xd65f03c0, "ret" },
	{ 0xd65f00a0, "ret x5" },
	{ 0x30000000, "adr x0, .+1" },
	{ 0x70ffffff, "adr xzr, .-1" },
	{ 0x90000000, "adrp x0, ." },
};

static const struct sample kernel_simulated[] = {
	{ 0x18000040, "ldr w0, .+8" },
	{ 0x58ffffde, "ldr x30, .-8" },
	{ 0x5800003f, "ldr xzr, .+4" },
	{ 0x98000040, "ldrsw x0, .+8" },
	{ 0xd8000040, "prfm pldl1keep, .+8" },
};

static const struct sample copied[] = {
	/* Hints */
	{ 0xd503201f, "nop" },
	{ 0xd503203f, "yield" },
	{ 0xd503205f, "wfe" },
	{ 0xd503207f, "wfi" },
	{ 0xd503209f, "sev" },
	{ 0xd50320bf, "sevl" },
	{ 0xd50320ff, "xpaclri" },
	{ 0xd503211f, "pacia1716" },
	{ 0xd50321df, "autib1716" },
	{ 0xd503221f, "esb" },
	{ 0xd503223f, "psb csync" },
	{ 0xd503225f, "tsb csync" },
	{ 0xd503229f, "csdb" },
	{ 0xd50322df, "clearbhb" },
	{ 0xd503231f, "paciaz" },
	{ 0xd503233f, "paciasp" },
	{ 0xd503237f, "pacibsp" },
	{ 0xd50323bf, "autiasp" },
	{ 0xd50323df, "autibz" },
	{ 0xd503241f, "bti" },
	{ 0xd503245f, "bti c" },
	{ 0xd503249f, "bti j" },
	{ 0xd50324df, "bti jc" },
	{ 0xd50320df, "hint #6" },
	{ 0xd503227f, "hint #19" },
	{ 0xd503243f, "hint #33" },
	{ 0xd50324bf, "hint #37" },
	{ 0xd503251f, "hint #40" },
	{ 0xd503261f, "hint #48" },
	{ 0xd503281f, "hint #64" },
	{ 0xd5032fff, "hint #127" },
	{ 0xd5031000, "wfet x0" },
	{ 0xd5031020, "wfit x0" },
	/* Barriers */
	{ 0xd5033bbf, "dmb ish" },
	{ 0xd50331bf, "dmb oshld" },
	{ 0xd5033f9f, "dsb sy" },
	{ 0xd503369f, "dsb nshst" },
	{ 0xd503309f, "ssbb" },
	{ 0xd5033fdf, "isb" },
	{ 0xd50330ff, "sb" },
	{ 0xd5033e3f, "dsb synxs" },
	/* PSTATE */
	{ 0xd500401f, "cfinv" },
	{ 0xd500403f, "xaflag" },
	{ 0xd500405f, "axflag" },
	{ 0xd503413f, "msr ssbs, #1" },
	{ 0xd503415f, "msr dit, #1" },
	{ 0xd503419f, "msr tco, #1" },
	{ 0xd503477f, "smstart" },
	{ 0xd503447f, "smstop za" },
	{ 0xd503437f, "smstart sm" },
	/* Caches, translation */
	{ 0xd508711f, "ic ialluis" },
	{ 0xd508751f, "ic iallu" },
	{ 0xd50b7520, "ic ivau, x0" },
	{ 0xd50b7380, "cfp rctx, x0" },
	{ 0xd50b7420, "dc zva, x0" },
	{ 0xd5087620, "dc ivac, x0" },
	{ 0xd5087640, "dc isw, x0" },
	{ 0xd50b7a20, "dc cvac, x0" },
	{ 0xd50b7b20, "dc cvau, x0" },
	{ 0xd50b7e20, "dc civac, x0" },
	{ 0xd5087800, "at s1e1r, x0" },
	{ 0xd508831f, "tlbi vmalle1is" },
	{ 0xd5088720, "tlbi vae1, x0" },
	/* System registers */
	{ 0xd53b4200, "mrs x0, nzcv" },
	{ 0xd51b4200, "msr nzcv, x0" },
	{ 0xd53b4240, "mrs x0, svcr" },
	{ 0xd53b42a0, "mrs x0, dit" },
	{ 0xd51b42c0, "msr ssbs, x0" },
	{ 0xd51b42e0, "msr tco, x0" },
	{ 0xd53b4400, "mrs x0, fpcr" },
	{ 0xd51b4420, "msr fpsr, x0" },
	{ 0xd53b4440, "mrs x0, fpmr" },
	{ 0xd5380000, "mrs x0, midr_el1" },
	{ 0xd5381000, "mrs x0, sctlr_el1" },
	{ 0xd5382000, "mrs x0, ttbr0_el1" },
	{ 0xd53b2400, "mrs x0, rndr" },
	{ 0xd5385300, "mrs x0, erridr_el1" },
	{ 0xd5385600, "mrs x0, tfsr_el1" },
	{ 0xd5387400, "mrs x0, par_el1" },
	{ 0xd53b9d00, "mrs x0, pmccntr_el0" },
	{ 0xd538a200, "mrs x0, mair_el1" },
	{ 0xd538c000, "mrs x0, vbar_el1" },
	{ 0xd538d080, "mrs x0, tpidr_el1" },
	{ 0xd53be040, "mrs x0, cntvct_el0" },
	{ 0xd51bd040, "msr tpidr_el0, x0" },
	{ 0xd51bd060, "msr tpidrro_el0, x0" },
	{ 0xd51bd0a0, "msr tpidr2_el0, x0" },
	{ 0xd51b9c00, "msr pmcr_el0, x0" },
	{ 0xd51be320, "msr cntv_ctl_el0, x0" },
	/* Immediates */
	{ 0x91000420, "add x0, x1, #1" },
	{ 0x717ffc20, "subs w0, w1, #4095, lsl #12" },
	{ 0x910003fd, "mov x29, sp" },
	{ 0x91810420, "addg x0, x1, #16, #1" },
	{ 0xd1810420, "subg x0, x1, #16, #1" },
	{ 0x91c3fc20, "smax x0, x1, #-1" },
	{ 0x11cffc20, "umin w0, w1, #255" },
	{ 0x92401c20, "and x0, x1, #0xff" },
	{ 0x32000020, "orr w0, w1, #1" },
	{ 0x92800020, "mov x0, #-2" },
	{ 0xd2800020, "mov x0, #1" },
	{ 0xf2e00020, "movk x0, #1, lsl #48" },
	{ 0x12800020, "mov w0, #-2" },
	{ 0x72a00020, "movk w0, #1, lsl #16" },
	{ 0x93407c20, "sxtw x0, w1" },
	{ 0xb37f0420, "bfi x0, x1, #1, #2" },
	{ 0xd37df020, "lsl x0, x1, #3" },
	{ 0x13037c20, "asr w0, w1, #3" },
	{ 0x53010820, "ubfx w0, w1, #1, #2" },
	{ 0x93c10c20, "ror x0, x1, #3" },
	{ 0x13820c20, "extr w0, w1, w2, #3" },
	/* Registers */
	{ 0x9ac20820, "udiv x0, x1, x2" },
	{ 0x1ac20c20, "sdiv w0, w1, w2" },
	{ 0x9ac22020, "lsl x0, x1, x2" },
	{ 0x1ac22c20, "ror w0, w1, w2" },
	{ 0x1ac24020, "crc32b w0, w1, w2" },
	{ 0x1ac25420, "crc32ch w0, w1, w2" },
	{ 0x1ac24820, "crc32w w0, w1, w2" },
	{ 0x9ac25c20, "crc32cx w0, w1, x2" },
	{ 0x9ac26420, "umax x0, x1, x2" },
	{ 0x9ac20020, "subp x0, x1, x2" },
	{ 0xbac20020, "subps x0, x1, x2" },
	{ 0x9adf1020, "irg x0, x1" },
	{ 0x9ac21420, "gmi x0, x1, x2" },
	{ 0x9ac23020, "pacga x0, x1, x2" },
	{ 0xdac00020, "rbit x0, x1" },
	{ 0x5ac00420, "rev16 w0, w1" },
	{ 0x5ac00820, "rev w0, w1" },
	{ 0xdac00820, "rev32 x0, x1" },
	{ 0xdac00c20, "rev x0, x1" },
	{ 0xdac01020, "clz x0, x1" },
	{ 0x5ac01420, "cls w0, w1" },
	{ 0xdac01820, "ctz x0, x1" },
	{ 0xdac02020, "abs x0, x1" },
	{ 0xdac10020, "pacia x0, x1" },
	{ 0xdac11fe0, "autdb x0, sp" },
	{ 0xdac123e0, "paciza x0" },
	{ 0xdac13fe0, "autdzb x0" },
	{ 0xdac143e0, "xpaci x0" },
	{ 0xdac147e0, "xpacd x0" },
	{ 0xaa0103e0, "mov x0, x1" },
	{ 0xca62fc20, "eon x0, x1, x2, lsr #63" },
	{ 0x6ae27c20, "bics w0, w1, w2, ror #31" },
	{ 0x8b42fc20, "add x0, x1, x2, lsr #63" },
	{ 0xeb81041f, "cmp x0, x1, asr #1" },
	{ 0x6b020020, "subs w0, w1, w2" },
	{ 0x4b817fe0, "neg w0, w1, asr #31" },
	{ 0x8b224c20, "add x0, x1, w2, uxtw #3" },
	{ 0x8b2073ff, "add sp, sp, x0, lsl #4" },
	{ 0x9a020020, "adc x0, x1, x2" },
	{ 0x7a020020, "sbcs w0, w1, w2" },
	{ 0x9a022020, "addpt x0, x1, x2" },
	{ 0xda023c20, "subpt x0, x1, x2, lsl #7" },
	{ 0xba008402, "rmif x0, #1, #2" },
	{ 0x3a00080d, "setf8 w0" },
	{ 0x3a00480d, "setf16 w0" },
	{ 0xfa410000, "ccmp x0, x1, #0, eq" },
	{ 0x3a5f180f, "ccmn w0, #31, #15, ne" },
	{ 0x9a820020, "csel x0, x1, x2, eq" },
	{ 0x5a82b420, "csneg w0, w1, w2, lt" },
	{ 0x9b020c20, "madd x0, x1, x2, x3" },
	{ 0x1b028c20, "msub w0, w1, w2, w3" },
	{ 0x9b220c20, "smaddl x0, w1, w2, x3" },
	{ 0x9ba28c20, "umsubl x0, w1, w2, x3" },
	{ 0x9b427c20, "smulh x0, x1, x2" },
	{ 0x9bc27c20, "umulh x0, x1, x2" },
	{ 0x9b620c20, "maddpt x0, x1, x2, x3" },
	/* Advanced SIMD and floating-point */
	{ 0x4ea28420, "add v0.4s, v1.4s, v2.4s" },
	{ 0x6f00e400, "movi v0.2d, #0" },
	{ 0x4e284820, "aese v0.16b, v1.16b" },
	{ 0x0ee2e020, "pmull v0.1q, v1.1d, v2.1d" },
	{ 0x5ee28420, "add d0, d1, d2" },
	{ 0x5e282820, "sha256su0 v0.4s, v1.4s" },
	{ 0x5e020020, "sha1c q0, s1, v2.4s" },
	{ 0x1e622820, "fadd d0, d1, d2" },
	{ 0x9e660020, "fmov x0, d1" },
	{ 0x1f020c20, "fmadd s0, s1, s2, s3" },
	{ 0x1e620c20, "fcsel d0, d1, d2, eq" },
	{ 0x9e620020, "scvtf d0, x1" },
	{ 0xce020c20, "eor3 v0.16b, v1.16b, v2.16b, v3.16b" },
	{ 0xce628020, "sha512h q0, q1, v2.2d" },
	{ 0xcec08420, "sm4e v0.4s, v1.4s" },
	{ 0x5e180420, "mov d0, v1.d[1]" },
	{ 0x5e421c20, "fmulx h0, h1, h2" },
	{ 0x5ef9d820, "frecpe h0, h1" },
	{ 0x7e828420, "sqrdmlah s0, s1, s2" },
	{ 0x5ef1b820, "addp d0, v1.2d" },
	{ 0x5e629020, "sqdmlal s0, h1, h2" },
	{ 0x5f435420, "shl d0, d1, #3" },
	{ 0x5fc29820, "fmul d0, d1, v2.d[1]" },
	{ 0x4e020020, "tbl v0.16b, { v1.16b }, v2.16b" },
	{ 0x4e823820, "zip1 v0.4s, v1.4s, v2.4s" },
	{ 0x6e021820, "ext v0.16b, v1.16b, v2.16b, #3" },
	{ 0x4e040c20, "dup v0.4s, w1" },
	{ 0x4e421420, "fadd v0.8h, v1.8h, v2.8h" },
	{ 0x4ef8f820, "fabs v0.8h, v1.8h" },
	{ 0x4e829420, "sdot v0.4s, v1.16b, v2.16b" },
	{ 0x4eb1b820, "addv s0, v1.4s" },
	{ 0x2fa22020, "umlal v0.2d, v1.2s, v2.s[1]" },
	{ 0xce429020, "sm3tt1a v0.4s, v1.4s, v2.s[1]" },
	{ 0xce820c20, "xar v0.2d, v1.2d, v2.2d, #3" },
	{ 0x9e58f420, "fcvtzs x0, d1, #3" },
	{ 0x1e61c020, "fsqrt d0, d1" },
	{ 0x1e612000, "fcmp d0, d1" },
	{ 0x1e6e1000, "fmov d0, #1.0" },
	{ 0x1e610400, "fccmp d0, d1, #0, eq" },
	/* Ordered, atomic */
	{ 0xc8dffc20, "ldar x0, [x1]" },
	{ 0x08dffc20, "ldarb w0, [x1]" },
	{ 0x889ffc20, "stlr w0, [x1]" },
	{ 0x489ffc20, "stlrh w0, [x1]" },
	{ 0xc8df7c20, "ldlar x0, [x1]" },
	{ 0xc89f7c20, "stllr x0, [x1]" },
	{ 0x88a07c41, "cas w0, w1, [x2]" },
	{ 0xc8e0fc41, "casal x0, x1, [x2]" },
	{ 0x08a0fc41, "caslb w0, w1, [x2]" },
	{ 0x48207c82, "casp x0, x1, x2, x3, [x4]" },
	{ 0x0860fc82, "caspal w0, w1, w2, w3, [x4]" },
	{ 0xf8200041, "ldadd x0, x1, [x2]" },
	{ 0x38e06041, "ldumaxalb w0, w1, [x2]" },
	{ 0xb820103f, "stclr w0, [x1]" },
	{ 0xb8208041, "swp w0, w1, [x2]" },
	{ 0xf8e08041, "swpal x0, x1, [x2]" },
	{ 0xf8bfc020, "ldapr x0, [x1]" },
	{ 0x38bfc020, "ldaprb w0, [x1]" },
	{ 0xf83fd100, "ld64b x0, [x8]" },
	{ 0xf83f9100, "st64b x0, [x8]" },
	{ 0xf821b100, "st64bv x1, x0, [x8]" },
	{ 0xf821a100, "st64bv0 x1, x0, [x8]" },
	{ 0x19221161, "ldclrp x1, x2, [x11]" },
	{ 0x19e23161, "ldsetpal x1, x2, [x11]" },
	{ 0x19a28161, "swppa x1, x2, [x11]" },
	{ 0x195ff020, "ldapurb w0, [x1, #-1]" },
	{ 0x59801020, "ldapursh x0, [x1, #1]" },
	{ 0xd9400020, "ldapur x0, [x1]" },
	{ 0x990ff020, "stlur w0, [x1, #255]" },
	{ 0x99800020, "ldapursw x0, [x1]" },
	{ 0x1d1ff9e3, "stlur b3, [x15, #-1]" },
	{ 0xdd5f79e3, "ldapur d3, [x15, #-9]" },
	{ 0x1dc0abe3, "ldapur q3, [sp, #10]" },
	{ 0x998009e3, "stlr w3, [x15, #-4]!" },
	{ 0xd9c009e3, "ldapr x3, [x15], #8" },
	{ 0x99000a18, "stilp w24, w0, [x16, #-8]!" },
	{ 0xd9471aff, "ldiapp xzr, x7, [x23]" },
	/* Tags */
	{ 0xd9201420, "stg x0, [x1], #16" },
	{ 0xd9a01c20, "st2g x0, [x1, #16]!" },
	{ 0xd9601820, "stzg x0, [x1, #16]" },
	{ 0xd9600020, "ldg x0, [x1]" },
	/* Structures */
	{ 0x4c407000, "ld1 { v0.16b }, [x0]" },
	{ 0x4c402000, "ld1 { v0.16b - v3.16b }, [x0]" },
	{ 0x4c008800, "st2 { v0.4s, v1.4s }, [x0]" },
	{ 0x4c404800, "ld3 { v0.4s - v2.4s }, [x0]" },
	{ 0x4c400000, "ld4 { v0.16b - v3.16b }, [x0]" },
	{ 0x4c9f7000, "st1 { v0.16b }, [x0], #16" },
	{ 0x4c81a000, "st1 { v0.16b, v1.16b }, [x0], x1" },
	{ 0x4cdf0000, "ld4 { v0.16b - v3.16b }, [x0], #64" },
	{ 0x0d400400, "ld1 { v0.b }[1], [x0]" },
	{ 0x0d204800, "st2 { v0.h, v1.h }[1], [x0]" },
	{ 0x0d40b000, "ld3 { v0.s - v2.s }[1], [x0]" },
	{ 0x4d20a400, "st4 { v0.d - v3.d }[1], [x0]" },
	{ 0x4d40c800, "ld1r { v0.4s }, [x0]" },
	{ 0x0d0185e3, "stl1 { v3.d }[0], [x15]" },
	{ 0x4d4185e3, "ldap1 { v3.d }[1], [x15]" },
	{ 0x0ddf0400, "ld1 { v0.b }[1], [x0], #1" },
	{ 0x0de14800, "ld2 { v0.h, v1.h }[1], [x0], x1" },
	{ 0x0d9fb000, "st3 { v0.s, v1.s, v2.s }[1], [x0], #12" },
	{ 0x4d818400, "st1 { v0.d }[1], [x0], x1" },
	{ 0x4de1e800, "ld4r { v0.4s - v3.4s }, [x0], x1" },
	/* Pairs */
	{ 0xa8400440, "ldnp x0, x1, [x2]" },
	{ 0x28000440, "stnp w0, w1, [x2]" },
	{ 0x2c400400, "ldnp s0, s1, [x0]" },
	{ 0xac000400, "stnp q0, q1, [x0]" },
	{ 0xa8c17bfd, "ldp x29, x30, [sp], #16" },
	{ 0x28810440, "stp w0, w1, [x2], #8" },
	{ 0x68c10440, "ldpsw x0, x1, [x2], #8" },
	{ 0x68808440, "stgp x0, x1, [x2], #16" },
	{ 0x6cc10400, "ldp d0, d1, [x0], #16" },
	{ 0xac810400, "stp q0, q1, [x0], #32" },
	{ 0xa9bf7bfd, "stp x29, x30, [sp, #-16]!" },
	{ 0x29410440, "ldp w0, w1, [x2, #8]" },
	{ 0x69410440, "ldpsw x0, x1, [x2, #8]" },
	{ 0x69808440, "stgp x0, x1, [x2, #16]!" },
	{ 0x2d010400, "stp s0, s1, [x0, #8]" },
	{ 0xadc10400, "ldp q0, q1, [x0, #32]!" },
	/* Single registers */
	{ 0x385ff020, "ldurb w0, [x1, #-1]" },
	{ 0x781ff020, "sturh w0, [x1, #-1]" },
	{ 0xf85f8020, "ldur x0, [x1, #-8]" },
	{ 0xb81fc020, "stur w0, [x1, #-4]" },
	{ 0xb89fc020, "ldursw x0, [x1, #-4]" },
	{ 0xf89f8000, "prfum pldl1keep, [x0, #-8]" },
	{ 0xfc5f8000, "ldur d0, [x0, #-8]" },
	{ 0x3c9f0000, "stur q0, [x0, #-16]" },
	{ 0x38401420, "ldrb w0, [x1], #1" },
	{ 0x78002c20, "strh w0, [x1, #2]!" },
	{ 0xf8408420, "ldr x0, [x1], #8" },
	{ 0xb81fcc20, "str w0, [x1, #-4]!" },
	{ 0xb8804420, "ldrsw x0, [x1], #4" },
	{ 0xbc404400, "ldr s0, [x0], #4" },
	{ 0x3c810c00, "str q0, [x0, #16]!" },
	{ 0x38400820, "ldtrb w0, [x1]" },
	{ 0x78000820, "sttrh w0, [x1]" },
	{ 0xf8400820, "ldtr x0, [x1]" },
	{ 0xb8000820, "sttr w0, [x1]" },
	{ 0xb8800820, "ldtrsw x0, [x1]" },
	{ 0x38626820, "ldrb w0, [x1, x2]" },
	{ 0x7822d820, "strh w0, [x1, w2, sxtw #1]" },
	{ 0xf8627820, "ldr x0, [x1, x2, lsl #3]" },
	{ 0xb8226820, "str w0, [x1, x2]" },
	{ 0xb8a27820, "ldrsw x0, [x1, x2, lsl #2]" },
	{ 0xf8a16800, "prfm pldl1keep, [x0, x1]" },
	{ 0x7c616800, "ldr h0, [x0, x1]" },
	{ 0x3ca16800, "str q0, [x0, x1]" },
	{ 0x39800020, "ldrsb x0, [x1]" },
	{ 0x79000420, "strh w0, [x1, #2]" },
	{ 0xf9400420, "ldr x0, [x1, #8]" },
	{ 0xb9000fff, "str wzr, [sp, #12]" },
	{ 0xb9800420, "ldrsw x0, [x1, #4]" },
	{ 0xf9800011, "prfm pstl1strm, [x0]" },
	{ 0xfd400000, "ldr d0, [x0]" },
	{ 0x3d800000, "str q0, [x0]" },
	{ 0xf8200420, "ldraa x0, [x1]" },
	{ 0xf8a01c20, "ldrab x0, [x1, #8]!" },
};

static const struct sample kernel_copied[] = {
	{ 0xd500407f, "msr uao, #0" },
	{ 0xd500419f, "msr pan, #1" },
	{ 0xd501401f, "msr allint, #0" },
	{ 0xd50343df, "msr daifset, #3" },
	{ 0xd50347df, "msr daifset, #7" },
	{ 0xd50342ff, "msr daifclr, #2" },
	{ 0xd5384100, "mrs x0, sp_el0" },
	{ 0xd5384260, "mrs x0, pan" },
	{ 0xd5184260, "msr pan, x0" },
	{ 0xd5184280, "msr uao, x0" },
	{ 0xd5184300, "msr allint, x0" },
	{ 0xd5184600, "msr S3_0_C4_C6_0, x0" },
	{ 0xd5384600, "mrs x0, S3_0_C4_C6_0" },
	{ 0xd5384240, "mrs x0, currentel" },
	{ 0xd5189e20, "msr pmintenset_el1, x0" },
	{ 0xd5189e40, "msr pmintenclr_el1, x0" },
	{ 0xd518e100, "msr cntkctl_el1, x0" },
	{ 0xd518d020, "msr contextidr_el1, x0" },
	{ 0xd5181040, "msr cpacr_el1, x0" },
	{ 0xd5181200, "msr zcr_el1, x0" },
	{ 0xd5182000, "msr ttbr0_el1, x0" },
	{ 0xd5182020, "msr ttbr1_el1, x0" },
	{ 0xd5182100, "msr apiakeylo_el1, x0" },
	{ 0xd5182220, "msr apdakeyhi_el1, x0" },
	{ 0xd5182300, "msr apgakeylo_el1, x0" },
	{ 0xd5185600, "msr tfsr_el1, x0" },
	{ 0xd518cc20, "msr S3_0_C12_C12_1, x0" },
	{ 0xd9200020, "stzgm x0, [x1]" },
	{ 0xd9a00020, "stgm x0, [x1]" },
	{ 0xd9e00020, "ldgm x0, [x1]" },
};

static const struct sample user_copied[] = {
	{ 0xd5033f5f, "clrex" },
	{ 0x2518e3e0, "ptrue p0.b" },
	{ 0x0420bc20, "movprfx z0, z1" },
	{ 0xa400a000, "ld1b { z0.b }, p0/z, [x0]" },
	{ 0x04bf5020, "rdvl x0, #1" },
	{ 0xc0900000, "addha za0.s, p0/m, p0/m, z0.s" },
};

static const struct sample rejected[] = {
	/* Literals of SIMD&FP */
	{ 0x1c000040, "ldr s0, .+8" },
	{ 0x5c000040, "ldr d0, .+8" },
	{ 0x9c000040, "ldr q0, .+8" },
	/* Branches that are not plain */
	{ 0x74052005, "cbgt w5, w5, .-1024" },
	{ 0xf4221fe2, "cbge x2, x2, .+1020" },
	{ 0x7405e005, "cbhgt w5, w5, .-1024" },
	{ 0x7405a005, "cbbgt w5, w5, .-1024" },
	{ 0xf5002005, "cbgt x5, #0, .-1024" },
	{ 0x55000dbf, "retaasppc .-436" },
	{ 0x5520001f, "retabsppc ." },
	{ 0xd65f0be2, "retaasppc x2" },
	{ 0xd65f0fe3, "retabsppc x3" },
	{ 0xd65f0bff, "retaa" },
	{ 0xd65f0fff, "retab" },
	{ 0xd71f0801, "braa x0, x1" },
	{ 0xd61f081f, "braaz x0" },
	{ 0xd71f0c01, "brab x0, x1" },
	{ 0xd61f0c1f, "brabz x0" },
	{ 0xd73f0801, "blraa x0, x1" },
	{ 0xd63f081f, "blraaz x0" },
	{ 0xd73f0c1f, "blrab x0, sp" },
	{ 0xd63f0c1f, "blrabz x0" },
	{ 0xd69f03e0, "eret" },
	{ 0xd69f0bff, "eretaa" },
	{ 0xd69f0fff, "eretab" },
	{ 0xd6bf03e0, "drps" },
	/* Exceptions */
	{ 0x00000000, "udf #0" },
	{ 0x0000ffff, "udf #0xffff" },
	{ 0xd4000001, "svc #0" },
	{ 0xd4000002, "hvc #0" },
	{ 0xd4000003, "smc #0" },
	{ 0xd4200080, "brk #4" },
	{ 0xd4210000, "brk #0x800" },
	{ 0xd4400000, "hlt #0" },
	{ 0xd4a00001, "dcps1" },
	{ 0xd4600000, "tcancel #0" },
	/* Hints and barriers */
	{ 0xd50324ff, "pacm" },
	{ 0xd503307f, "tcommit" },
	{ 0xd5233060, "tstart x0" },
	{ 0xd5233160, "ttest x0" },
	/* PSTATE */
	{ 0xd50041bf, "msr spsel, #1" },
	{ 0xd50348df, "msr daifset, #8" },
	{ 0xd5034fdf, "msr daifset, #15" },
	{ 0xd50348ff, "msr daifclr, #8" },
	{ 0xd5034dff, "msr daifclr, #13" },
	/* Guarded control stack */
	{ 0xd50b7719, "gcspushm x25" },
	{ 0xd50b7755, "gcsss1 x21" },
	{ 0xd508779f, "gcspushx" },
	{ 0xd52b7739, "gcspopm x25" },
	{ 0xd91f0f7a, "gcsstr x26, [x27]" },
	{ 0xd91f1f7a, "gcssttr x26, [x27]" },
	{ 0xd528f000, "sysl x0, #0, c15, c0, #0" },
	/* System registers */
	{ 0xd5300240, "mrs x0, mdscr_el1" },
	{ 0xd5100240, "msr mdscr_el1, x0" },
	{ 0xd5101080, "msr oslar_el1, x0" },
	{ 0xd5300080, "mrs x0, dbgbvr0_el1" },
	{ 0xd5330100, "mrs x0, mdccsr_el0" },
	{ 0xd53b4500, "mrs x0, dspsr_el0" },
	{ 0xd51b4520, "msr dlr_el0, x0" },
	{ 0xd53b4220, "mrs x0, daif" },
	{ 0xd51b4220, "msr daif, x0" },
	{ 0xd5384000, "mrs x0, spsr_el1" },
	{ 0xd5184000, "msr spsr_el1, x0" },
	{ 0xd5384020, "mrs x0, elr_el1" },
	{ 0xd5184020, "msr elr_el1, x0" },
	{ 0xd53c4020, "mrs x0, elr_el2" },
	{ 0xd53d4000, "mrs x0, spsr_el12" },
	{ 0xd5384200, "mrs x0, spsel" },
	{ 0xd5184200, "msr spsel, x0" },
	{ 0xd5385200, "mrs x0, esr_el1" },
	{ 0xd5385100, "mrs x0, afsr0_el1" },
	{ 0xd5185200, "msr esr_el1, x0" },
	{ 0xd5386000, "mrs x0, far_el1" },
	{ 0xd53c6080, "mrs x0, hpfar_el2" },
	{ 0xd5186000, "msr far_el1, x0" },
	{ 0xd5184100, "msr sp_el0, x0" },
	{ 0xd518d080, "msr tpidr_el1, x0" },
	{ 0xd51cd040, "msr tpidr_el2, x0" },
	/* Signed, or checked, with the PC */
	{ 0xf380009f, "autiasppc .-16" },
	{ 0xf3bfffff, "autibsppc .-262140" },
	{ 0xdac1901e, "autiasppc x0" },
	{ 0xdac1943e, "autibsppc x1" },
	{ 0xdac1a3fe, "paciasppc" },
	{ 0xdac1a7fe, "pacibsppc" },
	{ 0xdac183fe, "pacnbiasppc" },
	{ 0xdac187fe, "pacnbibsppc" },
	/* Exclusives */
	{ 0x885f7c20, "ldxr w0, [x1]" },
	{ 0x085f7c20, "ldxrb w0, [x1]" },
	{ 0x485ffc20, "ldaxrh w0, [x1]" },
	{ 0xc85ffc20, "ldaxr x0, [x1]" },
	{ 0xc8007c41, "stxr w0, x1, [x2]" },
	{ 0x08007c41, "stxrb w0, w1, [x2]" },
	{ 0xc800fc41, "stlxr w0, x1, [x2]" },
	{ 0xc87f0440, "ldxp x0, x1, [x2]" },
	{ 0x887f8440, "ldaxp w0, w1, [x2]" },
	{ 0xc8200861, "stxp w0, x1, x2, [x3]" },
	{ 0x88208861, "stlxp w0, w1, w2, [x3]" },
	{ 0xc95f7d6a, "ldtxr x10, [x11]" },
	{ 0xc95ffd6a, "ldatxr x10, [x11]" },
	{ 0xc9057ce6, "sttxr w5, x6, [x7]" },
	{ 0x8902ffe4, "stltxr w2, w4, [sp]" },
	/* Copies and sets in three parts */
	{ 0x19010440, "cpyfp [x0]!, [x1]!, x2!" },
	{ 0x19410440, "cpyfm [x0]!, [x1]!, x2!" },
	{ 0x19810440, "cpyfe [x0]!, [x1]!, x2!" },
	{ 0x1d010440, "cpyp [x0]!, [x1]!, x2!" },
	{ 0x1d410440, "cpym [x0]!, [x1]!, x2!" },
	{ 0x1d810440, "cpye [x0]!, [x1]!, x2!" },
	{ 0x1981d440, "cpyfewtn [x0]!, [x1]!, x2!" },
	{ 0x19c20420, "setp [x0]!, x1!, x2" },
	{ 0x19c24420, "setm [x0]!, x1!, x2" },
	{ 0x19c28420, "sete [x0]!, x1!, x2" },
	{ 0x1dc20420, "setgp [x0]!, x1!, x2" },
};

/* In no row: registers that must not be written, or encodings that are new or unallocated */
static const struct sample unknown[] = {
	{ 0xd5181000, "msr sctlr_el1, x0" },
	{ 0xd518c000, "msr vbar_el1, x0" },
	{ 0xd5182040, "msr tcr_el1, x0" },
	{ 0xd518a200, "msr mair_el1, x0" },
	{ 0xd51c4100, "msr sp_el1, x0" },
	{ 0xd518f000, "msr S3_0_C15_C0_0, x0" },
	{ 0xd538b000, "mrs x0, S3_0_C11_C0_0" },
	{ 0xd538f000, "mrs x0, S3_0_C15_C0_0" },
	{ 0xd508f000, "sys #0, c15, c0, #0, x0" },
	{ 0xd508b000, "sys #0, c11, c0, #0, x0" },
	{ 0xd501421f, "msr pm, #0" },
	{ 0xd5487d00, "sysp #0, c7, c13, #0, x0, x1" },
	{ 0xd5700000, "mrrs x0, x1, S2_0_C0_C0_0" },
	{ 0xc9807c41, "cast x0, x1, [x2]" },
	{ 0x49807c82, "caspt x0, x1, x2, x3, [x4]" },
	{ 0x192784bf, "swpt w7, wzr, [x5]" },
	{ 0x192704bf, "ldtadd w7, wzr, [x5]" },
	{ 0xe95ff455, "ldtp x21, x29, [x2, #504]" },
	{ 0x19200881, "rcwcas x0, x1, [x4]" },
	{ 0x38209081, "rcwclr x0, x1, [x4]" },
	{ 0x1ac00000, "in Data-processing (2 source)" },
	{ 0x5ac0fc00, "in Data-processing (1 source)" },
	{ 0x72c00000, "in Move wide (immediate)" },
	{ 0x13400000, "in Bitfield" },
	{ 0x0bc00000, "in Add/subtract (shifted register)" },
	{ 0xb8c00000, "in Load/store register (unscaled immediate)" },
	{ 0xf8c00c00, "in Load/store register (immediate pre-indexed)" },
	{ 0x0d404400, "in Advanced SIMD load/store single structure: 16 bits" },
	{ 0x0d408800, "in Advanced SIMD load/store single structure: 32 bits" },
	{ 0x0ddf8c00, "in Advanced SIMD load/store single structure (post-indexed)" },
	{ 0x9b420020, "in Data-processing (3 source): smulh with an addend" },
	{ 0x0e028020, "in Advanced SIMD" },
	{ 0x5e008020, "in Advanced SIMD scalar" },
	{ 0x3e622820, "in Floating-point: fadd that sets flags" },
	{ 0xcec18420, "in Cryptographic" },
	{ 0xd5182340, "msr S3_0_C2_C3_2, x0: no key" },
	{ 0x00010000, "in Reserved" },
	{ 0xffffffff, "all ones" },
};

struct group {
	const char		*name;
	const struct sample	*samples;
	unsigned int		nr;
	enum probe_action	kprobe;
	enum probe_action	uprobe;
};

static const struct group groups[] = {
	{ "simulated", simulated, ARRAY_SIZE(simulated), PROBE_SIMULATE, PROBE_SIMULATE },
	{ "kernel simulated", kernel_simulated, ARRAY_SIZE(kernel_simulated),
	  PROBE_SIMULATE, PROBE_REJECT },
	{ "copied", copied, ARRAY_SIZE(copied), PROBE_COPY, PROBE_COPY },
	{ "kernel copied", kernel_copied, ARRAY_SIZE(kernel_copied), PROBE_COPY, PROBE_REJECT },
	{ "user copied", user_copied, ARRAY_SIZE(user_copied), PROBE_REJECT, PROBE_COPY },
	{ "rejected", rejected, ARRAY_SIZE(rejected), PROBE_REJECT, PROBE_REJECT },
};

static void judge_group(struct kunit *test, const struct group *g, unsigned long *rows_seen)
{
	const struct probe_class *class;
	const struct sample *s;

	for (s = g->samples; s < g->samples + g->nr; s++) {
		class = probe_classify(s->insn);
		KUNIT_EXPECT_NOT_NULL_MSG(test, class, "%s: %08x, %s", g->name, s->insn, s->text);
		if (!class)
			continue;
		__set_bit(class - probe_classes, rows_seen);
		KUNIT_EXPECT_EQ_MSG(test, g->kprobe, class->kprobe, "%s: %08x, %s: %s",
				    g->name, s->insn, s->text, class->name);
		KUNIT_EXPECT_EQ_MSG(test, g->uprobe, class->uprobe, "%s: %08x, %s: %s",
				    g->name, s->insn, s->text, class->name);
	}
}

/* There has to be a sample of every row. */
static void test_samples(struct kunit *test)
{
	unsigned long *rows_seen = kunit_kcalloc(test, BITS_TO_LONGS(probe_nr_classes),
						 sizeof(long), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rows_seen);
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		judge_group(test, &groups[i], rows_seen);
	for (i = 0; i < probe_nr_classes; i++)
		KUNIT_EXPECT_TRUE_MSG(test, test_bit(i, rows_seen), "no sample of %s: %08x",
				      probe_classes[i].name, probe_classes[i].value);
}

static void test_unknown(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		KUNIT_EXPECT_NULL_MSG(test, probe_classify(unknown[i].insn), "%08x, %s",
				      unknown[i].insn, unknown[i].text);
}

/* Setting or clearing bits of DAIF is refused if D is among them, and only then. */
static void test_daif(struct kunit *test)
{
	static const u32 daif[] = { 0xd50340df, 0xd50340ff };
	unsigned int i, imm;

	for (i = 0; i < ARRAY_SIZE(daif); i++) {
		for (imm = 0; imm < 16; imm++) {
			const struct probe_class *class = probe_classify(daif[i] | imm << 8);

			KUNIT_ASSERT_NOT_NULL(test, class);
			KUNIT_EXPECT_EQ_MSG(test, imm & 8 ? PROBE_REJECT : PROBE_COPY,
					    class->kprobe, "#%u", imm);
			KUNIT_EXPECT_EQ(test, PROBE_REJECT, class->uprobe);
		}
	}
}

/* All hints can be copied, except for PACM. */
static void test_hints(struct kunit *test)
{
	unsigned int hint;

	for (hint = 0; hint < 128; hint++) {
		const struct probe_class *class = probe_classify(0xd503201f | hint << 5);

		KUNIT_ASSERT_NOT_NULL_MSG(test, class, "#%u", hint);
		KUNIT_EXPECT_EQ_MSG(test, hint == 39 ? PROBE_REJECT : PROBE_COPY,
				    class->kprobe, "#%u", hint);
	}
}

static void test_uprobes(struct kunit *test)
{
	struct arch_probe_insn asi = {};
	struct pt_regs regs = { .pc = 0x1000, .pstate = PSR_MODE_EL0t | PSR_BTYPE_C };

	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(unknown[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(rejected[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(kernel_copied[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_REJECTED, arm_probe_decode_insn(kernel_simulated[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_GOOD, arm_probe_decode_insn(copied[0].insn, &asi));
	KUNIT_EXPECT_EQ(test, INSN_GOOD, arm_probe_decode_insn(user_copied[0].insn, &asi));
	KUNIT_EXPECT_NULL(test, asi.handler);

	/* b .+8 */
	KUNIT_EXPECT_EQ(test, INSN_GOOD_NO_SLOT, arm_probe_decode_insn(0x14000002, &asi));
	KUNIT_ASSERT_NOT_NULL(test, asi.handler);
	asi.handler(0x14000002, regs.pc, &regs);
	KUNIT_EXPECT_EQ(test, 0x1008, regs.pc);
	KUNIT_EXPECT_EQ(test, PSR_MODE_EL0t | PSR_BTYPE_NONE, regs.pstate);

	/* blr x30: it is not known whether the page is guarded */
	regs.regs[30] = 0x2000;
	KUNIT_EXPECT_EQ(test, INSN_GOOD_NO_SLOT, arm_probe_decode_insn(0xd63f03c0, &asi));
	asi.handler(0xd63f03c0, regs.pc, &regs);
	KUNIT_EXPECT_EQ(test, 0x2000, regs.pc);
	KUNIT_EXPECT_EQ(test, 0x100c, regs.regs[30]);
	KUNIT_EXPECT_EQ(test, PSR_MODE_EL0t | PSR_BTYPE_NONE, regs.pstate);
}

#define NOP		0xd503201f
#define LDXR		0x885f7c01	/* ldxr w1, [x0] */
#define LDXP		0xc87f0801	/* ldxp x1, x2, [x0] */
#define STXR		0x88027c01	/* stxr w2, w1, [x0] */
#define STXP		0xc8230801	/* stxp w3, x1, x2, [x0] */
#define CLREX		0xd5033f5f
#define LDTXR		0xc95f7c01	/* ldtxr x1, [x0] */
#define STTXR		0xc9027c01	/* sttxr w2, x1, [x0] */
#define LDAR		0x88dffc01	/* ldar w1, [x0] */
#define STLR		0x889ffc01	/* stlr w1, [x0] */
#define CAS		0x88a17c02	/* cas w1, w2, [x0] */
#define CASP		0x08227c04	/* casp w2, w3, w4, w5, [x0] */
#define SWP		0xb8218002	/* swp w1, w2, [x0] */

static __le32 text[128];

/* Is the @i-th instruction of a function of @nr instructions in a sequence of exclusives? */
static bool inside(unsigned int i, unsigned int nr)
{
	unsigned long start = (unsigned long)text;

	return probe_in_exclusive(start + i * AARCH64_INSN_SIZE, start,
				  start + nr * AARCH64_INSN_SIZE);
}

static void put(unsigned int i, u32 insn)
{
	text[i] = cpu_to_le32(insn);
}

static void put_nops(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(text); i++)
		put(i, NOP);
}

/* A load is at 10, a store at 14: if both are exclusives, 10 to 14 are refused, and no more. */
static void expect_region(struct kunit *test, u32 load, u32 store, bool expected)
{
	int i;

	put_nops();
	put(10, load);
	put(14, store);
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ_MSG(test, expected && i >= 10 && i <= 14, inside(i, 40),
				    "%08x, %08x: at %d", load, store, i);
}

static void test_exclusive(struct kunit *test)
{
	expect_region(test, LDXR, STXR, true);
	expect_region(test, LDXP, STXP, true);
	expect_region(test, LDXR | BIT(15), STXR | BIT(15), true);
	expect_region(test, LDXR & ~BIT(31), STXR & ~BIT(31), true);
	expect_region(test, LDTXR, STTXR, true);
	expect_region(test, LDAR, STLR, false);
	expect_region(test, LDAR & ~BIT(15), STLR & ~BIT(15), false);
	expect_region(test, LDAR, CAS, false);
	expect_region(test, CAS, STLR, false);
	expect_region(test, CASP, CASP, false);
	expect_region(test, CAS | BIT(22), CAS, false);
	expect_region(test, SWP, SWP, false);
}

/* The first exclusive that is found in either direction counts, if it is in the function. */
static void test_exclusive_neighbours(struct kunit *test)
{
	int i;

	/* ldxr, for an event; then a loop */
	put_nops();
	put(10, LDXR);
	put(14, LDXR);
	put(18, STXR);
	for (i = 0; i < 40; i++)
		KUNIT_EXPECT_EQ_MSG(test, i == 10 || (i >= 14 && i <= 18), inside(i, 40),
				    "at %d", i);

	/* a loop; then a store that has no load */
	put(10, NOP);
	put(20, STXR);
	KUNIT_EXPECT_FALSE(test, inside(19, 40));

	/* a clrex in between */
	put(16, CLREX);
	KUNIT_EXPECT_FALSE(test, inside(15, 40));
	KUNIT_EXPECT_FALSE(test, inside(17, 40));
	KUNIT_EXPECT_TRUE(test, inside(14, 40));

	/* ldar, stlr and cas do not end it */
	put(15, LDAR);
	put(16, STLR);
	put(17, CAS);
	for (i = 14; i <= 18; i++)
		KUNIT_EXPECT_TRUE_MSG(test, inside(i, 40), "at %d", i);

	/* the store is behind the end of the function */
	KUNIT_EXPECT_TRUE(test, inside(15, 19));
	KUNIT_EXPECT_FALSE(test, inside(15, 18));
}

static void test_exclusive_reach(struct kunit *test)
{
	put_nops();
	put(0, LDXR);
	put(64, STXR);
	KUNIT_EXPECT_TRUE(test, inside(32, 128));
	KUNIT_EXPECT_FALSE(test, inside(31, 128));
	KUNIT_EXPECT_FALSE(test, inside(33, 128));
	KUNIT_EXPECT_TRUE(test, inside(0, 128));
	KUNIT_EXPECT_TRUE(test, inside(64, 128));

	/* where nothing can be read */
	KUNIT_EXPECT_FALSE(test, probe_in_exclusive(-PAGE_SIZE, -PAGE_SIZE, -SZ_1K));
}

/* Real sequences */
asm("	.pushsection .text, \"ax\"\n"
"	.balign	4\n"
"probe_test_llsc:\n"
"	prfm	pstl1strm, [x0]\n"
"1:	ldxr	w1, [x0]\n"
"	add	w1, w1, #1\n"
"	cmp	w1, #100\n"
"	stlxr	w2, w1, [x0]\n"
"	cbnz	w2, 1b\n"
"	ret\n"
"probe_test_llsc_end:\n"
"probe_test_ordered:\n"
"	ldar	w1, [x0]\n"
"	add	w1, w1, #1\n"
"	stlr	w1, [x0]\n"
"	add	w1, w1, #1\n"
"	.inst	0x88a17c02\n"
"	ret\n"
"probe_test_ordered_end:\n"
"	.popsection\n"
);

static bool can_be_probed(unsigned long addr, unsigned long start, unsigned long end)
{
	const struct probe_class *class;
	u32 insn;

	if (aarch64_insn_read((void *)addr, &insn))
		return false;
	class = probe_classify(insn);
	return class && class->kprobe != PROBE_REJECT && !probe_in_exclusive(addr, start, end);
}

/* With control flow integrity the word before a function may be its type. */
static bool is_type(unsigned long at, unsigned long end)
{
	return IS_ENABLED(CONFIG_CFI_CLANG) && end - at == AARCH64_INSN_SIZE;
}

static int verdict_of(unsigned long at, unsigned long end, bool instruction_allows)
{
	return instruction_allows && !is_type(at, end) ? 0 : -EINVAL;
}

static void test_exclusive_loop(struct kunit *test)
{
	unsigned long start = (unsigned long)ADDRESS_OF(probe_test_llsc);
	unsigned long end = (unsigned long)ADDRESS_OF(probe_test_llsc_end);
	static const bool expected[] = { true, false, false, false, false, true, true };
	int i;

	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(expected) * AARCH64_INSN_SIZE, end - start);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		KUNIT_EXPECT_EQ_MSG(test, expected[i],
				    can_be_probed(start + i * AARCH64_INSN_SIZE, start, end),
				    "at %d", i);
		KUNIT_EXPECT_EQ_MSG(test,
				    verdict_of(start + i * AARCH64_INSN_SIZE, end, expected[i]),
				    kprobes_try(start + i * AARCH64_INSN_SIZE), "at %d", i);
	}

	start = (unsigned long)ADDRESS_OF(probe_test_ordered);
	end = (unsigned long)ADDRESS_OF(probe_test_ordered_end);
	for (i = 0; start + i * AARCH64_INSN_SIZE < end; i++) {
		KUNIT_EXPECT_TRUE_MSG(test,
				      can_be_probed(start + i * AARCH64_INSN_SIZE, start, end),
				      "at %d", i);
		KUNIT_EXPECT_EQ_MSG(test,
				    verdict_of(start + i * AARCH64_INSN_SIZE, end, true),
				    kprobes_try(start + i * AARCH64_INSN_SIZE), "at %d", i);
	}
}

static u32 word_at(const void *addr)
{
	return le32_to_cpup(addr);
}

/* The target of a branch, 0 if it is none */
static unsigned long branches_to(const kprobe_opcode_t *at)
{
	u32 insn = word_at(at);

	if (!aarch64_insn_is_branch_imm(insn))
		return 0;
	return (unsigned long)at + aarch64_get_branch_offset(insn);
}

/* What a hit runs: a copy that branches back, and one that leads to the tail. */
static void test_slot(struct kunit *test)
{
	unsigned long addr = (unsigned long)ADDRESS_OF(probe_test_ordered) + AARCH64_INSN_SIZE;
	struct kprobe probe = { .addr = (kprobe_opcode_t *)addr };
	unsigned long next = addr + AARCH64_INSN_SIZE;
	struct arch_specific_insn *ainsn;
	kprobe_opcode_t *slot;
	u32 original = word_at(probe.addr);

	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&probe));
	preempt_disable();
	ainsn = &get_kprobe(probe.addr)->ainsn;
	preempt_enable();
	slot = ainsn->insn;
	KUNIT_EXPECT_TRUE(test, ainsn->boosted && ainsn->detour);
	KUNIT_EXPECT_EQ(test, original, word_at(slot + SLOT_COPY));
	KUNIT_EXPECT_EQ(test, next, branches_to(slot + SLOT_COPY + 1));
	KUNIT_EXPECT_EQ(test, original, word_at(slot + SLOT_LAST));
	KUNIT_EXPECT_EQ(test, next, branches_to(slot + SLOT_NEXT_OUT + 2));
	KUNIT_EXPECT_NE(test, original, word_at((void *)addr));
	unregister_kprobe(&probe);
	KUNIT_EXPECT_EQ(test, original, word_at((void *)addr));
}

struct tally {
	struct kunit	*test;
	unsigned long	functions;
	unsigned long	padding;
	unsigned long	all;
	unsigned long	copied;
	unsigned long	stepped;
	unsigned long	simulated;
	unsigned long	refused;
	unsigned long	in_exclusive;
	unsigned long	unknown;
	unsigned long	*rows;
	unsigned long	slot;
};

/* Can a copy branch back by itself? Else it takes a second trap. */
static bool reaches(unsigned long slot, unsigned long at)
{
	const long reach = SZ_128M - PAGE_SIZE;
	long distance = at - slot;

	return distance > -reach && distance < reach;
}

static void count(struct tally *t, unsigned long at, unsigned long start, unsigned long end,
		  u32 insn)
{
	const struct probe_class *class = probe_classify(insn);

	t->all++;
	if (class)
		t->rows[class - probe_classes]++;
	else
		t->unknown++;

	if (!class || class->kprobe == PROBE_REJECT)
		t->refused++;
	else if (probe_in_exclusive(at, start, end))
		t->in_exclusive++;
	else if (class->kprobe == PROBE_COPY && !reaches(t->slot, at))
		t->stepped++;
	else if (class->kprobe == PROBE_COPY)
		t->copied++;
	else
		t->simulated++;
}

/* Padding between functions is all zeroes, a udf; nobody executes any udf #imm16. */
static bool is_padding(unsigned long at, unsigned long end, u32 insn)
{
	if (insn <= U16_MAX || is_type(at, end))
		return true;
	/* The pointer that ftrace keeps before a function */
	return IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) &&
	       end - at <= sizeof(u64) && ftrace_location(end);
}

static void look_at_function(void *data, unsigned long start, unsigned long end)
{
	struct tally *t = data;
	unsigned long at;
	u32 insn;

	for (t->functions++, at = start; at < end; at += AARCH64_INSN_SIZE) {
		KUNIT_ASSERT_EQ(t->test, 0, aarch64_insn_read((void *)at, &insn));
		if (is_padding(at, end, insn))
			t->padding++;
		else
			count(t, at, start, end, insn);
	}
}

static void print_share(struct kunit *test, struct tally *t, unsigned long n,
			const char *what, const char *why)
{
	unsigned long s = n * 100000 / max(t->all, 1UL);

	if (n)
		kunit_info(test, "%7lu %2lu.%03lu%% %s%s", n, s / 1000, s % 1000, what, why);
}

static void print_tally(struct kunit *test, struct tally *t)
{
	unsigned int i;

	print_share(test, t, t->copied, "run as a copy", "");
	print_share(test, t, t->stepped, "run as a copy with a BRK behind it", "");
	print_share(test, t, t->simulated, "simulated", "");
	print_share(test, t, t->refused + t->in_exclusive, "refused", "");
	print_share(test, t, t->in_exclusive, "refused: ", "Between exclusives");
	print_share(test, t, t->unknown, "refused: ", "Unallocated or unknown");
	for (i = 0; i < probe_nr_classes; i++) {
		if (probe_classes[i].kprobe == PROBE_REJECT)
			print_share(test, t, t->rows[i], "refused: ", probe_classes[i].name);
	}
}

/*
 * Is this a class of refused instructions whose number depends on the compiler: exclusive
 * accesses, or BRK and the like?
 */
static bool is_frequent(const char *name)
{
	/* Where a page table stands in for PAN, around each access to user memory */
	if (IS_ENABLED(CONFIG_ARM64_SW_TTBR0_PAN) && strstarts(name, "System register move: DAIF"))
		return true;
	return strstarts(name, "Load/store exclusive") || strstarts(name, "Exception generation");
}

static unsigned long refused_otherwise(struct tally *t)
{
	unsigned long n = t->refused;
	unsigned int i;

	for (i = 0; i < probe_nr_classes; i++) {
		const struct probe_class *class = &probe_classes[i];

		if (class->kprobe == PROBE_REJECT && is_frequent(class->name))
			n -= t->rows[i];
	}
	return n;
}

/* Only one function in so many is looked at, to save time. */
#define WALK_STRIDE	5

static void test_text(struct kunit *test)
{
	kprobe_opcode_t *slot = get_insn_slot();
	struct tally t = { .test = test, .slot = (unsigned long)slot };
	unsigned int n;

	KUNIT_ASSERT_NOT_NULL(test, slot);
	free_insn_slot(slot, 0);
	t.rows = kunit_kcalloc(test, probe_nr_classes, sizeof(*t.rows), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t.rows);
	n = kprobes_walk_text(WALK_STRIDE, look_at_function, &t);

	kunit_info(test, "%lu of %u functions: %lu instructions, %lu of padding",
		   t.functions, n, t.all, t.padding);
	print_tally(test, &t);
	KUNIT_EXPECT_GT(test, n, 0);
	KUNIT_EXPECT_GT(test, t.copied, 0);
	KUNIT_EXPECT_GT(test, t.simulated, 0);
	KUNIT_EXPECT_LE(test, refused_otherwise(&t) * 1000, t.all * 2);
	KUNIT_EXPECT_LT(test, refused_otherwise(&t), t.refused);
	/* With a post handler, copied and simulated instructions take one trap. */
	KUNIT_EXPECT_GE(test, (t.copied + t.simulated) * 100,
			(t.copied + t.simulated + t.stepped) * 97);
}

static struct kunit_case decode_cases[] = {
	KUNIT_CASE(test_table),
	KUNIT_CASE(test_samples),
	KUNIT_CASE(test_unknown),
	KUNIT_CASE(test_daif),
	KUNIT_CASE(test_hints),
	KUNIT_CASE(test_uprobes),
	KUNIT_CASE(test_exclusive),
	KUNIT_CASE(test_exclusive_neighbours),
	KUNIT_CASE(test_exclusive_reach),
	KUNIT_CASE(test_exclusive_loop),
	KUNIT_CASE(test_slot),
	KUNIT_CASE(test_text),
	{ }
};

static struct kunit_suite decode_suite = {
	.name		= "kprobes_arm64_decode",
	.test_cases	= decode_cases,
};

kunit_test_suite(decode_suite);
