#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""x86-branches.py FILE...: branches of one function into the middle of another, in vmlinux and modules.

A jump in the place of a breakpoint must not cover what is branched to. The kernel looks for that in the
function itself and in its .cold parts, so what else leads into one has to be a symbol of its own. What
cannot be probed does not matter, nor do functions in KNOWN; nor weak functions whose name has been taken
by another one: the code is there, but nobody calls it.
"""
import bisect
import re
import subprocess
import sys

# The target is behind an instruction that is as long as a jump; the function cannot be probed.
KNOWN = {"ftrace_regs_caller_end", "startup_32_smp"}

# From and up to which symbol of vmlinux there are no probes
BARRED = [("__noinstr_text_start", "__noinstr_text_end"), ("__static_call_text_end", "_etext")]


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def base(name):
    return name.split(".cold")[0]


def branches(path):
    """(section, symbol, its address, instruction's address, target) of each branch within a section"""
    section = symbol = start = None
    for line in output("objdump", "-d", "--no-show-raw-insn", path):
        if match := re.match(r"Disassembly of section (\S+):", line):
            section = match[1]
        elif match := re.match(r"([0-9a-f]+) <(.*)>:$", line):
            start, symbol = int(match[1], 16), match[2]
        elif match := re.match(r"\s*([0-9a-f]+):\t(?:\S+ )*(?:j\w+|loop\w*|call\w?)\s+([0-9a-f]+) <", line):
            yield section, symbol, start, int(match[1], 16), int(match[2], 16)


def relocated(path):
    """Where something that is filled in later stands, by section: no target is known there"""
    section, found = None, set()
    for line in output("objdump", "-r", path):
        if match := re.match(r"RELOCATION RECORDS FOR \[(\S+)\]:", line):
            section = match[1]
        elif match := re.match(r"([0-9a-f]{8,16}) R_", line):
            found.add((section, int(match[1], 16)))
    return found


def symbols(path):
    """{section: {address: name}}, and {name: address}"""
    sections, names = {}, {}
    for line in output("objdump", "-t", path):
        match = re.match(r"([0-9a-f]{8,16}) .{7} (\.\S+)\t[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
        if match and match[2] != match[3] and not match[3].startswith(".L"):
            sections.setdefault(match[2], {}).setdefault(int(match[1], 16), match[3])
            names[match[3]] = int(match[1], 16)
    return sections, names


def limits(path):
    """{section: (first address, end)}"""
    found = {}
    for line in output("objdump", "-h", path):
        if match := re.match(r"\s*\d+ (\S+)\s+([0-9a-f]{8,16})\s+([0-9a-f]{8,16})\s", line):
            found[match[1]] = int(match[3], 16), int(match[3], 16) + int(match[2], 16)
    return found


def lost_its_name(symbol, names_there):
    """Is it the cold part of a weak function?"""
    return ".cold" in symbol and base(symbol) not in names_there


def crossing(path):
    sections, names = symbols(path)
    later = relocated(path)
    within = limits(path)
    barred = [(names[start], names[end]) for start, end in BARRED if start in names and end in names]
    ordered = {section: sorted(addresses) for section, addresses in sections.items()}
    for section, symbol, start, addr, to in branches(path):
        addresses = ordered.get(section, [])
        first, end = within[section]
        if not section.startswith(".text") or not first <= to < end or to in sections.get(section, {}):
            continue
        if any((section, addr + offset) in later for offset in (1, 2, 3)):
            continue
        nth = bisect.bisect_right(addresses, to) - 1
        if nth < 0 or addresses[nth] == start or any(first <= to < end for first, end in barred):
            continue
        target = sections[section][addresses[nth]]
        if target.startswith("__pfx_") or target in KNOWN or base(target) == base(symbol):
            continue
        if not lost_its_name(symbol, sections[section].values()):
            yield symbol, addr - start, f"{target}+{to - addresses[nth]:#x}"


status = 0
for path in sys.argv[1:]:
    for symbol, offset, place in crossing(path):
        print(f"{path}: {symbol}+{offset:#x} leads to {place}")
        status = 1
print("no branch leads into another function" if not status else "branches lead into other functions")
sys.exit(status)
