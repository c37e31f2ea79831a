// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: functions of the architecture that cannot be probed because of where they run,
 * or because others patch their text
 */

#include <kunit/test.h>
#include <linux/kallsyms.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/extable.h>

#include "support/refused.h"

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

#ifdef CONFIG_CFI
extern s32 __start___kcfi_traps[], __stop___kcfi_traps[];

/* The handler of the trap decodes the mov and the add in front of it, and of the je. */
static void test_decoded_by_a_failed_check(struct kunit *test)
{
	s32 *trap;

	KUNIT_ASSERT_PTR_NE(test, &__start___kcfi_traps[0], &__stop___kcfi_traps[0]);
	for (trap = __start___kcfi_traps; trap < __stop___kcfi_traps; trap += 8) {
		unsigned long addr = (unsigned long)trap + *trap, at;

		for (at = addr - 12; at <= addr; at += 6)
			KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(at), "%pS", (void *)addr);
	}
}
#endif

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
	KUNIT_CASE_PARAM(all_of_it_is_refused, refused_gen_params),
	KUNIT_CASE_PARAM(return_probe_on_it_is_refused, unreturning_gen_params),
	KUNIT_CASE(way_to_the_handlers_is_not_traced),
	KUNIT_CASE(alternatives_are_patched_before_any_probe),
	KUNIT_CASE(test_decoded_by_their_fixup),
#ifdef CONFIG_CFI
	KUNIT_CASE(test_decoded_by_a_failed_check),
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
