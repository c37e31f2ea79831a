// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what the interface does not show: the table, the slots, and the
 * states of a site until it is freed. lib/test_kprobes.c tests what users see.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/elf.h>
#include <linux/execmem.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#ifdef CONFIG_X86_64
#include <asm/vsyscall.h>
#endif

#include "../internal.h"
#include "support/core.h"
#include "support/kinds.h"
#include "support/regs.h"
#include "support/report.h"
#include "support/sites.h"
#include "support/threads.h"

/* --- the table --- */

#define NR_NODES	5000

struct table_fixture {
	struct mutex		lock;	/* the table's */
	struct kprobe_table	table;
	struct kprobe_node	nodes[NR_NODES];
};

static unsigned long key_of(unsigned int i)
{
	return 0xffffffff81000000UL + i * 16UL;
}

static bool finds(struct table_fixture *f, unsigned int i)
{
	guard(preempt)();
	return kprobe_table_find(&f->table, key_of(i)) == &f->nodes[i];
}

static void add_node(struct table_fixture *f, unsigned int i)
{
	guard(mutex)(&f->lock);
	kprobe_table_insert(&f->table, &f->nodes[i], key_of(i));
}

static void remove_node(struct table_fixture *f, unsigned int i)
{
	guard(mutex)(&f->lock);
	kprobe_table_remove(&f->table, &f->nodes[i]);
}

static void drop_table(void *data)
{
	struct table_fixture *f = data;
	struct kprobe_buckets *b;

	flush_work(&f->table.resize);
	b = rcu_dereference_protected(f->table.buckets, true);
	if (&b->hdr != &f->table.first)
		kvfree(b);
	kvfree(f);
}

static struct table_fixture *new_table(struct kunit *test)
{
	struct table_fixture *f = kvzalloc(sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	mutex_init(&f->lock);
	f->table = (struct kprobe_table)KPROBE_TABLE_INIT(f->table, &f->lock);
	/* The initializer is for static work only. */
	INIT_WORK(&f->table.resize, kprobe_table_resize);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_table, f));
	return f;
}

/* With short chains, a lookup costs the same with any number of sites. */
static unsigned int longest_chain(struct table_fixture *f)
{
	struct kprobe_buckets *b = rcu_dereference_protected(f->table.buckets, true);
	unsigned int i, n, longest = 0;
	struct kprobe_node *node;

	for (i = 0; i < 1U << b->hdr.bits; i++) {
		n = 0;
		for (node = rcu_dereference_protected(b->heads[i], true); node;
		     node = rcu_dereference_protected(node->next[b->hdr.side], true))
			n++;
		longest = max(longest, n);
	}
	return longest;
}

static unsigned int bits_of(struct table_fixture *f)
{
	flush_work(&f->table.resize);
	return rcu_dereference_protected(f->table.buckets, true)->hdr.bits;
}

/* How many of all nodes are not found though they are there, or found though they are not */
static unsigned int nodes_wrong(struct table_fixture *f, unsigned int first, unsigned int end)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < NR_NODES; i++)
		wrong += finds(f, i) != (i >= first && i < end);
	return wrong;
}

/* While it is resized, too */
static void table_grows_and_shrinks_with_its_nodes(struct kunit *test)
{
	struct table_fixture *f = new_table(test);
	unsigned int least = bits_of(f), most, round, i, wrong = 0;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < NR_NODES; i++) {
			add_node(f, i);
			wrong += !finds(f, i) + !finds(f, i / 2);
		}
		most = bits_of(f);
		KUNIT_EXPECT_GT(test, most, least);
		KUNIT_EXPECT_LE(test, longest_chain(f), 10);
		KUNIT_EXPECT_EQ(test, nodes_wrong(f, 0, NR_NODES), 0);
		for (i = 0; i < NR_NODES - 1; i++) {
			remove_node(f, i);
			wrong += finds(f, i) + !finds(f, NR_NODES - 1);
			/* Half of them do not make a difference. */
			wrong += i == NR_NODES / 2 && bits_of(f) != most;
		}
		KUNIT_EXPECT_EQ(test, bits_of(f), least);
		KUNIT_EXPECT_EQ(test, nodes_wrong(f, NR_NODES - 1, NR_NODES), 0);
		remove_node(f, NR_NODES - 1);
		synchronize_rcu();
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* The links of the old array are used again by the next resize. */
static void table_waits_for_its_readers(struct kunit *test)
{
	struct table_fixture *f = new_table(test);
	unsigned int i;

	reader_start(test, NULL);
	for (i = 0; i < NR_NODES; i++)
		add_node(f, i);
	reader_ends_soon();
	flush_work(&f->table.resize);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(reader_ended));
}

/* --- slots --- */

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
static kprobe_opcode_t **take_slots(struct kunit *test, unsigned int num)
{
	kprobe_opcode_t **slots = test_alloc(test, num * sizeof(*slots));
	unsigned int i;

	for (i = 0; i < num; i++) {
		slots[i] = get_insn_slot();
		KUNIT_EXPECT_NOT_NULL(test, slots[i]);
	}
	return slots;
}

/* The last ones first, so that their page is empty while others are full */
static void give_slots_back(kprobe_opcode_t **slots, unsigned int num)
{
	while (num--)
		if (slots[num])
			free_insn_slot(slots[num], 0);
}

#define NR_SLOTS	300

static void slots_are_distinct_and_known(struct kunit *test)
{
	kprobe_opcode_t **slots = take_slots(test, NR_SLOTS);
	unsigned int i, j, same = 0, unknown = 0;

	for (i = 0; i < NR_SLOTS; i++) {
		unknown += !is_kprobe_insn_slot((unsigned long)slots[i]);
		for (j = 0; j < i; j++)
			same += slots[i] == slots[j];
	}
	give_slots_back(slots, NR_SLOTS);
	KUNIT_EXPECT_EQ(test, 0, same);
	KUNIT_EXPECT_EQ(test, 0, unknown);
	KUNIT_EXPECT_FALSE(test, is_kprobe_insn_slot((unsigned long)slots));
}

static void slot_knows_its_owner(struct kunit *test)
{
	kprobe_opcode_t *slot = get_insn_slot();
	struct kprobe owner;

	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_EXPECT_NULL(test, kprobe_slot_owner((unsigned long)slot));
	kprobe_slot_set_owner(slot, &owner);
	KUNIT_EXPECT_PTR_EQ(test, &owner, kprobe_slot_owner((unsigned long)slot));
	KUNIT_EXPECT_PTR_EQ(test, &owner, kprobe_slot_owner((unsigned long)(slot + 1) - 1));
	KUNIT_EXPECT_NULL(test, kprobe_slot_owner((unsigned long)&owner));
	/* What is behind the last slot of a page is nobody's. */
	if (PAGE_SIZE % (kprobe_insn_slots.slot_size * sizeof(*slot)))
		KUNIT_EXPECT_NULL(test, kprobe_slot_owner(PAGE_ALIGN((unsigned long)slot + 1) - 1));
	free_insn_slot(slot, 0);
	KUNIT_EXPECT_NULL(test, kprobe_slot_owner((unsigned long)slot));
}

static unsigned int count_insn_pages(void)
{
	char name[KSYM_NAME_LEN], type;
	unsigned int i, pages = 0;
	unsigned long start;

	for (i = 0; !kprobe_get_kallsym(i, &start, &type, name); i++)
		pages += !strcmp(name, kprobe_insn_slots.name);
	return pages;
}

static DECLARE_COMPLETION(page_freed);
static unsigned long page_watched;
static bool freed_behind_reader;

static void free_and_look(void *page)
{
	bool watched = (unsigned long)page == page_watched;

	execmem_free(page);
	if (!watched)
		return;
	freed_behind_reader = READ_ONCE(reader_ended);
	complete(&page_freed);
}

/* Who has looked up an address in the page may still read what is known of it. */
static void empty_page_waits_for_its_readers(struct kunit *test)
{
	unsigned int pages, num = 2 * PAGE_SIZE / (kprobe_insn_slots.slot_size *
						   sizeof(kprobe_opcode_t));
	kprobe_opcode_t **slots = take_slots(test, num);

	pages = count_insn_pages();
	page_watched = (unsigned long)slots[num - 1] & PAGE_MASK;
	reinit_completion(&page_freed);
	kprobe_insn_slots.free = free_and_look;
	reader_start(test, NULL);
	give_slots_back(slots, num);
	KUNIT_EXPECT_LT(test, count_insn_pages(), pages);
	reader_ends_soon();
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&page_freed, 10 * HZ), 0);
	kprobe_insn_slots.free = execmem_free;
	KUNIT_EXPECT_TRUE(test, freed_behind_reader);
}
#endif

/* --- sites --- */

static noinline unsigned int site_target(unsigned int n)
{
	barrier_data(&n);
	return n * 3 + 1;
}

static unsigned int hits;

KIND_HANDLERS(count, hits++);

static struct kprobe *plant_at(struct kunit *test, void *addr)
{
	const union any_probe like = { .kp.pre_handler = count_pre };

	return &any_registered(test, KPROBE, &like, addr)->probe.kp;
}

static struct kprobe *plant(struct kunit *test)
{
	return plant_at(test, site_target);
}

static struct kprobe_site *planted_site(struct kprobe *p)
{
	return site_at(p->addr);
}

static bool is_registered(struct kprobe *p)
{
	guard(mutex)(&kprobe_mutex);
	return kprobe_site_holding(p);
}

static unsigned int hits_of_a_call(void)
{
	unsigned int (*target)(unsigned int n) = site_target;

	/* Keeps the compiler from knowing which function is called. */
	OPTIMIZER_HIDE_VAR(target);
	hits = 0;
	target(1);
	return READ_ONCE(hits);
}

#ifdef CONFIG_KRETPROBES
static int switched_off;

static noinline __noclone u32 switches_off(u32 x)
{
	switched_off = kprobe_set_all_armed(false);
	return x + 1;
}

/* On some architectures it returns by a probe. */
static void call_returns_with_the_global_switch_off(struct kunit *test)
{
	return_probe_with(test, NULL, .rp.kp.symbol_name = __stringify(switches_off));
	KUNIT_EXPECT_EQ(test, 2, switches_off(1));
	KUNIT_EXPECT_EQ(test, 0, switched_off);
	KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(true));
}
#endif

#define TURNS	20

/* Calls that begin when it was turned are all hit, or not at all. */
static void global_switch_is_turned_under_hits(struct kunit *test)
{
	struct probe *probe = probe_registered(test, site_target);
	struct caller *caller = caller_start(test, site_target);
	unsigned int i, before;
	bool on;

	for (i = 0; i < TURNS; i++) {
		on = i & 1;
		KUNIT_EXPECT_EQ(test, 0, kprobe_set_all_armed(on));
		/* One call may have begun before. */
		caller_wait(test, caller);
		before = READ_ONCE(probe->hits);
		/* One may have been hit already. */
		caller_wait(test, caller);
		caller_wait(test, caller);
		KUNIT_EXPECT_EQ(test, READ_ONCE(probe->hits) != before, on);
	}
	caller_stop(caller);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

/*
 * With kprobe_mutex held, a site that its last probe has left cannot be freed. So
 * the next probe finds it, and revives it.
 */
static void dying_site_is_revived(struct kunit *test)
{
	struct kprobe *p = plant(test);
	struct kprobe_site *site;
	DEFINE_KPROBE_PLAN(plan);
	unsigned int retiring;

	scoped_guard(kprobe_lock) {
		retiring = kprobe_sites_retiring();
		site = kprobe_find_site((unsigned long)p->addr);
		KUNIT_EXPECT_TRUE(test, kprobe_remove(p, &plan));
		kprobe_plan_apply(&plan);
		KUNIT_EXPECT_EQ(test, SITE_DYING, site->state);
		KUNIT_EXPECT_EQ(test, retiring + 1, kprobe_sites_retiring());
		KUNIT_EXPECT_PTR_EQ(test, site, kprobe_find_site((unsigned long)p->addr));
		INIT_LIST_HEAD(&p->list);
		kprobe_site_attach(site, p);
		kprobe_site_refresh(site, &plan);
		kprobe_plan_apply(&plan);
		KUNIT_EXPECT_TRUE(test, kprobe_site_armed(site));
		KUNIT_EXPECT_EQ(test, retiring, kprobe_sites_retiring());
	}
	KUNIT_EXPECT_EQ(test, 1, hits_of_a_call());
	unregister_kprobe(p);
	KUNIT_EXPECT_EQ(test, 0, hits_of_a_call());
}

static bool any_gone_site(void)
{
	return count_sites(site->state == SITE_GONE);
}

/* Its place on the list of those that are left late is in use for something else. */
static void gone_text_is_left_with_preemption_off(struct kunit *test)
{
	unsigned int settled, tries = 0;
	struct kprobe *p;

	need_counted_preemption(test);
	for (settled = 0; settled < 2; settled++) {
		p = plant(test);
		scoped_guard(kprobe_lock)
			lose_text(kprobe_find_site((unsigned long)p->addr));
		if (settled)
			wait_for_dying_sites(test);
		expect_report_begin();
		scoped_guard(preempt)
			unregister_kprobe(p);
		expect_report_end();
		KUNIT_EXPECT_TRUE(test, list_empty(&p->list));
		KUNIT_EXPECT_FALSE(test, is_registered(p));
	}
	while (any_gone_site() && ++tries < DYING_SITES_TRIES)
		msleep(50);
	KUNIT_EXPECT_FALSE(test, any_gone_site());
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* A past bug: a probe on text that had gone stayed hooked in ftrace. */
static void entry_of_gone_text_is_unhooked(struct kunit *test)
{
	struct kprobe *p = plant(test);
	struct kprobe_site *site = planted_site(p);

	if (!kprobe_ftrace(p))
		kunit_skip(test, "ftrace does not call for that function");
	KUNIT_EXPECT_TRUE(test, site->hook == KPROBE_HOOK_SHARED);
	scoped_guard(kprobe_lock)
		lose_text(site);
	KUNIT_EXPECT_TRUE(test, !site->hook);
	KUNIT_EXPECT_EQ(test, 0, hits_of_a_call());
	KUNIT_EXPECT_PTR_NE(test, site, planted_site(plant(test)));
	KUNIT_EXPECT_EQ(test, 1, hits_of_a_call());
}
#endif

#ifdef CONFIG_KRETPROBES
static void miss_of_gone_text_is_not_its_successors(struct kunit *test)
{
	const union any_probe none = {};
	struct kretprobe *rp = &any_registered(test, RETURN_PROBE, &none, site_target)->probe.rp;
	struct kprobe_site *next;

	scoped_guard(kprobe_lock)
		lose_text(kprobe_find_site((unsigned long)rp->kp.addr));
	next = planted_site(plant(test));
	scoped_guard(preempt)
		kretprobe_count_miss(rp, KPROBE_MISS_POOL);
	KUNIT_EXPECT_EQ(test, 1, rp->nmissed);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&next->missed[KPROBE_MISS_POOL]));
}
#endif

#ifdef CONFIG_DEBUG_FS
#define LIST_SIZE	SZ_64K

static ssize_t read_list(struct kunit *test, struct vfsmount *mnt, char *text)
{
	struct file *list = open_list(test, mnt);
	loff_t pos = 0;
	ssize_t size = read_piece(list, text, LIST_SIZE - 1, &pos);

	text[max(size, 0)] = 0;
	filp_close(list, NULL);
	return size;
}

/* What is there by now, if anything, is not what was probed. */
static void gone_text_is_listed_without_a_name(struct kunit *test)
{
	struct vfsmount *mnt = mount_fs(test, "debugfs");
	char *text = test_alloc(test, LIST_SIZE);
	struct kprobe_site *site = planted_site(plant(test));

	KUNIT_EXPECT_GT(test, read_list(test, mnt, text), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "  site_target+0x"));
	scoped_guard(kprobe_lock)
		lose_text(site);
	KUNIT_EXPECT_GT(test, read_list(test, mnt, text), 0);
	KUNIT_EXPECT_NULL(test, strstr(text, "  site_target+0x"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " [GONE]"));
}
#endif

#if defined(__ARCH_WANT_KPROBES_INSN_SLOT) && ARCH_KPROBE_STATELESS
/* Not traced: a site that ftrace serves has no slot. */
static noinline notrace unsigned int slot_target(unsigned int n)
{
	barrier_data(&n);
	return n * 5 + 2;
}

static struct kprobe *owner_of(unsigned long slot)
{
	guard(preempt)();
	return kprobe_slot_owner(slot);
}

/* Text may run until it is freed, so a task may have been preempted in the slot. */
static void slot_stays_with_gone_text_for_a_while(struct kunit *test)
{
	struct kprobe *p = plant_at(test, slot_target);
	struct kprobe_site *site = planted_site(p);
	DEFINE_KPROBE_PLAN(plan);
	unsigned int tries = 0;
	unsigned long slot;

	KUNIT_ASSERT_NOT_NULL(test, site);
	slot = (unsigned long)site->kp.ainsn.insn;
	KUNIT_ASSERT_NE(test, slot, 0);
	kprobe_lock();
	lose_text(site);
	/* The site stays when its last probe leaves, but a hit must not find that probe. */
	KUNIT_EXPECT_TRUE(test, kprobe_remove(p, &plan));
	KUNIT_EXPECT_PTR_EQ(test, &site->kp, site->first);
	KUNIT_EXPECT_PTR_EQ(test, &site->kp, owner_of(slot));
	KUNIT_EXPECT_FALSE(test, hash_hashed(&site->kp.hlist));
	kprobe_unlock();
	while (owner_of(slot) && ++tries < DYING_SITES_TRIES)
		msleep(50);
	KUNIT_EXPECT_NULL(test, owner_of(slot));
}

/* Returns whether there was a site that its last probe has left. */
static bool kill_dying_site(unsigned long addr, bool *asked)
{
	struct kprobe_site *site;

	guard(mutex)(&kprobe_mutex);
	site = kprobe_find_site(addr);
	if (!site || site->state != SITE_DYING)
		return false;
	kprobe_site_kill(site);
	*asked = hash_hashed(&site->kp.hlist);
	return true;
}

/*
 * Registrations go through the others at their address, to see whether one has the probe. Without
 * preemption the site may be freed too soon.
 */
static void gone_site_without_probes_is_not_asked(struct kunit *test)
{
	bool dying = false, asked = false;
	unsigned int tries;
	struct kprobe *p;

	for (tries = 0; tries < 50 && !dying; tries++) {
		p = plant_at(test, slot_target);
		kunit_release_action(test, any_drop, p);
		dying = kill_dying_site((unsigned long)p->addr, &asked);
	}
	KUNIT_EXPECT_TRUE(test, dying);
	KUNIT_EXPECT_FALSE(test, asked);
}
#endif

#ifdef CONFIG_LIVEPATCH
static void livepatch_with_relocations_is_known(struct kunit *test)
{
	struct module *mod = test_alloc(test, sizeof(*mod));
	struct klp_modinfo info = { .hdr.e_shnum = 2 };
	char name[] = ".klp.rela.a_module..text";

	info.sechdrs = kunit_kcalloc(test, info.hdr.e_shnum, sizeof(*info.sechdrs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, info.sechdrs);
	mod->state = MODULE_STATE_COMING;
	KUNIT_EXPECT_FALSE(test, kprobe_module_is_relocated(mod));
	mod->klp = true;
	KUNIT_EXPECT_TRUE(test, kprobe_module_is_relocated(mod));
	info.secstrings = name;
	mod->klp_info = &info;
	mod->state = MODULE_STATE_LIVE;
	KUNIT_EXPECT_FALSE(test, kprobe_module_is_relocated(mod));
	info.sechdrs[1].sh_flags = SHF_RELA_LIVEPATCH;
	KUNIT_EXPECT_TRUE(test, kprobe_module_is_relocated(mod));
	strscpy(name, ".klp.rela.vmlinux..text");
	KUNIT_EXPECT_FALSE(test, kprobe_module_is_relocated(mod));
}
#endif

static bool all_is_relocated(unsigned long addr)
{
	return true;
}

/*
 * A past bug: an instruction of a livepatch was carried out with the operand that it had
 * before its relocation.
 */
static void relocated_text_is_refused(struct kunit *test)
{
	const union any_probe none = {};
	void *addr = site_target;

#ifdef CONFIG_KPROBES_ON_FTRACE
	/* The call itself is nobody else's. */
	addr = (void *)ftrace_location((unsigned long)addr) + MCOUNT_INSN_SIZE;
#endif
	wait_for_dying_sites(test);
	kunit_activate_static_stub(test, kprobe_is_relocated, all_is_relocated);
	any_expect_refused(test, any_new(test, KPROBE, &none, addr), -EINVAL);
	kunit_deactivate_static_stub(test, kprobe_is_relocated);
}

static void after_hit(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* There is no pre handler: if the instruction faults, no handler of this hit has run. */
static void no_probe_of_an_earlier_hit_is_blamed(struct kunit *test)
{
	const union any_probe like = { .kp.post_handler = after_hit };
	struct kprobe *p = &any_registered(test, KPROBE, &like, site_target)->probe.kp;
	struct kprobe_site *site = planted_site(p);
	struct kprobe earlier = {}, *running = &earlier;
	struct kprobe_hit frame = {};
	struct pt_regs regs = {};

	preempt_disable_notrace();
	if (kprobe_enter(&frame, &site->kp)) {
		kprobe_runs(frame.mark, &earlier);
		kprobe_run_many(&site->kp, &regs);
		running = frame.mark->running;
		kprobe_leave(&frame);
	}
	preempt_enable_notrace();
	KUNIT_EXPECT_NULL(test, running);
}

/* As if the only post handler had left after the hit has seen that there is one. */
static void post_handler_may_leave_during_a_hit(struct kunit *test)
{
	struct kprobe_site *site = planted_site(plant(test));
	struct pt_regs regs = {};

	KUNIT_ASSERT_NOT_NULL(test, site);
	hits = 0;
	scoped_guard(preempt)
		kprobe_hit_post(site, &regs);
	KUNIT_EXPECT_EQ(test, 0, hits);
}

static void representative_stands_for_all_probes(struct kunit *test)
{
	struct kprobe *p = plant(test), *q = plant(test);

	unregister_kprobe(&planted_site(p)->kp);
	KUNIT_EXPECT_FALSE(test, is_registered(p));
	KUNIT_EXPECT_FALSE(test, is_registered(q));
	KUNIT_EXPECT_EQ(test, 0, hits_of_a_call());
}

/* A module that fails to load can go after its function was found not to do for a probe. */
static void function_is_forgotten_with_its_text(struct kunit *test)
{
	struct kprobe_function *f;

	guard(mutex)(&kprobe_mutex);
	f = kprobe_function_at((unsigned long)site_target);
	KUNIT_EXPECT_NOT_NULL(test, f);
	if (!f)
		return;
	/* Here it is not the text that goes, but the function that moves. */
	f->start = (unsigned long)test;
	f->end = f->start + sizeof(*test);
	KUNIT_EXPECT_NULL(test, kprobe_function_at((unsigned long)test));
	KUNIT_EXPECT_EQ(test, 0, f->start);
	kprobe_function_forget();
}

#ifdef CONFIG_X86_64
/* What was found out about text that cannot be pinned must not be used for what is there later. */
static void function_of_a_refused_address_is_forgotten(struct kunit *test)
{
	struct kprobe p = {
		.addr = (kprobe_opcode_t *)VSYSCALL_ADDR,
		.pre_handler = count_pre,
	};
	const struct kprobe_function *f = NULL;

	scoped_guard(mutex, &kprobe_mutex)
		f = kprobe_function_at((unsigned long)site_target);
	KUNIT_ASSERT_NOT_NULL(test, f);
	KUNIT_EXPECT_NE(test, 0, register_kprobe(&p));
	guard(mutex)(&kprobe_mutex);
	KUNIT_EXPECT_EQ(test, 0, f->start);
}
#endif

#if !ARCH_KPROBE_STATELESS
/* The architecture loads the pointer, perhaps several times, and calls the function. */
static void post_handler_of_an_armed_site_is_not_taken_away(struct kunit *test)
{
	struct kprobe *with_post = plant(test);
	struct kprobe_site *site = planted_site(plant(test));
	struct pt_regs regs = {};

	KUNIT_ASSERT_NOT_NULL(test, site);
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(with_post));
	with_post->post_handler = after_hit;
	KUNIT_ASSERT_EQ(test, 0, enable_kprobe(with_post));
	KUNIT_EXPECT_TRUE(test, site->has_post_handler);
	KUNIT_ASSERT_EQ(test, 0, disable_kprobe(with_post));
	KUNIT_EXPECT_FALSE(test, site->has_post_handler);
	KUNIT_ASSERT_NOT_NULL(test, site->kp.post_handler);
	scoped_guard(preempt)
		site->kp.post_handler(&site->kp, &regs, 0);
	KUNIT_EXPECT_EQ(test, 1, hits_of_a_call());
}
#endif

#ifdef CONFIG_MODULES
/* In another state than LIVE it may be freed without a word to the core. */
static void only_live_modules_are_known_unannounced(struct kunit *test)
{
	struct module *mod = test_alloc(test, sizeof(*mod));

	guard(mutex)(&kprobe_mutex);
	mod->state = MODULE_STATE_COMING;
	KUNIT_EXPECT_FALSE(test, kprobe_module_is_known(mod));
	mod->state = MODULE_STATE_GOING;
	KUNIT_EXPECT_FALSE(test, kprobe_module_is_known(mod));
	mod->state = MODULE_STATE_LIVE;
	KUNIT_EXPECT_TRUE(test, kprobe_module_is_known(mod));
}
#endif

#if defined(CONFIG_MODULES) && defined(__ARCH_WANT_KPROBES_INSN_SLOT)
static noinline unsigned int listed_behind(unsigned int n)
{
	barrier_data(&n);
	return n * 5 + 1;
}

/*
 * A slot is text, and no symbol covers it. A past bug: such an entry of the blacklist spoiled
 * those behind it.
 */
static void entry_without_a_symbol_does_not_spoil_the_list(struct kunit *test)
{
	struct module *mod = test_alloc(test, sizeof(*mod));
	kprobe_opcode_t *slot = get_insn_slot();
	unsigned long list[] = { (unsigned long)slot, (unsigned long)listed_behind };
	unsigned long size, offset;

	KUNIT_ASSERT_NOT_NULL(test, slot);
	mod->kprobe_blacklist = list;
	mod->num_kprobe_blacklist = ARRAY_SIZE(list);
	mod->mem[MOD_TEXT].base = listed_behind;
	KUNIT_ASSERT_TRUE(test, kallsyms_lookup_size_offset(list[1], &size, &offset));
	mod->mem[MOD_TEXT].size = size;
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_blacklist_add_module(mod);
	KUNIT_EXPECT_TRUE(test, kprobe_blacklisted((unsigned long)listed_behind));
	KUNIT_EXPECT_FALSE(test, kprobe_blacklisted((unsigned long)slot));
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_blacklist_remove_module(mod, false);
	KUNIT_EXPECT_FALSE(test, kprobe_blacklisted((unsigned long)listed_behind));
	free_insn_slot(slot, 0);
}
#endif

static unsigned long registrations[8];
static int nr_registrations, results;

static int note_registration(struct return_probe *probe, struct kretprobe_instance *ri,
			     struct pt_regs *regs)
{
	if (nr_registrations < ARRAY_SIZE(registrations))
		registrations[nr_registrations++] = kprobes_argument(regs);
	return 0;
}

static void note_result(struct return_probe *probe, struct kretprobe_instance *ri,
			struct pt_regs *regs)
{
	results += regs_return_value(regs) ? 100 : 1;
}

/* A monitor sees each probe of an array as it sees single ones, and what has become of it. */
static void monitor_sees_arrays(struct kunit *test)
{
	static union any_probe probes[3];
	union any_probe *list[] = { &probes[0], &probes[1], &probes[2] };
	const union any_probe like = { .kp.pre_handler = count_pre };
	enum any_type type;
	unsigned long addr;
	int i;

	kprobes_need_arguments(test);
	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "no return probes");
	return_probe_with(test, NULL, .rp.kp.symbol_name = "register_kprobe",
			  .on_entry = note_registration, .on_return = note_result);
	for (type = KPROBE; type <= RETURN_PROBE; type++) {
		for (i = 0; i < 3; i++)
			any_reset(&probes[i], &like, site_target);
		nr_registrations = 0;
		results = 0;
		KUNIT_EXPECT_EQ(test, 0, any_register_many(type, list, 3));
		any_unregister_many(type, list, 3);
		KUNIT_EXPECT_EQ(test, 3, nr_registrations);
		KUNIT_EXPECT_EQ(test, 3, results);
		for (i = 0; i < 3; i++) {
			addr = (unsigned long)&probes[i];
			KUNIT_EXPECT_TRUE(test, registrations[0] == addr ||
					  registrations[1] == addr || registrations[2] == addr);
		}
	}
}

/* What monitors, and other parts of the kernel, look for */
static void names_that_are_looked_for_are_there(struct kunit *test)
{
	static const char * const names[] = {
		"register_kprobe", "unregister_kprobe", "enable_kprobe", "disable_kprobe",
		"arm_kprobe", "disarm_kprobe",
#ifdef CONFIG_KPROBES_ON_FTRACE
		"kprobe_ftrace_handler",
#ifdef CONFIG_KALLSYMS_ALL
		"kprobe_ftrace_ops", "kprobe_ipmodify_ops",
#endif
#endif
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		KUNIT_EXPECT_NE_MSG(test, 0, kallsyms_lookup_name(names[i]), "%s", names[i]);
}

static int count_match(void *data, unsigned long addr)
{
	unsigned long *count = data;

	*count += addr == (unsigned long)dereference_function_descriptor(register_kprobe);
	return 0;
}

/* The search begins with the name that was found last. */
static void name_is_found_after_any_other(struct kunit *test)
{
	static const char * const others[] = {
		"register_kprobe", "register_kprobes", "vsnprintf", "no_such_function_anywhere",
		"aaaa", "zzzz", "register_kprob",
	};
	unsigned long count;
	int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		kallsyms_lookup_name(others[i]);
		KUNIT_EXPECT_EQ(test, kallsyms_lookup_name("register_kprobe"),
				(unsigned long)dereference_function_descriptor(register_kprobe));
		kallsyms_lookup_name(others[i]);
		count = 0;
		kallsyms_on_each_match_symbol(count_match, "register_kprobe", &count);
		KUNIT_EXPECT_EQ(test, count, 1);
		KUNIT_EXPECT_EQ(test, kallsyms_lookup_name("no_such_function_anywhere"), 0);
	}
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(monitor_sees_arrays),
	KUNIT_CASE(name_is_found_after_any_other),
	KUNIT_CASE(names_that_are_looked_for_are_there),
	KUNIT_CASE(table_grows_and_shrinks_with_its_nodes),
	KUNIT_CASE(table_waits_for_its_readers),
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	KUNIT_CASE(slots_are_distinct_and_known),
	KUNIT_CASE(slot_knows_its_owner),
	KUNIT_CASE(empty_page_waits_for_its_readers),
#endif
	KUNIT_CASE(global_switch_is_turned_under_hits),
	KUNIT_CASE(dying_site_is_revived),
	KUNIT_CASE(gone_text_is_left_with_preemption_off),
#ifdef CONFIG_KPROBES_ON_FTRACE
	KUNIT_CASE(entry_of_gone_text_is_unhooked),
#endif
#ifdef CONFIG_KRETPROBES
	KUNIT_CASE(call_returns_with_the_global_switch_off),
	KUNIT_CASE(miss_of_gone_text_is_not_its_successors),
#endif
#ifdef CONFIG_DEBUG_FS
	KUNIT_CASE(gone_text_is_listed_without_a_name),
#endif
#if defined(__ARCH_WANT_KPROBES_INSN_SLOT) && ARCH_KPROBE_STATELESS
	KUNIT_CASE(slot_stays_with_gone_text_for_a_while),
	KUNIT_CASE(gone_site_without_probes_is_not_asked),
#endif
#ifdef CONFIG_LIVEPATCH
	KUNIT_CASE(livepatch_with_relocations_is_known),
#endif
	KUNIT_CASE(relocated_text_is_refused),
	KUNIT_CASE(no_probe_of_an_earlier_hit_is_blamed),
	KUNIT_CASE(post_handler_may_leave_during_a_hit),
	KUNIT_CASE(representative_stands_for_all_probes),
#ifdef CONFIG_MODULES
	KUNIT_CASE(only_live_modules_are_known_unannounced),
#endif
#if defined(CONFIG_MODULES) && defined(__ARCH_WANT_KPROBES_INSN_SLOT)
	KUNIT_CASE(entry_without_a_symbol_does_not_spoil_the_list),
#endif
	KUNIT_CASE(function_is_forgotten_with_its_text),
#ifdef CONFIG_X86_64
	KUNIT_CASE(function_of_a_refused_address_is_forgotten),
#endif
#if !ARCH_KPROBE_STATELESS
	KUNIT_CASE(post_handler_of_an_armed_site_is_not_taken_away),
#endif
	{}
};

static struct kunit_suite core_suite = {
	.name = "kprobes_core",
	.test_cases = core_cases,
};

kunit_test_suite(core_suite);
