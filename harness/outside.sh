#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/outside.sh: build the modules of harness/outside with the finished kernel, as users build
# theirs, and put them into its initramfs. guest/outside.sh looks at what they do.

. "${0%/*}/lib.sh"

outside=$build/outside-$(basename "$obj")
rm -rf "$outside"
cp -r "$harness/outside" "$outside"
run_logged "outside-$(basename "$obj")" "building modules from outside" \
	kernel_make "$tree" "$obj" "M=$outside" modules
EXTRA_MODULES=$(echo "$outside"/*.ko) "$harness/initramfs.sh"
