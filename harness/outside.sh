#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/outside.sh DIRECTORY [SOURCE [OBJ]]: build the modules of harness/DIRECTORY with a
# finished kernel, as users build theirs, and put them into its initramfs. For SOURCE and OBJ see
# build.sh.

. "${0%/*}/lib.sh"

directory=$1 source=${2:-$tree} obj=${3:-$obj}
work=$build/$directory-$(basename "$obj")
rm -rf "$work"
cp -r "$harness/$directory" "$work"
run_logged "$(basename "$work")" "building the modules of harness/$directory" \
	kernel_make "$source" "$obj" "M=$work" modules
EXTRA_MODULES=$(echo "$work"/*.ko) "$harness/initramfs.sh" "$source" "$obj"
