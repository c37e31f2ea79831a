// SPDX-License-Identifier: GPL-2.0-only
/* Slots and breakpoints on arm64: how they are written. kprobes.c has what happens at a hit. */
#include <kunit/static_stub.h>
#include <linux/bug.h>
#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/sizes.h>

#include "decode-insn.h"
#include "internal.h"

/* Checks whether a branch gets that far: 128 MiB (Arm ARM, "B" and "BL"). */
bool kprobe_in_reach(unsigned long from, unsigned long to)
{
	long distance = to - from;

	KUNIT_STATIC_STUB_REDIRECT(kprobe_in_reach, from, to);
	return distance >= -(long)SZ_128M && distance < SZ_128M;
}

/* Allocates a slot, if possible in reach of the instruction at @addr. */
static kprobe_opcode_t *get_slot(unsigned long addr)
{
	kprobe_opcode_t *slot = get_insn_slot(), *other;

	if (!slot || kprobe_in_reach(addr, (unsigned long)slot))
		return slot;
	other = get_optinsn_slot();
	if (!other)
		return slot;
	free_insn_slot(slot, 0);
	return other;
}

static void free_slot(kprobe_opcode_t *slot)
{
	if (is_kprobe_optinsn_slot((unsigned long)slot))
		free_optinsn_slot(slot, 0);
	else
		free_insn_slot(slot, 0);
}

/* Puts a branch into a word of a slot. Returns false if its target is out of reach. */
static bool branch_to(struct kprobe *kp, u32 *words, unsigned int word, const void *to,
		      enum aarch64_insn_branch_type type)
{
	unsigned long from = (unsigned long)(kp->ainsn.insn + word);

	if (!kprobe_in_reach(from, (unsigned long)to))
		return false;
	words[word] = aarch64_insn_gen_branch_imm(from, (unsigned long)to, type);
	return true;
}

/* Puts a call of a handler there, or else of its veneer, if the slot is where modules are. */
static bool call_of(struct kprobe *kp, u32 *words, unsigned int word, void (*handler)(void),
		    enum kprobe_veneer veneer)
{
	unsigned long slot = (unsigned long)kp->ainsn.insn;
	void *veneers = (void *)(slot & PAGE_MASK) + PAGE_SIZE - VENEERS_SIZE;

	return branch_to(kp, words, word, handler, AARCH64_INSN_BRANCH_LINK) ||
	       (is_kprobe_optinsn_slot(slot) &&
		branch_to(kp, words, word, veneers + veneer * VENEER_SIZE,
			  AARCH64_INSN_BRANCH_LINK));
}

/* Fills in the branches to the handlers and back. Returns false if one is out of reach. */
static bool fill_detour(struct kprobe *kp, u32 *words)
{
	return kprobe_in_reach((unsigned long)kp->addr, (unsigned long)kp->ainsn.insn) &&
	       call_of(kp, words, SLOT_COPY_OUT - 1, kprobe_detour_entry, VENEER_DETOUR) &&
	       call_of(kp, words, SLOT_NEXT_OUT - 1, kprobe_tail_entry, VENEER_TAIL) &&
	       branch_to(kp, words, SLOT_NEXT_OUT + 2, kp->addr + 1, AARCH64_INSN_BRANCH_NOLINK);
}

/* Fills in the copies of an instruction that is not simulated. */
static void fill_copies(struct kprobe *kp, u32 *words)
{
	words[SLOT_COPY] = kp->opcode;
	words[SLOT_LAST] = kp->opcode;
	if (!kp->ainsn.detour)
		words[SLOT_LAST + 1] = BRK64_OPCODE_KPROBES_SS;
	kp->ainsn.boosted = branch_to(kp, words, SLOT_COPY + 1, kp->addr + 1,
				      AARCH64_INSN_BRANCH_NOLINK);
}

/*
 * Cache maintenance is done for each word as it is written. Other CPUs synchronize their fetches
 * by the exception that leads them to the slot (Arm ARM, B2.2.5).
 */
static int fill_slot(struct kprobe *kp)
{
	const struct kprobe_site *site = site_of(kp);
	u32 words[SLOT_WORDS];
	__le32 owner[2];
	int i, err = 0;

	BUILD_BUG_ON(SLOT_WORDS != ARCH_KPROBE_SLOT_SIZE);
	BUILD_BUG_ON(sizeof(owner) != sizeof(site));
	for (i = 0; i < SLOT_WORDS; i++)
		words[i] = le32_to_cpu(kprobe_slot_template[i]);
	kp->ainsn.detour = fill_detour(kp, words);
	if (!kp->ainsn.simulate)
		fill_copies(kp, words);
	/* The address of the site is read as data, and has their byte order. */
	memcpy(owner, &site, sizeof(owner));
	words[SLOT_OWNER] = le32_to_cpu(owner[0]);
	words[SLOT_OWNER + 1] = le32_to_cpu(owner[1]);
	for (i = 0; i < SLOT_WORDS && !err; i++)
		err = aarch64_insn_patch_text_nosync(kp->ainsn.insn + i, words[i]);
	return err;
}

static int prepare_slot(struct kprobe *kp)
{
	int err;

	kp->ainsn.insn = get_slot((unsigned long)kp->addr);
	if (!kp->ainsn.insn)
		return -ENOMEM;
	err = fill_slot(kp);
	if (err)
		free_slot(kp->ainsn.insn);
	else
		kprobe_slot_set_owner(kp->ainsn.insn, kp);
	return err;
}

/*
 * Checks for the data in front of a function: ftrace's pointer, or the function's type for control
 * flow integrity.
 */
static bool before_function(unsigned long addr, unsigned long function)
{
	unsigned long distance = function - addr;

	if (IS_ENABLED(CONFIG_CFI) && distance <= AARCH64_INSN_SIZE)
		return true;
	return IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) &&
	       distance <= sizeof(u64) && ftrace_location(function);
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
	/* Also the "mov x9, lr" in front of the call, unless that is the function's first. */
	if (addr != f->start && ftrace_text_reserved(kp->addr, kp->addr + 1))
		return kprobe_refuse(kp, -EINVAL, "it is part of the call of ftrace");
	if (probe_in_exclusive(addr, f->start, f->end))
		return kprobe_refuse_insn(kp, -EINVAL, "it is in a sequence of exclusives");
	if (probe_in_switch(addr, f->start))
		return kprobe_refuse_insn(kp, -EINVAL, "it is in a switch of page tables");
	return 0;
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

void arch_remove_kprobe(struct kprobe *kp)
{
	if (kp->ainsn.insn)
		free_slot(kp->ainsn.insn);
	kp->ainsn.insn = NULL;
}

/*
 * Only few instructions may be replaced by a BRK, or replace one, while other CPUs execute them
 * (Arm ARM, B2.2.5), and most probed instructions are not among these. So all CPUs are stopped,
 * once for the whole list; one that is stopped has looked up the site of every BRK that it had hit
 * before. The text lock protects the arrays.
 */
void arch_arm_kprobes(struct list_head *sites, bool armed)
{
	static void *addrs[KPROBE_TEXT_BATCH];
	static u32 insns[KPROBE_TEXT_BATCH];
	struct kprobe *kp;
	int num = 0;

	list_for_each_entry(kp, sites, list) {
		addrs[num] = kp->addr;
		insns[num++] = armed ? BRK64_OPCODE_KPROBES : kp->opcode;
	}
	WARN_ON_ONCE(num && aarch64_insn_patch_text(addrs, insns, num));
}
