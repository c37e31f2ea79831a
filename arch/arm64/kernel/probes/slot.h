/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_SLOT_H
#define __ARM64_KERNEL_PROBES_SLOT_H

/*
 * A slot, in words:
 *
 *   SLOT_ENTRY		where the branch in the text leads to: makes room for a
 *			pt_regs, and calls kprobe_detour_entry()
 *   SLOT_COPY_OUT	from there to the copy
 *   SLOT_COPY		the copy, and a branch back
 *   SLOT_LAST_OUT	from there to the other copy
 *   SLOT_LAST		a copy for hits that a post handler has to see the end of:
 *			as at the entry, but calls kprobe_tail_entry()
 *   SLOT_NEXT_OUT	from either to the next instruction
 *   SLOT_OWNER		the address of the site, two words
 *   SLOT_THUNK		where there is one, a thunk
 *
 * An instruction that is simulated has no copies. If it is a branch, SLOT_COPY_OUT
 * leads to where it goes when it is taken.
 *
 * Without the instruction's next in reach of a branch, there are only the copies,
 * each with a BRK behind it: a fault at the first, a step at the other.
 */
#define SLOT_ENTRY	0
#define SLOT_COPY_OUT	3
#define SLOT_COPY	5
#define SLOT_LAST_OUT	7
#define SLOT_LAST	9
#define SLOT_NEXT_OUT	13
#define SLOT_OWNER	16
#define SLOT_THUNK	18
#define SLOT_WORDS	24

#endif /* __ARM64_KERNEL_PROBES_SLOT_H */
