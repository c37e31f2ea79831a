// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text that must never be probed: what runs between a breakpoint and its handlers, what cannot take
 * an exception where it runs, and what runs while RCU is not watching. Most of it is on a list of
 * ranges, some is known by the names of functions.
 */
#include <linux/kallsyms.h>
#include <linux/maple_tree.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include <asm/sections.h>

#include "internal.h"

/*
 * Ranges of addresses. Entries are plain values, so readers do not come across freed memory.
 * Changed under kprobe_mutex, or at boot; read under RCU.
 */
static struct maple_tree blacklist = MTREE_INIT(blacklist, MT_FLAGS_USE_RCU);

/**
 * kprobe_add_area_blacklist() - add a range of text to the blacklist
 * @start: its first address
 * @end: the address after its last
 *
 * What is not on the list can be probed, and crash the kernel. So this waits for memory.
 *
 * Context: at boot, or with kprobe_mutex held; may sleep.
 * Return: 0, which architectures pass on.
 */
int kprobe_add_area_blacklist(unsigned long start, unsigned long end)
{
	if (start < end)
		mtree_store_range(&blacklist, start, end - 1, xa_mk_value(1),
				  GFP_KERNEL | __GFP_NOFAIL);
	return 0;
}

/* Adds the symbol at @addr; or @addr alone, if it is behind what the symbol covers. */
static void add_whole_symbol(unsigned long addr)
{
	unsigned long size, offset;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return;
	if (size <= offset)
		kprobe_add_area_blacklist(addr, addr + 1);
	else
		kprobe_add_area_blacklist(addr - offset, addr - offset + size);
}

/*
 * Adds what NOKPROBE_SYMBOL() has recorded. An entry may be the address of a function descriptor,
 * or no address of text at all.
 */
static void add_recorded(const unsigned long *from, const unsigned long *to)
{
	for (; from < to; from++) {
		unsigned long addr = (unsigned long)dereference_symbol_descriptor((void *)*from);

		if (kernel_text_address(addr))
			add_whole_symbol(addr);
	}
}

int __init __weak arch_populate_kprobe_blacklist(void)
{
	return 0;
}

/*
 * Checks whether an address is on the blacklist itself. Unlike within_kprobe_blacklist() this does
 * not look at the name of the function. Context: any in which RCU is watching.
 */
bool kprobe_blacklisted(unsigned long addr)
{
	return (!ARCH_KPROBE_STATELESS && arch_within_kprobe_blacklist(addr)) ||
	       mtree_load(&blacklist, addr);
}

/* Checks for a part of a function on the blacklist: the compiler adds a suffix to the name. */
static bool parent_blacklisted(const char *name)
{
	const char *dot = strchr(name, '.');
	char parent_name[KSYM_NAME_LEN];
	unsigned long parent;

	if (!dot)
		return false;
	strscpy(parent_name, name);
	parent_name[dot - name] = '\0';
	parent = (unsigned long)kprobe_lookup_name(parent_name, 0);
	return parent && kprobe_blacklisted(parent);
}

/**
 * within_kprobe_blacklist() - check whether an address must never be probed
 * @addr: any address
 *
 * Context: any in which RCU is watching.
 * Return: true if it belongs to a function that must never be probed.
 */
bool within_kprobe_blacklist(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return kprobe_blacklisted(addr) ||
	       (!lookup_symbol_name(addr, name) && parent_blacklisted(name));
}

/*
 * Functions that sanitizers make code call for its memory accesses, and profilers for its branches;
 * with '*', all whose names begin so. Code between a hit and its handlers, such as exception entry,
 * may call them, too.
 */
static const char * const compilers_checks[] = {
	"__asan_*", "__hwasan_*", "__tsan_*", "__kasan_check_*", "kasan_check_range",
	"ftrace_likely_update",
#ifdef CONFIG_KMSAN
	"__msan_*", "kmsan_*",
	/* What these call for memory accesses and for the registers of an exception */
	"arch_kmsan_get_meta_or_null", "get_shadow_origin_ptr", "origin_ptr_for",
	"page_has_metadata", "pfn_valid", "shadow_ptr_for", "virt_to_page_or_null",
	"vmalloc_meta",
#endif
#ifdef CONFIG_KCOV
	/* Called by code that runs on a CPU before it can take a breakpoint */
	"__sanitizer_cov_*", "check_kcov_mode*", "write_comp_data*",
#endif
};

static bool is_compilers_check(const char *name)
{
	size_t i, length;

	for (i = 0; i < ARRAY_SIZE(compilers_checks); i++) {
		length = strcspn(compilers_checks[i], "*");
		/* Without a '*', the end of the name is compared as well. */
		if (!strncmp(name, compilers_checks[i], length + !compilers_checks[i][length]))
			return true;
	}
	return false;
}

/* How many bytes of padding the compiler leaves before each function */
#ifdef CONFIG_FUNCTION_PADDING_BYTES
#define PADDING	CONFIG_FUNCTION_PADDING_BYTES
#else
#define PADDING	0
#endif

/* With kCFI on x86, the instruction that has the type is there, too. */
#define MOST_BEFORE	(PADDING + 5)

/*
 * Checks for what the compiler puts before a function. The symbols of that begin with @prefix. But
 * at the start of a section, kallsyms finds the section's symbol instead.
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
 * Returns why nothing in a function may be probed, or NULL. The type hash before a function is read
 * as data by checks of control flow integrity. The padding there may be read as well, or be patched
 * for these checks or for mitigations. The trampoline of a static call is patched, though it is in
 * no table.
 */
const char *kprobe_objection_to_function(const struct kprobe_function *f)
{
	const char *name = f->name;

	if (is_compilers_check(name))
		return "a check of the compiler's, on the way to the handlers";
	if (!ARCH_KPROBE_STATELESS && kprobe_legacy_counts(f))
		return "called to count hits";
	if (IS_ENABLED(CONFIG_CFI) && is_before_function(f, "__cfi_"))
		return "data of control flow integrity before a function";
	if (is_before_function(f, "__pfx_"))
		return "padding before a function";
	if (IS_ENABLED(CONFIG_HAVE_STATIC_CALL) &&
	    str_has_prefix(name, STATIC_CALL_TRAMP_PREFIX_STR))
		return "a static call, patched while the kernel runs";
	return parent_blacklisted(name) ? "on the blacklist" : NULL;
}

/*
 * Shows the rest of the symbol at @addr, up to @limit at most, and returns its end. Without a
 * symbol, shows all from there to @limit: text without a name is not any safer to probe.
 */
static unsigned long show_symbol(struct seq_file *m, unsigned long addr, unsigned long limit,
				 bool show_addresses)
{
	unsigned long size, offset, end = limit;
	bool named = kallsyms_lookup_size_offset(addr, &size, &offset);

	if (named && size > offset)
		end = min(addr - offset + size, limit);
	seq_printf(m, "0x%0*lx-0x%0*lx\t", KPROBE_ADDRESS_WIDTH, show_addresses ? addr : 0,
		   KPROBE_ADDRESS_WIDTH, show_addresses ? end : 0);
	/* Without a symbol %ps prints the address, which not everybody may see. */
	if (show_addresses || named)
		seq_printf(m, "%ps\n", (void *)addr);
	else
		seq_puts(m, "0x0\n");
	return end;
}

/* Shows the blacklist, for debugfs. @show_addresses: the reader may see addresses. */
void kprobe_blacklist_show(struct seq_file *m, bool show_addresses)
{
	MA_STATE(mas, &blacklist, 0, 0);
	unsigned long addr;
	void *entry;

	lockdep_assert_held(&kprobe_mutex);
	guard(rcu)();
	mas_for_each(&mas, entry, ULONG_MAX) {
		for (addr = mas.index; addr <= mas.last; )
			addr = show_symbol(m, addr, mas.last + 1, show_addresses);
	}
}

static void add_area(const void *start, unsigned long size)
{
	kprobe_add_area_blacklist((unsigned long)start, (unsigned long)start + size);
}

void __init kprobe_blacklist_init(void)
{
	add_recorded(__start_kprobe_blacklist, __stop_kprobe_blacklist);
	add_area(__kprobes_text_start, __kprobes_text_end - __kprobes_text_start);
	add_area(__noinstr_text_start, __noinstr_text_end - __noinstr_text_start);
	arch_populate_kprobe_blacklist();
}

#ifdef CONFIG_MODULES
/* Adds what must not be probed in a module that is coming. */
void kprobe_blacklist_add_module(struct module *mod)
{
	lockdep_assert_held(&kprobe_mutex);
	add_recorded(mod->kprobe_blacklist, mod->kprobe_blacklist + mod->num_kprobe_blacklist);
	add_area(mod->kprobes_text_start, mod->kprobes_text_size);
	add_area(mod->noinstr_text_start, mod->noinstr_text_size);
	add_area(mod->cpuidle_text_start, mod->cpuidle_text_size);
}

/*
 * Removes all ranges in a module's text that goes; with @init_only, in its init text, while @mod
 * still records where that is.
 */
void kprobe_blacklist_remove_module(struct module *mod, bool init_only)
{
	unsigned long base, size;

	lockdep_assert_held(&kprobe_mutex);
	for_each_mod_mem_type(type) {
		base = (unsigned long)mod->mem[type].base;
		size = mod->mem[type].size;
		if (size && (!init_only || mod_mem_type_is_init(type)))
			mtree_store_range(&blacklist, base, base + size - 1, NULL,
					  GFP_KERNEL | __GFP_NOFAIL);
	}
}
#endif
