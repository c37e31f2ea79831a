# SPDX-License-Identifier: GPL-2.0
# Probes on all of the kernel's text, one batch after the other, while processes, files, pipes,
# sockets, timers and modules come and go. kpshare=N takes one batch in N.

# Each job succeeds if everything came out as it should. Each worker has a $dir and a $port.

processes()
{
	(:)
	[ "$(sh -c 'echo 1234' | cat | wc -c)" = 5 ] && sleep 0.01
}

files()
{
	mkdir -p "$dir/a/b" &&
		echo text >"$dir/a/b/file" &&
		cp "$dir/a/b/file" "$dir/copy" &&
		mv "$dir/copy" "$dir/a/copy" &&
		ln -s copy "$dir/a/link" &&
		dd if=/dev/zero of="$dir/large" bs=64k count=4 &&
		[ "$(cat "$dir/a/link")" = text ] &&
		[ "$(find "$dir" | wc -l)" = 7 ]
	good=$?
	rm -r "$dir"
	return $good
}

devices()
{
	cat /proc/interrupts /proc/self/maps /proc/meminfo &&
		[ -n "$(cat /sys/devices/system/cpu/online)" ] &&
		mkdir -p "$dir" && mount -t tmpfs none "$dir" && umount "$dir" && rmdir "$dir"
}

# Who listens needs a while for that, and any of it may be frozen, while text is patched. What it says
# comes from a file: it ends when the other side has, and must have said it by then.
network()
{
	nc -l -p "$port" -w 60 </tmp/hello &
	heard=
	for try in $(seq 50); do
		heard=$(nc -w 30 127.0.0.1 "$port" </dev/null) && [ -n "$heard" ] && break
		sleep 0.1
	done
	ping -c 1 -W 60 127.0.0.1 && [ "$heard" = hello ]
	good=$?
	wait
	return $good
}

modules()
{
	insmod /modules/test_kprobes_victim.ko && rmmod test_kprobes_victim
}

# work NUMBER JOB...: in turn. How each went is a line of /tmp/sweep-NUMBER.
work()
{
	number=$1 dir=/tmp/work$1 port=471$1
	shift
	while [ ! -e /tmp/sweep-end ]; do
		for job; do
			verdict=wrong
			! "$job" >/dev/null 2>&1 || verdict=right
			echo "$job $verdict" >>"/tmp/sweep-$number"
		done
	done
}

# how_many JOB VERDICT
how_many()
{
	cat /tmp/sweep-[12] | grep -c "^$1 $2\$"
}

ifconfig lo 127.0.0.1 up || kptest fail "a network for the workload"
echo hello >/tmp/hello
work 1 processes files devices network modules &
work 2 processes files devices network &
name="the kernel works with probes all over its text"
if echo "${kpshare:-1}" >/sys/module/test_sweep/parameters/run; then
	kptest pass "$name" "$(dmesg | sed -n 's/.*kprobes_sweep: \(.* hits, .*\)/\1/p' | tail -n 1)"
else
	kptest fail "$name" "$(dmesg | sed -n 's/.*kprobes_sweep: //p' | tail -n 1)"
fi
touch /tmp/sweep-end
wait
for job in processes files devices network modules; do
	verdict=pass
	{ [ "$(how_many $job right)" -gt 0 ] && [ "$(how_many $job wrong)" = 0 ]; } || verdict=fail
	kptest $verdict "workload of the sweep: $job" "$(how_many $job right) times, $(how_many $job wrong) wrong"
done
