# SPDX-License-Identifier: GPL-2.0
# What the kernel's own test.d has about probes, or the cases and directories that kpcases= names,
# as paths below test.d with commas between. Some run a second time, in an instance of tracing.
tests=/selftests/ftrace/test.d
cases=$(echo "${kpcases:-}" | tr , ' ')
set --
# This one has a probe where the executable part of the shell begins, and wants it to be hit. On
# arm64 what is there is the header of the file.
[ "$(uname -m)" != aarch64 ] || set -- ! -name add_remove_uprobe.tc
# And this one has probes on a function of TCP.
grep -q ' inet_csk_accept$' /proc/kallsyms || set -- "$@" ! -name kretprobe_maxactive.tc
cases=$(cd $tests &&
	find ${cases:-kprobe dynevent direct/kprobe-direct.tc} -name '*.tc' "$@" | sort | sed "s,^,$tests/,")

# The last that the case said, not what the shell did
reason()	# LOG
{
	grep -v -e '^+' -e '^$' "$1" | tail -n 1
}

# shellcheck disable=SC2086
/selftests/ftrace/ftracetest -k --logdir /tmp/log $cases 2>&1 | while read -r line; do
	number=$(expr "$line" : '\[\([0-9]*\)\]') || continue
	log=$(echo "/tmp/log/$number"-*)
	name=$(sed -n "1s,^execute\( *[^ ]*\) *: $tests/\(.*\),\2\1,p" "$log")
	verdict=${line##*[}
	echo "$name" >>/tmp/done
	case $verdict in
	"PASS]")
		kptest pass "$name" ;;
	"FAIL]")
		kptest fail "$name"
		tail -n 25 "$log" ;;
	*)	kptest skip "$name" "${verdict%]}: $(reason "$log")"
		tail -n 5 "$log" ;;
	esac
done
# If ftracetest itself came to an end before
for case in $cases; do
	grep -qxF "${case#"$tests/"}" /tmp/done || kptest fail "${case#"$tests/"}" "it has no verdict"
done
rm -rf /tmp/log /tmp/done
