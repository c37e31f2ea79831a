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

/* Prefixes that choose an instruction, as VEX numbers them; or those that do not, as they come */
enum prefix { NO_PREFIX, PREFIX_66, PREFIX_F3, PREFIX_F2, ANY_PREFIX };

/* Maps of opcodes: the byte in front of the opcode, or the number that VEX and EVEX have for it */
enum { MAP_0F = 0x0f, MAP_38 = 0x38, MAP_3A = 0x3a, MAP_VEX = 0xc0, MAP_EVEX = 0xe0 };

#define ANY_EXT		0xff
#define ANY_FORM	(BIT(PLAIN) | BIT(MEMORY) | BIT(REGISTER))
#define WITH_PREFIX	(BIT(PREFIX_66) | BIT(PREFIX_F3) | BIT(PREFIX_F2))

/**
 * struct left_out - opcodes that are copied, but not executed here
 * @first:	the first opcode, see opcode_of()
 * @last:	the last opcode
 * @exts:	bitmask: values of the ModRM byte's reg field, for groups
 * @forms:	bitmask: kinds of operands
 * @bits:	32 or 64 if the row only applies to such kernels, else 0
 * @why:	the reason
 * @prefixes:	bitmask: of enum prefix, or 0 for all
 */
struct left_out {
	u16		first;
	u16		last;
	u8		exts;
	u8		forms;
	u8		bits;
	const char	*why;
	u8		prefixes;
};

static const char segments[] = "the kernel's segment registers are not to be tried out";
static const char ports[] = "talks to devices";
static const char privileged[] = "changes the state of the processor";
static const char differs[] = "its result differs each time, or on each processor";
static const char undefined[] = "is no instruction, or not on every processor";
static const char loses_stack[] = "without REX it sets the stack pointer";
static const char whole_state[] = "saves or restores more registers than are known here";
static const char tiles[] = "the kernel leaves tiles disabled, and their use is an oops";
static const char scattered[] = "its operands are at addresses in a vector register";
static const char elsewhere[] = "its second operand is at an address in a register";

static const struct left_out left_out[] = {
	{ 0x06, 0x07, ANY_EXT, ANY_FORM, 0, segments },	/* push, pop %es */
	{ 0x0e, 0x0e, ANY_EXT, ANY_FORM, 0, segments },	/* push %cs */
	{ 0x16, 0x16, ANY_EXT, ANY_FORM, 0, segments },	/* push %ss */
	{ 0x1e, 0x1f, ANY_EXT, ANY_FORM, 0, segments },	/* push, pop %ds */
	{ 0x27, 0x27, ANY_EXT, ANY_FORM, 64, undefined },	/* daa */
	{ 0x2f, 0x2f, ANY_EXT, ANY_FORM, 64, undefined },	/* das */
	{ 0x37, 0x37, ANY_EXT, ANY_FORM, 64, undefined },	/* aaa */
	{ 0x3f, 0x3f, ANY_EXT, ANY_FORM, 64, undefined },	/* aas */
	{ 0x44, 0x44, ANY_EXT, ANY_FORM, 32, loses_stack },	/* inc */
	{ 0x4c, 0x4c, ANY_EXT, ANY_FORM, 32, loses_stack },	/* dec */
	{ 0x5c, 0x5c, ANY_EXT, ANY_FORM, 32, loses_stack },	/* pop */
	{ 0x60, 0x61, ANY_EXT, ANY_FORM, 64, undefined },	/* pusha, popa */
	{ 0x62, 0x62, ANY_EXT, ANY_FORM, 32, "traps" },		/* bound */
	{ 0x6c, 0x6f, ANY_EXT, ANY_FORM, 0, ports },		/* ins, outs */
	{ 0x82, 0x82, ANY_EXT, ANY_FORM, 64, undefined },	/* as 0x80 */
	{ 0x8c, 0x8c, ANY_EXT, ANY_FORM, 0, segments },		/* mov from */
	{ 0x8d, 0x8d, ANY_EXT, BIT(REGISTER), 0, undefined },	/* lea */
	{ 0x8e, 0x8e, ANY_EXT, ANY_FORM, 0, segments },		/* mov to */
	{ 0x94, 0x94, ANY_EXT, ANY_FORM, 32, loses_stack },	/* xchg */
	{ 0xbc, 0xbc, ANY_EXT, ANY_FORM, 32, loses_stack },	/* mov */
	{ 0xc4, 0xc5, ANY_EXT, ANY_FORM, 32, segments },	/* les, lds */
	{ 0xd4, 0xd4, ANY_EXT, ANY_FORM, 64, undefined },	/* aam */
	{ 0xd6, 0xd6, ANY_EXT, ANY_FORM, 64, undefined },	/* salc */
	{ 0xe4, 0xe7, ANY_EXT, ANY_FORM, 0, ports },		/* in, out */
	{ 0xec, 0xef, ANY_EXT, ANY_FORM, 0, ports },
	{ 0xf6, 0xf7, BIT(1), ANY_FORM, 0, undefined },	/* test */
	{ 0x0f00, 0x0f01, ANY_EXT, ANY_FORM, 0, privileged },	/* lldt, lgdt and so on */
	{ 0x0f02, 0x0f03, ANY_EXT, ANY_FORM, 0, differs },	/* lar, lsl */
	{ 0x0f06, 0x0f06, ANY_EXT, ANY_FORM, 0, privileged },	/* clts */
	{ 0x0f08, 0x0f09, ANY_EXT, ANY_FORM, 0, privileged },	/* invd, wbinvd */
	{ 0x0f0d, 0x0f0d, ANY_EXT, BIT(REGISTER), 0, undefined },	/* prefetchw */
	{ 0x0f18, 0x0f18, ANY_EXT, BIT(REGISTER), 0, undefined },	/* prefetch */
	{ 0x0f1a, 0x0f1b, ANY_EXT, ANY_FORM, 0, undefined },	/* bndmov and so on */
	{ 0x0f20, 0x0f23, ANY_EXT, ANY_FORM, 0, privileged },	/* mov to and from cr, dr */
	{ 0x0f30, 0x0f30, ANY_EXT, ANY_FORM, 0, privileged },	/* wrmsr */
	{ 0x0f31, 0x0f33, ANY_EXT, ANY_FORM, 0, differs },	/* rdtsc, rdmsr, rdpmc */
	{ 0x0f78, 0x0f79, ANY_EXT, ANY_FORM, 0, privileged, BIT(NO_PREFIX) },	/* vmread */
	{ 0x0fa0, 0x0fa1, ANY_EXT, ANY_FORM, 0, segments },	/* push, pop %fs */
	{ 0x0fa2, 0x0fa2, ANY_EXT, ANY_FORM, 0, differs },	/* cpuid */
	{ 0x0fa6, 0x0fa7, ANY_EXT, ANY_FORM, 0, undefined },	/* VIA's */
	{ 0x0fa8, 0x0fa8, ANY_EXT, ANY_FORM, 0, segments },	/* push %gs */
	{ 0x0fa9, 0x0fa9, ANY_EXT, ANY_FORM, 32, segments },	/* pop %gs */
	{ 0x0fae, 0x0fae, 0x33, BIT(MEMORY), 0, whole_state },	/* fxsave, xsave and so on */
	{ 0x0fae, 0x0fae, BIT(6), BIT(MEMORY), 0, whole_state, BIT(NO_PREFIX) },
	{ 0x0fae, 0x0fae, BIT(6), BIT(MEMORY), 0, privileged, BIT(PREFIX_F3) },
	{ 0x0fae, 0x0fae, 0x1f, BIT(REGISTER), 0, undefined, BIT(ANY_PREFIX) },	/* but fences */
	{ 0x0fae, 0x0fae, 0x0f, BIT(REGISTER), 0, segments, BIT(PREFIX_F3) },
	{ 0x0fae, 0x0fae, BIT(5), BIT(REGISTER), 0, privileged, BIT(PREFIX_F3) },	/* incssp */
	{ 0x0fae, 0x0fae, BIT(6), BIT(REGISTER), 0, privileged, WITH_PREFIX },	/* umwait */
	{ 0x0fb2, 0x0fb2, ANY_EXT, ANY_FORM, 0, segments },	/* lss */
	{ 0x0fb4, 0x0fb4, ANY_EXT, ANY_FORM, 0, segments },	/* lfs */
	{ 0x0fb5, 0x0fb5, ANY_EXT, ANY_FORM, 32, segments },	/* lgs */
	{ 0x0fba, 0x0fba, 0x0f, ANY_FORM, 0, undefined },	/* but bt and so on */
	{ 0x0fc3, 0x0fc3, ANY_EXT, BIT(REGISTER), 0, undefined },	/* movnti */
	{ 0x0fc7, 0x0fc7, 0xfd, ANY_FORM, 0, privileged },	/* but cmpxchg8b */
	{ 0x0fc7, 0x0fc7, BIT(1), BIT(REGISTER), 0, undefined },
	{ 0x0fcc, 0x0fcc, ANY_EXT, ANY_FORM, 32, loses_stack },	/* bswap */

	{ 0x3880, 0x3882, ANY_EXT, ANY_FORM, 0, privileged },	/* invept, invvpid, invpcid */
	{ 0x38f5, 0x38f5, ANY_EXT, ANY_FORM, 0, privileged },	/* wruss */
	{ 0x38f6, 0x38f6, ANY_EXT, ANY_FORM, 0, privileged, BIT(NO_PREFIX) },	/* wrss */
	{ 0x38f8, 0x38f8, ANY_EXT, ANY_FORM, 0, elsewhere },	/* movdir64b and so on */
	{ 0x3af0, 0x3af0, ANY_EXT, ANY_FORM, 0, privileged },	/* hreset */

	{ 0xc249, 0xc24b, ANY_EXT, ANY_FORM, 0, tiles },
	{ 0xc25c, 0xc25e, ANY_EXT, ANY_FORM, 0, tiles },
	{ 0xc26c, 0xc26c, ANY_EXT, ANY_FORM, 0, tiles },
	{ 0xc290, 0xc293, ANY_EXT, ANY_FORM, 0, scattered },
	{ 0xe290, 0xe293, ANY_EXT, ANY_FORM, 0, scattered },
	{ 0xe2a0, 0xe2a3, ANY_EXT, ANY_FORM, 0, scattered },
	{ 0xe2c6, 0xe2c7, ANY_EXT, ANY_FORM, 0, scattered },
	{ 0xe400, 0xe4ff, ANY_EXT, ANY_FORM, 0, "may have registers of APX" },
};

/*
 * A combination to be tried: an opcode, see opcode_of(); the extension if it is a group; the kind
 * of operand; and the prefix
 */
struct cell {
	u16		opcode;
	u8		ext;
	u8		table;
	enum form	form;
	enum prefix	prefix;
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
	return map_of(c) > MAP_EVEX;
}

/* Does it, or might it, use registers of the FPU? */
static bool is_vector(const struct cell *c)
{
	return c->prefix != ANY_PREFIX;
}

static bool is_x87(const struct cell *c)
{
	return is_vector(c) && !map_of(c);
}

static insn_attr_t attr_of(const struct cell *c)
{
	insn_attr_t attr;

	if (is_vex(c))
		return inat_get_avx_attribute(c->opcode & 0xff, map_of(c) & 0x1f, 0);
	if (!map_of(c))
		return inat_get_opcode_attribute(c->opcode);
	attr = inat_get_opcode_attribute(0x0f);
	if (map_of(c) != MAP_0F)
		attr = inat_get_escape_attribute(map_of(c), 0, attr);
	return inat_get_escape_attribute(c->opcode & 0xff, 0, attr);
}

/* All opcodes of the x87 are groups, though insn_decode() need not know that. */
static bool is_group(const struct cell *c)
{
	return is_x87(c) || inat_is_group(attr_of(c));
}

/* The first two tables of cells have any prefix. The others are four for each of these maps. */
static const u8 vector_maps[] = {
	0, MAP_0F, MAP_38, MAP_3A, MAP_VEX + 1, MAP_VEX + 2, MAP_VEX + 3,
	MAP_EVEX + 1, MAP_EVEX + 2, MAP_EVEX + 3, MAP_EVEX + 4, MAP_EVEX + 5, MAP_EVEX + 6,
};

#define TABLE_CELLS	(0x100 * 8 * FORMS)
#define NR_CELLS	((2 + 4 * ARRAY_SIZE(vector_maps)) * TABLE_CELLS)

static struct cell cell_at(int index)
{
	int table = index / TABLE_CELLS, vector = table - 2;
	u8 map = vector < 0 ? table * MAP_0F : vector_maps[vector / 4];

	return (struct cell) {
		.opcode	= map << 8 | (index / (8 * FORMS) & 0xff),
		.ext	= index / FORMS % 8,
		.table	= table,
		.form	= index % FORMS,
		.prefix	= vector < 0 ? ANY_PREFIX : vector % 4,
	};
}

/* Where @ext is a register, all its values are the same cell. */
static int cell_index(const struct cell *c)
{
	int opcode = c->table * 0x100 + (c->opcode & 0xff);

	return (opcode * 8 + (is_group(c) ? c->ext : 0)) * FORMS + c->form;
}

/* Some opcodes of the first two maps are in the tables of vectors instead. */
static bool is_for_vectors(const struct cell *c)
{
	switch (c->opcode) {
	case 0x9b:		/* fwait */
	case 0xd8 ... 0xdf:
	case 0x0f0e ... 0x0f17:
	case 0x0f28 ... 0x0f2f:
	case 0x0f50 ... 0x0f7f:
	case 0x0fc2:
	case 0x0fc4 ... 0x0fc6:
	case 0x0fd0 ... 0x0fff:
		return true;
	case 0x0fae:		/* but fences */
		return c->form == MEMORY || WITH_PREFIX & BIT(c->prefix);
	}
	return c->opcode > 0x0fff;
}

/* Is it in its table? The x87 knows no prefixes, and only groups have extensions in vectors'. */
static bool cell_exists(const struct cell *c)
{
	if (is_for_vectors(c) != is_vector(c) || (is_x87(c) && c->prefix != NO_PREFIX))
		return false;
	return !c->ext || (c->form != PLAIN && (!is_vector(c) || is_group(c)));
}

static bool row_is_for(const struct left_out *row, const struct cell *c)
{
	return c->opcode >= row->first && c->opcode <= row->last && row->exts & BIT(c->ext) &&
	       row->forms & BIT(c->form) && (!row->bits || row->bits == BITS_PER_LONG) &&
	       (!row->prefixes || row->prefixes & BIT(c->prefix));
}

static const struct left_out *find_left_out(const struct cell *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		if (row_is_for(&left_out[i], c))
			return &left_out[i];
	}
	return NULL;
}

/* Of the other vector instructions, it turns out when they are drawn. */
static bool processor_has(const struct cell *c)
{
	if (is_evex(c))
		return boot_cpu_has(X86_FEATURE_AVX512F);
	if (is_vector(c))
		return boot_cpu_has(X86_FEATURE_FXSR);

	switch (c->opcode) {
	case 0x9e ... 0x9f:	/* sahf, lahf */
		return !IS_ENABLED(CONFIG_X86_64) || boot_cpu_has(X86_FEATURE_LAHF_LM);
	case 0x0f0d:		/* prefetchw */
		return boot_cpu_has(X86_FEATURE_3DNOWPREFETCH);
	case 0x0f18:		/* prefetch */
		return boot_cpu_has(X86_FEATURE_XMM);
	case 0x0f40 ... 0x0f4f:
		return boot_cpu_has(X86_FEATURE_CMOV);
	case 0x0fae:		/* fences, movnti */
	case 0x0fc3:
		return boot_cpu_has(X86_FEATURE_XMM2);
	case 0x0fb8:
		return boot_cpu_has(X86_FEATURE_POPCNT);
	}
	return true;
}

static bool is_string(int opcode)
{
	return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
}

static bool is_comparison_of_strings(int opcode)
{
	return opcode == 0xa6 || opcode == 0xa7 || opcode == 0xae || opcode == 0xaf;
}

/* Bit tests whose offset is in a register: it can lead to memory outside of the operand */
static bool is_bit_at_offset(int opcode)
{
	return opcode == 0x0fa3 || opcode == 0x0fab || opcode == 0x0fb3 || opcode == 0x0fbb;
}

static bool is_division(const struct cell *c)
{
	return (c->opcode == 0xf6 || c->opcode == 0xf7) && c->ext >= 6;
}

/* Is there an operand in memory without a ModRM byte, at an address in a register? */
static bool reads_implied(const struct cell *c)
{
	switch (c->opcode) {
	case 0x58 ... 0x5f:	/* pop */
	case 0x9d:		/* popf */
	case 0xc9:		/* leave */
	case 0xd7:		/* xlat */
		return true;
	}
	return is_string(c->opcode);
}

/*
 * lea, prefetches and other hints do not access their operand, nor need those that flush caches
 * where they are emulated; and a mask may be empty.
 */
static bool never_fails(const struct cell *c)
{
	switch (c->opcode) {
	case 0x8d:
	case 0x0f0d:
	case 0x0f18 ... 0x0f1f:
	case 0xc22c ... 0xc22f:
	case 0xc28c:
	case 0xc28e:
		return true;
	case 0x0fae:
		return c->ext > 5;
	}
	return false;
}

/* Does it load what says which exceptions trap, from the beginning of its operand? */
static bool loads_control(const struct cell *c)
{
	switch (c->opcode) {
	case 0xd9:		/* fldenv, fldcw */
		return c->form == MEMORY && (c->ext == 4 || c->ext == 5);
	case 0xdd:		/* frstor */
		return c->form == MEMORY && c->ext == 4;
	case 0x0fae:		/* ldmxcsr */
	case 0xc1ae:
		return c->form == MEMORY && c->ext == 2;
	}
	return false;
}

/* vroundss and vroundsd ignore their length, but QEMU 7.2 aborts if it is not 128 bits. */
static bool has_short_vectors(const struct cell *c)
{
	return c->opcode == 0xc30a || c->opcode == 0xc30b;
}

/* Does it have operands in MMX registers? There QEMU 7.2 does not ignore what REX adds. */
static bool is_mmx(const struct cell *c)
{
	switch (c->opcode) {
	case 0x0f2a:		/* conversions */
	case 0x0f2c ... 0x0f2d:
		return c->prefix == NO_PREFIX || c->prefix == PREFIX_66;
	case 0x0fd6:		/* movq2dq, movdq2q */
		return true;
	case 0x0f0f:
	case 0x0f60 ... 0x0f7f:
	case 0x0fc4 ... 0x0fc5:
	case 0x0fd0 ... 0x0fd5:
	case 0x0fd7 ... 0x0fff:
	case 0x3800 ... 0x381e:
	case 0x3a0f:
		return c->prefix == NO_PREFIX;
	}
	return false;
}

/* Of adcx and adox in 32 bits, QEMU 7.2 sets flags at random, and in reserved bits too. */
static bool needs_64_bits(const struct cell *c)
{
	return c->opcode == 0x38f6;
}

/* Does it store the address of an instruction? */
static bool stores_ip(const struct cell *c)
{
	return (c->opcode == 0xd9 || c->opcode == 0xdd) && c->form == MEMORY && c->ext == 6;
}

/* Does it push or pop? Then the stack below the initial stack pointer is compared, too. */
static bool uses_stack(const struct cell *c)
{
	switch (c->opcode) {
	case 0x50 ... 0x5f:
	case 0x68:
	case 0x6a:
	case 0x8f:
	case 0x9c ... 0x9d:
	case 0xc8 ... 0xc9:
		return true;
	case 0x60 ... 0x61:
		return !IS_ENABLED(CONFIG_X86_64);
	case 0xff:
		return c->ext == 6;
	}
	return false;
}

static bool may_have_lock(const struct cell *c)
{
	if (c->form != MEMORY)
		return false;
	switch (c->opcode) {
	case 0x00 ... 0x37:
		return (c->opcode & 7) < 2;
	case 0x80 ... 0x81:
	case 0x83:
		return c->ext != 7;
	case 0x86 ... 0x87:
	case 0x0fab:
	case 0x0fb0 ... 0x0fb1:
	case 0x0fb3:
	case 0x0fbb:
	case 0x0fc0 ... 0x0fc1:
	case 0x0fc7:
		return true;
	case 0xf6 ... 0xf7:
		return c->ext == 2 || c->ext == 3;
	case 0xfe ... 0xff:
		return c->ext < 2;
	case 0x0fba:
		return c->ext > 4;
	}
	return false;
}

/* Nobody pushes 16 bits. The other opcodes would be other instructions with that prefix. */
static bool may_have_operand_size(const struct cell *c)
{
	switch (c->opcode) {
	case 0x0fae:
	case 0x0fc3:
	case 0x0fc7 ... 0x0fcf:
		return false;
	}
	return !uses_stack(c);
}

static bool may_have_rep(const struct cell *c)
{
	switch (c->opcode) {
	case 0x0fb8:		/* popcnt; tzcnt, lzcnt */
	case 0x0fbc ... 0x0fbd:
		return true;
	}
	return is_string(c->opcode);
}

/* The subtraction that makes room on the stack, or the addition that undoes it? */
static bool is_stack_room(const struct cell *c)
{
	return c->opcode == 0x83 && c->form == REGISTER && (c->ext == 0 || c->ext == 5);
}

/* Some of the opcodes that do not write to the register, so that it can be the stack pointer */
static bool only_reads_reg(int opcode)
{
	switch (opcode) {
	case 0x00 ... 0x37:
		return !(opcode & 2);
	case 0x38 ... 0x3b:
	case 0x84 ... 0x85:
	case 0x88 ... 0x89:
		return true;
	}
	return false;
}

static bool only_reads_rm(int opcode)
{
	switch (opcode) {
	case 0x00 ... 0x37:
		return opcode & 2;
	case 0x38 ... 0x3b:
	case 0x84 ... 0x85:
	case 0x8a ... 0x8b:
	case 0x0f40 ... 0x0f4f:
	case 0x0faf:
		return true;
	}
	return false;
}

/* Does it change the register that is part of the opcode? */
static bool sets_opcode_register(int opcode)
{
	switch (opcode) {
	case 0x40 ... 0x4f:
	case 0x58 ... 0x5f:
	case 0x91 ... 0x97:
	case 0xb0 ... 0xbf:
	case 0x0fc8 ... 0x0fcf:
		return true;
	}
	return false;
}

#endif /* __X86_KERNEL_KPROBES_TEST_COPY_CELLS_H */
