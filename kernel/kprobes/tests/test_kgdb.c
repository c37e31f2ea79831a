// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of probes and the breakpoints of a debugger. The tests send what a
 * debugger would send over a line. Where there is a probe, a breakpoint is refused, and
 * the other way round; in the same function, both work, but on x86 the probe has to come first.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kgdb.h>
#include <linux/kprobes.h>
#include <linux/security.h>

#include "../internal.h"
#include "support/probe.h"
#include "support/sites.h"

KUNIT_ARRAY_PARAM_DESC(step, kprobes_steps_table, name);

/* --- the line, as the kernel sees it --- */

static char to_kernel[160], from_kernel[80];
static unsigned int next_out, next_in, stops;
static bool answered;

/*
 * An answer has to be acknowledged before anything else. At a stop for which there are
 * no commands, the debugger detaches.
 */
static int line_read(void)
{
	static const char detach[] = "$D#44";

	if (answered) {
		answered = false;
		return '+';
	}
	if (!to_kernel[next_out]) {
		memcpy(to_kernel, detach, sizeof(detach));
		next_out = 0;
	}
	return to_kernel[next_out++];
}

/* The kernel writes "$", an answer, "#" and a checksum; and "+" for a command that was read. */
static void line_write(u8 c)
{
	if (c == '$')
		next_in = 0;
	else if (c == '#')
		answered = true;
	else if (!answered && c != '+' && next_in < sizeof(from_kernel) - 1)
		from_kernel[next_in++] = c;
	from_kernel[next_in] = 0;
}

static void line_begins(void)
{
	stops++;
}

static struct kgdb_io line = {
	.name = "kprobes_kgdb",
	.read_char = line_read,
	.write_char = line_write,
	.pre_exception = line_begins,
};

/* --- the debugger --- */

__printf(1, 2)
static void send(const char *format, ...)
{
	size_t begin = strlen(to_kernel), room = sizeof(to_kernel) - begin, length;
	va_list args;
	u8 sum = 0;
	size_t i;

	to_kernel[begin] = '$';
	va_start(args, format);
	length = 1 + vscnprintf(to_kernel + begin + 1, room - 1, format, args);
	va_end(args);
	for (i = 1; i < length; i++)
		sum += to_kernel[begin + i];
	scnprintf(to_kernel + begin + length, room - length, "#%02x", sum);
}

static void begin_sending(void)
{
	to_kernel[0] = 0;
	next_out = 0;
}

/* Only the last answer before the kernel goes on is kept. */
static bool breakpoint(bool set, void *addr)
{
	begin_sending();
	send("%c0,%lx,1", set ? 'Z' : 'z', (unsigned long)addr);
	send("c");
	from_kernel[0] = 0;
	kgdb_breakpoint();
	return !strcmp(from_kernel, "OK");
}

/* At the next stop, the debugger removes its breakpoint, and goes on from there. */
static void expect_stop(void *addr)
{
	begin_sending();
	send("z0,%lx,1", (unsigned long)addr);
	send("c%lx", (unsigned long)addr);
	stops = 0;
}

static void detach(void *unused)
{
	begin_sending();
	send("D");
	kgdb_breakpoint();
	kgdb_unregister_io_module(&line);
}

static int kgdb_init(struct kunit *test)
{
	int err;

	/* It would wait for its own commands, for ever. */
	if (IS_ENABLED(CONFIG_KGDB_KDB))
		kunit_skip(test, "kdb reads the line, and not as a debugger does");
	if (security_locked_down(LOCKDOWN_DBG_WRITE_KERNEL))
		kunit_skip(test, "the kernel is locked down");
	err = kprobes_watch_targets(test) ?: kgdb_register_io_module(&line);
	if (err == -EBUSY)
		kunit_skip(test, "a debugger has the only line");
	return err ?: kunit_add_action(test, detach, NULL);
}

/* --- both --- */

/* A site that has lost its probe is in the way until it is freed. */
static void need_no_site(struct kunit *test, void *place)
{
	wait_for_dying_sites(test);
	KUNIT_ASSERT_NULL(test, get_kprobe(place));
}

static void expect_refusal(struct kunit *test, const char *why)
{
	guard(mutex)(&kprobe_mutex);
	KUNIT_EXPECT_STREQ(test, kprobe_last_refusal(), why);
}

static void expect_refused(struct kunit *test, struct probe *probe, void *place)
{
	KUNIT_EXPECT_EQ(test, -EINVAL, probe_register_again(probe, place));
	expect_refusal(test, KPROBE_DEBUGGER_STOPS);
}

/* When the breakpoint has been removed again */
static void expect_it_can_come_back(struct kunit *test, struct probe *probe,
				    const struct kprobes_step *step, void *place)
{
	KUNIT_EXPECT_TRUE(test, breakpoint(false, place));
	KUNIT_ASSERT_EQ(test, 0, probe_register_again(probe, place));
	probe->hits = 0;
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
	probe_unregister(probe);
}

/* All of it but that the site can be found, and then somebody sets a breakpoint. */
static int prepare_and_stop(struct kprobe_site *site)
{
	struct kunit *test = kunit_get_current_test();
	int err;

	kunit_deactivate_static_stub(test, kprobe_prepare);
	err = kprobe_prepare(site);
	KUNIT_EXPECT_TRUE(test, breakpoint(true, site->kp.addr));
	return err;
}

/*
 * A past bug: kgdb stopped the machine while a site was created, set a breakpoint, and later
 * put the byte that it had saved over the probe.
 */
static void probe_is_refused_where_a_breakpoint_is(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_registered(test, step->addr);
	void *place = probe->kp.addr;

	probe_unregister(probe);
	need_no_site(test, place);
	KUNIT_ASSERT_TRUE(test, breakpoint(true, place));
	expect_refused(test, probe, place);
	expect_it_can_come_back(test, probe, step, place);

	need_no_site(test, place);
	kunit_activate_static_stub(test, kprobe_prepare, prepare_and_stop);
	expect_refused(test, probe, place);
	/* Now there is a site, which waits to be freed. */
	expect_refused(test, probe, place);
	expect_it_can_come_back(test, probe, step, place);
}

#ifdef CONFIG_X86
/* Nobody else has a probe here, so where its instructions begin is not known yet. */
static noinline notrace __noclone u32 unknown(u32 x)
{
	barrier_data(&x);
	return x + 1;
}

/* That is found out from the entry on, and the breakpoint hides one. */
static void probe_is_refused_behind_a_breakpoint(struct kunit *test)
{
	struct kprobe behind = { };
	u8 *at = (u8 *)unknown;
	int err;

	/* The first one may be a landing pad, which is not looked at. */
	OPTIMIZER_HIDE_VAR(at);
	at += kprobes_insn_length(at, MAX_INSN_SIZE);
	behind.addr = at + kprobes_insn_length(at, MAX_INSN_SIZE);
	KUNIT_ASSERT_EQ(test, 2, unknown(1));
	KUNIT_ASSERT_TRUE(test, breakpoint(true, at));
	err = register_kprobe(&behind);
	KUNIT_EXPECT_EQ(test, -EILSEQ, err);
	expect_refusal(test, "an instruction in front of it cannot be decoded");
	if (!err)
		unregister_kprobe(&behind);
	KUNIT_ASSERT_TRUE(test, breakpoint(false, at));
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(&behind));
	unregister_kprobe(&behind);
}
#endif

static void breakpoint_is_refused_where_a_probe_is(struct kunit *test)
{
	const struct kprobes_step *step = test->param_value;
	struct probe *probe = probe_registered(test, step->addr);
	void *place = probe->kp.addr;

	KUNIT_EXPECT_FALSE(test, breakpoint(true, place));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, breakpoint(true, place));
	kprobes_call_step(test, step);
	KUNIT_EXPECT_EQ(test, probe->hits, KPROBES_CALLS);
	KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&probe->kp));
	KUNIT_EXPECT_FALSE(test, breakpoint(true, place));
	probe_unregister(probe);
}

/* On arm64, ftrace does not patch a function's first instruction, where the probe is. */
static unsigned long ftrace_patches_for(struct kunit *test, void *entry)
{
	unsigned long ip;

	scoped_guard(mutex, &kprobe_mutex)
		ip = arch_kprobe_ftrace_location((unsigned long)entry);
	if (!ip)
		kunit_skip(test, "ftrace does not call at that entry");
	return ip;
}

/* A past bug: ftrace met the breakpoint, and shut itself down. */
static void only_one_of_both_is_where_ftrace_patches(struct kunit *test)
{
	struct probe *probe = probe_registered(test, kprobes_traced);
	void *place = probe->kp.addr;
	unsigned long ip = ftrace_patches_for(test, place);

	KUNIT_EXPECT_FALSE(test, breakpoint(true, (void *)ip));
	probe_unregister(probe);
	need_no_site(test, place);
	KUNIT_ASSERT_TRUE(test, breakpoint(true, (void *)ip));
	expect_refused(test, probe, place);
	KUNIT_EXPECT_TRUE(test, breakpoint(false, (void *)ip));
	KUNIT_EXPECT_EQ(test, 0, probe_register_again(probe, place));
	KUNIT_EXPECT_EQ(test, kprobes_traced(1), kprobes_expected(1));
	KUNIT_EXPECT_EQ(test, probe->hits, 1);
}

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
/* A past bug: it stayed there when others got the slot. */
static void breakpoint_is_refused_in_a_slot(struct kunit *test)
{
	kprobe_opcode_t *slot = get_insn_slot();

	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_EXPECT_FALSE(test, breakpoint(true, slot));
	free_insn_slot(slot, 0);
#ifdef CONFIG_OPTPROBES
	slot = get_optinsn_slot();
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_EXPECT_FALSE(test, breakpoint(true, slot));
	free_optinsn_slot(slot, 0);
#endif
}
#endif

/*
 * A jump that covers more than the nop that is probed, and does not come back over a breakpoint.
 * The probe keeps its detour while it is disabled, so nothing is decoded again.
 */
static void only_one_of_both_is_under_a_jump(struct kunit *test)
{
	const struct kprobes_step *nop = kprobes_need_step(test, "nop");
	struct probe *probe;

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "a jump takes no more than its own instruction");
	probe = probe_registered(test, nop->addr);
	wait_for_kprobe_optimizer();
	KUNIT_ASSERT_TRUE(test, kprobe_optimized(get_kprobe(nop->addr)));
	KUNIT_EXPECT_FALSE(test, breakpoint(true, nop->addr + 1));
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(&probe->kp));
	KUNIT_ASSERT_TRUE(test, breakpoint(true, nop->addr + 1));
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&probe->kp));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_FALSE(test, kprobe_optimized(get_kprobe(nop->addr)));
	KUNIT_EXPECT_TRUE(test, breakpoint(false, nop->addr + 1));
}

/* A past bug: in the middle of a step, a breakpoint of somebody else was taken for a probe. */
static void both_work_in_one_function(struct kunit *test)
{
	const struct kprobes_step *here = kprobes_need_step(test, "return");
	const struct kprobes_step *there = kprobes_need_step(test, "call");
	struct probe *probe = probe_registered(test, here->addr);
	unsigned int i;

	need_no_site(test, there->addr);
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_TRUE(test, breakpoint(true, there->addr));
		expect_stop(there->addr);
		kprobes_call_step(test, here);
		KUNIT_EXPECT_EQ(test, stops, 1);
		KUNIT_EXPECT_EQ(test, probe->hits, i * KPROBES_CALLS);
	}
}

static void breakpoint_is_refused_where_no_probe_may_be(struct kunit *test)
{
	void *allowed = kprobes_untraced;

	if (!IS_ENABLED(CONFIG_KGDB_HONOUR_BLOCKLIST))
		kunit_skip(test, "the debugger takes no notice of the blacklist");
	KUNIT_EXPECT_FALSE(test, breakpoint(true, get_kprobe));
	need_no_site(test, allowed);
	KUNIT_EXPECT_TRUE(test, breakpoint(true, allowed));
	KUNIT_EXPECT_TRUE(test, breakpoint(false, allowed));
}

static struct kunit_case kgdb_cases[] = {
	KUNIT_CASE_PARAM(probe_is_refused_where_a_breakpoint_is, step_gen_params),
#ifdef CONFIG_X86
	KUNIT_CASE(probe_is_refused_behind_a_breakpoint),
#endif
	KUNIT_CASE_PARAM(breakpoint_is_refused_where_a_probe_is, step_gen_params),
	KUNIT_CASE(only_one_of_both_is_where_ftrace_patches),
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	KUNIT_CASE(breakpoint_is_refused_in_a_slot),
#endif
	KUNIT_CASE(only_one_of_both_is_under_a_jump),
	KUNIT_CASE(both_work_in_one_function),
	KUNIT_CASE(breakpoint_is_refused_where_no_probe_may_be),
	{}
};

static struct kunit_suite kgdb_suite = {
	.name = "kprobes_kgdb",
	.init = kgdb_init,
	.test_cases = kgdb_cases,
};

kunit_test_suite(kgdb_suite);

#ifdef CONFIG_KPROBES_ON_FTRACE
static noinline __noclone void meets_a_breakpoint(void)
{
	barrier();
}

/* Returns -ENODEV if the probe was refused because ftrace has shut itself down. */
static int hook_a_breakpoint(void)
{
	struct kprobe kp = { .addr = (void *)meets_a_breakpoint };
	struct kgdb_bkpt unknown = {
		.bpt_addr = ftrace_location((unsigned long)kp.addr), .type = BP_BREAKPOINT,
	};
	int err, refused;

	if (!unknown.bpt_addr)
		return -ENOENT;
	/* kgdb writes to text without the lock that others take for it. */
	wait_for_kprobe_optimizer();
	err = kgdb_arch_set_breakpoint(&unknown);
	if (err)
		return err;
	refused = register_kprobe(&kp);
	if (!refused)
		unregister_kprobe(&kp);
	err = kgdb_arch_remove_breakpoint(&unknown);
	if (!err)
		meets_a_breakpoint();
	return err ?: refused;
}

/* For a shell test, because this cannot be undone. */
static int set_break_ftrace(const char *value, const struct kernel_param *param)
{
	int err = hook_a_breakpoint();

	return err == -ENODEV ? 0 : err ?: -EBADE;
}

static const struct kernel_param_ops break_ftrace_ops = {
	.set = set_break_ftrace,
};

module_param_cb(break_ftrace, &break_ftrace_ops, NULL, 0200);
MODULE_PARM_DESC(break_ftrace,
		 "write to it to have ftrace find a breakpoint where it hooks an entry for a probe");
#endif
