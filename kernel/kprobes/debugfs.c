// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/kprobes: what is probed and how, what cannot be probed, what was
 * refused, and the switches.
 */
#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
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
	if (kprobe_is_kretprobe(p))
		return 'r';
	return kprobe_is_jprobe(p) ? 'j' : 'k';
}

struct place {
	const char *symbol;
	char *module;
	unsigned long offset;
	char name[KSYM_NAME_LEN];
};

/*
 * Returns whether there is a symbol. Where a module was, another one may be by now, about to
 * leave as well: the caller keeps the names with RCU.
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

/*
 * The position is the serial number of the site that is next: between two reads sites may be freed,
 * so that a count of sites would leave out as many. A reader goes on at its cursor.
 */
static void *list_start(struct seq_file *m, loff_t *pos)
{
	struct kprobe_cursor *cursor = m->private;
	struct kprobe_site *site;

	mutex_lock(&kprobe_mutex);
	site = cursor->next;
	if (!*pos || *pos != cursor->pos) {
		site = kprobe_site_after(NULL);
		while (site && site->serial < *pos)
			site = kprobe_site_after(site);
	}
	if (site)
		*pos = site->serial;
	cursor->next = site;
	cursor->pos = *pos;
	return site;
}

static void *list_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct kprobe_cursor *cursor = m->private;
	struct kprobe_site *site = v;
	u64 serial = site->serial;

	cursor->next = kprobe_site_after(site);
	/* Sites that wait to be freed are not shown, and there may be many. */
	if (!(serial % KPROBE_BATCH)) {
		mutex_unlock(&kprobe_mutex);
		cond_resched();
		mutex_lock(&kprobe_mutex);
	}
	*pos = cursor->next ? cursor->next->serial : serial + 1;
	cursor->pos = *pos;
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

static int open_sites(struct file *file, const struct seq_operations *ops)
{
	struct kprobe_cursor *cursor = __seq_open_private(file, ops, sizeof(*cursor));

	if (!cursor)
		return -ENOMEM;
	kprobe_cursor_open(cursor);
	return 0;
}

static int release_sites(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;

	kprobe_cursor_close(m->private);
	return seq_release_private(inode, file);
}

static int list_open(struct inode *inode, struct file *file)
{
	return open_sites(file, &list_sops);
}

static const struct file_operations list_fops = {
	.open		= list_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= release_sites,
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

static void show_counts(struct seq_file *m, struct kprobe_site *site)
{
	unsigned int recursion = atomic_read(&site->missed[KPROBE_MISS_RECURSION]);
	unsigned int nested = atomic_read(&site->missed[KPROBE_MISS_NESTED]);
	unsigned int pool = atomic_read(&site->missed[KPROBE_MISS_POOL]);

	seq_printf(m, "probes=%zu hits=%lu missed=%u (recursion=%u nested=%u pool=%u)",
		   list_count_nodes(&site->probes), atomic_long_read(&site->hits),
		   recursion + nested + pool, recursion, nested, pool);
}

static int sites_show(struct seq_file *m, void *v)
{
	struct kprobe_site *site = v;
	unsigned long addr = may_see_addresses(m) ? (unsigned long)site->kp.addr : 0;

	if (list_empty(&site->probes))
		return SEQ_SKIP;
	seq_printf(m, "%0*lx ", KPROBE_ADDRESS_WIDTH, addr);
	show_symbol(m, site);
	seq_printf(m, " path=%s ", kprobe_site_path(site));
	show_counts(m, site);
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
	return open_sites(file, &sites_sops);
}

static const struct file_operations sites_fops = {
	.open		= sites_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= release_sites,
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

static ssize_t read_switch(char __user *to, size_t count, loff_t *pos, bool on)
{
	return simple_read_from_buffer(to, count, pos, on ? "1\n" : "0\n", 2);
}

static ssize_t enabled_read(struct file *file, char __user *to, size_t count,
			    loff_t *pos)
{
	return read_switch(to, count, pos, !READ_ONCE(kprobes_all_disarmed));
}

static ssize_t enabled_write(struct file *file, const char __user *from,
			     size_t count, loff_t *pos)
{
	bool armed;
	int err;

	err = kstrtobool_from_user(from, count, &armed);
	if (!err)
		err = kprobe_set_all_armed(armed);
	return err ?: count;
}

static const struct file_operations enabled_fops = {
	.read	= enabled_read,
	.write	= enabled_write,
	.llseek	= default_llseek,
};

static ssize_t stats_enabled_read(struct file *file, char __user *to, size_t count,
				  loff_t *pos)
{
	return read_switch(to, count, pos, static_key_enabled(&kprobe_stats));
}

static ssize_t stats_enabled_write(struct file *file, const char __user *from,
				   size_t count, loff_t *pos)
{
	bool enabled;
	int err;

	err = kstrtobool_from_user(from, count, &enabled);
	if (err)
		return err;
	kprobe_stats_enable(enabled);
	return count;
}

static const struct file_operations stats_enabled_fops = {
	.read	= stats_enabled_read,
	.write	= stats_enabled_write,
	.llseek	= default_llseek,
};

static int __init kprobe_debugfs_init(void)
{
	struct dentry *dir = debugfs_create_dir("kprobes", NULL);

	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	debugfs_create_file("sites", 0400, dir, NULL, &sites_fops);
	debugfs_create_file("errors", 0400, dir, NULL, &errors_fops);
	debugfs_create_file("enabled", 0600, dir, NULL, &enabled_fops);
	debugfs_create_file("stats_enabled", 0600, dir, NULL, &stats_enabled_fops);
	debugfs_create_file("blacklist", 0400, dir, NULL, &blacklist_fops);
	return 0;
}
late_initcall(kprobe_debugfs_init);
