// SPDX-License-Identifier: GPL-2.0-only
/*
 * A probe in the middle of a function: show one register at one instruction.
 *
 *	insmod kprobe_offset.ko symbol=kernel_clone offset=0x2a reg=rbx
 *
 * The offset is in bytes from the function's start. An instruction must begin
 * there, as "objdump -d vmlinux" shows; otherwise the module is not loaded, and
 * the error is EILSEQ. With offset 0, the default, the probe is at the entry.
 * Registers have the names of the processor's manual; the default is the one
 * for return values.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/stddef.h>
#include <linux/string.h>

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "kernel function to probe (default: kernel_clone)");

static uint offset;
module_param(offset, uint, 0444);
MODULE_PARM_DESC(offset, "bytes from the start of the function (default: 0)");

static char *reg = "";
module_param(reg, charp, 0444);
MODULE_PARM_DESC(reg, "register to show (default: the one for return values)");

/* Offset of the register in struct pt_regs */
static size_t reg_at;

#if defined(CONFIG_X86)

#ifdef CONFIG_X86_64
#define RETURN_REGISTER	"rax"
#else
#define RETURN_REGISTER	"eax"
#endif

static const struct {
	const char *name;
	size_t at;
} registers[] = {
#ifdef CONFIG_X86_64
	{ "rax", offsetof(struct pt_regs, ax) },	{ "rbx", offsetof(struct pt_regs, bx) },
	{ "rcx", offsetof(struct pt_regs, cx) },	{ "rdx", offsetof(struct pt_regs, dx) },
	{ "rsi", offsetof(struct pt_regs, si) },	{ "rdi", offsetof(struct pt_regs, di) },
	{ "rbp", offsetof(struct pt_regs, bp) },	{ "rsp", offsetof(struct pt_regs, sp) },
	{ "r8", offsetof(struct pt_regs, r8) },		{ "r9", offsetof(struct pt_regs, r9) },
	{ "r10", offsetof(struct pt_regs, r10) },	{ "r11", offsetof(struct pt_regs, r11) },
	{ "r12", offsetof(struct pt_regs, r12) },	{ "r13", offsetof(struct pt_regs, r13) },
	{ "r14", offsetof(struct pt_regs, r14) },	{ "r15", offsetof(struct pt_regs, r15) },
#else
	{ "eax", offsetof(struct pt_regs, ax) },	{ "ebx", offsetof(struct pt_regs, bx) },
	{ "ecx", offsetof(struct pt_regs, cx) },	{ "edx", offsetof(struct pt_regs, dx) },
	{ "esi", offsetof(struct pt_regs, si) },	{ "edi", offsetof(struct pt_regs, di) },
	{ "ebp", offsetof(struct pt_regs, bp) },	{ "esp", offsetof(struct pt_regs, sp) },
#endif
};

static int __init find_register(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(registers); i++) {
		if (!strcmp(registers[i].name, reg)) {
			reg_at = registers[i].at;
			return 0;
		}
	}
	return -EINVAL;
}

#elif defined(CONFIG_ARM64)

#define RETURN_REGISTER	"x0"

static int __init find_register(void)
{
	unsigned int number;

	if (!strcmp(reg, "sp")) {
		reg_at = offsetof(struct pt_regs, sp);
		return 0;
	}
	if (reg[0] != 'x' || !isdigit(reg[1]) || kstrtouint(reg + 1, 10, &number) || number > 30)
		return -EINVAL;
	reg_at = offsetof(struct pt_regs, regs) + number * sizeof(u64);
	return 0;
}

#else

#define RETURN_REGISTER	"return value register"

static int __init find_register(void)
{
	return -EOPNOTSUPP;
}

#endif

/* Runs before the instruction at symbol+offset, with preemption off. */
static int show_register(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long value = regs_return_value(regs);

	if (*reg)
		value = *(unsigned long *)((void *)regs + reg_at);
	pr_info("%s (pid %d) at %s+0x%x: %s = 0x%lx\n", current->comm, current->pid,
		p->symbol_name, p->offset, *reg ? reg : RETURN_REGISTER, value);
	return 0;
}

static struct kprobe probe = {
	.pre_handler = show_register,
};

static int __init kprobe_offset_init(void)
{
	int ret = *reg ? find_register() : 0;

	if (ret) {
		pr_err("no register is called %s here\n", reg);
		return ret;
	}
	probe.symbol_name = symbol;
	probe.offset = offset;
	ret = register_kprobe(&probe);
	if (ret) {
		pr_err("no probe at %s+0x%x: error %d%s\n", symbol, offset, ret,
		       ret == -EILSEQ ? ", no instruction begins there" : "");
		return ret;
	}
	pr_info("probing %pS\n", probe.addr);
	return 0;
}

static void __exit kprobe_offset_exit(void)
{
	unregister_kprobe(&probe);
	pr_info("probe at %s+0x%x removed\n", symbol, offset);
}

module_init(kprobe_offset_init)
module_exit(kprobe_offset_exit)
MODULE_DESCRIPTION("shows a register in the middle of a kernel function");
MODULE_LICENSE("GPL");
