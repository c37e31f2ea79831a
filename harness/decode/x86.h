/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The decoder of x86 with what it has of the kernel, for this machine: the tree's own for
 * instructions, in front of it; its other #includes find empty files, and below is what
 * should be in these.
 */
#ifndef HARNESS_DECODE_X86_H
#define HARNESS_DECODE_X86_H

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT(n)			(1UL << (n))
#define BITS_PER_LONG		((int)(8 * sizeof(long)))
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BUILD_BUG()		__builtin_trap()
#define likely(x)		(x)
#define unlikely(x)		(x)
#define fallthrough		__attribute__((__fallthrough__))
#define noinline
#define __noendbr
#define __kprobes
#undef __always_inline
#define __always_inline		inline
#define PAGE_SIZE		4096UL
#define offset_in_page(addr)	((addr) & (PAGE_SIZE - 1))
#define KSYM_NAME_LEN		512
#define DECLARE_PER_CPU(type, name)	extern struct { type value; } name
#define raw_cpu_read_4(var)	(var)
#define __this_cpu_read(var)	((var).value)
#define NMI_MASK		0x00f00000
#define HARDIRQ_MASK		0x000f0000
#define SOFTIRQ_OFFSET		0x00000100
#define arch_local_save_flags()	0UL

#define le16_to_cpu(v)		le16toh(v)
#define le32_to_cpu(v)		le32toh(v)
#define min_t(type, a, b)						\
({									\
	type _a = (a), _b = (b);					\
									\
	_a < _b ? _a : _b;						\
})
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define get_unaligned(p)						\
({									\
	__auto_type _from = (p);					\
	__typeof__(*_from) _value;					\
									\
	memcpy(&_value, _from, sizeof(*_from));				\
	_value;								\
})
#define put_unaligned(value, p)						\
({									\
	__auto_type _to = (p);						\
	__typeof__(*_to) _value = (value);				\
									\
	memcpy(_to, &_value, sizeof(_value));				\
})

static inline void __set_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= BIT(nr % BITS_PER_LONG);
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] & BIT(nr % BITS_PER_LONG);
}

struct mutex;
struct kprobe_site;
struct exception_table_entry { int insn; };

struct {
	unsigned int	preempt_count;
} pcpu_hot;

/* In the order of the processor's numbers */
struct pt_regs {
	unsigned long	ax, cx, dx, bx, sp, bp, si, di;
	unsigned long	r8, r9, r10, r11, r12, r13, r14, r15;
	unsigned long	ip, flags, orig_ax;
};

static inline int pt_regs_offset(struct pt_regs *regs, int number)
{
	return number * sizeof(long);
}

/* The text: all that can be read, and what it has for addresses. */
static struct {
	unsigned long	addr;
	const u8	*bytes;
	size_t		size;
} text;

static inline long copy_from_kernel_nofault(void *to, const void *from, size_t size)
{
	unsigned long offset = (unsigned long)from - text.addr;

	if (offset > text.size || size > text.size - offset)
		return -EFAULT;
	memcpy(to, text.bytes + offset, size);
	return 0;
}

#define INT3_INSN_OPCODE	0xcc
#define OPCODE_ESCAPE		0x0f
#define JMP8_INSN_SIZE		2
#define JMP32_INSN_SIZE		5
#define JMP32_INSN_OPCODE	0xe9
#define ENDBR_INSN_SIZE		4

/* As it is where returns go by a thunk, but are not counted; 32 bits do not use IBT. */
#define X86_FEATURE_XENPV	false
#define X86_FEATURE_IBT		IS_ENABLED(CONFIG_X86_64)
#define X86_FEATURE_RETHUNK	true
#define X86_FEATURE_CALL_DEPTH	false
#define cpu_feature_enabled(feature)	(feature)
#define KUNIT_STATIC_STUB_REDIRECT(...)	do { } while (0)

static inline bool is_endbr(u32 word)
{
	return word == 0xfa1e0ff3;
}

/* Nothing here is compiled with kCFI. */
static inline bool is_cfi_trap(unsigned long addr)
{
	return false;
}

static inline void x86_return_thunk(void)
{
}

/* All of it is the kernel's text, and none of it is thunks. */
#define __softirqentry_text_end	__static_call_text_start
char __static_call_text_start[1];

static inline bool core_kernel_text(unsigned long addr)
{
	return true;
}

static inline bool is_module_text_address(unsigned long addr)
{
	return false;
}

/* What emulating takes, which is not done here. */
#define TASK_SIZE_MAX		0UL

static const struct {
	int	x86_virt_bits;
} boot_cpu_data;

static inline bool is_vsyscall_vaddr(unsigned long addr)
{
	return false;
}

#define __VIRTUAL_MASK_SHIFT	47

static inline bool __is_canonical_address(unsigned long addr, int bits)
{
	return true;
}

#define __get_kernel_nofault(to, from, type, fault)			\
	((void)sizeof(#fault), *(type *)(to) = *(from))

static inline void int3_emulate_push(struct pt_regs *regs, unsigned long word)
{
}

static inline unsigned long int3_emulate_pop(struct pt_regs *regs)
{
	return 0;
}

static inline void int3_emulate_jcc(struct pt_regs *regs, u8 condition, unsigned long ip,
				    unsigned long distance)
{
}

#include <linux/kconfig.h>
#include <asm/insn.h>
#include <asm/processor-flags.h>
#include <asm/kprobes.h>
#include <linux/kprobes_function.h>

/* There are no probes. */
struct kprobe {
	kprobe_opcode_t			*addr;
	kprobe_opcode_t			opcode;
	struct arch_specific_insn	ainsn;
};

static inline struct kprobe *get_kprobe(void *addr)
{
	return NULL;
}

static inline bool kprobe_ftrace(struct kprobe *p)
{
	return false;
}

struct optimized_kprobe {
	struct kprobe			kp;
	struct arch_optimized_insn	optinsn;
};

static inline bool kprobe_optimized(struct kprobe *p)
{
	return false;
}

/* Nor does anybody ask for a function. */
struct kprobe_function *kprobe_function_at(unsigned long addr)
{
	return NULL;
}

struct kprobe_function *kprobe_survey(unsigned long addr)
{
	return NULL;
}

#include "insn.c"
#include "inat.c"
#include "decode.c"
#include "emulate.c"

static const struct {
	kprobe_emulate_fn	fn;
	const char		*name;
	bool			relative;
	const char		*call;	/* its name if it is a call */
} emulations[] = {
	{ emulate_jmp, "jmp", true },
	{ emulate_jcc, "jcc", true },
	{ emulate_call, "call", true },
	{ emulate_loop, "loop", true },
	{ emulate_ret, "ret" },
	{ emulate_reg, "jmp_reg", .call = "call_reg" },
	{ emulate_mem, "jmp_mem", .call = "call_mem" },
	{ NULL, "by_push" },
};

/**
 * struct judgement - what becomes of a probe on an instruction
 * @insn:	the instruction, which refers to @bytes
 * @bytes:	what stands there
 * @verdict:	in a word: see x86.objdump
 * @emulation:	where that is the name of one
 * @relative:	it is one of a relative branch
 */
struct judgement {
	struct insn		insn;
	u8			bytes[MAX_INSN_SIZE];
	const char		*verdict;
	struct kprobe_emulation	emulation;
	bool			relative;
};

static void name_emulation(struct judgement *j)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(emulations); i++) {
		if (emulations[i].fn != j->emulation.fn)
			continue;
		j->verdict = emulations[i].name;
		if (emulations[i].call && X86_MODRM_REG(j->emulation.op) == 2)
			j->verdict = emulations[i].call;
		if (j->emulation.fn == emulate_loop && j->emulation.op == 0xe3)
			j->verdict = "jcxz";
		j->relative = emulations[i].relative;
		return;
	}
	errx(2, "there is an emulation without a name in x86.h");
}

/* Returns false when nothing can be decoded. */
static bool judge(struct judgement *j, unsigned long addr)
{
	const char *kind;
	int ret;

	memset(j, 0, sizeof(*j));
	if (kprobe_decode(&j->insn, j->bytes, addr))
		return false;
	ret = kprobe_check_insn(&j->insn, addr, &kind);
	if (ret)
		j->verdict = ret == -EINVAL ? "trap" : "refused";
	else if (kprobe_emulation_init(&j->emulation, &j->insn))
		j->verdict = "refused";
	else if (j->emulation.fn || j->emulation.memory)
		name_emulation(j);
	else
		j->verdict = "copy";
	return true;
}

static bool is_refused(struct judgement *j)
{
	return !strcmp(j->verdict, "refused") || !strcmp(j->verdict, "trap");
}

#endif /* HARNESS_DECODE_X86_H */
