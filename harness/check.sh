#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/check.sh [checkpatch]: checkpatch --strict on out/series, and with the argument no more;
# then gcc's W=1 warnings, sparse and kernel-doc on the files that are ours, what our assembly must
# not do, what W=1 and sparse say of the tree's files that we patch and not of the pristine ones, and
# how many lines there are.
# Status 1 when any has something to say.
#
# FILE_PATH_CHANGES is left out: the series updates MAINTAINERS in a patch of its own.

. "${0%/*}/lib.sh"

obj=$build/$ARCH-check
log=$out/logs/check-build.log
status=0

complaints()	# WHAT COMMAND...: what the command prints is complaints
{
	what=$1
	shift
	("$@") >"$out/complaints"
	say "$what: $(grep -cE 'warning:|error:|WARNING:|ERROR:|CHECK:' "$out/complaints" || :) complaints"
	[ ! -s "$out/complaints" ] || status=1
	cat "$out/complaints"
}

unknown()
{
	grep -v -E -f "$build/check-known" || :
}

checkpatch()
{
	cd "$tree"
	for patch in "$out"/series/*.patch; do
		case $patch in
		*/0000-*)	continue ;;
		esac
		perl scripts/checkpatch.pl --strict --terse --showfile --quiet --no-summary \
			--ignore FILE_PATH_CHANGES "$patch" 2>&1 || :
	done | unknown
}

# harness/check-known as expressions that match a complaint, wherever in the file it stands.
known()
{
	sed '/^#/d; /^$/d; s/[][().*^$+?{}|\\]/\\&/g; s/: /:[0-9:]+: /' "$harness/check-known" >"$build/check-known"
}

sparse()
{
	ours_only "$log" | unknown
}

kernel_doc()
{
	cd "$tree"
	grep -E '^(include|kernel|arch)/.*\.[ch]$' "$build/files.ours" | xargs -r scripts/kernel-doc -none -Wall 2>&1 || :
}

lines()		# PATTERN WHY [OPTION...]: of our assembly for x86_64
{
	pattern=$1 why=$2
	shift 2
	(cd "$tree" && for file in arch/x86/kernel/kprobes/*.S; do
		sed '/^#include/d' "$file" | gcc -E -P -DCONFIG_X86_64 "$@" -x assembler-with-cpp - |
			grep -E "^[[:space:]]*($pattern)" | sed "s,^,$file:,; s/\$/: WARNING: $why/"
	done) || :
}

# Xen's PV guests cannot execute the first; and with kCFI, FineIBT moves the landing pads of functions.
assembly()
{
	lines 'iret|sysret|sysexit|swapgs' "it is for entry code"
	lines 'CALL_NOSPEC|JMP_NOSPEC|(call|jmp)q?[[:space:]]*\*' "an indirect branch" \
		-DCONFIG_CFI_CLANG -DCONFIG_CFI
}

# The patched files of this architecture, and what is for all
patched_objects()
{
	sed -nE "s,^((${kernel_image%/boot/*}|drivers|init|kernel|lib|mm)/.*)\\.c\$,\\1.o,p" "$build/files.patched"
}

# What W=1 and sparse say of files in SOURCE, without the lines' numbers
say_of()	# SOURCE OBJ OBJECT...
{
	VARIANT=plain "$harness/build.sh" "$1" "$2" configure >&2
	from=$1 to=$2
	shift 2
	forget_objects "$to" "$@"
	(kernel_make "$from" "$to" W=1 C=2 -k "$@") >"$to.log" 2>&1 || :
	sed -n "s,^\(\.\./[a-z]*/\|$from/\),,p" "$to.log" |
		sed -nE 's,^([^ :]*):[0-9:]+ ((warning|error):.*),\1: \2,p' | sort -u
}

# What the config leaves out cannot be compiled, in either tree.
patched()
{
	# shellcheck disable=SC2046
	say_of "$pristine" "$obj-pristine" $(patched_objects) >"$out/patched.pristine"
	objects=$(cd "$obj-pristine" && find $(patched_objects) 2>/dev/null || :)
	[ "$(echo "$objects" | wc -l)" -gt 30 ] ||
		die "only these of the patched files were compiled:" $objects
	# shellcheck disable=SC2086
	say_of "$tree" "$obj-plain" $objects >"$out/patched.ours"
	comm -13 "$out/patched.pristine" "$out/patched.ours"
}

need_build_tools
need sparse
known
complaints "checkpatch --strict" checkpatch
[ "${1:-}" != checkpatch ] || exit $status
"$harness/build.sh" "$tree" "$obj" configure
objects=$(our_objects)
# shellcheck disable=SC2086
forget_objects "$obj" $objects
# shellcheck disable=SC2086
run_logged check-build "compiling with W=1 and sparse" \
	kernel_make "$tree" "$obj" W=1 C=2 -k $objects || status=1
complaints "W=1 and sparse" sparse
complaints "kernel-doc" kernel_doc
complaints "assembly" assembly
complaints "W=1 and sparse on the patched files" patched
"$harness/size.sh"
exit $status
