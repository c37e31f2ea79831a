/* SPDX-License-Identifier: GPL-2.0 */
/* x86 half of targets.h: see there */
#ifndef _KPROBES_TESTS_TARGETS_X86_H
#define _KPROBES_TESTS_TARGETS_X86_H

#include <linux/cpumask.h>
#include <linux/nmi.h>
#include <linux/pgtable.h>
#include <asm/apic.h>
#include <asm/insn.h>
#include <asm/nmi.h>
#include <asm/text-patching.h>

#include "asm_x86.h"

/* How far behind the probed address a trap leaves the instruction pointer */
#define KPROBES_TRAP_LENGTH	INT3_INSN_SIZE

/* With frame pointers, an unwinder does not see the caller of a function without a frame. */
#define KPROBES_TRACE_WITHOUT_FRAME	IS_ENABLED(CONFIG_UNWINDER_ORC)
#define KPROBES_TRACE_AT_ENTRY		IS_ENABLED(CONFIG_UNWINDER_ORC)
#define KPROBES_TRACE_PAST_EXCEPTIONS	true

/* A return has taken the return address off the stack. */
#define KPROBES_RETURN_POPS		((int)sizeof(long))

/* A breakpoint's handler runs as in an NMI. */
#define KPROBES_HANDLER_MAY_UNMASK	false

/* Do the saved registers say that interrupts were on? */
static inline bool kprobes_interruptible(struct pt_regs *regs)
{
	return regs->flags & X86_EFLAGS_IF;
}

/* A function that is called whenever all processors are synchronized with changed text */
#define KPROBES_SYNC_SYMBOL	"smp_text_poke_sync_each_cpu"

/* A function whose return must not be diverted */
#define KPROBES_NO_RETURN_SYMBOL	"__switch_to"

#ifdef CONFIG_X86_64
#define KPROBES_ARGUMENT	di
#define KPROBES_DATA(label)	label "(%rip)"
#else
#define KPROBES_ARGUMENT	ax
#define KPROBES_DATA(label)	label
#endif

static inline bool kprobes_set_argument(struct pt_regs *regs, u32 x)
{
	regs->KPROBES_ARGUMENT = x;
	return true;
}

#define KPROBES_HAVE_STEPS	1

u32 kprobes_steps(u32 x);

KPROBES_AT(nop); KPROBES_AT(lea); KPROBES_AT(load); KPROBES_AT(push); KPROBES_AT(call);
KPROBES_AT(pop); KPROBES_AT(test); KPROBES_AT(jump); KPROBES_AT(return);

asm("	.pushsection .rodata, \"a\"\n"
"	.balign 4\n"
".Lkprobes_five:\n"
"	.long 5\n"
"	.popsection\n");

KPROBES_FUNCTION(kprobes_seven, "add $7, %eax\n" ASM_RET);

KPROBES_CALLED(kprobes_steps,
	       "nop\n"
	       KPROBES_STEP("nop")	"nop\n"
	       FRAME_BEGIN
	       KPROBES_STEP("lea")	"lea 3(%" _ASM_ARG1 "), %eax\n"
	       KPROBES_STEP("load")	"add " KPROBES_DATA(".Lkprobes_five") ", %eax\n"
	       KPROBES_STEP("push")	"push %" _ASM_DX "\n"
	       KPROBES_STEP("call")	"call kprobes_seven\n"
	       KPROBES_STEP("pop")	"pop %" _ASM_DX "\n"
	       KPROBES_STEP("test")	"test %eax, %eax\n"
	       KPROBES_STEP("jump")	"je 1f; inc %eax; 1:\n"
	       FRAME_END
	       KPROBES_STEP("return")	ASM_RET);

static const struct kprobes_step kprobes_steps_table[] __maybe_unused = {
	{ "function entry", kprobes_traced, NULL, kprobes_traced },
	{ "untraced function entry", kprobes_untraced, NULL, kprobes_untraced },
	{ "nop", kprobes_step_nop, NULL, kprobes_steps },
	{ "plain instruction", kprobes_step_lea, kprobes_step_load, kprobes_steps },
	{ "load relative to the pc", kprobes_step_load, kprobes_step_push, kprobes_steps },
	{ "push", kprobes_step_push, kprobes_step_call, kprobes_steps },
	{ "call", kprobes_step_call, kprobes_step_pop, kprobes_steps, true },
	{ "pop", kprobes_step_pop, kprobes_step_test, kprobes_steps },
	{ "test", kprobes_step_test, kprobes_step_jump, kprobes_steps },
	{ "conditional jump", kprobes_step_jump, NULL, kprobes_steps, true },
	{ "return", kprobes_step_return, NULL, kprobes_steps, true },
};

#define KPROBES_BLOCK_INSN_SIZE	3

asm("	.macro kprobes_block\n"
	KPROBES_TEXT(KPROBES_TYPE_OF("kprobes_block_\\@", "kprobes_steps"), "kprobes_block_\\@",
		     "mov %" __stringify(_ASM_ARG1L) ", %eax\n"
		     ".Lkprobes_block_\\@: " ANNOTATE_NOENDBR "\n"
		     ".rept " __stringify(KPROBES_BLOCK_INSNS) "; add $1, %eax; .endr\n" ASM_RET)
	_ASM_PTR " kprobes_block_\\@, .Lkprobes_block_\\@\n"
"	.endm\n");

/* The rest needs functions that are not exported to modules. */

/* The error for a probe on an instruction that cannot be probed */
#define KPROBES_REFUSED		(-EOPNOTSUPP)

/* The error for a probe inside an instruction, if it is not -EILSEQ */
#define KPROBES_OFF_BOUNDARY	(-EILSEQ)

/* How many instructions of a target may be refused */
#define KPROBES_OWN_REFUSED	0

/* Length of the first instruction in a copy of text, or an error */
static inline int kprobes_insn_length(const u8 *text, unsigned long size)
{
	struct insn insn;
	int ret = insn_decode(&insn, text, size, INSN_MODE_KERN);

	return ret < 0 ? ret : insn.length;
}

/* In 32-bit kernels, where padding is made of it, a lea of %esi to itself is one, too. */
static inline bool kprobes_is_nop(const u8 *text, unsigned long size)
{
	struct insn insn;

	if (insn_decode(&insn, text, size, INSN_MODE_KERN))
		return false;
	return insn.opcode.bytes[0] == 0x90 ||
	       (insn.opcode.bytes[0] == 0x0f && insn.opcode.bytes[1] == 0x1f) ||
	       (IS_ENABLED(CONFIG_X86_32) && insn.opcode.bytes[0] == 0x8d &&
		X86_MODRM_REG(insn.modrm.value) == 6 && !insn.displacement.value);
}

/* Length of a function's text without the padding behind it */
static inline unsigned long kprobes_trim(const u8 *text, unsigned long size)
{
	unsigned long at, end = kprobes_insn_length(text, size);
	int length;

	for (at = end; at < size && text[at] != INT3_INSN_OPCODE; at += length) {
		length = kprobes_insn_length(text + at, size - at);
		if (length <= 0)
			break;
		if (!kprobes_is_nop(text + at, size - at))
			end = at + length;
	}
	return end;
}

static inline bool kprobes_writable(unsigned long addr)
{
	unsigned int level;
	pte_t *pte = lookup_address(addr, &level);

	return pte && pte_write(*pte);
}

#ifdef CONFIG_X86_LOCAL_APIC
#define KPROBES_HAVE_NMI	1
#define KPROBES_TRAP_MASKS_NMI	false

static kprobes_work_t kprobes_nmi_work;

static inline bool kprobes_nmi_possible(void)
{
	return true;
}

static inline int kprobes_nmi(unsigned int type, struct pt_regs *regs)
{
	kprobes_work_t work = READ_ONCE(kprobes_nmi_work);

	if (!work)
		return NMI_DONE;
	WRITE_ONCE(kprobes_nmi_work, NULL);
	work();
	return NMI_HANDLED;
}

static inline int kprobes_nmi_setup(void)
{
	return register_nmi_handler(NMI_LOCAL, kprobes_nmi, 0, "kprobes_test");
}

static inline void kprobes_nmi_teardown(void)
{
	unregister_nmi_handler(NMI_LOCAL, "kprobes_test");
}

/* Sends this processor an NMI that does @work. Returns false if that is not possible. */
static inline bool kprobes_raise_nmi(kprobes_work_t work)
{
	WRITE_ONCE(kprobes_nmi_work, work);
	__apic_send_IPI_mask(cpumask_of(raw_smp_processor_id()), NMI_VECTOR);
	return true;
}
#endif

#endif /* _KPROBES_TESTS_TARGETS_X86_H */
