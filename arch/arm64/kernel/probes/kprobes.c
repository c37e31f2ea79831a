// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints on arm64: how they are written, and what happens at a hit.
 *
 * An instruction that depends on its address is simulated on the saved registers. Any other
 * instruction is executed by a copy that
 *
 * - branches back by itself, if there is no post handler
 * - is followed by a call of the post handlers (see detour.c)
 * - ends in another BRK, if the targets of the slot's branches are out of reach
 *
 * No state is kept between the hit and what follows: the site is found from the address of the
 * slot. So the copy runs with PSTATE as in the probed code, can be interrupted by anything, and
 * can fault.
 */
#include <kunit/static_stub.h>
#include <linux/execmem.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/kprobes_function.h>
#include <linux/kprobes_hit.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/patching.h>
#include <asm/sections.h>
#include <asm/system_misc.h>
#include <asm/trans_pgd.h>
#include <asm/virt.h>

#include "decode-insn.h"
#include "internal.h"
#include "simulate-insn.h"

/* The list ends with the first NULL name, so functions that this kernel lacks have no row. */
struct kretprobe_blackpoint kretprobe_blacklist[kretprobe_blacklist_size] = {
#ifdef CONFIG_CPU_PM
	/*
	 * A CPU that has lost its registers in a deep idle state, or in suspend, resumes by
	 * returning from this a second time, to the return address that it was called with: the
	 * trampoline, for a call that has returned already.
	 */
	{ .name = "__cpu_suspend_enter" },
#endif
#ifdef CONFIG_EFI
	/* Is jumped to after a fault of the firmware, and takes the link register for the stack. */
	{ .name = "__efi_rt_asm_recover" },
#endif
#ifdef CONFIG_FUNCTION_TRACER
	/* Looks around its return address for who is to be called. */
	{ .name = "ftrace_caller" },
#endif
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	/* Returns with its return address swapped for the one in x9. */
	{ .name = "ftrace_stub_direct_tramp" },
#endif
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
#ifndef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
	/* Is jumped to, and returns by the frame record of where that was. */
	{ .name = "ftrace_graph_caller" },
#endif
	/* Is returned to, and gets to know only then where to return itself. */
	{ .name = "return_to_handler" },
#endif
};

void *alloc_insn_page(void)
{
	return kprobe_seal_page(execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE));
}

/*
 * Cache maintenance is done for each word as it is written. Other CPUs synchronize their fetches
 * by the exception that leads them to the slot (Arm ARM, B2.2.5).
 */
static int write_slot(kprobe_opcode_t *slot, const u32 *words)
{
	int i, err = 0;

	BUILD_BUG_ON(SLOT_WORDS != ARCH_KPROBE_SLOT_SIZE);
	for (i = 0; i < SLOT_WORDS && !err; i++)
		err = aarch64_insn_patch_text_nosync(slot + i, words[i]);
	return err;
}

/**
 * kprobe_in_reach() - check whether a branch can get from one address to another
 * @from: where the branch is
 * @to: its target
 *
 * Context: any.
 * Return: true if it can: within 128 MiB (Arm ARM, "B" and "BL").
 */
bool kprobe_in_reach(unsigned long from, unsigned long to)
{
	long distance = to - from;

	KUNIT_STATIC_STUB_REDIRECT(kprobe_in_reach, from, to);
	return distance >= -(long)SZ_128M && distance < SZ_128M;
}

/* Puts a branch into a word of a slot. Returns false if its target is out of reach. */
static bool branch_to(struct kprobe *kp, u32 *words, unsigned int word, unsigned long to,
		      enum aarch64_insn_branch_type type)
{
	unsigned long from = (unsigned long)(kp->ainsn.insn + word);

	if (!kprobe_in_reach(from, to))
		return false;
	words[word] = aarch64_insn_gen_branch_imm(from, to, type);
	return true;
}

/* Fills in the call of a handler, or else of its veneer. Returns false if both are out of reach. */
static bool call_of(struct kprobe *kp, u32 *words, unsigned int word, void (*handler)(void),
		    enum kprobe_veneer veneer)
{
	return branch_to(kp, words, word, (unsigned long)handler, AARCH64_INSN_BRANCH_LINK) ||
	       branch_to(kp, words, word, kprobe_veneer(kp->ainsn.insn, veneer),
			 AARCH64_INSN_BRANCH_LINK);
}

/* Fills in the branches to the handlers and back. Returns false if one is out of reach. */
static bool fill_detour(struct kprobe *kp, u32 *words)
{
	return kprobe_in_reach((unsigned long)kp->addr, (unsigned long)kp->ainsn.insn) &&
	       call_of(kp, words, SLOT_COPY_OUT - 1, kprobe_detour_entry, VENEER_DETOUR) &&
	       call_of(kp, words, SLOT_NEXT_OUT - 1, kprobe_tail_entry, VENEER_TAIL) &&
	       branch_to(kp, words, SLOT_NEXT_OUT + 2, (unsigned long)(kp->addr + 1),
			 AARCH64_INSN_BRANCH_NOLINK);
}

/* Fills in the copies of an instruction that is not simulated. */
static void fill_copies(struct kprobe *kp, u32 *words)
{
	words[SLOT_COPY] = kp->opcode;
	words[SLOT_LAST] = kp->opcode;
	if (!kp->ainsn.detour)
		words[SLOT_LAST + 1] = BRK64_OPCODE_KPROBES_SS;
	kp->ainsn.boosted = branch_to(kp, words, SLOT_COPY + 1, (unsigned long)(kp->addr + 1),
				      AARCH64_INSN_BRANCH_NOLINK);
}

/*
 * Fills in a branch by the same register, but not in place of a call where landing pads are
 * checked: it leaves another BTYPE.
 */
static void fill_by_register(struct kprobe *kp, u32 *words)
{
	if (aarch64_insn_is_ret(kp->opcode) || aarch64_insn_is_br(kp->opcode))
		words[SLOT_COPY] = kp->opcode;
	else if (aarch64_insn_is_blr(kp->opcode) && !system_supports_bti_kernel())
		words[SLOT_COPY] =
			aarch64_insn_gen_branch_reg(probe_target_register(kp->opcode),
						    AARCH64_INSN_BRANCH_NOLINK);
	else
		return;
	kp->ainsn.by_register = true;
}

/* Fills in a branch to where a simulated branch leads. */
static void fill_taken(struct kprobe *kp, u32 *words)
{
	unsigned long taken;

	if (!aarch64_insn_is_branch_imm(kp->opcode)) {
		fill_by_register(kp, words);
		return;
	}
	taken = (unsigned long)kp->addr + aarch64_get_branch_offset(kp->opcode);
	if (branch_to(kp, words, SLOT_COPY, taken, AARCH64_INSN_BRANCH_NOLINK))
		kp->ainsn.taken = taken;
}

/* Fills in the address of the site, in the byte order of data: it is read as data. */
static void fill_owner(struct kprobe_site *site, u32 *words)
{
	__le32 owner[2];

	BUILD_BUG_ON(sizeof(owner) != sizeof(site));
	memcpy(owner, &site, sizeof(owner));
	words[SLOT_OWNER] = le32_to_cpu(owner[0]);
	words[SLOT_OWNER + 1] = le32_to_cpu(owner[1]);
}

static int fill_slot(struct kprobe *kp)
{
	u32 words[SLOT_WORDS];
	int i;

	for (i = 0; i < SLOT_WORDS; i++)
		words[i] = le32_to_cpu(kprobe_slot_template[i]);
	kp->ainsn.detour = fill_detour(kp, words);
	if (kp->ainsn.simulate)
		fill_taken(kp, words);
	else
		fill_copies(kp, words);
	fill_owner(site_of(kp), words);
	return write_slot(kp->ainsn.insn, words);
}

static int prepare_slot(struct kprobe *kp)
{
	int err;

	kp->ainsn.insn = kprobe_get_slot((unsigned long)kp->addr);
	if (!kp->ainsn.insn)
		return -ENOMEM;
	err = fill_slot(kp);
	if (err) {
		kprobe_free_slot(kp->ainsn.insn, 0);
		kp->ainsn.insn = NULL;
		return err;
	}
	kprobe_slot_set_owner(kp->ainsn.insn, kp);
	return 0;
}

/*
 * Is this address in the data in front of a function? That is ftrace's pointer, or the
 * function's type for control flow integrity.
 */
static bool before_function(unsigned long addr, unsigned long function)
{
	unsigned long distance = function - addr;

	if (IS_ENABLED(CONFIG_CFI_CLANG) && distance <= AARCH64_INSN_SIZE)
		return true;
	return IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) &&
	       distance <= sizeof(u64) && ftrace_location(function);
}

/*
 * Is this ftrace's call, or the "mov x9, lr" before it? The range is inclusive: its end is the
 * next instruction. At offset 0 the mov may be probed.
 */
static bool in_ftrace_call(unsigned long addr, unsigned long offset)
{
	return offset && ftrace_text_reserved((void *)addr,
					      (void *)(addr + AARCH64_INSN_SIZE));
}

/* Checks the place of an instruction, not the instruction itself. */
static int check_place(struct kprobe *kp)
{
	unsigned long addr = (unsigned long)kp->addr;
	const struct kprobe_function *f = kprobe_function_at(addr);

	if (!f)
		return -EINVAL;
	if (before_function(addr, f->end))
		return kprobe_refuse(kp, -EINVAL, "a word before a function, which is data");
	if (in_ftrace_call(addr, addr - f->start))
		return kprobe_refuse(kp, -EINVAL, "it is part of the call of ftrace");
	if (probe_in_exclusive(addr, f->start, f->end))
		return kprobe_refuse_insn(kp, -EINVAL, "it is in a sequence of exclusives");
	if (probe_in_switch(addr, f->start))
		return kprobe_refuse_insn(kp, -EINVAL, "it is in a switch of page tables");
	return 0;
}

#define HINT_NUMBER	GENMASK(11, 5)

/**
 * kprobe_is_landing_pad() - is an instruction one that indirect branches may go to?
 * @insn: the instruction
 *
 * With BTI, an indirect branch has to find its landing pad in the text.
 *
 * Context: any.
 * Return: true if it is.
 */
bool kprobe_is_landing_pad(u32 insn)
{
	if (!aarch64_insn_is_hint(insn))
		return false;
	switch (insn & HINT_NUMBER) {
	case AARCH64_INSN_HINT_PACIASP:
	case AARCH64_INSN_HINT_PACIBSP:
	case AARCH64_INSN_HINT_BTIC:
	case AARCH64_INSN_HINT_BTIJ:
	case AARCH64_INSN_HINT_BTIJC:
		return true;
	}
	return false;
}

/*
 * Does execution continue behind an instruction? A call may be of a function that does not return,
 * a hint may be padding, and what cannot be probed may be no instruction at all.
 */
static bool continues(u32 insn)
{
	const struct probe_class *class = probe_classify(insn);

	return class && class->kprobe != PROBE_REJECT && !aarch64_insn_is_hint(insn) &&
	       class->simulate != probe_simulate_branch &&
	       class->simulate != probe_simulate_branch_reg;
}

/* A function has a landing pad, or code does not run into it. */
const char *arch_kprobe_not_called(unsigned long addr)
{
	unsigned long before = addr - AARCH64_INSN_SIZE;
	u32 insn;

	/* There are the types of functions, which look like any instruction. */
	if (IS_ENABLED(CONFIG_CFI_CLANG))
		return NULL;
	if (aarch64_insn_read((void *)addr, &insn) || kprobe_is_landing_pad(insn) ||
	    !kernel_text_address(before) || aarch64_insn_read((void *)before, &insn))
		return NULL;
	return continues(insn) ? "a label that the code in front of it runs into" : NULL;
}

int arch_prepare_kprobe(struct kprobe *kp)
{
	unsigned long addr = (unsigned long)kp->addr;
	const struct probe_class *class;
	int err;

	if (!IS_ALIGNED(addr, AARCH64_INSN_SIZE))
		return -EILSEQ;
	if (aarch64_insn_read(kp->addr, &kp->opcode))
		return kprobe_refuse(kp, -EINVAL, "no instruction can be read there");
	/* A long table is searched, so only for what BUG() and WARN() are made of. */
	if (aarch64_insn_is_brk(kp->opcode) && find_bug(addr))
		return kprobe_refuse(kp, -EINVAL, KPROBE_IS_BUG);
	class = probe_classify(kp->opcode);
	if (!class)
		return kprobe_refuse_insn(kp, -EINVAL, "it is not on the list of those that can");
	if (class->kprobe == PROBE_REJECT)
		return kprobe_refuse_insn(kp, -EINVAL, class->name);
	err = check_place(kp);
	if (err)
		return err;
	if (class->kprobe == PROBE_SIMULATE)
		kp->ainsn.simulate = class->simulate;
	return prepare_slot(kp);
}

/*
 * No task is in the slot. It is freed as dirty nevertheless, to be released together with
 * those of other sites.
 */
void arch_remove_kprobe(struct kprobe *kp)
{
	if (kp->ainsn.insn)
		kprobe_free_slot(kp->ainsn.insn, 1);
	kp->ainsn.insn = NULL;
}

/* The most changes for which no memory is allocated */
#define PATCHES_ON_STACK	16

/* Changes to the text, to be made at once with all CPUs stopped */
struct patches {
	void		**addrs;
	u32		*insns;
	unsigned int	room, used;
};

static void patch_all(struct patches *patches)
{
	if (patches->used)
		WARN_ON_ONCE(aarch64_insn_patch_text(patches->addrs, patches->insns,
						     patches->used));
	patches->used = 0;
}

static void patch_one(struct patches *patches, void *addr, u32 insn)
{
	if (patches->used == patches->room)
		patch_all(patches);
	patches->addrs[patches->used] = addr;
	patches->insns[patches->used++] = insn;
}

static void change_text(struct list_head *sites, bool armed)
{
	void *few_addrs[PATCHES_ON_STACK], **addrs = NULL;
	u32 few_insns[PATCHES_ON_STACK], *insns = NULL;
	struct patches patches = {
		.addrs = few_addrs, .insns = few_insns, .room = PATCHES_ON_STACK,
	};
	unsigned int num = list_count_nodes(sites);
	struct kprobe *kp;

	if (num > PATCHES_ON_STACK) {
		addrs = kvmalloc_array(num, sizeof(*addrs), GFP_KERNEL);
		insns = kvmalloc_array(num, sizeof(*insns), GFP_KERNEL);
	}
	/* Without memory for all of them, the CPUs are stopped more than once. */
	if (addrs && insns)
		patches = (struct patches){ .addrs = addrs, .insns = insns, .room = num };
	list_for_each_entry(kp, sites, list)
		patch_one(&patches, kp->addr, armed ? BRK64_OPCODE_KPROBES : kp->opcode);
	patch_all(&patches);
	kvfree(addrs);
	kvfree(insns);
}

/*
 * Only few instructions may be replaced by a BRK, or replace one, while other CPUs execute them
 * (Arm ARM, B2.2.5), and most probed instructions are not among these. So all CPUs are stopped,
 * once for the whole list.
 */
void arch_arm_kprobes(struct list_head *sites)
{
	change_text(sites, true);
}

/* A CPU that is stopped has looked up the site of every BRK that it had hit before. */
void arch_disarm_kprobes(struct list_head *sites)
{
	change_text(sites, false);
}

/*
 * The operand of a simulated load cannot be read: do as if a copy had faulted. Returns true if the
 * load is to be tried again.
 */
static bool operand_fault(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned long copy = (unsigned long)(kp->ainsn.insn + SLOT_LAST);
	u32 esr = probe_literal_fault(kp->opcode, (unsigned long)kp->addr);

	if (!esr)
		return true;
	regs->pc = copy;
	if (kprobe_fault(regs, esr))
		return regs->pc == copy;
	if (!fixup_exception(regs)) {
		kprobe_explain_oops(regs);
		die("Oops - operand of a probed instruction", regs, 0);
	}
	return false;
}

NOKPROBE_SYMBOL(operand_fault);

/**
 * kprobe_simulate() - execute the probed instruction on saved registers
 * @kp: a site with an instruction that is simulated
 * @regs: the registers; a handler may have changed pc
 * @what: what is left to do
 *
 * Context: any, NMI included, preemption off.
 */
void kprobe_simulate(struct kprobe *kp, struct pt_regs *regs, enum kprobe_result what)
{
	unsigned long addr = (unsigned long)kp->addr;

	do {
		regs->pc = addr;
		if (!kp->ainsn.simulate(kp->opcode, addr, regs))
			continue;
		if (what == KPROBE_RESULT_POST)
			kprobe_hit_post(site_of(kp), regs);
		return;
	} while (operand_fault(kp, regs));
}

NOKPROBE_SYMBOL(kprobe_simulate);

/* Executes the instruction, or has the probed code resume at a copy of it. */
static __always_inline void execute(struct kprobe *kp, struct pt_regs *regs,
				    enum kprobe_result what)
{
	if (kp->ainsn.simulate)
		kprobe_simulate(kp, regs, what);
	else if (kp->ainsn.boosted && what != KPROBE_RESULT_POST)
		regs->pc = (unsigned long)(kp->ainsn.insn + SLOT_COPY);
	else
		regs->pc = (unsigned long)(kp->ainsn.insn + SLOT_LAST);
}

/* Has to agree with what execute() does at a hit. */
const char *arch_kprobe_path(struct kprobe *kp)
{
	if (kp->ainsn.simulate)
		return "emulate";
	return kp->ainsn.boosted && (kp->ainsn.detour || !kp->post_handler) ? "boost" : "step";
}

/* Was the BRK removed after this CPU had hit it? Then the restored text is executed. */
static int taken_out(unsigned long addr)
{
	__le32 insn;

	__get_kernel_nofault(&insn, (__le32 *)addr, __le32, unreadable);
	if (le32_to_cpu(insn) != BRK64_OPCODE_KPROBES)
		return DBG_HOOK_HANDLED;
unreadable:
	return DBG_HOOK_ERROR;
}

NOKPROBE_SYMBOL(taken_out);

/**
 * kprobe_brk_handler() - handle a BRK with the immediate of kprobes
 * @regs: registers at the BRK
 * @esr: the syndrome
 *
 * Context: the debug exception of EL1, everything masked, preemption off.
 * Return: DBG_HOOK_HANDLED, or DBG_HOOK_ERROR when it is not ours.
 */
int kprobe_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	struct kprobe_site *site = kprobe_find_site(regs->pc);
	enum kprobe_result what;

	if (unlikely(!site))
		return kprobe_detour_left(regs) ? DBG_HOOK_HANDLED : taken_out(regs->pc);
	what = kprobe_hit_pre(site, regs);
	if (unlikely(what == KPROBE_RESULT_REDIRECTED))
		/* These are for the probed address, not for the one where it resumes. */
		regs->pstate &= ~(PSR_BTYPE_MASK | DBG_SPSR_SS);
	else
		execute(&site->kp, regs, what);
	return DBG_HOOK_HANDLED;
}

NOKPROBE_SYMBOL(kprobe_brk_handler);

/**
 * kprobe_ss_brk_handler() - handle the BRK behind a copy: the instruction is done
 * @regs: registers as the instruction left them
 * @esr: the syndrome
 *
 * Context: the debug exception of EL1, everything masked, preemption off.
 * Return: DBG_HOOK_HANDLED, or DBG_HOOK_ERROR when it is not ours.
 */
int kprobe_ss_brk_handler(struct pt_regs *regs, unsigned long esr)
{
	unsigned long at = regs->pc;
	struct kprobe *kp = kprobe_slot_owner(at);

	if (!kp || at != (unsigned long)(kp->ainsn.insn + SLOT_LAST + 1))
		return DBG_HOOK_ERROR;
	regs->pc = (unsigned long)(kp->addr + 1);
	regs->pstate &= ~DBG_SPSR_SS;
	if (READ_ONCE(kp->post_handler))
		kprobe_hit_post(site_of(kp), regs);
	return DBG_HOOK_HANDLED;
}

NOKPROBE_SYMBOL(kprobe_ss_brk_handler);

struct kprobe *arch_kprobe_copy_owner(unsigned long ip)
{
	struct kprobe *kp = kprobe_slot_owner(ip);
	kprobe_opcode_t *copy = (kprobe_opcode_t *)ip;

	if (!kp || (copy != kp->ainsn.insn + SLOT_COPY && copy != kp->ainsn.insn + SLOT_LAST))
		return NULL;
	return kp;
}

NOKPROBE_SYMBOL(arch_kprobe_copy_owner);

/* On the way to another kernel, vectors of EL2 are copied from the text, with breakpoints in it. */
static int __init blacklist_copied_vectors(void)
{
	unsigned long start = (unsigned long)trans_pgd_stub_vectors;

	return kprobe_add_area_blacklist(start, start + ARM64_VECTOR_TABLE_LEN);
}

/* Entry code, code of the hypervisor, and code that runs with the MMU off. */
int __init arch_populate_kprobe_blacklist(void)
{
	const struct {
		char *start, *end;
	} areas[] = {
		{ __entry_text_start, __entry_text_end },
		{ __irqentry_text_start, __irqentry_text_end },
		{ __hyp_text_start, __hyp_text_end },
		{ __hyp_idmap_text_start, __hyp_idmap_text_end },
		{ __idmap_text_start, __idmap_text_end },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(areas); i++)
		kprobe_add_area_blacklist((unsigned long)areas[i].start,
					  (unsigned long)areas[i].end);
	return IS_ENABLED(CONFIG_TRANS_TABLE) ? blacklist_copied_vectors() : 0;
}
