#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""bench.py ARCH DIRECTORY: the tables of what DIRECTORY/{pristine,ours}.{log,vectors,wall.log} hold.

A .log is a console with the lines of kprobe_bench.ko; a .vectors the debug exceptions that QEMU saw,
in order: those called "trap" between two called "mark" are the traps of one case; a .wall.log the
console of two CPUs. DIRECTORY/bench.json gets all the figures, DIRECTORY/bench.svg the main table.
"""
import json
import os
import re
import statistics
import sys

from bench_chart import chart

KERNELS = ("pristine", "ours")

# Which instruction stands for what; see harness/bench/targets.c. What the first is called there dates
# from when it was emulated.
INSNS = {
    "x86_64": {"emulated": "mov", "boosted": "imul", "step": "call *%gs:mem", "call": "call"},
    "arm64": {"emulated": "stp", "adr": "adr", "ret": "ret", "boosted": "madd", "call": "bl"},
}
KINDS = {"emulated": "boosted", "adr": "emulated", "ret": "branch", "boosted": "boosted", "step": "step-only", "call": "call"}

# What is aimed at: instructions and traps, None where either does not matter. By what is attached, the
# kind of instruction (None: any), whether jump optimization is on.
TARGETS = {
    "x86_64": {
        ("pre", "boosted", "off"): (230, 1),
        ("pre", "step-only", "off"): (None, 2),
        ("pre-post", "boosted", "off"): (400, 1),
        ("pre-post", "step-only", "off"): (None, 2),
        ("pre", "boosted", "on"): (95, 0),
        ("pre", "step-only", "on"): (None, 2),
        ("pre-post", "boosted", "on"): (210, 0),
        ("pre-post", "step-only", "on"): (None, 2),
        ("entry-pre", None, "on"): (115, 0),
        ("plain-return", None, "on"): (200, None),
        ("entry-return", None, "on"): (215, None),
    },
    "arm64": {
        ("pre", "emulated", "off"): (270, 1),
        ("pre", "boosted", "off"): (270, 1),
        ("pre-post", "emulated", "off"): (400, 1),
        ("pre-post", "boosted", "off"): (400, 1),
        ("pre", "emulated", "on"): (110, 0),
        ("pre", "boosted", "on"): (110, 0),
        ("pre-post", "emulated", "on"): (310, 0),
        ("pre-post", "boosted", "on"): (310, 0),
        ("entry-pre", None, "on"): (115, 0),
        ("plain-return", None, "on"): (230, None),
        ("entry-return", None, "on"): (225, None),
    },
}
# Among the others: instructions more than without them, the mean and the worst of the sample.
CROWD_TARGETS = (3, 15)

HANDLERS = {"pre": "pre handler", "pre-post": "pre + post"}
ENTRIES = {"entry-pre": "function entry, pre", "plain-return": "return probe, first instruction",
           "entry-return": "return probe, function entry"}
CLASSIC = {"k": "pre", "j": "jprobe", "r": "return", "kr": "pre-return", "jr": "jprobe-return"}
NEIGHBOURS = {"ftrace": "ftrace callback, arguments only", "ftrace-regs": "ftrace callback, all registers",
              "entry-pre": "kprobe, pre", "entry-pre-post": "kprobe, pre + post",
              "fprobe-entry": "fprobe, entry", "fprobe-exit": "fprobe, exit",
              "fprobe-entry-exit": "fprobe, entry + exit", "entry-return": "return probe",
              "entry-return-entry": "return probe with an entry handler"}
SAMPLES = {"pre": "pre handler", "pre-post": "pre + post", "return": "return probe"}
SETS = {"off": "optimization off", "on": "optimized"}


def die(message):
    sys.exit("error: " + message)


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


def reports(path):
    """The module's lines as dictionaries, from a run that came to its end."""
    found = []
    with open(path, errors="replace") as log:
        for line in log:
            if "kptest: fail" in line:
                die(f"{path}: {line.strip()}")
            if "kprobe_bench:" in line:
                found.append({key: int(value) if re.fullmatch(r"-?\d+", value) else value
                              for key, value in re.findall(r"(\w+)=(\S+)", line)})
    return found


def check_hits(where, report, wanted):
    if report["hits"] != wanted:
        die(f"{where}: {report['hits']} handler calls, not {wanted}")


def figure(which, report, traps):
    check_hits(f"{which}: {report['set']}: {report['case']}", report, report["calls"] * report["handlers"])
    result = {"insns": round(report["insns"] / report["calls"], 1), "traps": round(traps / report["marked"], 2)}
    if "worst" in report:
        result["worst"] = round(report["worst"] / report["worst_calls"], 1)
    return result


def figures(directory, which):
    """What one kernel's run came to: {"cases": {set: {case: figure}}, ...}."""
    result = {"cases": {}, "refused": {}, "others": {}, "register": {}, "attach": {}, "detach": {}}
    lines = reports(os.path.join(directory, which + ".log"))
    traps = traps_between_marks(os.path.join(directory, which + ".vectors"))
    cases = [line for line in lines if "insns" in line]
    if len(traps) != len(cases) or not cases:
        die(f"{which}: {len(cases)} cases on the console, {len(traps)} in the log of exceptions")
    for report, count in zip(cases, traps):
        result["cases"].setdefault(report["set"], {})[report["case"]] = figure(which, report, count)
    for line in lines:
        if "error" in line:
            result["refused"].setdefault(line["set"], {})[line["case"]] = line["error"]
        elif "register" in line:
            result["others"][line["set"]] = line["others"]
            result["register"][line["set"]] = round(line["register"] / line["registered"])
        elif "singles" in line:
            for key in ("attach", "detach"):
                result[key][line["set"]] = round(line[key] / line["singles"])
    result["wall"] = wall(directory, which)
    return result


def wall(directory, which):
    """Nanoseconds per hit when two CPUs take them, the median of the rounds."""
    rounds = {}
    for line in reports(os.path.join(directory, which + ".wall.log")):
        if "wall" not in line:
            continue
        check_hits(f"{which}: two CPUs: {line['wall']}", line, line["calls"])
        rounds.setdefault(line["wall"], []).append(line["ns"] / line["calls"])
    return {name: {"ns": round(statistics.median(values), 1), "least": round(min(values), 1),
                   "most": round(max(values), 1)} for name, values in rounds.items()}


def get(kernel, case, which_set):
    """The figure; a kernel that cannot optimize costs the same with optimization on."""
    cases = kernel["cases"]
    return cases.get(which_set, cases[which_set.replace("on", "off")]).get(case)


def ratio(ours, pristine):
    return round(ours / pristine, 2) if ours is not None and pristine else None


def met(target, ours):
    if not target:
        return None
    return bool(ours) and all(want is None or ours[key] <= want for key, want in zip(("insns", "traps"), target))


def row(both, title, case, which_set, target=None):
    result = {"title": title, "case": case, "set": which_set}
    for which, kernel in both.items():
        result[which] = get(kernel, case, which_set)
    if all(result[which] for which in KERNELS):
        result["ratio"] = ratio(result["ours"]["insns"], result["pristine"]["insns"])
    if target:
        result["target"] = dict(zip(("insns", "traps"), target))
        result["met"] = met(target, result["ours"])
    return result


def main_rows(arch, both):
    targets, rows = TARGETS[arch], []
    for which_set, state in SETS.items():
        for handlers, what in HANDLERS.items():
            for name, insn in INSNS[arch].items():
                kind = KINDS[name]
                title = f"{what}, {kind}" + (f" ({insn})" if insn != kind else "") + f", {state}"
                rows.append(row(both, title, f"{name}-{handlers}", which_set,
                                targets.get((handlers, kind, which_set))))
    for case, title in ENTRIES.items():
        title += ", " + SETS["on"] if case == "plain-return" else ""
        rows.append(row(both, title, case, "on", targets[(case, None, "on")]))
    return rows


def classic_rows(both):
    places = (("entry", "on", "function entry"), ("plain", "off", "by trap"))
    return [row(both, f"{short:<3} {title}", f"{place}-{case}", which_set)
            for place, which_set, title in places for short, case in CLASSIC.items()]


def crowd_row(kernel, kind, which_set):
    """A sample's figures beside the same probe's without others, and what it costs at a fixed place."""
    crowd = "crowd-" + which_set
    if crowd not in kernel["cases"]:
        return None
    alone, sample = get(kernel, "site-" + kind, which_set), get(kernel, "sites-" + kind, crowd)
    if not alone or not sample:
        return None
    grown = (round(sample["insns"] - alone["insns"], 1), round(sample["worst"] - alone["insns"], 1))
    return {"others": kernel["others"][crowd], "alone": alone["insns"], "mean": sample["insns"],
            "worst": sample["worst"], "traps": sample["traps"], "grown": grown[0], "grown_worst": grown[1],
            "met": grown[0] <= CROWD_TARGETS[0] and grown[1] <= CROWD_TARGETS[1]}


def crowd_rows(both):
    return [{"title": f"{title}, {state}", **{which: crowd_row(both[which], kind, which_set) for which in KERNELS}}
            for which_set, state in SETS.items() for kind, title in SAMPLES.items()
            if any(crowd_row(kernel, kind, which_set) for kernel in both.values())]


def grown_rows(arch, both):
    """The rows of the main table with others and without, as far as a kernel has both."""
    rows = []
    for entry in main_rows(arch, both):
        for which, kernel in both.items():
            crowd = get(kernel, entry["case"], "crowd-" + entry["set"])
            entry[which] = entry[which] and crowd and round(crowd["insns"] - entry[which]["insns"], 1)
        rows.append({key: entry[key] for key in ("title", "case", "set", *KERNELS)})
    return rows


def wall_rows(both):
    return [{"title": title, **{which: both[which]["wall"].get(name) for which in KERNELS},
             "ratio": ratio(both["ours"]["wall"][name]["ns"], both["pristine"]["wall"][name]["ns"])}
            for name, title in (("trap", "pre handler, by trap"), ("entry", "function entry, pre"))]


def text(value, form="{}"):
    return "-" if value is None else form.format(value)


def cost(got):
    return f"{got['insns']:.1f} ({got['traps']:g})" if got else "-"


def verdict(result):
    return {None: "", True: "met", False: "not met"}[result.get("met")]


def aim(result):
    if "target" not in result:
        return ""
    insns, traps = result["target"]["insns"], result["target"]["traps"]
    return text(insns) + ("" if traps is None else f" ({traps})")


def table(title, head, rows):
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}")
    for line in [head, *rows]:
        print("  ".join([line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])])
              .rstrip())


def print_rows(title, rows, aimed=False):
    head = ["", "pristine", "ours", "ratio"] + (["target", ""] if aimed else [])
    table(title, head, [[r["title"], cost(r["pristine"]), cost(r["ours"]), text(r.get("ratio"), "{:.2f}")] +
                        ([aim(r), verdict(r)] if aimed else []) for r in rows])


def print_crowd(rows):
    lines = []
    for entry in rows:
        for which in KERNELS:
            got = entry[which]
            if got:
                lines.append([f"{entry['title']}, {which}, {got['others']:,} others", f"{got['alone']:.1f}",
                              f"{got['mean']:.1f}", f"{got['worst']:.1f}", f"{got['grown']:+.1f}",
                              f"{got['grown_worst']:+.1f}", verdict(got) if which == "ours" else ""])
    table(f"among others, 1,000 sites drawn at random (target: mean +{CROWD_TARGETS[0]}, worst +{CROWD_TARGETS[1]})",
          ["", "alone", "mean", "worst", "mean more", "worst more", ""], lines)


def print_grown(both, rows):
    others = [f"{which}, {max(both[which]['others'].values()):,}" for which in KERNELS]
    table("how much more, at one address, with others", ["", *others],
          [[r["title"], *(text(r[which], "{:+.1f}") for which in KERNELS)] for r in rows])


def print_notes(both):
    for which, kernel in both.items():
        if "on" not in kernel["cases"]:
            print(f"- {which} has no switch for jump optimization; its rows with it are those without")
        for case, error in sorted({item for cases in kernel["refused"].values() for item in cases.items()}):
            print(f"- {which} refuses {case}: {error}")


def print_attaching(both):
    lines = []
    for key, title in (("register", "register_kprobes() of the others, each"), ("attach", "register_kprobe()"),
                       ("detach", "unregister_kprobe(), waiting included")):
        for which_set in ("off", "on", "crowd-off", "crowd-on"):
            values = [both[which][key].get(which_set) for which in KERNELS]
            if any(value is not None for value in values):
                lines.append([f"{title}, {which_set}", *(text(value, "{:,}") for value in values)])
    table("guest instructions to attach and detach", ["", *KERNELS], lines)


def main():
    arch, directory = sys.argv[1:]
    both = {which: figures(directory, which) for which in KERNELS}
    result = {"arch": arch, "rows": main_rows(arch, both), "classic": classic_rows(both),
              "neighbours": [row(both, title, case, "on") for case, title in NEIGHBOURS.items()],
              "crowd": crowd_rows(both), "grown": grown_rows(arch, both), "wall": wall_rows(both), "kernels": both}
    print_rows(f"{arch}: guest instructions per hit (traps per hit)", result["rows"], aimed=True)
    print_rows("on one function: kprobe, jprobe, return probe", result["classic"])
    print_rows("neighbours at a function entry", result["neighbours"])
    print_crowd(result["crowd"])
    print_grown(both, result["grown"])
    print_attaching(both)
    table("two CPUs at once, nanoseconds by the clock per hit", ["", *KERNELS, "ratio"],
          [[r["title"], *(text(r[which] and r[which]["ns"]) for which in KERNELS), text(r["ratio"], "{:.2f}")]
           for r in result["wall"]])
    print()
    print_notes(both)
    with open(os.path.join(directory, "bench.json"), "w") as file:
        json.dump(result, file, indent=1)
    with open(os.path.join(directory, "bench.svg"), "w") as file:
        file.write(chart(f"{arch}: guest instructions per hit", result["rows"]))


main()
