/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel text: functions around addresses, who else patches them, and trial probes. */
#ifndef _KPROBES_TESTS_TEXT_H
#define _KPROBES_TESTS_TEXT_H

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/sections.h>
#ifdef CONFIG_PPC
#include <asm/code-patching.h>
#endif

/* Returns the function around @addr, or NULL, by the exported part of kallsyms. */
static inline void *kprobes_function(void *addr, unsigned long *size)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned long offset;

	sprint_symbol(name, (unsigned long)addr);
	if (sscanf(strchrnul(name, '+'), "+%lx/%lx", &offset, size) != 2)
		return NULL;
	return addr - offset;
}

/* Where direct calls lead. On powerpc, indirect calls begin with more code before that. */
static inline void *kprobes_entry(void *function)
{
#ifdef CONFIG_PPC
	return (void *)ppc_function_entry(function);
#else
	return function;
#endif
}

static inline bool kprobes_within(void *function, unsigned long addr)
{
	unsigned long size;
	void *start = kprobes_function(function, &size);

	return start && addr - (unsigned long)start < size;
}

/* Jump labels and static calls may be patched at any time. Not for modules. */
static inline bool kprobes_is_patched(void *addr)
{
	return jump_label_text_reserved(addr, addr) || static_call_text_reserved(addr, addr);
}

/*
 * Returns what a registration at @addr returns. The probe is disabled, because a hit
 * may lead there itself.
 */
static inline int kprobes_try(unsigned long addr)
{
	struct kprobe probe = {
		.addr = (kprobe_opcode_t *)addr,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int ret = register_kprobe(&probe);

	if (!ret)
		unregister_kprobe(&probe);
	return ret;
}

/* Tries each @step-th address of a function, all of which must be refused. */
static inline void kprobes_expect_refused(struct kunit *test, unsigned long start,
					  unsigned int step)
{
	unsigned long size, offset, addr;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &offset));
	KUNIT_EXPECT_EQ(test, 0, offset);
	for (addr = start; addr < start + size; addr += step)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, kprobes_try(addr), "%pS", (void *)addr);
}

/*
 * Calls @look for each @stride-th of the kernel's functions. Returns how many functions
 * there are, or 0 if their symbols do not cover all of the text. Not for modules.
 */
static inline unsigned int kprobes_walk_text(unsigned int stride,
					     void (*look)(void *data, unsigned long start,
							  unsigned long end), void *data)
{
	unsigned long addr = (unsigned long)_stext, end = (unsigned long)_etext;
	unsigned long size, offset;
	unsigned int n = 0;

	while (addr < end && kallsyms_lookup_size_offset(addr, &size, &offset)) {
		size -= offset;
		if (n++ % stride == 0)
			look(data, addr, min(addr + size, end));
		addr += size;
		cond_resched();
	}
	return addr < end ? 0 : n;
}

/*
 * Some tracers call what can be probed before their guard against recursion: then a hit must not
 * pass by this function, if there is one, before it is counted as such.
 */
static inline void kprobes_expect_untraced(struct kunit *test, const char *name)
{
	unsigned long addr = kallsyms_lookup_name(name);

	if (addr)
		KUNIT_EXPECT_EQ_MSG(test, ftrace_location(addr), 0, "%s", name);
}

/**
 * struct kprobes_text - a function, and its text without probes
 * @test: the test case
 * @start: address of the function
 * @size: its size
 * @copy: a copy of its text
 */
struct kprobes_text {
	struct kunit *test;
	void *start;
	unsigned long size;
	u8 copy[];
};

/* Whoever takes a probe out has restored the text, jumps included, when that returns. */
void kprobes_text_compare(void *data);

/*
 * When the test case ends, the function around @addr must be what it is now. Has
 * to be called before the first probe is made: actions run in reverse order.
 */
struct kprobes_text *kprobes_text_watch(struct kunit *test, void *addr);

#endif /* _KPROBES_TESTS_TEXT_H */
