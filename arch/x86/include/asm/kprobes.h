/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_KPROBES_H
#define _ASM_X86_KPROBES_H

#include <asm-generic/kprobes.h>
#include <asm/ptrace.h>

/*
 * While pre handlers run, ip in their registers is one byte behind the start of an instruction that
 * was not executed yet. If that is one byte long, it is the address of the next instruction, where
 * the stack layout can be another one. To tell the unwinder, orig_ax has this value, where it is -1
 * for all exceptions of the kernel.
 */
#define KPROBE_HIT_ORIG_AX		(-2)

/*
 * An out-of-line slot holds up to two copies of the probed instruction:
 *
 *   offset 0    the copy that a hit executes by default: followed by a jump back if the
 *               instruction can be boosted, else by an int3
 *   offset 32   if it is boosted: a copy for hits with a post handler, followed by a call of
 *               kprobe_tail_entry(), which runs that, and the address of the site. Else, on 64
 *               bits, an instruction that faults in place of a branch to what is no address
 *
 * A copy is at most 15 bytes of instruction and 5 bytes of jump or call.
 */
#define KPROBE_SLOT_LAST_OFFSET	32
#define ARCH_KPROBE_SLOT_SIZE	64

#ifndef __ASSEMBLY__
#ifdef CONFIG_KPROBES

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>
#include <asm/cpufeature.h>
#include <asm/insn.h>
#include <asm/irqflags.h>
#include <asm/text-patching.h>

#define __ARCH_WANT_KPROBES_INSN_SLOT

struct kprobe;

typedef u8 kprobe_opcode_t;

struct kprobe_emulation;

/*
 * Executes a branch on saved registers, in which ip is its address. Returns false, with @regs
 * untouched, if its target cannot be read from memory, or is no address. Then what is in the slot
 * is executed, so that a fault happens there.
 */
typedef bool (*kprobe_emulate_fn)(const struct kprobe_emulation *em, struct pt_regs *regs);

/* How a branch is emulated. @length, @copied and @boosted are set for all instructions. */
struct kprobe_emulation {
	/* NULL for other instructions, and where the slot's copy has to find the target first */
	kprobe_emulate_fn	fn;
	s32			disp;	/* of the branch or of memory; what a return pops */
	u8			length;	/* of the instruction, in bytes, prefixes included */
	u8			copied;	/* of the slot's copy, in bytes */
	u8			op;	/* what @fn needs to know: an opcode, the ModRM byte */
	/* Offsets in pt_regs, or KPROBE_NO_REG. If the target is in a register, that is @base. */
	u8			base;
	u8			index;
	u8			scale;	/* log2 of the factor that the index is multiplied by */
	u8			size;	/* of the counter of loop and jcxz, in bytes */
	/*
	 * A return, or an indirect call or jump by memory. The slot's copy of it is a push of the
	 * target, so that a bad pointer faults there as it would have in place.
	 */
	bool			memory;
	bool			boosted;	/* not emulated: the slot's first copy jumps back */
};

#define KPROBE_NO_REG		0xff

/* See DETOUR_SIZE in arch/x86/kernel/kprobes/internal.h. */
#define MAX_OPTINSN_SIZE	64

/* A jump covers whole instructions, the last of which begins inside of the jump. */
#define MAX_OPTIMIZED_LENGTH	(JMP32_INSN_SIZE - 1 + MAX_INSN_SIZE)

/* What a jump covers */
struct arch_optimized_insn {
	kprobe_opcode_t		*insn;		/* the detour, NULL for none */
	unsigned long		next;		/* where hits resume: there, or at a copy */
	u8			original[JMP32_INSN_SIZE - 1];	/* the bytes but the first */
	u8			copy[JMP32_INSN_SIZE];	/* by an instruction's offset: its copy's */
	u8			end;		/* where in the detour the last copy ends */
	u8			call;		/* and the jump of a call's copy is; 0 for none */
};

/* How the probed instruction is executed */
struct arch_specific_insn {
	kprobe_opcode_t		*insn;		/* the slot, NULL for an entry that ftrace hooks */
	struct kprobe_emulation	emulation;
};

/* Once for many sites: the IPIs are the cost, not the writes. */
#define arch_arm_kprobes	arch_arm_kprobes

void arch_remove_kprobe(struct kprobe *kp);
int kprobe_int3_handler(struct pt_regs *regs);
unsigned long kprobe_original_ip(unsigned long ip);

/*
 * exc_int3() counts every breakpoint as an NMI. This is what our own that are under way on this CPU
 * have added to preempt_count(), so that the level of the probed code can still be told.
 */
DECLARE_PER_CPU(unsigned int, kprobe_int3_count);

static __always_inline unsigned long arch_kprobe_level(void)
{
	/* PREEMPT_NEED_RESCHED is left in it: its bit is above all that are looked at. */
	unsigned int count = raw_cpu_read_4(__preempt_count) -
			     __this_cpu_read(kprobe_int3_count);

	if (likely(!(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return 0;
	if (count & NMI_MASK)
		return 3;
	return count & HARDIRQ_MASK ? 2 : 1;
}

#define arch_kprobe_level	arch_kprobe_level

/*
 * Corrects flags that were saved by pushf. In a guest of Xen that is not virtualized by
 * hardware, that has seen another interrupt flag than the guest's own, which an exception's
 * frame has and which Xen loads at an iret.
 */
static __always_inline void kprobe_mend_flags(struct pt_regs *regs)
{
	if (cpu_feature_enabled(X86_FEATURE_XENPV))
		regs->flags = (regs->flags & ~X86_EFLAGS_IF) |
			      (arch_local_save_flags() & X86_EFLAGS_IF);
}

/* For return probes: a frame is known by the place of its return address. */
#define arch_kretprobe_frame(regs)	((void *)(regs)->sp)
#define ARCH_KRETPROBE_FRAME_IS_SLOT	1

static __always_inline unsigned long arch_kretprobe_ret_addr(struct pt_regs *regs, void *frame)
{
	return *(unsigned long *)frame;
}

static __always_inline void arch_kretprobe_divert(struct pt_regs *regs, void *frame,
						  unsigned long to)
{
	*(unsigned long *)frame = to;
}

/*
 * The trampoline returns to the address that it finds there. It has saved the flags as they
 * seemed to be.
 */
static __always_inline void arch_kretprobe_undivert(struct pt_regs *regs, void *frame,
						    unsigned long addr)
{
	kprobe_mend_flags(regs);
	*(unsigned long *)frame = addr;
}

#ifdef CONFIG_X86_64
void kprobe_ftrace_entry(void);
#define ARCH_KPROBE_FTRACE_TRAMPOLINE	((unsigned long)kprobe_ftrace_entry)

#ifdef CONFIG_KRETPROBE_RETURN_STACK
void kretprobe_ftrace_entry(void);
#define ARCH_KRETPROBE_FTRACE_TRAMPOLINE ((unsigned long)kretprobe_ftrace_entry)
#define arch_kretprobe_irqs_off(regs)	regs_irqs_disabled(regs)
#endif
#endif

unsigned long arch_kprobe_resume_ip(unsigned long ip);
#define arch_kprobe_resume_ip	arch_kprobe_resume_ip

/* Nothing is remembered between a hit and what follows on it. */
#define ARCH_KPROBE_STATELESS	1

#ifdef CONFIG_USE_X86_SEG_SUPPORT
#define __kprobe_own			__percpu_seg_override
#define arch_kprobe_own_marks()		__my_cpu_ptr(kprobe_marks)
#endif

static __always_inline bool kprobe_regs_of_hit(const struct pt_regs *regs)
{
	return (long)regs->orig_ax == KPROBE_HIT_ORIG_AX;
}

#else /* !CONFIG_KPROBES */

static inline unsigned long kprobe_original_ip(unsigned long ip)
{
	return ip;
}

static __always_inline bool kprobe_regs_of_hit(const struct pt_regs *regs)
{
	return false;
}

#endif /* CONFIG_KPROBES */
#endif /* __ASSEMBLY__ */
#endif /* _ASM_X86_KPROBES_H */
