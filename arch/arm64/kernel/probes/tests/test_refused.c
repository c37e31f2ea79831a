// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: functions of the architecture that cannot be probed because of where they run,
 * or because others patch their text, or can have no return probe; and data among functions
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/kallsyms.h>
#include <linux/kprobes_arch.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <asm/alternative.h>
#include <asm/insn.h>
#include <asm/patching.h>
#include <asm/sysreg.h>

#include "support/text.h"
#include "support/too_early.h"

/* Not every kernel has them all. */
static const char * const names[] = {
	/* Calls that ftrace patches, but has in no table */
	"ftrace_call",
	"ftrace_graph_call",
	/* Run by a CPU that comes up or resumes, before it can take an exception */
	"__secondary_switched",
	"__secondary_too_slow",
	"set_cpu_boot_mode_flag",
	"finalise_el2",
	"_cpu_resume",
	"cpu_do_resume",
	/* On a CPU that has reported itself dead */
	"cpu_die",
	"cpu_psci_cpu_die",
	"__psci_cpu_off",
	"psci_0_1_cpu_off",
	"psci_0_2_cpu_off",
	"__invoke_psci_fn_hvc",
	"__invoke_psci_fn_smc",
	"__arm_smccc_hvc",
	"__arm_smccc_smc",
	/* On a CPU that is not to boot, which ends in a loop if it cannot be switched off */
	"cpu_die_early",
	"__cpu_try_die",
#ifdef CONFIG_ARM64_SW_TTBR0_PAN
	/* By exceptions of the kernel's own, before they get anywhere */
	"__swpan_entry_el1",
	"__swpan_entry_el0",
	"__swpan_exit_el1",
	"__swpan_exit_el0",
#endif
#ifdef CONFIG_KVM
	/* Between the host and a guest: KVM's vectors take exceptions then */
	"__kvm_vcpu_run_vhe",
	"__kvm_adjust_pc",
	"__guest_enter",
	"__guest_exit",
	"__kvm_hyp_vector",
	"__fpsimd_restore_state",
	"__vgic_v3_perform_cpuif_access",
	"kvm_skip_instr32",
	"kvm_unexpected_el2_exception",
	"vcpu_read_sys_reg",
	"get_timer_map",
	"kvm_vcpu_sanitise_vncr_reg",
	"kvm_auth_eretax",
#endif
#ifdef CONFIG_CRYPTO_AES_ARM64_BS
	/* Constants of AES, which are data */
	"M0",
	"M0SR",
	"SR",
	"SRM0",
	"M0ISR",
	"ISR",
	"ISRM0",
#endif
};

static void name_desc(const char * const *name, char *desc)
{
	strscpy(desc, *name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(name, names, name_desc);

/*
 * All of this was accepted once, for instance the loop of a CPU that is not to boot, and
 * constants of AES.
 */
static void all_of_it_is_refused(struct kunit *test)
{
	const char *name = *(const char * const *)test->param_value;
	unsigned long start = kallsyms_lookup_name(name);

	if (!start)
		kunit_skip(test, "there is none");
	kprobes_expect_refused(test, start, AARCH64_INSN_SIZE);
}

static bool writes_page_table(u32 insn)
{
	return (insn & GENMASK(31, 6)) == (0xd5000000 | SYS_TTBR0_EL1);
}

/* A past bug: a handler that read user memory there left another address space's translations. */
static void page_tables_are_not_switched_under_probes(struct kunit *test)
{
	unsigned long start = kallsyms_lookup_name("cpu_do_switch_mm");
	unsigned long size, offset, addr;
	unsigned int writes = 0;
	bool inside = false;
	u32 insn;

	KUNIT_ASSERT_NE(test, start, 0);
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &offset));
	for (addr = start; addr < start + size; addr += AARCH64_INSN_SIZE) {
		KUNIT_ASSERT_EQ(test, 0, aarch64_insn_read((void *)addr, &insn));
		if (writes_page_table(insn)) {
			inside = true;
			writes++;
		}
		if (inside)
			KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr), "%pS", (void *)addr);
		inside = inside && !aarch64_insn_is_isb(insn);
	}
	KUNIT_EXPECT_FALSE(test, inside);
	KUNIT_EXPECT_GE(test, writes, 2);
}

/*
 * An exception calls them on its way to a handler, or a hit does outside of its mark. If they were
 * functions, each object would have its own.
 */
static const char * const always_inlined[] = {
	"preempt_count",
	"__preempt_count_add",
	"__preempt_count_sub",
	"__preempt_count_dec_and_test",
	"__kern_my_cpu_offset",
	"objpool_push",
};

/* A past bug: at -Os, helpers on the way to the handlers could be probed. */
static void what_hits_call_is_no_function(struct kunit *test)
{
	static const char * const suffixes[] = { "", ".constprop.0", ".isra.0", ".part.0" };
	char name[KUNIT_PARAM_DESC_SIZE];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(always_inlined); i++) {
		for (j = 0; j < ARRAY_SIZE(suffixes); j++) {
			snprintf(name, sizeof(name), "%s%s", always_inlined[i], suffixes[j]);
			KUNIT_EXPECT_EQ_MSG(test, 0, kallsyms_lookup_name(name), "%s", name);
		}
	}
}

/* Its parts have symbols of their own. */
static void vectors_that_are_copied_are_refused(struct kunit *test)
{
	unsigned long addr = kallsyms_lookup_name("trans_pgd_stub_vectors");
	unsigned long end = addr + SZ_2K;

	if (!addr)
		kunit_skip(test, "there are none");
	for (; addr < end; addr += AARCH64_INSN_SIZE)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr), "%pS", (void *)addr);
}

/* As above */
static const char * const unreturning[] = {
	"__cpu_suspend_enter",
#ifdef CONFIG_EFI
	"__efi_rt_asm_recover",
#endif
	"ftrace_caller",
	"ftrace_graph_caller",
	"ftrace_stub_direct_tramp",
	"return_to_handler",
};

KUNIT_ARRAY_PARAM(unreturning, unreturning, name_desc);

/*
 * A past bug: return probes on ftrace's assembly were accepted, which finds its way by return
 * addresses.
 */
static void return_probe_on_it_is_refused(struct kunit *test)
{
	struct kretprobe probe = {
		.kp.symbol_name = *(const char * const *)test->param_value,
		/* If it is accepted, the kernel must live long enough to report that. */
		.kp.flags = KPROBE_FLAG_DISABLED,
	};
	int ret;

	if (!kallsyms_lookup_name(probe.kp.symbol_name))
		kunit_skip(test, "there is none");
	ret = register_kretprobe(&probe);
	if (!ret)
		unregister_kretprobe(&probe);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
}

#ifdef CONFIG_CRYPTO_SHA256_ARM64
/* The second word of SHA-256's table of constants; as an instruction it subtracts. */
#define CONSTANT	0x71374491

/* Whatever is between a function and the next symbol can be probed if it looks like code. */
static void constants_are_not_behind_a_function(struct kunit *test)
{
	unsigned long start = kallsyms_lookup_name("sha256_block_data_order");
	unsigned long size, offset, addr;

	KUNIT_ASSERT_NE(test, start, 0);
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &offset));
	for (addr = start; addr < start + size; addr += sizeof(u32))
		KUNIT_EXPECT_NE_MSG(test, CONSTANT, *(const u32 *)addr, "%pS", (void *)addr);
}
#endif

/* A past bug: it was, and some tracers call what can be probed before their guard. */
static void way_to_the_handlers_is_not_traced(struct kunit *test)
{
	kprobes_expect_untraced(test, "do_el1_brk64");
	kprobes_expect_untraced(test, "call_el1_break_hook");
	kprobes_expect_untraced(test, "debug_exception_enter");
	kprobes_expect_untraced(test, "debug_exception_exit");
}

static bool slot_before_alternatives;

static int __init try_slot(void)
{
	kprobe_opcode_t *slot = get_insn_slot();

	slot_before_alternatives = slot && !alternative_is_applied(ARM64_ALWAYS_SYSTEM);
	if (slot)
		free_insn_slot(slot, 0);
	return 0;
}
early_initcall(try_slot);

/* So none of their places has to be refused. */
static void alternatives_are_patched_before_any_probe(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, slot_before_alternatives);
	KUNIT_EXPECT_TRUE(test, alternative_is_applied(ARM64_ALWAYS_SYSTEM));
}

static struct kunit_case refused_cases[] = {
	KUNIT_CASE(too_early_in_boot_is_refused),
	KUNIT_CASE_PARAM(all_of_it_is_refused, name_gen_params),
	KUNIT_CASE(page_tables_are_not_switched_under_probes),
	KUNIT_CASE(what_hits_call_is_no_function),
	KUNIT_CASE(way_to_the_handlers_is_not_traced),
	KUNIT_CASE(alternatives_are_patched_before_any_probe),
	KUNIT_CASE(vectors_that_are_copied_are_refused),
	KUNIT_CASE_PARAM(return_probe_on_it_is_refused, unreturning_gen_params),
#ifdef CONFIG_CRYPTO_SHA256_ARM64
	KUNIT_CASE(constants_are_not_behind_a_function),
#endif
	{ }
};

static struct kunit_suite refused_suite = {
	.name		= "kprobes_arm64_refused",
	.test_cases	= refused_cases,
};

kunit_test_suite(refused_suite);
