/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KPROBES_TESTS_UACCESS_X86_H
#define _KPROBES_TESTS_UACCESS_X86_H

#include <linux/cpufeature.h>
#include <linux/stringify.h>
#include <asm/irqflags.h>
#include <asm/processor-flags.h>

/* The flag that makes user memory accessible, on a processor with SMAP */
#define KPROBES_AC	"$" __stringify(X86_EFLAGS_AC_BIT)

/* Has user memory been made accessible? Without SMAP it always is, and this is false. */
static inline bool kprobes_uaccess(void)
{
	return boot_cpu_has(X86_FEATURE_SMAP) && native_save_fl() & X86_EFLAGS_AC;
}

#endif /* _KPROBES_TESTS_UACCESS_X86_H */
