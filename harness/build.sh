#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/build.sh [SOURCE [OBJ [configure]]]: configure and build a kernel with its modules, or
# configure it and no more.
#
# SOURCE is build/tree by default, OBJ (the O= directory) build/$ARCH[-$VARIANT]. The config is
# tinyconfig with fragments of harness/configs merged on it: common, $ARCH, small, plain for that
# VARIANT, else test and $ARCH-test, and for another VARIANT lean, $VARIANT and $ARCH-$VARIANT; or
# bare and $ARCH where the guest has no userland. A fragment's line that the final .config does not
# hold ends it; with FRAGMENT, a file laid over the others, only a line of that, as what it takes
# away takes more along. bases/BASE/NAME.config continues a fragment, and bases/BASE/no-config has
# lines of fragments that mean nothing there.

. "${0%/*}/lib.sh"

gone=$edits/no-config
[ -f "$gone" ] || gone=/dev/null
source=${1:-$tree}
obj=${2:-$obj}
name=build-$(basename "$obj")

# The pristine kernel has no stress test.
fragments()
{
	set -- common "$ARCH" small
	[ -n "$userland" ] || set -- bare "$ARCH"
	case $userland$VARIANT in
	yesplain)	set -- "$@" plain ;;
	yes)	set -- "$@" test "$ARCH-test" ;;
	'')	;;
	*)	[ -f "$harness/configs/$VARIANT.config" ] || [ -f "$harness/configs/$ARCH-$VARIANT.config" ] ||
			die "VARIANT=$VARIANT: no such file in harness/configs"
		set -- "$@" test "$ARCH-test" lean "$VARIANT" "$ARCH-$VARIANT" ;;
	esac
	for fragment in "$@"; do
		cat "$harness/configs/$fragment.config" "$edits/$fragment.config" 2>/dev/null || :
	done | grep -vxF -f "$gone" | cat - ${FRAGMENT:+"$FRAGMENT"} | if grep -q '^config KPROBES_STRESS_TEST' "$source/lib/Kconfig.debug"; then
		cat
	else
		sed /KPROBES_STRESS_TEST/d
	fi
}

# The last word on each symbol must be what the kernel's config says.
check_config()
{
	awk '
		function symbol(line) {
			if (line ~ /^# CONFIG_[A-Za-z0-9_]* is not set$/) { value = "n"; return $2 }
			if (line !~ /^CONFIG_/) return ""
			value = substr(line, index(line, "=") + 1)
			return substr(line, 1, index(line, "=") - 1)
		}
		(name = symbol($0)) == "" { next }
		NR == FNR { want[name] = value; next }
		{ have[name] = value }
		END {
			for (name in want) {
				got = (name in have) ? have[name] : "n"
				if (got != want[name]) {
					print "  " name ": wanted " want[name] ", got " got
					bad = 1
				}
			}
			exit bad
		}' "${FRAGMENT:-$obj/fragments}" "$obj/.config" ||
		die "these options did not survive in $obj/.config (see harness/configs)"
}

# A new .config only when the fragments or the tree's Kconfig files changed.
configure()
{
	fragments >"$obj/fragments.new"
	if cmp -s "$obj/fragments.new" "$obj/fragments" && [ -f "$obj/configured" ] &&
	   [ -z "$(find "$source" -name 'Kconfig*' -newer "$obj/configured" -print -quit)" ]; then
		return 0
	fi
	rm -f "$obj/configured"
	mv "$obj/fragments.new" "$obj/fragments"
	run_logged "$name" "configuring $(basename "$obj")" kernel_make "$source" "$obj" tinyconfig
	(cd "$obj" && "$source/scripts/kconfig/merge_config.sh" -m -O "$obj" .config fragments >/dev/null)
	run_logged "$name" "configuring $(basename "$obj")" kernel_make "$source" "$obj" olddefconfig
	check_config
	touch "$obj/configured"
}

need_build_tools
mkdir -p "$obj"
exec 9>"$obj.lock"
flock 9
began=$(date +%s)
configure
[ "${3:-}" != configure ] || exit 0
say "building the $ARCH kernel${VARIANT:+ ($VARIANT)} in ${obj#"$top"/} with $JOBS jobs"
run_logged "$name" "building $(basename "$obj")" \
	kernel_make "$source" "$obj" "${kernel_image##*/}" modules
grep -E 'warning:|WARNING:' "$out/logs/$name.log" || :
say "built in $(($(date +%s) - began)) s"
