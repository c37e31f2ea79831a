/* SPDX-License-Identifier: GPL-2.0 */
/* Probes for tests: kprobes that take notes, and probes of any kind */
#ifndef _KPROBES_TESTS_KINDS_H
#define _KPROBES_TESTS_KINDS_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/ptrace.h>

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

/* Returns zeroed memory, which is freed when the test case ends. */
void *test_alloc(struct kunit *test, size_t size);

/**
 * struct probe - a kprobe that takes notes
 * @kp: the probe itself
 * @live: it is registered, so it has to be unregistered when the case ends
 * @hits: how often the pre handler ran
 * @posts: how often the post handler ran
 * @turn: when the pre handler ran last, counted in runs of all handlers
 * @post_turn: the same for the post handler
 * @ip: instruction pointer the pre handler was given
 * @post_ip: instruction pointer the post handler was given
 * @post_flags: last argument of the post handler
 * @preemptible: some handler could have been preempted
 * @on_hit: called by the pre handler, which returns its result
 */
struct probe {
	struct kprobe kp;
	bool live;
	unsigned int hits, posts;
	unsigned int turn, post_turn;
	unsigned long ip, post_ip, post_flags;
	bool preemptible;
	int (*on_hit)(struct probe *probe, struct pt_regs *regs);
};

/* The turn of a handler that runs now */
unsigned int probe_turn(void);

int probe_pre_handler(struct kprobe *kp, struct pt_regs *regs);
void probe_post_handler(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);

/* Makes a struct that was used before as good as new. */
void probe_reset(struct probe *probe, void *addr);

/* A probe for @addr, not registered yet. It is unregistered when the test case ends. */
struct probe *probe_new(struct kunit *test, void *addr);
int probe_register(struct probe *probe);

/*
 * A registered probe with some fields set: .on_hit = hit, .kp.post_handler = post. Without a pre
 * handler among them it has probe_pre_handler().
 */
#define probe_with(test, addr, ...) \
	probe_registered_like(test, addr, &(const struct probe) { __VA_ARGS__ })
#define probe_registered(test, addr)	probe_with(test, addr)
struct probe *probe_registered_like(struct kunit *test, void *addr, const struct probe *like);

/* Checks how often the pre handler and the post handler have run, and how many hits were missed. */
#define probe_expect(test, probe, hits, posts, missed) \
	probe_expect_at(__LINE__, test, probe, hits, posts, missed)
void probe_expect_at(unsigned int line, struct kunit *test, const struct probe *probe,
		     unsigned int hits, unsigned int posts, unsigned int missed);

/* Registers a probe that was registered before, at @addr. Its notes are kept. */
int probe_register_again(struct probe *probe, void *addr);
void probe_unregister(struct probe *probe);

/* The area is freed when the test case ends. */
void *kprobes_vmalloc(struct kunit *test, size_t size);

/* Returns the guard page of an area, which stays unmapped as long as the area exists. */
void *kprobes_unmapped(struct kunit *test);

/* How often the test's own task has called @symbol: for instance, what tells processors of text */
extern unsigned int syncs;
void syncs_count(struct kunit *test, const char *symbol);

/* --- of any kind --- */

union any_probe {
	struct kprobe kp;
	struct kretprobe rp;
	struct jprobe jp;
};

enum any_type { KPROBE, RETURN_PROBE, JPROBE };

static inline int any_register_many(enum any_type type, union any_probe **probes, int num)
{
	if (type == KPROBE)
		return register_kprobes((struct kprobe **)probes, num);
	if (type == RETURN_PROBE)
		return register_kretprobes((struct kretprobe **)probes, num);
	return register_jprobes((struct jprobe **)probes, num);
}

static inline void any_unregister_many(enum any_type type, union any_probe **probes, int num)
{
	if (type == KPROBE)
		return unregister_kprobes((struct kprobe **)probes, num);
	if (type == RETURN_PROBE)
		return unregister_kretprobes((struct kretprobe **)probes, num);
	return unregister_jprobes((struct jprobe **)probes, num);
}

static inline int any_register(enum any_type type, union any_probe *probe)
{
	if (type == KPROBE)
		return register_kprobe(&probe->kp);
	if (type == RETURN_PROBE)
		return register_kretprobe(&probe->rp);
	return register_jprobe(&probe->jp);
}

/* Of one that is not registered, all that is changed is its address. */
static inline void any_unregister(enum any_type type, union any_probe *probe)
{
	if (type == KPROBE)
		return unregister_kprobe(&probe->kp);
	if (type == RETURN_PROBE)
		return unregister_kretprobe(&probe->rp);
	return unregister_jprobe(&probe->jp);
}

/* Kinds of handlers: each type's usual one is the first. */
enum kind_id { PRE_HANDLER, POST_HANDLER, RETURN_HANDLER, ENTRY_HANDLER, JPROBE_HANDLER, KINDS };

/**
 * struct probe_kind - a kind of handler
 * @name: its name
 * @id: the index of such a probe in what KIND_HANDLERS() makes
 * @type: the type of the probes that have one
 */
struct probe_kind {
	const char *name;
	enum kind_id id;
	enum any_type type;
};

/* Of the types that this kernel has */
static const struct probe_kind probe_kinds[] __maybe_unused = {
	{ "pre handler",	PRE_HANDLER,	KPROBE },
	{ "post handler",	POST_HANDLER,	KPROBE },
#ifdef CONFIG_KRETPROBES
	{ "return handler",	RETURN_HANDLER,	RETURN_PROBE },
	{ "entry handler",	ENTRY_HANDLER,	RETURN_PROBE },
#endif
#ifdef CONFIG_JPROBES
	{ "jprobe",		JPROBE_HANDLER,	JPROBE },
#endif
};

/* The first kind of each type */
static const struct probe_kind probe_types[] __maybe_unused = {
	{ "kprobe",		PRE_HANDLER,	KPROBE },
#ifdef CONFIG_KRETPROBES
	{ "return probe",	RETURN_HANDLER,	RETURN_PROBE },
#endif
#ifdef CONFIG_JPROBES
	{ "jprobe",		JPROBE_HANDLER,	JPROBE },
#endif
};

/* Handlers that do @work, and @name[], with a probe for each kind of them */
#define KIND_HANDLERS(name, work)						\
static int name##_pre(struct kprobe *kp, struct pt_regs *regs)			\
{										\
	work;									\
	return 0;								\
}										\
static void name##_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags) \
{										\
	work;									\
}										\
static int name##_return(struct kretprobe_instance *ri, struct pt_regs *regs)	\
{										\
	work;									\
	return 0;								\
}										\
static u32 name##_jprobe(u32 x)							\
{										\
	work;									\
	jprobe_return();							\
	return x;								\
}										\
static const union any_probe name[KINDS] __maybe_unused = {			\
	[PRE_HANDLER] = { .kp.pre_handler = name##_pre },			\
	[POST_HANDLER] = { .kp.post_handler = name##_post },			\
	[RETURN_HANDLER] = { .rp.handler = name##_return },			\
	[ENTRY_HANDLER] = { .rp.entry_handler = name##_return },		\
	[JPROBE_HANDLER] = { .jp.entry = name##_jprobe },			\
}

/*
 * A probe that is unregistered when the test case ends, if nobody has done it before. What points
 * to the probe points to this, too.
 */
struct any {
	union any_probe probe;
	enum any_type type;
};

void any_drop(void *data);

static inline void any_reset(union any_probe *probe, const union any_probe *like, void *addr)
{
	*probe = *like;
	INIT_LIST_HEAD(&probe->kp.list);
	probe->kp.addr = addr;
}

/* One as @like, for @addr, which is not registered yet */
struct any *any_new(struct kunit *test, enum any_type type, const union any_probe *like,
		    void *addr);
struct any *any_registered(struct kunit *test, enum any_type type, const union any_probe *like,
			   void *addr);

/* Registering it fails by one of two errors, and leaves it as it is. Dropping it does no harm. */
void any_expect_refused_by(struct kunit *test, struct any *any, int errno, int or_errno);

static inline void any_expect_refused(struct kunit *test, struct any *any, int errno)
{
	any_expect_refused_by(test, any, errno, errno);
}

/**
 * struct return_probe - a return probe that takes notes
 * @any: for any_drop()
 * @rp: the probe itself
 * @entries: how often the entry handler ran, if it has return_probe_entry()
 * @returns: how often the return handler ran
 * @on_entry: called by the entry handler, which returns its result
 * @on_return: called by the return handler
 */
struct return_probe {
	union {
		struct any any;
		struct kretprobe rp;
	};
	atomic_t entries, returns;
	int (*on_entry)(struct return_probe *probe, struct kretprobe_instance *ri,
			struct pt_regs *regs);
	void (*on_return)(struct return_probe *probe, struct kretprobe_instance *ri,
			  struct pt_regs *regs);
};

int return_probe_entry(struct kretprobe_instance *ri, struct pt_regs *regs);
int return_probe_return(struct kretprobe_instance *ri, struct pt_regs *regs);

/*
 * Fields are set as by probe_with(). There is an entry handler if it, or @on_entry, is given. The
 * probe is unregistered when the case ends, if not before.
 */
#define return_probe_with(test, addr, ...)					\
	return_probe_registered_like(test, addr, &(const struct return_probe) { __VA_ARGS__ })
struct return_probe *return_probe_registered_like(struct kunit *test, void *addr,
						  const struct return_probe *like);

/* Completes one whose fields are set, for what it is a part of. It has to be registered. */
void return_probe_init(struct kunit *test, struct return_probe *probe, void *addr);

#endif /* _KPROBES_TESTS_KINDS_H */
