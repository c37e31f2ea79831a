// SPDX-License-Identifier: GPL-2.0
/*
 * A module that is removed while its handlers run: it has probes of all kinds on a
 * function that is called all the time.
 *
 *	insmod test_kprobes_visitor.ko target=kprobes_lonely_traced
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/poison.h>

#include "support/kinds.h"

static char *target = "";
module_param(target, charp, 0444);
MODULE_PARM_DESC(target, "the function, which takes a number and returns one");

static bool here = true;

/* Takes so long that a handler is likely to be running when the probes go. */
static void visit(void)
{
	WARN_ON_ONCE(!READ_ONCE(here));
	udelay(20);
	WARN_ON_ONCE(!READ_ONCE(here));
}

KIND_HANDLERS(visitors, visit());

/* One of each type, which has all handlers there are */
static union any_probe probes[] = {
	[KPROBE] = { .kp = { .pre_handler = visitors_pre, .post_handler = visitors_post } },
	[RETURN_PROBE] = { .rp = { .handler = visitors_return,
				   .entry_handler = visitors_return } },
	[JPROBE] = { .jp.entry = visitors_jprobe },
};

/* The first @num types go, the last one first. */
static void visitors_go(unsigned int num)
{
	while (num--) {
		enum any_type type = probe_types[num].type;

		any_unregister(type, &probes[type]);
		memset(&probes[type], POISON_FREE, sizeof(probes[type]));
	}
}

static int __init kprobes_visitor_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probe_types); i++) {
		enum any_type type = probe_types[i].type;
		int ret;

		probes[type].kp.symbol_name = target;
		ret = any_register(type, &probes[type]);
		if (ret) {
			visitors_go(i);
			return ret;
		}
	}
	return 0;
}

static void __exit kprobes_visitor_exit(void)
{
	visitors_go(ARRAY_SIZE(probe_types));
	WRITE_ONCE(here, false);
}

module_init(kprobes_visitor_init)
module_exit(kprobes_visitor_exit)
MODULE_DESCRIPTION("probes that go with their module");
MODULE_LICENSE("GPL");
