/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sites: two instructions, one to be probed and a return, so that each of them
 * can be called. A group of them has a symbol.
 */
#define SITE_GROUP	32
#define SITE_GROUPS	200
#define SITE_MODULES	16
#define MODULE_SITES	(SITE_GROUP * SITE_GROUPS)
#define NR_SITES	(MODULE_SITES * SITE_MODULES)

#ifdef CONFIG_X86
/* Of 5 bytes, which a jump has room in. */
#define SITE		"	mov $1, %eax\n	ret\n"
#define SITE_SIZE	6
#else
#define SITE		"	mov x0, x1\n	ret\n"
#define SITE_SIZE	8
#endif
