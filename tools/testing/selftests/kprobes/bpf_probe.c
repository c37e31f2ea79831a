// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches a BPF program to a kprobe, without any library:
 *
 *	bpf_probe p|r FUNCTION[+OFFSET] VALUE|- COMMAND [ARGUMENT...]
 *
 * runs the command meanwhile, and prints how often the program ran, which function
 * it was in as BPF tells it, and how the command ended. With r, the program runs when
 * the function returns. Unless VALUE is -, the function only returns that value. Exits
 * with 4 if the kernel cannot do this.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>

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
};

static int fail(const char *what)
{
	fprintf(stderr, "bpf_probe: %s: %s\n", what, strerror(errno));
	exit(2);
}

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

	if (fd < 0) {
		perror("bpf_probe: no BPF here");
		exit(4);
	}
	return fd;
}

static int load_program(int map, int overrides, int value)
{
	struct bpf_insn program[] = {
		MOVE(BPF_REG_6, BPF_REG_1),
		CALL(BPF_FUNC_get_func_ip),
		MOVE(BPF_REG_7, BPF_REG_0),
		/* r0 = the only element of the map */
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
		MOVE(BPF_REG_2, BPF_REG_10),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 3, 0),
		/* hits++, function = r7 */
		SET(BPF_REG_1, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD),
		INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_7, 8, 0),
		SET(BPF_REG_0, 0),
		EXIT(),
		/* In place of the last two, to override the function */
		SET(BPF_REG_2, value),
		CALL(BPF_FUNC_override_return),
		SET(BPF_REG_0, 0),
		EXIT(),
	};
	static char log[4096];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uintptr_t)program,
		.insn_cnt = sizeof(program) / sizeof(*program),
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd;

	if (overrides)
		memmove(&program[14], &program[15], 4 * sizeof(*program));
	if (overrides)
		program[13] = MOVE(BPF_REG_1, BPF_REG_6);
	attr.insn_cnt -= overrides ? 1 : 4;
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

	if (!file || fscanf(file, format, &number) != 1) {
		fprintf(stderr, "bpf_probe: no %s\n", path);
		exit(4);
	}
	fclose(file);
	return number;
}

static int attach(int program, char *place, int at_return)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = number_of(PMU "type", "%d"),
	};
	char *offset = strchr(place, '+');
	int fd;

	if (offset)
		*offset++ = 0;
	if (at_return)
		attr.config = 1ULL << number_of(PMU "format/retprobe", "config:%d");
	attr.config1 = (uintptr_t)place;
	attr.config2 = offset ? strtoul(offset, NULL, 0) : 0;
	fd = syscall(__NR_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		fail("probe");
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		fail("program on probe");
	return fd;
}

static int run(char **command)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid) {
		execvp(*command, command);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		fail("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

int main(int argc, char **argv)
{
	struct told told;
	int map, program, probe, status;

	if (argc < 5) {
		fprintf(stderr, "bpf_probe p|r FUNCTION[+OFFSET] VALUE|- COMMAND...\n");
		return 2;
	}
	map = create_map();
	program = load_program(map, strcmp(argv[3], "-"), atoi(argv[3]));
	probe = attach(program, argv[2], *argv[1] == 'r');
	status = run(argv + 4);
	told = ask(map);
	close(probe);
	printf("hits=%llu function=%llx status=%d\n", (unsigned long long)told.hits,
	       (unsigned long long)told.function, status);
	return 0;
}
