// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kprobes: the front desk. Takes probes in and gives them back, keeps the table
 * of probed addresses and the global switch. What stands at an address is in
 * kernel/kprobes/, site.c first; the locks are in internal.h there, the states in
 * linux/kprobes_hit.h.
 */
#define pr_fmt(fmt) "kprobes: " fmt

#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sort.h>
#include <asm/sections.h>

#include "kprobes/internal.h"

/* Protects all sites, and all that refers to them; internal.h has the order of locks. */
DEFINE_MUTEX(kprobe_mutex);

/* Sites by address, for lookups at hits. */
struct kprobe_table kprobe_site_table = KPROBE_TABLE_INIT(kprobe_site_table, &kprobe_mutex);

/* All sites, and those among them whose text was freed. */
LIST_HEAD(kprobe_sites);
LIST_HEAD(kprobe_gone_sites);

/* The global switch, beside what is enabled and disabled of single probes. */
bool kprobes_all_disarmed;

static bool site_has(struct kprobe_site *site, struct kprobe *p)
{
	struct kprobe *other;

	list_for_each_entry(other, &site->probes, list)
		if (other == p)
			return true;
	return false;
}

/* The site @p is registered at, or NULL. Nothing in @p is relied on: it may be garbage. */
static struct kprobe_site *site_holding(struct kprobe *p)
{
	struct kprobe_site *site;

	lockdep_assert_held(&kprobe_mutex);
	site = kprobe_find_site((unsigned long)p->addr);
	if (site && site_has(site, p))
		return site;
	list_for_each_entry(site, &kprobe_gone_sites, leaving)
		if (site_has(site, p))
			return site;
	return NULL;
}

/**
 * kprobe_is_registered() - is a probe on some site?
 * @p: the probe, of which nothing is relied on
 *
 * Context: kprobe_mutex is held.
 * Return: true if so.
 */
bool kprobe_is_registered(struct kprobe *p)
{
	return site_holding(p);
}

/*
 * A jump calls handlers in the context of the probed code, and nothing in
 * preempt_count() shows it. Only the mark does.
 */
static bool in_handler(void)
{
	guard(preempt_notrace)();
	return kprobe_mark_entered(kprobe_own_mark(arch_kprobe_level()));
}

/**
 * kprobe_cannot_wait() - warn of a caller that must not wait for handlers
 *
 * One of the handlers might be the caller itself, and the wait would never end. To
 * leave the probe registered is the lesser evil.
 *
 * Context: any.
 * Return: true after the warning; false when the caller may wait.
 */
bool kprobe_cannot_wait(void)
{
	return WARN(in_interrupt() || irqs_disabled() || in_handler() ||
		    (IS_ENABLED(CONFIG_PREEMPT_COUNT) && in_atomic()),
		    "kprobes: a probe is unregistered where nobody can sleep\n");
}

/*
 * The site of an address, made if need be, with its module pinned. Pinning does not
 * keep a module's init text; but that cannot be freed before the mutex is released,
 * because its sites are killed under the mutex first.
 */
static struct kprobe_site *get_site(unsigned long addr, bool on_entry,
				    struct module **mod)
{
	struct kprobe_site *site;
	int err;

	lockdep_assert_held(&kprobe_mutex);
	err = kprobe_get_module(addr, mod);
	if (err)
		return ERR_PTR(err);
	site = kprobe_find_site(addr) ?: kprobe_site_create(addr, on_entry);
	if (IS_ERR(site))
		module_put(*mod);
	return site;
}

/*
 * Begins a registration: finds the address of the instruction that is to be probed.
 * Why there is none has been written down by kprobe_refuse() then.
 */
static kprobe_opcode_t *wanted_addr(struct kprobe *p, bool *on_entry)
{
	kprobe_opcode_t *addr;
	const char *why;

	lockdep_assert_held(&kprobe_mutex);
	kprobe_refusal_begin();
	if (kprobe_is_registered(p)) {
		pr_warn("the probe at %pS is registered a second time\n", p->addr);
		return ERR_PTR(kprobe_refuse(-EINVAL, "registered already"));
	}
	addr = kprobe_named(p->addr, p->symbol_name, p->offset, &why);
	if (!IS_ERR(addr))
		addr = kprobe_instruction_at(addr, kprobe_function_at((unsigned long)addr),
					     on_entry, &why);
	if (IS_ERR(addr))
		kprobe_refuse(PTR_ERR(addr), why);
	return addr;
}

/**
 * kprobe_find_entry() - find the function entry that a probe asks for
 * @p: the probe, which was not registered yet
 *
 * Context: kprobe_mutex is held.
 * Return: the address, or an ERR_PTR(), and kprobe_refuse() has been told why.
 */
kprobe_opcode_t *kprobe_find_entry(struct kprobe *p)
{
	kprobe_opcode_t *addr;
	bool on_entry;

	addr = wanted_addr(p, &on_entry);
	if (!IS_ERR(addr) && !on_entry)
		return ERR_PTR(kprobe_refuse(-EINVAL, "not a function's entry"));
	return addr;
}

/* The site that @p is to be added to, with its module pinned. */
static struct kprobe_site *find_place(struct kprobe *p, struct module **mod)
{
	kprobe_opcode_t *addr;
	bool on_entry;

	addr = wanted_addr(p, &on_entry);
	if (IS_ERR(addr))
		return ERR_CAST(addr);
	return get_site((unsigned long)addr, on_entry, mod);
}

/**
 * struct wanted - a probe that is being registered
 * @p:		the probe
 * @hint:	its address before that was checked, to sort by
 * @index:	its place in the caller's array
 * @placed:	it is on its site
 * @before:	@p as the caller has passed it
 *
 * The probes of an array are placed disabled, and enabled when all of them have been
 * placed: if one fails, none of the others has been hit.
 */
struct wanted {
	struct kprobe	*p;
	unsigned long	hint;
	int		index;
	bool		placed;
	struct kprobe_before before;
};

static void restore_probe(struct wanted *w)
{
	kprobe_restore(w->p, &w->before);
	w->placed = false;
}

static void join_site(struct kprobe_site *site, struct wanted *w)
{
	struct kprobe_plan plan;
	struct kprobe *p = w->p;

	kprobe_plan_init(&plan);
	kprobe_save(&w->before, p);
	p->addr = site->kp.addr;
	p->nmissed = 0;
	p->flags = KPROBE_FLAG_DISABLED;
	p->flags |= site->kp.flags & (KPROBE_FLAG_FTRACE | KPROBE_FLAG_ON_FUNC_ENTRY);
	kprobe_site_attach(site, p, &plan);
	kprobe_plan_apply(&plan);
	w->placed = true;
}

/* Puts a probe on its site. On failure the probe is as the caller passed it. */
static int place_probe(struct wanted *w)
{
	struct module *mod;
	struct kprobe_site *site = find_place(w->p, &mod);

	if (IS_ERR(site))
		return PTR_ERR(site);
	join_site(site, w);
	module_put(mod);
	return 0;
}

/**
 * struct failure - why none of the probes of an array is registered
 * @w:		the probe that could not be
 * @err:	what the registration returns, 0 while nothing has failed
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

/*
 * The probes are sorted, but of several that fail, the first in the caller's order is
 * the one to be reported. So those behind it in that order need not be tried.
 */
static int place_all(struct wanted *wanted, int num, struct failure *failure)
{
	struct wanted *w;
	int i, end, err;

	for (i = 0; i < num;) {
		end = kprobe_next_chunk(i, num, KPROBE_BATCH);
		guard(mutex)(&kprobe_mutex);
		for (; i < end; i++) {
			w = &wanted[i];
			if (failure->err && failure->w->index < w->index)
				continue;
			err = place_probe(w);
			if (err)
				note_failure(failure, w, err);
		}
	}
	return failure->err;
}

/*
 * If the text was freed meanwhile there is nothing left to be armed. That is no failure:
 * it could as well have happened right after the registration.
 */
static int enable_placed(struct wanted *w, struct kprobe_plan *plan)
{
	struct kprobe_site *site = site_holding(w->p);
	struct kprobe *p = w->p;
	int err;

	if (!site || w->before.flags & KPROBE_FLAG_DISABLED)
		return 0;
	WRITE_ONCE(p->flags, p->flags & ~KPROBE_FLAG_DISABLED);
	err = kprobe_site_refresh(site, plan);
	if (err) {
		WRITE_ONCE(p->flags, p->flags | KPROBE_FLAG_DISABLED);
		kprobe_site_refresh(site, plan);
	}
	return err;
}

/*
 * Of the probes that should be hit and are not, the first in the caller's order: ftrace
 * may have failed only when it was told of many sites at once.
 */
static struct wanted *first_not_armed(struct wanted *wanted, int num)
{
	struct wanted *first = NULL, *w;
	struct kprobe_site *site;

	for (w = wanted; w < wanted + num; w++) {
		site = kprobe_disabled(w->p) ? NULL : site_holding(w->p);
		if (site && kprobe_site_arming_failed(site) &&
		    (!first || w->index < first->index))
			first = w;
	}
	return first;
}

/* On an error @failed is the probe that could not be enabled. */
static int enable_chunk(struct wanted *wanted, int num, struct wanted **failed)
{
	struct kprobe_plan plan;
	int i, late, err = 0;

	kprobe_plan_init(&plan);
	guard(mutex)(&kprobe_mutex);
	for (i = 0; i < num && !err; i++) {
		*failed = &wanted[i];
		err = enable_placed(&wanted[i], &plan);
	}
	late = kprobe_plan_apply(&plan);
	if (late && !err)
		*failed = first_not_armed(wanted, num) ?: *failed;
	return err ?: late;
}

static int enable_all(struct wanted *wanted, int num, struct failure *failure)
{
	int i, end, err = 0;

	for (i = 0; i < num && !err; i = end) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		err = enable_chunk(wanted + i, end - i, &failure->w);
	}
	failure->err = err;
	return err;
}

/* Takes all probes that were placed off their sites again. */
static void take_back(struct wanted *wanted, int num)
{
	struct kprobe_plan plan;
	bool any = false;
	int i, end;

	for (i = 0; i < num;) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		kprobe_plan_init(&plan);
		guard(mutex)(&kprobe_mutex);
		for (; i < end; i++) {
			if (wanted[i].placed)
				any |= kprobe_remove(wanted[i].p, &plan);
		}
		kprobe_plan_apply(&plan);
	}
	if (any)
		kprobe_wait_for_handlers();
	for (i = 0; i < num; i++) {
		if (!wanted[i].placed)
			continue;
		INIT_LIST_HEAD(&wanted[i].p->list);
		restore_probe(&wanted[i]);
	}
}

static int report_failure(const struct failure *failure)
{
	guard(mutex)(&kprobe_mutex);
	kprobe_reason_restore(&failure->reason);
	return kprobe_note_refusal(failure->w->p, failure->err);
}

/* Adds all of the probes, or none. */
static int add_probes(struct wanted *wanted, int num)
{
	struct failure failure = {};

	if (!place_all(wanted, num, &failure) && !enable_all(wanted, num, &failure))
		return 0;
	take_back(wanted, num);
	return report_failure(&failure);
}

static int by_hint(const void *a, const void *b)
{
	const struct wanted *v = a, *w = b;

	if (v->hint != w->hint)
		return v->hint < w->hint ? -1 : 1;
	return v->index - w->index;
}

/*
 * Sorted by address, probes in the same function follow each other, and what is found
 * out about that function serves all of them.
 */
static void fill_wanted(struct wanted *wanted, struct kprobe **kps, int num)
{
	bool sorted = true;
	const char *why;
	int i;

	for (i = 0; i < num; i++) {
		struct kprobe *p = kps[i];

		cond_resched();
		wanted[i] = (struct wanted){ .p = p, .index = i };
		if (num > 1)
			wanted[i].hint = (unsigned long)kprobe_named(p->addr, p->symbol_name,
								     p->offset, &why);
		sorted &= !i || wanted[i - 1].hint <= wanted[i].hint;
	}
	if (!sorted)
		sort(wanted, num, sizeof(*wanted), by_hint, NULL);
}

/**
 * register_kprobe() - plant a probe
 * @p: what to probe and what to run; belongs to the core until it is unregistered
 *
 * With KPROBE_FLAG_DISABLED in its flags the probe is planted, but does not run
 * before enable_kprobe().
 *
 * Context: may sleep.
 * Return:
 * * 0. In all other cases nothing has been changed
 * * -EINVAL - not exactly one of addr and symbol_name; no kernel text; text
 *   that must not be probed; @p is registered already
 * * -ENOENT - no such symbol, no symbol covers the address, or the module is
 *   going, or not there yet, or its init text has gone
 * * -EILSEQ - not the start of an instruction
 * * -EOPNOTSUPP, -EINVAL - an instruction that cannot be probed
 * * -ERANGE - its operand is too far from where a copy could be (x86_64)
 * * -EBUSY - somebody else redirects this function
 * * -ENODEV - ftrace, which is to call for it, has shut itself down
 * * -ENOMEM - no memory
 */
int register_kprobe(struct kprobe *p)
{
	struct wanted wanted;

	fill_wanted(&wanted, &p, 1);
	return add_probes(&wanted, 1);
}
EXPORT_SYMBOL_GPL(register_kprobe);

/**
 * register_kprobes() - plant several probes, or none
 * @kps: the probes
 * @num: how many
 *
 * First all addresses are checked, and then the text is patched for many of them at
 * once. Others can register and unregister meanwhile. See register_kprobe().
 *
 * Context: may sleep.
 * Return: 0, -EINVAL unless @num is positive, -ENOMEM, or the error of the first
 * that failed, with none left planted.
 */
int register_kprobes(struct kprobe **kps, int num)
{
	struct wanted *wanted;
	int err;

	if (num <= 0)
		return kprobe_refuse_number();
	wanted = kvmalloc_array(num, sizeof(*wanted), GFP_KERNEL);
	if (!wanted)
		return kprobe_refuse_early(NULL, -ENOMEM, NULL);
	fill_wanted(wanted, kps, num);
	err = add_probes(wanted, num);
	kvfree(wanted);
	return err;
}
EXPORT_SYMBOL_GPL(register_kprobes);

/*
 * All probes at an address, through what get_kprobe() has returned: sh does that when
 * a breakpoint turns out to be in a delay slot.
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
 * @plan: where changes of the text are collected
 *
 * Its handlers may run until the plan has been carried out, and then
 * kprobe_wait_for_handlers() has returned.
 *
 * Context: kprobe_mutex is held.
 * Return: false when @p was not registered.
 */
bool kprobe_remove(struct kprobe *p, struct kprobe_plan *plan)
{
	struct kprobe_site *site = site_holding(p);

	if (!site)
		return remove_all(p, plan);
	kprobe_site_detach(site, p, plan);
	return true;
}

/**
 * unregister_kprobe() - take a probe out
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

static void remove_chunk(struct kprobe **kps, int num)
{
	struct kprobe_plan plan;
	int i;

	kprobe_plan_init(&plan);
	guard(mutex)(&kprobe_mutex);
	for (i = 0; i < num; i++) {
		if (!kprobe_remove(kps[i], &plan))
			kps[i]->addr = NULL;
	}
	kprobe_plan_apply(&plan);
}

/**
 * unregister_kprobes() - take probes out
 * @kps: the probes; one that is not registered gets a NULL address
 * @num: how many
 *
 * When this returns no handler of theirs is running or will run, and the
 * structs are the caller's again. The text is patched for many of them at once,
 * and one wait serves all.
 *
 * Context: may sleep; not from a handler.
 */
void unregister_kprobes(struct kprobe **kps, int num)
{
	int i, end;

	if (num <= 0 || kprobe_cannot_wait())
		return;
	for (i = 0; i < num; i = end) {
		end = kprobe_next_chunk(i, num, KPROBE_PATCH_BATCH);
		remove_chunk(kps + i, end - i);
	}

	kprobe_wait_for_handlers();
	for (i = 0; i < num; i++)
		INIT_LIST_HEAD(&kps[i]->list);
}
EXPORT_SYMBOL_GPL(unregister_kprobes);

static int set_probe_disabled(struct kprobe *p, bool disabled)
{
	struct kprobe_site *site = site_holding(p);
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
	err = kprobe_site_refresh(site, &plan);
	err = kprobe_plan_apply(&plan) ?: err;
	/* This can only fail for others at the site, which could not be armed before either. */
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
 * Return: 0; -EINVAL when @p is not registered or its text is gone; an error
 * of ftrace's, with @p disabled as before.
 */
int enable_kprobe(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);
	return set_probe_disabled(p, false);
}
EXPORT_SYMBOL_GPL(enable_kprobe);

/**
 * disable_kprobe() - let the handlers of a probe rest, without taking it out
 * @p: a registered probe
 *
 * A handler that is running goes on: this does not wait for it.
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL when @p is not registered.
 */
int disable_kprobe(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);
	return set_probe_disabled(p, true);
}
EXPORT_SYMBOL_GPL(disable_kprobe);

/* Called after the plan was applied: only then it is known what ftrace has refused. */
static void warn_of_failures(int err)
{
	struct kprobe_site *site;

	list_for_each_entry(site, &kprobe_sites, all) {
		if (kprobe_site_arming_failed(site))
			pr_warn("%pS could not be armed (%d)\n", site->kp.addr, err);
	}
}

/**
 * kprobe_set_all_armed() - the global switch
 * @armed: on or off
 *
 * Off, no probe is in the text, and what is registered or enabled meanwhile
 * only gets there when the switch is on again.
 *
 * Context: may sleep.
 * Return: 0, or the last error when some could not be armed. ftrace is told of many at
 * a time; where it refuses one, none of these is armed. All others are.
 */
int kprobe_set_all_armed(bool armed)
{
	struct kprobe_plan plan;
	struct kprobe_site *site;
	int ret = 0;

	kprobe_plan_init(&plan);
	guard(mutex)(&kprobe_mutex);
	if (armed != kprobes_all_disarmed)
		return 0;
	WRITE_ONCE(kprobes_all_disarmed, !armed);
	list_for_each_entry(site, &kprobe_sites, all)
		ret = kprobe_site_refresh(site, &plan) ?: ret;
	ret = kprobe_plan_apply(&plan) ?: ret;
	if (ret)
		warn_of_failures(ret);
	pr_info("all probes are switched %s\n", armed ? "on" : "off");
	return ret;
}

/**
 * kprobe_free_init_mem() - the kernel's init text is about to be freed
 *
 * Context: once, at the end of boot.
 */
void kprobe_free_init_mem(void)
{
	struct kprobe_site *site, *next;

	guard(mutex)(&kprobe_mutex);
	kprobe_function_forget();
	list_for_each_entry_safe(site, next, &kprobe_sites, all) {
		if (init_section_contains(site->kp.addr, 1))
			kprobe_site_kill(site);
	}
}

/**
 * dump_kprobe() - say which probe something went wrong at
 * @kp: the site
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

/* Before all others: a probe's breakpoint must not be taken for somebody else's. */
static struct notifier_block kprobe_die_nb = {
	.notifier_call	= kprobe_exceptions_notify,
	.priority	= INT_MAX,
};

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
	return err;
}
early_initcall(kprobe_init);
