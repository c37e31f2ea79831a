# SPDX-License-Identifier: GPL-2.0
# The kernel's own test.d/kprobe (or the cases that kpcases= names, with commas between).
cases=$(echo "${kpcases:-}" | tr , ' ')
[ -n "$cases" ] || cases=$(cd /selftests/ftrace/test.d/kprobe && ls -- *.tc)
for case in $cases; do
	/selftests/ftrace/ftracetest -k --logdir /tmp/log "/selftests/ftrace/test.d/kprobe/$case" >/tmp/result 2>&1
	verdict=$(sed -n 's/.*\[\([A-Z]*\)\]$/\1/p' /tmp/result | head -n 1)
	case $verdict in
	PASS)	kptest pass "$case" ;;
	UNSUPPORTED|UNRESOLVED|UNTESTED|XFAIL)
		kptest skip "$case" "$verdict: $(tail -n 1 /tmp/log/*-log.*)"
		tail -n 5 /tmp/log/*-log.* ;;
	*)	kptest fail "$case" "$verdict"
		cat /tmp/result
		tail -n 25 /tmp/log/*-log.* ;;
	esac
	rm -rf /tmp/log
done
