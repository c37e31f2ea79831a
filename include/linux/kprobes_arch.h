/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_ARCH_H
#define _LINUX_KPROBES_ARCH_H
/*
 * Between the generic core and an architecture. Included by linux/kprobes.h,
 * with asm/kprobes.h before it.
 *
 * Wherever a struct kprobe is passed to an architecture, or comes from
 * get_kprobe(), it is the core's own, one per probed address, never a user's.
 * It does not move, and lives until arch_remove_kprobe() at the least.
 *
 * asm/kprobes.h defines kprobe_opcode_t, struct arch_specific_insn,
 * kretprobe_blacklist_size and flush_insn_slot(), and declares
 * arch_remove_kprobe() and kprobe_fault_handler(), whose prototypes differ;
 * MAX_INSN_SIZE counts kprobe_opcode_t. It may define
 *
 *   __ARCH_WANT_KPROBES_INSN_SLOT	get_insn_slot() and friends
 *   ARCH_KPROBE_SLOT_SIZE		size of a slot, in kprobe_opcode_t, where
 *					it is not MAX_INSN_SIZE
 *   arch_kprobe_level			see below
 *   ARCH_KPROBE_STATELESS		see below
 *   ARCH_KPROBE_ORDERED_STORES		see below
 *   ARCH_KPROBE_PERCPU_OPERANDS		see below
 *   arch_kprobe_may_own_fault		see below
 *   arch_kprobe_path			see below
 *   arch_kprobe_may_be_bug		see below
 */

#ifndef ARCH_KPROBE_STATELESS
#define ARCH_KPROBE_STATELESS	0
#endif

/*
 * No CPU shows a plain store to others before what it loaded and stored earlier:
 * then the end of a hit can do with one instruction.
 */
#ifndef ARCH_KPROBE_ORDERED_STORES
#define ARCH_KPROBE_ORDERED_STORES	0
#endif

/*
 * Instructions have operands in per-CPU data, where others have to find out first
 * where that is.
 */
#ifndef ARCH_KPROBE_PERCPU_OPERANDS
#define ARCH_KPROBE_PERCPU_OPERANDS	0
#endif

#if ARCH_KPROBE_STATELESS
/*
 * An architecture that keeps nothing in mind between two exceptions: the core's
 * own marks say all there is to say about which handlers are running.
 */
struct kprobe *kprobe_running(void);

static inline struct kprobe *kprobe_set_running(struct kprobe *p)
{
	return NULL;
}
#else
/* Defined by the architecture. */
DECLARE_PER_CPU(struct kprobe *, current_kprobe);
DECLARE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);

/*
 * The states of an architecture that follows a hit step by step. The core only
 * ever sets KPROBE_HIT_ACTIVE, where it runs handlers by itself.
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
 * return probe; the innermost one's; NULL when no handler runs.
 */
static inline struct kprobe *kprobe_running(void)
{
	return __this_cpu_read(current_kprobe);
}

/* Returns what was running before. Preemption off. */
static inline struct kprobe *kprobe_set_running(struct kprobe *p)
{
	struct kprobe *outer = __this_cpu_read(current_kprobe);

	__this_cpu_write(current_kprobe, p);
	return outer;
}
#endif

#ifndef arch_kprobe_level
/*
 * The context level of the code that was probed: 0 task, 1 softirq, 2 hardirq,
 * 3 NMI. An architecture whose breakpoint exception itself counts as one of
 * these has to take that off. Called on every hit, preemption off, any context.
 */
static __always_inline unsigned long arch_kprobe_level(void)
{
	/* Most hits by far are a task's, which did not turn softirqs off either. */
	if (likely(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK))))
		return 0;
	return interrupt_context_level();
}
#endif

#ifndef arch_kprobe_path
/*
 * For users to see: how the instruction of a prepared site is carried out after
 * a breakpoint, with the post handler that it has or has not: "step", "emulate"
 * or "boost". Called with kprobe_mutex held.
 */
static inline const char *arch_kprobe_path(struct kprobe *p)
{
	return "step";
}
#endif

#ifndef arch_kprobe_may_be_bug
/*
 * Whether the instruction at an address is one that BUG() or WARN() can be made
 * of: if it is not, nobody has to look for it in their table, which is long.
 */
static inline bool arch_kprobe_may_be_bug(unsigned long addr)
{
	return true;
}
#endif

#ifndef arch_kprobe_may_own_fault
/*
 * Whether a fault of the kernel can be kprobes' at all. Without a better way to
 * tell, one that comes while a probe is being dealt with on this CPU.
 */
#define arch_kprobe_may_own_fault()	(!preemptible() && kprobe_running())
#endif

/**
 * arch_prepare_kprobe() - get ready to probe an instruction
 * @p: the site; @addr is set, the text is as it was compiled, @ainsn is zeroed
 *
 * Reads the instruction, decides whether it can be probed and how, and fills in
 * @opcode and @ainsn.
 *
 * Context: kprobe_mutex, cpus_read_lock, jump_label_lock and text_mutex are
 * held; may sleep.
 * Return: 0, or an errno that registration passes on: -EILSEQ when @addr is
 * not the start of an instruction, -EINVAL or -EOPNOTSUPP when the instruction
 * cannot be probed, -ENOMEM. After an error nothing has to be undone. What the
 * user is to know beyond the errno, the functions below are told.
 */
int arch_prepare_kprobe(struct kprobe *p);

int kprobe_refuse(int err, const char *why);
int kprobe_refuse_insn(int err, const char *kind);

/**
 * arch_arm_kprobe() - put the breakpoint into the text
 * @p: a prepared site
 *
 * On return all CPUs see the breakpoint. Cannot fail.
 *
 * Context: kprobe_mutex, cpus_read_lock and text_mutex are held; may sleep.
 */
void arch_arm_kprobe(struct kprobe *p);

/**
 * arch_disarm_kprobe() - put the probed instruction back into the text
 * @p: an armed site
 *
 * On return all CPUs execute the instruction, and every breakpoint taken
 * before has looked the site up. Cannot fail.
 *
 * Context: as arch_arm_kprobe().
 */
void arch_disarm_kprobe(struct kprobe *p);

/*
 * The same for many sites at once, a list of them by kp.list: for architectures
 * that define arch_arm_kprobes, because interrupting the other CPUs once is
 * enough for all. However that is, no more sites than this are armed or disarmed
 * before others get the text's locks.
 */
#ifdef arch_arm_kprobes
#define KPROBE_TEXT_BATCH	1024

void arch_arm_kprobes(struct list_head *sites);
void arch_disarm_kprobes(struct list_head *sites);
#else
#define KPROBE_TEXT_BATCH	64

static inline void arch_arm_kprobes(struct list_head *sites)
{
	struct kprobe *p;

	list_for_each_entry(p, sites, list)
		arch_arm_kprobe(p);
}

static inline void arch_disarm_kprobes(struct list_head *sites)
{
	struct kprobe *p;

	list_for_each_entry(p, sites, list)
		arch_disarm_kprobe(p);
}
#endif

/*
 * void arch_remove_kprobe(struct kprobe *p);
 *
 * Gives back what arch_prepare_kprobe() took. Called once for every successful
 * prepare, with kprobe_mutex held and the text still mapped, when no CPU can be
 * in the slot any more; only a site whose text goes away gives no such promise.
 */

/**
 * arch_init_kprobes() - set the architecture up
 *
 * Context: once, at early_initcall; sites can be registered from it.
 * Return: 0, or an errno that leaves kprobes without exceptions.
 */
int arch_init_kprobes(void);

/* Overrides of weak defaults. */
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

/* Whether @addr lies in a range that never can be probed. Any context. */
bool arch_within_kprobe_blacklist(unsigned long addr);
/* Adds such ranges by kprobe_add_area_blacklist(), once, at boot. */
int arch_populate_kprobe_blacklist(void);
int kprobe_add_area_blacklist(unsigned long start, unsigned long end);

/* The section that NOKPROBE_SYMBOL() fills. */
extern unsigned long __start_kprobe_blacklist[];
extern unsigned long __stop_kprobe_blacklist[];

/* The die notifier's callback, where that is the architecture's trap entry. */
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
enum kprobe_hit {
	KPROBE_HIT_CONTINUE = 1,/* carry the instruction out, nothing else */
	KPROBE_HIT_POST,	/* carry the instruction out, then post handlers */
	KPROBE_HIT_REDIRECTED,	/* go where the registers say, nothing else */
	KPROBE_HIT_MISSED,	/* carry out what no handler was told of */
	KPROBE_HIT_DONE,	/* nothing: all that was carried out already */
};

void kprobe_hit_post(struct kprobe *p, struct pt_regs *regs);
bool kprobe_hit_fault(struct kprobe *p, struct pt_regs *regs, int trapnr);
bool kprobe_fault(struct pt_regs *regs, unsigned int trap);
void kprobe_explain_oops(struct pt_regs *regs);
void kprobes_inc_nmissed_count(struct kprobe *p);
void dump_kprobe(struct kprobe *p);

/*
 * Executable memory for copies of instructions. Slots are taken and given back
 * under a mutex; a slot given back as dirty may still be executed, and is not
 * used again before every task has left it.
 */
void *alloc_insn_page(void);

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
struct kprobe_insn_cache;

kprobe_opcode_t *__get_insn_slot(struct kprobe_insn_cache *c);
void __free_insn_slot(struct kprobe_insn_cache *c, kprobe_opcode_t *slot, int dirty);
bool __is_insn_slot_addr(struct kprobe_insn_cache *c, unsigned long addr);
void kprobe_slot_set_owner(kprobe_opcode_t *slot, struct kprobe *p);
struct kprobe *kprobe_slot_owner(unsigned long addr);

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

/* Whether the site has a detour. */
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

/* Gives the detour back, when no CPU can be in it any more. */
void arch_remove_optimized_kprobe(struct optimized_kprobe *op);

/* 0 when no other site is in the bytes that the jump is to cover. */
int arch_check_optimized_kprobe(struct optimized_kprobe *op);

/* Whether @addr is among the bytes that the jump covers. */
int arch_within_optimized_kprobe(struct optimized_kprobe *op, kprobe_opcode_t *addr);

/*
 * Puts jumps in the place of breakpoints, all at once, and takes the sites off
 * the list; one that has to stay a breakpoint is left there. The text lock is
 * held, and no task is in the bytes behind the breakpoints.
 */
void arch_optimize_kprobes(struct list_head *oplist);

/*
 * Puts breakpoints in the place of jumps and moves the sites to the other list.
 * On return the bytes behind the breakpoints are as they were compiled. The text
 * lock is held.
 */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list);
void arch_unoptimize_kprobe(struct optimized_kprobe *op);

/* For detours that are not complete: all pre handlers, whatever they return. */
void opt_pre_handler(struct kprobe *p, struct pt_regs *regs);

void *alloc_optinsn_page(void);
void free_optinsn_page(void *page);

DEFINE_INSN_CACHE_OPS(optinsn);
#else
struct optimized_kprobe {
	struct kprobe	kp;
	const char	*why;
};
#endif /* CONFIG_OPTPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * The callback of the core's ftrace_ops, and the counterpart of
 * arch_prepare_kprobe() for an entry that ftrace hooks: such a site has no
 * slot. kprobe_ftrace_disabled says that ftrace has given up on itself: the callback
 * need not do anything then.
 */
void kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
			   struct ftrace_ops *ops, struct ftrace_regs *fregs);
int arch_prepare_kprobe_ftrace(struct kprobe *p);
extern bool kprobe_ftrace_disabled;
#else
static inline int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	return -EINVAL;
}
#endif

/*
 * Return probes without rethook: the architecture diverts the return, and its
 * trampoline calls kretprobe_returned() if hits are ARCH_KPROBE_STATELESS, which
 * needs arch_kretprobe_frame; else kretprobe_trampoline_handler(), or the __
 * variant when it was itself entered through a probe, which return the address
 * to go on at.
 */
#ifdef CONFIG_KRETPROBES
int arch_trampoline_kprobe(struct kprobe *p);
#else
static inline int arch_trampoline_kprobe(struct kprobe *p)
{
	return 0;
}
#endif

#ifdef CONFIG_KRETPROBE_RETURN_STACK
void __kretprobe_trampoline(void);
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
/* The architecture records the call and diverts it at once. */
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

/* Returns from the call of arch_jprobe_call() that has set @frame. */
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
