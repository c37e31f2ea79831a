/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_LEGACY_H
#define _LINUX_KPROBES_LEGACY_H
/*
 * The interface between the generic core and architectures without ARCH_KPROBE_STATELESS, besides
 * linux/kprobes_arch.h. Their files get both by linux/kprobes.h.
 */
#include <linux/kprobes_arch.h>

/**
 * DOC: State between exceptions
 *
 * An architecture that keeps state between the exceptions of a hit defines ``struct kprobe_ctlblk``
 * in asm/kprobes.h, with a ``kprobe_status``, and the two per-CPU variables that are declared here.
 */
#if !ARCH_KPROBE_STATELESS
DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/*
 * Values of kprobe_status, for architectures that follow a hit step by step. The core only sets
 * KPROBE_HIT_ACTIVE, for handlers that it runs without an exception.
 */
#define KPROBE_HIT_ACTIVE	1
#define KPROBE_HIT_SS		2
#define KPROBE_REENTER		4
#define KPROBE_HIT_SSDONE	8

static inline struct kprobe_ctlblk *get_kprobe_ctlblk(void)
{
	return this_cpu_ptr(&kprobe_ctlblk);
}

static inline void reset_current_kprobe(void)
{
	__this_cpu_write(current_kprobe, NULL);
}

static inline struct kprobe *kprobe_running(void)
{
	return __this_cpu_read(current_kprobe);
}

/* Records whose handlers run on this CPU. Returns what was recorded before, for the end. */
static inline struct kprobe *kprobe_set_running(struct kprobe *p)
{
	struct kprobe *outer = __this_cpu_read(current_kprobe);

	__this_cpu_write(current_kprobe, p);
	return outer;
}
#endif

/**
 * arch_init_kprobes() - initialize the architecture's part
 *
 * Context: once, at early_initcall; it may register probes.
 * Return: 0, or an errno. After an errno the core does not register its notifiers.
 */
int arch_init_kprobes(void);

/**
 * arch_prepare_kprobe_ftrace() - prepare a site at an entry that ftrace hooks
 * @kp: the site's kprobe, as for arch_prepare_kprobe(), which is not called then
 *
 * Such a site needs no slot: what is probed is ftrace's own call. Has a weak default.
 *
 * Context: as arch_prepare_kprobe().
 * Return: 0, or an errno that registration passes on.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *kp);

/**
 * arch_trampoline_kprobe() - check whether a site is the trampoline of return probes
 * @kp: the site's kprobe
 *
 * The handler of such a site may be what reports a return.
 *
 * Context: any.
 * Return: non-zero if it is.
 */
int arch_trampoline_kprobe(struct kprobe *kp);

/**
 * arch_within_kprobe_blacklist() - check whether an address can never be probed
 * @addr: any address
 *
 * Has a weak default.
 *
 * Context: any.
 * Return: true if it cannot.
 */
bool arch_within_kprobe_blacklist(unsigned long addr);

/**
 * kprobe_exceptions_notify() - handle a die notification, before all other notifiers
 * @self: the notifier
 * @val: what has happened, an enum die_val
 * @data: its struct die_args
 *
 * For architectures whose breakpoints reach kprobes through the die chain. Has a weak default.
 *
 * Context: that of notify_die().
 * Return: NOTIFY_STOP if it was for kprobes, else NOTIFY_DONE.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val, void *data);

#ifdef CONFIG_OPTPROBES
/* Defined by architectures; the core does not call them. */
int arch_check_optimized_kprobe(struct optimized_kprobe *op);
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn);
int arch_within_optimized_kprobe(struct optimized_kprobe *op, kprobe_opcode_t *addr);
void arch_unoptimize_kprobe(struct optimized_kprobe *op);

void opt_pre_handler(struct kprobe *kp, struct pt_regs *regs);

/**
 * free_optinsn_page() - free a page of detours
 * @page: from alloc_optinsn_page(); nothing can be executing in it
 *
 * Context: may sleep; no lock is held.
 */
void free_optinsn_page(void *page);
#endif

#ifdef CONFIG_KRETPROBE_RETURN_STACK
/**
 * DOC: Return probes with state
 *
 * The trampoline calls kretprobe_trampoline_handler(), which returns the address to continue at,
 * or, from the pre handler of a probe on the trampoline itself, __kretprobe_trampoline_handler().
 */
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer);
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer);

/**
 * arch_kretprobe_fixup_return() - correct other copies of a diverted return address
 * @regs: registers at the return
 * @correct_ret_addr: the address that is returned to
 *
 * For architectures that keep the address in more than one place. Has a weak default.
 *
 * Context: any in which a function returns, preemption off.
 */
void arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *correct_ret_addr);

#ifndef arch_kretprobe_frame
/**
 * arch_prepare_kretprobe() - record a call and divert its return
 * @ri: the instance; its ret_addr and fp are filled in
 * @regs: registers at the function's first instruction
 *
 * For architectures without arch_kretprobe_frame.
 *
 * Context: a pre handler.
 */
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);

#define arch_kretprobe_frame(regs)	((void *)NULL)

/* Not known before arch_prepare_kretprobe(): entry handlers are shown 0. */
static inline unsigned long arch_kretprobe_ret_addr(struct pt_regs *regs, void *frame)
{
	return 0;
}

static inline void kretprobe_record(struct kretprobe_instance *ri, struct pt_regs *regs,
				    void *frame)
{
	arch_prepare_kretprobe(ri, regs);
}

static inline void arch_kretprobe_divert(struct pt_regs *regs, void *frame, unsigned long to) { }

static inline void arch_kretprobe_undivert(struct pt_regs *regs, void *frame, unsigned long addr)
{
	arch_kretprobe_fixup_return(regs, (kprobe_opcode_t *)addr);
}
#endif
#endif

#endif /* _LINUX_KPROBES_LEGACY_H */
