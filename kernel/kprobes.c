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
 * Finds or creates the site of an address, and pins its module. That does not pin the
 * module's init text; but init text cannot be freed while the mutex is held, because its
 * sites are killed under the mutex first.
 */
static struct kprobe_site *get_site(unsigned long addr, bool on_entry, struct module **mod,
				    struct kprobe_reason *reason)
{
	struct kprobe_site *site;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	if (init_text_goes && is_kernel_inittext(addr)) {
		reason->why = "not kernel text";
		return ERR_PTR(-EINVAL);
	}
	err = kprobe_get_module(addr, mod, &reason->why);
	if (err) {
		/* Nobody may tell the core when the text of this function goes. */
		kprobe_function_forget();
		return ERR_PTR(err);
	}
	site = kprobe_find_site(addr) ?: kprobe_site_create(addr, on_entry, reason);
	/*
	 * kgdb may have set a breakpoint between the check of the address and the insertion of
	 * the site. Then the site is of no use. Others find it in the table until it is freed.
	 */
	if (!IS_ERR(site) && list_empty(&site->probes) && kprobe_debugger_stops_there(site)) {
		if (site->state == SITE_IDLE)
			kprobe_retire(site);
		reason->why = KPROBE_DEBUGGER_STOPS;
		site = ERR_PTR(-EINVAL);
	}
	if (IS_ERR(site))
		module_put(*mod);
	return site;
}

/* Finds the address of the instruction that @p asks for. */
static kprobe_opcode_t *wanted_addr(struct kprobe *p, bool *on_entry, const char **why)
{
	kprobe_opcode_t *addr;

	lockdep_assert_held(&kprobe_mutex);
	if (kprobe_site_holding(p)) {
		pr_warn("the probe at %pS is registered a second time\n", p->addr);
		*why = "registered already";
		return ERR_PTR(-EINVAL);
	}
	addr = kprobe_named(p->addr, p->symbol_name, p->offset, why);
	if (!IS_ERR(addr))
		addr = kprobe_instruction_at(addr, kprobe_function_at((unsigned long)addr),
					     on_entry, why);
	if (IS_ERR(addr))
		/* As in get_site(). */
		kprobe_function_forget();
	return addr;
}

/**
 * struct request - a probe that is being registered
 * @p:		the probe
 * @kind:	its kind
 * @own:	what @kind has created for it, until the probe has got that
 * @hint:	about its address, to sort by; has not been checked. A landing pad has that of the
 *		instruction behind it, because a probe on the pad is put there
 * @index:	its place in the caller's array
 * @placed:	it is on its site
 * @before:	@p as the caller passed it
 * @misses:	the other count of misses that its kind has, as the caller passed it
 * @err:	why it is refused
 * @reason:	the words for @err
 *
 * All probes of an array are first placed, disabled, and then enabled. So if one cannot
 * be placed, none of the others has been hit.
 */
struct request {
	struct kprobe	*p;
	const struct kprobe_kind *kind;
	void		*own;
	unsigned long	hint;
	int		index;
	bool		placed;
	struct kprobe	before;
	int		misses;
	int		err;
	struct kprobe_reason reason;
};

/* Finds or creates the site that a probe asks for, with its module pinned. */
static struct kprobe_site *find_or_create(struct request *r, struct module **mod)
{
	const struct kprobe_kind *kind = r->kind;
	const char **why = &r->reason.why;
	kprobe_opcode_t *addr;
	bool on_entry;

	addr = wanted_addr(r->p, &on_entry, why);
	if (IS_ERR(addr))
		return ERR_CAST(addr);
	if (kind->check) {
		/* Where no call leaves the return address, none leaves the arguments either. */
		*why = on_entry ? kprobe_not_called((unsigned long)addr) :
				  "not a function's entry";
		*why = *why ?: kind->check(r->p, addr);
		if (*why)
			return ERR_PTR(-EINVAL);
	}
	return get_site((unsigned long)addr, on_entry, mod, &r->reason);
}

static void join_site(struct kprobe_site *site, struct request *r)
{
	const struct kprobe_kind *kind = r->kind;
	struct kprobe *p = r->p;

	r->before = *p;
	p->addr = site->kp.addr;
	/* powerpc's hooks look at the copy of what is running, in handlers of returns, too. */
	if (!ARCH_KPROBE_STATELESS)
		p->ainsn = site->kp.ainsn;
	p->nmissed = 0;
	p->flags = KPROBE_FLAG_DISABLED | (p->flags & KPROBE_FLAG_NESTS);
	p->flags |= site->kp.flags & (KPROBE_FLAG_FTRACE | KPROBE_FLAG_ON_FUNC_ENTRY);
	if (kind->pre_handler)
		p->pre_handler = kind->pre_handler;
	if (kind->misses) {
		r->misses = *kind->misses(p);
		*kind->misses(p) = 0;
	}
	if (kind->attach)
		kind->attach(p, r->own);
	kprobe_site_attach(site, p);
	r->placed = true;
}

/* Puts a probe on its site. On failure the probe is as the caller passed it. */
static int place_probe(struct request *r)
{
	struct module *mod;
	struct kprobe_site *site = find_or_create(r, &mod);

	if (IS_ERR(site))
		return PTR_ERR(site);
	join_site(site, r);
	module_put(mod);
	return 0;
}

/* What is placed by register_kprobe(), and by whom. Protected by kprobe_mutex. */
static struct request *placing;
static struct task_struct *placer;

/* Monitors look at register_kprobe() for what is registered. So all of an array go there. */
static int place_next(struct request *r)
{
	int err;

	placing = r;
	WRITE_ONCE(placer, current);
	err = register_kprobe(r->p);
	WRITE_ONCE(placer, NULL);
	return err;
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
 * order is returned. So after a failure, only those before it in that order are still
 * tried. @seen: register_kprobe() was called for it.
 */
static struct request *place_all(struct request *requests, int num, bool seen)
{
	struct request *failed = NULL, *r;

	for (r = requests; r < requests + num; r++) {
		take_turns(r - requests, KPROBE_BATCH);
		if (failed && failed->index < r->index)
			continue;
		r->err = seen ? place_probe(r) : place_next(r);
		if (r->err)
			failed = r;
	}
	return failed;
}

/*
 * If the text has been freed meanwhile, there is nothing to arm. That is no failure: it
 * could just as well have happened right after the registration. If @r is not to be enabled, others
 * at its site that could not be armed before are tried once more, because livepatch may have left.
 */
static void enable_placed(struct request *r, struct kprobe_plan *plan)
{
	struct kprobe_site *site = kprobe_site_holding(r->p);
	struct kprobe *p = r->p;

	if (!site)
		return;
	if (!(r->before.flags & KPROBE_FLAG_DISABLED))
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
static struct request *first_not_served(struct request *requests, int num)
{
	struct request *first = NULL, *r;

	for (r = requests; r < requests + num; r++) {
		if (not_served(r->p) && (!first || r->index < first->index))
			first = r;
	}
	return first;
}

/* Returns the first probe, in the caller's order, that could not be enabled. */
static struct request *enable_chunk(struct request *requests, int num)
{
	struct request *failed;
	struct kprobe_plan plan;
	int i, err;

	kprobe_plan_init(&plan);
	for (i = 0; i < num; i++)
		enable_placed(&requests[i], &plan);
	err = kprobe_plan_apply(&plan);
	if (!err)
		return NULL;
	failed = first_not_served(requests, num);
	/* If all of them are served, others at their sites are not, and were not before either. */
	if (failed)
		failed->err = err;
	return failed;
}

static struct request *enable_all(struct request *requests, int num)
{
	struct request *failed = NULL;
	int i, n;

	for (i = 0; i < num && !failed; i += n) {
		n = min(num - i, KPROBE_PATCH_BATCH);
		take_turns(i, KPROBE_PATCH_BATCH);
		failed = enable_chunk(requests + i, n);
	}
	return failed;
}

/* Takes probes off their sites, unless somebody else has. Returns whether any was placed. */
static bool remove_placed(struct request *requests, int num, struct llist_head *stopped)
{
	struct kprobe_plan plan;
	struct request *r;
	bool any = false;

	kprobe_plan_init(&plan);
	guard(kprobe_lock)();
	for (r = requests; r < requests + num; r++) {
		if (!r->placed)
			continue;
		any = true;
		if (kprobe_remove(r->p, &plan) && r->kind->stop)
			r->kind->stop(r->p, stopped);
	}
	kprobe_plan_apply(&plan);
	return any;
}

/* Undoes all that was done. Whoever removed a probe meanwhile may still wait for hits. */
static void take_back(struct request *requests, int num)
{
	const struct kprobe_kind *kind = requests->kind;
	LLIST_HEAD(stopped);
	struct request *r;
	bool any = false;
	int i, end;

	for (i = 0; i < num; i = end) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		any |= remove_placed(requests + i, end - i, &stopped);
	}
	if (any)
		kprobe_wait_for_handlers();
	if (kind->release)
		kind->release(&stopped);
	for (r = requests; r < requests + num; r++) {
		if (r->placed) {
			*r->p = r->before;
			INIT_LIST_HEAD(&r->p->list);
			if (kind->misses)
				*kind->misses(r->p) = r->misses;
		} else if (r->own) {
			kind->drop(r->own);
		}
	}
}

/* Creates what the probes have of their own. Returns the first one for which that failed. */
static struct request *create_all(struct request *requests, int num)
{
	struct request *r;

	for (r = requests; r < requests + num && r->kind->create; r++) {
		void *own = r->kind->create(r->p, &r->reason.why);

		if (IS_ERR(own)) {
			r->err = PTR_ERR(own);
			return r;
		}
		r->own = own;
	}
	return NULL;
}

static int by_hint(const void *a, const void *b)
{
	const struct request *v = a, *w = b;

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
static void fill_requests(struct request *requests, struct kprobe **kps, int num,
			  const struct kprobe_kind *kind)
{
	bool sorted = true;
	int i;

	for (i = 0; i < num; i++) {
		struct kprobe *p = kps[i];

		cond_resched();
		requests[i] = (struct request){ .p = p, .kind = kind, .index = i };
		if (num > 1)
			requests[i].hint = hint_of(p);
		sorted &= !i || requests[i - 1].hint <= requests[i].hint;
	}
	if (!sorted)
		sort(requests, num, sizeof(*requests), by_hint, NULL);
}

/* Registers all of the probes, or none. */
static int register_all(struct request *requests, int num, bool seen)
{
	struct request *failed = create_all(requests, num);

	if (!failed) {
		guard(kprobe_lock)();
		failed = place_all(requests, num, seen) ?: enable_all(requests, num);
	}
	if (!failed)
		return 0;
	take_back(requests, num);
	return kprobe_note_refusal(failed->p, failed->err, failed->reason);
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
	struct kprobe_reason reason = {};
	struct request *requests;
	int err;

	if (num <= 0) {
		reason.why = "the number of probes is not positive";
		return kprobe_note_refusal(NULL, -EINVAL, reason);
	}
	requests = kvmalloc_array(num, sizeof(*requests), GFP_KERNEL);
	if (!requests)
		return kprobe_note_refusal(NULL, -ENOMEM, reason);
	fill_requests(requests, kps, num, kind);
	err = register_all(requests, num, false);
	kvfree(requests);
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
	struct request request;

	if (READ_ONCE(placer) == current)
		return place_probe(placing);
	fill_requests(&request, &p, 1, &kprobe_kind);
	return register_all(&request, 1, true);
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
