#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/test.sh [SECTION...]: run the tests and count them. Sections:
#	kunit	  our KUnit cases at boot
#	ftrace	  the kernel's own tools/testing/selftests/ftrace/test.d/kprobe
#	selftests our tools/testing/selftests/kprobes/*.sh
#	stress	  the stress module on two CPUs
#	demo	  make demo shows all that it promises
#	upstream  the pristine tree's lib/test_kprobes.c in place of ours in the finished kernel
#	debug	  KUnit and stress under KASAN, lockdep and friends
#	clang	  KUnit on a kernel that clang built, with what gcc cannot build (arm64 only)
#	series	  the patches give exactly our tree
# arm64/SECTION and i386/SECTION are that section there. Without arguments: everything, but of i386
# KUnit only.
# Results go to out/test/results (section, verdict, name, detail; tabs between). A boot whose
# console shows an oops or a warning is a failure. Tests that harness/expected lists are counted
# as skipped when they fail. Ends with "N passed, N failed"; status 1 when something failed.

. "${0%/*}/lib.sh"

results=$out/test/results
mkdir -p "$out/test"

# Run as "test.sh --run SECTION", a process of its own, so that a step that fails ends the section.
section=
[ "${1:-}" != --run ] || section=$2
kind=${section#*/}
log=$(echo "$section" | tr / -)

row()	# VERDICT NAME [DETAIL]
{
	printf '%s\t%s\t%s\t%s\n' "$section" "$1" "$2" "${3:-}" >>"$results"
}

build_image()
{
	"$harness/build.sh"
	"$harness/initramfs.sh"
}

# guest PARSER JOB [KERNEL-ARGUMENT...]: one boot; its console counts as a test. ONLY is a pattern
# of the names to count, all when empty; PART tells two boots of a section apart.
guest()
{
	name=$log${PART:+-$PART} parser=$1
	shift
	if "$harness/boot.sh" "$name" "$@"; then
		row pass "$name: console is clean"
	else
		row fail "$name: console is clean" "see out/logs/$name.log"
	fi
	"$harness/console.py" "$parser" "$out/logs/$name.log" |
		awk -F '\t' -v only="${ONLY:-.}" '$2 ~ only' >"$out/test/$name.rows"
	while IFS=$(printf '\t') read -r verdict what detail; do
		row "$verdict" "$what" "$detail"
	done <"$out/test/$name.rows"
	grep -q . "$out/test/$name.rows" || row fail "$name" "no test reported anything"
}

run_kunit()
{
	build_image
	guest kunit kunit kunit.enable=1
	# What is patched when a second CPU comes
	[ "$ARCH" = arm64 ] || PART=one-cpu ONLY=lock_prefixes guest kunit kunit kunit.enable=1 \
		kunit.filter_glob='kprobes_x86_decode.test_lock*' maxcpus=1
	# What becomes of this kernel's instructions, and why some cannot be probed
	sed -n "s/\r$//; s/^ *# test_text: /  /p" "$out/logs/$log.log" | tee "$out/test/$log.shares"
	sed -n "s/\r$//; s/^ *# thousands_of_probes_take_few_patches: \([0-9]\)/  \1/p" "$out/logs/$log.log"
	[ "$ARCH" != arm64 ] || few_refused
}

few_refused()
{
	share=$(sed -n 's/^ *[0-9]* *\([0-9.]*\)% refused$/\1/p' "$out/test/$log.shares")
	verdict=$(echo "$share" | awk '{ print $1 != "" && $1 <= 1.5 ? "pass" : "fail" }')
	row "${verdict:-fail}" "at most 1.5 % of the instructions are refused" "${share:-no share on the console} %"
}

run_ftrace()
{
	build_image
	guest guest ftrace
}

run_selftests()
{
	build_image
	guest guest selftests kunit.enable=1
}

run_stress()
{
	build_image
	guest guest stress "kpseconds=${STRESS_SECONDS:-20}"
}

# The finished kernel with one object exchanged: a copy of its O= directory, where a source file
# in the O= directory goes before the one in the source tree.
run_upstream()
{
	build_image
	theirs=$build/$ARCH-upstream
	say "relinking the kernel with the pristine lib/test_kprobes.c"
	rm -rf "$theirs"
	cp -a --reflink=auto "$obj" "$theirs"
	rm -rf "$theirs/lib/test_kprobes" "$theirs"/lib/.test_kprobes.o.cmd "$theirs"/lib/test_kprobes*.o
	cp "$pristine/lib/test_kprobes.c" "$theirs/lib/"
	"$harness/build.sh" "$tree" "$theirs"
	"$harness/initramfs.sh" "$tree" "$theirs"
	suite=$(sed -n 's/^	*\.name = "\(.*\)",$/\1/p' "$pristine/lib/test_kprobes.c")
	cases=$(sed -n 's/.*KUNIT_CASE(\(.*\)).*/\1/p' "$pristine/lib/test_kprobes.c")
	# shellcheck disable=SC2086
	ONLY="^$suite[.]($(echo $cases | tr ' ' '|'))\$" OBJ=$theirs guest kunit kunit kunit.enable=1
	for case in $cases; do
		grep -q "	$suite\.$case	" "$out/test/$log.rows" || row fail "$suite.$case" "did not run"
	done
}

run_demo()
{
	if run_logged "$log-output" "the demo" "$harness/demo.sh"; then
		row pass "the demo shows all that it promises"
	else
		row fail "the demo shows all that it promises" "see out/logs/$log-output.log"
	fi
}

# Everything takes several times as long there.
run_debug()
{
	build_image
	TIMEOUT=1500 guest kunit kunit kunit.enable=1
	PART=stress guest guest stress "kpseconds=${STRESS_SECONDS:-20}"
}

run_clang()
{
	build_image
	guest kunit kunit kunit.enable=1
}

run_series()
{
	"$harness/series.py" write
	row pass "the patches, applied with git am, give build/tree"
}

if [ -n "$section" ]; then
	"run_$kind"
	exit
fi

# What a section's kernel is, where it is not the default.
kernel_of()
{
	case $1 in
	*/*)	echo "ARCH=${1%%/*}" ;;
	esac
	case ${1#*/} in
	debug|clang)	echo "VARIANT=${1#*/}" ;;
	esac
}

# The section's verdicts as harness/expected has them.
apply_expected()
{
	awk -F '\t' -v OFS='\t' -v section="$section" '
		NR == FNR {
			if ($0 ~ /^[a-z]/) { split($0, word, " "); key = word[1] SUBSEP word[2]; reason[key] = substr($0, length(word[1] word[2]) + 3) }
			next
		}
		$1 != section { print; next }
		($1, $3) in reason && $2 == "fail" { $2 = "skip"; $4 = "expected: " reason[$1, $3]; print; next }
		($1, $3) in reason && $2 == "pass" { $2 = "fail"; $4 = "passes, but harness/expected says: " reason[$1, $3] }
		{ print }' "$harness/expected" "$results" >"$results.new"
	mv "$results.new" "$results"
}

count()	# VERDICT [SECTION]
{
	awk -F '\t' -v verdict="$1" -v section="${2:-}" \
		'$2 == verdict && (section == "" || $1 == section) { n++ } END { print n + 0 }' "$results"
}

[ $# -gt 0 ] || set -- kunit ftrace selftests stress demo upstream debug \
	arm64/kunit arm64/ftrace arm64/selftests arm64/stress arm64/demo arm64/upstream \
	arm64/clang i386/kunit series
: >"$results"
start=$(date +%s)
"$harness/tree.sh"
for section in "$@"; do
	grep -q "^run_${section#*/}()" "$0" || die "no section $section in harness/test.sh"
	say "== $section"
	began=$(date +%s)
	# shellcheck disable=SC2046
	env $(kernel_of "$section") "$0" --run "$section" || row fail "$section" "ended early, see the messages above"
	apply_expected
	say "== $section: $(count pass "$section") passed, $(count fail "$section") failed, $(count skip "$section") skipped ($(($(date +%s) - began)) s)"
	awk -F '\t' -v s="$section" '$1 == s && $2 != "pass" { print "   " $2 " " $3 ($4 == "" ? "" : ": " $4) }' "$results"
done
say "all sections took $(($(date +%s) - start)) s; details in out/test/results, consoles in out/logs"
say "$(count pass) passed, $(count fail) failed, $(count skip) skipped"
[ "$(count fail)" = 0 ] && [ "$(count pass)" -gt 0 ]
