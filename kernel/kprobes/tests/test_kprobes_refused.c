// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what can be probed. Addresses that must not be, by the kernel's
 * own tables, are refused. In a function, only instructions are accepted, and it
 * works with a probe on each of them. Built-in only.
 */
#include <linux/bug.h>
#include <linux/ftrace.h>
#include <linux/kprobes_arch.h>
#include <asm/sections.h>

#include "support/patched.h"
#include "support/probe.h"

KUNIT_ARRAY_PARAM_DESC(entry, kprobes_entries, name);

/* Text that is patched by others */

/* Addresses that must be refused: how many were tried, and how many were not refused */
struct refused_area {
	struct kunit *test;
	unsigned int tried, accepted;
};

static bool is_refusal(int ret)
{
	return ret == -EINVAL || ret == -EOPNOTSUPP || ret == -ENOENT || ret == -EILSEQ;
}

static void expect_refused(struct refused_area *area, unsigned long addr)
{
	int ret = kprobes_try(addr);

	area->tried++;
	if (!is_refusal(ret) && area->accepted++ < 10)
		kunit_err(area->test, "%pS: answer %d", (void *)addr, ret);
	cond_resched();
}

static void expect_all_refused(struct refused_area *area)
{
	kunit_info(area->test, "%u addresses tried", area->tried);
	KUNIT_EXPECT_GT(area->test, area->tried, 0);
	KUNIT_EXPECT_EQ(area->test, area->accepted, 0);
}

static void need_init_data(struct kunit *test)
{
	if (system_state >= SYSTEM_FREEING_INITMEM)
		kunit_skip(test, "the list was in init data");
}

/* A case for a table of the kernel's: @at is the address that @entry stands for. */
#define TABLE_IS_REFUSED(name, table, at)					\
static void name(struct kunit *test)						\
{										\
	struct refused_area area = { .test = test };				\
	typeof(__start_##table[0]) *entry;					\
										\
	for (entry = __start_##table; entry < __stop_##table; entry++)		\
		expect_refused(&area, (unsigned long)(at));			\
	expect_all_refused(&area);						\
}

#define TABLE_IS_MISSING(name, why)						\
static void name(struct kunit *test)						\
{										\
	kunit_skip(test, why);							\
}

#ifdef CONFIG_JUMP_LABEL
TABLE_IS_REFUSED(jump_labels_are_refused, __jump_table, jump_entry_code(entry))
#else
TABLE_IS_MISSING(jump_labels_are_refused, "no jump labels")
#endif

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];

TABLE_IS_REFUSED(static_calls_are_refused, static_call_sites, kprobes_static_call_site(entry))
#else
TABLE_IS_MISSING(static_calls_are_refused, "no inline static calls")
#endif

/* A past bug: a jump covered a BUG(). */
#ifdef CONFIG_GENERIC_BUG
extern struct bug_entry __start___bug_table[], __stop___bug_table[];

TABLE_IS_REFUSED(bug_and_warn_sites_are_refused, __bug_table, kprobes_bug_site(entry))
#else
TABLE_IS_MISSING(bug_and_warn_sites_are_refused, "no table of BUG() sites")
#endif

/* Addresses by the prefix of their symbol */

struct refused_names {
	struct refused_area area;
	const char *prefix;
	unsigned int seen, every;
};

/* The first address of a section is always tried: the section's own symbol is there, too. */
static int expect_name_refused(void *data, const char *name, unsigned long addr)
{
	struct refused_names *names = data;

	if (!str_has_prefix(name, names->prefix))
		return 0;
	if (!(names->seen++ % names->every) || addr == (unsigned long)_sinittext)
		expect_refused(&names->area, addr);
	return 0;
}

static void expect_names_refused(struct kunit *test, const char *prefix, unsigned int every)
{
	struct refused_names names = {
		.area.test = test, .prefix = prefix, .every = every,
	};

	kallsyms_on_each_symbol(expect_name_refused, &names);
	if (!names.seen)
		kunit_skip(test, "no symbol begins with %s", prefix);
	expect_all_refused(&names.area);
}

static void trampolines_of_static_calls_are_refused(struct kunit *test)
{
	expect_names_refused(test, STATIC_CALL_TRAMP_PREFIX_STR, 1);
}

/* There is one for each function, so not all are tried. */
static void padding_before_functions_is_refused(struct kunit *test)
{
	expect_names_refused(test, "__pfx_", 16);
}

static u32 type_before(u32 (*function)(u32 x))
{
	return *((u32 *)function - 1);
}

static void expect_type_refused(void *area, unsigned long start, unsigned long end)
{
	if (end < (unsigned long)_etext)
		expect_refused(area, end - sizeof(u32));
}

/* A type is a word among the instructions. Those before the targets are all the same. */
static void expect_types_refused(struct kunit *test)
{
	struct refused_area area = { .test = test };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kprobes_entries); i++) {
		KUNIT_EXPECT_EQ(test, type_before(kprobes_entries[i].call),
				type_before(kprobes_traced));
		expect_refused(&area, (unsigned long)kprobes_entries[i].call - sizeof(u32));
	}
	kprobes_walk_text(16, expect_type_refused, &area);
	expect_all_refused(&area);
}

/*
 * On other architectures than arm64, types have symbols. A past bug: a probe was placed on
 * what control flow integrity reads as data.
 */
static void types_before_functions_are_refused(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_CFI) && IS_ENABLED(CONFIG_ARM64))
		expect_types_refused(test);
	else
		expect_names_refused(test, "__cfi_", 16);
}

KPROBES_TARGET(listed_behind, 301)

/*
 * A bad entry of the list, and a good one right behind it, which must take effect all the same.
 * Aligned, or the compiler may align an array more than the list is.
 */
static unsigned long no_function;
static unsigned long bad_then_good[] __used __section("_kprobe_blacklist")
	__aligned(sizeof(unsigned long)) = {
	(unsigned long)&no_function, (unsigned long)listed_behind,
};

/* A past bug: an entry that is no text spoiled those behind it. This kernel has one. */
static void blacklisted_functions_are_refused(struct kunit *test)
{
	struct refused_area area = { .test = test };
	bool bad = false, good_behind = false;
	unsigned long *entry;

	need_init_data(test);
	for (entry = __start_kprobe_blacklist; entry < __stop_kprobe_blacklist; entry++) {
		void *function = dereference_function_descriptor((void *)*entry);

		if (*entry == (unsigned long)&no_function) {
			KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(*entry));
			bad = true;
			continue;
		}
		good_behind |= bad && function == dereference_function_descriptor(listed_behind);
		KUNIT_EXPECT_TRUE_MSG(test, within_kprobe_blacklist((unsigned long)function),
				      "%pS", function);
		expect_refused(&area, (unsigned long)function);
	}
	expect_all_refused(&area);
	KUNIT_EXPECT_TRUE(test, good_behind);
}

/* Some architectures have no such section. */
extern char __entry_text_start[] __weak, __entry_text_end[] __weak;

static void code_below_the_probes_is_refused(struct kunit *test)
{
	const struct {
		const char *start, *end;
	} sections[] = {
		{ __entry_text_start, __entry_text_end },
		{ __kprobes_text_start, __kprobes_text_end },
		{ __noinstr_text_start, __noinstr_text_end },
	};
	struct refused_area area = { .test = test };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		const char *addr;

		for (addr = sections[i].start; addr < sections[i].end; addr += 8)
			expect_refused(&area, (unsigned long)addr);
	}
	expect_all_refused(&area);
}

#ifdef CONFIG_FTRACE_MCOUNT_RECORD
extern unsigned long __start_mcount_loc[], __stop_mcount_loc[];

/* Some entries of the list are empty, or are not patched any more. */
static unsigned long ftrace_site(unsigned long entry)
{
	return entry ? ftrace_location(ftrace_call_adjust(entry)) : 0;
}
#endif

/* And the pointer before a function, by which ftrace finds its ops, if there is one */
static void inside_of_an_ftrace_site_is_refused(struct kunit *test)
{
#ifdef CONFIG_FTRACE_MCOUNT_RECORD
	struct refused_area area = { .test = test };
	unsigned long *entry;

	need_init_data(test);
	for (entry = __start_mcount_loc; entry < __stop_mcount_loc; entry++) {
		unsigned long site = ftrace_site(*entry), offset, size;

		if (!site)
			continue;
		expect_refused(&area, site + 1 + (entry - __start_mcount_loc) %
				       (MCOUNT_INSN_SIZE - 1));
		if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) &&
		    kallsyms_lookup_size_offset(site, &size, &offset)) {
			expect_refused(&area, site - offset - 4);
			expect_refused(&area, site - offset - 8);
		}
	}
	expect_all_refused(&area);
#else
	kunit_skip(test, "the kernel does not trace functions");
#endif
}

static void entry_of_an_ftrace_site_needs_ftrace(struct kunit *test)
{
	struct refused_area area = { .test = test };
	unsigned long site = ftrace_location((unsigned long)kprobes_traced);

	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) || !site)
		kunit_skip(test, "ftrace calls the probes, or there is none");
	expect_refused(&area, site);
	expect_all_refused(&area);
}

/* Every instruction of a function; none of the probes has a handler */

/* A past bug: a probe was accepted inside of an instruction. */
static void every_instruction_and_nothing_else_is_accepted(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct kprobes_text *text = kprobes_text_watch(test, step->call);
	unsigned int accepted = 0, refused = 0;
	unsigned long offset, next = 0, size;
	int ret, length;

	if (!kprobes_insn_length((u8 *)kprobes_traced, 16))
		kunit_skip(test, "no instruction decoder here");
	size = kprobes_trim(text->copy, text->size);
	for (offset = 0; offset < size; offset++) {
		struct probe *probe = probe_new(test, text->start + offset);

		probe->kp.pre_handler = NULL;
		ret = probe_register(probe);
		accepted += !ret;
		if (offset != next) {
			KUNIT_EXPECT_TRUE_MSG(test, ret == -EILSEQ || ret == KPROBES_OFF_BOUNDARY,
					      "+%lu: %d", offset, ret);
			continue;
		}
		if (ret == KPROBES_REFUSED)
			refused++;
		else
			KUNIT_EXPECT_EQ_MSG(test, ret, 0, "+%lu", offset);
		length = kprobes_insn_length(text->copy + offset, size - offset);
		KUNIT_ASSERT_GT_MSG(test, length, 0, "no instruction at +%lu", offset);
		next += length;
	}
	KUNIT_EXPECT_GT(test, accepted, 1);
	KUNIT_EXPECT_LE(test, refused, KPROBES_OWN_REFUSED);
	kprobes_call_step(test, step);
}

static struct kunit_case kprobes_refused_cases[] = {
	KUNIT_CASE_SLOW(jump_labels_are_refused),
	KUNIT_CASE_SLOW(static_calls_are_refused),
	KUNIT_CASE(trampolines_of_static_calls_are_refused),
	KUNIT_CASE_SLOW(padding_before_functions_is_refused),
	KUNIT_CASE_SLOW(types_before_functions_are_refused),
	KUNIT_CASE_SLOW(bug_and_warn_sites_are_refused),
	KUNIT_CASE(blacklisted_functions_are_refused),
	KUNIT_CASE_SLOW(code_below_the_probes_is_refused),
	KUNIT_CASE_SLOW(inside_of_an_ftrace_site_is_refused),
	KUNIT_CASE(entry_of_an_ftrace_site_needs_ftrace),
	KUNIT_CASE_PARAM(every_instruction_and_nothing_else_is_accepted, entry_gen_params),
	{}
};

static struct kunit_suite kprobes_refused_suite = {
	.name = "kprobes_refused",
	.init = kprobes_watch_targets,
	.test_cases = kprobes_refused_cases,
};

kunit_test_suite(kprobes_refused_suite);
