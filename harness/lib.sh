# SPDX-License-Identifier: GPL-2.0
# Shared by the harness scripts, which source it first:  . "${0%/*}/lib.sh"
#
# Sets the paths and defaults below and offers: say, die, need, need_build_tools, run_logged,
# kernel_make, copy_objects, our_objects, forget_objects, ours_only, upstream_suite, kunit_cases,
# hold_skips, verdicts, hooks; of this Debian, codename, site; and of the package with the kernel's sources,
# choose_package, installed, offered, known_version, not_newer, choose_version, fetch_source.
# Chosen by the user, on the make command line or in the environment:
#   BASE      the kernel that is patched, by name of a directory in bases/: 6.12 (default) or 7.3
#   ARCH      x86_64 (default), i386, arm64 or one of the others in arch.sh
#   VARIANT   which config: empty (shared fragments + test.config), lean (these + lean.config),
#             another NAME (these + harness/configs/NAME.config), or plain (shared fragments +
#             plain.config)
#   FRAGMENT  a file of more options, laid over all that (harness/matrix.sh)
#   ACCEL     tcg (default) or kvm
#   JOBS      how many compilers at a time
#   CCACHE_DIR, TIMEOUT (seconds a guest may live), OBJ (the O= directory)

set -eu
# What others may read here, they may read in the guest, too.
umask 022

unset CDPATH
top=$(cd "$(dirname "$0")/.." && pwd)
case $top in
*[[:space:]:]*)	echo "error: make and QEMU want a path without spaces and colons: $top" >&2
	exit 1 ;;
esac
harness=$top/harness
stable=6.12
BASE=${BASE:-$stable}
edits=$top/bases/$BASE
build=$top/build out=$top/out
if [ "$BASE" != "$stable" ]; then
	build=$build/$BASE out=$out/$BASE
fi
pristine=$build/pristine
tree=$build/tree
linux_source=linux-source-$BASE

ARCH=${ARCH:-x86_64}
VARIANT=${VARIANT:-}
ACCEL=${ACCEL:-tcg}
JOBS=${JOBS:-$(nproc)}
export BASE ARCH VARIANT ACCEL JOBS
export CCACHE_DIR="${CCACHE_DIR:-$top/build/ccache}"
export CCACHE_BASEDIR="$build"
# What a file depends on is known from the compiler: to preprocess it first takes a fifth of the
# time.
export CCACHE_DEPEND=1
export LC_ALL=C

# A caller's make must not leak its job server or its variables into the kernel's own.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES KBUILD_OUTPUT 2>/dev/null || :

say()
{
	printf '%s\n' "$*"
}

die()
{
	printf 'error: %s\n' "$*" >&2
	exit 1
}

[ -d "$edits" ] || die "BASE=$BASE is not known here: see bases/"
. "$harness/arch.sh"
obj=${OBJ:-$build/$ARCH${VARIANT:+-$VARIANT}}
mkdir -p "$build" "$out/logs"

# need PACKAGE...: install what is missing, or say what to install.
need()
{
	missing=
	command -v dpkg-query >/dev/null || die "this harness needs Debian 12 or 13 (no dpkg-query here)"
	for package in "$@"; do
		# shellcheck disable=SC2016
		state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
		[ "$state" = installed ] || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || die "missing Debian packages; as root: apt-get install$missing"
	say "installing:$missing"
	# One at a time. An index that cannot be read may be of something else: the update may fail.
	# shellcheck disable=SC2086
	run_logged "apt-$ARCH" "installing packages" flock "$build/apt.lock" sh -c 'apt-get -o Acquire::Retries=3 update
		exec apt-get -o Acquire::Retries=3 install -y --no-install-recommends "$@"' sh $missing ||
		die "apt-get failed"
}

# The name of the Debian that this is
codename()
{
	(. /etc/os-release && echo "$VERSION_CODENAME")
}

# site CODENAME: where apt has that release, or its security updates, from
site()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $1" | head -n 1
}

# suites ARCHIVE SUITE...: an entry for apt's lists, with the mirror that the host has for the first
suites()
{
	mirror=$(site "$1")
	[ -n "$mirror" ] || die "apt has no lists of $1 here: apt-get update"
	shift
	cat <<-EOF
	URIs: $mirror
	Suites: $*
	Types: deb
	Components: main
	Architectures: $(dpkg --print-architecture)
	Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

	EOF
}

# use_lists DIRECTORY: read lists of what DIRECTORY/lists.sources names, and have apt use only these
use_lists()
{
	mkdir -p "$1/lists/partial"
	cat >"$1/apt.conf" <<-EOF
	APT::Sandbox::User "root";
	Dir::Etc::sourcelist "$1/lists.sources";
	Dir::Etc::sourceparts "/dev/null";
	Dir::State::lists "$1/lists";
	Dir::Cache::pkgcache "";
	Dir::Cache::srcpkgcache "";
	EOF
	export APT_CONFIG="$1/apt.conf"
	run_logged "$(basename "$1")-lists" "reading Debian's lists" \
		apt-get -o APT::Update::Error-Mode=any update
}

# debian_lists DIRECTORY: as use_lists, for what Debian 12 and 13 have, whichever of them this is. Only
# the mirrors are those of this machine's.
debian_lists()
{
	mkdir -p "$1"
	{
		suites "$(codename)" bookworm bookworm-backports trixie trixie-backports
		suites "$(codename)-security" bookworm-security trixie-security
	} >"$1/lists.sources"
	use_lists "$1"
}

names_offered()
{
	apt-cache pkgnames linux-source-
}

# The packages with sources that apt offers of the base and of what has followed it, the oldest first.
# The stable kernel has no successor.
packages()
{
	if [ "$BASE" = "$stable" ]; then
		echo "linux-source-$BASE"
		return
	fi
	{
		echo "linux-source-$BASE"
		names_offered | grep -E '^linux-source-[0-9]+\.[0-9]+$'
	} | sort -uV | sed -n "/^linux-source-$BASE\$/,\$p"
}

# Sets linux_source to the base's package or, if that is gone, to the newest that has followed it.
choose_package()
{
	for linux_source in $(packages); do
		[ "$linux_source" != "linux-source-$BASE" ] || [ -z "$(offered)" ] || return 0
	done
}

# The version of the sources' package that is installed
installed()
{
	# shellcheck disable=SC2016
	dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$linux_source" 2>/dev/null | sed -n 's/^installed //p'
}

# The versions that can be had, the newest first: the one installed, and those that apt's lists have
offered()
{
	{
		installed
		apt-cache madison "$linux_source" 2>/dev/null | awk '{ print $3 }'
	} | sort -ruV
}

# known_version VERSION: whether the patches were made for it. It is a kernel's or a package's.
known_version()
{
	grep -qxF "${1%%-*}" "$edits/versions"
}

# not_newer VERSION OTHER
not_newer()
{
	[ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$2" ]
}

# The newest known version of those offered, or else the newest
choose_version()
{
	versions=$(offered)
	for version in $versions; do
		! known_version "$version" || break
		version=
	done
	echo "${version:-$versions}" | head -n 1
}

# fetch_source VERSION DIRECTORY: sets archive. Only what is not installed has to be fetched, to the
# directory.
fetch_source()
{
	archive=/usr/src/$linux_source.tar.xz
	[ "$1" != "$(installed)" ] || return 0
	rm -rf "$2"
	mkdir -p "$2"
	# shellcheck disable=SC2016
	run_logged fetch "fetching $linux_source $1" sh -ec 'cd "$0"
		apt-get -o APT::Sandbox::User=root -o Acquire::Retries=3 download "$1"
		exec dpkg-deb -x ./*.deb .' "$2" "$linux_source=$1"
	archive=$2$archive
}

# What every kernel build here needs.
need_build_tools()
{
	need gcc make ccache flex bison bc libelf-dev libssl-dev kmod cpio patch \
		python3 perl xz-utils libc6-dev
	# shellcheck disable=SC2086
	need $compiler
}

# The interesting lines of a log that ends in failure.
show_failure()
{
	grep -nE 'error:|ERROR:|undefined reference|^E: ' "$1" | head -20 || :
	grep -n -m 1 -B 4 '\*\*\*' "$1" || :
	say "... the last lines of $1:"
	tail -15 "$1"
}

# run_logged NAME WHAT COMMAND...: run with the output in out/logs/NAME.log and a line of
# progress every 20 seconds; on failure show the log's end and return the status. Callers have
# variables of other names. A function has to exec its last command, or that outlives a signal.
run_logged()
{
	logged_to=$out/logs/$1.log logged_what=$2
	shift 2
	logged_since=$(date +%s) logged_next=20
	"$@" >"$logged_to" 2>&1 </dev/null &
	logged_pid=$!
	trap 'kill $logged_pid 2>/dev/null; exit 130' INT TERM
	while kill -0 $logged_pid 2>/dev/null; do
		sleep 1
		logged_spent=$(($(date +%s) - logged_since))
		[ $logged_spent -ge $logged_next ] || continue
		logged_next=$((logged_next + 20))
		say "  $logged_what: $logged_spent s$(progress "$logged_to")"
	done
	trap - INT TERM
	wait $logged_pid && return 0
	logged_status=$?
	say "FAILED: $logged_what (status $logged_status)"
	show_failure "$logged_to"
	return $logged_status
}

# The pristine tree's test_kprobes.c, which newer kernels have in a directory of tests
upstream_test()
{
	find "$pristine/lib" -maxdepth 2 -name test_kprobes.c
}

# The suite in there
upstream_suite()
{
	sed -n 's/^	*\.name = "\(.*\)",$/\1/p' "$(upstream_test)"
}

# How far a kernel build, or a guest, got.
progress()
{
	count=$(grep -cE '^  (CC|AS|LD|AR|HOSTCC)' "$1") ||:
	if [ "$count" -gt 0 ]; then
		printf ', %s objects built' "$count"
	else
		tail -n 1 "$1" | tr -dc '[:print:]' | cut -c1-70 | sed 's/^/, at: /'
	fi
}

# kernel_make TREE OBJ ARGUMENT...: the kernel's make with our compiler and names. It takes the
# place of the shell, as a command of run_logged.
kernel_make()
{
	from=$1 to=$2
	shift 2
	if [ -n "$llvm" ]; then
		set -- LLVM="$llvm" CC="$harness/cached.sh clang${llvm#1}" "$@"
	else
		set -- CROSS_COMPILE="$cross" CC="$harness/cached.sh ${cross}gcc" "$@"
	fi
	exec make -C "$from" O="$to" ARCH="$kernel_arch" KBUILD_BUILD_USER=kprobes KBUILD_BUILD_HOST=localhost \
		KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' -j"$JOBS" ${exempt:+"$exempt"} "$@"
}

# copy_objects FROM TO: what was built with nearly the same config, if it was, is not to be built
# again.
copy_objects()
{
	rm -rf "$2" "$2.lock"
	[ ! -d "$1" ] || flock "$1.lock" cp -a --reflink=auto "$1" "$2"
}

# What lib/Makefile builds with the config of $obj
objects_of_lib()
{
	# shellcheck disable=SC2016
	printf '%s\n' "include $obj/.config" "include $tree/lib/Makefile" 'print: ; @echo $(obj-y) $(obj-m)' |
		make -s -f - srctree="$tree" print 2>/dev/null | tr ' ' '\n' | grep '\.o$'
}

# The objects of our C files that the config of $obj builds; of a directory that has a Makefile of
# ours, the directory.
our_objects()
{
	of_lib=$(objects_of_lib) || die "make does not tell what lib/Makefile builds with $obj/.config"
	grep '\.c$' "$build/files.ours" | while read -r file; do
		directory=${file%/*}
		case $file in
		arch/x86/*)	[ "$kernel_image" = arch/x86/boot/bzImage ] || continue ;;
		arch/arm64/*)	[ "$ARCH" = arm64 ] || continue ;;
		tools/*)	continue ;;
		lib/*.c)	name=${file#lib/}
				echo "$of_lib" | grep -qxF "${name%.c}.o" || continue ;;
		*)		grep -qx CONFIG_KPROBES=y "$obj/.config" || continue ;;
		esac
		if grep -qxF "$directory/Makefile" "$build/files.ours"; then
			echo "$directory/"
		else
			echo "${file%.c}.o"
		fi
	done | sort -u
}

# forget_objects OBJ OBJECT...: remove them, because gcc says nothing of what it need not compile
forget_objects()
{
	forget_in=$1
	shift
	for object in "$@"; do
		rm -rf "${forget_in:?}/${object%/}"
	done
}

# What a compiler's log says of our files
ours_only()
{
	sed -n 's,^\(\.\./tree/\|'"$tree"'/\),,p' "$1" | grep -E '^[^ ]*: (warning|error):' |
		grep -F -f "$build/files.ours" | sort -u || :
}

# kunit_cases DIRECTORY...: those of the sources there, as suite.case
kunit_cases()
{
	find "$@" -name 'test_*.c' | while read -r file; do
		awk -F '["(,)]' '
			/^static struct kunit_case / { split($0, words, /[ []/); list = words[4] }
			/^\tKUNIT_CASE/ { cases[list] = cases[list] " " $2 }
			/^static struct kunit_suite / { inside = 1 }
			inside && /\.name/ { suite = $2 }
			inside && /\.test_cases/ {
				split($0, words, /[ \t,]+/)
				n = split(cases[words[4]], names, " ")
				while (n) print suite "." names[n--]
				inside = 0
			}' "$file"
	done
}

# may_skip SECTION NAME: whether harness/skips has it; the section has its architecture in front
may_skip()
{
	while read -r sections names _; do
		# shellcheck disable=SC2254
		case "$1 $2" in
		$sections\ $names)	return 0 ;;
		esac
	done <"$harness/skips"
	return 1
}

# hold_skips SECTION: pass on lines of a verdict, a name and a detail; what is skipped and not in
# harness/skips has failed
hold_skips()
{
	while IFS=$(printf '\t') read -r verdict what detail; do
		[ "$verdict" != skip ] || may_skip "$1" "$what" ||
			verdict=fail detail="not in harness/skips: $detail"
		printf '%s\t%s\t%s\n' "$verdict" "$what" "$detail"
	done
}

# verdicts FILE: how many of its lines begin with pass, fail and skip; status 1 if something failed
verdicts()
{
	awk '{ n[$1]++ }
		END {
			printf "%d passed, %d failed, %d skipped\n", n["pass"], n["fail"], n["skip"]
			exit n["fail"] > 0
		}' "$1"
}

# The names between the core and an architecture
hooks()
{
	grep -ohE '\b(arch_[a-z]+_[a-z_]*[a-z]|ARCH_(KPROBE|OPTPROBE)_[A-Z_]*[A-Z]|alloc_[a-z]*_page|kprobe_ftrace_handler)\b' \
		"$top/include/linux/kprobes_arch.h"
}
