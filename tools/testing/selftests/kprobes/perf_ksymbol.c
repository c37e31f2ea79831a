// SPDX-License-Identifier: GPL-2.0
/*
 * What perf is told of new and changed text, without any library:
 *
 *	perf_ksymbol NAME ADDRESS COMMAND [ARGUMENT...]
 *
 * runs the command meanwhile, and then prints, each line with the time before it, and not in order,
 *
 *	came ADDRESS SIZE	a page of instructions of that name is there
 *	went ADDRESS SIZE	it is gone
 *	text OLD NEW		the text at the address has changed: bytes before and after, in
 *				hex; - if there are none
 *
 * and, at time 0,
 *
 *	told N			how many records of text there were, at any address
 *	lost N			how many more records there was no room for
 *
 * Exits with 4 if the kernel has no such events.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#define PROGRAM "perf_ksymbol"
#include "command.h"

#define RING_PAGES	128
#define MOST_PROCESSORS	64

struct record {
	struct perf_event_header header;
	uint64_t address;	/* of one that is lost: an id */
	union {
		struct {
			uint32_t size;
			uint16_t type;
			uint16_t flags;
			char name[];
		} ksymbol;
		struct {
			uint16_t old_len;
			uint16_t new_len;
			uint8_t bytes[];
		} text;
		uint64_t lost;
	};
};

static const char *name;
static uint64_t address;
static unsigned long long told, lost;

static int open_dummy(int processor)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.ksymbol = 1,
		.text_poke = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return open_event(&attr, processor);
}

static struct perf_event_mmap_page *map_ring(int fd)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *ring = mmap(NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		fail("ring");
	return ring;
}

/*
 * Records go to the ring of the processor where the event happens. It is not an error
 * if a processor has no ring because it is offline or does not exist.
 */
static unsigned int open_rings(struct perf_event_mmap_page **rings)
{
	unsigned int nr = 0;
	int processor, fd;

	for (processor = 0; processor < MOST_PROCESSORS; processor++) {
		fd = open_dummy(processor);
		if (fd >= 0)
			rings[nr++] = map_ring(fd);
		else if (errno == EACCES || errno == EPERM)
			fail("event");
	}
	return nr ? nr : missing("no such events here");
}

static void print_bytes(const uint8_t *bytes, unsigned int len)
{
	printf(" ");
	if (!len)
		printf("-");
	while (len--)
		printf("%02x", *bytes++);
}

/* The last field of a record, because nothing else is sampled */
static void print_time(const struct record *record)
{
	uint64_t when;

	memcpy(&when, (const char *)record + record->header.size - sizeof(when), sizeof(when));
	printf("%llu ", (unsigned long long)when);
}

static void print_ksymbol(const struct record *record)
{
	if (record->ksymbol.type != PERF_RECORD_KSYMBOL_TYPE_OOL ||
	    strcmp(record->ksymbol.name, name))
		return;
	print_time(record);
	printf("%s %llx %u\n",
	       record->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? "went" : "came",
	       (unsigned long long)record->address, record->ksymbol.size);
}

static void print_text(const struct record *record)
{
	told++;
	if (record->address != address)
		return;
	print_time(record);
	printf("text");
	print_bytes(record->text.bytes, record->text.old_len);
	print_bytes(record->text.bytes + record->text.old_len, record->text.new_len);
	printf("\n");
}

/* Nobody has told the kernel that records were read, so it has not begun the ring anew. */
static void print_ring(const struct perf_event_mmap_page *ring)
{
	const char *data = (const char *)ring + sysconf(_SC_PAGESIZE);
	uint64_t at, head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	const struct record *record;

	for (at = 0; at < head; at += record->header.size) {
		record = (const struct record *)(data + at);
		if (record->header.type == PERF_RECORD_KSYMBOL)
			print_ksymbol(record);
		else if (record->header.type == PERF_RECORD_TEXT_POKE)
			print_text(record);
		else if (record->header.type == PERF_RECORD_LOST)
			lost += record->lost;
	}
}

int main(int argc, char **argv)
{
	static struct perf_event_mmap_page *rings[MOST_PROCESSORS];
	unsigned int nr, i;
	int status;

	if (argc < 4) {
		fprintf(stderr, "perf_ksymbol NAME ADDRESS COMMAND...\n");
		return 2;
	}
	name = argv[1];
	address = strtoull(argv[2], NULL, 16);
	nr = open_rings(rings);
	status = run(argv + 3);
	for (i = 0; i < nr; i++)
		print_ring(rings[i]);
	printf("0 told %llu\n0 lost %llu\n", told, lost);
	return status;
}
