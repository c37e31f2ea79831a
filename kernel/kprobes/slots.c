// SPDX-License-Identifier: GPL-2.0-only
/*
 * Executable memory for copies of probed instructions, handed out in slots of equal size. If the
 * architecture can patch read-only text, alloc_insn_page() makes the pages read-only, so that they
 * are never writable and executable at once.
 */
#include <linux/bitmap.h>
#include <linux/execmem.h>
#include <linux/kallsyms.h>
#include <linux/perf_event.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT

#ifndef ARCH_KPROBE_SLOT_SIZE
#define ARCH_KPROBE_SLOT_SIZE	MAX_INSN_SIZE
#endif

/* A page of slots */
struct slot_page {
	struct kprobe_node	by_addr;	/* member of its cache's table */
	struct list_head	list;		/* of its list; read under RCU after removal */
	struct kprobe_insn_cache *cache;
	struct rcu_work		free;
	kprobe_opcode_t		*insns;		/* the executable memory */
	unsigned long		*used;		/* a bit for each slot */
	struct kprobe		*owner[];	/* see kprobe_slot_owner() */
};

/*
 * Makes a page of slots read-only and executable, if execmem_alloc() has returned one; or frees it
 * and returns NULL. After that it is only written through the patching API, as the kernel's own
 * text is. Its alias in the linear map becomes read-only with it, where there is one that can. May
 * sleep.
 */
void *kprobe_seal_page(void *page)
{
	if (page && set_memory_rox((unsigned long)page, 1)) {
		execmem_free(page);
		return NULL;
	}
	return page;
}

/* Some architectures without ARCH_KPROBE_STATELESS write to slots as to other memory. */
void __weak *alloc_insn_page(void)
{
	void *page = execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);

	return ARCH_KPROBE_STATELESS ? kprobe_seal_page(page) : page;
}

static __always_inline size_t slot_bytes(struct kprobe_insn_cache *c)
{
	return c->slot_size * sizeof(kprobe_opcode_t);
}

static __always_inline unsigned int slots_per_page(struct kprobe_insn_cache *c)
{
	return PAGE_SIZE / slot_bytes(c);
}

static __always_inline struct slot_page *page_at(struct kprobe_insn_cache *c, unsigned long addr)
{
	struct kprobe_node *node = kprobe_table_find(&c->table, addr & PAGE_MASK);

	return node ? container_of(node, struct slot_page, by_addr) : NULL;
}

/* What alloc() returns has the size of a page, but may not be aligned to one. */
static __always_inline struct slot_page *find_page(struct kprobe_insn_cache *c, unsigned long addr)
{
	struct slot_page *page = page_at(c, addr);

	if (page && addr >= (unsigned long)page->insns)
		return page;
	page = page_at(c, addr - PAGE_SIZE);
	if (page && addr - (unsigned long)page->insns < PAGE_SIZE)
		return page;
	return NULL;
}

static __always_inline unsigned int slot_index(struct kprobe_insn_cache *c,
					       struct slot_page *page, unsigned long addr)
{
	return (addr - (unsigned long)page->insns) / slot_bytes(c);
}

static void page_event(struct kprobe_insn_cache *c, struct slot_page *page, bool gone)
{
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
			   (unsigned long)page->insns, PAGE_SIZE, gone, c->name);
}

/* No lookup finds it any more. */
static void free_page_of_slots(struct work_struct *work)
{
	struct slot_page *page = container_of(to_rcu_work(work), struct slot_page, free);

	page->cache->free(page->insns);
	kfree(page);
}

static struct slot_page *add_page(struct kprobe_insn_cache *c)
{
	const unsigned int slots = slots_per_page(c);
	struct slot_page *page;

	/* The bitmap is behind the owners. */
	page = kzalloc(struct_size(page, owner, slots + BITS_TO_LONGS(slots)), GFP_KERNEL);
	if (!page)
		return NULL;
	page->cache = c;
	INIT_RCU_WORK(&page->free, free_page_of_slots);
	page->used = (unsigned long *)&page->owner[slots];
	page->insns = c->alloc();
	if (!page->insns) {
		kfree(page);
		return NULL;
	}
	kprobe_table_insert(&c->table, &page->by_addr, (unsigned long)page->insns & PAGE_MASK);
	list_add_rcu(&page->list, &c->pages);
	c->nr_free += slots;
	c->current_page = page;
	page_event(c, page, false);
	return page;
}

/*
 * Removes a page that is empty, but keeps as many free slots as a page has: a single probe that
 * comes and goes does not need a new page each time.
 */
static void remove_if_spare(struct kprobe_insn_cache *c, struct slot_page *page)
{
	if (!page || c->nr_free <= slots_per_page(c) ||
	    !bitmap_empty(page->used, slots_per_page(c)))
		return;
	c->nr_free -= slots_per_page(c);
	if (c->current_page == page)
		c->current_page = NULL;
	page_event(c, page, true);
	kprobe_table_remove(&c->table, &page->by_addr);
	list_del_rcu(&page->list);
	/* Who has looked up an address in it may still read what is known of it. */
	queue_rcu_work(system_unbound_wq, &page->free);
}

/* The list of pages is only walked when the current page is full. */
static struct slot_page *page_with_room(struct kprobe_insn_cache *c)
{
	struct slot_page *page;

	if (!c->nr_free)
		return add_page(c);
	if (c->current_page && !bitmap_full(c->current_page->used, slots_per_page(c)))
		return c->current_page;
	list_for_each_entry(page, &c->pages, list) {
		if (!bitmap_full(page->used, slots_per_page(c)))
			break;
	}
	c->current_page = page;
	return page;
}

/**
 * __get_insn_slot() - allocate a slot
 * @c: the cache
 *
 * Context: may sleep.
 * Return: the slot, or NULL if there is no memory.
 */
kprobe_opcode_t *__get_insn_slot(struct kprobe_insn_cache *c)
{
	struct slot_page *page;
	unsigned int i;

	guard(mutex)(&c->mutex);
	page = page_with_room(c);
	if (!page)
		return NULL;
	i = find_first_zero_bit(page->used, slots_per_page(c));
	__set_bit(i, page->used);
	c->nr_free--;
	return page->insns + i * c->slot_size;
}

/**
 * __free_insn_slot() - free a slot
 * @c: the cache it is from
 * @slot: the slot, where nothing can be executing any more
 *
 * Context: may sleep.
 */
void __free_insn_slot(struct kprobe_insn_cache *c, kprobe_opcode_t *slot)
{
	struct slot_page *page, *before;
	unsigned int i;

	guard(mutex)(&c->mutex);
	page = find_page(c, (unsigned long)slot);
	if (WARN_ONCE(!page, "kprobes: %pS is not a slot\n", slot))
		return;
	i = slot_index(c, page, (unsigned long)slot);
	if (WARN_ONCE(!__test_and_clear_bit(i, page->used), "kprobes: slot %pS was free\n", slot))
		return;
	/* Its site may be freed before the slot is used again. */
	WRITE_ONCE(page->owner[i], NULL);
	c->nr_free++;
	/* If one that is empty had to be kept, it is the current one. */
	before = c->current_page;
	c->current_page = page;
	if (before != page)
		remove_if_spare(c, before);
	remove_if_spare(c, page);
}

static bool __kprobes in_pages(struct kprobe_insn_cache *c, unsigned long addr)
{
	guard(preempt_notrace)();
	return find_page(c, addr);
}

#define INSN_CACHE_INIT(cache, size, alloc_page, free_page, symbol)			\
	{										\
		.mutex		= __MUTEX_INITIALIZER((cache).mutex),			\
		.pages		= LIST_HEAD_INIT((cache).pages),			\
		.table		= KPROBE_TABLE_INIT((cache).table, &(cache).mutex),	\
		.slot_size	= (size),						\
		.alloc		= (alloc_page),						\
		.free		= (free_page),						\
		.name		= (symbol),						\
	}

struct kprobe_insn_cache kprobe_insn_slots =
	INSN_CACHE_INIT(kprobe_insn_slots, ARCH_KPROBE_SLOT_SIZE, alloc_insn_page, execmem_free,
			"kprobe_insn_page");

/**
 * is_kprobe_insn_slot() - check whether an address is in a page of slots
 * @addr: any address
 *
 * Context: any, NMI included.
 * Return: true if it is.
 */
bool __kprobes is_kprobe_insn_slot(unsigned long addr)
{
	return in_pages(&kprobe_insn_slots, addr);
}

#ifdef CONFIG_OPTPROBES
void __weak *alloc_optinsn_page(void)
{
	return alloc_insn_page();
}

void __weak free_optinsn_page(void *page)
{
	execmem_free(page);
}

/* The size of a detour is set at boot: on some architectures only the linker knows it. */
struct kprobe_insn_cache kprobe_optinsn_slots =
	INSN_CACHE_INIT(kprobe_optinsn_slots, 0, alloc_optinsn_page, free_optinsn_page,
			"kprobe_optinsn_page");

void __init kprobe_slots_init(void)
{
	kprobe_optinsn_slots.slot_size = MAX_OPTINSN_SIZE;
}

/* The same as is_kprobe_insn_slot(), for detours */
bool __kprobes is_kprobe_optinsn_slot(unsigned long addr)
{
	return in_pages(&kprobe_optinsn_slots, addr);
}
#endif

static struct kprobe_insn_cache *const caches[] = {
	&kprobe_insn_slots,
#ifdef CONFIG_OPTPROBES
	&kprobe_optinsn_slots,
#endif
};

/* Returns where the owner of a slot is recorded, or NULL if @addr is not in a slot. */
static __always_inline struct kprobe **owner_at(unsigned long addr)
{
	struct slot_page *page;
	unsigned int c, i;

	for (c = 0; c < ARRAY_SIZE(caches); c++) {
		page = find_page(caches[c], addr);
		if (!page)
			continue;
		i = slot_index(caches[c], page, addr);
		/* If the slots do not fill the page, there is no owner behind the last one. */
		return i < slots_per_page(caches[c]) ? &page->owner[i] : NULL;
	}
	return NULL;
}

/**
 * kprobe_slot_set_owner() - record which site a slot serves, until the slot is freed
 * @slot: from get_insn_slot() or get_optinsn_slot()
 * @kp: the site's own kprobe
 *
 * Context: any.
 */
void kprobe_slot_set_owner(kprobe_opcode_t *slot, struct kprobe *kp)
{
	guard(preempt)();
	WRITE_ONCE(*owner_at((unsigned long)slot), kp);
}

/**
 * kprobe_slot_owner() - find a site by an address in its slot
 * @addr: any address
 *
 * Context: any, NMI included, preemption off.
 * Return: the site's own kprobe; NULL if @addr is not in a slot that has an owner.
 */
struct kprobe __kprobes *kprobe_slot_owner(unsigned long addr)
{
	struct kprobe **owner = owner_at(addr);

	return owner ? READ_ONCE(*owner) : NULL;
}

#endif /* __ARCH_WANT_KPROBES_INSN_SLOT: without it, copies are elsewhere, if there are any */

/* Names the pages of slots for /proc/kallsyms. Returns -ERANGE past the last page. Context: any. */
int kprobe_get_kallsym(unsigned int symnum, unsigned long *value, char *type, char *sym)
{
#ifdef __ARCH_WANT_KPROBES_INSN_SLOT
	struct slot_page *page;
	int i;

	guard(rcu)();
	for (i = 0; i < ARRAY_SIZE(caches); i++) {
		list_for_each_entry_rcu(page, &caches[i]->pages, list) {
			if (symnum--)
				continue;
			*value = (unsigned long)page->insns;
			*type = 't';
			strscpy(sym, caches[i]->name, KSYM_NAME_LEN);
			return 0;
		}
	}
#endif
	return -ERANGE;
}
