// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words for why a registration is refused, and for why a site is not on a faster path.
 *
 * A registration carries a struct kprobe_reason down to all that may refuse it. They set that, and
 * return an errno as usual. When the registration has failed, both are added to the list of
 * refusals.
 */
#include <linux/errno.h>
#include <linux/kallsyms.h>
#include <linux/seq_file.h>
#include <linux/sprintf.h>

#include "internal.h"

/* A registration that was refused */
struct refusal {
	int		err;		/* what it returned */
	unsigned long	addr;		/* what was asked for, if no symbol covers it */
	char		place[128];	/* else as text: the symbol may go before it is shown */
	const char	*why;
	const char	*kind;		/* of instruction, if that is the reason */
};

/* The last refusals, and how many there have been in all. */
static struct refusal refusals[KPROBE_REFUSALS];
static unsigned int nr_refusals;

static const char cannot_be_probed[] = "the instruction cannot be probed";

/**
 * kprobe_refuse() - say in words why a site cannot be
 * @kp: the kprobe of a site that is being created
 * @err: the errno for it
 * @why: the reason, a string that stays valid
 *
 * Context: kprobe_mutex is held.
 * Return: @err.
 */
int kprobe_refuse(struct kprobe *kp, int err, const char *why)
{
	site_of(kp)->reason->why = why;
	return err;
}

/**
 * kprobe_refuse_insn() - say in words that a site cannot be because of the instruction
 * @kp: the kprobe of a site that is being created
 * @err: the errno for it
 * @kind: the kind of instruction, a string that stays valid
 *
 * Context: kprobe_mutex is held.
 * Return: @err.
 */
int kprobe_refuse_insn(struct kprobe *kp, int err, const char *kind)
{
	site_of(kp)->reason->kind = kind;
	return kprobe_refuse(kp, err, cannot_be_probed);
}

/* Returns the reason if there are no words: not all architectures give them. */
static const char *words_for(int err)
{
	switch (err) {
	case -EAGAIN:
		return "somebody else is changing this function";
	case -EBUSY:
		return "somebody else redirects this function";
	case -EILSEQ:
		return "not the start of an instruction";
	case -ENODEV:
		return "ftrace has shut itself down";
	case -ENOMEM:
		return "no memory";
	}
	return cannot_be_probed;
}

/* Records what @p asks for: as text, or as an address if no symbol covers it. */
static void describe(struct refusal *r, struct kprobe *p)
{
	unsigned long addr = p ? (unsigned long)p->addr + p->offset : 0;

	r->addr = 0;
	r->place[0] = '\0';
	if (!p || (!p->symbol_name && !p->addr))
		strscpy(r->place, "-");
	else if (p->symbol_name)
		snprintf(r->place, sizeof(r->place), "%s+0x%x", p->symbol_name, p->offset);
	else if (kallsyms_lookup_size_offset(addr, NULL, NULL))
		snprintf(r->place, sizeof(r->place), "%pS", (void *)addr);
	else
		r->addr = addr;
}

/* Returns the reason of the last refusal, for tests: the kind of instruction, if that is it. */
const char *kprobe_last_refusal(void)
{
	struct refusal *last = &refusals[(nr_refusals - 1) % KPROBE_REFUSALS];

	lockdep_assert_held(&kprobe_mutex);
	return last->kind ?: last->why;
}

/*
 * Adds a registration that has failed to the list of refusals, and returns @err. @p is what was to
 * be registered, as the user passed it; NULL if there is no probe.
 */
int kprobe_note_refusal(struct kprobe *p, int err, struct kprobe_reason reason)
{
	struct refusal *r;

	guard(mutex)(&kprobe_mutex);
	r = &refusals[nr_refusals++ % KPROBE_REFUSALS];
	r->err = err;
	r->why = reason.why ?: words_for(err);
	r->kind = reason.kind;
	describe(r, p);
	return err;
}

static void show_refusal(struct seq_file *m, const struct refusal *r, bool show_address)
{
	seq_printf(m, "%pe ", ERR_PTR(r->err));
	/* A user has passed the name, and it may contain any characters, for a terminal as well. */
	if (r->place[0])
		seq_escape_str(m, r->place, ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND, "\\");
	else
		seq_printf(m, "0x%0*lx", KPROBE_ADDRESS_WIDTH, show_address ? r->addr : 0);
	seq_printf(m, ": %s", r->why);
	if (r->kind)
		seq_printf(m, ": %s", r->kind);
	seq_putc(m, '\n');
}

/* Shows the last refusals, oldest first, for debugfs. */
void kprobe_refusals_show(struct seq_file *m, bool show_addresses)
{
	unsigned int i = nr_refusals - min(nr_refusals, KPROBE_REFUSALS);

	lockdep_assert_held(&kprobe_mutex);
	for (; i != nr_refusals; i++)
		show_refusal(m, &refusals[i % KPROBE_REFUSALS], show_addresses);
}

static const char *const obstacle_words[NR_KPROBE_OBSTACLES] = {
	[KPROBE_NO_OBSTACLE]		= "-",
	[KPROBE_OBSTACLE_UNSUPPORTED]	= "unsupported",
	[KPROBE_OBSTACLE_OFF]		= "off",
	[KPROBE_OBSTACLE_MEMORY]	= "memory",
	[KPROBE_OBSTACLE_FAILED]	= "failed",
	[KPROBE_OBSTACLE_POST]		= "post",
	[KPROBE_OBSTACLE_NEIGHBOUR]	= "neighbour",
	[KPROBE_OBSTACLE_PATCHED]	= "patched",
	[KPROBE_OBSTACLE_TARGET]	= "target",
	[KPROBE_OBSTACLE_FIXUP]		= "fixup",
	[KPROBE_OBSTACLE_END]		= "end",
	[KPROBE_OBSTACLE_SYMBOL]	= "symbol",
	[KPROBE_OBSTACLE_INSN]		= "insn",
	[KPROBE_OBSTACLE_REACH]		= "reach",
	[KPROBE_OBSTACLE_PAD]		= "pad",
};

/* Names the path that hits of a site take, by a word that Documentation/kprobes.rst explains. */
const char *kprobe_site_path(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->state == SITE_GONE)
		return "-";
	if (kprobe_ftrace(&site->kp))
		return "ftrace";
	if (site->state == SITE_OPTIMIZED)
		return "jump";
	return arch_kprobe_path(&site->kp);
}

/*
 * Names what keeps hits of a site away, or from a faster path, by such a word; "-" if nothing does.
 */
const char *kprobe_site_why(struct kprobe_site *site)
{
	lockdep_assert_held(&kprobe_mutex);
	if (site->state == SITE_GONE)
		return "gone";
	if (!kprobe_site_armed(site))
		return "disarmed";
	if (kprobe_ftrace(&site->kp))
		return kprobe_ftrace_why();
	if (site->state == SITE_OPTIMIZED)
		return "-";
	return site->state == SITE_OPTIMIZING ? "pending" : obstacle_words[site->kp.obstacle];
}
