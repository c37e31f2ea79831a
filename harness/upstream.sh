#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/upstream.sh: put the pristine tree's test_kprobes.c in the place of ours in the
# finished kernel, and its trace_kprobe.c in the place of the one that the series changes; the result
# is in build/$ARCH-upstream.
#
# That is done in a copy of the O= directory, where a source file goes before the one in the source
# tree.

. "${0%/*}/lib.sh"

theirs=$build/$ARCH-upstream
say "relinking the kernel with the pristine test_kprobes.c and trace_kprobe.c"
copy_objects "$obj" "$theirs"
for file in lib/test_kprobes kernel/trace/trace_kprobe; do
	rm -f "$theirs/${file%/*}/.${file##*/}.o.cmd" "$theirs/$file.o"
	cp "$pristine/$file.c" "$theirs/$file.c" 2>/dev/null || cp "$(upstream_test)" "$theirs/$file.c"
done
"$harness/build.sh" "$tree" "$theirs"
"$harness/initramfs.sh" "$tree" "$theirs"
