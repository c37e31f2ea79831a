// SPDX-License-Identifier: GPL-2.0
/*
 * Who asks for probes in a module as soon as anybody is told of it: when the module
 * test_kprobes_victim is loaded after this one, this one asks for a probe and for
 * events, before all others but kprobes are told that the module is coming.
 */
#include <linux/kprobes.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/trace_events.h>

#define FUNCTION	"kprobes_victim"
#define FAR		"+0x7fffffff"

static int probe_result = 1;
module_param_named(probe, probe_result, int, 0444);
MODULE_PARM_DESC(probe, "what its registration has returned; 1 before");

static int event_result = 1;
module_param_named(event, event_result, int, 0444);
MODULE_PARM_DESC(event, "what the creation of kprobes/kprobes_early has returned; 1 before");

static int past_result = 1;
module_param_named(past, past_result, int, 0444);
MODULE_PARM_DESC(past, "what the creation of an event past all text has returned; 1 before");

static int ask_for_probe(void)
{
	struct kprobe kp = { .symbol_name = FUNCTION };
	int err = register_kprobe(&kp);

	if (!err)
		unregister_kprobe(&kp);
	return err;
}

#ifdef CONFIG_KPROBE_EVENTS
static int ask_for_event(const char *name, const char *place)
{
	struct dynevent_cmd cmd;
	char text[128];

	kprobe_event_cmd_init(&cmd, text, sizeof(text));
	return kprobe_event_gen_cmd_start(&cmd, name, place) ?:
	       kprobe_event_gen_cmd_end(&cmd);
}
#else
static int ask_for_event(const char *name, const char *place)
{
	return -ENODEV;
}
#endif

static int ask_early(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (event == MODULE_STATE_COMING && !strcmp(mod->name, "test_kprobes_victim")) {
		probe_result = ask_for_probe();
		event_result = ask_for_event("kprobes_early", "test_kprobes_victim:" FUNCTION);
		past_result = ask_for_event("kprobes_past", "test_kprobes_victim:" FUNCTION FAR);
	}
	return NOTIFY_DONE;
}

static struct notifier_block early_nb = {
	.notifier_call = ask_early,
	.priority = INT_MAX,
};

static int __init kprobes_early_init(void)
{
	return register_module_notifier(&early_nb);
}

static void __exit kprobes_early_exit(void)
{
	unregister_module_notifier(&early_nb);
}

module_init(kprobes_early_init)
module_exit(kprobes_early_exit)
MODULE_DESCRIPTION("ask for probes in a module that has just been announced");
MODULE_LICENSE("GPL");
