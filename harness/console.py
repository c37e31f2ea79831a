#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Read a guest's console log.

console.py check LOG [END]
                       print what no healthy boot prints (oopses, warnings, KASAN, lockdep); status 1
                       when there was any, or when nothing says END: that the guest's job did
console.py kunit LOG   the KUnit cases as lines: pass|fail|skip <tab> suite.case <tab> detail
console.py parameters LOG
                       the parameters that were skipped in cases that were not, as suite.case:parameter
console.py guest LOG   the results that guest jobs reported, in the same form

A test that provokes a warning on purpose says so in the kernel log, before and after it:
"kprobes_test: expected report begins" and "kprobes_test: expected report ends".
"""
import re
import sys

TROUBLE = re.compile(
    r"WARNING:|\bBUG:|\bBUG\b.*at |Oops\b|Call [Tt]race:|Kernel panic|general protection fault|KASAN|UBSAN|"
    r"Unable to handle|unable to handle|invalid opcode|stack segment|double fault|stack guard page|"
    r"possible .* (?:locking|deadlock)|inconsistent lock state|suspicious RCU usage|INFO: (?:rcu|task)|"
    r"detected stalls|soft lockup|hard LOCKUP|list_(?:add|del) corruption|corrupted|insecure W\+X|"
    r"[1-9]\d* W\+X pages found|ODEBUG|refcount_t:|held lock freed|sleeping function called|"
    r"scheduling while atomic|not ready for|Attempted to kill init|unexpected int3")
# Said in a healthy boot although a pattern above matches.
HARMLESS = re.compile(r"kasan: KernelAddressSanitizer|no W\+X pages found|KASAN.*(?:init|shadow)|^\s*#|kptest: ")
STAMP = re.compile(r"^(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?)?")
CASE = re.compile(r"^( *)(ok|not ok) (\d+) (\S+)(?: # (.*))?$")
SKIPPED_PARAMETER = re.compile(r"^ {8}ok \d+ (.*) # (SKIP.*)$")


def lines(path):
    with open(path, errors="replace") as log:
        return [STAMP.sub("", line.rstrip("\r\n")) for line in log]


def check(path, end="kptest: end "):
    text = lines(path)
    trouble, expected = [], False
    for number, line in enumerate(text, 1):
        if "kprobes_test: expected report begins" in line:
            expected = True
        elif "kprobes_test: expected report ends" in line:
            expected = False
        elif not expected and TROUBLE.search(line) and not HARMLESS.search(line):
            trouble.append(f"{path}:{number}: {line}")
    if expected:
        trouble.append(f"{path}: an expected report began and never ended")
    if not any(end in line for line in text):
        trouble.append(f"{path}: the guest did not come to its end; its last lines:")
        trouble += ["    " + line for line in text[-8:]]
    for line in trouble[:40]:
        print(line)
    return bool(trouble)


class Level:
    """One indentation of KTAP: its plan, and how many results came."""

    def __init__(self, name):
        self.name, self.plan, self.seen = name, None, 0


def kunit(path):
    """The suites at boot: cases, and skipped parameters of cases that were not skipped as a whole.

    Cases stand at one level of indentation, parameters of a case deeper, suites at none.
    """
    results, parameters, skipped = [], [], []
    suite, notes, started = Level("?"), [], False
    suites = Level("KUnit")
    for line in lines(path):
        if line == "KTAP version 1":
            started = True
        if not started:
            continue
        # Suites that run again are for who asks for it.
        if "kptest: begin" in line:
            break
        if re.match(r"^    # Subtest: ", line):
            suite, notes = Level(line.split(": ", 1)[1]), []
        elif re.match(r"^1\.\.\d+$", line):
            suites.plan = int(line[3:])
        elif re.match(r"^    1\.\.\d+$", line):
            suite.plan = int(line.strip()[3:])
        elif re.match(r"^    # ", line):
            notes.append(line.strip()[2:])
        match = SKIPPED_PARAMETER.match(line)
        if match:
            skipped.append(match.groups())
        match = CASE.match(line)
        if not match or len(match[1]) > 4:
            continue
        if match[1] == "":
            suites.seen += 1
            if suite.plan is not None and suite.seen != suite.plan:
                results.append(("fail", f"{suite.name}", f"planned {suite.plan} cases, {suite.seen} reported"))
            continue
        suite.seen += 1
        extra = match[5] or ""
        verdict = "fail" if match[2] == "not ok" else "skip" if extra.startswith("SKIP") else "pass"
        detail = extra if verdict == "skip" else "; ".join(notes)[:300] if verdict == "fail" else ""
        case = f"{suite.name}.{match[4]}"
        results.append((verdict, case, detail))
        if verdict != "skip":
            parameters += [("skip", f"{case}:{name.replace(' ', '_')}", why) for name, why in skipped]
        notes, skipped = [], []
    if suites.plan is None:
        results.append(("fail", "KUnit", "no KTAP plan on the console"))
    elif suites.seen != suites.plan:
        results.append(("fail", "KUnit", f"planned {suites.plan} suites, {suites.seen} came to their end (last: {suite.name})"))
    return results, parameters


def guest(path):
    results = []
    for line in lines(path):
        match = re.search(r"kptest: (pass|fail|skip) (.*)", line)
        if match:
            name, _, detail = match[2].partition(" :: ")
            results.append((match[1], name, detail))
    return results


def main():
    command, path, *end = sys.argv[1:]
    if command == "check":
        return check(path, *end)
    rows = {"kunit": lambda: kunit(path)[0], "parameters": lambda: kunit(path)[1], "guest": lambda: guest(path)}
    for row in rows[command]():
        print("\t".join(row))
    return 0


sys.exit(main())
