// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/kprobes: what is probed and how, what cannot be probed, what was refused, and
 * the switches.
 */
#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/seq_file.h>

#include "internal.h"

static bool may_see_addresses(struct seq_file *m)
{
	return kallsyms_show_value(m->file->f_cred);
}

static void show_tags(struct seq_file *m, struct kprobe *p, struct kprobe *kp)
{
	if (kprobe_gone(p))
		seq_puts(m, "[GONE]");
	else if (kprobe_disabled(p))
		seq_puts(m, "[DISABLED]");
	if (kprobe_optimized(kp))
		seq_puts(m, "[OPTIMIZED]");
	if (kprobe_ftrace(kp))
		seq_puts(m, "[FTRACE]");
	seq_putc(m, '\n');
}

static char kind_of(struct kprobe *p)
{
	if (IS_ENABLED(CONFIG_KRETPROBES) && p->pre_handler == kretprobe_entry)
		return 'r';
	return IS_ENABLED(CONFIG_JPROBES) && p->pre_handler == jprobe_entry ? 'j' : 'k';
}

struct place {
	const char *symbol;
	char *module;
	unsigned long offset;
	char name[KSYM_NAME_LEN];
};

/*
 * Returns whether there is a symbol. By now another module may be where the site's was, and may be
 * about to leave: the caller keeps the names with RCU.
 */
static bool look_up(struct kprobe_site *site, struct place *place)
{
	unsigned long addr = (unsigned long)site->kp.addr;

	place->symbol = NULL;
	place->module = NULL;
	if (site->state != SITE_GONE || init_section_contains(site->kp.addr, 1))
		place->symbol = kallsyms_lookup(addr, NULL, &place->offset, &place->module,
						place->name);
	return place->symbol;
}

static void show_probe(struct seq_file *m, struct kprobe *p, struct kprobe_site *site)
{
	unsigned long addr = may_see_addresses(m) ? (unsigned long)p->addr : 0;
	struct place place;

	seq_printf(m, "%0*lx  %c  ", KPROBE_ADDRESS_WIDTH, addr, kind_of(p));
	scoped_guard(rcu) {
		if (look_up(site, &place))
			seq_printf(m, "%s+0x%lx  %s ", place.symbol, place.offset,
				   place.module ?: " ");
		else
			seq_printf(m, "0x%lx ", addr);
	}
	show_tags(m, p, &site->kp);
}

/* The position only counts. Sites may be freed between reads: a reader goes on at its cursor. */
static void *list_start(struct seq_file *m, loff_t *pos)
{
	struct kprobe_cursor *cursor = m->private;

	mutex_lock(&kprobe_mutex);
	if (!*pos)
		cursor->next = kprobe_site_after(NULL);
	return cursor->next;
}

static void *list_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct kprobe_cursor *cursor = m->private;

	cursor->next = kprobe_site_after(v);
	/* Sites that wait to be freed are not shown, and there may be many. */
	if (!(++*pos % KPROBE_BATCH)) {
		mutex_unlock(&kprobe_mutex);
		cond_resched();
		mutex_lock(&kprobe_mutex);
	}
	return cursor->next;
}

static void list_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&kprobe_mutex);
}

static int list_show(struct seq_file *m, void *v)
{
	struct kprobe_site *site = v;
	struct kprobe *p;

	list_for_each_entry(p, &site->probes, list)
		show_probe(m, p, site);
	return 0;
}

static const struct seq_operations list_sops = {
	.start	= list_start,
	.next	= list_next,
	.stop	= list_stop,
	.show	= list_show,
};

static void show_symbol(struct seq_file *m, struct kprobe_site *site)
{
	struct place place;

	guard(rcu)();
	if (!look_up(site, &place)) {
		seq_putc(m, '-');
		return;
	}
	seq_printf(m, "%s+0x%lx", place.symbol, place.offset);
	if (place.module)
		seq_printf(m, " [%s]", place.module);
}

static int sites_show(struct seq_file *m, void *v)
{
	struct kprobe_site *site = v;
	unsigned long addr = may_see_addresses(m) ? (unsigned long)site->kp.addr : 0;
	unsigned int recursion = atomic_read(&site->missed[KPROBE_MISS_RECURSION]);
	unsigned int nested = atomic_read(&site->missed[KPROBE_MISS_NESTED]);
	unsigned int pool = atomic_read(&site->missed[KPROBE_MISS_POOL]);

	if (list_empty(&site->probes))
		return SEQ_SKIP;
	seq_printf(m, "%0*lx ", KPROBE_ADDRESS_WIDTH, addr);
	show_symbol(m, site);
	seq_printf(m, " path=%s probes=%zu hits=%lu missed=%u (recursion=%u nested=%u pool=%u)",
		   kprobe_site_path(site), list_count_nodes(&site->probes),
		   atomic_long_read(&site->kp.hits), recursion + nested + pool,
		   recursion, nested, pool);
	seq_printf(m, " why=%s\n", kprobe_site_why(site));
	return 0;
}

static const struct seq_operations sites_sops = {
	.start	= list_start,
	.next	= list_next,
	.stop	= list_stop,
	.show	= sites_show,
};

static int sites_open(struct inode *inode, struct file *file)
{
	struct kprobe_cursor *cursor;

	cursor = __seq_open_private(file, inode->i_private, sizeof(*cursor));
	if (!cursor)
		return -ENOMEM;
	guard(mutex)(&kprobe_mutex);
	list_add(&cursor->all, &kprobe_cursors);
	return 0;
}

static int sites_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct kprobe_cursor *cursor = m->private;

	scoped_guard(mutex, &kprobe_mutex)
		list_del(&cursor->all);
	return seq_release_private(inode, file);
}

/* For "list" and "sites", which differ in how they show a site */
static const struct file_operations sites_fops = {
	.open		= sites_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= sites_release,
};

static int errors_show(struct seq_file *m, void *v)
{
	guard(mutex)(&kprobe_mutex);
	kprobe_refusals_show(m, may_see_addresses(m));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(errors);

static int blacklist_show(struct seq_file *m, void *v)
{
	guard(mutex)(&kprobe_mutex);
	kprobe_blacklist_show(m, may_see_addresses(m));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(blacklist);

/* A file with a switch: read, it is 1 or 0; written, it may be any word for yes or no. */
struct debug_switch {
	bool	(*is_on)(void);
	int	(*turn)(bool on);
};

static ssize_t switch_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const struct debug_switch *s = file_inode(file)->i_private;

	return simple_read_from_buffer(to, count, pos, s->is_on() ? "1\n" : "0\n", 2);
}

static ssize_t switch_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	const struct debug_switch *s = file_inode(file)->i_private;
	bool on;

	return kstrtobool_from_user(from, count, &on) ?: s->turn(on) ?: count;
}

static const struct file_operations switch_fops = {
	.read	= switch_read,
	.write	= switch_write,
	.llseek	= default_llseek,
};

static bool probes_armed(void)
{
	return !READ_ONCE(kprobes_all_disarmed);
}

static bool hits_counted(void)
{
	return static_key_enabled(&kprobe_stats);
}

static struct debug_switch enabled = { probes_armed, kprobe_set_all_armed };
static struct debug_switch stats_enabled = { hits_counted, kprobe_stats_enable };

static int __init kprobe_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);

	debugfs_create_file("list", 0400, dir, (void *)&list_sops, &sites_fops);
	debugfs_create_file("sites", 0400, dir, (void *)&sites_sops, &sites_fops);
	debugfs_create_file("errors", 0400, dir, NULL, &errors_fops);
	debugfs_create_file("enabled", 0600, dir, &enabled, &switch_fops);
	debugfs_create_file("stats_enabled", 0600, dir, &stats_enabled, &switch_fops);
	debugfs_create_file("blacklist", 0400, dir, NULL, &blacklist_fops);
	return 0;
}
late_initcall(kprobe_debugfs_init);
