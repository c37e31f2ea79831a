#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/test.sh [SECTION...|full]: run the tests and count them. Sections:
#	kunit	  our KUnit cases at boot
#	ftrace	  what the kernel's own tools/testing/selftests/ftrace has about probes
#	selftests KUnit, and then our tools/testing/selftests/kprobes/*.sh, and modules that were
#		  built outside of the tree
#	kselftest our scripts once more, as they are installed and run by the tree's own means
#	stress	  the stress module on two CPUs, while a third, and others who probe, come and go
#	kexec	  another kernel takes the place of one with probes (x86_64 and arm64)
#	demo	  make demo shows all that it promises
#	upstream  the pristine tree's test_kprobes.c and trace_kprobe.c in place of ours in the
#		  finished kernel, and what section ftrace has about kprobe events
#	debug	  KUnit, stress and some selftests under KASAN, lockdep and friends
#	leaks	  KUnit and some selftests lose no memory
#	matrix	  the short rows of make matrix: other configurations compile, too
#	decode	  the decoder does as the manual says, and as objdump does
#	clang	  KUnit on a kernel that clang built, with what gcc cannot build (arm64 only), and that
#		  in the newest QEMU that Debian's backports have
#	bochs	  KUnit and the demo in Bochs, whose processor has IBT and EVEX (x86_64 and i386)
#	sweep	  probes on all of the kernel's text under a workload
#	series	  the patches give exactly our tree
#	mutants-check	each breakage of harness/mutants changes the sources as they are
#	docs	  make docs: the documents build, and leave nothing out
#	compare	  make compare: none of the kernel's own tests is worse than on the pristine kernel
#	configurations	all rows of make matrix
#	architectures	make test-all
#	check	  make check: checkpatch, sparse, W=1 and kernel-doc have nothing to say
#	series-check	make series-check: the kernel builds at every patch, and works
#	base-check make base-check: newer kernels of Debian's take the patches, too
#	deb	  make deb-check: packages for a Debian of their own, in which tools have probes
#	mutants	  make mutants: the tests notice each of these breakages (x86_64, arm64 and i386)
# arm64/SECTION and i386/SECTION are that section there. Without arguments: what fits into less
# than 40 minutes; i386, clang, debug, leaks, sweep, kselftest, ftrace, kexec and upstream on arm64,
# bochs, and all from compare on, are left to "full", which is everything. Those of arm64, and debug, run
# beside the others, as matrix, series, docs and decode do: a guest keeps one processor busy.
# Results go to out/test/results (section, verdict, name, detail; tabs between). A boot whose
# console shows an oops or a warning is a failure. What is skipped but not in harness/skips is
# counted as failed. Ends with "N passed, N failed"; status 1 when something failed.
# From the environment: STRESS_SECONDS (20; 120 in "debug"; 300 with "full") and STRESS_SEED, for the
# stress module; SLOW_CASES= (set with "full") to have them in "debug", too, and all suites twice
# in "selftests"; SWEEP_SHARE=N to sweep one part in N.

. "${0%/*}/lib.sh"

mkdir -p "$out/test"

# Run as "test.sh --run SECTION", a process of its own, so that a step that fails ends the section.
section=
[ "${1:-}" != --run ] || section=$2

# name_of SECTION: what its logs and its results are called by
name_of()
{
	echo "$1" | tr / -
}

# function_of SECTION: what runs it
function_of()
{
	echo "run_${1#*/}" | tr - _
}

log=$(name_of "$section")
results=$out/test/$log.results

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
	report "$parser"
}

# A console must have a line that matches.
demand()	# WHAT PATTERN LOG
{
	if tr -d '\r' <"$out/logs/$3.log" | grep -q "$2"; then
		row pass "$1"
	else
		row fail "$1" "see out/logs/$3.log"
	fi
}

# What the console of the last boot has for that parser
report()	# PARSER
{
	{
		"$harness/console.py" "$1" "$out/logs/$name.log"
		[ "$1" != kunit ] || "$harness/console.py" parameters "$out/logs/$name.log"
	} | awk -F '\t' -v only="${ONLY:-.}" '$2 ~ only' >"$out/test/$name.rows"
	while IFS=$(printf '\t') read -r verdict what detail; do
		row "$verdict" "$what" "$detail"
	done <"$out/test/$name.rows"
	grep -q . "$out/test/$name.rows" || row fail "$name" "no $1 test reported anything"
}

# The last boot was one of all suites: what is in the sources and was not there counts as skipped.
absent_cases()
{
	kunit_cases "$top/lib" "$top/kernel" "$top/${kernel_image%/boot/*}" | sort -u >"$out/test/$name.cases"
	cut -f 2 "$out/test/$name.rows" | sort -u | comm -13 - "$out/test/$name.cases" |
		while read -r what; do
			row skip "$what" "not in this kernel"
		done
}

run_kunit()
{
	build_image
	guest kunit kunit kunit.enable=1
	absent_cases
	beside_kunit
}

# What goes with the boot of all suites
beside_kunit()
{
	# What is patched when a second CPU comes, if this kernel does so
	if [ "$ARCH" != arm64 ] && grep -q test_lock_prefixes "$tree/arch/x86/kernel/kprobes/tests/test_decode.c"; then
		PART=one-cpu ONLY=lock_prefixes guest kunit kunit kunit.enable=1 \
			kunit.filter_glob='kprobes_x86_decode.test_lock*' maxcpus=1
		demand "what is patched when a second CPU comes was tried" \
			'ok [0-9]* test_lock_prefixes$' "$log-one-cpu"
	fi
	# What becomes of this kernel's instructions, and why some cannot be probed. Suites that are
	# run again by a script say it again.
	sed '/kptest: begin/q; s/\r$//' "$out/logs/$log.log" >"$out/test/$log.boot"
	sed -n "s/^ *# test_text: /  /p" "$out/test/$log.boot" | tee "$out/test/$log.shares"
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
	"$harness/build.sh"
	"$harness/outside.sh" outside
	TIMEOUT=${TIMEOUT:-2400} guest guest selftests kunit.enable=1 \
		${SLOW_CASES-kpagain=k*probe*_test} ${SLOW_CASES+kpslow=1}
	report kunit
	absent_cases
	# The only guest with a clock that wakes it
	[ "$ARCH" != x86_64 ] || demand "the system slept, and was woken" 'ok [0-9]* it wakes from mem$' "$log"
	beside_kunit
	# A kernel that has been locked down stays so. On arm64 only "full" has the time for one.
	case $ARCH/${SLOW_CASES-few} in
	x86_64/* | arm64/)	PART=lockdown guest guest selftests kpscripts=lockdown.sh ;;
	esac
	[ "$ARCH" != arm64 ] || far_modules
}

# Modules as distributions have them: farther from the kernel's text than a branch gets. And NMIs, of
# which there are none otherwise.
far_modules()
{
	KASLR='' PART=far guest guest selftests irqchip.gicv3_pseudo_nmi=1 \
		kpscripts=debugfs_sites.sh,module.sh,tracefs.sh \
		kunit.enable=1 'kunit.filter_glob=kprobes_[cn]*'
	report kunit
	demand "modules are far from the kernel" '2G module region forced' "$log-far"
	demand "there are NMIs" 'Pseudo-NMIs enabled' "$log-far"
}

run_kselftest()
{
	"$harness/build.sh"
	"$harness/kselftest.sh"
	TIMEOUT=${TIMEOUT:-2400} guest guest kselftest
}

run_sweep()
{
	build_image
	TIMEOUT=${TIMEOUT:-7200} guest guest sweep "kpshare=${SWEEP_SHARE:-1}" panic_on_warn=1 nohz_full=1
}

# The kernel in an archive of its own: the kernel takes several, one behind the other. On arm64
# without firmware, the next kernel would overwrite a table that the GIC goes on using for an ITS;
# and with LPA2, 6.12 faults in trans_pgd_create_copy(), whether there are probes or not.
run_kexec()
{
	machine=
	[ "$ARCH" != arm64 ] || machine="-machine its=off -cpu max,pauth-impdef=on,lpa2=off"
	build_image
	rm -rf "$build/kexec-$ARCH"
	mkdir "$build/kexec-$ARCH"
	cp "$obj/$kernel_image" "$build/kexec-$ARCH/kernel"
	(cd "$build/kexec-$ARCH" && echo kernel | cpio --quiet -o -H newc) |
		cat "$build/rootfs-$(basename "$obj").cpio" - >"$build/kexec-$ARCH/initrd"
	# What an event records is printed, too: nothing else comes over.
	INITRD=$build/kexec-$ARCH/initrd QEMU_EXTRA="$machine" guest guest kexec tp_printk
	report kunit
	for event in leaves devices devices_off shutdown shut_down sys; do
		verdict=pass
		grep -q "\(^\|[^a-z_]\)$event: (" "$out/logs/$log.log" || verdict=fail
		row $verdict "kexec: probes on the way are hit: $event"
	done
}

# The boot of the stress module: its time, and as much again for a kernel that is slow. NMIs are to be
# asked for on arm64.
boot_stress()
{
	seconds=${STRESS_SECONDS:-20} nmis=
	[ "$ARCH" != arm64 ] || nmis=irqchip.gicv3_pseudo_nmi=1
	# shellcheck disable=SC2086
	SMP=3,sockets=3 TIMEOUT=${TIMEOUT:-$((10 * seconds + 900))} \
		guest guest stress "kpseconds=$seconds" "kpseed=${STRESS_SEED:-0}" $nmis \
		'kprobe_event=p:early,kernel_clone;r:early_back,kernel_clone'
}

run_stress()
{
	build_image
	boot_stress
}

run_upstream()
{
	build_image
	"$harness/upstream.sh"
	theirs=$build/$ARCH-upstream
	suite=$(upstream_suite)
	cases=$(sed -n 's/.*KUNIT_CASE(\(.*\)).*/\1/p' "$(upstream_test)")
	# shellcheck disable=SC2086
	ONLY="^${suite}[.]($(echo $cases | tr ' ' '|'))\$" OBJ=$theirs guest kunit kunit kunit.enable=1 \
		"kunit.filter_glob=$suite"
	for case in $cases; do
		grep -q "	$suite\.$case	" "$out/test/$log.rows" || row fail "$suite.$case" "did not run"
	done
	# Those that are about what is theirs there
	PART=ftrace OBJ=$theirs guest guest ftrace "kpcases=kprobe,direct/kprobe-direct.tc$(
		printf ,dynevent/%s.tc add_remove_kprobe clear_select_events generic_clear_event test_duplicates)"
}

# say_of WORDS SCRIPT [ARGUMENT...]: what its status says
say_of()
{
	words=$1 script=$2 output=$log-output
	shift 2
	if run_logged "$output" "$script" "$harness/$script" "$@"; then
		row pass "$words"
	else
		row fail "$words" "see out/logs/$output.log"
	fi
}

run_demo()
{
	say_of "the demo shows all that it promises" demo.sh
}

run_compare()
{
	say_of "no test of the kernel's own is worse than on the pristine kernel" compare.sh
}

run_docs()
{
	say_of "the documents build, and leave nothing out" docs.sh
}

# These two take out/series, which may be older than the tree.
run_check()
{
	"$harness/series.sh" write
	say_of "checkpatch, sparse, W=1 and kernel-doc have nothing to say" check.sh
}

run_deb()
{
	say_of "the packages install, and Debian's tools work there" deb.sh check
}

run_series_check()
{
	"$harness/series.sh" write
	say_of "the kernel builds at every patch, and works" series.sh check
}

run_mutants_check()
{
	say_of "each breakage of harness/mutants changes the sources" mutants.sh check
}

# Everything takes several times as long there.
run_debug()
{
	build_image
	TIMEOUT=${TIMEOUT:-4800} guest kunit kunit kunit.enable=1 ${SLOW_CASES-kunit.filter=speed>slow}
	PART=stress STRESS_SECONDS=${STRESS_SECONDS:-120} boot_stress
	# Where memory goes, who registers and unregisters, and from where
	PART=selftests TIMEOUT=${TIMEOUT:-4800} guest guest selftests "kpscripts=$(printf %s.sh, module \
		samples debugfs_list debugfs_enabled debugfs_blacklist debugfs_sites debugfs_errors \
		sysctl tracefs uprobes livepatch hotplug suspend)"
}

# What the suites leave is searched for as well.
run_leaks()
{
	build_image
	TIMEOUT=${TIMEOUT:-4800} guest guest selftests kunit.enable=1 kpscripts=module.sh,samples.sh,leaks.sh
	report kunit
}

# rows_of FILE SCRIPT [ARGUMENT...]: what the script writes to the file
rows_of()
{
	file=$1 script=$2 status=0
	shift 2
	rm -f "$file"
	"$harness/$script" "$@" || status=$?
	[ -s "$file" ] || die "$script has no results (status $status)"
	while IFS=$(printf '\t') read -r verdict what detail; do
		row "$verdict" "$what" "$detail"
	done <"$file"
	[ $status = 0 ] || grep -q '^fail' "$file" || row fail "$script" "status $status, though no result says why"
}

run_matrix()
{
	rows_of "$out/matrix/results" matrix.sh short
}

run_configurations()
{
	rows_of "$out/matrix/results" matrix.sh
}

run_architectures()
{
	rows_of "$out/all/results" all.sh test
}

run_base_check()
{
	rows_of "$out/base/results" base.sh
}

run_mutants()
{
	rows_of "$out/mutants/$ARCH.results" mutants.sh "$ARCH"
}

run_decode()
{
	"$harness/build.sh"
	rows_of "$out/decode/$ARCH.results" decode.sh
}

run_clang()
{
	build_image
	guest kunit kunit kunit.enable=1
	newer=$("$harness/backports.sh")
	PART=newer QEMU=$newer guest kunit kunit kunit.enable=1
	demand "a wrong signature raises an exception in the newer one" 'ok [0-9]* signature$' "$log-newer"
}

run_bochs()
{
	build_image
	export EMULATOR=bochs TIMEOUT="${TIMEOUT:-14400}"
	guest kunit kunit kunit.enable=1 "kunit.filter=speed>slow"
	[ "$ARCH" != x86_64 ] ||
		demand "the processor looks for landing pads" 'CET detected: Indirect Branch Tracking enabled' "$log"
	# The slow cases of what is about the processor
	PART=x86 guest kunit kunit kunit.enable=1 "kunit.filter_glob=kprobes_x86_*"
	say_of "the demo shows all that it promises" demo.sh
}

run_series()
{
	"$harness/series.sh" write
	row pass "the patches, applied with git am, give build/tree"
}

if [ -n "$section" ]; then
	"$(function_of "$section")"
	exit
fi

# What a section's kernel is, where it is not the default.
kernel_of()
{
	case $1 in
	*/*)	echo "ARCH=${1%%/*}" ;;
	esac
	case $1 in
	debug | leaks | sweep)	echo "VARIANT=$1" ;;
	*/debug | */leaks | */sweep | */clang)	echo "VARIANT=${1#*/}" ;;
	i386/kunit)	echo VARIANT=lean ;;
	esac
}

apply_skips()
{
	long_name=$section
	[ "$section" != "${section#*/}" ] || long_name=x86_64/$section
	cut -f 1 "$results" >"$results.where"
	cut -f 2- "$results" | hold_skips "$long_name" | paste "$results.where" - >"$results.new"
	mv "$results.new" "$results"
	rm "$results.where"
}

tally()	# FILE; its status is that of verdicts()
{
	cut -f 2- "$1" | verdicts -
}

# One section after another, each in a process group of its own, which a signal ends as a whole
lane()
{
	running=
	trap '[ -z "$running" ] || kill -- "-$running"; exit 143' TERM
	for section in "$@"; do
		results=$out/test/$(name_of "$section").results
		: >"$results"
		say "== $section"
		began=$(date +%s)
		# shellcheck disable=SC2046
		setsid env $(kernel_of "$section") "$0" --run "$section" &
		running=$!
		wait "$running" || row fail "$section" "ended early, see the messages above"
		running=
		apply_skips
		say "== $section: $(tally "$results") ($(($(date +%s) - began)) s)"
		awk -F '\t' '$2 == "fail" {
			print "   " $2 " " $3 ($4 == "" ? "" : ": " $4) }' "$results"
	done
}

full=
case ${1:-} in
full)	full="kselftest arm64/kselftest arm64/ftrace arm64/kexec arm64/upstream arm64/clang
		debug arm64/debug leaks arm64/leaks sweep arm64/sweep compare arm64/compare
		i386/kunit i386/ftrace i386/selftests i386/decode i386/stress i386/demo
		i386/upstream bochs i386/bochs i386/compare configurations architectures check arm64/check
		series-check arm64/series-check base-check deb mutants arm64/mutants i386/mutants"
	export STRESS_SECONDS="${STRESS_SECONDS:-300}" SLOW_CASES=
	shift ;;
esac
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- selftests ftrace stress kexec demo upstream matrix series docs \
	mutants-check arm64/selftests arm64/decode arm64/stress arm64/demo decode $full
start=$(date +%s)
"$harness/tree.sh"
lane1='' lane2=''
# out/matrix, out/series and build/series are there once: who takes them goes into one lane.
case " $* " in
*" check "* | *" series-check "* | *" configurations "*)	shared=lane1 ;;
*)	shared=lane2 ;;
esac
for section in "$@"; do
	grep -q "^$(function_of "$section")()" "$0" || die "no section $section in harness/test.sh"
	results=$out/test/$(name_of "$section").results
	: >"$results"
	row fail "$section" "was not run"
	case $section in
	arm64/check | arm64/series-check)	lane=$shared ;;
	matrix | series | docs)	lane=$shared ;;
	arm64/* | debug | decode)	lane=lane2 ;;
	*)		lane=lane1 ;;
	esac
	eval "$lane=\"\$$lane \$section\""
done
# shellcheck disable=SC2086
lane $lane1 &
one=$!
# shellcheck disable=SC2086
lane $lane2 &
two=$!
trap 'kill $one $two || :; wait; exit 130' HUP INT TERM
status=0
wait $one || status=1
wait $two || status=1
all=$out/test/results
for section in "$@"; do
	cat "$out/test/$(name_of "$section").results"
done >"$all"
say "all sections took $(($(date +%s) - start)) s; details in out/test/results, consoles in out/logs"
[ $status = 0 ] || say "a lane of sections ended early, see the messages above"
tally "$all" && [ $status = 0 ] && grep -q '	pass	' "$all"
