// SPDX-License-Identifier: GPL-2.0-only
/*
 * From what a user names to an address that may be probed.
 */
#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "internal.h"

/* By architectures whose symbols are not where their functions start. */
kprobe_opcode_t * __weak kprobe_lookup_name(const char *name, unsigned int offset)
{
	return (kprobe_opcode_t *)kallsyms_lookup_name(name);
}

kprobe_opcode_t * __weak arch_adjust_kprobe_addr(unsigned long addr,
						 unsigned long offset,
						 bool *on_func_entry)
{
	*on_func_entry = offset == 0;
	return (kprobe_opcode_t *)(addr + offset);
}

static kprobe_opcode_t *unresolved(int err, const char *words, const char **why)
{
	*why = words;
	return ERR_PTR(err);
}

/**
 * kprobe_resolve() - find the instruction that a user asked for
 * @addr: its address, or NULL
 * @symbol: the name of a symbol, or NULL; exactly one of both is given
 * @offset: in bytes, from either
 * @on_entry: set to whether it is a function's entry
 * @why: set to why there is none, in words
 *
 * Reads at most the first bytes of a symbol, and those with care: the address
 * may be anything.
 *
 * Context: may sleep.
 * Return: the address, past a landing pad at a function's entry; or ERR_PTR():
 * -EINVAL for none or both, or text that cannot be read, -ENOENT for a symbol
 * that does not exist and an address that no symbol covers.
 */
kprobe_opcode_t *kprobe_resolve(kprobe_opcode_t *addr, const char *symbol,
				unsigned long offset, bool *on_entry, const char **why)
{
	unsigned long where, in_symbol;

	if (!addr && !symbol)
		return unresolved(-EINVAL, "neither an address nor a symbol is given", why);
	if (addr && symbol)
		return unresolved(-EINVAL, "both an address and a symbol are given", why);
	if (symbol) {
		addr = kprobe_lookup_name(symbol, offset);
		if (!addr)
			return unresolved(-ENOENT, "no such symbol", why);
	}
	where = (unsigned long)addr + offset;
	if (!kallsyms_lookup_size_offset(where, NULL, &in_symbol))
		return unresolved(-ENOENT, "no symbol covers the address", why);
	addr = arch_adjust_kprobe_addr(where - in_symbol, in_symbol, on_entry);
	return addr ?: unresolved(-EINVAL, "its function cannot be read", why);
}

/**
 * kprobe_on_func_entry() - would a probe there be on a function's entry?
 * @addr: address, or NULL
 * @sym: name of a symbol, or NULL; exactly one of both is given
 * @offset: in bytes, from either
 *
 * Context: may sleep.
 * Return: 0 if so, -EINVAL if not or for none or both of @addr and @sym,
 * -ENOENT when there is no such symbol or address.
 */
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset)
{
	const char *why;
	bool on_entry;

	addr = kprobe_resolve(addr, sym, offset, &on_entry, &why);
	if (IS_ERR(addr))
		return PTR_ERR(addr);
	return on_entry ? 0 : -EINVAL;
}

/**
 * kprobe_get_module() - keep the text at an address from being freed
 * @addr: any address
 * @mod: set to the module that was taken, NULL for the kernel's own text
 *
 * The module is looked up once: with the lookup and the reference under one
 * RCU section it cannot be another one, or none, by the time it is taken.
 *
 * Context: kprobe_mutex is held.
 * Return: 0 with a reference on @mod, -EINVAL when this is not kernel text,
 * -ENOENT when the module is going, or its init text has gone.
 */
int kprobe_get_module(unsigned long addr, struct module **mod)
{
	*mod = NULL;
	if (core_kernel_text(addr))
		return 0;

	guard(preempt)();
	*mod = __module_text_address(addr);
	if (!*mod)
		return kprobe_refuse(-EINVAL, "not kernel text");
	if (!try_module_get(*mod)) {
		*mod = NULL;
		return kprobe_refuse(-ENOENT, "its module is going");
	}
	if (within_module_init(addr, *mod) && !module_is_coming(*mod)) {
		module_put(*mod);
		*mod = NULL;
		return kprobe_refuse(-ENOENT, "the init text of its module has gone");
	}
	return 0;
}

/*
 * The type hash before a function, and the padding around it, are data to the
 * control flow integrity checks that read them.
 */
static bool in_cfi_preamble(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return !lookup_symbol_name(addr, name) &&
	       (str_has_prefix(name, "__cfi_") || str_has_prefix(name, "__pfx_"));
}

/*
 * Bytes that somebody else changes while the kernel runs, or takes for data at
 * a trap: a copy of them would be out of date, and a breakpoint there would be
 * overwritten or misread. Patching that is over before a probe can come, as
 * that of alternatives is, does not count.
 */
static const char *patched_by_others(unsigned long addr)
{
	void *at = (void *)addr;

	if (jump_label_text_reserved(at, at))
		return "a jump label, patched while the kernel runs";
	if (static_call_text_reserved(at, at))
		return "a static call, patched while the kernel runs";
	if (find_bug(addr))
		return "a BUG() or WARN(), known by its address";
	return NULL;
}

static const char *not_to_be_probed(unsigned long addr)
{
	if (in_gate_area_no_mm(addr))
		return "in the gate area, which user space executes";
	if (within_kprobe_blacklist(addr))
		return "on the blacklist";
	if (in_cfi_preamble(addr))
		return "data of control flow integrity before a function";
	return patched_by_others(addr);
}

/**
 * kprobe_check_text() - is this text that a probe may be put into?
 * @addr: an address in kernel text; its module cannot go away
 *
 * Whether an instruction starts there, and can be carried out elsewhere, is
 * for the architecture to say.
 *
 * Context: the text lock is held.
 * Return: 0, or -EINVAL.
 */
int kprobe_check_text(unsigned long addr)
{
	const char *why = not_to_be_probed(addr);

	return why ? kprobe_refuse(-EINVAL, why) : 0;
}
