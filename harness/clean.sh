#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/clean.sh: remove what the harness built, keep what takes long to get again
# (build/pristine, build/ccache, build/busybox-arm64).

. "${0%/*}/lib.sh"

for product in tree tree.files tree.lock stage files. rootfs- series bench x86_64 arm64 base-; do
	rm -rf "$build/$product"*
done
rm -rf "$out"
say "build/ has the unpacked source and the compiler cache left (make distclean removes them too)"
