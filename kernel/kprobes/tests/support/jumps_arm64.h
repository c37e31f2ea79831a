/* SPDX-License-Identifier: GPL-2.0 */
/* arm64 half of kernel/kprobes/test_optimize.h: see there */
#ifndef _KPROBES_TESTS_JUMPS_ARM64_H
#define _KPROBES_TESTS_JUMPS_ARM64_H

#include <linux/irqflags.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/ptrace.h>

#define KPROBES_LANDING_PAD	AARCH64_INSN_SIZE

/* --- registers --- */

/* All but the link register, which has the return address */
#define KPROBES_REGS		30
#define KPROBES_REGS_SEEN	31
#define KPROBES_REG_RESULT	0
#define KPROBES_REG_ARGUMENT	0

#define KPROBES_FLAGS		(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)
#define KPROBES_FLAGS_ON	0
#define KPROBES_FLAG_ZERO	PSR_Z_BIT

/* Interrupts are masked in a BRK's handler, but not in the probed code. */
#define KPROBES_FLAGS_SEEN	(KPROBES_FLAGS | PSR_D_BIT | PSR_A_BIT | PSR_I_BIT | \
				 PSR_F_BIT | PSR_BTYPE_MASK | PSR_MODE_MASK)

struct kprobes_registers {
	unsigned long reg[KPROBES_REGS];
	unsigned long flags;
};

/* The pointer of the shadow call stack */
#ifdef CONFIG_SHADOW_CALL_STACK
#define KPROBES_LOAD_X18
#define KPROBES_STORE_X18
#else
#define KPROBES_LOAD_X18	"	ldr x18, [x0, #18*8]\n"
#define KPROBES_STORE_X18	"	str x18, [x0, #18*8]\n"
#endif

/* Calls a function with the values of @registers, and stores the new ones there. */
void kprobes_jump_run(struct kprobes_registers *registers, void (*call)(void));

KPROBES_FUNCTION(kprobes_jump_run,
		 "stp x29, x30, [sp, #-112]!; mov x29, sp\n"
		 KPROBES_SAVE_CALLERS
		 "str x0, [sp, #96]; mov x30, x1; ldr x1, [x0, #30*8]; msr nzcv, x1\n"
		 KPROBES_LOAD_MOST
		 KPROBES_LOAD_X18
		 "ldp x28, x29, [x0, #28*8]; ldp x0, x1, [x0]\n"
		 "blr x30\n"
		 "str x0, [sp, #104]; ldr x0, [sp, #96]\n"
		 KPROBES_STORE_MOST
		 KPROBES_STORE_X18
		 "stp x28, x29, [x0, #28*8]; ldr x2, [sp, #104]; stp x2, x1, [x0]\n"
		 "mrs x1, nzcv; str x1, [x0, #30*8]\n"
		 KPROBES_RESTORE_CALLERS
		 "ldp x29, x30, [sp], #112; ret");

static inline unsigned long *kprobes_reg(struct pt_regs *regs, unsigned int i)
{
	return (unsigned long *)&regs->regs[i];
}

static inline bool kprobes_reg_is_free(unsigned int i)
{
	return i != 18 || !IS_ENABLED(CONFIG_SHADOW_CALL_STACK);
}

static inline unsigned long *kprobes_flags(struct pt_regs *regs)
{
	return (unsigned long *)&regs->pstate;
}

/* Makes the probed function return at once. */
static inline void kprobes_return(struct pt_regs *regs)
{
	regs->pc = regs->regs[30];
}

/* --- text --- */

static inline bool kprobes_trapped(void)
{
	return irqs_disabled();
}

static inline u32 kprobes_insn_at(const void *addr)
{
	return le32_to_cpup(addr);
}

static inline bool kprobes_is_breakpoint(const void *addr)
{
	return kprobes_insn_at(addr) == BRK64_OPCODE_KPROBES;
}

/* The target of the jump at @addr, or NULL if there is no jump */
static inline void *kprobes_jump_at(void *addr)
{
	u32 insn = kprobes_insn_at(addr);

	return aarch64_insn_is_b(insn) ? addr + aarch64_get_branch_offset(insn) : NULL;
}

/* --- functions with an instruction to probe --- */

#define KPROBES_JUMP(function, body)					\
void function(void);							\
KPROBES_FUNCTION(function, body "\n ret")

#define KPROBES_SAVE		"stp x29, x30, [sp, #-16]!\n"
#define KPROBES_RESTORE		"ldp x29, x30, [sp], #16\n"

/* The architecture's own suites have more instructions, by all ways to their handlers. */
KPROBES_JUMP(kprobes_jump_boosted, "nop");
KPROBES_JUMP(kprobes_jump_emulated, "prfm pldl1keep, 1f; 1:");
KPROBES_JUMP(kprobes_jump_stack, "str x3, [sp, #-16]!; ldr x0, [sp]; add sp, sp, #16");
KPROBES_JUMP(kprobes_jump_call, KPROBES_SAVE "bl kprobes_seven\n" KPROBES_RESTORE);
KPROBES_JUMP(kprobes_jump_authentication, "hint #25; hint #29");

static const struct kprobes_jump kprobes_jumps[] = {
	{ "boosted", kprobes_jump_boosted, 0, "boost" },
	{ "emulated", kprobes_jump_emulated, 0, "emulate" },
	{ "store below the stack pointer", kprobes_jump_stack, 0, "boost" },
	{ "load by the stack pointer", kprobes_jump_stack, 1, "boost" },
	{ "addition to the stack pointer", kprobes_jump_stack, 2, "boost" },
	{ "call", kprobes_jump_call, 1, "emulate" },
	{ "authentication", kprobes_jump_authentication, 1, "boost" },
	{ "return", kprobes_jump_boosted, 1, "emulate" },
};

/* Each instruction sets a bit of the result. */
KPROBES_JUMP(kprobes_jump_bits,
	     "add x0, x0, #1; add x0, x0, #2; add x0, x0, #4; add x0, x0, #8; add x0, x0, #16");

#endif /* _KPROBES_TESTS_JUMPS_ARM64_H */
