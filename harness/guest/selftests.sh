# SPDX-License-Identifier: GPL-2.0
# Our shell selftests, or those that kpscripts= names with commas between: exit 0 is a pass, 4 a skip,
# anything else a failure. After without_ftrace.sh, which comes last, there is nothing left to trace.
cd /selftests/kprobes || reboot -f
[ ! -f /modules/outside_old.ko ] || ln -s /harness/outside.sh .
scripts=$(echo "${kpscripts:-}" | tr , ' ')
for script in ${scripts:-*.sh}; do
	# What is locked stays so: that one is run when it is named.
	[ -n "$scripts" ] || [ "$script" != lockdown.sh ] || continue
	sh "./$script" >/tmp/output 2>&1
	rc=$?
	sed "s/^/$script: /" /tmp/output
	case $rc in
	0)	kptest pass "$script" ;;
	4)	kptest skip "$script" "$(sed -n 's/.*# SKIP //p' /tmp/output)" ;;
	*)	kptest fail "$script" "status $rc: $(grep -m 1 '^not ok' /tmp/output || tail -n 1 /tmp/output)" ;;
	esac
done
