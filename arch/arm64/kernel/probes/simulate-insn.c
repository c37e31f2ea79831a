// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulation on the saved registers of instructions that depend on their address: branches, ADR and
 * ADRP, and loads of literals. They are simulated exactly, or not at all.
 *
 * This runs at a kprobe's hit, in whatever context was probed. So no lock is taken, and nothing is
 * called that can be probed itself. That excludes those decoding helpers of asm/insn.h which are
 * not inline: a hit of a probe on one of them would call it again.
 */
#include <linux/bitfield.h>
#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/unaligned.h>
#include <asm/debug-monitors.h>
#include <asm/esr.h>
#include <asm/gcs.h>
#include <asm/insn.h>

#include "decode-insn.h"

/* The register in the bits that begin with @lsb: Rt and Rd at 0, Rn at 5. */
static __always_inline int reg_at(u32 insn, int lsb)
{
	return insn >> lsb & 31;
}

/* A signed number of instructions, in @bits bits that begin with @lsb. */
static __always_inline long distance(u32 insn, int lsb, int bits)
{
	return sign_extend64(insn >> lsb, bits - 1) * AARCH64_INSN_SIZE;
}

/*
 * Sets pc and PSTATE.BTYPE. BTYPE is checked at the target of an indirect branch, and is zero
 * after any other instruction. A debugger's step is over with this instruction; if SPSR.SS stayed,
 * it would include the next one (Arm ARM, "Software Step exceptions").
 */
static __always_inline void go_to(struct pt_regs *regs, unsigned long pc, unsigned long btype)
{
	regs->pc = pc;
	regs->pstate = (regs->pstate & ~(PSR_BTYPE_MASK | DBG_SPSR_SS)) | btype;
}

static __always_inline void go_on(struct pt_regs *regs, unsigned long addr)
{
	go_to(regs, addr + AARCH64_INSN_SIZE, PSR_BTYPE_NONE);
}

static __always_inline void branch_if(bool taken, struct pt_regs *regs,
				      unsigned long addr, long offset)
{
	go_to(regs, addr + (taken ? offset : AARCH64_INSN_SIZE), PSR_BTYPE_NONE);
}

static __always_inline bool has_gcs(struct pt_regs *regs)
{
	return user_mode(regs) && task_gcs_el0_enabled(current);
}

/*
 * Links, as BL and BLR do, or else has the task killed, if it has a guarded control stack (GCS)
 * that cannot be written.
 */
static __always_inline bool link(struct pt_regs *regs, unsigned long addr)
{
	int err = 0;

	addr += AARCH64_INSN_SIZE;
	if (has_gcs(regs))
		push_user_gcs(addr, &err);
	if (err)
		force_sig(SIGSEGV);
	else
		procedure_link_pointer_set(regs, addr);
	return !err;
}

/* Checks a return, as RET does, or else has the task killed. */
static __always_inline bool may_return_to(struct pt_regs *regs, unsigned long target)
{
	int err = 0;

	if (!has_gcs(regs) || (pop_user_gcs(&err) == target && !err))
		return true;
	force_sig(SIGSEGV);
	return false;
}

/* B, BL */
bool __kprobes probe_simulate_branch(u32 insn, unsigned long addr, struct pt_regs *regs)
{
	if (insn & BIT(31) && !link(regs, addr))	/* BL */
		return false;
	go_to(regs, addr + distance(insn, 0, 26), PSR_BTYPE_NONE);
	return true;
}

/*
 * There are 16 values of NZCV. Each of these has a bit for each value: whether N is set in it, and
 * so on. The lowest bit of a condition inverts it, except that both forms of "always" hold.
 */
static __always_inline bool condition_holds(u32 cond, u64 pstate)
{
	enum { N = 0xff00, Z = 0xf0f0, C = 0xcccc, V = 0xaaaa, ALWAYS = 0xffff };
	static const u32 conditions[] = {	/* eq, cs, mi, vs, hi, ge, gt, al */
		Z, C, N, V, C & ~Z, ~(N ^ V), ~(N ^ V) & ~Z, ALWAYS,
	};
	bool holds = conditions[cond >> 1] >> (pstate >> 28 & 15) & 1;

	return cond == 15 || holds != (cond & 1);
}

/* B.cond, BC.cond */
bool __kprobes probe_simulate_cond_branch(u32 insn, unsigned long addr, struct pt_regs *regs)
{
	branch_if(condition_holds(insn & 0xf, regs->pstate), regs, addr, distance(insn, 5, 19));
	return true;
}

/* CBZ, CBNZ */
bool __kprobes probe_simulate_compare_branch(u32 insn, unsigned long addr, struct pt_regs *regs)
{
	u64 value = pt_regs_read_reg(regs, reg_at(insn, 0));
	bool on_nonzero = insn & BIT(24);

	if (!(insn & BIT(31)))
		value = (u32)value;
	branch_if(!!value == on_nonzero, regs, addr, distance(insn, 5, 19));
	return true;
}

/* TBZ, TBNZ */
bool __kprobes probe_simulate_test_branch(u32 insn, unsigned long addr, struct pt_regs *regs)
{
	u64 value = pt_regs_read_reg(regs, reg_at(insn, 0));
	int bit = (insn & BIT(31) ? 32 : 0) + (insn >> 19 & 31);
	bool on_nonzero = insn & BIT(24);

	branch_if((value >> bit & 1) == on_nonzero, regs, addr, distance(insn, 5, 14));
	return true;
}

enum { BR, BLR, RET };

/*
 * All kernel text is guarded if the kernel uses BTI. Whether user text is guarded is not
 * known here, so BTYPE is zero there, which matches any target.
 */
static __always_inline unsigned long btype_after(int opc, int rn, struct pt_regs *regs)
{
	if (opc == RET || user_mode(regs) || !system_supports_bti_kernel())
		return PSR_BTYPE_NONE;
	if (opc == BLR)
		return PSR_BTYPE_C;
	return rn == 16 || rn == 17 ? PSR_BTYPE_JC : PSR_BTYPE_J;
}

/* BR, BLR, RET */
bool __kprobes probe_simulate_branch_reg(u32 insn, unsigned long addr, struct pt_regs *regs)
{
	int opc = insn >> 21 & 3, rn = reg_at(insn, 5);
	unsigned long target = pt_regs_read_reg(regs, rn);

	/* "blr x30" goes where x30 pointed to before. */
	if ((opc == BLR && !link(regs, addr)) || (opc == RET && !may_return_to(regs, target)))
		return false;
	go_to(regs, target, btype_after(opc, rn, regs));
	return true;
}

/* ADR, ADRP */
bool __kprobes probe_simulate_adr(u32 insn, unsigned long addr, struct pt_regs *regs)
{
	long imm = sign_extend64((insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3), 20);
	bool page = insn & BIT(31);

	/* The pages of ADRP have 4 KiB, whatever the kernel's have. */
	pt_regs_write_reg(regs, reg_at(insn, 0),
			  page ? (addr & ~(SZ_4K - 1UL)) + imm * SZ_4K : addr + imm);
	go_on(regs, addr);
	return true;
}

/*
 * Returns the syndrome of the exception that a read would raise, or 0. The MMU answers in PAR_EL1,
 * which is left as it was: somebody may have asked, and be about to read the answer.
 */
static __always_inline u32 syndrome_of_read(unsigned long addr)
{
	u64 fault = ESR_ELx_FSC_FAULT, par, before;
	unsigned long flags;

	if (is_ttbr1_addr(addr)) {
		raw_local_irq_save(flags);
		before = read_sysreg_par();
		asm volatile("at s1e1r, %0" : : "r" (addr));
		isb();
		par = read_sysreg_par();
		write_sysreg(before, par_el1);
		raw_local_irq_restore(flags);
		if (!(par & SYS_PAR_EL1_F))
			return 0;
		fault = FIELD_GET(SYS_PAR_EL1_FST, par);
	}
	return (ESR_ELx_EC_DABT_CUR << ESR_ELx_EC_SHIFT) | ESR_ELx_IL | fault;
}

enum { LDR_W, LDR_X, LDRSW, PRFM };

/*
 * Returns the syndrome of the exception that an LDR or LDRSW of a literal would raise, or 0. A
 * literal in user space is not read.
 */
u32 __kprobes probe_literal_fault(u32 insn, unsigned long addr)
{
	unsigned long literal = addr + distance(insn, 5, 19);
	u32 fault = syndrome_of_read(literal);

	/* The second half may be in the next page. */
	if (!fault && insn >> 30 == LDR_X && PAGE_ALIGNED(literal + sizeof(u32)))
		fault = syndrome_of_read(literal + sizeof(u32));
	return fault;
}

/*
 * LDR, LDRSW and PRFM of a literal, in the kernel's own text. Returns false if the literal cannot
 * be read, see probe_literal_fault(): a fault in here would be taken for one of whoever runs the
 * simulation. A literal has the byte order of data, and need not be aligned to more than four
 * bytes. A prefetch need not have an effect.
 */
bool __kprobes probe_simulate_load_literal(u32 insn, unsigned long addr, struct pt_regs *regs)
{
	const void *literal = (void *)addr + distance(insn, 5, 19);
	int opc = insn >> 30;
	u64 value;

	if (opc != PRFM) {
		if (probe_literal_fault(insn, addr))
			return false;
		value = opc == LDR_X ? get_unaligned((u64 *)literal) : *(u32 *)literal;
		if (opc == LDRSW)
			value = sign_extend64(value, 31);
		pt_regs_write_reg(regs, reg_at(insn, 0), value);
	}
	go_on(regs, addr);
	return true;
}
