/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_TABLE_H
#define _LINUX_KPROBES_TABLE_H

#include <linux/hash.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rculist.h>
#include <linux/workqueue.h>

/*
 * A hash table keyed by address that is read on the hit path: from any context,
 * NMI included, without calling anything, and at a cost that does not depend on
 * how much is in it, because it grows.
 *
 * A node has one link for each of two sides. The buckets in use are all of one
 * side; a larger array is filled through the links of the other, so that
 * readers of the old one never follow a link that changes under them. Each
 * side is used again only after a grace period.
 *
 * Inserting, removing and growing are under a mutex of the owner's. A removed
 * node must not be freed before an RCU grace period has passed: that also
 * covers readers that still are in buckets the table has outgrown.
 */
struct addr_node {
	struct hlist_node	link[2];
	unsigned long		key;
};

struct addr_buckets {
	unsigned int		bits;
	unsigned int		side;
	/* both again, in the form that a lookup has use for */
	unsigned int		shift;
	long			to_node;
	struct hlist_head	*heads;
};

#define ADDR_TABLE_FIRST_BITS	6

/**
 * struct addr_table - the table
 * @buckets:	what readers look into
 * @count:	nodes in it
 * @lock:	the owner's mutex
 * @grow:	does the growing, with no lock of an inserter's in the way
 * @first:	the buckets it starts with
 * @first_heads: their heads
 */
struct addr_table {
	struct addr_buckets __rcu *buckets;
	unsigned long		count;
	struct mutex		*lock;	/* see above */
	struct work_struct	grow;
	struct addr_buckets	first;
	struct hlist_head	first_heads[1 << ADDR_TABLE_FIRST_BITS];
};

void addr_table_grow(struct work_struct *work);

/*
 * Tables are complete from the first instruction of the kernel on: breakpoints
 * and faults come before any initcall.
 */
#define ADDR_TABLE_FIRST(first_heads)					\
	{								\
		.bits = ADDR_TABLE_FIRST_BITS,				\
		.shift = BITS_PER_LONG - ADDR_TABLE_FIRST_BITS,		\
		.heads = (first_heads),					\
	}

void addr_table_insert(struct addr_table *t, struct addr_node *node,
		       unsigned long key);
void addr_table_remove(struct addr_table *t, struct addr_node *node);

static __always_inline struct addr_node *
addr_node_of(struct hlist_node *link, const struct addr_buckets *b)
{
	return (void *)link + b->to_node;
}

/* Multiplicative hashing: the upper bits are the ones that depend on all. */
static __always_inline struct hlist_head *
addr_bucket(const struct addr_buckets *b, unsigned long key)
{
#if BITS_PER_LONG == 64
	return &b->heads[key * GOLDEN_RATIO_64 >> b->shift];
#else
	return &b->heads[key * GOLDEN_RATIO_32 >> b->shift];
#endif
}

/*
 * Finds the node of @key, or NULL. Preemption off, or the table's mutex held.
 * Without lockdep's checks: those call what can be probed.
 */
static __always_inline struct addr_node *
addr_table_find(struct addr_table *t, unsigned long key)
{
	struct addr_buckets *b = rcu_dereference_raw(t->buckets);
	struct hlist_head *head = addr_bucket(b, key);
	struct hlist_node *link;

	BUILD_BUG_ON(offsetof(struct addr_node, link) != 0);

	for (link = rcu_dereference_raw(hlist_first_rcu(head)); link;
	     link = rcu_dereference_raw(hlist_next_rcu(link))) {
		struct addr_node *node = addr_node_of(link, b);

		if (node->key != key)
			continue;
		/* Said to the compiler, or each caller tests it again. */
		if (!node)
			__builtin_unreachable();
		return node;
	}
	return NULL;
}

#endif /* _LINUX_KPROBES_TABLE_H */
