// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: functions of the architecture that cannot be probed because of where they run,
 * or because others patch their text
 */

#include <kunit/test.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/extable.h>
#include <asm/suspend.h>

#include "support/text.h"
#include "support/too_early.h"

/**
 * struct function - a function that must be refused as a whole
 * @name:	its name
 * @exists:	whether this kernel has it, by its configuration
 */
struct function {
	const char	*name;
	bool		exists;
};

#define ON_64	IS_ENABLED(CONFIG_X86_64)
#define ON_32	IS_ENABLED(CONFIG_X86_32)

/*
 * Calls and jumps that ftrace patches, but has in no table, code that it copies, code that is
 * branched into from another symbol, and code that depends on its exact bytes.
 */
static const struct function patched[] = {
	{ "ftrace_call", IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "ftrace_regs_call", IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "ftrace_graph_call", ON_32 && IS_ENABLED(CONFIG_DYNAMIC_FTRACE) &&
			       IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER) },
	{ "ftrace_graph_caller", ON_32 && IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER) },
	{ "ftrace_caller", IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "ftrace_regs_caller", IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "ftrace_caller_op_ptr", ON_64 && IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "ftrace_regs_caller_op_ptr", ON_64 && IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "ftrace_regs_caller_jmp", ON_64 && IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "ftrace_regs_caller_end", ON_64 && IS_ENABLED(CONFIG_DYNAMIC_FTRACE) },
	{ "srso_alias_untrain_ret", IS_ENABLED(CONFIG_MITIGATION_SRSO) },
	{ "retbleed_untrain_ret", IS_ENABLED(CONFIG_MITIGATION_UNRET_ENTRY) },
};

/*
 * Run without an IDT, or without per-CPU data, by a CPU that comes up, resumes, or leaves for
 * another kernel
 */
static const struct function without_idt[] = {
	{ "verify_cpu", true },
	{ "start_secondary", IS_ENABLED(CONFIG_SMP) },
	{ "cr4_init", true },
	{ "native_write_cr0", true },
	{ "native_write_cr4", true },
	{ "native_write_msr", IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	{ "native_load_tr_desc", IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	{ "native_write_gdt_entry", IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	{ "native_load_idt", IS_ENABLED(CONFIG_PARAVIRT_XXL) },
	/* Parts of their callers, although gcc would have functions, if it optimizes for size */
	{ "wrmsr", false },
	{ "wrmsrl", false },
	{ "cr4_set_bits", false },
	{ "cr4_set_bits_irqsoff", false },
	{ "do_trace_write_msr", IS_ENABLED(CONFIG_TRACEPOINTS) },
	{ "cpu_init_exception_handling", true },
	{ "load_current_idt", true },
	{ "early_cpu_to_node", IS_ENABLED(CONFIG_NUMA) && IS_ENABLED(CONFIG_DEBUG_PER_CPU_MAPS) },
	{ "memset", true },
	{ "machine_kexec", IS_ENABLED(CONFIG_KEXEC_CORE) },
	{ "asm_acpi_mp_play_dead", IS_ENABLED(CONFIG_ACPI_MADT_WAKEUP) },
	{ "relocate_kernel", IS_ENABLED(CONFIG_KEXEC_CORE) },
	{ "identity_mapped", IS_ENABLED(CONFIG_KEXEC_CORE) },
	{ "virtual_mapped", IS_ENABLED(CONFIG_KEXEC_CORE) },
	{ "swap_pages", IS_ENABLED(CONFIG_KEXEC_CORE) },
	{ "core_restore_code", IS_ENABLED(CONFIG_HIBERNATION) },
	{ "create_image", IS_ENABLED(CONFIG_HIBERNATION) },
	{ "restore_processor_state", IS_ENABLED(CONFIG_PM_SLEEP) },
	{ "__restore_processor_state", IS_ENABLED(CONFIG_PM_SLEEP) },
#ifdef CONFIG_DEBUG_VIRTUAL
	{ "__phys_addr", true },
#endif
	{ "__sanitizer_cov_trace_pc", IS_ENABLED(CONFIG_KCOV) },
#ifdef CONFIG_X86_64
	{ "secondary_startup_64", true },
	{ "secondary_startup_64_no_verify", true },
	{ "common_startup_64", true },
	{ "early_setup_idt", true },
	{ "startup_64_load_idt", true },
	{ "hv_vtl_ap_entry", IS_ENABLED(CONFIG_HYPERV_VTL_MODE) },
	{ "setup_ghcb", IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT) },
	{ "snp_register_ghcb_early", IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT) },
	{ "snp_register_per_cpu_ghcb", IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT) },
	{ "cr4_update_irqsoff", true },
	{ "cpu_init_fred_exceptions", IS_ENABLED(CONFIG_X86_FRED) },
	{ "wakeup_long64", IS_ENABLED(CONFIG_ACPI_SLEEP) },
	{ "do_suspend_lowlevel", IS_ENABLED(CONFIG_ACPI_SLEEP) },
#else
	{ "startup_32_smp", true },
	{ "__flush_tlb_all", true },
	{ "flush_tlb_local", true },
	{ "native_flush_tlb_local", true },
	{ "native_flush_tlb_global", true },
	{ "wakeup_pmode_return", IS_ENABLED(CONFIG_ACPI_SLEEP) },
	{ "wakeup_start", IS_ENABLED(CONFIG_OLPC_XO1_PM) },
#endif
};

#define HAVE_ACPI_IDLE	(IS_BUILTIN(CONFIG_ACPI_PROCESSOR) &&		\
			 IS_ENABLED(CONFIG_ACPI_PROCESSOR_CSTATE))

/* On a CPU that has reported itself dead */
static const struct function dead[] = {
	{ "native_play_dead", IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "play_dead_common", IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "hlt_play_dead", IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "cpuidle_play_dead", IS_ENABLED(CONFIG_CPU_IDLE) },
	{ "cpuidle_get_cpu_driver", IS_ENABLED(CONFIG_CPU_IDLE) },
	{ "acpi_idle_play_dead", HAVE_ACPI_IDLE },
	{ "acpi_mp_play_dead", IS_ENABLED(CONFIG_ACPI_MADT_WAKEUP) },
	{ "resume_play_dead", IS_ENABLED(CONFIG_HIBERNATION) && IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "sev_es_play_dead", IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT) &&
			      IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "sev_es_ap_hlt_loop", IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT) &&
				IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "cpuhp_ap_report_dead", IS_ENABLED(CONFIG_HOTPLUG_CORE_SYNC_DEAD) },
	{ "tboot_shutdown", IS_ENABLED(CONFIG_INTEL_TXT) },
	{ "soft_restart_cpu", IS_ENABLED(CONFIG_AMD_MEM_ENCRYPT) &&
			      IS_ENABLED(CONFIG_HOTPLUG_CPU) },
	{ "xen_pv_play_dead", IS_ENABLED(CONFIG_XEN_PV) && IS_ENABLED(CONFIG_HOTPLUG_CPU) },
};

/* End in user mode, as far as RCU knows */
static const struct function after_user_enter[] = {
	{ "ret_from_fork", true },
	{ "ret_from_fork_asm", true },
};

/* Where a kernel without preemption is preempted nevertheless */
static const struct function preempted[] = {
#if defined(CONFIG_XEN_PV) && !defined(CONFIG_PREEMPTION)
	{ "privcmd_ioctl_hypercall", IS_BUILTIN(CONFIG_XEN_PRIVCMD) },
	{ "privcmd_ioctl_dm_op", IS_BUILTIN(CONFIG_XEN_PRIVCMD) },
	{ "privcmd_ioctl_mmap_resource", IS_BUILTIN(CONFIG_XEN_PRIVCMD) },
#endif
};

/* Switch to a stack that is too small for handlers */
static const struct function on_another_stack[] = {
	{ "__efi64_thunk", IS_ENABLED(CONFIG_EFI_MIXED) },
};

/* Called by the tracers of latency and noise at a breakpoint, before kprobes are */
static const struct function before[] = {
	{ "sched_clock", true },
	{ "trace_clock_local", IS_ENABLED(CONFIG_TRACE_CLOCK) },
	{ "trace_hwlat_callback", IS_ENABLED(CONFIG_HWLAT_TRACER) },
	{ "trace_osnoise_callback", IS_ENABLED(CONFIG_OSNOISE_TRACER) },
};

static void expect_refused(struct kunit *test, const struct function *f)
{
	unsigned long start = kallsyms_lookup_name(f->name);

	/* One that was renamed must be renamed here, too. */
	KUNIT_EXPECT_TRUE_MSG(test, start || !f->exists, "there is no %s", f->name);
	if (start)
		kprobes_expect_refused(test, start, 1);
}

static void expect_all_refused(struct kunit *test, const struct function *f, int num)
{
	while (num--)
		expect_refused(test, f++);
}

static void test_patched(struct kunit *test)
{
	expect_all_refused(test, patched, ARRAY_SIZE(patched));
}

/*
 * A past bug: writes to MSRs, which are functions at -Os, and more that a CPU calls when it
 * comes up were accepted.
 */
static void test_without_idt(struct kunit *test)
{
	expect_all_refused(test, without_idt, ARRAY_SIZE(without_idt));

	/* By its address: other functions of that name run with an IDT. */
	if (IS_ENABLED(CONFIG_HIBERNATION))
		kprobes_expect_refused(test, (unsigned long)restore_registers, 1);
}

static void test_dead(struct kunit *test)
{
	expect_all_refused(test, dead, ARRAY_SIZE(dead));
}

static void test_before(struct kunit *test)
{
	expect_all_refused(test, before, ARRAY_SIZE(before));
}

/* A past bug: there a task could be preempted in a slot, which was freed then. */
static void test_preempted(struct kunit *test)
{
	if (!ARRAY_SIZE(preempted))
		kunit_skip(test, "Xen preempts nobody in this kernel");
	expect_all_refused(test, preempted, ARRAY_SIZE(preempted));
}

static void test_on_another_stack(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_EFI_MIXED))
		kunit_skip(test, "no firmware of 32 bits is called");
	expect_all_refused(test, on_another_stack, ARRAY_SIZE(on_another_stack));
}

static void test_after_user_enter(struct kunit *test)
{
	expect_all_refused(test, after_user_enter, ARRAY_SIZE(after_user_enter));
}

extern struct exception_table_entry __start___ex_table[], __stop___ex_table[];

static unsigned long place_of(struct exception_table_entry *entry)
{
	return (unsigned long)&entry->insn + entry->insn;
}

/* Loads whose fixup decodes them: load_unaligned_zeropad() */
static void test_decoded_by_their_fixup(struct kunit *test)
{
	struct exception_table_entry *entry;
	unsigned int tried = 0;
	unsigned long addr;

	for (entry = __start___ex_table; entry < __stop___ex_table; entry++) {
		addr = place_of(entry);
		if (ex_get_fixup_type(addr) != EX_TYPE_ZEROPAD)
			continue;
		tried++;
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr), "%pS", (void *)addr);
	}
	KUNIT_EXPECT_GT(test, tried, 0);
}

#if defined(CONFIG_APM) || defined(CONFIG_PNPBIOS)
/* Called by what has the BIOS' segments in the place of the kernel's, or runs there */
static const struct function in_the_bios[] = {
	{ "__apm_bios_call", IS_ENABLED(CONFIG_APM) },
	{ "__apm_bios_call_simple", IS_ENABLED(CONFIG_APM) },
	{ "pnp_bios_callfunc", IS_ENABLED(CONFIG_PNPBIOS) },
	{ "call_pnp_bios", IS_ENABLED(CONFIG_PNPBIOS) },
};

static void test_with_segments_of_the_bios(struct kunit *test)
{
	expect_all_refused(test, in_the_bios, ARRAY_SIZE(in_the_bios));
}
#endif

#define RESUMES_ON_32	(ON_32 && (IS_ENABLED(CONFIG_ACPI_SLEEP) ||		\
				   IS_ENABLED(CONFIG_OLPC_XO1_PM)))

#if RESUMES_ON_32
/* Run by a CPU that resumes, without the segment of its per-CPU data */
static const char * const without_percpu_data[] = { "ret_point", "restore_registers" };

static int expect_one_refused(void *test, unsigned long start)
{
	kprobes_expect_refused(test, start, 1);
	return 0;
}

/* Several files have them, each by the same names. */
static void test_without_percpu_data(struct kunit *test)
{
	const char *name;
	int i;

	for (i = 0; i < ARRAY_SIZE(without_percpu_data); i++) {
		name = without_percpu_data[i];
		KUNIT_EXPECT_NE_MSG(test, 0, kallsyms_lookup_name(name), "there is no %s", name);
		kallsyms_on_each_match_symbol(expect_one_refused, name, test);
	}
}
#endif

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
/* It is not called, so there is no return address to be replaced. */
static void test_returned_to(struct kunit *test)
{
	struct kretprobe rp = {
		.kp.symbol_name	= "return_to_handler",
		.kp.flags	= KPROBE_FLAG_DISABLED,
	};
	int err = register_kretprobe(&rp);

	KUNIT_EXPECT_EQ(test, -EINVAL, err);
	if (!err)
		unregister_kretprobe(&rp);
}
#endif

#ifdef CONFIG_CFI_CLANG
extern s32 __start___kcfi_traps[], __stop___kcfi_traps[];

/* The handler of the trap decodes the mov and the add in front of it, and of the je. */
static void test_decoded_by_a_failed_check(struct kunit *test)
{
	s32 *trap;

	KUNIT_ASSERT_PTR_NE(test, &__start___kcfi_traps[0], &__stop___kcfi_traps[0]);
	for (trap = __start___kcfi_traps; trap < __stop___kcfi_traps; trap += 8) {
		unsigned long addr = (unsigned long)trap + *trap;

		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr - 12), "%pS", (void *)addr);
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr - 6), "%pS", (void *)addr);
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr), "%pS", (void *)addr);
	}
}
#endif

static void way_to_the_handlers_is_not_traced(struct kunit *test)
{
	kprobes_expect_untraced(test, "do_int3");
}

static int patched_early;

static int __init note_alternatives(void)
{
	patched_early = alternatives_patched;
	return 0;
}
early_initcall(note_alternatives);

/* So none of their places has to be refused. */
static void alternatives_are_patched_before_any_probe(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, patched_early);
}

static struct kunit_case refused_cases[] = {
	KUNIT_CASE(too_early_in_boot_is_refused),
	KUNIT_CASE(way_to_the_handlers_is_not_traced),
	KUNIT_CASE(alternatives_are_patched_before_any_probe),
	KUNIT_CASE(test_patched),
	KUNIT_CASE(test_without_idt),
	KUNIT_CASE(test_dead),
	KUNIT_CASE(test_before),
	KUNIT_CASE(test_preempted),
	KUNIT_CASE(test_on_another_stack),
	KUNIT_CASE(test_after_user_enter),
	KUNIT_CASE(test_decoded_by_their_fixup),
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	KUNIT_CASE(test_returned_to),
#endif
#ifdef CONFIG_CFI_CLANG
	KUNIT_CASE(test_decoded_by_a_failed_check),
#endif
#if defined(CONFIG_APM) || defined(CONFIG_PNPBIOS)
	KUNIT_CASE(test_with_segments_of_the_bios),
#endif
#if RESUMES_ON_32
	KUNIT_CASE(test_without_percpu_data),
#endif
	{ }
};

static struct kunit_suite refused_suite = {
	.name		= "kprobes_x86_refused",
	.test_cases	= refused_cases,
};

kunit_test_suite(refused_suite);
