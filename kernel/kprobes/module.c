// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text that comes and goes with modules.
 */
#include <linux/elf.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "internal.h"

/*
 * Modules that are coming and were announced to the core. A module's symbols can be found before
 * that; but then its blacklist has not been read, and ftrace has not enabled its entries.
 */
static DEFINE_XARRAY(announced);

/*
 * Checks whether a module is live, or has been announced to the core and not left since. A module
 * that fails to load becomes GOING when nobody tells the core of it any more, and is freed in spite
 * of references on it. If it is announced, the core will be told.
 */
bool kprobe_module_is_known(struct module *mod)
{
	lockdep_assert_held(&kprobe_mutex);
	return READ_ONCE(mod->state) == MODULE_STATE_LIVE ||
	       xa_load(&announced, (unsigned long)mod);
}

#ifdef CONFIG_LIVEPATCH
/*
 * Checks whether a module's text may change while the kernel runs. A livepatch can have relocations
 * for modules that it patches. They are written when it is enabled, or when such a module is
 * loaded, and cleared when that goes. Those for the kernel itself are written before anybody can
 * register a probe. Nothing is known before it is live. @mod cannot go away.
 */
bool kprobe_module_is_relocated(struct module *mod)
{
	const struct klp_modinfo *info;
	unsigned int i;

	if (!is_livepatch_module(mod))
		return false;
	/* By then, what is read below has been set. */
	if (smp_load_acquire(&mod->state) != MODULE_STATE_LIVE)
		return true;
	info = mod->klp_info;
	for (i = 0; i < info->hdr.e_shnum; i++) {
		if (info->sechdrs[i].sh_flags & SHF_RELA_LIVEPATCH &&
		    !strstarts(info->secstrings + info->sechdrs[i].sh_name, ".klp.rela.vmlinux."))
			return true;
	}
	return false;
}
#endif

static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	guard(kprobe_lock)();
	kprobe_function_forget();
	switch (event) {
	case MODULE_STATE_COMING:
		kprobe_blacklist_add_module(mod);
		/* Without memory for this, the module can only be probed when it is live. */
		xa_store(&announced, (unsigned long)mod, xa_mk_value(1), GFP_KERNEL);
		break;
	case MODULE_STATE_LIVE:
		xa_erase(&announced, (unsigned long)mod);
		kprobe_kill_sites(within_module_init, mod);
		kprobe_blacklist_remove_module(mod, true);
		break;
	case MODULE_STATE_GOING:
		xa_erase(&announced, (unsigned long)mod);
		kprobe_kill_sites(within_module, mod);
		kprobe_blacklist_remove_module(mod, false);
		break;
	}
	return NOTIFY_DONE;
}

/*
 * A chain is called from high priority to low, and among equals in the order of registration. On
 * COMING, the blacklist has to be filled before anybody else registers probes in the module. Kprobe
 * events do (trace_kprobe.c, priority 2), and other modules may with any priority.
 */
static struct notifier_block module_nb = {
	.notifier_call	= module_event,
	.priority	= INT_MAX,
};

int __init kprobe_module_init(void)
{
	return register_module_notifier(&module_nb);
}
