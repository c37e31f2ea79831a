/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_TEST_MANY_H
#define _KERNEL_KPROBES_TEST_MANY_H
/*
 * For tests that put probes on whatever can have one.
 */
#include <linux/kprobes.h>

/*
 * Registers those of @probes that can be, and has them in @registered, which has room
 * for all. What is refused is found out one by one, and @refused is told. Returns how
 * many there are.
 */
static inline unsigned int register_what_can_be(struct kprobe *probes, unsigned int num,
						struct kprobe **registered,
						void (*refused)(void *data), void *data)
{
	unsigned int i, live = 0;

	for (i = 0; i < num; i++)
		registered[i] = &probes[i];
	if (!register_kprobes(registered, num))
		return num;
	for (i = 0; i < num; i++) {
		probes[i].flags = 0;
		if (!register_kprobe(&probes[i]))
			registered[live++] = &probes[i];
		else if (refused)
			refused(data);
	}
	return live;
}

#endif /* _KERNEL_KPROBES_TEST_MANY_H */
