// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kprobes: registering, unregistering, enabling and disabling probes, the table of probed
 * addresses, and the global switch. The code for a single probed address, a site, is in
 * kernel/kprobes/; begin with site.c. The order of locks is in internal.h there, the
 * states of a site are in linux/kprobes_hit.h.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/align.h>
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <asm/sections.h>

#include "kprobes/internal.h"

/* Protects all sites and everything that refers to them; internal.h has the order of locks. */
DEFINE_MUTEX(kprobe_mutex);

/* Sites by address, for lookups at hits. */
struct kprobe_table kprobe_site_table = KPROBE_TABLE_INIT(kprobe_site_table, &kprobe_mutex);

/* All sites; and by address, those among them whose text was freed under their probes. */
LIST_HEAD(kprobe_sites);
DEFINE_HASHTABLE(kprobe_gone_sites, 8);

/* The global switch. Single probes are enabled and disabled independently of it. */
bool kprobes_all_disarmed;

static bool site_has(struct kprobe_site *site, struct kprobe *p)
{
	struct kprobe *other;

	list_for_each_entry(other, &site->probes, list)
		if (other == p)
			return true;
	return false;
}

/**
 * kprobe_site_holding() - find the site that a probe is registered at
 * @p: the probe, which may be garbage: its contents are not trusted
 *
 * Context: kprobe_mutex is held.
 * Return: the site, or NULL.
 */
struct kprobe_site *kprobe_site_holding(struct kprobe *p)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);
	site = kprobe_find_site((unsigned long)p->addr);
	if (site && site_has(site, p))
		return site;
	hash_for_each_possible(kprobe_gone_sites, site, gone, (unsigned long)p->addr)
		if (site_has(site, p))
			return site;
	return NULL;
}

/* The kernel's own init text is about to be freed. */
static bool init_text_goes;

/*
 * kgdb looks for a site where it sets a breakpoint. But it can have done that after the address was
 * checked, before the new site was in the table. Then the site is freed again, and until it is,
 * those who come next find it.
 */
static struct kprobe_site *unless_debugger_stops_at(struct kprobe_site *site)
{
	if (!list_empty(&site->probes) || !kprobe_debugger_stops_there(site))
		return site;
	if (site->state == SITE_IDLE)
		kprobe_retire(site);
	return ERR_PTR(kprobe_refuse(-EINVAL, KPROBE_DEBUGGER_STOPS));
}

/*
 * Finds or creates the site of an address, and pins its module. That does not pin the
 * module's init text; but init text cannot be freed while the mutex is held, because its
 * sites are killed under the mutex first.
 */
static struct kprobe_site *get_site(unsigned long addr, bool on_entry,
				    struct module **mod)
{
	struct kprobe_site *site;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	if (init_text_goes && is_kernel_inittext(addr))
		return ERR_PTR(kprobe_refuse(-EINVAL, "not kernel text"));
	err = kprobe_get_module(addr, mod);
	if (err) {
		/* Nobody may tell the core when the text of this function goes. */
		kprobe_function_forget();
		return ERR_PTR(err);
	}
	site = kprobe_find_site(addr) ?: kprobe_site_create(addr, on_entry);
	if (!IS_ERR(site))
		site = unless_debugger_stops_at(site);
	if (IS_ERR(site))
		module_put(*mod);
	return site;
}

/*
 * Starts a registration: finds the address of the instruction to be probed. On error,
 * kprobe_refuse() has recorded the reason.
 */
static kprobe_opcode_t *wanted_addr(struct kprobe *p, bool *on_entry)
{
	kprobe_opcode_t *addr;
	const char *why;

	lockdep_assert_held(&kprobe_mutex);
	/* Reasons of earlier registrations are forgotten. */
	kprobe_refuse(0, NULL);
	if (kprobe_site_holding(p)) {
		pr_warn("the probe at %pS is registered a second time\n", p->addr);
		return ERR_PTR(kprobe_refuse(-EINVAL, "registered already"));
	}
	addr = kprobe_named(p->addr, p->symbol_name, p->offset, &why);
	if (!IS_ERR(addr))
		addr = kprobe_instruction_at(addr, kprobe_function_at((unsigned long)addr),
					     on_entry, &why);
	if (IS_ERR(addr)) {
		/* As in get_site(). */
		kprobe_function_forget();
		kprobe_refuse(PTR_ERR(addr), why);
	}
	return addr;
}

/* Where no call leaves the return address, none leaves the arguments either. */
static int check_entry(kprobe_opcode_t *addr, bool on_entry)
{
	const char *why = on_entry ? kprobe_not_called((unsigned long)addr)
				   : "not a function's entry";

	return why ? kprobe_refuse(-EINVAL, why) : 0;
}

/* Finds or creates the site for @p, with its module pinned. */
static struct kprobe_site *find_place(struct kprobe *p, const struct kprobe_kind *kind,
				      struct module **mod)
{
	kprobe_opcode_t *addr;
	bool on_entry;
	int err = 0;

	addr = wanted_addr(p, &on_entry);
	if (IS_ERR(addr))
		return ERR_CAST(addr);
	if (kind->check)
		err = check_entry(addr, on_entry) ?: kind->check(p, addr);
	if (err)
		return ERR_PTR(err);
	return get_site((unsigned long)addr, on_entry, mod);
}

/**
 * struct before - what registration changes in a user's probe, as the user passed it
 * @pre_handler: set for return probes and jprobes
 * @post_handler: cleared for return probes
 * @addr:	replaced by the probed address
 * @ainsn:	replaced by that of the site, for hooks that look at it; there is none otherwise
 * @nmissed:	reset to 0
 * @returns:	the other count of a return probe, reset to 0
 * @flags:	replaced by those of the core
 */
struct before {
	kprobe_pre_handler_t	pre_handler;
	kprobe_post_handler_t	post_handler;
	kprobe_opcode_t		*addr;
	struct arch_specific_insn ainsn[!ARCH_KPROBE_STATELESS];
	unsigned long		nmissed;
	int			returns;
	u32			flags;
};

/**
 * struct wanted - a probe that is being registered
 * @p:		the probe
 * @kind:	its kind
 * @own:	what @kind has created for it, until the probe has got that
 * @hint:	about its address, to sort by; has not been checked. A landing pad has that of the
 *		instruction behind it, because a probe on the pad is put there
 * @index:	its place in the caller's array
 * @placed:	it is on its site
 * @before:	@p as the caller passed it
 *
 * All probes of an array are first placed, disabled, and then enabled. So if one cannot
 * be placed, none of the others has been hit.
 */
struct wanted {
	struct kprobe	*p;
	const struct kprobe_kind *kind;
	void		*own;
	unsigned long	hint;
	int		index;
	bool		placed;
	struct before	before;
};

static bool is_kretprobe(const struct wanted *w)
{
	return IS_ENABLED(CONFIG_KRETPROBES) && w->kind == &kretprobe_kind;
}

static void save(struct wanted *w)
{
	struct before *before = &w->before;
	struct kprobe *p = w->p;

	before->pre_handler = p->pre_handler;
	before->post_handler = p->post_handler;
	before->addr = p->addr;
	if (!ARCH_KPROBE_STATELESS)
		*before->ainsn = p->ainsn;
	before->nmissed = p->nmissed;
	before->flags = p->flags;
	if (is_kretprobe(w))
		before->returns = container_of(p, struct kretprobe, kp)->nmissed;
}

static void restore(struct wanted *w)
{
	const struct before *before = &w->before;
	struct kprobe *p = w->p;

	p->pre_handler = before->pre_handler;
	p->post_handler = before->post_handler;
	p->addr = before->addr;
	if (!ARCH_KPROBE_STATELESS)
		p->ainsn = *before->ainsn;
	p->nmissed = before->nmissed;
	p->flags = before->flags;
	if (is_kretprobe(w))
		container_of(p, struct kretprobe, kp)->nmissed = before->returns;
}

static void join_site(struct kprobe_site *site, struct wanted *w)
{
	const struct kprobe_kind *kind = w->kind;
	struct kprobe *p = w->p;

	save(w);
	p->addr = site->kp.addr;
	/* powerpc's hooks look at the copy of what is running, in handlers of returns, too. */
	if (!ARCH_KPROBE_STATELESS)
		p->ainsn = site->kp.ainsn;
	p->nmissed = 0;
	p->flags = KPROBE_FLAG_DISABLED | (p->flags & KPROBE_FLAG_NESTS);
	p->flags |= site->kp.flags & (KPROBE_FLAG_FTRACE | KPROBE_FLAG_ON_FUNC_ENTRY);
	if (kind->pre_handler)
		p->pre_handler = kind->pre_handler;
	if (kind->attach)
		kind->attach(p, w->own);
	kprobe_site_attach(site, p);
	w->placed = true;
}

/* Puts a probe on its site. On failure the probe is as the caller passed it. */
static int place_probe(struct wanted *w)
{
	struct module *mod;
	struct kprobe_site *site = find_place(w->p, w->kind, &mod);

	if (IS_ERR(site))
		return PTR_ERR(site);
	join_site(site, w);
	module_put(mod);
	return 0;
}

/* What is placed by register_kprobe(), and by whom. Protected by kprobe_mutex. */
static struct wanted *placing;
static struct task_struct *placer;

/* Monitors look at register_kprobe() for what is registered. So all of an array go there. */
static int place_next(struct wanted *w)
{
	int err;

	placing = w;
	WRITE_ONCE(placer, current);
	err = register_kprobe(w->p);
	WRITE_ONCE(placer, NULL);
	return err;
}

/**
 * struct failure - why an array of probes was not registered
 * @w:		the probe that failed
 * @err:	what the registration returns; 0 while nothing has failed
 * @reason:	the words for @err; kept here because other probes are tried after @w
 */
struct failure {
	struct wanted		*w;
	int			err;
	struct kprobe_reason	reason;
};

static void note_failure(struct failure *failure, struct wanted *w, int err)
{
	failure->w = w;
	failure->err = err;
	kprobe_reason_save(&failure->reason);
}

/* Lets others have the mutex if so many probes have been dealt with, and there are more. */
static void take_turns(int done, int batch)
{
	if (!done || done % batch)
		return;
	kprobe_unlock();
	cond_resched();
	kprobe_lock();
}

/*
 * The probes are sorted by address. But if several fail, the first one in the caller's
 * order is reported. So after a failure, only those before it in that order are still
 * tried. @seen: register_kprobe() was called for it.
 */
static int place_all(struct wanted *wanted, int num, bool seen, struct failure *failure)
{
	struct wanted *w;
	int i, err;

	for (i = 0; i < num; i++) {
		take_turns(i, KPROBE_BATCH);
		w = &wanted[i];
		if (failure->err && failure->w->index < w->index)
			continue;
		err = seen ? place_probe(w) : place_next(w);
		if (err)
			note_failure(failure, w, err);
	}
	return failure->err;
}

/*
 * If the text has been freed meanwhile, there is nothing to arm. That is no failure: it
 * could just as well have happened right after the registration. If @w is not to be enabled, others
 * at its site that could not be armed before are tried once more, because livepatch may have left.
 */
static void enable_placed(struct wanted *w, struct kprobe_plan *plan)
{
	struct kprobe_site *site = kprobe_site_holding(w->p);
	struct kprobe *p = w->p;

	if (!site)
		return;
	if (!(w->before.flags & KPROBE_FLAG_DISABLED))
		WRITE_ONCE(p->flags, p->flags & ~KPROBE_FLAG_DISABLED);
	kprobe_site_refresh(site, plan);
}

/* Is a probe not hit that should be, or hit where others redirect its function as well? */
static bool not_served(struct kprobe *p)
{
	struct kprobe_site *site = kprobe_disabled(p) ? NULL : kprobe_site_holding(p);

	return site && (kprobe_site_arming_failed(site) ||
			(p->post_handler && kprobe_ftrace_unclaimed(site)));
}

/*
 * Finds the first probe, in the caller's order, that is not served: ftrace was told of many sites
 * at once, and its error does not name one of them.
 */
static struct wanted *first_not_served(struct wanted *wanted, int num)
{
	struct wanted *first = NULL, *w;

	for (w = wanted; w < wanted + num; w++) {
		if (not_served(w->p) && (!first || w->index < first->index))
			first = w;
	}
	return first;
}

/* On error, @failed is set to the probe that could not be enabled. */
static int enable_chunk(struct wanted *wanted, int num, struct wanted **failed)
{
	struct kprobe_plan plan;
	int i, err;

	kprobe_plan_init(&plan);
	for (i = 0; i < num; i++)
		enable_placed(&wanted[i], &plan);
	err = kprobe_plan_apply(&plan);
	*failed = err ? first_not_served(wanted, num) : NULL;
	/* If all of them are served, others at their sites are not, and were not before either. */
	return *failed ? err : 0;
}

static void enable_all(struct wanted *wanted, int num, struct failure *failure)
{
	int i, n, err = 0;

	for (i = 0; i < num && !err; i += n) {
		n = min(num - i, KPROBE_PATCH_BATCH);
		take_turns(i, KPROBE_PATCH_BATCH);
		err = enable_chunk(wanted + i, n, &failure->w);
	}
	failure->err = err;
}

/* Takes probes off their sites, unless somebody else has. Returns whether any was placed. */
static bool remove_placed(struct wanted *wanted, int num, struct llist_head *stopped)
{
	struct kprobe_plan plan;
	struct wanted *w;
	bool any = false;

	kprobe_plan_init(&plan);
	guard(kprobe_lock)();
	for (w = wanted; w < wanted + num; w++) {
		if (!w->placed)
			continue;
		any = true;
		if (kprobe_remove(w->p, &plan) && w->kind->stop)
			w->kind->stop(w->p, stopped);
	}
	kprobe_plan_apply(&plan);
	return any;
}

/* Undoes what add_probes() has done. Whoever removed a probe meanwhile may still wait for hits. */
static void take_back(struct wanted *wanted, int num)
{
	LLIST_HEAD(stopped);
	bool any = false;
	struct wanted *w;
	int i, end;

	for (i = 0; i < num; i = end) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		any |= remove_placed(wanted + i, end - i, &stopped);
	}
	if (any)
		kprobe_wait_for_handlers();
	if (wanted->kind->release)
		wanted->kind->release(&stopped);
	for (w = wanted; w < wanted + num; w++) {
		if (!w->placed)
			continue;
		INIT_LIST_HEAD(&w->p->list);
		restore(w);
	}
}

static int report_failure(const struct failure *failure)
{
	guard(mutex)(&kprobe_mutex);
	kprobe_reason_restore(&failure->reason);
	return kprobe_note_refusal(failure->w->p, failure->err);
}

/* Registers all of the probes, or none. */
static int add_probes(struct wanted *wanted, int num, bool seen)
{
	struct failure failure = {};

	scoped_guard(kprobe_lock) {
		if (!place_all(wanted, num, seen, &failure))
			enable_all(wanted, num, &failure);
	}
	if (!failure.err)
		return 0;
	take_back(wanted, num);
	return report_failure(&failure);
}

/* Creates what the probes have of their own. */
static int create_all(struct wanted *wanted, int num)
{
	struct wanted *w;

	for (w = wanted; w < wanted + num && w->kind->create; w++) {
		void *own = w->kind->create(w->p);

		if (IS_ERR(own))
			return PTR_ERR(own);
		w->own = own;
	}
	return 0;
}

/* Frees what no probe has got. */
static void drop_all(struct wanted *wanted, int num)
{
	struct wanted *w;

	for (w = wanted; w < wanted + num; w++) {
		if (w->own && !w->placed)
			w->kind->drop(w->own);
	}
}

static int by_hint(const void *a, const void *b)
{
	const struct wanted *v = a, *w = b;

	if (v->hint != w->hint)
		return v->hint < w->hint ? -1 : 1;
	return v->index - w->index;
}

/* Functions with a landing pad are aligned to this at least, and it is no longer. */
#define HINT_GRAIN	8

static unsigned long hint_of(struct kprobe *p)
{
	const char *why;
	void *addr = kprobe_named(p->addr, p->symbol_name, p->offset, &why);

	return ALIGN_DOWN((unsigned long)addr, HINT_GRAIN);
}

/*
 * Sorts the probes by address: probes in the same function follow each other then, and
 * what is found out about the function serves all of them.
 */
static void fill_wanted(struct wanted *wanted, struct kprobe **kps, int num,
			const struct kprobe_kind *kind)
{
	bool sorted = true;
	int i;

	for (i = 0; i < num; i++) {
		struct kprobe *p = kps[i];

		cond_resched();
		wanted[i] = (struct wanted){ .p = p, .kind = kind, .index = i };
		if (num > 1)
			wanted[i].hint = hint_of(p);
		sorted &= !i || wanted[i - 1].hint <= wanted[i].hint;
	}
	if (!sorted)
		sort(wanted, num, sizeof(*wanted), by_hint, NULL);
}

static int register_wanted(struct wanted *wanted, int num, bool seen)
{
	int err;

	err = create_all(wanted, num) ?: add_probes(wanted, num, seen);
	if (err)
		drop_all(wanted, num);
	return err;
}

/**
 * kprobe_register() - register probes of any kind
 * @kps: the probes
 * @num: how many
 * @kind: their kind
 *
 * All are placed on their sites first, disabled, and then enabled. So if one cannot be placed,
 * none of the others has been hit. In between, others can register and unregister.
 *
 * Context: may sleep.
 * Return: 0, or the error of the first one that failed, after which none is left planted and all
 * are as the caller passed them.
 */
int kprobe_register(struct kprobe **kps, int num, const struct kprobe_kind *kind)
{
	struct wanted *wanted;
	int err;

	if (num <= 0)
		return kprobe_refuse_number();
	wanted = kvmalloc_array(num, sizeof(*wanted), GFP_KERNEL);
	if (!wanted)
		return kprobe_refuse_early(NULL, -ENOMEM, NULL);
	fill_wanted(wanted, kps, num, kind);
	err = register_wanted(wanted, num, false);
	kvfree(wanted);
	return err;
}

/* Plain probes: each has its own handlers, and nothing else. */
static const struct kprobe_kind kprobe_kind;

/**
 * register_kprobe() - plant a probe
 * @p: what to probe and what to run; belongs to the core until it is unregistered
 *
 * If KPROBE_FLAG_DISABLED is set in its flags, the probe is planted, but its handlers do
 * not run before enable_kprobe() is called. If KPROBE_FLAG_NESTS is set, they may run on top
 * of other handlers.
 *
 * Context: may sleep.
 * Return:
 * * 0 - the probe is planted. After an error, nothing has been changed
 * * -EINVAL - neither or both of addr and symbol_name are set; the address is not
 *   in kernel text, or is in text that must not be probed; @p is registered already
 * * -ENOENT - no such symbol; no symbol covers the address; the module is going away, has
 *   not been announced yet, or is about to free this init text
 * * -EILSEQ - not the start of an instruction
 * * -EOPNOTSUPP, -EINVAL - an instruction that cannot be probed
 * * -ERANGE - an instruction whose operand is out of reach for a copy (x86_64)
 * * -EBUSY - the probe has a post handler, and somebody else redirects this function
 * * -ENODEV - a function entry that ftrace serves, and ftrace has shut itself down
 * * -ENOMEM - no memory, or too many sites wait to be freed
 * * -EAGAIN - kprobes are not set up yet, which an early_initcall() does; or BPF is just
 *   changing its program at this function
 */
noinline __noclone int register_kprobe(struct kprobe *p)
{
	struct wanted wanted;

	if (READ_ONCE(placer) == current)
		return place_probe(placing);
	fill_wanted(&wanted, &p, 1, &kprobe_kind);
	return register_wanted(&wanted, 1, true);
}
EXPORT_SYMBOL_GPL(register_kprobe);

/**
 * register_kprobes() - plant several probes, or none
 * @kps: the probes
 * @num: how many
 *
 * All addresses are checked first, by a call of register_kprobe() for each, which others may look
 * at; then the text is patched, for many probes at once. Others can register and unregister in
 * between. See register_kprobe().
 *
 * Context: may sleep.
 * Return: 0; -EINVAL unless @num is positive; -ENOMEM; the error of the first probe in
 * @kps whose address cannot be probed; or an error of ftrace's. After an error, none is
 * left planted.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	return kprobe_register(kps, num, &kprobe_kind);
}
EXPORT_SYMBOL_GPL(register_kprobes);

/*
 * Removes all probes at an address, given what get_kprobe() returned: sh does that when a
 * breakpoint turns out to be in a delay slot.
 */
static bool remove_all(struct kprobe *kp, struct kprobe_plan *plan)
{
	struct kprobe_site *site = kprobe_find_site((unsigned long)kp->addr);
	struct kprobe *p, *next;

	if (!site || &site->kp != kp)
		return false;
	list_for_each_entry_safe(p, next, &site->probes, list)
		kprobe_site_detach(site, p, plan);
	return true;
}

/**
 * kprobe_remove() - take a probe off its site
 * @p: the probe, registered or not
 * @plan: collects changes to the text
 *
 * Its handlers may still run until the plan has been applied, and
 * kprobe_wait_for_handlers() has returned after that.
 *
 * Context: kprobe_mutex is held.
 * Return: false if @p was not registered.
 */
bool kprobe_remove(struct kprobe *p, struct kprobe_plan *plan)
{
	struct kprobe_site *site = kprobe_site_holding(p);

	lockdep_assert_held(&kprobe_mutex);
	if (!site)
		return remove_all(p, plan);
	kprobe_site_detach(site, p, plan);
	return true;
}

/**
 * unregister_kprobe() - remove a probe
 * @p: the probe
 *
 * See unregister_kprobes().
 *
 * Context: may sleep; not from a handler.
 */
void unregister_kprobe(struct kprobe *p)
{
	unregister_kprobes(&p, 1);
}
EXPORT_SYMBOL_GPL(unregister_kprobe);

static void remove_chunk(struct kprobe **kps, int num, const struct kprobe_kind *kind,
			 struct llist_head *stopped)
{
	struct kprobe_plan plan;
	int i;

	kprobe_plan_init(&plan);
	guard(kprobe_lock)();
	for (i = 0; i < num; i++) {
		if (!kprobe_remove(kps[i], &plan))
			kps[i]->addr = NULL;
		else if (kind->stop)
			kind->stop(kps[i], stopped);
	}
	kprobe_plan_apply(&plan);
}

/**
 * kprobe_unregister() - remove probes of any kind
 * @kps: the probes
 * @num: how many
 * @kind: their kind
 *
 * Context: as unregister_kprobes().
 */
void kprobe_unregister(struct kprobe **kps, int num, const struct kprobe_kind *kind)
{
	LLIST_HEAD(stopped);
	int i, end;

	if (num <= 0)
		return;
	if (kprobe_cannot_sleep()) {
		kprobe_leave_at_once(kps, num, kind);
		return;
	}
	for (i = 0; i < num; i = end) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		remove_chunk(kps + i, end - i, kind, &stopped);
	}
	kprobe_wait_for_handlers();
	if (kind->release)
		kind->release(&stopped);
	for (i = 0; i < num; i++)
		INIT_LIST_HEAD(&kps[i]->list);
}

/*
 * Is it what get_kprobe() returned? Then it is not the caller's, so nobody waits for its handlers:
 * sh removes it from a trap, see remove_all().
 */
static bool is_representative(struct kprobe *p)
{
	guard(preempt)();
	return p == get_kprobe(p->addr);
}

/**
 * unregister_kprobes() - remove probes
 * @kps: the probes. If one is not registered, its address is set to NULL
 * @num: how many
 *
 * When this returns, none of their handlers is running or will run, and the structs
 * belong to the caller again. The text is patched for many probes at once, and all of
 * them share one wait.
 *
 * Context: may sleep; not from a handler. Anywhere else this warns. If only preemption is off, or
 * RCU is held, the probes are removed all the same, and the wait is a busy one; that is noticed
 * with CONFIG_PREEMPT_COUNT, on x86 and arm64. In handlers, in interrupts, with interrupts off, or
 * if somebody else holds up the removal, they are hit no more, but stay registered.
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	if (num == 1 && is_representative(kps[0]))
		remove_chunk(kps, 1, &kprobe_kind, NULL);
	else
		kprobe_unregister(kps, num, &kprobe_kind);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

static int set_probe_disabled(struct kprobe *p, bool disabled)
{
	struct kprobe_site *site = kprobe_site_holding(p);
	const u32 before = p->flags;
	struct kprobe_plan plan;
	int err;

	if (!site)
		return -EINVAL;
	if (kprobe_gone(p))
		return disabled ? 0 : -EINVAL;

	kprobe_plan_init(&plan);
	WRITE_ONCE(p->flags, disabled ? before | KPROBE_FLAG_DISABLED
				      : before & ~KPROBE_FLAG_DISABLED);
	kprobe_site_refresh(site, &plan);
	err = kprobe_plan_apply(&plan);
	/* Only other probes here can fail to be armed, and they were not armed before either. */
	if (disabled)
		return 0;
	if (err) {
		WRITE_ONCE(p->flags, before);
		kprobe_site_refresh(site, &plan);
		kprobe_plan_apply(&plan);
	}
	return err;
}

/**
 * enable_kprobe() - let the handlers of a probe run
 * @p: a registered probe
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @p is not registered or its text is gone; or -EBUSY, -EAGAIN, -ENODEV
 * or -ENOMEM if ftrace cannot serve it, with @p as it was before.
 */
int enable_kprobe(struct kprobe *p)
{
	guard(kprobe_lock)();
	return set_probe_disabled(p, false);
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/**
 * disable_kprobe() - stop the handlers of a probe from running
 * @p: a registered probe, which remains registered
 *
 * This does not wait for handlers that are already running.
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL if @p is not registered.
 */
int disable_kprobe(struct kprobe *p)
{
	guard(kprobe_lock)();
	return set_probe_disabled(p, true);
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/* How many sites are named when the global switch fails for some */
#define FAILURES_NAMED	16

/* Called after the plan was applied: only then is it known what ftrace has refused. */
static void warn_of_failures(int err)
{
	struct kprobe_site *site;
	unsigned int failed = 0;

	list_for_each_entry(site, &kprobe_sites, all) {
		if (kprobe_site_arming_failed(site) && ++failed <= FAILURES_NAMED)
			pr_warn("%pS could not be armed (%d)\n", site->kp.addr, err);
	}
	if (failed > FAILURES_NAMED)
		pr_warn("nor could %u others be armed, see debugfs\n", failed - FAILURES_NAMED);
}

/**
 * kprobe_set_all_armed() - turn the global switch on or off
 * @armed: true for on
 *
 * While it is off, no probe is in the text; probes that are registered or enabled
 * meanwhile are armed when it is turned on again.
 *
 * Context: may sleep.
 * Return: 0, or the last error when some could not be armed. ftrace is told of many at
 * a time; where it refuses one, none of these is armed. All others are.
 */
int kprobe_set_all_armed(bool armed)
{
	struct kprobe_plan plan;
	struct kprobe_site *site;
	int ret;

	kprobe_plan_init(&plan);
	guard(kprobe_lock)();
	if (armed != kprobes_all_disarmed)
		return 0;
	WRITE_ONCE(kprobes_all_disarmed, !armed);
	list_for_each_entry(site, &kprobe_sites, all)
		kprobe_site_refresh(site, &plan);
	ret = kprobe_plan_apply(&plan);
	if (ret)
		warn_of_failures(ret);
	pr_info("all probes are switched %s\n", armed ? "on" : "off");
	return ret;
}

/**
 * kprobe_free_init_mem() - kill the sites in the kernel's init text
 *
 * Called when that text is about to be freed, but still counts as text: ftrace's calls are taken
 * out of it.
 *
 * Context: once, at the end of boot.
 */
void kprobe_free_init_mem(void)
{
	struct kprobe_site *site, *next;

	guard(mutex)(&kprobe_mutex);
	init_text_goes = true;
	kprobe_function_forget();
	list_for_each_entry_safe(site, next, &kprobe_sites, all) {
		if (init_section_contains(site->kp.addr, 1))
			kprobe_site_kill(site);
	}
}

/**
 * dump_kprobe() - print the probe at which something went wrong
 * @kp: the site's kprobe
 *
 * Context: any.
 */
void dump_kprobe(struct kprobe *kp)
{
	pr_err("at the probe on %pS\n", kp->addr);
}

NOKPROBE_SYMBOL(dump_kprobe);

int __weak kprobe_exceptions_notify(struct notifier_block *self,
				    unsigned long val, void *data)
{
	return NOTIFY_DONE;
}

NOKPROBE_SYMBOL(kprobe_exceptions_notify);

/* Called before all others, which must not take a probe's breakpoint for their own. */
static struct notifier_block kprobe_die_nb = {
	.notifier_call	= kprobe_exceptions_notify,
	.priority	= INT_MAX,
};

int __init __weak arch_init_kprobes(void)
{
	return 0;
}

static int __init kprobe_init(void)
{
	int err;

	kprobe_sites_init();
	kprobe_slots_init();
	kprobe_blacklist_init();
	kretprobe_blacklist_init();
	err = arch_init_kprobes();
	if (!err)
		err = register_die_notifier(&kprobe_die_nb);
	if (!err)
		err = kprobe_module_init();
	if (err)
		pr_err("not fully initialized (%d): a probe can crash the kernel\n", err);
	return err;
}
early_initcall(kprobe_init);
