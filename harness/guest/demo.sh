# SPDX-License-Identifier: GPL-2.0
# What "make demo" shows. Every step that has a "kptest" line was really seen or is a failure.
# kpfunction= and kpoffset= (from the host, which has the disassembly): the instruction after the
# call that reserves a file descriptor.

explain()
{
	echo
	echo "$*" | fold -s -w 90 | sed 's/^/# /'
}

load()
{
	echo "\$ insmod $*"
	insmod "/modules/$@" || kptest fail "insmod $1"
}

unload()
{
	echo "\$ rmmod $1"
	rmmod "$1" || kptest fail "rmmod $1"
}

# seen NAME PATTERN COUNT: print the kernel log's lines since forget that match; there must be as
# many as COUNT says.
seen()
{
	dmesg | sed 's/^<[0-9]*>//' | grep -E "$2" >/tmp/seen
	sed 's/^/    /' /tmp/seen
	found=$(wc -l </tmp/seen)
	if [ "$found" = "$3" ]; then
		kptest pass "$1"
	else
		kptest fail "$1" "$found lines like '$2', not $3"
	fi
}

forget()
{
	dmesg -c >/dev/null
}

fork_three_times()
{
	forget
	echo "$ sh -c '(:); (:); (:)'"
	sh -c '(:); (:); (:); :'
}

copy()
{
	echo "\$ dd $*"
	dd "$@" 2>/dev/null
}

# show FILE COPY: print the file, and keep it as /tmp/COPY
show()
{
	echo "\$ cat $1"
	tee "/tmp/$2" <"$1"
}

echo "hello" >/root/hello
list=/sys/kernel/debug/kprobes/list

echo
echo "Linux $(uname -r) on $(uname -m), $(grep -c ^processor /proc/cpuinfo) CPUs, in QEMU."
echo "No probe is set: $list has $(wc -l <$list) lines."

explain "A kprobe runs a function of ours each time the kernel comes by an address. This module" \
	"puts one on the entry of kernel_clone(), which every fork goes through:"
load kprobe_example.ko symbol=kernel_clone
explain "The kernel's list of probes: address, kind, function+offset, and how it is served:"
sed 's/^/    /' $list
if grep -q 'kernel_clone' $list; then kptest pass "probe is in the list"; else kptest fail "probe is in the list"; fi
explain "A shell forks three processes. The probe sees each, with the registers of the moment:"
fork_three_times
seen "registers at kernel_clone" 'kprobe_example: kernel_clone entered by sh .*(rdi|eax|x0)=' 3
unload kprobe_example

explain "A probe can sit on any instruction. This one is in the middle of $kpfunction(), right after" \
	"the call that picks the file descriptor of a file to be opened, which is now in a register:"
load kprobe_offset.ko "symbol=$kpfunction" "offset=$kpoffset"
sed 's/^/    /' $list
explain "cat opens a file. The value is the descriptor it is going to get:"
forget
echo "$ cat /root/hello"
cat /root/hello
seen "the descriptor in the middle of $kpfunction" "kprobe_offset: cat .*: .* = 0x3\$" 1
explain "One byte further no instruction begins, and the kernel says no instead of breaking itself:"
unload kprobe_offset
echo "\$ insmod kprobe_offset.ko symbol=$kpfunction offset=$((kpoffset + 1))"
quiet=$(cat /proc/sys/kernel/printk)
echo 3 >/proc/sys/kernel/printk
if insmod /modules/kprobe_offset.ko "symbol=$kpfunction" "offset=$((kpoffset + 1))" 2>/dev/null; then
	kptest fail "refusal in the middle of an instruction" "the module was loaded"
	rmmod kprobe_offset
else
	dmesg | grep -m 1 'kprobe_offset: no probe at .* error -84' >/tmp/seen ||
		kptest fail "refusal in the middle of an instruction" "no such message"
	sed 's/^/    /' /tmp/seen
	[ ! -s /tmp/seen ] || kptest pass "refusal in the middle of an instruction"
fi
echo "$quiet" >/proc/sys/kernel/printk

if [ -e /modules/jprobe_example.ko ]; then
	explain "A jprobe is a function of ours that is called with the arguments of the probed one, and" \
		"finds them by name. This one looks at the path that do_filp_open() is given:"
	load jprobe_example.ko name=/root/
	forget
	echo "$ cat /root/hello"
	cat /root/hello
	seen "arguments of do_filp_open by name" 'jprobe_example: cat .* opens pathname="/root/hello"' 1
	unload jprobe_example
fi

explain "A return probe sees what a function returns, here the pid of the child, and how long it took:"
load kretprobe_example.ko func=kernel_clone
fork_three_times
seen "return values of kernel_clone" 'kretprobe_example: sh .* kernel_clone returned [0-9]+ after' 3
unload kretprobe_example

if [ -e /modules/kretprobe_open.ko ]; then
	explain "Another one, on do_filp_open(), picks the calls by the name that is to be opened, and tells" \
		"what came of them:"
	load kretprobe_open.ko name=/root/
	forget
	echo "$ cat /root/hello /root/nothing"
	cat /root/hello /root/nothing
	seen "files that are opened, and that cannot be" \
		'kretprobe_open: cat .* (opened "/root/hello"|could not open "/root/nothing": error -2)$' 2
	unload kretprobe_open
fi

if [ -e /modules/kprobe_block.ko ] && [ -n "${kpdisks:-}" ]; then
	disk=${kpdisks%%,*}
	explain "This module counts what each disk is asked, by a kprobe on submit_bio_noacct(), and then by" \
		"a jprobe. Three blocks of eight sectors are written and five are read:"
	forget
	for jprobe in 0 1; do
		load kprobe_block.ko jprobe=$jprobe
		copy if=/dev/zero "of=$disk" bs=4k count=3 oflag=direct
		copy "if=$disk" of=/dev/null bs=4k count=5 iflag=direct
		unload kprobe_block
	done
	seen "requests and sectors of a disk, by a kprobe and by a jprobe" \
		"kprobe_block: ${disk##*/} .*: 5 requests to read 40 sectors, 3 to write 24," 2
fi

explain "A handler can send the kernel elsewhere. Here a function of the module's runs in place of" \
	"version_proc_show(), until the module leaves:"
show /proc/version before
load kprobe_replace.ko
show /proc/version meanwhile
unload kprobe_replace
show /proc/version after
if grep -q kprobe_replace /tmp/meanwhile && cmp -s /tmp/before /tmp/after; then
	kptest pass "a function is replaced, and put back"
else
	kptest fail "a function is replaced, and put back"
fi

explain "The handler of this module reads through a NULL pointer. Its fault handler puts that right:"
load kprobe_fault.ko symbol=kernel_clone
fork_three_times
seen "a fault in a handler is survived" 'kprobe_fault: kernel_clone entered by sh .* survived fault' 3
unload kprobe_fault

explain "Tracing tools use the same probes without writing a module. Which files are opened?"
cd /sys/kernel/tracing
echo "\$ echo 'p:opened do_sys_openat2 file=+0(\$arg2):ustring' > kprobe_events; echo 1 > events/kprobes/opened/enable"
echo 'p:opened do_sys_openat2 file=+0($arg2):ustring' >kprobe_events
echo 1 >events/kprobes/opened/enable
cat /root/hello /proc/version >/dev/null
echo 0 >events/kprobes/opened/enable
grep 'opened:' trace | grep -v '^#' | head -n 6
if grep -q 'opened:.*file="/root/hello"' trace; then
	kptest pass "trace event names the opened file"
else
	kptest fail "trace event names the opened file"
fi
echo >kprobe_events
cd /root

explain "All probes are gone again:"
echo "\$ wc -l $list"
wc -l <$list
if [ -s $list ]; then kptest fail "no probe is left"; else kptest pass "no probe is left"; fi
