// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native execution of an instruction, and probes on many; see test_native.h.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include <asm/insn.h>
#include <asm/text-patching.h>
#include <asm/sysreg.h>

#include "support/asm_arm64.h"
#include "support/sites.h"
#include "../internal.h"
#include "test_jump.h"
#include "test_native.h"

/* Exceptions take it for a task's stack that has not overflowed, by a bit of the address. */
u8 probe_test_stack[THREAD_SIZE] __aligned(2 * THREAD_SIZE);

/* Assembly knows the layout of this and of the registers. */
static struct {
	u64		sp;
	u64		daif;
	struct pt_regs	*regs;
} probe_test_home __used;

static_assert(offsetof(struct pt_regs, sp) == 248);
static_assert(offsetof(struct pt_regs, pc) == 256);
static_assert(offsetof(struct pt_regs, pstate) == 264);

asmlinkage void probe_test_trip(struct pt_regs *regs);

/*
 * All registers are loaded except x18, which may be the shadow call stack's. The word in front of
 * the instruction is entered by RET, which needs no landing pad. An instruction may move the stack
 * pointer, but not misalign it.
 */
KPROBES_FUNCTION(probe_test_trip,
		 "stp x29, x30, [sp, #-96]!\n"
		 KPROBES_SAVE_CALLERS
		 "adrp x1, probe_test_home; add x1, x1, :lo12:probe_test_home\n"
		 "mov x2, sp; mrs x3, daif; stp x2, x3, [x1]; str x0, [x1, #16]\n"
		 "ldr x1, [x0, #264]; msr nzcv, x1; ldr x1, [x0, #248]; mov sp, x1\n"
		 KPROBES_LOAD_MOST
		 "stp x16, x17, [sp, #-16]!; ldr x17, [x0, #256]; sub x17, x17, #4\n"
		 "ldp x28, x29, [x0, #224]; ldr x30, [x0, #240]; ldp x0, x1, [x0]; ret x17\n"

		 ".globl probe_test_trip_end; probe_test_trip_end:\n"
		 "adrp x0, probe_test_home; add x0, x0, :lo12:probe_test_home; ldr x0, [x0, #16]\n"
		 "str x1, [x0, #8]\n"
		 KPROBES_STORE_MOST
		 "stp x28, x29, [x0, #224]; sub x30, x30, #12; str x30, [x0, #256]\n"
		 "ldp x1, x2, [sp], #16; str x1, [x0]; str x2, [x0, #240]\n"
		 "mov x1, sp; str x1, [x0, #248]\n"
		 "mrs x1, nzcv; mrs x2, daif; orr x1, x1, x2; str x1, [x0, #264]\n"
		 "adrp x1, probe_test_home; add x1, x1, :lo12:probe_test_home\n"
		 "ldp x2, x3, [x1]; mov sp, x2; msr daif, x3\n"
		 KPROBES_RESTORE_CALLERS
		 "ldp x29, x30, [sp], #96; ret");

void diff_trip(struct pt_regs *regs)
{
	preempt_disable();
	probe_test_trip(regs);
	preempt_enable();
}

int probe_test_sites(struct kunit *test, void *first, void *end, struct diff_insn **insns)
{
	int i, nr = (end - first) / SITE_SIZE;
	u32 insn;

	*insns = diff_array(test, nr, sizeof(**insns));
	for (i = 0; i < nr; i++) {
		(*insns)[i].at = (unsigned long)first + i * SITE_SIZE - BEFORE;
		(*insns)[i].length = AARCH64_INSN_SIZE;
		KUNIT_ASSERT_EQ(test, 0, aarch64_insn_read((void *)(*insns)[i].at, &insn));
		put_unaligned_le32(insn, (*insns)[i].code);
	}
	return nr;
}

void diff_load(struct pt_regs *to, const struct pt_regs *from)
{
	const u64 x18 = to->regs[18];

	memcpy(to->regs, from->regs, sizeof(to->regs));
	to->regs[18] = x18;
	to->pc = from->pc;
	to->pstate = (to->pstate & ~PSR_STATUS_BITS) | (from->pstate & PSR_STATUS_BITS);
}

void diff_regs(struct pt_regs *to, const struct pt_regs *from)
{
	memset(to, 0, sizeof(*to));
	diff_load(to, from);
	to->sp = from->sp;
}

/* An instruction may be a branch itself. */
bool diff_is_jump(const struct diff_insn *insn)
{
	u32 now = le32_to_cpu(READ_ONCE(*(const __le32 *)insn->at));

	return aarch64_insn_is_b(now) && now != word_of(insn);
}

/* Interrupts may be masked in any case, but debug exceptions only in one. */
bool diff_by_trap(void)
{
	return read_sysreg(daif) & PSR_D_BIT;
}

/* --- manners --- */

/* What is in reach of a branch at registration, and whether there is a post handler. */
struct manner {
	const char	*name;
	bool		post;
	enum { ALL, ONLY_MODULES, NOTHING } reach;
};

static const struct manner manners[] = {
	{ "pre handler", false },
	{ "pre and post handler", true },
	{ "pre handler, by veneers", false, ONLY_MODULES },
	{ "pre and post handler, by veneers", true, ONLY_MODULES },
	{ "pre handler, out of reach", false, NOTHING },
	{ "pre and post handler, out of reach", true, NOTHING },
};

KUNIT_ARRAY_PARAM_DESC(manner, manners, name);

const void *probe_test_manners(const void *prev, char *desc)
{
	return manner_gen_params(prev, desc);
}

static bool nothing_in_reach(unsigned long from, unsigned long to)
{
	return false;
}

/* Has it the slot that it is to have? */
static bool slot_is(unsigned long at, const struct manner *manner)
{
	const struct arch_specific_insn *ainsn;
	bool modules;

	preempt_disable();
	ainsn = &get_kprobe((void *)at)->ainsn;
	modules = is_kprobe_optinsn_slot((unsigned long)ainsn->insn);
	preempt_enable();
	if (manner->reach == NOTHING)
		return !ainsn->detour && !ainsn->boosted;
	return ainsn->detour && (ainsn->simulate || ainsn->boosted) &&
	       modules == (manner->reach == ONLY_MODULES);
}

void probe_test_in_manner(struct kunit *test, const struct diff_lab *lab, unsigned long trials)
{
	const struct manner *manner = test->param_value;
	int i;

	if (manner->reach == ONLY_MODULES)
		need_modules_in_reach(test);
	/* They would come back to life, with their slots. */
	wait_for_dying_sites(test);
	if (manner->reach == ONLY_MODULES)
		kunit_activate_static_stub(test, kprobe_in_reach, only_modules_in_reach);
	if (manner->reach == NOTHING)
		kunit_activate_static_stub(test, kprobe_in_reach, nothing_in_reach);
	diff_plant(test, lab, manner->post);
	if (manner->reach != ALL)
		kunit_deactivate_static_stub(test, kprobe_in_reach);
	for (i = 0; i < lab->nr; i++)
		KUNIT_ASSERT_TRUE_MSG(test, slot_is(lab->insn(i)->at, manner), "%08x",
				      word_of(lab->insn(i)));
	if (manner->reach != NOTHING)
		diff_run_probed(test, lab, trials, true, manner->post);
	diff_run_probed(test, lab, trials, false, manner->post);
}
