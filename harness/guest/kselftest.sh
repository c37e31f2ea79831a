# SPDX-License-Identifier: GPL-2.0
# Our shell selftests as they are installed with the kernel's tree, by the runner that is installed
# with them: it says what became of each. What they say themselves it puts behind "# ".
ln -s /proc/self/fd/1 /dev/stdout
/kselftest/run_kselftest.sh 2>&1 | tee /tmp/output

# What a script was skipped for is in its own line, before the runner's.
results=0 reason=
while read -r line; do
	words=${line##*selftests: kprobes: }
	case $line in
	"# "*"# SKIP "*)
		reason=${line#*# SKIP } ;;
	"ok "*" # SKIP")
		kptest skip "${words%% *}" "$reason" ;;
	"ok "*)	kptest pass "$words" ;;
	"not ok "*)
		kptest fail "${words%% *}" "${words#* }" ;;
	esac
	case $line in
	"ok "* | "not ok "*)
		results=$((results + 1)) ;;
	esac
done </tmp/output
plan=$(sed -n 's/^1\.\.//p' /tmp/output)
if [ "$plan" = $results ]; then
	kptest pass "kselftest: as many scripts as were planned" "$plan"
else
	kptest fail "kselftest: as many scripts as were planned" "$results of ${plan:-none}"
fi
