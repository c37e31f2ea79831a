/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_SLOT_H
#define __ARM64_KERNEL_PROBES_SLOT_H

/*
 * A slot, in words:
 *
 *   SLOT_ENTRY		where the branch in the text leads to: makes room for a
 *			pt_regs, and calls kprobe_detour_entry()
 *   SLOT_COPY_OUT	leaves that room; the way from kprobe_detour_entry() to
 *   SLOT_COPY		the copy, and a branch to the next instruction
 *   SLOT_LAST_OUT	leaves that room; the way from kprobe_detour_entry() to
 *   SLOT_LAST		the copy for hits with a post handler; then as SLOT_ENTRY, but
 *			calls kprobe_tail_entry()
 *   SLOT_NEXT_OUT	leaves that room; the way from both to the next instruction
 *   SLOT_OWNER		the address of the site, two words
 *   SLOT_THUNK		a thunk, if there is one
 *
 * An instruction that is simulated has no copies. If it is a branch, what follows on
 * SLOT_COPY_OUT is a branch to where it goes when it is taken.
 *
 * If the next instruction is out of a branch's reach, each copy has a BRK behind it. The
 * first copy is not used then, and its BRK reports a fault; that of the other ends a
 * step.
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
