/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARM64_KERNEL_PROBES_TEST_FTRACE_H
#define _ARM64_KERNEL_PROBES_TEST_FTRACE_H
/*
 * The assembly functions of test_ftrace.c: probe_test_call() loads all registers and calls
 * probe_test_target(), which ftrace patches, and which records the registers.
 */
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "support/asm_arm64.h"

/* The assembly below knows the layout. */
struct image {
	u64	x[31];
	u64	nzcv;
	u64	sp;
	u64	daif;
};

enum body { NONE, TARGET, REPLACEMENT };
enum landing { CALLER, ELSEWHERE };

struct call {
	struct image	in, out;
	u64		body;
	u64		landed;
};

static_assert(offsetof(struct image, nzcv) == 248);
static_assert(offsetof(struct image, sp) == 256);
static_assert(offsetof(struct image, daif) == 264);
static_assert(offsetof(struct call, out) == 272);
static_assert(offsetof(struct call, body) == 544);
static_assert(offsetof(struct call, landed) == 552);

/* A function that ftrace can patch */
asm("	.macro probe_test_patchable name\n"
"	.balign	8\n"
"	nop; nop\n"
"	.pushsection __patchable_function_entries, \"awo\", %progbits, \\name\n"
"	.balign	8\n"
"	.quad	\\name - 8\n"
"	.popsection\n"
"	.type	\\name, %function\n"
"\\name:\n"
#ifdef CONFIG_ARM64_BTI_KERNEL
"	hint	#34\n"				/* bti c */
#endif
"	nop; nop\n"
"	.endm\n"

/*
 * The frame of probe_test_call(): 0 to 95, registers to be restored for C; 96, the struct call.
 * It loads all registers except x18, which may be the shadow call stack's, and the frame pointer.
 */
"	.macro probe_test_body number\n"
"	str	x0, [sp, #-16]!; ldr x0, [sp, #112]; add x0, x0, #272\n"
"	str	x1, [x0, #8]\n"
	KPROBES_STORE_MOST
"	str	x18, [x0, #144]; stp x28, x29, [x0, #224]; str x30, [x0, #240]\n"
"	mrs	x1, nzcv; str x1, [x0, #248]; mrs x1, daif; str x1, [x0, #264]\n"
"	mov	x1, #\\number; str x1, [x0, #272]\n"
"	ldr	x1, [sp], #16; str x1, [x0]; mov x1, sp; str x1, [x0, #256]\n"
"	ret\n"
"	.endm\n"

"	.pushsection .text, \"ax\"\n"
"	probe_test_patchable probe_test_target\n"
"	probe_test_body 1\n"
"	.size	probe_test_target, . - probe_test_target\n"

"	.balign	8\n"
"	.type	probe_test_replacement, %function\n"
"probe_test_replacement:\n"
"	probe_test_body 2\n"
"	.size	probe_test_replacement, . - probe_test_replacement\n"

/* Ends in a call of probe_test_traced(), which returns to the caller. */
"	probe_test_patchable probe_test_jump\n"
"	b	probe_test_traced\n"
"	.size	probe_test_jump, . - probe_test_jump\n"
"	.popsection\n");

KPROBES_FUNCTION(probe_test_call,
		 "stp x29, x30, [sp, #-112]!; mov x29, sp\n"
		 KPROBES_SAVE_CALLERS
		 "str x0, [sp, #96]; str x18, [x0, #144]; adr x1, 1f; stp x29, x1, [x0, #232]\n"
		 "mov x1, sp; str x1, [x0, #256]; mrs x1, daif; str x1, [x0, #264]\n"
		 "ldr x1, [x0, #248]; msr nzcv, x1\n"
		 KPROBES_LOAD_MOST
		 "ldr x28, [x0, #224]; ldp x0, x1, [x0]; bl probe_test_target\n"
		 "1: mov x10, #0\n"
		 "2: ldr x11, [sp, #96]; str x10, [x11, #552]\n"
		 KPROBES_RESTORE_CALLERS
		 "ldp x29, x30, [sp], #112; ret\n"
		 "probe_test_elsewhere: mov x10, #1; b 2b");

/* A direct call like those of BPF: x9 is the link register, and x30 where to continue. */
KPROBES_FUNCTION(probe_test_direct,
		 "stp x0, x1, [sp, #-16]!\n"
		 "adrp x0, probe_test_directs; ldr x1, [x0, #:lo12:probe_test_directs]\n"
		 "add x1, x1, #1; str x1, [x0, #:lo12:probe_test_directs]\n"
		 "adrp x0, probe_test_direct_next; str x30, [x0, #:lo12:probe_test_direct_next]\n"
		 "ldp x0, x1, [sp], #16; mov x17, x30; mov x30, x9; ret x17");

/* Set by probe_test_direct(): how often it was called, and where it was to continue */
extern unsigned long probe_test_directs, probe_test_direct_next;

void probe_test_target(void);
void probe_test_replacement(void);
void probe_test_elsewhere(void);
void probe_test_direct(void);
void probe_test_jump(void);
void probe_test_traced(void);
void probe_test_call(struct call *call);

#endif /* _ARM64_KERNEL_PROBES_TEST_FTRACE_H */
