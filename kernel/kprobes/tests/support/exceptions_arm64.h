/* SPDX-License-Identifier: GPL-2.0-only */
/* arm64 half of test_exceptions.c: see there */
#ifndef _KPROBES_TESTS_EXCEPTIONS_ARM64_H
#define _KPROBES_TESTS_EXCEPTIONS_ARM64_H

#include <linux/cpufeature.h>
#include <linux/stringify.h>
#include <asm/asm-bug.h>
#include <asm/esr.h>
#include <asm/sysreg.h>

static inline int kind_of(int esr)
{
	return ESR_ELx_EC((u32)esr);
}

/* A function with an instruction that raises one, which is the last but a return */
#define RAISES(what, before, insn)					\
void raises_##what(void);						\
KPROBES_AT(what); KPROBES_AT(what##_behind);				\
KPROBES_CALLED(raises_##what, before KPROBES_STEP(#what) insn "\n"	\
	       KPROBES_STEP(#what "_behind") "ret")

/*
 * A read of a system register that no processor has; what is no landing pad, where a branch leads;
 * a check of a signature that is another; a BRK of nobody's; and a BUG()
 */
RAISES(undefined, "", ".inst 0xd5383000	// mrs x0, s3_0_c3_c0_0");
RAISES(astray, "adr x1, 1f; br x1; 1:\n", "nop");
RAISES(forged, "mov x0, x30\n", ".inst 0xdac133e0	// autiza x0");
RAISES(brk, "", "brk #1");
RAISES(bug, "", __stringify(ASM_BUG()));

/* Does a signature that is another raise an exception? */
static bool signatures_matter(void)
{
	u64 first = read_sanitised_ftr_reg(SYS_ID_AA64ISAR1_EL1);
	u64 second = read_sanitised_ftr_reg(SYS_ID_AA64ISAR2_EL1);

	if (!IS_ENABLED(CONFIG_ARM64_PTR_AUTH_KERNEL) || !system_supports_address_auth())
		return false;
	return SYS_FIELD_GET(ID_AA64ISAR1_EL1, APA, first) >= ID_AA64ISAR1_EL1_APA_FPAC ||
	       SYS_FIELD_GET(ID_AA64ISAR1_EL1, API, first) >= ID_AA64ISAR1_EL1_API_FPAC ||
	       SYS_FIELD_GET(ID_AA64ISAR2_EL1, APA3, second) >= ID_AA64ISAR2_EL1_APA3_FPAC;
}

#define EXCEPTION(name, class, what, ...)				\
	{ name, ESR_ELx_EC_##class, raises_##what, kprobes_step_##what,	\
	  kprobes_step_##what##_behind, __VA_ARGS__ }

static const struct exception exceptions[] = {
	EXCEPTION("undefined instruction", UNKNOWN, undefined, .probed = true),
	EXCEPTION("no landing pad", BTI, astray, system_supports_bti_kernel),
	EXCEPTION("signature", FPAC, forged, signatures_matter),
	EXCEPTION("BRK", BRK64, brk),
	EXCEPTION("BUG()", BRK64, bug, .reported = true),
};

#endif /* _KPROBES_TESTS_EXCEPTIONS_ARM64_H */
