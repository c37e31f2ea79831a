// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests: what is in detours and slots, and how text is told from jumps
 */

#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/kallsyms.h>
#include <linux/kprobes_function.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <asm/insn.h>
#include <asm/text-patching.h>
#include <asm/unwind.h>

#include "support/asm_x86.h"
#include "support/kinds.h"
#include "support/sites.h"
#include "support/switch.h"
#include "../internal.h"

/* A return that is marked as safe, so the kernel does not patch it to a jump to the thunk */
void kprobe_test_returns(void);

KPROBES_FUNCTION(kprobe_test_returns, "nop; nop; nop\n" ANNOTATE_RETPOLINE_SAFE "\nret; nop");

#define RETURN_AT	3

/* The first instruction that can be probed, behind a landing pad */
static void *entry_of(void (*function)(void))
{
	bool on_entry;

	return arch_adjust_kprobe_addr((unsigned long)function, 0, &on_entry);
}

/* With a return thunk that leaves the flags alone, the copy of a return has to jump to it. */
static void test_copied_return(struct kunit *test)
{
	bool by_thunk = cpu_feature_enabled(X86_FEATURE_RETHUNK) &&
			!cpu_feature_enabled(X86_FEATURE_CALL_DEPTH);
	struct probe *p = probe_registered(test, entry_of(kprobe_test_returns));
	struct arch_optimized_insn *optinsn;
	u8 *copy;

	wait_for_kprobe_optimizer();
	kprobe_test_returns();
	guard(mutex)(&kprobe_mutex);
	optinsn = kprobe_optinsn(get_kprobe(p->kp.addr));
	copy = optinsn->insn ? optinsn->insn + optinsn->copy[RETURN_AT] : NULL;
	KUNIT_EXPECT_NOT_NULL(test, copy);
	if (copy)
		KUNIT_EXPECT_EQ(test, by_thunk ? JMP32_INSN_OPCODE : RET_INSN_OPCODE, *copy);
}

/*
 * Never called. A jump on the first of its instructions covers the second one's first bytes. The
 * last byte of a jump there is in place of the first byte of seto, and whatever that is then, it
 * begins an instruction of another length.
 */
void kprobe_test_two_jumps(void);

#define TWO_JUMPS_PAD	".rept " __ASM_SEL_RAW(1, 0) "; nop; .endr\n"
KPROBES_FUNCTION(kprobe_test_two_jumps,
		 "push %" _ASM_BX "; sub $16, %" _ASM_SP "\n" TWO_JUMPS_PAD
		 "seto %al; add $16, %" _ASM_SP "; pop %" _ASM_BX "\n" ASM_RET);

#define TWO_JUMPS_SIZE	12

static bool begins_at(unsigned long addr)
{
	const char *why;

	guard(mutex)(&kprobe_mutex);
	guard(mutex)(&text_mutex);
	return !kprobe_check_boundary(addr, &why);
}

/*
 * The first site keeps its detour when it has lost its jump to the second one. What it has of the
 * text does not hide the second one's jump.
 */
static void test_two_jumps(struct kunit *test)
{
	unsigned long addr = (unsigned long)entry_of(kprobe_test_two_jumps);
	bool begins[TWO_JUMPS_SIZE];
	struct probe *p;
	int i;

	for (i = 0; i < TWO_JUMPS_SIZE; i++)
		begins[i] = begins_at(addr + i);
	KUNIT_ASSERT_TRUE(test, begins[1]);

	for (i = 0; i < 2; i++) {
		p = probe_registered(test, (void *)addr + i);
		wait_for_kprobe_optimizer();
		KUNIT_ASSERT_EQ(test, JMP32_INSN_OPCODE, *(u8 *)p->kp.addr);
	}
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_function_forget();
	/* From the end, so that all of the text is decoded at once */
	for (i = TWO_JUMPS_SIZE - 1; i >= 0; i--)
		KUNIT_EXPECT_EQ_MSG(test, begins[i], begins_at(addr + i), "%d", i);
}

static int go_elsewhere(struct probe *p, struct pt_regs *regs)
{
	regs->ip = (unsigned long)kprobe_test_two_jumps;
	return 1;
}

/*
 * After a handler has said where to go, the task may be preempted, and be unwound by others. Its
 * registers must not look like those of a hit any more: the instruction before a function's first
 * one has nothing to do with it.
 */
static void test_registers_after_redirection(struct kunit *test)
{
	/* The word above the registers holds the address to continue at. */
	struct {
		struct pt_regs	regs;
		unsigned long	ret_addr;
	} stack = { .regs.orig_ax = KPROBE_HIT_ORIG_AX };
	struct probe *p = probe_with(test, entry_of(kprobe_test_returns), .on_hit = go_elsewhere);
	bool all = false;

	stack.regs.sp = (unsigned long)(&stack + 1);
	scoped_guard(preempt)
		all = kprobe_detour_hit(&stack.regs, site_of(get_kprobe(p->kp.addr)));
	KUNIT_EXPECT_TRUE(test, all);
	KUNIT_EXPECT_EQ(test, (unsigned long)kprobe_test_two_jumps, stack.regs.ip);
	KUNIT_EXPECT_FALSE(test, kprobe_regs_of_hit(&stack.regs));
}

/* Adds one to the word at @from. A jump on the load covers a part of the addition. */
unsigned long kprobe_test_loads(const unsigned long *from);

KPROBES_FUNCTION(kprobe_test_loads,
		 "mov (%" _ASM_ARG1 "), %" _ASM_AX "; add $1, %" _ASM_AX "\n" ASM_RET);

#define LOAD_SIZE	(IS_ENABLED(CONFIG_X86_64) ? 3 : 2)

static struct probe *missed;
static unsigned long loaded;

static int load_nowhere(struct probe *p, struct pt_regs *regs)
{
	loaded = kprobe_test_loads((unsigned long *)8);
	return 0;
}

static int leave_load_out(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	if (regs->ip != (unsigned long)missed->kp.addr)
		return 0;
	regs->ax = 1;
	regs->ip += LOAD_SIZE;
	return 1;
}

/*
 * A handler faults where a hit of another probe was missed, and its fault handler leaves the
 * instruction out. The next one is covered by the other probe's jump.
 */
static void test_fault_of_a_handler_at_a_jump(struct kunit *test)
{
	int i;

	missed = probe_registered(test, entry_of((void (*)(void))kprobe_test_loads));
	probe_with(test, entry_of(kprobe_test_returns), .on_hit = load_nowhere,
		   .kp.fault_handler = leave_load_out);
	for (i = 1; i <= 2; i++) {
		/* First by a breakpoint that waits for its jump, if not by that already */
		loaded = 0;
		kprobe_test_returns();
		KUNIT_EXPECT_EQ(test, 2, loaded);
		KUNIT_EXPECT_EQ(test, i, missed->kp.nmissed);
		wait_for_kprobe_optimizer();
	}
	KUNIT_EXPECT_EQ(test, JMP32_INSN_OPCODE, *(u8 *)missed->kp.addr);
}

static noinline __noclone int called(int i)
{
	OPTIMIZER_HIDE_VAR(i);
	return i + 1;
}

static noinline __noclone int calls(int i)
{
	return 2 * called(i);
}

/* Finds the call of called(), which may lead to code in front of that, or behind a landing pad. */
static unsigned long find_call(struct kunit *test, unsigned long *target)
{
	unsigned long addr = (unsigned long)calls, size, offset, end;
	struct insn insn;

	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(addr, &size, &offset));
	for (end = addr + size; addr < end; addr += insn.length) {
		KUNIT_ASSERT_EQ(test, 0, insn_decode_kernel(&insn, (void *)addr));
		*target = addr + insn.length + insn.immediate.value;
		if (insn.opcode.bytes[0] == CALL_INSN_OPCODE &&
		    *target - (unsigned long)called + SZ_16 <= SZ_32)
			return addr;
	}
	return 0;
}

/*
 * Where an unwinder finds itself when it comes to the copy of a call. When that has pushed the
 * return address, the stack is no more as at the call, but as at the beginning of what is called.
 */
static void test_original_of_a_call(struct kunit *test)
{
	struct arch_optimized_insn *optinsn;
	unsigned long target, addr, copy;

	addr = find_call(test, &target);
	KUNIT_ASSERT_NE(test, addr, 0);
	probe_registered(test, (void *)addr);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, 4, calls(1));
	guard(mutex)(&kprobe_mutex);
	optinsn = kprobe_optinsn(get_kprobe((void *)addr));
	KUNIT_EXPECT_NOT_NULL(test, optinsn->insn);
	if (!optinsn->insn)
		return;
	copy = (unsigned long)optinsn->insn + optinsn->copy[0];
	KUNIT_EXPECT_EQ(test, addr, kprobe_original_ip(copy));
	KUNIT_EXPECT_EQ(test, target, kprobe_original_ip(copy + CALL_INSN_SIZE));
	KUNIT_EXPECT_EQ(test, addr + CALL_INSN_SIZE,
			kprobe_original_ip(copy + CALL_INSN_SIZE + JMP32_INSN_SIZE));
}

static noinline __noclone notrace int boosted(int i)
{
	asm volatile("lea 1(%0), %0" : "+r" (i));
	return i;
}

/* A slot has two copies of an instruction that is boosted. */
static void test_original_in_a_slot(struct kunit *test)
{
	struct probe *p = probe_registered(test, boosted);
	unsigned long addr = (unsigned long)p->kp.addr, copy, length;
	struct kprobe *kp;
	int i;

	KUNIT_EXPECT_EQ(test, 2, boosted(1));
	guard(mutex)(&kprobe_mutex);
	kp = get_kprobe(p->kp.addr);
	copy = (unsigned long)kp->ainsn.insn;
	length = kp->ainsn.emulation.length;
	KUNIT_EXPECT_TRUE(test, kp->ainsn.emulation.boosted);
	for (i = 0; i < 2; i++, copy += KPROBE_SLOT_LAST_OFFSET) {
		KUNIT_EXPECT_EQ(test, addr, kprobe_original_ip(copy));
		KUNIT_EXPECT_EQ(test, addr + length, kprobe_original_ip(copy + length));
	}
}

/* How often text was synchronized: by this task, and by workers, which write jumps */
static struct task_struct *syncing_task;
static unsigned int own_syncs;
static atomic_t worker_syncs;

/* Was that so between when the detour of a jump was made and when hits go there? */
static kprobe_opcode_t *jump_at;
static bool detour_told;

static bool has_unused_detour(struct kprobe *kp)
{
	return kp && !kprobe_optimized(kp) &&
	       container_of(kp, struct optimized_kprobe, kp)->optinsn.insn;
}

static int note_sync(struct probe *p, struct pt_regs *regs)
{
	if (current == syncing_task) {
		own_syncs++;
		detour_told |= has_unused_detour(get_kprobe(jump_at));
	}
	if (current->flags & PF_WQ_WORKER)
		atomic_inc(&worker_syncs);
	return 0;
}

/*
 * No processor may combine a part of the old text with a part of the new. A jump is written in two
 * steps, and taken out in two before the breakpoint is; nobody has old text where the detour is.
 */
static void test_steps_of_a_jump(struct kunit *test)
{
	struct probe *p = probe_new(test, entry_of(kprobe_test_returns));

	probe_with(test, NULL, .kp.symbol_name = "smp_text_poke_sync_each_cpu",
		   .on_hit = note_sync);
	wait_for_kprobe_optimizer();
	atomic_set(&worker_syncs, 0);
	syncing_task = current;
	jump_at = p->kp.addr;
	detour_told = false;
	KUNIT_ASSERT_EQ(test, 0, probe_register(p));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, JMP32_INSN_OPCODE, *(u8 *)p->kp.addr);
	KUNIT_EXPECT_GE(test, atomic_read(&worker_syncs), 2);
	KUNIT_EXPECT_TRUE(test, detour_told);

	/* With a breakpoint that is there before */
	probe_unregister(p);
	if (switch_mount) {
		wait_for_dying_sites(test);
		KUNIT_EXPECT_EQ(test, 0, switch_set(false));
	}
	KUNIT_ASSERT_EQ(test, 0, probe_register(p));
	if (switch_mount) {
		detour_told = false;
		KUNIT_EXPECT_EQ(test, 0, switch_set(true));
		KUNIT_EXPECT_TRUE(test, detour_told);
	}
	wait_for_kprobe_optimizer();
	own_syncs = 0;
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&p->kp));
	KUNIT_EXPECT_EQ(test, own_syncs, 3);
}

#ifdef CONFIG_UNWINDER_ORC
static noinline __noclone int calls_boosted(int i)
{
	return 2 * boosted(i);
}

/* Does a trace get to the caller, and is it a reliable one? */
static bool gets_on, is_reliable;

/* Begins the trace at the probed instruction, or at its copy. */
static bool at_copy;

static int unwind(struct probe *p, struct pt_regs *regs)
{
	struct pt_regs at = *regs;
	struct unwind_state state;
	unsigned long offset;

	at.ip = at_copy ? (unsigned long)get_kprobe(p->kp.addr)->ainsn.insn :
			  (unsigned long)p->kp.addr;
	at.orig_ax = -1;
	gets_on = false;
	for (unwind_start(&state, current, &at, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		offset = unwind_get_return_address(&state) - (unsigned long)calls_boosted;
		gets_on |= offset < SZ_64;
	}
	is_reliable = !unwind_error(&state);
	return 0;
}

/* As if an interrupt had come there. Livepatch must not take the function for one that is left. */
static void test_trace_from_a_slot(struct kunit *test)
{
	int i;

	probe_with(test, boosted, .on_hit = unwind);
	for (i = 0; i < 2; i++) {
		at_copy = i;
		KUNIT_EXPECT_EQ(test, 4, calls_boosted(1));
		KUNIT_EXPECT_TRUE(test, gets_on);
		KUNIT_EXPECT_EQ(test, is_reliable, !at_copy);
	}
}
#endif

static struct kunit_case jump_cases[] = {
	KUNIT_CASE(test_copied_return),
	KUNIT_CASE(test_two_jumps),
	KUNIT_CASE(test_registers_after_redirection),
	KUNIT_CASE(test_fault_of_a_handler_at_a_jump),
	KUNIT_CASE(test_original_of_a_call),
	KUNIT_CASE(test_original_in_a_slot),
	KUNIT_CASE(test_steps_of_a_jump),
#ifdef CONFIG_UNWINDER_ORC
	KUNIT_CASE(test_trace_from_a_slot),
#endif
	{ }
};

static struct kunit_suite jump_suite = {
	.name		= "kprobes_x86_jump",
	.suite_init	= switch_suite_init,
	.suite_exit	= switch_suite_exit,
	.init		= switch_init,
	.exit		= switch_exit,
	.test_cases	= jump_cases,
};

kunit_test_suite(jump_suite);
