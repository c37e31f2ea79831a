// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which instructions can be probed, and how they are executed.
 *
 * One table for kprobes and uprobes lists instructions that have the same effect at any address and
 * between any others, and so can be copied; those that have to be simulated instead; and those that
 * allow neither, so that they have a name when they are refused. Instructions that are not listed
 * cannot be probed, be they unallocated or too new.
 *
 * A kprobe's copy runs with the PSTATE of the probed code, interrupts and preemption included.
 * The only difference is what the breakpoint's exception has changed before it. So an
 * instruction is not copied if it
 *
 * - depends on its address, or on its neighbours (an exception clears the monitor of exclusives;
 *   MOVPRFX and MOPS come in groups);
 * - reads what that exception has left behind (ESR, ELR, SPSR, FAR);
 * - changes how exceptions are taken or debugged, so that the next breakpoint may be missed, or
 *   not be handled;
 * - writes a system register that a hit depends on, or changes. Handlers run before the copy, and
 *   an interrupt or another task may run on either side of it, where the register is not yet what
 *   the probed code wants it to be, or is already; or in the middle of two writes that belong
 *   together. All of these must do without it, and leave it alone. Only what is a part of PSTATE,
 *   or stored with the task before it is written, is as it was when they are through.
 *
 * A uprobe's copy is stepped by the debug hardware, at EL0.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "decode-insn.h"

#define ROW(n, m, v, k, u, f) \
	{ .name = n, .mask = m, .value = v, .kprobe = k, .uprobe = u, .simulate = f }

#define COPY(n, m, v)		ROW(n, m, v, PROBE_COPY, PROBE_COPY, NULL)
#define KERNEL_COPY(n, m, v)	ROW(n, m, v, PROBE_COPY, PROBE_REJECT, NULL)
#define USER_COPY(n, m, v)	ROW(n, m, v, PROBE_REJECT, PROBE_COPY, NULL)
#define REJECT(n, m, v)		ROW(n, m, v, PROBE_REJECT, PROBE_REJECT, NULL)
#define SIMULATE(n, m, v, f)	ROW(n, m, v, PROBE_SIMULATE, PROBE_SIMULATE, probe_simulate_##f)
#define KERNEL_SIMULATE(n, m, v, f) ROW(n, m, v, PROBE_SIMULATE, PROBE_REJECT, probe_simulate_##f)

#define MSR_TTBR		0xd5182000

/* The first row counts that an instruction is in: an exception is in front of its rule. */
const struct probe_class probe_classes[] = {
	/* Branches that can be simulated */
	SIMULATE("Unconditional branch (immediate)", 0x7c000000, 0x14000000, branch),
	SIMULATE("Compare and branch (immediate)", 0x7e000000, 0x34000000, compare_branch),
	SIMULATE("Test and branch (immediate)", 0x7e000000, 0x36000000, test_branch),
	SIMULATE("Conditional branch (immediate)", 0xff000000, 0x54000000, cond_branch),
	SIMULATE("Unconditional branch (register): BR, BLR", 0xffdffc1f, 0xd61f0000, branch_reg),
	SIMULATE("Unconditional branch (register): RET", 0xfffffc1f, 0xd65f0000, branch_reg),

	/* Relative to the instruction's address */
	SIMULATE("PC-rel. addressing: ADR, ADRP", 0x1f000000, 0x10000000, adr),
	KERNEL_SIMULATE("Load register (literal)", 0x3f000000, 0x18000000, load_literal),
	REJECT("Load register (literal): SIMD&FP", 0x3f000000, 0x1c000000),

	/* Other branches: compare and branch, authenticated, exception return */
	REJECT("Compare and branch (CB<cc>)", 0x7e000000, 0x74000000),
	REJECT("Miscellaneous branch (immediate): RETA*SPPC", 0xff000000, 0x55000000),
	REJECT("Unconditional branch (register): authenticated", 0xfe000800, 0xd6000800),
	REJECT("Unconditional branch (register): ERET, DRPS", 0xffc00800, 0xd6800000),

	/* Exceptions */
	REJECT("Reserved: UDF", 0xffff0000, 0x00000000),
	REJECT("Exception generation", 0xff000000, 0xd4000000),

	/*
	 * Hints. All can be copied, even unallocated ones, which do nothing. The exception is
	 * PACM, which makes the next PACIASP depend on its address.
	 */
	COPY("System instructions with register argument: WFET, WFIT", 0xffffffc0, 0xd5031000),
	REJECT("Hints: PACM", 0xffffffff, 0xd50324ff),
	COPY("Hints", 0xfffff01f, 0xd503201f),

	/* Barriers */
	COPY("Barriers: DSB, DMB", 0xfffff0df, 0xd503309f),
	COPY("Barriers: ISB", 0xfffff0ff, 0xd50330df),
	COPY("Barriers: SB", 0xffffffff, 0xd50330ff),
	COPY("Barriers: DSB nXS", 0xfffff3ff, 0xd503323f),
	USER_COPY("Barriers: CLREX", 0xfffff0ff, 0xd503305f),
	REJECT("Barriers: TCOMMIT", 0xfffff0ff, 0xd503307f),
	REJECT("System with result: TSTART, TTEST", 0xfff80000, 0xd5200000),

	/* PSTATE; the D bit of DAIF masks debug exceptions */
	COPY("PSTATE: CFINV, XAFLAG", 0xffffffdf, 0xd500401f),
	COPY("PSTATE: AXFLAG", 0xffffffff, 0xd500405f),
	KERNEL_COPY("PSTATE: UAO", 0xfffff0ff, 0xd500407f),
	KERNEL_COPY("PSTATE: PAN", 0xfffff0ff, 0xd500409f),
	REJECT("PSTATE: SPSel", 0xfffff0ff, 0xd50040bf),
	KERNEL_COPY("PSTATE: ALLINT", 0xfffffeff, 0xd501401f),
	COPY("PSTATE: SSBS", 0xfffff0ff, 0xd503403f),
	COPY("PSTATE: DIT", 0xfffff0ff, 0xd503405f),
	COPY("PSTATE: SM, ZA", 0xfffffeff, 0xd503427f),
	COPY("PSTATE: SM, ZA", 0xfffffcff, 0xd503447f),
	COPY("PSTATE: TCO", 0xfffff0ff, 0xd503409f),
	KERNEL_COPY("PSTATE: DAIFSet, DAIFClr", 0xfffff8df, 0xd50340df),
	REJECT("PSTATE: DAIFSet, DAIFClr of D", 0xfffff8df, 0xd50348df),

	/* Caches, translation; an exception clobbers no more than an interrupt would */
	COPY("System instructions: IC, prediction restriction", 0xfff8fd00, 0xd5087100),
	COPY("System instructions: IC, DC by address", 0xfff8fe00, 0xd5087400),
	COPY("System instructions: DC invalidate", 0xfff8ff00, 0xd5087600),
	REJECT("System instructions: GCS", 0xfff8ff00, 0xd5087700),
	COPY("System instructions: AT, DC clean", 0xfff8f800, 0xd5087800),
	COPY("System instructions: TLBI", 0xfff8e000, 0xd5088000),
	REJECT("System instructions: SYSL", 0xfff80000, 0xd5280000),

	/* System registers: debug, and those that exceptions write to or depend on */
	REJECT("System register move: debug, trace", 0xffd80000, 0xd5100000),
	REJECT("System register move: debug, trace", 0xffdfffc0, 0xd51b4500),
	REJECT("System register move: MSR of DAIF", 0xffffffe0, 0xd51b4220),
	REJECT("System register move: SPSR, ELR", 0xffd8ff00, 0xd5184000),
	REJECT("System register move: MSR of SPSel", 0xffffffe0, 0xd5184200),
	REJECT("System register move: ESR", 0xffd8fe00, 0xd5185000),
	REJECT("System register move: ESR", 0xffd8ff00, 0xd5185200),
	REJECT("System register move: FAR", 0xffd8f000, 0xd5186000),
	/* A hit relies on these for current and for per-CPU data */
	KERNEL_COPY("System register move: MRS of SP_EL0", 0xffffffe0, 0xd5384100),
	REJECT("System register move: MSR of SP_EL0", 0xffffffe0, 0xd5184100),
	REJECT("System register move: MSR of TPIDR_EL1", 0xffffffe0, 0xd518d080),
	REJECT("System register move: MSR of TPIDR_EL2", 0xffffffe0, 0xd51cd040),
	/* What handlers read user memory by, and change meanwhile: see probe_in_switch() */
	REJECT("System register move: MSR of TTBR0_EL1, TTBR1_EL1", 0xffffffc0, MSR_TTBR),
	/* The kernel's return addresses are signed with this one */
	REJECT("System register move: MSR, key IA", 0xffffffc0, 0xd5182100),

	/* System registers that are parts of PSTATE */
	COPY("System register move: NZCV", 0xffdfffe0, 0xd51b4200),
	COPY("System register move: MRS of SVCR", 0xffffffe0, 0xd53b4240),
	COPY("System register move: DIT", 0xffdfffe0, 0xd51b42a0),
	COPY("System register move: SSBS, TCO", 0xffdfffc0, 0xd51b42c0),
	COPY("System register move: FPCR, FPSR", 0xffdfffc0, 0xd51b4400),
	COPY("System register move: FPMR", 0xffdfffe0, 0xd51b4440),
	KERNEL_COPY("System register move: PAN", 0xffdfffe0, 0xd5184260),
	KERNEL_COPY("System register move: UAO", 0xffdfffe0, 0xd5184280),
	KERNEL_COPY("System register move: ALLINT", 0xffdfffe0, 0xd5184300),
	KERNEL_COPY("System register move: PMR", 0xffdfffe0, 0xd5184600),
	KERNEL_COPY("System register move: MRS of DAIF", 0xffffffe0, 0xd53b4220),
	KERNEL_COPY("System register move: MRS of SPSel, CurrentEL", 0xffffffa0, 0xd5384200),

	/* The rest can be read, except for implementation-defined registers */
	COPY("System register move: MRS, CRn 0-3", 0xfff8c000, 0xd5380000),
	COPY("System register move: MRS, error records", 0xfff8ff00, 0xd5385300),
	COPY("System register move: MRS, error records, TFSR", 0xfff8fc00, 0xd5385400),
	COPY("System register move: MRS, PAR", 0xfff8f000, 0xd5387000),
	COPY("System register move: MRS, performance", 0xfff8f000, 0xd5389000),
	COPY("System register move: MRS, memory attributes, timers", 0xfff8b000, 0xd538a000),
	COPY("System register move: MRS, CRn 12-13", 0xfff8e000, 0xd538c000),

	/*
	 * Some can be written, as nothing at a hit depends on them or changes them: what is there
	 * for user space, for counters, and for timers, whose interrupts may be late anyway; what
	 * floating point needs, which handlers have to do without; what the interrupt controller
	 * is told; and the tag faults seen so far.
	 */
	COPY("System register move: MSR of TPIDR_EL0", 0xffffffc0, 0xd51bd040),
	COPY("System register move: MSR of TPIDR2_EL0", 0xffffffe0, 0xd51bd0a0),
	COPY("System register move: MSR, performance", 0xfffff000, 0xd51b9000),
	COPY("System register move: MSR, timers", 0xfffff000, 0xd51be000),
	KERNEL_COPY("System register move: MSR of PMINTENSET_EL1", 0xffffffe0, 0xd5189e20),
	KERNEL_COPY("System register move: MSR of PMINTENCLR_EL1", 0xffffffe0, 0xd5189e40),
	KERNEL_COPY("System register move: MSR of CNTKCTL_EL1", 0xffffffe0, 0xd518e100),
	KERNEL_COPY("System register move: MSR of CONTEXTIDR_EL1", 0xffffffe0, 0xd518d020),
	KERNEL_COPY("System register move: MSR of CPACR_EL1", 0xffffffe0, 0xd5181040),
	KERNEL_COPY("System register move: MSR of ZCR_EL1", 0xffffffe0, 0xd5181200),
	KERNEL_COPY("System register move: MSR, key IB", 0xffffffc0, 0xd5182140),
	KERNEL_COPY("System register move: MSR, keys DA, DB", 0xffffff80, 0xd5182200),
	KERNEL_COPY("System register move: MSR, key GA", 0xffffffc0, 0xd5182300),
	KERNEL_COPY("System register move: MSR of TFSR", 0xffffffc0, 0xd5185600),
	KERNEL_COPY("System register move: MSR, interrupt controller", 0xfffff800, 0xd518c800),

	/* Data processing -- immediate */
	COPY("Add/subtract (immediate)", 0x1f800000, 0x11000000),
	COPY("Add/subtract (immediate, with tags)", 0xbfc0c000, 0x91800000),
	COPY("Min/max (immediate)", 0x7ff00000, 0x11c00000),
	COPY("Logical (immediate): 64 bits", 0x9f800000, 0x92000000),
	COPY("Logical (immediate): 32 bits", 0x9fc00000, 0x12000000),
	COPY("Move wide (immediate): 64 bits, MOVN", 0xff800000, 0x92800000),
	COPY("Move wide (immediate): 64 bits, MOVZ, MOVK", 0xdf800000, 0xd2800000),
	COPY("Move wide (immediate): 32 bits, MOVN", 0xffc00000, 0x12800000),
	COPY("Move wide (immediate): 32 bits, MOVZ, MOVK", 0xdfc00000, 0x52800000),
	COPY("Bitfield: 64 bits, SBFM, BFM", 0xdfc00000, 0x93400000),
	COPY("Bitfield: 64 bits, UBFM", 0xffc00000, 0xd3400000),
	COPY("Bitfield: 32 bits, SBFM, BFM", 0xdfe08000, 0x13000000),
	COPY("Bitfield: 32 bits, UBFM", 0xffe08000, 0x53000000),
	COPY("Extract: 64 bits", 0xffe00000, 0x93c00000),
	COPY("Extract: 32 bits", 0xffe08000, 0x13800000),
	REJECT("Data-processing (1 source immediate): AUTI*SPPC", 0xff800000, 0xf3800000),

	/* Data processing -- register */
	COPY("Data-processing (2 source): UDIV, SDIV", 0x7fe0f800, 0x1ac00800),
	COPY("Data-processing (2 source): shifts, min/max", 0x7fe0b000, 0x1ac02000),
	COPY("Data-processing (2 source): CRC32 of 8, 16", 0xffe0e800, 0x1ac04000),
	COPY("Data-processing (2 source): CRC32 of 32", 0xffe0ec00, 0x1ac04800),
	COPY("Data-processing (2 source): CRC32 of 64", 0xffe0ec00, 0x9ac04c00),
	COPY("Data-processing (2 source): SUBP, SUBPS", 0xdfe0fc00, 0x9ac00000),
	COPY("Data-processing (2 source): IRG, GMI", 0xffe0f800, 0x9ac01000),
	COPY("Data-processing (2 source): PACGA", 0xffe0fc00, 0x9ac03000),
	COPY("Data-processing (1 source): RBIT, REV16", 0x7ffff800, 0x5ac00000),
	COPY("Data-processing (1 source): REV, REV32", 0x7ffffc00, 0x5ac00800),
	COPY("Data-processing (1 source): REV64", 0xfffffc00, 0xdac00c00),
	COPY("Data-processing (1 source): counts", 0x7ffff000, 0x5ac01000),
	COPY("Data-processing (1 source): ABS", 0x7ffffc00, 0x5ac02000),
	COPY("Data-processing (1 source): PAC*, AUT*", 0xffffe000, 0xdac10000),
	COPY("Data-processing (1 source): PAC*, AUT* with zero", 0xffffe3e0, 0xdac123e0),
	COPY("Data-processing (1 source): XPAC*", 0xfffffbe0, 0xdac143e0),
	REJECT("Data-processing (1 source): with PC as modifier", 0xffff8000, 0xdac18000),
	COPY("Logical (shifted register): 64 bits", 0x9f000000, 0x8a000000),
	COPY("Logical (shifted register): 32 bits", 0x9f008000, 0x0a000000),
	COPY("Add/subtract (shifted register): 64 bits, LSL, LSR", 0x9fa00000, 0x8b000000),
	COPY("Add/subtract (shifted register): 64 bits, ASR", 0x9fe00000, 0x8b800000),
	COPY("Add/subtract (shifted register): 32 bits, LSL, LSR", 0x9fa08000, 0x0b000000),
	COPY("Add/subtract (shifted register): 32 bits, ASR", 0x9fe08000, 0x0b800000),
	COPY("Add/subtract (extended register): by 0-3", 0x1fe01000, 0x0b200000),
	COPY("Add/subtract (extended register): by 4", 0x1fe01c00, 0x0b201000),
	COPY("Add/subtract (with carry)", 0x1fe0fc00, 0x1a000000),
	COPY("Add/subtract (checked pointer)", 0xbfe0e000, 0x9a002000),
	COPY("Rotate right into flags", 0xffe07c10, 0xba000400),
	COPY("Evaluate into flags", 0xffffbc1f, 0x3a00080d),
	COPY("Conditional compare", 0x3fe00410, 0x3a400000),
	COPY("Conditional select", 0x3fe00800, 0x1a800000),
	COPY("Data-processing (3 source): MADD, MSUB", 0x7fe00000, 0x1b000000),
	COPY("Data-processing (3 source): long", 0xff600000, 0x9b200000),
	COPY("Data-processing (3 source): high", 0xff60fc00, 0x9b407c00),
	COPY("Data-processing (3 source): checked pointer", 0xffe00000, 0x9b600000),

	/* Data processing -- scalar floating-point and Advanced SIMD, by class only */
	COPY("Cryptographic AES, two-register SHA", 0xeffe0c00, 0x4e280800),
	COPY("Cryptographic three-register SHA", 0xffe08c00, 0x5e000000),
	COPY("Advanced SIMD scalar copy", 0xdfe08400, 0x5e000400),
	COPY("Advanced SIMD scalar three same FP16", 0xdf60c400, 0x5e400400),
	COPY("Advanced SIMD scalar two-register miscellaneous FP16", 0xdf7e0c00, 0x5e780800),
	COPY("Advanced SIMD scalar three same extra", 0xdf208400, 0x5e008400),
	COPY("Advanced SIMD scalar two-register miscellaneous, pairwise", 0xdf2e0c00, 0x5e200800),
	COPY("Advanced SIMD scalar three different", 0xdf200c00, 0x5e200000),
	COPY("Advanced SIMD scalar three same", 0xdf200400, 0x5e200400),
	COPY("Advanced SIMD scalar shift by immediate", 0xdf800400, 0x5f000400),
	COPY("Advanced SIMD scalar x indexed element", 0xdf000400, 0x5f000000),
	COPY("Advanced SIMD table lookup, permute, extract", 0x9f208400, 0x0e000000),
	COPY("Advanced SIMD copy", 0x9fe08400, 0x0e000400),
	COPY("Advanced SIMD three same (FP16)", 0x9f60c400, 0x0e400400),
	COPY("Advanced SIMD two-register miscellaneous (FP16)", 0x9f7e0c00, 0x0e780800),
	COPY("Advanced SIMD three-register extension", 0x9f208400, 0x0e008400),
	COPY("Advanced SIMD two-register miscellaneous, across lanes", 0x9f2e0c00, 0x0e200800),
	COPY("Advanced SIMD three different", 0x9f200c00, 0x0e200000),
	COPY("Advanced SIMD three same", 0x9f200400, 0x0e200400),
	COPY("Advanced SIMD modified immediate, shift by immediate", 0x9f800400, 0x0f000400),
	COPY("Advanced SIMD vector x indexed element", 0x9f000400, 0x0f000000),
	COPY("Cryptographic three-register, imm2", 0xffe0c000, 0xce408000),
	COPY("Cryptographic three-register SHA 512", 0xffe0b000, 0xce608000),
	COPY("Cryptographic four-register", 0xff808000, 0xce000000),
	COPY("Cryptographic XAR", 0xffe00000, 0xce800000),
	COPY("Cryptographic two-register SHA 512", 0xfffff000, 0xcec08000),
	COPY("Floating-point and fixed-point", 0x7f200000, 0x1e000000),
	COPY("Floating-point and integer", 0x7f20fc00, 0x1e200000),
	COPY("Floating-point data-processing (1 source)", 0xff207c00, 0x1e204000),
	COPY("Floating-point compare", 0xff203c00, 0x1e202000),
	COPY("Floating-point immediate", 0xff201c00, 0x1e201000),
	COPY("Floating-point conditional compare, select", 0xff200400, 0x1e200400),
	COPY("Floating-point data-processing (2 source)", 0xff200c00, 0x1e200800),
	COPY("Floating-point data-processing (3 source)", 0xff000000, 0x1f000000),

	/* Extensions that are listed as a whole. MOVPRFX makes one instruction with the next. */
	REJECT("SVE integer, predicated: MOVPRFX", 0xff38e000, 0x04102000),
	REJECT("SVE integer: MOVPRFX", 0xff20fc00, 0x0420bc00),
	USER_COPY("SVE", 0x1e000000, 0x04000000),
	USER_COPY("SME", 0x9e000000, 0x80000000),

	/* Loads and stores that must not be moved, or be interrupted by an exception */
	REJECT("Load/store exclusive register", 0x3fa00000, 0x08000000),
	REJECT("Load/store exclusive pair", 0xbfa00000, 0x88200000),
	REJECT("Load/store exclusive register (unprivileged)", 0xbfa00000, 0x89000000),
	REJECT("Memory Copy and Memory Set", 0x3b200c00, 0x19000400),
	REJECT("Load/store guarded control stack", 0xffe00c00, 0xd9000c00),

	/* Ordered and atomic */
	COPY("Load/store ordered", 0x3fbf7c00, 0x089f7c00),
	COPY("Compare and swap", 0x3fa07c00, 0x08a07c00),
	COPY("Compare and swap pair", 0xbfa17c01, 0x08207c00),
	COPY("Atomic memory operations", 0x3f208c00, 0x38200000),
	COPY("Atomic memory operations: SWP", 0x3f20fc00, 0x38208000),
	COPY("Atomic memory operations: LDAPR", 0x3ffffc00, 0x38bfc000),
	COPY("Atomic memory operations: LD64B, ST64B", 0xffffbc00, 0xf83f9000),
	COPY("Atomic memory operations: ST64BV", 0xffe0ec00, 0xf820a000),
	COPY("128-bit atomic memory operations: LDCLRP, LDSETP", 0xff20dc00, 0x19201000),
	COPY("128-bit atomic memory operations: SWPP", 0xff20fc00, 0x19208000),
	COPY("LDAPR/STLR (unscaled immediate)", 0xbf200c00, 0x19000000),
	COPY("LDAPR/STLR (unscaled immediate)", 0xbfa00c00, 0x99000000),
	COPY("LDAPR/STLR (unscaled immediate): LDAPURSW", 0xffe00c00, 0x99800000),
	COPY("LDAPR/STLR (SIMD&FP): 8-64 bits", 0x3fa00c00, 0x1d000800),
	COPY("LDAPR/STLR (SIMD&FP): 128 bits", 0xffa00c00, 0x1d800800),
	COPY("LDAPR/STLR (writeback)", 0xbfbffc00, 0x99800800),
	COPY("LDIAPP/STILP", 0xbfa0ec00, 0x99000800),

	/* Memory tags */
	COPY("Load/store memory tags: indexed", 0xff200400, 0xd9200400),
	COPY("Load/store memory tags: offset", 0xff200c00, 0xd9200800),
	COPY("Load/store memory tags: LDG", 0xffe00c00, 0xd9600000),
	KERNEL_COPY("Load/store memory tags: STZGM", 0xfffffc00, 0xd9200000),
	KERNEL_COPY("Load/store memory tags: STGM, LDGM", 0xffbffc00, 0xd9a00000),

	/* Structures; opcodes 0, 2, 4, 6, then 7, then 8, 10 */
	COPY("Advanced SIMD load/store multiple structures", 0xbfbf9000, 0x0c000000),
	COPY("Advanced SIMD load/store multiple structures", 0xbfbff000, 0x0c007000),
	COPY("Advanced SIMD load/store multiple structures", 0xbfbfd000, 0x0c008000),
	COPY("Advanced SIMD load/store multiple structures (post-indexed)", 0xbfa09000, 0x0c800000),
	COPY("Advanced SIMD load/store multiple structures (post-indexed)", 0xbfa0f000, 0x0c807000),
	COPY("Advanced SIMD load/store multiple structures (post-indexed)", 0xbfa0d000, 0x0c808000),
	COPY("Advanced SIMD single structure: 8 bits", 0xbf9fc000, 0x0d000000),
	COPY("Advanced SIMD single structure: 16 bits", 0xbf9fc400, 0x0d004000),
	COPY("Advanced SIMD single structure: 32 bits", 0xbf9fcc00, 0x0d008000),
	COPY("Advanced SIMD single structure: 64 bits", 0xbf9fdc00, 0x0d008400),
	COPY("Advanced SIMD single structure: replicate", 0xbfdfd000, 0x0d40c000),
	COPY("Advanced SIMD single structure: LDAP1, STL1", 0xbfbffc00, 0x0d018400),
	COPY("Advanced SIMD single structure (post-indexed): 8 bits", 0xbf80c000, 0x0d800000),
	COPY("Advanced SIMD single structure (post-indexed): 16 bits", 0xbf80c400, 0x0d804000),
	COPY("Advanced SIMD single structure (post-indexed): 32 bits", 0xbf80cc00, 0x0d808000),
	COPY("Advanced SIMD single structure (post-indexed): 64 bits", 0xbf80dc00, 0x0d808400),
	COPY("Advanced SIMD single structure (post-indexed): replicate", 0xbfc0d000, 0x0dc0c000),

	/* Pairs: of 32 or 64 bits; LDPSW, STGP; then SIMD&FP of 32 or 64, of 128 */
	COPY("Load/store register pair", 0x7e000000, 0x28000000),
	COPY("Load/store register pair (post-indexed): LDPSW, STGP", 0xff800000, 0x68800000),
	COPY("Load/store register pair (offset, pre-indexed): LDPSW, STGP", 0xff000000, 0x69000000),
	COPY("Load/store register pair: SIMD&FP", 0xbe000000, 0x2c000000),
	COPY("Load/store register pair: SIMD&FP", 0xfe000000, 0xac000000),

	/*
	 * Single registers, by size and opc: of 8 or 16 bits; of 32 or 64; LDRSW;
	 * then SIMD&FP of 8 to 64, of 128.
	 */
	COPY("Load/store register (immediate of 9 bits)", 0xbf200000, 0x38000000),
	COPY("Load/store register (immediate of 9 bits)", 0xbfa00000, 0xb8000000),
	COPY("Load/store register (unscaled immediate): LDURSW, PRFUM", 0xbfe00c00, 0xb8800000),
	COPY("Load/store register (unscaled immediate): SIMD&FP", 0x3fa00c00, 0x3c000000),
	COPY("Load/store register (unscaled immediate): SIMD&FP", 0xffa00c00, 0x3c800000),
	COPY("Load/store register (immediate, indexed): LDRSW", 0xffe00400, 0xb8800400),
	COPY("Load/store register (immediate, indexed): SIMD&FP", 0x3fa00400, 0x3c000400),
	COPY("Load/store register (immediate, indexed): SIMD&FP", 0xffa00400, 0x3c800400),
	COPY("Load/store register (unprivileged): LDTRSW", 0xffe00c00, 0xb8800800),
	COPY("Load/store register (register offset)", 0xbf204c00, 0x38204800),
	COPY("Load/store register (register offset)", 0xbfa04c00, 0xb8204800),
	COPY("Load/store register (register offset): LDRSW, PRFM", 0xbfe04c00, 0xb8a04800),
	COPY("Load/store register (register offset): SIMD&FP", 0x3fa04c00, 0x3c204800),
	COPY("Load/store register (register offset): SIMD&FP", 0xffa04c00, 0x3ca04800),
	COPY("Load/store register (unsigned immediate)", 0xbf000000, 0x39000000),
	COPY("Load/store register (unsigned immediate)", 0xbf800000, 0xb9000000),
	COPY("Load/store register (unsigned immediate): LDRSW, PRFM", 0xbfc00000, 0xb9800000),
	COPY("Load/store register (unsigned immediate): SIMD&FP", 0x3f800000, 0x3d000000),
	COPY("Load/store register (unsigned immediate): SIMD&FP", 0xff800000, 0x3d800000),
	COPY("Load/store register (pac)", 0xff200400, 0xf8200400),
};

const unsigned int probe_nr_classes = ARRAY_SIZE(probe_classes);

/* Returns the row of the table for an instruction, or NULL. Not for a hit: it takes long. */
const struct probe_class *probe_classify(u32 insn)
{
	const struct probe_class *class;

	for (class = probe_classes; class < probe_classes + probe_nr_classes; class++) {
		if ((insn & class->mask) == class->value)
			return class;
	}
	return NULL;
}

enum exclusive { NONE, LOAD, STORE, CLEAR };

/*
 * Bit 22 is set in loads. Bit 23 is set in ordered accesses (LDAR, STLR) and in CAS, which are
 * not exclusive. Bit 21 is set in pairs, which are exclusive only with bit 31: else it is CASP.
 */
static enum exclusive exclusive_of(u32 insn)
{
	if ((insn & 0x3fa00000) == 0x08000000 || (insn & 0xbfa00000) == 0x88200000 ||
	    (insn & 0xbfa00000) == 0x89000000)
		return insn & BIT(22) ? LOAD : STORE;
	return aarch64_insn_is_clrex(insn) ? CLEAR : NONE;
}

/* How far to look for the beginning, and for the end, of a sequence, in instructions */
#define SEQUENCE_REACH		32

/* Returns the first exclusive from @addr on, going by @step, in the function, or NONE. */
static enum exclusive find_exclusive(unsigned long addr, int step,
				     unsigned long start, unsigned long end)
{
	enum exclusive found = NONE;
	u32 insn;
	int i;

	for (i = 0; i < SEQUENCE_REACH && addr >= start && addr < end && found == NONE; i++) {
		if (aarch64_insn_read((void *)addr, &insn))
			return NONE;
		found = exclusive_of(insn);
		addr += step;
	}
	return found;
}

/*
 * Checks whether @addr is at an exclusive load or store, or between them, in the function from
 * @start to @end. An exception clears the exclusive monitor that the load has set. With a
 * breakpoint between load and store, the store would never succeed, and the loop around them would
 * not end. All of the kernel's sequences are contiguous, with the load first. Probes cannot hide
 * one, because none can be on its load or its store. A load exclusive without a store, as before
 * WFE, has nothing that could fail.
 */
bool probe_in_exclusive(unsigned long addr, unsigned long start, unsigned long end)
{
	enum exclusive here;
	u32 insn;

	if (aarch64_insn_read((void *)addr, &insn))
		return false;
	here = exclusive_of(insn);
	if (here != NONE)
		return here != CLEAR;
	return find_exclusive(addr - AARCH64_INSN_SIZE, -AARCH64_INSN_SIZE, start, end) == LOAD &&
	       find_exclusive(addr + AARCH64_INSN_SIZE, AARCH64_INSN_SIZE, start, end) == STORE;
}

/*
 * Checks whether @addr is in a switch of page tables, in the function at @start. That is from the
 * first write of TTBR0_EL1 or TTBR1_EL1 to the ISB that completes the switch. In between, one of
 * the two may be the next table's already, with its ASID, and the other one not yet. A handler
 * that reads user memory would leave both as for the last one, or take the next one's translations
 * for those of the last (with CONFIG_ARM64_SW_TTBR0_PAN, the access itself is two such switches).
 * The writes are refused for themselves.
 */
bool probe_in_switch(unsigned long addr, unsigned long start)
{
	u32 insn;
	int i;

	for (i = 0; i < SEQUENCE_REACH && addr > start; i++) {
		addr -= AARCH64_INSN_SIZE;
		if (aarch64_insn_read((void *)addr, &insn) || aarch64_insn_is_isb(insn))
			return false;
		if ((insn & 0xffffffc0) == MSR_TTBR)
			return true;
	}
	return false;
}

/* Decides for uprobes. Sets the handler in @asi if the instruction is simulated. */
enum probe_insn arm_probe_decode_insn(u32 insn, struct arch_probe_insn *asi)
{
	const struct probe_class *class = probe_classify(insn);

	if (!class)
		return INSN_REJECTED;
	/* What is simulated for uprobes does not read memory, so it cannot fail. */
	if (class->uprobe == PROBE_SIMULATE)
		asi->handler = class->simulate;
	return class->uprobe;
}
