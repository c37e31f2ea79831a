// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block I/O: count what each device is asked to read, write and discard.
 *
 *	insmod kprobe_block.ko				by a kprobe
 *	insmod kprobe_block.ko jprobe=1			by a jprobe, which counts the same
 *	insmod kprobe_block.ko symbol=submit_bio	without what stacked drivers pass on
 *
 * rmmod prints the counts. They are those of bios that enter the block layer,
 * before it merges or splits any.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blk_types.h>
#include <linux/blkdev.h>
#include <linux/kdev_t.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/slab.h>

#define DEVICES_MAX	1024

static char *symbol = "submit_bio_noacct";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "kernel function to probe, a bio its first argument (default: submit_bio_noacct)");

static bool with_jprobe;
module_param_named(jprobe, with_jprobe, bool, 0444);
MODULE_PARM_DESC(jprobe, "whether to use a jprobe (default: a kprobe)");

static uint devices = 64;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "how many devices to tell apart (default: 64)");

struct tally {
	atomic64_t requests;
	atomic64_t sectors;
};

/* Handlers must not wait for memory, so loading the module allocates all of these. */
struct device_tallies {
	dev_t		dev;	/* 0: not taken yet */
	char		name[BDEVNAME_SIZE];
	struct tally	of[NR_STAT_GROUPS];
};

static struct device_tallies *table;
static atomic64_t elsewhere = ATOMIC64_INIT(0);

/*
 * Each device takes the first free element and keeps it, so no lock is needed:
 * cmpxchg() lets one CPU win, and a device never gets two. The name is copied,
 * because the device may be gone at rmmod.
 */
static struct device_tallies *tallies_of(struct block_device *bdev)
{
	struct device_tallies *t;
	dev_t was;

	for (t = table; t < table + devices; t++) {
		was = READ_ONCE(t->dev);
		if (!was)
			was = cmpxchg(&t->dev, 0, bdev->bd_dev);
		if (was == bdev->bd_dev)
			return t;
		if (!was) {
			snprintf(t->name, sizeof(t->name), "%pg", bdev);
			return t;
		}
	}
	return NULL;
}

static void count(struct bio *bio)
{
	struct device_tallies *tallies;
	struct tally *tally;

	/* The bios of commands to a driver, which bio_endio() gets as well, have no device. */
	if (!bio->bi_bdev)
		return;
	/*
	 * A bio that is too large for its device is split, and the rest is
	 * submitted again. All of it was counted the first time, and marked by
	 * the block layer's own tracing. A driver that passes a bio on to another
	 * device, as raid0 does, may leave the mark: then it is not counted there.
	 */
	if (bio_flagged(bio, BIO_TRACE_COMPLETION))
		return;
	tallies = tallies_of(bio->bi_bdev);
	if (!tallies) {
		atomic64_inc(&elsewhere);
		return;
	}
	tally = &tallies->of[op_stat_group(bio_op(bio))];
	atomic64_inc(&tally->requests);
	atomic64_add(bio_sectors(bio), &tally->sectors);
}

/* A kprobe gets registers, and asks for the first argument by its number. */
static int count_by_register(struct kprobe *p, struct pt_regs *regs)
{
	count((struct bio *)regs_get_kernel_argument(regs, 0));
	return 0;
}

/* A jprobe gets arguments: this has the prototype of the probed function. */
static void count_by_name(struct bio *bio)
{
	count(bio);
	jprobe_return();
}

static struct kprobe kprobe = {
	.pre_handler = count_by_register,
};

static struct jprobe jprobe = {
	.entry = JPROBE_ENTRY(count_by_name),
};

static int __init kprobe_block_init(void)
{
	int ret;

	if (!devices || devices > DEVICES_MAX) {
		pr_err("devices=%u: must be 1 to %d\n", devices, DEVICES_MAX);
		return -EINVAL;
	}
	table = kvcalloc(devices, sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	kprobe.symbol_name = symbol;
	jprobe.kp.symbol_name = symbol;
	ret = with_jprobe ? register_jprobe(&jprobe) : register_kprobe(&kprobe);
	if (ret) {
		pr_err("no %s on %s: error %d\n", with_jprobe ? "jprobe" : "kprobe", symbol, ret);
		kvfree(table);
		return ret;
	}
	pr_info("counting what comes by %s, with a %s\n", symbol,
		with_jprobe ? "jprobe" : "kprobe");
	return 0;
}

static void show(struct device_tallies *t)
{
	pr_info("%s (%u:%u): %lld requests to read %lld sectors, %lld to write %lld, %lld to discard %lld\n",
		t->name, MAJOR(t->dev), MINOR(t->dev),
		atomic64_read(&t->of[STAT_READ].requests),
		atomic64_read(&t->of[STAT_READ].sectors),
		atomic64_read(&t->of[STAT_WRITE].requests),
		atomic64_read(&t->of[STAT_WRITE].sectors),
		atomic64_read(&t->of[STAT_DISCARD].requests),
		atomic64_read(&t->of[STAT_DISCARD].sectors));
}

static void __exit kprobe_block_exit(void)
{
	struct device_tallies *t;

	/* Once this returns, no handler is running and none will run again. */
	if (with_jprobe)
		unregister_jprobe(&jprobe);
	else
		unregister_kprobe(&kprobe);
	for (t = table; t < table + devices && t->dev; t++)
		show(t);
	if (atomic64_read(&elsewhere))
		pr_info("%lld requests to devices beyond the first %u\n",
			atomic64_read(&elsewhere), devices);
	pr_info("%lu requests missed\n", with_jprobe ? jprobe.kp.nmissed : kprobe.nmissed);
	kvfree(table);
}

module_init(kprobe_block_init)
module_exit(kprobe_block_exit)
MODULE_DESCRIPTION("counts requests and sectors of block devices");
MODULE_LICENSE("GPL");
