#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The modules in samples/kprobes do what they say, and refuse what they must.

. ./functions
need debugfs
load kprobe_example || skip "no samples"
unload kprobe_example
versions=$work/versions

unload_all()
{
	for sample in kprobe_example kprobe_offset kretprobe_example jprobe_example \
			kretprobe_open kprobe_replace kprobe_fault kprobe_duration; do
		unload $sample
	done
}
at_end=unload_all

# try MODULE PARAMETER...: load it, fork, unload it
try()
{
	sample=$1
	mark_log
	if load "$@"; then
		listed 'kernel_clone' >/dev/null && was_listed=yes || was_listed=no
		(:)
		(:)
		check "$sample can be unloaded" unload "$sample"
		return 0
	fi
	was_listed=no
	return 1
}

refused()
{
	! try "$@"
}

# A register that has an argument
case $machine in
x86_64)	first=rdi ;;
i?86)	first=eax ;;
aarch64) first=x0 ;;
*)	first= ;;
esac

try kprobe_example
check_is "kprobe_example has a probe" $was_listed yes
check "kprobe_example tells where" logged 'kprobe_example: probing kernel_clone at kernel_clone+0x'
check "kprobe_example shows each fork" \
	[ "$(log | grep -c 'kprobe_example: kernel_clone entered by')" -ge 2 ]
[ -z "$first" ] ||
	check "with its registers" logged "entered by .* sp=[0-9a-f]* .*$first=[0-9a-f]*"
check "it tells that it misses nothing" logged 'probe on kernel_clone removed, 0 hits missed$'
check "kprobe_example's probe leaves with it" fails listed kernel_clone
mark_log
(:)
check "and is silent then" fails logged 'entered by'
check "a symbol that is not there is refused" refused kprobe_example symbol=no_such_function
check "with ENOENT" logged 'no probe on no_such_function: error -2'
check "a blacklisted one is refused" refused kprobe_example symbol=notify_die
check "with EINVAL" logged 'no probe on notify_die: error -22'

try kprobe_offset
check "kprobe_offset tells where" logged 'kprobe_offset: probing kernel_clone+0x'
check "kprobe_offset shows a value at the entry" \
	logged 'at kernel_clone+0x0: [^=]* = 0x'
check "it tells that its probe has left" logged 'probe at kernel_clone+0x0 removed$'
if [ -n "$first" ]; then
	try kprobe_offset reg=$first
	check "or a register by name" logged "kernel_clone+0x0: $first = 0x"
fi
check "an offset inside an instruction is refused" refused kprobe_offset offset=1
check "with an errno" logged 'no probe at kernel_clone+0x1: error -\(84\|22\)'
check "a register that is not there is refused" refused kprobe_offset reg=ninety
check "in words" logged 'no register is called ninety here$'
check "so is a number with a sign" refused kprobe_offset reg=x+5
check "a symbol that is not there is refused" refused kprobe_offset symbol=no_such_function
check "with ENOENT" logged 'no probe at no_such_function+0x0: error -2$'
check "the victim can be loaded" load test_kprobes_victim
place=$(cat $victim/middle)
mark_log
load kprobe_offset "symbol=${place%+*}" "offset=${place#*+}" ${first:+"reg=$first"}
call_victim 2
check_is "kprobe_offset shows a value in the middle of a function" \
	"$(log | grep -c "at $place: ")" 2
# The argument counts the calls, and compilers leave it where it came.
[ -z "$first" ] || check_is "which is what the register has there" \
	"$(log | sed -n "s/.*at $place: $first = //p" | tr '\n' ' ')" "0x0 0x1 "
unload kprobe_offset
mark_log
load kprobe_duration "symbol=${place%+*}" "offset=${place#*+}"
call_victim 3
unload kprobe_duration
check "kprobe_duration measures each execution of an instruction" \
	logged "kprobe_duration: 3 times at $place, [0-9]* ns at the most\$"

if load kretprobe_example || promised; then
	check "kretprobe_example was loaded" unload kretprobe_example
	try kretprobe_example
	check "kretprobe_example tells where" \
		logged 'kretprobe_example: timing kernel_clone at kernel_clone+0x'
	check "kretprobe_example shows results and times" \
		[ "$(log | grep -c 'kernel_clone returned [0-9]* after [0-9]* ns')" -ge 2 ]
	check "kretprobe_example misses nothing" logged 'removed, 0 calls missed'
	# Its handler prints, which is a call of this function: a miss.
	try kretprobe_example func=vprintk_emit
	check "but what its own handler calls" logged 'removed, [1-9][0-9]* calls missed'
	check "a function that is not there is refused" \
		refused kretprobe_example func=no_such_function
	check "with ENOENT" logged 'no return probe on no_such_function: error -2'
fi

# A task that a signal wakes inside of a probed function returns from it like any other.
if load kretprobe_example func=hrtimer_nanosleep || promised; then
	sleep 1000 &
	sleeper=$!
	check "a process sleeps" within 100 is_asleep $sleeper
	mark_log
	killed=$sleeper sleeper=
	kill -9 $killed
	wait $killed
	check "one that is killed returns" \
		logged "sleep (pid $killed): hrtimer_nanosleep returned -"
	check "and kretprobe_example can be unloaded" unload kretprobe_example
	check "nothing is missed" logged 'removed, 0 calls missed'
fi

# watches SAMPLE KIND TELLS SHOWN [NOT_THERE]: opened files by the end of their names; SHOWN is what
# it says of one that is there, and NOT_THERE of one that is not
watches()
{
	mark_log
	check "$1 can be loaded" load "$1" name=/func
	check "$1 tells where" logged "$1: $3 do_filp_open at do_filp_open+0x"
	check "$1 has a probe" [ -n "$(listed "  $2  do_filp_open+")" ]
	cat ./functions ./samples.sh >/dev/null
	cat ./func 2>/dev/null
	check "$1 shows what is opened" logged "$1: .* (pid [0-9]*) $4"
	[ -z "${5:-}" ] || check_is "$1 shows what cannot be, once" \
		"$(log | grep -c "$1: .* (pid [0-9]*) $5")" 1
	check "but no others than it was told to" fails logged 'samples.sh"'
	check "$1 can be unloaded" unload "$1"
	check "$1 misses nothing" logged 'removed, 0 calls missed'
	check "$1's probe leaves with it" fails listed do_filp_open
	mark_log
	cat ./functions >/dev/null
	check "and is silent then" fails logged './functions"'
}

if promised || has_jprobes; then
	watches jprobe_example j 'showing arguments of' 'opens pathname="./functions" dfd=-100'
fi
if promised; then
	watches kretprobe_open r watching 'opened "./functions"$' \
		'could not open "./func": error -2$'
fi

own=$(cat /proc/version)
theirs=replaced
mark_log
check "kprobe_replace can be loaded" load kprobe_replace text=$theirs
check "kprobe_replace tells what it replaces" \
	logged 'kprobe_replace: version_replacement .*runs in place of version_proc_show$'
check "kprobe_replace has a probe" [ -n "$(listed version_proc_show)" ]
check_is "kprobe_replace says what it is told to" "$(cat /proc/version)" "$theirs"
check "kprobe_replace can be unloaded" unload kprobe_replace
check "it tells that the function is the kernel's own" \
	logged "version_proc_show is the kernel's own again\$"
check_is "the kernel's own function is back" "$(cat /proc/version)" "$own"
check "kprobe_replace's probe leaves with it" fails listed version_proc_show

read_on()
{
	while [ -f "$versions.go" ]; do
		cat /proc/version >>"$versions" || echo "cannot be read" >>"$versions"
	done
}

: >"$versions.go"
read_on &
rounds=0
while [ $rounds -lt 3 ] && load kprobe_replace text=$theirs && unload kprobe_replace; do
	rounds=$((rounds + 1))
done
rm "$versions.go"
wait
check_is "it comes and goes while there are readers" $rounds 3
check "who read something" [ -s "$versions" ]
check "which is the one text or the other" fails grep -v -x -F -e "$own" -e "$theirs" "$versions"

# survives WORDS ADDRESS
survives()
{
	try kprobe_fault "address=$2"
	check "kprobe_fault survives $1" \
		logged "entered by .*: survived fault 0x[0-9a-f]* at address $2\$"
	check "and tells how often" logged 'removed, [1-9][0-9]* faults survived'
}

# The first word of the kernel's banner
linux_ve=0x65762078756e694c
linux=0x756e694c

case $machine in
x86_64|i?86|aarch64)
	try kprobe_fault
	check_is "kprobe_fault has a probe" $was_listed yes
	check "kprobe_fault tells where" \
		logged 'kprobe_fault: probing kernel_clone at kernel_clone+0x'
	survives "a NULL pointer" 0x0
	case $machine in
	i?86)	begins=$linux
		survives "an address that is not mapped" 0xffffff00 ;;
	*)	begins=$linux_ve
		survives "an address that is not mapped" 0xffffffffffffff00
		survives "an address that cannot be mapped" 0xdead000000000000 ;;
	esac
	banner=$(sed -n 's/ [A-Za-z] linux_banner$//p' /proc/kallsyms)
	if [ -n "$banner" ]; then
		try kprobe_fault "address=0x$banner"
		check "kprobe_fault reads what is there" \
			logged "entered by .*: $begins is at address 0x"
		check "and has survived nothing" logged 'removed, 0 faults survived'
	fi
	check "a symbol that is not there is refused" refused kprobe_fault symbol=no_such_function
	check "with ENOENT" logged 'no probe on no_such_function: error -2'
	;;
esac
finish
