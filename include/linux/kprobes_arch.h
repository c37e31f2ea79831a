/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H
/*
 * The interface between the generic core and the architectures. Included by
 * linux/kprobes.h, with asm/kprobes.h before it.
 *
 * A struct kprobe that an architecture is passed, or gets from get_kprobe(), is always
 * the one inside of a site, the core's object for a probed address, and never a user's.
 * It does not move, and lives until arch_remove_kprobe() at least. In this header and in
 * the core such a kprobe is called kp, and a user's p.
 */

/**
 * DOC: asm/kprobes.h
 *
 * asm/kprobes.h defines ``kprobe_opcode_t``; ``struct arch_specific_insn``, how a site's
 * instruction is carried out; and ``kretprobe_blacklist_size``, which is 0 or the size of
 * kretprobe_blacklist[]: the functions that return twice, on another stack, or in a way of
 * their own, with a NULL name at its end. It declares arch_remove_kprobe() and
 * kprobe_fault_handler(), whose prototypes differ between architectures. Without
 * ARCH_KPROBE_STATELESS it also defines ``struct kprobe_ctlblk``, with a ``kprobe_status``.
 * It may define ``__ARCH_WANT_KPROBES_INSN_SLOT``, to have get_insn_slot() and friends;
 * ``ARCH_KPROBE_SLOT_SIZE``, the size of a slot in kprobe_opcode_t, which is
 * ``MAX_INSN_SIZE`` if it is not defined; macros named as some of the functions below, whose
 * defaults they replace; and the macros that are described here.
 *
 * kprobe_fault_handler() is called at a kernel fault, with preemption disabled. If the instruction
 * pointer is in a copy, it calls kprobe_hit_fault(), which moves it to the probed address and calls
 * the fault handlers.
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

/**
 * DOC: ARCH_KPROBE_ORDERED_STORES
 *
 * 1 if a plain store is ordered after all earlier loads and stores of its CPU. Then a hit
 * can end with a single instruction instead of a store-release.
 */
#ifndef ARCH_KPROBE_ORDERED_STORES
#define ARCH_KPROBE_ORDERED_STORES	0
#endif

/**
 * DOC: ARCH_KPROBE_PERCPU_OPERANDS
 *
 * 1 if instructions can have operands in per-CPU data. Otherwise the address of that data
 * is computed once, and kept.
 */
#ifndef ARCH_KPROBE_PERCPU_OPERANDS
#define ARCH_KPROBE_PERCPU_OPERANDS	0
#endif

#if ARCH_KPROBE_STATELESS
struct kprobe *kprobe_running(void);

/* Not needed: the marks record it. */
static inline struct kprobe *kprobe_set_running(struct kprobe *p)
{
	return NULL;
}
#else
/* Defined by the architecture. */
DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/*
 * Values of kprobe_status, for architectures that follow a hit step by step. The core
 * only sets KPROBE_HIT_ACTIVE, for handlers that it runs without an exception.
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
 * kprobe_running() - find the probe whose handler is running on this CPU
 *
 * Context: any; the answer is only meaningful with preemption off.
 * Return: a probe at the address whose handlers are running, or the kprobe of a return
 * probe; if handlers are nested, that of the innermost. NULL if no handler is running.
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
 * Return: the previous value, which the caller restores afterwards.
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
 * arch_kprobe_level() - find the context level of the probed code
 *
 * If the breakpoint exception itself counts as an interrupt or an NMI, the architecture
 * has to subtract that.
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

#ifndef arch_kprobe_path
/**
 * arch_kprobe_path() - name the way an instruction is carried out after a breakpoint
 * @kp: the kprobe of a prepared site, with or without a post handler
 *
 * Shown to users in debugfs.
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
 * arch_kprobe_may_be_bug() - check whether an instruction may be a BUG() or WARN()
 * @addr: its address, in text
 *
 * This looks at the instruction only, to avoid a search of the long table of bugs.
 *
 * Context: the text lock is held.
 * Return: false if neither BUG() nor WARN() is made of that instruction.
 */
static inline bool arch_kprobe_may_be_bug(unsigned long addr)
{
	return true;
}
#endif

#ifndef arch_kprobe_way_to
/**
 * arch_kprobe_way_to() - find where to continue, if a fault handler has chosen that
 * @ip: the address it has chosen, of any instruction
 *
 * By default, there. But the jump of a site may cover more than one instruction.
 *
 * Context: any, preemption off.
 * Return: @ip, or the address of a copy of the instruction there.
 */
#define arch_kprobe_way_to(ip)	(ip)
#endif

/**
 * arch_prepare_kprobe() - prepare to probe an instruction
 * @kp: the site's kprobe; @addr is set, @ainsn is zeroed
 *
 * Reads the instruction, decides whether and how it can be probed, and fills in @opcode
 * and @ainsn. There is no breakpoint at @addr, but the jump of another site may cover it: it
 * is only removed after this has succeeded.
 *
 * Context: kprobe_mutex and the text lock (cpus_read_lock, jump_label_lock and
 * text_mutex) are held; may sleep.
 * Return: 0, or an errno that registration passes on: -EILSEQ if @addr is not the start
 * of an instruction, -EINVAL or -EOPNOTSUPP if the instruction cannot be probed, -ERANGE
 * if its operand is out of reach for a copy, -ENOMEM.
 * After an error there is nothing to undo. If the errno alone does not tell the user enough,
 * kprobe_refuse() or kprobe_refuse_insn() is called with the reason in words.
 */
int arch_prepare_kprobe(struct kprobe *kp);

int kprobe_refuse(struct kprobe *kp, int err, const char *why);
int kprobe_refuse_insn(struct kprobe *kp, int err, const char *kind);

/**
 * arch_arm_kprobe() - write the breakpoint into the text
 * @kp: the kprobe of a prepared site
 *
 * On return all CPUs see the breakpoint. Cannot fail.
 *
 * Context: as arch_prepare_kprobe().
 */
void arch_arm_kprobe(struct kprobe *kp);

/**
 * arch_disarm_kprobe() - restore the probed instruction in the text
 * @kp: the kprobe of an armed site
 *
 * On return all CPUs see the instruction. With ARCH_KPROBE_STATELESS, the site has also been
 * looked up for every breakpoint that was taken before. Without it that may come later, but
 * within a grace period of RCU-tasks, which the core then waits for itself. Cannot fail.
 *
 * Context: as arch_arm_kprobe().
 */
void arch_disarm_kprobe(struct kprobe *kp);

/*
 * KPROBE_TEXT_BATCH is the largest number of sites that are armed or disarmed before the
 * text lock is released for others.
 */
#ifdef arch_arm_kprobes
#define KPROBE_TEXT_BATCH	1024

/**
 * arch_arm_kprobes() - write the breakpoints of many sites into the text
 * @sites: prepared sites, linked by kp.list
 *
 * For an architecture on which all CPUs can be synchronized once for many changes. It
 * defines a macro of this name, and needs no arch_arm_kprobe().
 *
 * Context: as arch_arm_kprobe().
 */
void arch_arm_kprobes(struct list_head *sites);

/**
 * arch_disarm_kprobes() - restore the instructions of many sites in the text
 * @sites: armed sites, linked by kp.list
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
 * Releases what arch_prepare_kprobe() has allocated. Called once after each successful
 * prepare, with kprobe_mutex held. With ARCH_KPROBE_STATELESS, the text may have been
 * freed by then, but nothing can be executing in the slot any more. Without it, the text
 * is still mapped, and hits that were under way when it was restored have ended.
 */

/* The hooks from here to kprobe_exceptions_notify() have weak defaults. */

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
 * Such a site needs no slot: what is probed is ftrace's own call.
 *
 * Context: as arch_prepare_kprobe().
 * Return: 0, or an errno that registration passes on.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *kp);

/**
 * arch_trampoline_kprobe() - check whether a site is the trampoline of return probes
 * @kp: the site's kprobe
 *
 * The handler of such a site may be what reports a return. The default is for trampolines that
 * are not entered through a probe.
 *
 * Context: any.
 * Return: non-zero if it is.
 */
int arch_trampoline_kprobe(struct kprobe *kp);

/**
 * arch_kprobe_not_called() - check whether calls arrive at a symbol
 * @addr: the address of a probe on the symbol's first instruction; ftrace knows of no function
 *	there
 *
 * A symbol may be a label in the middle of a function, where the return address and the arguments
 * are not as a call leaves them.
 *
 * Context: may sleep.
 * Return: why they do not, in words; NULL if they do, or nothing says that they do not. That is
 * the default.
 */
const char *arch_kprobe_not_called(unsigned long addr);

/**
 * kprobe_lookup_name() - find the address of a symbol
 * @name: the symbol's name
 * @offset: what the caller is going to add to the address
 *
 * For architectures whose symbols are not where their functions start.
 *
 * Context: may sleep.
 * Return: the address, without @offset; NULL if there is no such symbol.
 */
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset);

/**
 * arch_adjust_kprobe_addr() - find the address to probe from a symbol and an offset
 * @addr: start of the symbol; may not be readable
 * @offset: offset of the instruction from there
 * @on_func_entry: set to whether that is the function's entry
 *
 * Context: may sleep; kprobe_mutex may be held.
 * Return: the address to probe, past a landing pad that cannot be; NULL if the text
 * cannot be read.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr,
					 unsigned long offset,
					 bool *on_func_entry);

/**
 * arch_kprobe_ftrace_location() - find where ftrace would call for a probe
 * @addr: address of the probe
 *
 * Context: kprobe_mutex is held; may sleep.
 * Return: ftrace's location, which by default is @addr itself; 0 if ftrace does not serve
 * a probe at @addr.
 */
unsigned long arch_kprobe_ftrace_location(unsigned long addr);

/**
 * arch_kprobe_ftrace_armed() - have all CPUs execute the calls that ftrace has just written
 *
 * By default nothing is done: ftrace has seen to it.
 *
 * Context: kprobe_mutex is held; may sleep.
 */
void arch_kprobe_ftrace_armed(void);

/**
 * arch_within_kprobe_blacklist() - check whether an address can never be probed
 * @addr: any address
 *
 * Context: any.
 * Return: true if it cannot.
 */
bool arch_within_kprobe_blacklist(unsigned long addr);

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

/**
 * kprobe_exceptions_notify() - handle a die notification, before all other notifiers
 * @self: the notifier
 * @val: what has happened, an enum die_val
 * @data: its struct die_args
 *
 * For architectures whose breakpoints reach kprobes through the die chain.
 *
 * Context: that of notify_die().
 * Return: NOTIFY_STOP if it was for kprobes, else NOTIFY_DONE.
 */
int kprobe_exceptions_notify(struct notifier_block *self, unsigned long val,
			     void *data);

extern struct kretprobe_blackpoint kretprobe_blacklist[];

/*
 * What an architecture calls at a hit, in any context, with preemption off.
 *
 * An architecture with its own guard against recursion sets current_kprobe, and calls the
 * pre_handler of the site's kprobe, and the post_handler unless that is NULL. It may do so by
 * several loads of the pointer, which is not cleared any more once it is set. If a handler
 * is already running, it calls kprobes_inc_nmissed_count() instead. An architecture that
 * leaves the guard to the core calls kprobe_hit_site() of linux/kprobes_hit.h, and
 * kprobe_hit_post().
 */

/**
 * enum kprobe_result - what is left to do after kprobe_hit_site()
 * @KPROBE_RESULT_CONTINUE: carry out the instruction
 * @KPROBE_RESULT_POST: carry out the instruction, then call kprobe_hit_post()
 * @KPROBE_RESULT_REDIRECTED: continue where the registers say, without the instruction
 * @KPROBE_RESULT_MISSED: carry out the instruction; no handler has run
 */
enum kprobe_result {
	KPROBE_RESULT_CONTINUE = 1,
	KPROBE_RESULT_POST,
	KPROBE_RESULT_REDIRECTED,
	KPROBE_RESULT_MISSED,
};

void kprobe_hit_post(struct kprobe *kp, struct pt_regs *regs);
bool kprobe_hit_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr);
bool kprobe_fault(struct pt_regs *regs, unsigned int trap);
void kprobe_explain_oops(struct pt_regs *regs);
void kprobes_inc_nmissed_count(struct kprobe *kp);
void dump_kprobe(struct kprobe *kp);

/**
 * alloc_insn_page() - allocate a page of executable memory for slots
 *
 * The page has to be in reach of the text. It is not writable if the architecture can
 * patch read-only text. Has a weak default.
 *
 * Context: the text lock and the mutex of a cache of slots are held; may sleep.
 * Return: the page, or NULL.
 */
void *alloc_insn_page(void);

void *kprobe_seal_page(void *page);

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
struct kprobe_insn_cache;

kprobe_opcode_t *__get_insn_slot(struct kprobe_insn_cache *c);
void __free_insn_slot(struct kprobe_insn_cache *c, kprobe_opcode_t *slot, int dirty);
bool __is_insn_slot_addr(struct kprobe_insn_cache *c, unsigned long addr);
void kprobe_slot_set_owner(kprobe_opcode_t *slot, struct kprobe *kp);
struct kprobe *kprobe_slot_owner(unsigned long addr);

/*
 * Defines get_insn_slot(), free_insn_slot() and is_kprobe_insn_slot(), and the same three
 * for optinsn. If a slot is freed as dirty, tasks may still be executing in it, and it is
 * not reused before all of them have left it.
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

/**
 * enum kprobe_obstacle - what keeps a site from having a jump
 * @KPROBE_NO_OBSTACLE:		nothing does
 * @KPROBE_OBSTACLE_UNSUPPORTED: the kernel or the architecture has no jumps, or gives no reason
 * @KPROBE_OBSTACLE_OFF:	jumps are switched off
 * @KPROBE_OBSTACLE_MEMORY:	there was no memory for a detour
 * @KPROBE_OBSTACLE_FAILED:	the architecture could not write the jump
 * @KPROBE_OBSTACLE_POST:	there is a post handler, which cannot run behind a jump
 * @KPROBE_OBSTACLE_NEIGHBOUR:	there is another site among the bytes that the jump would cover
 * @KPROBE_OBSTACLE_PATCHED:	others patch these bytes, or their module is going
 * @KPROBE_OBSTACLE_TARGET:	a branch leads in between, or may do so
 * @KPROBE_OBSTACLE_FIXUP:	the exception table leads in between
 * @KPROBE_OBSTACLE_END:	they reach beyond the function's end
 * @KPROBE_OBSTACLE_SYMBOL:	the function is not known
 * @KPROBE_OBSTACLE_INSN:	there is an instruction among them that cannot be moved
 * @KPROBE_OBSTACLE_REACH:	something is out of a branch's reach
 * @KPROBE_OBSTACLE_PAD:	it is a landing pad, which has to stay
 * @NR_KPROBE_OBSTACLES:	how many there are
 *
 * debugfs has a word for each.
 */
enum kprobe_obstacle {
	KPROBE_NO_OBSTACLE,
	KPROBE_OBSTACLE_UNSUPPORTED,
	KPROBE_OBSTACLE_OFF,
	KPROBE_OBSTACLE_MEMORY,
	KPROBE_OBSTACLE_FAILED,
	KPROBE_OBSTACLE_POST,
	KPROBE_OBSTACLE_NEIGHBOUR,
	KPROBE_OBSTACLE_PATCHED,
	KPROBE_OBSTACLE_TARGET,
	KPROBE_OBSTACLE_FIXUP,
	KPROBE_OBSTACLE_END,
	KPROBE_OBSTACLE_SYMBOL,
	KPROBE_OBSTACLE_INSN,
	KPROBE_OBSTACLE_REACH,
	KPROBE_OBSTACLE_PAD,
	NR_KPROBE_OBSTACLES
};

#ifdef CONFIG_OPTPROBES
/**
 * struct optimized_kprobe - a site that may be hit through a jump to a detour
 * @kp:		the site's kprobe
 * @list:	member of lists that hooks are called with
 * @optinsn:	the architecture's part; zeroed until arch_prepare_optimized_kprobe()
 * @obstacle:	why the site has no jump; set by hooks that refuse one
 */
struct optimized_kprobe {
	struct kprobe			kp;
	struct list_head		list;
	struct arch_optimized_insn	optinsn;
	enum kprobe_obstacle		obstacle;
};

/**
 * DOC: Jumps
 *
 * asm/kprobes.h defines ``struct arch_optimized_insn``; ``MAX_OPTIMIZED_LENGTH``, the most
 * bytes that the instructions covered by a jump can take; ``MAX_OPTINSN_SIZE``, the size of a
 * detour in kprobe_opcode_t, which may be known to the linker only; and perhaps
 * ``ARCH_OPTPROBE_COMPLETE``, which is 1 if its detours can do all that a breakpoint does:
 * run post handlers, and continue where a handler says. Otherwise they call
 * opt_pre_handler(), and a site with a post handler gets no jump.
 *
 * All hooks are called with kprobe_mutex held.
 */
#ifndef ARCH_OPTPROBE_COMPLETE
#define ARCH_OPTPROBE_COMPLETE	0
#endif

/**
 * arch_prepared_optinsn() - check whether a site has a detour
 * @optinsn: the architecture's part of the site
 *
 * Context: kprobe_mutex is held.
 * Return: non-zero if it has.
 */
int arch_prepared_optinsn(struct arch_optimized_insn *optinsn);

/**
 * arch_prepare_optimized_kprobe() - make a detour for a site
 * @op: the site, armed with a breakpoint, or about to be
 * @orig: the kprobe in @op
 *
 * Context: the text lock is held.
 * Return: 0, or an errno if the site cannot have a jump. In that case @op->obstacle is the
 * reason; it is KPROBE_OBSTACLE_UNSUPPORTED unless this function sets it.
 */
int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig);

/**
 * arch_kprobe_detours_made() - have all CPUs execute detours that have just been written
 *
 * From then on a hit of such a site may go on in its detour. This is for sites that were armed
 * before: else it is done by arch_arm_kprobes(). By default nothing is done, because a hit gets
 * there by an exception, or by a jump that is written later.
 *
 * Context: the text lock is held.
 */
void arch_kprobe_detours_made(void);

/**
 * arch_remove_optimized_kprobe() - free a site's detour
 * @op: the site; it has a detour
 *
 * Context: kprobe_mutex is held. Nothing can be executing in the detour any more.
 */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);

/**
 * arch_check_optimized_kprobe() - check whether another breakpoint prevents a jump
 * @op: the site, with a detour
 *
 * Context: the text lock is held.
 * Return: 0 if neither another site nor a breakpoint of kgdb is in the bytes that the jump
 * is to cover, behind the first; see kprobe_debugger_stops_at().
 */
int arch_check_optimized_kprobe(struct optimized_kprobe *op);

/**
 * arch_within_optimized_kprobe() - check whether a jump covers an address
 * @op: the site of the jump
 * @addr: any address
 *
 * Context: kprobe_mutex is held, or all other CPUs are stopped.
 * Return: non-zero if it does.
 */
int arch_within_optimized_kprobe(struct optimized_kprobe *op, kprobe_opcode_t *addr);

/**
 * arch_optimize_kprobes() - replace breakpoints by jumps, all at once
 * @oplist: sites, linked by list. Those that get a jump are removed from it; those that
 *	have to keep the breakpoint remain
 *
 * Context: the text lock is held, and no task is in the bytes behind the breakpoints.
 */
void arch_optimize_kprobes(struct list_head *oplist);

/**
 * arch_unoptimize_kprobes() - replace jumps by breakpoints, all at once
 * @oplist: sites, linked by list
 * @done_list: where all of them are moved to
 *
 * On return the bytes behind the breakpoints are the original ones. Cannot fail.
 *
 * Context: the text lock is held.
 */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list);

/**
 * arch_unoptimize_kprobe() - replace one jump by a breakpoint
 * @op: the site
 *
 * For architectures whose arch_unoptimize_kprobes() only calls this. The core does not.
 */
void arch_unoptimize_kprobe(struct optimized_kprobe *op);

void opt_pre_handler(struct kprobe *kp, struct pt_regs *regs);

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
 * free_optinsn_page() - free a page of detours
 * @page: from alloc_optinsn_page(); nothing can be executing in it
 *
 * Context: may sleep; no lock is held.
 */
void free_optinsn_page(void *page);

DEFINE_INSN_CACHE_OPS(optinsn);
#else
struct optimized_kprobe {
	struct kprobe	kp;
	enum kprobe_obstacle obstacle;
};
#endif /* CONFIG_OPTPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE
/**
 * kprobe_ftrace_handler() - handle a hit through ftrace
 * @ip: ftrace's location
 * @parent_ip: where the function is going to return to
 * @ops: one of the core's
 * @fregs: all registers, because the core's ops ask for them
 *
 * Finds the site, presents the registers as at a breakpoint, and has the handlers run.
 * Needs none of ftrace's guards against recursion.
 *
 * Context: any, NMI included.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);

/* Set when ftrace has shut itself down; then kprobe_ftrace_handler() need not do anything. */
extern bool kprobe_ftrace_disabled;
#endif

/**
 * DOC: Return probes without rethook
 *
 * The architecture diverts the return to __kretprobe_trampoline(), which saves all registers
 * and calls kretprobe_returned() with ARCH_KPROBE_STATELESS, which needs
 * arch_kretprobe_frame. Without it, the trampoline calls kretprobe_trampoline_handler(),
 * which returns the address to continue at, or, from the pre handler of a probe on the
 * trampoline itself, __kretprobe_trampoline_handler().
 */
#ifdef CONFIG_KRETPROBE_RETURN_STACK
void __kretprobe_trampoline(void);

/**
 * arch_kretprobe_fixup_return() - correct other copies of a diverted return address
 * @regs: registers at the return
 * @correct_ret_addr: the address that is returned to
 *
 * For architectures without arch_kretprobe_frame that keep the address in more than one
 * place. The weak default does nothing.
 *
 * Context: any in which a function returns, preemption off.
 */
void arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *correct_ret_addr);

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
 * asm/kprobes.h defines all four of these, or none. They are called in any context in which
 * a function is called or returns, with preemption off, and cannot fail.
 *
 * ``void *arch_kretprobe_frame(struct pt_regs *regs)``
 *	is a macro. *regs* are the registers at a function's first instruction. Its value
 *	identifies the caller's frame; outer frames have higher values. It is the *frame* of
 *	the other three.
 *
 * ``unsigned long arch_kretprobe_ret_addr(struct pt_regs *regs, void *frame)``
 *	returns the address that the function will return to. *regs* are those at its first
 *	instruction.
 *
 * ``void arch_kretprobe_divert(struct pt_regs *regs, void *frame, unsigned long to)``
 *	makes the function return to the address *to* instead. *regs* are those at its first
 *	instruction.
 *
 * ``void arch_kretprobe_undivert(struct pt_regs *regs, void *frame, unsigned long addr)``
 *	stores *addr*, the true return address, where the trampoline continues and where
 *	unwinders look. *regs* are those at the return; it may correct them for the handlers,
 *	which run after that.
 */

/**
 * arch_kretprobe_record() - record the return address and the frame of a call
 * @ri: the instance
 * @regs: registers at the function's first instruction
 * @frame: from arch_kretprobe_frame()
 *
 * Context: as for these.
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
 * @args: the other one's arguments on the stack, if it has any
 * @size: how many bytes may be read there, a multiple of 16
 * @frame: filled in with what arch_jprobe_return() needs
 *
 * On return all registers that a call preserves have their old values, whether @entry has
 * returned or arch_jprobe_return() was called.
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
 * Return: the lowest argument's address. On a stack that is not known, @end is not above
 * it.
 */
unsigned long arch_jprobe_args(struct pt_regs *regs, unsigned long *end);
#endif

#endif /* _LINUX_KPROBES_ARCH_H */
