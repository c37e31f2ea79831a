/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_H
#define _LINUX_KPROBES_H
/*
 * Kprobes: run a handler at (almost) any instruction of the kernel.
 *
 * A user fills in a struct kprobe or a struct kretprobe, and registers it. What is in the text at
 * the probed address belongs to the core: a site, which all probes at the address share.
 * Documentation/kprobes.rst describes how to use probes. What an architecture provides is in
 * linux/kprobes_arch.h.
 *
 * This includes more headers than it needs, because its users have come to rely on them.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/linkage.h>
#include <linux/list.h>
#include <linux/notifier.h>
#include <linux/smp.h>
#include <linux/bug.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/rcupdate.h>
#include <linux/mutex.h>
#include <linux/ftrace.h>
#include <linux/rethook.h>
#include <asm/kprobes.h>

#ifndef CONFIG_KPROBES
#include <asm-generic/kprobes.h>
typedef int kprobe_opcode_t;
struct arch_specific_insn {
	int dummy;
};
#endif

struct kprobe;
struct kretprobe_holder;
struct kretprobe_instance;
struct pt_regs;
struct task_struct;

typedef int (*kprobe_pre_handler_t)(struct kprobe *p, struct pt_regs *regs);
typedef void (*kprobe_post_handler_t)(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
typedef int (*kprobe_fault_handler_t)(struct kprobe *p, struct pt_regs *regs, int trapnr);
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *ri, struct pt_regs *regs);

/**
 * struct kprobe - a probe on one instruction
 * @addr:	address of the instruction, unless @symbol_name is given. Registration
 *		sets it to the probed address: with @offset added, and past a landing pad
 *		that cannot be probed
 * @symbol_name: name of a kernel symbol, instead of @addr
 * @offset:	bytes to add to @addr or to the symbol's address
 * @flags:	KPROBE_FLAG_DISABLED and KPROBE_FLAG_NESTS may be set before registration. All
 *		other flags are set by the core, and may be read by anybody
 * @pre_handler: runs before the instruction, with preemption off; may be NULL. Returns 0;
 *		or non-zero if it has set the instruction pointer in its registers. In
 *		that case execution continues there: the instruction is not executed, and
 *		no further handlers run at this hit
 * @post_handler: runs after the instruction, with preemption off; may be NULL. Its flags
 *		argument is always 0
 * @fault_handler: runs when the instruction or one of the other handlers faults; may be
 *		NULL. Its trapnr is the processor's number or code for the fault. Returns
 *		1 if it has dealt with the fault, and its registers say where to continue;
 *		else 0. If the instruction has faulted, the instruction pointer in its
 *		registers is @addr. A handler that leaves it there and returns 1 has the
 *		instruction tried again; that is not another hit
 * @nmissed:	hits for which the handlers could not run because a handler was already
 *		running in the same context, or in one below: see KPROBE_FLAG_NESTS. Set to 0
 *		by registration
 *
 * After unregistration the struct can be registered again, once @addr has been set to what
 * it was before (NULL if @symbol_name is given), and @flags have been cleared, but for
 * KPROBE_FLAG_NESTS.
 */
struct kprobe {
	/* private: of no use in a user's probe, but some initialize and test it */
	struct hlist_node	hlist;
	/* private: member of its site's list while registered, else empty */
	struct list_head	list;
	/* public: */
	union {
		unsigned long	nmissed;
		/* private: the same, for who counts; and in what get_kprobe() returns */
		atomic_long_t	missed;
		atomic_long_t	hits;	/* that were not missed, while kprobe_stats is on */
		/* public: */
	};
	kprobe_opcode_t		*addr;
	union {
		const char	*symbol_name;
		/*
		 * private: in what get_kprobe() returns, the holder, if the only probe is an
		 * enabled return probe, and there is nothing to do at an entry but to follow the
		 * call; else NULL. Read outside of marks
		 */
		struct kretprobe_holder *follows;
		/* public: */
	};
	unsigned int		offset;
	u32			flags;
	kprobe_pre_handler_t	pre_handler;
	kprobe_post_handler_t	post_handler;
	kprobe_fault_handler_t	fault_handler;
	/* private: for arch code, and only in what get_kprobe() returns */
	kprobe_opcode_t		opcode;
	u8			obstacle;	/* why there is no jump: enum kprobe_obstacle */
	u8			covered;	/* how many bytes a jump covers */
	bool			has_detour;
	struct arch_specific_insn ainsn;
};

/* OPTIMIZED is only ever set in what get_kprobe() returns, never in a user's probe. */
#define KPROBE_FLAG_GONE	1	/* the probed text was freed, or see unregister_kprobes() */
#define KPROBE_FLAG_DISABLED	2	/* registered, but its handlers do not run */
#define KPROBE_FLAG_OPTIMIZED	4	/* hit through a jump, or about to be */
#define KPROBE_FLAG_FTRACE	8	/* hit through ftrace */
#define KPROBE_FLAG_ON_FUNC_ENTRY 16	/* on a function's first instruction */

/**
 * define KPROBE_FLAG_NESTS - the handlers of a probe may run on top of others
 *
 * Without this flag, handlers do not run in an interrupt, softirq or NMI that came while a handler
 * of a probe without it, of the same or of another, runs on this CPU. Such a hit is a miss. So
 * handlers without it exclude each other on a CPU, and may share spinlocks and per-CPU data. With
 * it, they miss nothing in interrupts. Set by the user, in the kprobe of return probes and jprobes,
 * too; stays set when the probe is unregistered.
 */
#define KPROBE_FLAG_NESTS	32

/**
 * kprobe_ftrace() - check whether a probe is hit through ftrace
 * @p: a registered probe, or what get_kprobe() returns
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool kprobe_ftrace(struct kprobe *p)
{
	return IS_ENABLED(CONFIG_KPROBES_ON_FTRACE) && READ_ONCE(p->flags) & KPROBE_FLAG_FTRACE;
}

/**
 * kprobe_gone() - check whether the probed text was freed
 * @p: a registered probe, or what get_kprobe() returns
 *
 * Context: any.
 * Return: true if it was, or if somebody tried to unregister the probe where nobody can sleep. Such
 * a probe cannot be enabled, but has to be unregistered.
 */
static inline bool kprobe_gone(struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_GONE;
}

/**
 * kprobe_optimized() - check whether a site is hit through a jump, or is about to be
 * @p: what get_kprobe() returns
 *
 * Context: any.
 * Return: true if it is; always false for a user's probe.
 */
static inline bool kprobe_optimized(struct kprobe *p)
{
	return READ_ONCE(p->flags) & KPROBE_FLAG_OPTIMIZED;
}

/**
 * kprobe_disabled() - check whether the handlers of a probe do not run
 * @p: a registered probe
 *
 * Context: any.
 * Return: true if it is disabled, or if the probed text was freed.
 */
static inline bool kprobe_disabled(struct kprobe *p)
{
	return READ_ONCE(p->flags) & (KPROBE_FLAG_GONE | KPROBE_FLAG_DISABLED);
}

/**
 * struct jprobe - a function that is called with a probed function's arguments
 * @kp:		where: a function entry, by address or by name. The core sets its
 *		pre_handler
 * @entry:	a function of the same prototype. It is called with the probed function's
 *		arguments, before that runs, with preemption off, and ends with
 *		jprobe_return() or by returning. Its return value is dropped, and so are
 *		changes that it makes to its arguments. (But where the calling convention
 *		passes a large struct by address, as on arm64, both functions get the same
 *		struct.)
 */
struct jprobe {
	struct kprobe		kp;
	void			*entry;
};

#define JPROBE_ENTRY(function)	((void *)(function))

/**
 * struct kretprobe - a probe on the return of a function
 * @kp:		where: a function entry, by address or by name
 * @handler:	runs when the function returns, with preemption off; may be NULL. Its return
 *		value is ignored
 * @entry_handler: runs when the function is entered; may be NULL. If it returns non-zero,
 *		@handler does not run for this call
 * @maxactive:	the most calls that are followed at the same time; 0 or less for no limit.
 *		Each task has memory for its own calls; a small reserve is used when that
 *		is full, and for all calls if @data_size is above 512. (Where return probes
 *		are made of rethook, 0 or less means the larger of 10 and twice the number
 *		of possible CPUs.)
 * @nmissed:	calls whose return was not seen, because too many calls were followed
 *		already, or because they returned while a handler was already running in
 *		the same context. Calls whose entry was missed are counted in the nmissed of
 *		@kp. Both are set to 0 by registration
 * @data_size:	bytes of private data per call, carried from @entry_handler to @handler;
 *		at most KRETPROBE_MAX_DATA_SIZE
 */
struct kretprobe {
	struct kprobe		kp;
	kretprobe_handler_t	handler;
	kretprobe_handler_t	entry_handler;
	int			maxactive;
	union {
		int		nmissed;
		/* private: the same, for who counts */
		atomic_t	missed;
		/* public: */
	};
	size_t			data_size;
	/* private: the instances */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	struct rethook		*rh;
#else
	struct kretprobe_holder	*rph;
#endif
};

#define KRETPROBE_MAX_DATA_SIZE	4096

/**
 * struct kretprobe_instance - one call of a function with a return probe
 * @data:	&struct kretprobe.data_size bytes for the handlers' own use
 */
struct kretprobe_instance {
	/* private: */
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	struct rethook_node	node;
#else
	struct llist_node	llist;
	struct kretprobe_holder	*rph;
	kprobe_opcode_t		*ret_addr;
	void			*fp;
#endif
	/* public: */
	char			data[];
};

/*
 * What the instances of a return probe point to. It belongs to the core, and outlives the user's
 * struct: when that is unregistered, tasks may still be inside the probed function. See
 * kernel/kprobes/kretprobe_stack.c.
 */
struct kretprobe_holder {
	struct kretprobe __rcu	*rp;		/* NULL once unregistered */
	struct kretprobe	*told;		/* whose handler runs: @rp, or a replacement */
	unsigned int		size;		/* of an instance */
	int			cap;		/* the most calls under way, or 0 */
	bool			simple;		/* no cap, no entry handler, and stacks are used */
	atomic_t		calls;		/* with a cap: calls under way */
	unsigned long __percpu	*inside;	/* without: calls made, less those that returned */
	unsigned int		num_reserve;
	void			*reserve;	/* instances beside those on return stacks */
	unsigned long		*taken;		/* which of them are in use */
	struct llist_node	leaving;
};

/* A function whose return must not be diverted; the list ends with a NULL name. */
struct kretprobe_blackpoint {
	const char	*name;
	void		*addr;
};

#ifdef CONFIG_KPROBES

/* The files of architectures that keep state between exceptions expect all of it here. */
#ifdef ARCH_KPROBE_STATELESS
struct kprobe *kprobe_running(void);
#else
#include <linux/kprobes_legacy.h>
#endif

int register_kprobe(struct kprobe *p);
void unregister_kprobe(struct kprobe *p);
int register_kprobes(struct kprobe **kps, int num);
void unregister_kprobes(struct kprobe **kps, int num);
void kprobe_wait_for_handlers(void);
int enable_kprobe(struct kprobe *p);
int disable_kprobe(struct kprobe *p);
unsigned int kprobe_level(void);

/**
 * kprobe_lookup_name() - find the address of a symbol
 * @name: the symbol's name
 * @offset: what the caller is going to add to the address
 *
 * Has a weak default, for architectures whose symbols are where their functions start.
 *
 * Context: may sleep.
 * Return: the address, without @offset; NULL if there is no such symbol.
 */
kprobe_opcode_t *kprobe_lookup_name(const char *name, unsigned int offset);

/* For the rest of the kernel. */
struct kprobe *get_kprobe(void *addr);
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym, unsigned long offset);
bool within_kprobe_blacklist(unsigned long addr);
bool kprobe_occupies(unsigned long addr);
void kprobe_busy_begin(void);
void kprobe_busy_end(void);
void kprobe_task_dies(void);
void kprobe_free_init_mem(void);
int kprobe_get_kallsym(unsigned int symnum, unsigned long *value, char *type, char *sym);

bool kprobe_fault(struct pt_regs *regs, unsigned int trap);
void kprobe_explain_oops(struct pt_regs *regs);
void dump_kprobe(struct kprobe *kp);

/**
 * kprobe_page_fault() - offer a kernel fault to kprobes
 * @regs: registers at the fault
 * @trap: the architecture's number or code for it
 *
 * To be called by the architecture's fault entries before they look for a fixup. A fault in an
 * out-of-line copy is moved back to the probed address, where the rest of the fault handling
 * expects it, unless a fault handler there deals with it. Fault handlers can also deal with faults
 * in the other handlers of their probes.
 *
 * Context: any.
 * Return: true if the fault was dealt with and nothing is left to do.
 */
static __always_inline bool kprobe_page_fault(struct pt_regs *regs, unsigned int trap)
{
	return !user_mode(regs) && kprobe_fault(regs, trap);
}

#else /* !CONFIG_KPROBES */

static inline struct kprobe *kprobe_running(void) { return NULL; }
static inline int register_kprobes(struct kprobe **kps, int num) { return -EOPNOTSUPP; }
static inline int register_kprobe(struct kprobe *p) { return -EOPNOTSUPP; }
static inline int enable_kprobe(struct kprobe *p) { return -EOPNOTSUPP; }
static inline int disable_kprobe(struct kprobe *p) { return -EOPNOTSUPP; }
static inline void unregister_kprobes(struct kprobe **kps, int num) { }
static inline void unregister_kprobe(struct kprobe *p) { }
static inline void kprobe_wait_for_handlers(void) { }
static inline struct kprobe *get_kprobe(void *addr) { return NULL; }
static inline unsigned int kprobe_level(void) { return 0; }
static inline bool within_kprobe_blacklist(unsigned long addr) { return true; }
static inline bool kprobe_occupies(unsigned long addr) { return false; }

#define kprobe_busy_begin()	do { } while (0)
#define kprobe_busy_end()	do { } while (0)

static inline void kprobe_task_dies(void) { }
static inline void kprobe_free_init_mem(void) { }
static inline void kprobe_explain_oops(struct pt_regs *regs) { }

static inline int kprobe_get_kallsym(unsigned int symnum, unsigned long *value,
				     char *type, char *sym)
{
	return -ERANGE;
}

static __always_inline bool kprobe_page_fault(struct pt_regs *regs, unsigned int trap)
{
	return false;
}
#endif /* CONFIG_KPROBES */

#if defined(CONFIG_KPROBES) && defined(__ARCH_WANT_KPROBES_INSN_SLOT)
bool is_kprobe_insn_slot(unsigned long addr);
#else
static inline bool is_kprobe_insn_slot(unsigned long addr) { return false; }
#endif

#ifdef CONFIG_OPTPROBES
bool is_kprobe_optinsn_slot(unsigned long addr);
void wait_for_kprobe_optimizer(void);
#else
static inline bool is_kprobe_optinsn_slot(unsigned long addr) { return false; }
static inline void wait_for_kprobe_optimizer(void) { }
#endif

#ifdef CONFIG_KPROBES_ON_FTRACE
void kprobe_ftrace_kill(void);
#else
static inline void kprobe_ftrace_kill(void) { }
#endif

#ifdef CONFIG_JPROBES
int register_jprobe(struct jprobe *jp);
void unregister_jprobe(struct jprobe *jp);
int register_jprobes(struct jprobe **jps, int num);
void unregister_jprobes(struct jprobe **jps, int num);
void jprobe_return(void);
#else
static inline int register_jprobes(struct jprobe **jps, int num) { return -EOPNOTSUPP; }
static inline int register_jprobe(struct jprobe *jp) { return -EOPNOTSUPP; }
static inline void unregister_jprobes(struct jprobe **jps, int num) { }
static inline void unregister_jprobe(struct jprobe *jp) { }
static inline void jprobe_return(void) { }
#endif

/**
 * enable_jprobe() - let the function of a jprobe be called
 * @jp: a registered jprobe
 *
 * Context: may sleep.
 * Return: as enable_kprobe().
 */
static inline int enable_jprobe(struct jprobe *jp)
{
	return enable_kprobe(&jp->kp);
}

/**
 * disable_jprobe() - stop the function of a jprobe from being called
 * @jp: a registered jprobe
 *
 * Context: may sleep.
 * Return: as disable_kprobe().
 */
static inline int disable_jprobe(struct jprobe *jp)
{
	return disable_kprobe(&jp->kp);
}

/**
 * enable_kretprobe() - let the handlers of a return probe run
 * @rp: a registered return probe
 *
 * Context: may sleep.
 * Return: as enable_kprobe().
 */
static inline int enable_kretprobe(struct kretprobe *rp)
{
	return enable_kprobe(&rp->kp);
}

/**
 * disable_kretprobe() - stop following calls of a probed function
 * @rp: a registered return probe. Its handler still runs for calls that are followed already
 *
 * Context: may sleep.
 * Return: as disable_kprobe().
 */
static inline int disable_kretprobe(struct kretprobe *rp)
{
	return disable_kprobe(&rp->kp);
}

/*
 * Return probes, and what their handlers and unwinders ask for. An unwinder's cursor for
 * kretprobe_find_ret_addr() starts as NULL.
 */
#ifndef CONFIG_KRETPROBES
/* Modules for which return probes are optional can be loaded all the same. */
static inline int register_kretprobes(struct kretprobe **rps, int num) { return -EOPNOTSUPP; }
static inline int register_kretprobe(struct kretprobe *rp) { return -EOPNOTSUPP; }
static inline void unregister_kretprobes(struct kretprobe **rps, int num) { }
static inline void unregister_kretprobe(struct kretprobe *rp) { }
static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr) { return false; }

static nokprobe_inline
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp, struct llist_node **cur)
{
	return 0;
}

static inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri) { return NULL; }
static inline unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri) { return 0; }

#else
int register_kretprobe(struct kretprobe *rp);
void unregister_kretprobe(struct kretprobe *rp);
int register_kretprobes(struct kretprobe **rps, int num);
void unregister_kretprobes(struct kretprobe **rps, int num);

#ifdef CONFIG_KRETPROBE_ON_RETHOOK

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return is_rethook_trampoline(addr);
}

static nokprobe_inline
unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp, struct llist_node **cur)
{
	return rethook_find_ret_addr(tsk, (unsigned long)fp, cur);
}

static nokprobe_inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	return ri->node.rethook->data;
}

static nokprobe_inline unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return ri->node.ret_addr;
}

#else /* instances on a list of the task */
void __kretprobe_trampoline(void);

/* Function pointers are descriptors on some architectures. */
static nokprobe_inline void *kretprobe_trampoline_addr(void)
{
	return dereference_kernel_function_descriptor(__kretprobe_trampoline);
}

static nokprobe_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return addr == (unsigned long)kretprobe_trampoline_addr();
}

unsigned long kretprobe_find_ret_addr(struct task_struct *tsk, void *fp, struct llist_node **cur);

/**
 * get_kretprobe() - find the return probe that follows a call
 * @ri: the call, as passed to a handler
 *
 * Context: a handler of the return probe, or preemption off.
 * Return: the return probe; NULL after it was unregistered.
 */
static __always_inline struct kretprobe *get_kretprobe(struct kretprobe_instance *ri)
{
	return rcu_dereference_check(ri->rph->rp, rcu_read_lock_any_held());
}

/**
 * get_kretprobe_retaddr() - find the address that a followed call returns to
 * @ri: the call, as passed to a handler
 *
 * Context: one of the return probe's handlers.
 * Return: the address. For entry handlers it is only known where the architecture has
 * arch_kretprobe_frame, and 0 elsewhere.
 */
static __always_inline unsigned long get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return (unsigned long)ri->ret_addr;
}
#endif
#endif

/* For fork(), idle tasks that start again, tasks that have ended, and the handlers of rethook */
#ifdef CONFIG_KRETPROBE_RETURN_STACK
/* task_struct::kretprobe_start of a task without a return stack, which then ends at 0 */
#define KRETPROBE_NO_STACK	(~0UL)

void kretprobe_init_task(struct task_struct *tsk);
void kretprobe_reset_task(struct task_struct *tsk);
void kprobe_flush_task(struct task_struct *tsk);
unsigned long kretprobe_caller(unsigned long addr, void *fp, struct llist_node *kretprobe,
			       struct llist_node *rethook);
#else
static inline void kretprobe_init_task(struct task_struct *tsk) { }
static inline void kretprobe_reset_task(struct task_struct *tsk) { }
static inline void kprobe_flush_task(struct task_struct *tsk) { }

static nokprobe_inline
unsigned long kretprobe_caller(unsigned long addr, void *fp, struct llist_node *kretprobe,
			       struct llist_node *rethook)
{
	return addr;
}
#endif

#endif /* _LINUX_KPROBES_H */
