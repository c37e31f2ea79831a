#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Read a guest's console log.

console.py check LOG [END]
                       print lines that no healthy boot prints (oopses, warnings, KASAN, lockdep);
                       status 1 if there are any, or if no line has END: the guest's job did not end
console.py kunit LOG   the KUnit cases as lines: pass|fail|skip <tab> suite.case <tab> detail
console.py parameters LOG
                       the skipped parameters of cases that were not skipped, as suite.case:parameter
console.py guest LOG   the results that guest jobs have reported, in the same form

A test that provokes a report on purpose logs these lines before and after it:
"kprobes_test: expected report begins: PATTERN" and "kprobes_test: expected report ends". Lines in between
are excused that match the pattern, and the traces behind them. Without one, those of a WARN() are, and
there has to be one.
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
# A healthy boot prints these, although a pattern above matches.
HARMLESS = re.compile(r"kasan: KernelAddressSanitizer|no W\+X pages found|KASAN.*(?:init|shadow)|^\s*#|kptest: ")
STAMP = re.compile(r"^(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?)?")
BEGINS = re.compile(r"kprobes_test: expected report begins(?:: (.*))?$")
WARN = "WARNING: CPU: "
TRACE = re.compile(r"Call [Tt]race:")
SUBTEST = "    # Subtest: "
PLAN = re.compile(r"^( {4})?1\.\.(\d+)$")
CASE = re.compile(r"^( {4})?(ok|not ok) \d+ (\S+)(?: # (.*))?$")
SKIPPED_PARAMETER = re.compile(r"^ {8}ok \d+ (.*) # (SKIP.*)$")


def lines(path):
    with open(path, errors="replace") as log:
        return [STAMP.sub("", line.rstrip("\r\n")) for line in log]


def check(path, end="kptest: end "):
    text = lines(path)
    trouble, expected, excused, came = [], None, False, True
    for number, line in enumerate(text, 1):
        begins = BEGINS.search(line)
        if begins:
            expected, excused, came = re.compile(begins[1] or WARN), False, bool(begins[1])
        elif "kprobes_test: expected report ends" in line:
            if not came:
                trouble.append(f"{path}:{number}: an expected report did not come")
            expected, came = None, True
        elif expected and expected.search(line):
            excused = came = True
        elif expected and excused and TRACE.search(line):
            pass
        elif TROUBLE.search(line) and not HARMLESS.search(line):
            trouble.append(f"{path}:{number}: {line}")
            excused = False
    if expected:
        trouble.append(f"{path}: an expected report began and never ended")
    if not any(mark in line for line in text for mark in end.split("|")):
        trouble.append(f"{path}: the guest did not come to its end; its last lines:")
        trouble += ["    " + line for line in text[-8:]]
    for line in trouble[:40]:
        print(line)
    return bool(trouble)


class Level:
    """One level of indentation in KTAP: its plan, and how many results came."""

    def __init__(self, name):
        self.name, self.plan, self.seen, self.failed = name, None, 0, 0


def ktap(path):
    """The lines of KUnit at boot. Suites that a guest's job runs again, after that, are left out."""
    started = False
    for line in lines(path):
        started = started or line == "KTAP version 1"
        if started and "kptest: begin" in line:
            return
        if started:
            yield line


class Report:
    """What KUnit reported. Suites are not indented, cases by four, their parameters by eight."""

    def __init__(self):
        self.results, self.parameters = [], []
        self.suites, self.suite = Level("KUnit"), Level("?")
        self.notes, self.skipped = [], []

    def read(self, line):
        plan, skipped, case = PLAN.match(line), SKIPPED_PARAMETER.match(line), CASE.match(line)
        if line.startswith(SUBTEST):
            self.suite, self.notes = Level(line[len(SUBTEST):]), []
        elif plan:
            (self.suite if plan[1] else self.suites).plan = int(plan[2])
        elif line.startswith("    # "):
            self.notes.append(line.strip()[2:])
        elif skipped:
            self.skipped.append(skipped.groups())
        elif case and case[1]:
            self.end_case(case[2] == "ok", case[3], case[4] or "")
        elif case:
            self.end_suite(case[2] == "ok", case[3])

    def end_case(self, good, name, directive):
        self.suite.seen += 1
        self.suite.failed += not good
        verdict, detail = ("pass", "") if good else ("fail", "; ".join(self.notes)[:300])
        if good and directive.startswith("SKIP"):
            verdict, detail = "skip", directive
        case = f"{self.suite.name}.{name}"
        self.results.append((verdict, case, detail))
        if verdict != "skip":
            self.parameters += [("skip", f"{case}:{parameter.replace(' ', '_')}", why)
                                for parameter, why in self.skipped]
        self.notes, self.skipped = [], []

    def end_suite(self, good, name):
        """A suite that could not be set up is not announced."""
        self.suites.seen += 1
        if self.suite.name != name:
            self.results.append(("fail", name, "it did not begin"))
        elif self.suite.plan not in (None, self.suite.seen):
            self.results.append(("fail", name, f"planned {self.suite.plan} cases, {self.suite.seen} reported"))
        elif not good and not self.suite.failed:
            self.results.append(("fail", name, "it failed, and no case did"))
        self.suite = Level("?")

    def end(self):
        if self.suites.plan is None:
            self.results.append(("fail", "KUnit", "no KTAP plan on the console"))
        elif self.suites.seen != self.suites.plan:
            self.results.append(("fail", "KUnit", f"planned {self.suites.plan} suites, {self.suites.seen} "
                                 f"came to their end (last: {self.suite.name})"))


def kunit(path):
    """The cases, and the skipped parameters of cases that were not skipped as a whole."""
    report = Report()
    for line in ktap(path):
        report.read(line)
    report.end()
    return report.results, report.parameters


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
