#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/upstream.sh: put the pristine tree's lib/test_kprobes.c in the place of ours in the
# finished kernel; the result is in build/$ARCH-upstream.
#
# That is done in a copy of the O= directory, where a source file goes before the one in the source
# tree.

. "${0%/*}/lib.sh"

theirs=$build/$ARCH-upstream
say "relinking the kernel with the pristine lib/test_kprobes.c"
copy_objects "$obj" "$theirs"
rm -f "$theirs"/lib/.test_kprobes.o.cmd "$theirs"/lib/test_kprobes*.o
cp "$pristine/lib/test_kprobes.c" "$theirs/lib/"
"$harness/build.sh" "$tree" "$theirs"
"$harness/initramfs.sh" "$tree" "$theirs"
