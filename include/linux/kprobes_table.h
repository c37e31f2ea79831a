/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_KPROBES_TABLE_H
#define _LINUX_KPROBES_TABLE_H

#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

/*
 * A hash table keyed by address that is read on the hit path: from any context,
 * NMI included, without calling anything, and at a cost that does not depend on
 * how much is in it, because it grows, and shrinks.
 *
 * A node has one link for each of two sides. The buckets in use are all of one
 * side; another array is filled through the links of the other, so that
 * readers of the old one never follow a link that changes under them. Each
 * side is used again only after a grace period.
 *
 * Links are pointers to nodes, not to the links in them as a list's are: so most
 * lookups need not know which side it is.
 *
 * Inserting, removing and resizing are under a mutex of the owner's. A removed
 * node must not be freed before an RCU grace period has passed: that also
 * covers readers that still are in buckets the table has left.
 */
struct addr_node {
	struct addr_node __rcu	*next[2];
	unsigned long		key;
};

struct addr_buckets {
	unsigned int		bits;
	unsigned int		side;
	unsigned int		shift;	/* of the hash, for @bits of it */
	struct addr_node __rcu	*heads[];
};

#define ADDR_TABLE_FIRST_BITS	6

/**
 * struct addr_table - the table
 * @buckets:	what readers look into
 * @count:	nodes in it
 * @lock:	the owner's mutex
 * @resize:	changes the buckets, with no lock of an inserter's in the way
 * @first:	the buckets it starts with
 * @first_heads: room for the heads of @first
 */
struct addr_table {
	struct addr_buckets __rcu *buckets;
	unsigned long		count;
	struct mutex		*lock;	/* see above */
	struct work_struct	resize;
	struct addr_buckets	first;
	struct addr_node	*first_heads[1 << ADDR_TABLE_FIRST_BITS];
};

static_assert(offsetof(struct addr_table, first.heads) ==
	      offsetof(struct addr_table, first_heads));

void addr_table_resize(struct work_struct *work);

/*
 * Tables are complete from the first instruction of the kernel on: breakpoints
 * and faults come before any initcall.
 */
#define ADDR_TABLE_FIRST						\
	{								\
		.bits = ADDR_TABLE_FIRST_BITS,				\
		.shift = 32 - ADDR_TABLE_FIRST_BITS,			\
	}

void addr_table_insert(struct addr_table *t, struct addr_node *node,
		       unsigned long key);
void addr_table_remove(struct addr_table *t, struct addr_node *node);

/*
 * Multiplicative hashing: the upper bits are the ones that depend on all. Addresses
 * of text differ in the lower half of a word.
 */
static __always_inline unsigned long addr_hash(struct addr_buckets *b, unsigned long key)
{
	return (u32)key * GOLDEN_RATIO_32 >> b->shift;
}

/*
 * Finds the node of @key, or NULL. Preemption off, or the table's mutex held.
 * Without lockdep's checks: those call what can be probed.
 */
static __always_inline struct addr_node *
addr_table_find(struct addr_table *t, unsigned long key)
{
	struct addr_buckets *b = rcu_dereference_raw(t->buckets);
	struct addr_node *node;

	for (node = rcu_dereference_raw(b->heads[addr_hash(b, key)]); node;
	     node = rcu_dereference_raw(node->next[b->side])) {
		if (node->key == key)
			break;
	}
	return node;
}

#endif /* _LINUX_KPROBES_TABLE_H */
