// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what users are told: in which way a site is hit, how often, what
 * was missed, and why a registration was refused.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/objtool.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../internal.h"
#include "support/core.h"
#include "support/kinds.h"
#include "support/sites.h"

/* --- functions to probe --- */

/* Their addresses are used as data: objtool has to be told that no indirect branch goes there. */
extern u8 why_nop[] asm(".Lkprobes_why_nop"), why_refused[] asm(".Lkprobes_why_refused");

static noinline __noclone unsigned int target(unsigned int n)
{
	/* Far enough inside to be no entry, however much an architecture takes for one. */
	asm volatile(".rept 8\n"
		     "	nop\n"
		     ".endr\n"
		     ".Lkprobes_why_nop: " ANNOTATE_NOENDBR "\nnop"
		     : "+r" (n) : : "memory");
	return n + 1;
}

/* An instruction that cannot be probed, and is never executed */
#if defined(CONFIG_X86)
#define REFUSED_INSN	"hlt"
#define REFUSED_ERR	(-EOPNOTSUPP)
#define REFUSED_WORDS	"the instruction cannot be probed: its interrupt "
#elif defined(CONFIG_ARM64)
#define REFUSED_INSN	"brk #1"
#define REFUSED_ERR	(-EINVAL)
#define REFUSED_WORDS	"the instruction cannot be probed: Exception generation"
#else
#define REFUSED_INSN	"nop"
#endif

static noinline __noclone void has_refused(bool run)
{
	if (run)
		asm volatile(".Lkprobes_why_refused: " ANNOTATE_NOENDBR "\n" REFUSED_INSN
			     : : : "memory");
}

/* Called through a pointer that the compiler does not see through. */
static unsigned int call(unsigned int (*function)(unsigned int), unsigned int n)
{
	OPTIMIZER_HIDE_VAR(function);
	return function(n);
}

/* Returns in a busy section, where handlers cannot run. */
static noinline __noclone unsigned int returns_busy(unsigned int n)
{
	kprobe_busy_begin();
	barrier_data(&n);
	return n;
}

#define FUNCTION(name, symbol, add)						\
static noinline __noclone unsigned int why_##name(unsigned int n) asm(symbol);	\
static noinline __noclone unsigned int why_##name(unsigned int n)		\
{										\
	barrier_data(&n);							\
	return n + (add);							\
}

/*
 * As the compiler names functions, and what it has moved out of them. Objtool has to find the
 * function of each part, and a way to it.
 */
FUNCTION(listed, "kprobes_why_listed", 1)
FUNCTION(listed_part, "kprobes_why_listed.part.7", 2)
FUNCTION(whole, "kprobes_why", 10)
FUNCTION(inner, "kprobes_why.part.0.isra.0", 20)
FUNCTION(colder, "kprobes_why.colder", 30)
FUNCTION(cold, "kprobes_why.cold", 40)
FUNCTION(numbered, "kprobes_why.cold.12", 50)

NOKPROBE_SYMBOL(why_listed);

STACK_FRAME_NON_STANDARD(why_colder);
STACK_FRAME_NON_STANDARD(why_cold);
STACK_FRAME_NON_STANDARD(why_numbered);

/* A label of assembly, before which the code is not at its end, or has moved the stack pointer */
#if defined(CONFIG_UNWINDER_ORC)
#define LABEL_WORDS	"the return address is not where a call leaves it"
#define LABEL		"push %%rbx\nkprobes_why_label: nop\npop %%rbx"
#elif defined(CONFIG_ARM64) && !defined(CONFIG_CFI)
#define LABEL_WORDS	"a label that the code in front of it runs into"
#define LABEL		"mov %w0, %w0\nkprobes_why_label: nop"
#endif

#ifdef LABEL_WORDS
static noinline __noclone unsigned int has_label(unsigned int n)
{
	asm volatile(LABEL : "+r" (n) : : "memory");
	return n + 1;
}
#endif

#ifdef CONFIG_JUMP_LABEL
static DEFINE_STATIC_KEY_FALSE(key_in_text);

static noinline __noclone unsigned int has_jump_label(unsigned int n)
{
	if (static_branch_unlikely(&key_in_text))
		n++;
	barrier_data(&n);
	return n;
}
#endif

/* --- probes on them --- */

static int see(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

KIND_HANDLERS(see_and_hit_again, target(1));

/* It is unregistered when the case ends, if it has been registered. */
static struct kprobe *new_probe(struct kunit *test, void *addr)
{
	const union any_probe like = { .kp.pre_handler = see };

	return &any_new(test, KPROBE, &like, addr)->probe.kp;
}

static struct kprobe_site *plant(struct kunit *test, struct kprobe *p)
{
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(p));
	return site_at(p->addr);
}

/* --- hits and misses --- */

static void expect_counts(struct kunit *test, struct kprobe_site *site, long hits, long missed)
{
	KUNIT_EXPECT_EQ(test, hits, atomic_long_read(&site->kp.hits));
	KUNIT_EXPECT_EQ(test, missed, atomic_read(&site->missed[KPROBE_MISS_RECURSION]));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&site->missed[KPROBE_MISS_POOL]));
}

/*
 * A hit by a handler is one miss of the site, not one for each of its probes. Others come and go;
 * when the last one comes back, the site may be the old one, which was revived.
 */
static void counts_begin_with_the_first_probe_of_a_site(struct kunit *test)
{
	struct kprobe *p = new_probe(test, why_nop), *other = new_probe(test, why_nop);
	struct kprobe_site *site;

	p->pre_handler = see_and_hit_again_pre;
	site = plant(test, p);
	kprobe_stats_enable(true);
	call(target, 1);
	expect_counts(test, site, 1, 1);
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(other));
	expect_counts(test, site, 1, 1);
	call(target, 1);
	unregister_kprobe(other);
	expect_counts(test, site, 2, 2);
	KUNIT_EXPECT_EQ(test, 2, p->nmissed);

	unregister_kprobe(p);
	p->flags = 0;
	site = plant(test, p);
	expect_counts(test, site, 0, 0);
}

#ifdef CONFIG_KRETPROBES
static void return_into_a_handler_is_a_miss_of_recursion(struct kunit *test)
{
	struct return_probe *probe;

	if (trampoline_is_probed())
		kunit_skip(test, "nothing returns there from where handlers cannot run");
	probe = return_probe_with(test, returns_busy);
	call(returns_busy, 1);
	kprobe_busy_end();
	expect_counts(test, site_at(probe->rp.kp.addr), 0, 1);
	KUNIT_EXPECT_EQ(test, 1, probe->rp.nmissed);
}
#endif

/* --- ways --- */

static const char *why_of(struct kprobe_site *site)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_site_why(site);
}

static void expect_way(struct kunit *test, struct kprobe_site *site, const char *path,
		       const char *obstacle)
{
	guard(mutex)(&kprobe_mutex);
	KUNIT_EXPECT_STREQ(test, path, kprobe_site_path(site));
	KUNIT_EXPECT_STREQ(test, obstacle, kprobe_site_why(site));
}

/* A site that is nowhere goes through the states that matter here. */
static void way_of_a_jump_and_its_obstacle_are_the_sites(struct kunit *test)
{
	static struct kprobe_site site;

	memset(&site, 0, sizeof(site));
	site.state = SITE_IDLE;
	KUNIT_EXPECT_STREQ(test, "disarmed", why_of(&site));
	site.state = SITE_ARMED;
	site.kp.obstacle = KPROBE_OBSTACLE_REACH;
	KUNIT_EXPECT_STREQ(test, "reach", why_of(&site));
	site.state = SITE_OPTIMIZING;
	KUNIT_EXPECT_STREQ(test, "pending", why_of(&site));
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_STRNEQ(test, "jump", kprobe_site_path(&site));
	site.state = SITE_OPTIMIZED;
	expect_way(test, &site, "jump", "-");
	site.state = SITE_GONE;
	expect_way(test, &site, "-", "gone");
}

#ifdef CONFIG_OPTPROBES
static void see_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* A past bug: it did not, on architectures whose jumps run none. */
static void jump_comes_back_when_a_post_handler_leaves(struct kunit *test)
{
	struct kprobe *with_post = new_probe(test, why_nop);
	struct kprobe_site *site;

	site = plant(test, new_probe(test, why_nop));
	wait_for_kprobe_optimizer();
	if (site->state != SITE_OPTIMIZED)
		kunit_skip(test, "no jump here: %s", why_of(site));
	with_post->post_handler = see_after;
	plant(test, with_post);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_STREQ(test, ARCH_KPROBE_STATELESS ? "-" : "post", why_of(site));
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(with_post));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_STREQ(test, "-", why_of(site));
}
#endif

/* --- refusals --- */

static void new_seq_file(struct kunit *test, struct seq_file *m, size_t size)
{
	*m = (struct seq_file){ .size = size };
	m->buf = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->buf);
}

static void show_refusals(struct kunit *test, struct seq_file *m, bool show_addresses)
{
	new_seq_file(test, m, 4 * PAGE_SIZE);
	mutex_lock(&kprobe_mutex);
	kprobe_refusals_show(m, show_addresses);
	mutex_unlock(&kprobe_mutex);
	KUNIT_ASSERT_LT(test, m->count, m->size);
}

/* Returns the line of the last refusal. */
static char *last_refusal(struct kunit *test, bool show_addresses)
{
	struct seq_file m;
	char *end, *line;

	show_refusals(test, &m, show_addresses);
	KUNIT_ASSERT_GT(test, m.count, 0);
	end = m.buf + m.count - 1;
	KUNIT_EXPECT_EQ(test, '\n', *end);
	*end = '\0';
	line = strrchr(m.buf, '\n');
	return line ? line + 1 : m.buf;
}

/* Expects the last refusal to be @err, for @place, with words that begin with @words. */
static void expect_refusal(struct kunit *test, int err, const char *place,
			   const char *words)
{
	char *line = last_refusal(test, true);
	char *expected = test_alloc(test, 256);

	snprintf(expected, 256, "%pe %s: %s", ERR_PTR(err), place, words);
	KUNIT_EXPECT_TRUE_MSG(test, str_has_prefix(line, expected),
			      "it is '%s', expected '%s'", line, expected);
}

static const char jumped_to[] = "a part of a function, which is jumped to";

#define BY_NAME(symbol, at)	{ .kp = { .symbol_name = (symbol), .offset = (at) } }
#define AT(address)		{ .kp.addr = (void *)(address) }
#define TOO_LARGE		(KRETPROBE_MAX_DATA_SIZE + 1)

static const struct refusal {
	enum any_type type;
	union any_probe probe;
	int err;
	const char *place;	/* NULL for the symbol of its address */
	const char *words;
} refusals[] = {
	{ KPROBE, BY_NAME("no_such_function_anywhere", 0), -ENOENT,
	  "no_such_function_anywhere+0x0", "no such symbol" },
	{ KPROBE, BY_NAME("no_such_function_anywhere", 16), -ENOENT,
	  "no_such_function_anywhere+0x10", "no such symbol" },
	{ KPROBE, BY_NAME("no\nsuch\\function", 0), -ENOENT,
	  "no\\012such\\134function+0x0", "no such symbol" },
	{ KPROBE, BY_NAME("no\r\033[such", 0), -ENOENT,
	  "no\\015\\033[such+0x0", "no such symbol" },
	{ KPROBE, BY_NAME("no such caf\303\251", 0), -ENOENT,
	  "no such caf\\303\\251+0x0", "no such symbol" },
	{ KPROBE, BY_NAME("notify_die", 0), -EINVAL, "notify_die+0x0", "on the blacklist" },
	{ KPROBE, AT(why_listed_part), -EINVAL, NULL, "on the blacklist" },
	{ KPROBE, AT(NULL), -EINVAL, "-", "neither an address nor a symbol is given" },
	{ KPROBE, { .kp = { .symbol_name = "vsnprintf", .addr = (void *)target } }, -EINVAL,
	  "vsnprintf+0x0", "both an address and a symbol are given" },
#ifdef CONFIG_KALLSYMS_ALL
	{ KPROBE, AT(&kprobe_mutex), -EINVAL, NULL, "not kernel text" },
#endif
	/* Where the first instruction has more than one byte, as ftrace's nop has. */
#if defined(CONFIG_ARM64) || (defined(CONFIG_X86) && defined(CONFIG_FUNCTION_TRACER))
	{ KPROBE, AT((void *)target + 1), -EILSEQ, NULL, "not the start of an instruction" },
#endif
#ifdef REFUSED_WORDS
	{ KPROBE, AT(why_refused), REFUSED_ERR, NULL, REFUSED_WORDS },
#endif
#ifdef CONFIG_KRETPROBES
	{ RETURN_PROBE, AT(why_nop), -EINVAL, NULL, "not a function's entry" },
	{ RETURN_PROBE, { .rp = { .kp.symbol_name = "vsnprintf", .data_size = TOO_LARGE } },
	  -E2BIG, "vsnprintf+0x0", "data_size is too large" },
#ifdef CONFIG_X86
	{ RETURN_PROBE, BY_NAME("__switch_to", 0), -EINVAL, "__switch_to+0x0",
	  "the function does not return as others do" },
#endif
	/*
	 * A past bug: a return probe on NAME.cold replaced a word on the stack that is no return
	 * address.
	 */
	{ RETURN_PROBE, AT(why_cold), -EINVAL, NULL, jumped_to },
	{ RETURN_PROBE, AT(why_numbered), -EINVAL, NULL, jumped_to },
#ifdef LABEL_WORDS
	{ RETURN_PROBE, BY_NAME("kprobes_why_label", 0), -EINVAL, "kprobes_why_label+0x0",
	  LABEL_WORDS },
#endif
#endif
#ifdef CONFIG_JPROBES
	{ JPROBE, BY_NAME("vsnprintf", 0), -EINVAL, "vsnprintf+0x0",
	  "there is no function to call" },
	{ JPROBE, { .jp = { .kp.addr = (void *)why_nop, .entry = target } }, -EINVAL, NULL,
	  "not a function's entry" },
	{ JPROBE, { .jp = { .kp.addr = (void *)why_cold, .entry = target } }, -EINVAL, NULL,
	  jumped_to },
#endif
};

static void expect_refused(struct kunit *test, const struct refusal *refusal)
{
	struct any *any = any_new(test, refusal->type, &refusal->probe, refusal->probe.kp.addr);
	char place[KSYM_SYMBOL_LEN];

	snprintf(place, sizeof(place), "%pS", refusal->probe.kp.addr);
	KUNIT_EXPECT_EQ(test, refusal->err, any_register(any->type, &any->probe));
	expect_refusal(test, refusal->err, refusal->place ?: place, refusal->words);
}

static void expect_kprobe_refused(struct kunit *test, void *addr, int err, const char *words)
{
	expect_refused(test, &(struct refusal) {
		.probe = AT(addr), .err = err, .words = words,
	});
}

static void what_is_refused_is_told_with_the_reason(struct kunit *test)
{
	void *padding = (void *)kallsyms_lookup_name("__pfx_vsnprintf");
	bool run = false;
	unsigned int i;

	OPTIMIZER_HIDE_VAR(run);
	has_refused(run);
	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		expect_refused(test, &refusals[i]);
	if (padding)
		expect_kprobe_refused(test, padding, -EINVAL, "padding before a function");
}

/* A past bug: addresses were shown to readers who may not see them. */
static void address_without_a_symbol_is_shown_to_few(struct kunit *test)
{
	struct kprobe *p = new_probe(test, NULL);
	char line[80];

	p->addr = (kprobe_opcode_t *)p;
	KUNIT_EXPECT_EQ(test, -ENOENT, register_kprobe(p));
	snprintf(line, sizeof(line), "0x%0*lx", KPROBE_ADDRESS_WIDTH, (unsigned long)p);
	expect_refusal(test, -ENOENT, line, "no symbol covers the address");
	KUNIT_EXPECT_NULL(test, strstr(last_refusal(test, false), line));
}

static void blacklist_shows_whole_functions(struct kunit *test)
{
	unsigned long start = kallsyms_lookup_name("kprobes_why_listed"), size, offset;
	struct seq_file m;
	char line[80];

	KUNIT_EXPECT_EQ(test, 5, call(why_listed, 1) + call(why_listed_part, 1));
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(start, &size, &offset));
	new_seq_file(test, &m, SZ_1M);
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_blacklist_show(&m, true);
	KUNIT_ASSERT_LT(test, m.count, m.size);
	snprintf(line, sizeof(line), "0x%0*lx-0x%0*lx\tkprobes_why_listed\n",
		 KPROBE_ADDRESS_WIDTH, start, KPROBE_ADDRESS_WIDTH, start + size);
	KUNIT_EXPECT_NOT_NULL(test, strstr(m.buf, line));
}

static void text_patched_by_others_is_named(struct kunit *test)
{
#ifdef CONFIG_JUMP_LABEL
	struct jump_entry *entry;
	unsigned int found = 0;

	call(has_jump_label, 1);
	for (entry = __start___jump_table; entry < __stop___jump_table; entry++) {
		if (jump_entry_key(entry) != &key_in_text.key)
			continue;
		found++;
		expect_kprobe_refused(test, (void *)jump_entry_code(entry), -EINVAL,
				      "a jump label");
	}
	KUNIT_EXPECT_GT(test, found, 0);
#else
	kunit_skip(test, "no jump labels");
#endif
}

static void struct_that_is_used_already_is_refused_as_that(struct kunit *test)
{
	struct kprobe *p = new_probe(test, NULL);

	p->symbol_name = "vsnprintf";
	plant(test, p);
	/* It has a name and an address, too, but that is not the reason. */
	KUNIT_EXPECT_EQ(test, -EINVAL, register_kprobe(p));
	expect_refusal(test, -EINVAL, "vsnprintf+0x0", "registered already");
}

/* --- functions and parts of functions --- */

/* The words for why calls do not arrive there, or NULL */
static const char *words_for_entry(void *addr, const char *symbol)
{
	bool on_entry;
	const char *why;

	addr = kprobe_resolve(addr, symbol, 0, &on_entry, &why);
	if (IS_ERR(addr) || !on_entry)
		return "no entry";
	return kprobe_not_called((unsigned long)addr);
}

#ifdef CONFIG_KRETPROBES
static void entries_are_told_from_parts_that_are_jumped_to(struct kunit *test)
{
	static const struct {
		unsigned int (*function)(unsigned int n);
		int err;
	} functions[] = {
		{ why_whole, 0 }, { why_inner, 0 }, { why_colder, 0 }, { why_cold, -EINVAL },
		{ why_numbered, -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		KUNIT_EXPECT_EQ(test, 11 + 10 * i, call(functions[i].function, 1));
		KUNIT_EXPECT_EQ(test, functions[i].err,
				kprobe_on_func_entry((void *)functions[i].function, NULL, 0));
	}
#ifdef LABEL_WORDS
	KUNIT_EXPECT_EQ(test, 2, call(has_label, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, kprobe_on_func_entry(NULL, "kprobes_why_label", 0));
#endif
}
#endif

/* A sweep over the kernel's symbols, and what it has found */
static struct symbols {
	unsigned int traced, untraced, parts, labels;
	struct kunit *test;
} symbols;

static int look_at_symbol(void *unused, const char *name, unsigned long addr)
{
	const char *words;
	bool traced;

	if (!core_kernel_text(addr))
		return 0;
	cond_resched();
	traced = ftrace_location(addr);
	words = words_for_entry((void *)addr, NULL);
	symbols.traced += traced;
	symbols.untraced += !traced;
	if (!words || !strcmp(words, "no entry"))
		return 0;
	kunit_info(symbols.test, "%s: %s\n", name, words);
	if (!strcmp(words, jumped_to)) {
		symbols.parts++;
	} else {
		symbols.labels++;
		KUNIT_EXPECT_FALSE_MSG(symbols.test, traced, "%s", name);
	}
	return 0;
}

/* Nothing that ftrace calls from is refused. What else is refused is for people to look at. */
static void functions_have_return_probes(struct kunit *test)
{
	symbols = (struct symbols){ .test = test };
	kallsyms_on_each_symbol(look_at_symbol, NULL);
	kunit_info(test, "%u traced and %u other symbols; refused: %u parts, %u labels\n",
		   symbols.traced, symbols.untraced, symbols.parts, symbols.labels);
	KUNIT_EXPECT_GT(test, symbols.traced + symbols.untraced, 1000);
}

/* Most are of assembly, which ftrace does not call from. */
static void functions_of_assembly_have_return_probes(struct kunit *test)
{
	static const char * const names[] = {
		"memcpy", "__memcpy", "__pi_memcpy", "memset", "__memset", "memmove", "__memmove",
		"strlen", "strncmp", "memcmp", "copy_page", "clear_page", "clear_page_rep",
		"csum_partial", "__arch_copy_from_user", "rep_movs_alternative", "__switch_to_asm",
	};
	unsigned int i, found = 0;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!kallsyms_lookup_name(names[i]))
			continue;
		found++;
		KUNIT_EXPECT_STREQ_MSG(test, "", words_for_entry(NULL, names[i]) ?: "", "%s",
				       names[i]);
	}
	KUNIT_EXPECT_GT(test, found, 0);
}

/* A batch has one error and one reason, those of the first probe that was refused. */
static void batch_is_refused_for_one_of_its_probes(struct kunit *test)
{
	struct kprobe *probes[] = {
		new_probe(test, why_nop), new_probe(test, NULL), new_probe(test, NULL),
	};

	probes[1]->symbol_name = "no_such_second";
	KUNIT_EXPECT_EQ(test, -ENOENT, register_kprobes(probes, ARRAY_SIZE(probes)));
	expect_refusal(test, -ENOENT, "no_such_second+0x0", "no such symbol");
	KUNIT_EXPECT_EQ(test, -EINVAL, register_kprobes(probes, 0));
	expect_refusal(test, -EINVAL, "-", "the number of probes is not positive");
	/* Another refusal in between */
	expect_kprobe_refused(test, why_listed, -EINVAL, "on the blacklist");
	if (IS_ENABLED(CONFIG_KRETPROBES)) {
		KUNIT_EXPECT_EQ(test, -EINVAL, register_kretprobes(NULL, 0));
		expect_refusal(test, -EINVAL, "-", "the number of probes is not positive");
	}
}

#ifdef CAN_FAIL_FTRACE
/* ftrace is told of the entry when all have been enabled, of which the entry is not the last. */
static void failure_of_ftrace_is_told_of_the_entry(struct kunit *test)
{
	struct kprobe *probes[] = { new_probe(test, why_nop), new_probe(test, target) };
	char place[KSYM_SYMBOL_LEN];
	int err;

	have_ftrace_fail(test);
	ftrace_failures = 1;
	err = register_kprobes(probes, ARRAY_SIZE(probes));
	if (!err)
		unregister_kprobes(probes, ARRAY_SIZE(probes));
	KUNIT_ASSERT_EQ(test, -ENOMEM, err);
	snprintf(place, sizeof(place), "%pS", target);
	expect_refusal(test, -ENOMEM, place, "no memory");
}
#endif

static void what_is_registered_leaves_no_line(struct kunit *test)
{
	struct seq_file before, after;

	show_refusals(test, &before, true);
	plant(test, new_probe(test, target));
	show_refusals(test, &after, true);
	KUNIT_EXPECT_STREQ(test, before.buf, after.buf);
}

static void the_last_refusals_are_kept(struct kunit *test)
{
	struct kprobe *p = new_probe(test, NULL);
	unsigned int i, lines = 0;
	struct seq_file m;
	char name[32];
	char *at;

	p->symbol_name = name;
	for (i = 0; i < KPROBE_REFUSALS + 3; i++) {
		snprintf(name, sizeof(name), "no_such_%u_", i);
		KUNIT_EXPECT_EQ(test, -ENOENT, register_kprobe(p));
	}
	/* The lines must have copies of names. */
	memset(name, 0, sizeof(name));
	show_refusals(test, &m, true);
	for (at = m.buf; *at; at = strchr(at, '\n') + 1)
		lines++;
	KUNIT_EXPECT_EQ(test, KPROBE_REFUSALS, lines);
	KUNIT_EXPECT_NULL(test, strstr(m.buf, "no_such_2_"));
	for (i = 3, at = m.buf; i < KPROBE_REFUSALS + 3; i++) {
		snprintf(name, sizeof(name), " no_such_%u_+0x0: ", i);
		at = strstr(at, name);
		KUNIT_ASSERT_NOT_NULL_MSG(test, at, "%s is not there in its turn", name);
	}
}

/* --- oopses --- */

#ifdef CONFIG_TRACEPOINTS
/* As if there were an oops, in code that is not probed. */
static void explain(void)
{
	struct pt_regs regs = {};

	instruction_pointer_set(&regs, (unsigned long)log_times);
	kprobe_explain_oops(&regs);
}

KIND_HANDLERS(see_and_explain, explain());

static void oops_is_blamed_on_handlers_only(struct kunit *test)
{
	struct kprobe *p = new_probe(test, why_nop);

	p->pre_handler = see_and_explain_pre;
	plant(test, p);
	log_watch(test, "a handler of the probe at");
	explain();
	kprobe_busy_begin();
	explain();
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, 0, log_times());
	call(target, 1);
	KUNIT_EXPECT_EQ(test, 1, log_times());
}

static void oops_is_blamed_on_enabled_probes_only(struct kunit *test)
{
	struct kprobe *p = new_probe(test, why_nop);
	struct pt_regs regs = {};

	plant(test, p);
	instruction_pointer_set(&regs, (unsigned long)p->addr);
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(p));
	log_watch(test, "the probed instruction at");
	kprobe_explain_oops(&regs);
	KUNIT_EXPECT_EQ(test, 0, log_times());
	KUNIT_ASSERT_EQ(test, 0, enable_kprobe(p));
	kprobe_explain_oops(&regs);
	KUNIT_EXPECT_EQ(test, 1, log_times());
}
#endif

KUNIT_DEFINE_ACTION_WRAPPER(restore_switch, kprobe_stats_enable, bool);

static int switch_off(struct kunit *test)
{
	void *stats_were_on = static_key_enabled(&kprobe_stats) ? test : NULL;

	kprobe_stats_enable(false);
	return kunit_add_action_or_reset(test, restore_switch, stats_were_on);
}

static struct kunit_case why_cases[] = {
	KUNIT_CASE(counts_begin_with_the_first_probe_of_a_site),
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(return_into_a_handler_is_a_miss_of_recursion),
	KUNIT_CASE(entries_are_told_from_parts_that_are_jumped_to),
#endif
	KUNIT_CASE_SLOW(functions_have_return_probes),
	KUNIT_CASE(functions_of_assembly_have_return_probes),
	KUNIT_CASE(way_of_a_jump_and_its_obstacle_are_the_sites),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE(jump_comes_back_when_a_post_handler_leaves),
#endif
	KUNIT_CASE(what_is_refused_is_told_with_the_reason),
	KUNIT_CASE(address_without_a_symbol_is_shown_to_few),
	KUNIT_CASE(blacklist_shows_whole_functions),
	KUNIT_CASE(text_patched_by_others_is_named),
	KUNIT_CASE(struct_that_is_used_already_is_refused_as_that),
	KUNIT_CASE(batch_is_refused_for_one_of_its_probes),
#ifdef CAN_FAIL_FTRACE
	KUNIT_CASE(failure_of_ftrace_is_told_of_the_entry),
#endif
	KUNIT_CASE(what_is_registered_leaves_no_line),
	KUNIT_CASE(the_last_refusals_are_kept),
#ifdef CONFIG_TRACEPOINTS
	KUNIT_CASE(oops_is_blamed_on_handlers_only),
	KUNIT_CASE(oops_is_blamed_on_enabled_probes_only),
#endif
	{}
};

static struct kunit_suite why_suite = {
	.name = "kprobes_why",
	.init = switch_off,
	.test_cases = why_cases,
};

kunit_test_suite(why_suite);
