// SPDX-License-Identifier: GPL-2.0-only
/*
 * The function that was probed last. The kernel searches all of a module's symbols to find one, and
 * the tables of what is patched in a function are not sorted by address. So this is done once, and
 * the results are kept for the next probes in the same function.
 */
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "internal.h"

/* Protected by kprobe_mutex. If nothing is kept, it is zeroed and covers no address. */
static struct kprobe_function last_function;

/*
 * Forgets what is known about the last function. Called when text comes or goes, because that may
 * not be true any more.
 */
void kprobe_function_forget(void)
{
	lockdep_assert_held(&kprobe_mutex);
	kvfree(last_function.bytes);
	memset(&last_function, 0, sizeof(last_function));
}

/**
 * kprobe_function_at() - find the function that covers an address
 * @addr: any address
 *
 * Context: kprobe_mutex is held, as long as the result is used. May sleep.
 * Return: the function; NULL if @addr is not in text of the kernel or of a module, or no symbol
 * covers it.
 */
struct kprobe_function *kprobe_function_at(unsigned long addr)
{
	bool is_text = core_kernel_text(addr) || is_module_text_address(addr);
	unsigned long size, offset;

	lockdep_assert_held(&kprobe_mutex);
	/* If it was looked at before its module was announced, nobody tells when it goes. */
	if (is_text && kprobe_function_covers(&last_function, addr))
		return &last_function;
	kprobe_function_forget();
	if (!is_text ||
	    !kallsyms_lookup(addr, &size, &offset, &last_function.module, last_function.name))
		return NULL;
	last_function.start = addr - offset;
	last_function.end = last_function.start + size;
	last_function.decoded = last_function.start;
	last_function.why = kprobe_objection_to_function(&last_function);
	return &last_function;
}

#ifdef CONFIG_JUMP_LABEL
/* Architectures that do not say how long a jump label is have one instruction there. */
#ifndef JUMP_LABEL_NOP_SIZE
#define JUMP_LABEL_NOP_SIZE	1
#endif

/* Preemption is off, so that a module stays. */
static void add_labels(void)
{
	struct jump_entry *label = __start___jump_table, *end = __stop___jump_table;
	unsigned long code, i;
#ifdef CONFIG_MODULES
	struct module *mod = __module_text_address(last_function.start);

	if (mod) {
		label = mod->jump_entries;
		end = label + mod->num_jump_entries;
	}
#endif
	for (; label < end; label++) {
		/* Even if the label is no jump now: it may become one. */
		kprobe_byte_set(&last_function, jump_entry_target(label), KPROBE_BYTE_TARGET);
		code = jump_entry_code(label);
		if (!kprobe_function_covers(&last_function, code))
			continue;
		for (i = 0; i < JUMP_LABEL_NOP_SIZE; i++)
			kprobe_byte_set(&last_function, code + i, KPROBE_BYTE_LABEL);
	}
}
#else
static void add_labels(void) { }
#endif

/**
 * kprobe_survey() - find what is patched in the function that covers an address
 * @addr: an address in text that cannot go away
 *
 * Context: the text lock is held, as long as the result is used. May sleep.
 * Return: the function, with its bitmaps; NULL if no symbol covers @addr, or there is no memory.
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
