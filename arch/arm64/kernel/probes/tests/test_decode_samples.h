/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TEST_DECODE_SAMPLES_H
#define __ARM64_KERNEL_PROBES_TEST_DECODE_SAMPLES_H
/*
 * Instructions, sorted by what test_decode.c expects the decoder to say of them. Behind
 * each is its text, that of the assembler or that of the manual's index of encodings.
 */
#include <linux/types.h>

#include "../decode-insn.h"

/**
 * struct samples - instructions of which the decoder is to say the same
 * @kprobe:	what it is to say to kprobes
 * @uprobe:	what it is to say to uprobes
 * @class:	among the name of their row; NULL if one of the two does not reject them
 * @list:	the instructions, up to NULL
 */
struct samples {
	enum probe_action	kprobe;
	enum probe_action	uprobe;
	const char		*class;
	const char * const	*list;
};

#define SAMPLES(kprobe, uprobe, class, ...)						\
	{ PROBE_##kprobe, PROBE_##uprobe, class, (const char * const []) { __VA_ARGS__, NULL } }

#define REJECTED(class, ...)	SAMPLES(REJECT, REJECT, class, __VA_ARGS__)

static const struct samples known[] = {
	SAMPLES(SIMULATE, SIMULATE, NULL,
		"14000002 b .+8", "16000000 b .-0x8000000", "94000002 bl .+8",
		"34000040 cbz w0, .+8", "b5ffffde cbnz x30, .-8", "36f80040 tbz w0, #31, .+8",
		"b7ffffc0 tbnz x0, #63, .-8", "54000040 b.eq .+8", "54ffffce b.al .-8",
		"54000050 bc.eq .+8", "d61f0000 br x0", "d61f0200 br x16", "d63f03c0 blr x30",
		"d65f03c0 ret", "d65f00a0 ret x5", "30000000 adr x0, .+1", "70ffffff adr xzr, .-1",
		"90000000 adrp x0, ."),
	SAMPLES(SIMULATE, REJECT, NULL,
		"18000040 ldr w0, .+8", "58ffffde ldr x30, .-8", "5800003f ldr xzr, .+4",
		"98000040 ldrsw x0, .+8", "d8000040 prfm pldl1keep, .+8"),
	SAMPLES(COPY, COPY, NULL,
		/* Hints: test_hints() tries them all */
		"d503201f nop", "d503249f bti j", "d503243f hint #33", "d50324bf hint #37",
		"d503251f hint #40", "d503261f hint #48", "d5032fff hint #127", "d5031000 wfet x0",
		"d5031020 wfit x0",
		/* Barriers */
		"d5033bbf dmb ish", "d50331bf dmb oshld", "d5033f9f dsb sy", "d503369f dsb nshst",
		"d503309f ssbb", "d5033fdf isb", "d50330ff sb", "d5033e3f dsb synxs",
		/* PSTATE */
		"d500401f cfinv", "d500403f xaflag", "d500405f axflag", "d503413f msr ssbs, #1",
		"d503415f msr dit, #1", "d503419f msr tco, #1", "d503477f smstart",
		"d503447f smstop za", "d503437f smstart sm",
		/* Caches, translation */
		"d508711f ic ialluis", "d508751f ic iallu", "d50b7520 ic ivau, x0",
		"d50b7380 cfp rctx, x0", "d50b7420 dc zva, x0", "d5087620 dc ivac, x0",
		"d5087640 dc isw, x0", "d50b7a20 dc cvac, x0", "d50b7b20 dc cvau, x0",
		"d50b7e20 dc civac, x0", "d5087800 at s1e1r, x0", "d508831f tlbi vmalle1is",
		"d5088720 tlbi vae1, x0",
		/* System registers */
		"d53b4200 mrs x0, nzcv", "d51b4200 msr nzcv, x0", "d53b4240 mrs x0, svcr",
		"d53b42a0 mrs x0, dit", "d51b42c0 msr ssbs, x0", "d51b42e0 msr tco, x0",
		"d53b4400 mrs x0, fpcr", "d51b4420 msr fpsr, x0", "d53b4440 mrs x0, fpmr",
		"d5380000 mrs x0, midr_el1", "d5381000 mrs x0, sctlr_el1",
		"d5382000 mrs x0, ttbr0_el1", "d53b2400 mrs x0, rndr",
		"d5385300 mrs x0, erridr_el1", "d5385600 mrs x0, tfsr_el1",
		"d5387400 mrs x0, par_el1", "d53b9d00 mrs x0, pmccntr_el0",
		"d538a200 mrs x0, mair_el1", "d538c000 mrs x0, vbar_el1",
		"d538d080 mrs x0, tpidr_el1", "d53be040 mrs x0, cntvct_el0",
		"d51bd040 msr tpidr_el0, x0", "d51bd060 msr tpidrro_el0, x0",
		"d51bd0a0 msr tpidr2_el0, x0", "d51b9c00 msr pmcr_el0, x0",
		"d51be320 msr cntv_ctl_el0, x0",
		/* Immediates */
		"91000420 add x0, x1, #1", "717ffc20 subs w0, w1, #4095, lsl #12",
		"910003fd mov x29, sp", "91810420 addg x0, x1, #16, #1",
		"d1810420 subg x0, x1, #16, #1", "91c3fc20 smax x0, x1, #-1",
		"11cffc20 umin w0, w1, #255", "92401c20 and x0, x1, #0xff",
		"32000020 orr w0, w1, #1", "92800020 mov x0, #-2", "d2800020 mov x0, #1",
		"f2e00020 movk x0, #1, lsl #48", "12800020 mov w0, #-2",
		"72a00020 movk w0, #1, lsl #16", "93407c20 sxtw x0, w1",
		"b37f0420 bfi x0, x1, #1, #2", "d37df020 lsl x0, x1, #3", "13037c20 asr w0, w1, #3",
		"53010820 ubfx w0, w1, #1, #2", "93c10c20 ror x0, x1, #3",
		"13820c20 extr w0, w1, w2, #3",
		/* Registers */
		"9ac20820 udiv x0, x1, x2", "1ac20c20 sdiv w0, w1, w2", "9ac22020 lsl x0, x1, x2",
		"1ac22c20 ror w0, w1, w2", "1ac24020 crc32b w0, w1, w2",
		"1ac25420 crc32ch w0, w1, w2", "1ac24820 crc32w w0, w1, w2",
		"9ac25c20 crc32cx w0, w1, x2", "9ac26420 umax x0, x1, x2",
		"9ac20020 subp x0, x1, x2", "bac20020 subps x0, x1, x2", "9adf1020 irg x0, x1",
		"9ac21420 gmi x0, x1, x2", "9ac23020 pacga x0, x1, x2", "dac00020 rbit x0, x1",
		"5ac00420 rev16 w0, w1", "5ac00820 rev w0, w1", "dac00820 rev32 x0, x1",
		"dac00c20 rev x0, x1", "dac01020 clz x0, x1", "5ac01420 cls w0, w1",
		"dac01820 ctz x0, x1", "dac02020 abs x0, x1", "dac10020 pacia x0, x1",
		"dac11fe0 autdb x0, sp", "dac123e0 paciza x0", "dac13fe0 autdzb x0",
		"dac143e0 xpaci x0", "dac147e0 xpacd x0", "aa0103e0 mov x0, x1",
		"ca62fc20 eon x0, x1, x2, lsr #63", "6ae27c20 bics w0, w1, w2, ror #31",
		"8b42fc20 add x0, x1, x2, lsr #63", "eb81041f cmp x0, x1, asr #1",
		"6b020020 subs w0, w1, w2", "4b817fe0 neg w0, w1, asr #31",
		"8b224c20 add x0, x1, w2, uxtw #3", "8b2073ff add sp, sp, x0, lsl #4",
		"9a020020 adc x0, x1, x2", "7a020020 sbcs w0, w1, w2", "9a022020 addpt x0, x1, x2",
		"da023c20 subpt x0, x1, x2, lsl #7", "ba008402 rmif x0, #1, #2",
		"3a00080d setf8 w0", "3a00480d setf16 w0", "fa410000 ccmp x0, x1, #0, eq",
		"3a5f180f ccmn w0, #31, #15, ne", "9a820020 csel x0, x1, x2, eq",
		"5a82b420 csneg w0, w1, w2, lt", "9b020c20 madd x0, x1, x2, x3",
		"1b028c20 msub w0, w1, w2, w3", "9b220c20 smaddl x0, w1, w2, x3",
		"9ba28c20 umsubl x0, w1, w2, x3", "9b427c20 smulh x0, x1, x2",
		"9bc27c20 umulh x0, x1, x2", "9b620c20 maddpt x0, x1, x2, x3",
		/* Advanced SIMD and floating-point */
		"4ea28420 add v0.4s, v1.4s, v2.4s", "6f00e400 movi v0.2d, #0",
		"4e284820 aese v0.16b, v1.16b", "0ee2e020 pmull v0.1q, v1.1d, v2.1d",
		"5ee28420 add d0, d1, d2", "5e282820 sha256su0 v0.4s, v1.4s",
		"5e020020 sha1c q0, s1, v2.4s", "1e622820 fadd d0, d1, d2", "9e660020 fmov x0, d1",
		"1f020c20 fmadd s0, s1, s2, s3", "1e620c20 fcsel d0, d1, d2, eq",
		"9e620020 scvtf d0, x1", "ce020c20 eor3 v0.16b, v1.16b, v2.16b, v3.16b",
		"ce628020 sha512h q0, q1, v2.2d", "cec08420 sm4e v0.4s, v1.4s",
		"5e180420 mov d0, v1.d[1]", "5e421c20 fmulx h0, h1, h2", "5ef9d820 frecpe h0, h1",
		"7e828420 sqrdmlah s0, s1, s2", "5ef1b820 addp d0, v1.2d",
		"5e629020 sqdmlal s0, h1, h2", "5f435420 shl d0, d1, #3",
		"5fc29820 fmul d0, d1, v2.d[1]", "4e020020 tbl v0.16b, { v1.16b }, v2.16b",
		"4e823820 zip1 v0.4s, v1.4s, v2.4s", "6e021820 ext v0.16b, v1.16b, v2.16b, #3",
		"4e040c20 dup v0.4s, w1", "4e421420 fadd v0.8h, v1.8h, v2.8h",
		"4ef8f820 fabs v0.8h, v1.8h", "4e829420 sdot v0.4s, v1.16b, v2.16b",
		"4eb1b820 addv s0, v1.4s", "2fa22020 umlal v0.2d, v1.2s, v2.s[1]",
		"ce429020 sm3tt1a v0.4s, v1.4s, v2.s[1]", "ce820c20 xar v0.2d, v1.2d, v2.2d, #3",
		"9e58f420 fcvtzs x0, d1, #3", "1e61c020 fsqrt d0, d1", "1e612000 fcmp d0, d1",
		"1e6e1000 fmov d0, #1.0", "1e610400 fccmp d0, d1, #0, eq",
		/* Ordered, atomic */
		"c8dffc20 ldar x0, [x1]", "08dffc20 ldarb w0, [x1]", "889ffc20 stlr w0, [x1]",
		"489ffc20 stlrh w0, [x1]", "c8df7c20 ldlar x0, [x1]", "c89f7c20 stllr x0, [x1]",
		"88a07c41 cas w0, w1, [x2]", "c8e0fc41 casal x0, x1, [x2]",
		"08a0fc41 caslb w0, w1, [x2]", "48207c82 casp x0, x1, x2, x3, [x4]",
		"0860fc82 caspal w0, w1, w2, w3, [x4]", "f8200041 ldadd x0, x1, [x2]",
		"38e06041 ldumaxalb w0, w1, [x2]", "b820103f stclr w0, [x1]",
		"b8208041 swp w0, w1, [x2]", "f8e08041 swpal x0, x1, [x2]",
		"f8bfc020 ldapr x0, [x1]", "38bfc020 ldaprb w0, [x1]", "f83fd100 ld64b x0, [x8]",
		"f83f9100 st64b x0, [x8]", "f821b100 st64bv x1, x0, [x8]",
		"f821a100 st64bv0 x1, x0, [x8]", "19221161 ldclrp x1, x2, [x11]",
		"19e23161 ldsetpal x1, x2, [x11]", "19a28161 swppa x1, x2, [x11]",
		"195ff020 ldapurb w0, [x1, #-1]", "59801020 ldapursh x0, [x1, #1]",
		"d9400020 ldapur x0, [x1]", "990ff020 stlur w0, [x1, #255]",
		"99800020 ldapursw x0, [x1]", "1d1ff9e3 stlur b3, [x15, #-1]",
		"dd5f79e3 ldapur d3, [x15, #-9]", "1dc0abe3 ldapur q3, [sp, #10]",
		"998009e3 stlr w3, [x15, #-4]!", "d9c009e3 ldapr x3, [x15], #8",
		"99000a18 stilp w24, w0, [x16, #-8]!", "d9471aff ldiapp xzr, x7, [x23]",
		/* Tags */
		"d9201420 stg x0, [x1], #16", "d9a01c20 st2g x0, [x1, #16]!",
		"d9601820 stzg x0, [x1, #16]", "d9600020 ldg x0, [x1]",
		/* Structures */
		"4c407000 ld1 { v0.16b }, [x0]", "4c402000 ld1 { v0.16b - v3.16b }, [x0]",
		"4c008800 st2 { v0.4s, v1.4s }, [x0]", "4c404800 ld3 { v0.4s - v2.4s }, [x0]",
		"4c400000 ld4 { v0.16b - v3.16b }, [x0]", "4c9f7000 st1 { v0.16b }, [x0], #16",
		"4c81a000 st1 { v0.16b, v1.16b }, [x0], x1",
		"4cdf0000 ld4 { v0.16b - v3.16b }, [x0], #64", "0d400400 ld1 { v0.b }[1], [x0]",
		"0d204800 st2 { v0.h, v1.h }[1], [x0]", "0d40b000 ld3 { v0.s - v2.s }[1], [x0]",
		"4d20a400 st4 { v0.d - v3.d }[1], [x0]", "4d40c800 ld1r { v0.4s }, [x0]",
		"0d0185e3 stl1 { v3.d }[0], [x15]", "4d4185e3 ldap1 { v3.d }[1], [x15]",
		"0ddf0400 ld1 { v0.b }[1], [x0], #1", "0de14800 ld2 { v0.h, v1.h }[1], [x0], x1",
		"0d9fb000 st3 { v0.s, v1.s, v2.s }[1], [x0], #12",
		"4d818400 st1 { v0.d }[1], [x0], x1", "4de1e800 ld4r { v0.4s - v3.4s }, [x0], x1",
		/* Pairs */
		"a8400440 ldnp x0, x1, [x2]", "28000440 stnp w0, w1, [x2]",
		"2c400400 ldnp s0, s1, [x0]", "ac000400 stnp q0, q1, [x0]",
		"a8c17bfd ldp x29, x30, [sp], #16", "28810440 stp w0, w1, [x2], #8",
		"68c10440 ldpsw x0, x1, [x2], #8", "68808440 stgp x0, x1, [x2], #16",
		"6cc10400 ldp d0, d1, [x0], #16", "ac810400 stp q0, q1, [x0], #32",
		"a9bf7bfd stp x29, x30, [sp, #-16]!", "29410440 ldp w0, w1, [x2, #8]",
		"69410440 ldpsw x0, x1, [x2, #8]", "69808440 stgp x0, x1, [x2, #16]!",
		"2d010400 stp s0, s1, [x0, #8]", "adc10400 ldp q0, q1, [x0, #32]!",
		/* Single registers */
		"385ff020 ldurb w0, [x1, #-1]", "781ff020 sturh w0, [x1, #-1]",
		"f85f8020 ldur x0, [x1, #-8]", "b81fc020 stur w0, [x1, #-4]",
		"b89fc020 ldursw x0, [x1, #-4]", "f89f8000 prfum pldl1keep, [x0, #-8]",
		"fc5f8000 ldur d0, [x0, #-8]", "3c9f0000 stur q0, [x0, #-16]",
		"38401420 ldrb w0, [x1], #1", "78002c20 strh w0, [x1, #2]!",
		"f8408420 ldr x0, [x1], #8", "b81fcc20 str w0, [x1, #-4]!",
		"b8804420 ldrsw x0, [x1], #4", "bc404400 ldr s0, [x0], #4",
		"3c810c00 str q0, [x0, #16]!", "38400820 ldtrb w0, [x1]", "78000820 sttrh w0, [x1]",
		"f8400820 ldtr x0, [x1]", "b8000820 sttr w0, [x1]", "b8800820 ldtrsw x0, [x1]",
		"38626820 ldrb w0, [x1, x2]", "7822d820 strh w0, [x1, w2, sxtw #1]",
		"f8627820 ldr x0, [x1, x2, lsl #3]", "b8226820 str w0, [x1, x2]",
		"b8a27820 ldrsw x0, [x1, x2, lsl #2]", "f8a16800 prfm pldl1keep, [x0, x1]",
		"7c616800 ldr h0, [x0, x1]", "3ca16800 str q0, [x0, x1]", "39800020 ldrsb x0, [x1]",
		"79000420 strh w0, [x1, #2]", "f9400420 ldr x0, [x1, #8]",
		"b9000fff str wzr, [sp, #12]", "b9800420 ldrsw x0, [x1, #4]",
		"f9800011 prfm pstl1strm, [x0]", "fd400000 ldr d0, [x0]", "3d800000 str q0, [x0]",
		"f8200420 ldraa x0, [x1]", "f8a01c20 ldrab x0, [x1, #8]!"),
	SAMPLES(COPY, REJECT, NULL,
		"d500407f msr uao, #0", "d500419f msr pan, #1", "d501401f msr allint, #0",
		"d50343df msr daifset, #3", "d50347df msr daifset, #7", "d50342ff msr daifclr, #2",
		"d5384100 mrs x0, sp_el0", "d5384260 mrs x0, pan", "d5184260 msr pan, x0",
		"d5184280 msr uao, x0", "d5184300 msr allint, x0", "d5184600 msr S3_0_C4_C6_0, x0",
		"d5384600 mrs x0, S3_0_C4_C6_0", "d5384240 mrs x0, currentel",
		"d53b4220 mrs x0, daif", "d5384200 mrs x0, spsel",
		"d5189e20 msr pmintenset_el1, x0", "d5189e40 msr pmintenclr_el1, x0",
		"d518e100 msr cntkctl_el1, x0", "d518d020 msr contextidr_el1, x0",
		"d5181040 msr cpacr_el1, x0", "d5181200 msr zcr_el1, x0",
		"d5182140 msr apibkeylo_el1, x0", "d5182220 msr apdakeyhi_el1, x0",
		"d5182300 msr apgakeylo_el1, x0", "d5185600 msr tfsr_el1, x0",
		"d518cc20 msr S3_0_C12_C12_1, x0", "d9200020 stzgm x0, [x1]",
		"d9a00020 stgm x0, [x1]", "d9e00020 ldgm x0, [x1]"),
	SAMPLES(REJECT, COPY, NULL,
		"d5033f5f clrex", "2518e3e0 ptrue p0.b", "a400a000 ld1b { z0.b }, p0/z, [x0]",
		"45428020 saddlbt z0.h, z1.b, z2.b", "05203800 mov z0.b, w0",
		"04000020 add z0.b, p0/m, z0.b, z1.b", "04024020 mla z0.b, p0/m, z1.b, z2.b",
		"0401c040 mad z0.b, p0/m, z1.b, z2.b", "04016020 mls z0.b, p0/m, z1.b, z1.b",
		"0416a020 abs z0.b, p0/m, z1.b", "04002020 saddv d0, p0, z1.b",
		"04082020 smaxv b0, p0, z1.b", "04182020 orv b0, p0, z1.b",
		"04220020 add z0.b, z1.b, z2.b", "04bf5020 rdvl x0, #1", "0420e3e0 cntb x0",
		"042f9420 lsr z0.b, z1.b, #1", "04a2a020 adr z0.s, [z1.s, z2.s]",
		"0462b020 ftssel z0.h, z1.h, z2.h", "0460b820 fexpa z0.h, z1.h",
		"c0900000 addha za0.s, p0/m, p0/m, z0.s"),
	/* Prefixes */
	REJECTED("MOVPRFX", "0420bc20 movprfx z0, z1", "04112020 movprfx z0.b, p0/m, z1.b",
		"04d02020 movprfx z0.d, p0/z, z1.d"),
	/* Literals of SIMD&FP */
	REJECTED("(literal): SIMD", "1c000040 ldr s0, .+8", "5c000040 ldr d0, .+8",
		"9c000040 ldr q0, .+8"),
	/* Branches that are not plain */
	REJECTED("Compare and branch", "74052005 cbgt w5, w5, .-1024",
		"f4221fe2 cbge x2, x2, .+1020", "7405e005 cbhgt w5, w5, .-1024",
		"7405a005 cbbgt w5, w5, .-1024", "f5002005 cbgt x5, #0, .-1024"),
	REJECTED("RETA*SPPC", "55000dbf retaasppc .-436", "5520001f retabsppc ."),
	REJECTED("authenticated", "d65f0be2 retaasppc x2", "d65f0fe3 retabsppc x3",
		"d65f0bff retaa", "d65f0fff retab", "d71f0801 braa x0, x1", "d61f081f braaz x0",
		"d71f0c01 brab x0, x1", "d61f0c1f brabz x0", "d73f0801 blraa x0, x1",
		"d63f081f blraaz x0", "d73f0c1f blrab x0, sp", "d63f0c1f blrabz x0",
		"d69f0bff eretaa", "d69f0fff eretab"),
	REJECTED("ERET, DRPS", "d69f03e0 eret", "d6bf03e0 drps"),
	/* Exceptions */
	REJECTED("UDF", "00000000 udf #0", "0000ffff udf #0xffff"),
	REJECTED("Exception generation", "d4000001 svc #0", "d4000002 hvc #0", "d4000003 smc #0",
		"d4200080 brk #4", "d4210000 brk #0x800", "d4400000 hlt #0", "d4a00001 dcps1",
		"d4600000 tcancel #0"),
	/* Hints and barriers */
	REJECTED("PACM", "d50324ff pacm"),
	REJECTED("TCOMMIT", "d503307f tcommit"),
	REJECTED("TSTART, TTEST", "d5233060 tstart x0", "d5233160 ttest x0"),
	/* PSTATE */
	REJECTED("PSTATE: SPSel", "d50041bf msr spsel, #1"),
	REJECTED("DAIFClr of D", "d50348df msr daifset, #8", "d5034fdf msr daifset, #15",
		"d50348ff msr daifclr, #8", "d5034dff msr daifclr, #13"),
	/* Guarded control stack */
	REJECTED("GCS", "d50b7719 gcspushm x25", "d50b7755 gcsss1 x21", "d508779f gcspushx"),
	REJECTED("SYSL", "d52b7739 gcspopm x25", "d528f000 sysl x0, #0, c15, c0, #0"),
	REJECTED("guarded control stack", "d91f0f7a gcsstr x26, [x27]",
		"d91f1f7a gcssttr x26, [x27]"),
	/* System registers */
	REJECTED("debug", "d5300240 mrs x0, mdscr_el1", "d5100240 msr mdscr_el1, x0",
		"d5101080 msr oslar_el1, x0", "d5300080 mrs x0, dbgbvr0_el1",
		"d5330100 mrs x0, mdccsr_el0", "d53b4500 mrs x0, dspsr_el0",
		"d51b4520 msr dlr_el0, x0"),
	REJECTED("MSR of DAIF", "d51b4220 msr daif, x0"),
	REJECTED("SPSR, ELR", "d5384000 mrs x0, spsr_el1", "d5184000 msr spsr_el1, x0",
		"d5384020 mrs x0, elr_el1", "d5184020 msr elr_el1, x0", "d53c4020 mrs x0, elr_el2",
		"d53d4000 mrs x0, spsr_el12"),
	REJECTED("MSR of SPSel", "d5184200 msr spsel, x0"),
	REJECTED("ESR", "d5385200 mrs x0, esr_el1", "d5385100 mrs x0, afsr0_el1",
		"d5185200 msr esr_el1, x0"),
	REJECTED("FAR", "d5386000 mrs x0, far_el1", "d53c6080 mrs x0, hpfar_el2",
		"d5186000 msr far_el1, x0"),
	REJECTED("SP_EL0", "d5184100 msr sp_el0, x0"),
	REJECTED("TPIDR_EL1", "d518d080 msr tpidr_el1, x0"),
	REJECTED("TPIDR_EL2", "d51cd040 msr tpidr_el2, x0"),
	REJECTED("TTBR0_EL1", "d5182000 msr ttbr0_el1, x0"),
	REJECTED("TTBR1_EL1", "d5182020 msr ttbr1_el1, x0"),
	REJECTED("key IA", "d5182100 msr apiakeylo_el1, x0", "d5182120 msr apiakeyhi_el1, x0"),
	/* Signed, or checked, with the PC */
	REJECTED("AUTI*SPPC", "f380009f autiasppc .-16", "f3bfffff autibsppc .-262140"),
	REJECTED("PC as modifier", "dac1901e autiasppc x0", "dac1943e autibsppc x1",
		"dac1a3fe paciasppc", "dac1a7fe pacibsppc", "dac183fe pacnbiasppc",
		"dac187fe pacnbibsppc"),
	/* Exclusives */
	REJECTED("exclusive register", "885f7c20 ldxr w0, [x1]", "085f7c20 ldxrb w0, [x1]",
		"485ffc20 ldaxrh w0, [x1]", "c85ffc20 ldaxr x0, [x1]", "c8007c41 stxr w0, x1, [x2]",
		"08007c41 stxrb w0, w1, [x2]", "c800fc41 stlxr w0, x1, [x2]"),
	REJECTED("exclusive pair", "c87f0440 ldxp x0, x1, [x2]", "887f8440 ldaxp w0, w1, [x2]",
		"c8200861 stxp w0, x1, x2, [x3]", "88208861 stlxp w0, w1, w2, [x3]"),
	REJECTED("(unprivileged)", "c95f7d6a ldtxr x10, [x11]", "c95ffd6a ldatxr x10, [x11]",
		"c9057ce6 sttxr w5, x6, [x7]", "8902ffe4 stltxr w2, w4, [sp]"),
	/* Copies and sets in three parts */
	REJECTED("Memory Copy", "19010440 cpyfp [x0]!, [x1]!, x2!",
		"19410440 cpyfm [x0]!, [x1]!, x2!", "19810440 cpyfe [x0]!, [x1]!, x2!",
		"1d010440 cpyp [x0]!, [x1]!, x2!", "1d410440 cpym [x0]!, [x1]!, x2!",
		"1d810440 cpye [x0]!, [x1]!, x2!", "1981d440 cpyfewtn [x0]!, [x1]!, x2!",
		"19c20420 setp [x0]!, x1!, x2", "19c24420 setm [x0]!, x1!, x2",
		"19c28420 sete [x0]!, x1!, x2", "1dc20420 setgp [x0]!, x1!, x2"),
};

/* In no row: registers that must not be written, or encodings that are new or unallocated */
static const char * const unknown[] = {
	"d5181000 msr sctlr_el1, x0", "d518c000 msr vbar_el1, x0", "d5182040 msr tcr_el1, x0",
	"d518a200 msr mair_el1, x0", "d51c4100 msr sp_el1, x0", "d518f000 msr S3_0_C15_C0_0, x0",
	"d538b000 mrs x0, S3_0_C11_C0_0", "d538f000 mrs x0, S3_0_C15_C0_0",
	"d508f000 sys #0, c15, c0, #0, x0", "d508b000 sys #0, c11, c0, #0, x0",
	"d501421f msr pm, #0", "d5487d00 sysp #0, c7, c13, #0, x0, x1",
	"d5700000 mrrs x0, x1, S2_0_C0_C0_0", "c9807c41 cast x0, x1, [x2]",
	"49807c82 caspt x0, x1, x2, x3, [x4]", "192784bf swpt w7, wzr, [x5]",
	"192704bf ldtadd w7, wzr, [x5]", "e95ff455 ldtp x21, x29, [x2, #504]",
	"19200881 rcwcas x0, x1, [x4]", "38209081 rcwclr x0, x1, [x4]",
	"1ac00000 in Data-processing (2 source)", "5ac0fc00 in Data-processing (1 source)",
	"72c00000 in Move wide (immediate)", "13400000 in Bitfield",
	"0bc00000 in Add/subtract (shifted register)",
	"b8c00000 in Load/store register (unscaled immediate)",
	"f8c00c00 in Load/store register (immediate pre-indexed)",
	"0d404400 in Advanced SIMD load/store single structure: 16 bits",
	"0d408800 in Advanced SIMD load/store single structure: 32 bits",
	"0ddf8c00 in Advanced SIMD load/store single structure (post-indexed)",
	"9b420020 in Data-processing (3 source): smulh with an addend", "0e028020 in Advanced SIMD",
	"5e008020 in Advanced SIMD scalar", "3e622820 in Floating-point: fadd that sets flags",
	"cec18420 in Cryptographic", "d5182340 msr S3_0_C2_C3_2, x0: no key",
	"00010000 in Reserved", "ffffffff all ones",
};

#endif /* __ARM64_KERNEL_PROBES_TEST_DECODE_SAMPLES_H */
