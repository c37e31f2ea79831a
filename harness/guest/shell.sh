# SPDX-License-Identifier: GPL-2.0
# An interactive shell on the console.
echo
echo "A busybox shell in the guest. Modules: ls /modules; e.g. insmod /modules/kprobe_example.ko"
echo "Probes: cat /sys/kernel/debug/kprobes/list; messages: dmesg | tail. Leave with exit."
export PS1='guest# '
setsid cttyhack sh
