/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ARM64_KERNEL_PROBES_SLOT_H
#define __ARM64_KERNEL_PROBES_SLOT_H

/*
 * A slot, in words:
 *
 *   SLOT_ENTRY		the target of the branch in the text: makes room for a pt_regs,
 *			and calls kprobe_detour_entry()
 *   SLOT_COPY_OUT	where kprobe_detour_entry() goes to get to SLOT_COPY: gives back
 *			that room
 *   SLOT_COPY		the copy, and a branch to the next instruction
 *   SLOT_LAST_OUT	where kprobe_detour_entry() goes to get to SLOT_LAST: gives back
 *			that room
 *   SLOT_LAST		the copy for hits with a post handler; then as SLOT_ENTRY, but
 *			calls kprobe_tail_entry()
 *   SLOT_NEXT_OUT	where both go if the instruction is done: gives back that room,
 *			and branches to the next instruction
 *   SLOT_OWNER		the address of the site's kprobe, two words
 *
 * A simulated instruction has no copies. If it is a branch, SLOT_COPY is a branch to its
 * target, or by the register that has its target.
 *
 * If a branch cannot get there from the text, or from there to the handlers or the next
 * instruction, the copy for hits with a post handler is followed by a BRK, which ends a
 * step. If it is the next instruction that is out of reach, there is one behind the other
 * copy, too. That copy is not used then, and its BRK reports a fault.
 */
#define SLOT_ENTRY	0
#define SLOT_COPY_OUT	3
#define SLOT_COPY	5
#define SLOT_LAST_OUT	7
#define SLOT_LAST	9
#define SLOT_NEXT_OUT	13
#define SLOT_OWNER	16
#define SLOT_WORDS	18

/*
 * From where modules are, the handlers may be out of a call's reach. Pages of slots there end in
 * veneers: each goes to the handler at any distance, and is called in its place.
 */
#define VENEER_SIZE	24
#define VENEERS_SIZE	(2 * VENEER_SIZE)

#endif /* __ARM64_KERNEL_PROBES_SLOT_H */
