// SPDX-License-Identifier: GPL-2.0
/*
 * Puts what the decoder of x86 makes of an instruction beside what objdump has printed of it.
 *
 *	x86 text	what objdump -d -z --insn-width=16 prints, of any number of files
 *	x86 cells FILE	what objdump -D -b binary --no-show-raw-insn prints of this file, which
 *			x86-cells has written
 *
 * The output has a verdict, the bytes, objdump's words, and how many instructions were the same
 * but for bytes and numbers, with tabs between them. Verdicts are those of x86.objdump, and
 *
 *	bad		it is not decoded
 *	length		it has another length than objdump says
 *	length-refused	so it has, but it is refused
 *	address		it, or a copy of it, does not refer to what objdump says
 *	bytes		a copy of it is something else
 *	lost		it does not begin there when the function is decoded from its beginning
 *	targets		where it leads is not noted; or of a function, where all in it lead
 *	nothing		objdump has not printed a line where there is a cell
 */
#include <ctype.h>

#include "x86.h"

/* Far enough for a relative operand to be another one. */
#define COPY_DISTANCE	0x123456

/* Where one cell of x86-cells begins, and the next. */
#define CELL		16

#define MAX_WORDS	256

static unsigned long nr_compared, nr_lost, nr_left_out;

/* The comment that has the address of a relative operand, or NULL. */
static char *comment_in(const char *words)
{
	return strstr(words, " # ");
}

/* What objdump puts before a mnemonic, or on a line of its own. */
static bool is_prefix(const char *word, size_t length)
{
	static const char * const prefixes[] = {
		"data16", "addr16", "addr32", "lock", "rep", "repz", "repnz", "bnd", "notrack",
		"xacquire", "xrelease", "cs", "ds", "es", "fs", "gs", "ss",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strlen(prefixes[i]) == length && !strncmp(prefixes[i], word, length))
			return true;
	}
	return !strncmp(word, "rex", 3);
}

static const char *skip_word(const char *words)
{
	words += strcspn(words, " ");
	return words + strspn(words, " ");
}

static const char *skip_prefixes(const char *words)
{
	while (*words && is_prefix(words, strcspn(words, " ")))
		words = skip_word(words);
	return words;
}

static bool is_branch(const char *mnemonic)
{
	return *mnemonic == 'j' || !strncmp(mnemonic, "call", 4) ||
	       !strncmp(mnemonic, "loop", 4) || !strncmp(mnemonic, "xbegin", 6);
}

/* The number behind a branch's mnemonic, or NULL. */
static const char *find_target(const char *words)
{
	const char *mnemonic = skip_prefixes(words), *operand = skip_word(mnemonic);

	return is_branch(mnemonic) && isxdigit(*operand) ? operand : NULL;
}

/* Where a branch leads, as objdump has it. */
static bool target_in(const char *words, unsigned long *addr)
{
	const char *target = find_target(words);

	if (target)
		*addr = strtoul(target, NULL, 16);
	return target;
}

/* What an operand relative to the instruction refers to, as objdump has it. */
static bool operand_in(const char *words, unsigned long *addr)
{
	const char *comment = comment_in(words);

	if (comment)
		*addr = strtoul(comment + strspn(comment, " #"), NULL, 16);
	return comment;
}

static unsigned long native(unsigned long addr)
{
	return IS_ENABLED(CONFIG_X86_64) ? addr : (u32)addr;
}

/* Appends it with one space between words, and numbers that are all alike. */
static char *append_words(char *to, const char *words, const char *end)
{
	bool name = false;

	while (words < end) {
		if (!strncmp(words, "0x", 2)) {
			words += 2 + strspn(words + 2, "0123456789abcdef");
			*to++ = 'N';
		} else if (name && isdigit(*words)) {
			words += strspn(words, "0123456789");
			*to++ = 'N';
		} else if (*words != ' ' || (words + 1 < end && words[1] != ' ')) {
			name = *words == '%' || (name && isalpha(*words));
			*to++ = *words++;
		} else {
			words++;
		}
	}
	*to = 0;
	return to;
}

/* Those that change nothing but what the operands are, which is seen there. */
static bool is_idle_prefix(const char *word)
{
	return !strncmp(word, "rex", 3) || !strncmp(word, "notrack", 7) ||
	       (word[1] == 's' && *word != 'f' && *word != 'g');
}

/* What it is comes first, then prefixes, and nothing that is a matter of the place. */
static char *normalize(char *to, const char *words)
{
	const char *mnemonic = skip_prefixes(words), *target = find_target(mnemonic);
	const char *end = target ?: comment_in(words) ?: words + strlen(words);
	const char *with = " with ";

	to = append_words(to, mnemonic, end);
	if (target)
		to += sprintf(to, " N");
	for (; words < mnemonic; words = skip_word(words)) {
		if (*mnemonic && is_idle_prefix(words))
			continue;
		to += sprintf(to, "%s%.*s", with, (int)strcspn(words, " "), words);
		with = " ";
	}
	return to;
}

/* Most are like one that was not long ago. */
static struct said {
	const char	*verdict;
	char		words[2 * MAX_WORDS];
	char		bytes[2 * MAX_INSN_SIZE + 1];
	unsigned long	times;
} all_said[1 << 16];

static void print_said(struct said *said)
{
	if (said->times)
		printf("%s\t%s\t%s\t%lu\n", said->verdict, said->bytes, said->words, said->times);
	said->times = 0;
}

static void print_all_said(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all_said); i++)
		print_said(&all_said[i]);
}

static struct said *find_said(const char *verdict, const char *words)
{
	unsigned int hash = 0;
	const char *c;

	for (c = words; *c; c++)
		hash = hash * 31 + *c;
	for (c = verdict; *c; c++)
		hash = hash * 31 + *c;
	return &all_said[(hash ^ hash >> 16) % ARRAY_SIZE(all_said)];
}

static void print_bytes(char *to, unsigned long addr, int length)
{
	unsigned long offset = addr - text.addr;

	for (; length-- > 0 && offset < text.size; to += 2)
		sprintf(to, "%02x", text.bytes[offset++]);
	*to = 0;
}

/* What comes behind it matters to sti. */
static void say(const char *verdict, unsigned long addr, int length, const char *words,
		const char *next)
{
	char short_words[2 * MAX_WORDS], *end;
	struct said *said;

	if (strlen(words) + strlen(next) > MAX_WORDS)
		errx(2, "%lx: these are too many words: %s", addr, words);
	end = normalize(short_words, words);
	if (!strncmp(short_words, "sti", 3))
		normalize(end + sprintf(end, "; "), next);
	said = find_said(verdict, short_words);
	if (said->times && said->verdict == verdict && !strcmp(said->words, short_words)) {
		said->times++;
		return;
	}
	print_said(said);
	said->verdict = verdict;
	memcpy(said->words, short_words, sizeof(short_words));
	print_bytes(said->bytes, addr, length);
	said->times = 1;
}

/* Where the target of a branch, or an operand, is. */
static bool refers_to(struct judgement *j, unsigned long addr, unsigned long *to)
{
	u8 copy[MAX_INSN_SIZE];
	struct insn insn;

	if (j->relative) {
		*to = native(addr + j->insn.length + j->emulation.disp);
		return true;
	}
	if (!insn_rip_relative(&j->insn))
		return false;
	if (kprobe_relocate(copy, &j->insn, addr, addr + COPY_DISTANCE) ||
	    insn_decode(&insn, copy, j->insn.length, INSN_MODE_KERN))
		errx(2, "%lx: it has no copy", addr);
	*to = addr + COPY_DISTANCE + insn.length + insn.displacement.value;
	return true;
}

static bool has_address(struct judgement *j, unsigned long addr, const char *words)
{
	unsigned long ours, theirs = 0;
	bool has = operand_in(words, &theirs) || target_in(words, &theirs);

	if (is_refused(j))
		return true;
	return refers_to(j, addr, &ours) == has && (!has || ours == native(theirs));
}

/* Whether where it leads is noted in the function that is there. Of 16 bits that is nowhere. */
static bool leads_there(struct judgement *j, unsigned long addr, const char *words)
{
	unsigned long bytes[KPROBE_NR_BYTES] = { }, to;
	struct kprobe_function f = { .bytes = bytes, .map_longs = 1 };

	if (!target_in(words, &to) || j->insn.opnd_bytes == 2)
		return true;
	f.start = addr + (s32)(to - addr);
	f.end = f.start + 1;
	note_branch(&f, &j->insn, addr);
	return kprobe_byte_is(&f, f.start, KPROBE_BYTE_TARGET);
}

/* push (%rsp) */
static const u8 push_again[] = { 0xff, 0x34, 0x24 };

/* Whether a copy is the same but for such an operand, and what pushes instead of a branch. */
static bool copies_well(struct judgement *j, unsigned long addr)
{
	int length, modrm = insn_offset_modrm(&j->insn);
	u8 copy[MAX_INSN_SIZE];

	if (insn_rip_relative(&j->insn))
		return true;
	length = kprobe_copy(copy, &j->insn, addr, addr + COPY_DISTANCE);
	if (j->emulation.fn == emulate_ret)
		return length == sizeof(push_again) && !memcmp(copy, push_again, length);
	if (length != j->insn.length)
		return false;
	if (j->emulation.memory) {
		if (copy[modrm - 1] != 0xff || (copy[modrm] & 0x38) != 6 << 3)
			return false;
		copy[modrm] = j->bytes[modrm];
	}
	return !memcmp(copy, j->bytes, length);
}

/* Returns how many bytes the instruction has for the decoder. */
static int compare(unsigned long addr, int length, const char *words, const char *next)
{
	struct judgement j;

	nr_compared++;
	if (!judge(&j, addr)) {
		say("bad", addr, length, words, next);
		return 0;
	}
	if (j.insn.length != length)
		j.verdict = is_refused(&j) ? "length-refused" : "length";
	else if (!has_address(&j, addr, words))
		j.verdict = "address";
	else if (!leads_there(&j, addr, words))
		j.verdict = "targets";
	else if (!is_refused(&j) && !copies_well(&j, addr))
		j.verdict = "bytes";
	say(j.verdict, addr, j.insn.length, words, next);
	return j.insn.length;
}

static int hex_digit(char c)
{
	return isdigit(c) ? c - '0' : c - 'a' + 10;
}

/*
 * "text": a section at a time, as instructions are looked at beyond the function.
 */
struct line {
	unsigned long	addr;
	size_t		words;
	u8		length;
	bool		begins;		/* a function */
};

static struct {
	struct line	*lines;
	size_t		nr_lines, max_lines;
	char		*words;
	size_t		words_size, max_words;
	u8		*bytes;
	size_t		max_bytes;
	bool		begins;
} section;

static void *grow(void *array, size_t *have, size_t wanted, size_t size)
{
	if (wanted <= *have)
		return array;
	*have = 2 * wanted;
	array = realloc(array, *have * size);
	if (!array)
		err(2, NULL);
	return array;
}

/* Appends, and returns the end of the bytes. */
static const char *add_bytes(const char *hex)
{
	while (isspace(*hex))
		hex++;
	section.bytes = grow(section.bytes, &section.max_bytes,
			     text.size + CELL + PAGE_SIZE, sizeof(u8));
	text.bytes = section.bytes;
	for (; isxdigit(*hex); hex += hex[2] == ' ' ? 3 : 2)
		section.bytes[text.size++] = hex_digit(hex[0]) << 4 | hex_digit(hex[1]);
	return hex + strspn(hex, " ");
}

static void add_line(unsigned long addr, const char *rest)
{
	struct line *line;
	size_t before, length;

	section.lines = grow(section.lines, &section.max_lines, section.nr_lines + 1,
			     sizeof(*line));
	line = &section.lines[section.nr_lines];
	if (!section.nr_lines++)
		text.addr = addr;
	/* What is printed last of a function may go on into the next one. */
	if (addr < text.addr + text.size)
		text.size = addr - text.addr;
	if (addr != text.addr + text.size)
		errx(2, "%lx: there is a gap", addr);
	before = text.size;
	rest = add_bytes(rest);
	if (*rest++ != '\t')
		errx(2, "%lx: this is not a line of objdump's", addr);
	/* Without the name behind an address */
	length = (strstr(rest, " <") ?: rest + strlen(rest)) - rest;
	section.words = grow(section.words, &section.max_words,
			     section.words_size + length + 1, 1);
	memcpy(section.words + section.words_size, rest, length);
	section.words[section.words_size + length] = 0;
	*line = (struct line) {
		.addr = addr, .words = section.words_size, .length = text.size - before,
		.begins = section.begins,
	};
	section.words_size += length + 1;
	section.begins = false;
}

static const char *words_of(const struct line *line)
{
	return section.words + line->words;
}

/* To where a register, memory or the stack says */
static bool leads_anywhere(const char *words)
{
	words = skip_prefixes(words);
	if (!strncmp(words, "jmp", 3))
		return *skip_word(words) == '*';
	return !strncmp(words, "ljmp", 4) || !strncmp(words, "lret", 4) ||
	       !strncmp(words, "iret", 4);
}

/* Where branches lead, as objdump says: the same as kprobe_decode_until() has noted? */
static void compare_targets(struct kprobe_function *f, const struct line *line,
			    const struct line *end)
{
	unsigned long *ours = kprobe_byte_map(f, KPROBE_BYTE_TARGET), to;
	unsigned long *theirs = kprobe_byte_map(f, KPROBE_BYTE_LABEL);
	const char *name = words_of(line);
	bool unknown = false;

	for (; line < end; line++) {
		if (target_in(words_of(line), &to))
			kprobe_byte_set(f, to, KPROBE_BYTE_LABEL);
		unknown |= leads_anywhere(words_of(line));
	}
	if (memcmp(ours, theirs, f->map_longs * sizeof(long)) || f->unknown != unknown)
		say("targets", f->start, MAX_INSN_SIZE, name, "");
}

/*
 * Both go on from where both of them have an instruction begin. Nothing is lost before they
 * have differed about one.
 */
static void compare_function(const struct line *line, const struct line *end)
{
	struct kprobe_function f = {
		.start = line->addr, .decoded = line->addr, .end = end[-1].addr + 1,
	};
	bool lost = false, whole = true;
	const struct line *first = line;

	f.map_longs = BITS_TO_LONGS(f.end - f.start);
	f.bytes = calloc(KPROBE_NR_BYTES * f.map_longs, sizeof(long));
	if (!f.bytes)
		err(2, NULL);
	kprobe_decode_until(&f, f.end);
	for (; line < end; line++) {
		const char *next = line[1].length ? words_of(&line[1]) : "";

		if (kprobe_byte_is(&f, line->addr, KPROBE_BYTE_INSN)) {
			lost = compare(line->addr, line->length, words_of(line), next) !=
			       line->length;
		} else {
			if (!lost)
				say("lost", line->addr, line->length, words_of(line), next);
			nr_lost++;
			lost = true;
		}
		whole = whole && !lost;
	}
	if (whole)
		compare_targets(&f, first, end);
	free(f.bytes);
}

static void end_section(void)
{
	struct line *line, *first, *end;

	if (!section.nr_lines)
		return;
	/* Text does not end with its last instruction, but with a page. */
	memset(section.bytes + text.size, 0, PAGE_SIZE);
	text.size += -(text.addr + text.size) % PAGE_SIZE;
	section.lines = grow(section.lines, &section.max_lines, section.nr_lines + 1,
			     sizeof(*line));
	end = section.lines + section.nr_lines;
	*end = (struct line) { .begins = true };
	for (first = section.lines, line = first + 1; line <= end; line++) {
		if (!line->begins)
			continue;
		compare_function(first, line);
		first = line;
	}
	section.nr_lines = 0;
	section.words_size = 0;
	text.size = 0;
}

static void read_text_line(char *line)
{
	char *colon = strchr(line, ':');
	unsigned long addr;
	size_t length = strlen(line);

	if (!*line || strstr(line, ":     file format ")) {
		return;
	} else if (!strncmp(line, "Disassembly of section ", 23)) {
		end_section();
	} else if (isxdigit(*line) && !strcmp(line + length - 2, ">:")) {
		section.begins = true;
	} else {
		addr = strtoul(line, &line, 16);
		if (!colon || line != colon || colon[1] != '\t')
			errx(2, "this is not a line of objdump's: %s", line);
		add_line(addr, colon + 2);
	}
}

static char *read_line(void)
{
	static char *line;
	static size_t size;

	if (getline(&line, &size, stdin) < 0)
		return NULL;
	line[strcspn(line, "\n")] = 0;
	return line;
}

static void compare_text(void)
{
	char *line;

	while ((line = read_line()))
		read_text_line(line);
	end_section();
	if (!nr_compared)
		errx(2, "there is no text");
}

/*
 * "cells": only what objdump has printed of a cell's beginning, and up to where that goes.
 */
static void map_cells(const char *path)
{
	FILE *file = fopen(path, "r");
	u8 *bytes;

	if (!file || fseek(file, 0, SEEK_END))
		err(2, "%s", path);
	text.size = ftell(file);
	rewind(file);
	bytes = calloc(1, text.size + PAGE_SIZE);
	if (!bytes || fread(bytes, 1, text.size, file) != text.size)
		err(2, "%s", path);
	text.bytes = bytes;
	text.size += PAGE_SIZE;
	fclose(file);
}

/* It may be something for the decoder, if not for objdump. */
static bool is_unknown(const char *words)
{
	return strstr(words, "(bad)") || !*skip_prefixes(words);
}

static void compare_cell(unsigned long cell, unsigned long end, const char *words,
			 const char *next)
{
	bool sti = !strcmp(skip_prefixes(words), "sti");

	if (strstr(words, "(bad)") || (sti && is_unknown(next)))
		nr_left_out++;
	else
		compare(cell, end - cell, words, next);
}

static void compare_cells(const char *path)
{
	char words[MAX_WORDS] = "", *line, *colon;
	unsigned long addr, cell = 0, next = 0;

	map_cells(path);
	while ((line = read_line())) {
		colon = strchr(line, ':');
		if (*line != ' ' || !colon || colon[1] != '\t')
			continue;
		addr = strtoul(line, NULL, 16);
		if (*words)
			compare_cell(cell, addr, words, colon + 2);
		*words = 0;
		if (addr < next)
			continue;
		if (addr > next)
			say("nothing", next, CELL, "", "");
		cell = addr & -CELL;
		next = cell + CELL;
		if (addr == cell)
			snprintf(words, sizeof(words), "%s", colon + 2);
	}
	if (next + PAGE_SIZE != text.size)
		errx(2, "objdump has come to %lx only", next);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "text"))
		compare_text();
	else if (argc == 3 && !strcmp(argv[1], "cells"))
		compare_cells(argv[2]);
	else
		errx(2, "usage: x86 text|cells FILE");
	print_all_said();
	fprintf(stderr, "%lu compared, %lu left out as objdump does not know them, %lu lost\n",
		nr_compared, nr_left_out, nr_lost);
	return 0;
}
