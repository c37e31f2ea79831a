// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decodes the probed instruction, and decides whether a copy of it can be executed instead.
 *
 * There are three kinds of instructions. Near branches are emulated; if that is not possible,
 * the probe is refused. Other instructions are refused if they read or set the instruction
 * pointer, or do not survive a trap right before them. All others have the same effect wherever
 * they run, once a rip-relative operand has been adjusted: a copy runs, which then jumps back.
 * (x87 instructions leave their own address behind for fnstenv, but nothing in the kernel looks
 * at that.)
 */
#include <kunit/static_stub.h>
#include <linux/cfi.h>
#include <linux/cpufeature.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/nospec-branch.h>
#include <asm/sections.h>

#include "internal.h"

/*
 * Restores in a copy of the text what the breakpoints and jumps of sites have overwritten. A site
 * knows the original behind it, also when it has no jump now. So it goes backwards: the jump of a
 * site there would not be recognized any more.
 */
static void recover(u8 *buf, unsigned long addr, int len)
{
	struct kprobe *kp;
	int i, j;

	for (i = len - 1; i > -JMP32_INSN_SIZE; i--) {
		if (i >= 0 && buf[i] != INT3_INSN_OPCODE && buf[i] != JMP32_INSN_OPCODE)
			continue;
		kp = get_kprobe((void *)addr + i);
		if (!kp || kprobe_ftrace(kp))
			continue;
		if (i >= 0)
			buf[i] = kp->opcode;
		/* From when there is a detour, these are known. */
		if (!kprobe_optinsn(kp)->insn)
			continue;
		for (j = max(i + 1, 0); j < min(i + JMP32_INSN_SIZE, len); j++)
			buf[j] = kprobe_optinsn(kp)->original[j - i - 1];
	}
}

/*
 * Reads the text as it was compiled. Returns how many bytes were read, less than @len if the
 * mapping ends before, or -EFAULT.
 */
static int read_text(u8 *buf, unsigned long addr, int len)
{
	if (copy_from_kernel_nofault(buf, (void *)addr, len)) {
		len = min_t(int, len, PAGE_SIZE - offset_in_page(addr));
		if (copy_from_kernel_nofault(buf, (void *)addr, len))
			return -EFAULT;
	}
	recover(buf, addr, len);
	return len;
}

static bool has_prefix(struct insn *insn, u8 wanted)
{
	insn_byte_t prefix;

	for_each_insn_prefix(insn, prefix) {
		if (prefix == wanted)
			return true;
	}
	return false;
}

static bool has_rep_prefix(struct insn *insn)
{
	return has_prefix(insn, 0xf2) || has_prefix(insn, 0xf3);
}

/* With VEX or EVEX, the opcode is from another map, which holds only computations. */
static bool is_vector_insn(struct insn *insn)
{
	return insn->vex_prefix.nbytes;
}

/*
 * Returns the opcode byte, or 0x0fXX if it comes after an escape byte; -1 for the maps beyond,
 * which hold only computations.
 */
int kprobe_opcode(struct insn *insn)
{
	if (is_vector_insn(insn) || insn->opcode.nbytes > 2)
		return -1;
	if (insn->opcode.nbytes == 2)
		return 0x0f00 | insn->opcode.bytes[1];
	return insn->opcode.bytes[0];
}

/* Says what kind of branch an instruction is, if it is one. */
enum kprobe_branch kprobe_branch_of(struct insn *insn)
{
	static const u8 group5[8] = {
		[2] = KPROBE_INDIRECT_CALL, [4] = KPROBE_INDIRECT_JUMP, [5] = KPROBE_FAR_BRANCH,
	};

	switch (kprobe_opcode(insn)) {
	case 0x70 ... 0x7f:
	case 0x0f80 ... 0x0f8f:
		return KPROBE_CONDITIONAL;
	case 0xc2 ... 0xc3:
		/*
		 * Speculation behind a return may have to be contained. With call depth tracking
		 * it is all right where the kernel has a return that is not counted, and what
		 * counts it would change the flags.
		 */
		if (cpu_feature_enabled(X86_FEATURE_RETHUNK) &&
		    !cpu_feature_enabled(X86_FEATURE_CALL_DEPTH))
			return KPROBE_RETURN_BY_THUNK;
		return KPROBE_RETURN;
	case 0xc7:		/* or mov */
		return insn->modrm.bytes[0] == 0xf8 ? KPROBE_XBEGIN : KPROBE_NO_BRANCH;
	case 0xca ... 0xcb:	/* lret */
	case 0xcf:		/* iret */
	case 0xea:		/* ljmp */
		return KPROBE_FAR_BRANCH;
	case 0xe0 ... 0xe3:
		return KPROBE_LOOP;
	case 0xe8:
		return KPROBE_CALL;
	case 0xe9:
	case 0xeb:
		return KPROBE_JUMP;
	case 0xff:
		return group5[X86_MODRM_REG(insn->modrm.bytes[0])];
	}
	return KPROBE_NO_BRANCH;
}

/*
 * Checks whether insn_decode() has missed a ModRM byte. Nearly all opcodes behind an escape byte
 * have one (SDM vol. 2D, table A-3).
 */
static bool lacks_modrm(struct insn *insn)
{
	if (insn->opcode.nbytes < 2 || insn->modrm.nbytes)
		return false;
	if (insn->opcode.nbytes > 2)
		return true;

	switch (insn->opcode.bytes[1]) {
	case 0x05 ... 0x09:	/* syscall, clts, sysret, invd, wbinvd */
	case 0x0b:		/* ud2 */
	case 0x0e:		/* femms */
	case 0x30 ... 0x35:	/* wrmsr and so on, sysenter, sysexit */
	case 0x37:		/* getsec */
	case 0x77:		/* emms */
	case 0x80 ... 0x8f:	/* jcc */
	case 0xa0 ... 0xa2:	/* push, pop, cpuid */
	case 0xa8 ... 0xaa:	/* push, pop, rsm */
	case 0xc8 ... 0xcf:	/* bswap */
		return false;
	}
	return true;
}

/*
 * insn_decode() returns a length even for bytes that it does not know as an instruction. If
 * that length is wrong, a copy is cut off, and all later instructions of the function seem to
 * begin elsewhere.
 */
static bool length_is_known(struct insn *insn)
{
	if (is_vector_insn(insn))
		return true;
	/*
	 * It takes a prefix for the opcode behind REX, and behind four other prefixes. On 32 bits,
	 * the bytes of REX, VEX and EVEX can be opcodes.
	 */
	if (insn->x86_64 ? insn->attr & INAT_PFX_MASK : inat_is_legacy_prefix(insn->attr))
		return false;
	if (lacks_modrm(insn))
		return false;

	switch (kprobe_opcode(insn)) {
	case 0x8f:		/* pop; anything else is an XOP prefix */
		return X86_MODRM_REG(insn->modrm.bytes[0]) == 0;
	case 0x0f20 ... 0x0f23:
		/* mov to or from cr or dr: the processor ignores mod, insn_decode() does not. */
		return X86_MODRM_MOD(insn->modrm.bytes[0]) == 3;
	case 0x0f73:		/* pslldq, extrq: */
	case 0x0f78:
		/*
		 * Some prefixes make other instructions of these. The processor finds
		 * such a prefix anywhere, insn_decode() only if it is the last one.
		 */
		return insn_last_prefix_id(insn) ||
		       !(has_prefix(insn, 0x66) || has_rep_prefix(insn));
	case 0xe8 ... 0xe9:	/* call, jmp, jcc: */
	case 0x0f80 ... 0x0f8f:
		/* With 0x66, Intel processors read 32 bits, AMD processors 16. */
		return !insn->x86_64 || !has_prefix(insn, 0x66) ||
		       X86_REX_W(insn->rex_prefix.value);
	}
	return true;
}

static int decode_read(struct insn *insn, const u8 *buf, int len, unsigned long addr)
{
	/* A breakpoint of kgdb hides the instruction. */
	if (buf[0] == INT3_INSN_OPCODE && kprobe_debugger_stops_at(addr))
		return -EILSEQ;
	if (insn_decode(insn, buf, len, INSN_MODE_KERN))
		return -EILSEQ;
	return length_is_known(insn) ? 0 : -EILSEQ;
}

/*
 * Decodes the instruction at @addr as if nothing had been probed. @insn refers to @buf, which is
 * MAX_INSN_SIZE bytes, and gets the original text. An int3 that is nobody's breakpoint is padding.
 * Returns -EFAULT if @addr cannot be read; -EILSEQ if it holds no valid instruction, or a
 * breakpoint of kgdb. For this and what follows, kprobe_mutex and text_mutex are held.
 */
int kprobe_decode(struct insn *insn, u8 *buf, unsigned long addr)
{
	int len = read_text(buf, addr, MAX_INSN_SIZE);

	return len < 0 ? len : decode_read(insn, buf, len, addr);
}

struct piece {
	unsigned long	addr;
	int		len;
	u8		bytes[128];
};

/* As kprobe_decode(), for many instructions in turn: reads the text in larger pieces. */
static int decode_next(struct insn *insn, struct piece *piece, unsigned long addr)
{
	long offset = addr - piece->addr;

	if (!piece->len || offset + MAX_INSN_SIZE > piece->len) {
		piece->len = read_text(piece->bytes, addr, sizeof(piece->bytes));
		if (piece->len < 0)
			return -EFAULT;
		piece->addr = addr;
		offset = 0;
	}
	return decode_read(insn, piece->bytes + offset, piece->len - offset, addr);
}

/*
 * Checks an address outside of a function for a compiler's thunk, which jumps to where a register
 * points. Thunks are among the kernel's text, or in memory of their own. The thunk for returns
 * does not count: it can only lead to a caller.
 */
static bool is_jump_thunk(unsigned long addr)
{
	if (addr >= (unsigned long)__softirqentry_text_end &&
	    addr < (unsigned long)__static_call_text_start)
		return addr != (unsigned long)x86_return_thunk;
	return !core_kernel_text(addr) && !is_module_text_address(addr);
}

/* A conditional jump out of a function rather leads to its other part than a tail call does. */
static void note_jump(struct kprobe_function *f, unsigned long target, bool conditional)
{
	if (kprobe_function_covers(f, target))
		kprobe_byte_set(f, target, KPROBE_BYTE_TARGET);
	else if (is_jump_thunk(target))
		f->unknown = true;
	else if (conditional || !f->leaves_to)
		f->leaves_to = target;
}

/*
 * Notes the target of a branch. A jump to an address in a register, in memory or on the stack
 * can lead anywhere in the function. Nearly all such jumps are tail calls, but those in
 * assembly, of computed gotos and through jump tables are not.
 */
static void note_branch(struct kprobe_function *f, struct insn *insn, unsigned long addr)
{
	unsigned long target = addr + insn->length + insn->immediate.value;
	const enum kprobe_branch branch = kprobe_branch_of(insn);

	switch (branch) {
	case KPROBE_JUMP:
	case KPROBE_CONDITIONAL:
		note_jump(f, target, branch == KPROBE_CONDITIONAL);
		break;
	case KPROBE_LOOP:
	case KPROBE_CALL:
	case KPROBE_XBEGIN:
		kprobe_byte_set(f, target, KPROBE_BYTE_TARGET);
		break;
	case KPROBE_INDIRECT_JUMP:
	case KPROBE_FAR_BRANCH:
		f->unknown = true;
		break;
	default:
		break;
	}
}

/*
 * Goes through code from *@at to @end, and notes in @f which instructions begin there, and where
 * branches lead. Returns false if something cannot be decoded.
 */
bool kprobe_note_insns(struct kprobe_function *f, unsigned long *at, unsigned long end)
{
	struct piece piece = { };
	struct insn insn;

	for (; *at < end; *at += insn.length) {
		kprobe_byte_set(f, *at, KPROBE_BYTE_INSN);
		if (decode_next(&insn, &piece, *at))
			return false;
		note_branch(f, &insn, *at);
	}
	return true;
}

/*
 * Finds where a function's instructions begin, at least up to @end. The only way is to decode the
 * function from its first byte on, which is done once. Returns false if that cannot be done.
 */
bool kprobe_decode_until(struct kprobe_function *f, unsigned long end)
{
	if (!kprobe_note_insns(f, &f->decoded, end))
		return false;
	kprobe_byte_set(f, f->decoded, KPROBE_BYTE_INSN);
	return true;
}

/*
 * Returns 0 if an instruction begins at @addr; -EILSEQ if not, or if @addr is in no function;
 * -ENOMEM. Sets *@why to the reason in words, unless the errno says it all.
 */
int kprobe_check_boundary(unsigned long addr, const char **why)
{
	struct kprobe_function *f = kprobe_survey(addr);

	if (!f)
		return kprobe_function_at(addr) ? -ENOMEM : -EILSEQ;
	if (!kprobe_decode_until(f, addr)) {
		*why = "an instruction in front of it cannot be decoded";
		return -EILSEQ;
	}
	return kprobe_byte_is(f, addr, KPROBE_BYTE_INSN) ? 0 : -EILSEQ;
}

/*
 * The handler of a kCFI trap decodes the check in the text, to find the expected type:
 *
 *	mov	$-type, %r10d
 *	add	-4(%reg), %r10d
 *	je	1f
 *	ud2
 */
static bool is_cfi_check(struct insn *insn, unsigned long addr)
{
	unsigned long je = addr + insn->length;

	switch (kprobe_opcode(insn)) {
	case 0xba:
		je += 4;
		fallthrough;
	case 0x03:
		return is_cfi_trap(je + JMP8_INSN_SIZE);
	}
	return false;
}

/* With IBT, indirect branches need landing pads (SDM vol. 1, "Indirect Branch Tracking"). */
bool kprobe_need_landing_pads(void)
{
	KUNIT_STATIC_STUB_REDIRECT(kprobe_need_landing_pads);
	return cpu_feature_enabled(X86_FEATURE_IBT);
}

/*
 * If the operand of 0f 01 is a register, each value of the ModRM byte is an instruction of its
 * own. Many of them enter or leave a virtual machine, an enclave or a transaction, so the ones
 * that can be probed are listed.
 */
static bool group7_refused(struct insn *insn)
{
	if (has_rep_prefix(insn))
		return true;

	switch (insn->modrm.bytes[0]) {
	case 0x00 ... 0xbf:	/* descriptor tables, invlpg: operand in memory */
	case 0xc8:		/* monitor */
	case 0xca ... 0xcb:	/* clac, stac */
	case 0xd0 ... 0xd1:	/* xgetbv, xsetbv */
	case 0xd6:		/* xtest */
	case 0xe0 ... 0xe7:	/* smsw */
	case 0xe8:		/* serialize */
	case 0xee ... 0xf7:	/* rdpkru, wrpkru, lmsw */
	case 0xf9 ... 0xfa:	/* rdtscp, monitorx */
	case 0xfc ... 0xff:	/* clzero, rdpru, invlpgb, tlbsync */
		return false;
	}
	return true;		/* among them swapgs, mwait, vmcall, xend */
}

static const char changes_mode[] = "it enters or leaves a mode, a machine or a transaction";
static const char sets_segment[] = "it sets a segment register that traps go by";
static const char far_branch[] = "it is a far branch";
static const char not_decoded[] = "it is encoded in a way that is not understood";

/* Why a copy would not have the same effect, or NULL. */
static const char *objection(struct insn *insn)
{
	int ext = X86_MODRM_REG(insn->modrm.bytes[0]);

	if (insn_has_emulate_prefix(insn))
		return "it is meant for an emulator, which might not see a copy";
	if (insn_is_rex2(insn))
		return "it has registers of APX, which are not saved";
	if (insn_rip_relative(insn) && insn->addr_bytes != 8)
		return "it has an operand at an address of 32 bits relative to it";

	switch (kprobe_opcode(insn)) {
	case 0x17:		/* pop %ss */
		return sets_segment;
	case 0x8e:		/* mov to a segment register */
		/* ss: traps are held off for an instruction. gs: they find no per-CPU data. */
		return ext == 2 || (insn->x86_64 && ext == 5) ? sets_segment : NULL;
	case 0x0fa9:		/* pop %gs */
	case 0x0fb5:		/* lgs */
		return insn->x86_64 ? sets_segment : NULL;
	case 0x0fae:		/* wrgsbase */
		return has_prefix(insn, 0xf3) && (insn->modrm.bytes[0] & 0xf8) == 0xd8 ?
		       sets_segment : NULL;
	case 0x9a:		/* lcall */
	case 0xca ... 0xcb:	/* lret */
	case 0xcf:		/* iret */
	case 0xea:		/* ljmp */
		return far_branch;
	case 0xff:		/* lcall, ljmp, undefined */
		if (ext == 3 || ext == 5)
			return far_branch;
		return ext == 7 ? not_decoded : NULL;
	case 0xfe:
		return ext > 1 ? not_decoded : NULL;
	case 0xf4:		/* hlt */
		return "its interrupt could come between the trap and a copy of it";
	case 0xc6 ... 0xc7:	/* mov if it is 0; else xabort, xbegin */
		return ext ? changes_mode : NULL;
	case 0x0f01:
		return group7_refused(insn) ? changes_mode : NULL;
	case 0x0f05:		/* syscall */
	case 0x0f07:		/* sysret */
	case 0x0f34 ... 0x0f35:	/* sysenter, sysexit */
	case 0x0f37:		/* getsec: goes where a register points to */
	case 0x0faa:		/* rsm */
		return changes_mode;
	}
	return NULL;
}

/*
 * After sti, the processor takes no interrupt before the next instruction is done, which for a
 * copy is what follows on that. It matters if the next instruction in the text is hlt, or leaves
 * for another mode. No such instruction can be probed itself.
 */
static bool sti_shadow_matters(struct insn *insn, unsigned long addr)
{
	u8 buf[MAX_INSN_SIZE];
	struct insn next;

	if (kprobe_opcode(insn) != 0xfb)
		return false;
	return kprobe_decode(&next, buf, addr + insn->length) || objection(&next);
}

/* Why the text has to keep the instruction at its address, or NULL. */
static const char *known_as(struct insn *insn, unsigned long addr)
{
	switch (kprobe_opcode(insn)) {
	case 0xcc ... 0xce:	/* int3, int, into */
	case 0xd6:		/* udb: a failed check of FineIBT */
	case 0xf1:		/* int1 */
	case 0x0f0b:		/* ud2: WARN(), BUG(), a failed check of kCFI */
	case 0x0fb9:		/* ud1: UBSAN */
		return "it traps, and its address says what for";
	}
	if (is_cfi_check(insn, addr))
		return "it is part of a check of kCFI, which is decoded when that fails";
	if (kprobe_need_landing_pads() && kprobe_opcode(insn) == 0x0f1e &&
	    has_prefix(insn, 0xf3) && (insn->modrm.bytes[0] & 0xfe) == 0xfa)
		return "it is the landing pad of indirect branches";
	return NULL;
}

/*
 * Returns 0 if an instruction can be probed; -EINVAL if somebody else looks for it at its address;
 * -EOPNOTSUPP if it would not have the same effect elsewhere. Sets *@kind to why, in words, or to
 * NULL. Near branches pass: kprobe_emulation_init() checks whether they can be emulated.
 */
int kprobe_check_insn(struct insn *insn, unsigned long addr, const char **kind)
{
	*kind = known_as(insn, addr);
	if (*kind)
		return -EINVAL;
	*kind = objection(insn);
	if (!*kind && sti_shadow_matters(insn, addr))
		*kind = "it holds interrupts off until the next instruction is done";
	return *kind ? -EOPNOTSUPP : 0;
}

/*
 * Writes the instruction at @from as it has to be at @to, with the same length. Returns -ERANGE if
 * a rip-relative operand is out of reach from there.
 */
int kprobe_relocate(u8 *copy, struct insn *insn, unsigned long from, unsigned long to)
{
	long disp = insn->displacement.value + (long)(from - to);

	memcpy(copy, insn->kaddr, insn->length);
	if (!insn_rip_relative(insn))
		return 0;
	if (disp != (s32)disp)
		return -ERANGE;
	put_unaligned((s32)disp, (s32 *)(copy + insn_offset_displacement(insn)));
	return 0;
}

/* push (%rsp): reads what a return reads */
static const u8 push_return_address[] = { 0xff, 0x34, 0x24 };

/*
 * Writes the copy of an instruction that is going to be in a slot, up to MAX_INSN_SIZE bytes. A
 * branch that reads its target from memory becomes a push of the same operand, see struct
 * kprobe_emulation. The operand may be relative to the stack pointer: push computes the address
 * before it changes that. Returns the length of the copy, or an errno as kprobe_relocate().
 */
int kprobe_copy(u8 *copy, struct insn *insn, unsigned long from, unsigned long to)
{
	enum kprobe_branch branch = kprobe_branch_of(insn);
	int err;

	/* Nothing of the return is written: it may be longer. */
	if (branch == KPROBE_RETURN || branch == KPROBE_RETURN_BY_THUNK) {
		memcpy(copy, push_return_address, sizeof(push_return_address));
		return sizeof(push_return_address);
	}
	err = kprobe_relocate(copy, insn, from, to);
	if (err)
		return err;
	if ((branch == KPROBE_INDIRECT_CALL || branch == KPROBE_INDIRECT_JUMP) &&
	    X86_MODRM_MOD(insn->modrm.bytes[0]) != 3)
		copy[insn_offset_modrm(insn)] = (insn->modrm.bytes[0] & 0xc7) | 6 << 3;
	return insn->length;
}

/*
 * A landing pad cannot be probed. A probe on it is put behind it, and that address counts as
 * the function's entry.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long addr, unsigned long offset,
					 bool *on_func_entry)
{
	u32 first;

	*on_func_entry = false;
	if (copy_from_kernel_nofault(&first, (void *)addr, sizeof(first)))
		return NULL;

	if (is_endbr(&first) && !offset)
		offset = ENDBR_INSN_SIZE;
	*on_func_entry = offset == (is_endbr(&first) ? ENDBR_INSN_SIZE : 0);
	return (kprobe_opcode_t *)addr + offset;
}
