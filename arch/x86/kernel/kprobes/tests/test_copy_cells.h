/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __X86_KERNEL_KPROBES_TEST_COPY_CELLS_H
#define __X86_KERNEL_KPROBES_TEST_COPY_CELLS_H
/*
 * What test_copy.c knows of opcodes: which of them must not be executed, and which do not take
 * just any operand and prefix.
 */
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/cpufeature.h>
#include <linux/kconfig.h>
#include <linux/types.h>
#include <asm/inat.h>

enum form { PLAIN, MEMORY, REGISTER, FORMS };

/* The prefixes that choose a vector instruction, as VEX numbers them; others may have any. */
enum prefix { NO_PREFIX, PREFIX_66, PREFIX_F3, PREFIX_F2, PREFIXES };

/* Maps of opcodes: the byte in front of the opcode, or the number that VEX and EVEX have for it */
enum { MAP_0F = 0x0f, MAP_38 = 0x38, MAP_3A = 0x3a, MAP_VEX = 0xc0, MAP_EVEX = 0xe0 };

/* What is to be known of some opcodes, with its map. A mask that is 0 has all of them. */
struct rule {
	u16		first, last;
	u32		traits;		/* mask: of enum trait */
	const char	*why;		/* they are copied, but not executed here */
	u8		exts;		/* mask: values of the ModRM byte's reg field, for groups */
	u8		forms;		/* mask: kinds of operands */
	u8		prefixes;	/* mask: of enum prefix */
	u8		lows;		/* mask: values of the opcode's last three bits */
	u8		bits;		/* 32 or 64 if it only applies to such kernels, else 0 */
};

#define IN_MEMORY	.forms = BIT(MEMORY)
#define IN_REGISTER	.forms = BIT(REGISTER)
#define ONLY_32		.bits = 32
#define ONLY_64		.bits = 64
#define ALONE		.prefixes = BIT(NO_PREFIX)
#define EVEN		.lows = 0x55

static const char segments[] = "the kernel's segment registers are not to be tried out";
static const char ports[] = "talks to devices";
static const char privileged[] = "changes the state of the processor";
static const char differs[] = "its result differs each time, or on each processor";
static const char undefined[] = "is no instruction, or not on every processor";
static const char loses_stack[] = "without REX it sets the stack pointer";
static const char x87[] = "is of the x87 or 3DNow: its copy is compared with objdump";
static const char more_state[] = "saves, restores or changes more state than is compared";
static const char tiles[] = "the kernel leaves tiles disabled, and their use is an oops";
static const char scattered[] = "its operands are at addresses in a vector register";
static const char elsewhere[] = "its second operand is at an address in a register";

static const struct rule left_out[] = {
	/* push, pop and mov of segments, les, lds, lss, lfs, lgs */
	{ 0x06, 0x07, 0, segments }, { 0x0e, 0x0e, 0, segments }, { 0x16, 0x16, 0, segments },
	{ 0x1e, 0x1f, 0, segments }, { 0x8c, 0x8c, 0, segments }, { 0x8e, 0x8e, 0, segments },
	{ 0xc4, 0xc5, 0, segments, ONLY_32 }, { 0x0fa0, 0x0fa1, 0, segments },
	{ 0x0fa8, 0x0fa8, 0, segments }, { 0x0fa9, 0x0fa9, 0, segments, ONLY_32 },
	{ 0x0fb2, 0x0fb2, 0, segments }, { 0x0fb4, 0x0fb4, 0, segments },
	{ 0x0fb5, 0x0fb5, 0, segments, ONLY_32 },
	/* daa, das, aaa, aas; pusha, popa; as 0x80; aam; salc */
	{ 0x27, 0x3f, 0, undefined, .lows = BIT(7), ONLY_64 },
	{ 0x60, 0x61, 0, undefined, ONLY_64 }, { 0x82, 0x82, 0, undefined, ONLY_64 },
	{ 0xd4, 0xd4, 0, undefined, ONLY_64 }, { 0xd6, 0xd6, 0, undefined, ONLY_64 },
	/* lea, prefetchw, prefetch, movnti, cmpxchg8b */
	{ 0x8d, 0x8d, 0, undefined, IN_REGISTER },
	{ 0x0f0d, 0x0f0d, 0, undefined, IN_REGISTER },
	{ 0x0f18, 0x0f18, 0, undefined, IN_REGISTER },
	{ 0x0fc3, 0x0fc3, 0, undefined, IN_REGISTER },
	{ 0x0fc7, 0x0fc7, 0, undefined, .exts = BIT(1), IN_REGISTER },
	/* test; bndmov and so on; VIA's; but bt and so on */
	{ 0xf6, 0xf7, 0, undefined, .exts = BIT(1) }, { 0x0f1a, 0x0f1b, 0, undefined },
	{ 0x0fa6, 0x0fa7, 0, undefined }, { 0x0fba, 0x0fba, 0, undefined, .exts = 0x0f },
	/* inc, dec, pop, xchg, mov, bswap */
	{ 0x44, 0x4c, 0, loses_stack, .lows = BIT(4), ONLY_32 },
	{ 0x5c, 0x5c, 0, loses_stack, ONLY_32 }, { 0x94, 0x94, 0, loses_stack, ONLY_32 },
	{ 0xbc, 0xbc, 0, loses_stack, ONLY_32 }, { 0x0fcc, 0x0fcc, 0, loses_stack, ONLY_32 },
	{ 0x62, 0x62, 0, "traps", ONLY_32 },	/* bound */
	{ 0x6c, 0x6f, 0, ports }, { 0xe4, 0xef, 0, ports, .lows = 0xf0 },
	/* lldt, lgdt and so on; clts; invd, wbinvd; mov to and from cr, dr; wrmsr; vmread */
	{ 0x0f00, 0x0f01, 0, privileged }, { 0x0f06, 0x0f06, 0, privileged },
	{ 0x0f08, 0x0f09, 0, privileged }, { 0x0f20, 0x0f23, 0, privileged },
	{ 0x0f30, 0x0f30, 0, privileged }, { 0x0f78, 0x0f79, 0, privileged, ALONE },
	{ 0x0fc7, 0x0fc7, 0, privileged, .exts = 0xfd },	/* but cmpxchg8b */
	/* lar, lsl; rdtsc, rdmsr, rdpmc; cpuid */
	{ 0x0f02, 0x0f03, 0, differs }, { 0x0f31, 0x0f33, 0, differs },
	{ 0x0fa2, 0x0fa2, 0, differs },
	/* invept, invvpid, invpcid; wruss, wrss; hreset */
	{ 0x3880, 0x3882, 0, privileged }, { 0x38f5, 0x38f5, 0, privileged },
	{ 0x38f6, 0x38f6, 0, privileged, ALONE }, { 0x3af0, 0x3af0, 0, privileged },
	/* fwait and so on; fxsave and so on, but fences */
	{ 0x9b, 0x9b, 0, x87 }, { 0xd8, 0xdf, 0, x87 }, { 0x0f0e, 0x0f0f, 0, x87 },
	{ 0x0fae, 0x0fae, 0, more_state, IN_MEMORY }, { 0xc1ae, 0xc1ae, 0, more_state },
	{ 0x0fae, 0x0fae, 0, undefined, .exts = 0x1f, IN_REGISTER },

	{ 0x38f8, 0x38f8, 0, elsewhere },	/* movdir64b and so on */
	{ 0xc249, 0xc24b, 0, tiles }, { 0xc25c, 0xc25e, 0, tiles }, { 0xc26c, 0xc26c, 0, tiles },
	{ 0xc290, 0xc293, 0, scattered }, { 0xe290, 0xe293, 0, scattered },
	{ 0xe2a0, 0xe2a3, 0, scattered }, { 0xe2c6, 0xe2c7, 0, scattered },
	{ 0xe400, 0xe4ff, 0, "may have registers of APX" },
};

/* What drawing has to know of an opcode, too */
enum trait {
	STRING		= BIT(0),
	COMPARES_STRING	= BIT(1),
	BIT_AT_OFFSET	= BIT(2),	/* that is in a register: it may lead out of the operand */
	DIVIDES		= BIT(3),
	READS_IMPLIED	= BIT(4),	/* memory at an address in a register, without ModRM */
	NEVER_FAILS	= BIT(5),	/* whatever its operand in memory is */
	USES_STACK	= BIT(6),	/* then what is below its start is compared, too */
	MAY_LOCK	= BIT(7),
	NO_SIZE		= BIT(8),	/* is another instruction with a prefix for that */
	MAY_REP		= BIT(9),
	STACK_ROOM	= BIT(10),	/* makes room on the stack, or undoes that */
	READS_REG	= BIT(11),	/* and does not write to it: it may be the stack pointer */
	READS_RM	= BIT(12),
	SETS_REG	= BIT(13),	/* the one that is a part of the opcode */
	BYTES		= BIT(14),	/* in registers, so that without REX register 4 is ah */
	VECTOR		= BIT(15),	/* or beside these, so that it has to be tried */
	SHORT_VECTORS	= BIT(16),	/* its length is ignored, but QEMU 7.2 aborts at others */
	IN_MMX		= BIT(17),	/* operands: there QEMU 7.2 does not ignore what REX adds */
	NEEDS_64_BITS	= BIT(18),	/* in 32, QEMU 7.2 sets some flags at random */
};

/*
 * Hints and lea access no operand, and a mask may be empty. Of those that write no register, only
 * some are here.
 */
static const struct rule rules[] = {
	{ 0x00, 0x37, MAY_LOCK, .lows = 0x03, IN_MEMORY },
	{ 0x80, 0x81, MAY_LOCK, .exts = 0x7f, IN_MEMORY },
	{ 0x83, 0x83, MAY_LOCK, .exts = 0x7f, IN_MEMORY }, { 0x86, 0x87, MAY_LOCK, IN_MEMORY },
	{ 0xf6, 0xf7, MAY_LOCK, .exts = BIT(2) | BIT(3), IN_MEMORY },
	{ 0xfe, 0xff, MAY_LOCK, .exts = BIT(0) | BIT(1), IN_MEMORY },
	{ 0x0fab, 0x0fbb, MAY_LOCK, .lows = BIT(3), IN_MEMORY },
	{ 0x0fb0, 0x0fb1, MAY_LOCK, IN_MEMORY },
	{ 0x0fba, 0x0fba, MAY_LOCK, .exts = 0xe0, IN_MEMORY },
	{ 0x0fc0, 0x0fc1, MAY_LOCK, IN_MEMORY }, { 0x0fc7, 0x0fc7, MAY_LOCK, IN_MEMORY },

	{ 0x00, 0x37, READS_REG, .lows = 0x33 }, { 0x00, 0x37, READS_RM, .lows = 0xcc },
	{ 0x38, 0x3b, READS_REG | READS_RM }, { 0x84, 0x85, READS_REG | READS_RM },
	{ 0x88, 0x89, READS_REG }, { 0x8a, 0x8b, READS_RM },
	{ 0x0f40, 0x0f4f, READS_RM }, { 0x0faf, 0x0faf, READS_RM },

	{ 0x00, 0x3f, BYTES, EVEN }, { 0x80, 0x8a, BYTES, EVEN }, { 0xb0, 0xb7, BYTES },
	{ 0xc0, 0xc6, BYTES, .lows = BIT(0) | BIT(6) }, { 0xd0, 0xd2, BYTES, EVEN },
	{ 0xf6, 0xff, BYTES, EVEN }, { 0x0f90, 0x0f9f, BYTES }, { 0x0fb0, 0x0fb0, BYTES },
	{ 0x0fc0, 0x0fc0, BYTES },

	{ 0x40, 0x4f, SETS_REG }, { 0x58, 0x5f, SETS_REG }, { 0x91, 0x97, SETS_REG },
	{ 0xb0, 0xbf, SETS_REG }, { 0x0fc8, 0x0fcf, SETS_REG },

	/* pop, popf, leave, xlat, strings */
	{ 0x58, 0x5f, READS_IMPLIED }, { 0x9d, 0x9d, READS_IMPLIED }, { 0xc9, 0xc9, READS_IMPLIED },
	{ 0xd7, 0xd7, READS_IMPLIED },
	{ 0xa4, 0xa7, STRING | READS_IMPLIED | MAY_REP },
	{ 0xaa, 0xaf, STRING | READS_IMPLIED | MAY_REP },
	{ 0xa6, 0xa7, COMPARES_STRING }, { 0xae, 0xaf, COMPARES_STRING },
	{ 0x0fb8, 0x0fb8, MAY_REP }, { 0x0fbc, 0x0fbd, MAY_REP },	/* popcnt; tzcnt, lzcnt */

	{ 0x50, 0x5f, USES_STACK }, { 0x60, 0x61, USES_STACK, ONLY_32 },
	{ 0x68, 0x6a, USES_STACK, EVEN }, { 0x8f, 0x8f, USES_STACK }, { 0x9c, 0x9d, USES_STACK },
	{ 0xc8, 0xc9, USES_STACK }, { 0xff, 0xff, USES_STACK, .exts = BIT(6) },
	{ 0x83, 0x83, STACK_ROOM, .exts = BIT(0) | BIT(5), IN_REGISTER },

	{ 0xf6, 0xf7, DIVIDES, .exts = BIT(6) | BIT(7) },
	{ 0x0fa3, 0x0fbb, BIT_AT_OFFSET, .lows = BIT(3) },	/* bt, bts, btr, btc */
	{ 0x0fae, 0x0fae, NO_SIZE }, { 0x0fc3, 0x0fc3, NO_SIZE }, { 0x0fc7, 0x0fcf, NO_SIZE },
	{ 0x8d, 0x8d, NEVER_FAILS }, { 0x0f0d, 0x0f0d, NEVER_FAILS },
	{ 0x0f18, 0x0f1f, NEVER_FAILS },
	{ 0xc22c, 0xc22f, NEVER_FAILS }, { 0xc28c, 0xc28e, NEVER_FAILS, EVEN },

	{ 0x0f10, 0x0f17, VECTOR }, { 0x0f28, 0x0f2f, VECTOR }, { 0x0f50, 0x0f7f, VECTOR },
	{ 0x0fc2, 0x0fc2, VECTOR }, { 0x0fc4, 0x0fc6, VECTOR }, { 0x0fd0, 0xffff, VECTOR },

	{ 0x0f60, 0x0f7f, IN_MMX, ALONE }, { 0x0fc4, 0x0fc5, IN_MMX, ALONE },
	{ 0x0f2a, 0x0f2d, IN_MMX, .prefixes = BIT(NO_PREFIX) | BIT(PREFIX_66) },
	{ 0x0fd0, 0x0fff, IN_MMX, ALONE }, { 0x0fd6, 0x0fd6, IN_MMX },	/* movq2dq, movdq2q */
	{ 0x3800, 0x381e, IN_MMX, ALONE }, { 0x3a0f, 0x3a0f, IN_MMX, ALONE },

	{ 0x38f6, 0x38f6, NEEDS_64_BITS },			/* adcx, adox */
	{ 0xc30a, 0xc30b, SHORT_VECTORS },			/* vroundss, vroundsd */
};

/*
 * A combination to be tried: an opcode with its map; the extension if it is a group; the kind of
 * operand; and the prefix
 */
struct cell {
	u16		opcode;
	u8		ext;
	enum form	form;
	enum prefix	prefix;
	int		index;
};

static u8 map_of(const struct cell *c)
{
	return c->opcode >> 8;
}

/* Does it have VEX or EVEX? */
static bool is_vex(const struct cell *c)
{
	return map_of(c) >= MAP_VEX;
}

static bool is_evex(const struct cell *c)
{
	return map_of(c) >= MAP_EVEX;
}

static insn_attr_t attr_of(const struct cell *c)
{
	insn_attr_t attr = inat_get_opcode_attribute(MAP_0F);

	if (is_vex(c))
		return inat_get_avx_attribute(c->opcode & 0xff, map_of(c) & 0x1f, 0);
	if (!map_of(c))
		return inat_get_opcode_attribute(c->opcode);
	if (map_of(c) != MAP_0F)
		attr = inat_get_escape_attribute(map_of(c), 0, attr);
	return inat_get_escape_attribute(c->opcode & 0xff, 0, attr);
}

static bool is_group(const struct cell *c)
{
	return inat_is_group(attr_of(c));
}

/* Each with any prefix has a table of cells. */
static const u8 maps[] = {
	0, MAP_0F, MAP_38, MAP_3A, MAP_VEX + 1, MAP_VEX + 2, MAP_VEX + 3,
	MAP_EVEX + 1, MAP_EVEX + 2, MAP_EVEX + 3, MAP_EVEX + 4, MAP_EVEX + 5, MAP_EVEX + 6,
};

#define TABLE_CELLS	(0x100 * 8 * FORMS)
#define NR_CELLS	(ARRAY_SIZE(maps) * PREFIXES * TABLE_CELLS)

static struct cell cell_at(int index)
{
	int table = index / TABLE_CELLS;

	return (struct cell) {
		.opcode	= maps[table / PREFIXES] << 8 | (index / (8 * FORMS) & 0xff),
		.ext	= index / FORMS % 8,
		.form	= index % FORMS,
		.prefix	= table % PREFIXES,
		.index	= index,
	};
}

/* Where @ext is a register, all its values are the same cell. */
static int cell_index(const struct cell *c)
{
	return c->index - (is_group(c) ? 0 : c->ext * FORMS);
}

static bool rule_is_for(const struct rule *rule, const struct cell *c)
{
	return c->opcode >= rule->first && c->opcode <= rule->last &&
	       (!rule->exts || rule->exts & BIT(c->ext)) &&
	       (!rule->forms || rule->forms & BIT(c->form)) &&
	       (!rule->prefixes || rule->prefixes & BIT(c->prefix)) &&
	       (!rule->lows || rule->lows & BIT(c->opcode & 7)) &&
	       (!rule->bits || rule->bits == BITS_PER_LONG);
}

static bool has_trait(const struct cell *c, u32 trait)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].traits & trait && rule_is_for(&rules[i], c))
			return true;
	}
	return false;
}

static bool is_vector(const struct cell *c)
{
	return has_trait(c, VECTOR);
}

/* A vector instruction that is no group gets any register, others each. */
static bool cell_exists(const struct cell *c)
{
	return (!c->ext || c->form != PLAIN) &&
	       (is_vector(c) ? !c->ext || is_group(c) : c->prefix == NO_PREFIX);
}

static const struct rule *find_left_out(const struct cell *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		if (rule_is_for(&left_out[i], c))
			return &left_out[i];
	}
	return NULL;
}

static const struct {
	u16	first, last;
	int	feature;
} needs[] = {
#ifdef CONFIG_X86_64
	{ 0x9e, 0x9f, X86_FEATURE_LAHF_LM },
#endif
	{ 0x0f0d, 0x0f0d, X86_FEATURE_3DNOWPREFETCH }, { 0x0f18, 0x0f18, X86_FEATURE_XMM },
	{ 0x0f40, 0x0f4f, X86_FEATURE_CMOV }, { 0x0fb8, 0x0fb8, X86_FEATURE_POPCNT },
	{ 0x0fae, 0x0fae, X86_FEATURE_XMM2 }, { 0x0fc3, 0x0fc3, X86_FEATURE_XMM2 },
};

/* Of the other vector instructions, it turns out when they are drawn. */
static bool processor_has(const struct cell *c)
{
	int i;

	if (is_vector(c))
		return boot_cpu_has(is_evex(c) ? X86_FEATURE_AVX512F : X86_FEATURE_XSAVE);
	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		if (c->opcode >= needs[i].first && c->opcode <= needs[i].last)
			return boot_cpu_has(needs[i].feature);
	}
	return true;
}

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_CELLS_H */
