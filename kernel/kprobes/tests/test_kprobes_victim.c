// SPDX-License-Identifier: GPL-2.0
/*
 * A module for the kprobes selftests to put probes on, from outside. What its parameters are
 * for is said where they are.
 */
#include <linux/async.h>
#include <linux/bug.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/objtool.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/static_call.h>
#include <linux/tracepoint-defs.h>

#include "support/patched.h"
#ifdef CONFIG_X86
#include "support/asm_x86.h"
#endif

/* A parameter that does something when it is written to, or read */
#define PARAM(name, setter, getter, arg, mode)					\
	static const struct kernel_param_ops name##_ops = { .set = setter, .get = getter }; \
	module_param_cb(name, &name##_ops, arg, mode)

/* Places in functions, as those who define events name them */
struct place {
	const char *function;
	const void *start, *at;
};

static int show_place(char *buffer, const struct kernel_param *kp)
{
	const struct place *place = kp->arg;

	return sysfs_emit(buffer, "%s+0x%tx\n", place->function, place->at - place->start);
}

#define PLACE(name, function, at)						\
	static struct place place_##name = { #function, function, at };		\
	PARAM(name, NULL, show_place, &place_##name, 0400)

/* Its address is used as data: objtool has to be told that no indirect branch goes there. */
extern u8 kprobes_victim_middle[] asm(".Lkprobes_victim_middle");

/* There is room for a jump of five bytes in the middle of it. */
static noinline __noclone u32 kprobes_victim(u32 x)
{
	asm volatile(".Lkprobes_victim_middle: " ANNOTATE_NOENDBR "\nnop\n"
		     "nop\n"
		     "nop\n"
		     "nop\n"
		     "nop"
		     : "+r" (x) : : "memory");
	return x + 1;
}

/* The functions must differ, or the compiler may fold them. */
#define VICTIM(name, attributes, add)						\
static attributes u32 kprobes_victim_##name(u32 x)				\
{										\
	asm volatile("" : "+r" (x) : : "memory");				\
	return x + (add);							\
}

VICTIM(untraced, noinline __noclone notrace, 2)

/* Only here to be on the blacklist, and to be refused; the last two are there by their sections. */
VICTIM(nokprobe, noinline __noclone, 1)
NOKPROBE_SYMBOL(kprobes_victim_nokprobe);
/* The idle loop may call such a function while RCU is not watching. */
VICTIM(idle, __noclone __cpuidle, 3)
VICTIM(section, noinline __noclone __kprobes, 4)
VICTIM(noinstr, noinstr, 5)

static unsigned int calls;

static int call_victims(const char *value, const struct kernel_param *kp)
{
	int ret = param_set_uint(value, kp);
	unsigned int i;

	for (i = 0; !ret && i < calls; i++) {
		if (kprobes_victim(i) != i + 1 || kprobes_victim_untraced(i) != i + 2 ||
		    kprobes_victim_nokprobe(i) != i + 1 || kprobes_victim_idle(i) != i + 3 ||
		    kprobes_victim_section(i) != i + 4 || kprobes_victim_noinstr(i) != i + 5)
			ret = -EIO;
	}
	return ret;
}

PARAM(calls, call_victims, param_get_uint, &calls, 0600);
MODULE_PARM_DESC(calls, "write N to have each function called N times");

/* The same function, in a task and in interrupts on top of it */
static unsigned int calls_by_task, calls_by_timer;
static struct hrtimer calling_timer;

#define TICK	ns_to_ktime(700 * NSEC_PER_USEC)

static enum hrtimer_restart call_in_interrupt(struct hrtimer *timer)
{
	calls_by_timer++;
	kprobes_victim(0);
	hrtimer_forward_now(timer, TICK);
	return HRTIMER_RESTART;
}

static int call_interrupted(const char *value, const struct kernel_param *kp)
{
	unsigned int number;
	int ret = kstrtouint(value, 0, &number);

	if (ret)
		return ret;
	calls_by_timer = 0;
	migrate_disable();
	hrtimer_setup(&calling_timer, call_in_interrupt, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&calling_timer, TICK, HRTIMER_MODE_REL_PINNED_HARD);
	for (calls_by_task = 0; calls_by_task < number; calls_by_task++)
		kprobes_victim(calls_by_task);
	hrtimer_cancel(&calling_timer);
	migrate_enable();
	return 0;
}

static int show_interrupted(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u %u\n", calls_by_task + calls_by_timer, calls_by_timer);
}

PARAM(interrupted, call_interrupted, show_interrupted, NULL, 0600);
MODULE_PARM_DESC(interrupted, "write N to call a function N times, and by interrupts; read how often that was");

PLACE(middle, kprobes_victim, kprobes_victim_middle);
MODULE_PARM_DESC(middle, "symbol and offset of an instruction in the middle of a function");

/*
 * A jump label whose key is that of one of the kernel's tracepoints: if the key is
 * on, the label has to be patched when the module comes. The tracepoint is only
 * passed when the system goes to sleep.
 */
#if defined(CONFIG_JUMP_LABEL) && defined(CONFIG_TRACEPOINTS)
extern u8 kprobes_victim_before[] asm(".Lkprobes_victim_before"),
	  kprobes_victim_on[] asm(".Lkprobes_victim_on"),
	  kprobes_victim_off[] asm(".Lkprobes_victim_off");

DECLARE_TRACEPOINT(suspend_resume);

/* If the ways met again, the compiler might emit a part twice, and its label with it. */
static noinline __noclone u32 kprobes_victim_forks(u32 x)
{
	asm volatile(".Lkprobes_victim_before: " ANNOTATE_NOENDBR "\nnop"
		     : "+r" (x) : : "memory");
	if (tracepoint_enabled(suspend_resume)) {
		asm volatile(".Lkprobes_victim_on: " ANNOTATE_NOENDBR "\nnop"
			     : "+r" (x) : : "memory");
		return x + 2;
	}
	asm volatile(".Lkprobes_victim_off: " ANNOTATE_NOENDBR "\nnop"
		     : "+r" (x) : : "memory");
	return x + 1;
}

static int show_way(char *buffer, const struct kernel_param *kp)
{
	switch (kprobes_victim_forks(40)) {
	case 41:
		return sysfs_emit(buffer, "off\n");
	case 42:
		return sysfs_emit(buffer, "on\n");
	default:
		return -EIO;
	}
}

PARAM(way, NULL, show_way, NULL, 0400);
MODULE_PARM_DESC(way, "read it to go a way: on if the tracepoint suspend_resume is, or off");

/* In this module, only the code above uses that key. */
static void *label(void)
{
	struct jump_entry *entry = THIS_MODULE->jump_entries;
	unsigned int i;

	for (i = 0; i < THIS_MODULE->num_jump_entries; i++, entry++) {
		if ((void *)jump_entry_key(entry) == &__tracepoint_suspend_resume.key)
			return (void *)jump_entry_code(entry);
	}
	return NULL;
}

static int show_ways(char *buffer, const struct kernel_param *kp)
{
	void *places[] = { kprobes_victim_before, label(), kprobes_victim_on, kprobes_victim_off };
	int length = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		length += sysfs_emit_at(buffer, length, "kprobes_victim_forks+0x%tx\n",
					places[i] - (void *)kprobes_victim_forks);
	return length;
}

PARAM(ways, NULL, show_ways, NULL, 0400);
MODULE_PARM_DESC(ways, "where it says whence it goes, the label, and the ways on and off");
#endif

/* What is patched, or known by its address, in a function that nobody calls */
DEFINE_STATIC_CALL(kprobes_victim_call, kprobes_victim);

static noinline __noclone __used u32 kprobes_victim_warns(u32 x)
{
	WARN_ON(x);
	return static_call(kprobes_victim_call)(x) + 1;
}

static int show_patched(char *buffer, const struct kernel_param *kp)
{
	const struct module *mod = THIS_MODULE;
	int length = 0;

#ifdef CONFIG_GENERIC_BUG
	for (int i = 0; i < mod->num_bugs; i++)
		length += sysfs_emit_at(buffer, length, "WARN() %pS\n",
					kprobes_bug_site(&mod->bug_table[i]));
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (int i = 0; i < mod->num_static_call_sites; i++)
		length += sysfs_emit_at(buffer, length, "call %pS\n",
					kprobes_static_call_site(&mod->static_call_sites[i]));
#endif
	return length;
}

PARAM(patched, NULL, show_patched, NULL, 0400);
MODULE_PARM_DESC(patched, "each WARN() and each static call of this module, one in a line");

/* Functions that nobody calls */
#ifdef CONFIG_X86
void kprobes_victim_parted(void);
void kprobes_victim_leaves(void);
void kprobes_victim_fixed(void);
extern u8 kprobes_victim_joint[] asm(".Lkprobes_step_joint"),
	  kprobes_victim_room[] asm(".Lkprobes_step_room"),
	  kprobes_victim_before_fixed[] asm(".Lkprobes_step_before_fixed");

/*
 * One in three parts, with the names that GCC 8 gives them. Its last part branches back to the
 * first of the two additions.
 */
KPROBES_FUNCTION(kprobes_victim_parted,
		 "je kprobes_victim_parted.cold.1; js kprobes_victim_parted.cold.2\n"
		 KPROBES_STEP("joint") "nop\n"
		 ".Lkprobes_back: add $1, %eax; add $1, %eax; .Lkprobes_end:\n" ASM_RET);
KPROBES_FUNCTION(kprobes_victim_parted.cold.1, "add $2, %eax; jmp .Lkprobes_end");
KPROBES_FUNCTION(kprobes_victim_parted.cold.2, "add $3, %eax; jmp .Lkprobes_back");

PLACE(joint, kprobes_victim_parted, kprobes_victim_joint);
MODULE_PARM_DESC(joint, "symbol and offset of an instruction before one that is branched to");

/* Its last instruction is a branch to another function, as for a tail call. */
KPROBES_FUNCTION(kprobes_victim_leaves,
		 KPROBES_STEP("room") "nop; nop; nop; nop; nop; jmp kprobes_victim_parted");

KPROBES_FUNCTION(kprobes_victim_fixed,
		 KPROBES_STEP("before_fixed") "nop; 1: mov (%" _ASM_AX "), %eax; nop; nop; 2:\n"
		 ASM_RET _ASM_EXTABLE(1b, 2b));

PLACE(leaves, kprobes_victim_leaves, kprobes_victim_room);
MODULE_PARM_DESC(leaves, "symbol and offset of an instruction that a jump can replace");

PLACE(fixed, kprobes_victim_fixed, kprobes_victim_before_fixed);
MODULE_PARM_DESC(fixed, "symbol and offset of an instruction before one that may fault");
#endif

/* A probed instruction that faults, in a thread that does not survive */
#if defined(CONFIG_X86)
#define LOAD	"movl (%1), %0"
#elif defined(CONFIG_ARM64)
#define LOAD	"ldr %w0, [%1]"
#endif

#ifdef LOAD
extern u8 kprobes_victim_load[] asm(".Lkprobes_victim_load");

static noinline __noclone u32 kprobes_victim_reads(const u32 *from)
{
	u32 value;

	asm volatile(".Lkprobes_victim_load: " ANNOTATE_NOENDBR "\n" LOAD
		     : "=r" (value) : "r" (from));
	return value;
}

static int looks_on(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int read_null(void *unused)
{
	return kprobes_victim_reads(NULL);
}

/* Returns 0 when the thread has died. It cannot be stopped: it does not get to its end. */
static int let_die(struct task_struct *thread)
{
	unsigned int tries;
	bool dead;

	get_task_struct(thread);
	wake_up_process(thread);
	for (tries = 0; tries < 3000 && !READ_ONCE(thread->exit_state); tries++)
		msleep(20);
	dead = READ_ONCE(thread->exit_state);
	put_task_struct(thread);
	return dead ? 0 : -ETIMEDOUT;
}

/* Not on the stack: a thread that is slow to die may still be in the handler. */
static struct kprobe deadly_probe;

static int lose_thread(kprobe_pre_handler_t handler, void *addr, int (*run)(void *unused))
{
	struct task_struct *thread;
	int ret;

	deadly_probe = (struct kprobe){ .addr = addr, .pre_handler = handler };
	ret = register_kprobe(&deadly_probe);
	if (ret)
		return ret;
	thread = kthread_create(run, NULL, "kprobes_victim");
	ret = IS_ERR(thread) ? PTR_ERR(thread) : let_die(thread);
	unregister_kprobe(&deadly_probe);
	return ret;
}

static int lose_to_instruction(const char *value, const struct kernel_param *kp)
{
	return lose_thread(looks_on, kprobes_victim_load, read_null);
}

PARAM(oops, lose_to_instruction, NULL, NULL, 0200);
MODULE_PARM_DESC(oops, "write to it to have a thread end in a fault of a probed instruction");

/* ftrace calls this handler. In one that a trap calls as an NMI, the fault would be a panic. */
#ifdef CONFIG_KPROBES_ON_FTRACE
static bool runs_into_bug;

static int loses_its_task(struct kprobe *p, struct pt_regs *regs)
{
	BUG_ON(runs_into_bug);
	return kprobes_victim_reads(NULL);
}

static int call_victim(void *unused)
{
	return kprobes_victim(0);
}

static int lose_to_handler(const char *value, const struct kernel_param *kp)
{
	runs_into_bug = sysfs_streq(value, "bug");
	return lose_thread(loses_its_task, kprobes_victim, call_victim);
}

PARAM(handler_oops, lose_to_handler, NULL, NULL, 0200);
MODULE_PARM_DESC(handler_oops, "write to it to have a thread end in a fault of a handler, or in a BUG() for \"bug\"");
#endif
#endif

/*
 * Text that runs when all other notifiers have been told that the module is live, or is
 * going. This one is told last.
 */
static DECLARE_COMPLETION(said);

static int note_event(struct notifier_block *nb, unsigned long event, void *module)
{
	if (module == THIS_MODULE)
		complete(&said);
	return NOTIFY_DONE;
}

static struct notifier_block event_nb = {
	.notifier_call	= note_event,
	.priority	= INT_MIN,
};

static bool wait_until_said(void)
{
	return wait_for_completion_timeout(&said, 60 * HZ);
}

static int ask_for_probe(void *addr)
{
	struct kprobe p = { .addr = addr };
	int err = register_kprobe(&p);

	if (!err)
		unregister_kprobe(&p);
	return err;
}

/* The module's text is not freed before this returns. */
static int show_leaving(char *buffer, const struct kernel_param *kp)
{
	int answer = 0, ret;

	reinit_completion(&said);
	ret = register_module_notifier(&event_nb);
	if (ret)
		return ret;
	kprobes_victim(0);
	if (!wait_until_said())
		ret = -ETIMEDOUT;
	else if (kprobes_victim(40) != 41)
		ret = -EIO;
	else
		answer = ask_for_probe(kprobes_victim_untraced);
	unregister_module_notifier(&event_nb);
	return ret ?: sysfs_emit(buffer, "going %d\n", answer);
}

PARAM(leaving, NULL, show_leaving, NULL, 0400);
MODULE_PARM_DESC(leaving, "read it to call a function twice: now, and when the module is going");

static unsigned int late;

module_param(late, uint, 0400);
MODULE_PARM_DESC(late, "1 if the init text went on when the module was live");

/* An offset, not an address, because it is asked for when the function has been freed */
extern const u32 kprobes_victim_late_at asm(".Lkprobes_victim_late_at");

static noinline __noclone unsigned int __init kprobes_victim_late(unsigned int x)
{
	asm volatile(".Lkprobes_victim_late_middle: nop\n"
		     ".pushsection .ref.data, \"aw\"\n"
		     ".balign 4\n"
		     ".Lkprobes_victim_late_at: .long .Lkprobes_victim_late_middle - kprobes_victim_late\n"
		     ".popsection"
		     : "+r" (x) : : "memory");
	return x + 1;
}

static int show_late_middle(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "kprobes_victim_late+%#x\n", kprobes_victim_late_at);
}

PARAM(late_middle, NULL, show_late_middle, NULL, 0400);
MODULE_PARM_DESC(late_middle, "symbol and offset of an instruction in the middle of that text");

static int late_probe = 1;

module_param(late_probe, int, 0400);
MODULE_PARM_DESC(late_probe, "what a probe on that text was answered then; 1 before");

/*
 * Init text is freed after this has ended. It is still there, and has its symbols; but nobody will
 * tell when it is freed.
 */
static void __init go_on_late(void *unused, async_cookie_t cookie)
{
	if (wait_until_said()) {
		late_probe = ask_for_probe(kprobes_victim_late);
		late = kprobes_victim_late(0);
	}
	unregister_module_notifier(&event_nb);
}

static noinline __noclone int __init kprobes_victim_starts(int x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return x;
}

/* Only here to be on the blacklist until the module has started. */
static noinline __noclone int __init kprobes_victim_starts_nokprobe(int x)
{
	asm volatile("" : "+r" (x) : : "memory");
	return -x;
}

NOKPROBE_SYMBOL(kprobes_victim_starts_nokprobe);

static int __init kprobes_victim_init(void)
{
	int ret = register_module_notifier(&event_nb);

	if (ret)
		return ret;
	async_schedule(go_on_late, NULL);
	return kprobes_victim_starts(0) + kprobes_victim_starts_nokprobe(0);
}

static void __exit kprobes_victim_exit(void)
{
}

module_init(kprobes_victim_init)
module_exit(kprobes_victim_exit)
MODULE_DESCRIPTION("functions for the kprobes selftests to probe");
MODULE_LICENSE("GPL");
