# SPDX-License-Identifier: GPL-2.0
# harness/bench: the module prints its figures to the kernel log. From the kernel command line:
#   kpothers=N	how many other probes make a crowd
#   kpwall=1	the wall time of two CPUs, and nothing else
#   kpattach=N,...	attaching and detaching so many probes at a time, and nothing else
#   kpsingles=N	of which no more than so many one by one
#   kpusers=1	what users of BPF, perf and tracefs pay, and nothing else
# Sets of figures: off and on say whether there is jump optimization (where a kernel has no switch
# for it, there is no set on), crowd-off and crowd-on are the same among the others.
# The set few has fewer functions that ftrace knows.
optimization=/proc/sys/debug/kprobes-optimization
tracing=/sys/kernel/tracing

bench()	# SET OPTIMIZATION PARAMETER...
{
	name=$1 optimized=$2
	shift 2
	if [ -f $optimization ]; then
		echo "$optimized" >$optimization
	elif [ "$optimized" = 1 ]; then
		return
	fi
	if insmod /modules/kprobe_bench.ko "set=$name" "$@"; then
		kptest pass "bench $name"
		rmmod kprobe_bench
	else
		kptest fail "bench $name"
	fi
}

load()
{
	for module; do
		insmod "$module"
	done
}

# How many places ftrace knows
records()	# SET
{
	echo "kprobe_bench: records=$(wc -l <$tracing/available_filter_functions) set=$1"
}

# What stays of memory: pages of slots, and kilobytes of small objects
memory()	# WHEN
{
	pages=$(grep -c ' kprobe_[a-z]*insn_page' /proc/kallsyms)
	slab=$(sed -n 's/^Slab: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
	echo "kprobe_bench: memory=$1 slot_pages=$pages slab=$slab"
}

# Centiseconds since boot
now()
{
	read -r up _ </proc/uptime
	echo "${up%.*}${up#*.}"
}

# Events on up to 500 functions go to /tmp/events: at the entries, or behind what ftrace patches
# there. Of two offsets one is that of an instruction: which one is to be known before time counts.
try_events()	# OFFSET...
{
	awk 'NR % 20 == 0 && $1 !~ /[.]/ { print $1 }' $tracing/available_filter_functions |
		while read -r function; do
			for offset; do
				echo "p:bench/on_$function $function$offset" >>$tracing/kprobe_events || continue
				echo "p:bench/on_$function $function$offset"
				break
			done 2>/dev/null
		done | head -500 >/tmp/events
	echo >$tracing/kprobe_events
}

create_events()
{
	while read -r event; do
		echo "$event" >>$tracing/kprobe_events
	done </tmp/events
}

# The functions that making an event goes through, the outer ones first
layers="ksys_write probes_write trace_parse_run_command create_or_delete_trace_kprobe trace_kprobe_create
	__trace_kprobe_create register_trace_kprobe register_kprobe_event trace_probe_register_event_call
	trace_add_event_call event_create_dir eventfs_create_dir kallsyms_on_each_match_symbol
	module_kallsyms_on_each_symbol module_kallsyms_lookup_name kallsyms_lookup_name register_kprobe
	ksys_dup3 do_sys_openat2 filp_flush task_work_run"

# Once more, under ftrace's profiler: how often each was called, and what all of that took together
profile_events()	# KIND
{
	[ -f $tracing/function_profile_enabled ] || return 0
	echo >$tracing/set_ftrace_filter
	for function in $layers; do
		echo "$function" >>$tracing/set_ftrace_filter
	done 2>/dev/null
	echo 1 >$tracing/function_profile_enabled
	create_events
	echo 0 >$tracing/function_profile_enabled
	echo >$tracing/kprobe_events
	echo >$tracing/set_ftrace_filter
	awk -v kind="$1" '$2 ~ /^[0-9]+$/ { print "kprobe_bench: layer=" $1 " kind=" kind " calls=" $2 " us=" int($3) }' \
		$tracing/trace_stat/function*
}

# Events of tracefs, made one by one, and switched and removed by one write each: what that takes of
# the guest's time
events()	# KIND OFFSET...
{
	kind=$1
	shift
	try_events "$@"
	number=$(wc -l </tmp/events)
	start=$(now)
	create_events
	created=$(now)
	echo 1 >$tracing/events/bench/enable
	enabled=$(now)
	echo 0 >$tracing/events/bench/enable
	disabled=$(now)
	echo >$tracing/kprobe_events
	deleted=$(now)
	echo "kprobe_bench: events=$number kind=$kind create=$((created - start)) enable=$((enabled - created))" \
		"disable=$((disabled - enabled)) delete=$((deleted - disabled))"
	profile_events "$kind"
}

# Names from all over the kernel that one function has, which none of what is measured calls: else their
# hits would count, and more of them with more probes
quiet_functions()
{
	awk 'NR == FNR { number[$3]++; next } number[$1] == 1 && NF == 1 && $1 !~ /[.]/' /proc/kallsyms \
		$tracing/available_filter_functions >/tmp/functions
	echo 1 >$tracing/function_profile_enabled
	/harness/users "$1" /tmp/functions few >/dev/null
	echo 0 >$tracing/function_profile_enabled
	cat $tracing/trace_stat/function* | awk 'NR == FNR { called[$1]; next } !($1 in called) && ++n % 4 == 0' \
		- /tmp/functions >/tmp/quiet
}

users()
{
	function=$(sed -n 's/.* \(__[a-z0-9]*_sys_getppid\)$/\1/p' /proc/kallsyms | head -n 1)
	quiet_functions "$function"
	/harness/users "$function" /tmp/quiet || kptest fail "bench users"
	bench users 1 "named=$(tail -n 16 /tmp/quiet | paste -s -d ,)"
}

if [ "${kpusers:-0}" = 1 ]; then
	users
elif [ "${kpwall:-0}" = 1 ]; then
	bench wall 0 wall=1
elif [ -n "${kpattach:-}" ]; then
	load /modules/bench_sites_*.ko /modules/bench_entries_0.ko
	records few
	bench few 0 attach=100
	load /modules/bench_entries_[1-9].ko
	records off
	memory before
	bench off 0 "attach=$kpattach" "single_limit=$kpsingles"
	bench on 1 "attach=$kpattach" "single_limit=$kpsingles" optimized=1
	# Sites are freed some seconds later, many at a time
	sleep 20
	memory after
	events entry ""
	case $(uname -m) in
	aarch64)	events body +8 +12 ;;
	*)		events body +5 +9 ;;
	esac
else
	load /modules/bench_sites_*.ko
	bench off 0
	bench on 1 optimized=1
	bench crowd-off 0 "others=$kpothers"
	bench crowd-on 1 "others=$kpothers" optimized=1
fi
