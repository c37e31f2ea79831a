// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native execution of an instruction; see test_native.h.
 */
#include <linux/cleanup.h>
#include <linux/execmem.h>
#include <linux/kdebug.h>
#include <linux/kprobes_arch.h>
#include <linux/kprobes_function.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/nops.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

#include "support/asm_x86.h"
#include "../internal.h"
#include "test_native.h"

#define EDGE_SIZE	(4 * PAGE_SIZE)

u8 *kprobe_test_page;
unsigned long kprobe_test_edge;
bool kprobe_test_astray;
unsigned long kprobe_test_stack[STACK_SIZE] __aligned(16);

/* Before such a text is overwritten, it is a function like any other, for tests that walk text. */
#define KPROBES_TEST_TEXT(function, size)				\
	KPROBES_FUNCTION(function, ".globl " #function "\n"		\
			 ".rept " __stringify(size) " / 8\n"		\
			 ASM_NOP8 "\n .endr\n" ASM_RET)

KPROBES_TEST_TEXT(kprobe_test_text, TEXT_SIZE);
KPROBES_TEST_TEXT(kprobe_test_forms, TEXT_SIZE_FORMS);
KPROBES_TEST_TEXT(kprobe_test_branches, TEXT_SIZE_FORMS);

/* A trip to an instruction: an int3 to get there, the instruction, an int3 to come back */
static struct {
	struct task_struct	*traveller;
	bool			under_way, may_trap;
	int			trap;
	struct pt_regs		regs, home;
} trip;

void diff_load(struct pt_regs *to, const struct pt_regs *from)
{
	int i;

	for (i = 0; i < NR_REGS; i++)
		*reg(to, i) = *reg((void *)from, i);
	to->flags = from->flags;
	to->ip = from->ip;
}

/* RF is the exception's. QEMU 10 sets it at some. */
void diff_regs(struct pt_regs *to, const struct pt_regs *from)
{
	memset(to, 0, sizeof(*to));
	diff_load(to, from);
	to->flags &= ~(unsigned long)X86_EFLAGS_RF;
}

bool diff_is_jump(const struct diff_insn *insn)
{
	return *(u8 *)insn->at == JMP32_INSN_OPCODE;
}

bool diff_by_trap(void)
{
	return this_cpu_read(kprobe_int3_count);
}

static void leave(struct pt_regs *regs)
{
	trip.home = *regs;
	diff_load(regs, &trip.regs);
	trip.under_way = true;
}

static void come_back(struct pt_regs *regs, int trap)
{
	diff_regs(&trip.regs, regs);
	if (trap == X86_TRAP_BP)
		trip.regs.ip -= INT3_INSN_SIZE;
	*regs = trip.home;
	trip.trap = trap;
	trip.traveller = NULL;
	trip.under_way = false;
}

static int on_trap(struct notifier_block *nb, unsigned long what, void *data)
{
	struct die_args *args = data;

	if (trip.traveller != current)
		return NOTIFY_DONE;
	if (what != DIE_INT3 && !(trip.under_way && trip.may_trap))
		return NOTIFY_DONE;

	if (trip.under_way)
		come_back(args->regs, what == DIE_INT3 ? X86_TRAP_BP : args->trapnr);
	else
		leave(args->regs);
	return NOTIFY_STOP;
}

static struct notifier_block trap_notifier = {
	.notifier_call	= on_trap,
	.priority	= INT_MAX,
};

static noinline void travel(struct pt_regs *regs)
{
	u64 ibt;

	trip.regs = *regs;
	trip.traveller = current;
	ibt = ibt_save(kprobe_test_astray);
	asm volatile("int3" : ASM_CALL_CONSTRAINT : : "memory");
	ibt_restore(ibt);
	*regs = trip.regs;
}

void diff_trip(struct pt_regs *regs)
{
	preempt_disable();
	travel(regs);
	preempt_enable();
}

/* The same for an instruction that may raise an exception. Returns its vector, or X86_TRAP_BP. */
int kprobe_test_try_natively(struct pt_regs *regs)
{
	int trap;

	preempt_disable();
	trip.may_trap = true;
	travel(regs);
	trip.may_trap = false;
	trap = trip.trap;
	preempt_enable();
	return trap;
}

unsigned long kprobe_test_flags(unsigned int i)
{
	return X86_EFLAGS_FIXED |
	       (i & 1 ? X86_EFLAGS_CF | X86_EFLAGS_IF : 0) |
	       (i & 2 ? X86_EFLAGS_PF | X86_EFLAGS_DF : 0) |
	       (i & 4 ? X86_EFLAGS_ZF | X86_EFLAGS_AF : 0) |
	       (i & 8 ? X86_EFLAGS_SF : 0) |
	       (i & 16 ? X86_EFLAGS_OF : 0);
}

void kprobe_test_put_code(const u8 *code, unsigned int length)
{
	text_poke_copy(kprobe_test_page, code, length);
}

/*
 * Behind each instruction are as many bytes as a jump may cover, and an int3, where its run ends.
 * Only once for each text: later there may be jumps in it.
 */
int kprobe_test_write(void (*function)(void), int size, const struct diff_lab *lab)
{
	static const u8 padding[] = { BYTES_NOP4 };
	u8 *text = (u8 *)function, *image, *at;
	int i;

	static_assert(sizeof(padding) == PADDING_SIZE);
	static_assert(1 + PADDING_SIZE >= JMP32_INSN_SIZE);
	OPTIMIZER_HIDE_VAR(text);
	if (text[size - 1] == INT3_INSN_OPCODE)
		return 0;
	image = kvmalloc(size, GFP_KERNEL);
	if (!image)
		return -ENOMEM;
	memset(image, INT3_INSN_OPCODE, size);
	for (i = 0; i < lab->nr; i++) {
		at = image + (lab->insn(i)->at - (unsigned long)text);
		memcpy(at, lab->insn(i)->code, lab->insn(i)->length);
		memcpy(at + lab->insn(i)->length, padding, PADDING_SIZE);
	}
	scoped_guard(mutex, &text_mutex) {
		for (i = 0; i < size; i += PAGE_SIZE)
			text_poke(text + i, image + i, PAGE_SIZE);
		smp_text_poke_sync_each_cpu();
	}
	scoped_guard(mutex, &kprobe_mutex)
		kprobe_function_forget();
	kvfree(image);
	return 0;
}

/*
 * The probes with a post handler are registered before those without are removed. @jumps says
 * whether the instructions get jumps.
 */
void kprobe_test_in_all_ways(struct kunit *test, const struct diff_lab *lab, unsigned long trials,
			     bool jumps)
{
	diff_allow_jumps(test, false);
	diff_plant(test, lab, false);
	diff_run_probed(test, lab, trials, false, false);
	if (jumps)
		diff_run_probed(test, lab, trials, true, false);
	diff_allow_jumps(test, true);
	diff_plant(test, lab, true);
	diff_drop(false);
	if (jumps)
		diff_run_probed(test, lab, trials, true, true);
	diff_run_probed(test, lab, trials, false, true);
}

/* In @half of the cases no address at all, which is another exception */
unsigned long kprobe_test_bad_address(bool half)
{
	return IS_ENABLED(CONFIG_X86_64) && half ? NO_ADDRESS : kprobe_test_edge + PAGE_SIZE / 2;
}

int kprobe_test_native_init(void)
{
	void *edge = vmalloc(EDGE_SIZE);

	kprobe_test_page = alloc_insn_page();
	kprobe_test_edge = (unsigned long)edge + EDGE_SIZE;
	if (!kprobe_test_page || !edge) {
		kprobe_test_native_exit();
		return -ENOMEM;
	}
	text_poke_set(kprobe_test_page, INT3_INSN_OPCODE, PAGE_SIZE);
	return register_die_notifier(&trap_notifier);
}

void kprobe_test_native_exit(void)
{
	kprobe_test_astray = false;
	if (!kprobe_test_edge)
		return;
	unregister_die_notifier(&trap_notifier);
	if (kprobe_test_page)
		execmem_free(kprobe_test_page);
	vfree((void *)kprobe_test_edge - EDGE_SIZE);
	kprobe_test_edge = 0;
}
