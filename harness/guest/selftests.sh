# SPDX-License-Identifier: GPL-2.0
# Our shell selftests, or those that kpscripts= names with commas between: exit 0 is a pass, 4 a
# skip, anything else a failure. All are run in the order of the Makefile: after oops.sh threads are
# lost, and after without_ftrace.sh there is nothing left to trace.
cd /selftests/kprobes || reboot -f
all=$(grep -o '[a-z_]*\.sh' Makefile)
if [ -f /modules/outside_old.ko ]; then
	ln -s /harness/outside.sh .
	all=$(echo outside.sh; echo "$all")
fi
scripts=$(echo "${kpscripts:-}" | tr , ' ')
if [ -z "$scripts" ]; then
	for script in *.sh; do
		echo "$all" | grep -qxF "$script" || kptest fail "$script" "is not in the Makefile"
	done
	# What is locked stays so: that one is run when it is named.
	scripts=$(echo "$all" | grep -vxF lockdown.sh)
fi
for script in $scripts; do
	read -r began _ </proc/uptime
	sh "./$script" >/tmp/output 2>&1
	rc=$?
	read -r ended _ </proc/uptime
	sed "s/^/$script: /" /tmp/output
	echo "$script: from $began to $ended s"
	# Single checks
	sed -n 's/^ok [0-9]* \([^#].*\) # SKIP /\1 :: /p' /tmp/output | while read -r skipped; do
		kptest skip "$script: $skipped"
	done
	case $rc in
	0)	kptest pass "$script" ;;
	4)	kptest skip "$script" "$(sed -n 's/.*# SKIP //p' /tmp/output | tail -n 1)" ;;
	*)	kptest fail "$script" "status $rc: $(grep -m 1 '^not ok' /tmp/output || tail -n 1 /tmp/output)" ;;
	esac
done
