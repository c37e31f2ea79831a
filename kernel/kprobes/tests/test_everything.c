// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit test of probes on everything: every instruction of many functions of the
 * running kernel has one, and the kernel must still work. To tell that it does, tasks
 * call functions whose results are known.
 *
 * Past bugs that it has found: probes were accepted on the call in ftrace's own trampoline, and on
 * the profiler of branches, which was hit by its own hits.
 */
#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hex.h>
#include <linux/idr.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/list_sort.h>
#include <linux/math.h>
#include <linux/preempt.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <linux/xarray.h>
#include <asm/sections.h>

#include "../internal.h"
#include "support/many.h"
#include "support/probe.h"
#include "support/sites.h"
#include "support/switch.h"

/* --- the work --- */

#define ITEMS	50

struct item {
	struct rb_node node;
	struct list_head list;
	u32 key;
};

struct work {
	struct item items[ITEMS];
	u32 numbers[ITEMS];
	char text[128];
};

static u32 scrambled(u32 i)
{
	return i * 2654435761U;
}

static int compare(u32 a, u32 b)
{
	return (a > b) - (a < b);
}

static int compare_numbers(const void *a, const void *b)
{
	return compare(*(const u32 *)a, *(const u32 *)b);
}

static bool sorts(struct work *w)
{
	u32 i, sum = 0;

	for (i = 0; i < ITEMS; i++)
		sum += w->numbers[i] = scrambled(i);
	sort(w->numbers, ITEMS, sizeof(*w->numbers), compare_numbers, NULL);
	for (i = 1; i < ITEMS; i++) {
		if (w->numbers[i - 1] > w->numbers[i])
			return false;
	}
	for (i = 0; i < ITEMS; i++)
		sum -= w->numbers[i];
	return !sum;
}

static int compare_items(void *unused, const struct list_head *a, const struct list_head *b)
{
	return compare(list_entry(a, struct item, list)->key,
		       list_entry(b, struct item, list)->key);
}

static bool sorts_a_list(struct work *w)
{
	struct item *item;
	u32 i, last = 0, nr = 0;
	LIST_HEAD(list);

	for (i = 0; i < ITEMS; i++) {
		w->items[i].key = scrambled(i);
		list_add(&w->items[i].list, &list);
	}
	list_sort(NULL, &list, compare_items);
	list_for_each_entry(item, &list, list) {
		if (item->key < last)
			return false;
		last = item->key;
		nr++;
	}
	return nr == ITEMS;
}

static bool item_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct item, node)->key < rb_entry(b, struct item, node)->key;
}

static bool grows_a_tree(struct work *w)
{
	struct rb_root tree = RB_ROOT;
	struct rb_node *node;
	u32 i, last = 0, nr = 0;

	for (i = 0; i < ITEMS; i++) {
		w->items[i].key = scrambled(i);
		rb_add(&w->items[i].node, &tree, item_less);
	}
	for (node = rb_first(&tree); node; node = rb_next(node), nr++) {
		if (rb_entry(node, struct item, node)->key < last)
			return false;
		last = rb_entry(node, struct item, node)->key;
	}
	for (i = 0; i < ITEMS; i++)
		rb_erase(&w->items[i].node, &tree);
	return nr == ITEMS && RB_EMPTY_ROOT(&tree);
}

static bool fills_an_array(struct work *w)
{
	unsigned long i, right = 0;
	struct xarray array;

	xa_init(&array);
	for (i = 0; i < ITEMS; i++)
		right += !xa_err(xa_store(&array, scrambled(i), &w->items[i], GFP_KERNEL));
	for (i = 0; i < ITEMS; i++)
		right += xa_load(&array, scrambled(i)) == &w->items[i];
	for (i = 0; i < ITEMS; i++)
		right += xa_erase(&array, scrambled(i)) == &w->items[i];
	right += xa_empty(&array);
	xa_destroy(&array);
	return right == 3 * ITEMS + 1;
}

static bool numbers_things(struct work *w)
{
	unsigned int i, right = 0;
	struct idr idr;

	idr_init(&idr);
	for (i = 0; i < ITEMS; i++)
		right += idr_alloc(&idr, &w->items[i], 0, 0, GFP_KERNEL) == i;
	for (i = 0; i < ITEMS; i++)
		right += idr_find(&idr, i) == &w->items[i];
	for (i = 0; i < ITEMS; i++)
		right += idr_remove(&idr, i) == &w->items[i];
	right += idr_is_empty(&idr);
	idr_destroy(&idr);
	return right == 3 * ITEMS + 1;
}

static bool prints(struct work *w)
{
	static const u8 mac[6] = { 1, 2, 3, 4, 5, 0xab };
	static const char expected[] =
		"-17|007|beef|a   |  b|01:02:03:04:05:ab|6c 69|18446744073709551615";

	snprintf(w->text, sizeof(w->text), "%d|%03u|%x|%-4s|%3s|%pM|%*ph|%llu", -17, 7, 0xbeef,
		 "a", "b", mac, 2, "li", ~0ULL);
	return !strcmp(w->text, expected);
}

static bool parses(struct work *w)
{
	unsigned long long big;
	int number, a, b;
	bool yes;
	u8 small;

	return !kstrtoint("-123", 10, &number) && number == -123 &&
	       !kstrtoull("0xfedcba9876543210", 0, &big) && big == 0xfedcba9876543210ULL &&
	       kstrtou8("256", 10, &small) == -ERANGE &&
	       kstrtoint("12x", 10, &number) == -EINVAL &&
	       !kstrtobool("on", &yes) && yes &&
	       sscanf("4711:0x1f", "%d:%i", &a, &b) == 2 && a == 4711 && b == 31;
}

static bool looks_into_text(struct work *w)
{
	char *rest = w->text, *word;

	strscpy(w->text, "  one two,three  ");
	return strstr(w->text, "two") == w->text + 6 && strrchr(w->text, 'e') == w->text + 14 &&
	       !strncasecmp(w->text + 2, "ONE", 3) && memchr(w->text, ',', 10) == w->text + 9 &&
	       strcspn(w->text + 2, ",") == 7 && (rest = strim(rest)) == w->text + 2 &&
	       (word = strsep(&rest, " ")) && !strcmp(word, "one") && !strcmp(rest, "two,three");
}

static bool converts(struct work *w)
{
	static const u8 bytes[] = { 0x00, 0x7f, 0x80, 0xff };
	u8 back[sizeof(bytes)];

	*bin2hex(w->text, bytes, sizeof(bytes)) = '\0';
	return !strcmp(w->text, "007f80ff") && !hex2bin(back, w->text, sizeof(back)) &&
	       !memcmp(back, bytes, sizeof(bytes));
}

static bool maps_bits(struct work *w)
{
	DECLARE_BITMAP(map, 200);
	DECLARE_BITMAP(other, 200);

	bitmap_zero(map, 200);
	bitmap_set(map, 60, 80);
	bitmap_clear(map, 100, 10);
	bitmap_shift_left(other, map, 7, 200);
	bitmap_and(other, other, map, 200);
	return bitmap_weight(map, 200) == 70 && bitmap_weight(other, 200) == 56 &&
	       find_first_bit(other, 200) == 67 && find_next_zero_bit(map, 200, 60) == 100 &&
	       bitmap_find_next_zero_area(map, 200, 60, 8, 0) == 100 &&
	       !bitmap_parselist("60-99,110-139", other, 200) && bitmap_equal(map, other, 200);
}

static bool adds_up(struct work *w)
{
	if (!IS_ENABLED(CONFIG_CRC32))
		return true;
	return (crc32_le(~0, "123456789", 9) ^ ~0U) == 0xcbf43926;
}

static bool allocates(struct work *w)
{
	char *text = kasprintf(GFP_KERNEL, "%s-%u", "memory", 42U);
	char *copy = text ? kstrdup(text, GFP_KERNEL) : NULL;
	bool good = copy && !strcmp(copy, "memory-42");

	kfree(copy);
	kfree(text);
	return good;
}

struct counts {
	int before, within, after;
};

/* A hit changes the preempt count, too. Probed code that changes it must not notice. */
static noinline void count_preemption(struct counts *counts)
{
	counts->before = preempt_count();
	__preempt_count_add(1);
	counts->within = preempt_count();
	__preempt_count_sub(1);
	counts->after = preempt_count();
}

static bool counts_preemption(struct work *w)
{
	struct counts counts;

	count_preemption(&counts);
	return !counts.before && counts.within == 1 && !counts.after;
}

static const struct {
	const char *name;
	bool (*fn)(struct work *w);
} jobs[] = {
	{ "sort", sorts },
	{ "list_sort", sorts_a_list },
	{ "rbtree", grows_a_tree },
	{ "xarray", fills_an_array },
	{ "idr", numbers_things },
	{ "snprintf", prints },
	{ "kstrto", parses },
	{ "string", looks_into_text },
	{ "hex", converts },
	{ "bitmap", maps_bits },
	{ "crc32", adds_up },
	{ "memory", allocates },
	{ "preemption", counts_preemption },
};

/*
 * Functions that these jobs call, some of them by the compiler's or a profiler's doing. They may
 * be inlined, or have another name.
 */
static const char * const called[] = {
	"sort", "sort_r", "list_sort", "merge", "rb_insert_color", "rb_erase", "rb_first",
	"rb_next", "xa_store", "__xa_store", "xa_load", "xa_erase", "__xa_erase", "xa_destroy",
	"xas_load", "xas_start", "xas_store", "xas_create", "xas_expand", "xas_alloc",
	"xas_nomem", "xas_free_nodes", "xas_shrink", "xas_init_marks", "xas_find", "idr_alloc",
	"idr_alloc_u32", "idr_find", "idr_remove", "idr_destroy", "idr_get_free",
	"radix_tree_delete_item", "__radix_tree_delete", "__radix_tree_lookup",
	"radix_tree_lookup", "radix_tree_node_alloc", "radix_tree_extend", "snprintf",
	"vsnprintf", "format_decode", "number", "put_dec", "put_dec_trunc8", "put_dec_full8",
	"string", "string_nocheck", "widen_string", "pointer", "hex_string",
	"mac_address_string", "sscanf", "vsscanf", "simple_strntoull", "simple_strtoull",
	"simple_strntoul", "kstrtoint", "kstrtoll", "kstrtoull", "kstrtouint", "kstrtou8",
	"kstrtobool", "_kstrtoull", "_parse_integer", "_parse_integer_limit",
	"_parse_integer_fixup_radix", "strcmp", "strstr", "strrchr", "strncasecmp", "memchr",
	"strcspn", "strim", "strsep", "strpbrk", "skip_spaces", "sized_strscpy", "bin2hex",
	"hex2bin", "hex_to_bin", "__bitmap_set", "__bitmap_clear", "__bitmap_and",
	"__bitmap_equal", "__bitmap_weight", "__bitmap_shift_left", "_find_first_bit",
	"_find_next_bit", "_find_next_zero_bit", "bitmap_find_next_zero_area_off",
	"bitmap_parselist", "bitmap_getnum", "crc32_le", "crc32_le_base", "kasprintf",
	"kvasprintf", "kstrdup", "kfree", "__kmalloc_node_track_caller_noprof",
	"count_preemption", "ftrace_likely_update", "__asan_load8", "__msan_get_context_state",
};

/* Returns the name of the first job that went wrong, or NULL. */
static const char *work_for(struct work *w)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		if (!jobs[i].fn(w))
			return jobs[i].name;
	}
	return NULL;
}

static struct work *new_work(struct kunit *test)
{
	struct work *w = test_alloc(test, sizeof(*w));

	return w;
}

#define WORKERS	2

struct worker {
	struct completion done;
	struct work *work;
	const char *wrong;
};

static int worker_run(void *data)
{
	struct worker *worker = data;

	worker->wrong = work_for(worker->work);
	complete(&worker->done);
	return 0;
}

static void work_on_all_sides(struct kunit *test)
{
	struct worker *workers = kunit_kcalloc(test, WORKERS, sizeof(*workers), GFP_KERNEL);
	struct task_struct *task;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, workers);
	for (i = 0; i < WORKERS; i++)
		workers[i].work = new_work(test);
	for (i = 0; i < WORKERS; i++) {
		init_completion(&workers[i].done);
		task = kthread_run(worker_run, &workers[i], "kprobes_test/%u", i);
		KUNIT_EXPECT_FALSE(test, IS_ERR(task));
		if (IS_ERR(task))
			complete(&workers[i].done);
	}
	KUNIT_EXPECT_NULL(test, work_for(new_work(test)));
	for (i = 0; i < WORKERS; i++) {
		wait_for_completion(&workers[i].done);
		KUNIT_EXPECT_NULL(test, workers[i].wrong);
	}
}

/* --- probes on everything --- */

#define FUNCTIONS	200U
#define CANDIDATES	250
#define LONGEST		2048

/**
 * struct everything - functions, and probes on their instructions
 * @test: the test case
 * @texts: the functions, and their text without probes
 * @nr: how many functions there are
 * @probes: probes for their instructions
 * @registered: the probes that are registered
 * @wanted: how many probes there are for instructions
 * @live: how many of them are registered
 */
struct everything {
	struct kunit *test;
	struct kprobes_text *texts[CANDIDATES];
	unsigned int nr;
	struct kprobe *probes;
	struct kprobe **registered;
	unsigned int wanted, live;
};

static bool is_taken(struct everything *e, void *start)
{
	unsigned int i;

	for (i = 0; i < e->nr; i++) {
		if (e->texts[i]->start == start)
			return true;
	}
	return false;
}

/* In the kernel's own functions, what others patch may be what it was or not. */
static void expect_text(void *data)
{
	struct kprobes_text *text = data;
	unsigned long i;

	for (i = 0; i < text->size; i++) {
		void *at = text->start + i;

		if (*(u8 *)at == text->copy[i] || others_patch(at))
			continue;
		KUNIT_FAIL(text->test, "%pS was left changed", at);
		return;
	}
}

static void take_function(void *data, unsigned long addr, unsigned long unused)
{
	struct everything *e = data;
	unsigned long size, offset;
	struct kprobes_text *text;

	if (e->nr == CANDIDATES || !addr || !core_kernel_text(addr) ||
	    !kallsyms_lookup_size_offset(addr, &size, &offset) || size > LONGEST ||
	    is_taken(e, (void *)(addr - offset)) || within_kprobe_blacklist(addr))
		return;
	text = kprobes_text_copy(e->test, (void *)addr);
	KUNIT_ASSERT_EQ(e->test, 0, kunit_add_action(e->test, expect_text, text));
	e->texts[e->nr++] = text;
}

struct entry {
	struct kprobe kp;
	bool interrupt;
};

static int see_context(struct kprobe *kp, struct pt_regs *regs)
{
	if (in_hardirq())
		WRITE_ONCE(container_of(kp, struct entry, kp)->interrupt, true);
	return 0;
}

NOKPROBE_SYMBOL(see_context);

/*
 * Leaves out functions that the timer's interrupt runs, and such, from @first on. With a trap at
 * each of their instructions, a slow guest has no time left for anything but interrupts.
 */
static void leave_out_interrupts(struct everything *e, unsigned int first)
{
	struct entry *entries = kvcalloc(e->nr, sizeof(*entries), GFP_KERNEL);
	unsigned int i, nr = first;

	KUNIT_ASSERT_NOT_NULL(e->test, entries);
	for (i = first; i < e->nr; i++) {
		entries[i].kp.addr = e->texts[i]->start;
		entries[i].kp.pre_handler = see_context;
		register_kprobe(&entries[i].kp);
	}
	work_on_all_sides(e->test);
	msleep(100);
	for (i = first; i < e->nr; i++) {
		unregister_kprobe(&entries[i].kp);
		if (!entries[i].interrupt)
			e->texts[nr++] = e->texts[i];
	}
	e->nr = min(nr, FUNCTIONS);
	kvfree(entries);
}

/* One function in STRIDE is taken. */
#define STRIDE	61

static void take_functions(struct everything *e)
{
	unsigned int i, nr_called;

	for (i = 0; i < ARRAY_SIZE(called); i++)
		take_function(e, kallsyms_lookup_name(called[i]), 0);
	nr_called = e->nr;
	kprobes_walk_text(STRIDE, take_function, e);
	leave_out_interrupts(e, nr_called);
}

static unsigned int bytes_of(struct everything *e)
{
	unsigned int i, bytes = 0;

	for (i = 0; i < e->nr; i++)
		bytes += e->texts[i]->size;
	return bytes;
}

static void drop_everything(void *data)
{
	struct everything *e = data;

	if (e->live)
		unregister_kprobes(e->registered, e->live);
	e->live = 0;
}

static void free_everything(void *data)
{
	struct everything *e = data;

	drop_everything(e);
	kvfree(e->registered);
	kvfree(e->probes);
}

static struct everything *new_everything(struct kunit *test)
{
	struct everything *e = test_alloc(test, sizeof(*e));
	unsigned int room;

	e->test = test;
	take_functions(e);
	room = bytes_of(e);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, free_everything, e));
	e->probes = kvcalloc(room, sizeof(*e->probes), GFP_KERNEL);
	e->registered = kvcalloc(room, sizeof(*e->registered), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->probes);
	KUNIT_ASSERT_NOT_NULL(test, e->registered);
	return e;
}

static void want(struct everything *e, void *addr)
{
	struct kprobe *kp = &e->probes[e->wanted++];

	*kp = (struct kprobe) {
		.addr = addr,
		.pre_handler = count_before,
		.post_handler = count_after,
		.flags = KPROBE_FLAG_NESTS,
	};
	INIT_LIST_HEAD(&kp->list);
}

static void want_function(struct everything *e, struct kprobes_text *text, unsigned int every,
			  unsigned int first)
{
	unsigned long at;
	unsigned int n;
	int length;

	for (n = at = 0; at < text->size; at += length, n++) {
		length = kprobes_insn_length(text->copy + at, text->size - at);
		if (length <= 0)
			break;
		if (n % every == first)
			want(e, text->start + at);
	}
}

static void register_everything(struct everything *e, unsigned int every, unsigned int first)
{
	unsigned int i;

	e->wanted = 0;
	for (i = 0; i < e->nr; i++)
		want_function(e, e->texts[i], every, first);
	e->live = register_what_can_be(e->probes, e->wanted, e->registered, NULL, NULL);
}

/* Counts the probes that are hit by a jump, and those that take two traps. */
static void count_paths(struct everything *e, unsigned int *jumps, unsigned int *steps)
{
	struct kprobe_site *site;
	const char *path;
	unsigned int i;

	*jumps = 0;
	*steps = 0;
	guard(mutex)(&kprobe_mutex);
	for (i = 0; i < e->live; i++) {
		site = kprobe_find_site((unsigned long)e->registered[i]->addr);
		path = site ? kprobe_site_path(site) : "-";
		*jumps += !strcmp(path, "jump");
		*steps += !strcmp(path, "step");
	}
}

static unsigned long count_misses(struct everything *e)
{
	unsigned long misses = 0;
	unsigned int i;

	for (i = 0; i < e->live; i++)
		misses += READ_ONCE(e->registered[i]->nmissed);
	return misses;
}

/**
 * struct manner - a way to put probes on everything
 * @name: its name
 * @every: of so many instructions, one has a probe; in the next round, another one
 * @rounds: number of rounds
 * @jumps: percentage of probes that must at least be hit by a jump, or 0 if none may be.
 *	A probe in the bytes that a jump would cover is in its way
 */
struct manner {
	const char *name;
	unsigned int every, rounds, jumps;
};

/* On record are 22 % and 85 % on x86, and 98 % on arm64, where a jump covers one instruction. */
#define FEW_JUMPS	(IS_ENABLED(CONFIG_ARM64) ? 80 : 10)
#define MANY_JUMPS	(IS_ENABLED(CONFIG_ARM64) ? 80 : 60)

static const struct manner manners[] = {
	{ "every instruction, breakpoints only", 1, 1, 0 },
	{ "every instruction", 1, 1, FEW_JUMPS },
	{ "one instruction in six", 6, 3, MANY_JUMPS },
};

KUNIT_ARRAY_PARAM_DESC(manner, manners, name);

static void go_round(struct kunit *test, struct everything *e, const struct manner *manner,
		     unsigned int first)
{
	unsigned long before, after, misses;
	unsigned int jumps, steps, live;

	register_everything(e, manner->every, first);
	live = e->live;
	wait_for_kprobe_optimizer();
	count_paths(e, &jumps, &steps);
	work_on_all_sides(test);
	misses = count_misses(e);
	kunit_info(test, "%u functions, %u of %u instructions, %u jumps, %u steps", e->nr,
		   e->live, e->wanted, jumps, steps);
	KUNIT_EXPECT_GT(test, e->live * 10, e->wanted * 7);
	KUNIT_EXPECT_LE(test, steps * 100, e->live * 3);
	KUNIT_EXPECT_GE(test, jumps * 100, e->live * manner->jumps);
	if (!manner->jumps)
		KUNIT_EXPECT_EQ(test, jumps, 0);
	drop_everything(e);
	before = take_hits(&hits_before);
	after = take_hits(&hits_after);
	kunit_info(test, "%lu hits, %lu after the instruction, %lu missed", before, after, misses);
	KUNIT_EXPECT_GT(test, after, 1000);
	/*
	 * When the probes left, tasks may have been between two handlers, but not many: one on each
	 * CPU for each of the parts in which they leave, and some that were preempted there.
	 */
	KUNIT_EXPECT_GE(test, before, after);
	KUNIT_EXPECT_LT(test, before - after,
			100 + num_online_cpus() * DIV_ROUND_UP(live, KPROBE_PATCH_BATCH));
	/*
	 * The first and the last steps of an interrupt on top of a handler count as the handler's.
	 * They may be among the functions, so it is not promised that there is no miss at all.
	 */
	KUNIT_EXPECT_LE(test, misses * 100, before);
}

static void kernel_works_with_probes_on_everything(struct kunit *test)
{
	const struct manner *manner = test->param_value;
	struct everything *e;
	unsigned int i;

	if (!manner->jumps) {
		switch_need(test);
		KUNIT_ASSERT_EQ(test, 0, switch_set(false));
	}
	/* A jump cannot cover a site that waits to be freed, either. */
	if (manner->every > 1)
		wait_for_dying_sites(test);
	e = new_everything(test);
	KUNIT_ASSERT_EQ(test, e->nr, FUNCTIONS);
	KUNIT_ASSERT_NULL(test, work_for(new_work(test)));
	for (i = 0; i < manner->rounds; i++)
		go_round(test, e, manner, i * manner->every / manner->rounds);
	for (i = 0; i < e->nr; i++)
		expect_text(e->texts[i]);
}

static struct kunit_case everything_cases[] = {
	KUNIT_CASE_PARAM_ATTR(kernel_works_with_probes_on_everything, manner_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	{}
};

static struct kunit_suite everything_suite = {
	.name = "kprobes_everything",
	.suite_init = switch_suite_init,
	.suite_exit = switch_suite_exit,
	.init = switch_init,
	.exit = switch_exit,
	.test_cases = everything_cases,
};

kunit_test_suite(everything_suite);

MODULE_DESCRIPTION("KUnit test of kprobes on many functions of the kernel");
MODULE_LICENSE("GPL");
