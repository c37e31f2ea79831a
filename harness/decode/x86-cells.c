// SPDX-License-Identifier: GPL-2.0
/*
 * Writes instructions, in nearly all encodings, for x86 and objdump to compare.
 *
 *	x86-cells 64|32
 *
 * Each begins a cell of 16 bytes. Behind it are prefixes of a nop: what is too much for the
 * instruction is another one, up to the cell's end. None here can take all of it.
 */
#include <ctype.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define CELL		16
#define PADDING		0x2e	/* cs */
#define NOP		0x90
#define MAX_MEMBERS	256

typedef unsigned char u8;

/* The first bytes of an instruction. */
struct start {
	u8	bytes[CELL];
	int	size;
};

/* What may be in one place: bytes, or a range of one byte, between bars. Some have more lines. */
struct set {
	const char	*name;
	const char	*alternatives;
	struct start	members[MAX_MEMBERS];
	int		nr;
};

static struct set sets[] = {
	{ "any", "00-ff" },
	{ "map", "|0f" },
	{ "far-map", "0f 38|0f 3a" },

	/* Those that make another instruction of it, or a longer one; and others, in any order */
	{ "prefix", "|66|67|f0|f2|f3|2e" },
	{ "simd", "|66|f2|f3" },
	{ "rex.w", "48|66 48|f3 48" },
	{ "prefixes", "26|36|3e|64|65|66 67|67 66|66 f2|f2 66|66 f3|f3 66|f2 f3|f3 f2|f0 66" },
	{ "prefixes", "66 f0|f0 f2|f3 f0|2e 66|66 66|2e 36 3e|66 67 f2|66 67 f2 f0" },
	{ "rex", "40-47|49-4f|f2 48|67 48|f0 48|66 67 48|66 f2 48|66 41|2e 4f" },
	{ "rex", "48 66|48 67|41 f3|40 48" },

	/* Each register, which can be part of the opcode, with each kind of operand */
	{ "modrm", "00|08|10|18|20|28|30|38|04|0c|14|1c|24|2c|34|3c|05|0d|15|1d|25|2d|35|3d" },
	{ "modrm", "44|4c|54|5c|64|6c|74|7c|80|88|90|98|a0|a8|b0|b8|c0|c8|d0|d8|e0|e8|f0|f8" },
	{ "group", "00|08|10|18|20|28|30|38|c1|c9|d1|d9|e1|e9|f1|f9|05|44|84" },
	{ "of-sib", "04|44|84|3c|7c|bc" },
	{ "size", "|66|67|66 67" },
	{ "rex-size", "48|4f|67 41|42" },
	{ "memory", "8b|89|c7|69|6b|80|f7|ff|0f b6|0f ba|0f c7|0f 38 f0|0f 3a 0f" },
	{ "memory", "c5 f9 6f|c4 e2 79 18|62 f1 7c 48 10" },

	/* What stands behind c4, c5 and 62 */
	{ "vex2", "78-7f|f8-ff|00|2c|85" },
	{ "vex-map", "e1-e3|c1|62|a3" },
	{ "vex-none", "e0|e4-ff" },
	{ "vex3", "78-7f|f8-ff|00|45|83" },
	{ "evex-map", "f1-f3|f5-f6|62" },
	{ "evex-none", "f0|f4|f7|f9" },
	{ "evex2", "7c-7f|fc-ff|05" },
	{ "evex3", "08|28|48|18|cf" },
	{ "xop-map", "e8-ea|c8" },
};

/* Sets, or bytes, one behind the other; 64 where that is not for 32 bits. */
static const struct {
	const char	*places;
	int		bits;
} patterns[] = {
	{ "prefix map any any" },
	{ "rex.w map any any", 64 },
	{ "simd far-map any any" },
	{ "prefixes map any modrm" },
	{ "rex map any modrm", 64 },
	{ "prefix far-map any modrm" },
	{ "rex.w far-map any modrm", 64 },
	{ "prefixes far-map any group" },
	{ "rex far-map any group", 64 },
	{ "66 67 f2 f0 2e any modrm" },
	{ "size memory of-sib any" },
	{ "rex-size memory of-sib any", 64 },
	{ "size map any modrm ff ff ff ff ff ff ff" },
	{ "size far-map any group ff ff ff ff ff" },
	{ "c5 vex2 any group" },
	{ "c4 vex-map vex3 any group" },
	{ "c4 vex-none 78 any group" },
	{ "prefix c5 f8 any group" },
	{ "prefix c4 e2 79 any group" },
	{ "48 c5 f8 any group", 64 },
	{ "62 evex-map evex2 evex3 any group" },
	{ "62 evex-none 7c 08 any group" },
	{ "prefix 62 f1 7c 08 any group" },
	{ "8f xop-map 78 any group" },
	{ "fb map any group" },
	{ "fb far-map any group" },
	{ "prefix 0f 0b 78 65 6e 0f a2" },
	{ "prefix 0f 0b 6b 76 6d 0f a2" },
};

static void append(struct start *start, const struct start *more)
{
	if (start->size + more->size >= CELL)
		errx(2, "this is too much for a cell");
	memcpy(start->bytes + start->size, more->bytes, more->size);
	start->size += more->size;
}

static void add_member(struct set *set, const struct start *member)
{
	if (set->nr == MAX_MEMBERS)
		errx(2, "there are too many of %s", set->name);
	set->members[set->nr++] = *member;
}

static void add_range(struct set *set, int from, int to)
{
	for (; from <= to; from++)
		add_member(set, &(struct start){ { from }, 1 });
}

/* Up to the next bar */
static const char *add_alternative(struct set *set, const char *from)
{
	struct start member = { };
	char *at;

	while (*from && *from != '|') {
		member.bytes[member.size++] = strtoul(from, &at, 16);
		if (*at == '-') {
			add_range(set, member.bytes[0], strtoul(at + 1, &at, 16));
			return at;
		}
		from = at + (*at == ' ');
	}
	add_member(set, &member);
	return from;
}

static struct set *find_set(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		if (strlen(sets[i].name) == length && !strncmp(sets[i].name, name, length))
			return &sets[i];
	}
	return NULL;
}

static void read_set(const char *name, const char *alternatives)
{
	struct set *set = find_set(name, strlen(name));

	alternatives = add_alternative(set, alternatives);
	while (*alternatives)
		alternatives = add_alternative(set, alternatives + 1);
}

static void write_cell(const struct start *start)
{
	u8 cell[CELL];

	memset(cell, PADDING, sizeof(cell));
	memcpy(cell, start->bytes, start->size);
	cell[CELL - 1] = NOP;
	if (fwrite(cell, sizeof(cell), 1, stdout) != 1)
		err(2, "a cell");
}

/* Writes what begins with this, and goes on with each member of each place. */
static void write_all(const char *places, struct start begun)
{
	size_t length = strcspn(places, " ");
	const struct set *set = find_set(places, length);
	struct start start;
	int i;

	if (!length) {
		write_cell(&begun);
		return;
	}
	if (!set) {
		append(&begun, &(struct start){ { strtoul(places, NULL, 16) }, 1 });
		write_all(places + length + (places[length] == ' '), begun);
		return;
	}
	for (i = 0; i < set->nr; i++) {
		start = begun;
		append(&start, &set->members[i]);
		write_all(places + length + (places[length] == ' '), start);
	}
}

int main(int argc, char **argv)
{
	int bits = argc == 2 ? atoi(argv[1]) : 0;
	unsigned int i;

	if (bits != 32 && bits != 64)
		errx(2, "usage: x86-cells 64|32");
	for (i = 0; i < ARRAY_SIZE(sets); i++)
		read_set(sets[i].name, sets[i].alternatives);
	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (patterns[i].bits != 64 || bits == 64)
			write_all(patterns[i].places, (struct start){ });
	}
	if (fflush(stdout))
		err(2, "cells");
	return 0;
}
