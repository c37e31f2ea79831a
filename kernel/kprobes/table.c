// SPDX-License-Identifier: GPL-2.0-only
/*
 * The growing hash table that hits are looked up in; see linux/kprobes_table.h.
 */
#include <linux/kprobes_table.h>
#include <linux/overflow.h>
#include <linux/slab.h>

static struct addr_buckets *buckets_of(struct addr_table *t)
{
	return rcu_dereference_protected(t->buckets, lockdep_is_held(t->lock));
}

/* What follows on a link, for who holds the mutex. */
static struct addr_node *linked(struct addr_node __rcu **link)
{
	return rcu_dereference_protected(*link, true);
}

static void push(struct addr_buckets *b, struct addr_node *node)
{
	struct addr_node __rcu **head = &b->heads[addr_hash(b, node->key)];

	RCU_INIT_POINTER(node->next[b->side], linked(head));
	rcu_assign_pointer(*head, node);
}

static bool crowded(struct addr_table *t)
{
	return t->count > 1UL << buckets_of(t)->bits;
}

/**
 * addr_table_insert() - add a node, visible to readers at once
 * @t: the table
 * @node: in no table, or removed from one a grace period ago
 * @key: not in the table yet
 *
 * Context: the table's mutex is held.
 */
void addr_table_insert(struct addr_table *t, struct addr_node *node,
		       unsigned long key)
{
	struct addr_buckets *b = buckets_of(t);

	node->key = key;
	push(b, node);
	t->count++;
	if (crowded(t))
		queue_work(system_unbound_wq, &t->grow);
}

/**
 * addr_table_remove() - take a node out
 * @t: the table
 * @node: is in @t
 *
 * Readers may still be looking at the node until a grace period has passed.
 *
 * Context: the table's mutex is held.
 */
void addr_table_remove(struct addr_table *t, struct addr_node *node)
{
	struct addr_buckets *b = buckets_of(t);
	struct addr_node __rcu **link = &b->heads[addr_hash(b, node->key)];

	while (linked(link) != node)
		link = &linked(link)->next[b->side];
	rcu_assign_pointer(*link, linked(&node->next[b->side]));
	t->count--;
}

static struct addr_buckets *alloc_buckets(unsigned int bits, unsigned int side)
{
	struct addr_buckets *b = kvzalloc(struct_size(b, heads, 1UL << bits), GFP_KERNEL);

	if (!b)
		return NULL;
	b->bits = bits;
	b->side = side;
	b->shift = 32 - bits;
	return b;
}

static void free_buckets(struct addr_table *t, struct addr_buckets *b)
{
	if (b != &t->first)
		kvfree(b);
}

/* Makes the larger array complete before any reader can see it. */
static struct addr_buckets *replace_buckets(struct addr_table *t,
					    unsigned int bits)
{
	struct addr_buckets *old = buckets_of(t);
	struct addr_buckets *new = alloc_buckets(bits, !old->side);
	struct addr_node *node;
	unsigned long i;

	if (!new)
		return NULL;
	for (i = 0; i < 1UL << old->bits; i++) {
		for (node = linked(&old->heads[i]); node;
		     node = linked(&node->next[old->side]))
			push(new, node);
	}
	rcu_assign_pointer(t->buckets, new);
	return old;
}

/*
 * Without memory the table stays as it is: slower, but right. The next insert
 * tries again.
 */
void addr_table_grow(struct work_struct *work)
{
	struct addr_table *t = container_of(work, struct addr_table, grow);
	struct addr_buckets *old = NULL;

	do {
		mutex_lock(t->lock);
		old = crowded(t) ? replace_buckets(t, order_base_2(t->count) + 1) : NULL;
		mutex_unlock(t->lock);
		if (old) {
			/* The side that was left is free for the next time. */
			synchronize_rcu();
			free_buckets(t, old);
		}
	} while (old);
}
