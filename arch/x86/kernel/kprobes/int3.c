// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes by breakpoint on x86: planting them, and what happens at a hit.
 *
 * An instruction is carried out in the first of these ways that is possible:
 *
 * - boosted, by a copy that jumps back, unless there is a post handler
 * - emulated on the saved registers, or executed on them (see thunk.c)
 * - by a copy from which the post handlers are called (see detour.c)
 * - stepped, by a copy that ends in another int3
 *
 * No state is kept between the hit and that second int3: the address of the slot tells
 * which site it was. So the copy runs with interrupts and preemption as in the probed
 * code, can be interrupted by anything, and can fault.
 */
#include <linux/execmem.h>
#include <linux/kprobes.h>
#include <linux/kprobes_hit.h>
#include <linux/perf_event.h>
#include <linux/set_memory.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "common.h"

asmlinkage void kprobe_tail_entry(void);

/* See arch_kprobe_level(). */
DEFINE_PER_CPU(unsigned int, kprobe_int3_count);
#define INT3_COUNT	(NMI_OFFSET + HARDIRQ_OFFSET)

/* Only ever written through text_poke(), like the kernel's own text. */
void *alloc_insn_page(void)
{
	void *page = execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);

	if (page && set_memory_rox((unsigned long)page, 1)) {
		execmem_free(page);
		return NULL;
	}
	return page;
}

/* The address behind a copy, where its int3 or its jump back is. */
static __always_inline unsigned long copy_end(const struct kprobe *kp,
					      unsigned long copy)
{
	return copy + kp->ainsn.emulation.length;
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
static int write_copy(u8 *image, struct insn *insn, const struct kprobe *kp,
		      size_t offset, struct tail *tail)
{
	unsigned long slot = (unsigned long)kp->ainsn.insn;
	int err;

	tail->image = image + offset + insn->length;
	tail->run_at = (void *)slot + offset + insn->length;
	err = kprobe_relocate(image + offset, insn, (unsigned long)kp->addr, slot + offset);
	return err ? kprobe_refuse_insn(err, "its operand is out of a copy's reach") : 0;
}

static int fill_slot(struct kprobe *kp, struct insn *insn)
{
	u8 image[ARCH_KPROBE_SLOT_SIZE];
	struct tail first, last;
	int err;

	/* So a copy without a tail ends in an int3, and unused bytes trap. */
	memset(image, INT3_INSN_OPCODE, sizeof(image));
	err = write_copy(image, insn, kp, 0, &first);
	if (!err && kp->ainsn.boosted) {
		err = write_copy(image, insn, kp, KPROBE_SLOT_LAST_OFFSET, &last);
		jump_back(first, kp);
		run_post_handlers(last, kp);
	}
	if (!err && kp->ainsn.boosted && !kp->ainsn.emulation.fn)
		kprobe_make_thunk(image + KPROBE_SLOT_THUNK_OFFSET,
				  sizeof(image) - KPROBE_SLOT_THUNK_OFFSET,
				  kp->ainsn.insn + KPROBE_SLOT_THUNK_OFFSET, insn, kp);
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

/* Decodes the instruction at @addr, and checks that it can be probed. */
static int get_insn(struct insn *insn, u8 *buf, unsigned long addr)
{
	const char *kind;
	int err;

	err = kprobe_check_boundary(addr);
	if (err)
		return err;
	err = kprobe_decode(insn, buf, addr);
	if (err)
		return kprobe_refuse(err, "no instruction can be read there");
	err = kprobe_check_insn(insn, addr, &kind);
	if (err)
		return kprobe_refuse_insn(err, kind);
	return 0;
}

int arch_prepare_kprobe(struct kprobe *kp)
{
	unsigned long addr = (unsigned long)kp->addr;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	int err;

	err = get_insn(&insn, buf, addr);
	if (err)
		return err;
	err = kprobe_emulation_init(&kp->ainsn.emulation, &insn);
	if (err)
		return kprobe_refuse_insn(err, "it is a branch in a form that is not emulated");
	if (alternatives_text_reserved(kp->addr, kp->addr + insn.length))
		return kprobe_refuse(-EINVAL, "a lock prefix, patched with the second CPU");
	kp->ainsn.emulation.length = insn.length;
	kp->opcode = buf[0];
	/* Emulated instructions need a slot, too: for operands that cannot be read. */
	return prepare_slot(kp, &insn);
}

/* Nobody is in the slot. As dirty, it is released together with those of other sites. */
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
 * int3 is handled with interrupts off. So when a CPU answers the IPI of
 * text_poke_sync(), it has looked up all breakpoints that it had met.
 */
void arch_disarm_kprobes(struct list_head *sites)
{
	change_text(sites, false);
}

/*
 * Carries the instruction out, or lets the probed code go on at a copy of it. The boosted
 * copy is cheaper than an emulation, but runs no post handlers.
 */
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
	/* A missed hit is inside of a mark, and a fault here would look like a handler's. */
	if (em->fn && !(what == KPROBE_RESULT_MISSED && em->memory)) {
		regs->ip = (unsigned long)kp->addr;
		if (em->fn(em, regs)) {
			if (post)
				kprobe_hit_post(kp, regs);
			regs->ip = kprobe_way_out(kp, regs->ip);
			return;
		}
	}
	regs->ip = kprobe_last_copy(kp);
}

/**
 * kprobe_carry_out_post() - carry the instruction out and run the post handlers, or see to it
 * @kp: a site whose pre handlers have run
 * @regs: the registers; the instruction pointer is set to where to go on
 *
 * Context: any, NMI included, preemption off.
 */
void kprobe_carry_out_post(struct kprobe *kp, struct pt_regs *regs)
{
	carry_out(kp, regs, KPROBE_RESULT_POST);
}

NOKPROBE_SYMBOL(kprobe_carry_out_post);

/* As carry_out() decides it at a hit. */
const char *arch_kprobe_path(struct kprobe *kp)
{
	if (kp->ainsn.boosted && !kp->post_handler)
		return "boost";
	if (kprobe_emulates_alone(&kp->ainsn.emulation))
		return "emulate";
	return kp->ainsn.boosted ? "boost" : "step";
}

/* Is this the int3 behind a copy? Then the instruction was carried out. */
static bool step_done(unsigned long at, struct pt_regs *regs)
{
	struct kprobe *kp = kprobe_slot_owner(at);

	if (!kp || at != copy_end(kp, kprobe_last_copy(kp)))
		return false;
	regs->ip = (unsigned long)kp->addr;
	if (kp->ainsn.emulation.memory)
		kprobe_emulate_pushed(&kp->ainsn.emulation, regs);
	else
		regs->ip += kp->ainsn.emulation.length;
	if (kp->post_handler)
		kprobe_hit_post(kp, regs);
	regs->ip = kprobe_way_out(kp, regs->ip);
	return true;
}

NOKPROBE_SYMBOL(step_done);

/*
 * Was this a breakpoint that was taken out while this CPU was on its way here? Then what
 * is there now is executed.
 */
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

static __always_inline void site_hit(struct kprobe_site *site, struct pt_regs *regs)
{
	struct kprobe *kp = kprobe_of(site);
	enum kprobe_result what;

	regs->orig_ax = KPROBE_HIT_ORIG_AX;
	what = kprobe_hit_site(kp, regs, kprobe_emulate);
	regs->orig_ax = -1;
	if (what == KPROBE_RESULT_REDIRECTED || what == KPROBE_RESULT_DONE)
		regs->ip = kprobe_way_out(kp, regs->ip);
	else
		carry_out(kp, regs, what);
}

/**
 * kprobe_int3_handler() - is this breakpoint ours?
 * @regs: registers after the int3
 *
 * Context: the int3 exception, interrupts off.
 * Return: 1 when it was dealt with, else 0.
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
 * kprobe_fault_handler() - a fault of the kernel, before anybody looks for a fixup
 * @regs: registers at the fault
 * @trapnr: the exception's vector
 *
 * A fault in a copy of the probed instruction becomes one of that: the instruction
 * pointer is moved to its address, by which fault handlers and fixups know it. Faults in
 * a detour's other copies stay where they are: these instructions have no fixups, and
 * can only go on in the detour.
 *
 * Context: any, preemption off.
 * Return: 1 when a fault handler has dealt with it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe *kp = kprobe_slot_owner(regs->ip);
	unsigned long copy = regs->ip;

	if (!kp)
		return 0;
	if (copy != (unsigned long)kp->ainsn.insn && copy != kprobe_last_copy(kp) &&
	    copy != kprobe_detour_copy(kp))
		return 0;
	return kprobe_hit_fault(kp, regs, trapnr);
}

NOKPROBE_SYMBOL(kprobe_fault_handler);

/*
 * What an address in a slot stands for: the instruction, or the next one if it is behind
 * a copy. A thunk is a function of its own, and stands for nothing else.
 */
static __always_inline unsigned long copied_into_slot(struct kprobe *kp, unsigned long ip)
{
	unsigned long offset = ip - (unsigned long)kp->ainsn.insn;
	unsigned long length = kp->ainsn.emulation.length;

	if (offset >= KPROBE_SLOT_THUNK_OFFSET)
		return ip;
	offset %= KPROBE_SLOT_LAST_OFFSET;
	return (unsigned long)kp->addr + (offset < length ? 0 : length);
}

/**
 * kprobe_original_ip() - what an address in a slot or detour stands for
 * @ip: any address
 *
 * Context: any, NMI included.
 * Return: the address of the instruction that is carried out at @ip, or @ip
 * itself when that is no copy.
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

/*
 * In entry code, the stack and the registers are not yet what an int3 handler needs. The
 * compiler's thunks for branches are used by the handler itself; they are between the
 * end of the softirq entry text and the static calls, and behind the entry code up to
 * the end of all text. In between, before the entry code, is what untrains predictors by the
 * bytes that it is made of.
 */
int __init arch_populate_kprobe_blacklist(void)
{
	int err;

	err = kprobe_add_area_blacklist((unsigned long)__softirqentry_text_end,
					(unsigned long)__static_call_text_start);
	if (err)
		return err;
	return kprobe_add_area_blacklist((unsigned long)__static_call_text_end,
					 (unsigned long)_etext);
}

int __init arch_init_kprobes(void)
{
	return 0;
}

/* The return trampoline is no probe. */
int arch_trampoline_kprobe(struct kprobe *kp)
{
	return 0;
}
