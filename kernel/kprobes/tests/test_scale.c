// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of many probes at once: a function is looked at once for all of them,
 * others can change probes in between, and nothing is left afterwards.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes_function.h>
#include <linux/objtool.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include "../internal.h"
#include "support/core.h"
#include "support/kinds.h"
#include "support/regs.h"
#include "support/sites.h"
#include "support/text.h"
#include "support/threads.h"

/* --- text with room for many --- */

#define NR_SPOTS	1000
#define SPOT_INSNS	8	/* at least as long as a jump */

asmlinkage void scale_text(void);
asmlinkage void scale_text_end(void);

#define TEXT		((char *)scale_text)
#define TEXT_SIZE	((size_t)((char *)scale_text_end - TEXT))

static noinline __noclone void call_all_spots(void)
{
	asm volatile(ANNOTATE_NOENDBR "\n"
		     "scale_text:\n"
		     ".rept " __stringify(NR_SPOTS) " * " __stringify(SPOT_INSNS) "\n"
		     "	nop\n"
		     ".endr\n"
		     ANNOTATE_NOENDBR "\n"
		     "scale_text_end:\n" : : : "memory");
}

static kprobe_opcode_t *spot(unsigned int i)
{
	return (kprobe_opcode_t *)(TEXT + i * (TEXT_SIZE / NR_SPOTS));
}

/* Keeps the compiler from knowing which function is called. */
static void call_hidden(void (*call)(void))
{
	OPTIMIZER_HIDE_VAR(call);
	call();
}

static struct crowd {
	struct kprobe	*list[NR_SPOTS];
	struct probe	probes[NR_SPOTS];
} *crowd;

/* From the last address to the first, which is not the order in which they are planted. */
static int scale_init(struct kunit *test)
{
	unsigned int i;

	crowd = kprobes_vmalloc(test, sizeof(*crowd));
	for (i = 0; i < NR_SPOTS; i++) {
		probe_reset(&crowd->probes[i], spot(NR_SPOTS - 1 - i));
		crowd->list[i] = &crowd->probes[i].kp;
	}
	kprobes_text_watch(test, scale_text);
	return 0;
}

/* Returns how many probes were hit; more than there are if one was hit more than once. */
static int hits_of_a_call(void)
{
	int i, all = 0;

	for (i = 0; i < NR_SPOTS; i++)
		crowd->probes[i].hits = 0;
	call_hidden(call_all_spots);
	for (i = 0; i < NR_SPOTS; i++)
		all += crowd->probes[i].hits > 1 ? NR_SPOTS + 1 : crowd->probes[i].hits;
	return all;
}

/* --- the function that was probed last --- */

static struct kprobe_function *survey(void *addr)
{
	struct kprobe_function *f;

	kprobe_text_lock();
	f = kprobe_survey((unsigned long)addr);
	kprobe_text_unlock();
	return f;
}

/* Has mark() marked the function? A survey does not, because there are no fixups here. */
static bool marked(void *addr)
{
	struct kprobe_function *f;

	guard(kprobe_lock)();
	f = survey(addr);
	return f && kprobe_byte_is(f, f->start, KPROBE_BYTE_FIXUP);
}

static void mark(void *addr)
{
	struct kprobe_function *f;

	guard(kprobe_lock)();
	f = survey(addr);
	if (f)
		kprobe_byte_set(f, f->start, KPROBE_BYTE_FIXUP);
}

static void function_is_looked_at_once(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, register_kprobe(crowd->list[0]));
	KUNIT_EXPECT_FALSE(test, marked(spot(1)));
	mark(spot(1));
	KUNIT_EXPECT_EQ(test, 0, register_kprobes(crowd->list + 1, NR_SPOTS - 1));
	KUNIT_EXPECT_TRUE(test, marked(spot(2)));
	KUNIT_EXPECT_EQ(test, NR_SPOTS, hits_of_a_call());
	unregister_kprobes(crowd->list, NR_SPOTS);
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_function_forget();
	KUNIT_EXPECT_FALSE(test, marked(spot(2)));
}

#ifdef CONFIG_JUMP_LABEL
static DEFINE_STATIC_KEY_FALSE(scale_key);

static noinline __noclone int labelled(int n)
{
	if (static_branch_unlikely(&scale_key))
		n *= 3;
	barrier_data(&n);
	return n;
}

/* Its target is known, too, although the text does not branch there now. */
static void label_is_known_while_it_does_nothing(struct kunit *test)
{
	struct kprobe_function *f;
	unsigned long size;

	KUNIT_EXPECT_EQ(test, 5, labelled(5));
	guard(kprobe_lock)();
	kprobe_function_forget();
	f = survey(labelled);
	/* An assertion would end the thread with the mutex held. */
	KUNIT_EXPECT_NOT_NULL(test, f);
	if (!f)
		return;
	size = f->end - f->start;
	KUNIT_EXPECT_LT(test, find_first_bit(kprobe_byte_map(f, KPROBE_BYTE_LABEL), size), size);
	KUNIT_EXPECT_LT(test, find_first_bit(kprobe_byte_map(f, KPROBE_BYTE_TARGET), size), size);
}

static void flip_a_key(void)
{
	static_branch_enable(&scale_key);
	static_branch_disable(&scale_key);
}
#else
static void flip_a_key(void)
{
}
#endif

/* --- all of a batch, or none --- */

static void batch_is_planted_and_taken_out(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, register_kprobes(crowd->list, NR_SPOTS));
	KUNIT_EXPECT_EQ(test, NR_SPOTS, hits_of_a_call());
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, NR_SPOTS, hits_of_a_call());
	unregister_kprobes(crowd->list, NR_SPOTS);
	KUNIT_EXPECT_EQ(test, 0, hits_of_a_call());

	/* What is disabled stays so. */
	for (i = 0; i < NR_SPOTS; i++)
		crowd->probes[i].kp.flags = i % 2 ? 0 : KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(crowd->list, NR_SPOTS));
	KUNIT_EXPECT_EQ(test, NR_SPOTS / 2, hits_of_a_call());
	KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&crowd->probes[0].kp));
	KUNIT_EXPECT_EQ(test, NR_SPOTS / 2 + 1, hits_of_a_call());
	unregister_kprobes(crowd->list, NR_SPOTS);
}

static unsigned int count_slot_pages(void)
{
	char name[KSYM_NAME_LEN], type;
	unsigned long value;
	unsigned int nr = 0;

	while (!kprobe_get_kallsym(nr, &value, &type, name))
		nr++;
	return nr;
}

static unsigned int count_sites_in_text(void)
{
	return count_sites((unsigned long)site->kp.addr - (unsigned long)TEXT < TEXT_SIZE);
}

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
#define HAVE_SLOTS	true
#else
#define HAVE_SLOTS	false
#endif

/* A past bug: an empty page of slots stayed beside another one with room. */
static void what_was_taken_is_given_back(struct kunit *test)
{
	unsigned int pages;

	if (IS_ENABLED(CONFIG_RISCV))
		kunit_skip(test, "arch_remove_kprobe() gives no slot back there");
	/* Otherwise, pages of sites of earlier cases would be counted before, and used again. */
	wait_for_dying_sites(test);
	pages = count_slot_pages();
	KUNIT_ASSERT_EQ(test, 0, register_kprobes(crowd->list, NR_SPOTS));
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, NR_SPOTS, count_sites_in_text());
	if (HAVE_SLOTS)
		KUNIT_EXPECT_GT(test, count_slot_pages(), pages);
	unregister_kprobes(crowd->list, NR_SPOTS);
	wait_for_dying_sites(test);
	KUNIT_EXPECT_EQ(test, 0, count_sites_in_text());
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, 0, kprobe_sites_retiring());
	KUNIT_EXPECT_LE(test, count_slot_pages(), pages);
}

/* --- while others want the same --- */

static u32 call_all(u32 x)
{
	call_hidden(call_all_spots);
	return x;
}

/*
 * Nor is it changed. One probe has no address; or it is there twice, at the last of all addresses,
 * where the others are planted already, and others have had their turn.
 */
static void failing_batch_is_never_hit(struct kunit *test)
{
	struct kprobe nowhere = { };
	unsigned int i, hits = 0;
	struct caller *caller;

	caller = caller_start(test, call_all);
	for (i = 0; i < 10; i++) {
		crowd->list[NR_SPOTS - 1] = i % 2 ? &nowhere : crowd->list[0];
		KUNIT_EXPECT_EQ(test, -EINVAL, register_kprobes(crowd->list, NR_SPOTS));
		caller_wait(test, caller);
	}
	caller_stop(caller);
	for (i = 0; i < NR_SPOTS; i++) {
		hits += crowd->probes[i].hits;
		KUNIT_EXPECT_EQ(test, 0, crowd->probes[i].kp.flags);
		KUNIT_EXPECT_PTR_EQ(test, spot(NR_SPOTS - 1 - i), crowd->probes[i].kp.addr);
	}
	KUNIT_EXPECT_EQ(test, 0, hits);
}

static struct {
	struct task_struct	*task;
	unsigned int		nr;
} turns;

static int count_turn(struct kprobe *p, struct pt_regs *regs)
{
	if (current == turns.task &&
	    kprobes_argument(regs) == (unsigned long)&kprobe_mutex)
		turns.nr++;
	return 0;
}

/* A task that waits for the mutex gets it at the second release, if not at the first. */
static void batch_gives_others_their_turn(struct kunit *test)
{
	struct kprobe turn = { .symbol_name = "mutex_unlock", .pre_handler = count_turn };
	int err;

	kprobes_need_arguments(test);
	turns.task = current;
	err = register_kprobe(&turn);
	if (err == -EINVAL && !ARCH_KPROBE_STATELESS)
		kunit_skip(test, "mutex_unlock() begins with what cannot be probed here");
	KUNIT_ASSERT_EQ(test, 0, err);
	turns.nr = 0;
	KUNIT_EXPECT_EQ(test, 0, register_kprobes(crowd->list, NR_SPOTS));
	KUNIT_EXPECT_GE(test, turns.nr, NR_SPOTS / KPROBE_BATCH);
	turns.nr = 0;
	unregister_kprobes(crowd->list, NR_SPOTS);
	KUNIT_EXPECT_GE(test, turns.nr, DIV_ROUND_UP(NR_SPOTS, KPROBE_PATCH_BATCH));
	unregister_kprobe(&turn);
}

#ifdef CONFIG_DEBUG_FS
static unsigned int count_lines(const char *text, ssize_t size)
{
	unsigned int nr = 0;
	ssize_t i;

	for (i = 0; i < size; i++)
		nr += text[i] == '\n';
	return nr;
}

/* In pieces, each of which begins where the one before has ended */
static void list_is_read_in_one_go(struct kunit *test)
{
	char *piece = test_alloc(test, 512);
	struct file *list = open_list(test, mount_fs(test, "debugfs"));
	unsigned int lines = 0, pieces = 0, steps;
	loff_t pos = 0;
	ssize_t size;

	KUNIT_EXPECT_EQ(test, 0, register_kprobes(crowd->list, NR_SPOTS));
	syncs_count(test, "kprobe_site_after");
	while ((size = read_piece(list, piece, 512, &pos)) > 0) {
		lines += count_lines(piece, size);
		pieces++;
	}
	steps = syncs;
	unregister_kprobes(crowd->list, NR_SPOTS);
	filp_close(list, NULL);
	KUNIT_EXPECT_GT(test, pieces, 20);
	KUNIT_EXPECT_GT(test, lines, NR_SPOTS);
	KUNIT_EXPECT_GE(test, steps, NR_SPOTS);
	/* Who comes to the end looks once more whether there is anything behind it. */
	KUNIT_EXPECT_LT(test, steps, 2 * lines + 2 * pieces);
}

/* The site where the reader has stopped is freed meanwhile, and all that follow. */
static void reader_goes_on_behind_sites_that_have_gone(struct kunit *test)
{
	char *piece = test_alloc(test, SZ_64K);
	struct file *list = open_list(test, mount_fs(test, "debugfs"));
	loff_t pos = 0;
	ssize_t size;

	wait_for_dying_sites(test);
	KUNIT_EXPECT_EQ(test, 0, register_kprobes(crowd->list, NR_SPOTS));
	probe_registered(test, call_all_spots);
	KUNIT_EXPECT_GT(test, read_piece(list, piece, 512, &pos), 0);
	KUNIT_EXPECT_GT(test, read_piece(list, piece, 512, &pos), 0);
	unregister_kprobes(crowd->list, NR_SPOTS);
	wait_for_dying_sites(test);
	/* What is in the reader's buffer comes first. */
	while ((size = read_piece(list, piece, SZ_64K - 1, &pos)) > 0) {
		piece[size] = 0;
		if (strstr(piece, "  call_all_spots+0x"))
			break;
	}
	KUNIT_EXPECT_GT(test, size, 0);
	filp_close(list, NULL);
}
#endif

static unsigned int errors;

static u32 register_all(u32 x)
{
	if (register_kprobes(crowd->list, NR_SPOTS))
		errors++;
	else
		unregister_kprobes(crowd->list, NR_SPOTS);
	return x;
}

static void expect_single(struct kunit *test, struct probe *single, unsigned int hits)
{
	single->hits = 0;
	call_hidden(call_all_spots);
	KUNIT_EXPECT_EQ(test, hits, READ_ONCE(single->hits));
}

/* It is at the same addresses as a batch that comes and goes, while the switch is turned, too. */
static void single_is_not_confused_by_a_batch(struct kunit *test)
{
	struct probe *single = probe_new(test, NULL);
	struct caller *others;
	unsigned int i;

	errors = 0;
	others = caller_start(test, register_all);
	while (!READ_ONCE(others->calls))
		msleep(20);
	for (i = 0; i < 50; i++) {
		probe_reset(single, spot(i * 19 % NR_SPOTS));
		KUNIT_EXPECT_EQ(test, 0, probe_register(single));
		expect_single(test, single, 1);
		flip_a_key();
		KUNIT_EXPECT_EQ(test, 0, disable_kprobe(&single->kp));
		expect_single(test, single, 0);
		KUNIT_EXPECT_EQ(test, 0, enable_kprobe(&single->kp));
		KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(false));
		expect_single(test, single, 0);
		KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(true));
		expect_single(test, single, 1);
		probe_unregister(single);
	}
	caller_stop(others);
	KUNIT_EXPECT_EQ(test, 0, errors);
}

/* --- while jumps wait for a task --- */

/* A slow machine takes a minute for this test without any such wait, and KUnit gives it five. */
#define AWAKE_SECONDS	200

static void stay_awake(struct holder *holder)
{
	while (holder_goes_on(holder))
		cond_resched();
}

/*
 * Everything runs on one processor. In an emulator that executes one processor at a time,
 * a message to all of them, such as each unmapping of text sends, would wait for the end
 * of this one's turn.
 */
static struct holder *start_awake(struct kunit *test)
{
	struct holder *holder = holder_new(test, stay_awake, NULL, AWAKE_SECONDS);
	unsigned int cpu = hotplug_first();

	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(cpu)));
	kthread_bind(holder->task, cpu);
	holder_start(holder);
	return holder;
}

static unsigned int count_pending_jumps(void)
{
	return count_sites(site->state == SITE_OPTIMIZING);
}

static noinline __noclone void elsewhere(void)
{
	barrier();
}

static void one_comes_and_goes(struct kunit *test)
{
	struct probe *single = probe_registered(test, elsewhere);

	call_hidden(elsewhere);
	KUNIT_EXPECT_EQ(test, single->hits, 1);
	probe_unregister(single);
}

/* If one can. If what it had to wait for were the jumps, this would take until a task gives up. */
static void cpu_goes_and_comes(struct kunit *test)
{
	unsigned int cpu = hotplug_candidate();

	if (cpu < nr_cpu_ids && !hotplug_try(remove_cpu, cpu))
		KUNIT_EXPECT_EQ(test, 0, hotplug_try(add_cpu, cpu));
}

/*
 * Nothing else has to wait for the grace period that the jumps wait for. Past bugs: the
 * optimizer waited for RCU-tasks with a lock that an exiting task needed, and all other text
 * patching waited for it.
 */
static void jumps_that_wait_are_in_nobodys_way(struct kunit *test)
{
	struct holder *awake;
	unsigned int pending;

	if (!IS_ENABLED(CONFIG_OPTPROBES) || !IS_ENABLED(CONFIG_TASKS_RCU))
		kunit_skip(test, "no jump waits for a task");
	wait_for_kprobe_optimizer();
	awake = start_awake(test);
	KUNIT_EXPECT_EQ(test, 0, register_kprobes(crowd->list, NR_SPOTS));
	pending = count_pending_jumps();
	flip_a_key();
	one_comes_and_goes(test);
	cpu_goes_and_comes(test);
	KUNIT_EXPECT_EQ(test, pending, count_pending_jumps());
	KUNIT_EXPECT_FALSE(test, holder_stop(awake));
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	wait_for_kprobe_optimizer();
	KUNIT_EXPECT_EQ(test, 0, count_pending_jumps());
	KUNIT_EXPECT_EQ(test, NR_SPOTS, hits_of_a_call());
	unregister_kprobes(crowd->list, NR_SPOTS);
	if (!pending && !ARCH_KPROBE_STATELESS)
		kunit_skip(test, "no jump can be there");
	KUNIT_EXPECT_GT(test, pending, 0);
}

static struct kunit_case scale_cases[] = {
	KUNIT_CASE(function_is_looked_at_once),
#ifdef CONFIG_JUMP_LABEL
	KUNIT_CASE(label_is_known_while_it_does_nothing),
#endif
	KUNIT_CASE(batch_is_planted_and_taken_out),
	KUNIT_CASE_SLOW(what_was_taken_is_given_back),
	KUNIT_CASE(failing_batch_is_never_hit),
	KUNIT_CASE(batch_gives_others_their_turn),
#ifdef CONFIG_DEBUG_FS
	KUNIT_CASE(list_is_read_in_one_go),
	KUNIT_CASE_SLOW(reader_goes_on_behind_sites_that_have_gone),
#endif
	KUNIT_CASE_SLOW(single_is_not_confused_by_a_batch),
	KUNIT_CASE_SLOW(jumps_that_wait_are_in_nobodys_way),
	{}
};

static struct kunit_suite scale_suite = {
	.name = "kprobes_scale",
	.init = scale_init,
	.test_cases = scale_cases,
};

kunit_test_suite(scale_suite);
