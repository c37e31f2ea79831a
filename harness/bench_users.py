#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""bench_users.py ARCH DIRECTORY: the table of what DIRECTORY/{pristine,ours}.users.log hold; see bench/users.c.

DIRECTORY/users.json gets the figures, with null for what a kernel does not have.
"""
import json
import os
import re
import sys

KERNELS = ("pristine", "ours")


def read(path):
    """{what: instructions, or None}"""
    with open(path, errors="replace") as log:
        text = log.read()
    if "kptest: fail" in text:
        sys.exit(f"error: {path}: " + re.search("kptest: fail.*", text)[0])
    return {what: None if number == "-" else float(number)
            for what, number in re.findall(r"users: (.+): (-|-?[0-9.]+)$", text.replace("\r", ""), re.M)}


def main():
    arch, directory = sys.argv[1:]
    both = {which: read(os.path.join(directory, which + ".users.log")) for which in KERNELS}
    print(f"\n{arch}: what users of BPF, perf and tracefs pay, in guest instructions")
    print(f"{'':<56}{'pristine':>14}{'ours':>14}{'ratio':>8}")
    for what in both["ours"]:
        pristine, ours = (both[which].get(what) for which in KERNELS)
        ratio = f"{ours / pristine:.2f}" if ours and pristine else "-"
        print(f"{what:<56}" + "".join("-".rjust(14) if n is None else f"{n:,.1f}".rjust(14) for n in (pristine, ours)) +
              ratio.rjust(8))
    print("- fentry and fexit are left out: the guest's kernel has no BTF, which they need")
    with open(os.path.join(directory, "users.json"), "w") as file:
        json.dump({"arch": arch, **both}, file, indent=1)


main()
