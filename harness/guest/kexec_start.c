// SPDX-License-Identifier: GPL-2.0
/*
 * kexec_start KERNEL COMMAND-LINE: start another kernel in place of this one, at
 * once. Returns only if that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load(int kernel, const char *command_line)
{
#ifdef SYS_kexec_file_load
	return syscall(SYS_kexec_file_load, kernel, -1, strlen(command_line) + 1,
		       command_line, (unsigned long)KEXEC_FILE_NO_INITRAMFS);
#else
	errno = EOPNOTSUPP;
	return -1;
#endif
}

int main(int argc, char **argv)
{
	int kernel;

	if (argc != 3) {
		fprintf(stderr, "usage: %s KERNEL COMMAND-LINE\n", argv[0]);
		return 2;
	}
	kernel = open(argv[1], O_RDONLY);
	if (kernel < 0) {
		perror(argv[1]);
		return 1;
	}
	if (load(kernel, argv[2])) {
		perror("kexec_file_load");
		return 1;
	}
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
		LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("reboot");
	return 1;
}
