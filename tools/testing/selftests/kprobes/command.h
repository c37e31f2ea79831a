/* SPDX-License-Identifier: GPL-2.0 */
/* For programs that run a command while they watch the kernel. PROGRAM is their name. */
#ifndef _KPROBES_SELFTESTS_COMMAND_H
#define _KPROBES_SELFTESTS_COMMAND_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/perf_event.h>

static inline int give_up(int status, const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", PROGRAM, what, strerror(errno));
	exit(status);
}

static inline int fail(const char *what)
{
	return give_up(2, what);
}

/* The kernel cannot do this. */
static inline int missing(const char *what)
{
	return give_up(4, what);
}

static inline int open_event(struct perf_event_attr *attr, int processor)
{
	attr->size = sizeof(*attr);
	return syscall(__NR_perf_event_open, attr, -1, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

static inline int run(char **command)
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

#endif /* _KPROBES_SELFTESTS_COMMAND_H */
