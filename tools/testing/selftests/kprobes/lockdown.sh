#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A kernel that is locked down takes no probes from user space, but still shows those
# that exist. It stays so until the next boot, so this is not in the default run.

. ./functions
need debugfs tracefs victim
securityfs=/sys/kernel/security
lockdown=$securityfs/lockdown
[ -f $lockdown ] || mount -t securityfs none $securityfs 2>/dev/null
[ -w $lockdown ] || skip "no $lockdown"
grep -q lockdown $securityfs/lsm || skip "what locks down is not among the security modules (lsm=)"
grep -q '\[none\]' $lockdown || skip "the kernel is locked down already"
events=$tracefs/events/kp

can_read()
{
	cat "$1" >/dev/null
}

# can_switch 0|1 EVENT
can_switch()
{
	can_write "$1" "$events/$2/enable"
}

# attaches, attach_refused: attach a BPF program to a probe of perf
attaches()
{
	./bpf_probe p kprobes_victim - true
}

attach_refused()
{
	attaches 2>&1 | grep 'bpf_probe: probe: Operation not permitted'
}

# The probes and the blacklist, without the ways of hits and their numbers
what_there_is()
{
	cat $debugfs/list $debugfs/blacklist | sed 's/\[OPTIMIZED\]//'
	sed 's/ path=.*//' $debugfs/sites
}

# debugfs_is_read_only LEVEL
debugfs_is_read_only()
{
	for file in enabled stats_enabled; do
		check "$1: $file cannot be written to" fails can_write 0 $debugfs/$file
	done
	for file in list sites blacklist errors; do
		check "$1: $file can be read" can_read $debugfs/$file
	done
	check_is "$1: they say what they said" "$(what_there_is)" "$there_was"
}

# hit_by_three_calls LEVEL
hit_by_three_calls()
{
	before=$(site_value hits "$middle")
	call_victim 3
	check_is "$1: the probe that was there is hit" $(($(site_value hits "$middle") - before)) 3
}

echo 1 >$debugfs/stats_enabled
add_event p middle "$middle"
add_event p asleep kprobes_victim
check "an event can be enabled" can_switch 1 middle
there_was=$(what_there_is)
hit_by_three_calls "not locked down"
what="a program can be attached" no_bpf=
attaches >/dev/null 2>&1
case $? in
4)	no_bpf="no BPF programs on probes in this kernel" ;;
126|127) no_bpf="no program bpf_probe, which make builds here" ;;
esac
if [ -n "$no_bpf" ]; then
	skip_check "$what" "$no_bpf"
else
	check "$what" attaches
fi

check "what is no level is refused" fails can_write nonsense $lockdown
check "nothing is locked down by that" grep -q '\[none\]' $lockdown

check "the kernel can be locked down for its integrity" can_write integrity $lockdown
debugfs_is_read_only integrity
check "integrity: an event can be made" can_define "p:kp/more test_kprobes_victim:$middle"
check "integrity: and go" can_define "-:kp/more"
hit_by_three_calls integrity

check "and for what is confidential" can_write confidentiality $lockdown
debugfs_is_read_only confidentiality
check "confidentiality: no event can be made" \
	fails can_define "p:kp/late test_kprobes_victim:$middle"
check "confidentiality: none can be enabled" fails can_switch 1 asleep
check "confidentiality: nor what happened be read" fails can_read $tracefs/kprobe_profile
[ -n "$no_bpf" ] || check "confidentiality: no program can be attached" attach_refused
check_is "confidentiality: nothing came of all that" "$(what_there_is)" "$there_was"
hit_by_three_calls confidentiality
for level in none integrity; do
	check "there is no way back to $level" fails can_write $level $lockdown
done
gone=$(gone)
check "the probed module can go" unload test_kprobes_victim
check_is "and its two probes are gone" "$(gone)" $((gone + 2))
finish
