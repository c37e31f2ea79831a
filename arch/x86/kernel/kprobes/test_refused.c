// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: functions of the architecture that cannot be probed because of where they run,
 * or because others patch their text
 */

#include <kunit/test.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <asm/asm.h>
#include <asm/extable.h>
#include <asm/suspend.h>

#include "../../../../lib/test_kprobes/text.h"

/*
 * Calls and jumps that ftrace patches, but has in no table, code that is branched into from
 * another symbol, and code that depends on its exact bytes. Not every kernel has all of these.
 */
static const char * const patched[] = {
	"ftrace_call",
	"ftrace_regs_call",
	"ftrace_graph_call",
	"ftrace_regs_caller_end",
	"srso_alias_untrain_ret",
	"retbleed_untrain_ret",
};

/* Run without an IDT, by a CPU that comes up, resumes, or leaves for another kernel */
static const char * const without_idt[] = {
	"verify_cpu",
	"start_secondary",
	"cr4_init",
	"native_write_cr0",
	"native_write_cr4",
	"native_write_msr",
	"native_load_tr_desc",
	"native_write_gdt_entry",
	"native_load_idt",
	"do_trace_write_msr",
	"cpu_init_exception_handling",
	"load_current_idt",
	"machine_kexec",
	"asm_acpi_mp_play_dead",
	"relocate_kernel",
	"identity_mapped",
	"virtual_mapped",
	"swap_pages",
	"core_restore_code",
	"restore_processor_state",
#ifdef CONFIG_X86_64
	"secondary_startup_64",
	"secondary_startup_64_no_verify",
	"common_startup_64",
	"early_setup_idt",
	"setup_ghcb",
	"snp_register_ghcb_early",
	"snp_register_per_cpu_ghcb",
	"cr4_update_irqsoff",
	"cpu_init_fred_exceptions",
	"wakeup_long64",
	"do_suspend_lowlevel",
#else
	"startup_32_smp",
	"__flush_tlb_all",
	"flush_tlb_local",
	"native_flush_tlb_local",
	"native_flush_tlb_global",
	"wakeup_pmode_return",
	"wakeup_start",
#endif
};

/* On a CPU that has reported itself dead */
static const char * const dead[] = {
	"native_play_dead",
	"play_dead_common",
	"hlt_play_dead",
	"cpuidle_play_dead",
	"acpi_idle_play_dead",
	"acpi_mp_play_dead",
	"resume_play_dead",
	"sev_es_play_dead",
	"sev_es_ap_hlt_loop",
	"xen_pv_play_dead",
};

/* End in user mode, as far as RCU knows */
static const char * const after_user_enter[] = {
	"ret_from_fork",
	"ret_from_fork_asm",
};

/* Called by the tracers of latency and noise at a breakpoint, before kprobes are */
static const char * const before[] = {
	"sched_clock",
	"trace_clock_local",
	"trace_hwlat_callback",
	"trace_osnoise_callback",
};

/* Returns whether there is such a function. */
static bool expect_refused(struct kunit *test, const char *name)
{
	unsigned long start = kallsyms_lookup_name(name);

	if (start)
		kprobes_expect_refused(test, start, 1);
	return start;
}

/* Returns how many of these functions there are. One that was renamed is skipped. */
static int expect_all_refused(struct kunit *test, const char * const *names, int num)
{
	int i, found = 0;

	for (i = 0; i < num; i++)
		found += expect_refused(test, names[i]);
	return found;
}

static void test_patched(struct kunit *test)
{
	expect_all_refused(test, patched, ARRAY_SIZE(patched));
	if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE))
		KUNIT_EXPECT_NE(test, 0, kallsyms_lookup_name("ftrace_call"));
	if (IS_ENABLED(CONFIG_MITIGATION_SRSO))
		KUNIT_EXPECT_NE(test, 0, kallsyms_lookup_name("srso_alias_untrain_ret"));
}

static void test_without_idt(struct kunit *test)
{
	int found = expect_all_refused(test, without_idt, ARRAY_SIZE(without_idt));

	/* Every kernel has some of these functions, as the first CPU executes them, too. */
	KUNIT_EXPECT_GE(test, found, 5);

	/* By its address: other functions of that name run with an IDT. */
	if (IS_ENABLED(CONFIG_HIBERNATION))
		kprobes_expect_refused(test, (unsigned long)restore_registers, 1);
}

static void test_dead(struct kunit *test)
{
	expect_all_refused(test, dead, ARRAY_SIZE(dead));
	if (IS_ENABLED(CONFIG_HOTPLUG_CPU))
		KUNIT_EXPECT_NE(test, 0, kallsyms_lookup_name("native_play_dead"));
}

static void test_before(struct kunit *test)
{
	expect_all_refused(test, before, ARRAY_SIZE(before));
	KUNIT_EXPECT_NE(test, 0, kallsyms_lookup_name("sched_clock"));
}

static void test_after_user_enter(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(after_user_enter),
			expect_all_refused(test, after_user_enter, ARRAY_SIZE(after_user_enter)));
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

#ifdef CONFIG_APM
/* Called by what has the BIOS' segments in the place of the kernel's */
static void test_with_segments_of_the_bios(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, expect_refused(test, "__apm_bios_call"));
	KUNIT_EXPECT_TRUE(test, expect_refused(test, "__apm_bios_call_simple"));
}
#endif

#ifdef CONFIG_CFI_CLANG
extern s32 __start___kcfi_traps[], __stop___kcfi_traps[];

/* The handler of the trap decodes the mov and the add in front of it, and of the je. */
static void test_decoded_by_a_failed_check(struct kunit *test)
{
	s32 *trap;

	KUNIT_ASSERT_LT(test, __start___kcfi_traps, __stop___kcfi_traps);
	for (trap = __start___kcfi_traps; trap < __stop___kcfi_traps; trap += 8) {
		unsigned long addr = (unsigned long)trap + *trap;

		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr - 12), "%pS", (void *)addr);
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr - 6), "%pS", (void *)addr);
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr), "%pS", (void *)addr);
	}
}
#endif

static struct kunit_case refused_cases[] = {
	KUNIT_CASE(test_patched),
	KUNIT_CASE(test_without_idt),
	KUNIT_CASE(test_dead),
	KUNIT_CASE(test_before),
	KUNIT_CASE(test_after_user_enter),
	KUNIT_CASE(test_decoded_by_their_fixup),
#ifdef CONFIG_CFI_CLANG
	KUNIT_CASE(test_decoded_by_a_failed_check),
#endif
#ifdef CONFIG_APM
	KUNIT_CASE(test_with_segments_of_the_bios),
#endif
	{ }
};

static struct kunit_suite refused_suite = {
	.name		= "kprobes_x86_refused",
	.test_cases	= refused_cases,
};

kunit_test_suite(refused_suite);
