#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/compare.sh: what the kernel's own tests (harness/guest/ftrace.sh, and test.d/00basic) say
# of the pristine kernel and of ours, both built with the tests' config and TCP. Prints the table,
# which goes to out/compare/$ARCH too; status 1 when one of them is worse in ours, or did not run
# on the pristine kernel.

. "${0%/*}/lib.sh"

results=$out/compare/$ARCH

run_on()	# WHICH SOURCE
{
	log=compare-$1-$ARCH
	with=$build/compare-$1-$ARCH
	FRAGMENT=$results.config "$harness/build.sh" "$2" "$with"
	"$harness/initramfs.sh" "$2" "$with"
	OBJ=$with EXPECT=any TIMEOUT=${TIMEOUT:-1200} "$harness/boot.sh" "$log" ftrace \
		kpcases=00basic,dynevent,kprobe,direct/kprobe-direct.tc
	"$harness/console.py" guest "$out/logs/$log.log" >"$results.$1"
}

mkdir -p "$out/compare"
printf '%s\n' CONFIG_NET=y CONFIG_INET=y >"$results.config"
"$harness/tree.sh"
run_on pristine "$pristine"
copy_objects "$obj" "$build/compare-ours-$ARCH"
run_on ours "$tree"
rc=0
awk -F '\t' '
	BEGIN { rank["fail"] = 1; rank["skip"] = 2; rank["pass"] = 3; form = "%-40s %-8s %-8s %s\n" }
	NR == FNR { theirs[$2] = $1; next }
	FNR == 1 { printf form, "test", "pristine", "ours", "" }
	{
		ours[$2] = $1
		if (!($2 in theirs)) {
			printf form, $2, "-", $1, "NOT COMPARED: " $3
			alone++
			next
		}
		worse = rank[$1] < rank[theirs[$2]]
		printf form, $2, theirs[$2], $1, (worse ? "WORSE: " : "") $3
		n[theirs[$2], $1]++
		bad += worse
	}
	END {
		for (name in theirs)
			if (!(name in ours)) {
				printf form, name, theirs[name], "-", "WORSE: did not run"
				bad++
			}
		printf "both pass: %d, both skip: %d, ours alone passes: %d, ours is worse: %d\n",
			n["pass", "pass"], n["skip", "skip"], n["fail", "pass"] + n["skip", "pass"], bad
		if (alone)
			printf "%d did not run on the pristine kernel\n", alone
		exit bad + alone > 0
	}' "$results.pristine" "$results.ours" >"$results" || rc=1
cat "$results"
"$harness/console.py" check "$out/logs/compare-ours-$ARCH.log" || rc=1
exit $rc
