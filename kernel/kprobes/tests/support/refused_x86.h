/* SPDX-License-Identifier: GPL-2.0-only */
/* x86 half of refused.h: see there */
#ifndef _KPROBES_TESTS_REFUSED_X86_H
#define _KPROBES_TESTS_REFUSED_X86_H

#include <asm/suspend.h>

/* At each byte */
#define REFUSED_STEP	1

#define ON_64	IS_ENABLED(CONFIG_X86_64)
#define ON_32	IS_ENABLED(CONFIG_X86_32)

#define HAVE_FTRACE	IS_ENABLED(CONFIG_DYNAMIC_FTRACE)
#define HAVE_GRAPH	IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER)
#define HAVE_XXL	IS_ENABLED(CONFIG_PARAVIRT_XXL)
#define HAVE_SEV	IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT)
#define HAVE_UNPLUG	IS_ENABLED(CONFIG_HOTPLUG_CPU)
#define HAVE_KEXEC	IS_ENABLED(CONFIG_KEXEC_CORE)
#define HAVE_SLEEP	IS_ENABLED(CONFIG_ACPI_SLEEP)
#define HAVE_ACPI_IDLE	(IS_BUILTIN(CONFIG_ACPI_PROCESSOR) &&		\
			 IS_ENABLED(CONFIG_ACPI_PROCESSOR_CSTATE))

static const struct refused refused[] = {
	/*
	 * Calls and jumps that ftrace patches, but has in no table, code that it copies, code that
	 * is branched into from another symbol, and code that depends on its exact bytes
	 */
	{ "ftrace_call", HAVE_FTRACE }, { "ftrace_regs_call", HAVE_FTRACE },
	{ "ftrace_graph_call", ON_32 && HAVE_FTRACE && HAVE_GRAPH },
	{ "ftrace_graph_caller", ON_32 && HAVE_GRAPH },
	{ "ftrace_caller", HAVE_FTRACE }, { "ftrace_regs_caller", HAVE_FTRACE },
	{ "ftrace_caller_op_ptr", ON_64 && HAVE_FTRACE },
	{ "ftrace_regs_caller_op_ptr", ON_64 && HAVE_FTRACE },
	{ "ftrace_regs_caller_jmp", ON_64 && HAVE_FTRACE },
	{ "ftrace_regs_caller_end", ON_64 && HAVE_FTRACE },
	{ "srso_alias_untrain_ret", IS_ENABLED(CONFIG_MITIGATION_SRSO) },
	{ "retbleed_untrain_ret", IS_ENABLED(CONFIG_MITIGATION_UNRET_ENTRY) },
	/*
	 * Run without an IDT, or without per-CPU data, by a CPU that comes up, resumes, or leaves
	 * for another kernel
	 */
	{ "verify_cpu", true }, { "start_secondary", IS_ENABLED(CONFIG_SMP) },
	{ "cr4_init", true }, { "native_write_cr0", true }, { "native_write_cr4", true },
	{ "native_write_msr", HAVE_XXL }, { "native_load_tr_desc", HAVE_XXL },
	{ "native_write_gdt_entry", HAVE_XXL }, { "native_load_idt", HAVE_XXL },
	/* Parts of their callers, although gcc would have functions, if it optimizes for size */
	{ "wrmsr" }, { "wrmsrl" }, { "cr4_set_bits" }, { "cr4_set_bits_irqsoff" },
	{ "do_trace_write_msr", IS_ENABLED(CONFIG_TRACEPOINTS) },
	{ "cpu_init_exception_handling", true }, { "load_current_idt", true },
	{ "early_cpu_to_node", IS_ENABLED(CONFIG_NUMA) && IS_ENABLED(CONFIG_DEBUG_PER_CPU_MAPS) },
	{ "memset", true }, { "machine_kexec", HAVE_KEXEC },
	{ "asm_acpi_mp_play_dead", IS_ENABLED(CONFIG_ACPI_MADT_WAKEUP) },
	{ "relocate_kernel", HAVE_KEXEC }, { "identity_mapped", HAVE_KEXEC },
	{ "virtual_mapped", HAVE_KEXEC }, { "swap_pages", HAVE_KEXEC },
	{ "core_restore_code", IS_ENABLED(CONFIG_HIBERNATION) },
	{ "create_image", IS_ENABLED(CONFIG_HIBERNATION) },
#ifdef CONFIG_HIBERNATION
	/* Others of that name run with an IDT. */
	{ "restore_registers", true, restore_registers },
#endif
	{ "restore_processor_state", IS_ENABLED(CONFIG_PM_SLEEP) },
	{ "__restore_processor_state", IS_ENABLED(CONFIG_PM_SLEEP) },
#ifdef CONFIG_DEBUG_VIRTUAL
	{ "__phys_addr", true },
#endif
	{ "__sanitizer_cov_trace_pc", IS_ENABLED(CONFIG_KCOV) },
#ifdef CONFIG_X86_64
	{ "secondary_startup_64", true }, { "secondary_startup_64_no_verify", true },
	{ "common_startup_64", true }, { "early_setup_idt", true },
	{ "startup_64_load_idt", true }, { "hv_vtl_ap_entry", IS_ENABLED(CONFIG_HYPERV_VTL_MODE) },
	{ "setup_ghcb", HAVE_SEV }, { "snp_register_ghcb_early", HAVE_SEV },
	{ "snp_register_per_cpu_ghcb", HAVE_SEV }, { "cr4_update_irqsoff", true },
	{ "cpu_init_fred_exceptions", IS_ENABLED(CONFIG_X86_FRED) },
	{ "wakeup_long64", HAVE_SLEEP }, { "do_suspend_lowlevel", HAVE_SLEEP },
#else
	{ "startup_32_smp", true }, { "__flush_tlb_all", true }, { "flush_tlb_local", true },
	{ "native_flush_tlb_local", true }, { "native_flush_tlb_global", true },
	{ "wakeup_pmode_return", HAVE_SLEEP },
	{ "wakeup_start", IS_ENABLED(CONFIG_OLPC_XO1_PM) },
#endif
	/* On a CPU that has reported itself dead */
	{ "native_play_dead", HAVE_UNPLUG }, { "play_dead_common", HAVE_UNPLUG },
	{ "hlt_play_dead", HAVE_UNPLUG }, { "cpuidle_play_dead", IS_ENABLED(CONFIG_CPU_IDLE) },
	{ "cpuidle_get_cpu_driver", IS_ENABLED(CONFIG_CPU_IDLE) },
	{ "acpi_idle_play_dead", HAVE_ACPI_IDLE },
	{ "acpi_mp_play_dead", IS_ENABLED(CONFIG_ACPI_MADT_WAKEUP) },
	{ "resume_play_dead", IS_ENABLED(CONFIG_HIBERNATION) && HAVE_UNPLUG },
	{ "sev_es_play_dead", HAVE_SEV && HAVE_UNPLUG },
	{ "sev_es_ap_hlt_loop", HAVE_SEV && HAVE_UNPLUG },
	{ "cpuhp_ap_report_dead", IS_ENABLED(CONFIG_HOTPLUG_CORE_SYNC_DEAD) },
	{ "tboot_shutdown", IS_ENABLED(CONFIG_INTEL_TXT) },
	{ "soft_restart_cpu", HAVE_SEV && HAVE_UNPLUG },
	{ "xen_pv_play_dead", IS_ENABLED(CONFIG_XEN_PV) && HAVE_UNPLUG },
	/* End in user mode, as far as RCU knows */
	{ "ret_from_fork", true }, { "ret_from_fork_asm", true },
#if defined(CONFIG_XEN_PV) && !defined(CONFIG_PREEMPTION)
	/*
	 * Where a kernel without preemption is preempted nevertheless. A past bug: a task could be
	 * preempted in a slot there, which was freed then.
	 */
	{ "privcmd_ioctl_hypercall", IS_BUILTIN(CONFIG_XEN_PRIVCMD) },
	{ "privcmd_ioctl_dm_op", IS_BUILTIN(CONFIG_XEN_PRIVCMD) },
	{ "privcmd_ioctl_mmap_resource", IS_BUILTIN(CONFIG_XEN_PRIVCMD) },
#endif
	/* Switches to a stack that is too small for handlers */
	{ "__efi64_thunk", IS_ENABLED(CONFIG_EFI_MIXED) },
	/* Called by the tracers of latency and noise at a breakpoint, before kprobes are */
	{ "sched_clock", true }, { "trace_clock_local", IS_ENABLED(CONFIG_TRACE_CLOCK) },
	{ "trace_hwlat_callback", IS_ENABLED(CONFIG_HWLAT_TRACER) },
	{ "trace_osnoise_callback", IS_ENABLED(CONFIG_OSNOISE_TRACER) },
	/* Called by what has the BIOS' segments in the place of the kernel's, or runs there */
	{ "__apm_bios_call", IS_ENABLED(CONFIG_APM) },
	{ "__apm_bios_call_simple", IS_ENABLED(CONFIG_APM) },
	{ "pnp_bios_callfunc", IS_ENABLED(CONFIG_PNPBIOS) },
	{ "call_pnp_bios", IS_ENABLED(CONFIG_PNPBIOS) },
};

static const char * const unreturning[] = { "return_to_handler" };
static const char * const untraced[] = { "do_int3" };

#endif /* _KPROBES_TESTS_REFUSED_X86_H */
