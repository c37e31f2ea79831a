/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H
/*
 * Between the generic core and an architecture. Included by linux/kprobes.h,
 * with asm/kprobes.h before it.
 *
 * Wherever a struct kprobe is passed to an architecture, or comes from
 * get_kprobe(), it is the core's own, one per probed address, never a user's.
 * It does not move, and lives until arch_remove_kprobe() at the least. In this
 * header and in the core such a kprobe is called kp, and a user's p.
 *
 * asm/kprobes.h defines kprobe_opcode_t, struct arch_specific_insn and
 * kretprobe_blacklist_size, and declares arch_remove_kprobe() and
 * kprobe_fault_handler(), whose prototypes differ; MAX_INSN_SIZE counts
 * kprobe_opcode_t. It may define
 *
 *   __ARCH_WANT_KPROBES_INSN_SLOT	get_insn_slot() and friends
 *   ARCH_KPROBE_SLOT_SIZE		size of a slot, in kprobe_opcode_t, where
 *					it is not MAX_INSN_SIZE
 *
 * and each of ARCH_KPROBE_STATELESS, ARCH_KPROBE_ORDERED_STORES,
 * ARCH_KPROBE_PERCPU_OPERANDS, arch_kprobe_level, arch_kprobe_path,
 * arch_kprobe_may_be_bug and arch_kprobe_may_own_fault, which are described where
 * their defaults are below.
 */

/*
 * 1 when the architecture keeps no state between two exceptions: then the marks of
 * linux/kprobes_hit.h alone say which handlers are running.
 */
#ifndef ARCH_KPROBE_STATELESS
#define ARCH_KPROBE_STATELESS	0
#endif

/*
 * 1 when a plain store is ordered after all earlier loads and stores of its CPU:
 * then a hit can end with a single instruction instead of a store-release.
 */
#ifndef ARCH_KPROBE_ORDERED_STORES
#define ARCH_KPROBE_ORDERED_STORES	0
#endif

/*
 * 1 when an instruction can have an operand in per-CPU data. Otherwise the address
 * of that data is computed first, and kept.
 */
#ifndef ARCH_KPROBE_PERCPU_OPERANDS
#define ARCH_KPROBE_PERCPU_OPERANDS	0
#endif

#if ARCH_KPROBE_STATELESS
struct kprobe *kprobe_running(void);

/* The marks have it already. */
static inline struct kprobe *kprobe_set_running(struct kprobe *p)
{
	return NULL;
}
#else
/* Defined by the architecture. */
DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/*
 * kprobe_status of architectures that follow a hit step by step. The core sets only
 * KPROBE_HIT_ACTIVE, for handlers that it runs itself.
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

/**
 * kprobe_running() - whose handler is running on this CPU
 *
 * Context: any, preemption off for the answer to mean anything.
 * Return: a probe at the address whose handlers are running, or the kprobe of a
 * return probe. If handlers are nested, that of the innermost. NULL when no handler
 * is running.
 */
static inline struct kprobe *kprobe_running(void)
{
	return __this_cpu_read(current_kprobe);
}

/**
 * kprobe_set_running() - record whose handlers run on this CPU
 * @p: the probe, or NULL
 *
 * Context: any, preemption off.
 * Return: what was running before, which the caller sets again afterwards.
 */
static inline struct kprobe *kprobe_set_running(struct kprobe *p)
{
	struct kprobe *outer = __this_cpu_read(current_kprobe);

	__this_cpu_write(current_kprobe, p);
	return outer;
}
#endif

#ifndef arch_kprobe_level
/**
 * arch_kprobe_level() - the context level of the code that was probed
 *
 * An architecture whose breakpoint exception itself counts as an interrupt or an
 * NMI has to take that off.
 *
 * Context: any, preemption off; called at every hit.
 * Return: 0 for a task, 1 for a softirq, 2 for a hardirq, 3 for an NMI.
 */
static __always_inline unsigned long arch_kprobe_level(void)
{
	/* By far most hits are in tasks that have not disabled softirqs either. */
	if (likely(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK))))
		return 0;
	return interrupt_context_level();
}
#endif

#ifndef arch_kprobe_path
/**
 * arch_kprobe_path() - how a site's instruction is carried out after a breakpoint
 * @kp: a prepared site, with or without a post handler
 *
 * For users to see, in debugfs.
 *
 * Context: kprobe_mutex is held.
 * Return: "step", "emulate" or "boost".
 */
static inline const char *arch_kprobe_path(struct kprobe *kp)
{
	return "step";
}
#endif

#ifndef arch_kprobe_may_be_bug
/**
 * arch_kprobe_may_be_bug() - could a BUG() or WARN() be at an address?
 * @addr: an address in text
 *
 * Tells from the instruction there, which saves a search of the long table of both.
 *
 * Context: the text lock is held.
 * Return: false when it is an instruction that neither is made of.
 */
static inline bool arch_kprobe_may_be_bug(unsigned long addr)
{
	return true;
}
#endif

#ifndef arch_kprobe_may_own_fault
/**
 * arch_kprobe_may_own_fault() - can a fault of the kernel be kprobes' at all?
 *
 * By default, one that comes while a probe is being dealt with on this CPU.
 *
 * Context: any, preemption off.
 * Return: false when kprobe_fault_handler() need not be asked.
 */
#define arch_kprobe_may_own_fault()	kprobe_running()
#endif

/**
 * arch_prepare_kprobe() - get ready to probe an instruction
 * @kp: the site; @addr is set, the text is as it was compiled, @ainsn is zeroed
 *
 * Reads the instruction, decides whether it can be probed and how, and fills in
 * @opcode and @ainsn.
 *
 * Context: kprobe_mutex and the text lock (cpus_read_lock, jump_label_lock and
 * text_mutex) are held; may sleep.
 * Return: 0, or an errno that registration passes on: -EILSEQ when @addr is
 * not the start of an instruction, -EINVAL or -EOPNOTSUPP when the instruction
 * cannot be probed, -ENOMEM. After an error nothing has to be undone. If the errno
 * alone does not tell the user why, kprobe_refuse() or kprobe_refuse_insn() is
 * given the reason in words.
 */
int arch_prepare_kprobe(struct kprobe *kp);

int kprobe_refuse(int err, const char *why);
int kprobe_refuse_insn(int err, const char *kind);

/**
 * arch_arm_kprobe() - put the breakpoint into the text
 * @kp: a prepared site
 *
 * On return all CPUs see the breakpoint. Cannot fail.
 *
 * Context: as arch_prepare_kprobe().
 */
void arch_arm_kprobe(struct kprobe *kp);

/**
 * arch_disarm_kprobe() - put the probed instruction back into the text
 * @kp: an armed site
 *
 * On return all CPUs execute the instruction, and every breakpoint taken
 * before has looked the site up. Cannot fail.
 *
 * Context: as arch_arm_kprobe().
 */
void arch_disarm_kprobe(struct kprobe *kp);

/*
 * KPROBE_TEXT_BATCH is the most sites that are armed or disarmed before others get
 * the text lock.
 */
#ifdef arch_arm_kprobes
#define KPROBE_TEXT_BATCH	1024

/**
 * arch_arm_kprobes() - put the breakpoints of many sites into the text
 * @sites: prepared sites, by kp.list
 *
 * Of an architecture that defines a macro of this name, because all CPUs can take
 * notice of all of them at once. It needs no arch_arm_kprobe() then.
 *
 * Context: as arch_arm_kprobe().
 */
void arch_arm_kprobes(struct list_head *sites);

/**
 * arch_disarm_kprobes() - put the instructions of many sites back into the text
 * @sites: armed sites, by kp.list
 *
 * Context: as arch_arm_kprobe().
 */
void arch_disarm_kprobes(struct list_head *sites);
#else
#define KPROBE_TEXT_BATCH	64

static inline void arch_arm_kprobes(struct list_head *sites)
{
	struct kprobe *kp;

	list_for_each_entry(kp, sites, list)
		arch_arm_kprobe(kp);
}

static inline void arch_disarm_kprobes(struct list_head *sites)
{
	struct kprobe *kp;

	list_for_each_entry(kp, sites, list)
		arch_disarm_kprobe(kp);
}
#endif

/*
 * void arch_remove_kprobe(struct kprobe *kp);
 *
 * Gives back what arch_prepare_kprobe() took. Called once for every successful
 * prepare, with kprobe_mutex held, when nobody can be in the slot any more; the text
 * may have been freed by then. Without ARCH_KPROBE_STATELESS the text is still mapped,
 * and when it is about to go, there is no such promise.
 */

/**
 * arch_init_kprobes() - set the architecture up
 *
 * Context: once, at early_initcall; sites can be registered from it.
 * Return: 0, or an errno that leaves kprobes without exceptions.
 */
int arch_init_kprobes(void);

/* These have weak defaults, down to kprobe_exceptions_notify(). */

/**
 * kprobe_lookup_name() - find the address of a symbol
 * @name: the symbol's
 * @offset: what is going to be added to the address
 *
 * For architectures whose symbols are not where their functions start.
 *
 * Context: may sleep.
 * Return: the address, without @offset; NULL when there is no such symbol.
 */
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset);

/**
 * arch_adjust_kprobe_addr() - from a symbol and an offset to an instruction
 * @addr: start of the symbol; not known to be readable
 * @offset: of the wanted instruction
 * @on_func_entry: set to whether that is the function's entry
 *
 * Context: any in which a mutex may be held.
 * Return: the address to probe, past a landing pad that cannot be; NULL when
 * the text cannot be read.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr,
					 unsigned long offset,
					 bool *on_func_entry);

/**
 * arch_kprobe_ftrace_location() - where ftrace would call for a probe
 * @addr: address of the probe
 *
 * Context: kprobe_mutex is held; may sleep.
 * Return: ftrace's location, which is @addr itself by default, or 0 if a probe
 * there is none of ftrace's.
 */
unsigned long arch_kprobe_ftrace_location(unsigned long addr);

/**
 * arch_within_kprobe_blacklist() - is an address in text that never can be probed?
 * @addr: any address
 *
 * Context: any.
 * Return: true if so.
 */
bool arch_within_kprobe_blacklist(unsigned long addr);

/**
 * arch_populate_kprobe_blacklist() - add the architecture's ranges to the blacklist
 *
 * Calls kprobe_add_area_blacklist().
 *
 * Context: once, at boot.
 * Return: 0, or an errno, and users are told that the blacklist is incomplete.
 */
int arch_populate_kprobe_blacklist(void);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);

/* The section that NOKPROBE_SYMBOL() fills. */
extern unsigned long __start_kprobe_blacklist[];
extern unsigned long __stop_kprobe_blacklist[];

/**
 * kprobe_exceptions_notify() - the die notifier's callback, the first of its chain
 * @self: the notifier
 * @val: what has happened, an enum die_val
 * @data: its struct die_args
 *
 * For architectures whose breakpoints come to kprobes by that chain.
 *
 * Context: that of notify_die().
 * Return: NOTIFY_STOP when it was kprobes', else NOTIFY_DONE.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data);

extern struct kretprobe_blackpoint kretprobe_blacklist[];

/*
 * What an architecture calls at a hit. Preemption off, any context.
 *
 * One that finds out by itself whether a handler is already running calls the
 * site's @pre_handler and @post_handler (NULL when no probe has one), sets
 * current_kprobe around them, and kprobes_inc_nmissed_count() otherwise. One
 * that leaves this to the core calls kprobe_hit_site() of linux/kprobes_hit.h, and
 * kprobe_hit_post().
 */

/**
 * enum kprobe_result - what the architecture is to do after kprobe_hit_site()
 * @KPROBE_RESULT_CONTINUE: carry the instruction out, nothing else
 * @KPROBE_RESULT_POST: carry the instruction out, then call kprobe_hit_post()
 * @KPROBE_RESULT_REDIRECTED: go where the registers say, nothing else
 * @KPROBE_RESULT_MISSED: carry the instruction out; no handler was told of the hit
 * @KPROBE_RESULT_DONE: go where the registers say: the instruction was carried out, and
 *	the post handlers have run
 */
enum kprobe_result {
	KPROBE_RESULT_CONTINUE = 1,
	KPROBE_RESULT_POST,
	KPROBE_RESULT_REDIRECTED,
	KPROBE_RESULT_MISSED,
	KPROBE_RESULT_DONE,
};

void kprobe_hit_post(struct kprobe *kp, struct pt_regs *regs);
bool kprobe_hit_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr);
bool kprobe_fault(struct pt_regs *regs, unsigned int trap);
void kprobe_explain_oops(struct pt_regs *regs);
void kprobes_inc_nmissed_count(struct kprobe *kp);
void dump_kprobe(struct kprobe *kp);

/**
 * alloc_insn_page() - get a page of executable memory for slots
 *
 * It has to be in reach of the text, and is not writable where the architecture's
 * patching can do without. Has a weak default.
 *
 * Context: the text lock and the mutex of a cache of slots are held; may sleep.
 * Return: the page, or NULL.
 */
void *alloc_insn_page(void);

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
struct kprobe_insn_cache;

kprobe_opcode_t *__get_insn_slot(struct kprobe_insn_cache *c);
void __free_insn_slot(struct kprobe_insn_cache *c, kprobe_opcode_t *slot, int dirty);
bool __is_insn_slot_addr(struct kprobe_insn_cache *c, unsigned long addr);
void kprobe_slot_set_owner(kprobe_opcode_t *slot, struct kprobe *kp);
struct kprobe *kprobe_slot_owner(unsigned long addr);

/*
 * get_insn_slot(), free_insn_slot() and is_kprobe_insn_slot(), and the same three for
 * optinsn. A slot that is given back as dirty may still be executed, and is not used
 * again before every task has left it.
 */
#define DEFINE_INSN_CACHE_OPS(name)					\
extern struct kprobe_insn_cache kprobe_##name##_slots;			\
									\
static inline kprobe_opcode_t *get_##name##_slot(void)			\
{									\
	return __get_insn_slot(&kprobe_##name##_slots);			\
}									\
									\
static inline void free_##name##_slot(kprobe_opcode_t *slot, int dirty)	\
{									\
	__free_insn_slot(&kprobe_##name##_slots, slot, dirty);		\
}									\
									\
static inline bool is_kprobe_##name##_slot(unsigned long addr)		\
{									\
	return __is_insn_slot_addr(&kprobe_##name##_slots, addr);	\
}
#else
#define DEFINE_INSN_CACHE_OPS(name)					\
static inline bool is_kprobe_##name##_slot(unsigned long addr)		\
{									\
	return false;							\
}
#endif

DEFINE_INSN_CACHE_OPS(insn);

#ifdef CONFIG_OPTPROBES
/**
 * struct optimized_kprobe - a site that may be hit through a jump to a detour
 * @kp:		the site
 * @list:	for lists that hooks are called with
 * @optinsn:	the architecture's; zeroed until arch_prepare_optimized_kprobe()
 * @why:	what keeps the site off the jump, in a word, for arch code to set
 *		when it refuses; NULL when nothing does
 */
struct optimized_kprobe {
	struct kprobe			kp;
	struct list_head		list;
	struct arch_optimized_insn	optinsn;
	const char			*why;
};

/*
 * asm/kprobes.h defines struct arch_optimized_insn, MAX_OPTIMIZED_LENGTH, the
 * most bytes that a jump's instructions can take, MAX_OPTINSN_SIZE, the size of a
 * detour in kprobe_opcode_t, and
 *
 *   ARCH_OPTPROBE_COMPLETE	1 when its detours do all that a breakpoint does:
 *				run post handlers and go where a handler says.
 *				Otherwise they call opt_pre_handler(), and a site
 *				with a post handler has no jump
 *
 * All hooks are called with kprobe_mutex held.
 */
#ifndef ARCH_OPTPROBE_COMPLETE
#define ARCH_OPTPROBE_COMPLETE	0
#endif

/**
 * arch_prepared_optinsn() - does a site have a detour?
 * @optinsn: the site's
 *
 * Context: kprobe_mutex is held.
 * Return: non-zero if so.
 */
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn);

/**
 * arch_prepare_optimized_kprobe() - make a detour for a site
 * @op: the site, armed with a breakpoint
 * @orig: the same
 *
 * Context: the text lock is held.
 * Return: 0, or an errno when the site cannot have a jump.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig);

/**
 * arch_remove_optimized_kprobe() - give a site's detour back
 * @op: the site; it has a detour
 *
 * Context: kprobe_mutex is held; nobody can be in the detour any more. Without
 * ARCH_KPROBE_STATELESS that is not promised when the probed text is about to go.
 */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);

/**
 * arch_check_optimized_kprobe() - does another site stand in the way of a jump?
 * @op: the site
 *
 * Context: the text lock is held.
 * Return: 0 when no other site is in the bytes that the jump is to cover.
 */
int arch_check_optimized_kprobe(struct optimized_kprobe *op);

/**
 * arch_within_optimized_kprobe() - is an address in the bytes that a jump covers?
 * @op: the site
 * @addr: any address
 *
 * Context: kprobe_mutex is held, or all other CPUs are stopped.
 * Return: non-zero if so.
 */
int arch_within_optimized_kprobe(struct optimized_kprobe *op, kprobe_opcode_t *addr);

/**
 * arch_optimize_kprobes() - replace breakpoints by jumps, all at once
 * @oplist: sites, by list. Those that get a jump are taken off it; one that has to
 *	remain a breakpoint is left there
 *
 * Context: the text lock is held, and no task is in the bytes behind the breakpoints.
 */
void arch_optimize_kprobes(struct list_head *oplist);

/**
 * arch_unoptimize_kprobes() - replace jumps by breakpoints, all at once
 * @oplist: sites, by list
 * @done_list: where all of them are moved to
 *
 * On return the bytes behind the breakpoints are as they were compiled. Cannot fail.
 *
 * Context: the text lock is held.
 */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list);

/* For architectures that make the above of it. The core does not call it. */
void arch_unoptimize_kprobe(struct optimized_kprobe *op);

void opt_pre_handler(struct kprobe *kp, struct pt_regs *regs);

/**
 * alloc_optinsn_page() - get a page of executable memory for detours
 *
 * By default one for slots.
 *
 * Context: as alloc_insn_page().
 * Return: the page, or NULL.
 */
void *alloc_optinsn_page(void);

/**
 * free_optinsn_page() - give a page of detours back
 * @page: from alloc_optinsn_page(); nobody can be executing in it
 *
 * Context: may sleep; no lock is held.
 */
void free_optinsn_page(void *page);

DEFINE_INSN_CACHE_OPS(optinsn);
#else
struct optimized_kprobe {
	struct kprobe	kp;
	const char	*why;
};
#endif /* CONFIG_OPTPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * kprobe_ftrace_handler() - ftrace calls for a site
 * @ip: ftrace's location
 * @parent_ip: where the function is going to return to
 * @ops: one of the core's
 * @fregs: has all registers, which the core's ops ask for
 *
 * Finds the site, presents the registers as at a breakpoint, and has the handlers
 * run. Needs no guard of ftrace's against recursion.
 *
 * Context: any, NMI included.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);

/**
 * arch_prepare_kprobe_ftrace() - get ready to probe an entry that ftrace hooks
 * @kp: the site, as for arch_prepare_kprobe(), in the place of which this is called
 *
 * Such a site needs no slot: what is probed is ftrace's own call.
 *
 * Context: as arch_prepare_kprobe().
 * Return: 0, or an errno that registration passes on.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *kp);

/* ftrace has shut itself down: kprobe_ftrace_handler() need not do anything. */
extern bool kprobe_ftrace_disabled;
#else
static inline int arch_prepare_kprobe_ftrace(struct kprobe *kp)
{
	return -EINVAL;
}
#endif

/*
 * Return probes without rethook. The architecture diverts the return to a
 * trampoline, which calls
 *
 *   kretprobe_returned()		with ARCH_KPROBE_STATELESS, for which
 *					arch_kretprobe_frame is needed
 *   kretprobe_trampoline_handler()	else; it returns the address to go on at
 *   __kretprobe_trampoline_handler()	the same, from a trampoline that is itself
 *					entered through a probe
 */
#ifdef CONFIG_KRETPROBES
/**
 * arch_trampoline_kprobe() - is a site the trampoline of return probes?
 * @kp: the site
 *
 * The switch of all probes leaves it armed, and its handler may have reported a return.
 *
 * Context: any.
 * Return: non-zero if so.
 */
int arch_trampoline_kprobe(struct kprobe *kp);
#else
static inline int arch_trampoline_kprobe(struct kprobe *kp)
{
	return 0;
}
#endif

#ifdef CONFIG_KRETPROBE_RETURN_STACK
void __kretprobe_trampoline(void);

/**
 * arch_kretprobe_fixup_return() - correct copies of a diverted return's address
 * @regs: registers at the return
 * @correct_ret_addr: where it goes
 *
 * For architectures without arch_kretprobe_frame that keep the address in more
 * places than one. Has a weak default, which does nothing.
 *
 * Context: any in which a function returns, preemption off.
 */
void arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *correct_ret_addr);

#ifdef arch_kretprobe_frame
/*
 * asm/kprobes.h defines, for the registers of a function's first instruction,
 *
 *   arch_kretprobe_frame	tells its caller's frame from others, and is the
 *				higher the less deep that is
 *   arch_kretprobe_ret_addr()	where the function is to return to
 *   arch_kretprobe_divert()	lets it return to somewhere else
 *
 * and for those at its return
 *
 *   arch_kretprobe_undivert()	puts the address where unwinders will find it
 */
static __always_inline void arch_kretprobe_record(struct kretprobe_instance *ri,
						  struct pt_regs *regs, void *frame)
{
	ri->ret_addr = (kprobe_opcode_t *)arch_kretprobe_ret_addr(regs, frame);
	ri->fp = frame;
}
#else
/**
 * arch_prepare_kretprobe() - record a call and divert its return
 * @ri: where to, in its ret_addr and fp
 * @regs: registers at the function's first instruction
 *
 * For architectures without arch_kretprobe_frame.
 *
 * Context: a pre handler.
 */
void arch_prepare_kretprobe(struct kretprobe_instance *ri, struct pt_regs *regs);

#define arch_kretprobe_frame(regs)	((void *)NULL)

static inline void arch_kretprobe_record(struct kretprobe_instance *ri,
					 struct pt_regs *regs, void *frame)
{
	arch_prepare_kretprobe(ri, regs);
}

static inline void arch_kretprobe_divert(struct pt_regs *regs, void *frame,
					 unsigned long to)
{
}

static inline void arch_kretprobe_undivert(struct pt_regs *regs, void *frame,
					   unsigned long addr)
{
	arch_kretprobe_fixup_return(regs, (kprobe_opcode_t *)addr);
}
#endif

void kretprobe_returned(struct pt_regs *regs, void *frame);
unsigned long __kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer);
unsigned long kretprobe_trampoline_handler(struct pt_regs *regs, void *frame_pointer);

/* Function pointers are descriptors on some architectures. */
static nokprobe_inline void *kretprobe_trampoline_addr(void)
{
	return dereference_kernel_function_descriptor(__kretprobe_trampoline);
}
#endif

#ifdef CONFIG_JPROBES
/**
 * arch_jprobe_call() - call a function with the arguments of another
 * @entry: the function
 * @regs: registers at the first instruction of the other one
 * @args: its arguments on the stack, if it has any
 * @size: how much may be read there, in bytes, a multiple of 16
 * @frame: is set to what arch_jprobe_return() needs to know
 *
 * All registers that a call preserves are as before when this returns, in one
 * way or the other.
 *
 * Context: a pre handler.
 */
void arch_jprobe_call(void *entry, struct pt_regs *regs, const void *args,
		      size_t size, unsigned long *frame);

/**
 * arch_jprobe_return() - return from a call of arch_jprobe_call(), however deep
 * @frame: what that call has set
 *
 * Does not return.
 *
 * Context: in the function that was called, or in what it calls.
 */
void arch_jprobe_return(unsigned long frame);

/**
 * arch_jprobe_args() - where a function has its arguments on the stack
 * @regs: registers at its first instruction
 * @end: is set to the end of that stack
 *
 * Return: the lowest argument's address. @end is not above it when the stack is
 * one that is not known.
 */
unsigned long arch_jprobe_args(struct pt_regs *regs, unsigned long *end);
#endif

#endif /* _LINUX_KPROBES_ARCH_H */
