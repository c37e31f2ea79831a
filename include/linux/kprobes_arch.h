/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/kprobes.h>

#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H
/*
 * The interface between the generic core and the architectures, for these two alone. What only
 * architectures without ARCH_KPROBE_STATELESS have is in linux/kprobes_legacy.h.
 *
 * A struct kprobe that an architecture is passed, or gets from get_kprobe(), is always the one
 * inside of a site, the core's object for a probed address, and never a user's. It does not move,
 * and lives until arch_remove_kprobe() at least. In this header and in the core such a kprobe is
 * called kp, and a user's p.
 */

/**
 * DOC: asm/kprobes.h
 *
 * asm/kprobes.h defines ``kprobe_opcode_t``, and ``struct arch_specific_insn``, how a site's
 * instruction is executed. It declares arch_remove_kprobe() and, without ARCH_KPROBE_STATELESS,
 * kprobe_fault_handler(), whose prototypes differ between architectures. It may define
 * ``__ARCH_WANT_KPROBES_INSN_SLOT``, to have get_insn_slot() and friends;
 * ``ARCH_KPROBE_SLOT_SIZE``, the size of a slot in kprobe_opcode_t, by default ``MAX_INSN_SIZE``;
 * macros named as some of the functions below, whose defaults they replace; and the macros that are
 * described here.
 */

/**
 * DOC: ARCH_KPROBE_STATELESS
 *
 * 1 if the architecture keeps no state between the exceptions of a hit. Then the marks of
 * linux/kprobes_hit.h alone say which handlers are running.
 */
#ifndef ARCH_KPROBE_STATELESS
#define ARCH_KPROBE_STATELESS	0
#endif

#if ARCH_KPROBE_STATELESS
/**
 * arch_kprobe_copy_owner() - find whose instruction has faulted
 * @ip: the address of the fault
 *
 * Context: any, preemption off.
 * Return: the site's kprobe, if a copy of the probed instruction is at @ip; else NULL.
 */
struct kprobe *arch_kprobe_copy_owner(unsigned long ip);

/* The marks record it. */
static inline struct kprobe *kprobe_set_running(struct kprobe *p) { return NULL; }
#endif

#ifndef arch_kprobe_level
/**
 * arch_kprobe_level() - find the context level of the probed code
 *
 * If the breakpoint exception itself counts as an interrupt or an NMI, the architecture subtracts
 * that.
 *
 * Context: any, preemption off; called at every hit.
 * Return: 0 for a task, 1 for a softirq, 2 for a hardirq, 3 for an NMI.
 */
static __always_inline unsigned long arch_kprobe_level(void)
{
	/* Most hits by far are in tasks, with softirqs enabled. */
	if (likely(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK))))
		return 0;
	return interrupt_context_level();
}
#endif

#ifndef arch_kprobe_own_marks
/**
 * arch_kprobe_own_marks() - find the marks of this CPU
 *
 * Where per-CPU data have an address space of their own, ``__kprobe_own`` is its qualifier: then a
 * mark is an operand of instructions.
 *
 * Context: any, preemption off for as long as the result is used.
 * Return: a pointer to kprobe_marks.
 */
#define arch_kprobe_own_marks()		raw_cpu_ptr(kprobe_marks)
#define __kprobe_own
#endif

#ifndef arch_kprobe_resume_ip
/**
 * arch_kprobe_resume_ip() - find where to resume, if a handler has chosen that
 * @ip: the address it has chosen, of any instruction
 *
 * By default, there. But the jump of a site may cover more than one instruction.
 *
 * Context: any, preemption off.
 * Return: @ip, or the address of a copy of the instruction there.
 */
#define arch_kprobe_resume_ip(ip)	(ip)
#endif

/**
 * arch_prepare_kprobe() - prepare to probe an instruction
 * @kp: the site's kprobe; @addr is set, @ainsn is zeroed
 *
 * Reads the instruction, decides whether and how it can be probed, and fills in @opcode and @ainsn.
 * There is no breakpoint at @addr, but the jump of another site may cover it, until this succeeds.
 *
 * Context: kprobe_mutex and the text lock (cpus_read_lock, jump_label_lock and text_mutex) are
 * held; may sleep.
 * Return: 0, or an errno that registration passes on: -EILSEQ if @addr is not the start of an
 * instruction, -EINVAL or -EOPNOTSUPP if the instruction cannot be probed, -ERANGE if its operand
 * is out of reach for a copy, -ENOMEM. Then there is nothing to undo. If the errno does not tell
 * the user enough, kprobe_refuse() or kprobe_refuse_insn() is called with the reason.
 */
int arch_prepare_kprobe(struct kprobe *kp);

int kprobe_refuse(struct kprobe *kp, int err, const char *why);
int kprobe_refuse_insn(struct kprobe *kp, int err, const char *kind);

/**
 * arch_arm_kprobe() - write the breakpoint into the text, so that all CPUs see it
 * @kp: the kprobe of a prepared site
 *
 * Context: as arch_prepare_kprobe().
 */
void arch_arm_kprobe(struct kprobe *kp);

/**
 * arch_disarm_kprobe() - restore the probed instruction in the text, so that all CPUs see it
 * @kp: the kprobe of an armed site
 *
 * On return, with ARCH_KPROBE_STATELESS, all CPUs have looked up the site of every breakpoint that
 * they had met. Without it that may come later, but within a grace period of RCU-tasks, which the
 * core then waits for itself.
 *
 * Context: as arch_arm_kprobe().
 */
void arch_disarm_kprobe(struct kprobe *kp);

/* How many sites are armed or disarmed at most before the text lock is released for others */
#ifdef arch_arm_kprobes
#define KPROBE_TEXT_BATCH	1024

/**
 * arch_arm_kprobes() - arch_arm_kprobe() or arch_disarm_kprobe() for many sites
 * @sites: linked by kp.list, KPROBE_TEXT_BATCH at most. If there are none, CPUs only have to see
 *	detours that were written, unless whatever leads there sees to that
 * @armed: whether they are armed, or disarmed
 *
 * For an architecture that can synchronize all CPUs once for many changes. It defines a macro of
 * this name, and neither arch_arm_kprobe() nor arch_disarm_kprobe().
 *
 * Context: as arch_arm_kprobe().
 */
void arch_arm_kprobes(struct list_head *sites, bool armed);
#else
#define KPROBE_TEXT_BATCH	64

static inline void arch_arm_kprobes(struct list_head *sites, bool armed)
{
	struct kprobe *kp;

	list_for_each_entry(kp, sites, list)
		(armed ? arch_arm_kprobe : arch_disarm_kprobe)(kp);
}
#endif

/*
 * void arch_remove_kprobe(struct kprobe *kp);
 *
 * Releases what arch_prepare_kprobe() has allocated. Called once after each successful prepare,
 * with kprobe_mutex held. With ARCH_KPROBE_STATELESS, the text may have been freed by then, but
 * nothing can be executing in the slot any more. Without it, the text is still mapped, and hits
 * that were under way when it was restored have ended.
 */

/* The hooks from here to arch_populate_kprobe_blacklist() have weak defaults. */

/**
 * arch_kprobe_path() - name the way an instruction is executed after a breakpoint
 * @kp: the kprobe of a prepared site, with or without a post handler
 *
 * Context: kprobe_mutex is held.
 * Return: "step", as by default, "emulate" or "boost", for debugfs.
 */
const char *arch_kprobe_path(struct kprobe *kp);

/**
 * arch_kprobe_not_called() - check whether calls arrive at a symbol
 * @addr: the address of a probe on its first instruction, where ftrace knows of no function
 *
 * A symbol may be a label in the middle of a function, where the return address and the arguments
 * are not as a call leaves them.
 *
 * Context: may sleep.
 * Return: why they do not; NULL if they do, or nothing says that they do not, as by default.
 */
const char *arch_kprobe_not_called(unsigned long addr);

/**
 * arch_adjust_kprobe_addr() - find the address to probe from a symbol and an offset
 * @addr: start of the symbol; may not be readable
 * @offset: offset of the instruction from there
 * @on_func_entry: set to whether that is the function's entry
 *
 * Context: may sleep; kprobe_mutex may be held.
 * Return: the address to probe, past a landing pad that cannot be; NULL if the text cannot be read.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
					 bool *on_func_entry);

/**
 * arch_kprobe_ftrace_location() - find where ftrace would call for a probe
 * @addr: address of the probe
 *
 * Context: kprobe_mutex is held; may sleep.
 * Return: ftrace's location, by default @addr itself; 0 if ftrace does not serve a probe at @addr.
 */
unsigned long arch_kprobe_ftrace_location(unsigned long addr);

/**
 * DOC: ARCH_KPROBE_FTRACE_TRAMPOLINE
 *
 * What ftrace calls at entries that only the core's ops has, in place of a trampoline of ftrace's
 * own that leads to kprobe_ftrace_handler(); 0 for none.
 */
#ifndef ARCH_KPROBE_FTRACE_TRAMPOLINE
#define ARCH_KPROBE_FTRACE_TRAMPOLINE	0
#endif

/**
 * DOC: ARCH_KRETPROBE_FTRACE_TRAMPOLINE
 *
 * The same for entries that were hooked for a return probe: it may follow calls without a mark.
 * With it goes ``arch_kretprobe_irqs_off(regs)``: are interrupts masked in the probed code?
 */
#ifndef ARCH_KRETPROBE_FTRACE_TRAMPOLINE
#define ARCH_KRETPROBE_FTRACE_TRAMPOLINE 0
static inline bool arch_kretprobe_irqs_off(struct pt_regs *regs) { return false; }
#endif

/**
 * arch_kprobe_ftrace_armed() - have all CPUs execute calls that ftrace has just written
 *
 * By default ftrace has seen to it.
 *
 * Context: kprobe_mutex is held; may sleep.
 */
void arch_kprobe_ftrace_armed(void);

/**
 * arch_populate_kprobe_blacklist() - add the architecture's ranges to the blacklist
 *
 * Calls kprobe_add_area_blacklist().
 *
 * Context: once, at boot.
 * Return: 0.
 */
int arch_populate_kprobe_blacklist(void);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);

/* The section that NOKPROBE_SYMBOL() fills. */
extern unsigned long __start_kprobe_blacklist[];
extern unsigned long __stop_kprobe_blacklist[];

/* Functions that return twice, on another stack, or in a way of their own. Has a weak default. */
extern struct kretprobe_blackpoint kretprobe_blacklist[];

/*
 * What an architecture calls at a hit, in any context, with preemption off.
 *
 * An architecture with its own guard against recursion sets current_kprobe, and calls the
 * pre_handler of the site's kprobe, and the post_handler unless that is NULL. It may load that
 * pointer again: once set, it is not cleared any more. If a handler is already running, it calls
 * kprobes_inc_nmissed_count() instead. An architecture that leaves the guard to the core calls what
 * is in linux/kprobes_hit.h.
 */

/**
 * enum kprobe_result - what is left to do after kprobe_hit_pre()
 * @KPROBE_RESULT_CONTINUE: execute the instruction
 * @KPROBE_RESULT_POST: execute the instruction, then call kprobe_hit_post()
 * @KPROBE_RESULT_REDIRECTED: resume where the registers say, without the instruction
 * @KPROBE_RESULT_MISSED: execute the instruction; no handler has run
 */
enum kprobe_result {
	KPROBE_RESULT_CONTINUE = 1,
	KPROBE_RESULT_POST,
	KPROBE_RESULT_REDIRECTED,
	KPROBE_RESULT_MISSED,
};

void kprobes_inc_nmissed_count(struct kprobe *kp);

/**
 * alloc_insn_page() - allocate a page of executable memory for slots
 *
 * The page has to be in reach of the text. It is not writable if the architecture can patch
 * read-only text, which ARCH_KPROBE_STATELESS requires. Has a weak default.
 *
 * Context: the text lock and the mutex of a cache of slots are held; may sleep.
 * Return: the page, or NULL.
 */
void *alloc_insn_page(void);

void *kprobe_seal_page(void *page);

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
struct kprobe_insn_cache;

kprobe_opcode_t *__get_insn_slot(struct kprobe_insn_cache *c);
void __free_insn_slot(struct kprobe_insn_cache *c, kprobe_opcode_t *slot);
void kprobe_slot_set_owner(kprobe_opcode_t *slot, struct kprobe *kp);
struct kprobe *kprobe_slot_owner(unsigned long addr);

/* get_insn_slot(), free_insn_slot(), and the same for optinsn. @dirty has no effect any more. */
#define DEFINE_INSN_CACHE_OPS(name)					\
extern struct kprobe_insn_cache kprobe_##name##_slots;			\
static inline kprobe_opcode_t *get_##name##_slot(void)			\
{									\
	return __get_insn_slot(&kprobe_##name##_slots);			\
}									\
									\
static inline void free_##name##_slot(kprobe_opcode_t *slot, int dirty)	\
{									\
	__free_insn_slot(&kprobe_##name##_slots, slot);			\
}

DEFINE_INSN_CACHE_OPS(insn);
DEFINE_INSN_CACHE_OPS(optinsn);
#endif

/* What keeps a site from having a jump. debugfs has a word for each. */
enum kprobe_obstacle {
	KPROBE_NO_OBSTACLE,
	KPROBE_OBSTACLE_UNSUPPORTED,	/* there are no jumps here, or no reason given */
	KPROBE_OBSTACLE_OFF,		/* jumps are switched off */
	KPROBE_OBSTACLE_MEMORY,		/* there was none for a detour */
	KPROBE_OBSTACLE_FAILED,		/* the architecture could not write the jump */
	KPROBE_OBSTACLE_POST,		/* a post handler, which cannot run behind a jump */
	KPROBE_OBSTACLE_NEIGHBOUR,	/* another site among the bytes that the jump would cover */
	KPROBE_OBSTACLE_PATCHED,	/* others patch these bytes, or their module is going */
	KPROBE_OBSTACLE_TARGET,		/* a branch leads in between, or may do so */
	KPROBE_OBSTACLE_FIXUP,		/* the exception table leads in between */
	KPROBE_OBSTACLE_END,		/* they reach beyond the function's end */
	KPROBE_OBSTACLE_SYMBOL,		/* the function is not known */
	KPROBE_OBSTACLE_INSN,		/* an instruction among them cannot be moved */
	KPROBE_OBSTACLE_REACH,		/* something is out of a branch's reach */
	KPROBE_OBSTACLE_PAD,		/* it is a landing pad, which has to stay */
	NR_KPROBE_OBSTACLES
};

/**
 * struct optimized_kprobe - a site that may be hit through a jump to a detour
 * @kp:		the site's kprobe
 * @list:	member of lists that hooks are called with; in the place of kp.hlist, which only a
 *	site has whose text is gone
 * @optinsn:	the architecture's part; zeroed until arch_prepare_optimized_kprobe()
 */
struct optimized_kprobe {
	union {
		struct kprobe		kp;
		struct list_head	list;
	};
#ifdef CONFIG_OPTPROBES
	struct arch_optimized_insn	optinsn;
#endif
};

/**
 * DOC: Jumps
 *
 * asm/kprobes.h defines ``struct arch_optimized_insn``; ``MAX_OPTIMIZED_LENGTH``, the most bytes
 * that the instructions covered by a jump can take; and ``MAX_OPTINSN_SIZE``, the size of a detour
 * in kprobe_opcode_t, which may be known to the linker only. A detour does all that a breakpoint
 * does: it runs post handlers, and continues where a handler says. (Without ARCH_KPROBE_STATELESS
 * it only calls opt_pre_handler(), and a site with a post handler gets no jump.)
 *
 * All hooks are called with kprobe_mutex held, and but for arch_remove_optimized_kprobe() with the
 * text lock.
 */

/**
 * arch_prepare_optimized_kprobe() - make a detour for a site
 * @op: the site, armed with a breakpoint, or about to be
 * @orig: the kprobe in @op
 *
 * Sets @orig->covered, unless the jump covers MAX_OPTIMIZED_LENGTH bytes.
 *
 * Return: 0, or an errno if the site cannot have a jump. @orig->obstacle is why then:
 * KPROBE_OBSTACLE_UNSUPPORTED unless this function sets it.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig);

/**
 * arch_remove_optimized_kprobe() - free a site's detour
 * @op: the site; it has a detour, and nothing can be executing there any more
 */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);

/**
 * arch_optimize_kprobes() - replace breakpoints by jumps, all at once
 * @oplist: sites, linked by list. Those that have to keep the breakpoint remain on it
 *
 * No task is in the bytes behind the breakpoints.
 */
void arch_optimize_kprobes(struct list_head *oplist);

/**
 * arch_unoptimize_kprobes() - replace jumps by breakpoints, all at once
 * @oplist: sites, linked by list
 * @done_list: where all of them are moved to
 *
 * On return the bytes behind the breakpoints are the original ones. Cannot fail.
 */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list);

/**
 * alloc_optinsn_page() - allocate a page of executable memory for detours
 *
 * The weak default takes one from alloc_insn_page().
 *
 * Context: as alloc_insn_page().
 * Return: the page, or NULL.
 */
void *alloc_optinsn_page(void);

/**
 * kprobe_ftrace_handler() - handle a hit through ftrace
 * @ip: ftrace's location
 * @parent_ip: where the function is going to return to
 * @ops: one of the core's
 * @fregs: all registers, because the core's ops ask for them
 *
 * Finds the site, presents the registers as at a breakpoint, and has the handlers run. Needs none
 * of ftrace's guards against recursion.
 *
 * Context: any, NMI included.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);

/* Set when ftrace has shut itself down; then kprobe_ftrace_handler() need not do anything. */
extern bool kprobe_ftrace_disabled;

/**
 * DOC: Return probes without rethook
 *
 * The architecture diverts the return to __kretprobe_trampoline(), which saves all registers. With
 * ARCH_KPROBE_STATELESS, which needs arch_kretprobe_frame, it calls kretprobe_returned().
 */
#ifdef CONFIG_KRETPROBE_RETURN_STACK
/**
 * DOC: ARCH_KRETPROBE_FRAME_IS_SLOT
 *
 * 1 if arch_kretprobe_frame is the address of the return address on the stack. Then a call that did
 * not return is recognized by the next one with its return address there, and functions may pop
 * their arguments.
 */
#ifndef ARCH_KRETPROBE_FRAME_IS_SLOT
#define ARCH_KRETPROBE_FRAME_IS_SLOT	0
#endif

#ifdef arch_kretprobe_frame
/**
 * DOC: Return probes with arch_kretprobe_frame
 *
 * asm/kprobes.h defines all four of these, or none. They are called in any context in which a
 * function is called or returns, with preemption off, and cannot fail. *regs* are the registers at
 * the function's first instruction.
 *
 * ``void *arch_kretprobe_frame(struct pt_regs *regs)``
 *	is a macro. Its value identifies the caller's frame; outer frames have higher values. It is
 *	the *frame* of the other three.
 *
 * ``unsigned long arch_kretprobe_ret_addr(struct pt_regs *regs, void *frame)``
 *	returns the address that the function will return to.
 *
 * ``void arch_kretprobe_divert(struct pt_regs *regs, void *frame, unsigned long to)``
 *	makes the function return to the address *to* instead.
 *
 * ``void arch_kretprobe_undivert(struct pt_regs *regs, void *frame, unsigned long addr)``
 *	stores *addr*, the true return address, where the trampoline continues and where
 *	unwinders look. *regs* are those at the return; it may correct them for the handlers,
 *	which run after that.
 */

static __always_inline void kretprobe_record(struct kretprobe_instance *ri,
					     struct pt_regs *regs, void *frame)
{
	ri->ret_addr = (kprobe_opcode_t *)arch_kretprobe_ret_addr(regs, frame);
	ri->fp = frame;
}
#endif

void kretprobe_returned(struct pt_regs *regs, void *frame);
#endif

/**
 * arch_jprobe_call() - call a function with the arguments of another
 * @entry: the function
 * @regs: registers at the first instruction of the other one
 * @args: the other one's arguments on the stack, if it has any
 * @size: how many bytes may be read there, a multiple of 16
 * @frame: filled in with what arch_jprobe_return() needs
 *
 * On return all registers that a call preserves have their old values, whether @entry has returned
 * or arch_jprobe_return() was called.
 *
 * Context: a pre handler.
 */
void arch_jprobe_call(void *entry, struct pt_regs *regs, const void *args,
		      size_t size, unsigned long *frame);

/**
 * arch_jprobe_return() - end a call of arch_jprobe_call(), from any depth
 * @frame: what that call has filled in
 *
 * Does not return.
 *
 * Context: in the function that was called, or in what it calls.
 */
void arch_jprobe_return(unsigned long frame);

/**
 * arch_jprobe_args() - find the arguments of a function on the stack
 * @regs: registers at its first instruction
 * @end: set to the end of that stack
 *
 * Context: a pre handler.
 * Return: the lowest argument's address. On a stack that is not known, @end is not above it.
 */
unsigned long arch_jprobe_args(struct pt_regs *regs, unsigned long *end);

#endif /* _LINUX_KPROBES_ARCH_H */
