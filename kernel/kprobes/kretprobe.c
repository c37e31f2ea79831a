// SPDX-License-Identifier: GPL-2.0-only
/*
 * Return probes: registering them, in whatever way calls are followed to their return.
 *
 * A return probe is a probe on the function's entry whose pre handler diverts the return.
 * How that is done is in kretprobe_call.c, and where the calls under way are kept, in
 * kretprobe_stack.c; or both in kretprobe_rethook.c, for architectures that have only rethook.
 */
#include <linux/err.h>
#include <linux/export.h>

#include "internal.h"
#include "kretprobe.h"

/*
 * Resolves the functions that must have no return probe: in the same way as a probe's, past a
 * landing pad, so that the addresses can be compared.
 */
void __init kretprobe_blacklist_init(void)
{
	struct kretprobe_blackpoint *point;
	const char *why;
	bool on_entry;

	for (point = kretprobe_blacklist; point->name; point++) {
		/* This kernel has no such function. */
		if (!*point->name)
			continue;
		point->addr = kprobe_resolve(NULL, point->name, 0, &on_entry, &why);
		if (IS_ERR(point->addr)) {
			pr_err("%s, which must have no return probe: %s\n", point->name, why);
			point->addr = NULL;
		}
	}
}

static const char *check_kretprobe(struct kprobe *p, kprobe_opcode_t *addr)
{
	struct kretprobe_blackpoint *point;

	for (point = kretprobe_blacklist; point->name; point++)
		if (point->addr == addr)
			return "the function does not return as others do";
	return NULL;
}

static int *missed_returns(struct kprobe *p)
{
	return &kretprobe_of(p)->nmissed;
}

static void *create_holder(struct kprobe *p, const char **why)
{
	struct kretprobe *rp = kretprobe_of(p);

	if (rp->data_size > KRETPROBE_MAX_DATA_SIZE) {
		*why = "data_size is too large";
		return ERR_PTR(-E2BIG);
	}
	return kretprobe_holder_create(rp);
}

static void attach_holder(struct kprobe *p, void *holder)
{
	p->post_handler = NULL;
	kretprobe_holder_attach(p, holder);
}

const struct kprobe_kind kretprobe_kind = {
	.pre_handler	= kretprobe_entry,
	.check		= check_kretprobe,
	.misses		= missed_returns,
	.create		= create_holder,
	.attach		= attach_holder,
	.drop		= kretprobe_holder_drop,
	.stop		= kretprobe_holder_stop,
	.release	= kretprobe_holders_release,
};

/**
 * register_kretprobe() - plant a return probe
 * @rp: what to probe and what to run; belongs to the core until it is unregistered
 *
 * Sets the pre_handler of its kprobe, and clears the post_handler.
 *
 * Context: may sleep.
 * Return: 0, or with nothing changed: -EINVAL if the address is not a function's entry,
 * the function's return must not be diverted, or @rp is registered already; -E2BIG if
 * data_size is too large; -ENOMEM; or an error of register_kprobe().
 */
int register_kretprobe(struct kretprobe *rp)
{
	return register_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(register_kretprobe);

/**
 * register_kretprobes() - plant several return probes, or none; see register_kprobes()
 * @rps: the return probes
 * @num: how many
 *
 * Context: may sleep.
 * Return: 0; -EINVAL unless @num is positive; -ENOMEM; or an error of register_kretprobe() for one
 * of them. After an error, none is left planted.
 */
int register_kretprobes(struct kretprobe **rps, int num)
{
	return kprobe_register(kprobes_of(rps), num, &kretprobe_kind);
}
EXPORT_SYMBOL_GPL(register_kretprobes);

/**
 * unregister_kretprobe() - remove a return probe
 * @rp: the return probe
 *
 * Context: as unregister_kretprobes().
 */
void unregister_kretprobe(struct kretprobe *rp)
{
	unregister_kretprobes(&rp, 1);
}
EXPORT_SYMBOL_GPL(unregister_kretprobe);

/**
 * unregister_kretprobes() - remove return probes
 * @rps: the return probes. If one is not registered, its address is set to NULL
 * @num: how many
 *
 * When this returns, none of their handlers is running or will run. Tasks that are still
 * inside the probed functions return to their callers unseen.
 *
 * Context: may sleep; not from a handler. Otherwise as unregister_kprobes().
 */
void unregister_kretprobes(struct kretprobe **rps, int num)
{
	kprobe_unregister(kprobes_of(rps), num, &kretprobe_kind);
}
EXPORT_SYMBOL_GPL(unregister_kretprobes);
