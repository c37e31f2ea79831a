# SPDX-License-Identifier: GPL-2.0
# Probes on all of the kernel's text, one batch after the other, while processes, files, pipes,
# sockets, timers and modules come and go. kpshare=N takes one batch in N.

processes()
{
	(:)
	sh -c 'echo $$' | cat | wc -c
	sleep 0.01
}

files()
{
	mkdir -p /tmp/work/a/b
	echo text >/tmp/work/a/b/file
	cp /tmp/work/a/b/file /tmp/work/copy
	mv /tmp/work/copy /tmp/work/a/copy
	ln -s copy /tmp/work/a/link
	dd if=/dev/zero of=/tmp/work/large bs=64k count=4
	find /tmp/work | sort | tail -n 1
	rm -r /tmp/work
}

devices()
{
	cat /proc/interrupts /proc/self/maps /proc/meminfo /proc/slabinfo
	cat /sys/devices/system/cpu/online
	mount -t tmpfs none /mnt && umount /mnt
}

network()
{
	echo hello | nc -l -p 4711 -w 1 &
	nc -w 1 127.0.0.1 4711 </dev/null
	ping -c 1 -W 1 127.0.0.1
	wait
}

modules()
{
	insmod /modules/test_kprobes_victim.ko && rmmod test_kprobes_victim
}

work()
{
	while [ ! -e /tmp/sweep-end ]; do
		for job in processes files devices network modules; do
			$job
		done >/dev/null 2>&1
	done
}

mkdir -p /mnt
ifconfig lo 127.0.0.1 up 2>/dev/null
work &
work &
name="the kernel works with probes all over its text"
if echo "${kpshare:-1}" >/sys/module/test_sweep/parameters/run; then
	kptest pass "$name" "$(dmesg | sed -n 's/.*kprobes_sweep: \(.* hits, .*\)/\1/p' | tail -n 1)"
else
	kptest fail "$name" "$(dmesg | sed -n 's/.*kprobes_sweep: //p' | tail -n 1)"
fi
touch /tmp/sweep-end
wait
