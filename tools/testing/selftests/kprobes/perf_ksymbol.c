// SPDX-License-Identifier: GPL-2.0
/*
 * What perf is told of new and changed text, without any library:
 *
 *	perf_ksymbol NAME ADDRESS COMMAND [ARGUMENT...]
 *
 * runs the command meanwhile, and then prints, in the order of events,
 *
 *	came ADDRESS SIZE	a page of instructions of that name is there
 *	went ADDRESS SIZE	it is gone
 *	text OLD NEW		the text at the address has changed: bytes before and after, in
 *				hex; - if there are none
 *	told N, lost N		how many records of text there were, at any address, and how
 *				many more there was no room for
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
#define MOST_RECORDS	65536

struct ksymbol_record {
	struct perf_event_header header;
	uint64_t address;
	uint32_t size;
	uint16_t type;
	uint16_t flags;
	char name[];
};

struct text_record {
	struct perf_event_header header;
	uint64_t address;
	uint16_t old_len;
	uint16_t new_len;
	uint8_t bytes[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id;
	uint64_t lost;
};

static struct perf_event_header *records[MOST_RECORDS];
static unsigned int nr_records;

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

/* Copies from a place in the ring, going on at the beginning after the end. */
static void copy_out(void *to, const struct perf_event_mmap_page *ring, uint64_t at, size_t len)
{
	const char *data = (const char *)ring + sysconf(_SC_PAGESIZE);
	size_t size = RING_PAGES * sysconf(_SC_PAGESIZE), i;

	for (i = 0; i < len; i++)
		((char *)to)[i] = data[(at + i) % size];
}

static void collect(const struct perf_event_mmap_page *ring)
{
	uint64_t at, head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header header;

	for (at = 0; at < head; at += header.size) {
		copy_out(&header, ring, at, sizeof(header));
		if (header.size < sizeof(header) || nr_records == MOST_RECORDS) {
			errno = EOVERFLOW;
			fail("records");
		}
		records[nr_records] = malloc(header.size);
		if (!records[nr_records])
			fail("memory");
		copy_out(records[nr_records++], ring, at, header.size);
	}
}

/* The time is the last field of a record, because nothing else is sampled. */
static uint64_t time_of(const struct perf_event_header *header)
{
	uint64_t when;

	memcpy(&when, (const char *)header + header->size - sizeof(when), sizeof(when));
	return when;
}

static int by_time(const void *a, const void *b)
{
	uint64_t first = time_of(*(struct perf_event_header * const *)a);
	uint64_t second = time_of(*(struct perf_event_header * const *)b);

	return first < second ? -1 : first > second;
}

static void print_bytes(const uint8_t *bytes, unsigned int len)
{
	printf(" ");
	if (!len)
		printf("-");
	while (len--)
		printf("%02x", *bytes++);
}

static void print_ksymbol(const struct ksymbol_record *record, const char *name)
{
	if (record->type != PERF_RECORD_KSYMBOL_TYPE_OOL || strcmp(record->name, name))
		return;
	printf("%s %llx %u\n",
	       record->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? "went" : "came",
	       (unsigned long long)record->address, record->size);
}

static void print_text(const struct text_record *record)
{
	printf("text");
	print_bytes(record->bytes, record->old_len);
	print_bytes(record->bytes + record->old_len, record->new_len);
	printf("\n");
}

static void print_all(const char *name, uint64_t address)
{
	unsigned long long told = 0, lost = 0;
	unsigned int i;

	for (i = 0; i < nr_records; i++) {
		const void *record = records[i];

		switch (records[i]->type) {
		case PERF_RECORD_KSYMBOL:
			print_ksymbol(record, name);
			break;
		case PERF_RECORD_TEXT_POKE:
			told++;
			if (((const struct text_record *)record)->address == address)
				print_text(record);
			break;
		case PERF_RECORD_LOST:
			lost += ((const struct lost_record *)record)->lost;
			break;
		}
	}
	printf("told %llu, lost %llu\n", told, lost);
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
	nr = open_rings(rings);
	status = run(argv + 3);
	for (i = 0; i < nr; i++)
		collect(rings[i]);
	qsort(records, nr_records, sizeof(*records), by_time);
	print_all(argv[1], strtoull(argv[2], NULL, 16));
	return status;
}
