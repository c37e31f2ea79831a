// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches a BPF program to a kprobe, without any library:
 *
 *	bpf_probe KIND PLACE VALUE|keep|- COMMAND [ARGUMENT...]
 *
 * runs the command meanwhile, and prints how often the program ran, how often the kernel says that
 * it was missed, which function it was in and what its cookie is as BPF tells it, how many runs
 * BPF's statistics have, how many hits perf counted, and how the command ended. With a VALUE the
 * function only returns that. With keep, the program leaves its hits to perf, and the command has
 * the CPU where perf counts. Exits with 4 if the kernel cannot do this. Kinds are
 *
 *	p	a probe at PLACE, which is FUNCTION[+OFFSET]
 *	r	a return probe of FUNCTION
 *	e	the probe event of tracefs whose number is PLACE
 *	m	a link for many functions, with one
 *	s	the same for their returns
 *
 *	bpf_probe update NUMBER
 *
 * updates a map so often from user space, during which no program runs.
 *
 *	bpf_probe links FUNCTION NUMBER
 *
 * has so many links for many there, for entries and returns in turn, for a while, and prints how
 * often the program had run when all were closed, how often some time later, and how many
 * milliseconds closing them took.
 */
#include <stdint.h>
#include <sys/ioctl.h>
#include <time.h>

#include <linux/bpf.h>

#define PROGRAM "bpf_probe"
#include "command.h"

#define PMU	"/sys/bus/event_source/devices/kprobe/"

#define INSN(c, d, s, o, i)	\
	((struct bpf_insn) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOVE(d, s)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define SET(d, value)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, value)
#define CALL(function)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define EXIT()			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Written by the program when it runs */
struct told {
	uint64_t hits;
	uint64_t function;
	uint64_t cookie;
};

#define COOKIE	0xc00c1e

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static int create_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(struct told),
		.max_entries = 1,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	return fd < 0 ? missing("no BPF here") : fd;
}

static struct bpf_insn program[1024];
static unsigned int length;

static void add(struct bpf_insn insn)
{
	program[length++] = insn;
}

/* So often it asks for the time, for interrupts to come on top. */
#define DALLIES	400

static void write_program(int map, const char *does)
{
	int keeps = !strcmp(does, "keep");
	unsigned int jump, i;

	length = 0;
	add(MOVE(BPF_REG_6, BPF_REG_1));
	add(CALL(BPF_FUNC_get_func_ip));
	add(MOVE(BPF_REG_7, BPF_REG_0));
	add(MOVE(BPF_REG_1, BPF_REG_6));
	add(CALL(BPF_FUNC_get_attach_cookie));
	add(MOVE(BPF_REG_8, BPF_REG_0));
	/* r0 = the only element of the map */
	add(INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0));
	add(MOVE(BPF_REG_2, BPF_REG_10));
	add(INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4));
	add(INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map));
	add(INSN(0, 0, 0, 0, 0));
	add(CALL(BPF_FUNC_map_lookup_elem));
	jump = length;
	add(INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, 0));
	/* hits++, function = r7, cookie = r8 */
	add(SET(BPF_REG_1, 1));
	add(INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD));
	add(INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_7, 8, 0));
	add(INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_8, 16, 0));
	for (i = 0; i < DALLIES; i++)
		add(CALL(BPF_FUNC_ktime_get_ns));
	if (!keeps && strcmp(does, "-")) {
		add(MOVE(BPF_REG_1, BPF_REG_6));
		add(SET(BPF_REG_2, atoi(does)));
		add(CALL(BPF_FUNC_override_return));
	}
	program[jump].off = length - jump - 1;
	add(SET(BPF_REG_0, keeps));
	add(EXIT());
}

static int load_program(int map, int for_many, const char *does)
{
	static char log[1 << 18];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.expected_attach_type = for_many ? BPF_TRACE_KPROBE_MULTI : 0,
		.insns = (uintptr_t)program,
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd;

	write_program(map, does);
	attr.insn_cnt = length;
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		fprintf(stderr, "%s", log);
	return fd < 0 ? fail("program") : fd;
}

/* Reads a number from a file of the PMU. The format also has what comes before it. */
static int number_of(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	int number;

	if (!file || fscanf(file, format, &number) != 1)
		missing(path);
	fclose(file);
	return number;
}

/* The event of perf's, which counts on this CPU. A link for many has none. */
static int event_fd = -1;
#define COUNTS_ON	0

/* Returns a link of the program to an event of perf's. */
static int link_to(struct perf_event_attr *event, int program)
{
	union bpf_attr attr = { };
	int link;

	event_fd = open_event(event, COUNTS_ON);
	if (event_fd < 0)
		fail("probe");
	attr.link_create.prog_fd = program;
	attr.link_create.target_fd = event_fd;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = COOKIE;
	link = bpf(BPF_LINK_CREATE, &attr);
	if (link < 0 || ioctl(event_fd, PERF_EVENT_IOC_ENABLE, 0))
		fail("program on probe");
	return link;
}

static void stay_where_it_counts(void)
{
	unsigned long mask = 1UL << COUNTS_ON;

	if (syscall(__NR_sched_setaffinity, 0, sizeof(mask), &mask))
		fail("CPU");
}

static uint64_t kept(void)
{
	uint64_t count = 0;

	if (event_fd >= 0 && read(event_fd, &count, sizeof(count)) != sizeof(count))
		fail("count");
	return count;
}

static int attach_to_probe(int program, char *place, int at_return)
{
	struct perf_event_attr event = { .type = number_of(PMU "type", "%d") };
	char *offset = strchr(place, '+');

	if (offset)
		*offset++ = 0;
	if (at_return)
		event.config = 1ULL << number_of(PMU "format/retprobe", "config:%d");
	event.config1 = (uintptr_t)place;
	event.config2 = offset ? strtoul(offset, NULL, 0) : 0;
	return link_to(&event, program);
}

static int attach_to_event(int program, const char *number)
{
	struct perf_event_attr event = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = strtoul(number, NULL, 0),
		.sample_period = 1,
	};

	return link_to(&event, program);
}

static int attach_to_many(int program, const char *function, int at_return)
{
	uint64_t cookie = COOKIE;
	union bpf_attr attr = { };
	int link;

	attr.link_create.prog_fd = program;
	attr.link_create.attach_type = BPF_TRACE_KPROBE_MULTI;
	attr.link_create.kprobe_multi.flags = at_return ? BPF_F_KPROBE_MULTI_RETURN : 0;
	attr.link_create.kprobe_multi.cnt = 1;
	attr.link_create.kprobe_multi.syms = (uintptr_t)&function;
	attr.link_create.kprobe_multi.cookies = (uintptr_t)&cookie;
	link = bpf(BPF_LINK_CREATE, &attr);
	if (link >= 0)
		return link;
	return errno == EOPNOTSUPP ? missing("no links for many here") : fail("link for many");
}

static int attach(int program, char kind, char *place)
{
	switch (kind) {
	case 'p':
	case 'r':
		return attach_to_probe(program, place, kind == 'r');
	case 'e':
		return attach_to_event(program, place);
	case 'm':
	case 's':
		return attach_to_many(program, place, kind == 's');
	}
	errno = EINVAL;
	return fail("kind");
}

/* What is looked at of struct bpf_link_info, which ends earlier in older headers */
struct link_info {
	uint32_t type, id, program, pad;
	union {
		struct {
			uint64_t addresses;
			uint32_t count, flags;
			uint64_t missed;
		} many;
		struct {
			uint32_t type, pad;
			uint64_t name;
			uint32_t name_length, offset;
			uint64_t address, missed;
		} event;
	};
};

static void get_info(int fd, void *info, unsigned int size)
{
	union bpf_attr attr = { };

	attr.info.bpf_fd = fd;
	attr.info.info = (uintptr_t)info;
	attr.info.info_len = size;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		fail("info");
}

static uint64_t missed_by(int link, char kind)
{
	struct link_info info = { };

	get_info(link, &info, sizeof(info));
	return kind == 'm' || kind == 's' ? info.many.missed : info.event.missed;
}

static uint64_t runs_of(int program)
{
	struct bpf_prog_info info = { };

	get_info(program, &info, sizeof(info));
	return info.run_cnt;
}

/* Only of some kinds of maps; an array is none of them. */
static int update(int times)
{
	uint64_t value = 0;
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = sizeof(key),
		.value_size = sizeof(value),
		.max_entries = 1,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		fail("map");
	attr = (union bpf_attr) {
		.map_fd = fd,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};
	while (times-- > 0)
		if (bpf(BPF_MAP_UPDATE_ELEM, &attr))
			fail("update");
	return 0;
}

static struct told ask(int map)
{
	struct told told;
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&told,
	};

	if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		fail("element");
	return told;
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

#define A_WHILE		100000	/* microseconds */

static int come_and_go(const char *function, int number)
{
	int map = create_map(), program = load_program(map, 1, "-"), links[number], i;
	uint64_t began, took;
	struct told told;

	for (i = 0; i < number; i++)
		links[i] = attach_to_many(program, function, i % 2);
	usleep(A_WHILE);
	began = milliseconds();
	for (i = 0; i < number; i++)
		close(links[i]);
	took = milliseconds() - began;
	told = ask(map);
	usleep(A_WHILE);
	printf("hits=%llu later=%llu took=%llu\n", (unsigned long long)told.hits,
	       (unsigned long long)ask(map).hits, (unsigned long long)took);
	return 0;
}

int main(int argc, char **argv)
{
	int map, program, link, status;
	struct told told;
	char kind;

	if (argc == 3 && !strcmp(argv[1], "update"))
		return update(atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "links"))
		return come_and_go(argv[2], atoi(argv[3]));
	if (argc < 5) {
		fprintf(stderr, "bpf_probe p|r|e|m|s PLACE VALUE|keep|- COMMAND...\n");
		return 2;
	}
	kind = *argv[1];
	map = create_map();
	program = load_program(map, kind == 'm' || kind == 's', argv[3]);
	link = attach(program, kind, argv[2]);
	if (!strcmp(argv[3], "keep"))
		stay_where_it_counts();
	status = run(argv + 4);
	told = ask(map);
	printf("hits=%llu missed=%llu function=%llx cookie=%llx runs=%llu kept=%llu status=%d\n",
	       (unsigned long long)told.hits, (unsigned long long)missed_by(link, kind),
	       (unsigned long long)told.function, (unsigned long long)told.cookie,
	       (unsigned long long)runs_of(program), (unsigned long long)kept(), status);
	close(link);
	return 0;
}
