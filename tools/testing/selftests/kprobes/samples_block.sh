#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The module kprobe_block counts requests to disks, by a kprobe or by a jprobe. This takes
# two disks that may be written to:
#
#	kpdisks=/dev/vda,/dev/vdb sh ./samples_block.sh

. ./functions
need debugfs
load kprobe_block || skip "no module kprobe_block"
unload kprobe_block
disks=${kpdisks:-}
one=${disks%%,*} other=${disks#*,}
if [ ! -b "$one" ] || [ ! -b "$other" ] || [ "$one" = "$other" ]; then
	skip "no two disks that may be written to, kpdisks=$disks"
fi

limit=/sys/block/${one##*/}/queue/max_sectors_kb
keep "$limit"

# reads DISK BLOCKS: so many requests of eight sectors each
reads()
{
	dd "if=$1" of=/dev/null bs=4k "count=$2" iflag=direct 2>/dev/null
}

writes()
{
	dd if=/dev/zero "of=$1" bs=4k "count=$2" oflag=direct 2>/dev/null
}

use_both()
{
	reads "$one" 5 && writes "$one" 3 && reads "$other" 2
}

reads_half_a_megabyte()
{
	dd "if=$one" of=/dev/null bs=512k count=1 iflag=direct 2>/dev/null
}

goes_there_and_back()
{
	dd "if=$work/there" "of=$one" bs=16k count=1 oflag=direct 2>/dev/null &&
		dd "if=$one" "of=$work/back" bs=16k count=1 iflag=direct 2>/dev/null &&
		cmp -s "$work/there" "$work/back"
}

# counted DISK: what the module has counted for a disk
counted()
{
	log | sed -n "s/.*kprobe_block: ${1##*/} ([0-9]*:[0-9]*): //p"
}

# begin PARAMETER...; end: the module is loaded in between
begin()
{
	mark_log
	check "kprobe_block $* can be loaded" load kprobe_block "$@"
}

end()
{
	check "and be unloaded" unload kprobe_block
	check "it misses nothing" logged 'kprobe_block: 0 requests missed'
}

refused()
{
	mark_log
	! load kprobe_block "$@"
}

# counts KIND PARAMETER...: with this kind of probe
counts()
{
	kind=$1
	shift
	begin "$@"
	check "with a probe of its kind" [ -n "$(listed "  $kind  submit_bio_noacct+")" ]
	check "disks can be read from and written to" use_both
	end
	check "it has told what it counts by" \
		logged "counting what comes by submit_bio_noacct, with a ${kind}probe\$"
	check "its probe leaves with it" fails listed submit_bio_noacct
	check_is "each request is counted, reads and writes apart" "$(counted "$one")" \
		"5 requests to read 40 sectors, 3 to write 24, 0 to discard 0"
	check_is "and disks apart" "$(counted "$other")" \
		"2 requests to read 16 sectors, 0 to write 0, 0 to discard 0"
	check "a function that is not there is refused" refused "$@" symbol=no_such_function
	check "with ENOENT" logged "kprobe_block: no .probe on no_such_function: error -2\$"
}

counts k jprobe=0
if has_jprobes; then
	counts j jprobe=1
else
	check "there are no jprobes, and so none is taken" refused jprobe=1
	check "with EOPNOTSUPP" logged 'kprobe_block: no jprobe on .*: error -95$'
fi

for devices in 0 1025; do
	check "$devices devices are refused" refused devices=$devices
	check "in words" logged "kprobe_block: devices=$devices: must be 1 to 1024\$"
done

begin devices=1
check "the first disk is read from" reads "$one" 1
check "and then others" reads "$other" 2
end
check_is "the first one has the one place there is" "$(counted "$one")" \
	"1 requests to read 8 sectors, 0 to write 0, 0 to discard 0"
check "requests to others are told" logged 'kprobe_block: 2 requests to devices beyond the first 1$'
check_is "but not counted as its own" "$(counted "$other")" ""

begin
for blocks in 100 100 100 100; do
	reads "$one" $blocks &
done
wait
end
check_is "nothing is lost when several read at the same time" "$(counted "$one")" \
	"400 requests to read 3200 sectors, 0 to write 0, 0 to discard 0"

# carried_out DISK: how many read requests it has completed
carried_out()
{
	awk '{ print $1 }' "/sys/block/${1##*/}/stat"
}

check "a disk can be told to take no more than 64 KiB at a time" can_write 64 "$limit"
before=$(carried_out "$one")
begin
check "512 KiB can be read all the same" reads_half_a_megabyte
end
check "the disk gets them in pieces" [ $(($(carried_out "$one") - before)) -gt 1 ]
check_is "which count as the request that they are of" "$(counted "$one")" \
	"1 requests to read 1024 sectors, 0 to write 0, 0 to discard 0"

dd if=/dev/urandom "of=$work/there" bs=4k count=4 2>/dev/null
begin
check "what is read is what was written" goes_there_and_back
end

# A virtio disk is asked for it by a command.
serial=/sys/block/${one##*/}/serial
if [ -r "$serial" ]; then
	begin symbol=bio_endio
	check "a command may end that is for no block device" cat "$serial"
	end
fi

if [ "$(cat "/sys/block/${one##*/}/queue/discard_max_bytes")" -gt 0 ]; then
	begin
	check "sectors can be discarded" blkdiscard -o 0 -l 8192 "$one"
	end
	check_is "which is counted for itself" "$(counted "$one")" \
		"0 requests to read 0 sectors, 0 to write 0, 1 to discard 16"
fi
finish
