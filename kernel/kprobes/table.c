// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changing and resizing the hash table for lookups at hits; see linux/kprobes_table.h.
 */
#include <linux/cleanup.h>
#include <linux/kprobes_table.h>
#include <linux/overflow.h>
#include <linux/slab.h>

/*
 * A table shrinks when it has more than 32 times as many buckets as nodes. A new array has two to
 * four times as many, so a few nodes more or less do not resize it again.
 */
#define SPARSE_SHIFT	5

static struct kprobe_buckets *buckets_of(struct kprobe_table *t)
{
	return rcu_dereference_protected(t->buckets, lockdep_is_held(t->lock));
}

static struct kprobe_buckets *first_buckets(struct kprobe_table *t)
{
	return container_of(&t->first, struct kprobe_buckets, hdr);
}

/* Returns the node that a link points to. */
static struct kprobe_node *linked(struct kprobe_table *t, struct kprobe_node __rcu **link)
{
	return rcu_dereference_protected(*link, lockdep_is_held(t->lock));
}

static void push(struct kprobe_table *t, struct kprobe_buckets *b, struct kprobe_node *node)
{
	struct kprobe_node __rcu **head = &b->heads[kprobe_hash(b, node->key)];

	RCU_INIT_POINTER(node->next[b->hdr.side], linked(t, head));
	rcu_assign_pointer(*head, node);
}

static bool crowded(struct kprobe_table *t)
{
	return t->count > 1UL << buckets_of(t)->hdr.bits;
}

static bool sparse(struct kprobe_table *t)
{
	unsigned int bits = buckets_of(t)->hdr.bits;

	return bits > t->first.bits && t->count < 1UL << bits >> SPARSE_SHIFT;
}

/*
 * Adds a node, visible to readers at once. If it was in a table, a grace period has passed since.
 * @key is not in the table yet.
 */
void kprobe_table_insert(struct kprobe_table *t, struct kprobe_node *node, unsigned long key)
{
	struct kprobe_buckets *b = buckets_of(t);

	node->key = key;
	push(t, b, node);
	t->count++;
	if (crowded(t))
		queue_work(system_unbound_wq, &t->resize);
}

/* Removes a node. Readers may look at it until a grace period has passed. */
void kprobe_table_remove(struct kprobe_table *t, struct kprobe_node *node)
{
	struct kprobe_buckets *b = buckets_of(t);
	struct kprobe_node __rcu **link = &b->heads[kprobe_hash(b, node->key)];

	while (linked(t, link) != node)
		link = &linked(t, link)->next[b->hdr.side];
	rcu_assign_pointer(*link, linked(t, &node->next[b->hdr.side]));
	t->count--;
	if (sparse(t))
		queue_work(system_unbound_wq, &t->resize);
}

/*
 * Gets an empty array for the other side. The first array is part of the table, and is not in use
 * while there is another one.
 */
static struct kprobe_buckets *get_buckets(struct kprobe_table *t, unsigned int bits,
					  unsigned int side)
{
	struct kprobe_buckets *b = first_buckets(t);

	if (bits == b->hdr.bits)
		memset(t->first_heads, 0, sizeof(t->first_heads));
	else
		b = kvzalloc(struct_size(b, heads, 1UL << bits), GFP_KERNEL);
	if (!b)
		return NULL;
	b->hdr.bits = bits;
	b->hdr.side = side;
	b->hdr.shift = 32 - bits;
	return b;
}

/*
 * Replaces the array by one that is complete before any reader can see it. Returns the old array,
 * or NULL if there is no memory.
 */
static struct kprobe_buckets *replace_buckets(struct kprobe_table *t)
{
	unsigned int bits = max_t(unsigned int, order_base_2(t->count) + 1, t->first.bits);
	struct kprobe_buckets *old = buckets_of(t);
	struct kprobe_buckets *new = get_buckets(t, bits, !old->hdr.side);
	struct kprobe_node *node;
	unsigned long i;

	if (!new)
		return NULL;
	for (i = 0; i < 1UL << old->hdr.bits; i++) {
		for (node = linked(t, &old->heads[i]); node;
		     node = linked(t, &node->next[old->hdr.side]))
			push(t, new, node);
	}
	rcu_assign_pointer(t->buckets, new);
	return old;
}

/*
 * Fits the number of buckets to the number of nodes. Without memory, the table stays as it is:
 * slower, but correct. The next insertion or removal tries again.
 */
void kprobe_table_resize(struct work_struct *work)
{
	struct kprobe_table *t = container_of(work, struct kprobe_table, resize);
	struct kprobe_buckets *old = NULL;

	do {
		scoped_guard(mutex, t->lock)
			old = crowded(t) || sparse(t) ? replace_buckets(t) : NULL;
		if (old) {
			/* After this, the links of the old array can be used again. */
			synchronize_rcu();
			if (old != first_buckets(t))
				kvfree(old);
		}
	} while (old);
}
