// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registering probes of any kind: all of an array, or none.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "internal.h"

/*
 * Finds or creates the site of an address, and pins its module. That does not pin the module's init
 * text; but this cannot be freed while the mutex is held, because its sites are killed under the
 * mutex first.
 */
static struct kprobe_site *get_site(unsigned long addr, bool on_entry, struct module **mod,
				    struct kprobe_reason *reason)
{
	struct kprobe_site *site;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	err = kprobe_get_module(addr, mod, &reason->why);
	if (err) {
		/* Perhaps nobody tells the core when the text of this function goes. */
		kprobe_function_forget();
		return ERR_PTR(err);
	}
	site = kprobe_find_site(addr) ?: kprobe_site_create(addr, on_entry, reason);
	/*
	 * kgdb may have set a breakpoint between the check of the address and the insertion of the
	 * site. Then the site is of no use, but stays in the table until it is freed.
	 */
	if (!IS_ERR(site) && list_empty(&site->probes) && kprobe_debugger_stops_at_site(site)) {
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

/*
 * A probe that is being registered. All probes of an array are first placed, disabled, and then
 * enabled. So if one cannot be placed, none of the others has been hit.
 */
struct request {
	struct kprobe	*p;
	const struct kprobe_kind *kind;
	void		*own;		/* what @kind has created, until the probe has got that */
	unsigned long	hint;		/* about its address, to sort by; has not been checked */
	int		index;		/* in the caller's array */
	bool		placed;		/* it is on its site */
	struct kprobe	before;		/* @p as the caller passed it */
	int		misses;		/* and the other count of misses, if its kind has one */
	int		err;		/* why it is refused, and the words for that */
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
	/* powerpc looks at the copy of what is running, in handlers of returns, too. */
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

/* Monitors look at register_kprobe() for what is registered. So each of an array goes there. */
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
 * The probes are sorted by address. But if several fail, the first one in the caller's order
 * counts. So after a failure, only those before it in that order are still tried. @seen:
 * register_kprobe() was called for it.
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
 * If the text has been freed meanwhile, there is nothing to arm. That is no failure: it could just
 * as well have happened right after the registration. A probe that is registered disabled needs
 * this, too: others at its site that could not be armed are tried once more, because livepatch may
 * have left.
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

/*
 * Finds out a probe that is not hit; or has a post handler, but others redirect its function, so
 * that it could not be claimed.
 */
static bool not_served(struct kprobe *p)
{
	struct kprobe_site *site = kprobe_disabled(p) ? NULL : kprobe_site_holding(p);

	return site && (kprobe_site_arming_failed(site) ||
			(p->post_handler && site->has_post_handler && site->hook &&
			 !(site->hook & KPROBE_HOOK_KEEPS_OFF)));
}

/*
 * Returns the first probe, in the caller's order, that could not be enabled. ftrace was told of
 * many sites at once, and its error does not name one of them. If the plan fails but all of these
 * probes are served, others at their sites are not, and were not before either.
 */
static struct request *enable_chunk(struct request *requests, struct request *end)
{
	struct request *failed = NULL, *r;
	DEFINE_KPROBE_PLAN(plan);
	int err;

	for (r = requests; r < end; r++)
		enable_placed(r, &plan);
	err = kprobe_plan_apply(&plan);
	if (!err)
		return NULL;
	for (r = requests; r < end; r++) {
		if (not_served(r->p) && (!failed || r->index < failed->index))
			failed = r;
	}
	if (failed)
		failed->err = err;
	return failed;
}

static struct request *enable_all(struct request *requests, int num)
{
	struct request *failed = NULL;
	int i;

	for (i = 0; i < num && !failed; i += KPROBE_PATCH_BATCH) {
		take_turns(i, KPROBE_PATCH_BATCH);
		failed = enable_chunk(requests + i, requests + min(num, i + KPROBE_PATCH_BATCH));
	}
	return failed;
}

/* Takes probes off their sites, unless somebody else has. Returns whether any was placed. */
static bool remove_placed(struct request *requests, int num, struct llist_head *stopped)
{
	DEFINE_KPROBE_PLAN(plan);
	struct request *r;
	bool any = false;

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

/* Undoes all that was done. If somebody else has removed a probe, he may still wait for hits. */
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

/*
 * Functions with a landing pad are aligned to this at least, and it is no longer. A probe on the
 * pad is put on the instruction behind it, and both have the same hint.
 */
#define HINT_GRAIN	8

/*
 * Sorts the probes by address: those in the same function follow each other then, and what is found
 * out about the function serves all of them.
 */
static void fill_requests(struct request *requests, struct kprobe **kps, int num,
			  const struct kprobe_kind *kind)
{
	bool sorted = true;
	const char *why;
	void *addr;
	int i;

	for (i = 0; i < num; i++) {
		struct kprobe *p = kps[i];

		cond_resched();
		requests[i] = (struct request){ .p = p, .kind = kind, .index = i };
		if (num > 1) {
			addr = kprobe_named(p->addr, p->symbol_name, p->offset, &why);
			requests[i].hint = ALIGN_DOWN((unsigned long)addr, HINT_GRAIN);
		}
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

/*
 * Registers probes of any kind, all or none, and returns the error of the first one that failed.
 * Then all are as the caller passed them. In between, others can register and unregister.
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
	requests = kvmalloc_array(num, sizeof(*requests), GFP_KERNEL | __GFP_NOWARN);
	if (!requests)
		return kprobe_note_refusal(NULL, -ENOMEM, reason);
	fill_requests(requests, kps, num, kind);
	err = register_all(requests, num, false);
	kvfree(requests);
	return err;
}

/* Does the work of register_kprobe(). */
int kprobe_register_one(struct kprobe *p, const struct kprobe_kind *kind)
{
	struct request request;

	/* It may be the next one of an array: see place_next(). */
	if (READ_ONCE(placer) == current)
		return place_probe(placing);
	fill_requests(&request, &p, 1, kind);
	return register_all(&request, 1, true);
}
