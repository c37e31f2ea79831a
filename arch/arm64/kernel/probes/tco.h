/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_TCO_H
#define __ARM64_KERNEL_PROBES_TCO_H

#include <asm/sysreg.h>

/* PSTATE.TCO, for MRS and for MSR from a register */
#define SYS_PSTATE_TCO	sys_reg(3, 3, 4, 2, 7)

#endif /* __ARM64_KERNEL_PROBES_TCO_H */
