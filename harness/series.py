#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The patch series, cut as harness/series/ says.

series.py write   out/series/NNNN-*.patch with a cover letter; the patches are applied with git am to
                  the pristine files, and the result is compared with build/tree
series.py check   applies out/series to a copy of the pristine tree, build/series, a patch at a time, and
                  builds the kernel after each (ARCH as given, VARIANT=lean); boots it, too, with the
                  KUnit suites that it has by then, from the patch on that says so; and asks
                  get_maintainer.pl for each of our files

Each file NN-name in harness/series is one patch, in the order of the names: header lines
    Subject: ...          the commit's first line
    Remove: glob ...      entries of patches/old-files that leave with this patch
    Files: glob ...       our files that come with it (** crosses directories, as * does)
    Patch: name ...       files of build/patches that are applied with it (with or without .patch)
    Boots: arch ...       from this patch on check boots the kernels of these ARCHes
(each may be repeated), an empty line, and the commit's text. Every removal, file and patch has to be
in exactly one entry. harness/series/cover is the cover letter: subject, empty line, text.
MAINTAINERS counts as one of our files. Of the pristine tree only the files that build/tree.files
lists are committed: what the series leaves alone need not be known to git.
"""
import fcntl
import filecmp
import fnmatch
import glob
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASE = os.environ.get("BASE", "6.12")
BUILD, OUTPUT = (os.path.join(TOP, name, "" if BASE == "6.12" else BASE) for name in ("build", "out"))
HARNESS = os.path.join(TOP, "harness")
PRISTINE, TREE, STAGE, PATCHES = (os.path.join(BUILD, name) for name in ("pristine", "tree", "stage", "patches"))
GIT, WORK = os.path.join(BUILD, "series.git"), os.path.join(BUILD, "series")
OUT = os.path.join(OUTPUT, "series")
NAME, MAIL = "Kprobes Developers", "kprobes@localhost.localdomain"
FIRST_DATE = 1767225600     # each commit a minute after the one before: the same input, the same bytes
KEYS = ("Subject", "Remove", "Files", "Patch", "Boots")


def die(message):
    sys.exit(f"error: {message}")


def git(*args, date=FIRST_DATE, cwd=BUILD, **options):
    """In build/series.git. Another directory than build/ is the work tree."""
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", LC_ALL="C",
               GIT_AUTHOR_NAME=NAME, GIT_AUTHOR_EMAIL=MAIL, GIT_COMMITTER_NAME=NAME, GIT_COMMITTER_EMAIL=MAIL,
               GIT_AUTHOR_DATE=f"{date} +0000", GIT_COMMITTER_DATE=f"{date} +0000")
    env.update(options.pop("env", {}), GIT_DIR=GIT)
    if cwd != BUILD:
        env["GIT_WORK_TREE"] = cwd
    result = subprocess.run(["git", "-c", "core.autocrlf=false", "-c", "gc.auto=0", *args], cwd=cwd, env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if result.returncode:
        die(f"git {' '.join(args[:4])}: {result.stderr.decode(errors='replace')[-2000:]}")
    return result.stdout.decode(errors="replace").strip()


class Entry:
    def __init__(self, path):
        self.name = os.path.basename(path)
        with open(path) as file:
            head, _, self.text = file.read().partition("\n\n")
        values = {key: [] for key in KEYS}
        for line in head.splitlines():
            key, colon, value = line.partition(":")
            if not colon or key not in KEYS:
                die(f"harness/series/{self.name}: not a header line: {line}")
            values[key] += [value.strip()] if key == "Subject" else value.split()
        if len(values["Subject"]) != 1:
            die(f"harness/series/{self.name}: wants one Subject line")
        self.subject, self.boots = values["Subject"][0], values["Boots"]
        self.globs = {"removal": values["Remove"], "file": values["Files"], "patch": values["Patch"]}
        self.takes = {"removal": [], "file": [], "patch": []}


def read_entries():
    return [Entry(path) for path in sorted(glob.glob(os.path.join(HARNESS, "series", "[0-9]*")))]


def read_lines(path):
    with open(path) as file:
        return file.read().split("\n")[:-1]


def distribute(entries):
    """Hand every removal, file and patch to the one entry that names it."""
    owned = read_lines(os.path.join(BUILD, "files.ours"))
    if os.path.exists(os.path.join(TOP, "MAINTAINERS")):
        owned.append("MAINTAINERS")
    things = {"removal": read_lines(os.path.join(BUILD, "files.old")), "file": owned,
              "patch": sorted(os.listdir(PATCHES))}
    wrong = []
    for kind, names in things.items():
        used = set()
        for name in names:
            takers = []
            for entry in entries:
                hits = [g for g in entry.globs[kind] if fnmatch.fnmatchcase(name, g) or
                        kind == "patch" and fnmatch.fnmatchcase(name, g + ".patch")]
                used.update((entry.name, g) for g in hits)
                takers += [entry] if hits else []
            if len(takers) == 1:
                takers[0].takes[kind].append(name)
            else:
                wrong.append(f"  {kind} {name}: in {', '.join(e.name for e in takers) or 'no entry'}")
        for entry in entries:
            for g in entry.globs[kind]:
                if (entry.name, g) not in used:
                    print(f"note: harness/series/{entry.name}: {kind} {g} matches nothing")
    if wrong:
        die("harness/series must name everything exactly once:\n" + "\n".join(wrong))


def touched_files():
    return read_lines(os.path.join(BUILD, "tree.files"))


def commit_pristine():
    """build/series.git: the pristine files that the series touches"""
    shutil.rmtree(GIT, ignore_errors=True)
    git("init", "-q", "--bare", GIT)
    git("config", "core.bare", "false")
    there = [name for name in touched_files() if os.path.exists(os.path.join(PRISTINE, name))]
    git("add", "-f", "--", *there, cwd=PRISTINE)
    git("commit", "-q", "-m", f"Linux, as the distribution's {base_version()} has it")
    git("tag", "pristine")


def commit_entry(entry, number, parent, index):
    """The commit of one entry on top of parent, made in an index alone."""
    def staged(*args, **options):
        return git(*args, env={"GIT_INDEX_FILE": index}, **options)
    for name in entry.takes["removal"]:
        staged("update-index", "--force-remove", name)
    for name in entry.takes["file"]:
        path = os.path.join(STAGE, name)
        mode = "100755" if os.access(path, os.X_OK) else "100644"
        staged("update-index", "--add", "--cacheinfo", f"{mode},{git('hash-object', '-w', path)},{name}")
    for name in entry.takes["patch"]:
        staged("apply", "--cached", os.path.join(PATCHES, name))
    tree = staged("write-tree")
    message = f"{entry.subject}\n\n{entry.text.strip()}\n\nSigned-off-by: {NAME} <{MAIL}>\n"
    if tree == git("rev-parse", parent + "^{tree}"):
        print(f"note: {entry.name} is empty for now and left out")
        return parent
    return git("commit-tree", tree, "-p", parent, input=message.encode(), date=FIRST_DATE + 60 * number)


def base_version():
    """The package that build/pristine was unpacked from"""
    version = read_lines(PRISTINE + ".version")[0].split()[0]
    return f"linux-source-{'.'.join(version.split('.')[:2])} {version}"


def format_series(tip):
    shutil.rmtree(OUT, ignore_errors=True)
    git("format-patch", "-q", "--cover-letter", "--no-renames", "-B", "--signature=", "--zero-commit", "-o", OUT,
        f"pristine..{tip}")
    with open(os.path.join(HARNESS, "series", "cover")) as file:
        subject, _, text = file.read().partition("\n\n")
    text = f"{text.strip()}\n\nIt is made for Debian's {base_version()}."
    path = os.path.join(OUT, "0000-cover-letter.patch")
    with open(path) as file:
        letter = file.read()
    letter = letter.replace("*** SUBJECT HERE ***", subject).replace("*** BLURB HERE ***", text)
    with open(path, "w") as file:
        file.write(letter)
    print(f"out/series: {len(patch_files())} patches and a cover letter, for {base_version()}")


def patch_files(directory=OUT):
    return [p for p in sorted(glob.glob(os.path.join(directory, "*.patch"))) if "/0000-" not in p]


def apply_patch(path, work):
    git("am", "-q", "--keep-non-patch", path, cwd=work)


def differs(work):
    """The first file that is not what build/tree has"""
    for name in touched_files():
        pair = [os.path.join(top, name) for top in (work, TREE)]
        if [os.path.exists(path) for path in pair] == [False, False]:
            continue
        if not all(map(os.path.isfile, pair)) or not filecmp.cmp(*pair, shallow=False) or \
                len({os.access(path, os.X_OK) for path in pair}) > 1:
            return name
    return None


def write():
    # tree.sh, which others may run meanwhile, makes build/stage anew.
    lock = open(os.path.join(BUILD, "tree.lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_SH)
    entries = read_entries()
    distribute(entries)
    commit_pristine()
    tip = git("rev-parse", "pristine")
    # Not a name that is always the same: who is killed leaves a lock behind.
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="series.index.") as scratch:
        index = os.path.join(scratch, "index")
        git("read-tree", "pristine", env={"GIT_INDEX_FILE": index})
        for number, entry in enumerate(entries, 1):
            tip = commit_entry(entry, number, tip, index)
    format_series(tip)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="series.am.") as work:
        git("reset", "-q", "--hard", "pristine", cwd=work)
        for path in patch_files():
            apply_patch(path, work)
        if git("rev-parse", "HEAD^{tree}") != git("rev-parse", tip + "^{tree}"):
            die("git am of out/series gives another tree than the commits it was made from")
        different = differs(work)
        if different:
            die(f"the series does not give build/tree: {different}")
    print("git am of out/series on the pristine tree gives exactly build/tree")


def run(script, *args, **env):
    command = [os.path.join(HARNESS, script), *args]
    return subprocess.run(command, env=dict(os.environ, **env)).returncode


def boot(name, obj):
    """Run the KUnit suites about probes, whosever they are."""
    if run("boot.sh", name, "none", "kunit.enable=1", "kunit.filter_glob=*probe*",
           OBJ=obj, VARIANT="lean", TIMEOUT="1800"):
        die(f"{name} does not come to a good end")
    log = os.path.join(OUTPUT, "logs", name + ".log")
    rows = subprocess.run([os.path.join(HARNESS, "console.py"), "kunit", log],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    failed = [row for row in rows if row.startswith("fail")]
    passed = sum(row.startswith("pass") for row in rows)
    if failed or not passed:
        die(f"{name}: {passed} cases passed\n" + "\n".join(failed))
    print(f"{passed} KUnit cases pass", flush=True)


def find_maintainers():
    """Who has something to say about a file of ours has to come to us."""
    lost = []
    for name in read_lines(os.path.join(BUILD, "files.ours")):
        command = ["perl", "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", "-f", name]
        found = subprocess.run(command, cwd=WORK, stdout=subprocess.PIPE, text=True).stdout
        if ":KPROBES)" not in found:
            lost.append(name)
    if lost:
        die("MAINTAINERS does not have these under KPROBES: " + " ".join(lost))
    print("get_maintainer.pl knows whose all files are")


def check():
    # It takes long. Somebody else may write the series anew meanwhile.
    global GIT
    arch = os.environ.get("ARCH", "x86_64")
    GIT = os.path.join(BUILD, f"series-{arch}.git")
    obj = os.path.join(BUILD, f"series-{arch}")
    # Objects must not be newer than files that are the pristine ones again.
    for directory in WORK, obj:
        shutil.rmtree(directory, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", PRISTINE, WORK], check=True)
    commit_pristine()
    patches = shutil.copytree(OUT, os.path.join(GIT, "patches"))
    kernel = os.path.join(obj, "vmlinux")
    first = [entry.subject for entry in read_entries() if arch in entry.boots]
    boots, booted = False, None
    for path in patch_files(patches):
        apply_patch(path, WORK)
        print(f"== {os.path.basename(path)}", flush=True)
        if run("build.sh", WORK, obj, VARIANT="lean"):
            die(f"the tree does not build after {os.path.basename(path)}")
        boots = boots or git("log", "-1", "--format=%s") in first
        # A patch of documents makes no other kernel.
        if boots and os.path.getmtime(kernel) != booted:
            booted = os.path.getmtime(kernel)
            boot(f"series-{arch}-{os.path.basename(path)[:4]}", obj)
    if first and not boots:
        die(f"no patch is called {first[0]}")
    find_maintainers()
    print(f"every patch of the series builds for {arch}")
    if first:
        print(f"and works, from '{first[0]}' on")


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit(__doc__)
    os.makedirs(os.path.dirname(OUT), exist_ok=True)
    {"write": write, "check": check}[sys.argv[1]]()
