/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_TABLE_H
#define _LINUX_KPROBES_TABLE_H

#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

/*
 * A hash table keyed by address, for lookups at a hit: they run in any context, NMI included, call
 * nothing that could be probed or traced, and cost the same however many nodes there are, because
 * the table grows and shrinks.
 *
 * A node has a link for each of two sides. All buckets in use belong to one side. To resize the
 * table, a new array is filled by means of the links of the other side, so readers of the old array
 * never follow a link that changes under them. A side is used again only after a grace period.
 *
 * Links point to nodes, not to the links inside of nodes as those of a list do. So a lookup that
 * ends at the first node of its bucket does not need to know the side.
 *
 * An rhashtable would not do. Its lookup may call a function that can be probed, and looks into two
 * tables while one is filled from the other. And it has to be set up at run time, but breakpoints
 * and faults use these tables before any initcall.
 *
 * Insertion, removal and resizing are serialized by a mutex of the owner's. A node that was removed
 * must not be freed before an RCU grace period has passed; this also covers readers of an array
 * that has been replaced.
 */

/* A node of the table, embedded in a larger struct */
struct kprobe_node {
	struct kprobe_node __rcu *next[2];	/* the next node in the bucket, for each side */
	unsigned long		key;
};

struct kprobe_buckets_hdr {
	unsigned int		bits;	/* log2 of the number of buckets */
	unsigned int		side;	/* which link of a node they use */
	unsigned int		shift;	/* of the hash, so that @bits of it are left */
};

struct kprobe_buckets {
	struct kprobe_buckets_hdr hdr;
	struct kprobe_node __rcu *heads[];
};

#define KPROBE_TABLE_FIRST_BITS	6

struct kprobe_table {
	struct kprobe_buckets __rcu *buckets;	/* what readers use */
	unsigned long		count;		/* of nodes */
	struct mutex		*lock;		/* the owner's, held for all changes */
	struct work_struct	resize;		/* a work item, because it takes @lock itself */
	/* The first array: these two are a struct kprobe_buckets. */
	struct kprobe_buckets_hdr first;
	struct kprobe_node	*first_heads[1 << KPROBE_TABLE_FIRST_BITS];
};

static_assert(offsetof(struct kprobe_table, first_heads) ==
	      offsetof(struct kprobe_table, first) + offsetof(struct kprobe_buckets, heads));

void kprobe_table_resize(struct work_struct *work);

/* Breakpoints and faults look into tables before any initcall has run. */
#define KPROBE_TABLE_INIT(table, mutex)							\
	{										\
		.buckets = RCU_INITIALIZER((struct kprobe_buckets *)&(table).first),	\
		.lock	 = (mutex),							\
		.resize	 = __WORK_INITIALIZER((table).resize, kprobe_table_resize),	\
		.first	 = {								\
			.bits	= KPROBE_TABLE_FIRST_BITS,				\
			.shift	= 32 - KPROBE_TABLE_FIRST_BITS,				\
		},									\
	}

void kprobe_table_insert(struct kprobe_table *t, struct kprobe_node *node, unsigned long key);
void kprobe_table_remove(struct kprobe_table *t, struct kprobe_node *node);

/*
 * Multiplicative hashing: the upper bits of the product depend on all bits of the key. The lower
 * half of an address is enough, since addresses of text differ there.
 */
static __always_inline unsigned long kprobe_hash(struct kprobe_buckets *b, unsigned long key)
{
	return (u32)key * GOLDEN_RATIO_32 >> b->hdr.shift;
}

/*
 * Finds a node, or returns NULL. Preemption is off, or the table's mutex is held. This goes without
 * lockdep's checks, which call functions that can be probed.
 */
static __always_inline struct kprobe_node *
kprobe_table_find(struct kprobe_table *t, unsigned long key)
{
	struct kprobe_buckets *b = rcu_dereference_raw(t->buckets);
	struct kprobe_node *node;

	for (node = rcu_dereference_raw(b->heads[kprobe_hash(b, key)]); node;
	     node = rcu_dereference_raw(node->next[b->hdr.side])) {
		if (node->key == key)
			break;
	}
	return node;
}

#endif /* _LINUX_KPROBES_TABLE_H */
