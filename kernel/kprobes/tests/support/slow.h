/* SPDX-License-Identifier: GPL-2.0 */
/* A handler that takes its time, so that somebody can be seen to wait for it. */
#ifndef _KPROBES_TESTS_SLOW_H
#define _KPROBES_TESTS_SLOW_H

#include <linux/compiler.h>
#include <linux/delay.h>

/* Must be long against what there is to do before the wait. */
static unsigned int handler_ms = 20;

/* Not bool: with UBSAN, gcc forgets that the read of one in a loop is volatile. */
static int takes_time, began, ended;

/* The next handler that calls take_time() does so. */
static inline void let_it_take_time(void)
{
	WRITE_ONCE(began, false);
	WRITE_ONCE(ended, false);
	WRITE_ONCE(takes_time, true);
}

static inline void take_time(void)
{
	if (!READ_ONCE(takes_time))
		return;
	WRITE_ONCE(takes_time, false);
	WRITE_ONCE(began, true);
	mdelay(handler_ms);
	WRITE_ONCE(ended, true);
}

#endif /* _KPROBES_TESTS_SLOW_H */
