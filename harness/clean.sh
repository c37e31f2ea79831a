#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/clean.sh: remove what the harness built, keep what takes long to get again
# (build/pristine*, build/ccache, build/busybox-*).

. "${0%/*}/lib.sh"

for product in "$build"/*; do
	case ${product##*/} in
	pristine* | ccache | busybox-*)	;;
	*)	rm -rf "$product" ;;
	esac
done
rm -rf "$out"
say "build/ has the unpacked source and the compiler cache left (make distclean removes them too)"
