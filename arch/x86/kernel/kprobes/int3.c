// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints on x86: how they are written, and what happens at a hit.
 *
 * A probed instruction is carried out in the first of these ways that is possible:
 *
 * - boosted, by a copy that jumps back, unless there is a post handler
 * - emulated on the saved registers, which is for branches
 * - by a copy that is followed by a call of the post handlers (see tail.c)
 * - stepped, by a copy that ends in another int3
 *
 * No state is kept between the hit and that second int3: the site is found from the address
 * of the slot. So the copy runs with interrupts and preemption as in the probed code, can be
 * interrupted by anything, and can fault.
 */
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <linux/perf_event.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/extable.h>
#include <asm/orc_lookup.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "internal.h"

asmlinkage void kprobe_tail_entry(void);

/* See arch_kprobe_level(). */
DEFINE_PER_CPU(unsigned int, kprobe_int3_count);
#define INT3_COUNT	(NMI_OFFSET + HARDIRQ_OFFSET)

void *alloc_insn_page(void)
{
	return kprobe_seal_page(execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE));
}

/* The address behind a copy, where its int3 or its jump back is. */
static __always_inline unsigned long copy_end(const struct kprobe *kp,
					      unsigned long copy)
{
	return copy + kp->ainsn.emulation.copied;
}

/* What follows a copy in a slot: where it is written now, and where it will run. */
struct tail {
	u8	*image;
	void	*run_at;
};

static void jump_back(struct tail tail, const struct kprobe *kp)
{
	__text_gen_insn(tail.image, JMP32_INSN_OPCODE, tail.run_at,
			kp->addr + kp->ainsn.emulation.length, JMP32_INSN_SIZE);
}

static void run_post_handlers(struct tail tail, const struct kprobe *kp)
{
	__text_gen_insn(tail.image, CALL_INSN_OPCODE, tail.run_at, kprobe_tail_entry,
			CALL_INSN_SIZE);
	put_unaligned((unsigned long)kp, (unsigned long *)(tail.image + CALL_INSN_SIZE));
}

/* Writes a copy of the instruction, and sets where its tail is to be written. */
static int write_copy(u8 *image, struct insn *insn, struct kprobe *kp,
		      size_t offset, struct tail *tail)
{
	unsigned long slot = (unsigned long)kp->ainsn.insn;
	int length;

	length = kprobe_copy(image + offset, insn, (unsigned long)kp->addr, slot + offset);
	if (length < 0)
		return kprobe_refuse_insn(kp, length, "its operand is out of a copy's reach");
	kp->ainsn.emulation.copied = length;
	tail->image = image + offset + length;
	tail->run_at = (void *)slot + offset + length;
	return 0;
}

/*
 * mov 0x8000000000000000, %al: raises the exception of a branch to an address that is none, and
 * changes nothing
 */
static const u8 load_from_nowhere[] = { 0xa0, 0, 0, 0, 0, 0, 0, 0, 0x80 };

static int fill_slot(struct kprobe *kp, struct insn *insn)
{
	u8 image[ARCH_KPROBE_SLOT_SIZE];
	struct tail first, last;
	int err;

	/* Fill with int3: a copy without a tail ends in one, and unused bytes trap. */
	memset(image, INT3_INSN_OPCODE, sizeof(image));
	err = write_copy(image, insn, kp, 0, &first);
	if (!err && kp->ainsn.boosted) {
		err = write_copy(image, insn, kp, KPROBE_SLOT_LAST_OFFSET, &last);
		jump_back(first, kp);
		run_post_handlers(last, kp);
	}
	if (IS_ENABLED(CONFIG_X86_64) && !kp->ainsn.boosted)
		memcpy(image + KPROBE_SLOT_LAST_OFFSET, load_from_nowhere,
		       sizeof(load_from_nowhere));
	if (err)
		return err;
	perf_event_text_poke(kp->ainsn.insn, NULL, 0, image, sizeof(image));
	text_poke(kp->ainsn.insn, image, sizeof(image));
	return 0;
}

static int prepare_slot(struct kprobe *kp, struct insn *insn)
{
	int err;

	kp->ainsn.insn = get_insn_slot();
	if (!kp->ainsn.insn)
		return -ENOMEM;
	kp->ainsn.boosted = kprobe_can_boost(insn);
	err = fill_slot(kp, insn);
	if (err) {
		free_insn_slot(kp->ainsn.insn, 0);
		kp->ainsn.insn = NULL;
		return err;
	}
	kprobe_slot_set_owner(kp->ainsn.insn, kp);
	return 0;
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
	if (alternatives_text_reserved(kp->addr, kp->addr + insn.length))
		return kprobe_refuse(kp, -EINVAL, "a lock prefix, patched with the second CPU");
	/* Only this kind of fixup looks at the text. It would find the breakpoint. */
	if (ex_get_fixup_type(addr) == EX_TYPE_ZEROPAD)
		return kprobe_refuse(kp, -EINVAL, "a load that is decoded when it faults");
	kp->ainsn.emulation.length = insn.length;
	kp->opcode = buf[0];
	/* Emulated instructions need a slot, too: the copy runs if an operand cannot be read. */
	return prepare_slot(kp, &insn);
}

/*
 * No task is in the slot. It is freed as dirty nevertheless, to be released together with
 * those of other sites.
 */
void arch_remove_kprobe(struct kprobe *kp)
{
	kprobe_opcode_t *slot = kp->ainsn.insn;

	if (!slot)
		return;
	perf_event_text_poke(slot, slot, ARCH_KPROBE_SLOT_SIZE, NULL, 0);
	free_insn_slot(slot, 1);
	kp->ainsn.insn = NULL;
}

/* Only one byte is changed, so that a CPU sees either the old or the new instruction. */
static void change_text(struct list_head *sites, bool armed)
{
	const u8 int3 = INT3_INSN_OPCODE;
	struct kprobe *kp;

	list_for_each_entry(kp, sites, list)
		text_poke(kp->addr, armed ? &int3 : &kp->opcode, 1);
	text_poke_sync();
	list_for_each_entry(kp, sites, list)
		perf_event_text_poke(kp->addr, armed ? &kp->opcode : &int3, 1,
				     armed ? &int3 : &kp->opcode, 1);
}

void arch_arm_kprobes(struct list_head *sites)
{
	change_text(sites, true);
}

/*
 * int3 is handled with interrupts off. So when a CPU answers the IPI of text_poke_sync(), it
 * has looked up the site of every breakpoint that it had hit before.
 */
void arch_disarm_kprobes(struct list_head *sites)
{
	change_text(sites, false);
}

/* Goes on after the instruction, with the post handlers first if there are any. */
static __always_inline void carried_out(struct kprobe *kp, struct pt_regs *regs, bool post)
{
	if (!post) {
		regs->ip = kprobe_way_out(kp, regs->ip);
		return;
	}
	kprobe_hit_post(kp, regs);
	regs->ip = kprobe_way_after(kp, regs->ip);
}

/* Carries the instruction out, or lets the probed code continue at a copy of it. */
static __always_inline void carry_out(struct kprobe *kp, struct pt_regs *regs,
				      enum kprobe_result what)
{
	const struct kprobe_emulation *em = &kp->ainsn.emulation;
	bool post = what == KPROBE_RESULT_POST;

	if (kp->ainsn.boosted && !post) {
		regs->ip = kprobe_optimized(kp) ? kprobe_detour_copy(kp)
						: (unsigned long)kp->ainsn.insn;
		return;
	}
	/* A missed hit is inside of another hit's mark: a fault would look like a handler's. */
	if (em->fn && !(what == KPROBE_RESULT_MISSED && em->memory)) {
		regs->ip = (unsigned long)kp->addr;
		if (em->fn(em, regs)) {
			carried_out(kp, regs, post);
			return;
		}
	}
	regs->ip = kprobe_last_copy(kp);
}

/**
 * kprobe_carry_out_post() - carry the instruction out, then run the post handlers
 * @kp: a site whose pre handlers have run
 * @regs: the registers; the instruction pointer is set to where to continue
 *
 * If the instruction cannot be emulated, execution continues at a copy, and the post handlers
 * run behind that.
 *
 * Context: any, NMI included, preemption off.
 */
void kprobe_carry_out_post(struct kprobe *kp, struct pt_regs *regs)
{
	carry_out(kp, regs, KPROBE_RESULT_POST);
}

NOKPROBE_SYMBOL(kprobe_carry_out_post);

/* Has to agree with what carry_out() does at a hit. */
const char *arch_kprobe_path(struct kprobe *kp)
{
	if (kp->ainsn.boosted)
		return "boost";
	return kp->ainsn.emulation.fn ? "emulate" : "step";
}

/* Is this the int3 behind a copy? Then the instruction has been carried out. */
static bool step_done(unsigned long at, struct pt_regs *regs)
{
	struct kprobe *kp = kprobe_slot_owner(at);

	if (!kp || at != copy_end(kp, kprobe_last_copy(kp)))
		return false;
	regs->ip = (unsigned long)kp->addr;
	if (!kp->ainsn.emulation.memory) {
		regs->ip += kp->ainsn.emulation.length;
	} else if (!kprobe_emulate_pushed(&kp->ainsn.emulation, regs)) {
		regs->ip = (unsigned long)kp->ainsn.insn + KPROBE_SLOT_LAST_OFFSET;
		return true;
	}
	carried_out(kp, regs, kp->post_handler);
	return true;
}

NOKPROBE_SYMBOL(step_done);

/* Was the breakpoint removed after this CPU had hit it? Then the restored text is executed. */
static bool taken_out(unsigned long at, struct pt_regs *regs)
{
	u8 byte;

	__get_kernel_nofault(&byte, (u8 *)at, u8, unreadable);
	if (byte == INT3_INSN_OPCODE)
		return false;
	regs->ip = at;
	return true;
unreadable:
	return false;
}

NOKPROBE_SYMBOL(taken_out);

static __always_inline void after_hit(struct kprobe *kp, struct pt_regs *regs,
				      enum kprobe_result what)
{
	regs->orig_ax = -1;
	if (what == KPROBE_RESULT_REDIRECTED)
		regs->ip = kprobe_way_after(kp, regs->ip);
	else
		carry_out(kp, regs, what);
}

/* Out of line, so that what is rare takes no registers from the rest. */
static noinline void after_rare_hit(struct kprobe *kp, struct pt_regs *regs,
				    enum kprobe_result what)
{
	after_hit(kp, regs, what);
}

NOKPROBE_SYMBOL(after_rare_hit);

static __always_inline void site_hit(struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe *kp = kprobe_of(site);
	enum kprobe_result what;

	regs->orig_ax = KPROBE_HIT_ORIG_AX;
	/* It was for the int3: a breakpoint of the processor on what follows is to be hit. */
	regs->flags &= ~X86_EFLAGS_RF;
	what = kprobe_hit_site(kp, regs);
	if (likely(what == KPROBE_RESULT_CONTINUE))
		after_hit(kp, regs, what);
	else
		after_rare_hit(kp, regs, what);
}

/**
 * kprobe_int3_handler() - handle an int3, if it is ours
 * @regs: registers after the int3
 *
 * Context: the int3 exception, interrupts off.
 * Return: 1 if the int3 was ours, else 0.
 */
int kprobe_int3_handler(struct pt_regs *regs)
{
	unsigned long at = regs->ip - INT3_INSN_SIZE;
	struct kprobe_site *site;
	bool ours = true;

	if (user_mode(regs))
		return 0;

	__this_cpu_add(kprobe_int3_count, INT3_COUNT);
	site = kprobe_find_site(at);
	if (likely(site))
		site_hit(site, regs);
	else
		ours = step_done(at, regs) || taken_out(at, regs);
	__this_cpu_sub(kprobe_int3_count, INT3_COUNT);
	return ours;
}

NOKPROBE_SYMBOL(kprobe_int3_handler);

/**
 * kprobe_fault_handler() - handle a kernel fault, before a fixup is looked for
 * @regs: registers at the fault
 * @trapnr: the exception's vector
 *
 * A fault in a copy of the probed instruction becomes a fault of the original: the instruction
 * pointer is set to its address, which fault handlers and the exception table know. Faults in
 * the other copies of a detour stay where they are: these instructions have no fixups, and can
 * only continue in the detour.
 *
 * Context: any, preemption off.
 * Return: 1 if a probe's fault handler has handled it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe *kp = kprobe_slot_owner(regs->ip);
	unsigned long copy = regs->ip;

	if (!kp)
		return 0;
	if (copy != (unsigned long)kp->ainsn.insn && copy != kprobe_detour_copy(kp) &&
	    copy != (unsigned long)kp->ainsn.insn + KPROBE_SLOT_LAST_OFFSET)
		return 0;
	return kprobe_hit_fault(kp, regs, trapnr);
}

NOKPROBE_SYMBOL(kprobe_fault_handler);

/*
 * From an address in a slot to the original: the probed instruction, or the next one if @ip is
 * behind a copy.
 */
static __always_inline unsigned long copied_into_slot(struct kprobe *kp, unsigned long ip)
{
	unsigned long offset = ip - (unsigned long)kp->ainsn.insn;
	const struct kprobe_emulation *em = &kp->ainsn.emulation;

	offset %= KPROBE_SLOT_LAST_OFFSET;
	return (unsigned long)kp->addr + (offset < em->copied ? 0 : em->length);
}

/**
 * kprobe_original_ip() - from an address in a slot or detour to the original
 * @ip: any address
 *
 * Context: any, NMI included.
 * Return: the address of the instruction whose copy is at @ip, or @ip itself if there is no
 * copy.
 */
unsigned long kprobe_original_ip(unsigned long ip)
{
	struct kprobe *kp;

	preempt_disable_notrace();
	kp = kprobe_slot_owner(ip);
	if (kp)
		ip = kprobe_covered_by_copy(kp, ip) ?: copied_into_slot(kp, ip);
	preempt_enable_notrace();
	return ip;
}

NOKPROBE_SYMBOL(kprobe_original_ip);

/* Without ORC, nobody knows where the return address is. */
const char *arch_kprobe_not_called(unsigned long addr)
{
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC) || orc_may_be_called(addr))
		return NULL;
	return "the return address is not where a call leaves it";
}

/*
 * In the order of the linker script: the compiler's thunks for branches, which the int3 handler
 * itself uses, are between the softirq entry text and the static calls. Behind the static calls
 * is code that untrains branch predictors, which depends on its exact bytes; then entry code,
 * where the stack and the registers are not yet what an int3 handler needs; then more thunks, up
 * to the end of the text.
 */
int __init arch_populate_kprobe_blacklist(void)
{
	kprobe_add_area_blacklist((unsigned long)__softirqentry_text_end,
				  (unsigned long)__static_call_text_start);
	return kprobe_add_area_blacklist((unsigned long)__static_call_text_end,
					 (unsigned long)_etext);
}
