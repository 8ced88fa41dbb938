#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Planted faults: each must be noticed by the test that its entry names.

Works on a copy of the sources and of what is built, so that only the changed
file is compiled again.  Every named test case must pass without the fault and
fail with it; a fault that no longer fits the source is a failure too.

A dozen are planted, the next dozen the next day; all with FX8_LONG=1, and
those from number N on with FX8_FAULTS=N.
"""
import configparser
import datetime
import os
import re
import shutil
import subprocess
import sys

ROOT = os.getcwd()
BUILD = os.environ.get("FX8_BUILD", os.path.join(ROOT, "build"))
COPY = os.path.join(BUILD, "mutants")
TABLE = "validation/mutants/faults.ini"
ROOMS = ("config", "kernels", "io", "correlator", "validation", "data")
LIMIT_S = 90
DOZEN = 12


def copy_tree():
    """Sources and built files, times kept, into the copy."""
    shutil.rmtree(COPY, ignore_errors=True)
    os.makedirs(os.path.join(COPY, "build"))
    shutil.copy2("Makefile", COPY)
    for room in ROOMS:
        if os.path.isdir(room):
            shutil.copytree(room, os.path.join(COPY, room),
                            ignore=shutil.ignore_patterns("__pycache__"))
    for name in os.listdir(BUILD):
        path = os.path.join(BUILD, name)
        target = os.path.join(COPY, "build", name)
        if name in ROOMS:
            shutil.copytree(path, target)
        elif os.path.isfile(path):
            shutil.copy2(path, target)


def read_table():
    """The faults: name, and a mapping with file, old, new, test, case."""
    parser = configparser.ConfigParser(
        interpolation=None, delimiters=("=",), comment_prefixes=("#",),
        strict=True)
    with open(TABLE, encoding="utf-8") as file:
        parser.read_file(file)
    return [(name, parser[name]) for name in parser.sections()]


def choose(faults):
    """The faults whose turn it is."""
    if os.environ.get("FX8_LONG") == "1":
        return faults
    start = os.environ.get("FX8_FAULTS")
    first = (int(start) if start else
             datetime.date.today().toordinal() * DOZEN) % len(faults)
    print(f"# faults {first} to {first + DOZEN - 1} of {len(faults)}")
    return (faults + faults)[first:first + DOZEN]


def test_command(entry):
    """Build target and command of an entry's test."""
    test = entry["test"]
    if test.endswith(".py"):
        return "all", [sys.executable, os.path.join("validation", test),
                       entry["case"]]
    return f"build/{test}", [f"build/{test}"]


def make(target):
    """Build in the copy; the output when that fails, else None."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "STRICT")}
    done = subprocess.run(
        # the faults are planted for compilers of the host: nvcc is not asked
        ["make", f"-j{len(os.sched_getaffinity(0))}", "BUILD=build", "CUDA=0",
         target],
        cwd=COPY, capture_output=True, text=True, env=environment)
    return None if done.returncode == 0 else done.stdout + done.stderr


def case_state(entry):
    """What became of the entry's case: "passed", "failed" (also where the
    program crashed or did not end), "absent", or why it was skipped."""
    _, command = test_command(entry)
    environment = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP",
                   "FX8": os.path.join(COPY, "build", "fx8"),
                   "FX8_BUILD": os.path.join(COPY, "build"),
                   "PYTHONPATH": os.path.join(COPY, "validation/python")}
    try:
        done = subprocess.run(command, cwd=COPY, capture_output=True,
                              text=True, errors="replace", env=environment,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "failed"
    found = re.findall(
        r"^(not ok|ok)\b(.*" + re.escape(entry["case"]) + r"\b.*)$",
        done.stdout, re.MULTILINE)
    if any(state == "not ok" for state, _ in found):
        return "failed"
    if done.returncode < 0:
        return "failed"
    skipped = [text.partition("# SKIP ")[2] for _, text in found]
    if any(skipped):
        return "skipped: " + skipped[0]
    return "passed" if found else "absent"


def plant(entry):
    """Plant one fault, build, test, take it out again; what went wrong, or
    None when the named case noticed it."""
    path = os.path.join(COPY, entry["file"])
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if source.count(entry["old"]) != 1:
        return (f"{entry['file']}: \"{entry['old']}\" stands there "
                f"{source.count(entry['old'])} times, not once")
    compiled = os.path.join(COPY, "build", entry["file"][:-2] + ".o")
    kept = [(name, name + ".kept") for name in (path, compiled)
            if os.path.exists(name)]
    for name, copy in kept:
        shutil.copy2(name, copy)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source.replace(entry["old"], entry["new"]))
    try:
        target, _ = test_command(entry)
        trouble = make(target)
        if trouble:
            return "does not compile:\n" + trouble
        state = case_state(entry)
        return None if state == "failed" else (
            f"survived: {entry['test']}: {entry['case']} {state}")
    finally:
        for name, copy in kept:
            os.replace(copy, name)
        if not path.endswith(".c"):
            os.utime(path)  # compile again what was compiled with the fault


def main():
    faults = choose(read_table())
    copy_tree()
    print(f"1..{2 * len(faults)}")
    number = 0

    def report(name, trouble):
        nonlocal number
        number += 1
        if trouble.startswith("skipped: "):
            print(f"ok {number} - {name} # SKIP {trouble[9:]}", flush=True)
            return False
        print(f"{'not ' if trouble else ''}ok {number} - {name}")
        for line in trouble.splitlines():
            print(f"# {line}")
        sys.stdout.flush()
        return bool(trouble)

    trouble = make("all") or make("tests")
    failed = 0
    states = {}
    for name, entry in faults:
        key = entry["test"], entry["case"]
        if not trouble and key not in states:
            states[key] = case_state(entry)
        state = trouble or states[key]
        failed += report(f"{name}: {entry['case']} passes without it",
                         "" if state == "passed" else state)
    for name, entry in faults:
        state = states.get((entry["test"], entry["case"]), "")
        failed += report(f"{name}: {entry['case']} notices it",
                         state if state.startswith("skipped: ")
                         else plant(entry) or "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
