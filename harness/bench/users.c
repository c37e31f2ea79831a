// SPDX-License-Identifier: GPL-2.0
/*
 * What users of perf, BPF and tracefs pay, in instructions, under an emulator whose clock counts
 * these:
 *
 *	users FUNCTION FUNCTIONS [few]
 *
 * FUNCTION is what getppid() calls, FUNCTIONS a file of names of others. Prints what a probe adds
 * to a call, and what it takes to attach and detach one beside others (unless few), as
 *
 *	users: WHAT: INSTRUCTIONS
 *
 * where - stands for what the kernel does not have.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>

#define TRACING		"/sys/kernel/tracing/"
#define PMU		"/sys/bus/event_source/devices/kprobe/"
#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"

#define CALLS		1000
#define ROUNDS		7	/* of calls: the least of them has no interrupt in it */
#define TIMES		16	/* of attaching and detaching: the mean */
#define HANDLES		4096
#define ALL		1000	/* functions of one link */
#define MOST_FUNCTIONS	2000

static char *function, *functions[MOST_FUNCTIONS];
static int num_functions;

#ifdef __x86_64__

#define BODY_AT		9	/* behind a landing pad and ftrace's call */

static inline __u64 now(void)
{
	return __builtin_ia32_rdtsc();
}

#else

#define BODY_AT		12

static inline __u64 now(void)
{
	__u64 ticks, frequency;

	asm volatile("isb\n	mrs %0, cntvct_el0\n	mrs %1, cntfrq_el0"
		     : "=r" (ticks), "=r" (frequency));
	return ticks * (1000000000 / frequency);
}

#endif

static void die(const char *what)
{
	fprintf(stderr, "users: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND);
	int ret = fd < 0 ? -1 : write(fd, text, strlen(text));

	close(fd);
	return ret < 0 ? -1 : 0;
}

static int number_of(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	int number = 0;

	if (!file || fscanf(file, format, &number) != 1)
		die(path);
	fclose(file);
	return number;
}

/* A program that adds to a counter in a map */

static int map, program, program_for_many;
static volatile __u64 *counter;

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static void create_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(__u32),
		.value_size = sizeof(*counter),
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};

	map = bpf(BPF_MAP_CREATE, &attr);
	counter = mmap(NULL, sizeof(*counter), PROT_READ, MAP_SHARED, map, 0);
	if (counter == MAP_FAILED)
		die("map");
}

static int load(int attach_type)
{
	struct bpf_insn insns[] = {
		{ BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, map }, { },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 1 },
		{ BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_1, BPF_REG_2, 0, BPF_ADD },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.expected_attach_type = attach_type,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(*insns),
		.license = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* What is attached has a handle. That of a probe is its event's file, to which a link belongs. */

static int links[HANDLES];
static int type;
static __u64 return_bit;

static int open_event(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	return syscall(__NR_perf_event_open, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* As libbpf attaches programs to probes */
static int open_probe(const char *name, int offset, int at_return)
{
	struct perf_event_attr event = {
		.type = type,
		.config = at_return ? return_bit : 0,
		.config1 = (uintptr_t)name,
		.config2 = offset,
	};
	int fd = open_event(&event);
	union bpf_attr attr = {
		.link_create.prog_fd = program,
		.link_create.target_fd = fd,
		.link_create.attach_type = BPF_PERF_EVENT,
	};

	if (fd < 0)
		return -1;
	links[fd] = bpf(BPF_LINK_CREATE, &attr);
	if (links[fd] < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		die("program on a probe");
	return fd;
}

static void close_probe(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	close(fd);
	close(links[fd]);
}

static int open_many(char **names, int num, int flags)
{
	union bpf_attr attr = {
		.link_create.prog_fd = program_for_many,
		.link_create.attach_type = BPF_TRACE_KPROBE_MULTI,
		.link_create.kprobe_multi.flags = flags,
		.link_create.kprobe_multi.cnt = num,
		.link_create.kprobe_multi.syms = (uintptr_t)names,
	};

	return bpf(BPF_LINK_CREATE, &attr);
}

static int create(char kind, const char *name, const char *arguments)
{
	static int number;
	char text[512];

	snprintf(text, sizeof(text), "%c:users/e%d %s%s\n", kind, ++number, name, arguments);
	return write_file(TRACING "kprobe_events", text) ? -1 : number;
}

static void delete_event(int number)
{
	char text[64];

	snprintf(text, sizeof(text), "-:users/e%d\n", number);
	if (write_file(TRACING "kprobe_events", text))
		die(text);
}

enum what { ENTRY, BODY, RETURN, MULTI, MULTI_RETURN, MULTI_ALL, DUMMY, EVENT, TWO, EVENT_RETURN };

/* Returns a handle, or -1. */
static int attach(enum what what, char *name)
{
	struct perf_event_attr dummy = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};

	switch (what) {
	case ENTRY:
		return open_probe(name, 0, 0);
	case BODY:
		return open_probe(name, BODY_AT, 0);
	case RETURN:
		return open_probe(name, 0, 1);
	case MULTI:
		return open_many(&name, 1, 0);
	case MULTI_RETURN:
		return open_many(&name, 1, BPF_F_KPROBE_MULTI_RETURN);
	case MULTI_ALL:
		return open_many(functions, ALL, 0);
	case DUMMY:
		return open_event(&dummy);
	case EVENT:
		return create('p', name, "");
	case TWO:
		return create('p', name, " $arg1 $arg2");
	case EVENT_RETURN:
		return create('r', name, "");
	}
	return -1;
}

static void detach(enum what what, int handle)
{
	if (what >= EVENT)
		delete_event(handle);
	else if (what >= MULTI)
		close(handle);
	else
		close_probe(handle);
}

static int num_hits(enum what what)
{
	return what < EVENT ? (int)*counter : number_of(TRACING "kprobe_profile", "%*s %d");
}

static __u64 time_calls(void)
{
	__u64 least = ~0ULL, begin, took;
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		begin = now();
		for (i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		took = now() - begin;
		least = took < least ? took : least;
	}
	return least;
}

static void measure_hits(const char *title, enum what what, const char *optimized)
{
	__u64 plain = time_calls(), took;
	int handle, before;

	write_file(OPTIMIZATION, optimized);
	handle = attach(what, function);
	if (handle < 0) {
		printf("users: %s: -\n", title);
		return;
	}
	if (what >= EVENT && write_file(TRACING "events/users/enable", "1"))
		die(title);
	/* A jump comes some time later. */
	sleep(3);
	before = num_hits(what);
	took = time_calls();
	if (num_hits(what) - before != ROUNDS * CALLS)
		die(title);
	printf("users: %s: %.1f\n", title, (double)(took - plain) / CALLS);
	if (what >= EVENT)
		write_file(TRACING "events/users/enable", "0");
	detach(what, handle);
	sleep(1);
}

/* At the next function that can be probed */
static int attach_next(enum what what, __u64 *took)
{
	static int next;
	__u64 begin;
	int handle, tries;

	for (tries = 0; tries < num_functions; tries++) {
		begin = now();
		handle = attach(what, functions[next++ % num_functions]);
		if (handle >= 0) {
			*took += now() - begin;
			return handle;
		}
	}
	return -1;
}

/* Returns what it took to attach one. */
static double measure_one(const char *title, enum what what, int others, int times)
{
	__u64 attached = 0, detached = 0, begin;
	int i, handle;

	for (i = 0; i < times; i++) {
		handle = attach_next(what, &attached);
		if (handle < 0) {
			printf("users: attach %s, beside %d: -\n", title, others);
			printf("users: detach %s, beside %d: -\n", title, others);
			return 0;
		}
		begin = now();
		detach(what, handle);
		detached += now() - begin;
		usleep(200000);
	}
	printf("users: attach %s, beside %d: %.0f\n", title, others, (double)attached / times);
	printf("users: detach %s, beside %d: %.0f\n", title, others, (double)detached / times);
	return (double)attached / times;
}

/* Beside as many others as LEVELS say, which end with 0 */
static void measure_some(const char *title, enum what what, const int *levels, int times)
{
	static int handles[HANDLES];
	double first = 0, last = 0;
	int i, num = 0;
	__u64 took;

	for (i = 0; !i || levels[i]; i++) {
		while (num < levels[i])
			handles[num++] = attach_next(what, &took);
		last = measure_one(title, what, num, times);
		first = i ? first : last;
	}
	if (i > 1)
		printf("users: attach %s, growth for each: %.1f\n", title,
		       (last - first) / (num - levels[0]));
	while (num)
		detach(what, handles[--num]);
}

static void read_functions(const char *path)
{
	FILE *file = fopen(path, "r");
	char name[256];

	while (file && num_functions < MOST_FUNCTIONS && fscanf(file, "%255s", name) == 1)
		functions[num_functions++] = strdup(name);
	if (num_functions < ALL)
		die(path);
	fclose(file);
}

int main(int argc, char **argv)
{
	static const int growing[] = { 1, 250, 1000, 0 }, many[] = { 500, 0 }, none[] = { 0 };
	const struct rlimit limit = { HANDLES, HANDLES };

	if (argc < 3 || setrlimit(RLIMIT_NOFILE, &limit))
		die("users FUNCTION FUNCTIONS [few]");
	setlinebuf(stdout);
	function = argv[1];
	read_functions(argv[2]);
	type = number_of(PMU "type", "%d");
	return_bit = 1ULL << number_of(PMU "format/retprobe", "config:%d");
	create_map();
	program = load(0);
	program_for_many = load(BPF_TRACE_KPROBE_MULTI);
	if (program < 0)
		die("BPF");

	measure_hits("BPF, function entry", ENTRY, "1");
	measure_hits("BPF, jump", BODY, "1");
	measure_hits("BPF, breakpoint", BODY, "0");
	measure_hits("BPF, return", RETURN, "1");
	measure_hits("BPF, entry by kprobe.multi", MULTI, "1");
	measure_hits("BPF, return by kprobe.multi", MULTI_RETURN, "1");
	measure_hits("event of tracefs, no arguments", EVENT, "1");
	measure_hits("event of tracefs, two arguments", TWO, "1");
	measure_hits("event of tracefs, return", EVENT_RETURN, "1");
	measure_some("BPF program to a probe", ENTRY, argc > 3 ? none : growing, TIMES);
	measure_some("perf event without a probe", DUMMY, argc > 3 ? none : growing, TIMES);
	measure_some("event of tracefs", EVENT, argc > 3 ? none : many, TIMES);
	measure_some("kprobe.multi to 1,000 functions", MULTI_ALL, none, 3);
	return 0;
}
