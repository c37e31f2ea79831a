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
#include <asm/text-patching.h>
#include <asm/sysreg.h>

#include "support/refused.h"

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

#ifdef CONFIG_CRYPTO_LIB_SHA256_ARCH
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
	KUNIT_CASE_PARAM(all_of_it_is_refused, refused_gen_params),
	KUNIT_CASE_PARAM(return_probe_on_it_is_refused, unreturning_gen_params),
	KUNIT_CASE(way_to_the_handlers_is_not_traced),
	KUNIT_CASE(page_tables_are_not_switched_under_probes),
	KUNIT_CASE(what_hits_call_is_no_function),
	KUNIT_CASE(alternatives_are_patched_before_any_probe),
	KUNIT_CASE(vectors_that_are_copied_are_refused),
#ifdef CONFIG_CRYPTO_LIB_SHA256_ARCH
	KUNIT_CASE(constants_are_not_behind_a_function),
#endif
	{ }
};

static struct kunit_suite refused_suite = {
	.name		= "kprobes_arm64_refused",
	.test_cases	= refused_cases,
};

kunit_test_suite(refused_suite);
