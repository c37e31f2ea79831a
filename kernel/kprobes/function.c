// SPDX-License-Identifier: GPL-2.0-only
/*
 * The function that was probed last. To find a symbol in a module, all of its symbols are
 * searched; and the tables of what is patched in a function are not sorted by address. So
 * this is done once, and the results are kept for the next probes in the same function.
 */
#include <linux/cleanup.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "internal.h"

/* Protected by kprobe_mutex. If nothing is kept, it is zeroed and covers no address. */
static struct kprobe_function last_function;

/**
 * kprobe_function_forget() - forget what is known about the last function
 *
 * Called when text comes or goes, because that may not be true any more.
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_function_forget(void)
{
	lockdep_assert_held(&kprobe_mutex);
	kvfree(last_function.bytes);
	memset(&last_function, 0, sizeof(last_function));
}

/* What KMSAN's functions for memory accesses and for the registers of an exception call */
static const char * const called_by_kmsan[] = {
	"arch_kmsan_get_meta_or_null",
	"get_shadow_origin_ptr",
	"origin_ptr_for",
	"page_has_metadata",
	"pfn_valid",
	"shadow_ptr_for",
	"virt_to_page_or_null",
	"vmalloc_meta",
};

static bool is_of_kmsan(const char *name)
{
	return str_has_prefix(name, "__msan_") || str_has_prefix(name, "kmsan_") ||
	       match_string(called_by_kmsan, ARRAY_SIZE(called_by_kmsan), name) >= 0;
}

/* Called by code that runs on a CPU before it can take a breakpoint */
static bool is_of_kcov(const char *name)
{
	return str_has_prefix(name, "__sanitizer_cov_") ||
	       str_has_prefix(name, "check_kcov_mode") || str_has_prefix(name, "write_comp_data");
}

/*
 * Functions that sanitizers make code call for its memory accesses, and profilers for its
 * branches. Code between a hit and its handlers, such as exception entry, may call them, too.
 */
static bool is_compilers_check(const char *name)
{
	return str_has_prefix(name, "__asan_") || str_has_prefix(name, "__hwasan_") ||
	       str_has_prefix(name, "__tsan_") || str_has_prefix(name, "__kasan_check_") ||
	       !strcmp(name, "kasan_check_range") || !strcmp(name, "ftrace_likely_update") ||
	       (IS_ENABLED(CONFIG_KMSAN) && is_of_kmsan(name)) ||
	       (IS_ENABLED(CONFIG_KCOV) && is_of_kcov(name));
}

/* Where atomic operations mask interrupts on some processors, and do that by functions */
#define COUNTS_WITH_IRQS_OFF	(IS_ENABLED(CONFIG_SUPERH) || IS_ENABLED(CONFIG_MIPS))

/*
 * Is it what counts hits and misses? On sparc64 all atomic operations are functions. Hits are
 * known to be nested only after that.
 */
static bool is_called_to_count(const struct kprobe_function *f)
{
	if (f->module)
		return false;
	return (IS_ENABLED(CONFIG_SPARC64) && str_has_prefix(f->name, "arch_atomic")) ||
	       (COUNTS_WITH_IRQS_OFF && str_has_prefix(f->name, "arch_local_"));
}

#define HAS_COMPILERS_CHECKS							\
	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) ||		\
	 IS_ENABLED(CONFIG_KMSAN) || IS_ENABLED(CONFIG_KCOV) ||			\
	 IS_ENABLED(CONFIG_TRACE_BRANCH_PROFILING))

/* How many bytes of padding the compiler leaves before each function */
#ifdef CONFIG_FUNCTION_PADDING_BYTES
#define PADDING	CONFIG_FUNCTION_PADDING_BYTES
#else
#define PADDING	0
#endif

/* With kCFI on x86, the instruction that has the type is there, too. */
#define MOST_BEFORE	(PADDING + 5)

/*
 * Is it no function, but what the compiler puts before one? @prefix is what the symbols of that
 * begin with. At the start of a section, kallsyms finds the section's symbol instead.
 */
static bool is_before_function(const struct kprobe_function *f, const char *prefix)
{
	static char name[8 + KSYM_NAME_LEN];
	char *module;
	int length;

	if (str_has_prefix(f->name, prefix))
		return true;
	if (!PADDING || f->end - f->start > MOST_BEFORE || f->module)
		return false;
	length = strscpy(name, prefix, 8);
	return kallsyms_lookup(f->end, NULL, NULL, &module, name + length) &&
	       kallsyms_lookup_name(name) == f->start;
}

/*
 * Returns why nothing in a function may be probed, or NULL. The type hash before a
 * function is read as data by checks of control flow integrity. The padding there may be
 * read as well, or be patched for these checks or for mitigations. The trampoline of a
 * static call is patched, though it is in no table.
 */
static const char *objection_to_all_of(const struct kprobe_function *f)
{
	const char *name = f->name;

	if (HAS_COMPILERS_CHECKS && is_compilers_check(name))
		return "a check of the compiler's, on the way to the handlers";
	if (is_called_to_count(f))
		return "called to count hits";
	if (IS_ENABLED(CONFIG_CFI_CLANG) && is_before_function(f, "__cfi_"))
		return "data of control flow integrity before a function";
	if (is_before_function(f, "__pfx_"))
		return "padding before a function";
	if (IS_ENABLED(CONFIG_HAVE_STATIC_CALL) &&
	    str_has_prefix(name, STATIC_CALL_TRAMP_PREFIX_STR))
		return "a static call, patched while the kernel runs";
	return kprobe_parent_blacklisted(name) ? "on the blacklist" : NULL;
}

static bool is_text(unsigned long addr)
{
	return core_kernel_text(addr) || is_module_text_address(addr);
}

/**
 * kprobe_function_at() - find the function that covers an address
 * @addr: any address
 *
 * Context: kprobe_mutex is held, as long as the result is used. May sleep.
 * Return: the function; NULL if @addr is not in text of the kernel or of a module, or no
 * symbol covers it.
 */
struct kprobe_function *kprobe_function_at(unsigned long addr)
{
	unsigned long size, offset;

	lockdep_assert_held(&kprobe_mutex);
	/* If it was looked at before its module was announced, nobody tells when it goes. */
	if (kprobe_function_covers(&last_function, addr) && is_text(addr))
		return &last_function;
	kprobe_function_forget();
	if (!is_text(addr) ||
	    !kallsyms_lookup(addr, &size, &offset, &last_function.module, last_function.name))
		return NULL;
	last_function.start = addr - offset;
	last_function.end = last_function.start + size;
	last_function.decoded = last_function.start;
	last_function.why = objection_to_all_of(&last_function);
	return &last_function;
}

#ifdef CONFIG_JUMP_LABEL
/* Architectures that do not say how long a jump label is have one instruction there. */
#ifdef JUMP_LABEL_NOP_SIZE
#define LABEL_SIZE	JUMP_LABEL_NOP_SIZE
#else
#define LABEL_SIZE	1
#endif

/* The target is added even if the label is no jump now: it may become one. */
static void add_label(struct jump_entry *label)
{
	unsigned long i;

	for (i = 0; i < LABEL_SIZE; i++)
		kprobe_byte_set(&last_function, jump_entry_code(label) + i, KPROBE_BYTE_LABEL);
	kprobe_byte_set(&last_function, jump_entry_target(label), KPROBE_BYTE_TARGET);
}

static void add_labels_in(struct jump_entry *label, struct jump_entry *end)
{
	const unsigned long size = last_function.end - last_function.start;

	for (; label < end; label++) {
		if (jump_entry_code(label) - last_function.start < size ||
		    jump_entry_target(label) - last_function.start < size)
			add_label(label);
	}
}

#ifdef CONFIG_MODULES
/* Returns whether the function is in a module. Preemption is off, so the module stays. */
static bool add_labels_of_module(void)
{
	struct module *mod = __module_text_address(last_function.start);

	if (mod)
		add_labels_in(mod->jump_entries, mod->jump_entries + mod->num_jump_entries);
	return mod;
}
#else
static bool add_labels_of_module(void)
{
	return false;
}
#endif

static void add_labels(void)
{
	if (!add_labels_of_module())
		add_labels_in(__start___jump_table, __stop___jump_table);
}
#else
static void add_labels(void)
{
}
#endif

/**
 * kprobe_survey() - find what is patched in the function that covers an address
 * @addr: an address in text that cannot go away
 *
 * Context: the text lock is held, as long as the result is used. May sleep.
 * Return: the function, with its bitmaps; NULL if no symbol covers @addr, or there is no
 * memory.
 */
struct kprobe_function *kprobe_survey(unsigned long addr)
{
	struct kprobe_function *f = kprobe_function_at(addr);

	lockdep_assert_held(&text_mutex);
	if (!f || f->bytes)
		return f;
	f->map_longs = BITS_TO_LONGS(f->end - f->start);
	f->bytes = kvcalloc(KPROBE_NR_BYTES * f->map_longs, sizeof(long), GFP_KERNEL);
	if (!f->bytes)
		return NULL;
	f->static_calls = static_call_text_reserved((void *)f->start, (void *)f->end - 1);
	guard(preempt)();
	add_labels();
	return f;
}
