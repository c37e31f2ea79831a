// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: the stack at hits, and the state of the processor that nobody else saves or
 * switches
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/context_tracking.h>
#include <linux/cpufeature.h>
#include <linux/irqflags.h>
#include <linux/kasan-enabled.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/cpuidle.h>
#include <asm/daifflags.h>
#include <asm/insn.h>
#include <asm/mmu.h>
#include <asm/text-patching.h>
#include <asm/sysreg.h>

#include "../../../../../kernel/kprobes/internal.h"
#include "support/sites.h"
#include "support/probe.h"
#include "support/switch.h"
#include "support/trace.h"
#include "../internal.h"
#include "test_jump.h"

/* --- the stack --- */

static struct trace trace;

/* Takes a trace as if the function with this frame record had been interrupted. */
static void trace_from(unsigned long *record)
{
	struct pt_regs regs = {
		.pc = (unsigned long)kprobes_traced,
		.regs[29] = (unsigned long)record,
	};

	preempt_disable();
	trace_take_regs(&trace, &regs);
	preempt_enable();
}

/* The last frame record before an overflow leaves no room for the registers of an exception. */
static void unwinder_stays_on_the_stack(struct kunit *test)
{
	unsigned long *record = end_of_stack(current) + 2;
	unsigned long was[] = { record[0], record[1] };

	if (!IS_ENABLED(CONFIG_VMAP_STACK))
		kunit_skip(test, "what is below a stack can be read");
	record[0] = (unsigned long)__builtin_frame_address(0);
	record[1] = (unsigned long)kprobes_untraced;
	trace_from(record);
	memcpy(record, was, sizeof(was));

	KUNIT_ASSERT_GT(test, trace.length, 2);
	KUNIT_EXPECT_EQ(test, trace.entries[0], (unsigned long)kprobes_traced);
	KUNIT_EXPECT_EQ(test, trace.entries[1], (unsigned long)kprobes_untraced);
	KUNIT_EXPECT_EQ(test, trace.entries[2], (unsigned long)__builtin_return_address(0));
}

/* Where slots lead to the handlers */
static const struct entry {
	const char *name;
	void (*code)(void);
} entries[] = {
	{ "hit", kprobe_detour_entry },
	{ "tail", kprobe_tail_entry },
};

KUNIT_ARRAY_PARAM_DESC(entry, entries, name);

/* More than an entry has before its call, in instructions */
#define ENTRY_REACH	64

/*
 * Once x29 points to a frame record, an NMI may unwind through it. Nothing can interrupt just
 * there at a test's will, so this looks for "add x29, sp, #record", and before it for
 * "stp x29, x30, [sp, #record]".
 */
static void frame_record_is_whole_before_it_is_the_last(struct kunit *test)
{
	const struct entry *entry = test->param_value;
	u32 record = offsetof(struct pt_regs, stackframe);
	u32 link = aarch64_insn_gen_add_sub_imm(AARCH64_INSN_REG_FP, AARCH64_INSN_REG_SP, record,
						AARCH64_INSN_VARIANT_64BIT,
						AARCH64_INSN_ADSB_ADD);
	u32 store = 0xa9007bfd | record / sizeof(u64) << 15;
	bool stored = false;
	u32 insn = 0;
	int i;

	for (i = 0; i < ENTRY_REACH && insn != link; i++) {
		stored |= insn == store;
		KUNIT_ASSERT_EQ(test, 0, aarch64_insn_read((u32 *)entry->code + i, &insn));
	}
	KUNIT_ASSERT_EQ(test, insn, link);
	KUNIT_EXPECT_TRUE(test, stored);
}

/* --- ways to a handler --- */

/* A way to a handler, and on; @step is where the probe is, NULL for a return probe */
struct way {
	const char *name;
	const char *step;
	enum { BY_JUMP, BY_RETURN, BY_FTRACE, BY_BREAKPOINT } leads;
	bool post;
	bool redirects;		/* the handler skips the instruction */
};

enum { JUMP, COPY, REDIRECTION, RETURN, ENTRY, BREAKPOINT };

/* The last one is the one with an exception. */
static const struct way ways[] = {
	[JUMP] = { "jump", "plain instruction" },
	[COPY] = { "jump and copy", "store with writeback", .post = true },
	[REDIRECTION] = { "jump to another address", "nop", .redirects = true },
	[RETURN] = { "return", NULL, BY_RETURN },
	[ENTRY] = { "ftrace", "function entry", BY_FTRACE },
	[BREAKPOINT] = { "breakpoint", "plain instruction", BY_BREAKPOINT },
};

KUNIT_ARRAY_PARAM_DESC(way, ways, name);

static const void *fast_way_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return prev == &ways[BREAKPOINT - 1] ? NULL : way_gen_params(prev, desc);
}

/* What the handlers have found, and what the first of them does */
static struct {
	u64 pstate;
	unsigned int handlers;
	bool trapped, unwatched, user_access, unread, tags_ignored;
	bool other_ran, other_user_access, other_tags_ignored;
} found;

static struct {
	u64 change_pstate;
	const u32 __user *read;
	struct task_struct *wake;
} to_do;

/* Can the kernel access user memory as it can its own, and with the ASID that is for it? */
static bool user_access(void)
{
	u64 asid = read_sysreg(ttbr0_el1) & TTBR_ASID_MASK;

	if (system_uses_ttbr0_pan())
		return asid && asid == (read_sysreg(ttbr1_el1) & TTBR_ASID_MASK);
	return !(read_sysreg_s(SYS_PSTATE_PAN) & PSR_PAN_BIT);
}

/* Are memory tags not checked? */
static bool tags_ignored(void)
{
	return system_supports_mte() && read_sysreg_s(SYS_PSTATE_TCO);
}

static void look_around(void)
{
	found.handlers++;
	found.trapped |= irqs_disabled();
	found.unwatched |= !rcu_is_watching();
	found.user_access |= user_access();
	found.tags_ignored |= tags_ignored();
}

static void look_and_do(struct pt_regs *regs)
{
	u32 word;

	look_around();
	found.pstate = regs->pstate & ~(u64)PSR_STATUS_BITS;
	regs->pstate ^= to_do.change_pstate;
	if (to_do.read)
		found.unread |= copy_from_user_nofault(&word, to_do.read, sizeof(word));
	if (to_do.wake)
		wake_up_process(to_do.wake);
}

static int look_before(struct probe *probe, struct pt_regs *regs)
{
	look_and_do(regs);
	return 0;
}

static int look_and_skip(struct probe *probe, struct pt_regs *regs)
{
	look_before(probe, regs);
	regs->pc += AARCH64_INSN_SIZE;
	return 1;
}

static void look_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	look_around();
}

static int look_at_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	look_and_do(regs);
	return 0;
}

/* Registers the probe. Returns the function to call for a hit. */
static const struct kprobes_step *plant(struct kunit *test, const struct way *way)
{
	const struct kprobes_step *step;
	struct probe *probe;

	memset(&found, 0, sizeof(found));
	if (way->leads == BY_FTRACE && !IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "there are no probes by ftrace");
	if (way->leads == BY_BREAKPOINT) {
		switch_need(test);
		KUNIT_ASSERT_EQ(test, 0, switch_set(false));
	}
	if (way->leads == BY_RETURN) {
		step = kprobes_need_step(test, "untraced function entry");
		any_registered(test, RETURN_PROBE,
			       &(const union any_probe) { .rp.handler = look_at_return },
			       step->addr);
		return step;
	}
	step = kprobes_need_step(test, way->step);
	probe = probe_with(test, step->addr, .on_hit = way->redirects ? look_and_skip : look_before,
			   .kp.post_handler = way->post ? look_after : NULL);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, kprobe_ftrace(&probe->kp), way->leads == BY_FTRACE);
	return step;
}

/* The same, for cases that are about this way to the handlers and no other */
static const struct kprobes_step *plant_just_so(struct kunit *test, const struct way *way)
{
	const struct kprobes_step *step = plant(test, way);

	if (way->leads == BY_JUMP)
		need_jump(test, step->addr);
	return step;
}

/* --- PSTATE --- */

/* Bits of PSTATE that an instruction can change; @here where not all processors have them */
struct part {
	const char *name;
	u64 bits;
	bool (*here)(void);
};

static bool has_dit(void)
{
	return cpus_have_final_cap(ARM64_HAS_DIT);
}

static bool has_ssbs(void)
{
	return cpus_have_final_cap(ARM64_SSBS2);
}

static const struct part parts[] = {
	{ "DIT", PSR_DIT_BIT, has_dit },
	{ "SSBS", PSR_SSBS_BIT, has_ssbs },
	{ "PAN", PSR_PAN_BIT, system_uses_hw_pan },
	{ "TCO", PSR_TCO_BIT, system_supports_mte },
	{ "A", PSR_A_BIT },
};

/* All but the flags */
static u64 pstate_here(void)
{
	u64 pstate = kprobes_mode_here() | read_sysreg(daif);

	if (has_dit())
		pstate |= read_sysreg_s(SYS_PSTATE_DIT);
	if (has_ssbs())
		pstate |= read_sysreg_s(SYS_PSTATE_SSBS);
	if (system_uses_hw_pan())
		pstate |= read_sysreg_s(SYS_PSTATE_PAN);
	else if (system_uses_ttbr0_pan() && !user_access())
		pstate |= PSR_PAN_BIT;
	if (system_supports_mte())
		pstate |= read_sysreg_s(SYS_PSTATE_TCO);
	return pstate;
}

static void pstate_set(u64 pstate)
{
	if (has_dit())
		write_sysreg_s(pstate, SYS_PSTATE_DIT);
	if (has_ssbs())
		write_sysreg_s(pstate, SYS_PSTATE_SSBS);
	if (system_uses_hw_pan())
		write_sysreg_s(pstate, SYS_PSTATE_PAN);
	if (system_supports_mte())
		write_sysreg_s(pstate, SYS_PSTATE_TCO);
	write_sysreg(pstate & DAIF_MASK, daif);
}

/* Of FEAT_NMI, which this kernel does not know: it masks nothing, and only exceptions save it. */
#define PSR_ALLINT	BIT(13)

/* Flips some bits in the probed code, and has the handler flip others. */
static void flip(struct kunit *test, const struct kprobes_step *step, const struct part *part,
		 u64 by_code, u64 by_handler)
{
	u64 was, before, after;
	u32 result;

	memset(&found, 0, sizeof(found));
	to_do.change_pstate = by_handler;
	preempt_disable();
	was = pstate_here();
	pstate_set((was | PSR_I_BIT) ^ by_code);
	before = pstate_here();
	result = step->call(1);
	after = pstate_here();
	pstate_set(was);
	preempt_enable();
	to_do.change_pstate = 0;

	KUNIT_EXPECT_EQ(test, result, kprobes_expected(1));
	KUNIT_EXPECT_GT(test, found.handlers, 0);
	KUNIT_EXPECT_EQ_MSG(test, before, (was | PSR_I_BIT) ^ by_code, "%s", part->name);
	KUNIT_EXPECT_EQ_MSG(test, found.pstate & ~PSR_ALLINT, before, "%s", part->name);
	KUNIT_EXPECT_EQ_MSG(test, after, before ^ by_handler, "%s", part->name);
}

/*
 * Each sees what the other one has made of it, if that is anything. A past bug: handlers did not
 * see all of PSTATE at a jump or at ftrace's call.
 */
static void pstate_goes_to_handlers_and_back(struct kunit *test)
{
	const struct kprobes_step *step = plant_just_so(test, test->param_value);
	const struct part *part;

	for (part = parts; part < parts + ARRAY_SIZE(parts); part++) {
		if (part->here && !part->here())
			continue;
		kunit_info(test, "%s", part->name);
		flip(test, step, part, 0, 0);
		flip(test, step, part, part->bits, 0);
		flip(test, step, part, 0, part->bits);
		flip(test, step, part, part->bits, part->bits);
	}
}

/* --- flags at a return --- */

/* A function of assembly that leaves the flags alone, as its caller knows */
void hit_test_keeps_flags(void);

KPROBES_FUNCTION(hit_test_keeps_flags, "nop; ret");

static u64 flags_over_call(u64 flags)
{
	asm volatile("	msr	nzcv, %0\n"
		     "	bl	hit_test_keeps_flags\n"
		     "	mrs	%0, nzcv\n"
		     : "+r" (flags) : : "x30", "cc", "memory");
	return flags;
}

static u64 flags_at_return;

static int look_at_flags(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	flags_at_return = regs->pstate & PSR_STATUS_BITS;
	return 0;
}

/* A past bug: they were lost, and the assembly of GCM keeps them over a call. */
static void flags_are_kept_at_a_return(struct kunit *test)
{
	const union any_probe like = { .rp.handler = look_at_flags };
	u64 flags;

	any_registered(test, RETURN_PROBE, &like, hit_test_keeps_flags);
	for (flags = 0; flags <= PSR_STATUS_BITS; flags += PSR_V_BIT) {
		flags_at_return = ~0;
		KUNIT_EXPECT_EQ(test, flags_over_call(flags), flags);
		KUNIT_EXPECT_EQ(test, flags_at_return, flags);
	}
}

/* --- where to continue --- */

/* An oops shows a call of NULL: what faults is where it leads to. */
static void call_of_null_is_one(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "call through a register");
	struct probe *probe = probe_registered(test, step->addr);
	struct kprobe *kp = get_kprobe(step->addr);
	unsigned long to;
	struct pt_regs regs = {
		.sp = (unsigned long)(&regs + 1),
		.pstate = PSR_MODE_EL1h,
	};

	preempt_disable();
	to = kprobe_detour_hit(&regs, site_of(kp));
	preempt_enable();

	KUNIT_EXPECT_EQ(test, probe->hits, 1);
	KUNIT_EXPECT_EQ(test, to, (unsigned long)kprobe_detour_leave);
	KUNIT_EXPECT_EQ(test, regs.pc, 0);
	KUNIT_EXPECT_EQ(test, regs.regs[30], (unsigned long)step->next);
}

#define RETURNED	77

static int return_at_once(struct probe *probe, struct pt_regs *regs)
{
	regs_set_return_value(regs, RETURNED);
	regs->pc = regs->regs[30];
	return 1;
}

/*
 * Where guarded pages are in use: the way here was an indirect call, the way on is none. A
 * past bug: copies of landing pads did not do what the originals do.
 */
static void return_for_a_function_needs_no_landing_pad(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "untraced function entry");
	struct probe *probe = probe_with(test, step->addr, .on_hit = return_at_once);

	KUNIT_EXPECT_EQ(test, step->call(1), RETURNED);
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
}

/* --- slots where modules are --- */

/* It is not writable, at its address in the linear map neither, and the other one is given back. */
static void slot_where_modules_are_is_like_others(struct kunit *test)
{
	const struct kprobes_step *step = kprobes_need_step(test, "plain instruction");
	unsigned long slot, alias;
	struct probe *probe;
	unsigned int free;

	need_modules_in_reach(test);
	wait_for_dying_sites(test);
	free_insn_slot(get_insn_slot(), 0);
	free = READ_ONCE(kprobe_insn_slots.nr_free);
	kunit_activate_static_stub(test, kprobe_in_reach, only_modules_in_reach);
	probe = probe_registered(test, step->addr);
	kunit_deactivate_static_stub(test, kprobe_in_reach);
	KUNIT_EXPECT_EQ(test, READ_ONCE(kprobe_insn_slots.nr_free), free);
	scoped_guard(preempt)
		slot = (unsigned long)get_kprobe(step->addr)->ainsn.insn;
	alias = (unsigned long)page_address(vmalloc_to_page((void *)slot));
	KUNIT_EXPECT_TRUE(test, is_kprobe_optinsn_slot(slot));
	KUNIT_EXPECT_FALSE(test, kprobes_writable(slot));
	KUNIT_EXPECT_FALSE(test, kprobes_writable(alias));
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
}

/* --- access to user memory --- */

static int run_other(void *unused)
{
	found.other_user_access = user_access();
	found.other_tags_ignored = tags_ignored();
	WRITE_ONCE(found.other_ran, true);
	return 0;
}

/* A task that runs on this CPU when the hit ends, because a handler wakes it */
static struct task_struct *new_other(void)
{
	struct task_struct *task;

	task = kthread_create_on_cpu(run_other, NULL, smp_processor_id(), "kprobes_other/%u");
	if (!IS_ERR(task)) {
		sched_set_fifo(task);
		get_task_struct(task);
	}
	return task;
}

static void need_user_access(struct kunit *test)
{
	unsigned long word;

	if (!system_uses_ttbr0_pan() && !system_uses_hw_pan())
		kunit_skip(test, "the kernel can always access user memory");
	/* Map some user memory, for a page table that is not the empty one. */
	word = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE(test, word, 0);
	KUNIT_ASSERT_EQ(test, 0, put_user(1, (u32 __user *)word));
	to_do.read = (u32 __user *)word;
}

/*
 * Calls the probed function with access to user memory, which switches tag checks off, too. What
 * @look sees is to be so in the probed function, and in what is around it, and nowhere else.
 */
static void call_with_user_access(struct kunit *test, bool (*look)(void))
{
	const struct kprobes_step *step = plant_just_so(test, test->param_value);
	bool outside, before, after, other_ran;
	struct task_struct *other;
	u32 result;

	migrate_disable();
	other = new_other();
	if (IS_ERR(other)) {
		migrate_enable();
		KUNIT_FAIL_AND_ABORT(test, "no other task");
	}

	to_do.wake = other;
	outside = look();
	uaccess_enable_privileged();
	before = look();
	result = step->call(1);
	after = look();
	uaccess_disable_privileged();
	other_ran = READ_ONCE(found.other_ran);
	kthread_stop_put(other);
	migrate_enable();

	KUNIT_EXPECT_EQ(test, result, kprobes_expected(1));
	KUNIT_EXPECT_GT(test, found.handlers, 0);
	KUNIT_EXPECT_FALSE(test, found.trapped);
	KUNIT_EXPECT_EQ(test, other_ran, preempt_model_preemptible());
	KUNIT_EXPECT_FALSE(test, outside);
	KUNIT_EXPECT_TRUE(test, before);
	KUNIT_EXPECT_TRUE(test, after);
}

/*
 * A past bug: handlers that ftrace calls had the access to user memory of the probed code, and
 * could take it away.
 */
static void user_access_ends_with_the_probed_code(struct kunit *test)
{
	need_user_access(test);
	call_with_user_access(test, user_access);
	KUNIT_EXPECT_FALSE(test, found.user_access);
	KUNIT_EXPECT_FALSE(test, found.unread);
	KUNIT_EXPECT_FALSE(test, found.other_user_access);
}

static void tags_are_ignored_by_the_probed_code_only(struct kunit *test)
{
	if (!kasan_hw_tags_enabled())
		kunit_skip(test, "no memory of the kernel's has tags");
	call_with_user_access(test, tags_ignored);
	KUNIT_EXPECT_FALSE(test, found.tags_ignored);
	KUNIT_EXPECT_FALSE(test, found.other_tags_ignored);
}

/* --- where RCU takes the CPU for idle --- */

static void rcu_watches_handlers(struct kunit *test)
{
	const struct kprobes_step *step = plant(test, test->param_value);
	struct arm_cpuidle_irq_context context;
	unsigned long flags;
	bool watching;
	u32 result;

	/* As in the idle loop, where PSTATE masks interrupts even if the priority did before. */
	local_irq_save(flags);
	arm_cpuidle_save_irq_context(&context);
	ct_idle_enter();
	watching = rcu_is_watching_curr_cpu();
	result = step->call(1);
	ct_idle_exit();
	arm_cpuidle_restore_irq_context(&context);
	local_irq_restore(flags);

	KUNIT_EXPECT_FALSE(test, watching);
	KUNIT_EXPECT_EQ(test, result, kprobes_expected(1));
	KUNIT_EXPECT_GT(test, found.handlers, 0);
	KUNIT_EXPECT_FALSE(test, found.unwatched);
}

static int hit_init(struct kunit *test)
{
	memset(&to_do, 0, sizeof(to_do));
	return switch_init(test);
}

static struct kunit_case hit_cases[] = {
	KUNIT_CASE(unwinder_stays_on_the_stack),
	KUNIT_CASE_PARAM(frame_record_is_whole_before_it_is_the_last, entry_gen_params),
	KUNIT_CASE_PARAM(pstate_goes_to_handlers_and_back, way_gen_params),
	KUNIT_CASE(flags_are_kept_at_a_return),
	KUNIT_CASE(call_of_null_is_one),
	KUNIT_CASE(return_for_a_function_needs_no_landing_pad),
	KUNIT_CASE(slot_where_modules_are_is_like_others),
	KUNIT_CASE_PARAM(user_access_ends_with_the_probed_code, fast_way_gen_params),
	KUNIT_CASE_PARAM(tags_are_ignored_by_the_probed_code_only, fast_way_gen_params),
	KUNIT_CASE_PARAM(rcu_watches_handlers, way_gen_params),
	{ }
};

static struct kunit_suite hit_suite = {
	.name		= "kprobes_arm64_hit",
	.suite_init	= switch_suite_init,
	.suite_exit	= switch_suite_exit,
	.init		= hit_init,
	.exit		= switch_exit,
	.test_cases	= hit_cases,
};

kunit_test_suite(hit_suite);
