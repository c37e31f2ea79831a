/* SPDX-License-Identifier: GPL-2.0-only */
/* x86 half of refused.h: see there */
#ifndef _KPROBES_TESTS_REFUSED_X86_H
#define _KPROBES_TESTS_REFUSED_X86_H

#include <asm/suspend.h>

/* At each byte */
#define REFUSED_STEP	1

#define ON_64	IS_ENABLED(CONFIG_X86_64)
#define ON_32	IS_ENABLED(CONFIG_X86_32)

#define WITH(option)	IS_ENABLED(CONFIG_##option)

#define HAVE_ACPI_IDLE	(IS_BUILTIN(CONFIG_ACPI_PROCESSOR) && WITH(ACPI_PROCESSOR_CSTATE))

static const struct refused refused[] = {
	/*
	 * Calls and jumps that ftrace patches, but has in no table, code that it copies, code that
	 * is branched into from another symbol, and code that depends on its exact bytes
	 */
	{ "ftrace_call", WITH(DYNAMIC_FTRACE) }, { "ftrace_regs_call", WITH(DYNAMIC_FTRACE) },
	{ "ftrace_graph_call", ON_32 && WITH(DYNAMIC_FTRACE) && WITH(FUNCTION_GRAPH_TRACER) },
	{ "ftrace_graph_caller", ON_32 && WITH(FUNCTION_GRAPH_TRACER) },
	{ "ftrace_caller", WITH(DYNAMIC_FTRACE) }, { "ftrace_regs_caller", WITH(DYNAMIC_FTRACE) },
	{ "ftrace_caller_op_ptr", ON_64 && WITH(DYNAMIC_FTRACE) },
	{ "ftrace_regs_caller_op_ptr", ON_64 && WITH(DYNAMIC_FTRACE) },
	{ "ftrace_regs_caller_jmp", ON_64 && WITH(DYNAMIC_FTRACE) },
	{ "ftrace_regs_caller_end", ON_64 && WITH(DYNAMIC_FTRACE) },
	{ "srso_alias_untrain_ret", WITH(MITIGATION_SRSO) },
	{ "retbleed_untrain_ret", WITH(MITIGATION_UNRET_ENTRY) },
	/*
	 * Run without an IDT, or without per-CPU data, by a CPU that comes up, resumes, or leaves
	 * for another kernel
	 */
	{ "verify_cpu", true }, { "start_secondary", WITH(SMP) }, { "cr4_init", true },
	{ "native_write_cr0", true }, { "native_write_cr4", true },
	{ "native_write_msr", WITH(PARAVIRT_XXL) }, { "native_load_tr_desc", WITH(PARAVIRT_XXL) },
	{ "native_write_gdt_entry", WITH(PARAVIRT_XXL) },
	{ "native_load_idt", WITH(PARAVIRT_XXL) },
	/* Parts of their callers, although gcc would have functions, if it optimizes for size */
	{ "wrmsr" }, { "wrmsrq" }, { "cr4_set_bits" }, { "cr4_set_bits_irqsoff" },
	{ "do_trace_write_msr", WITH(TRACEPOINTS) }, { "cpu_init_exception_handling", true },
	{ "load_current_idt", true },
	{ "early_cpu_to_node", WITH(NUMA) && WITH(DEBUG_PER_CPU_MAPS) }, { "memset", true },
	{ "machine_kexec", WITH(KEXEC_CORE) }, { "asm_acpi_mp_play_dead", WITH(ACPI_MADT_WAKEUP) },
	{ "relocate_kernel", WITH(KEXEC_CORE) }, { "identity_mapped", WITH(KEXEC_CORE) },
	{ "virtual_mapped", WITH(KEXEC_CORE) }, { "swap_pages", WITH(KEXEC_CORE) },
	{ "core_restore_code", WITH(HIBERNATION) }, { "create_image", WITH(HIBERNATION) },
#ifdef CONFIG_HIBERNATION
	/* Others of that name run with an IDT. */
	{ "restore_registers", true, restore_registers },
#endif
	{ "restore_processor_state", WITH(PM_SLEEP) },
	{ "__restore_processor_state", WITH(PM_SLEEP) },
#ifdef CONFIG_DEBUG_VIRTUAL
	{ "__phys_addr", true },
#endif
	{ "__sanitizer_cov_trace_pc", WITH(KCOV) },
#ifdef CONFIG_X86_64
	{ "secondary_startup_64", true }, { "secondary_startup_64_no_verify", true },
	{ "common_startup_64", true }, { "early_setup_idt", true },
	{ "startup_64_load_idt", true }, { "hv_vtl_ap_entry", WITH(HYPERV_VTL_MODE) },
	{ "setup_ghcb", WITH(AMD_MEM_ENCRYPT) },
	{ "snp_register_ghcb_early", WITH(AMD_MEM_ENCRYPT) },
	{ "snp_register_per_cpu_ghcb", WITH(AMD_MEM_ENCRYPT) }, { "cr4_update_irqsoff", true },
	{ "cpu_init_fred_exceptions", WITH(X86_FRED) }, { "wakeup_long64", WITH(ACPI_SLEEP) },
	{ "do_suspend_lowlevel", WITH(ACPI_SLEEP) },
#else
	{ "startup_32_smp", true }, { "__flush_tlb_all", true }, { "flush_tlb_local", true },
	{ "native_flush_tlb_local", true }, { "native_flush_tlb_global", true },
	{ "wakeup_pmode_return", WITH(ACPI_SLEEP) }, { "wakeup_start", WITH(OLPC_XO1_PM) },
#endif
	/* On a CPU that has reported itself dead */
	{ "native_play_dead", WITH(HOTPLUG_CPU) }, { "play_dead_common", WITH(HOTPLUG_CPU) },
	{ "hlt_play_dead", WITH(HOTPLUG_CPU) }, { "cpuidle_play_dead", WITH(CPU_IDLE) },
	{ "cpuidle_get_cpu_driver", WITH(CPU_IDLE) }, { "acpi_idle_play_dead", HAVE_ACPI_IDLE },
	{ "acpi_mp_play_dead", WITH(ACPI_MADT_WAKEUP) },
	{ "resume_play_dead", WITH(HIBERNATION) && WITH(HOTPLUG_CPU) },
	{ "sev_es_play_dead", WITH(AMD_MEM_ENCRYPT) && WITH(HOTPLUG_CPU) },
	{ "sev_es_ap_hlt_loop", WITH(AMD_MEM_ENCRYPT) && WITH(HOTPLUG_CPU) },
	{ "cpuhp_ap_report_dead", WITH(HOTPLUG_CORE_SYNC_DEAD) },
	{ "tboot_shutdown", WITH(INTEL_TXT) },
	{ "soft_restart_cpu", WITH(AMD_MEM_ENCRYPT) && WITH(HOTPLUG_CPU) },
	{ "xen_pv_play_dead", WITH(XEN_PV) && WITH(HOTPLUG_CPU) },
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
	{ "__efi64_thunk", WITH(EFI_MIXED) },
	/* Called by the tracers of latency and noise at a breakpoint, before kprobes are */
	{ "sched_clock", true }, { "trace_clock_local", WITH(TRACE_CLOCK) },
	{ "trace_hwlat_callback", WITH(HWLAT_TRACER) },
	{ "trace_osnoise_callback", WITH(OSNOISE_TRACER) },
	/* Called by what has the BIOS' segments in the place of the kernel's, or runs there */
	{ "__apm_bios_call", WITH(APM) }, { "__apm_bios_call_simple", WITH(APM) },
	{ "pnp_bios_callfunc", WITH(PNPBIOS) }, { "call_pnp_bios", WITH(PNPBIOS) },
};

static const char * const unreturning[] = { "return_to_handler" };
static const char * const untraced[] = { "do_int3" };

#endif /* _KPROBES_TESTS_REFUSED_X86_H */
