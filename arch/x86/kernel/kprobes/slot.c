// SPDX-License-Identifier: GPL-2.0-only
/* Slots and breakpoints on x86: how they are written. int3.c has what happens at a hit. */
#include <linux/bug.h>
#include <linux/perf_event.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/extable.h>

#include "internal.h"

asmlinkage void kprobe_tail_entry(void);

/*
 * mov 0x8000000000000000, %al: raises the exception of a branch to an address that is none, and
 * changes nothing
 */
static const u8 load_from_nowhere[] = { 0xa0, 0, 0, 0, 0, 0, 0, 0, 0x80 };

static int fill_slot(struct kprobe *kp, struct insn *insn)
{
	u8 image[ARCH_KPROBE_SLOT_SIZE], *last = image + KPROBE_SLOT_LAST_OFFSET;
	unsigned long addr = (unsigned long)kp->addr;
	void *slot = kp->ainsn.insn;
	int length;

	/* Fill with int3: a copy without a jump or call ends in one, and unused bytes trap. */
	memset(image, INT3_INSN_OPCODE, sizeof(image));
	length = kprobe_copy(image, insn, addr, (unsigned long)slot);
	if (length >= 0 && kp->ainsn.emulation.boosted)
		length = kprobe_copy(last, insn, addr,
				     (unsigned long)slot + KPROBE_SLOT_LAST_OFFSET);
	if (length < 0)
		return kprobe_refuse_insn(kp, length, "its operand is out of a copy's reach");
	kp->ainsn.emulation.copied = length;
	if (kp->ainsn.emulation.boosted) {
		__text_gen_insn(image + length, JMP32_INSN_OPCODE, slot + length,
				kp->addr + insn->length, JMP32_INSN_SIZE);
		last += length;
		__text_gen_insn(last, CALL_INSN_OPCODE, slot + (last - image), kprobe_tail_entry,
				CALL_INSN_SIZE);
		/* kprobe_tail_entry() finds it behind its return address. */
		put_unaligned((unsigned long)site_of(kp), (unsigned long *)(last + CALL_INSN_SIZE));
	} else if (IS_ENABLED(CONFIG_X86_64)) {
		memcpy(last, load_from_nowhere, sizeof(load_from_nowhere));
	}
	perf_event_text_poke(slot, NULL, 0, image, sizeof(image));
	text_poke(slot, image, sizeof(image));
	return 0;
}

static int prepare_slot(struct kprobe *kp, struct insn *insn)
{
	int err;

	kp->ainsn.insn = get_insn_slot();
	if (!kp->ainsn.insn)
		return -ENOMEM;
	kp->ainsn.emulation.boosted = kprobe_can_boost(insn);
	err = fill_slot(kp, insn);
	if (err)
		free_insn_slot(kp->ainsn.insn, 0);
	else
		kprobe_slot_set_owner(kp->ainsn.insn, kp);
	return err;
}

/* Decodes the instruction of a site, and checks that it can be probed. */
static int get_insn(struct insn *insn, u8 *buf, struct kprobe *kp)
{
	unsigned long addr = (unsigned long)kp->addr;
	const char *words = NULL;
	int err;

	err = kprobe_check_boundary(addr, &words);
	if (err)
		return kprobe_refuse(kp, err, words);
	err = kprobe_decode(insn, buf, addr);
	if (err)
		return kprobe_refuse(kp, err, "no instruction can be read there");
	err = kprobe_check_insn(insn, addr, &words);
	/* A long table is searched, so only for what somebody knows by its address. */
	if (err == -EINVAL && find_bug(addr))
		return kprobe_refuse(kp, err, KPROBE_IS_BUG);
	return err ? kprobe_refuse_insn(kp, err, words) : 0;
}

int arch_prepare_kprobe(struct kprobe *kp)
{
	unsigned long addr = (unsigned long)kp->addr;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	int err;

	err = get_insn(&insn, buf, kp);
	if (err)
		return err;
	err = kprobe_emulation_init(&kp->ainsn.emulation, &insn);
	if (err)
		return kprobe_refuse_insn(kp, err, "it is a branch in a form that is not emulated");
	/* Only this kind of fixup looks at the text. It would find the breakpoint. */
	if (ex_get_fixup_type(addr) == EX_TYPE_ZEROPAD)
		return kprobe_refuse(kp, -EINVAL, "a load that is decoded when it faults");
	kp->ainsn.emulation.length = insn.length;
	kp->opcode = buf[0];
	/* Emulated instructions need a slot, too: the copy runs if an operand cannot be read. */
	return prepare_slot(kp, &insn);
}

void arch_remove_kprobe(struct kprobe *kp)
{
	kprobe_opcode_t *slot = kp->ainsn.insn;

	if (!slot)
		return;
	perf_event_text_poke(slot, slot, ARCH_KPROBE_SLOT_SIZE, NULL, 0);
	free_insn_slot(slot, 0);
	kp->ainsn.insn = NULL;
}

/*
 * Only one byte is changed, so that a CPU sees either the old or the new instruction. int3 is
 * handled with interrupts off. So when a CPU answers smp_text_poke_sync_each_cpu()'s IPI, it has
 * looked up the site of every breakpoint that it had hit before.
 */
void arch_arm_kprobes(struct list_head *sites, bool armed)
{
	const u8 int3 = INT3_INSN_OPCODE;
	struct kprobe *kp;

	list_for_each_entry(kp, sites, list)
		text_poke(kp->addr, armed ? &int3 : &kp->opcode, 1);
	smp_text_poke_sync_each_cpu();
	list_for_each_entry(kp, sites, list)
		perf_event_text_poke(kp->addr, armed ? &kp->opcode : &int3, 1,
				     armed ? &int3 : &kp->opcode, 1);
}
