#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# harness/demo.sh: build, boot and run harness/guest/demo.sh; status 0 if all it promises was seen.

. "${0%/*}/lib.sh"

began=$(date +%s)
log=$out/logs/demo-$ARCH.log
function=do_sys_openat2 callee=get_unused_fd_flags

# Where the instruction after FUNCTION's call of CALLEE is, as an offset into FUNCTION.
offset_after_call()
{
	"${cross}objdump" -d --no-show-raw-insn --disassemble="$function" "$obj/vmlinux" |
		awk -v name="<$function>:" -v callee="<$callee>" '
			$2 == name { start = $1; next }
			called { sub(":", "", $1); print start, $1; exit }
			start && /\t(call|bl)[ \t]/ && index($0, callee) { called = 1 }' |
		while read -r start next; do
			# without the upper halves: they are equal, and too large for the shell
			echo $((0x${next#"${next%????????}"} - 0x${start#"${start%????????}"}))
		done
}

"$harness/tree.sh"
"$harness/build.sh"
"$harness/initramfs.sh"
offset=$(offset_after_call)
[ -n "$offset" ] || die "$function() does not call $callee() in this kernel"
say "booting it in QEMU"
status=0
"$harness/boot.sh" "demo-$ARCH" demo loglevel=5 "kpfunction=$function" "kpoffset=$offset" || status=1
tr -d '\r' <"$log" | awk '/kptest: begin demo/ { on = 1; next } /kptest: end demo/ { on = 0 } on && !/kptest: /'
say
"$harness/console.py" guest "$log" | awk -F '\t' '
	{ print "  " ($1 == "pass" ? "seen:    " : "MISSING: ") $2 ($3 == "" ? "" : " (" $3 ")") }
	$1 == "pass" { passed++ }
	$1 != "pass" { failed++ }
	END { exit failed || !passed }' || status=1
say
if [ $status = 0 ]; then
	say "The demo saw all it should. It took $(($(date +%s) - began)) s with the build."
else
	say "The demo FAILED; the console is in ${log#"$top"/}"
fi
exit $status
