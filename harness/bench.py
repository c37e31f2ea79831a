#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""bench.py DIRECTORY: the table of what DIRECTORY/{pristine,ours}.{log,vectors} hold.

A .log is a console with the lines of kprobe_bench.ko; a .vectors the exceptions that QEMU saw, in
order: those called "trap" between two called "mark" are the traps of one case.
"""
import json
import os
import re
import sys

TITLES = {
    "mov-pre": "mov, pre handler",
    "mov-pre-post": "mov, pre + post",
    "imul-pre": "imul, pre handler",
    "imul-pre-post": "imul, pre + post",
    "fnop-pre": "x87 fnop, pre handler",
    "call-pre": "call, pre handler",
    "call-pre-post": "call, pre + post",
    "add-pre": "add, pre handler",
    "add-pre-post": "add, pre + post",
    "madd-pre": "madd, pre handler",
    "madd-pre-post": "madd, pre + post",
    "stp-pre": "stp, pre handler",
    "adr-pre": "adr, pre handler",
    "adr-pre-post": "adr, pre + post",
    "bl-pre": "bl, pre handler",
    "bl-pre-post": "bl, pre + post",
    "entry-pre": "function entry, pre",
    "entry-pre-post": "function entry, pre + post",
    "plain-return": "return probe, plain first instruction",
    "entry-return": "return probe, function entry",
    "entry-return-entry": "the same with an entry handler",
}

SETS = {"alone": "alone", "pending": "opt. pending", "crowd": "20,000 others"}


def traps_between_marks(path):
    counts, inside, traps = [], False, 0
    with open(path) as file:
        for word in file:
            if word == "mark\n":
                if inside:
                    counts.append(traps)
                inside, traps = not inside, 0
            elif word == "trap\n":
                traps += 1
    return counts


def figures(directory, which):
    """{set: {case: {insns, traps}}} and the cost of registering the others."""
    cases, register, single = [], {}, {}
    with open(os.path.join(directory, which + ".log"), errors="replace") as log:
        for line in log:
            values = dict(re.findall(r"(\w+)=(\S+)", line)) if "kprobe_bench:" in line else {}
            if "insns" in values:
                cases.append(values)
            elif "register" in values and int(values["others"]):
                register[values["set"]] = int(values["register"]) / int(values["others"])
            elif "singles" in values:
                single[values["set"]] = [int(values[key]) / int(values["singles"]) for key in ("attach", "detach")]
    traps = traps_between_marks(os.path.join(directory, which + ".vectors"))
    if len(traps) != len(cases) or not cases:
        sys.exit(f"error: {which}: {len(cases)} cases on the console, {len(traps)} in the log of exceptions")
    result = {}
    for case, count in zip(cases, traps):
        if int(case["hits"]) < int(case["calls"]):
            sys.exit(f"error: {which}: {case['case']}: {case['hits']} handler calls in {case['calls']} hits")
        result.setdefault(case["set"], {})[case["case"]] = {
            "insns": round(int(case["insns"]) / int(case["calls"]), 1),
            "traps": round(count / int(case["marked"]), 2)}
    return {"hits": result, "register": register,
            "attach": {key: value[0] for key, value in single.items()},
            "detach": {key: value[1] for key, value in single.items()}}


def main():
    directory = sys.argv[1]
    both = {which: figures(directory, which) for which in ("pristine", "ours")
            if os.path.exists(os.path.join(directory, which + ".vectors"))}
    with open(os.path.join(directory, "bench.json"), "w") as file:
        json.dump(both, file, indent=1)
    columns = [(which, f, which_set) for which_set in SETS for which, f in both.items() if which_set in f["hits"]]
    print("guest instructions per hit (traps per hit)")
    print(f"{'':40}" + "".join(f"{which:>16}" for which, _, _ in columns))
    print(f"{'':40}" + "".join(f"{SETS[which_set]:>16}" for _, _, which_set in columns))
    for case, title in TITLES.items():
        if not any(case in figure["hits"][which_set] for _, figure, which_set in columns):
            continue
        row = f"{title:40}"
        for _, figure, which_set in columns:
            got = figure["hits"][which_set].get(case)
            row += f"{got['insns']:>9.1f} ({got['traps']:.2f})" if got else f"{'-':>16}"
        print(row)
    for key, title in (("register", "registering the others, each"), ("attach", "register_kprobe()"),
                       ("detach", "unregister_kprobe(), waiting included")):
        row = f"{title:40}"
        for _, figure, which_set in columns:
            cost = figure[key].get(which_set)
            row += f"{cost:>9.0f}       " if cost else f"{'':16}"
        print(row.rstrip())


main()
