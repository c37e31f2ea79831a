// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts probes on all of the kernel's text, one batch of functions after the other,
 * while everything else goes on. This finds text that crashes with a probe on it, for
 * which there has to be a rule that refuses it: the console's last line tells the batch.
 *
 *	echo 1 >/sys/module/test_sweep/parameters/run
 *
 * goes through all batches, a larger number N through one batch in N. The write fails
 * if the test does. This is not a KUnit suite, because it takes long, and the kernel
 * needs something to do meanwhile.
 *
 * A past bug: a probe on the kernel's entry path, or on what RCU calls there, was hit without end.
 */
#define pr_fmt(fmt) "kprobes_sweep: " fmt

#include <linux/delay.h>
#include <linux/freezer.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/moduleparam.h>
#include <linux/kstrtox.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <asm/sections.h>

#include "../internal.h"
#include "support/many.h"
#include "support/probe.h"

#define BATCH_BYTES	SZ_16K
#define MAX_PROBES	BATCH_BYTES
#define MAX_REASONS	64U

/* How long probes stay for the workload to hit them, twice, in milliseconds */
#define STAY		150

/**
 * struct sweep - a batch of functions, and totals of all batches
 * @start: start of the first function
 * @end: end of the last function
 * @copy: their text without probes
 * @probes: probes for their instructions
 * @registered: the probes that are registered
 * @live: how many are registered
 * @wanted: how many instructions the batch has
 * @batch: how many functions the batch has
 * @probed: total of instructions that had a probe
 * @instructions: total of instructions
 * @blacklisted: total of instructions that are on the blacklist
 * @functions: total of functions
 * @large: total of functions that are left out, because they are larger than a batch
 * @changed: total of bytes that were left changed, and that nobody else patches
 * @reasons: why instructions had no probe
 */
struct sweep {
	unsigned long start, end;
	u8 *copy;
	struct kprobe *probes;
	struct kprobe **registered;
	unsigned int live, wanted, batch;
	unsigned long probed, instructions, blacklisted, functions, large, changed;
	struct {
		const char *words;
		unsigned long times;
	} reasons[MAX_REASONS];
};

static void note_refusal(void *data)
{
	struct sweep *s = data;
	const char *words;
	unsigned int i;

	scoped_guard(mutex, &kprobe_mutex)
		words = kprobe_last_refusal();
	for (i = 0; i < MAX_REASONS - 1; i++) {
		if (!s->reasons[i].words || s->reasons[i].words == words)
			break;
	}
	s->reasons[i].words = words;
	s->reasons[i].times++;
}

static void want_function(struct sweep *s, unsigned long addr, unsigned long size, bool post)
{
	unsigned long at;
	int length;

	size = kprobes_trim(s->copy + (addr - s->start), size);
	for (at = addr; at < addr + size && s->wanted < MAX_PROBES; at += length) {
		length = kprobes_insn_length(s->copy + (at - s->start), addr + size - at);
		if (length <= 0)
			break;
		s->probes[s->wanted++] = (struct kprobe) {
			.addr = (kprobe_opcode_t *)at,
			.pre_handler = count_before,
			.post_handler = post ? count_after : NULL,
		};
	}
	s->batch++;
}

/* Returns the size of the symbol from @addr on, up to the end of all text; 0 if there is none. */
static unsigned long size_at(unsigned long addr, char *name)
{
	unsigned long size, offset;
	char *module;

	if (!kallsyms_lookup(addr, &size, &offset, &module, name))
		return 0;
	return min(size - offset, (unsigned long)_etext - addr);
}

/*
 * Takes as many functions from @addr on as there is room for. Returns the address of the
 * next one, which is @addr itself if no symbol covers that.
 */
static unsigned long take_batch(struct sweep *s, unsigned long addr, bool post)
{
	unsigned long size = 0;
	char name[KSYM_NAME_LEN];

	s->start = addr;
	s->wanted = 0;
	s->batch = 0;
	while (addr < (unsigned long)_etext) {
		size = size_at(addr, name);
		if (!size || addr + size - s->start > BATCH_BYTES)
			break;
		memcpy(s->copy + (addr - s->start), (void *)addr, size);
		/* Padding before a function has a symbol of its own. */
		if (!str_has_prefix(name, "__pfx_"))
			want_function(s, addr, size, post);
		addr += size;
	}
	s->end = addr;
	if (addr != s->start || !size)
		return addr;
	pr_info("%s is left out, it has %lu bytes\n", name, size);
	s->large++;
	return addr + size;
}

static void compare_text(struct sweep *s)
{
	unsigned long addr;

	for (addr = s->start; addr < s->end; addr++) {
		if (*(u8 *)addr == s->copy[addr - s->start] || others_patch((void *)addr))
			continue;
		if (!s->changed++)
			pr_err("%pS is %02x, it was %02x\n", (void *)addr, *(u8 *)addr,
			       s->copy[addr - s->start]);
	}
}

static unsigned int count_blacklisted(struct sweep *s)
{
	unsigned int i, nr = 0;

	for (i = 0; i < s->wanted; i++)
		nr += within_kprobe_blacklist((unsigned long)s->probes[i].addr);
	return nr;
}

static void plant_batch(struct sweep *s)
{
	s->live = register_what_can_be(s->probes, s->wanted, s->registered, note_refusal, s);
}

static void let_jumps_come(struct sweep *s)
{
	wait_for_kprobe_optimizer();
}

static void drop_batch(struct sweep *s)
{
	unregister_kprobes(s->registered, s->live);
}

/*
 * Stops the workload meanwhile, where that is possible. Each change to the text is told to all
 * CPUs. Then an emulator that runs them in turns has another one run, for its whole turn if it
 * has work, thousands of times.
 */
static void in_silence(struct sweep *s, void (*change)(struct sweep *s))
{
	unsigned int flags = lock_system_sleep();
	int err = freeze_processes();

	change(s);
	if (!err)
		thaw_processes();
	unlock_system_sleep(flags);
}

static void sweep_batch(struct sweep *s)
{
	pr_info("%pS, %u instructions\n", (void *)s->start, s->wanted);
	s->blacklisted += count_blacklisted(s);
	in_silence(s, plant_batch);
	msleep(STAY);
	in_silence(s, let_jumps_come);
	msleep(STAY);
	in_silence(s, drop_batch);
	s->functions += s->batch;
	s->instructions += s->wanted;
	s->probed += s->live;
	compare_text(s);
}

static void free_sweep(struct sweep *s)
{
	if (!s)
		return;
	kvfree(s->copy);
	kvfree(s->probes);
	kvfree(s->registered);
	kfree(s);
}

static struct sweep *new_sweep(void)
{
	struct sweep *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->copy = kvmalloc(BATCH_BYTES, GFP_KERNEL);
	s->probes = kvcalloc(MAX_PROBES, sizeof(*s->probes), GFP_KERNEL);
	s->registered = kvcalloc(MAX_PROBES, sizeof(*s->registered), GFP_KERNEL);
	if (s->copy && s->probes && s->registered)
		return s;
	free_sweep(s);
	return NULL;
}

static void tell(struct sweep *s, unsigned long hits)
{
	unsigned int i;

	for (i = 0; i < MAX_REASONS && s->reasons[i].words; i++)
		pr_info("refused %lu: %s\n", s->reasons[i].times, s->reasons[i].words);
	pr_info("%lu functions, %lu left out, %lu of %lu instructions had a probe, %lu hits, %lu bytes changed\n",
		s->functions, s->large, s->probed, s->instructions, hits, s->changed);
}

/*
 * Was no more refused than there is reason for? On record are 0.4 % on x86 and 4.6 % on arm64,
 * beside the blacklist. A few batches alone may be in places where it is more.
 */
static bool probed_enough(const struct sweep *s, unsigned int every)
{
	unsigned int percent = IS_ENABLED(CONFIG_X86) ? 98 : 93;

	if (every > 1)
		percent -= 10;
	return s->probed * 100 >= (s->instructions - s->blacklisted) * percent &&
	       s->probed * 2 >= s->instructions;
}

static int sweep(unsigned int every)
{
	unsigned long addr = (unsigned long)_stext, next, hits;
	struct sweep *s = new_sweep();
	unsigned int n;
	bool good;

	if (!s)
		return -ENOMEM;
	take_hits(&hits_before);
	for (n = 0; addr < (unsigned long)_etext; addr = next, n++) {
		next = take_batch(s, addr, n / every & 1);
		if (next == addr)
			break;
		if (n % every == 0 && s->wanted)
			sweep_batch(s);
	}
	hits = take_hits(&hits_before);
	tell(s, hits);
	if (addr < (unsigned long)_etext)
		pr_err("no symbol covers %pS, and what follows\n", (void *)addr);
	if (!probed_enough(s, every))
		pr_err("too few had a probe, although %lu only are on the blacklist\n",
		       s->blacklisted);
	/* A workload that does its work makes some ten for each probe. */
	if (hits < s->probed)
		pr_err("no more than %lu hits\n", hits);
	good = addr >= (unsigned long)_etext && !s->changed && probed_enough(s, every) &&
	       hits >= s->probed;
	free_sweep(s);
	return good ? 0 : -EIO;
}

static int run_set(const char *text, const struct kernel_param *unused)
{
	unsigned int every;
	int err = kstrtouint(text, 0, &every);

	if (err || !every)
		return err ?: -EINVAL;
	return sweep(every);
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "go through one batch in so many, 1 for all");
