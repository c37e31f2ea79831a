/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TEST_LOG_H
#define _KERNEL_KPROBES_TEST_LOG_H
/*
 * How often the kernel's log says something.
 */
#include <kunit/test.h>
#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/printk.h>

static struct {
	const char	*words;
	unsigned int	times;
} log_watched;

static inline void log_read(void *unused, const char *text, size_t length)
{
	if (strnstr(text, log_watched.words, length))
		WRITE_ONCE(log_watched.times, log_watched.times + 1);
}

static inline void log_leave(void *unused)
{
	unregister_trace_console(log_read, NULL);
	tracepoint_synchronize_unregister();
}

/* Looks for these words until the case ends. */
static inline void log_watch(struct kunit *test, const char *words)
{
	log_watched.words = words;
	WRITE_ONCE(log_watched.times, 0);
	KUNIT_ASSERT_EQ(test, 0, register_trace_console(log_read, NULL));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, log_leave, NULL));
}

/* How often they have been there so far */
static inline unsigned int log_times(void)
{
	return READ_ONCE(log_watched.times);
}

#endif /* _KERNEL_KPROBES_TEST_LOG_H */
