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
	hlist_add_head_rcu(&node->link[b->side], addr_bucket(b, key));
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
	hlist_del_rcu(&node->link[buckets_of(t)->side]);
	t->count--;
}

static struct addr_buckets *alloc_buckets(unsigned int bits, unsigned int side)
{
	struct addr_buckets *b = kmalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	b->heads = kvcalloc(1UL << bits, sizeof(*b->heads), GFP_KERNEL);
	if (!b->heads) {
		kfree(b);
		return NULL;
	}
	b->bits = bits;
	b->side = side;
	b->shift = BITS_PER_LONG - bits;
	b->to_node = -(long)(side * sizeof(struct hlist_node));
	return b;
}

static void free_buckets(struct addr_table *t, struct addr_buckets *b)
{
	if (b == &t->first)
		return;
	kvfree(b->heads);
	kfree(b);
}

/* Makes the larger array complete before any reader can see it. */
static struct addr_buckets *replace_buckets(struct addr_table *t,
					    unsigned int bits)
{
	struct addr_buckets *old = buckets_of(t);
	struct addr_buckets *new = alloc_buckets(bits, !old->side);
	unsigned long i;

	if (!new)
		return NULL;
	for (i = 0; i < 1UL << old->bits; i++) {
		struct hlist_node *link;

		hlist_for_each(link, &old->heads[i]) {
			struct addr_node *node = addr_node_of(link, old);

			hlist_add_head(&node->link[new->side],
				       addr_bucket(new, node->key));
		}
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
