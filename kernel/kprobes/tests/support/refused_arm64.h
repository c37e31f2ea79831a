/* SPDX-License-Identifier: GPL-2.0-only */
/* arm64 half of refused.h: see there */
#ifndef _KPROBES_TESTS_REFUSED_ARM64_H
#define _KPROBES_TESTS_REFUSED_ARM64_H

#include <asm/insn.h>

#define REFUSED_STEP	AARCH64_INSN_SIZE

/* Not every kernel has them all. */
static const struct refused refused[] = {
	/* Calls that ftrace patches, but has in no table */
	{ "ftrace_call" }, { "ftrace_graph_call" },
	/* Run by a CPU that comes up or resumes, before it can take an exception */
	{ "__secondary_switched" }, { "__secondary_too_slow" }, { "set_cpu_boot_mode_flag" },
	{ "finalise_el2" }, { "_cpu_resume" }, { "cpu_do_resume" },
	/* On a CPU that has reported itself dead */
	{ "cpu_die" }, { "cpu_psci_cpu_die" }, { "__psci_cpu_off" }, { "psci_0_1_cpu_off" },
	{ "psci_0_2_cpu_off" }, { "__invoke_psci_fn_hvc" }, { "__invoke_psci_fn_smc" },
	{ "__arm_smccc_hvc" }, { "__arm_smccc_smc" },
	/* On a CPU that is not to boot, which ends in a loop if it cannot be switched off */
	{ "cpu_die_early" }, { "__cpu_try_die" },
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
	/* By exceptions of the kernel's own, before they get anywhere */
	{ "__swpan_entry_el1" }, { "__swpan_entry_el0" }, { "__swpan_exit_el1" },
	{ "__swpan_exit_el0" },
#endif
#ifdef CONFIG_KVM
	/* Between the host and a guest: KVM's vectors take exceptions then */
	{ "__kvm_vcpu_run_vhe" }, { "__kvm_adjust_pc" }, { "__guest_enter" }, { "__guest_exit" },
	{ "__kvm_hyp_vector" }, { "__fpsimd_restore_state" }, { "__vgic_v3_perform_cpuif_access" },
	{ "kvm_skip_instr32" }, { "kvm_unexpected_el2_exception" }, { "vcpu_read_sys_reg" },
	{ "get_timer_map" }, { "kvm_vcpu_sanitise_vncr_reg" }, { "kvm_auth_eretax" },
#endif
#ifdef CONFIG_CRYPTO_AES_ARM64_BS
	/* Constants of AES, which are data */
	{ "M0" }, { "M0SR" }, { "SR" }, { "SRM0" }, { "M0ISR" }, { "ISR" }, { "ISRM0" },
#endif
};

static const char * const unreturning[] = {
	"__cpu_suspend_enter",
#ifdef CONFIG_EFI
	"__efi_rt_asm_recover",
#endif
	"ftrace_caller", "ftrace_graph_caller", "ftrace_stub_direct_tramp", "return_to_handler",
};

static const char * const untraced[] = {
	"do_el1_brk64", "call_el1_break_hook", "debug_exception_enter", "debug_exception_exit",
};

#endif /* _KPROBES_TESTS_REFUSED_ARM64_H */
