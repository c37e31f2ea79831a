/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_PSTATE_H
#define __ARM64_KERNEL_PROBES_PSTATE_H

#include <asm/ptrace.h>
#include <asm/sysreg.h>

/* Parts of PSTATE, for MRS and for MSR from a register; PAN is in asm/sysreg.h */
#define SYS_PSTATE_DIT	sys_reg(3, 3, 4, 2, 5)
#define SYS_PSTATE_SSBS	sys_reg(3, 3, 4, 2, 6)
#define SYS_PSTATE_TCO	sys_reg(3, 3, 4, 2, 7)

#define PSR_STATUS_BITS	(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)

#endif /* __ARM64_KERNEL_PROBES_PSTATE_H */
