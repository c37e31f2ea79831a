/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trampoline to which functions with a return probe return: builds a pt_regs, runs the
 * handlers, and returns to where the function would have returned.
 */
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/ptrace.h>

#include "pstate-header.S"
#include "regs.h"

#define PSR_I_SHIFT	7

	.text

/*
 * On entry, the link register holds the address of the trampoline. Registers are only restored
 * if a handler may want to change them, or C code does not preserve them. So are the flags:
 * assembly may rely on them, as pmull_gcm_encrypt() does, which keeps them over calls.
 */
SYM_CODE_START(__kretprobe_trampoline)
	sub	sp, sp, #PT_REGS_SIZE
	callee_saved stp

	/* A frame record with the trampoline's address, which unwinders recognize. */
	stp	x29, lr, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME

	caller_saved stp
	add	x0, sp, #PT_REGS_SIZE
	stp	lr, x0, [sp, #S_LR]
	save_pstate __kretprobe_trampoline

	mov	x0, sp
	ldr	x1, [sp, #S_STACKFRAME]
	tbnz	x19, #PSR_I_SHIFT, .Lmasked
	bl	kretprobe_returned
.Lreturned:

	restore_pstate __kretprobe_trampoline

	/* By now the frame record has the function's own return address. */
	caller_saved ldp
	ldr	x19, [sp, #S_X18 + 8]
	ldp	x29, lr, [sp, #S_STACKFRAME]
	add	sp, sp, #PT_REGS_SIZE
	ret
	rare_pstate __kretprobe_trampoline

	/* RCU may take the CPU for idle. */
.Lmasked:
	bl	kprobe_masked_return
	b	.Lreturned
SYM_CODE_END(__kretprobe_trampoline)
NOKPROBE(__kretprobe_trampoline)
