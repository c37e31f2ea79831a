// SPDX-License-Identifier: GPL-2.0
/*
 * A module that is removed while its handlers run: it has probes of all kinds on a
 * function that is called all the time.
 *
 *	insmod test_kprobes_visitor.ko target=kprobes_lonely_traced
 *
 * Without a target, it asks for probes in a module as soon as anybody is told of it: when the
 * module test_kprobes_victim is loaded after this one, this one asks for a probe and for
 * events, before all others but kprobes are told that the module is coming.
 */
#include <linux/delay.h>
#include <linux/limits.h>
#include <linux/notifier.h>
#include <linux/poison.h>
#include <linux/trace_events.h>

#include "support/kinds.h"

static char *target;
module_param(target, charp, 0444);
MODULE_PARM_DESC(target, "the function, which takes a number and returns one");

/* --- probes that leave --- */

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

/* That one was not registered does no harm. */
static void visitors_go(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probe_types); i++) {
		enum any_type type = probe_types[i].type;

		any_unregister(type, &probes[type]);
		memset(&probes[type], POISON_FREE, sizeof(probes[type]));
	}
}

static int visitors_come(void)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(probe_types) && !ret; i++) {
		enum any_type type = probe_types[i].type;

		probes[type].kp.symbol_name = target;
		ret = any_register(type, &probes[type]);
	}
	if (ret)
		visitors_go();
	return ret;
}

/* --- probes that come as early as can be --- */

/* What was answered: a probe; the event kprobes/kprobes_early; and one past all text; 1 before */
static int answers[3] = { 1, 1, 1 };
module_param_array(answers, int, NULL, 0444);
MODULE_PARM_DESC(answers, "to the request for a probe, for an event, and for one past all text");

static int ask_for_event(const char *name, const char *place)
{
#ifdef CONFIG_KPROBE_EVENTS
	struct dynevent_cmd cmd;
	char text[128];

	kprobe_event_cmd_init(&cmd, text, sizeof(text));
	return kprobe_event_gen_cmd_start(&cmd, name, place) ?:
	       kprobe_event_gen_cmd_end(&cmd);
#else
	return -ENODEV;
#endif
}

static int ask_early(struct notifier_block *nb, unsigned long event, void *data)
{
	struct kprobe kp = { .symbol_name = "kprobes_victim" };
	struct module *mod = data;

	if (event != MODULE_STATE_COMING || strcmp(mod->name, "test_kprobes_victim"))
		return NOTIFY_DONE;
	answers[0] = register_kprobe(&kp);
	if (!answers[0])
		unregister_kprobe(&kp);
	answers[1] = ask_for_event("kprobes_early", "test_kprobes_victim:kprobes_victim");
	answers[2] = ask_for_event("kprobes_past", "test_kprobes_victim:kprobes_victim+0x7fffffff");
	return NOTIFY_DONE;
}

static struct notifier_block early_nb = {
	.notifier_call = ask_early,
	.priority = INT_MAX,
};

static int __init kprobes_visitor_init(void)
{
	return target ? visitors_come() : register_module_notifier(&early_nb);
}

static void __exit kprobes_visitor_exit(void)
{
	if (!target) {
		unregister_module_notifier(&early_nb);
		return;
	}
	visitors_go();
	WRITE_ONCE(here, false);
}

module_init(kprobes_visitor_init)
module_exit(kprobes_visitor_exit)
MODULE_DESCRIPTION("probes that go with their module, or come with another");
MODULE_LICENSE("GPL");
