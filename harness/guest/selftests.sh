# SPDX-License-Identifier: GPL-2.0
# Our shell selftests: exit 0 is a pass, 4 a skip, anything else a failure.
cd /selftests/kprobes || poweroff -f
for script in *.sh; do
	sh "./$script" >/tmp/output 2>&1
	rc=$?
	sed "s/^/$script: /" /tmp/output
	case $rc in
	0)	kptest pass "$script" ;;
	4)	kptest skip "$script" "$(tail -n 1 /tmp/output)" ;;
	*)	kptest fail "$script" "status $rc: $(tail -n 1 /tmp/output)" ;;
	esac
done
