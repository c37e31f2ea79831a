// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding the address that a user asks for, and checking whether it may be probed.
 */
#include <kunit/static_stub.h>
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "internal.h"

/* Overridden by architectures whose symbols are not where their functions start. */
kprobe_opcode_t * __weak kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

kprobe_opcode_t * __weak arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
						 bool *on_func_entry)
{
	*on_func_entry = offset == 0;
	return (kprobe_opcode_t *)(addr + offset);
}

static const char not_covered[] = "no symbol covers the address";

/* Sets @why to the reason, and returns the errno as a pointer. */
static kprobe_opcode_t *unresolved(int err, const char *words, const char **why)
{
	*why = words;
	return ERR_PTR(err);
}

/*
 * Finds the address that a user asks for, by @addr or @symbol, but not both. It may be anything. On
 * error returns an ERR_PTR(), and sets @why to the reason, as the next two do.
 */
kprobe_opcode_t *kprobe_named(kprobe_opcode_t *addr, const char *symbol, unsigned long offset,
			      const char **why)
{
	if (!addr && !symbol)
		return unresolved(-EINVAL, "neither an address nor a symbol is given", why);
	if (addr && symbol)
		return unresolved(-EINVAL, "both an address and a symbol are given", why);
	if (symbol)
		addr = kprobe_lookup_name(symbol, offset);
	if (!addr)
		return unresolved(-ENOENT, "no such symbol", why);
	addr = (void *)addr + offset;
	/* arm sets bit 0 in a pointer to a Thumb function, and looks for a site with that first. */
	if (IS_ENABLED(CONFIG_THUMB2_KERNEL))
		addr = (void *)((unsigned long)addr & ~1UL);
	return IS_ERR(addr) ? unresolved(-ENOENT, not_covered, why) : addr;
}

/*
 * Finds the instruction to be probed at an address: past a landing pad at a function's entry. @f is
 * the function, or NULL to look that up. At most the first bytes of a symbol are read, and in a way
 * that survives a fault.
 */
kprobe_opcode_t *kprobe_instruction_at(kprobe_opcode_t *addr, const struct kprobe_function *f,
				       bool *on_entry, const char **why)
{
	unsigned long where = (unsigned long)addr, in_symbol;

	if (f)
		in_symbol = where - f->start;
	else if (!kallsyms_lookup_size_offset(where, NULL, &in_symbol))
		return unresolved(-ENOENT, not_covered, why);
	addr = arch_adjust_kprobe_addr(where - in_symbol, in_symbol, on_entry);
	return addr ?: unresolved(-EINVAL, "its function cannot be read", why);
}

/*
 * Does both. Returns -EINVAL if neither or both of @addr and @symbol are given, or the text cannot
 * be read; -ENOENT if there is no such symbol, or no symbol covers the address. May sleep.
 */
kprobe_opcode_t *kprobe_resolve(kprobe_opcode_t *addr, const char *symbol,
				unsigned long offset, bool *on_entry, const char **why)
{
	addr = kprobe_named(addr, symbol, offset, why);
	return IS_ERR(addr) ? addr : kprobe_instruction_at(addr, NULL, on_entry, why);
}

const char * __weak arch_kprobe_not_called(unsigned long addr)
{
	return NULL;
}

/* The compiler gives a symbol to code that it moves out of a function: NAME.cold, NAME.cold.1 */
static bool is_moved_code(const char *name)
{
	const char *suffix = strstr(name, ".cold");

	return suffix && (!suffix[5] || suffix[5] == '.');
}

/*
 * Returns why calls do not arrive at a symbol; NULL if they do, or nothing says that they do not.
 * @addr is that of a probe on its first instruction. Only at calls is the return address where a
 * return probe diverts it, and arguments are where a jprobe looks for them: see "Functions and
 * parts of functions" in Documentation/kprobes.rst.
 */
const char *kprobe_not_called(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	if (!lookup_symbol_name(addr, name) && is_moved_code(name))
		return "a part of a function, which is jumped to";
	return ftrace_location(addr) ? NULL : arch_kprobe_not_called(addr);
}

/**
 * kprobe_on_func_entry() - check whether a probe would be on a function's entry
 * @addr: an address, or NULL
 * @sym: the name of a symbol, or NULL; exactly one of the two must be given
 * @offset: bytes to add to either
 *
 * Context: may sleep.
 * Return: 0 if it would; -EINVAL if not, if no calls arrive there, if neither or both of @addr and
 * @sym are given, or if the text cannot be read; -ENOENT if there is no such symbol or address.
 */
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym, unsigned long offset)
{
	const char *why;
	bool on_entry;

	addr = kprobe_resolve(addr, sym, offset, &on_entry, &why);
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	return on_entry && !kprobe_not_called((unsigned long)addr) ? 0 : -EINVAL;
}

/*
 * Pins the module of an address. Sets @mod to the module, or to NULL for the kernel's own text.
 * Lookup and pinning are in one RCU section, so the module cannot be freed or replaced in between.
 * Returns 0; -EINVAL if @addr is not in kernel text; -ENOENT if the module is going away, has not
 * been announced yet, or is about to free this init text. On error sets @why.
 */
int kprobe_get_module(unsigned long addr, struct module **mod, const char **why)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_get_module, addr, mod, why);
	lockdep_assert_held(&kprobe_mutex);
	*mod = NULL;
	/* It counts as kernel text, but no symbol really covers it. */
	if (in_gate_area_no_mm(addr)) {
		*why = "in the gate area, which user space executes";
		return -EINVAL;
	}
	if (core_kernel_text(addr) && !(kprobe_init_text_goes && is_kernel_inittext(addr)))
		return 0;

	guard(preempt)();
	*mod = __module_text_address(addr);
	if (!*mod) {
		*why = "not kernel text";
		return -EINVAL;
	}
	if (!try_module_get(*mod)) {
		*why = "its module is going";
		*mod = NULL;
		return -ENOENT;
	}
	if (!kprobe_module_is_known(*mod))
		*why = "its module is not there yet, or failed to load";
	else if (within_module_init(addr, *mod) && !module_is_coming(*mod))
		*why = "the init text of its module has gone";
	else
		return 0;
	module_put(*mod);
	*mod = NULL;
	return -ENOENT;
}

/*
 * Checks for an instruction that may change with a livepatch's relocations. Its module cannot go
 * away. Functions that ftrace calls from have none at their entries.
 */
bool kprobe_is_relocated(unsigned long addr)
{
	struct module *mod;

	KUNIT_STATIC_STUB_REDIRECT(kprobe_is_relocated, addr);
	if (!IS_ENABLED(CONFIG_LIVEPATCH) || core_kernel_text(addr))
		return false;
	scoped_guard(preempt)
		mod = __module_text_address(addr);
	return mod && kprobe_module_is_relocated(mod) && !ftrace_location(addr);
}

/*
 * Returns what else changes the bytes at an address while the kernel runs, or reads them in a trap
 * handler; NULL if nothing does. A copy of such bytes could get out of date, and a breakpoint there
 * could be overwritten or misread. Alternatives need no check: they are patched before any probe
 * can be placed. (On arm64 most are patched after the early initcalls, but there is no slot before
 * that: see ARCH_WANTS_EXECMEM_LATE.)
 */
static const char *patched_by_others(struct kprobe_function *f, unsigned long addr)
{
	void *at = (void *)addr;

	if (kprobe_byte_is(f, addr, KPROBE_BYTE_LABEL))
		return "a jump label, patched while the kernel runs";
	/*
	 * A probe behind its first instruction is not by ftrace, so nobody would keep the two
	 * apart. Without state, decoding finds such a call, and a BUG() as well.
	 */
	if (!ARCH_KPROBE_STATELESS && ftrace_text_reserved(at, at) && ftrace_location(addr) != addr)
		return "part of a call of ftrace, patched while the kernel runs";
	if (f->static_calls && static_call_text_reserved(at, at))
		return "a static call, patched while the kernel runs";
	if (!ARCH_KPROBE_STATELESS && find_bug(addr))
		return KPROBE_IS_BUG;
	if (kprobe_is_relocated(addr))
		return "a livepatch's, relocated while the kernel runs";
	return NULL;
}

/*
 * Checks whether a new site may be in text that a symbol covers, and whose module cannot go away.
 * The architecture says whether an instruction begins there, and whether it can be executed
 * elsewhere.
 */
int kprobe_check_text(struct kprobe *kp)
{
	unsigned long addr = (unsigned long)kp->addr;
	bool by_ftrace = kprobe_ftrace(kp);
	struct kprobe_function *f = by_ftrace ? kprobe_function_at(addr) : kprobe_survey(addr);
	const char *why;

	lockdep_assert_held(&text_mutex);
	if (!f)
		return -ENOMEM;
	why = kprobe_blacklisted(addr) ? "on the blacklist" : f->why;
	/* Nobody else patches where ftrace does, so there is nothing to search for. */
	if (!why && !by_ftrace)
		why = patched_by_others(f, addr);
	return why ? kprobe_refuse(kp, -EINVAL, why) : 0;
}

/*
 * Checks for a breakpoint of kgdb's at a site, or where ftrace patches for it. The text lock is
 * held, or the site is in the table.
 */
bool kprobe_debugger_stops_at_site(struct kprobe_site *site)
{
	return kprobe_debugger_stops_at((unsigned long)site->kp.addr) ||
	       kprobe_debugger_stops_at(kprobe_ftrace_ip(site));
}

/* Checks whether ftrace patches there for a site at the beginning of that function. */
static bool is_called_at(unsigned long addr)
{
	unsigned long size, offset;
	struct kprobe_site *site;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;
	site = kprobe_find_site(addr - offset);
	return site && kprobe_ftrace(&site->kp) && kprobe_ftrace_ip(site) == addr;
}

/**
 * kprobe_occupies() - check whether an address belongs to a probe
 * @addr: where a debugger wants to set a breakpoint
 *
 * A debugger saves the byte that it replaces. If that were a probe's breakpoint, the debugger would
 * put it back even after the probe has left. A breakpoint inside of a jump would break the jump. At
 * a site that waits to be freed, it would be taken for the site's. Where ftrace patches for a site,
 * ftrace expects its own instructions. And others use a slot or a detour later.
 *
 * Context: nothing changes meanwhile, for instance because all other CPUs are stopped.
 * Return: true if there is a site, the jump or call of a site, or a slot or detour.
 */
bool kprobe_occupies(unsigned long addr)
{
	return kprobe_find_site(addr) || kprobe_jump_covers(addr) || is_called_at(addr) ||
	       is_kprobe_insn_slot(addr) || is_kprobe_optinsn_slot(addr);
}
