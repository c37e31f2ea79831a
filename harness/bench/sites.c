// SPDX-License-Identifier: GPL-2.0-only
/* Text to be probed, and nothing else; it has the name of its module. */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/stringify.h>

#include "sites.h"

extern char __KBUILD_MODNAME[];
EXPORT_SYMBOL_GPL(__KBUILD_MODNAME);

asm(".text\n"
	".balign 16\n"
	".globl " __stringify(__KBUILD_MODNAME) "\n"
	__stringify(__KBUILD_MODNAME) ":\n"
	".macro site_group\n"
	".type site_group_\\@, %function\n"
	"site_group_\\@:\n"
	".rept " __stringify(SITE_GROUP) "\n"
	SITE
	".endr\n"
	".size site_group_\\@, . - site_group_\\@\n"
	".endm\n"
	".rept " __stringify(SITE_GROUPS) "\n"
	"	site_group\n"
	".endr\n"
	".previous\n");

MODULE_DESCRIPTION("sites for kprobe_bench");
MODULE_LICENSE("GPL");
