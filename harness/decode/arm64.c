// SPDX-License-Identifier: GPL-2.0
/*
 * Compares the decoder of arm64, compiled for this machine, with arm64.table.
 *
 *	arm64 TABLE		walk all words; 1 when there is one that they differ about
 *	arm64 TABLE words	put the decoder's verdict before each line that begins with a word
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the decoder has of the kernel; its #includes find empty files. */
typedef unsigned char u8;
typedef unsigned int u32, __le32;

struct pt_regs;

typedef bool (probes_handler_t)(u32 insn, unsigned long addr, struct pt_regs *regs);

struct arch_probe_insn {
	probes_handler_t *handler;
};

#define BIT(n)			(1U << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define AARCH64_INSN_SIZE	4

static int aarch64_insn_read(void *addr, u32 *insn)
{
	return -1;
}

static bool aarch64_insn_is_clrex(u32 insn)
{
	return (insn & 0xfffff0ff) == 0xd503305f;
}

static bool aarch64_insn_is_isb(u32 insn)
{
	return (insn & 0xfffff0ff) == 0xd50330df;
}

#include "decode-insn.c"

#define MAX_ROWS	512

/* What a word of arm64.table means. */
struct verdict {
	const char		*name;
	u8			kprobe, uprobe;
	probes_handler_t	*simulate;
	enum exclusive		exclusive;
};

#define SIMULATED(name, uprobe) \
	{ #name, PROBE_SIMULATE, uprobe, probe_simulate_ ## name }

static const struct verdict verdicts[] = {
	{ "none" },	/* what is in no row is this */
	{ "refused" },
	{ "load", .exclusive = LOAD },
	{ "store", .exclusive = STORE },
	{ "clear", PROBE_REJECT, PROBE_COPY, .exclusive = CLEAR },
	{ "copy", PROBE_COPY, PROBE_COPY },
	{ "kernel", PROBE_COPY, PROBE_REJECT },
	{ "user", PROBE_REJECT, PROBE_COPY },
	SIMULATED(branch, PROBE_SIMULATE),
	SIMULATED(cond_branch, PROBE_SIMULATE),
	SIMULATED(compare_branch, PROBE_SIMULATE),
	SIMULATED(test_branch, PROBE_SIMULATE),
	SIMULATED(branch_reg, PROBE_SIMULATE),
	SIMULATED(adr, PROBE_SIMULATE),
	SIMULATED(load_literal, PROBE_REJECT),
};

/* Nothing is simulated here, but the functions are told apart by where they are. */
#define SIMULATION(name)						\
	bool probe_simulate_ ## name(u32 insn, unsigned long addr,	\
				     struct pt_regs *regs)		\
	{								\
		return insn == __LINE__;				\
	}

SIMULATION(branch)
SIMULATION(cond_branch)
SIMULATION(compare_branch)
SIMULATION(test_branch)
SIMULATION(branch_reg)
SIMULATION(adr)
SIMULATION(load_literal)

struct row {
	u32			mask, value;
	const struct verdict	*verdict;
	char			*name;
};

/* The first row of each is none at all. */
static struct row manual[MAX_ROWS] = { { .verdict = verdicts, .name = "no row" } };
static struct row decoder[MAX_ROWS] = { { .name = "no row" } };
static unsigned int nr_manual = 1, nr_decoder = 1;

/* How many words are in which two rows, and the first of them */
static unsigned long words[MAX_ROWS][MAX_ROWS];
static u32 first[MAX_ROWS][MAX_ROWS];

static const struct verdict *verdict_called(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verdicts); i++) {
		if (!strcmp(name, verdicts[i].name))
			return &verdicts[i];
	}
	errx(2, "there is no verdict \"%s\"", name);
}

static void read_row(char *line)
{
	struct row *row = &manual[nr_manual++];
	char *bits = strtok(line, "\t"), *verdict = strtok(NULL, "\t");
	int nr = 0;

	row->name = strdup(strtok(NULL, "\n") ?: "");
	for (; *bits; bits++) {
		if (*bits == ' ')
			continue;
		row->mask = row->mask << 1 | (*bits == '0' || *bits == '1');
		row->value = row->value << 1 | (*bits == '1');
		nr++;
	}
	if (nr != 32 || !verdict || nr_manual == MAX_ROWS)
		errx(2, "%d bits: %s", nr, row->name);
	row->verdict = verdict_called(verdict);
}

static void read_tables(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];
	unsigned int i;

	if (!file)
		err(2, "%s", path);
	while (fgets(line, sizeof(line), file)) {
		if (*line != '#' && *line != '\n')
			read_row(line);
	}
	fclose(file);

	if (probe_nr_classes >= MAX_ROWS)
		errx(2, "%u rows", probe_nr_classes);
	for (i = 0; i < probe_nr_classes; i++, nr_decoder++) {
		decoder[nr_decoder].mask = probe_classes[i].mask;
		decoder[nr_decoder].value = probe_classes[i].value;
		decoder[nr_decoder].name = (char *)probe_classes[i].name;
	}
}

/* The rows, in their order, that words with this upper half may be in, and then none. */
static void choose(unsigned short *chosen, const struct row *rows, unsigned int nr, u32 high)
{
	unsigned int i;

	for (i = 1; i < nr; i++) {
		if (!((high ^ rows[i].value) & rows[i].mask & 0xffff0000))
			*chosen++ = i;
	}
	*chosen = 0;
}

static unsigned int find(const unsigned short *chosen, const struct row *rows, u32 word)
{
	while ((word & rows[*chosen].mask) != rows[*chosen].value)
		chosen++;
	return *chosen;
}

static void fail(u32 word, const char *what)
{
	errx(1, "%08x: %s", word, what);
}

/*
 * The decoder's own functions take too long to be asked about each word, so mostly its
 * table is looked up instead. This is to find out should the two differ.
 */
static void ask(u32 word, unsigned int row)
{
	const struct probe_class *class = probe_classify(word);
	static const enum probe_insn expected[] = {
		[PROBE_REJECT] = INSN_REJECTED,
		[PROBE_COPY] = INSN_GOOD,
		[PROBE_SIMULATE] = INSN_GOOD_NO_SLOT,
	};
	struct arch_probe_insn asi = {};

	if (class != (row ? &probe_classes[row - 1] : NULL))
		fail(word, "probe_classify() finds another row");
	if (arm_probe_decode_insn(word, &asi) != expected[class ? class->uprobe : PROBE_REJECT])
		fail(word, "arm_probe_decode_insn() says otherwise");
	if (!asi.handler != !(class && class->uprobe == PROBE_SIMULATE))
		fail(word, "arm_probe_decode_insn() has the wrong handler");
}

static void walk(void)
{
	unsigned short ours[MAX_ROWS], theirs[MAX_ROWS];
	unsigned int o, t;
	u32 word = 0;

	do {
		if (!(word & 0xffff)) {
			choose(ours, decoder, nr_decoder, word);
			choose(theirs, manual, nr_manual, word);
		}
		o = find(ours, decoder, word);
		t = find(theirs, manual, word);
		if (!words[o][t]++)
			first[o][t] = word;
		if (words[o][t] == 1 || word % 61 == 0)
			ask(word, o);
		if (exclusive_of(word) != manual[t].verdict->exclusive)
			fail(word, "exclusive_of() says otherwise");
	} while (++word);
}

static bool agree(unsigned int o, const struct verdict *verdict)
{
	const struct probe_class *class = &probe_classes[o - 1];

	if (!o)
		return !verdict->kprobe && !verdict->uprobe;
	return class->kprobe == verdict->kprobe && class->uprobe == verdict->uprobe &&
	       class->simulate == verdict->simulate;
}

static int compare(void)
{
	unsigned int o, t, wrong = 0;

	for (o = 0; o < nr_decoder; o++) {
		for (t = 0; t < nr_manual; t++) {
			if (!words[o][t] || agree(o, manual[t].verdict))
				continue;
			printf("%08x and %lu more: decoder \"%s\", manual \"%s\": %s\n",
			       first[o][t], words[o][t] - 1, decoder[o].name,
			       manual[t].name, manual[t].verdict->name);
			wrong++;
		}
	}
	return wrong;
}

/* A row that no word is in is not one: it is wrong, or another hides it. */
static int find_idle(const struct row *rows, unsigned int nr, bool ours)
{
	unsigned int i, j, idle = 0;

	for (i = 1; i < nr; i++) {
		unsigned long n = 0;

		for (j = 0; j < MAX_ROWS; j++)
			n += ours ? words[i][j] : words[j][i];
		if (!n)
			printf("no word is in \"%s\"\n", rows[i].name);
		idle += !n;
	}
	return idle;
}

static void count(void)
{
	unsigned int v, o, t;

	for (v = 0; v < ARRAY_SIZE(verdicts); v++) {
		unsigned long n = 0;

		for (o = 0; o < nr_decoder; o++) {
			for (t = 0; t < nr_manual; t++)
				n += manual[t].verdict == &verdicts[v] ? words[o][t] : 0;
		}
		printf("%11lu %s\n", n, verdicts[v].name);
	}
}

static int check_all(void)
{
	int wrong;

	walk();
	count();
	wrong = compare();
	wrong += find_idle(decoder, nr_decoder, true) + find_idle(manual, nr_manual, false);
	printf("%u rows in the decoder, %u of the manual, %d wrong\n", nr_decoder - 1,
	       nr_manual - 1, wrong);
	return !!wrong;
}

static const char *verdict_on(const struct probe_class *class)
{
	unsigned int i;

	for (i = 0; class && i < ARRAY_SIZE(verdicts); i++) {
		if (class->kprobe && agree(class - probe_classes + 1, &verdicts[i]))
			return verdicts[i].name;
	}
	return "refused";
}

static void check_lines(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin))
		printf("%s\t%s", verdict_on(probe_classify(strtoul(line, NULL, 16))), line);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: arm64 TABLE [words]");
	read_tables(argv[1]);
	if (argc == 2)
		return check_all();
	check_lines();
	return 0;
}
