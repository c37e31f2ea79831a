#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/kselftest.sh: build and install tools/testing/selftests/kprobes by the tree's own
# Makefiles, and put what that gives into the initramfs as /kselftest. The programs are static: the
# guest has no C library.

. "${0%/*}/lib.sh"

work=$build/kselftest-$(basename "$obj")
# shellcheck disable=SC2086
need make rsync $libc
rm -rf "$work"
run_logged "$(basename "$work")" "installing the kselftests" \
	make -C "$tree/tools/testing/selftests" O="$work/build" KSFT_INSTALL_PATH="$work/kselftest" \
	TARGETS=kprobes FORCE_TARGETS=1 ARCH="$kernel_arch" CROSS_COMPILE="$libc_cross" \
	USERLDFLAGS=-static install
EXTRA_DIRECTORIES=$work/kselftest "$harness/initramfs.sh"
