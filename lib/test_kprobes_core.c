// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what kprobes promise to the rest of the kernel, through
 * functions that modules cannot call, and of everything that must not be
 * probed, read from the kernel's own tables. Built-in only.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/jump_label.h>
#include <linux/kthread.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>
#include <asm/sections.h>

#include "test_kprobes/probe.h"

KUNIT_ARRAY_PARAM(step, kprobes_steps_table, kprobes_step_desc);
KUNIT_ARRAY_PARAM(entry, kprobes_entries, kprobes_step_desc);

static const struct kprobes_step *param_step(struct kunit *test)
{
	return test->param_value;
}

/* Text that is patched by others */

/**
 * struct refused_area - addresses that must be refused, and how that went
 * @test: who wants to know
 * @probe: the probe that is tried on them
 * @tried: how many were tried
 * @accepted: how many were not refused
 */
struct refused_area {
	struct kunit *test;
	struct kprobe probe;
	unsigned int tried, accepted;
};

static bool is_refusal(int ret)
{
	return ret == -EINVAL || ret == -EOPNOTSUPP || ret == -ENOENT || ret == -EILSEQ;
}

static void expect_refused(struct refused_area *area, unsigned long addr)
{
	int ret;

	memset(&area->probe, 0, sizeof(area->probe));
	area->probe.addr = (kprobe_opcode_t *)addr;
	/* It may be the path of the probe itself: better it stays quiet. */
	area->probe.flags = KPROBE_FLAG_DISABLED;
	ret = register_kprobe(&area->probe);
	area->tried++;
	if (!ret)
		unregister_kprobe(&area->probe);
	if (!is_refusal(ret) && area->accepted++ < 10)
		kunit_err(area->test, "%pS: answer %d", (void *)addr, ret);
	cond_resched();
}

static void expect_none_accepted(struct refused_area *area)
{
	kunit_info(area->test, "%u addresses tried", area->tried);
	KUNIT_EXPECT_EQ(area->test, area->accepted, 0);
}

static void jump_labels_are_refused(struct kunit *test)
{
#ifdef CONFIG_JUMP_LABEL
	struct refused_area area = { .test = test };
	struct jump_entry *entry;

	for (entry = __start___jump_table; entry < __stop___jump_table; entry++)
		expect_refused(&area, jump_entry_code(entry));
	expect_none_accepted(&area);
	KUNIT_EXPECT_GT(test, area.tried, 0);
#else
	kunit_skip(test, "no jump labels");
#endif
}

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
extern struct static_call_site __start_static_call_sites[], __stop_static_call_sites[];
#endif

static void static_calls_are_refused(struct kunit *test)
{
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	struct refused_area area = { .test = test };
	struct static_call_site *site;

	for (site = __start_static_call_sites; site < __stop_static_call_sites; site++)
		expect_refused(&area, (unsigned long)&site->addr + site->addr);
	expect_none_accepted(&area);
	KUNIT_EXPECT_GT(test, area.tried, 0);
#else
	kunit_skip(test, "no inline static calls");
#endif
}

/* By what their symbol's name begins with */

struct refused_names {
	struct refused_area area;
	const char *prefix;
	unsigned int seen, every;
};

static int expect_name_refused(void *data, const char *name, unsigned long addr)
{
	struct refused_names *names = data;

	if (str_has_prefix(name, names->prefix) && !(names->seen++ % names->every))
		expect_refused(&names->area, addr);
	return 0;
}

static void expect_names_refused(struct kunit *test, const char *prefix, unsigned int every)
{
	struct refused_names names = {
		.area.test = test, .prefix = prefix, .every = every,
	};

	kallsyms_on_each_symbol(expect_name_refused, &names);
	expect_none_accepted(&names.area);
	if (!names.seen)
		kunit_skip(test, "no symbol begins with %s", prefix);
}

static void trampolines_of_static_calls_are_refused(struct kunit *test)
{
	expect_names_refused(test, STATIC_CALL_TRAMP_PREFIX_STR, 1);
}

/* There are as many as functions. */
static void padding_before_functions_is_refused(struct kunit *test)
{
	expect_names_refused(test, "__pfx_", 16);
}

static void types_before_functions_are_refused(struct kunit *test)
{
	expect_names_refused(test, "__cfi_", 16);
}

#ifdef CONFIG_GENERIC_BUG
extern struct bug_entry __start___bug_table[], __stop___bug_table[];

static unsigned long bug_site(struct bug_entry *bug)
{
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
	return (unsigned long)&bug->bug_addr_disp + bug->bug_addr_disp;
#else
	return bug->bug_addr;
#endif
}
#endif

static void bug_and_warn_sites_are_refused(struct kunit *test)
{
#ifdef CONFIG_GENERIC_BUG
	struct refused_area area = { .test = test };
	struct bug_entry *bug;

	for (bug = __start___bug_table; bug < __stop___bug_table; bug++)
		expect_refused(&area, bug_site(bug));
	expect_none_accepted(&area);
	KUNIT_EXPECT_GT(test, area.tried, 0);
#else
	kunit_skip(test, "no table of BUG() sites");
#endif
}

/* An entry of the list that is none: what comes behind it has to be heeded. */
static unsigned long no_function;
static unsigned long no_entry __used __section("_kprobe_blacklist") = (unsigned long)&no_function;

static void blacklisted_functions_are_refused(struct kunit *test)
{
	struct refused_area area = { .test = test };
	bool no_entry_seen = false;
	unsigned long *entry;

	if (system_state >= SYSTEM_FREEING_INITMEM)
		kunit_skip(test, "the list was in init data");
	for (entry = __start_kprobe_blacklist; entry < __stop_kprobe_blacklist; entry++) {
		void *function = dereference_function_descriptor((void *)*entry);

		if (*entry == (unsigned long)&no_function) {
			KUNIT_EXPECT_FALSE(test, within_kprobe_blacklist(*entry));
			no_entry_seen = true;
			continue;
		}
		KUNIT_EXPECT_TRUE_MSG(test, within_kprobe_blacklist((unsigned long)function),
				      "%pS", function);
		expect_refused(&area, (unsigned long)function);
	}
	expect_none_accepted(&area);
	KUNIT_EXPECT_GT(test, area.tried, 0);
	KUNIT_EXPECT_TRUE(test, no_entry_seen);
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
	expect_none_accepted(&area);
	KUNIT_EXPECT_GT(test, area.tried, 0);
}

#ifdef CONFIG_FTRACE_MCOUNT_RECORD
extern unsigned long __start_mcount_loc[], __stop_mcount_loc[];

/* Not all entries of the list are still there to be patched; some are empty. */
static unsigned long ftrace_site(unsigned long entry)
{
	return entry ? ftrace_location(ftrace_call_adjust(entry)) : 0;
}
#endif

static void inside_of_an_ftrace_site_is_refused(struct kunit *test)
{
#ifdef CONFIG_FTRACE_MCOUNT_RECORD
	struct refused_area area = { .test = test };
	unsigned long *entry;

	if (system_state >= SYSTEM_FREEING_INITMEM)
		kunit_skip(test, "the list was in init data");
	for (entry = __start_mcount_loc; entry < __stop_mcount_loc; entry++) {
		unsigned long site = ftrace_site(*entry);

		if (site)
			expect_refused(&area, site + 1 + area.tried % (MCOUNT_INSN_SIZE - 1));
	}
	expect_none_accepted(&area);
	KUNIT_EXPECT_GT(test, area.tried, 0);
#else
	kunit_skip(test, "the kernel does not trace functions");
#endif
}

/* The pointer before a function, by which ftrace finds what to call for it */
static void ops_before_an_ftrace_site_are_refused(struct kunit *test)
{
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS
	struct refused_area area = { .test = test };
	unsigned long *entry;

	if (system_state >= SYSTEM_FREEING_INITMEM)
		kunit_skip(test, "the list was in init data");
	for (entry = __start_mcount_loc; entry < __stop_mcount_loc; entry++) {
		unsigned long site = ftrace_site(*entry);
		unsigned long offset, size;

		if (!site || !kallsyms_lookup_size_offset(site, &size, &offset))
			continue;
		expect_refused(&area, site - offset - 4);
		expect_refused(&area, site - offset - 8);
	}
	expect_none_accepted(&area);
	KUNIT_EXPECT_GT(test, area.tried, 0);
#else
	kunit_skip(test, "there is none");
#endif
}

static void entry_of_an_ftrace_site_needs_ftrace(struct kunit *test)
{
	struct refused_area area = { .test = test };
	unsigned long site = ftrace_location((unsigned long)kprobes_traced);

	if (IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) || !site)
		kunit_skip(test, "ftrace calls the probes, or there is none");
	expect_refused(&area, site);
	expect_none_accepted(&area);
}

/* Every instruction of a function */

struct boundaries {
	struct kunit *test;
	struct kprobes_text *text;
	struct kprobe *probes;
	struct kprobe **registered;
	unsigned int num;
};

static void boundaries_drop(void *data)
{
	struct boundaries *all = data;

	if (all->num)
		unregister_kprobes(all->registered, all->num);
	all->num = 0;
}

static bool others_patch(void *addr)
{
	return jump_label_text_reserved(addr, addr) || static_call_text_reserved(addr, addr) ||
	       find_bug((unsigned long)addr);
}

static void boundaries_try(struct boundaries *all, unsigned long offset, bool boundary)
{
	struct kprobe *probe = &all->probes[offset];
	int ret;

	probe->addr = all->text->start + offset;
	ret = register_kprobe(probe);
	if (!ret)
		all->registered[all->num++] = probe;
	if (others_patch(all->text->start + offset) || (boundary && ret == KPROBES_REFUSED))
		KUNIT_EXPECT_LT(all->test, ret, 0);
	else if (boundary)
		KUNIT_EXPECT_EQ_MSG(all->test, ret, 0, "%pS", all->text->start + offset);
	else if (ret != KPROBES_OFF_BOUNDARY)
		KUNIT_EXPECT_EQ_MSG(all->test, ret, -EILSEQ, "%pS", all->text->start + offset);
	cond_resched();
}

/* Try all addresses of a function; those taken stay until the case ends. */
static struct boundaries *boundaries_register(struct kunit *test, void *function)
{
	struct boundaries *all = kunit_kzalloc(test, sizeof(*all), GFP_KERNEL);
	unsigned long offset = 0, next = 0, size;

	KUNIT_ASSERT_NOT_NULL(test, all);
	all->test = test;
	all->text = kprobes_text_watch(test, function);
	size = kprobes_trim(all->text->copy, all->text->size);
	all->probes = kunit_kcalloc(test, size, sizeof(*all->probes), GFP_KERNEL);
	all->registered = kunit_kcalloc(test, size, sizeof(*all->registered), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all->probes);
	KUNIT_ASSERT_NOT_NULL(test, all->registered);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, boundaries_drop, all));

	for (offset = 0; offset < size; offset++) {
		int length;

		boundaries_try(all, offset, offset == next);
		if (offset != next)
			continue;
		length = kprobes_insn_length(all->text->copy + offset, size - offset);
		KUNIT_ASSERT_GT_MSG(test, length, 0, "no instruction at %pS", function + offset);
		next += length;
	}
	return all;
}

static void every_instruction_and_nothing_else_is_accepted(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct boundaries *all;

	if (!kprobes_insn_length((u8 *)kprobes_traced, 16))
		kunit_skip(test, "no instruction decoder here");
	all = boundaries_register(test, step->call);
	KUNIT_EXPECT_GT(test, all->num, 1);
	kprobes_call_step(test, step);
}

static void big_function_works_with_all_its_instructions_probed(struct kunit *test)
{
	struct boundaries *all;
	char buffer[64];

	if (!kprobes_insn_length((u8 *)kprobes_traced, 16))
		kunit_skip(test, "no instruction decoder here");
	all = boundaries_register(test, (void *)vsnprintf);
	KUNIT_EXPECT_GT(test, all->num, 50);
	snprintf(buffer, sizeof(buffer), "%d %5.2s|%-5x|%c%%", -17, "abc", 0xbeef, 'z');
	KUNIT_EXPECT_STREQ(test, buffer, "-17    ab|beef |z%");
}

/* Faults */

static void fault_in_a_probed_instruction_is_fixed_up(struct kunit *test)
{
	void *bad = kprobes_unmapped(test);
	unsigned long value = 5;

	if (!kprobes_insn_length((u8 *)kprobes_traced, 16))
		kunit_skip(test, "no instruction decoder here");
	boundaries_register(test, copy_from_kernel_nofault);
	KUNIT_EXPECT_EQ(test, -EFAULT, copy_from_kernel_nofault(&value, bad, sizeof(value)));
	KUNIT_EXPECT_EQ(test, 0, copy_from_kernel_nofault(&value, &bad, sizeof(value)));
	KUNIT_EXPECT_EQ(test, value, (unsigned long)bad);
}

static void *bad_address;
static long fault_result;

static int fault_in_handler(struct probe *probe, struct pt_regs *regs)
{
	unsigned long value;

	fault_result = copy_from_kernel_nofault(&value, bad_address, sizeof(value));
	return 0;
}

static void fault_in_a_handler_is_fixed_up(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct probe *probe = probe_new(test, step->addr);

	bad_address = kprobes_unmapped(test);
	fault_result = 0;
	probe->on_hit = fault_in_handler;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, fault_result, -EFAULT);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
}

/* Who is running */

static kprobe_opcode_t *running_addr;
static u32 running_flags;

static void note_running(void)
{
	struct kprobe *running = kprobe_running();

	/* The compiler does not see who calls this. */
	WRITE_ONCE(running_addr, running ? running->addr : NULL);
	WRITE_ONCE(running_flags, running ? running->flags : 0);
}

static int note_running_probe(struct probe *probe, struct pt_regs *regs)
{
	note_running();
	return 0;
}

static struct kprobe *running_now(void)
{
	struct kprobe *running;

	preempt_disable();
	running = kprobe_running();
	preempt_enable();
	return running;
}

static void running_probe_is_named_in_its_handler_only(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct probe *probe = probe_new(test, step->addr);

	probe->on_hit = note_running_probe;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	WRITE_ONCE(running_addr, NULL);
	kprobes_call_step(test, step);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(running_addr), probe->kp.addr);
	KUNIT_EXPECT_EQ(test, !!(READ_ONCE(running_flags) & KPROBE_FLAG_ON_FUNC_ENTRY),
			step->addr == step->call);
	KUNIT_EXPECT_NULL(test, running_now());
}

static u32 (*nested_call)(u32 x);

static noinline __noclone u32 handler_place(u32 x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return x + 1;
}

static int note_running_after_a_miss(struct probe *probe, struct pt_regs *regs)
{
	nested_call(1);
	note_running();
	return 0;
}

static void running_probe_is_still_named_after_a_miss(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct probe *missed = probe_registered(test, step->addr);
	struct probe *probe = probe_new(test, handler_place);

	nested_call = step->call;
	probe->on_hit = note_running_after_a_miss;
	KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
	WRITE_ONCE(running_addr, NULL);
	handler_place(1);
	KUNIT_EXPECT_EQ(test, missed->kp.nmissed, 1);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(running_addr), probe->kp.addr);
	KUNIT_EXPECT_NULL(test, running_now());
}

static void registered_place_is_found(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct probe *probe = probe_registered(test, step->addr);
	struct kprobe *found;

	preempt_disable();
	found = get_kprobe(probe->kp.addr);
	preempt_enable();
	KUNIT_ASSERT_NOT_NULL(test, found);
	KUNIT_EXPECT_PTR_EQ(test, found->addr, probe->kp.addr);
	KUNIT_EXPECT_PTR_NE(test, get_kprobe((void *)probe->kp.addr + 1), found);
}

static void busy_processor_misses_and_counts_hits(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct probe *probe = probe_registered(test, step->addr);

	kprobe_busy_begin();
	note_running();
	step->call(1);
	kprobe_busy_end();
	KUNIT_EXPECT_EQ(test, probe->hits, 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 1);
	KUNIT_EXPECT_NULL(test, running_now());
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
}

/* Hits that come while the probes at their place change */

#define CHANGES	50

struct hammer {
	u32 (*call)(u32 x);
	struct task_struct *task;
	unsigned int calls;
};

static int hammer_run(void *data)
{
	struct hammer *hammer = data;

	while (!kthread_should_stop()) {
		hammer->call(1);
		WRITE_ONCE(hammer->calls, hammer->calls + 1);
		/* One processor has to serve the other side too. */
		if (!(hammer->calls % 64))
			cond_resched();
	}
	return 0;
}

static void hammer_stop(void *data)
{
	struct hammer *hammer = data;

	if (hammer->task)
		kthread_stop(hammer->task);
	hammer->task = NULL;
}

static void hammer_start(struct kunit *test, struct hammer *hammer)
{
	hammer->task = kthread_run(hammer_run, hammer, "kprobes_hammer");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, hammer->task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, hammer_stop, hammer));
}

/* Let at least one call fall between two changes. */
static void hammer_wait(struct kunit *test, struct hammer *hammer)
{
	unsigned int seen = READ_ONCE(hammer->calls);
	unsigned long end = jiffies + 10 * HZ;

	while (READ_ONCE(hammer->calls) == seen && time_before(jiffies, end))
		cond_resched();
	KUNIT_ASSERT_NE(test, READ_ONCE(hammer->calls), seen);
}

static void no_hit_is_lost_while_others_come_and_go(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct probe *resident = probe_registered(test, step->addr);
	struct probe *visitor = probe_new(test, step->addr);
	struct hammer *hammer = kunit_kzalloc(test, sizeof(*hammer), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, hammer);
	visitor->kp.post_handler = probe_post_handler;
	visitor->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, 0, probe_register(visitor));
	hammer->call = step->call;
	hammer_start(test, hammer);
	for (i = 0; i < CHANGES; i++) {
		KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&visitor->kp));
		hammer_wait(test, hammer);
		KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&visitor->kp));
		hammer_wait(test, hammer);
	}
	hammer_stop(hammer);
	KUNIT_EXPECT_EQ(test, resident->hits, hammer->calls);
	KUNIT_EXPECT_EQ(test, resident->kp.nmissed, 0);
}

static void function_entry_is_told_from_the_rest(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	bool entry = step->addr == step->call;

	KUNIT_EXPECT_EQ(test, entry ? 0 : -EINVAL, kprobe_on_func_entry(step->addr, NULL, 0));
	KUNIT_EXPECT_EQ(test, entry ? 0 : -EINVAL,
			kprobe_on_func_entry((void *)step->call, NULL,
					     step->addr - (void *)step->call));
	KUNIT_EXPECT_EQ(test, 0, kprobe_on_func_entry(NULL, "vsnprintf", 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, kprobe_on_func_entry(NULL, "no_such_function_anywhere", 0));
}

/* Slots */

static void slot_pages_have_names_and_are_not_writable(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "plain instruction");
	char name[KSYM_NAME_LEN], type;
	unsigned long value, alias;
	unsigned int num;

	probe_registered(test, step->addr);
	if (IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64))
		KUNIT_EXPECT_TRUE(test, kprobes_writable((unsigned long)&bad_address));
	for (num = 0; !kprobe_get_kallsym(num, &value, &type, name); num++) {
		KUNIT_EXPECT_EQ(test, type, 't');
		KUNIT_EXPECT_TRUE(test, !strcmp(name, "kprobe_insn_page") ||
				  !strcmp(name, "kprobe_optinsn_page"));
		KUNIT_EXPECT_TRUE(test, is_kprobe_insn_slot(value) ||
				  is_kprobe_optinsn_slot(value));
		KUNIT_EXPECT_FALSE(test, kprobes_writable(value));
		/* The same memory at its other address */
		alias = (unsigned long)page_address(vmalloc_to_page((void *)value));
		KUNIT_EXPECT_FALSE(test, kprobes_writable(alias));
	}
	KUNIT_EXPECT_GT(test, num, 0);
	KUNIT_EXPECT_EQ(test, -ERANGE, kprobe_get_kallsym(num, &value, &type, name));
}

/* Text that goes away */

static noinline __noclone int __init kprobes_test_init_text(int x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return x + 1;
}

/* Only for as long as the init text is there. */
static noinline int __ref call_init_text(int x)
{
	return kprobes_test_init_text(x);
}

static struct probe init_probe;

static void init_text_can_be_probed_while_it_lasts(struct kunit *test)
{
	probe_reset(&init_probe, NULL);
	init_probe.kp.symbol_name = "kprobes_test_init_text";
	KUNIT_ASSERT_EQ(test, 0, probe_register(&init_probe));
	KUNIT_EXPECT_EQ(test, call_init_text(1), 2);
	KUNIT_EXPECT_EQ(test, init_probe.hits, 1);
}

static void probe_on_freed_init_text_is_gone(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kprobe_gone(&init_probe.kp));
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&init_probe.kp));
	KUNIT_EXPECT_EQ(test, -EINVAL, enable_kprobe(&init_probe.kp));
	probe_unregister(&init_probe);
}

/*
 * The first run, at boot, leaves a probe behind; the next one, asked for by
 * debugfs, sees what has become of it. Later ones only see it refused.
 */
static void init_text_is_probed_until_it_is_freed(struct kunit *test)
{
	int ret;

	if (system_state < SYSTEM_FREEING_INITMEM) {
		init_text_can_be_probed_while_it_lasts(test);
		return;
	}
	if (init_probe.live)
		probe_on_freed_init_text_is_gone(test);
	probe_reset(&init_probe, NULL);
	init_probe.kp.symbol_name = "kprobes_test_init_text";
	ret = probe_register(&init_probe);
	KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == -ENOENT, "answer %d", ret);
	probe_unregister(&init_probe);
}

/* Whatever is on the way of a hit, its own probe must not make that a circle. */

static const char * const near_the_way[] = {
	"preempt_count_add", "preempt_count_sub", "preempt_schedule_notrace",
	"preempt_schedule_notrace_thunk", "__x86_indirect_thunk_rax", "__x86_return_thunk",
	"retbleed_return_thunk", "srso_return_thunk", "its_return_thunk",
	"__this_cpu_preempt_check", "debug_smp_processor_id", "rcu_is_watching",
	"__rcu_read_lock", "__rcu_read_unlock", "debug_lockdep_rcu_enabled",
	"rcu_read_lock_held", "lock_acquire", "lock_release", "lock_is_held_type",
	"trace_hardirqs_on", "trace_hardirqs_off", "lockdep_hardirqs_on",
	"__kasan_check_read", "__kasan_check_write", "__asan_load8", "__asan_store8",
	"kasan_check_range", "memcpy", "memset", "__memcpy", "__memset", "memcmp",
	"copy_from_kernel_nofault", "fixup_exception", "search_exception_tables",
	"core_kernel_text", "kernel_text_address", "kallsyms_lookup_size_offset",
	"ftrace_ops_test", "ftrace_location", "ktime_get_mono_fast_ns", "sched_clock",
	"notifier_call_chain", "atomic_notifier_call_chain", "irqentry_enter",
};

static const char * const common_steps[] = {
	"function entry", "untraced function entry", "plain instruction", "call",
};

static int nothing_before(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

/* Returns how many calls there were. */
static unsigned int call_common_steps(struct kunit *test)
{
	const struct kprobes_step *step;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(common_steps); i++) {
		step = kprobes_find_step(common_steps[i]);
		if (step)
			kprobes_call_step(test, step);
	}
	return KPROBES_CALLS;
}

/* Some are in the same function. */
static unsigned int steps_called_by(const struct kprobes_step *step)
{
	const struct kprobes_step *other;
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(common_steps); i++) {
		other = kprobes_find_step(common_steps[i]);
		n += other && other->call == step->call;
	}
	return n;
}

/* With a probe on that function, by breakpoint or ftrace first, and by what comes then */
static unsigned int call_with_probe_at(struct kunit *test, const char *name)
{
	struct kprobe near = { .symbol_name = name, .pre_handler = nothing_before };
	unsigned int calls;

	/* Many are refused, or not in this kernel. */
	if (register_kprobe(&near))
		return 0;
	calls = call_common_steps(test);
	wait_for_kprobe_optimizer();
	calls += call_common_steps(test);
	unregister_kprobe(&near);
	return calls;
}

static void what_a_hit_may_call_is_probed(struct kunit *test)
{
	struct probe *probes[ARRAY_SIZE(common_steps)] = { };
	const struct kprobes_step *step;
	unsigned int i, calls = 0;

	for (i = 0; i < ARRAY_SIZE(common_steps); i++) {
		step = kprobes_find_step(common_steps[i]);
		if (step)
			probes[i] = probe_registered(test, step->addr);
	}
	wait_for_kprobe_optimizer();
	for (i = 0; i < ARRAY_SIZE(near_the_way); i++)
		calls += call_with_probe_at(test, near_the_way[i]);
	KUNIT_EXPECT_GT(test, calls, 0);
	for (i = 0; i < ARRAY_SIZE(common_steps); i++) {
		step = kprobes_find_step(common_steps[i]);
		if (step)
			KUNIT_EXPECT_EQ_MSG(test, probes[i]->hits, calls * steps_called_by(step),
					    "%s", step->name);
	}
}

/* Probes from before there were other processors */

static noinline __noclone u32 probed_early(u32 x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return x + 201;
}

static struct probe early_probes[2];
static int early_answers[2];

/* At an entry, and, where there is one known, in the middle of a function */
static unsigned int nr_early(void)
{
	return kprobes_blocks[0].first ? 2 : 1;
}

static int __init plant_early(void)
{
	unsigned int i;

	if (!kunit_enabled())
		return 0;
	probe_reset(&early_probes[0], probed_early);
	probe_reset(&early_probes[1], kprobes_blocks[0].first);
	for (i = 0; i < nr_early(); i++)
		early_answers[i] = probe_register(&early_probes[i]);
	return 0;
}
early_initcall(plant_early);

/* Some architectures have no memory for slots before. */
static int __init plant_late(void)
{
	unsigned int i;

	for (i = 0; kunit_enabled() && i < nr_early(); i++) {
		if (!early_probes[i].live)
			probe_register(&early_probes[i]);
	}
	return 0;
}
subsys_initcall(plant_late);

static void probes_that_came_early_are_hit(struct kunit *test)
{
	unsigned int i;

	if (system_state >= SYSTEM_FREEING_INITMEM)
		kunit_skip(test, "it is late");
	KUNIT_EXPECT_EQ(test, probed_early(1), 202);
	if (kprobes_blocks[0].first)
		kprobes_blocks[0].call(1);
	for (i = 0; i < nr_early(); i++) {
		if (early_answers[i] != -ENOMEM)
			KUNIT_EXPECT_EQ_MSG(test, early_answers[i], 0, "%u", i);
		KUNIT_EXPECT_TRUE_MSG(test, early_probes[i].live, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, early_probes[i].hits, 1, "%u", i);
		probe_unregister(&early_probes[i]);
	}
}

/* Contexts: only the handler's own context is too busy for another hit */

enum level { TASK, SOFTIRQ, HARDIRQ, NMI };

static kprobes_work_t level_work;
static bool level_reached;

static void level_run(void)
{
	kprobes_work_t work = level_work;

	level_work = NULL;
	if (work)
		work();
	WRITE_ONCE(level_reached, true);
}

static void level_tasklet_run(struct tasklet_struct *unused)
{
	level_run();
}

static void level_irq_work_run(struct irq_work *unused)
{
	level_run();
}

static DECLARE_TASKLET(level_tasklet, level_tasklet_run);
static struct irq_work level_irq_work = IRQ_WORK_INIT_HARD(level_irq_work_run);

static bool level_wait(void)
{
	unsigned int us;

	for (us = 0; us < 100000 && !READ_ONCE(level_reached); us++)
		udelay(1);
	return READ_ONCE(level_reached);
}

static bool raise_and_wait(enum level level, kprobes_work_t work)
{
	level_work = work;
	WRITE_ONCE(level_reached, false);
	switch (level) {
	case TASK:
		level_run();
		break;
	case SOFTIRQ:
		if (in_softirq())
			return false;
		local_bh_disable();
		tasklet_schedule(&level_tasklet);
		local_bh_enable();
		break;
	case HARDIRQ:
		irq_work_queue(&level_irq_work);
		break;
	case NMI:
		if (!kprobes_raise_nmi(level_run))
			return false;
		break;
	}
	return level_wait();
}

/* Run @work in an interrupt of that kind on this processor, if one can come. */
static bool run_at_level(enum level level, kprobes_work_t work)
{
	bool reached;

	if (level == NMI)
		return raise_and_wait(level, work);
	if (in_hardirq())
		return false;
	if (!irqs_disabled())
		return raise_and_wait(level, work);
	if (!KPROBES_HANDLER_MAY_UNMASK)
		return false;
	local_irq_enable();
	reached = raise_and_wait(level, work);
	local_irq_disable();
	return reached;
}

static const struct {
	const char *name;
	enum level outer, inner;
} nestings[] = {
	{ "softirq over task", TASK, SOFTIRQ },
	{ "interrupt over task", TASK, HARDIRQ },
	{ "NMI over task", TASK, NMI },
	{ "interrupt over softirq", SOFTIRQ, HARDIRQ },
	{ "NMI over softirq", SOFTIRQ, NMI },
	{ "NMI over interrupt", HARDIRQ, NMI },
};

KUNIT_ARRAY_PARAM_DESC(nesting, nestings, name);

static u32 (*outer_call)(u32 x), (*inner_call)(u32 x);
static enum level inner_level;
static bool inner_reached;

static void call_outer(void)
{
	outer_call(1);
}

static void call_inner(void)
{
	inner_call(1);
}

static int interrupt_this_handler(struct probe *probe, struct pt_regs *regs)
{
	if (probe->hits > 1)
		return 0;
	inner_reached = run_at_level(inner_level, call_inner);
	note_running();
	return 0;
}

static int hit_itself(struct probe *probe, struct pt_regs *regs)
{
	inner_call(1);
	return 0;
}

/* Which interrupts come is the probed code's business. */

#ifdef KPROBES_HAVE_MASKING
static void expect_masking(struct kunit *test)
{
	bool masked;
	u32 flags;

	KUNIT_ASSERT_FALSE(test, irqs_disabled());
	flags = kprobes_masking(0);
	masked = irqs_disabled();
	if (masked)
		local_irq_enable();
	KUNIT_EXPECT_TRUE(test, kprobes_masked(flags));
	KUNIT_EXPECT_FALSE(test, masked);
}
#endif

static void masking_interrupts_can_be_probed(struct kunit *test)
{
#ifdef KPROBES_HAVE_MASKING
	struct probe *mask = probe_new(test, kprobes_step_mask);
	struct probe *unmask = probe_new(test, kprobes_step_unmask);
	unsigned int i;

	expect_masking(test);
	KUNIT_ASSERT_EQ(test, 0, probe_register(mask));
	KUNIT_ASSERT_EQ(test, 0, probe_register(unmask));
	for (i = 0; i < 1000; i++)
		expect_masking(test);
	probe_unregister(mask);
	probe_unregister(unmask);
	mask->kp.post_handler = probe_post_handler;
	unmask->kp.post_handler = probe_post_handler;
	KUNIT_ASSERT_EQ(test, 0, probe_register_again(mask, kprobes_step_mask));
	KUNIT_ASSERT_EQ(test, 0, probe_register_again(unmask, kprobes_step_unmask));
	expect_masking(test);
	KUNIT_EXPECT_EQ(test, mask->hits, 1001);
	KUNIT_EXPECT_EQ(test, unmask->hits, 1001);
	KUNIT_EXPECT_EQ(test, mask->posts, 1);
	KUNIT_EXPECT_EQ(test, unmask->posts, 1);
#else
	kunit_skip(test, "no function that does that");
#endif
}

static void interrupts_are_as_before_the_hit(struct kunit *test)
{
	const struct kprobes_step *step = param_step(test);
	struct probe *probe = probe_registered(test, step->addr);
	unsigned long flags;
	bool off;

	probe->on_hit = hit_itself;
	inner_call = step->call;
	step->call(1);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	local_irq_save(flags);
	step->call(1);
	off = irqs_disabled();
	local_irq_restore(flags);
	KUNIT_EXPECT_TRUE(test, off);
	KUNIT_EXPECT_EQ(test, probe->hits, 2);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 2);
}

/* True if the interrupt could be had while the handler ran. */
static bool expect_hit_over_handler(struct kunit *test, enum level outer_level,
				    const struct kprobes_step *outer,
				    const struct kprobes_step *inner)
{
	struct probe *below = probe_new(test, outer->addr);
	struct probe *above = probe_new(test, inner->addr);

	outer_call = outer->call;
	inner_call = inner->call;
	inner_reached = false;
	below->on_hit = interrupt_this_handler;
	above->on_hit = hit_itself;
	KUNIT_ASSERT_EQ(test, 0, probe_register(below));
	KUNIT_ASSERT_EQ(test, 0, probe_register(above));
	KUNIT_EXPECT_TRUE(test, run_at_level(outer_level, call_outer));
	if (inner_reached) {
		KUNIT_EXPECT_EQ_MSG(test, above->hits, 1, "%s over %s", inner->name, outer->name);
		KUNIT_EXPECT_EQ_MSG(test, above->kp.nmissed, 1, "%s over %s", inner->name,
				    outer->name);
		KUNIT_EXPECT_EQ(test, below->hits, 1);
		KUNIT_EXPECT_EQ(test, below->kp.nmissed, 0);
		KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(running_addr), below->kp.addr);
	}
	probe_unregister(above);
	probe_unregister(below);
	KUNIT_EXPECT_NULL(test, running_now());
	return inner_reached;
}

static const typeof(nestings[0]) *need_nesting(struct kunit *test)
{
	const typeof(nestings[0]) *nesting = test->param_value;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) &&
	    (nesting->outer == SOFTIRQ || nesting->inner == SOFTIRQ))
		kunit_skip(test, "softirqs are tasks in a real-time kernel");
	return nesting;
}

static void hit_in_an_interrupt_of_a_handler_is_not_lost(struct kunit *test)
{
	const typeof(nestings[0]) *nesting = need_nesting(test);
	unsigned int i, j, arranged = 0;

	inner_level = nesting->inner;
	for (i = 0; i < ARRAY_SIZE(common_steps); i++) {
		const struct kprobes_step *outer = kprobes_find_step(common_steps[i]);

		for (j = 0; j < ARRAY_SIZE(common_steps); j++) {
			const struct kprobes_step *inner = kprobes_find_step(common_steps[j]);

			if (outer && inner && outer->call != inner->call)
				arranged += expect_hit_over_handler(test, nesting->outer,
								    outer, inner);
		}
	}
	kunit_info(test, "%u combinations", arranged);
	if (!arranged)
		kunit_skip(test, "no such interrupt can come while a handler runs");
}

static void probe_itself_is_hit_again_in_an_interrupt_of_its_handler(struct kunit *test)
{
	const typeof(nestings[0]) *nesting = need_nesting(test);
	unsigned int i, arranged = 0;

	inner_level = nesting->inner;
	for (i = 0; i < ARRAY_SIZE(common_steps); i++) {
		const struct kprobes_step *step = kprobes_find_step(common_steps[i]);
		struct probe *probe;

		if (!step)
			continue;
		probe = probe_new(test, step->addr);
		outer_call = step->call;
		inner_call = step->call;
		inner_reached = false;
		probe->on_hit = interrupt_this_handler;
		KUNIT_ASSERT_EQ(test, 0, probe_register(probe));
		KUNIT_EXPECT_TRUE(test, run_at_level(nesting->outer, call_outer));
		KUNIT_EXPECT_EQ_MSG(test, probe->hits, 1 + inner_reached, "%s", step->name);
		KUNIT_EXPECT_EQ_MSG(test, probe->kp.nmissed, 0, "%s", step->name);
		probe_unregister(probe);
		arranged += inner_reached;
	}
	if (!arranged)
		kunit_skip(test, "no such interrupt can come while a handler runs");
}

static int core_init(struct kunit *test)
{
	kprobes_watch_targets(test);
	kprobes_text_watch(test, handler_place);
	return kprobes_nmi_setup();
}

static void core_exit(struct kunit *test)
{
	kprobes_nmi_teardown();
}

static struct kunit_case kprobes_core_test_cases[] = {
	KUNIT_CASE_SLOW(jump_labels_are_refused),
	KUNIT_CASE_SLOW(static_calls_are_refused),
	KUNIT_CASE(trampolines_of_static_calls_are_refused),
	KUNIT_CASE_SLOW(padding_before_functions_is_refused),
	KUNIT_CASE_SLOW(types_before_functions_are_refused),
	KUNIT_CASE_SLOW(bug_and_warn_sites_are_refused),
	KUNIT_CASE(blacklisted_functions_are_refused),
	KUNIT_CASE_SLOW(code_below_the_probes_is_refused),
	KUNIT_CASE_SLOW(inside_of_an_ftrace_site_is_refused),
	KUNIT_CASE_SLOW(ops_before_an_ftrace_site_are_refused),
	KUNIT_CASE(entry_of_an_ftrace_site_needs_ftrace),
	KUNIT_CASE_PARAM(every_instruction_and_nothing_else_is_accepted, entry_gen_params),
	KUNIT_CASE_SLOW(big_function_works_with_all_its_instructions_probed),
	KUNIT_CASE(fault_in_a_probed_instruction_is_fixed_up),
	KUNIT_CASE_PARAM(fault_in_a_handler_is_fixed_up, step_gen_params),
	KUNIT_CASE_PARAM(running_probe_is_named_in_its_handler_only, step_gen_params),
	KUNIT_CASE_PARAM(running_probe_is_still_named_after_a_miss, step_gen_params),
	KUNIT_CASE_PARAM(registered_place_is_found, step_gen_params),
	KUNIT_CASE_PARAM(busy_processor_misses_and_counts_hits, step_gen_params),
	KUNIT_CASE_PARAM(no_hit_is_lost_while_others_come_and_go, step_gen_params),
	KUNIT_CASE_PARAM(function_entry_is_told_from_the_rest, step_gen_params),
	KUNIT_CASE(slot_pages_have_names_and_are_not_writable),
	KUNIT_CASE(init_text_is_probed_until_it_is_freed),
	KUNIT_CASE_SLOW(what_a_hit_may_call_is_probed),
	KUNIT_CASE(probes_that_came_early_are_hit),
	KUNIT_CASE(masking_interrupts_can_be_probed),
	KUNIT_CASE_PARAM(interrupts_are_as_before_the_hit, step_gen_params),
	KUNIT_CASE_PARAM(hit_in_an_interrupt_of_a_handler_is_not_lost, nesting_gen_params),
	KUNIT_CASE_PARAM(probe_itself_is_hit_again_in_an_interrupt_of_its_handler,
			 nesting_gen_params),
	{}
};

static struct kunit_suite kprobes_core_test_suite = {
	.name = "kprobes_core_test",
	.init = core_init,
	.exit = core_exit,
	.test_cases = kprobes_core_test_cases,
};

kunit_test_suite(kprobes_core_test_suite);
