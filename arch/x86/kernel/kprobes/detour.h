/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_DETOUR_H
#define __X86_KERNEL_KPROBES_DETOUR_H

/*
 * Layout of a detour:
 *
 *   DETOUR_OWNER	the address of the site
 *   DETOUR_ENTRY	the target of the jump: a call of kprobe_detour_entry()
 *   DETOUR_COPY	copies of the instructions that the jump covers, and a jump
 *			back
 *
 * A copy is as long as its original, except for branches: a short branch gets its long form,
 * of up to six bytes, a call becomes a push and a jump, and a return may become a jump.
 */
#define DETOUR_OWNER	0
#define DETOUR_ENTRY	8
#define DETOUR_COPY	13
#define DETOUR_SIZE	64

#endif /* __X86_KERNEL_KPROBES_DETOUR_H */
