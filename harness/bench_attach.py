#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""bench_attach.py ARCH DIRECTORY: what attaching and detaching costs, from DIRECTORY/*.attach.log.

A .attach.log is the console of kprobe_bench.ko on one CPU, whose clock counts instructions (one to the
nanosecond where the clock is in these); an .attach2.N.log that of two CPUs, by the clock: cycles of a
time stamp counter there, and so only for comparison, the median of all boots. DIRECTORY/attach.json
gets all the figures.
"""
import glob
import json
import os
import re
import statistics
import sys

KERNELS = ("pristine", "ours")
WHAT = {"attached": "register", "own": "(itself)", "first": "first hit", "again": "hit", "detached": "unregister",
        "memory": "bytes"}
KINDS = {("site", "off"): "trap", ("site", "on"): "jump", ("entry", "few"): "ftrace, few", ("entry", "off"): "ftrace"}


def read_boots(paths):
    """{(kind, probes, batch): {what: the median of the sums}}"""
    boots = [read(path) for path in paths]
    return {key: {what: statistics.median(boot[key][what] for boot in boots) for what in WHAT}
            for key in (boots[0] if boots else ())}


def read(path):
    """{(kind, probes, batch): {what: sum}}"""
    found = {}
    with open(path, errors="replace") as log:
        for line in log:
            if "kptest: fail" in line:
                sys.exit(f"error: {path}: {line.strip()}")
            if "kprobe_bench: scale=" not in line:
                continue
            got = dict(re.findall(r"(\w+)=(\w+)", line))
            if (got["scale"], got["set"]) not in KINDS:
                continue
            probes = int(got["probes"])
            if int(got["hits"]) != 2 * probes:
                sys.exit(f"error: {path}: {got['hits']} handler calls, not {2 * probes}: {line.strip()}")
            found[KINDS[got["scale"], got["set"]], probes, int(got["batch"])] = {key: int(got[key]) for key in WHAT}
    return found


def read_events(path):
    """[(kind, how many, {what: centiseconds for all together})]"""
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as log:
        rows = [dict(re.findall(r"(\w+)=(\w+)", line)) for line in log if "kprobe_bench: events=" in line]
    return [(row.pop("kind"), int(row.pop("events")), {what: int(took) for what, took in row.items()}) for row in rows]


def read_records(path):
    """{set: how many places ftrace knew}"""
    if not os.path.exists(path):
        return {}
    with open(path, errors="replace") as log:
        return {kind: int(number) for number, kind in re.findall(r"kprobe_bench: records=(\d+) set=(\w+)", log.read())}


def read_layers(path):
    """{kind: [(function, calls, microseconds)]}, for making events"""
    layers = {}
    if os.path.exists(path):
        with open(path, errors="replace") as log:
            for line in log:
                if "kprobe_bench: layer=" in line:
                    got = dict(re.findall(r"(\w+)=(\w+)", line))
                    layers.setdefault(got["kind"], []).append((got["layer"], int(got["calls"]), int(got["us"])))
    return layers


def print_records(records):
    for which in KERNELS:
        if records[which]:
            few, off = records[which]["few"], records[which]["off"]
            print(f"{which:<8}  functions that ftrace knows: {few:,} ({KINDS['entry', 'few']}), {off:,} (all others)")


def read_memory(path):
    """{before|after: {slot_pages, slab}}"""
    if not os.path.exists(path):
        return {}
    with open(path, errors="replace") as log:
        return {when: {"slot_pages": int(pages), "slab": int(slab)} for when, pages, slab in
                re.findall(r"kprobe_bench: memory=(\w+) slot_pages=(\d+) slab=(\d+)", log.read())}


def print_memory(memory):
    for which in KERNELS:
        if memory[which]:
            before, after = memory[which]["before"], memory[which]["after"]
            print(f"{which:<8}  pages of slots before and after: {before['slot_pages']}, {after['slot_pages']}; "
                  f"slab: {before['slab']:,} kB, {after['slab']:,} kB")


def print_layers(title, both):
    for which in KERNELS:
        for kind, layers in both[which].items():
            print(f"\n{title}, {which}, in a function's {kind}: what was called, how often, all it took in ms")
            for layer, calls, us in sorted(layers, key=lambda row: -row[2]):
                print(f"{layer:<36} {calls:>8,} {us / 1000:>10,.1f}")


def read_waits(path):
    """[{wait, set, probes, times, alone, longest}], the last two in nanoseconds"""
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as log:
        rows = [dict(re.findall(r"(\w+)=(\w+)", line)) for line in log if "kprobe_bench: wait=" in line]
    return [{key: int(value) if value.isdigit() else value for key, value in row.items()} for row in rows]


def print_waits(title, both):
    print(f"\n{title}")
    for which in KERNELS:
        for row in both[which]:
            print(f"{which:<8}  {row['probes']:,} by {KINDS[row['wait'], row['set']]}: {row['longest'] / 1e6:.2f} ms, "
                  f"the longest of {row['times']:,}; alone {row['alone'] / 1e6:.2f} ms")


def print_events(title, both):
    print(f"\n{title}")
    for which in KERNELS:
        for kind, number, took in both[which]:
            phases = ", ".join(f"{what} {part / 100:.2f} s" for what, part in took.items())
            print(f"{which:<8}  {number} in a function's {kind}: {phases}; together {sum(took.values()) / 100:.2f} s")


def print_table(title, both):
    head = ["", *(f"{which} {what}" for what in WHAT.values() for which in KERNELS)]
    rows = []
    for key in sorted({key for kernel in both.values() for key in kernel},
                      key=lambda key: (list(KINDS.values()).index(key[0]), key[2], key[1])):
        kind, probes, batch = key
        row = [f"{kind}, {probes:,} {'as a batch' if batch else 'one by one'}"]
        for what in WHAT:
            for which in KERNELS:
                got = both[which].get(key)
                row.append(f"{got[what] / probes:,.0f}" if got and got[what] else "-")
        rows.append(row)
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [head, *rows]:
        print("  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]))


def main():
    arch, directory = sys.argv[1:]
    result = {"arch": arch}
    for name, title in (("attach", "one CPU: guest instructions for each probe"),
                        ("attach2", "two CPUs: ticks of the clock for each probe")):
        logs = {which: sorted(glob.glob(os.path.join(directory, f"{which}.{name}.*log"))) for which in KERNELS}
        both = {which: read_boots(logs[which]) for which in KERNELS}
        print_table(f"{arch}, {title}", both)
        result[name] = {which: [{"kind": kind, "probes": probes, "batch": bool(batch), **sums}
                                for (kind, probes, batch), sums in kernel.items()]
                        for which, kernel in both.items()}
        first = {which: logs[which][0] if logs[which] else "" for which in KERNELS}
        records = {which: read_records(first[which]) for which in KERNELS}
        print_records(records)
        result[name]["records"] = records
        memory = {which: read_memory(first[which]) for which in KERNELS}
        print_memory(memory)
        result[name]["memory"] = memory
        events = {which: read_events(first[which]) for which in KERNELS}
        print_events(f"{arch}, {title.split(':')[0]}: events of tracefs", events)
        result[name]["events"] = events
        layers = {which: read_layers(first[which]) for which in KERNELS}
        print_layers(f"{arch}, {title.split(':')[0]}: making them", layers)
        result[name]["layers"] = layers
        waits = {which: read_waits(first[which]) for which in KERNELS}
        print_waits(f"{arch}, {title.split(':')[0]}: another's register_kprobe() while a batch comes and goes", waits)
        result[name]["waits"] = waits
    with open(os.path.join(directory, "attach.json"), "w") as file:
        json.dump(result, file, indent=1)


main()
