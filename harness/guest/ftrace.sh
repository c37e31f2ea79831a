# SPDX-License-Identifier: GPL-2.0
# What the kernel's own test.d has about probes and the files they share, or the cases that
# kpcases= names, as paths below test.d with commas between. A case that runs in an instance of
# tracing too has two verdicts, of which the worse counts. Left out is one that wants a
# shell which is a file of that name, not busybox.
tests=/selftests/ftrace/test.d
cases=$(echo "${kpcases:-}" | tr , ' ')
[ -n "$cases" ] ||
	cases=$(cd $tests && find kprobe dynevent 00basic direct/kprobe-direct.tc -name '*.tc' ! -name add_remove_uprobe.tc | sort)

# The last that the case said, not what the shell did
reason()
{
	cat /tmp/log/*-log.* | grep -v -e '^+' -e '^$' | tail -n 1
}

for case in $cases; do
	/selftests/ftrace/ftracetest -k --logdir /tmp/log "$tests/$case" >/tmp/result 2>&1
	verdicts=$(sed -n 's/.*\[\([A-Z]*\)\]$/\1/p' /tmp/result | sort -u | tr '\n' ' ')
	case $verdicts in
	"PASS ")
		kptest pass "$case" ;;
	'' | *FAIL\ *)
		kptest fail "$case" "$verdicts"
		cat /tmp/result
		tail -n 25 /tmp/log/*-log.* ;;
	*)	kptest skip "$case" "${verdicts% }: $(reason)"
		tail -n 5 /tmp/log/*-log.* ;;
	esac
	rm -rf /tmp/log
done
