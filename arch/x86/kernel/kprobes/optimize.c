// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jump optimization on x86: which sites can have a jump, their detours, and how jumps are written.
 *
 * A jump takes five bytes, so it may cover more than the probed instruction. The detour has
 * copies of all the covered instructions. Nobody else may execute the covered bytes behind the
 * first, or change them: no branch and no fixup may lead there, nobody may patch them, and no
 * copy may come back there later, as a call does when it returns, or a fault that has slept.
 */
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/static_call.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/extable.h>
#include <asm/nospec-branch.h>

#include "internal.h"

asmlinkage void kprobe_detour_entry(void);

/* The most executable memory that a site may take, as it is scarcer than other memory */
static_assert(ARCH_KPROBE_SLOT_SIZE + MAX_OPTINSN_SIZE <= 128);

/* A detour is written as a whole, into a slot of this size. */
static_assert(DETOUR_SIZE == MAX_OPTINSN_SIZE);

/* kprobe_detour_entry() finds the owner from the return address of its call: DETOUR_COPY. */
static_assert(DETOUR_OWNER + sizeof(void *) <= DETOUR_ENTRY);
static_assert(DETOUR_ENTRY + CALL_INSN_SIZE == DETOUR_COPY);

#define PUSH_IMM32_OPCODE	0x68
/* The second byte, with the condition in its lower four bits */
#define JCC32_OPCODE		0x80

/* A detour under construction, and the instructions that the jump covers */
struct detour {
	struct optimized_kprobe	*op;
	unsigned long		slot;			/* where it will run */
	u8			image[DETOUR_SIZE];	/* what is to be written there */
	unsigned int		used;			/* bytes of that */
	unsigned long		begin;			/* the site */
	unsigned long		end;			/* maybe behind the end of the jump */
	struct kprobe_function	*function;
};

/* Notes in @f the targets of branches of the function at @addr. Returns non-zero on failure. */
static int note_function(void *f, unsigned long addr)
{
	unsigned long size, offset;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return -ENOENT;
	addr -= offset;
	return kprobe_note_insns(f, &addr, addr + size) ? 0 : -EILSEQ;
}

#ifdef CONFIG_MODULES
/* Checks for a function of that name, with any suffix. Variables have names, too. */
static bool is_named(const struct mod_kallsyms *all, unsigned int i, const char *wanted)
{
	const char *name = all->strtab + all->symtab[i].st_name;
	size_t length = str_has_prefix(name, wanted);

	return length && (!name[length] || name[length] == '.') &&
	       all->symtab[i].st_shndx != SHN_UNDEF &&
	       is_module_text_address(all->symtab[i].st_value);
}

/*
 * Not module_kallsyms_on_each_symbol(): it takes module_mutex, which others hold while they wait
 * for a grace period. When the module has been initialized, its table of symbols is replaced; under
 * RCU the old one stays.
 */
static bool note_in_module(struct kprobe_function *f, const char *name)
{
	const struct mod_kallsyms *all;
	struct module *mod;
	unsigned int i;

	scoped_guard(preempt)
		mod = __module_text_address(f->start);
	if (!mod)
		return false;
	guard(rcu)();
	all = rcu_dereference(mod->kallsyms);
	for (i = 0; i < all->num_symtab; i++) {
		if (is_named(all, i, name) && note_function(f, all->symtab[i].st_value))
			return false;
	}
	return true;
}
#else
static bool note_in_module(struct kprobe_function *f, const char *name)
{
	return false;
}
#endif

/*
 * The same for all functions of a name in f's module, with any suffix: static functions of several
 * files may share one. Returns false if not all of them can be found: GCC 8 appends a number to
 * .cold, and in the kernel itself functions are only found by their full name.
 */
static bool note_named(struct kprobe_function *f, const char *name)
{
	if (f->module)
		return note_in_module(f, name);
	return CONFIG_GCC_VERSION / 10000 != 8 &&
	       !kallsyms_on_each_match_symbol(note_function, name, f);
}

/* Checks whether f's name is the first @length characters of @name, with any suffix. */
static bool is_part_of(const struct kprobe_function *f, const char *name, size_t length)
{
	return !strncmp(f->name, name, length) && (!f->name[length] || f->name[length] == '.');
}

/*
 * The compiler moves unlikely code of a function to a symbol of its own (.cold), from where it
 * jumps back to anywhere in the function. So the branches of that other part count, too. If it has
 * merged two functions that are the same, they have two names, and their other part has one.
 */
static bool note_other_part(struct kprobe_function *f)
{
	const unsigned long leaves_to = f->leaves_to;
	char name[KSYM_NAME_LEN + sizeof(".cold")];
	char *suffix;

	strscpy(name, f->name);
	suffix = strstr(name, ".cold");
	if (suffix)
		*suffix = '\0';
	else
		strcat(name, ".cold");
	if (!note_named(f, name))
		return false;
	if (!leaves_to || lookup_symbol_name(leaves_to, name))
		return true;
	suffix = strstr(name, ".cold");
	return !suffix || is_part_of(f, name, suffix - name) || note_named(f, name);
}

static void note_fixups_in(struct kprobe_function *f, const struct exception_table_entry *e,
			   const struct exception_table_entry *end)
{
	for (; e < end; e++) {
		kprobe_byte_set(f, (unsigned long)&e->insn + e->insn, KPROBE_BYTE_MAY_FAULT);
		kprobe_byte_set(f, (unsigned long)&e->fixup + e->fixup, KPROBE_BYTE_FIXUP);
	}
}

static void note_fixups(struct kprobe_function *f)
{
#ifdef CONFIG_MODULES
	struct module *mod;

	guard(preempt)();
	mod = __module_text_address(f->start);
	if (mod) {
		note_fixups_in(f, mod->extable, mod->extable + mod->num_exentries);
		return;
	}
#endif
	note_fixups_in(f, __start___ex_table, __stop___ex_table);
}

/* Finds all branches and fixups that lead into a function, once for all of its sites. */
static struct kprobe_function *complete_function(unsigned long addr)
{
	struct kprobe_function *f = kprobe_survey(addr);

	if (!f || f->complete)
		return f;
	note_fixups(f);
	if (!kprobe_decode_until(f, f->end) || !note_other_part(f))
		f->unknown = true;
	f->complete = true;
	return f;
}

/*
 * Checks whether somebody else patches one of the covered bytes. static_call_text_reserved() and
 * ftrace_text_reserved() take the last address.
 */
static bool others_need(const struct detour *d)
{
	void *begin = (void *)d->begin, *last = (void *)d->end - 1;

	return kprobe_byte_among(d->function, d->begin, d->end, KPROBE_BYTE_LABEL) ||
	       (d->function->static_calls && static_call_text_reserved(begin, last)) ||
	       ftrace_text_reserved(begin, last);
}

/*
 * Checks whether a copy in a detour can execute the instruction at d->end. Only the probed
 * instruction may fault. Nothing moves a fault in another copy back to the text, where its handler
 * could sleep, or find a fixup.
 */
static bool can_copy(const struct detour *d, struct insn *insn)
{
	unsigned long addr = d->end;
	struct kprobe_emulation em;
	const char *kind;

	if (addr != d->begin &&
	    (kprobe_blacklisted(addr) ||
	     kprobe_byte_is(d->function, addr, KPROBE_BYTE_MAY_FAULT)))
		return false;
	if (kprobe_check_insn(insn, addr, &kind))
		return false;
	switch (kprobe_branch_of(insn)) {
	case KPROBE_LOOP:
	case KPROBE_INDIRECT_CALL:
	case KPROBE_INDIRECT_JUMP:
		return false;
	case KPROBE_NO_BRANCH:
		return true;
	case KPROBE_RETURN_BY_THUNK:
		/* The thunk takes nothing off the stack but the return address. */
		if (insn->immediate.nbytes)
			return false;
		fallthrough;
	default:
		return kprobe_find_emulator(&em, insn) >= 0;
	}
}

/*
 * Writes the copy of the instruction at d->end. A branch has the same target: a call becomes a push
 * of its return address and a jump; a return, a jump to the thunk; any other branch gets its long
 * form. Returns an errno if a target is out of reach.
 */
static int add_copy(struct detour *d, struct insn *insn)
{
	unsigned long next = d->end + insn->length, to = next + insn->immediate.value;
	u8 *start = d->image + d->used, *at = start;
	unsigned long run_at = d->slot + d->used;
	int err;

	switch (kprobe_branch_of(insn)) {
	case KPROBE_NO_BRANCH:
	case KPROBE_RETURN:
		err = kprobe_relocate(at, insn, d->end, run_at);
		d->used += insn->length;
		return err;
	case KPROBE_RETURN_BY_THUNK:
		to = (unsigned long)x86_return_thunk;
		*at++ = JMP32_INSN_OPCODE;
		break;
	case KPROBE_CALL:
		*at++ = PUSH_IMM32_OPCODE;
		put_unaligned((s32)next, (s32 *)at);
		at += sizeof(s32);
		d->op->optinsn.call = at - d->image;
		fallthrough;
	case KPROBE_JUMP:
		*at++ = JMP32_INSN_OPCODE;
		break;
	default:
		*at++ = OPCODE_ESCAPE;
		*at++ = JCC32_OPCODE | (insn->opcode.bytes[insn->opcode.nbytes - 1] & 0xf);
	}
	at += sizeof(s32);
	put_unaligned((s32)(to - (run_at + (at - start))), (s32 *)(at - sizeof(s32)));
	d->used += at - start;
	return 0;
}

/*
 * Copies all instructions that the jump covers. A call among them is at least as long as the
 * jump, so it returns to an address behind the jump. Returns what is in the way, as do the
 * functions below.
 */
static enum kprobe_obstacle add_copies(struct detour *d)
{
	struct arch_optimized_insn *optinsn = &d->op->optinsn;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	unsigned int offset;

	for (d->end = d->begin; d->end < d->begin + JMP32_INSN_SIZE; d->end += insn.length) {
		offset = d->end - d->begin;
		if (kprobe_decode(&insn, buf, d->end) || d->end + insn.length > d->function->end)
			return KPROBE_OBSTACLE_END;
		if (offset && get_kprobe((void *)d->end))
			return KPROBE_OBSTACLE_NEIGHBOUR;
		if (!can_copy(d, &insn))
			return KPROBE_OBSTACLE_INSN;
		optinsn->copy[offset] = d->used;
		if (add_copy(d, &insn))
			return KPROBE_OBSTACLE_REACH;
	}
	optinsn->end = d->used;
	d->op->kp.covered = d->end - d->begin;
	return KPROBE_NO_OBSTACLE;
}

/* Writes a jump or a call. Returns false if the target is out of reach. */
static bool add_jump(u8 *image, unsigned long run_at, u8 opcode, unsigned long to)
{
	long distance = to - (run_at + JMP32_INSN_SIZE);

	__text_gen_insn(image, opcode, (void *)run_at, (void *)to, JMP32_INSN_SIZE);
	return distance == (s32)distance;
}

static enum kprobe_obstacle fill_detour(struct detour *d)
{
	unsigned long entry = (unsigned long)kprobe_detour_entry;
	enum kprobe_obstacle obstacle;

	/*
	 * Otherwise the compiler folds add_jump()'s subtraction into the relocation, which then
	 * points before the function. objtool complains of that, as it finds no ENDBR there.
	 */
	OPTIMIZER_HIDE_VAR(entry);
	memset(d->image, INT3_INSN_OPCODE, sizeof(d->image));
	put_unaligned((unsigned long)site_of(&d->op->kp),
		      (unsigned long *)(d->image + DETOUR_OWNER));
	d->used = DETOUR_COPY;
	obstacle = add_copies(d);
	if (obstacle)
		return obstacle;
	if (!add_jump(d->image + DETOUR_ENTRY, d->slot + DETOUR_ENTRY, CALL_INSN_OPCODE, entry) ||
	    !add_jump(d->image + d->used, d->slot + d->used, JMP32_INSN_OPCODE, d->end))
		return KPROBE_OBSTACLE_REACH;
	return KPROBE_NO_OBSTACLE;
}

static enum kprobe_obstacle check_covered(const struct detour *d)
{
	const unsigned long second = d->begin + 1;

	if (others_need(d))
		return KPROBE_OBSTACLE_PATCHED;
	if (kprobe_byte_among(d->function, second, d->end, KPROBE_BYTE_FIXUP))
		return KPROBE_OBSTACLE_FIXUP;
	if (d->function->unknown ||
	    kprobe_byte_among(d->function, second, d->end, KPROBE_BYTE_TARGET))
		return KPROBE_OBSTACLE_TARGET;
	return KPROBE_NO_OBSTACLE;
}

/* Sets optinsn.insn last: from then on optinsn.original has to hold the covered bytes. */
static enum kprobe_obstacle make_detour(struct optimized_kprobe *op, u8 *slot)
{
	struct detour d = {
		.op = op, .slot = (unsigned long)slot, .begin = (unsigned long)op->kp.addr,
	};
	unsigned int length = op->kp.ainsn.emulation.length;
	enum kprobe_obstacle obstacle;

	d.function = complete_function(d.begin);
	if (!d.function)
		return KPROBE_OBSTACLE_SYMBOL;
	obstacle = fill_detour(&d) ?: check_covered(&d);
	if (obstacle)
		return obstacle;
	op->optinsn.next = length < JMP32_INSN_SIZE ? d.slot + op->optinsn.copy[length]
						    : d.begin + length;
	memcpy(op->optinsn.original, (void *)d.begin + 1, sizeof(op->optinsn.original));
	perf_event_text_poke(slot, NULL, 0, d.image, sizeof(d.image));
	text_poke(slot, d.image, sizeof(d.image));
	kprobe_slot_set_owner(slot, &op->kp);
	op->optinsn.insn = slot;
	return KPROBE_NO_OBSTACLE;
}

int arch_prepare_optimized_kprobe(struct optimized_kprobe *op, struct kprobe *orig)
{
	u8 *slot = get_optinsn_slot();

	op->kp.obstacle = KPROBE_OBSTACLE_MEMORY;
	if (!slot)
		return -ENOMEM;
	memset(&op->optinsn, 0, sizeof(op->optinsn));
	op->kp.obstacle = make_detour(op, slot);
	if (!op->kp.obstacle)
		return 0;
	free_optinsn_slot(slot, 0);
	return -EINVAL;
}

void arch_remove_optimized_kprobe(struct optimized_kprobe *op)
{
	u8 *slot = op->optinsn.insn;

	perf_event_text_poke(slot, slot, DETOUR_SIZE, NULL, 0);
	free_optinsn_slot(slot, 0);
	op->optinsn.insn = NULL;
}

/* Writes what is behind the first byte. @before is that byte of what is there. */
static void change_rest(struct optimized_kprobe *op, u8 before, const u8 *after)
{
	u8 old[JMP32_INSN_SIZE];

	memcpy(old, op->kp.addr, sizeof(old));
	old[0] = before;
	text_poke(op->kp.addr + 1, after + 1, sizeof(old) - 1);
	perf_event_text_poke(op->kp.addr, old, sizeof(old), after, sizeof(old));
}

/* Writes the first byte of all sites, and syncs all CPUs. */
static void change_first(struct list_head *oplist, u8 byte)
{
	struct optimized_kprobe *op;

	list_for_each_entry(op, oplist, list)
		text_poke(op->kp.addr, &byte, 1);
	smp_text_poke_sync_each_cpu();
}

/*
 * Writes the jumps. Each site has an int3 in its first byte, and no task is in the bytes behind.
 *
 * 1. Write the four bytes behind the int3, and sync: a CPU that has fetched the old ones must
 *    not combine them with the first byte of the jump.
 * 2. Write the first byte, and sync. A CPU that still executes the int3 meanwhile finds the same
 *    site, and continues in the copies of the same detour.
 */
void arch_optimize_kprobes(struct list_head *oplist)
{
	struct optimized_kprobe *op, *next;
	u8 jump[JMP32_INSN_SIZE];

	list_for_each_entry(op, oplist, list) {
		add_jump(jump, (unsigned long)op->kp.addr, JMP32_INSN_OPCODE,
			 (unsigned long)op->optinsn.insn + DETOUR_ENTRY);
		change_rest(op, INT3_INSN_OPCODE, jump);
	}
	smp_text_poke_sync_each_cpu();
	change_first(oplist, JMP32_INSN_OPCODE);
	list_for_each_entry_safe(op, next, oplist, list)
		list_del_init(&op->list);
}

/*
 * Takes the jumps out, by the same steps backwards.
 *
 * 1. Write an int3 over the first byte, and sync: from here on no CPU executes the jump.
 * 2. Restore the four bytes behind it, and sync. Hits do not go there before the core has
 *    cleared KPROBE_FLAG_OPTIMIZED, after this has returned: until then they continue in the
 *    copies of the detour, see kprobe_resume_ip().
 */
void arch_unoptimize_kprobes(struct list_head *oplist, struct list_head *done_list)
{
	u8 after[JMP32_INSN_SIZE] = { INT3_INSN_OPCODE };
	struct optimized_kprobe *op;

	change_first(oplist, INT3_INSN_OPCODE);
	list_for_each_entry(op, oplist, list) {
		memcpy(after + 1, op->optinsn.original, sizeof(op->optinsn.original));
		change_rest(op, JMP32_INSN_OPCODE, after);
	}
	smp_text_poke_sync_each_cpu();
	list_splice_tail_init(oplist, done_list);
}
