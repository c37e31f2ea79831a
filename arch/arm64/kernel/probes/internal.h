/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_INTERNAL_H
#define __ARM64_KERNEL_PROBES_INTERNAL_H
/* The first part is for assembly, too. */
#include <asm/ptrace.h>
#include <asm/sysreg.h>

/* Parts of PSTATE, for MRS and for MSR from a register; PAN is in asm/sysreg.h */
#define SYS_PSTATE_DIT	sys_reg(3, 3, 4, 2, 5)
#define SYS_PSTATE_SSBS	sys_reg(3, 3, 4, 2, 6)
#define SYS_PSTATE_TCO	sys_reg(3, 3, 4, 2, 7)

#define PSR_STATUS_BITS	(PSR_N_BIT | PSR_Z_BIT | PSR_C_BIT | PSR_V_BIT)

/* What entries use of the stack: for a pt_regs, and above it for the callsite's frame record */
#define FTRACE_FRAME_SIZE	(PT_REGS_SIZE + 16)

/*
 * A slot, in words:
 *
 *   SLOT_ENTRY		the target of the branch in the text: makes room for a pt_regs, and
 *			calls kprobe_detour_entry()
 *   SLOT_COPY_OUT	where that goes to get to SLOT_COPY: gives back the room
 *   SLOT_COPY		the copy, and a branch to the next instruction
 *   SLOT_LAST_OUT	where that goes to get to SLOT_LAST: gives back the room
 *   SLOT_LAST		the copy for hits with a post handler; then as SLOT_ENTRY, but calls
 *			kprobe_tail_entry()
 *   SLOT_NEXT_OUT	where both go if the instruction is done: gives back the room, and
 *			branches to the next instruction
 *   SLOT_OWNER		the address of the site, two words
 *
 * A simulated instruction has no copies.
 *
 * If a branch cannot get there from the text, or from there to the handlers or the next
 * instruction, the copy for hits with a post handler is followed by a BRK, which ends a step. If it
 * is the next instruction that is out of reach, there is one behind the other copy, too. That copy
 * is not used then, and its BRK reports a fault.
 */
#define SLOT_ENTRY	0
#define SLOT_COPY_OUT	3
#define SLOT_COPY	5
#define SLOT_LAST_OUT	7
#define SLOT_LAST	9
#define SLOT_NEXT_OUT	13
#define SLOT_OWNER	16
#define SLOT_WORDS	18

/*
 * From where modules are, the handlers may be out of a call's reach. Pages of slots there end in
 * veneers: each goes to the handler at any distance, and is called in its place.
 */
#define VENEER_SIZE	24
#define VENEERS_SIZE	(2 * VENEER_SIZE)

#ifndef __ASSEMBLY__
#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/context_tracking.h>
#include <linux/context_tracking_irq.h>
#include <linux/kprobes_arch.h>
#include <linux/kprobes_function.h>
#include <linux/kprobes_hit.h>
#include <linux/linkage.h>
#include <linux/smp.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/debug-monitors.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

/* Not C functions: slots call the first two, which may continue at the third. */
asmlinkage void kprobe_detour_entry(void);
asmlinkage void kprobe_tail_entry(void);
asmlinkage void kprobe_detour_leave(void);

/* A slot before it is filled in; little-endian, as instructions in memory are. */
extern const __le32 kprobe_slot_template[SLOT_WORDS];

/* What a page of slots ends with, where modules are */
extern const char kprobe_veneers[VENEERS_SIZE];

/* What a slot calls if kprobe_detour_entry() and kprobe_tail_entry() are out of its reach */
enum kprobe_veneer { VENEER_DETOUR, VENEER_TAIL };

bool kprobe_in_reach(unsigned long from, unsigned long to);
bool kprobe_is_landing_pad(u32 insn);

asmlinkage unsigned long kprobe_detour_hit(struct pt_regs *regs, struct kprobe_site *site);
asmlinkage unsigned long kprobe_detour_called(struct pt_regs *regs, struct kprobe_site *site,
					      int chosen);
asmlinkage unsigned long kprobe_tail_hit(struct pt_regs *regs, struct kprobe_site *site);
asmlinkage unsigned long kprobe_tail_called(struct pt_regs *regs, struct kprobe_site *site);
asmlinkage unsigned long kprobe_entry_hit(struct pt_regs *regs, struct kprobe_site *site);
asmlinkage unsigned long kprobe_entry_called(struct pt_regs *regs, struct kprobe_site *site,
					     int chosen);
asmlinkage void kprobe_masked_return(struct pt_regs *regs, void *frame);

void kprobe_simulate(struct kprobe *kp, struct pt_regs *regs, enum kprobe_result what);

/*
 * On a CPU that RCU takes for idle, cpu_suspend() and PSCI run code that can be probed. Where
 * handlers are called without an exception, whose entry code would do so, let RCU watch. Use with
 * preemption off. Interrupts are masked wherever RCU does not watch, so few hits look any further.
 */
static __always_inline bool kprobe_watch_begin(struct pt_regs *regs)
{
	bool idle = unlikely(!interrupts_enabled(regs)) && unlikely(!rcu_is_watching_curr_cpu());

	if (idle)
		ct_nmi_enter();
	return idle;
}

static __always_inline void kprobe_watch_end(bool idle)
{
	if (unlikely(idle))
		ct_nmi_exit();
}

DEFINE_CLASS(kprobe_watch, bool, kprobe_watch_end(_T), kprobe_watch_begin(regs),
	     struct pt_regs *regs)

/*
 * Until it synchronizes its context, a CPU may execute what it has fetched, although the text has
 * changed (Arm ARM B2.2.5, concurrent modification and execution of instructions).
 */
static inline void kprobe_sync_cpu(void *unused)
{
	isb();
}

/*
 * Has all CPUs fetch anew what they execute. An interrupt alone would not do: one that was under
 * way before the text changed may serve this call, too.
 */
static inline void kprobe_sync_cpus(void)
{
	on_each_cpu(kprobe_sync_cpu, NULL, 1);
}
#endif /* __ASSEMBLY__ */

#endif /* __ARM64_KERNEL_PROBES_INTERNAL_H */
