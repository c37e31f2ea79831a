# SPDX-License-Identifier: GPL-2.0
# What the kernel's own test.d has about probes, or the cases and directories that kpcases= names,
# as paths below test.d with commas between. A case that runs in an instance of
# tracing too has two verdicts, of which the worse counts.
tests=/selftests/ftrace/test.d
cases=$(echo "${kpcases:-}" | tr , ' ')
# One has a probe where the executable part of the shell begins, and wants it to be hit. On arm64 what
# is there is the header of the file.
case $(uname -m) in
aarch64)	left_out=add_remove_uprobe.tc ;;
*)		left_out= ;;
esac
cases=$(cd $tests &&
	find ${cases:-kprobe dynevent direct/kprobe-direct.tc} -name '*.tc' ! -name "$left_out" | sort)

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
