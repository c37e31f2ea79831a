// SPDX-License-Identifier: GPL-2.0
/*
 * Has the decoder of x86 look at random bytes: at the end of what can be read, with nothing
 * behind its buffers either.
 *
 *	x86-random SEED CASES
 *
 * To be compiled with -fsanitize=address,undefined. What it finds is of that case of the seed.
 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "x86.h"

#define TEXT_ADDR	0x81000000UL
#define MAX_TEXT	400
#define FUNCTION_EVERY	64

static unsigned long seed, nr_cases, this_case, state, decoded;

/* Pages behind which there is none. */
static u8 *text_end, *buf_end, *image_end;

static unsigned long random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dUL >> 16;
}

static unsigned int random_below(unsigned int n)
{
	return random_bits() % n;
}

static void show_case(void)
{
	char line[3 * 2 * MAX_INSN_SIZE + 100];
	int length = snprintf(line, sizeof(line), "seed %lu, case %lu:", seed, this_case);
	size_t i;

	for (i = 0; i < text.size && i < 2 * MAX_INSN_SIZE; i++)
		length += sprintf(line + length, " %02x", text.bytes[i]);
	line[length++] = '\n';
	if (write(STDOUT_FILENO, line, length) < 0)
		_exit(2);
}

static void handle_fault(int signal)
{
	static const char what[] = "it reads or writes what is not there\n";

	show_case();
	_exit(write(STDOUT_FILENO, what, sizeof(what) - 1) < 0 ? 2 : 1);
}

/* The sanitizer's, called before it reports. */
void __asan_on_error(void)
{
	show_case();
}

static void fail(const char *what)
{
	show_case();
	printf("%s\n", what);
	exit(1);
}

static u8 *map_before_nothing(void)
{
	u8 *page = mmap(NULL, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || mprotect(page + PAGE_SIZE, PAGE_SIZE, PROT_NONE))
		err(2, "mmap");
	return page + PAGE_SIZE;
}

/* Mostly what leads to the less common ones; they would be rare. */
static void fill_text(size_t size)
{
	static const u8 starts[][3] = {
		{ 1, 0x0f }, { 2, 0x0f, 0x38 }, { 2, 0x0f, 0x3a }, { 1, 0xc4 }, { 1, 0xc5 },
		{ 1, 0x62 }, { 1, 0xd5 }, { 1, 0x48 }, { 1, 0x66 }, { 1, 0x67 }, { 1, 0xf2 },
		{ 1, 0xf3 }, { 1, 0xf0 }, { 1, 0x2e }, { 1, 0x65 }, { 1, 0xff }, { 1, 0xfb },
	};
	u8 *bytes = text_end - size;
	const u8 *start;
	size_t at;

	text.bytes = bytes;
	text.size = size;
	text.addr = TEXT_ADDR + PAGE_SIZE - size;
	for (at = 0; at < size; at++)
		bytes[at] = random_bits();
	for (at = 0; at < size && random_below(4); at += start[0]) {
		start = starts[random_below(ARRAY_SIZE(starts))];
		memcpy(bytes + at, start + 1, start[0] < size - at ? start[0] : size - at);
	}
}

/* As judge() has it, but with a buffer that has no room for more than there is. */
static bool decode(struct insn *insn, unsigned long addr)
{
	size_t left = text.addr + text.size - addr;
	u8 *buf = buf_end - (left < MAX_INSN_SIZE ? left : MAX_INSN_SIZE);
	int ret = kprobe_decode(insn, buf, addr);

	if (ret && ret != -EILSEQ)
		fail("it cannot be read");
	if (!ret && (!insn->length || insn->length > left || insn->length > MAX_INSN_SIZE))
		fail("it is longer than can be");
	return !ret;
}

/* With a byte less it is none, which is seen by a text that is as short. */
static void cut_off(const struct insn *insn)
{
	const struct insn whole = *insn;
	const u8 *bytes = text.bytes;
	struct insn part;

	if (whole.emulate_prefix_size || whole.length == 1)
		return;
	text.size = 1 + random_below(whole.length - 1);
	text.bytes = memmove(text_end - text.size, bytes, text.size);
	text.addr = TEXT_ADDR + PAGE_SIZE - text.size;
	if (decode(&part, text.addr))
		fail("it is decoded although it is cut off");
}

static void make_copies(struct judgement *j)
{
	u8 *copy = image_end - j->insn.length;

	if (!kprobe_relocate(copy, &j->insn, text.addr, text.addr - PAGE_SIZE) &&
	    !j->emulation.memory && !insn_rip_relative(&j->insn) &&
	    memcmp(copy, text.bytes, j->insn.length))
		fail("its copy is another one");
}

static void try_one(void)
{
	struct judgement j;
	struct insn insn;

	fill_text(1 + random_below(2 * MAX_INSN_SIZE));
	if (!decode(&insn, text.addr))
		return;
	decoded++;
	if (!judge(&j, text.addr) || j.insn.length != insn.length)
		fail("it depends on the buffer");
	if (!is_refused(&j))
		make_copies(&j);
	cut_off(&insn);
}

/* What goes through a function finds the same as what looks at one address. */
static void try_function(void)
{
	struct kprobe_function f = { };
	unsigned long addr, end;
	struct insn insn;

	fill_text(MAX_INSN_SIZE + random_below(MAX_TEXT));
	f.start = text.addr;
	f.decoded = text.addr;
	f.end = text.addr + text.size;
	f.map_longs = BITS_TO_LONGS(text.size);
	f.bytes = calloc(KPROBE_NR_BYTES * f.map_longs, sizeof(long));
	if (!f.bytes)
		err(2, NULL);
	kprobe_decode_until(&f, f.end);
	end = f.decoded;
	for (addr = f.start; addr < end; addr += insn.length) {
		if (!kprobe_byte_is(&f, addr, KPROBE_BYTE_INSN) || !decode(&insn, addr))
			fail("there is no such instruction in the function");
	}
	if (addr != end || (end < f.end && decode(&insn, end)))
		fail("the function's instructions end elsewhere");
	free(f.bytes);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: x86-random SEED CASES");
	seed = strtoul(argv[1], NULL, 0);
	nr_cases = strtoul(argv[2], NULL, 0);
	state = seed * 0x9e3779b97f4a7c15UL + 1;
	text_end = map_before_nothing();
	buf_end = map_before_nothing();
	image_end = map_before_nothing();
	signal(SIGSEGV, handle_fault);
	signal(SIGBUS, handle_fault);

	for (this_case = 0; this_case < nr_cases; this_case++) {
		if (this_case % FUNCTION_EVERY)
			try_one();
		else
			try_function();
	}
	if (decoded < nr_cases / 4)
		errx(1, "seed %lu: only %lu are decoded", seed, decoded);
	printf("seed %lu: %lu cases, %lu of them decoded\n", seed, nr_cases, decoded);
	return 0;
}
